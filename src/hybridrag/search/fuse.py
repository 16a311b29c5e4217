"""Merge the rankings of several searches into one.

Order follows the weighted reciprocal rank sum (BR-022). The sum itself is about 0.016 and means nothing to a
reader, so what is reported is `calibrate()`d to 0-1: monotone with the order, and high enough that the first ten
of any search pass the default `minRelevance`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from hybridrag.config import SearchSettings
from hybridrag.errors import InvalidInput
from hybridrag.search.blend import blend
from hybridrag.search.state import SearchState
from hybridrag.steps import Step
from hybridrag.types.queries import SINGLE_STRATEGIES, RRFConfig, SearchStrategy, SearchWeights
from hybridrag.types.results import Hit

T = TypeVar("T")

RRF_K = 60  # Cormack et al., SIGIR 2009; ranks are 1-based

CALIBRATION_POWER = 0.5
"""At the power 0.5, rank 10 in the least weighted search (0.20) is reported as 0.42; linearly it would be 0.17,
under the default `minRelevance` of 0.3."""

SIGNIFICANT_DIGITS = 15
"""Of a rank sum. Beyond them is rounding: .2/61 + .3/61 and .5/61 are a tie, not an order."""

NEGLIGIBLE_WEIGHT = 1e-9
"""Searches that together weigh less weigh nothing; dividing by so little would end in rounding."""


def rrf_score(
    ranks: Mapping[SearchStrategy, int | None], weights: SearchWeights, config: RRFConfig | None = None
) -> float:
    """The sum of `weight / (k + rank)` over the searches that found the item; ranks are 1-based.

    ({keyword: 2, graph: 1}, weights .5/.0/.5, k=60, raw) -> .5/62 + .5/61

    With `normalize_scores` (the default) the sum is calibrated to 0-1. It is divided by the best possible sum over
    *all* searches, not over those that found the item: else one list would count as much as three.

    Raises:
        InvalidInput: a rank below 1.
    """
    config = config or RRFConfig()
    found = {strategy: rank for strategy, rank in ranks.items() if rank is not None}
    for strategy, rank in found.items():
        if rank < 1:
            raise InvalidInput(f"Ranks are 1-based; {strategy.value} has {rank}.")
    shares = {strategy: weights.of(strategy) for strategy in (*SINGLE_STRATEGIES, *found)}
    total = _rank_sum(found, shares, config.k)
    # A caller that ran fewer than three searches gives the others a weight of 0 (BR-011).
    return calibrate(total, best=_best_sum(shares, config.k)) if config.normalize_scores else total


def calibrate(rrf: float, *, best: float) -> float:
    """A rank sum as a value from 0 to 1: 1 for the first of every search, monotone below.

    (best / 4, best) -> 0.5
    """
    if best <= 0:
        return 0.0
    return float(min(1.0, max(0.0, rrf / best)) ** CALIBRATION_POWER)


def fuse(rankings: Mapping[SearchStrategy, Sequence[Hit]], weights: SearchWeights, k: int = RRF_K) -> list[Hit]:
    """Merge rankings by weighted reciprocal rank; ties go to what more searches found, then break on id.

    {keyword: [a, b], graph: [b]}, equal weights -> b (1/62 + 1/61), then a (1/61)

    A search that is not in `rankings` did not run and does not count towards the best possible sum; one that ran
    and found nothing does. Searches that all weigh 0 count alike. A fused hit has the sum as `order`, the calibrated
    value as `combined` and `score`, and the score and rank of each search that found it.
    """
    shares = _shares(rankings, weights)
    best = _best_sum(shares, k)
    fused = []
    for hit in merged(rankings):
        rrf = _rank_sum(hit.ranks, shares, k)
        shown = calibrate(rrf, best=best)
        fused.append(replace(hit, order=rrf, combined=shown, score=shown))
    fused.sort(key=lambda hit: (-hit.order, -len(hit.ranks), hit.id))
    return fused


def merged(rankings: Mapping[SearchStrategy, Sequence[Hit]]) -> list[Hit]:
    """Each hit once, with the score and rank of every search that found it, and what all of them know about it."""
    hits: dict[str, Hit] = {}
    for strategy, ranking in rankings.items():
        for rank, hit in enumerate(_without_repeats(ranking), start=1):
            known = hits.get(hit.id)
            scored = hit
            if hit.ranks.get(strategy) != rank or strategy.value not in hit.scores:
                scored = replace(hit, scores={**hit.scores, strategy.value: hit.score}, ranks={strategy: rank})
            hits[hit.id] = scored if known is None else _joined(known, scored)
    return list(hits.values())


def _rank_sum(ranks: Mapping[SearchStrategy, int], shares: Mapping[SearchStrategy, float], k: int) -> float:
    # An exact sum does not depend on the order of the searches.
    total = math.fsum(shares[strategy] / (k + rank) for strategy, rank in ranks.items())
    return float(f"{total:.{SIGNIFICANT_DIGITS}g}")


def _best_sum(shares: Mapping[SearchStrategy, float], k: int) -> float:
    """What the first of every search would get."""
    return _rank_sum(dict.fromkeys(shares, 1), shares, k)


def _shares(strategies: Collection[SearchStrategy], weights: SearchWeights) -> dict[SearchStrategy, float]:
    shares = {strategy: weights.of(strategy) for strategy in strategies}
    # Without this, a search asked for alone under weights that leave it out would come back in the order of ids.
    return shares if sum(shares.values()) > NEGLIGIBLE_WEIGHT else dict.fromkeys(shares, 1.0)


def _without_repeats(ranking: Sequence[Hit]) -> list[Hit]:
    """A search that names an item twice means its better rank, and costs the others none."""
    first: dict[str, Hit] = {}
    for hit in ranking:
        first.setdefault(hit.id, hit)
    return list(first.values())


def _joined(known: Hit, other: Hit) -> Hit:
    """One hit with what both searches know about the item: the graph's path must survive a keyword match."""
    return replace(
        known,
        key=known.key or other.key,
        scores={**other.scores, **known.scores},
        ranks={**known.ranks, **other.ranks},
        path=known.path or other.path,
        entity_ids=_union(known.entity_ids, other.entity_ids),
        relation_ids=_union(known.relation_ids, other.relation_ids),
        community_id=known.community_id or other.community_id,
        details={**other.details, **known.details},
    )


