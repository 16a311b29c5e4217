"""Fusion: agreement wins, scores mean something to a reader, and nothing is lost to the scale."""

from __future__ import annotations

from itertools import permutations, product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hybridrag.errors import InvalidInput, RAGError
from hybridrag.queries.plan import DEFAULT_WEIGHTS
from hybridrag.search.blend import base_scores
from hybridrag.search.fuse import RRF_K, calibrate, fuse, rrf_score
from hybridrag.search.retrieve import coverage
from hybridrag.types.ids import EntityId, RelationId
from hybridrag.types.queries import (
    SINGLE_STRATEGIES,
    QueryType,
    RRFConfig,
    SearchFilters,
    SearchStrategy,
    SearchWeights,
)
from hybridrag.types.results import Hit
from model_strategies import SETTINGS, weights

KEYWORD, SEMANTIC, GRAPH = SINGLE_STRATEGIES
KEYWORD_AND_GRAPH = SearchWeights(keyword=0.5, semantic=0.0, graph=0.5)
EQUAL = SearchWeights(keyword=1 / 3, semantic=1 / 3, graph=1 / 3)
RAW = RRFConfig(normalize_scores=False)
MIN_RELEVANCE = SearchFilters().min_relevance

Rankings = dict[SearchStrategy, list[Hit]]

EVERY_TYPE = pytest.mark.parametrize("query_type", QueryType)


def hits(*names: str) -> list[Hit]:
    return [Hit(id=name, score=1 / (position + 1)) for position, name in enumerate(names)]


def order(fused: list[Hit]) -> list[str]:
    return [hit.id for hit in fused]


@st.composite
def rankings(draw: st.DrawFn) -> Rankings:
    names = [f"d{number:02}" for number in range(25)]
    ran = draw(st.sets(st.sampled_from(SINGLE_STRATEGIES)))
    return {
        strategy: hits(*draw(st.lists(st.sampled_from(names), max_size=25, unique=True)))
        for strategy in SINGLE_STRATEGIES
        if strategy in ran
    }


# The arithmetic


def test_the_order_is_the_weighted_sum_of_reciprocal_ranks() -> None:
    fused = fuse({KEYWORD: hits("a", "b"), GRAPH: hits("b")}, KEYWORD_AND_GRAPH)
    assert order(fused) == ["b", "a"]
    assert fused[0].order == pytest.approx(0.5 * (1 / 62 + 1 / 61), rel=1e-12)
    assert fused[1].order == pytest.approx(0.5 * 1 / 61, rel=1e-12)
    assert fused[0].ranks == {KEYWORD: 2, GRAPH: 1}
    assert fused[0].scores == {KEYWORD: 0.5, GRAPH: 1.0}


def test_the_constant_is_sixty_and_ranks_begin_at_one() -> None:
    assert RRF_K == RRFConfig().k == 60
    [only] = fuse({SEMANTIC: hits("a")}, SearchWeights(keyword=0, semantic=1, graph=0))
    assert only.order == pytest.approx(1 / 61, rel=1e-12)


def test_another_constant_is_used_where_given() -> None:
    [only] = fuse({SEMANTIC: hits("a")}, SearchWeights(keyword=0, semantic=1, graph=0), k=5)
    assert only.order == pytest.approx(1 / 6, rel=1e-12)
    assert only.combined == 1.0


@SETTINGS
@given(
    ranks=st.dictionaries(st.sampled_from(SINGLE_STRATEGIES), st.none() | st.integers(1, 500)),
    chosen=weights(),
    k=st.integers(1, 1000),
)
def test_a_raw_score_is_the_sum_over_the_searches_that_found_it(
    ranks: dict[SearchStrategy, int | None], chosen: SearchWeights, k: int
) -> None:
    expected = sum(chosen.of(strategy) * 1 / (k + rank) for strategy, rank in ranks.items() if rank is not None)
    assert rrf_score(ranks, chosen, RRFConfig(k=k, normalize_scores=False)) == pytest.approx(expected, rel=1e-9)


