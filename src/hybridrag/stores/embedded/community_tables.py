"""Write communities, and read what finding them needs: all of it unfiltered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from hybridrag.protocols import (
    CommunityChange,
    CommunityProfile,
    CommunityState,
    CommunityText,
    Keys,
    MemberRow,
    SentenceRow,
    Ties,
)
from hybridrag.stores.embedded import rows
from hybridrag.stores.embedded.filters import EVERYTHING, CompiledFilter
from hybridrag.stores.embedded.live_vectors import to_blob
from hybridrag.stores.embedded.sql import batches, marks
from hybridrag.types.graph import EntityType
from hybridrag.types.ids import ChunkId, EntityId

Row = tuple[Any, ...]

CONFIDENCE_UNITS = 1 << 20
"""A confidence is kept as a whole number of these, so that sums are exact in any order."""

MEMBER_COLUMNS = "k.entity_key, k.community_key, k.entity_id, k.strength"


# What finding them reads


def read_state(connection: apsw.Connection) -> CommunityState:
    """Where the communities stand."""
    row = connection.execute("SELECT version, pending, modularity FROM community_state").fetchone()
    version, pending, modularity = row or (0, 0, 0.0)
    chunks = int(connection.execute("SELECT value FROM meta WHERE name = 'chunk_count'").get)
    return CommunityState(version=version, pending=pending, chunks=chunks, modularity=modularity)


def count_pending(connection: apsw.Connection, chunks: int) -> None:
    """Note inside the caller's transaction that so many chunks came or went."""
    connection.execute("UPDATE community_state SET pending = pending + ?", (chunks,))


def read_ties(connection: apsw.Connection) -> list[Ties]:
    """What the chunks add now."""
    return _group(*_all_mentions(connection), _fact_rows(connection))


def _all_mentions(connection: apsw.Connection) -> tuple[Keys, Keys]:
    """Chunk and entity of every mention, each pair once, in order; joined here because SQLite would sort for it."""
    names = _integers(connection.execute("SELECT key, entity_key FROM names ORDER BY key"), 2)
    said = _integers(connection.execute("SELECT chunk_key, name_key FROM mentions"), 2)
    if not len(said):
        return said[:, 0], said[:, 1]
    entities = names[np.searchsorted(names[:, 0], said[:, 1]), 1]
    order = np.lexsort((entities, said[:, 0]))
    chunks, entities = said[order, 0], entities[order]
    first = np.ones(len(chunks), dtype=bool)
    first[1:] = (chunks[1:] != chunks[:-1]) | (entities[1:] != entities[:-1])
    return chunks[first], entities[first]


def _fact_rows(connection: apsw.Connection) -> NDArray[np.int64]:
    """Chunk, lower key, higher key and confidence of what is stated of two entities."""
    return _integers(
        connection.execute(
            "SELECT f.chunk_key, min(s.entity_key, o.entity_key), max(s.entity_key, o.entity_key), "  # noqa: S608
            f"CAST(round(f.confidence * {CONFIDENCE_UNITS}) AS INTEGER) FROM facts f "
            "JOIN names s ON s.key = f.subject_key JOIN names o ON o.key = f.object_key"
        ),
        4,
    )


def _group(chunks: Keys, entities: Keys, facts: NDArray[np.int64]) -> list[Ties]:
    """Rows that stand in order of chunk and entity as one value for each chunk."""
    if not len(chunks):
        return []
    starts = np.flatnonzero(np.concatenate(([True], chunks[1:] != chunks[:-1])))
    known, ends = chunks[starts], np.append(starts[1:], len(chunks))
    facts = facts[(facts[:, 1] != facts[:, 2]) & (facts[:, 3] > 0)]
    # What a chunk says of a thing that it does not mention ties nothing here: that thing may be gone.
    of_low, of_high = (_among(chunks, entities, facts[:, 0], facts[:, column]) for column in (1, 2))
    facts = facts[of_low & of_high]
    facts = facts[np.lexsort((facts[:, 3], facts[:, 2], facts[:, 1], facts[:, 0]))]
    first, last = (np.searchsorted(facts[:, 0], known, side=side) for side in ("left", "right"))
    said = np.ascontiguousarray(facts[:, 1:])
    places = (part.tolist() for part in (starts, ends, first, last))
    return [
        Ties(members=entities[start:end], facts=said[begin:stop])
        for start, end, begin, stop in zip(*places, strict=True)
    ]


