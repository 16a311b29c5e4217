"""A question about the whole gets results that cover its themes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hybridrag.config import load_settings
from hybridrag.engine import Engine
from hybridrag.graph.community_views import view_communities
from hybridrag.queries.question import topic_words
from hybridrag.search.themes import search_themes, theme_keys
from hybridrag.testing.embedders import HashEmbedder
from hybridrag.types.queries import SearchFilters
from hybridrag.types.results import Hit, SearchResultType

DOCUMENTS = {
    f"{theme}-{place}.txt": text
    for theme, texts in {
        "boats": [
            "Anders Holm repaired the hull of the Kestrel with oak planks at Ostvik.",
            "The hull of the Kestrel leaked, so Anders Holm tarred the planks at Ostvik.",
            "Ostvik sold the Kestrel after Anders Holm had painted its hull.",
            "Anders Holm sails the Kestrel from Ostvik when the hull is dry.",
        ],
        "bread": ["Karin Vall bakes rye bread in the Linden Oven with sour dough and salt."],
        "bees": ["Petra Sund keeps bees at Hollow Farm, where the hives give heather honey."],
    }.items()
    for place, text in enumerate(texts)
}

LOUD = (
    "two cranes lift timber",
    "old ropes were burnt",
    "a pier sank in May",
    "four pilots retired",
    "tugs need new engines",
    "buoys got green lamps",
    "dry docks cost more",
    "an anchor was found",
    "nets dry on the wall",
    "ice broke the slipway",
    "sheds hold salt and coal",
    "the lock opens at noon",
)
ENGLISH = {
    "harbour": [f"Report of the town harbour: {news}." for news in LOUD],
    "school": [
        "Pupils of the Lindgren School learn to read from Berta Alm.",
        "Berta Alm opened a second class of the Lindgren School in autumn.",
    ],
    "power": [
        "Water drives the turbines of the Storfors Plant, said Nils Ek.",
        "Nils Ek measures the current of the Storfors Plant every night.",
    ],
    "theatre": [
        "Greta Sand plays the queen at the Velvet Stage.",
        "The curtain of the Velvet Stage was sewn by Greta Sand.",
    ],
}
LOUD_JAPANESE = (
    "起重機二台で木材を揚げる",
    "古い綱を焼いた",
    "五月に桟橋が沈んだ",
    "水先人四名が引退した",
    "曳船の機関を替える",
    "浮標に緑の灯をつけた",
    "船渠の費用が増えた",
    "錨が見つかった",
    "網は壁で乾かす",
    "氷が斜路を壊した",
    "倉庫に塩と石炭がある",
    "水門は正午に開く",
)
JAPANESE = {
    "港": [f"町の港の報告。{news}。" for news in LOUD_JAPANESE],
    "学校": ["若葉学園の児童は大沢春子から読み書きを習う。", "大沢春子は秋に若葉学園で二つ目の学級を開いた。"],
    "電力": ["白糸発電所の水車は川の水で回ると黒川健一は言う。", "黒川健一は毎晩、白糸発電所の電流を測る。"],
    "演劇": ["水野玲子は銀河劇場で女王を演じる。", "銀河劇場の幕は水野玲子が縫った。"],
}
QUESTIONS = {
    "english": [
        "What are the main subjects of the reports of the town?",
        "Give an overview of the reports of the town.",
        "Which themes do the reports of the town hold?",
    ],
    "japanese": ["この町の主な話題は何ですか", "報告の全体をまとめてください", "この町の主なテーマを教えて"],
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    chosen = load_settings(env={}, overrides={"documents.isolate": False, "graph.extractor": "light"}).settings
    with Engine.open(tmp_path_factory.mktemp("index") / "i", settings=chosen, embedder=HashEmbedder()) as engine:
        for name, text in DOCUMENTS.items():
            engine.add(text=text, name=name)
        engine.add(text="The Nocturne Vault keeps the main themes of the whole archive.", name="s.txt", workspace="o")
        for workspace, themes in (("english", ENGLISH), ("japanese", JAPANESE)):
            for theme, texts in themes.items():
                for place, text in enumerate(texts):
                    engine.add(text=text, name=f"{theme}-{place}.txt", workspace=workspace)
        yield engine


def themes(engine: Engine, question: str, *, filters: SearchFilters | None, limit: int = 20) -> list[Hit]:
    store = engine._store
    vector = HashEmbedder().embed_query(question).pooled[0]
    views = view_communities(store, theme_keys(store.communities, vector, filters=filters), filters=filters)
    base = {key: (1 + cosine) / 2 for key, cosine in store.search_vector(vector, 100, filters=filters)}
    return search_themes(store, list(views.values()), base, about=topic_words(question), filters=filters, limit=limit)


DEFAULT = SearchFilters(workspace_ids=("default",))


def of_theme(engine: Engine, hit: Hit) -> set[str]:
    text = str(hit.details.get("text", "")) or engine._store.chunks_by_key([hit.key])[hit.key].text
    return {name.split("-")[0] for name, written in DOCUMENTS.items() if written[:20] in text}


def covered(texts: list[str], themes: dict[str, list[str]]) -> float:
    said = {theme for theme, written in themes.items() for line in written for text in texts if line in text}
    return len(said) / len(themes)


@pytest.mark.parametrize(("workspace", "corpus"), [("english", ENGLISH), ("japanese", JAPANESE)])
def test_the_first_ten_cover_the_themes_that_the_nearest_chunks_miss(
    engine: Engine, workspace: str, corpus: dict[str, list[str]]
) -> None:
    filters = SearchFilters(workspace_ids=(workspace,))
    shares, alone = [], []
    for question in QUESTIONS[workspace]:
        vector = HashEmbedder().embed_query(question).pooled[0]
        near = [key for key, _ in engine._store.search_vector(vector, 10, filters=filters)]
        found = themes(engine, question, filters=filters, limit=10)
        chunks = engine._store.chunks_by_key([*near, *(hit.key for hit in found if hit.key)])
        texts = [hit.text if not hit.key else chunks[hit.key].text for hit in found]
        shares.append(covered(texts, corpus))
        alone.append(covered([chunks[key].text for key in near], corpus))
    assert sum(shares) / len(shares) >= 0.8
    assert sum(alone) / len(alone) < 0.6


def test_the_first_results_cover_every_theme_before_one_repeats(engine: Engine) -> None:
    found = themes(engine, "What is it all about?", filters=DEFAULT)
    assert {theme for hit in found[:4] for theme in of_theme(engine, hit)} == {"boats", "bread", "bees"}


def test_scores_fall_with_the_order_and_no_result_comes_twice(engine: Engine) -> None:
    found = themes(engine, "What is it all about?", filters=DEFAULT)
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    assert len({hit.id for hit in found}) == len(found)
    assert all(0 < hit.score <= 1 for hit in found)


def test_communities_are_shown_beside_chunks_with_visible_text(engine: Engine) -> None:
    found = themes(engine, "What is it all about?", filters=DEFAULT)
    shown = [hit for hit in found if hit.type is SearchResultType.COMMUNITY]
    assert shown
    assert all(hit.text and hit.community_id == hit.id and hit.entity_ids for hit in shown)
    assert len(shown) <= len(found) / 2
    assert any(hit.community_id for hit in found if hit.type is SearchResultType.CHUNK)


def test_nothing_of_an_excluded_file_is_among_the_themes(engine: Engine) -> None:
    found = themes(engine, "What are the main themes of the whole archive?", filters=DEFAULT)
    chunks = engine._store.chunks_by_key([hit.key for hit in found if hit.key])
    told = [*(str(hit.details.get("text", "")) for hit in found), *(chunk.text for chunk in chunks.values())]
    told += [name for hit in found for name in hit.path]
    assert not any("Nocturne" in text for text in told)


def test_an_index_that_the_filter_empties_has_no_themes(engine: Engine) -> None:
    assert themes(engine, "What is it all about?", filters=SearchFilters(workspace_ids=("none",))) == []


def test_the_limit_holds(engine: Engine) -> None:
    assert len(themes(engine, "What is it all about?", filters=DEFAULT, limit=2)) == 2


def test_what_is_near_to_a_topic_comes_before_what_is_not(engine: Engine) -> None:
    found = themes(engine, "What are the main points about rye bread and sour dough?", filters=DEFAULT)
    assert of_theme(engine, found[0]) == {"bread"}


def test_one_document_has_its_own_themes(engine: Engine) -> None:
    engine.add(text="Only one thing stands here.", name="single.txt", workspace="single")
    only = SearchFilters(workspace_ids=("single",))
    assert len([hit for hit in themes(engine, "What is it all about?", filters=only) if hit.key]) == 1
    vector = HashEmbedder().embed_query("stands here").pooled[0]
    ((key, _),) = engine._store.search_vector(vector, 5, filters=only)
    assert [hit.key for hit in search_themes(engine._store, [], {key: 1.0}, filters=only)] == [key]
