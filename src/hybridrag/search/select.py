"""Normalise, merge, filter and sort results: small pure functions over lists of items."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal

from hybridrag.types.results import SearchResultItem


class Merge(StrEnum):
    """What becomes of two results with one id."""

    MAX_SCORE = "max_score"
    """The better one stays."""
    SUM_SCORE = "sum_score"
    """Their scores add up, at most to 1."""


def normalise_scores(items: Sequence[SearchResultItem]) -> list[SearchResultItem]:
    """Stretch the scores linearly over 0-1; the order stays. Equal scores stay as they are.

    scores .2, .3, .6 -> 0, .25, 1
    """
    if not items:
        return []
    low = min(item.score for item in items)
    span = max(item.score for item in items) - low
    if span == 0:
        return list(items)
    # Rounding may leave 1 + 1e-16, which the model would refuse.
    return [item.model_copy(update={"score": min(1.0, (item.score - low) / span)}) for item in items]


def deduplicate(items: Sequence[SearchResultItem], *, merge: Merge = Merge.MAX_SCORE) -> list[SearchResultItem]:
    """One result per id, in the order of first appearance.

    [a .5, b .4, a .7] -> [a .7, b .4]; with sum_score -> [a 1.0 (.5 + .7, at most 1), b .4]
    """
    kept: dict[str, SearchResultItem] = {}
    for item in items:
        known = kept.get(item.id)
        if known is None:
            kept[item.id] = item
        elif merge is Merge.SUM_SCORE:
            combined = min(1.0, known.relevance.combined + item.relevance.combined)
            kept[item.id] = known.model_copy(
                update={
                    "score": min(1.0, known.score + item.score),
                    "relevance": known.relevance.model_copy(update={"combined": combined}),
                }
            )
        elif item.score > known.score:
            kept[item.id] = item
    return list(kept.values())


def filter_by_min_relevance(items: Sequence[SearchResultItem], min_relevance: float) -> list[SearchResultItem]:
    """The results whose combined score is at least `min_relevance` (BR-007); the order stays.

    combined .2, .3, .6 at least .3 -> .3, .6
    """
    return [item for item in items if item.relevance.combined >= min_relevance]


def sort_by_score(
    items: Sequence[SearchResultItem], *, order: Literal["asc", "desc"] = "desc"
) -> list[SearchResultItem]:
    """Best first by default; equal scores break on id, so that pages never overlap.

    [a .4, c .7, b .7] -> [b .7, c .7, a .4]
    """
    sign = -1.0 if order == "desc" else 1.0
    return sorted(items, key=lambda item: (sign * item.score, item.id))
