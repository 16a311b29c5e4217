"""A sentence-piece unigram tokenizer: the cheapest cutting of each word into known pieces, with exact places.

Written here because the usual library takes 1.5 to 2 s to load a vocabulary of 250,000 pieces and this takes 0.1 s;
a command that searches once would spend most of its time there. It cuts as fast.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hybridrag.models.align_text import AlignedText, align, normalise

WORD_START = "▁"
"""Sentence-piece puts it before every word."""
SPECIAL_PIECES = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
"""They never match text, so that typing `</s>` is harmless."""
UNKNOWN_PENALTY = 10.0
"""How much worse than the worst piece an unknown character is; the value of the sentence-piece library."""
CACHED_WORDS = 65_536
"""Words repeat (Zipf); about 15 MB when full."""
LONGEST_CACHED = 32
"""Japanese is one long word up to the next space, and does not repeat."""

PIECES_FILE = "pieces.txt"
SCORES_FILE = "scores.npy"
LENGTHS_FILE = "lengths.json"

_MARGIN = 4
_WORD = re.compile(r"\S+")

Cut = tuple[tuple[int, ...], tuple[int, ...]]
"""Ids of pieces, and where in the word (with its start mark) each ends."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of one text: their ids, and their places in its normalised form."""

    ids: list[int]
    starts: list[int]
    ends: list[int]


class UnigramTokenizer:
    """Cuts text into the pieces of a unigram model; calls are thread-safe.

    UnigramTokenizer.load(folder).ids("Hello world") -> [35378, 8999]
    """

    def __init__(
        self, ids: dict[str, int], scores: Sequence[float], *, unknown_id: int, lengths: dict[str, int] | None = None
    ) -> None:
        self._ids = ids
        self._scores = scores
        self._lengths = longest_by_start(ids) if lengths is None else lengths
        self._longest = max(self._lengths.values(), default=1)
        self._unknown_id = unknown_id
        self._unknown_score = min(scores, default=0.0) - UNKNOWN_PENALTY
        self._cut_cached = lru_cache(maxsize=CACHED_WORDS)(self._cut)

    @classmethod
    def load(cls, folder: Path, *, unknown_id: int) -> UnigramTokenizer:
        """Open what `save_vocabulary` wrote.

        Raises:
            OSError: a file is missing.
            ValueError: a file is damaged.
        """
        pieces = (folder / PIECES_FILE).read_bytes().decode("utf-8").split("\n")
        scores = np.load(folder / SCORES_FILE, allow_pickle=False)
        if len(pieces) != len(scores):
            msg = f"{PIECES_FILE} holds {len(pieces)} pieces, {SCORES_FILE} {len(scores)} scores"
            raise ValueError(msg)
        ids = dict(zip(pieces, range(len(pieces)), strict=True))
        for special in SPECIAL_PIECES:
            ids.pop(special, None)
        lengths = json.loads((folder / LENGTHS_FILE).read_text(encoding="utf-8"))
        # An array, for a list of that many numbers is walked through whenever Python looks for garbage.
        return cls(ids, array("d", scores.tolist()), unknown_id=unknown_id, lengths=lengths)

    def ids(self, text: str, *, limit: int | None = None) -> list[int]:
        """The ids of the text's tokens, or of the first `limit`, without special ones.

        "日本語 text" -> ids of ▁, 日本語, ▁text
        """
        found: list[int] = []
        words = normalise(text).split()
        if limit is None:
            for word in words:
                found.extend(self._cut_word(WORD_START + word)[0])
            return found
        for word in words:
            if len(found) >= limit:
                break
            # What lies further on than so many of the longest pieces cannot be among the first; a few more keep the
            # place of the cut from being felt.
            found.extend(self._cut_word(WORD_START + word[: (limit + _MARGIN) * self._longest])[0])
        return found[:limit]

    def spans(self, text: str) -> NDArray[np.int32]:
        """(n, 2) character offsets in `text`, ascending. A start mark that is a token of its own has an empty span.

        "日本語 text" -> [[0, 0], [0, 3], [4, 8]]
        """
        aligned = align(text)
        tokens = self._tokens(aligned)
        return aligned.spans(np.asarray(tokens.starts, dtype=np.int32), np.asarray(tokens.ends, dtype=np.int32))

    def _tokens(self, aligned: AlignedText) -> Tokens:
        tokens = Tokens([], [], [])
        for match in _WORD.finditer(aligned.text):
            ids, cuts = self._cut_word(WORD_START + match.group())
            # The start mark takes the place of no character, so positions in the word are one ahead.
            places = [max(match.start(), match.start() + cut - 1) for cut in (0, *cuts)]
            tokens.ids.extend(ids)
            tokens.starts.extend(places[:-1])
            tokens.ends.extend(places[1:])
        return tokens

    def _cut_word(self, word: str) -> Cut:
        return self._cut_cached(word) if len(word) <= LONGEST_CACHED else self._cut(word)

    def _cut(self, word: str) -> Cut:
        """Viterbi: the best-scoring way to reach each position, then back from the end."""
        find, lengths, scores, unknown = self._ids.get, self._lengths.get, self._scores, self._unknown_id
        penalty, length = self._unknown_score, len(word)
        best = [0.0] + [-np.inf] * length
        came_from = [0] * (length + 1)
        piece_at = [unknown] * (length + 1)
        for start in range(length):
            reached = best[start]
            if reached + penalty > best[start + 1]:
                best[start + 1], came_from[start + 1], piece_at[start + 1] = reached + penalty, start, unknown
            stop = min(start + lengths(word[start : start + 2], 1), length)
            for end in range(start + 1, stop + 1):
                piece = find(word[start:end])
                if piece is not None and (score := reached + scores[piece]) > best[end]:
                    best[end], came_from[end], piece_at[end] = score, start, piece
        return self._walk_back(came_from, piece_at)

    def _walk_back(self, came_from: list[int], piece_at: list[int]) -> Cut:
        """The chosen pieces in reading order; neighbouring unknown characters are one unknown token."""
        ids: list[int] = []
        ends: list[int] = []
        place = len(came_from) - 1
        while place > 0:
            piece = piece_at[place]
            if not (ids and piece == ids[-1] == self._unknown_id):
                ids.append(piece)
                ends.append(place)
            place = came_from[place]
        return tuple(reversed(ids)), tuple(reversed(ends))


def longest_by_start(pieces: Iterable[str]) -> dict[str, int]:
    """How long a piece that starts with these two characters can be: bounds the search for pieces.

    ["to", "tok", "token", "a"] -> {"to": 5}
    """
    longest: dict[str, int] = {}
    for piece in pieces:
        if len(piece) > longest.get(piece[:2], 1):
            longest[piece[:2]] = len(piece)
    return longest


def save_vocabulary(folder: Path, pieces: list[str], scores: NDArray[np.float32]) -> None:
    """Write pieces and scores so that `UnigramTokenizer.load` opens them quickly.

    Raises:
        OSError: the folder cannot be written.
    """
    (folder / PIECES_FILE).write_bytes("\n".join(pieces).encode("utf-8"))
    np.save(folder / SCORES_FILE, scores, allow_pickle=False)
    (folder / LENGTHS_FILE).write_text(json.dumps(longest_by_start(pieces), ensure_ascii=False), encoding="utf-8")
