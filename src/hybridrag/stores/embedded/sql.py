"""Statements over many values at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

LOOKUP_BATCH = 500
"""Values per statement, well under SQLite's limit on parameters."""


def batches(values: Sequence[str | int] | Sequence[bytes]) -> Iterator[list[str | int | bytes]]:
    """The values in groups that fit one statement."""
    for first in range(0, len(values), LOOKUP_BATCH):
        yield list(values[first : first + LOOKUP_BATCH])


def marks(values: Sequence[object]) -> str:
    """One `?` per value."""
    return ", ".join("?" * len(values))
