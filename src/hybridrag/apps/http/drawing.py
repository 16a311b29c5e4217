"""Places to draw a graph at: near what they are joined to, apart from the rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hybridrag import KnowledgeGraph
from hybridrag.apps.http.wire import GraphEdge, GraphNode, Subgraph
from hybridrag.types.ids import EntityId

ROUNDS = 60
"""Steps of the layout; more change little."""

CELLS = 32
"""Cells a side of the grid over which far nodes repel as one: time grows with nodes, not with their pairs."""

Points = NDArray[np.float64]


def draw(graph: KnowledgeGraph, *, around: str | EntityId | None, limit: int) -> Subgraph:
    """The most mentioned entities, or those around one, each with its place.

    Raises:
        NotFound: there is no such entity that the graph's filter leaves.
    """
    data = graph.data(around=around, limit=limit)
    number = {entity.id: place for place, entity in enumerate(data.entities)}
    edges = [
        GraphEdge(
            source=relation.source_id, target=relation.target_id, predicate=relation.predicate, weight=relation.weight
        )
        for relation in data.relations
    ]
    edges += [GraphEdge(source=first, target=second, weight=weight) for first, second, weight in data.together]
    pairs = np.array([(number[edge.source], number[edge.target]) for edge in edges], dtype=np.int64).reshape(-1, 2)
    places = lay_out(len(data.entities), pairs)
    nodes = tuple(
        GraphNode(
            id=entity.id,
            name=entity.name,
            type=entity.type.value,
            mentions=entity.mention_count,
            x=round(float(x), 4),
            y=round(float(y), 4),
        )
        for entity, (x, y) in zip(data.entities, places, strict=True)
    )
    return Subgraph(nodes=nodes, edges=tuple(edges))


def lay_out(count: int, pairs: NDArray[np.int64]) -> Points:
    """A place within the unit square for each node, the same for the same graph.

    Force-directed (Fruchterman and Reingold 1991): joined nodes attract, all repel, steps shrink.
    """
    places: Points = np.random.default_rng(1).uniform(-1, 1, size=(count, 2))
    ideal = 1.5 / max(1.0, count**0.5)
    for step in range(ROUNDS):
        force = _repulsion(places) * ideal**2
        if len(pairs):
            pull = places[pairs[:, 1]] - places[pairs[:, 0]]
            pull *= (np.linalg.norm(pull, axis=1) / ideal)[:, None]
            np.add.at(force, pairs[:, 0], pull)
            np.add.at(force, pairs[:, 1], -pull)
        length = np.maximum(np.linalg.norm(force, axis=1, keepdims=True), 1e-9)
        places = places + force / length * np.minimum(length, 0.1 * (1 - step / ROUNDS))
    low = places.min(axis=0, initial=np.inf) if count else np.zeros(2)
    span = np.maximum((places.max(axis=0, initial=-np.inf) if count else np.ones(2)) - low, 1e-9)
    unit: Points = (places - low) / span
    return unit


def _repulsion(places: Points) -> Points:
    """What pushes each node: the nodes of a cell of the grid act as one at their centre."""
    low = places.min(axis=0, initial=np.inf)
    span = np.maximum(places.max(axis=0, initial=-np.inf) - low, 1e-9)
    cells = np.minimum((places - low) / span * CELLS, CELLS - 1).astype(np.int64)
    names, cell = np.unique(cells[:, 0] * CELLS + cells[:, 1], return_inverse=True)
    weight = np.bincount(cell, minlength=len(names)).astype(np.float64)
    centre = np.stack([np.bincount(cell, places[:, axis], len(names)) for axis in (0, 1)], axis=1) / weight[:, None]
    between = places[:, None, :] - centre[None, :, :]
    # A node alone in its cell stands at the centre, and does not push itself.
    distance = np.maximum((between**2).sum(axis=2), 1e-6)
    force: Points = (between * (weight[None, :] / distance)[:, :, None]).sum(axis=1)
    return force
