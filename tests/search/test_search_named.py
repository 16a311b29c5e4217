"""What a question names, and how results say by way of what they were found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hybridrag.config import load_settings
from hybridrag.engine import Engine
from hybridrag.graph.linker import TitleLinker
from hybridrag.graph.names import name_key
from hybridrag.search.named import Named, find_named
from hybridrag.testing.embedders import HashEmbedder
from hybridrag.types.queries import SearchFilters
from hybridrag.types.results import SearchResultItem

DOCUMENTS = {
    "quist.md": "# Elvira Quist\n\nElvira Quist founded Marten Works in 1874. She grew up in Norrhamn.\n",
    "works.md": "# Marten Works\n\nMarten Works closed its yard because Baltic Timber raised its prices.\n",
    "timber.md": "# Baltic Timber\n\nBaltic Timber supplied Marten Works for twenty years.\n",
    "bridge.md": "# Solberg Bridge\n\nSolberg Bridge was drawn by Anders Holm. The Ostvik Guild paid for it.\n",
    "guild.md": "# Ostvik Guild\n\nThe Ostvik Guild met in Norrhamn under Karin Vall.\n",
    "ferry.md": "# Kestrel Ferry\n\nThe Kestrel Ferry was painted by Karin Vall.\n",
    "ja1.md": "# 霧島電機\n\n霧島電機は白川工業を買収した。\n",
    "ja2.md": "# 白川工業\n\n白川工業は大雨のため工場を閉じた。霧島電機が支援した。\n",
    "noise.md": "# Bread\n\nBake the bread for forty minutes and let it rest.\n",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    chosen = load_settings(env={}, overrides={"documents.isolate": False, "graph.extractor": "light"}).settings
    with Engine.open(tmp_path_factory.mktemp("index") / "i", settings=chosen, embedder=HashEmbedder()) as engine:
        folder = tmp_path_factory.mktemp("docs")
        for name, text in DOCUMENTS.items():
            (folder / name).write_text(text, encoding="utf-8")
        engine.add(folder)
        elsewhere = "Elvira Quist sold Baltic Timber to the Ostvik Guild."
        engine.add(text=elsewhere, name="secret.txt", workspace="other")
        yield engine


DEFAULT = SearchFilters(workspace_ids=("default",))


def named(engine: Engine, *names: str, filters: SearchFilters | None = DEFAULT) -> list[Named]:
    return find_named(engine._store.graph, TitleLinker(), names, name_key=name_key, filters=filters)


def found(engine: Engine, question: str) -> dict[str, SearchResultItem]:
    results = engine.search(question, workspace_ids=("default",)).results
    return {Path(item.sources.file_name or "").name: item for item in results}


def paths(item: SearchResultItem) -> list[tuple[str, ...]]:
    return [by.path for by in item.found_by if by.path]


def test_a_result_of_the_graph_says_where_its_path_began_and_what_it_went_by(engine: Engine) -> None:
    item = found(engine, "What happened to the works that Elvira Quist founded?")["works.md"]
    assert [[name.casefold() for name in path] for path in paths(item)] == [["elvira quist", "marten works"]]


def test_a_result_names_the_entities_that_led_to_it(engine: Engine) -> None:
    item = found(engine, "Elvira Quist and Baltic Timber?")["timber.md"]
    names = {engine.graph.entity(it).name for it in item.sources.entity_ids}
    assert "Baltic Timber" in names


def test_no_path_begins_at_or_goes_by_way_of_an_excluded_file(engine: Engine) -> None:
    items = found(engine, "Elvira Quist and Baltic Timber?")
    assert "secret.txt" not in items
    assert not any("secret" in name for item in items.values() for path in paths(item) for name in path)


def test_a_name_is_about_the_chunks_of_its_title_before_those_that_mention_it(engine: Engine) -> None:
    (works,) = named(engine, "Marten Works")
    assert len(works.titled) == 1
    assert works.about == works.titled
    assert len(works.mentioned) > 1
    (nothing,) = named(engine, "Xylo Quark")
    assert nothing.about == ()
    assert named(engine, " ") == []
