"""Merge the rankings of several searches into one.

Order follows the weighted reciprocal rank sum (BR-022). The sum itself is about 0.016 and means nothing to a
reader, so what is reported is `calibrate()`d to 0-1: monotone with the order, and high enough that the first ten
of any search pass the default `minRelevance`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hybridrag.types.queries import RRFConfig, SearchStrategy, SearchWeights
from hybridrag.types.results import Hit

RRF_K = 60  # Cormack et al., SIGIR 2009; ranks are 1-based

CALIBRATION_POWER = 0.5
"""At the power 0.5, rank 10 in the least weighted search (0.20) is reported as 0.42; linearly it would be 0.17,
under the default `minRelevance` of 0.3."""


@dataclass(frozen=True, slots=True)
class Fused:
    """A hit with where each search ranked it and what that adds up to."""

    hit: Hit
    ranks: Mapping[SearchStrategy, int]
    """1-based, only of the searches that found it."""
    scores: Mapping[SearchStrategy, float]
    rrf: float
    """The weighted reciprocal rank sum, which decides the order."""
    combined: float
    """The calibrated value from 0 to 1 that is reported."""


def rrf_score(
    ranks: Mapping[SearchStrategy, int | None], weights: SearchWeights, config: RRFConfig | None = None
) -> float:
    """The sum of `weight / (k + rank)` over the searches that found the item; ranks are 1-based.

    With `normalize_scores` (the default) the sum is calibrated to 0-1. It is divided by the best possible sum over
    *all* searches, not over those that found the item: else one list would count as much as three.

    ({keyword: 2, graph: 1}, weights .5/.0/.5, k=60, raw) -> .5/62 + .5/61
    """
    config = config or RRFConfig()
    total = 0.0
    for strategy, rank in ranks.items():
        if rank is None:
            continue
        if rank < 1:
            msg = f"ranks are 1-based; {strategy.value} has {rank}"
            raise ValueError(msg)
        total += weights.of(strategy) / (config.k + rank)
    if not config.normalize_scores:
        return total
    # A caller that ran fewer than three searches gives the others a weight of 0 (BR-011).
    return calibrate(total, best=(weights.keyword + weights.semantic + weights.graph) / (config.k + 1))


def calibrate(rrf: float, *, best: float) -> float:
    """A rank sum as a value from 0 to 1: 1 for the first of every search, monotone below.

    (best / 4, best) -> 0.5
    """
    if best <= 0:
        return 0.0
    return float(min(1.0, max(0.0, rrf / best)) ** CALIBRATION_POWER)


def fuse(rankings: Mapping[SearchStrategy, Sequence[Hit]], weights: SearchWeights, k: int = RRF_K) -> list[Fused]:
    """Merge rankings by weighted reciprocal rank; ties break on id.

    {keyword: [a, b], graph: [b]}, equal weights -> b (1/62 + 1/61), then a (1/61)

    A search that is not in `rankings` did not run and does not count towards the best possible sum; one that ran
    and found nothing does.
    """
    first: dict[str, Hit] = {}
    ranks: dict[str, dict[SearchStrategy, int]] = {}
    scores: dict[str, dict[SearchStrategy, float]] = {}
    for strategy, hits in rankings.items():
        for rank, hit in enumerate(hits, start=1):
            first.setdefault(hit.id, hit)
            # A search that names an item twice means its better rank.
            ranks.setdefault(hit.id, {}).setdefault(strategy, rank)
            scores.setdefault(hit.id, {}).setdefault(strategy, hit.score)
    best = sum(weights.of(strategy) for strategy in rankings) / (k + 1)
    fused = []
    for identity, hit in first.items():
        rrf = sum(weights.of(strategy) / (k + rank) for strategy, rank in ranks[identity].items())
        fused.append(
            Fused(
                hit=hit,
                ranks=ranks[identity],
                scores=scores[identity],
                rrf=rrf,
                combined=calibrate(rrf, best=best),
            )
        )
    fused.sort(key=lambda item: (-item.rrf, item.hit.id))
    return fused
