"""Right verdicts, counted: benchmarks/verdicts.py."""

from __future__ import annotations

import pytest
from benchmarks.verdicts import Verdict, area, summary


def test_the_area_counts_pairs_in_the_right_order_and_ties_as_half() -> None:
    assert area([0.9, 0.4], [0.4, 0.1]) == pytest.approx(3.5 / 4)


def test_a_refusal_is_wrong_where_the_answer_is_inside_and_right_where_it_is_not() -> None:
    said = [
        Verdict(can=True, chance=0.9, refused=False, milliseconds=10),
        Verdict(can=True, chance=0.3, refused=True, milliseconds=10),
        Verdict(can=False, chance=0.2, refused=True, milliseconds=10),
        Verdict(can=False, chance=0.8, refused=False, milliseconds=30),
    ]
    answerable, unanswerable, wrong_refusals, wrong_answers, right, under, times = summary(said)
    assert (answerable, unanswerable) == (2, 2)
    assert (wrong_refusals, wrong_answers, right) == ("50.0", "50.0", "50.0")
    assert under == "0.750"
    assert times == "10 / 27"