def _among(chunks: Keys, entities: Keys, of: Keys, wanted: Keys) -> NDArray[np.bool_]:
    """Which pairs of a chunk (`of`) and an entity (`wanted`) stand among rows in order of chunk and entity.

    chunks 1 1 2, entities 5 6 5, of 1 2, wanted 6 6 -> yes, no
    """
    known, place = np.unique(chunks, return_inverse=True)
    span = max(int(entities.max()), int(wanted.max(initial=0))) + 1
    codes = place * span + entities
    at = np.minimum(np.searchsorted(known, of), len(known) - 1)
    asked = at * span + wanted
    found = np.minimum(np.searchsorted(codes, asked), len(codes) - 1)
    there: NDArray[np.bool_] = (known[at] == of) & (codes[found] == asked)
    return there


def chunks_mentioning(
    connection: apsw.Connection, entity_keys: Sequence[int], compiled: CompiledFilter = EVERYTHING
) -> dict[int, Keys]:
    """The visible chunks that mention each entity, ascending."""
    visible, values = compiled.condition("m.chunk_key")
    found: dict[int, Keys] = {}
    for batch in batches(list(entity_keys)):
        sql = (
            f"SELECT n.entity_key, m.chunk_key FROM {compiled.names} n JOIN mentions m ON m.name_key = n.key "  # noqa: S608
            f"WHERE n.entity_key IN ({marks(batch)}){visible}"
        )
        said = np.unique(_integers(connection.execute(sql, (*batch, *values)), 2), axis=0)
        if len(said):
            starts = np.flatnonzero(np.concatenate(([True], said[1:, 0] != said[:-1, 0])))
            for piece in np.split(said, starts[1:]):
                found[int(piece[0, 0])] = piece[:, 1]
    return found


def home_files(connection: apsw.Connection, entity_keys: Sequence[int]) -> dict[int, int]:
    """The file that mentions each entity most; at equal counts the id decides, which no order of adding changes."""
    found: dict[int, int] = {}
    for batch in batches(list(entity_keys)):
        sql = (
            "SELECT n.entity_key, c.file_key FROM names n JOIN mentions m ON m.name_key = n.key "  # noqa: S608
            "JOIN chunks c ON c.key = m.chunk_key JOIN files f ON f.key = c.file_key "
            f"WHERE n.entity_key IN ({marks(batch)}) GROUP BY n.entity_key, c.file_key ORDER BY count(*) DESC, f.id"
        )
        for entity, file in connection.execute(sql, batch):
            found.setdefault(entity, file)
    return found


def dates(connection: apsw.Connection) -> set[int]:
    """The entities that nothing but dates names."""
    sql = (
        "SELECT n.entity_key FROM names n JOIN mentions m ON m.name_key = n.key GROUP BY n.entity_key "  # noqa: S608
        f"HAVING min(m.type) = '{EntityType.TIME}' AND max(m.type) = '{EntityType.TIME}'"
    )
    return {key for (key,) in connection.execute(sql)}


def chunk_ids(connection: apsw.Connection, chunk_keys: Sequence[int]) -> dict[int, ChunkId]:
    """The public ids of chunks."""
    found: dict[int, ChunkId] = {}
    for batch in batches(list(chunk_keys)):
        sql = f"SELECT key, id FROM chunks WHERE key IN ({marks(batch)})"  # noqa: S608 (only marks)
        found.update((key, str.__new__(ChunkId, identity)) for key, identity in connection.execute(sql, batch))
    return found


BELOW = (
    "WITH RECURSIVE below (key) AS (VALUES (?) UNION ALL "
    "SELECT c.key FROM communities c JOIN below ON c.parent_key = below.key) "
)
"""A community and all that it is divided into."""


def to_member(row: Row) -> MemberRow:
    """A row of `MEMBER_COLUMNS` as a value."""
    entity, community, identity, strength = row
    return MemberRow(
        entity_key=entity,
        community_key=community,
        entity_id=str.__new__(EntityId, identity),
        strength=strength,
    )


def profiles(connection: apsw.Connection, keys: Sequence[int]) -> dict[int, CommunityProfile]:
    """What communities are shown by, whatever of it is still there."""
    hashes: dict[int, bytes] = {}
    entities: dict[int, list[tuple[int, float]]] = {}
    said: dict[int, list[SentenceRow]] = {}
    for batch in batches(list(keys)):
        listed = marks(batch)
        sql = f"SELECT key, text_hash FROM communities WHERE key IN ({listed})"  # noqa: S608 (only marks)
        hashes.update((key, bytes(text)) for key, text in connection.execute(sql, batch))
        sql = (
            "SELECT community_key, entity_key, strength FROM community_key_entities "  # noqa: S608 (only marks)
            f"WHERE community_key IN ({listed}) ORDER BY community_key, place"
        )
        for key, entity, strength in connection.execute(sql, batch):
            entities.setdefault(key, []).append((entity, strength))
        sql = (
            'SELECT community_key, chunk_key, "start", "end" FROM community_sentences '  # noqa: S608 (only marks)
            f"WHERE community_key IN ({listed}) ORDER BY community_key, place"
        )
        for key, chunk, start, end in connection.execute(sql, batch):
            said.setdefault(key, []).append(SentenceRow(chunk, start, end))
    return {
        key: CommunityProfile(tuple(entities.get(key, ())), tuple(said.get(key, ())), text)
        for key, text in hashes.items()
    }


