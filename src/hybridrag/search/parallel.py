"""Run searches side by side, each until its deadline; one that hangs holds up nobody."""

from __future__ import annotations

import contextvars
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from hybridrag.errors import DeadlineExceeded, RAGError, StageError
from hybridrag.result import Err, Ok, Result
from hybridrag.search.record import span

T = TypeVar("T")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Timed(Generic[T]):
    """What a piece of work gave, and how long it took."""

    result: Result[T]
    seconds: float

    @property
    def value(self) -> T | None:
        """What it gave, or None."""
        return self.result.value if isinstance(self.result, Ok) else None

    @property
    def error(self) -> str | None:
        """Why it gave nothing, or None."""
        return str(self.result.error) if isinstance(self.result, Err) else None


class Leg(Generic[T]):
    """A piece of work in a thread of its own, which has so many seconds.

    A thread that hangs cannot be ended. It is a daemon and shared with nobody, so that it neither keeps the program
    from ending nor takes a place that the next question needs.
    """

    def __init__(self, name: str, work: Callable[[], T], *, seconds: float) -> None:
        self._name = name
        self._seconds = seconds
        self._until = time.monotonic() + seconds
        self._done = threading.Event()
        self._timed: Timed[T] | None = None
        self._began = time.perf_counter()
        # Spans opened inside belong to the caller's.
        context = contextvars.copy_context()
        thread = threading.Thread(target=context.run, args=(self._run, work), name=f"hybridrag-{name}", daemon=True)
        thread.start()

    def _run(self, work: Callable[[], T]) -> None:
        try:
            with span(self._name):
                result: Result[T] = Ok(work())
        except RAGError as error:
            result = Err(error)
        except Exception as error:  # noqa: BLE001 (see below)
            # A part that somebody else wrote may raise anything; the search answers without it all the same.
            _log.exception("%s failed", self._name)
            result = Err(StageError(f"{self._name} failed: {type(error).__name__}: {error}"))
        self._timed = Timed(result, time.perf_counter() - self._began)
        self._done.set()

    def result(self) -> Timed[T]:
        """What it gave within its time, else `DeadlineExceeded` as an `Err`; any error is an `Err` too, and logged."""
        if not self._done.wait(max(0.0, self._until - time.monotonic())):
            late = DeadlineExceeded(self._name, seconds=self._seconds)
            return Timed(Err(late), time.perf_counter() - self._began)
        assert self._timed is not None  # noqa: S101 (set before the event)
        return self._timed
