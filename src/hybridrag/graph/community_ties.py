"""What ties entities to one another, and how a graph of ties is divided: Leiden over numpy arrays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybridrag.protocols import Keys, Ties

UNITS = 1 << 20
"""Weights are whole multiples of 2^-20: their sums are exact, so that no order of adding changes a partition."""

MAX_TIED = 30
"""Pairs grow with the square: a chunk that lists more entities (a register, an index) says little of any pair."""

ITERATIONS = 2
"""Of Leiden: a second one gained 0.1 % of modularity for half as much time again, a fourth nothing."""

NO_BETTER = 1e-5
"""Leiden may end at parts that are no better than the whole, but for rounding: then the whole is one community."""

Weights = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Graph:
    """An undirected graph as rows of neighbours (CSR): row `i` is `indices[starts[i]:starts[i + 1]]`."""

    starts: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: Weights

    def __len__(self) -> int:
        """How many nodes."""
        return len(self.starts) - 1

    def rows(self) -> NDArray[np.int64]:
        """The row of each entry."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))


def share(members: int) -> float:
    """What a chunk with so many entities adds to each pair of them: it hands out the same weight to each entity.

    2 -> 1.0, 3 -> 0.5, 31 -> 0.0
    """
    return round(UNITS / (members - 1)) / UNITS if 1 < members <= MAX_TIED else 0.0


def pairs(ties: Iterable[Ties]) -> tuple[Keys, Keys, Weights]:
    """Every tie between two entities that chunks add, with its weight; a pair may come more than once.

    [Ties(members=[1, 2, 3])] -> [1, 1, 2], [2, 3, 3], [0.5, 0.5, 0.5]
    """
    by_size: dict[int, list[Keys]] = {}
    facts: list[NDArray[np.int64]] = [np.empty((0, 3), dtype=np.int64)]
    for it in ties:
        if share(len(it.members)):
            by_size.setdefault(len(it.members), []).append(it.members)
        if len(it.facts):
            facts.append(it.facts)
    stated = np.concatenate(facts)
    lows, highs, weights = [stated[:, 0]], [stated[:, 1]], [stated[:, 2] / UNITS]
    for size, listed in sorted(by_size.items()):
        table = np.stack(listed)
        first, second = np.triu_indices(size, 1)
        lows.append(table[:, first].ravel())
        highs.append(table[:, second].ravel())
        weights.append(np.full(len(lows[-1]), share(size)))
    return np.concatenate(lows), np.concatenate(highs), np.concatenate(weights)


def make_graph(first: Keys, second: Keys, weights: Weights, size: int) -> Graph:
    """The graph over nodes `0..size-1`; weights of the same pair add up.

    [0, 0], [1, 1], [1.0, 0.5], 2 -> 0 and 1 are tied by 1.5
    """
    names = np.concatenate((first * size + second, second * size + first))
    order = np.argsort(names, kind="stable")
    names, doubled = names[order], np.concatenate((weights, weights))[order]
    begins = np.flatnonzero(np.concatenate(([True], names[1:] != names[:-1]))) if len(names) else np.array([], int)
    names = names[begins]
    starts = np.zeros(size + 1, dtype=np.int64)
    np.cumsum(np.bincount(names // size if size else names, minlength=size), out=starts[1:])
    summed = np.add.reduceat(doubled, begins) if len(begins) else doubled
    return Graph(starts, (names % size if size else names).astype(np.int32), summed.astype(np.float64))


def induced(graph: Graph, nodes: NDArray[np.int64]) -> Graph:
    """The part of a graph that lies between some of its nodes, which get the numbers 0, 1, ... in that order."""
    place = np.full(len(graph), -1, dtype=np.int32)
    place[nodes] = np.arange(len(nodes), dtype=np.int32)
    counts = graph.starts[nodes + 1] - graph.starts[nodes]
    ends = np.cumsum(counts)
    at = np.repeat(graph.starts[nodes] - (ends - counts), counts) + np.arange(int(counts.sum()))
    targets = place[graph.indices[at]]
    kept = targets >= 0
    starts = np.zeros(len(nodes) + 1, dtype=np.int64)
    np.cumsum(np.bincount(np.repeat(np.arange(len(nodes)), counts)[kept], minlength=len(nodes)), out=starts[1:])
    return Graph(starts, targets[kept], graph.weights[at][kept])


def divide(graph: Graph, *, seed: int, resolution: float = 1.0) -> NDArray[np.int64]:
    """The community of each node by Leiden, numbered in the order of their first node; the same for the same seed.

    two triangles joined by one edge -> [0, 0, 0, 1, 1, 1]
    """
    if not len(graph.indices):
        return np.arange(len(graph))
    import graspologic_native  # noqa: PLC0415 (a compiled library; keeps start-up fast)

    _, found = graspologic_native.leiden_csr(
        graph.starts,
        graph.indices,
        graph.weights,
        len(graph),
        resolution=resolution,
        iterations=ITERATIONS,
        seed=seed,
    )
    labels = np.array([found[node] for node in range(len(graph))], dtype=np.int64)
    if _quality(graph, labels, resolution) <= 1 - resolution + NO_BETTER:
        return np.zeros(len(graph), dtype=np.int64)
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def _quality(graph: Graph, labels: NDArray[np.int64], resolution: float) -> float:
    """The modularity of a partition; that of the whole as one part is `1 - resolution`."""
    rows = graph.rows()
    whole = graph.weights.sum()
    inside = graph.weights[labels[rows] == labels[graph.indices]].sum() / whole
    totals = np.bincount(labels[rows], graph.weights) / whole
    return float(inside - resolution * (totals**2).sum())


def modularity(inside: float, squares: float, weight: float) -> float:
    """How much better than chance communities hold together, from the sums over them; 0 where nothing is tied."""
    return inside / weight - squares / (4 * weight * weight) if weight > 0 else 0.0
