"""NFKC as sentence-piece models expect it, with the place of every character in the original text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_REMOVED = frozenset(map(chr, [*range(0x09), 0x0B, *range(0x0E, 0x20), 0x7F, 0x8F, 0x9F]))
"""Control characters, which the models never saw."""
_SPACES = frozenset("\u1680\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u2581\ufeff\ufffd")
"""Characters that part words for the models though NFKC keeps them."""
_KEPT = frozenset("\uff5e")
"""The full-width tilde of 10～20時: NFKC narrows it, the models know it as it is."""

_STEADY = "\t\n\r\x0c\x20-\x7e\u3001-\u3015\u3041-\u3096\u30a1-\u30fe\u4e00-\u9fff"
"""Characters that stay as they are unless a following mark joins them: most of English and Japanese."""
_CHANGING = re.compile(rf"[^{_STEADY}]+")
_TO_CHECK = re.compile(rf"[{''.join(map(re.escape, sorted(_REMOVED | _SPACES)))}]")


@dataclass(frozen=True, slots=True)
class AlignedText:
    """Normalised text; character i of it stands for `original[starts[i]:ends[i]]`."""

    text: str
    starts: NDArray[np.int32] | None = None
    """None when nothing was changed, so that every character stands for itself."""
    ends: NDArray[np.int32] | None = None

    def spans(self, starts: NDArray[np.int32], ends: NDArray[np.int32]) -> NDArray[np.int32]:
        """Spans of the original text for spans of the normalised one, as an (n, 2) array."""
        if self.starts is not None and self.ends is not None and len(starts):
            # An empty span has no last character: it stays empty, where its first would be.
            starts, ends = self.starts[starts], np.where(starts < ends, self.ends[ends - 1], self.starts[starts])
        return np.stack([starts, ends], axis=1).astype(np.int32).reshape(-1, 2)


def normalise(text: str) -> str:
    """The normalised text alone.

    "ｶﾞｲﾄﾞ①" -> "ガイド1"
    """
    if _is_steady(text):
        return text
    return "".join(piece for piece, _, _ in _pieces(text))


def align(text: str) -> AlignedText:
    """Normalise, and remember where each character came from.

    "ｶﾞ①" -> "ガ1", of which ガ stands for characters 0 to 2 and 1 for 2 to 3
    """
    if _is_steady(text):
        return AlignedText(text)
    parts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for piece, start, end in _pieces(text):
        parts.append(piece)
        if piece == text[start:end]:
            starts.extend(range(start, end))
            ends.extend(range(start + 1, end + 1))
        else:
            starts.extend([start] * len(piece))
            ends.extend([end] * len(piece))
    return AlignedText("".join(parts), np.asarray(starts, dtype=np.int32), np.asarray(ends, dtype=np.int32))


def _is_steady(text: str) -> bool:
    return not _TO_CHECK.search(text) and (text.isascii() or unicodedata.is_normalized("NFKC", text))


def _pieces(text: str) -> Iterator[tuple[str, int, int]]:
    """Stretches `(normalised, start, end)` that cover the text: long unchanged ones, and one per changed cluster."""
    done = 0
    for run in _CHANGING.finditer(text):
        # The character before a mark may join with it: か + ゙ -> が
        start = max(done, run.start() - 1)
        if start > done:
            yield text[done:start], done, start
        yield from _clusters(text, start, run.end())
        done = run.end()
    if done < len(text):
        yield text[done:], done, len(text)


def _clusters(text: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """The shortest stretches of `text[start:end]` that normalise apart from one another."""
    first, whole = start, _normal(text[start])
    for place in range(start + 1, end):
        single = _normal(text[place])
        if _joins(text[first:place], whole, text[place], single):
            whole = unicodedata.normalize("NFKC", text[first : place + 1])
            continue
        yield whole, first, place
        first, whole = place, single
    yield whole, first, end


def _joins(before: str, normal_before: str, char: str, normal: str) -> bool:
    """Whether `char` changes with, or is ordered among, what stands before it."""
    if before in _KEPT or before in _SPACES or before in _REMOVED or not normal or normal == " ":
        return False
    return bool(unicodedata.combining(normal[0])) or (
        unicodedata.normalize("NFKC", before + char) != normal_before + normal and char not in _KEPT
    )


def _normal(char: str) -> str:
    if char in _REMOVED:
        return ""
    if char in _SPACES:
        return " "
    return char if char in _KEPT else unicodedata.normalize("NFKC", char)
