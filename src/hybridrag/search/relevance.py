"""Say how likely each hit bears on the question: one probability, by the same measure for every question and corpus.

Order is none of its business: fusion and reranking compare hits of one question, and a probability compares them with
those of any other. `relevance.toml` holds what was fitted, on what, and by which command.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources

import numpy as np

from hybridrag.search.state import SearchState
from hybridrag.search.themes import COVER
from hybridrag.types.results import Hit, SearchResultType

OF_THE_WHOLE = 0.5
"""The probability of a passage for a question about the whole that names no topic: nothing tells them apart."""

FEATURES = ("cosine", "contrast", "words", "graph")


def estimate(state: SearchState) -> None:
    """Give each hit the probability that it bears on the question, as `combined` and, until reranked, as `score`."""
    if any(hit.details.get("chosen") == COVER for hit in state.hits):
        chances = {hit.key: OF_THE_WHOLE for hit in state.hits if hit.key}
    else:
        chances = {key: chance(found) for key, found in features(state).items()}
    state.hits = [_with_chance(hit, _chance_of(hit, state.hits, chances)) for hit in state.hits]


def features(state: SearchState) -> dict[int, tuple[float, ...]]:
    """What the searches say of each chunk: how near it is, by itself and against the others, its words, its links."""
    cosines = _cosines(state)
    usual = float(np.mean(list(cosines.values()))) if cosines else 0.0
    farthest = min(cosines.values(), default=0.0)
    whole = sum(state.question.rarity.values())
    found: dict[int, tuple[float, ...]] = {}
    for hit in state.hits:
        if hit.key:
            cosine = cosines.get(hit.key, farthest)
            words = min(1.0, hit.scores.get("bm25", 0.0) / whole) if whole > 0 else 0.0
            graph = min(1.0, max(hit.scores.get("seed", 0.0), hit.scores.get("trail", 0.0)))
            found[hit.key] = (cosine, cosine - usual, words, graph)
    return found


def chance(said: Sequence[float]) -> float:
    """The probability that a chunk of which the searches say this bears on its question: a logistic model."""
    fitted = _fitted()
    total = fitted["bias"] + sum(fitted[name] * value for name, value in zip(FEATURES, said, strict=True))
    return 1.0 / (1.0 + math.exp(-total))


def _cosines(state: SearchState) -> dict[int, float]:
    """How near each hit is to the question; of those beyond the first, only what the semantic search said."""
    found = {hit.key: hit.scores["semantic"] for hit in state.hits if "semantic" in hit.scores}
    if state.question.pooled is not None:
        for key, vector in state.vectors.items():
            found.setdefault(key, min(1.0, max(0.0, float(vector @ state.question.pooled))))
    return found


def _chance_of(hit: Hit, hits: Sequence[Hit], chances: Mapping[int, float]) -> float:
    """A chunk's own; an entity counts as the best chunk, a community as the mean of its chunks."""
    if hit.key:
        return chances[hit.key]
    if hit.type is SearchResultType.COMMUNITY:
        own = [chances[other.key] for other in hits if other.key and other.community_id == hit.community_id]
        return sum(own) / len(own) if own else min(chances.values(), default=OF_THE_WHOLE)
    return max(chances.values(), default=OF_THE_WHOLE)


def _with_chance(hit: Hit, chance: float) -> Hit:
    return replace(hit, combined=chance, score=chance)


@cache
def _fitted() -> Mapping[str, float]:
    text = resources.files("hybridrag.search").joinpath("relevance.toml").read_text(encoding="utf-8")
    return {name: float(value) for name, value in tomllib.loads(text).items()}
