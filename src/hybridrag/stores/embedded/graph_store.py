"""The graph side of the embedded store, read as a filter leaves it: what no visible chunk supports does not exist."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import combinations
from typing import Any, Literal
from uuid import UUID

import apsw

from hybridrag.protocols import EntityRow, FactRow, Linker, LinkRow, MentionRow, NameRow, Resemblance
from hybridrag.stores.embedded import rows
from hybridrag.stores.embedded.database import Database
from hybridrag.stores.embedded.filters import CompiledFilter
from hybridrag.stores.embedded.graph_rows import GraphWriter, chosen_type
from hybridrag.stores.embedded.sql import batches, marks
from hybridrag.types.graph import ChunkPlace, EntityType
from hybridrag.types.ids import ChunkId, EntityId, FileId, entity_id_for
from hybridrag.types.queries import SearchFilters

MAX_ENTITIES_PER_CHUNK = 30
"""Pairs grow with the square: a chunk that lists more entities (a register, an index) says little of any pair."""

REMEMBERED_ENTITIES = 4_000
"""Entities kept in memory for each filter, until the index changes: some two megabytes."""

COMMON_PROBE = 5_000
"""A term in more chunks than this names nothing by itself; counting on would only cost."""

Row = tuple[Any, ...]
PLACE_COLUMNS = "c.key, c.id, f.id, c.ordinal, c.headings"

Compile = Callable[[apsw.Connection, SearchFilters | None], CompiledFilter]


class EmbeddedGraph:
    """The `GraphStore` contract on the embedded store's database."""

    def __init__(
        self, database: Database, compiled: Compile, linker: Linker | None, resemblance: Resemblance | None = None
    ) -> None:
        self._database = database
        self._resemblance = resemblance
        self._compile = compiled
        self._linker = linker

    def entity_keys(self, norms: Sequence[str], *, filters: SearchFilters | None = None) -> dict[str, int]:
        """The entities of names."""
        with self._read() as connection:
            compiled = self._compile(connection, filters)
            visible, values = compiled.condition("m.chunk_key")
            found: dict[str, int] = {}
            for batch in batches(list(norms)):
                sql = (
                    f"SELECT n.norm, n.entity_key FROM {compiled.names} n WHERE n.norm IN ({marks(batch)}) "  # noqa: S608 (only marks)
                    f"AND EXISTS (SELECT 1 FROM mentions m WHERE m.name_key = n.key{visible})"
                )
                found.update(connection.execute(sql, (*batch, *values)))
            return found

    def names_like(self, piece: str, limit: int, *, filters: SearchFilters | None = None) -> list[NameRow]:
        """Names that hold the piece."""
        with self._read() as connection:
            compiled = self._compile(connection, filters)
            visible, values = compiled.condition("m.chunk_key")
            escaped = piece.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
            rows: list[Row] = connection.execute(
                f"SELECT n.norm, n.entity_key, count(*) AS mentions FROM {compiled.names} n "  # noqa: S608
                f"JOIN mentions m ON m.name_key = n.key WHERE n.norm LIKE ? ESCAPE '\\'{visible} "
                "GROUP BY n.key ORDER BY mentions DESC, n.norm LIMIT ?",
                (f"%{escaped}%", *values, limit),
            ).fetchall()
            return [NameRow(norm=norm, entity_key=key, mentions=count) for norm, key, count in rows]

    def entities(self, keys: Sequence[int], *, filters: SearchFilters | None = None) -> dict[int, EntityRow]:
        """Entities by key."""
        with self._read() as connection:
            compiled = self._compile(connection, filters)
            # An entity that every page names takes milliseconds to count, and the same ones are asked for again.
            # The copy is a step that no other thread comes between.
            known = compiled.entities.copy()
            missing = [key for key in dict.fromkeys(keys) if key not in known]
            if missing:
                read = {**dict.fromkeys(missing), **_entities(connection, missing, compiled)}
                known |= read
                if len(known) > REMEMBERED_ENTITIES:
                    compiled.entities.clear()
                compiled.entities.update(read)
            rows = ((key, known[key]) for key in keys)
            return {key: row for key, row in rows if row is not None}

    def entity_ids(self, keys: Sequence[int]) -> dict[int, EntityId]:
        """The public ids of entities."""
        with self._read() as connection:
            norms: dict[int, str] = {}
            for batch in batches(list(keys)):
                # An entity has the key of the first of its names.
                sql = f"SELECT key, norm FROM names WHERE key IN ({marks(batch)})"  # noqa: S608 (only marks)
                norms.update(connection.execute(sql, batch))
        return {key: entity_id_for(norm) for key, norm in norms.items()}

    def key_of_entity(self, entity_id: EntityId, *, filters: SearchFilters | None = None) -> int | None:
        """The entity of a public id; that of a name that was merged into another leads to the other."""
        with self._read() as connection:
            names = self._compile(connection, filters).names
            sql = f"SELECT entity_key FROM {names} WHERE id = ?"  # noqa: S608 (a table)
            key = connection.execute(sql, (UUID(entity_id).bytes,)).get
        return None if key is None else int(key)

    def mentions_of(self, keys: Sequence[int], limit: int, *, filters: SearchFilters | None = None) -> list[MentionRow]:
        """Which chunks mention entities."""
        with self._read() as connection:
            compiled = self._compile(connection, filters)
            visible, values = compiled.condition("m.chunk_key")
            rows: list[Row] = []
            for key in keys:
                sql = (
                    f"SELECT ?, m.chunk_key, count(*) AS times FROM {compiled.names} n "  # noqa: S608
                    f"JOIN mentions m ON m.name_key = n.key WHERE n.entity_key = ?{visible} "
                    "GROUP BY m.chunk_key ORDER BY times DESC, m.chunk_key LIMIT ?"
                )
                rows.extend(connection.execute(sql, (key, key, *values, limit)))
            return [MentionRow(entity_key=entity, chunk_key=chunk, count=count) for entity, chunk, count in rows]

    def some_mentions(
        self, keys: Sequence[int], limit: int, *, filters: SearchFilters | None = None
    ) -> dict[int, list[int]]:
        """Up to `limit` chunks of each entity, at a cost that does not grow with how many there are."""
        with self._read() as connection:
            compiled = self._compile(connection, filters)
            visible, values = compiled.condition("m.chunk_key")
            sql = (
                f"SELECT DISTINCT m.chunk_key FROM {compiled.names} n JOIN mentions m ON m.name_key = n.key "  # noqa: S608 (constants)
                f"WHERE n.entity_key = ?{visible} LIMIT ?"
            )
            return {key: [chunk for (chunk,) in connection.execute(sql, (key, *values, limit))] for key in keys}

    def mentions_in(self, chunk_keys: Sequence[int], *, filters: SearchFilters | None = None) -> list[MentionRow]:
        """Which entities chunks mention."""
        with self._read() as connection:
            compiled = self._compile(connection, filters)
            visible, values = compiled.condition("m.chunk_key")
            rows: list[Row] = []
            for batch in batches(list(chunk_keys)):
                sql = (
                    f"SELECT n.entity_key, m.chunk_key, count(*) FROM mentions m "  # noqa: S608
                    f"JOIN {compiled.names} n ON n.key = m.name_key WHERE m.chunk_key IN ({marks(batch)}){visible} "
                    "GROUP BY m.chunk_key, n.entity_key"
                )
                rows.extend(connection.execute(sql, (*batch, *values)))
            return [MentionRow(entity_key=entity, chunk_key=chunk, count=count) for entity, chunk, count in rows]

    def chunk_frequency(self, keys: Sequence[int]) -> dict[int, int]:
        """In how many chunks each entity is mentioned."""
        with self._read() as connection:
            found: dict[int, int] = {}
            for batch in batches(list(keys)):
                sql = (
                    "SELECT n.entity_key, count(DISTINCT m.chunk_key) FROM names n "  # noqa: S608
                    f"JOIN mentions m ON m.name_key = n.key WHERE n.entity_key IN ({marks(batch)}) "
                    "GROUP BY n.entity_key"
                )
                found.update(connection.execute(sql, batch))
            return found

    def facts_of(self, keys: Sequence[int], limit: int, *, filters: SearchFilters | None = None) -> list[FactRow]:
        """What is said of entities."""
        with self._read() as connection:
            compiled = self._compile(connection, filters)
            visible, values = compiled.condition("f.chunk_key")
            names = compiled.names
            rows: list[Row] = []
            for key in keys:
                for side in ("f.subject_key", "f.object_key"):
                    sql = (
                        'SELECT s.entity_key, f.predicate, o.entity_key, f.chunk_key, f."start", f."end", f.confidence '  # noqa: S608
                        f"FROM facts f JOIN {names} s ON s.key = f.subject_key JOIN {names} o ON o.key = f.object_key "
                        f"WHERE {side} IN (SELECT key FROM {names} WHERE entity_key = ?){visible} "
                        "ORDER BY f.confidence DESC, f.chunk_key LIMIT ?"
                    )
                    rows.extend(connection.execute(sql, (key, *values, limit)))
            return [FactRow(*row) for row in dict.fromkeys(rows)]

    def links_from(self, chunk_keys: Sequence[int], *, filters: SearchFilters | None = None) -> list[LinkRow]:
        """Which documents and sections chunks name."""
        with self._read() as connection:
            compiled = self._compile(connection, filters)
            visible, values = compiled.condition("c.key")
            rows: list[Row] = []
            for batch in batches(list(chunk_keys)):
                sql = (
                    "SELECT l.chunk_key, l.alias, t.file_key, t.ordinal, t.quality, c.key FROM links l "  # noqa: S608
                    "JOIN titles t ON t.alias = l.alias "
                    "JOIN chunks c ON c.file_key = t.file_key AND c.ordinal = t.ordinal "
                    f"WHERE l.chunk_key IN ({marks(batch)}) AND c.file_key <> (SELECT file_key FROM chunks "
                    f"WHERE key = l.chunk_key){visible} GROUP BY 1, 2, 3, 4"
                )
                rows.extend(connection.execute(sql, (*batch, *values)))
            return [LinkRow(*row) for row in rows]

    def links_to(self, chunk_keys: Sequence[int], limit: int, *, filters: SearchFilters | None = None) -> list[LinkRow]:
        """Which chunks name what begins with these chunks."""
        with self._read() as connection:
            compiled = self._compile(connection, filters)
            visible, values = compiled.condition("l.chunk_key")
            rows: list[Row] = []
            for key in chunk_keys:
                sql = (
                    "SELECT l.chunk_key, l.alias, t.file_key, t.ordinal, t.quality, c.key FROM chunks c "  # noqa: S608
                    "JOIN titles t ON t.file_key = c.file_key AND t.ordinal = c.ordinal "
                    "JOIN links l ON l.alias = t.alias "
                    f"WHERE c.key = ? AND c.file_key <> (SELECT file_key FROM chunks WHERE key = l.chunk_key){visible} "
                    "GROUP BY 1, 2, 3, 4 ORDER BY t.quality DESC, l.chunk_key LIMIT ?"
                )
                rows.extend(connection.execute(sql, (key, *values, limit)))
            return [LinkRow(*row) for row in rows]

    def merges(
        self, entity_key: int, *, filters: SearchFilters | None = None
    ) -> list[tuple[str, str, str, ChunkId | None]]:
        """Why names are one entity."""
        with self._read() as connection:
            compiled = self._compile(connection, filters)
            said, values = compiled.condition("x.chunk_key")
            first, first_values = _is_mentioned("a.key", compiled)
            second, second_values = _is_mentioned("b.key", compiled)
            names = compiled.names
            both = "a.entity_key = ? AND b.entity_key = a.entity_key"
            rows: Iterable[Row] = connection.execute(
                f"SELECT a.norm, b.norm, x.kind, c.id FROM {names} a JOIN aliases x ON x.name_key = a.key "  # noqa: S608 (constants)
                f"JOIN {names} b ON b.key = x.alias_key JOIN chunks c ON c.key = x.chunk_key WHERE {both}{said} "
                f"UNION ALL SELECT a.norm, b.norm, 'spelling', NULL FROM {names} a JOIN alike x ON x.name_key = a.key "
                f"JOIN {names} b ON b.key = x.other_key WHERE {both} AND a.norm < b.norm AND {first} AND {second} "
                f"UNION ALL SELECT a.norm, b.norm, 'short_form', NULL FROM {names} a JOIN short_forms x "
                f"ON x.name_key = a.key JOIN {names} b ON b.key = x.whole_key WHERE {both} AND {first} AND {second} "
                f"UNION ALL SELECT a.norm, b.norm, 'decision', NULL FROM {names} a JOIN decisions x ON x.norm = a.norm "
                f"JOIN {names} b ON b.norm = x.other WHERE x.kind = 'merge' AND {both} AND {first} AND {second} "
                "ORDER BY 1, 2, 3, 4",
                (
                    entity_key,
                    *values,
                    *(entity_key, *first_values, *second_values) * 3,
                ),
            )
            return [
                (one, other, why, None if chunk is None else str.__new__(ChunkId, chunk))
                for one, other, why, chunk in rows
            ]

    def places(self, chunk_keys: Sequence[int], *, filters: SearchFilters | None = None) -> dict[int, ChunkPlace]:
        """Where chunks stand in their documents."""
        with self._read() as connection:
            compiled = self._compile(connection, filters)
            visible, values = compiled.condition("c.key")
            found: dict[int, ChunkPlace] = {}
            for batch in batches(list(chunk_keys)):
                sql = (
                    f"SELECT {PLACE_COLUMNS} FROM chunks c JOIN files f ON f.key = c.file_key "  # noqa: S608 (constants)
                    f"WHERE c.key IN ({marks(batch)}){visible}"
                )
                found.update((row[0], _place(row)) for row in connection.execute(sql, (*batch, *values)))
            return found

    def places_in(
        self, file_id: FileId, *, start: int = 0, stop: int | None = None, filters: SearchFilters | None = None
    ) -> list[ChunkPlace]:
        """Where the chunks of a file stand, in reading order."""
        with self._read() as connection:
            compiled = self._compile(connection, filters)
            visible, values = compiled.condition("c.key")
            rows: Iterable[Row] = connection.execute(
                f"SELECT {PLACE_COLUMNS} FROM files f JOIN chunks c ON c.file_key = f.key "  # noqa: S608 (constants)
                f"WHERE f.id = ? AND c.ordinal >= ? AND c.ordinal < ifnull(?, 1 << 62){visible} ORDER BY c.ordinal",
                (file_id, start, stop, *values),
            )
            return [_place(row) for row in rows]

    def all_places(self, limit: int, *, filters: SearchFilters | None = None) -> list[ChunkPlace]:
        """Where chunks stand, file by file; at most `limit` of them."""
        with self._read() as connection:
            compiled = self._compile(connection, filters)
            visible, values = compiled.condition("c.key")
            rows: Iterable[Row] = connection.execute(
                f"SELECT {PLACE_COLUMNS} FROM chunks c JOIN files f ON f.key = c.file_key WHERE 1{visible} "  # noqa: S608
                "ORDER BY c.file_key, c.ordinal LIMIT ?",
                (*values, limit),
            )
            return [_place(row) for row in rows]

    def titles_of(self, aliases: Sequence[str], *, filters: SearchFilters | None = None) -> list[LinkRow]:
        """The documents and sections of these aliases."""
        with self._read() as connection:
            compiled = self._compile(connection, filters)
            visible, values = compiled.condition("c.key")
            rows: list[Row] = []
            for batch in batches(list(aliases)):
                sql = (
                    "SELECT 0, t.alias, t.file_key, t.ordinal, t.quality, c.key FROM titles t JOIN chunks c "  # noqa: S608
                    f"ON c.file_key = t.file_key AND c.ordinal = t.ordinal WHERE t.alias IN ({marks(batch)}){visible}"
                )
                rows.extend(connection.execute(sql, (*batch, *values)))
            return [LinkRow(*row) for row in rows]

    def aliases_with(self, probe_terms: Sequence[str]) -> list[str]:
        """The title aliases that a text with these probe terms may name."""
        with self._read() as connection:
            found: set[str] = set()
            for batch in batches(list(probe_terms)):
                sql = f"SELECT DISTINCT alias FROM titles WHERE head IN ({marks(batch)})"  # noqa: S608 (only marks)
                found.update(alias for (alias,) in connection.execute(sql, batch))
            return sorted(found)

    def probe_frequency(self, terms: Sequence[str]) -> dict[str, int]:
        """In how many chunks each probe term stands, counted up to a bound."""
        with self._read() as connection:
            sql = "SELECT count(*) FROM (SELECT 1 FROM probes WHERE probes MATCH ? LIMIT ?)"
            return {
                term: int(connection.execute(sql, ('"' + term.replace('"', '""') + '"', COMMON_PROBE)).get)
                for term in terms
            }

    def entity_list(self, limit: int, *, filters: SearchFilters | None = None) -> list[int]:
        """The entities with the most mentions."""
        with self._read() as connection:
            compiled = self._compile(connection, filters)
            visible, values = compiled.condition("m.chunk_key")
            sql = (
                f"SELECT n.entity_key FROM mentions m JOIN {compiled.names} n ON n.key = m.name_key "  # noqa: S608 (constants)
                f"WHERE 1{visible} GROUP BY n.entity_key ORDER BY count(*) DESC, n.entity_key LIMIT ?"
            )
            return [key for (key,) in connection.execute(sql, (*values, limit))]

    def edges(self, *, filters: SearchFilters | None = None) -> Iterator[tuple[int, int, float]]:
        """Every pair of entities that share a chunk, with how strongly."""
        with self._read() as connection:
            yield from _edges(connection, MAX_ENTITIES_PER_CHUNK, self._compile(connection, filters))

    def statistics(self, *, filters: SearchFilters | None = None) -> dict[str, int]:
        """How much there is."""
        with self._read() as connection:
            compiled = self._compile(connection, filters)
            counts: dict[str, int] = {}
            mention, mention_values = compiled.condition("m.chunk_key")
            counts["entities"], counts["names"], counts["mentions"] = connection.execute(
                "SELECT count(DISTINCT n.entity_key), count(DISTINCT n.key), count(*) FROM mentions m "  # noqa: S608
                f"JOIN {compiled.names} n ON n.key = m.name_key WHERE 1{mention}",
                mention_values,
            ).fetchone() or (0, 0, 0)
            for name in ("facts", "links", "aliases"):
                visible, values = compiled.condition("x.chunk_key")
                sql = f"SELECT count(*) FROM {name} x WHERE 1{visible}"  # noqa: S608 (a constant)
                counts[name] = int(connection.execute(sql, values).get)
            counts.update(_structure(connection, compiled))
            return counts

    def decide(self, norm: str, other: str, kind: Literal["merge", "split"] | None) -> None:
        """Record what people say of two names."""
        with self._database.write() as connection:
            rows.next_generation(connection)
            writer = GraphWriter(connection, self._linker, self._resemblance)
            writer.decide(norm, other, kind)
            writer.settle()

    def decisions(self) -> list[tuple[str, str, str]]:
        """What people decided."""
        with self._read() as connection:
            return [
                (str(norm), str(other), str(kind))
                for norm, other, kind in connection.execute("SELECT norm, other, kind FROM decisions ORDER BY 1, 2")
            ]

    def _read(self) -> AbstractContextManager[apsw.Connection]:
        return self._database.read()