def test_the_first_of_every_search_scores_one_and_what_no_search_found_scores_zero() -> None:
    assert rrf_score({KEYWORD: 1, SEMANTIC: 1, GRAPH: 1}, EQUAL) == pytest.approx(1.0)
    assert rrf_score({KEYWORD: None}, EQUAL) == rrf_score({}, EQUAL) == 0.0


def test_a_normalised_score_is_the_root_of_the_share_of_the_best_possible_sum() -> None:
    # A third of the weight at rank 1: (1/3 / 61) / (1 / 61) = 1/3.
    assert rrf_score({KEYWORD: 1}, EQUAL) == pytest.approx((1 / 3) ** 0.5)
    # All of the weight at rank 62: 61 / 122 = 1/2.
    assert rrf_score({KEYWORD: 62, SEMANTIC: 62, GRAPH: 62}, EQUAL) == pytest.approx(0.5**0.5)


@pytest.mark.parametrize("rank", [0, -1])
def test_a_rank_below_one_is_refused(rank: int) -> None:
    with pytest.raises(InvalidInput, match=f"Ranks are 1-based; keyword has {rank}") as refusal:
        rrf_score({KEYWORD: rank}, EQUAL)
    assert isinstance(refusal.value, RAGError)


@SETTINGS
@given(given_rankings=rankings(), chosen=weights())
def test_fusing_all_three_scores_each_item_like_the_single_score(
    given_rankings: Rankings, chosen: SearchWeights
) -> None:
    for item in fuse({strategy: given_rankings.get(strategy, []) for strategy in SINGLE_STRATEGIES}, chosen):
        assert item.order == rrf_score(item.ranks, chosen, RAW)
        assert item.combined == pytest.approx(rrf_score(item.ranks, chosen), abs=1e-12)


# Agreement


@SETTINGS
@given(rank=st.integers(1, 200), chosen=weights(), k=st.integers(1, 1000))
def test_at_equal_rank_one_more_search_never_hurts_and_helps_if_it_weighs_anything(
    rank: int, chosen: SearchWeights, k: int
) -> None:
    config = RRFConfig(k=k, normalize_scores=False)
    for one, other in permutations(SINGLE_STRATEGIES, 2):
        alone = rrf_score({one: rank}, chosen, config)
        both = rrf_score({one: rank, other: rank}, chosen, config)
        assert both >= alone
        if chosen.of(other) > 1e-9:
            assert both > alone


@pytest.mark.parametrize("chosen", [EQUAL, *(DEFAULT_WEIGHTS[kind] for kind in (QueryType.LOCAL, QueryType.HYBRID))])
@pytest.mark.parametrize("rank", [1, 2, 10, 50])
def test_at_equal_rank_two_searches_beat_one(chosen: SearchWeights, rank: int) -> None:
    for one, *pair in permutations(SINGLE_STRATEGIES):
        padding = [f"{number:03}" for number in range(rank - 1)]
        fused = fuse(
            {one: hits(*padding, "alone"), pair[0]: hits(*padding, "both"), pair[1]: hits(*padding, "both")}, chosen
        )
        assert order(fused).index("both") < order(fused).index("alone")


def test_two_searches_that_weigh_as_much_as_the_third_together_win_the_tie() -> None:
    # Themes lean on the graph: .2/61 + .3/61 against .5/61, equal but for rounding.
    chosen = DEFAULT_WEIGHTS[QueryType.GLOBAL]
    fused = fuse({KEYWORD: hits("two"), SEMANTIC: hits("two"), GRAPH: hits("one")}, chosen)
    assert fused[0].order == fused[1].order
    assert order(fused) == ["two", "one"]


def test_a_search_that_outweighs_two_others_wins_alone() -> None:
    # Relations lean on the graph even more: .6/61 against .2/61 + .2/61.
    chosen = DEFAULT_WEIGHTS[QueryType.RELATIONSHIP]
    assert order(fuse({KEYWORD: hits("two"), SEMANTIC: hits("two"), GRAPH: hits("one")}, chosen)) == ["one", "two"]


@EVERY_TYPE
def test_all_three_searches_beat_any_two_and_any_two_beat_one_of_them(query_type: QueryType) -> None:
    chosen = DEFAULT_WEIGHTS[query_type]
    everywhere = rrf_score(dict.fromkeys(SINGLE_STRATEGIES, 1), chosen)
    for one, other in permutations(SINGLE_STRATEGIES, 2):
        both = rrf_score({one: 1, other: 1}, chosen)
        assert everywhere > both > rrf_score({one: 1}, chosen)


