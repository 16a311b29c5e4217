"""The graph equals the one built afresh from what is there, whatever came before; and filters bind it."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybridrag.errors import NotFound
from hybridrag.graph.knowledge import KnowledgeGraph
from hybridrag.graph.linker import TitleLinker
from hybridrag.graph.names import name_key
from hybridrag.graph.resemble import NameComparer, differ_by_spelling
from hybridrag.protocols import NewChunk
from hybridrag.stores.embedded import graph_rows
from hybridrag.stores.embedded.store import EmbeddedStore
from hybridrag.testing.stores import MODEL, make_file, make_vector
from hybridrag.types.documents import Chunk
from hybridrag.types.extraction import AliasKind, AliasRecord, ChunkGraph, Fact, FactKind, Mention, Source
from hybridrag.types.graph import EntityType
from hybridrag.types.ids import chunk_id_for
from hybridrag.types.queries import SearchFilters

NAMES = ["Ada Lovelace", "Ada Lovelase", "Charles Babbage", "Royal Society", "London", "Analytical Engine", "RS"]
NAMES += ["夏目漱石", "東京"]


def say(text: str) -> ChunkGraph:
    """What a chunk says by the simplest of rules: every known name; `A = B` is an alias; `A > B` is a fact."""
    mentions = []
    for name in NAMES:
        start = text.find(name)
        while start >= 0:
            mentions.append(Mention(name, name_key(name), EntityType.OTHER, start, start + len(name), 0.9, Source.NAME))
            start = text.find(name, start + 1)
    aliases, facts = [], []
    for left in NAMES:
        for right in NAMES:
            at = text.find(f"{left} = {right}")
            if at >= 0 and left != right:
                aliases.append(AliasRecord(name_key(left), name_key(right), AliasKind.ALSO_KNOWN_AS, at, at + 5))
            at = text.find(f"{left} > {right}")
            if at >= 0:
                facts.append(Fact(name_key(left), "knows", name_key(right), 0, len(text), 0.8, FactKind.VERB))
    return ChunkGraph(mentions=tuple(mentions), aliases=tuple(aliases), facts=tuple(facts))


def put(
    store: EmbeddedStore, name: str, parts: list[str], *, workspace: str = "default", title: str | None = None
) -> None:
    file = make_file(name, workspace=workspace).model_copy(update={"title": title})
    text = "\n".join(parts)
    chunks, place = [], 0
    for ordinal, part in enumerate(parts):
        chunk = Chunk(
            id=chunk_id_for(file.id, part, parts[:ordinal].count(part)),
            file_id=file.id,
            ordinal=ordinal,
            text=part,
            start=place,
            end=place + len(part),
            headings=_headings(part) if ordinal else (),
        )
        passage = f"{title}\n{part}"
        chunks.append(NewChunk(chunk=chunk, passage=passage, vector=make_vector(passage), graph=say(part)))
        place += len(part) + 1
    store.put_file(file, text, chunks)


def _headings(part: str) -> tuple[str, ...]:
    """Two levels for some texts, so that sections move, split and vanish as files change."""
    first, *others = [name for name in NAMES if name in part] or ["Rest"]
    return (first, *others[:1]) if len(part) % 2 else (first,)


def open_store(folder: Path) -> EmbeddedStore:
    store = EmbeddedStore.open(folder, linker=TitleLinker())
    store.bind_model(MODEL)
    # Vectors that are all alike leave the decision to the letters.
    store.compare_names_with(NameComparer(lambda names: np.ones((len(names), 1), dtype=np.float32)))
    return store


def picture(store: EmbeddedStore) -> dict[str, object]:
    """Everything in the graph, without the numbers that only this store knows."""
    graph = KnowledgeGraph(store)
    with store._database.read() as connection:

        def rows(sql: str) -> list[tuple[object, ...]]:
            return sorted(connection.execute(sql).fetchall(), key=repr)

        return {
            "names": rows("SELECT n.norm, e.norm FROM names n JOIN names e ON e.key = n.entity_key"),
            "mentions": rows(
                "SELECT c.id, n.norm, m.surface, m.type, m.start, m.end FROM mentions m "
                "JOIN chunks c ON c.key = m.chunk_key JOIN names n ON n.key = m.name_key"
            ),
            "aliases": rows(
                "SELECT c.id, a.norm, b.norm FROM aliases x JOIN chunks c ON c.key = x.chunk_key "
                "JOIN names a ON a.key = x.name_key JOIN names b ON b.key = x.alias_key"
            ),
            "facts": rows(
                "SELECT c.id, a.norm, predicate, b.norm FROM facts x JOIN chunks c ON c.key = x.chunk_key "
                "JOIN names a ON a.key = x.subject_key JOIN names b ON b.key = x.object_key"
            ),
            "titles": rows(
                "SELECT f.id, ordinal, alias, quality, head FROM titles t JOIN files f ON f.key = t.file_key"
            ),
            "links": rows("SELECT c.id, l.alias, l.start, l.end FROM links l JOIN chunks c ON c.key = l.chunk_key"),
            "counts": rows("SELECT (SELECT count(*) FROM mentions), (SELECT count(*) FROM links)"),
            "structure": [graph.structure(file.id).model_dump_json() for file in store.files()],
            "statistics": graph.statistics(),
            "export": sorted(graph.export("csv").splitlines()),
        }


PART = st.builds(
    lambda one, mark, two, tail: f"{one} {mark} {two} {tail}",
    st.sampled_from(NAMES),
    st.sampled_from(["=", ">", "and", "wrote about the"]),
    st.sampled_from(NAMES),
    st.sampled_from(["", "in London.", "の話。東京の夏目漱石", "Royal Society of London met Ada Lovelace"]),
)
TITLES = [None, "London", "Ada Lovelace", "Royal Society (London)", "夏目漱石", "Royal Society of London"]
Action = tuple[str, str, list[str], str | None]
ACTION: st.SearchStrategy[Action] = st.one_of(
    st.tuples(
        st.just("put"),
        st.sampled_from(["a.txt", "b.txt", "c.txt"]),
        st.lists(PART, min_size=1, max_size=3),
        st.sampled_from(
            [None, "London", "Ada Lovelace", "Royal Society (London)", "夏目漱石", "Royal Society of London"]
        ),
    ),
    st.tuples(st.just("remove"), st.sampled_from(["a.txt", "b.txt", "c.txt"]), st.just([]), st.none()),
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(actions=st.lists(ACTION, min_size=1, max_size=8), most_equated=st.sampled_from([1, graph_rows.MAX_EQUATED]))
def test_after_any_sequence_the_graph_equals_one_built_afresh(
    tmp_path_factory: pytest.TempPathFactory, actions: list[Action], most_equated: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graph_rows, "MAX_EQUATED", most_equated)
        check_against_fresh(tmp_path_factory, actions)


def check_against_fresh(tmp_path_factory: pytest.TempPathFactory, actions: list[Action]) -> None:
    lived = open_store(tmp_path_factory.mktemp("lived"))
    last: dict[str, tuple[list[str], str | None]] = {}
    for kind, name, parts, title in actions:
        if kind == "put":
            put(lived, name, parts, title=title)
            last[name] = (parts, title)
        else:
            lived.remove_files([make_file(name).id])
            last.pop(name, None)
    fresh = open_store(tmp_path_factory.mktemp("fresh"))
    order = list(last)
    random.Random(len(actions)).shuffle(order)
    for name in order:
        put(fresh, name, last[name][0], title=last[name][1])
    assert picture(lived) == picture(fresh)
    assert lived.check() == []
    lived.close()
    fresh.close()


@pytest.fixture
def store(tmp_path: Path) -> EmbeddedStore:
    store = open_store(tmp_path / "index")
    put(store, "a.txt", ["Ada Lovelace > Charles Babbage.", "Charles Babbage > Analytical Engine."], title="Engines")
    put(store, "b.txt", ["Royal Society = RS. The RS met in London."], workspace="other", title="Ada Lovelace")
    return store


@pytest.fixture
def graph(store: EmbeddedStore) -> KnowledgeGraph:
    return KnowledgeGraph(store)


def test_an_entity_is_found_by_name_alias_and_misspelling(graph: KnowledgeGraph) -> None:
    society = graph.entity("royal society")
    assert society.names == ("RS", "Royal Society")
    assert graph.entity("RS") == society
    assert graph.entity(society.id) == society
    assert [entity.name for entity in graph.find("Ada Lovelaec")] == ["Ada Lovelace"]
    assert graph.find("Lovelace")[0].name == "Ada Lovelace"
    assert graph.find("") == []
    with pytest.raises(NotFound, match="Did you mean 'Charles Babbage'"):
        graph.entity("Charles Babage")


def test_neighbours_come_with_what_is_said(graph: KnowledgeGraph) -> None:
    names = {neighbour.entity.name: neighbour for neighbour in graph.neighbours("Charles Babbage")}
    assert set(names) == {"Ada Lovelace", "Analytical Engine"}
    (relation,) = names["Ada Lovelace"].relations
    assert relation.predicate == "knows"
    assert relation.evidence[0].sentence == "Ada Lovelace > Charles Babbage."
    assert names["Ada Lovelace"].chunk_ids


def test_relations_lie_between_two_sets_in_either_direction(graph: KnowledgeGraph) -> None:
    assert len(graph.relations(["Charles Babbage"])) == 2
    (between,) = graph.relations(["Analytical Engine"], ["Charles Babbage", "London"])
    assert between.weight == pytest.approx(0.8)
    assert graph.relations(["London"], ["Ada Lovelace"]) == []
    assert graph.relations(["nobody"]) == []


def test_a_path_leads_over_shared_chunks(graph: KnowledgeGraph) -> None:
    (path, *_) = graph.paths("Ada Lovelace", "Analytical Engine")
    assert path.names == ("Ada Lovelace", "Charles Babbage", "Analytical Engine")
    assert [step.predicate for step in path.steps] == ["knows", "knows"]
    assert graph.paths("Ada Lovelace", "Analytical Engine", max_hops=1) == []


def test_a_path_leads_over_a_document_that_is_called_like_an_entity(graph: KnowledgeGraph) -> None:
    (path,) = graph.paths("Ada Lovelace", "London", limit=1)
    assert path.names == ("Ada Lovelace", "Ada Lovelace", "London")
    assert [entity.name for entity in path.entities] == ["Ada Lovelace", "London"]
    assert [step.predicate for step in path.steps] == ["is the title of", "mentions"]
    back = graph.paths("London", "Ada Lovelace", limit=1)[0]
    assert [step.predicate for step in back.steps] == ["mentioned in", "has the title"]
    assert graph.under(SearchFilters(workspace_ids=("default",))).find("London") == []


def test_a_walk_reaches_what_is_two_steps_away(store: EmbeddedStore, graph: KnowledgeGraph) -> None:
    key = store.graph.entity_keys([name_key("Ada Lovelace")])[name_key("Ada Lovelace")]
    found = graph.walk(entities={key: 1.0})
    chunks = store.chunks_by_key(list(found.chunks))
    ranked = sorted(found.chunks, key=lambda chunk: -found.chunks[chunk])
    assert chunks[ranked[0]].text == "Ada Lovelace > Charles Babbage."
    assert "Charles Babbage > Analytical Engine." in {chunk.text for chunk in chunks.values()}
    assert sum(found.chunks.values()) + sum(found.entities.values()) == pytest.approx(1.0)
    assert graph.walk().chunks == {}


def test_a_link_leads_to_the_document_that_is_named(store: EmbeddedStore) -> None:
    (ada,) = [key for key, chunk in _all(store).items() if chunk.text.startswith("Ada Lovelace >")]
    (link,) = store.graph.links_from([ada])
    assert link.alias == "ada lovelace"
    assert _all(store)[link.target_key].text.startswith("Royal Society")
    assert [row.source_key for row in store.graph.links_to([link.target_key], 5)] == [ada]
    assert store.graph.links_from([ada], filters=SearchFilters(workspace_ids=("default",))) == []


def _all(store: EmbeddedStore) -> dict[int, Chunk]:
    return store.chunks_by_key(store.chunk_keys())


def test_what_no_visible_chunk_supports_does_not_exist(graph: KnowledgeGraph) -> None:
    mine = graph.under(SearchFilters(workspace_ids=("default",)))
    for hidden in ("Royal Society", "RS", "London"):
        with pytest.raises(NotFound) as error:
            mine.entity(hidden)
        assert "Did you mean" not in str(error.value)
        assert mine.find(hidden) == []
    assert mine.statistics()["entities"] == 3
    assert mine.statistics()["aliases"] == 0
    other = graph.under(SearchFilters(workspace_ids=("other",)))
    assert other.statistics()["facts"] == 0
    with pytest.raises(NotFound):
        other.neighbours("Ada Lovelace")
    assert other.relations(["Charles Babbage"]) == []


def test_entity_types_bind_chunks_and_entities(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store, "a.txt", ["London calling", "Ada Lovelace wrote"])
    with store._database.write() as connection:
        connection.execute("UPDATE mentions SET type = 'place' WHERE surface = 'London'")
        connection.execute("UPDATE meta SET value = value + 1 WHERE name = 'generation'")
    places = SearchFilters(entity_types=("place",))
    found = store.search_vector(make_vector("x"), 10, filters=places)
    assert [chunk.text for chunk in store.chunks_by_key([key for key, _ in found]).values()] == ["London calling"]
    graph = KnowledgeGraph(store, filters=places)
    assert graph.entity("London").type is EntityType.PLACE
    with pytest.raises(NotFound):
        graph.entity("Ada Lovelace")


def test_spelling_variants_of_one_type_are_one_and_can_be_split(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    put(store, "a.txt", ["Ada Lovelace wrote.", "Ada Lovelase wrote too."])
    graph = KnowledgeGraph(store)
    assert graph.entity("Ada Lovelace").names == ("Ada Lovelace", "Ada Lovelase")
    graph.split("Ada Lovelase")
    assert graph.entity("Ada Lovelace").names == ("Ada Lovelace",)
    graph.merge("Ada Lovelase", "Ada Lovelace")
    put(store, "b.txt", ["RS"])
    assert graph.entity("Ada Lovelase").names == ("Ada Lovelace", "Ada Lovelase")


def test_every_merge_says_why_to_those_who_may_see_it(store: EmbeddedStore, graph: KnowledgeGraph) -> None:
    put(store, "c.txt", ["Ada Lovelace met Ada Lovelase."])
    ((one, other, why, chunk),) = graph.merges("RS")
    assert (one, other, why) == ("royal society", "rs", "also_known_as")
    assert store.chunks([chunk] if chunk else [])
    graph.merge("RS", "London")
    assert ("london", "rs", "decision", None) in graph.merges("London")
    assert graph.merges("Ada Lovelace") == [("ada lovelace", "ada lovelase", "spelling", None)]
    mine = graph.under(SearchFilters(workspace_ids=("default",)))
    assert mine.merges("Ada Lovelace") == [("ada lovelace", "ada lovelase", "spelling", None)]
    with pytest.raises(NotFound):
        mine.merges("RS")
    graph.split("Ada Lovelase")
    assert graph.merges("Ada Lovelace") == []


def test_names_differ_by_spelling_only_in_one_longer_word() -> None:
    assert differ_by_spelling("zachary lyapunov", "zakhary lyapunov")
    assert not differ_by_spelling("paul desmarais jr", "paul desmarais sr")
    assert not differ_by_spelling("connecticut river", "connecticut rivers")
    assert not differ_by_spelling("lyapunov", "lyapunow")
    assert not differ_by_spelling("apollo 11 mission", "apollo 12 mission")
    assert not differ_by_spelling("east prussia", "west prussia")
    assert not differ_by_spelling("royal society", "royal society of london")


def test_a_label_behind_many_names_makes_them_no_single_thing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dictionary that marks words with (n) made hundreds of them one entity."""
    monkeypatch.setattr(graph_rows, "MAX_EQUATED", 2)
    store = open_store(tmp_path)
    graph = KnowledgeGraph(store)
    put(store, "a.txt", ["London = RS", "東京 = RS"])
    assert graph.entity("London").id == graph.entity("東京").id
    put(store, "b.txt", ["夏目漱石 = RS"])
    assert len({graph.entity(name).id for name in ("London", "東京", "夏目漱石", "RS")}) == 4
    store.remove_files([make_file("b.txt").id])
    assert graph.entity("London").id == graph.entity("東京").id == graph.entity("RS").id


