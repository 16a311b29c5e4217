"""What a question names is a result of its own, told from visible sentences alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hybridrag.config import load_settings
from hybridrag.engine import Engine
from hybridrag.graph.linker import TitleLinker
from hybridrag.graph.names import name_key
from hybridrag.search.entity_hits import search_entities
from hybridrag.search.named import find_named
from hybridrag.testing.embedders import HashEmbedder
from hybridrag.types.queries import SearchFilters
from hybridrag.types.results import Hit, SearchResultType


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    chosen = load_settings(env={}, overrides={"documents.isolate": False, "graph.extractor": "light"}).settings
    with Engine.open(tmp_path_factory.mktemp("index") / "i", settings=chosen, embedder=HashEmbedder()) as engine:
        engine.add(text="Elvira Quist founded Marten Works in 1874. She grew up by the sea.", name="quist.txt")
        engine.add(text="A letter. Nobody had heard of Elvira Quist before.", name="letter.txt")
        engine.add(text="霧島電機は白川工業を買収した。", name="ja.txt")
        engine.add(text="Elvira Quist hid the gold in Norrhamn.", name="secret.txt", workspace="other")
        engine.add(text="Elvira Quist " + "rowed and rowed " * 40 + "home.", name="long.txt", workspace="long")
        yield engine


def shown(engine: Engine, name: str, *, filters: SearchFilters | None = None) -> list[Hit]:
    named = find_named(engine._store.graph, TitleLinker(), [name], name_key=name_key, filters=filters)
    return search_entities(engine._store, named, filters=filters)


def test_an_entity_is_told_by_its_name_type_and_the_sentences_of_its_facts(engine: Engine) -> None:
    (hit,) = shown(engine, "Elvira Quist", filters=SearchFilters(workspace_ids=("default",)))
    assert hit.type is SearchResultType.ENTITY
    assert hit.entity_ids == (hit.id,)
    assert hit.relation_ids
    lines = hit.text.splitlines()
    assert lines[0].startswith("Elvira Quist (")
    assert lines[1] == "Elvira Quist founded Marten Works in 1874."
    assert "Nobody had heard of Elvira Quist before." in lines


def test_an_entity_is_told_in_japanese(engine: Engine) -> None:
    (hit,) = shown(engine, "霧島電機")
    assert "霧島電機は白川工業を買収した。" in hit.text


def test_no_sentence_of_an_excluded_file_is_told(engine: Engine) -> None:
    (hit,) = shown(engine, "Elvira Quist", filters=SearchFilters(workspace_ids=("default",)))
    assert "gold" not in hit.text
    (other,) = shown(engine, "Elvira Quist", filters=SearchFilters(workspace_ids=("other",)))
    assert "Marten" not in str(other.text)
    assert shown(engine, "Marten Works", filters=SearchFilters(workspace_ids=("other",))) == []


def test_an_entity_of_another_type_than_the_filter_wants_is_not_there(engine: Engine) -> None:
    assert shown(engine, "Elvira Quist", filters=SearchFilters(entity_types=("event",))) == []


def test_an_endless_sentence_is_cut(engine: Engine) -> None:
    (hit,) = shown(engine, "Elvira Quist", filters=SearchFilters(workspace_ids=("long",)))
    assert max(len(line) for line in hit.text.splitlines()) <= 301
