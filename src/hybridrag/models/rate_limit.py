"""At most so many calls a minute, over all threads of a process."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from math import inf

WINDOW_SECONDS = 60.0


class RateLimit:
    """Hands out slots: `reserve()` says how many seconds to wait before the call that it counts.

    Two a minute, asked three times at once -> 0, 0, 60
    """

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._lock = threading.Lock()
        self._slots: deque[float] = deque()

    def reserve(self, *, within: float = inf) -> float | None:
        """Take the next free slot and say how far off it is; None, and none taken, where that is past `within`."""
        if self._per_minute <= 0:
            return 0.0
        with self._lock:
            now = self._clock()
            full = len(self._slots) >= self._per_minute
            slot = max(now, self._slots[0] + WINDOW_SECONDS) if full else now
            if slot - now > within:
                return None
            if full:
                self._slots.popleft()
            self._slots.append(slot)
            return slot - now
