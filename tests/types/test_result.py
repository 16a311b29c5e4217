"""`Ok | Err`: a failure that is degraded over instead of raised."""

from __future__ import annotations

import pickle

import pytest

from hybridrag.errors import DeadlineExceeded, ProviderError, RAGError
from hybridrag.result import Err, Ok, Result

FAILURE = ProviderError("cohere", "answered 500", status=500)


def stage(value: int) -> Result[int]:
    return Ok(value) if value >= 0 else Err(FAILURE)


def test_a_value_is_mapped_and_unwrapped() -> None:
    assert stage(3).map(str) == Ok("3")
    assert stage(3).map(lambda value: value + 1).unwrap() == 4


def test_a_failure_stays_as_it_is_and_no_function_is_called() -> None:
    called: list[int] = []
    failed = stage(-1)
    assert failed.map(called.append) is failed
    assert called == []


def test_unwrapping_a_failure_raises_the_error_that_it_holds() -> None:
    with pytest.raises(ProviderError) as refusal:
        stage(-1).unwrap()
    assert refusal.value is FAILURE


@pytest.mark.parametrize(("value", "expected"), [(3, "3 hits"), (-1, "cohere: answered 500.")])
def test_a_caller_matches_on_what_came_back(value: int, expected: str) -> None:
    match stage(value):
        case Ok(hits):
            said = f"{hits} hits"
        case Err(error):
            said = str(error)
    assert said == expected


def test_both_are_values_equal_by_what_they_hold() -> None:
    assert Ok(3) == Ok(3) != Ok(4)
    other: Err[RAGError] = Err(DeadlineExceeded("graph", seconds=1))
    assert Err(FAILURE) == Err(FAILURE)
    assert other != Err[RAGError](FAILURE)
    assert Ok[int](3) == Ok(3)
    assert len({Ok(3), Ok(3), Err(FAILURE)}) == 2


def test_neither_can_be_changed() -> None:
    with pytest.raises(AttributeError):
        Ok(3).value = 4  # type: ignore[misc] # read-only for mypy as well
    with pytest.raises(AttributeError):
        Err(FAILURE).error = RAGError("x")  # type: ignore[misc, assignment] # same


def test_both_cross_process_boundaries() -> None:
    assert pickle.loads(pickle.dumps(Ok([1, 2]))) == Ok([1, 2])  # noqa: S301 (our own bytes)
    again = pickle.loads(pickle.dumps(Err(FAILURE)))  # noqa: S301 (our own bytes)
    assert (str(again.error), again.error.status) == (str(FAILURE), 500)
