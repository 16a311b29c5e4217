"""What happened on a question's way, step by step: the trace, and OpenTelemetry spans where its API is installed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from pydantic import JsonValue

from hybridrag.steps import Step, StepState
from hybridrag.types.results import OnStep, Trace, TraceStep

TRACER = "hybridrag"
"""The name that spans are recorded under."""

_ON_STEP: ContextVar[OnStep | None] = ContextVar("hybridrag_on_step", default=None)


@contextmanager
def telling(on_step: OnStep | None) -> Iterator[None]:
    """Searches that begin inside tell of their steps."""
    before = _ON_STEP.set(on_step)
    try:
        yield
    finally:
        _ON_STEP.reset(before)


@dataclass(slots=True)
class Note:
    """What a step has to say of itself."""

    state: StepState = StepState.DONE
    reason: str | None = None
    details: dict[str, JsonValue] = field(default_factory=dict)

    def skip(self, reason: str) -> None:
        """It had nothing to do, or was switched off."""
        self.state, self.reason = StepState.SKIPPED, reason

    def degrade(self, reason: str) -> None:
        """It took its fallback."""
        self.state, self.reason = StepState.DEGRADED, reason

    def fail(self, reason: str) -> None:
        """It gave nothing; the others go on."""
        self.state, self.reason = StepState.FAILED, reason


class Recorder:
    """Collects the steps of one search. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._steps: list[TraceStep] = []
        self._on_step = _ON_STEP.get()

    @contextmanager
    def step(self, step: Step) -> Iterator[Note]:
        """Record what happens inside as that step; an error inside is recorded as failed and goes on its way."""
        note = Note()
        began = time.perf_counter()
        with span(step.value) as current:
            try:
                yield note
            except BaseException as error:
                note.fail(str(error) or type(error).__name__)
                raise
            finally:
                taken = (time.perf_counter() - began) * 1000
                _tell(current, note)
                self.add(step, note, milliseconds=taken)

    def add(self, step: Step, note: Note, *, milliseconds: float = 0.0) -> None:
        """Record a step that was timed elsewhere."""
        entry = TraceStep(
            step=step, state=note.state, processing_time=milliseconds, reason=note.reason, details=note.details
        )
        with self._lock:
            self._steps.append(entry)
        if self._on_step is not None:
            self._on_step(entry)

    def skipped(self, step: Step, reason: str) -> None:
        """Record that a step did not run, and why."""
        self.add(step, Note(StepState.SKIPPED, reason))

    @property
    def troubled(self) -> bool:
        """Whether any step failed or took its fallback: such an answer is worth asking for again."""
        with self._lock:
            return any(step.state in {StepState.FAILED, StepState.DEGRADED} for step in self._steps)

    def trace(self) -> Trace:
        """Everything so far."""
        with self._lock:
            return Trace(steps=tuple(self._steps))


def span(name: str, attributes: Mapping[str, str | int | float | bool] | None = None) -> AbstractContextManager[Any]:
    """An OpenTelemetry span `hybridrag.NAME`; nothing where its API is not installed.

    A span never holds the question or text of documents: traces are sent to other machines.
    """
    tracer = _tracer()
    if tracer is None:
        return nullcontext()
    started: AbstractContextManager[Any] = tracer.start_as_current_span(
        f"{TRACER}.{name}", attributes=dict(attributes or {})
    )
    return started


def _tell(current: Any, note: Note) -> None:
    if current is None:
        return
    current.set_attribute("hybridrag.state", note.state.value)
    if note.state is StepState.FAILED:
        from opentelemetry.trace import Status, StatusCode  # noqa: PLC0415 (only where the API is installed)

        current.set_status(Status(StatusCode.ERROR, note.reason))


@cache
def _tracer() -> Any:
    try:
        from opentelemetry import trace  # noqa: PLC0415 (optional)
    except ImportError:
        return None
    return trace.get_tracer(TRACER)
