"""Merge keyword, semantic and graph evidence by their scores instead of their ranks.

Words and meaning make a chunk's own score. What the question names adds to it, and a trail from the best chunks can
lift a chunk that has no words in common with the question. A leg without evidence changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hybridrag.search.hop import Seed, Trail, path_score
from hybridrag.types.queries import SearchWeights

LOWEST_SHOWN = 0.3
"""What the weakest candidate is reported as: every candidate was in the first hundred of some search, and the default
`minRelevance` is there to be raised, not to hide them by a scale."""


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
    keyword: Mapping[int, float], semantic: Mapping[int, float], weights: SearchWeights
) -> dict[int, float]:
    """Each chunk's own score: words and meaning, each stretched, in the proportion of their weights."""
    total = weights.keyword + weights.semantic
    if total <= 0:
        return {}
    by_word, by_meaning = stretched(keyword), stretched(semantic)
    return {
        key: (weights.keyword * by_word.get(key, 0.0) + weights.semantic * by_meaning.get(key, 0.0)) / total
        for key in {*by_word, *by_meaning}
    }


def own_scores(base: Mapping[int, float], seeds: Sequence[Seed]) -> dict[int, float]:
    """The base with what the question names on top; a name that several bear counts by how well each fits."""
    own = dict(base)
    for seed in seeds:
        own[seed.chunk_key] = base.get(seed.chunk_key, 0.0) + _seed_weight(seed, base)
    return own


def blend(
    base: Mapping[int, float], seeds: Sequence[Seed] = (), trails: Mapping[int, Trail] | None = None
) -> list[Blended]:
    """All candidates, best first; ties by key.

    A chunk's score is the better of its own (base and seed) and its path's: being led to never lowers it.
    """
    trails = trails or {}
    named = {seed.chunk_key: seed for seed in seeds}
    blended = []
    for key in {*base, *named, *trails}:
        own = base.get(key, 0.0)
        seed = _seed_weight(named[key], base) if key in named else 0.0
        path = path_score(trails[key], own) if key in trails else 0.0
        via = trails[key].via if path > own + seed else named[key].alias if key in named else ""
        blended.append(Blended(key=key, score=max(own + seed, path), base=own, seed=seed, path=path, via=via))
    return sorted(blended, key=lambda item: (-item.score, item.key))


def _seed_weight(seed: Seed, base: Mapping[int, float]) -> float:
    return seed.weight * (base.get(seed.chunk_key, 0.0) if seed.ambiguous else 1.0)
