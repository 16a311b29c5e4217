"""Walk the graph from what a question names: personalised PageRank over a bounded neighbourhood.

What is fetched is bounded by depth, degree and size, so that a walk costs what the neighbourhood costs, however large
the corpus is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hybridrag.protocols import GraphStore
from hybridrag.types.queries import SearchFilters

LINK_WEIGHT = 1.0
"""A chunk that names a document by its title leads there as surely as an entity that only two chunks mention."""


@dataclass(frozen=True, slots=True)
class WalkLimits:
    """How far a walk goes."""

    depth: int = 3
    """Steps from a seed: chunk to entity or entity to chunk is one."""
    max_degree: int = 30
    """Chunks of one entity that are looked at; an entity with more is a hub, and says little."""
    beam: int = 120
    """Nodes that are gone on from at each step: those that the seeds reach most strongly."""
    restart: float = 0.35
    """Share of the walk that begins anew at a seed: larger stays closer to the question."""
    iterations: int = 15
    """Power iterations; the ranking no longer changes after about ten."""


@dataclass(slots=True)
class _Neighbourhood:
    """Nodes and weighted, directed edges as they are fetched."""

    index: dict[tuple[str, int], int] = field(default_factory=dict)
    sources: list[int] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    reach: dict[tuple[str, int], float] = field(default_factory=dict)
    """How strongly the seeds reach a node, as far as is known while fetching."""

    def node(self, kind: str, key: int) -> int:
        return self.index.setdefault((kind, key), len(self.index))

    def join(self, one: tuple[str, int], other: tuple[str, int], weight: float) -> None:
        """An edge in both directions, found from the first."""
        self.reach[other] = self.reach.get(other, 0.0) + self.reach.get(one, 0.0) * weight
        first, second = self.node(*one), self.node(*other)
        self.sources += (first, second)
        self.targets += (second, first)
        self.weights += (weight, weight)


@dataclass(frozen=True, slots=True)
class Walk:
    """Where a walk led: scores that sum to 1 over chunks and entities together."""

    chunks: Mapping[int, float]
    entities: Mapping[int, float]


def walk(
    graph: GraphStore,
    *,
    entities: Mapping[int, float],
    chunks: Mapping[int, float],
    limits: WalkLimits | None = None,
    filters: SearchFilters | None = None,
) -> Walk:
    """Personalised PageRank from weighted seed entities and chunks.

    A seed chunk that mentions a rare entity hands its weight on to the other chunks that mention it.
    No seeds -> nothing.
    """
    limits = limits or WalkLimits()
    seeds = {("entity", key): weight for key, weight in entities.items() if weight > 0}
    seeds.update({("chunk", key): weight for key, weight in chunks.items() if weight > 0})
    if not seeds:
        return Walk({}, {})
    near = _fetch(graph, seeds, limits, filters)
    scores = _rank(near, seeds, limits)
    found: dict[str, dict[int, float]] = {"chunk": {}, "entity": {}}
    for (kind, key), place in near.index.items():
        found[kind][key] = float(scores[place])
    return Walk(chunks=found["chunk"], entities=found["entity"])


def rarity(chunk_count: int) -> float:
    """How much sharing an entity says, by the number of chunks that mention it: 1 for two, 0.2 for thirty.

    1 / log2(1 + count), at most 1
    """
    return 1.0 / math.log2(1 + max(1, chunk_count))


def _fetch(
    graph: GraphStore, seeds: Mapping[tuple[str, int], float], limits: WalkLimits, filters: SearchFilters | None
) -> _Neighbourhood:
    near = _Neighbourhood()
    near.reach.update(seeds)
    for seed in seeds:
        near.node(*seed)
    frontier = list(seeds)
    gone_on = set(seeds)
    for _ in range(limits.depth):
        _from_entities(graph, near, [key for kind, key in frontier if kind == "entity"], limits, filters)
        _from_chunks(graph, near, [key for kind, key in frontier if kind == "chunk"], limits, filters)
        waiting = [node for node in near.index if node not in gone_on]
        waiting.sort(key=lambda node: (-near.reach.get(node, 0.0), node))
        frontier = waiting[: limits.beam]
        if not frontier:
            break
        gone_on.update(frontier)
    return near


def _from_entities(
    graph: GraphStore, near: _Neighbourhood, keys: Sequence[int], limits: WalkLimits, filters: SearchFilters | None
) -> None:
    # One more than the limit tells a hub from an entity that just fits.
    for entity, chunks in graph.some_mentions(keys, limits.max_degree + 1, filters=filters).items():
        weight = rarity(len(chunks))
        for chunk in chunks[: limits.max_degree]:
            near.join(("entity", entity), ("chunk", chunk), weight)


def _from_chunks(
    graph: GraphStore, near: _Neighbourhood, keys: Sequence[int], limits: WalkLimits, filters: SearchFilters | None
) -> None:
    if not keys:
        return
    for row in graph.mentions_in(keys, filters=filters):
        near.join(("chunk", row.chunk_key), ("entity", row.entity_key), rarity(limits.max_degree))
    links = graph.links_from(keys, filters=filters)
    fan_out: dict[tuple[int, str], int] = {}
    for link in links:
        fan_out[link.source_key, link.alias] = fan_out.get((link.source_key, link.alias), 0) + 1
    for link in links:
        share = LINK_WEIGHT * link.quality / math.sqrt(fan_out[link.source_key, link.alias])
        near.join(("chunk", link.source_key), ("chunk", link.target_key), share)


def _rank(near: _Neighbourhood, seeds: Mapping[tuple[str, int], float], limits: WalkLimits) -> NDArray[np.float64]:
    size = len(near.index)
    start = np.zeros(size)
    for node, weight in seeds.items():
        start[near.index[node]] = weight
    start /= start.sum()
    if not near.sources:
        return start
    sources, targets = np.array(near.sources), np.array(near.targets)
    weights = np.array(near.weights)
    out = np.bincount(sources, weights=weights, minlength=size)
    share = weights / out[sources]
    dangling = out == 0
    scores = start
    for _ in range(limits.iterations):
        moved = np.bincount(targets, weights=share * scores[sources], minlength=size)
        moved += start * scores[dangling].sum()
        scores = limits.restart * start + (1 - limits.restart) * moved
    return scores
