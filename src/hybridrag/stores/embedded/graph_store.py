"""The graph side of the embedded store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Literal
from uuid import UUID

import apsw

from hybridrag.protocols import EntityRow, FactRow, Linker, LinkRow, MentionRow, NameRow, Resemblance
from hybridrag.stores.embedded import graph_reads as reads
from hybridrag.stores.embedded import rows
from hybridrag.stores.embedded.database import Database
from hybridrag.stores.embedded.filters import CompiledFilter
from hybridrag.stores.embedded.graph_rows import GraphWriter
from hybridrag.types.graph import ChunkPlace
from hybridrag.types.ids import ChunkId, EntityId, FileId, entity_id_for
from hybridrag.types.queries import SearchFilters

MAX_ENTITIES_PER_CHUNK = 30
"""Pairs grow with the square: a chunk that lists more entities (a register, an index) says little of any pair."""

REMEMBERED_ENTITIES = 4_000
"""Entities kept in memory for each filter, until the index changes: some two megabytes."""

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
            return reads.entity_keys(connection, norms, self._compile(connection, filters))

    def names_like(self, piece: str, limit: int, *, filters: SearchFilters | None = None) -> list[NameRow]:
        """Names that hold the piece."""
        with self._read() as connection:
            return reads.names_like(connection, piece, limit, self._compile(connection, filters))

    def entities(self, keys: Sequence[int], *, filters: SearchFilters | None = None) -> dict[int, EntityRow]:
        """Entities by key."""
        with self._read() as connection:
            compiled = self._compile(connection, filters)
            # An entity that every page names takes milliseconds to count, and the same ones are asked for again.
            # The copy is a step that no other thread comes between.
            known = compiled.entities.copy()
            missing = [key for key in dict.fromkeys(keys) if key not in known]
            if missing:
                read = {**dict.fromkeys(missing), **reads.entities(connection, missing, compiled)}
                known |= read
                if len(known) > REMEMBERED_ENTITIES:
                    compiled.entities.clear()
                compiled.entities.update(read)
            rows = ((key, known[key]) for key in keys)
            return {key: row for key, row in rows if row is not None}

    def entity_ids(self, keys: Sequence[int]) -> dict[int, EntityId]:
        """The public ids of entities."""
        with self._read() as connection:
            norms = reads.canonical_norms(connection, keys)
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
            return reads.mentions_of(connection, keys, limit, self._compile(connection, filters))

    def some_mentions(
        self, keys: Sequence[int], limit: int, *, filters: SearchFilters | None = None
    ) -> dict[int, list[int]]:
        """Up to `limit` chunks of each entity, at a cost that does not grow with how many there are."""
        with self._read() as connection:
            return reads.some_mentions(connection, keys, limit, self._compile(connection, filters))

    def mentions_in(self, chunk_keys: Sequence[int], *, filters: SearchFilters | None = None) -> list[MentionRow]:
        """Which entities chunks mention."""
        with self._read() as connection:
            return reads.mentions_in(connection, chunk_keys, self._compile(connection, filters))

    def chunk_frequency(self, keys: Sequence[int]) -> dict[int, int]:
        """In how many chunks each entity is mentioned."""
        with self._read() as connection:
            return reads.chunk_frequency(connection, keys)

    def facts_of(self, keys: Sequence[int], limit: int, *, filters: SearchFilters | None = None) -> list[FactRow]:
        """What is said of entities."""
        with self._read() as connection:
            return reads.facts_of(connection, keys, limit, self._compile(connection, filters))

    def links_from(self, chunk_keys: Sequence[int], *, filters: SearchFilters | None = None) -> list[LinkRow]:
        """Which documents and sections chunks name."""
        with self._read() as connection:
            return reads.links_from(connection, chunk_keys, self._compile(connection, filters))

    def links_to(self, chunk_keys: Sequence[int], limit: int, *, filters: SearchFilters | None = None) -> list[LinkRow]:
        """Which chunks name what begins with these chunks."""
        with self._read() as connection:
            return reads.links_to(connection, chunk_keys, limit, self._compile(connection, filters))

    def merges(
        self, entity_key: int, *, filters: SearchFilters | None = None
    ) -> list[tuple[str, str, str, ChunkId | None]]:
        """Why names are one entity."""
        with self._read() as connection:
            return reads.merges(connection, entity_key, self._compile(connection, filters))

    def places(self, chunk_keys: Sequence[int], *, filters: SearchFilters | None = None) -> dict[int, ChunkPlace]:
        """Where chunks stand in their documents."""
        with self._read() as connection:
            return reads.places(connection, chunk_keys, self._compile(connection, filters))

    def places_in(
        self, file_id: FileId, *, start: int = 0, stop: int | None = None, filters: SearchFilters | None = None
    ) -> list[ChunkPlace]:
        """Where the chunks of a file stand, in reading order."""
        with self._read() as connection:
            return reads.places_in(connection, file_id, start, stop, self._compile(connection, filters))

    def all_places(self, limit: int, *, filters: SearchFilters | None = None) -> list[ChunkPlace]:
        """Where chunks stand, file by file; at most `limit` of them."""
        with self._read() as connection:
            return reads.all_places(connection, limit, self._compile(connection, filters))

    def titles_of(self, aliases: Sequence[str], *, filters: SearchFilters | None = None) -> list[LinkRow]:
        """The documents and sections of these aliases."""
        with self._read() as connection:
            return reads.titles_of(connection, aliases, self._compile(connection, filters))

    def aliases_with(self, probe_terms: Sequence[str]) -> list[str]:
        """The title aliases that a text with these probe terms may name."""
        with self._read() as connection:
            return reads.alias_heads(connection, probe_terms)

    def probe_frequency(self, terms: Sequence[str]) -> dict[str, int]:
        """In how many chunks each probe term stands, counted up to a bound."""
        with self._read() as connection:
            return reads.probe_frequency(connection, terms)

    def entity_list(self, limit: int, *, filters: SearchFilters | None = None) -> list[int]:
        """The entities with the most mentions."""
        with self._read() as connection:
            return reads.entity_list(connection, limit, self._compile(connection, filters))

    def edges(self, *, filters: SearchFilters | None = None) -> Iterator[tuple[int, int, float]]:
        """Every pair of entities that share a chunk, with how strongly."""
        with self._read() as connection:
            yield from reads.edges(connection, MAX_ENTITIES_PER_CHUNK, self._compile(connection, filters))

    def statistics(self, *, filters: SearchFilters | None = None) -> dict[str, int]:
        """How much there is."""
        with self._read() as connection:
            return reads.statistics(connection, self._compile(connection, filters))

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
