"""Normalise, merge, filter and sort results."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrag.search.select import Merge, deduplicate, filter_by_min_relevance, normalise_scores, sort_by_score
from hybridrag.types.ids import new_chunk_id
from hybridrag.types.results import (
    RelevanceScore,
    SearchResultContent,
    SearchResultItem,
    SearchResultSources,
    SearchResultType,
)
from model_strategies import SETTINGS, scores

SOURCES = SearchResultSources(chunk_id=new_chunk_id())


def item(name: str, score: float, combined: float | None = None) -> SearchResultItem:
    return SearchResultItem(
        id=name,
        type=SearchResultType.CHUNK,
        score=score,
        relevance=RelevanceScore(combined=score if combined is None else combined),
        content=SearchResultContent(text=name),
        sources=SOURCES,
    )


def pairs(items: list[SearchResultItem]) -> list[tuple[str, float]]:
    return [(each.id, each.score) for each in items]


lists = st.lists(st.builds(item, st.sampled_from("abcdef"), scores, scores), max_size=12)


# Normalise


def test_scores_are_stretched_over_zero_to_one() -> None:
    stretched = normalise_scores([item("a", 0.2), item("b", 0.3), item("c", 0.6)])
    assert [each.score for each in stretched] == pytest.approx([0.0, 0.25, 1.0])


def test_nothing_and_equal_scores_stay_as_they_are() -> None:
    assert normalise_scores([]) == []
    same = [item("a", 0.4), item("b", 0.4)]
    assert normalise_scores(same) == same


@SETTINGS
@given(items=lists)
def test_stretching_keeps_places_order_and_bounds(items: list[SearchResultItem]) -> None:
    stretched = normalise_scores(items)
    assert [each.id for each in stretched] == [each.id for each in items]
    assert all(0 <= each.score <= 1 for each in stretched)
    assert [each.relevance for each in stretched] == [each.relevance for each in items]
    by_score = sorted(zip(items, stretched, strict=True), key=lambda both: both[0].score)
    assert all(low[1].score <= high[1].score for low, high in pairwise(by_score))
    if len({each.score for each in items}) > 1:
        assert {0.0, 1.0} <= {each.score for each in stretched}


# Merge


def test_of_two_results_with_one_id_the_better_stays_in_the_place_of_the_first() -> None:
    assert pairs(deduplicate([item("a", 0.5), item("b", 0.4), item("a", 0.7)])) == [("a", 0.7), ("b", 0.4)]


def test_of_two_equal_results_the_first_stays() -> None:
    first, second = item("a", 0.5, 0.1), item("a", 0.5, 0.9)
    assert deduplicate([first, second]) == [first]


def test_scores_add_up_to_one_at_most_where_asked() -> None:
    merged = deduplicate([item("a", 0.25, 0.5), item("b", 0.5), item("a", 0.5, 0.75)], merge=Merge.SUM_SCORE)
    assert pairs(merged) == [("a", 0.75), ("b", 0.5)]
    assert merged[0].relevance.combined == 1.0


@SETTINGS
@given(items=lists, merge=st.sampled_from(Merge))
def test_every_id_comes_back_once_in_the_order_of_first_appearance(items: list[SearchResultItem], merge: Merge) -> None:
    merged = deduplicate(items, merge=merge)
    assert [each.id for each in merged] == list(dict.fromkeys(each.id for each in items))
    for each in merged:
        same = [other.score for other in items if other.id == each.id]
        expected = max(same) if merge is Merge.MAX_SCORE else min(1.0, sum(same))
        assert each.score == pytest.approx(expected)
        assert 0 <= each.relevance.combined <= 1
    assert deduplicate(merged, merge=merge) == merged


# Filter


@SETTINGS
@given(items=lists, least=scores)
def test_exactly_the_results_at_or_above_the_least_relevance_stay_in_order(
    items: list[SearchResultItem], least: float
) -> None:
    kept = filter_by_min_relevance(items, least)
    assert kept == [each for each in items if each.relevance.combined >= least]


def test_a_result_exactly_at_the_least_relevance_stays_and_its_score_does_not_count() -> None:
    assert pairs(filter_by_min_relevance([item("a", 0.0, 0.3), item("b", 1.0, 0.29)], 0.3)) == [("a", 0.0)]


# Sort


@SETTINGS
@given(items=lists)
def test_results_are_sorted_best_first_and_ties_break_on_the_id(items: list[SearchResultItem]) -> None:
    assert pairs(sort_by_score(items)) == sorted(pairs(items), key=lambda pair: (-pair[1], pair[0]))
    assert pairs(sort_by_score(items, order="asc")) == sorted(pairs(items), key=lambda pair: (pair[1], pair[0]))


@SETTINGS
@given(items=lists, chance=st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_the_order_of_arrival(items: list[SearchResultItem], chance: Random) -> None:
    unique = deduplicate(items)
    shuffled = list(unique)
    chance.shuffle(shuffled)
    assert sort_by_score(shuffled) == sort_by_score(unique)
