"""A question about the whole gets results that cover its themes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hybridrag.config import load_settings
from hybridrag.engine import Engine
from hybridrag.graph.community_views import view_communities
from hybridrag.search.themes import search_themes, theme_keys
from hybridrag.testing.embedders import HashEmbedder
from hybridrag.types.queries import SearchFilters
from hybridrag.types.results import Hit, SearchResultType


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    chosen = load_settings(env={}, overrides={"documents.isolate": False, "graph.extractor": "light"}).settings
    with Engine.open(tmp_path_factory.mktemp("index") / "i", settings=chosen, embedder=HashEmbedder()) as engine:
        for name, text in DOCUMENTS.items():
            engine.add(text=text, name=name)
        engine.add(text="The Nocturne Vault keeps the main themes of the whole archive.", name="s.txt", workspace="o")
        yield engine


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


def themes(engine: Engine, question: str, *, filters: SearchFilters | None, limit: int = 20) -> list[Hit]:
    store = engine._store
    vector = HashEmbedder().embed_query(question).pooled[0]
    views = view_communities(store, theme_keys(store.communities, vector, filters=filters), filters=filters)
    base = {key: (1 + cosine) / 2 for key, cosine in store.search_vector(vector, 100, filters=filters)}
    return search_themes(store, vector, list(views.values()), base, filters=filters, limit=limit)


DEFAULT = SearchFilters(workspace_ids=("default",))


def of_theme(engine: Engine, hit: Hit) -> set[str]:
    text = str(hit.details.get("text", "")) or engine._store.chunks_by_key([hit.key])[hit.key].text
    return {name.split("-")[0] for name, written in DOCUMENTS.items() if written[:20] in text}


def test_the_first_results_cover_every_theme_before_one_repeats(engine: Engine) -> None:
    found = themes(engine, "What is it all about?", filters=DEFAULT)
    covered = [theme for hit in found[:3] for theme in of_theme(engine, hit)]
    assert set(covered) == {"boats", "bread", "bees"}


def test_scores_fall_with_the_order_and_no_result_comes_twice(engine: Engine) -> None:
    found = themes(engine, "What is it all about?", filters=DEFAULT)
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    assert len({hit.id for hit in found}) == len(found)
    assert all(0 < hit.score <= 1 for hit in found)


def test_communities_are_shown_beside_chunks_with_visible_text(engine: Engine) -> None:
    found = themes(engine, "What is it all about?", filters=DEFAULT)
    shown = [hit for hit in found if hit.type is SearchResultType.COMMUNITY]
    assert shown
    assert all(hit.details["text"] and hit.community_id == hit.id and hit.entity_ids for hit in shown)
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