# What is reported


@SETTINGS
@given(given_rankings=rankings(), chosen=weights(), k=st.integers(1, 1000))
def test_every_reported_score_is_within_zero_and_one_and_falls_with_the_order(
    given_rankings: Rankings, chosen: SearchWeights, k: int
) -> None:
    combined = [item.combined for item in fuse(given_rankings, chosen, k)]
    assert all(0 <= score <= 1 for score in combined)
    assert combined == sorted(combined, reverse=True)


@EVERY_TYPE
@SETTINGS
@given(given_rankings=rankings())
def test_nothing_in_the_first_ten_of_any_search_is_lost_to_the_scale(
    query_type: QueryType, given_rankings: Rankings
) -> None:
    fused = {item.id: item.combined for item in fuse(given_rankings, DEFAULT_WEIGHTS[query_type])}
    for ranking in given_rankings.values():
        assert all(fused[hit.id] >= MIN_RELEVANCE for hit in ranking[:10])


@EVERY_TYPE
@pytest.mark.parametrize("strategy", SINGLE_STRATEGIES)
def test_the_tenth_of_one_search_alone_still_passes_the_default_relevance(
    query_type: QueryType, strategy: SearchStrategy
) -> None:
    chosen = DEFAULT_WEIGHTS[query_type]
    names = [f"{number:02}" for number in range(1, 11)]
    fused = fuse({single: hits(*names) if single is strategy else [] for single in SINGLE_STRATEGIES}, chosen)
    share = (chosen.of(strategy) / 70) / ((chosen.keyword + chosen.semantic + chosen.graph) / 61)
    assert fused[-1].combined == pytest.approx(share**0.5)
    assert fused[-1].combined >= MIN_RELEVANCE


def test_the_worst_case_is_the_tenth_of_a_search_that_weighs_a_fifth() -> None:
    # (.2 / 70) / (1 / 61) = .174, which the default of .3 would drop; its root is .417.
    assert rrf_score({KEYWORD: 10}, DEFAULT_WEIGHTS[QueryType.GLOBAL]) == pytest.approx((0.2 * 61 / 70) ** 0.5)


@SETTINGS
@given(low=st.floats(0, 1), high=st.floats(0, 1), best=st.floats(1e-6, 1))
def test_calibration_is_monotone_and_within_zero_and_one(low: float, high: float, best: float) -> None:
    low, high = sorted((low, high))
    assert 0 <= calibrate(low, best=best) <= calibrate(high, best=best) <= 1


def test_calibration_maps_the_best_to_one_and_a_quarter_of_it_to_a_half() -> None:
    assert calibrate(0.016, best=0.016) == 1.0
    assert calibrate(0.004, best=0.016) == 0.5
    assert calibrate(0.0, best=0.016) == 0.0
    assert calibrate(0.1, best=0.0) == 0.0


# Edges


def test_no_searches_and_searches_without_results_fuse_to_nothing() -> None:
    assert fuse({}, EQUAL) == []
    assert fuse({KEYWORD: [], SEMANTIC: []}, EQUAL) == []


@SETTINGS
@given(names=st.lists(st.sampled_from("abcdefgh"), max_size=8, unique=True), chosen=weights())
@example(names=["b", "a"], chosen=SearchWeights(keyword=0, semantic=0, graph=1))
def test_one_search_alone_keeps_its_own_order_whatever_it_weighs(names: list[str], chosen: SearchWeights) -> None:
    fused = fuse({KEYWORD: hits(*names)}, chosen)
    assert order(fused) == names
    assert not fused or fused[0].combined == 1.0


def test_a_search_that_did_not_run_does_not_lower_the_scores_but_one_that_found_nothing_does() -> None:
    [alone] = fuse({KEYWORD: hits("a")}, EQUAL)
    [unconfirmed] = fuse({KEYWORD: hits("a"), SEMANTIC: []}, EQUAL)
    assert alone.combined == 1.0
    assert unconfirmed.combined == pytest.approx(0.5**0.5)


