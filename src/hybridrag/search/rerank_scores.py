"""Blend what a reranker says into the order of the searches."""

from __future__ import annotations

import math
from collections.abc import Sequence

SUREST = 0.001
"""No score counts as surer than this: beyond it is rounding."""

CLEAR = 5.0
"""Log-odds that count in full: a model that reads is as good as certain there, .7 % against 99.3 %."""


def blend_reranking(
    scores: Sequence[float], reranked: Sequence[float | None], *, share: float, linked: Sequence[bool]
) -> list[float]:
    """What orders each result: its own score and the log-odds of the reranker's, each stretched over 0-1, in shares.

    scores 1, .9; reranked .2, .8; share .5 -> .5 (1 and 0), .5 (0 and 1)

    A result that another one led to is never lowered: it answers by way of the other, and need not resemble the
    question. One that the reranker did not look at keeps its own score. The results must come best first.
    """
    own = _stretched(list(scores))
    odds = [None if score is None else _log_odds(score) for score in reranked]
    seen = [score for score in odds if score is not None]
    low, high = (min(seen), max(seen)) if seen else (0.0, 0.0)
    blended: list[float] = []
    for mine, theirs, protected in zip(own, odds, linked, strict=True):
        if theirs is None or high <= low:
            blended.append(mine)
            continue
        mixed = (1 - share) * mine + share * (theirs - low) / (high - low)
        blended.append(max(mine, mixed) if protected else mixed)
    return blended


def add_reading(
    scores: Sequence[float], read: Sequence[float | None], *, share: float, linked: Sequence[bool]
) -> list[float]:
    """What orders each of the very first results: its score, less as far as a model read less in it than in the best.

    scores .9, .8; read .2, .8; share .4 -> .68, .8

    Log-odds count on a scale of their own, not stretched over the results: of two, one would be everything and the
    other nothing. A result that was not read, or that another one led to, keeps its score.
    """
    odds = [None if score is None else max(-1.0, min(1.0, _log_odds(score) / CLEAR)) for score in read]
    best = max((score for score in odds if score is not None), default=0.0)
    return [
        own if theirs is None or protected else own + share * (theirs - best)
        for own, theirs, protected in zip(scores, odds, linked, strict=True)
    ]


def _log_odds(score: float) -> float:
    """A probability on the scale that evidence adds up on: near 0 and 1, small differences mean much."""
    held = min(1.0 - SUREST, max(SUREST, score))
    return math.log(held / (1.0 - held))


def _stretched(scores: list[float]) -> list[float]:
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    return [(score - low) / (high - low) if high > low else 1.0 for score in scores]
