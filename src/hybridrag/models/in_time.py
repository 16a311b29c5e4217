"""Run what cannot be interrupted, and wait no longer than there is time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from hybridrag.result import Ok

T = TypeVar("T")


@dataclass(frozen=True)
class Failed:
    """What an action raised; `TimeoutError` where it was not done in time."""

    error: BaseException


@dataclass
class _Slot(Generic[T]):
    done: Ok[T] | Failed | None = None


def each_in_time(actions: Sequence[Callable[[], T]], seconds: float) -> list[Ok[T] | Failed]:
    """The outcome of each action, all run at once, after at most `seconds`.

    each_in_time([lambda: 1, lambda: sleep(60)], 0.1) -> [Ok(1), Failed(TimeoutError())]

    One that is late goes on in a thread that nobody waits for: a name server that hangs, or a service that sends its
    headers byte by byte, obeys no timeout of its own.
    """
    slots: list[_Slot[T]] = [_Slot() for _ in actions]
    threads = [
        threading.Thread(target=_fill, args=(slot, action), name="in-time", daemon=True)
        for slot, action in zip(slots, actions, strict=True)
    ]
    until = time.monotonic() + seconds
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return [slot.done or Failed(TimeoutError()) for slot in slots]


def in_time(action: Callable[[], T], seconds: float) -> T:
    """What the action returns within `seconds`.

    in_time(lambda: 1, 0.1) -> 1

    Raises:
        TimeoutError: it was not done.
    """
    (outcome,) = each_in_time([action], seconds)
    if isinstance(outcome, Failed):
        raise outcome.error
    return outcome.value


def _fill(slot: _Slot[T], action: Callable[[], T]) -> None:
    try:
        slot.done = Ok(action())
    except BaseException as error:  # noqa: BLE001 (handed to the caller, whose thread it belongs to)
        slot.done = Failed(error)
