"""Merge keyword, semantic and graph evidence by their scores instead of their ranks.

Words and meaning make a chunk's own score. What the question names adds to it, and a trail from the best chunks can
lift a chunk that has no words in common with the question. A search without evidence changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hybridrag.search.hop import WALK, Seed
from hybridrag.types.queries import SearchWeights
from hybridrag.types.results import Hit


def stretched(scores: Mapping[int, float]) -> dict[int, float]:
    """Scores stretched over 0-1, so that two searches can be added up; equal ones are all 1.

    {a: 3, b: 1} -> {a: 1, b: 0}
    """
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    return {key: (score - low) / (high - low) if high > low else 1.0 for key, score in scores.items()}


def base_scores(
    keyword: Mapping[int, float], semantic: Mapping[int, float], weights: SearchWeights, *, covered: float = 1.0
) -> dict[int, float]:
    """Each chunk's own score: words and meaning, each stretched, in the proportion of their weights.

    `covered` is how much of the question the best match by words covers: words weigh as much less.
    """
    words = weights.keyword * (covered if semantic and weights.semantic > 0 else 1.0)
    total = words + weights.semantic
    if total <= 0:
        return {}
    by_word, by_meaning = stretched(keyword), stretched(semantic)
    return {
        key: (words * by_word.get(key, 0.0) + weights.semantic * by_meaning.get(key, 0.0)) / total
        for key in {*by_word, *by_meaning}
    }


def own_scores(base: Mapping[int, float], seeds: Sequence[Seed]) -> dict[int, float]:
    """The base with what the question names on top; a name that several bear counts by how well each fits.

    base {a: 1.0, b: 0.5}, both named "Georgia" -> {a: 2.0, b: 0.5 + 0.5 / sqrt(2)}
    """
    own = dict(base)
    for key, weight in seed_weights(base, seeds).items():
        own[key] = base.get(key, 0.0) + weight
    return own


def seed_weights(base: Mapping[int, float], seeds: Sequence[Seed]) -> dict[int, float]:
    """What being named adds to each chunk.

    Chunks that bear one name share it: each counts by how well it fits, and the second best less for coming second.
    Else all that is about one side of a comparison would stand before anything about the other.
    """
    bearers: dict[str, list[Seed]] = {}
    for seed in seeds:
        bearers.setdefault(seed.alias, []).append(seed)
    weights: dict[int, float] = {}
    for named in bearers.values():
        named.sort(key=lambda seed: (-base.get(seed.chunk_key, 0.0), seed.chunk_key))
        for place, seed in enumerate(named, start=1):
            fits = base.get(seed.chunk_key, 0.0) / math.sqrt(place) if seed.ambiguous else 1.0
            weight = seed.weight * fits
            weights[seed.chunk_key] = max(weights.get(seed.chunk_key, 0.0), weight)
    return weights


def blend(hits: Sequence[Hit], base: Mapping[int, float], *, own_share: float = WALK.own_share) -> list[Hit]:
    """All hits with evidence of some weight, best first; ties by key.

    base {a: 1.0, b: 0.2}; b with a trail of .8 -> a (1.0), b (.8 * (.8 + .2 * .2) = .672)

    A hit's score is the better of its own (base and seed) and its trail's: a trail never lowers it. A trail is
    worth its share of the best own score, for that is what its strength is a share of.
    """
    own = {hit.key: base.get(hit.key, 0.0) + hit.scores.get("seed", 0.0) for hit in hits}
    peak = max(own.values(), default=0.0) or 1.0
    blended = []
    for hit in hits:
        if hit.key not in base and not {"seed", "trail"} & hit.scores.keys():
            continue
        strength = hit.scores.get("trail", 0.0)
        trail = peak * strength * (1 - own_share + own_share * base.get(hit.key, 0.0))
        reached = trail > own[hit.key]
        score = max(own[hit.key], trail)
        blended.append(
            replace(
                hit,
                order=score,
                scores={**hit.scores, "base": base.get(hit.key, 0.0)},
                path=hit.path if reached else tuple(filter(None, (str(hit.details.get("named", "")),))),
            )
        )
    return sorted(blended, key=lambda hit: (-hit.order, hit.key))
