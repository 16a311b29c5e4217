"""Answers kept for the same question asked again, for as long as nothing changed that could change them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

V = TypeVar("V")


class QueryCache(Generic[V]):
    """The last answers, each under everything that decides it; the least used goes first. Thread-safe.

    What a key holds is the caller's: the whole query with its filters (so that no workspace sees another's answer),
    the settings, the models. The generation of the index is kept apart: the first look with a newer one forgets
    everything, so that no answer outlives a document.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._generation = -1
        self._kept: OrderedDict[Hashable, V] = OrderedDict()

    def get(self, key: Hashable, *, generation: int) -> V | None:
        """The answer kept under that key for this state of the index."""
        with self._lock:
            if generation != self._generation:
                # A reader may lag behind another: only a newer state makes the old answers wrong.
                if generation > self._generation:
                    self._kept.clear()
                    self._generation = generation
                return None
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key]

    def put(self, key: Hashable, answer: V, *, generation: int) -> None:
        """Keep an answer that was made entirely in that state of the index."""
        with self._lock:
            if self._size == 0 or generation != self._generation:
                return
            self._kept[key] = answer
            self._kept.move_to_end(key)
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()

    def __len__(self) -> int:
        return len(self._kept)
