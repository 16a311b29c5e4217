"""The metrics: their arithmetic, and that they say what the field's own tool says."""

from __future__ import annotations

import math

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrag.evaluate.accuracy import abstention_curve, area_under_curve, confusion
from hybridrag.evaluate.metrics import (
    all_evidence_at,
    average_precision,
    documents_in_order,
    ndcg_at,
    order_scores,
    precision_at,
    recall_at,
    reciprocal_rank_at,
    themes_covered_at,
)
from hybridrag.evaluate.resample import bootstrap_interval, paired_difference

DOCUMENTS = st.sampled_from([f"d{number}" for number in range(12)])
GOLD = st.dictionaries(DOCUMENTS, st.integers(0, 3), min_size=1, max_size=8)
# Few and exact values, so that ties are common and mean the same in single and double precision.
SCORES = st.dictionaries(DOCUMENTS, st.integers(0, 8).map(lambda eighths: eighths / 8), max_size=12)


def peer(measure: ir_measures.Measure, gold: dict[str, int], scores: dict[str, float]) -> float:
    """What ir-measures makes of one query."""
    qrels = [ir_measures.Qrel("q", document, grade) for document, grade in gold.items()]
    run = [ir_measures.ScoredDoc("q", document, score) for document, score in scores.items()]
    values = list(ir_measures.iter_calc([measure], qrels, run))
    return float(values[0].value) if values else 0.0


class TestAgainstIrMeasures:
    @given(gold=GOLD, scores=SCORES, k=st.integers(1, 12))
    def test_every_metric_agrees_with_it_ties_included(
        self, gold: dict[str, int], scores: dict[str, float], k: int
    ) -> None:
        ranking = order_scores(scores)
        ours = {
            ir_measures.R @ k: recall_at(ranking, gold, k),
            ir_measures.P @ k: precision_at(ranking, gold, k),
            ir_measures.RR: reciprocal_rank_at(ranking, gold, len(ranking)),
            ir_measures.AP: average_precision(ranking, gold),
            ir_measures.nDCG @ k: ndcg_at(ranking, gold, k),
        }
        assert {str(name): value for name, value in ours.items()} == pytest.approx(
            {str(name): peer(name, gold, scores) for name in ours}
        )

    @given(gold=GOLD, ranking=st.lists(DOCUMENTS, unique=True), k=st.integers(1, 12))
    def test_a_cut_reciprocal_rank_agrees_with_it(self, gold: dict[str, int], ranking: list[str], k: int) -> None:
        # Without ties: it breaks those of RR@k the other way round than those of all its other measures.
        scores = {document: 1.0 / rank for rank, document in enumerate(ranking, start=1)}
        assert reciprocal_rank_at(ranking, gold, k) == pytest.approx(peer(ir_measures.RR @ k, gold, scores))


class TestArithmetic:
    def test_a_document_counts_where_its_first_chunk_stands(self) -> None:
        assert documents_in_order(["a", "b", "a", "c", "b"]) == ["a", "b", "c"]

    def test_recall_is_the_share_of_the_relevant_that_is_found(self) -> None:
        assert recall_at(["a", "x", "b"], {"a": 1, "b": 1}, 2) == 1 / 2

    def test_precision_counts_empty_places_as_wrong(self) -> None:
        assert precision_at(["a"], {"a": 1}, 5) == 1 / 5

    def test_a_first_relevant_document_at_rank_two_has_half_a_point(self) -> None:
        assert reciprocal_rank_at(["x", "a"], {"a": 1}, 10) == 1 / 2
        assert reciprocal_rank_at(["x", "a"], {"a": 1}, 1) == 0

    def test_average_precision_misses_what_was_not_found(self) -> None:
        assert average_precision(["a", "x", "b"], {"a": 1, "b": 1, "c": 1}) == pytest.approx((1 / 1 + 2 / 3 + 0) / 3)

    def test_ndcg_weighs_grades_and_places(self) -> None:
        reached = 1 / math.log2(2) + 2 / math.log2(3)
        best = 2 / math.log2(2) + 1 / math.log2(3)
        assert ndcg_at(["fair", "good"], {"good": 2, "fair": 1}, 10) == pytest.approx(reached / best)

    def test_all_evidence_wants_every_document(self) -> None:
        gold = {"a": 1, "b": 1, "never": 0}
        assert all_evidence_at(["a", "x", "b"], gold, 2) == 0
        assert all_evidence_at(["a", "x", "b"], gold, 3) == 1

    def test_all_evidence_can_do_without_what_is_graded_lower(self) -> None:
        assert all_evidence_at(["a", "b"], {"a": 2, "b": 2, "also": 1}, 2) == 1

    def test_a_theme_is_covered_by_any_of_its_documents(self) -> None:
        assert themes_covered_at(["a", "x"], [["b", "a"], ["c"]], 2) == 1 / 2
        assert themes_covered_at(["x", "a"], [["b", "a"], ["c"]], 1) == 0

    def test_where_nothing_is_relevant_everything_is_zero(self) -> None:
        gold = {"a": 0}
        assert recall_at(["a"], gold, 1) == average_precision(["a"], gold) == ndcg_at(["a"], gold, 1) == 0
        assert all_evidence_at(["a"], gold, 1) == reciprocal_rank_at(["a"], gold, 1) == 0
        assert themes_covered_at(["a"], [], 1) == 0


