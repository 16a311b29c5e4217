"""Verify that communities fit the entities and one another: a second reckoning, by arrays, of all that is stored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import apsw
import numpy as np
from numpy.typing import NDArray

from hybridrag.protocols import Keys, Ties
from hybridrag.stores.embedded.community_tables import CONFIDENCE_UNITS, counted_ties, read_state, read_ties
from hybridrag.stores.embedded.graph_store import MAX_ENTITIES_PER_CHUNK
from hybridrag.types.ids import EntityId, community_id_for

Weights = NDArray[np.float64]
Places = NDArray[np.int64]

_TIED_TO_NOTHING = {
    "members of a community that is gone": (
        "SELECT count(*) FROM community_members WHERE community_key NOT IN (SELECT key FROM communities)"
    ),
    "key entities of a community that is gone": (
        "SELECT count(*) FROM community_key_entities WHERE community_key NOT IN (SELECT key FROM communities)"
    ),
    "sentences of a community that is gone": (
        "SELECT count(*) FROM community_sentences WHERE community_key NOT IN (SELECT key FROM communities)"
    ),
    "communities whose parent is gone or is not one level up": (
        "SELECT count(*) FROM communities c LEFT JOIN communities p ON p.key = c.parent_key "
        "WHERE c.level <> iif(c.parent_key = 0, 0, ifnull(p.level + 1, -1))"
    ),
    "communities with another size than their members have": (
        "SELECT count(*) FROM communities c LEFT JOIN "
        "(SELECT community_key, count(*) AS members FROM community_members GROUP BY 1) m ON m.community_key = c.key "
        "LEFT JOIN (SELECT parent_key, sum(size) AS below FROM communities GROUP BY 1) p ON p.parent_key = c.key "
        "WHERE c.size <> ifnull(m.members, 0) + ifnull(p.below, 0)"
    ),
    "communities without a member": "SELECT count(*) FROM communities WHERE size < 1",
    "communities that are divided and have members of their own": (
        "SELECT count(*) FROM communities c WHERE key IN (SELECT parent_key FROM communities) "
        "AND key IN (SELECT community_key FROM community_members)"
    ),
    "communities without a key entity": (
        "SELECT count(*) FROM communities WHERE key NOT IN (SELECT community_key FROM community_key_entities)"
    ),
}
"""What holds at any moment, whatever documents came and went since."""

_STALE = {
    "members that no chunk mentions": (
        "SELECT count(*) FROM community_members k WHERE NOT EXISTS "
        "(SELECT 1 FROM names n JOIN mentions m ON m.name_key = n.key WHERE n.entity_key = k.entity_key)"
    ),
    "entities that belong to no community": (
        "SELECT count(DISTINCT n.entity_key) FROM mentions m JOIN names n ON n.key = m.name_key "
        "WHERE n.entity_key NOT IN (SELECT entity_key FROM community_members)"
    ),
    "members under another id than their entity's": (
        "SELECT count(*) FROM community_members k JOIN names n ON n.key = k.entity_key "
        "WHERE lower(hex(n.id)) <> replace(k.entity_id, '-', '')"
    ),
    "sentences in a chunk that is gone": (
        "SELECT count(*) FROM community_sentences WHERE chunk_key NOT IN (SELECT key FROM chunks)"
    ),
    "texts that no community has": (
        "SELECT count(*) FROM community_texts WHERE text_hash NOT IN (SELECT text_hash FROM communities)"
    ),
}
"""What holds once the communities are up to date."""


def community_problems(connection: apsw.Connection) -> list[str]:
    """What does not hold of the communities, each with how often; empty where everything does.

    While changes wait to be taken up, only what must hold at any moment is asked for.
    """
    found = _counted(connection, _TIED_TO_NOTHING)
    if found or read_state(connection).pending:
        return found
    found = _counted(connection, _STALE)
    return found or _reckoned(connection)


def _counted(connection: apsw.Connection, queries: dict[str, str]) -> list[str]:
    counts = ((what, connection.execute(sql).get) for what, sql in queries.items())
    return [f"{count} {what}" for what, count in counts if count]


def forget_communities(connection: apsw.Connection) -> None:
    """Remove all communities and note every chunk as changed: the next update finds them from nothing.

    Written summaries stay until then, for a community of the same text to take up again.
    """
    for table in ("communities", "community_members", "community_key_entities", "community_sentences"):
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 (a constant)
    connection.execute("DELETE FROM counted_chunks")
    connection.execute(
        "INSERT OR IGNORE INTO touched_chunks SELECT DISTINCT m.chunk_key, meta.value FROM mentions m, meta "
        "WHERE meta.name = 'generation'"
    )
    connection.execute(
        "UPDATE community_state SET version = version + 1, texts = texts + 1, weight = 0, changed = 0, "
        "best_modularity = 0"
    )


# By arrays


@dataclass(frozen=True, slots=True)
class _Forest:
    """Communities and members as they are stored, by place instead of by key."""

    keys: Keys
    """Of communities, ascending."""
    entities: Keys
    """Ascending."""
    paths: Places
    """(entities, levels): the community of each entity on each level, -1 below the one that is not divided further."""
    leaves: Places
    """The community that each entity belongs to itself."""


def _reckoned(connection: apsw.Connection) -> list[str]:
    forest = _forest(connection)
    ties = read_ties(connection, None)
    checks = {
        "communities under another id than their members give": _wrong_ids(connection, forest),
        "key entities that are no members": _strangers(connection, forest),
        "chunks that were counted otherwise than they read now": _wrong_counts(connection, ties),
        **_wrong_sums(connection, forest, ties),
    }
    return [f"{count} {what}" for what, count in checks.items() if count]


def _forest(connection: apsw.Connection) -> _Forest:
    nodes = np.array(
        connection.execute("SELECT key, parent_key, level FROM communities ORDER BY key").fetchall(), dtype=np.int64
    ).reshape(-1, 3)
    members = np.array(
        connection.execute("SELECT entity_key, community_key FROM community_members ORDER BY 1").fetchall(),
        dtype=np.int64,
    ).reshape(-1, 2)
    keys = nodes[:, 0]
    parents = np.where(nodes[:, 1] > 0, np.searchsorted(keys, nodes[:, 1]), -1)
    leaves = np.searchsorted(keys, members[:, 1])
    paths = np.full((len(members), int(nodes[:, 2].max(initial=-1)) + 1), -1, dtype=np.int64)
    rows, at = np.arange(len(members)), leaves
    while len(rows):
        paths[rows, nodes[at, 2]] = at
        at = parents[at]
        rows, at = rows[at >= 0], at[at >= 0]
    return _Forest(keys, members[:, 0], paths, leaves)


def _wrong_ids(connection: apsw.Connection, forest: _Forest) -> int:
    ids = [
        str.__new__(EntityId, identity)
        for (identity,) in connection.execute("SELECT entity_id FROM community_members ORDER BY entity_key")
    ]
    known = [identity for (identity,) in connection.execute("SELECT id FROM communities ORDER BY key")]
    wrong = 0
    for level, column in enumerate(forest.paths.T):
        order = np.argsort(column, kind="stable")
        order = order[column[order] >= 0]
        starts = np.flatnonzero(np.diff(column[order], prepend=-1))
        for group in np.split(order, starts[1:]) if len(order) else ():
            wrong += known[column[group[0]]] != community_id_for(level, (ids[entity] for entity in group.tolist()))
    return wrong


def _strangers(connection: apsw.Connection, forest: _Forest) -> int:
    """Key entities that do not belong to the community that they stand for."""
    listed = np.array(
        connection.execute("SELECT community_key, entity_key FROM community_key_entities").fetchall(), dtype=np.int64
    ).reshape(-1, 2)
    if not len(listed) or not len(forest.entities):
        return len(listed)
    communities = np.searchsorted(forest.keys, listed[:, 0])
    places = np.minimum(np.searchsorted(forest.entities, listed[:, 1]), len(forest.entities) - 1)
    belongs = (forest.paths[places] == communities[:, None]).any(axis=1) & (forest.entities[places] == listed[:, 1])
    return int((~belongs).sum())


def _wrong_counts(connection: apsw.Connection, ties: dict[int, Ties]) -> int:
    counted = counted_ties(connection, [key for (key,) in connection.execute("SELECT chunk_key FROM counted_chunks")])
    same = (
        np.array_equal(ties[key].members, counted[key].members) and np.array_equal(ties[key].facts, counted[key].facts)
        for key in ties.keys() & counted.keys()
    )
    return len(ties.keys() ^ counted.keys()) + sum(not it for it in same)


def _wrong_sums(connection: apsw.Connection, forest: _Forest, ties: dict[int, Ties]) -> dict[str, int]:
    """Weights that are not the sums of the ties; sums of whole units are exact in whatever order."""
    entities, communities = len(forest.entities), len(forest.keys)
    degree, strength = np.zeros(entities), np.zeros(entities)
    inside, total = np.zeros(communities), np.zeros(communities)
    weight = 0.0
    for first, second, weights in _pairs(forest.entities, ties):
        weight += float(weights.sum())
        degree += np.bincount(first, weights, entities) + np.bincount(second, weights, entities)
        near = forest.leaves[first] == forest.leaves[second]
        strength += np.bincount(first[near], weights[near], entities) + np.bincount(
            second[near], weights[near], entities
        )
        one, other, shared = first, second, weights
        for level in forest.paths.T:
            left, right = level[one], level[other]
            there = (left >= 0) & (right >= 0)
            one, other, shared, left, right = one[there], other[there], shared[there], left[there], right[there]
            total += np.bincount(left, shared, communities) + np.bincount(right, shared, communities)
            together = left == right
            inside += np.bincount(left[together], shared[together], communities)
            one, other, shared = one[together], other[together], shared[together]
    nodes = _floats(connection, "SELECT inside, total FROM communities ORDER BY key")
    members = _floats(connection, "SELECT strength, degree FROM community_members ORDER BY entity_key")
    return {
        "communities with a wrong sum of ties": int((nodes != np.stack((inside, total), axis=1)).any(axis=1).sum()),
        "members with a wrong sum of ties": int((members != np.stack((strength, degree), axis=1)).any(axis=1).sum()),
        "wrong total of ties": int(read_state(connection).weight != weight),
    }


def _pairs(entities: Keys, ties: dict[int, Ties]) -> Iterator[tuple[Places, Places, Weights]]:
    """Every tie between two entities by their places, chunks of one size at a time."""
    by_size: dict[int, list[Keys]] = {}
    for it in ties.values():
        by_size.setdefault(len(it.members), []).append(it.members)
    for size, listed in by_size.items():
        if 1 < size <= MAX_ENTITIES_PER_CHUNK:
            table = np.searchsorted(entities, np.stack(listed))
            first, second = np.triu_indices(size, 1)
            low, high = table[:, first].ravel(), table[:, second].ravel()
            yield low, high, np.full(len(low), round(CONFIDENCE_UNITS / (size - 1)) / CONFIDENCE_UNITS)
    facts = np.concatenate([np.empty((0, 3), dtype=np.int64), *(it.facts for it in ties.values() if len(it.facts))])
    yield (
        np.searchsorted(entities, facts[:, 0]),
        np.searchsorted(entities, facts[:, 1]),
        facts[:, 2] / CONFIDENCE_UNITS,
    )


def _floats(connection: apsw.Connection, sql: str) -> Weights:
    return np.array(connection.execute(sql).fetchall(), dtype=np.float64).reshape(-1, 2)
