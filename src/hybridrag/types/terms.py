"""What a question asks for in terms of the index; a keyword query is a tree that any full-text store can compile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple


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


@dataclass(frozen=True, slots=True)
class Operators:
    """A query that uses operators."""

    tree: TermQuery
    """What has to match."""
    words: str
    """The query without its operators and without what they exclude: `Otter NOT Malmö` is about `Otter`."""

    @property
    def unwanted(self) -> TermQuery | None:
        """What is excluded anywhere in the tree; None where nothing is."""
        parts = tuple(_unwanted(self.tree))
        return AnyOf(parts) if parts else None


def _unwanted(tree: TermQuery) -> Iterator[TermQuery]:
    match tree:
        case Without(wanted, unwanted):
            yield unwanted
            yield from _unwanted(wanted)
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from _unwanted(part)


class QueryTerm(NamedTuple):
    """One thing that a query asks for.

    It is there where `term` or one of `others` is, or where `parts` stand one after the other:

        "getUserName"    term getusername, parts (get, user, name)
        "e-mail"         term e-mail, parts (e, mail), others (email,)
        "国際標準化機構"   term 国際標準化機構, parts (国際, 標準, 化, 機構)
        "第3四半期"       term 第3四半期, parts (第, 3, 四半, 期)
        "running"        term run, no parts

    To relax it, ask for any of `words()`.
    """

    term: str
    start: int
    end: int
    parts: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    def words(self) -> tuple[str, ...]:
        """The smallest terms: the parts in order, or the term itself."""
        return self.parts or (self.term,)


@dataclass(frozen=True, slots=True)
class Name:
    """A name in a question, and the terms that make it."""

    text: str
    plain: str
    """As names are looked for in a text: normalised, in lower case."""
    terms: tuple[QueryTerm, ...]

    @property
    def spellings(self) -> tuple[str, ...]:
        """Every spelling of its words."""
        return tuple(spelling for term in self.terms for spelling in (term.term, *term.parts))
