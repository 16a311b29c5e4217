"""Find where a chunk's text matches a keyword query: true offsets, from the same analysis that indexed it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hybridrag.language.tokenise import Token, tokenise
from hybridrag.types.terms import AllOf, AnyOf, Near, Phrase, Prefix, Term, TermQuery, Without


def find_matches(query: TermQuery | None, text: str) -> list[tuple[int, int]]:
    """Every `(start, end)` in `text` that a term, prefix or phrase of the query matches, ascending.

    Phrase(("rate", "limit")), "The rate limits apply" -> [(4, 15)]
    What a NOT excludes is not marked.
    """
    if query is None:
        return []
    tokens = tokenise(text)
    return sorted({span for leaf in _leaves(query) for span in _spans(leaf, tokens)})


def _leaves(query: TermQuery) -> Iterator[Term | Prefix | Phrase]:
    match query:
        case Term() | Prefix() | Phrase():
            yield query
        case Near(phrases):
            yield from phrases
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from _leaves(part)
        case Without(wanted):
            yield from _leaves(wanted)


def _spans(leaf: Term | Prefix | Phrase, tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    match leaf:
        case Term(text):
            yield from ((token.start, token.end) for token in tokens if token.term == text)
        case Prefix(text):
            yield from ((token.start, token.end) for token in tokens if token.term.startswith(text))
        case Phrase(terms):
            yield from _phrase_spans(terms, tokens)


def _phrase_spans(terms: Sequence[str], tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Where the terms stand at positions that follow one another."""
    if not terms:
        return
    at: dict[tuple[int, str], Token] = {}
    for token in tokens:
        at.setdefault((token.position, token.term), token)
    for token in tokens:
        if token.term != terms[0]:
            continue
        rest = [at.get((token.position + step, term)) for step, term in enumerate(terms)]
        if all(rest):
            yield token.start, max(found.end for found in rest if found is not None)
