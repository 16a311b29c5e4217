"""What one stretch of text is to the index: its terms, where they stand, and how they belong together."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple, TypeVar

MAX_TERM = 128
"""Longest term in characters; what is longer (data, hashes run together) is cut on both sides alike."""

CACHE_SIZE = 100_000
"""Analyses kept by spelling; a cache that is full starts anew, which costs less than choosing what to forget."""


class Role(IntEnum):
    """How a stretch behaves beside its neighbours."""

    WORD = 0
    NOUN = 1
    NUMBER = 2
    PREFIX = 3
    """第, 非, 新: belongs to what follows."""
    SUFFIX = 4
    """化, 都, 者: belongs to what stands before."""
    COUNTER = 5
    """年, 月, 円: a suffix after a number, else a noun."""
    FUNCTION = 6
    """A particle, an auxiliary: not indexed, and takes no position."""
    FOREIGN = 7
    """No Japanese in it: left to the analysis of other scripts."""
    MIXED = 8
    """Tシャツ, 3千: a dictionary word that crosses scripts."""
    FAMILY_NAME = 9
    GIVEN_NAME = 10


class Part(NamedTuple):
    """One term of a unit; offsets and position count from the unit's own start."""

    term: str
    start: int
    end: int
    position: int


class Unit(NamedTuple):
    """A word, compound or identifier, analysed.

    `parts` are in order of position; the first at a position is what phrases are made of, and the others at the
    same position are further spellings of it or wholes that begin there.
    """

    parts: tuple[Part, ...]
    width: int
    """Positions taken; 0 means that nothing of it is indexed."""
    whole: str
    """The most specific term."""
    positions: tuple[tuple[str, ...], ...]
    """The terms of every position."""
    others: tuple[str, ...] = ()
    """Terms that stand for the whole as well: `email` for `e-mail`."""
    role: Role = Role.WORD
    stop: bool = False
    """Says little: left out of queries that say more."""
    place: str = ""
    """The place that it names, as written: 横浜."""

    @property
    def sequence(self) -> tuple[str, ...]:
        """The first term of every position."""
        return tuple(here[0] for here in self.positions)


class Builder:
    """Collects the terms of a unit position by position."""

    def __init__(self) -> None:
        self._positions: list[list[Part]] = []

    def __len__(self) -> int:
        return len(self._positions)

    def step(self, terms: list[str], start: int, end: int) -> None:
        """Take the next position with `terms`, the first of them for phrases."""
        at = len(self._positions)
        self._positions.append([])
        for term in terms:
            self.join(term, start, end, at)

    def join(self, term: str, start: int, end: int, position: int) -> None:
        """Add a term at a position that is taken already; what is empty or there already is left out."""
        here = self._positions[position]
        term = term[:MAX_TERM]
        if term and all(term != part.term for part in here):
            here.append(Part(term, start, end, position))

    def parts(self) -> tuple[Part, ...]:
        """Every term in order of position."""
        return tuple(part for here in self._positions for part in here)

    def positions(self) -> tuple[tuple[str, ...], ...]:
        """The terms of every position."""
        return tuple(tuple(part.term for part in here) for here in self._positions)

    def first(self) -> str:
        """The first term of all."""
        return self._positions[0][0].term


_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


def remember(cache: dict[_Key, _Value], key: _Key, value: _Value) -> _Value:
    """Keep a value in a bounded cache and return it."""
    if len(cache) >= CACHE_SIZE:
        cache.clear()
    cache[key] = value
    return value
