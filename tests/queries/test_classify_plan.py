"""The plan: the caller's word first, then the classifier's; weights over what runs; bounded candidates."""

from __future__ import annotations

import pytest

from hybridrag.queries.classify import classify
from hybridrag.queries.plan import (
    MAX_CANDIDATES,
    MIN_CANDIDATES,
    candidates_for,
    default_weights,
    make_plan,
)
from hybridrag.types.queries import QueryType, SearchOptions, SearchQuery, SearchStrategy, SearchWeights

COMPARE = "Compare React and Vue"


def test_the_classifier_decides_where_the_query_says_nothing() -> None:
    plan = make_plan(SearchQuery(text=COMPARE), classify(COMPARE))
    assert (plan.type, plan.type_from) == (QueryType.RELATIONSHIP, "classifier")
    assert (plan.weights, plan.weights_from) == (default_weights(QueryType.RELATIONSHIP), "type")


def test_a_type_in_the_query_wins_and_brings_its_weights() -> None:
    plan = make_plan(SearchQuery(text=COMPARE, type=QueryType.GLOBAL), classify(COMPARE))
    assert (plan.type, plan.type_from) == (QueryType.GLOBAL, "query")
    assert plan.weights == default_weights(QueryType.GLOBAL)


def test_hybrid_in_the_query_leaves_the_type_to_the_classifier() -> None:
    assert make_plan(SearchQuery(text=COMPARE, type=QueryType.HYBRID), classify(COMPARE)).type is QueryType.RELATIONSHIP


def test_weights_in_the_query_win_even_when_they_equal_the_default() -> None:
    local = SearchWeights(keyword=0.35, semantic=0.35, graph=0.30)
    plan = make_plan(SearchQuery(text=COMPARE, options=SearchOptions(weights=local)), classify(COMPARE))
    assert (plan.type, plan.weights, plan.weights_from) == (QueryType.RELATIONSHIP, local, "query")


def test_a_search_that_does_not_run_weighs_nothing_and_the_rest_is_scaled_to_one() -> None:
    options = SearchOptions(strategies=(SearchStrategy.GRAPH, SearchStrategy.KEYWORD))
    plan = make_plan(SearchQuery(text=COMPARE, options=options), classify(COMPARE))
    assert plan.weights.keyword == pytest.approx(0.25)
    assert plan.weights.semantic == 0
    assert plan.weights.graph == pytest.approx(0.75)


def test_a_mode_is_one_search_with_all_the_weight() -> None:
    options = SearchOptions.model_validate({"mode": "keyword"})
    plan = make_plan(SearchQuery(text=COMPARE, options=options), classify(COMPARE))
    assert plan.weights.keyword == 1


@pytest.mark.parametrize(
    ("results", "candidates"), [(1, MIN_CANDIDATES), (10, 20), (20, 40), (120, 240), (5000, MAX_CANDIDATES)]
)
def test_each_search_fetches_twice_what_is_wanted_within_bounds(results: int, candidates: int) -> None:
    assert candidates_for(results) == candidates


def test_later_pages_fetch_what_the_earlier_ones_showed_as_well() -> None:
    options = SearchOptions(limit=20, offset=40)
    assert make_plan(SearchQuery(text=COMPARE, options=options), None).candidates == 120


def test_without_a_classification_the_plan_is_hybrid() -> None:
    plan = make_plan(SearchQuery(text=COMPARE), None)
    assert (plan.type, plan.weights) == (QueryType.HYBRID, default_weights(QueryType.HYBRID))
