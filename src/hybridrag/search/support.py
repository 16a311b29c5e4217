"""Let results that are alike speak for one another: what stands alone among the best is there by chance more often."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hybridrag.types.base import Float32Array

MOST_ALIKE = 10
"""Results that speak for one, the most alike: a page of them. Five are too few to tell, and all fifty level it out."""


def support(scores: Sequence[float], vectors: Sequence[Float32Array | None], files: Sequence[int]) -> list[float]:
    """What those most like each result are worth: the mean of their scores, each by how alike it is.

    scores .9, .2, .1; the second is like the first, the third like neither -> .2, .9, .1

    Only results of other files speak for one: chunks of one file share its title and subject, and are alike whether or
    not they bear on the question. A result without a vector, or with nothing like it, is worth its own score.
    """
    known = [place for place, vector in enumerate(vectors) if vector is not None]
    worth = list(scores)
    if not known:
        return worth
    stacked = np.stack([vector for vector in vectors if vector is not None])
    alike = _most_alike(_alike(stacked, np.array([files[place] for place in known])))
    totals = alike.sum(axis=1)
    sums = alike @ np.array([scores[place] for place in known], dtype=np.float64)
    for row, place in enumerate(known):
        if totals[row] > 0:
            worth[place] = float(sums[row] / totals[row])
    return worth


def with_support(own: float, worth: float, *, protected: bool = False) -> float:
    """A score with what speaks for it: as far as it goes a result stands by itself, and for the rest by those like it.

    (.8, .5) -> .8 * .8 + .2 * .5 = .74; (1, .5) -> 1: what is sure needs nobody

    Of fixed shares, those that helped where many results answer took the first place from the one that holds a fact.
    A result that another one led to is never lowered. Scores are from 0 to 1.
    """
    mixed = own * own + (1 - own) * worth
    return max(own, mixed) if protected else mixed


def _alike(vectors: Float32Array, files: NDArray[np.int64]) -> NDArray[np.float32]:
    """(results, results): how alike two of different files are, 0-1."""
    # All of these are near to one question; what tells them apart is where they differ from their mean.
    centred = vectors - vectors.mean(axis=0)
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    unit = centred / np.where(lengths > 0, lengths, np.float32(1.0))
    alike = np.clip(unit @ unit.T, 0.0, 1.0)
    alike[files[:, None] == files[None, :]] = 0.0
    return np.asarray(alike, dtype=np.float32)


def _most_alike(alike: NDArray[np.float32]) -> NDArray[np.float32]:
    """The same with all but the most alike of each row at 0."""
    if len(alike) <= MOST_ALIKE:
        return alike
    least = np.partition(alike, -MOST_ALIKE, axis=1)[:, -MOST_ALIKE]
    return np.where(alike >= least[:, None], alike, 0.0)