def _entities(connection: apsw.Connection, keys: Sequence[int], compiled: CompiledFilter) -> dict[int, EntityRow]:
    """Each entity as the visible chunks speak of it: its usual name, its type, its other names, its mentions."""
    visible, values = compiled.condition("m.chunk_key")
    surfaces: dict[int, dict[str, int]] = {}
    types: dict[int, dict[str, tuple[float, float]]] = {}
    norms: dict[int, set[str]] = {}
    for batch in batches(list(keys)):
        sql = (
            "SELECT n.entity_key, n.norm, m.surface, m.type, count(*), sum(m.confidence), max(m.confidence) "  # noqa: S608
            f"FROM {compiled.names} n "
            f"JOIN mentions m ON m.name_key = n.key WHERE n.entity_key IN ({marks(batch)}){visible} "
            "GROUP BY n.entity_key, n.norm, m.surface, m.type"
        )
        rows: list[Row] = connection.execute(sql, (*batch, *values)).fetchall()
        for key, norm, surface, kind, count, weight, most in rows:
            by_surface = surfaces.setdefault(key, {})
            by_surface[surface] = by_surface.get(surface, 0) + count
            by_type = types.setdefault(key, {})
            total, surest = by_type.get(kind, (0.0, 0.0))
            by_type[kind] = (total + weight, max(surest, most))
            norms.setdefault(key, set()).add(norm)
    return {key: _entity(key, counts, types[key], norms[key]) for key, counts in surfaces.items()}


