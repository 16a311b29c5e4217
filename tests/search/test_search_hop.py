"""From what a question names, one step on: titles, shared names, and how much each is worth."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from hybridrag.config import load_settings
from hybridrag.engine import Engine
from hybridrag.graph.linker import TitleLinker
from hybridrag.search.blend import blend, own_scores, seed_weights
from hybridrag.search.hop import WALK, Seed, find_seeds, hop
from hybridrag.search.named import named_first
from hybridrag.testing.embedders import HashEmbedder
from hybridrag.types.queries import SearchFilters
from hybridrag.types.results import Hit

DOCUMENTS = {
    "lighthouse.md": "# The Marten Lighthouse\n\nThe Marten Lighthouse was designed by Elvira Quist in 1874.\n",
    "quist.md": "# Elvira Quist\n\nElvira Quist grew up in Norrhamn and studied stone bridges there.\n",
    "school.md": "# Harbour school\n\nThe school in Norrhamn has forty pupils.\n",
    "bread.md": "# Bread\n\nBake it for forty minutes.\n",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    chosen = load_settings(env={}, overrides={"documents.isolate": False, "graph.extractor": "light"}).settings
    with Engine.open(tmp_path_factory.mktemp("index") / "i", settings=chosen, embedder=HashEmbedder()) as engine:
        folder = tmp_path_factory.mktemp("docs")
        for name, text in DOCUMENTS.items():
            (folder / name).write_text(text, encoding="utf-8")
        engine.add(folder)
        engine.add(text="Elvira Quist kept the plans in a safe.", name="secret.txt", workspace="other")
        yield engine


@pytest.fixture(scope="module")
def keys(engine: Engine) -> dict[str, int]:
    """The key of each document's only chunk."""
    store = engine._store
    found = store.chunks_by_key(range(1, 20))
    files = {file.id: Path(file.name).name for file in store.files()}
    return {files[chunk.file_id]: key for key, chunk in found.items()}


def test_a_question_seeds_the_document_whose_title_it_names(engine: Engine, keys: dict[str, int]) -> None:
    question = "Who designed the Marten Lighthouse?"
    rarity = dict.fromkeys(TitleLinker().probe_terms(question), 6.0)
    (seed,) = find_seeds(engine._store.graph, TitleLinker(), question, rarity=rarity)
    assert seed.chunk_key == keys["lighthouse.md"]
    assert not seed.ambiguous


def test_a_title_leads_on_more_surely_than_a_shared_name(engine: Engine, keys: dict[str, int]) -> None:
    trails = hop(engine._store.graph, {keys["lighthouse.md"]: 1.0, keys["quist.md"]: 0.5})
    assert trails[keys["quist.md"]].via == "elvira quist"
    assert trails[keys["quist.md"]].strength == pytest.approx(1.0)
    # Two chunks mention Norrhamn, and the one that it is reached from is half as good as the best.
    assert trails[keys["school.md"]].via == "Norrhamn"
    assert trails[keys["school.md"]].strength == pytest.approx(0.5 * WALK.in_passing / math.log2(2))
    assert keys["bread.md"] not in trails


def test_a_chunk_that_begins_with_the_shared_name_is_more_likely_about_it(engine: Engine, keys: dict[str, int]) -> None:
    store = engine._store
    own = {keys["lighthouse.md"]: 1.0}
    there = keys["secret.txt"]
    passing = hop(store.graph, own)[there]
    about = hop(store.graph, own, communities=store.communities)[there]
    assert about.via == passing.via == "Elvira Quist"
    assert about.strength == pytest.approx(passing.strength / WALK.in_passing)


def test_what_a_chunk_names_first_is_told_by_where_it_stands(engine: Engine, keys: dict[str, int]) -> None:
    store = engine._store
    quist = store.graph.entity_keys(["elvira quist"])["elvira quist"]
    first = named_first(store.communities, [keys["secret.txt"], keys["school.md"]])
    assert first[keys["secret.txt"]] == {quist}
    assert quist not in first.get(keys["school.md"], ())
    hidden = named_first(store.communities, [keys["secret.txt"]], filters=SearchFilters(workspace_ids=("default",)))
    assert hidden == {}


def test_a_name_that_the_question_holds_leads_less(engine: Engine, keys: dict[str, int]) -> None:
    graph = engine._store.graph
    norrhamn = graph.entity_keys(["norrhamn"])["norrhamn"]
    own = {keys["quist.md"]: 1.0}
    free, asked = hop(graph, own), hop(graph, own, asked=frozenset({norrhamn}))
    assert asked[keys["school.md"]].strength < free[keys["school.md"]].strength


def test_nothing_leads_into_an_excluded_file(engine: Engine, keys: dict[str, int]) -> None:
    own = {keys["lighthouse.md"]: 1.0}
    assert keys["secret.txt"] in hop(engine._store.graph, own)
    allowed = SearchFilters(workspace_ids=("default",))
    assert keys["secret.txt"] not in hop(engine._store.graph, own, filters=allowed)


def test_without_a_start_there_is_nowhere_to_go(engine: Engine) -> None:
    assert hop(engine._store.graph, {}) == {}
    assert hop(engine._store.graph, {1: 0.0}) == {}


def test_chunks_of_one_name_share_it() -> None:
    base = {1: 1.0, 2: 0.5, 3: 0.4}
    seeds = [Seed(key, "georgia", 1.0, ambiguous=True) for key in (3, 1, 2)]
    weights = seed_weights(base, seeds)
    assert weights == pytest.approx({1: 1.0, 2: 0.5 / math.sqrt(2), 3: 0.4 / math.sqrt(3)})
    assert own_scores(base, seeds)[2] == pytest.approx(0.5 + 0.5 / math.sqrt(2))


def test_a_path_is_worth_its_share_of_the_best_own_score() -> None:
    base = {1: 1.0, 2: 0.9}
    hits = [
        Hit("1", key=1, scores={"seed": 1.0}),
        Hit("2", key=2),
        Hit("3", key=3, scores={"trail": 0.75}, path=("y",)),
        Hit("4", key=4, scores={"keyword": 0.9}),
    ]
    found = blend(hits, base)
    # What no search found that weighs anything is no result.
    assert [hit.key for hit in found] == [1, 3, 2]
    # 0.75 of the best own score of 2.0, less the share that words or meaning of its own would have added.
    assert found[1].order == pytest.approx(0.75 * 0.8 * 2.0)
    assert found[1].path == ("y",)
