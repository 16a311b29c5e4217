"""At most so many calls a minute, over all threads of a process."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

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

    def reserve(self) -> float:
        """Take the next free slot; 0 means that it is now."""
        if self._per_minute <= 0:
            return 0.0
        with self._lock:
            now = self._clock()
            full = len(self._slots) >= self._per_minute
            slot = max(now, self._slots.popleft() + WINDOW_SECONDS) if full else now
            self._slots.append(slot)
            return slot - now
