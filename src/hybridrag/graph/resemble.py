"""When two names are one name spelt differently: by their letters, their meaning and their type together.

Nearness of embeddings alone does not tell: Canada and Canadian, Paul Desmarais Jr and Sr are as near as two spellings
of one name. The rule of one differing word below leaves those out. It was set on very few pairs; every merge can be
undone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from hybridrag.types.base import Float32Array

MIN_COSINE = 0.97
"""At 0.96 western and eastern hemisphere still passed. Set on a handful of pairs of one data set."""

MIN_LETTERS = 5
"""A shorter word that differs is another word: Jr and Sr, Won and Kim."""

MAX_EDITS = 2

KEPT_LETTERS = 2
"""Spelling variants mostly begin alike; without them every John would be compared with every other."""

MAX_WORDS = 5
"""Longer names are titles, and titles that differ in a word are mostly two."""

Embed = Callable[[Sequence[str]], Float32Array]


class NameComparer:
    """Tells spelling variants of names of several words: Zachary Lyapunov and Zakhary Lyapunov."""

    def __init__(self, embed: Embed) -> None:
        self._vector = lru_cache(maxsize=4096)(lambda norm: embed([norm])[0])

    def blocks(self, norm: str) -> set[str]:
        """Two names can be alike only if they share one of these: the name with one longer word left open.

        "zachary lyapunov" -> {"za* lyapunov", "zachary ly*"}; two letters are kept, so that few names share one
        """
        words = norm.split(" ")
        if not 2 <= len(words) <= MAX_WORDS:
            return set()
        return {
            " ".join([*words[:place], f"{word[:KEPT_LETTERS]}*", *words[place + 1 :]])
            for place, word in enumerate(words)
            if len(word) >= MIN_LETTERS and word.isalpha()
        }

    def alike(self, norm: str, other: str) -> bool:
        """Whether the names differ in one word by a letter or two, and mean the same to the model."""
        if not differ_by_spelling(norm, other):
            return False
        return float(self._vector(norm) @ self._vector(other)) >= MIN_COSINE


def differ_by_spelling(norm: str, other: str) -> bool:
    """Whether one word differs by up to two letters, and not by an ending alone.

    "zachary lyapunov", "zakhary lyapunov" -> True; "connecticut river", "connecticut rivers" -> False
    """
    one, two = norm.split(" "), other.split(" ")
    differing = [pair for pair in zip(one, two, strict=False) if pair[0] != pair[1]]
    if len(one) != len(two) or len(one) < 2 or len(differing) != 1:
        return False
    first, second = differing[0]
    if min(len(first), len(second)) < MIN_LETTERS or not (first + second).isalpha():
        return False
    # "rivers", "Korean", "Desmarais": what only adds an ending is another form or another thing.
    if first.startswith(second) or second.startswith(first):
        return False
    return _edits(first, second) <= MAX_EDITS


def _edits(first: str, second: str) -> int:
    """Levenshtein distance."""
    row = list(range(len(second) + 1))
    for at, letter in enumerate(first, start=1):
        diagonal, row[0] = row[0], at
        for place, other in enumerate(second, start=1):
            diagonal, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, diagonal + (letter != other))
    return row[-1]
