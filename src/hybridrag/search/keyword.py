"""Search by the words of a question, ranked by BM25.

Operators are honoured exactly. A plain question asks for all of its words first; when too few chunks hold them all,
it is relaxed to any of them, and says so. Very common words are left out while rarer ones remain: every match has to
be scored, and "the" matches everything.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hybridrag.language.tokenise import query_terms
from hybridrag.protocols import Store
from hybridrag.types.queries import SearchFilters
from hybridrag.types.terms import AllOf, AnyOf, Operators, Phrase, QueryTerm, Term, TermQuery

COMMON_SHARE = 0.1
"""A term in more than this share of the chunks tells little apart."""

MATCH_BUDGET = 12_000
"""Chunks to score at most, by the frequencies of the terms: about 10 ms. The rarest terms are kept first."""

SMALL_INDEX = 2_000
"""Up to here every term is kept: scoring everything takes a millisecond."""


@dataclass(frozen=True, slots=True)
class KeywordSearch:
    """What was found, and how it was asked for in the end."""

    hits: tuple[tuple[int, float], ...]
    """`(chunk key, BM25)`, best first."""
    query: TermQuery | None
    """What the store was asked; None when the question has no searchable word."""
    relaxed: bool = False
    """Whether all words together found too little, so that any of them counted."""
    dropped: tuple[str, ...] = ()
    """Terms left out as too common."""
    matching: frozenset[int] | None = None
    """The chunks that match the query's operators; None where it has none."""
    excluded: frozenset[int] = frozenset()
    """The chunks that its operators exclude."""


def search_keywords(
    store: Store, text: str, limit: int, *, operators: Operators | None = None, filters: SearchFilters | None = None
) -> KeywordSearch:
    """The best chunks for the words of `text`, or for the operators that it was written with.

    "what is the upload limit" -> chunks with upload and limit; with either when few have both
    """
    if operators is not None:
        return _search_operators(store, operators, limit, filters)
    terms = query_terms(text)
    if not terms:
        return KeywordSearch((), None)
    every = AllOf(tuple(map(_asked, terms)))
    found = store.search_terms(every, limit, filters=filters)
    if len(found) >= limit or (len(terms) == 1 and not terms[0].parts):
        return KeywordSearch(tuple(found), every)
    kept, dropped = _prune(terms, store)
    anything = AnyOf(kept)
    found = store.search_terms(anything, limit, filters=filters)
    return KeywordSearch(tuple(found), anything, relaxed=True, dropped=dropped)


def _search_operators(store: Store, operators: Operators, limit: int, filters: SearchFilters | None) -> KeywordSearch:
    # Every match counts, however weak: no other search may show what is excluded, nor rank it before a match.
    every = max(limit, store.chunk_count())
    found = store.search_terms(operators.tree, every, filters=filters)
    matching = frozenset(key for key, _ in found)
    unwanted = store.search_terms(operators.unwanted, every, filters=filters) if operators.unwanted else []
    excluded = frozenset(key for key, _ in unwanted) - matching
    return KeywordSearch(tuple(found[:limit]), operators.tree, matching=matching, excluded=excluded)


def bm25_score(raw: float) -> float:
    """A BM25 value (0 and up) as a score from 0.5 to 1 by the logistic function.

    0 -> 0.5, 5 -> 0.993
    """
    return 1.0 / (1.0 + math.exp(-raw)) if raw < 700 else 1.0


def _asked(term: QueryTerm) -> TermQuery:
    """Where a term is: as a whole, as its parts in a row, or in another spelling."""
    ways: list[TermQuery] = [Term(term.term), *(Term(other) for other in term.others)]
    if term.parts:
        ways.append(Phrase(term.parts))
    return ways[0] if len(ways) == 1 else AnyOf(tuple(ways))


def _prune(terms: Sequence[QueryTerm], store: Store) -> tuple[tuple[TermQuery, ...], tuple[str, ...]]:
    """What to ask for when any word counts: wholes and their parts, without the most common."""
    words = dict.fromkeys(word for term in terms for word in (term.term, *term.others, *term.words()))
    total = store.chunk_count()
    if total <= SMALL_INDEX:
        return tuple(Term(word) for word in words), ()
    counts = store.document_frequency(list(words))
    kept = _affordable(counts, total)
    dropped = tuple(word for word in words if counts[word] and word not in kept)
    return tuple(Term(word) for word in words if word in kept), dropped


def _affordable(counts: Mapping[str, int], total: int) -> set[str]:
    """The rarest terms whose matches together stay within the budget; always at least one."""
    kept: set[str] = set()
    spent = 0
    for word, count in sorted(counts.items(), key=lambda item: (item[1], item[0])):
        too_many = count > COMMON_SHARE * total or spent + count > MATCH_BUDGET
        if count == 0 or (too_many and spent > 0):
            continue
        kept.add(word)
        spent += count
    return kept
