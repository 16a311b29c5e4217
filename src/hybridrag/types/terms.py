"""A keyword query as a tree that any full-text store can compile: no query language leaks out of a store."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Term:
    """One indexed term, exactly as the language layer writes it."""

    text: str


@dataclass(frozen=True, slots=True)
class Prefix:
    """Every term that starts so."""

    text: str


@dataclass(frozen=True, slots=True)
class Phrase:
    """Terms next to each other, in this order."""

    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Near:
    """Phrases within `distance` terms of each other, in any order."""

    phrases: tuple[Phrase, ...]
    distance: int = 10


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every part must match."""

    parts: tuple[TermQuery, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one part must match; each that does adds to the score."""

    parts: tuple[TermQuery, ...]


@dataclass(frozen=True, slots=True)
class Without:
    """`wanted` where `unwanted` does not match."""

    wanted: TermQuery
    unwanted: TermQuery


TermQuery = Term | Prefix | Phrase | Near | AllOf | AnyOf | Without
