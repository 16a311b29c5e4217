"""Queries, filters and options: what is accepted, what is refused, and in which words."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from hybridrag.types.queries import (
    MAX_QUERY_CHARACTERS,
    SINGLE_STRATEGIES,
    DateRange,
    QueryClassification,
    QueryType,
    RerankConfig,
    RRFConfig,
    SearchFilters,
    SearchMode,
    SearchOptions,
    SearchQuery,
    SearchStrategy,
    SearchWeights,
)
from model_strategies import SETTINGS, moments, options, scores, utc_moments, weights

KEYWORD, SEMANTIC, GRAPH = SINGLE_STRATEGIES


def accepts(kind: type[SearchWeights | DateRange | SearchOptions | SearchFilters], data: dict[str, object]) -> bool:
    try:
        kind.model_validate(data)
    except ValidationError:
        return False
    return True


# Weights


@SETTINGS
@given(keyword=scores, semantic=scores, graph=scores)
@example(keyword=0.33, semantic=0.33, graph=0.33)
@example(keyword=0.34, semantic=0.34, graph=0.33)
@example(keyword=0.335, semantic=0.335, graph=0.321)
@example(keyword=0.3301, semantic=0.3301, graph=0.3301)
def test_weights_are_accepted_exactly_when_they_sum_to_one_within_a_hundredth(
    keyword: float, semantic: float, graph: float
) -> None:
    data: dict[str, object] = {"keyword": keyword, "semantic": semantic, "graph": graph}
    assert accepts(SearchWeights, data) is (abs(keyword + semantic + graph - 1.0) < 0.01)


@SETTINGS
@given(keyword=scores, share=scores, off=st.floats(min_value=-0.02, max_value=0.02))
def test_weights_near_the_tolerance_follow_the_same_rule(keyword: float, share: float, off: float) -> None:
    semantic = (1 - keyword) * share
    graph = 1 - keyword - semantic + off
    assume(0 <= graph <= 1)
    data: dict[str, object] = {"keyword": keyword, "semantic": semantic, "graph": graph}
    assert accepts(SearchWeights, data) is (abs(keyword + semantic + graph - 1.0) < 0.01)


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan"), float("inf"), None, "much"])
def test_a_weight_outside_zero_to_one_is_refused(wrong: object) -> None:
    assert not accepts(SearchWeights, {"keyword": wrong, "semantic": 1.0, "graph": 0.0})


@SETTINGS
@given(given_weights=weights(), used=st.sets(st.sampled_from(SINGLE_STRATEGIES), min_size=1))
def test_weights_among_some_searches_keep_their_proportion_and_leave_the_others_nothing(
    given_weights: SearchWeights, used: set[SearchStrategy]
) -> None:
    among = given_weights.among(used)
    total = sum(given_weights.of(strategy) for strategy in used)
    for strategy in SINGLE_STRATEGIES:
        if strategy not in used:
            assert among.of(strategy) == 0
        elif total:
            assert among.of(strategy) == pytest.approx(given_weights.of(strategy) / total)
        else:
            assert among.of(strategy) == pytest.approx(1 / len(used))


def test_hybrid_or_no_search_at_all_means_all_three() -> None:
    given_weights = SearchWeights(keyword=0.2, semantic=0.3, graph=0.5)
    assert given_weights.among([SearchStrategy.HYBRID]) == given_weights
    assert given_weights.among([]) == given_weights
    assert given_weights.among([SearchStrategy.HYBRID, KEYWORD]) == given_weights


def test_each_search_has_its_own_weight_and_hybrid_the_whole() -> None:
    given_weights = SearchWeights(keyword=0.2, semantic=0.3, graph=0.5)
    assert [given_weights.of(strategy) for strategy in SearchStrategy] == [0.2, 0.3, 0.5, 1.0]


# Date ranges


@SETTINGS
@given(start=st.none() | utc_moments, end=st.none() | utc_moments)
def test_a_date_range_is_accepted_exactly_when_it_does_not_run_backwards(
    start: datetime | None, end: datetime | None
) -> None:
    assert accepts(DateRange, {"start": start, "end": end}) is (start is None or end is None or start <= end)


@SETTINGS
@given(start=st.none() | utc_moments, end=st.none() | utc_moments, moment=utc_moments)
def test_a_date_range_contains_both_its_ends_and_what_lies_between(
    start: datetime | None, end: datetime | None, moment: datetime
) -> None:
    assume(start is None or end is None or start <= end)
    span = DateRange(start=start, end=end)
    assert span.contains(moment) is ((start is None or start <= moment) and (end is None or moment <= end))
    assert start is None or span.contains(start)
    assert end is None or span.contains(end)


@SETTINGS
@given(moment=moments)
def test_moments_are_kept_in_utc_whatever_zone_they_came_in(moment: datetime) -> None:
    start = DateRange(start=moment).start
    assert start == moment.astimezone(UTC)
    assert start is not None
    assert start.tzinfo is UTC


def test_a_moment_without_a_zone_is_utc() -> None:
    naive = datetime(2024, 5, 1, 12, 0)  # noqa: DTZ001 (what this is about)
    assert DateRange(start=naive).start == datetime(2024, 5, 1, 12, 0, tzinfo=UTC)
    assert DateRange(start=naive).contains(naive)


def test_a_moment_that_utc_cannot_express_is_refused_in_words() -> None:
    before_year_one = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=9)))
    with pytest.raises(ValidationError, match="between the years 1 and 9999"):
        DateRange(start=before_year_one)


@pytest.mark.parametrize("end", ["2024-12-31", " 2024-12-31 ", date(2024, 12, 31)])
def test_a_bare_date_as_the_end_means_that_whole_day(end: object) -> None:
    span = DateRange.model_validate({"start": "2024-12-31", "end": end})
    assert span.contains(datetime(2024, 12, 31, 0, 0, tzinfo=UTC))
    assert span.contains(datetime(2024, 12, 31, 23, 59, 59, tzinfo=UTC))
    assert not span.contains(datetime(2025, 1, 1, tzinfo=UTC))


def test_a_time_as_the_end_means_that_moment() -> None:
    assert DateRange.model_validate({"end": "2024-12-31T00:00:00Z"}).end == datetime(2024, 12, 31, tzinfo=UTC)
    assert DateRange.model_validate({"end": datetime(2024, 12, 31, tzinfo=UTC)}).end == datetime(
        2024, 12, 31, tzinfo=UTC
    )
    # Ten characters as well, and no date: seconds since 1970.
    assert DateRange.model_validate({"end": "1704067199"}).end == datetime(2023, 12, 31, 23, 59, 59, tzinfo=UTC)


def test_from_and_to_are_accepted_for_start_and_end() -> None:
    short = DateRange.model_validate({"from": "2024-01-01", "to": "2024-12-31"})
    assert short == DateRange.model_validate({"start": "2024-01-01", "end": "2024-12-31"})
    assert set(short.model_dump()) == {"start", "end"}


def test_a_range_given_in_both_spellings_is_refused_by_name() -> None:
    with pytest.raises(ValidationError, match="from"):
        DateRange.model_validate({"from": "2024-01-01", "start": "2024-01-01"})


@pytest.mark.parametrize("wrong", ["yesterday", "2024-13-01", "2024-12", {}, []])
def test_what_is_no_date_is_refused(wrong: object) -> None:
    assert not accepts(DateRange, {"end": wrong})


# Filters


@pytest.mark.parametrize("name", ["fileIds", "fileTypes", "workspaceIds", "entityTypes"])
def test_an_empty_list_is_no_filter(name: str) -> None:
    filters = SearchFilters.model_validate({name: []})
    assert filters == SearchFilters()
    assert filters.selects_all


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("fileIds", ["6f1d3a52-6c0b-4b5e-9c51-0f6f2f0a7c11"]),
        ("fileTypes", ["text/*"]),
        ("workspaceIds", ["work"]),
        ("entityTypes", ["person"]),
        ("dateRange", {"from": "2024-01-01"}),
    ],
)
def test_any_filter_may_exclude_files(name: str, value: object) -> None:
    assert not SearchFilters.model_validate({name: value}).selects_all


def test_a_single_text_where_a_list_belongs_is_refused_and_not_taken_apart() -> None:
    assert not accepts(SearchFilters, {"fileTypes": "text/markdown"})


@SETTINGS
@given(value=st.floats(allow_nan=True, allow_infinity=True))
def test_the_least_relevance_lies_between_zero_and_one(value: float) -> None:
    assert accepts(SearchFilters, {"minRelevance": value}) is (0 <= value <= 1)


# Options


@SETTINGS
@given(limit=st.integers(-10, 120), offset=st.integers(-10, 10**9))
def test_a_page_has_one_to_a_hundred_results_and_no_negative_start(limit: int, offset: int) -> None:
    assert accepts(SearchOptions, {"limit": limit, "offset": offset}) is (1 <= limit <= 100 and offset >= 0)


@pytest.mark.parametrize("wrong", [1.5, "many", None, float("nan")])
def test_pages_are_counted_in_whole_numbers(wrong: object) -> None:
    assert not accepts(SearchOptions, {"limit": wrong})
    assert not accepts(SearchOptions, {"offset": wrong})


@SETTINGS
@given(found=st.lists(st.integers(), max_size=300), limit=st.integers(1, 100))
def test_pages_one_after_another_show_everything_once(found: list[int], limit: int) -> None:
    pages = []
    offset = 0
    while offset < len(found):
        page = SearchOptions(limit=limit, offset=offset)
        pages += found[page.offset : page.offset + page.limit]
        offset = page.offset + page.limit
    assert pages == found


@pytest.mark.parametrize(
    ("mode", "strategy"),
    [("keyword", KEYWORD), ("semantic", SEMANTIC), ("graph", GRAPH), ("hybridrag", SearchStrategy.HYBRID)],
)
def test_mode_is_short_for_strategies(mode: str, strategy: SearchStrategy) -> None:
    assert SearchOptions.model_validate({"mode": mode}).strategies == (strategy,)
    assert SearchOptions.model_validate({"mode": SearchMode(mode)}).strategies == (strategy,)


def test_mode_and_strategies_together_are_refused() -> None:
    with pytest.raises(ValidationError, match="either mode or strategies"):
        SearchOptions.model_validate({"mode": "keyword", "strategies": ["graph"]})


@pytest.mark.parametrize("wrong", ["hybrid", "fast", None, 3, ["keyword"]])
def test_an_unknown_mode_is_refused_with_the_known_ones(wrong: object) -> None:
    with pytest.raises(ValidationError, match="mode must be one of keyword, semantic, graph, hybridrag"):
        SearchOptions.model_validate({"mode": wrong})


def test_at_least_one_search_is_asked_for() -> None:
    assert not accepts(SearchOptions, {"strategies": []})
    assert not accepts(SearchOptions, {"strategies": ["guess"]})
    assert not accepts(SearchOptions, {"strategies": "keyword"})


def test_what_is_no_object_is_refused() -> None:
    with pytest.raises(ValidationError):
        SearchOptions.model_validate("keyword")


@SETTINGS
@given(chosen=options)
def test_enabled_searches_are_the_asked_ones_each_once_in_table_order(chosen: SearchOptions) -> None:
    asked = set(SINGLE_STRATEGIES) if SearchStrategy.HYBRID in chosen.strategies else set(chosen.strategies)
    assert chosen.enabled == tuple(strategy for strategy in SINGLE_STRATEGIES if strategy in asked)


# Queries


@SETTINGS
@given(text=st.text(max_size=50))
def test_a_query_is_trimmed_and_never_empty(text: str) -> None:
    if text.strip():
        assert SearchQuery(text=text).text == text.strip()
    else:
        with pytest.raises(ValidationError, match="the query is empty"):
            SearchQuery(text=text)


def test_a_query_has_at_most_a_thousand_characters_after_trimming() -> None:
    assert SearchQuery(text="  " + "検" * MAX_QUERY_CHARACTERS + "\n").text == "検" * MAX_QUERY_CHARACTERS
    with pytest.raises(ValidationError, match="the query has 1001 characters; at most 1000 are searched"):
        SearchQuery(text="x" * 1001)


def test_a_query_is_as_long_as_a_json_client_counts_it() -> None:
    # A client would refuse its own query in the answer, if 1000 emoji of two UTF-16 units each were let through.
    assert len(SearchQuery(text="😀" * 500).text) == 500
    with pytest.raises(ValidationError, match="the query has 1002 characters"):
        SearchQuery(text="😀" * 501)


def test_half_a_character_is_refused_because_json_cannot_hold_it() -> None:
    with pytest.raises(ValidationError, match="half a character"):
        SearchQuery(text="a\ud83d")


def test_a_query_of_nothing_but_text_has_every_default() -> None:
    query = SearchQuery(text="limits")
    assert query.type is QueryType.HYBRID
    assert query.embedding is None
    assert query.filters == SearchFilters()
    assert query.options == SearchOptions()


# Configurations


@SETTINGS
@given(k=st.integers(-5, 1100))
def test_the_rank_constant_lies_between_one_and_a_thousand(k: int) -> None:
    try:
        assert RRFConfig(k=k).k == k
        assert 1 <= k <= 1000
    except ValidationError:
        assert not 1 <= k <= 1000


@SETTINGS
@given(top_k=st.integers(1, 100), results=st.integers(0, 300))
def test_reranking_never_reads_more_results_than_there_are(top_k: int, results: int) -> None:
    assert RerankConfig(top_k=top_k).bounded_by(results).top_k == max(1, min(top_k, results))


@SETTINGS
@given(confidence=st.floats(allow_nan=True, allow_infinity=True))
def test_a_confidence_lies_between_zero_and_one(confidence: float) -> None:
    data = {"originalQuery": "x", "type": "local", "confidence": confidence}
    full = {**data, "suggestedWeights": {"keyword": 1, "semantic": 0, "graph": 0}}
    try:
        assert QueryClassification.model_validate(full).confidence == confidence
        assert 0 <= confidence <= 1
    except ValidationError:
        assert not 0 <= confidence <= 1
