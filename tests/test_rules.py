"""The business rules, BR-001 to BR-025: one test at least for each, named by its id."""

from __future__ import annotations

import ast
import re
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from hybridrag.errors import InvalidQuery
from hybridrag.queries.plan import default_weights, settle_type
from hybridrag.search.fuse import fuse, rrf_score
from hybridrag.search.grade import grade, verdict
from hybridrag.types.ids import ChunkId, CommunityId, EntityId, FileId
from hybridrag.types.parse import parse_query
from hybridrag.types.queries import (
    SINGLE_STRATEGIES,
    DateRange,
    QueryType,
    RerankConfig,
    RRFConfig,
    SearchFilters,
    SearchOptions,
    SearchQuery,
    SearchStrategy,
    SearchWeights,
)
from hybridrag.types.results import (
    CRAGReport,
    CRAGScore,
    CRAGVerdict,
    HighlightOffset,
    Hit,
    RelevanceScore,
    SearchResult,
    SearchResultContent,
    SearchResultItem,
    SearchResultSources,
    SearchResultType,
    SearchStrategyMetrics,
    StrategyMetric,
)

KEYWORD, SEMANTIC, GRAPH = SINGLE_STRATEGIES
RULES = [f"br_{number:03}" for number in range(1, 26)]
SCENARIOS = {
    "ac_type_001": 3,
    "ac_type_002": 3,
    "ac_type_003": 3,
    "ac_type_004": 2,
    "ac_type_005": 3,
    "ac_type_006": 3,
    "ac_type_007": 3,
    "ac_schema_001": 2,
    "ac_schema_002": 2,
}
CRITERIA = [f"{name}_{scenario}" for name, count in SCENARIOS.items() for scenario in range(1, count + 1)]
GRADE = CRAGScore(relevance=CRAGVerdict.CORRECT, confidence=0.9, needs_web_search=False)


@cache
def names_of_tests() -> frozenset[str]:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in Path(__file__).parent.rglob("test_*.py")]
    functions = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return frozenset(function.name for function in functions)


@pytest.mark.parametrize("rule", [*RULES, *CRITERIA])
def test_every_rule_and_every_scenario_has_a_test_that_carries_its_id(rule: str) -> None:
    assert any(re.match(rf"test_{rule}_[a-z]", name) for name in names_of_tests())


def test_no_test_carries_an_id_that_does_not_exist() -> None:
    carried = {found[1] for name in names_of_tests() if (found := re.match(r"test_(br_\d+|ac_[a-z]+_\d+_\d+)_", name))}
    assert carried == {*RULES, *CRITERIA}


def item(relevance: RelevanceScore, sources: SearchResultSources | None = None) -> SearchResultItem:
    return SearchResultItem(
        id="x",
        type=SearchResultType.CHUNK,
        score=relevance.combined,
        relevance=relevance,
        content=SearchResultContent(text="t"),
        sources=sources or SearchResultSources(chunk_id=ChunkId.derived("x")),
    )


def result(
    relevance: RelevanceScore,
    *,
    options: SearchOptions | None = None,
    keyword: bool = True,
    crag: CRAGReport | None = None,
) -> SearchResult:
    return SearchResult(
        query=SearchQuery(text="x", options=options or SearchOptions()),
        results=(item(relevance),),
        total_count=1,
        processing_time=1.0,
        strategies=SearchStrategyMetrics(
            keyword=StrategyMetric(enabled=keyword),
            semantic=StrategyMetric(enabled=True),
            graph=StrategyMetric(enabled=True),
        ),
        crag=crag,
    )


# Queries


def test_br_001_a_question_that_cannot_be_classified_is_hybrid() -> None:
    assert SearchQuery(text="x").type is QueryType.HYBRID
    assert default_weights(None) == default_weights(QueryType.HYBRID)
    assert settle_type(QueryType.LOCAL, 0.0) is QueryType.HYBRID


@pytest.mark.parametrize(
    ("query_type", "expected"),
    [
        (QueryType.LOCAL, (0.35, 0.35, 0.30)),
        (QueryType.GLOBAL, (0.20, 0.30, 0.50)),
        (QueryType.RELATIONSHIP, (0.20, 0.20, 0.60)),
        (QueryType.HYBRID, (0.33, 0.34, 0.33)),
    ],
)
def test_br_002_every_type_has_its_recommended_weights(
    query_type: QueryType, expected: tuple[float, float, float]
) -> None:
    weights = default_weights(query_type)
    assert (weights.keyword, weights.semantic, weights.graph) == expected


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u3000"])
def test_br_003_an_empty_question_is_refused_before_any_search(text: str) -> None:
    with pytest.raises(ValidationError, match="the query is empty"):
        SearchQuery(text=text)
    with pytest.raises(InvalidQuery, match="the query is empty"):
        parse_query(text)


def test_br_004_a_question_needs_no_embedding() -> None:
    assert SearchQuery(text="x").embedding is None
    assert SearchQuery.model_validate_json('{"text": "x", "embedding": null}').embedding is None


