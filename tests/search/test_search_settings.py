"""Settings that `hybridrag tune` turns, as a search feels them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hybridrag.config import load_settings
from hybridrag.engine import Engine
from hybridrag.models.hash_embedder import HashEmbedder
from hybridrag.steps import Step
from hybridrag.types.queries import QueryType, SearchFilters, SearchQuery, SearchWeights
from hybridrag.types.results import CRAGVerdict, SearchResult
from hybridrag.types.sources import TextDocument

QUESTION = "How much is the harbour fee for small boats?"
PLAIN = {"graph.extractor": "light", "documents.isolate": False, "rerank.provider": "none", "search.cache_size": 0}


def tuned(**overrides: object) -> dict[str, object]:
    return {**PLAIN, **{key.replace("__", "."): value for key, value in overrides.items()}}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    settings = load_settings(env={}, overrides=PLAIN).settings
    path: Path = tmp_path_factory.mktemp("tuned") / "i"
    with Engine.open(path, settings=settings, embedder=HashEmbedder()) as engine:
        texts = [TextDocument(f"berth-{at}.txt", f"The harbour has berth {at} for boats.") for at in range(30)]
        fee = TextDocument("fee.txt", "The harbour fee for small boats is twelve crowns a day.", title="Harbour fee")
        engine.add_documents([fee, *texts])
        yield engine


def search(index: Engine, query: str | SearchQuery = QUESTION, /, limit: int = 20, **overrides: object) -> SearchResult:
    settings = load_settings(env={}, overrides=tuned(**overrides)).settings
    given = {} if isinstance(query, SearchQuery) else {"limit": limit, "crag_enabled": True}
    return index.with_settings(settings).search(query, explain=True, **given)


def test_the_weights_of_the_settings_plan_a_search_and_are_suggested(index: Engine) -> None:
    weights = {"keyword": 0.6, "semantic": 0.3, "graph": 0.1}
    result = search(index, search__weights={"local": weights})
    assert result.classification is not None
    assert result.classification.type is QueryType.LOCAL
    assert result.classification.suggested_weights == SearchWeights(**weights)
    assert result.trace is not None
    (plan,) = [step for step in result.trace.steps if step.step is Step.PLAN]
    assert plan.details["weights"] == pytest.approx(weights)
    assert plan.details["weightsFrom"] == "type"


def test_as_many_candidates_are_handed_in_as_the_settings_say(index: Engine) -> None:
    few = search(index, limit=1, search__candidates=10)
    assert few.strategies.keyword.result_count == 20  # never fewer than twenty
    assert search(index, limit=1).strategies.keyword.result_count == 31
    more = search(index, limit=10, search__candidates=10, search__candidates_per_result=3)
    assert more.strategies.keyword.result_count == 30


def test_br_007_results_below_the_bound_of_the_query_or_else_of_the_settings_are_left_out(
    index: Engine,
) -> None:
    usual, strict = search(index), search(index, search__min_relevance=0.6)
    assert 0 < strict.total_count < usual.total_count
    assert all(item.relevance.combined >= 0.6 for item in strict.results)
    assert strict.query.filters.min_relevance == 0.6
    own = SearchQuery(text=QUESTION, filters=SearchFilters(min_relevance=0.3))
    assert search(index, own, search__min_relevance=0.6).query.filters.min_relevance == 0.3


def test_the_bounds_of_the_settings_decide_the_grade(index: Engine) -> None:
    usual = search(index)
    assert usual.crag is not None
    assert usual.crag.relevance is CRAGVerdict.CORRECT
    strict = search(index, verify__correct_from=1.0)
    assert strict.crag is not None
    assert strict.crag.relevance is CRAGVerdict.AMBIGUOUS


def test_other_settings_search_the_same_open_index(index: Engine) -> None:
    other = index.with_settings(load_settings(env={}, overrides=tuned(search__fusion="rrf")).settings)
    assert other.path == index.path
    assert other.search(QUESTION).results[0].sources.file_name == "fee.txt"
    assert index.settings.search.fusion == "score"
