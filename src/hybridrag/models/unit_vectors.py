"""Small steps that every embedder shares: length one, cutting work over threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from hybridrag.types.base import Float32Array

TINY = 1e-12
"""A vector shorter than this has no direction and stays as it is."""

_Item = TypeVar("_Item")
_Done = TypeVar("_Done")


def to_unit(vectors: Float32Array) -> Float32Array:
    """Each row at length one, as float32.

    [[3, 4], [0, 0]] -> [[.6, .8], [0, 0]]
    """
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, TINY), dtype=np.float32)


def usable_threads(threads: int) -> int:
    """How many threads to use; 0 means every core that this process may run on."""
    if threads > 0:
        return threads
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:  # macOS and Windows
        return max(1, os.cpu_count() or 1)


def map_threads(action: Callable[[_Item], _Done], items: Sequence[_Item], *, threads: int) -> list[_Done]:
    """`action` of each item, in order, on several threads; the first error ends the rest."""
    workers = min(threads, len(items))
    if workers <= 1:
        return [action(item) for item in items]
    pool = ThreadPoolExecutor(workers, thread_name_prefix="embed")
    try:
        return list(pool.map(action, items))
    finally:
        # An interrupted call must not go on computing thousands of passages.
        pool.shutdown(cancel_futures=True)
