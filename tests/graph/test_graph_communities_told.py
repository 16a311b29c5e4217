"""What communities are about: titles, sentences and summaries that are true, searchable, and leak nothing."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from community_builders import CountingEmbedder, check_communities, put_marked
from hybridrag.errors import NotFound, ProviderError
from hybridrag.graph import community_tree
from hybridrag.graph.communities import rebuild_communities, text_for_vector, update_communities
from hybridrag.graph.community_views import (
    CommunityView,
    communities_at,
    communities_of,
    search_communities,
    view_communities,
)
from hybridrag.graph.knowledge import KnowledgeGraph
from hybridrag.graph.summarise import SHOWN_SENTENCES, Told, join_sentences, title_of
from hybridrag.protocols import EntityRow, ModelInfo, SentenceRow
from hybridrag.stores.embedded.store import EmbeddedStore
from hybridrag.testing.stores import DIMENSION, MODEL, make_vector
from hybridrag.types.graph import EntityType
from hybridrag.types.ids import new_community_id
from hybridrag.types.queries import SearchFilters

CAMERAS = [
    "{Sony}, {Nikon}, {Canon} and {Minolta} make cameras. Nobody else is named here. It was in {1959}.",
    "{Canon} and {Nikon} make lenses.",
    "{Sony} bought {Minolta} from {Nikon}.",
]
CITIES = ["{Tokyo} and {Osaka} are cities.", "{Kyoto} and {Osaka} are old.", "{Tokyo} and {Kyoto} were capitals."]
JAPANESE = [
    "{ソニー}と{ニコン}はカメラを作る。誰も知らない。",
    "{キヤノン}は{ニコン}とレンズで競争している。「{ソニー}は強い。」と{キヤノン}は言った。",
]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EmbeddedStore]:
    store = EmbeddedStore.open(tmp_path / "index")
    store.bind_model(MODEL)
    yield store
    store.close()


def everything(store: EmbeddedStore, filters: SearchFilters | None = None) -> list[CommunityView]:
    """Every community of every level that is visible."""
    found: dict[int, CommunityView] = {}
    for level in range(len(store.communities.level_counts())):
        found.update((view.key, view) for view in communities_at(store, level, 1_000, filters=filters))
    return list(found.values())


def named(view: CommunityView) -> set[str]:
    return {entity.name for entity in view.key_entities}


def only(workspace: str) -> SearchFilters:
    return SearchFilters(workspace_ids=(workspace,))


def entity(name: str, kind: EntityType = EntityType.OTHER) -> EntityRow:
    return EntityRow(key=1, name=name, type=kind, aliases=(), norms=(name,), mentions=1)


# Titles and sentences


def test_a_title_names_what_matters_most_and_no_name_twice() -> None:
    names = ["Sony", "Sony Corporation", "Akio Morita", "Nikon", "Canon"]
    assert title_of([entity(name) for name in names]) == "Sony, Akio Morita, Nikon"


def test_a_date_is_in_a_title_only_where_there_is_nothing_else() -> None:
    assert title_of([entity("1946", EntityType.TIME), entity("Sony")]) == "Sony"
    assert title_of([entity("1946", EntityType.TIME), entity("1959", EntityType.TIME)]) == "1946"
    assert title_of([]) == ""


def test_a_japanese_title_is_joined_as_japanese_is() -> None:
    assert title_of([entity("ソニー"), entity("ニコン")]) == "ソニー、ニコン"


def test_a_title_fits_into_a_list() -> None:
    assert title_of([entity("A" * 50), entity("B" * 50)]) == "A" * 50
    assert len(title_of([entity("A" * 500)])) == 80


def test_sentences_are_joined_as_their_language_is() -> None:
    assert join_sentences(["One\n line.", "Two."]) == "One line. Two."
    assert join_sentences(["東京は首都だ。", "人口が多い。", "Yes."]) == "東京は首都だ。人口が多い。 Yes."
    assert text_for_vector("Sony", "") == "Sony"


def test_the_same_title_and_sentences_have_the_same_hash() -> None:
    row = SentenceRow(1, 0, 4)
    assert Told("a", ((row, "One."),)).text_hash == Told("a", ((SentenceRow(9, 1, 5), "One."),)).text_hash
    assert Told("a", ((row, "One."),)).text_hash != Told("a", ((row, "Two."),)).text_hash
    assert Told("a\ud800", ()).text_hash != Told("a", ()).text_hash


@pytest.mark.parametrize("parts", [CAMERAS, JAPANESE], ids=["English", "Japanese"])
def test_every_sentence_is_cited_where_it_stands_and_names_a_key_entity(store: EmbeddedStore, parts: list[str]) -> None:
    put_marked(store, "file", parts)
    update_communities(store, embed=CountingEmbedder())
    (view,) = everything(store)
    assert view.sentences
    chunks = store.chunks_by_key([it.chunk_key for it in view.sentences])
    for it in view.sentences:
        assert it.text == chunks[it.chunk_key].text[it.start : it.end]
        assert any(name in it.text for name in named(view))
    shown = sorted(view.sentences[:SHOWN_SENTENCES], key=lambda it: (it.chunk_key, it.start))
    assert view.summary == join_sentences([it.text for it in shown])
    assert "Nobody" not in view.summary
    assert "誰も知らない" not in view.summary


def test_japanese_sentences_are_whole(store: EmbeddedStore) -> None:
    put_marked(store, "file", JAPANESE)
    update_communities(store, embed=CountingEmbedder())
    (view,) = everything(store)
    assert view.title == "ニコン、ソニー、キヤノン"
    assert {it.text for it in view.sentences} == {
        "ソニーとニコンはカメラを作る。",
        "キヤノンはニコンとレンズで競争している。",
        "「ソニーは強い。」とキヤノンは言った。",
    }


def test_the_first_sentence_speaks_of_the_most_and_none_is_said_twice(store: EmbeddedStore) -> None:
    put_marked(store, "one", CAMERAS)
    put_marked(store, "two", CAMERAS[:1])
    update_communities(store, embed=CountingEmbedder())
    (view,) = everything(store)
    texts = [it.text for it in view.sentences]
    assert texts[0] == "Sony, Nikon, Canon and Minolta make cameras."
    assert len(texts) == len(set(texts))


@pytest.mark.parametrize(
    "line",
    ["# {Alpha} and {Beta}", "{Alpha} | {Beta} | 5.20 | solar.", "From: {Alpha} To: {Beta} Date: Tue, 7 October 2025.",
     "Present: {Alpha} (chair), {Beta}.", "差出人：{Alpha}（管理担当） 宛先：{Beta}。",
     ".{Alpha}, .{Beta} color: red; margin: 0;", "{Alpha} {Beta} " + "0123456789 " * 500],
)  # fmt: skip
def test_what_is_no_sentence_tells_nothing(store: EmbeddedStore, line: str) -> None:
    # Summaries quoted headings, style sheets and the headers of mails.
    put_marked(store, "log", [line, "- **{Alpha}** sold its yard to {Beta}."])
    update_communities(store, embed=CountingEmbedder())
    (view,) = everything(store)
    assert view.summary == "Alpha sold its yard to Beta."


def test_a_weightier_community_comes_first(store: EmbeddedStore) -> None:
    put_marked(store, "cameras", CAMERAS)
    put_marked(store, "cities", CITIES)
    update_communities(store, embed=CountingEmbedder())
    first, second = communities_at(store, 0, 10)
    assert first.rank > second.rank
    assert "Sony" in named(first)
    assert communities_at(store, 0, 1) == [first]


def test_a_community_lists_all_its_members_and_its_place(store: EmbeddedStore) -> None:
    put_marked(store, "cameras", CAMERAS)
    update_communities(store, embed=CountingEmbedder())
    (view,) = everything(store)
    community = KnowledgeGraph(store).community(view.id)
    assert len(community.entity_ids) == 5
    assert set(community.key_entities) == set(community.entity_ids)
    assert (community.title, community.summary) == (view.title, view.summary)
    with pytest.raises(NotFound, match="no community"):
        KnowledgeGraph(store).community(new_community_id())


# What changed, and nothing else, is told again


def test_only_a_new_text_is_embedded(store: EmbeddedStore) -> None:
    embedder = CountingEmbedder()
    put_marked(store, "cameras", CAMERAS)
    put_marked(store, "cities", CITIES)
    assert update_communities(store, embed=embedder).embedded == 2
    put_marked(store, "cities", [*CITIES, "{Nara} and {Kyoto} and {Tokyo} have temples."])
    assert update_communities(store, embed=embedder).embedded == 1
    assert rebuild_communities(store, embed=embedder).embedded == 0
    assert len(embedder.texts) == 3
    assert embedder.texts[-1].startswith("Tokyo, Kyoto, Osaka\n")


def test_another_embedding_model_embeds_every_text_again(store: EmbeddedStore) -> None:
    embedder = CountingEmbedder()
    put_marked(store, "cameras", CAMERAS)
    update_communities(store, embed=embedder)
    other = ModelInfo(name="other", fingerprint="other-1", dimension=DIMENSION, max_tokens=512)
    store.begin_reembedding(other)
    store.stage_vectors({key: make_vector(key) for key in store.unstaged_keys(100)})
    assert store.finish_reembedding(other)
    assert search_communities(store, make_vector(embedder.texts[0]), 5) == [], "vectors of two models do not compare"
    assert update_communities(store, embed=embedder).embedded == 1
    assert len(search_communities(store, make_vector(embedder.texts[0]), 5)) == 1


def test_a_text_goes_with_the_last_community_that_has_it(store: EmbeddedStore) -> None:
    gone = put_marked(store, "cameras", CAMERAS)
    put_marked(store, "cities", CITIES)
    update_communities(store, embed=CountingEmbedder(), write_summary=lambda title, _: f"On {title}.")
    store.remove_files([gone])
    update_communities(store, embed=CountingEmbedder())
    with store._database.read() as connection:
        written = [text for (text,) in connection.execute("SELECT written FROM community_texts")]
    assert len(written) == 1
    assert "Sony" not in str(written)


# Summaries that a language model writes


class Pen:
    """A language model that numbers its answers, or gives those it is told to."""

    def __init__(self, *answers: str | Exception | None) -> None:
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self.answers = list(answers)

    def __call__(self, title: str, sentences: Sequence[str]) -> str | None:
        self.asked.append((title, tuple(sentences)))
        answer = self.answers.pop(0) if self.answers else f"Summary {len(self.asked)}."
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_a_written_summary_is_shown_embedded_and_kept_while_the_text_is_the_same(store: EmbeddedStore) -> None:
    put_marked(store, "cameras", CAMERAS)
    pen, embedder = Pen(), CountingEmbedder()
    assert update_communities(store, embed=embedder, write_summary=pen).written == 1
    (view,) = everything(store)
    assert view.summary == "Summary 1."
    assert view.sentences, "what it rests on is still cited"
    assert embedder.texts == [f"{view.title}\nSummary 1."]
    assert pen.asked == [(view.title, tuple(it.text for it in view.sentences))]
    assert update_communities(store, embed=embedder, write_summary=pen).written == 0
    assert rebuild_communities(store, embed=embedder, write_summary=pen).written == 0
    assert len(pen.asked) == 1


@pytest.mark.parametrize("nothing", [None, "", "  "])
def test_where_the_model_has_nothing_to_say_the_sentences_stand(store: EmbeddedStore, nothing: str | None) -> None:
    put_marked(store, "cameras", CAMERAS)
    pen = Pen(nothing)
    assert update_communities(store, embed=CountingEmbedder(), write_summary=pen).written == 0
    (view,) = everything(store)
    assert view.summary.startswith("Sony, Nikon, Canon and Minolta make cameras.")
    update_communities(store, embed=CountingEmbedder(), write_summary=pen)
    assert len(pen.asked) == 1, "it is not asked the same again"


def test_a_model_that_fails_is_asked_again_the_next_time(store: EmbeddedStore) -> None:
    put_marked(store, "cameras", CAMERAS)
    embedder = CountingEmbedder()
    report = update_communities(store, embed=embedder, write_summary=Pen(ProviderError("llm", "no answer")))
    assert (report.written, report.embedded) == (0, 1)
    (view,) = everything(store)
    assert view.summary.startswith("Sony, Nikon, Canon and Minolta make cameras.")
    failing = Pen(ProviderError("llm", "no answer"))
    assert update_communities(store, embed=embedder, write_summary=failing).embedded == 0, "its text is embedded"
    assert update_communities(store, embed=embedder, write_summary=Pen()).written == 1
    assert everything(store)[0].summary == "Summary 1."


def test_a_model_that_fails_three_times_in_a_row_is_not_asked_further(store: EmbeddedStore) -> None:
    for number in range(6):
        put_marked(
            store, f"f{number}", [f"{{A{number}}} met {{B{number}}}.", f"Then {{B{number}}} left {{A{number}}}."]
        )
    pen = Pen(*[ProviderError("llm", "no answer")] * 9)
    report = update_communities(store, embed=CountingEmbedder(), write_summary=pen)
    assert len(pen.asked) == 3
    assert report.embedded == 6


def test_what_a_single_chunk_tells_needs_no_summary_and_is_found_by_the_chunks_own_vector(store: EmbeddedStore) -> None:
    put_marked(store, "note", ["{Alpha} met {Beta}. {Beta} left."])
    pen, embedder = Pen(), CountingEmbedder()
    update_communities(store, embed=embedder, write_summary=pen)
    assert pen.asked == []
    assert embedder.texts == []
    (view,) = search_communities(store, make_vector("Alpha met Beta. Beta left."), 5)
    assert view.score == pytest.approx(1.0, abs=1e-2)


def test_sentences_that_say_nearly_the_same_are_said_once(store: EmbeddedStore) -> None:
    put_marked(store, "log", [f"{{Alpha}} met {{Beta}} in the large meeting room number {n}." for n in range(5)])
    update_communities(store, embed=CountingEmbedder())
    (view,) = everything(store)
    assert len(view.sentences) == 1


def test_a_written_summary_is_hidden_with_any_sentence_it_was_written_from(store: EmbeddedStore) -> None:
    put_marked(store, "open", CAMERAS[:2], workspace="open")
    hidden = put_marked(store, "hidden", CAMERAS[2:], workspace="hidden")
    update_communities(store, embed=CountingEmbedder(), write_summary=lambda *_: "Sony bought Minolta!")
    assert everything(store)[0].summary == "Sony bought Minolta!"
    assert everything(store, SearchFilters(workspace_ids=("open", "hidden")))[0].summary == "Sony bought Minolta!"
    assert "bought" not in everything(store, only("open"))[0].summary
    store.remove_files([hidden])
    assert "bought" not in everything(store)[0].summary, "nor once it is gone, before any update"


def test_a_written_summary_is_hidden_with_any_name_of_the_title_it_was_written_under(store: EmbeddedStore) -> None:
    # The title went to the model too, and may name what no cited sentence does.
    put_marked(
        store, "open", ["{Anna} met {Bert}. Dinner was late.", "{Bert} saw {Anna} at the sea."], workspace="open"
    )
    put_marked(store, "hidden", ["{Anna} and {Bert} know {Zorro}."], workspace="hidden")
    update_communities(store, embed=CountingEmbedder(), write_summary=lambda title, _: f"All of {title}.")
    (view,) = everything(store)
    assert "Zorro" in view.summary
    assert {it.text for it in view.sentences} >= {"Anna met Bert.", "Anna and Bert know Zorro."}
    assert "Zorro" not in repr(everything(store, only("open")))


def test_dates_come_last_among_the_key_entities(store: EmbeddedStore) -> None:
    put_marked(store, "f", [f"{{Anna}} and {{Bert}} met in {{2001}}, part {number}." for number in range(3)])
    put_marked(store, "g", ["{2001} was the year of {Bert}.", "{2001} ended."])
    update_communities(store, embed=CountingEmbedder())
    (view,) = everything(store)
    assert [entity.name for entity in view.key_entities][-1] == "2001"


# Filters and what is gone


def test_under_a_filter_names_and_sentences_come_from_visible_chunks_alone(store: EmbeddedStore) -> None:
    put_marked(store, "open", ["{Sony} met {Nikon}. {Sony} met {Canon}."], workspace="open")
    put_marked(
        store, "secret", ["{Sony} met {Nikon} at {Project X}. {Nikon} met {Canon} at {Project X}."], workspace="secret"
    )
    update_communities(store, embed=CountingEmbedder())
    (view,) = everything(store)
    assert "Project X" in named(view)
    (view,) = everything(store, only("open"))
    assert named(view) == {"Sony", "Nikon", "Canon"}
    assert "Project" not in repr(view)
    community = KnowledgeGraph(store, filters=only("open")).community(view.id)
    assert len(community.entity_ids) == 3


def test_where_a_filter_hides_every_stored_sentence_visible_ones_are_found(store: EmbeddedStore) -> None:
    put_marked(store, "secret", [f"{{Sony}}, {{Nikon}}, {{Canon}} met in room {n}." for n in range(30)], workspace="s")
    put_marked(store, "open", ["{Canon} met {Nikon} in public."], workspace="open")
    update_communities(store, embed=CountingEmbedder())
    (view,) = everything(store, only("open"))
    assert view.summary == "Canon met Nikon in public."
    assert named(view) == {"Canon", "Nikon"}


def test_where_a_filter_hides_the_key_entities_others_stand_for_the_community(store: EmbeddedStore) -> None:
    names = " met ".join(f"{{Big {number}}}" for number in range(20))
    put_marked(store, "secret", [f"{names} on day {day}." for day in range(5)], workspace="secret")
    put_marked(store, "bridge", [f"{names} met {{Small}}."], workspace="secret")
    put_marked(store, "open", ["{Small} was here."], workspace="open")
    update_communities(store, embed=CountingEmbedder())
    (view,) = everything(store, only("open"))
    assert view.title == "Small"
    assert view.summary == "Small was here."
    small = store.graph.entity_keys(["small"])["small"]
    assert small not in {entity for entity, _ in store.communities.profiles([view.key])[view.key].key_entities}


def test_a_community_without_a_visible_member_does_not_exist(store: EmbeddedStore) -> None:
    put_marked(store, "cameras", CAMERAS, workspace="cameras")
    put_marked(store, "cities", CITIES, workspace="cities")
    embedder = CountingEmbedder()
    update_communities(store, embed=embedder)
    cities = next(view for view in everything(store) if "Osaka" in named(view))
    osaka = store.graph.entity_keys(["osaka"])["osaka"]
    for filters in (only("cameras"), only("nowhere"), SearchFilters(entity_types=("time",))):
        assert cities.key not in {view.key for view in everything(store, filters)}
        assert view_communities(store, [cities.key], filters=filters) == {}
        assert communities_of(store, [osaka], filters=filters) == {}
        assert store.communities.find([cities.id], filters=filters) == {}
        found = search_communities(store, make_vector(embedder.texts[1]), 10, filters=filters)
        assert cities.key not in {view.key for view in found}
        with pytest.raises(NotFound):
            KnowledgeGraph(store, filters=filters).community(cities.id)
    assert search_communities(store, make_vector(1), 10, filters=only("nowhere")) == []


def test_before_an_update_nothing_that_is_gone_is_shown(store: EmbeddedStore) -> None:
    put_marked(store, "cameras", CAMERAS)
    gone = put_marked(store, "cities", [*CITIES, "{Sony} was founded in {Tokyo}."])
    embedder = CountingEmbedder()
    update_communities(store, embed=embedder)
    store.remove_files([gone])
    assert not {"Tokyo", "Osaka", "Kyoto"} & {name for view in everything(store) for name in named(view)}
    assert "founded" not in repr(everything(store))
    found = search_communities(store, make_vector(embedder.texts[1]), 10)
    assert all("Osaka" not in repr(view) for view in found)
    update_communities(store, embed=embedder)
    check_communities(store)


def test_before_an_update_a_new_file_shows_the_communities_that_it_names(store: EmbeddedStore) -> None:
    put_marked(store, "cameras", CAMERAS, workspace="one")
    update_communities(store, embed=CountingEmbedder())
    put_marked(store, "more", ["{Sony} opened again."], workspace="two")
    (view,) = everything(store, only("two"))
    assert named(view) == {"Sony"}
    assert view.summary == "Sony opened again."


NAMES = [f"Name{number:02}" for number in range(16)]


@st.composite
def workspaces(draw: st.DrawFn) -> list[list[str]]:
    """Four workspaces of texts that share some names; each chunk has a word that no other has."""
    found = []
    for place in range(4):
        chunks = draw(st.lists(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5), min_size=1, max_size=5))
        found.append(
            [
                " met ".join(f"{{{name}}}" for name in names)
                + f" with word{place}x{number}. {{Own{place}x{number}}} too."
                for number, names in enumerate(chunks)
            ]
        )
    return found


@pytest.mark.heavy
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(texts=workspaces(), shown=st.sets(st.integers(0, 3), min_size=1, max_size=3), stale=st.booleans())
def test_nothing_of_a_hidden_file_is_seen_through_a_filter(
    texts: list[list[str]], shown: set[int], stale: bool
) -> None:
    folder = Path(tempfile.mkdtemp())
    store = EmbeddedStore.open(folder / "index")
    try:
        store.bind_model(MODEL)
        for place, parts in enumerate(texts):
            put_marked(store, f"f{place}", parts, workspace=f"w{place}")
        update_communities(store, embed=CountingEmbedder(), write_summary=lambda title, said: title + " ".join(said))
        if stale:
            put_marked(store, "f0", texts[0][1:] or ["{Name00} is left."], workspace="w0")
        filters = SearchFilters(workspace_ids=tuple(f"w{place}" for place in sorted(shown)))
        views = everything(store, filters)
        views += search_communities(store, make_vector("any"), 50, filters=filters)
        seen = repr(views) + "".join(
            KnowledgeGraph(store, filters=filters).community(view.id).model_dump_json() for view in views
        )
        visible = "".join(text for place, parts in enumerate(texts) for text in parts if place in shown)
        if stale and 0 in shown:
            visible += "Name00 is left."
        for place, parts in enumerate(texts):
            for number in range(len(parts)):
                if place not in shown or (stale and place == 0 and number == 0):
                    assert f"word{place}x{number}" not in seen
                    assert f"Own{place}x{number}" not in seen
        for name in NAMES:
            assert name not in seen or name in visible
        members = {row.entity_id for view in views for row in store.communities.members(view.key, filters=filters)}
        named_here = {it for it in NAMES if it in visible}
        assert len(members) <= len(named_here) + sum(len(texts[place]) for place in shown)
    finally:
        store.close()
        shutil.rmtree(folder)


# Search


def test_the_community_whose_text_is_nearest_comes_first(store: EmbeddedStore) -> None:
    for number in range(20):
        put_marked(store, f"f{number}", [f"{{A{number}}} met {{B{number}}}.", f"{{B{number}}} met {{C{number}}}."])
    embedder = CountingEmbedder()
    update_communities(store, embed=embedder)
    for text in embedder.texts[:5]:
        first, *others = search_communities(store, make_vector(text), 4)
        assert text.startswith(first.title)
        assert first.score == pytest.approx(1.0, abs=1e-2)
        assert len(others) == 3
        assert [view.score for view in (first, *others)] == sorted(
            (view.score for view in (first, *others)), reverse=True
        )
    assert search_communities(store, make_vector(1), 0) == []


def test_a_search_may_be_kept_to_one_level(store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(community_tree, "MAX_MEMBERS", 30)
    rng = random.Random(1)
    for number in range(60):
        group = number % 2 * 60
        parts = [" met ".join(f"{{N{group + rng.randrange(60)}}}" for _ in range(4)) + "." for _ in range(4)]
        put_marked(store, f"f{number}", parts)
    put_marked(store, "cameras", CAMERAS)
    update_communities(store, embed=CountingEmbedder())
    counts = store.communities.level_counts()
    assert len(counts) > 1
    for level, count in enumerate(counts):
        found = search_communities(store, make_vector(3), 1_000, level=level)
        assert {view.key for view in found} == set(store.communities.at_level(level, 1_000))
        assert len(found) == count
    assert search_communities(store, make_vector(3), 10, level=9) == []


def test_a_community_that_is_hidden_in_part_is_scored_by_what_is_visible_of_it(store: EmbeddedStore) -> None:
    put_marked(store, "open", ["{Sony} met {Nikon}."], workspace="open")
    put_marked(store, "secret", ["The merger of {Sony}, {Nikon} and {Canon} failed."], workspace="secret")
    embedder = CountingEmbedder()
    update_communities(store, embed=embedder)
    (view,) = search_communities(store, make_vector(embedder.texts[0]), 5)
    assert view.score == pytest.approx(1.0, abs=1e-2)
    (view,) = search_communities(store, make_vector(embedder.texts[0]), 5, filters=only("open"))
    expected = float(make_vector("Sony met Nikon.") @ make_vector(embedder.texts[0]))
    assert view.score == pytest.approx(expected, abs=1e-2)
    again = search_communities(store, make_vector(embedder.texts[0]), 5, filters=only("open"))
    assert again == [view]


def test_a_search_looks_past_what_is_gone(store: EmbeddedStore) -> None:
    ids = [put_marked(store, f"f{number}", [f"{{A{number}}} met {{B{number}}}."]) for number in range(120)]
    update_communities(store, embed=CountingEmbedder())
    store.remove_files(ids[:115])
    found = search_communities(store, make_vector(1), 5)
    assert {name for view in found for name in named(view)} == {f"{it}{n}" for it in "AB" for n in range(115, 120)}
    assert [view.score for view in found] == sorted((view.score for view in found), reverse=True)


def test_an_empty_index_finds_nothing(store: EmbeddedStore) -> None:
    assert search_communities(store, make_vector(1), 5) == []
    assert search_communities(store, np.zeros(DIMENSION, dtype=np.float32), 5, filters=only("a")) == []
    assert communities_at(store, 0, 5) == []
    assert store.communities.level_counts() == ()