def _entity(key: int, surfaces: dict[str, int], types: dict[str, tuple[float, float]], norms: set[str]) -> EntityRow:
    ordered = sorted(surfaces, key=lambda surface: (-surfaces[surface], surface))
    best = chosen_type(types)
    if best == EntityType.PERSON:
        # Kwame stands more often than Kwame Addo-Leigh, which says more.
        usual = ordered[0]
        ordered.sort(key=lambda surface: usual not in surface.split() or surface == usual)
    return EntityRow(
        key=key,
        name=ordered[0],
        type=EntityType(best),
        aliases=tuple(ordered[1:]),
        norms=tuple(sorted(norms)),
        mentions=sum(surfaces.values()),
    )


def _is_mentioned(name: str, compiled: CompiledFilter) -> tuple[str, list[Any]]:
    """That a visible chunk mentions the name in a column."""
    visible, values = compiled.condition("m.chunk_key")
    return f"EXISTS (SELECT 1 FROM mentions m WHERE m.name_key = {name}{visible})", values  # noqa: S608 (constants)


def _place(row: Row) -> ChunkPlace:
    key, chunk_id, file_id, ordinal, headings = row
    return ChunkPlace(
        chunk_key=key,
        chunk_id=str.__new__(ChunkId, chunk_id),
        file_id=str.__new__(FileId, file_id),
        ordinal=ordinal,
        headings=tuple(json.loads(headings)),
    )