@pytest.mark.parametrize("dimension", [1, 384, 768, 1536])
def test_br_005_an_embedding_has_the_dimension_of_whatever_model_is_set(dimension: int) -> None:
    embedding = SearchQuery(text="x", embedding=np.ones(dimension, dtype=np.float32)).embedding
    assert embedding is not None
    assert embedding.shape == (dimension,)


# Filters


def test_br_006_an_empty_list_of_files_means_all_files() -> None:
    assert SearchFilters(file_ids=()).file_ids is None
    assert SearchFilters(file_ids=()).selects_all
    assert not SearchFilters(file_ids=(FileId.derived("a"),)).selects_all


def test_br_008_a_range_begins_before_it_ends_or_is_one_moment() -> None:
    early, late = datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 12, 31, tzinfo=UTC)
    assert DateRange(start=early, end=late).contains(early)
    assert DateRange(start=early, end=early).contains(early)
    with pytest.raises(ValidationError, match="start must be before or equal to end"):
        DateRange(start=late, end=early)


def test_br_009_a_range_with_one_end_is_open_at_the_other() -> None:
    moment, before, after = (datetime(year, 1, 1, tzinfo=UTC) for year in (2024, 1, 9999))
    since, until = DateRange(start=moment), DateRange(end=moment)
    assert since.contains(after)
    assert not since.contains(before)
    assert until.contains(before)
    assert not until.contains(after)
    assert DateRange().contains(before)
    assert DateRange().contains(after)


# Weights


@pytest.mark.parametrize(
    ("weights", "accepted"),
    [
        ((0.35, 0.35, 0.30), True),
        ((0.334, 0.333, 0.333), True),
        ((0.335, 0.335, 0.335), True),
        ((0.33, 0.33, 0.33), False),
        ((0.34, 0.34, 0.33), False),
        ((0.5, 0.5, 0.5), False),
        ((0.0, 0.0, 0.0), False),
    ],
)
def test_br_010_weights_sum_to_one_within_a_hundredth(weights: tuple[float, float, float], accepted: bool) -> None:
    data = dict(zip(("keyword", "semantic", "graph"), weights, strict=True))
    if accepted:
        assert SearchWeights.model_validate(data).model_dump() == data
    else:
        with pytest.raises(ValidationError, match=r"Weights must sum to 1\.0"):
            SearchWeights.model_validate(data)


@pytest.mark.parametrize("strategy", SINGLE_STRATEGIES)
def test_br_011_a_search_that_is_not_used_weighs_nothing(strategy: SearchStrategy) -> None:
    weights = SearchOptions(strategies=(strategy,)).effective_weights
    assert {single: weights.of(single) for single in SINGLE_STRATEGIES} == {
        single: 1.0 if single is strategy else 0.0 for single in SINGLE_STRATEGIES
    }


@pytest.mark.parametrize(
    ("confidence", "expected"), [(0.0, QueryType.HYBRID), (0.69, QueryType.HYBRID), (0.7, QueryType.LOCAL)]
)
def test_br_012_a_type_below_the_recommended_confidence_is_searched_as_hybrid(
    confidence: float, expected: QueryType
) -> None:
    assert settle_type(QueryType.LOCAL, confidence, min_confidence=0.7) is expected


def test_br_012_the_least_confidence_is_six_tenths_unless_set() -> None:
    assert settle_type(QueryType.LOCAL, 0.6) is QueryType.LOCAL
    assert settle_type(QueryType.LOCAL, 0.59) is QueryType.HYBRID


# Scores


def test_br_013_a_search_that_was_off_scores_zero() -> None:
    assert RelevanceScore(combined=0.5).model_dump(include={"keyword", "semantic", "graph"}) == {
        "keyword": 0.0,
        "semantic": 0.0,
        "graph": 0.0,
    }
    scored = RelevanceScore(combined=0.5, keyword=0.4)
    assert result(scored).results[0].relevance.keyword == 0.4
    assert result(RelevanceScore(combined=0.5), keyword=False).results[0].relevance.keyword == 0
    with pytest.raises(ValidationError, match="the keyword search was off"):
        result(scored, keyword=False)


def test_br_014_a_rerank_score_is_there_only_where_reranking_was_asked_for_and_ran() -> None:
    assert RelevanceScore(combined=0.5).rerank is None
    reranked, off = RelevanceScore(combined=0.5, rerank=0.9), SearchOptions(rerank_enabled=False)
    assert result(reranked).results[0].relevance.rerank == 0.9
    assert result(RelevanceScore(combined=0.5), options=off).results[0].relevance.rerank is None
    with pytest.raises(ValidationError, match="rerankEnabled is false"):
        result(reranked, options=off)


