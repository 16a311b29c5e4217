"""How much one caller may ask for: a token bucket for each."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

MAX_CALLERS = 10_000
"""Buckets kept; the longest unused go first, which are full again anyway."""


class RateLimit:
    """So many requests a minute for each caller, in bursts up to that number."""

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._size = float(per_minute)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, caller: str) -> float:
        """0 where the caller may go on, which counts; else how many seconds until it may.

        60 a minute, the 61st request at once -> 1.0
        """
        if not self._size:
            return 0.0
        now = self._clock()
        left, then = self._buckets.pop(caller, (self._size, now))
        left = min(self._size, left + (now - then) * self._size / 60)
        allowed = left >= 1
        self._buckets[caller] = (left - 1 if allowed else left, now)
        if len(self._buckets) > MAX_CALLERS:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1 - left) * 60 / self._size
