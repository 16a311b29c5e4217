"""The verdict over one result."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrag.search.grade import grade, verdict
from hybridrag.types.results import CRAGVerdict
from model_strategies import SETTINGS, scores


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (0.0, CRAGVerdict.INCORRECT),
        (0.3, CRAGVerdict.INCORRECT),
        (0.3000001, CRAGVerdict.AMBIGUOUS),
        (0.5, CRAGVerdict.AMBIGUOUS),
        (0.6999999, CRAGVerdict.AMBIGUOUS),
        (0.7, CRAGVerdict.CORRECT),
        (1.0, CRAGVerdict.CORRECT),
    ],
)
def test_correct_begins_at_seven_tenths_and_incorrect_ends_at_three(score: float, expected: CRAGVerdict) -> None:
    assert verdict(score) is expected
    assert grade(score).relevance is expected


@SETTINGS
@given(score=scores)
def test_only_a_correct_result_needs_no_web_search(score: float) -> None:
    assert grade(score).needs_web_search is (verdict(score) is not CRAGVerdict.CORRECT)


@SETTINGS
@given(score=scores)
def test_a_verdict_is_surer_the_further_from_the_middle_and_never_sure_when_ambiguous(score: float) -> None:
    graded = grade(score)
    assert graded.confidence == pytest.approx(0.5 + abs(score - 0.5))
    if graded.relevance is CRAGVerdict.AMBIGUOUS:
        assert graded.confidence < 0.7
    else:
        assert graded.confidence >= 0.7


@SETTINGS
@given(score=st.floats(allow_nan=False))
def test_a_score_out_of_bounds_counts_as_the_nearest_bound(score: float) -> None:
    assert grade(score) == grade(min(1.0, max(0.0, score)))


def test_a_better_question_is_carried_along() -> None:
    assert grade(0.1, refined_query="limits of the free plan").refined_query == "limits of the free plan"
    assert grade(0.1).refined_query is None