def test_check_finds_and_repair_mends_orphans_of_the_graph(store: EmbeddedStore) -> None:
    with store._database.write() as connection:
        connection.execute(
            "INSERT INTO mentions SELECT 99, 0, 1, name_key, 'x', type, 1.0, source FROM mentions LIMIT 1"
        )
        connection.execute("INSERT INTO links VALUES (99, 0, 1, 'nothing')")
        connection.execute("INSERT INTO names (norm, id, entity_key) VALUES ('nobody', x'00', 12345)")
        connection.execute("INSERT INTO titles VALUES (77, 0, 'ghost', 1.0, 'ghost')")
    found = {problem.what for problem in store.check()}
    assert "1 mentions of a chunk that is gone" in found
    assert "1 links of a chunk that is gone" in found
    assert "1 names that nothing uses" in found
    assert "1 titles of a file that is gone" in found
    assert all(problem.derived for problem in store.check())
    assert store.repair() == []


def test_people_merge_and_split_names_and_that_survives_reindexing(store: EmbeddedStore, graph: KnowledgeGraph) -> None:
    graph.merge("Ada Lovelace", "Charles Babbage")
    assert graph.entity("Ada Lovelace").id == graph.entity("Charles Babbage").id
    graph.split("RS")
    assert graph.entity("RS").id != graph.entity("Royal Society").id
    store.remove_files([make_file("a.txt").id])
    put(store, "a.txt", ["Ada Lovelace > Charles Babbage."], title="Engines")
    assert graph.entity("Ada Lovelace").id == graph.entity("Charles Babbage").id
    assert ("ada lovelace", "charles babbage", "merge") in graph.decisions()
    graph.split("Ada Lovelace")
    assert graph.entity("Ada Lovelace").id != graph.entity("Charles Babbage").id
    graph.merge("RS", "Royal Society")
    assert graph.entity("RS").id == graph.entity("Royal Society").id
    with pytest.raises(NotFound):
        graph.merge("RS", "nobody")


FORMAT_1 = {"meta", "files", "texts", "chunks", "vectors", "staged_vectors", "removed_chunks"}
FORMAT_1 |= {"terms", "term_counts", "term_places"}


def test_an_older_index_gets_a_graph_and_says_that_it_waits(tmp_path: Path) -> None:
    from hybridrag.stores.embedded import schema

    store = open_store(tmp_path)
    put(store, "a.txt", ["Ada Lovelace wrote"])
    with store._database.write() as connection:
        tables = connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        ).fetchall()
        for (table,) in tables:
            name = str(table)
            # The shadow tables of a virtual table (probes_data and the like) go with it.
            if name not in FORMAT_1 and not name.startswith(("terms_", "probes_")):
                connection.execute(f"DROP TABLE {name}")
        connection.execute("ALTER TABLE files DROP COLUMN folder")
        connection.execute("ALTER TABLE chunks DROP COLUMN anchor")
        connection.pragma("user_version", 1)
    store.close()
    again = EmbeddedStore.open(tmp_path, linker=TitleLinker())
    assert again.status().format == schema.FORMAT
    assert again.graph.statistics()["mentions"] == 0
    put(again, "b.txt", ["London calling"])
    assert again.graph.statistics()["mentions"] == 1
