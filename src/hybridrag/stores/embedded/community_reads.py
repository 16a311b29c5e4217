"""Read communities as a filter leaves them: one without a visible member does not exist."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import apsw
import numpy as np

from hybridrag.protocols import CommunityRow, Keys, MemberRow, SentenceRow
from hybridrag.stores.embedded.community_tables import BELOW, MEMBER_COLUMNS, to_member
from hybridrag.stores.embedded.filters import CompiledFilter
from hybridrag.stores.embedded.live_vectors import from_blob
from hybridrag.stores.embedded.sql import batches, marks
from hybridrag.types.base import Float32Array
from hybridrag.types.ids import CommunityId

Row = tuple[Any, ...]

FEW_KEY_ENTITIES = 3
"""With fewer of the stored ones visible, all members are looked through for others."""

COVERS = "(c.level = ?1 OR (c.level < ?1 AND NOT EXISTS (SELECT 1 FROM communities d WHERE d.parent_key = c.key)))"
"""Which communities cover a level: its own, and those above that are not divided further."""


def _is_mentioned(entity: str, compiled: CompiledFilter) -> tuple[str, list[Any]]:
    """That a visible chunk mentions the entity in a column, as an SQL condition with its values."""
    visible, values = compiled.condition("m.chunk_key")
    sql = (
        f"EXISTS (SELECT 1 FROM {compiled.names} n JOIN mentions m ON m.name_key = n.key "  # noqa: S608 (a column name)
        f"WHERE n.entity_key = {entity}{visible})"
    )
    return sql, values


def level_counts(connection: apsw.Connection) -> tuple[int, ...]:
    """How many communities cover each level."""
    own: list[Row] = connection.execute(
        "SELECT level, count(*), sum(NOT EXISTS (SELECT 1 FROM communities d WHERE d.parent_key = c.key)) "
        "FROM communities c GROUP BY level ORDER BY level"
    ).fetchall()
    counts: list[int] = []
    undivided = 0
    for _, count, leaves in own:
        counts.append(count + undivided)
        undivided += leaves
    return tuple(counts)


def keys_by_id(connection: apsw.Connection, ids: Sequence[CommunityId]) -> dict[CommunityId, int]:
    """Communities by their public id."""
    found: dict[CommunityId, int] = {}
    for batch in batches([str(identity) for identity in ids]):
        sql = f"SELECT id, key FROM communities WHERE id IN ({marks(batch)})"  # noqa: S608 (only marks)
        found.update((CommunityId(str(identity)), key) for identity, key in connection.execute(sql, batch))
    return found


def keys_at_level(connection: apsw.Connection, level: int) -> list[int]:
    """The communities that cover a level, the weightiest first; nothing below the deepest."""
    if level > int(connection.execute("SELECT ifnull(max(level), 0) FROM communities").get):
        return []
    sql = f"SELECT c.key FROM communities c WHERE {COVERS} ORDER BY c.inside DESC, c.size DESC, c.id"  # noqa: S608
    return [key for (key,) in connection.execute(sql, (level,))]


def alive(connection: apsw.Connection, keys: Sequence[int], compiled: CompiledFilter) -> set[int]:
    """Those of the communities that have a visible member."""
    mentioned, values = _is_mentioned("k.entity_key", compiled)
    found: set[int] = set()
    for batch in batches(list(keys)):
        sql = (
            "SELECT DISTINCT k.community_key FROM community_key_entities k "  # noqa: S608 (only marks)
            f"WHERE k.community_key IN ({marks(batch)}) AND {mentioned}"
        )
        found.update(key for (key,) in connection.execute(sql, (*batch, *values)))
    return found | {key for key in keys if key not in found and _has_member(connection, key, compiled)}


def _has_member(connection: apsw.Connection, key: int, compiled: CompiledFilter) -> bool:
    mentioned, values = _is_mentioned("k.entity_key", compiled)
    sql = (
        f"{BELOW}SELECT 1 FROM below JOIN community_members k ON k.community_key = below.key "  # noqa: S608
        f"WHERE {mentioned} LIMIT 1"
    )
    return connection.execute(sql, (key, *values)).get is not None


def _best_members(connection: apsw.Connection, key: int, limit: int, compiled: CompiledFilter) -> list[MemberRow]:
    """The strongest visible members of a community; a limit of -1 means all."""
    mentioned, values = _is_mentioned("k.entity_key", compiled)
    sql = (
        f"{BELOW}SELECT {MEMBER_COLUMNS} FROM below "  # noqa: S608 (constants)
        f"JOIN community_members k ON k.community_key = below.key WHERE {mentioned} "
        "ORDER BY k.strength DESC, k.entity_id LIMIT ?"
    )
    return [to_member(row) for row in connection.execute(sql, (key, *values, limit))]


def members(connection: apsw.Connection, key: int, compiled: CompiledFilter) -> list[MemberRow]:
    """Every visible member of a community, the strongest first."""
    return _best_members(connection, key, -1, compiled)


def key_entities(
    connection: apsw.Connection, keys: Sequence[int], limit: int, compiled: CompiledFilter
) -> dict[int, list[tuple[int, float]]]:
    """The visible members that matter most; a community without one is left out."""
    mentioned, values = _is_mentioned("k.entity_key", compiled)
    found: dict[int, list[tuple[int, float]]] = {key: [] for key in keys}
    for batch in batches(list(keys)):
        sql = (
            "SELECT k.community_key, k.entity_key, k.strength FROM community_key_entities k "  # noqa: S608
            f"WHERE k.community_key IN ({marks(batch)}) AND {mentioned} ORDER BY k.community_key, k.place"
        )
        for key, entity, strength in connection.execute(sql, (*batch, *values)):
            found[key].append((entity, strength))
    for key, listed in found.items():
        if len(listed) < min(FEW_KEY_ENTITIES, limit):
            best = _best_members(connection, key, limit, compiled)
            found[key] = [(member.entity_key, member.strength) for member in best]
    return {key: listed[:limit] for key, listed in found.items() if listed}


def of_entities(
    connection: apsw.Connection, entity_keys: Sequence[int], compiled: CompiledFilter
) -> dict[int, tuple[int, ...]]:
    """The communities of visible entities, from the top down."""
    mentioned, values = _is_mentioned("k.entity_key", compiled)
    leaves: dict[int, int] = {}
    for batch in batches(list(entity_keys)):
        sql = (
            "SELECT k.entity_key, k.community_key FROM community_members k "  # noqa: S608 (only marks)
            f"WHERE k.entity_key IN ({marks(batch)}) AND {mentioned}"
        )
        leaves.update(connection.execute(sql, (*batch, *values)))
    parents = _parents(connection, leaves.values())
    return {entity: tuple(reversed(_upwards(leaf, parents))) for entity, leaf in leaves.items()}


def _parents(connection: apsw.Connection, keys: Iterable[int]) -> dict[int, int]:
    """The parent of each community and of all above it."""
    parents: dict[int, int] = {}
    waiting = sorted(set(keys))
    while waiting:
        for batch in batches(waiting):
            sql = f"SELECT key, parent_key FROM communities WHERE key IN ({marks(batch)})"  # noqa: S608 (only marks)
            parents.update(connection.execute(sql, batch))
        waiting = sorted({parents[key] for key in waiting if parents.get(key)} - parents.keys())
    return parents


def _upwards(key: int, parents: dict[int, int]) -> list[int]:
    path = []
    while key:
        path.append(key)
        key = parents[key]
    return path


def community_rows(
    connection: apsw.Connection, keys: Sequence[int], compiled: CompiledFilter
) -> dict[int, CommunityRow]:
    """Communities by key."""
    found: dict[int, CommunityRow] = {}
    for batch in batches(sorted(alive(connection, keys, compiled))):
        sql = (
            "SELECT c.key, c.id, c.level, p.id, c.inside FROM communities c "  # noqa: S608 (only marks)
            f"LEFT JOIN communities p ON p.key = c.parent_key WHERE c.key IN ({marks(batch)})"
        )
        for key, identity, level, parent, weight in connection.execute(sql, batch):
            found[key] = CommunityRow(
                key=key,
                id=CommunityId(str(identity)),
                level=level,
                parent_id=None if parent is None else CommunityId(str(parent)),
                weight=weight,
            )
    return found


def sentences(
    connection: apsw.Connection, keys: Sequence[int], compiled: CompiledFilter
) -> dict[int, tuple[SentenceRow, ...]]:
    """The sentences of communities that stand in visible chunks."""
    visible, values = compiled.condition("s.chunk_key")
    found: dict[int, list[SentenceRow]] = {}
    for batch in batches(list(keys)):
        sql = (
            'SELECT s.community_key, s.chunk_key, s."start", s."end" FROM community_sentences s '  # noqa: S608
            "JOIN chunks c ON c.key = s.chunk_key "
            f"WHERE s.community_key IN ({marks(batch)}){visible} ORDER BY s.community_key, s.place"
        )
        for key, chunk, start, end in connection.execute(sql, (*batch, *values)):
            found.setdefault(key, []).append(SentenceRow(chunk, start, end))
    return {key: tuple(listed) for key, listed in found.items()}


def wholly_visible(connection: apsw.Connection, keys: Sequence[int], compiled: CompiledFilter) -> set[int]:
    """The communities that have sentences, all in visible chunks, and key entities that visible chunks mention."""
    shown = sentences(connection, keys, compiled)
    mentioned, values = _is_mentioned("k.entity_key", compiled)
    hidden: set[int] = set()
    found: set[int] = set()
    for batch in batches(list(shown)):
        sql = (
            "SELECT DISTINCT k.community_key FROM community_key_entities k "  # noqa: S608 (only marks)
            f"WHERE k.community_key IN ({marks(batch)}) AND NOT {mentioned}"
        )
        hidden.update(key for (key,) in connection.execute(sql, (*batch, *values)))
        sql = (
            "SELECT community_key, count(*) FROM community_sentences "  # noqa: S608 (only marks)
            f"WHERE community_key IN ({marks(batch)}) GROUP BY community_key"
        )
        found.update(key for key, count in connection.execute(sql, batch) if count == len(shown[key]))
    return found - hidden


def written(connection: apsw.Connection, keys: Sequence[int], compiled: CompiledFilter) -> dict[int, tuple[bytes, str]]:
    """Written summaries; one that was written from anything that is not visible is not shown."""
    found: dict[int, tuple[bytes, str]] = {}
    for batch in batches(sorted(wholly_visible(connection, keys, compiled))):
        sql = (
            "SELECT c.key, t.text_hash, t.written FROM communities c "  # noqa: S608 (only marks)
            "JOIN community_texts t ON t.text_hash = c.text_hash "
            f"WHERE c.key IN ({marks(batch)}) AND t.written <> ''"
        )
        found.update((key, (bytes(text), str(summary))) for key, text, summary in connection.execute(sql, batch))
    return found


def mention_places(
    connection: apsw.Connection, chunk_keys: Sequence[int], compiled: CompiledFilter
) -> list[tuple[int, int, int, int]]:
    """Where visible chunks mention which entities."""
    visible, values = compiled.condition("m.chunk_key")
    found: list[tuple[int, int, int, int]] = []
    for batch in batches(list(chunk_keys)):
        sql = (
            'SELECT m.chunk_key, n.entity_key, m."start", m."end" FROM mentions m '  # noqa: S608 (only marks)
            f"JOIN {compiled.names} n ON n.key = m.name_key WHERE m.chunk_key IN ({marks(batch)}){visible} "
            'ORDER BY m.chunk_key, m."start", m."end"'
        )
        found.extend((row[0], row[1], row[2], row[3]) for row in connection.execute(sql, (*batch, *values)))
    return found


def visible_communities(connection: apsw.Connection, compiled: CompiledFilter) -> set[int]:
    """Communities that have a visible member, found from the visible chunks."""
    if compiled.excludes_all:
        return set()
    sql, values = "", []
    if compiled.file_keys is not None:
        sql += " AND m.chunk_key IN (SELECT key FROM chunks WHERE file_key IN carray(?))"
        values.append(apsw.carray(compiled.file_keys))
    if compiled.chunk_keys is not None:
        sql += " AND m.chunk_key IN carray(?)"
        values.append(apsw.carray(compiled.chunk_keys))
    leaves = connection.execute(
        "SELECT DISTINCT k.community_key FROM mentions m CROSS JOIN names n ON n.key = m.name_key "  # noqa: S608
        f"CROSS JOIN community_members k ON k.entity_key = n.entity_key WHERE 1{sql}",
        values,
    )
    return set(_parents(connection, [key for (key,) in leaves]))


def text_vectors(connection: apsw.Connection, model: str) -> tuple[Keys, Float32Array]:
    """Every community whose text has a vector of the model, with it."""
    found: list[Row] = connection.execute(
        "SELECT c.key, t.vector FROM communities c JOIN community_texts t ON t.text_hash = c.text_hash "
        "WHERE t.model = ? ORDER BY c.key",
        (model,),
    ).fetchall()
    if not found:
        return np.empty(0, dtype=np.int64), np.empty((0, 0), dtype=np.float32)
    vectors = np.stack([from_blob(bytes(blob)) for _, blob in found])
    return np.array([key for key, _ in found], dtype=np.int64), vectors


def chunk_vectors(connection: apsw.Connection, keys: Sequence[int]) -> dict[int, Float32Array]:
    """The stored vectors of chunks."""
    found: dict[int, Float32Array] = {}
    for batch in batches(list(keys)):
        sql = f"SELECT chunk_key, vector FROM vectors WHERE chunk_key IN ({marks(batch)})"  # noqa: S608 (only marks)
        found.update((key, from_blob(bytes(blob))) for key, blob in connection.execute(sql, batch))
    return found