def test_br_015_a_grade_is_there_only_where_grading_was_asked_for_and_ran() -> None:
    assert RelevanceScore(combined=0.5).crag is None
    graded, on = RelevanceScore(combined=0.5, crag=GRADE), SearchOptions(crag_enabled=True)
    assert result(graded, options=on).results[0].relevance.crag == GRADE
    with pytest.raises(ValidationError, match="cragEnabled is false"):
        result(graded)
    with pytest.raises(ValidationError, match="cragEnabled is false"):
        result(RelevanceScore(combined=0.5), crag=CRAGReport(**GRADE.model_dump(by_alias=False)))


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (1.0, "correct"),
        (0.7, "correct"),
        (0.69, "ambiguous"),
        (0.31, "ambiguous"),
        (0.3, "incorrect"),
        (0, "incorrect"),
    ],
)
def test_br_016_seven_tenths_is_correct_three_tenths_incorrect_and_between_is_ambiguous(
    score: float, expected: str
) -> None:
    assert verdict(score) == expected


@pytest.mark.parametrize(("score", "needed"), [(0.9, False), (0.5, True), (0.1, True)])
def test_br_017_all_but_a_correct_verdict_ask_for_a_web_search(score: float, needed: bool) -> None:
    assert grade(score).needs_web_search is needed


@pytest.mark.parametrize(("start", "end"), [(5, 5), (6, 5), (0, 0)])
def test_br_018_a_highlight_begins_before_it_ends(start: int, end: int) -> None:
    assert HighlightOffset(start=start, end=start + 1).end == start + 1
    with pytest.raises(ValidationError, match="must be before end"):
        HighlightOffset(start=start, end=end)


# Sources


def of_type(kind: SearchResultType, sources: SearchResultSources) -> SearchResultItem:
    return SearchResultItem(
        id="x",
        type=kind,
        score=0.5,
        relevance=RelevanceScore(combined=0.5),
        content=SearchResultContent(text="t"),
        sources=sources,
    )


def test_br_019_a_chunk_result_names_its_chunk() -> None:
    named = SearchResultSources(chunk_id=ChunkId.derived("a"))
    assert of_type(SearchResultType.CHUNK, named).sources == named
    with pytest.raises(ValidationError, match=r"a chunk result needs sources\.chunkId"):
        of_type(SearchResultType.CHUNK, SearchResultSources(entity_ids=(EntityId.derived("a"),)))


def test_br_019_holds_for_texts_from_the_web_too() -> None:
    with pytest.raises(ValidationError, match=r"a chunk result needs sources\.chunkId"):
        of_type(SearchResultType.CHUNK, SearchResultSources(external_url="https://a.example"))


def test_br_020_an_entity_result_names_at_least_one_entity() -> None:
    named = SearchResultSources(entity_ids=(EntityId.derived("a"),))
    assert of_type(SearchResultType.ENTITY, named).sources == named
    with pytest.raises(ValidationError, match=r"at least one of sources\.entityIds"):
        of_type(SearchResultType.ENTITY, SearchResultSources(chunk_id=ChunkId.derived("a")))


def test_br_021_a_community_result_names_its_community() -> None:
    named = SearchResultSources(community_id=CommunityId.derived("a"))
    assert of_type(SearchResultType.COMMUNITY, named).sources == named
    with pytest.raises(ValidationError, match=r"a community result needs sources\.communityId"):
        of_type(SearchResultType.COMMUNITY, SearchResultSources(entity_ids=(EntityId.derived("a"),)))


# Fusion and reranking


def test_br_022_the_fused_score_is_the_sum_of_weight_over_k_plus_rank() -> None:
    weights, raw = default_weights(QueryType.LOCAL), RRFConfig(normalize_scores=False)
    expected = 0.35 * 1 / (60 + 1) + 0.35 * 1 / (60 + 4) + 0.30 * 1 / (60 + 2)
    assert rrf_score({KEYWORD: 1, SEMANTIC: 4, GRAPH: 2}, weights, raw) == pytest.approx(expected, rel=1e-12)
    [fused] = fuse({KEYWORD: [Hit(id="a", score=1.0)], GRAPH: [Hit(id="a", score=1.0)]}, weights)
    assert fused.order == pytest.approx(0.35 / 61 + 0.30 / 61, rel=1e-12)


def test_br_023_a_larger_constant_makes_ranks_count_for_less() -> None:
    weights = default_weights(QueryType.HYBRID)

    def lead_of_the_first_over_the_tenth(k: int) -> float:
        config = RRFConfig(k=k, normalize_scores=False)
        return rrf_score({KEYWORD: 1}, weights, config) / rrf_score({KEYWORD: 10}, weights, config)

    leads = [lead_of_the_first_over_the_tenth(k) for k in (1, 10, 60, 1000)]
    assert leads == sorted(leads, reverse=True)
    assert leads[0] == pytest.approx(11 / 2)
    assert leads[-1] == pytest.approx(1010 / 1001)


@pytest.mark.parametrize(("results", "expected"), [(7, 7), (50, 50), (80, 50), (1, 1), (0, 1)])
def test_br_024_the_reranker_reads_no_more_results_than_there_are(results: int, expected: int) -> None:
    assert RerankConfig(top_k=50).bounded_by(results).top_k == expected


@pytest.mark.parametrize("size", [1, 16, 32])
def test_br_025_the_batch_size_can_be_set_within_its_bounds(size: int) -> None:
    assert RerankConfig(batch_size=size).batch_size == size
    for wrong in (0, 33):
        with pytest.raises(ValidationError):
            RerankConfig(batch_size=wrong)