def test_a_search_that_weighs_nothing_adds_nothing_and_comes_last() -> None:
    fused = fuse({KEYWORD: hits("a", "b"), SEMANTIC: hits("z")}, KEYWORD_AND_GRAPH)
    assert order(fused) == ["a", "b", "z"]
    assert (fused[-1].order, fused[-1].combined) == (0.0, 0.0)


def test_ties_break_on_the_id() -> None:
    fused = fuse({KEYWORD: hits("b", "a"), SEMANTIC: hits("a", "b")}, SearchWeights(keyword=0.5, semantic=0.5, graph=0))
    assert fused[0].order == fused[1].order
    assert order(fused) == ["a", "b"]


@SETTINGS
@given(given_rankings=rankings(), chosen=weights())
def test_the_order_of_the_searches_does_not_matter(given_rankings: Rankings, chosen: SearchWeights) -> None:
    expected = [(item.id, item.order) for item in fuse(given_rankings, chosen)]
    for turned in permutations(given_rankings.items()):
        assert [(item.id, item.order) for item in fuse(dict(turned), chosen)] == expected


def test_a_search_that_names_an_item_twice_means_its_better_rank_and_costs_the_others_none() -> None:
    [a, b] = fuse({KEYWORD: [Hit(id="a", score=0.9), Hit(id="a", score=0.8), Hit(id="b", score=0.7)]}, EQUAL)
    assert (a.ranks, a.scores) == ({KEYWORD: 1}, {KEYWORD: 0.9})
    assert b.ranks == {KEYWORD: 2}


@SETTINGS
@given(given_rankings=rankings(), chosen=weights())
def test_everything_found_comes_back_once_with_all_its_ranks(given_rankings: Rankings, chosen: SearchWeights) -> None:
    fused = fuse(given_rankings, chosen)
    assert sorted(order(fused)) == sorted({hit.id for ranking in given_rankings.values() for hit in ranking})
    for item, (strategy, ranking) in product(fused, given_rankings.items()):
        names = [hit.id for hit in ranking]
        assert item.ranks.get(strategy) == (names.index(item.id) + 1 if item.id in names else None)


def test_what_the_graph_knows_about_a_hit_survives_a_keyword_match() -> None:
    # The first search's hit once stood for all, and the path that explains the graph's was gone.
    ada, byron, owns = EntityId.derived("ada"), EntityId.derived("byron"), RelationId.derived("r")
    plain = Hit(id="a", score=0.5, key=7, entity_ids=(ada,), details={"bm25": 3.0, "by": "words"})
    linked = Hit(
        id="a",
        score=0.9,
        path=("Ada", "Byron"),
        entity_ids=(byron, ada),
        relation_ids=(owns,),
        details={"hops": 1.0, "by": "walk"},
    )
    [fused] = fuse({KEYWORD: [plain], GRAPH: [linked]}, EQUAL)
    assert fused.path == ("Ada", "Byron")
    assert fused.entity_ids == (ada, byron)
    assert fused.relation_ids == (owns,)
    assert fused.key == 7
    assert fused.details == {"bm25": 3.0, "hops": 1.0, "by": "words"}
    assert fused.scores == {KEYWORD: 0.5, GRAPH: 0.9}


def test_words_weigh_as_much_less_as_the_best_match_leaves_of_the_question() -> None:
    # A question in other words shared one common word with a passage, which then stood before the one that answers.
    even = SearchWeights(keyword=0.35, semantic=0.35, graph=0.3)
    by_word, by_meaning = {1: 2.0, 3: 1.0}, {2: 0.9, 1: 0.7, 3: 0.6}
    assert base_scores(by_word, by_meaning, even)[1] > base_scores(by_word, by_meaning, even)[2]
    weak = base_scores(by_word, by_meaning, even, covered=0.2)
    assert weak[2] > weak[1]
    assert base_scores(by_word, {}, even, covered=0.2) == base_scores(by_word, {}, even)
    assert coverage(2.0, {"boat": 6.0, "fee": 4.0}) == pytest.approx(0.2)
    assert coverage(12.0, {"boat": 6.0, "fee": 4.0}) == 1.0
