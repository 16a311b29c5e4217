"""Leave out what says the same as a better result: copies of a document, its versions, forwarded mail."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from hybridrag.language.normalise import fold
from hybridrag.protocols import StoreWithCommunities
from hybridrag.search.state import SearchState
from hybridrag.steps import Step
from hybridrag.types.base import Float32Array

COMPARED = 100
"""How many of the best hits are compared with one another."""

NEAR_COSINE = 0.97
"""Passages less alike than this are not compared word by word: e5 puts any two passages on one topic above .9."""

SAME_SHARE = 0.9
"""Two passages that share this part of their word rows say the same: one changed word in a short paragraph of sixty
makes about .85, a changed date in a page .97."""

ROW = 3
"""Words in a row that are compared: single words would find any two texts on one topic alike."""

CHARACTER_ROW = 6
"""The same for text without spaces."""

LENGTH_SHARE = 0.75
"""How long the shorter of two that say the same is at least: less than SAME_SHARE, for words differ in length."""

_NUMBER = re.compile(r"\d+")


def find_duplicates(
    keys: Sequence[int], read: Callable[[Sequence[int]], Mapping[int, str]], vectors: Mapping[int, Float32Array]
) -> dict[int, int]:
    """Which of the keys, best first, says the same as an earlier one: {later: earlier}.

    [a, b, a with one comma more] -> {third: first}

    `read` gives the texts of keys. Only pairs whose vectors are near are read; a key without a vector is compared by
    its text alone.
    """
    near = _near_pairs(keys, vectors)
    bare = [place for place, key in enumerate(keys) if key not in vectors]
    if not near and not bare:
        return {}
    texts = read([keys[place] for place in sorted({*bare, *(place for pair in near for place in pair)})])
    near = [pair for pair in near if all(keys[place] in texts for place in pair)]
    rows: dict[int, frozenset[str]] = {}
    found: dict[int, int] = {}
    for place, pair in sorted(near + _same_texts(keys, bare, texts)):
        later, earlier = keys[place], keys[pair]
        if later in found or earlier in found or not _about_as_long(texts[later], texts[earlier]):
            continue
        for key in (later, earlier):
            if key not in rows:
                rows[key] = shingles(texts[key])
        # Two versions of a page that differ in one number are what somebody needs to see side by side.
        if _alike(rows[later], rows[earlier]) and _numbers(texts[later]) == _numbers(texts[earlier]):
            found[later] = earlier
    return found


def _near_pairs(keys: Sequence[int], vectors: Mapping[int, Float32Array]) -> list[tuple[int, int]]:
    """Places (later, earlier) whose vectors are so near that their texts may say the same."""
    at = [place for place, key in enumerate(keys) if key in vectors]
    if len(at) < 2:
        return []
    matrix = np.stack([vectors[keys[place]] for place in at])
    rows, columns = np.nonzero(np.tril(matrix @ matrix.T >= NEAR_COSINE, k=-1))
    return [(at[row], at[column]) for row, column in zip(rows.tolist(), columns.tolist(), strict=True)]


def _about_as_long(one: str, other: str) -> bool:
    """Whether two texts may share the most of their words; the rows of a much longer one are mostly its own."""
    short, long = sorted((len(one), len(other)))
    return short >= LENGTH_SHARE * long


def _same_texts(keys: Sequence[int], places: Sequence[int], texts: Mapping[int, str]) -> list[tuple[int, int]]:
    """Places (later, earlier) that have the same text."""
    by_text: dict[str, int] = {}
    pairs: list[tuple[int, int]] = []
    for place in places:
        if keys[place] in texts:
            first = by_text.setdefault(fold(texts[keys[place]]), place)
            if first != place:
                pairs.append((place, first))
    return pairs


def shingles(text: str) -> frozenset[str]:
    """The rows of words (or characters, in text without spaces) that a text is compared by."""
    folded = fold(text)
    words = folded.split()
    # Japanese runs on without spaces: a "word" is then a sentence.
    if len(words) * 12 < len(folded):
        joined = "".join(words)
        return frozenset(joined[at : at + CHARACTER_ROW] for at in range(max(1, len(joined) - CHARACTER_ROW + 1)))
    return frozenset(" ".join(words[at : at + ROW]) for at in range(max(1, len(words) - ROW + 1)))


def _numbers(text: str) -> list[str]:
    return _NUMBER.findall(fold(text))


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    shared = len(one & other)
    return shared >= SAME_SHARE * (len(one) + len(other) - shared)


# The step


def leave_out_copies(state: SearchState, store: StoreWithCommunities) -> None:
    """Drop from the first hits what says the same as a better one, and count it there."""
    with state.recorder.step(Step.DEDUPLICATE) as note:
        keys = [hit.key for hit in state.hits[:COMPARED] if hit.key]
        state.vectors = store.vectors(keys)

        def read(keys: Sequence[int]) -> dict[int, str]:
            return {key: chunk.text for key, chunk in state.read(store, keys).items()}

        copies = find_duplicates(keys, read, state.vectors)
        note.details["leftOut"] = len(copies)
        counts = Counter(copies.values())
        state.hits = [
            replace(hit, copies=counts[hit.key]) if hit.key in counts else hit
            for hit in state.hits
            if not hit.key or hit.key not in copies
        ]
