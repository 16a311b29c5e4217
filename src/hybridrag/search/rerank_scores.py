"""Blend what a reranker says into the order of the searches."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SUREST = 0.001
"""No score counts as surer than this: beyond it is rounding."""

CLEAR = 5.0
"""Log-odds that count in full: a model that reads is as good as certain there, .7 % against 99.3 %."""


COVERAGE = 0.4
"""What it adds to a score, of 0 to 1, to say all that the results before it do not say of the question. Between .2 and
.7, questions over several files of `training/folders.jsonl.xz` and hotpotqa differ by a point."""

COMPLEMENTED = 10
"""Results that are chosen so: a page."""

TINY = 1e-6
"""Below this, all results match every token of the question alike."""


def blend_reranking(scores: Sequence[float], reranked: Sequence[float | None], *, share: float) -> list[float]:
    """What orders each result: its own score and the log-odds of the reranker's, each stretched over 0-1, in shares.

    scores 1, .9; reranked .2, .8; share .5 -> .5 (1 and 0), .5 (0 and 1)

    One that the reranker did not look at keeps its own score.
    """
    own = _stretched(list(scores))
    odds = [None if score is None else _log_odds(score) for score in reranked]
    seen = [score for score in odds if score is not None]
    low, high = (min(seen), max(seen)) if seen else (0.0, 0.0)
    blended: list[float] = []
    for mine, theirs in zip(own, odds, strict=True):
        if theirs is None or high <= low:
            blended.append(mine)
        else:
            blended.append((1 - share) * mine + share * (theirs - low) / (high - low))
    return blended


def add_reading(scores: Sequence[float], read: Sequence[float | None], *, share: float) -> list[float]:
    """What orders each of the very first results: its score, less as far as a model read less in it than in the best.

    scores .9, .8; read .2, .8; share .4 -> .68, .8

    Log-odds count on a scale of their own, not stretched over the results: of two, one would be everything and the
    other nothing. A result that was not read keeps its score.
    """
    odds = [None if score is None else max(-1.0, min(1.0, _log_odds(score) / CLEAR)) for score in read]
    best = max((score for score in odds if score is not None), default=0.0)
    return [own if theirs is None else own + share * (theirs - best) for own, theirs in zip(scores, odds, strict=True)]


def complement(places: Sequence[int], scores: Sequence[float], matches: NDArray[np.float32]) -> list[int]:
    """The places, best first, so that each of the first results adds to those before it what they do not say.

    "When is the fair and what does a stall cost?", two results on the date, then the price list -> date, price, date

    `matches` has a row a result and a column a token of the question. A token counts by how far the best result stands
    out from the mean of all. The first result stays the first.
    """
    usual = matches.mean(axis=0)
    weights = matches.max(axis=0) - usual
    whole = float(weights @ weights)
    if whole < TINY:
        return list(places)
    ordered, left = [places[0]], list(places[1:])
    said = np.maximum(usual, matches[places[0]])
    while left and len(ordered) < COMPLEMENTED:
        adds = np.maximum(matches[left] - said, 0.0) @ weights / whole
        best = int(np.argmax(np.array([scores[place] for place in left]) + COVERAGE * adds))
        ordered.append(left.pop(best))
        said = np.maximum(said, matches[ordered[-1]])
    return ordered + left


def _log_odds(score: float) -> float:
    """A probability on the scale that evidence adds up on: near 0 and 1, small differences mean much."""
    held = min(1.0 - SUREST, max(SUREST, score))
    return math.log(held / (1.0 - held))


def _stretched(scores: list[float]) -> list[float]:
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    return [(score - low) / (high - low) if high > low else 1.0 for score in scores]