# What is written


def write_change(connection: apsw.Connection, change: CommunityChange) -> bool:
    """Put all communities in place inside the caller's transaction; False when others came first."""
    if read_state(connection).version != change.state.version:
        return False
    rows.next_generation(connection)
    for table in ("communities", "community_members", "community_key_entities", "community_sentences"):
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 (a constant)
    keys = {0: 0}
    for node in change.nodes:
        connection.execute(
            "INSERT INTO communities (id, level, parent_key, size, inside, text_hash) VALUES (?, ?, ?, ?, ?, ?)",
            (node.id, node.level, keys[node.parent_key], node.size, node.inside, change.profiles[node.key].text_hash),
        )
        keys[node.key] = connection.last_insert_rowid()
    _write_profiles(connection, change, keys)
    connection.executemany(
        "INSERT INTO community_members VALUES (?, ?, ?, ?)",
        ((it.entity_key, keys[it.community_key], it.entity_id, it.strength) for it in change.members),
    )
    # Texts go with the last community that has them: a summary may hold words of a removed file.
    connection.execute("DELETE FROM community_texts WHERE text_hash NOT IN (SELECT text_hash FROM communities)")
    connection.execute(
        "UPDATE community_state SET version = version + 1, pending = pending - ?, modularity = ?",
        (change.state.pending, change.modularity),
    )
    return True


def _write_profiles(connection: apsw.Connection, change: CommunityChange, keys: dict[int, int]) -> None:
    connection.executemany(
        "INSERT INTO community_key_entities VALUES (?, ?, ?, ?)",
        (
            (keys[key], place, entity, strength)
            for key, profile in change.profiles.items()
            for place, (entity, strength) in enumerate(profile.key_entities)
        ),
    )
    connection.executemany(
        "INSERT INTO community_sentences VALUES (?, ?, ?, ?, ?)",
        (
            (keys[key], place, it.chunk_key, it.start, it.end)
            for key, profile in change.profiles.items()
            for place, it in enumerate(profile.sentences)
        ),
    )


def forget_texts_of(connection: apsw.Connection, chunk_keys: Sequence[int]) -> None:
    """Drop what was written and embedded from the sentences of chunks that go: it may hold their words."""
    for batch in batches(list(chunk_keys)):
        connection.execute(
            "DELETE FROM community_texts WHERE text_hash IN (SELECT c.text_hash FROM communities c "  # noqa: S608
            f"JOIN community_sentences s ON s.community_key = c.key WHERE s.chunk_key IN ({marks(batch)}))",
            batch,
        )
        if connection.changes():
            connection.execute("UPDATE community_state SET texts = texts + 1")


def untold(connection: apsw.Connection, *, ask: bool) -> dict[int, bytes]:
    """Communities whose text has no vector of the store's model; with `ask`, or was not put to a language model."""
    found = connection.execute(
        "SELECT min(c.key), c.text_hash FROM communities c LEFT JOIN community_texts t ON t.text_hash = c.text_hash "
        "WHERE t.text_hash IS NULL OR t.model <> ? OR (? AND t.written IS NULL) GROUP BY c.text_hash "
        "ORDER BY 1",
        (_model(connection), ask),
    )
    return {key: bytes(text) for key, text in found}


def write_texts(connection: apsw.Connection, texts: Sequence[CommunityText]) -> None:
    """Keep what was made of texts that a community still has."""
    model = _model(connection)
    connection.executemany(
        "INSERT OR REPLACE INTO community_texts SELECT ?1, ?2, ?3, ?4 "
        "WHERE EXISTS (SELECT 1 FROM communities WHERE text_hash = ?1)",
        [(it.text_hash, model, to_blob(it.vector), it.written) for it in texts],
    )
    rows.next_generation(connection)
    connection.execute("UPDATE community_state SET texts = texts + 1")


def _model(connection: apsw.Connection) -> str:
    model = rows.read_model(connection)
    return model.fingerprint if model is not None else ""


def _integers(found: Iterable[Row], columns: int) -> NDArray[np.int64]:
    return np.array(list(found), dtype=np.int64).reshape(-1, columns)
