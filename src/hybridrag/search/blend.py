"""Merge keyword, semantic and graph evidence by their scores instead of their ranks.

Words and meaning make a chunk's own score. What the question names adds to it, and a trail from the best chunks can
lift a chunk that has no words in common with the question. A leg without evidence changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hybridrag.search.hop import WALK, Seed, Trail, path_score
from hybridrag.types.queries import SearchWeights

LOWEST_SHOWN = 0.3
"""What the weakest candidate is reported as: every candidate was in the first hundred of some search, and the default
`minRelevance` is there to be raised, not to hide them by a scale."""

BY_NAME_SHARE = 0.5
"""How much of a seed that is no title depends on whether the chunk itself bears on the question: with none, any
chunk that begins with a common term came first; with all, chains without titles lost their start."""


@dataclass(frozen=True, slots=True)
class Blended:
    """A chunk with what its score is made of."""

    key: int
    score: float
    base: float
    """From words and meaning, 0-1."""
    seed: float = 0.0
    """From being named by the question."""
    path: float = 0.0
    """From where the best chunks lead."""
    via: str = ""
    """What the seed or path goes through."""

    @property
    def combined(self) -> float:
        """The score as a value from 0.3 to 1, monotone with it."""
        return LOWEST_SHOWN + (1 - LOWEST_SHOWN) * self.score / (1 + self.score)

    @property
    def graph(self) -> float:
        """What the graph said of it, 0-1."""
        return min(1.0, max(self.seed, self.path))


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
            weight = seed.weight * _fit(seed, base.get(seed.chunk_key, 0.0), place)
            weights[seed.chunk_key] = max(weights.get(seed.chunk_key, 0.0), weight)
    return weights


def _fit(seed: Seed, own: float, place: int) -> float:
    if seed.ambiguous:
        return own / math.sqrt(place)
    return 1 - BY_NAME_SHARE + BY_NAME_SHARE * own if seed.by_name else 1.0


def blend(
    base: Mapping[int, float],
    seeds: Sequence[Seed] = (),
    trails: Mapping[int, Trail] | None = None,
    *,
    own_share: float = WALK.own_share,
) -> list[Blended]:
    """All candidates, best first; ties by key.

    A chunk's score is the better of its own (base and seed) and its path's: being led to never lowers it. A path is
    worth its share of the best own score, for that is what its strength is a share of.
    """
    trails = trails or {}
    named = {seed.chunk_key: seed.alias for seed in seeds}
    weights = seed_weights(base, seeds)
    own = own_scores(base, seeds)
    peak = max(own.values(), default=0.0) or 1.0
    blended = []
    for key in {*own, *trails}:
        path = peak * path_score(trails[key], base.get(key, 0.0), own_share) if key in trails else 0.0
        via = trails[key].via if path > own.get(key, 0.0) else named.get(key, "")
        blended.append(
            Blended(
                key=key,
                score=max(own.get(key, 0.0), path),
                base=base.get(key, 0.0),
                seed=weights.get(key, 0.0),
                path=path,
                via=via,
            )
        )
    return sorted(blended, key=lambda item: (-item.score, item.key))
