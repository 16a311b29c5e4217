"""`Ok | Err`: what a stage returns when its failure is degraded over instead of raised.

A search strategy, a reranker or an LLM call may fail without breaking the query. Such a stage returns a
`Result`; its caller matches on it and reports the failure. Everything else raises a `RAGError`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Never, NoReturn, TypeVar

from hybridrag.errors import RAGError

T_co = TypeVar("T_co", covariant=True)
E_co = TypeVar("E_co", bound=RAGError, covariant=True)
U = TypeVar("U")


# No slots: with them, `Ok[int](3)` fails in Python 3.11, whose frozen dataclasses lose their class to `slots=True`.
@dataclass(frozen=True)
class Ok(Generic[T_co]):
    """A value.

    `Ok(3).map(str)` -> `Ok("3")`
    """

    value: T_co

    def map(self, function: Callable[[T_co], U]) -> Ok[U]:
        """Apply `function` to the value."""
        return Ok(function(self.value))

    def unwrap(self) -> T_co:
        """The value."""
        return self.value


@dataclass(frozen=True)
class Err(Generic[E_co]):
    """A failure that the caller may degrade over.

    `Err(error).map(str)` -> the same `Err`
    """

    error: E_co

    # Never: whatever a function takes, it may stand here, because it is not called.
    def map(self, function: Callable[[Never], object]) -> Err[E_co]:  # noqa: ARG002 (same shape as Ok.map)
        """A failure stays as it is."""
        return self

    def unwrap(self) -> NoReturn:
        """Raise the error.

        Raises:
            RAGError: the error that this holds.
        """
        raise self.error


Result = Ok[T_co] | Err[RAGError]
"""What a stage that may fail returns."""
