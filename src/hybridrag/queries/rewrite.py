"""Put a question in other words, with nothing but what it says itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hybridrag.language.tokenise import query_terms
from hybridrag.language.words import keywords
from hybridrag.types.queries import MAX_QUERY_CHARACTERS, QueryClassification

KEPT_SHARE = 0.6
"""How many of its keywords a question keeps when the commonest are dropped."""

MIN_KEYWORDS = 2
"""Below this nothing can be dropped: one word left finds everything that has it."""

_UNKNOWN = 4.0
"""The rarity of a word that nothing is known about."""


def rewrite_query(
    question: str, classification: QueryClassification | None = None, rarity: Mapping[str, float] | None = None
) -> list[str]:
    """Other ways to ask the same, the most faithful first; none equals the question.

    "When was the clockmaker Orin Works founded?" ->
    ["clockmaker Orin Works founded", "Orin Works clockmaker founded", "clockmaker Orin"]

    1. The keywords alone. 2. The names, then what is asked about them. 3. Without the commonest words of the corpus.
    4. The names alone. `rarity` is the idf of each term, as the language layer writes them.
    """
    words = list(classification.keywords) if classification and classification.keywords else keywords(question)
    names = list(classification.extracted_entities) if classification else []
    named = " ".join(names).casefold()
    attributes = [word for word in words if word.casefold() not in named]
    variants = [
        " ".join(words),
        " ".join([*names, *attributes]) if names and attributes else "",
        " ".join(_rarest(words, rarity or {})),
        " ".join(names) if names and attributes else "",
    ]
    return _distinct(variants, question)


def _rarest(words: Sequence[str], rarity: Mapping[str, float]) -> list[str]:
    if len(words) <= MIN_KEYWORDS or not rarity:
        return []
    kept = max(MIN_KEYWORDS, round(len(words) * KEPT_SHARE))
    by_rarity = sorted(range(len(words)), key=lambda at: (-_rarity_of(words[at], rarity), at))
    return [words[at] for at in sorted(by_rarity[:kept])]


def _rarity_of(word: str, rarity: Mapping[str, float]) -> float:
    known = [rarity[part] for term in query_terms(word) for part in (term.term, *term.parts) if part in rarity]
    return max(known, default=_UNKNOWN)


def _distinct(variants: Sequence[str], question: str) -> list[str]:
    found: dict[str, str] = {}
    for variant in variants:
        text = " ".join(variant.split())[:MAX_QUERY_CHARACTERS].strip()
        if text and text.casefold() != " ".join(question.split()).casefold().rstrip("?？。. "):
            found.setdefault(text.casefold(), text)
    return list(found.values())
