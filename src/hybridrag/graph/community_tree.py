"""Communities found from nothing: Leiden over the whole graph, then again inside whatever is too large to tell."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybridrag.graph.community_ties import Graph, Weights, divide, induced

MAX_MEMBERS = 100
"""A community with more entities is divided: a title and a few sentences can tell what some dozens have in common.
With half as many, an encyclopaedia got half again as many communities to embed, and no clearer ones."""

MAX_LEVELS = 5
"""Leiden divides a group of n into some √n; five times over that is enough for any number of entities."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A community as it was found; `parent` is its place in the list, -1 at the top."""

    level: int
    parent: int
    members: NDArray[np.int64]
    inside: float


@dataclass(frozen=True, slots=True)
class Tree:
    """All communities of a graph, parents before their children."""

    branches: list[Branch]
    leaves: NDArray[np.int64]
    """For each node the branch that is not divided further; -1 for a node without ties."""
    strengths: Weights
    """For each node the weight of its ties within that branch."""
    degrees: Weights
    """For each node the weight of all its ties."""


def grow(graph: Graph, *, seed: int) -> Tree:
    """Divide a graph into communities, and those that are too large again; nodes without ties belong to none.

    two triangles joined by one edge -> two branches of three members each on level 0
    """
    degrees: Weights = np.bincount(graph.rows(), weights=graph.weights, minlength=len(graph)).astype(np.float64)
    tree = Tree([], np.full(len(graph), -1, dtype=np.int64), np.zeros(len(graph)), degrees)
    tied = np.flatnonzero(np.diff(graph.starts))
    waiting = deque([(induced(graph, tied), tied, -1)] if len(tied) else [])
    while waiting:
        part, nodes, parent = waiting.popleft()
        labels = divide(part, seed=seed)
        if parent >= 0 and labels.max() == 0:
            continue
        level = tree.branches[parent].level + 1 if parent >= 0 else 0
        for branch, local in _branches(part, nodes, labels, level, parent, tree):
            tree.branches.append(branch)
            tree.leaves[branch.members] = len(tree.branches) - 1
            if len(local) > MAX_MEMBERS and level + 1 < MAX_LEVELS:
                waiting.append((induced(part, local), branch.members, len(tree.branches) - 1))
    return tree


def _branches(
    part: Graph, nodes: NDArray[np.int64], labels: NDArray[np.int64], level: int, parent: int, tree: Tree
) -> list[tuple[Branch, NDArray[np.int64]]]:
    """The branches that labels make of a part, each with its nodes in the part; sets their strengths."""
    count = int(labels.max()) + 1
    rows = part.rows()
    same = labels[rows] == labels[part.indices]
    insides = np.bincount(labels[rows[same]], part.weights[same], count) / 2
    tree.strengths[nodes] = np.bincount(rows[same], part.weights[same], len(part))
    order = np.argsort(labels, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(labels, minlength=count))[:-1])
    return [(Branch(level, parent, nodes[local], float(insides[label])), local) for label, local in enumerate(groups)]
