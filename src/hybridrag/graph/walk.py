"""Walk the graph from what a question names: personalised PageRank over a bounded neighbourhood.

What is fetched is bounded by depth, degree and size, so that a walk costs what the neighbourhood costs, however large
the corpus is.
"""

from __future__ import annotations

import math
from collections import Counter
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


# Plain numbers and lists, for a walk joins thousands of nodes while somebody waits: an entity is its key plus this.
_ENTITY = 1 << 48


@dataclass(slots=True)
class _Neighbourhood:
    """Nodes and weighted edges as they are fetched; an edge is kept once and leads both ways."""

    index: dict[int, int] = field(default_factory=dict)
    """Where in the lists a node stands."""
    reach: list[float] = field(default_factory=list)
    """How strongly the seeds reach each node, as far as is known while fetching."""
    sources: list[int] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)

    def node(self, code: int, reach: float = 0.0) -> int:
        """The place of a node, which is made where it is new."""
        place = self.index.setdefault(code, len(self.reach))
        if place == len(self.reach):
            self.reach.append(reach)
        return place

    def join(self, one: int, others: Sequence[int], weight: float) -> None:
        """Edges from a node to others, found from the first."""
        index, reach = self.index, self.reach
        first = self.node(one)
        handed_on = reach[first] * weight
        for other in others:
            second = index.setdefault(other, len(reach))
            if second == len(reach):
                reach.append(handed_on)
            else:
                reach[second] += handed_on
            self.targets.append(second)
        self.sources.extend([first] * len(others))
        self.weights.extend([weight] * len(others))

    def strongest(self, count: int, gone_on: set[int]) -> list[int]:
        """The nodes that the seeds reach most strongly among those not gone on from; ties by kind and key."""
        codes = [code for code in self.index if code not in gone_on]
        reach = np.array([self.reach[self.index[code]] for code in codes])
        order = np.lexsort((np.array(codes, dtype=np.int64), -reach))[:count]
        return [codes[place] for place in order.tolist()]


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
    seeds = {key: weight for key, weight in chunks.items() if weight > 0}
    seeds.update({key + _ENTITY: weight for key, weight in entities.items() if weight > 0})
    if not seeds:
        return Walk({}, {})
    near = _fetch(graph, seeds, limits, filters)
    scores = _rank(near, seeds, limits).tolist()
    return Walk(
        chunks={code: scores[place] for code, place in near.index.items() if code < _ENTITY},
        entities={code - _ENTITY: scores[place] for code, place in near.index.items() if code >= _ENTITY},
    )


def rarity(chunk_count: int) -> float:
    """How much sharing an entity says, by the number of chunks that mention it: 1 for two, 0.2 for thirty.

    1 / log2(1 + count), at most 1
    """
    return 1.0 / math.log2(1 + max(1, chunk_count))


def _fetch(
    graph: GraphStore, seeds: Mapping[int, float], limits: WalkLimits, filters: SearchFilters | None
) -> _Neighbourhood:
    near = _Neighbourhood()
    for seed, weight in seeds.items():
        near.node(seed, weight)
    frontier = list(seeds)
    gone_on = set(seeds)
    for _ in range(limits.depth):
        _from_entities(graph, near, [code - _ENTITY for code in frontier if code >= _ENTITY], limits, filters)
        _from_chunks(graph, near, [code for code in frontier if code < _ENTITY], limits, filters)
        frontier = near.strongest(limits.beam, gone_on)
        if not frontier:
            break
        gone_on.update(frontier)
    return near


def _from_entities(
    graph: GraphStore, near: _Neighbourhood, keys: Sequence[int], limits: WalkLimits, filters: SearchFilters | None
) -> None:
    # One more than the limit tells a hub from an entity that just fits.
    for entity, chunks in graph.some_mentions(keys, limits.max_degree + 1, filters=filters).items():
        near.join(entity + _ENTITY, chunks[: limits.max_degree], rarity(len(chunks)))


def _from_chunks(
    graph: GraphStore, near: _Neighbourhood, keys: Sequence[int], limits: WalkLimits, filters: SearchFilters | None
) -> None:
    if not keys:
        return
    weight = rarity(limits.max_degree)
    mentioned: dict[int, list[int]] = {}
    for row in graph.mentions_in(keys, filters=filters):
        mentioned.setdefault(row.chunk_key, []).append(row.entity_key + _ENTITY)
    for chunk, entities in mentioned.items():
        near.join(chunk, entities, weight)
    links = graph.links_from(keys, filters=filters)
    fan_out = Counter((link.source_key, link.alias) for link in links)
    for link in links:
        share = LINK_WEIGHT * link.quality / math.sqrt(fan_out[link.source_key, link.alias])
        near.join(link.source_key, [link.target_key], share)


def _rank(near: _Neighbourhood, seeds: Mapping[int, float], limits: WalkLimits) -> NDArray[np.float64]:
    size = len(near.index)
    start = np.zeros(size)
    for seed, weight in seeds.items():
        start[near.index[seed]] = weight
    start /= start.sum()
    if not near.sources:
        return start
    one_way, other_way = np.array(near.sources), np.array(near.targets)
    sources, targets = np.concatenate((one_way, other_way)), np.concatenate((other_way, one_way))
    weights = np.tile(np.array(near.weights), 2)
    out = np.bincount(sources, weights=weights, minlength=size)
    share = weights / out[sources]
    dangling = out == 0
    scores = start
    for _ in range(limits.iterations):
        moved = np.bincount(targets, weights=share * scores[sources], minlength=size)
        moved += start * scores[dangling].sum()
        scores = limits.restart * start + (1 - limits.restart) * moved
    return scores