def _union(some: tuple[T, ...], more: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(dict.fromkeys((*some, *more)))


# The step


def rank(state: SearchState, settings: SearchSettings) -> None:
    """Make one ranking of what the searches found: by their scores or their ranks, as the settings say.

    What covers the themes of an overview question comes first. The thing that a question asks about stands beside
    the best passage on it.
    """
    with state.recorder.step(Step.FUSE) as note:
        chunks = {name: [hit for hit in hits if hit.key] for name, hits in state.rankings.items()}
        if settings.fusion == "rrf":
            hits = fuse({name: chunks[name] for name in state.metrics}, state.weights, settings.rrf_k)
        else:
            found = merged(chunks)
            if set(state.enabled) == {SearchStrategy.GRAPH}:
                # Words and meaning only showed where to start.
                found = [hit for hit in found if SearchStrategy.GRAPH in hit.ranks]
            hits = blend(found, state.base, own_share=settings.walk.own_share)
        nodes = [hit for hit in state.rankings.get(SearchStrategy.GRAPH, ()) if not hit.key]
        hits = _covering(
            hits, [hit for hit in (*chunks.get(SearchStrategy.GRAPH, ()), *nodes) if "theme" in hit.scores]
        )
        state.hits = _with_entities(hits, [hit for hit in nodes if "theme" not in hit.scores])
        note.details |= {
            "method": settings.fusion,
            "weights": state.weights.model_dump(mode="json"),
            "first": [hit.explained() for hit in state.hits[: state.query.options.limit]],
        }


def _covering(hits: list[Hit], themes: Sequence[Hit]) -> list[Hit]:
    """For a question about the whole, first what covers its themes, each adding most to those before; then the rest."""
    known = {hit.id: hit for hit in hits}
    first = [
        replace(known.get(hit.id, hit), order=1.0 + hit.scores["theme"], path=hit.path)
        for hit in sorted(themes, key=lambda hit: -hit.scores["theme"])
    ]
    chosen = {hit.id for hit in first}
    return first + [hit for hit in hits if hit.id not in chosen]


def _with_entities(hits: list[Hit], entities: Sequence[Hit]) -> list[Hit]:
    """With what is named beside the best chunk about it, where the question is about just that."""
    order = hits[0].order if hits else 1.0
    return hits[:1] + [replace(hit, order=order) for hit in entities] + hits[1:]


def matches_first(state: SearchState) -> None:
    """Where the query uses operators: what matches them, then what the searches found besides."""
    matching = state.keyword.matching if state.keyword else None
    if matching is not None:
        state.hits.sort(key=lambda hit: bool(hit.key) and hit.key not in matching)