def _edges(
    connection: apsw.Connection, max_entities: int, compiled: CompiledFilter
) -> Iterator[tuple[int, int, float]]:
    """Every pair of entities `(lower key, higher key, weight)` that share a chunk.

    Each shared chunk counts one over the number of other entities in it, so that a chunk hands out the same weight
    whether it names three things or thirty; one with more than `max_entities` is left out.
    """
    weights: dict[tuple[int, int], float] = {}
    chunk = 0
    members: list[int] = []
    visible, values = compiled.condition("m.chunk_key")
    rows: Iterable[Row] = connection.execute(
        f"SELECT DISTINCT m.chunk_key, n.entity_key FROM mentions m JOIN {compiled.names} n ON n.key = m.name_key "  # noqa: S608
        f"WHERE 1{visible} ORDER BY 1, 2",
        values,
    )
    for key, entity in (*rows, (0, 0)):
        if key != chunk:
            if 1 < len(members) <= max_entities:
                share = 1.0 / (len(members) - 1)
                for pair in combinations(members, 2):
                    weights[pair] = weights.get(pair, 0.0) + share
            chunk, members = key, []
        members.append(entity)
    return ((first, second, weight) for (first, second), weight in sorted(weights.items()))


def _structure(connection: apsw.Connection, compiled: CompiledFilter) -> dict[str, int]:
    """How many documents, sections and chunks there are; a section counts with every section that it is part of."""
    visible, values = compiled.condition("c.key")
    documents, chunks = connection.execute(
        f"SELECT count(DISTINCT c.file_key), count(*) FROM chunks c WHERE 1{visible}",  # noqa: S608 (constants)
        values,
    ).fetchone() or (0, 0)
    paths: Iterable[Row] = connection.execute(
        f"SELECT DISTINCT c.file_key, c.headings FROM chunks c WHERE c.headings <> '[]'{visible}",  # noqa: S608
        values,
    )
    sections = {
        (file, *headings[:depth])
        for file, path in paths
        for headings in (json.loads(path),)
        for depth in range(1, len(headings) + 1)
    }
    return {"documents": documents, "sections": len(sections), "chunks": chunks}
