"""What relation extraction finds in one chunk: facts with a predicate, and pairs that merely stand together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log

from hybridrag.types.extraction import Fact, FactKind, Mention

__all__ = ["Cooccurrence", "Fact", "FactKind", "association", "cooccurrences"]


@dataclass(frozen=True, slots=True)
class Cooccurrence:
    """How often two keys stand together; `first_key < second_key`."""

    first_key: str
    second_key: str
    sentences: int
    """Sentences of the chunk with both."""
    chunks: int = 1


MAX_PAIRED_KEYS = 60
"""A chunk with more names is a list or a table: pairing all of them would say nothing and cost its square."""


def cooccurrences(mentions: Iterable[Mention], spans: Sequence[tuple[int, int]]) -> list[Cooccurrence]:
    """Pairs of keys of one chunk with the number of its sentences that hold both; 0 where only the chunk does.

    "A met B. C left." -> (a, b): 1, (a, c): 0, (b, c): 0
    Past `MAX_PAIRED_KEYS` names only those of one sentence are paired.
    """
    rows: list[set[str]] = [set() for _ in spans]
    everywhere: set[str] = set()
    for mention in mentions:
        everywhere.add(mention.key)
        for row, (start, end) in zip(rows, spans, strict=True):
            if start <= mention.start < end:
                row.add(mention.key)
    together = Counter(pair for row in rows if len(row) <= MAX_PAIRED_KEYS for pair in combinations(sorted(row), 2))
    pairs = set(together)
    if len(everywhere) <= MAX_PAIRED_KEYS:
        pairs.update(combinations(sorted(everywhere), 2))
    return [Cooccurrence(first, second, together[first, second]) for first, second in sorted(pairs)]


SENTENCE_WEIGHT = 1.0
CHUNK_WEIGHT = 0.25  # sharing a chunk but no sentence says about a quarter as much


def association(*, sentences: int, chunks: int, first: int, second: int, total: int) -> float:
    """How much more often two names stand together than chance would have it, 0-1: discounted normalised PMI.

    `sentences` and `chunks` count where both stand; `first` and `second` the chunks with either; `total` all chunks.
    Both in the same 5 of 1000 chunks, in a sentence each time -> 0.83; together as often as by chance -> 0
    """
    if not chunks or not total:
        return 0.0
    both = min(chunks, first, second) / total
    if both >= 1.0:
        return 0.0
    pmi = log(both * total * total / (first * second))
    strength = (SENTENCE_WEIGHT * min(sentences, chunks) + CHUNK_WEIGHT * max(0, chunks - sentences)) / chunks
    # Pantel and Lin, 2002: PMI overrates what was seen once or twice.
    discount = chunks / (chunks + 1)
    return max(0.0, pmi / -log(both)) * strength * discount