class TestIntervals:
    @given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
    def test_the_mean_lies_between_the_ends_and_the_ends_between_the_values(self, values: list[float]) -> None:
        found = bootstrap_interval(values, resamples=200)
        assert min(values) - 1e-9 <= found.low <= found.high <= max(values) + 1e-9
        assert found.mean == pytest.approx(sum(values) / len(values))
        assert found.count == len(values)

    def test_the_same_values_have_the_same_interval(self) -> None:
        assert bootstrap_interval([1, 0, 1, 1, 0]) == bootstrap_interval([1, 0, 1, 1, 0])

    def test_more_queries_make_a_narrower_interval(self) -> None:
        few, many = bootstrap_interval([0, 1] * 10), bootstrap_interval([0, 1] * 1000)
        assert many.high - many.low < few.high - few.low

    def test_many_queries_are_drawn_in_blocks(self) -> None:
        found = bootstrap_interval([0.0, 1.0] * 5000, resamples=500)
        assert found.low == pytest.approx(0.49, abs=0.005)

    def test_no_values_have_no_mean(self) -> None:
        assert bootstrap_interval([]).count == 0
        assert paired_difference([], []).p_value == 1.0

    def test_a_difference_counts_who_got_better(self) -> None:
        found = paired_difference([0, 0, 1, 1], [1, 0, 1, 0.5])
        assert (found.better, found.worse, found.same) == (1, 1, 2)
        assert found.mean == pytest.approx(0.125)
        assert not found.is_clear

    def test_a_difference_on_every_query_is_clear(self) -> None:
        found = paired_difference([0.0] * 20, [0.5] * 20)
        assert found.is_clear
        assert found.p_value < 0.01

    def test_runs_of_different_length_are_not_compared(self) -> None:
        with pytest.raises(ValueError, match="zip"):
            paired_difference([1.0], [1.0, 2.0])


class TestAccuracy:
    def test_confusion_says_what_was_taken_for_what(self) -> None:
        found = confusion(["local", "local", "global"], ["local", "global", "global"])
        assert found.counts == {("local", "local"): 1, ("local", "global"): 1, ("global", "global"): 1}
        assert found.accuracy == pytest.approx(2 / 3)
        assert found.recall_of("local") == 1 / 2
        assert found.recall_of("never seen") == 0
        assert found.labels == ["global", "local"]

    def test_kappa_takes_chance_away(self) -> None:
        assert confusion(["a", "b", "a", "b"], ["a", "a", "b", "b"]).kappa == 0
        assert confusion(["a", "b"], ["a", "b"]).kappa == 1
        assert confusion(["a", "a"], ["a", "a"]).kappa == 1
        assert confusion([], []).kappa == confusion([], []).accuracy == 0

    def test_answering_less_is_answering_better_when_confidence_means_something(self) -> None:
        curve = abstention_curve([True, True, False, False], [0.9, 0.8, 0.8, 0.1])
        assert [(point.coverage, point.accuracy) for point in curve] == [(0.25, 1.0), (0.75, 2 / 3), (1.0, 0.5)]
        assert [point.threshold for point in curve] == [0.9, 0.8, 0.1]

    @given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), max_size=20))
    def test_the_area_under_the_curve_is_the_share_of_pairs_in_order(self, pairs: list[tuple[bool, int]]) -> None:
        labels, scores = [label for label, _ in pairs], [score for _, score in pairs]
        wins = [
            1.0 if true > false else 0.5 if true == false else 0.0
            for label, true in pairs
            if label
            for other, false in pairs
            if not other
        ]
        expected = sum(wins) / len(wins) if wins else 0.5
        assert area_under_curve(labels, scores) == pytest.approx(expected)
