"""Results that are alike speak for one another."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrag.search.support import MOST_ALIKE, support, with_support
from hybridrag.types.base import Float32Array


def vector(*values: float) -> Float32Array:
    return np.array(values, dtype=np.float32)


BOATS = vector(1.0, 0.1, 0.0)
SHIPS = vector(1.0, 0.0, 0.1)
BREAD = vector(-1.0, 0.0, 0.0)


def test_a_result_is_worth_what_those_like_it_are_worth() -> None:
    assert support([0.9, 0.2, 0.1], [BOATS, SHIPS, BREAD], [1, 2, 3]) == pytest.approx([0.2, 0.9, 0.1])


def test_the_more_alike_counts_more() -> None:
    somewhat = vector(0.8, 1.0, 0.0)
    worth = support([0.5, 1.0, 0.0, 0.3, 0.3], [BOATS, SHIPS, somewhat, BREAD, BREAD], [1, 2, 3, 4, 5])[0]
    assert 0.5 < worth < 1.0


def test_chunks_of_one_file_do_not_speak_for_one_another() -> None:
    assert support([0.9, 0.2, 0.1], [BOATS, SHIPS, BREAD], [7, 7, 8]) == [0.9, 0.2, 0.1]


def test_a_result_without_a_vector_is_worth_its_own_score() -> None:
    assert support([0.9, 0.2, 0.1, 0.4], [BOATS, SHIPS, BREAD, None], [1, 2, 3, 4])[3] == 0.4
    assert support([0.9, 0.2], [None, None], [1, 2]) == [0.9, 0.2]
    assert support([], [], []) == []


def test_one_result_and_equal_results_keep_their_scores() -> None:
    assert support([0.9], [BOATS], [1]) == [0.9]
    assert support([0.9, 0.3], [BOATS, BOATS], [1, 2]) == [0.9, 0.3]


def test_only_the_most_alike_speak() -> None:
    near = [BOATS + vector(0.0, 0.0, 0.001 * step) for step in range(MOST_ALIKE)]
    far = [vector(0.4, 0.9, 0.1 * step) for step in range(3)]
    others = [*near, *far, BREAD, BREAD, BREAD, BREAD, BREAD]
    scores = [0.0, *[0.5] * len(near), *[1.0] * len(far), *[0.0] * 5]
    assert support(scores, [BOATS, *others], list(range(len(scores))))[0] == pytest.approx(0.5)


def test_the_less_sure_a_result_is_the_more_those_like_it_count() -> None:
    assert with_support(0.8, 0.5) == pytest.approx(0.8 * 0.8 + 0.2 * 0.5)
    assert with_support(0.2, 0.6) == pytest.approx(0.2 * 0.2 + 0.8 * 0.6)
    assert with_support(1.0, 0.1) == 1.0
    assert with_support(0.0, 0.7) == 0.7


def test_a_result_that_another_led_to_is_raised_but_never_lowered() -> None:
    assert with_support(0.8, 0.5, protected=True) == 0.8
    assert with_support(0.2, 0.6, protected=True) == pytest.approx(0.52)


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_score_with_support_lies_between_the_two(own: float, worth: float) -> None:
    assert min(own, worth) - 1e-9 <= with_support(own, worth) <= max(own, worth) + 1e-9


@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.lists(st.floats(-1, 1, width=32), min_size=4, max_size=4), st.integers(1, 3)),
        max_size=30,
    )
)
def test_support_stays_between_the_lowest_and_the_highest_score(rows: list[tuple[float, list[float], int]]) -> None:
    scores = [score for score, _, _ in rows]
    worth = support(scores, [vector(*values) for _, values, _ in rows], [file for _, _, file in rows])
    assert len(worth) == len(scores)
    assert all(min(scores) - 1e-9 <= value <= max(scores) + 1e-9 for value in worth)
