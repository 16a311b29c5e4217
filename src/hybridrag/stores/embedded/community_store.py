"""The community side of the embedded store."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from threading import Lock

import apsw
import numpy as np

from hybridrag.protocols import (
    CommunityChange,
    CommunityProfile,
    CommunityRow,
    CommunityState,
    CommunityText,
    Keys,
    MemberRow,
    SentenceRow,
    Ties,
)
from hybridrag.stores.embedded import community_reads as reads
from hybridrag.stores.embedded import community_tables as tables
from hybridrag.stores.embedded import rows
from hybridrag.stores.embedded.database import Database
from hybridrag.stores.embedded.filters import CompiledFilter
from hybridrag.types.base import Float32Array
from hybridrag.types.ids import ChunkId, CommunityId
from hybridrag.types.queries import SearchFilters

CHECKED_AT_ONCE = 64
"""Communities whose visible members are looked for in one go while a list is filled."""

RESCORED = 100
"""How many of the nearest communities are scored anew where a filter hides part of what they were embedded from."""

VISIBLE_CHUNKS = 8
"""Chunks that stand for such a community, as many as it has sentences."""

FILTER_CACHE = 16
"""Sets of visible communities kept: an application asks with a few filters over and over."""

Compile = Callable[[apsw.Connection, SearchFilters | None], CompiledFilter]


@dataclass(frozen=True, slots=True)
class _Visible:
    """What one filter leaves of the communities, in one state of the store."""

    keys: frozenset[int]
    """Those that the visible chunks speak of."""
    vectors: dict[int, Float32Array | None] = field(default_factory=dict)
    """What stands in for the vector of those that were looked at; None where all of it is visible."""


class EmbeddedCommunities:
    """The `CommunityStore` contract on the embedded store's database."""

    def __init__(self, database: Database, compiled: Compile) -> None:
        self._database = database
        self._compile = compiled
        self._lock = Lock()
        self._vectors: tuple[tuple[int, int, str], Keys, Float32Array] | None = None
        self._visible: OrderedDict[tuple[int, str], _Visible] = OrderedDict()

    # Keeping them up to date

    def state(self) -> CommunityState:
        """Where they stand."""
        with self._read() as connection:
            return tables.read_state(connection)

    def ties(self) -> list[Ties]:
        """What the chunks add now."""
        with self._read() as connection:
            return tables.read_ties(connection)

    def chunks_mentioning(self, entity_keys: Sequence[int], *, filters: SearchFilters | None = None) -> dict[int, Keys]:
        """The chunks that mention each entity."""
        with self._read() as connection:
            return tables.chunks_mentioning(connection, entity_keys, self._compile(connection, filters))

    def home_files(self, entity_keys: Sequence[int]) -> dict[int, int]:
        """The file that mentions each entity most."""
        with self._read() as connection:
            return tables.home_files(connection, entity_keys)

    def dates(self) -> set[int]:
        """Entities that are dates wherever they are mentioned."""
        with self._read() as connection:
            return tables.dates(connection)

    def chunk_ids(self, chunk_keys: Sequence[int]) -> dict[int, ChunkId]:
        """The public ids of chunks."""
        with self._read() as connection:
            return tables.chunk_ids(connection, chunk_keys)

    def profiles(self, keys: Sequence[int]) -> dict[int, CommunityProfile]:
        """What communities are shown by."""
        with self._read() as connection:
            return tables.profiles(connection, keys)

    def write(self, change: CommunityChange) -> bool:
        """Put a change in place at once; False when another one came first."""
        with self._database.write() as connection:
            return tables.write_change(connection, change)

    def untold(self, *, ask: bool) -> dict[int, bytes]:
        """Communities whose text waits for a vector, or for a written summary."""
        with self._read() as connection:
            return tables.untold(connection, ask=ask)

    def write_texts(self, texts: Sequence[CommunityText]) -> None:
        """Keep vectors and written summaries."""
        with self._database.write() as connection:
            tables.write_texts(connection, texts)

    # Reading them

    def level_counts(self) -> tuple[int, ...]:
        """How many communities cover each level."""
        with self._read() as connection:
            return reads.level_counts(connection)

    def find(self, ids: Sequence[CommunityId], *, filters: SearchFilters | None = None) -> dict[CommunityId, int]:
        """The keys of visible communities."""
        with self._read() as connection:
            found = reads.keys_by_id(connection, ids)
            alive = reads.alive(connection, list(found.values()), self._compile(connection, filters))
        return {identity: key for identity, key in found.items() if key in alive}

    def at_level(self, level: int, limit: int, *, filters: SearchFilters | None = None) -> list[int]:
        """The visible communities that cover a level, the weightiest first."""
        with self._read() as connection:
            keys = reads.keys_at_level(connection, level)
            return self._first_alive(connection, keys, limit, filters)

    def of_entities(
        self, entity_keys: Sequence[int], *, filters: SearchFilters | None = None
    ) -> dict[int, tuple[int, ...]]:
        """The communities of entities, from the top down."""
        with self._read() as connection:
            return reads.of_entities(connection, entity_keys, self._compile(connection, filters))

    def rows(self, keys: Sequence[int], *, filters: SearchFilters | None = None) -> dict[int, CommunityRow]:
        """Visible communities by key."""
        with self._read() as connection:
            return reads.community_rows(connection, keys, self._compile(connection, filters))

    def members(self, key: int, *, filters: SearchFilters | None = None) -> list[MemberRow]:
        """The visible members of a community."""
        with self._read() as connection:
            return reads.members(connection, key, self._compile(connection, filters))

    def key_entities(
        self, keys: Sequence[int], limit: int, *, filters: SearchFilters | None = None
    ) -> dict[int, list[tuple[int, float]]]:
        """The visible members that matter most."""
        with self._read() as connection:
            return reads.key_entities(connection, keys, limit, self._compile(connection, filters))

    def sentences(
        self, keys: Sequence[int], *, filters: SearchFilters | None = None
    ) -> dict[int, tuple[SentenceRow, ...]]:
        """The visible sentences of communities."""
        with self._read() as connection:
            return reads.sentences(connection, keys, self._compile(connection, filters))

    def written(self, keys: Sequence[int], *, filters: SearchFilters | None = None) -> dict[int, tuple[bytes, str]]:
        """Written summaries, where all that they were written from is visible."""
        with self._read() as connection:
            return reads.written(connection, keys, self._compile(connection, filters))

    def mention_places(
        self, chunk_keys: Sequence[int], *, filters: SearchFilters | None = None
    ) -> list[tuple[int, int, int, int]]:
        """Where visible chunks mention entities."""
        with self._read() as connection:
            return reads.mention_places(connection, chunk_keys, self._compile(connection, filters))

    def search(
        self, vector: Float32Array, limit: int, *, level: int | None = None, filters: SearchFilters | None = None
    ) -> list[tuple[int, float]]:
        """The nearest visible communities."""
        with self._read() as connection:
            keys, vectors = self._text_vectors(connection)
            wanted = self._wanted(connection, keys, level, filters)
            if limit < 1 or not wanted.any():
                return []
            keys, cosines = keys[wanted], vectors[wanted] @ vector
            order = np.lexsort((keys, -cosines))
            ordered = keys[order].tolist()
            nearest = ordered[: max(RESCORED, 2 * limit)]
            scores = dict(zip(nearest, cosines[order].tolist(), strict=False))
            scores |= self._stood_in_for(connection, nearest, vector, filters)
            nearest.sort(key=lambda key: (-scores[key], key))
            found = self._first_alive(connection, nearest, limit, filters)
            if len(found) < limit and len(ordered) > len(nearest):
                # Most of the nearest are gone and wait for the next update.
                scores = dict(zip(ordered, cosines[order].tolist(), strict=True)) | scores
                found += self._first_alive(connection, ordered[len(nearest) :], limit - len(found), filters)
            return sorted(((key, scores[key]) for key in found), key=lambda hit: (-hit[1], hit[0]))

    def _stood_in_for(
        self, connection: apsw.Connection, keys: Sequence[int], vector: Float32Array, filters: SearchFilters | None
    ) -> dict[int, float]:
        """The scores of those communities whose own vector holds what a filter hides."""
        visible = self._left_by(connection, filters)
        if visible is None:
            return {}
        unknown = [key for key in keys if key not in visible.vectors]
        visible.vectors.update(_stand_ins(connection, unknown, self._compile(connection, filters)))
        found = ((key, visible.vectors[key]) for key in keys)
        return {key: float(instead @ vector) for key, instead in found if instead is not None}

    def _wanted(
        self, connection: apsw.Connection, keys: Keys, level: int | None, filters: SearchFilters | None
    ) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which communities a search may return, as far as can be told without looking at each."""
        wanted = np.ones(len(keys), dtype=bool)
        if level is not None:
            wanted &= np.isin(keys, reads.keys_at_level(connection, level))
        visible = self._left_by(connection, filters)
        if visible is not None:
            wanted &= np.isin(keys, sorted(visible.keys))
        return wanted

    def _first_alive(
        self, connection: apsw.Connection, keys: Sequence[int], limit: int, filters: SearchFilters | None
    ) -> list[int]:
        """The first communities, in their order, that have a visible member now."""
        compiled = self._compile(connection, filters)
        visible = self._left_by(connection, filters)
        waiting = list(keys) if visible is None else [key for key in keys if key in visible.keys]
        found: list[int] = []
        for first in range(0, len(waiting), CHECKED_AT_ONCE):
            if len(found) >= limit:
                break
            batch = waiting[first : first + CHECKED_AT_ONCE]
            alive = reads.alive(connection, batch, compiled)
            found.extend(key for key in batch if key in alive)
        return found[:limit]

    def _text_vectors(self, connection: apsw.Connection) -> tuple[Keys, Float32Array]:
        """The vectors of all communities, read once per change."""
        row = connection.execute("SELECT version, texts FROM community_state").fetchone() or (0, 0)
        model = rows.read_model(connection)
        fingerprint = model.fingerprint if model is not None else ""
        stamp = (int(row[0]), int(row[1]), fingerprint)
        with self._lock:
            if self._vectors is not None and self._vectors[0] == stamp:
                return self._vectors[1], self._vectors[2]
        keys, vectors = reads.text_vectors(connection, fingerprint)
        with self._lock:
            self._vectors = (stamp, keys, vectors)
        return keys, vectors

    def _left_by(self, connection: apsw.Connection, filters: SearchFilters | None) -> _Visible | None:
        """What a filter leaves of the communities; None when everything is visible."""
        if filters is None or filters.selects_all:
            return None
        name = (rows.read_generation(connection), filters.model_copy(update={"min_relevance": 0.0}).model_dump_json())
        with self._lock:
            if name in self._visible:
                self._visible.move_to_end(name)
                return self._visible[name]
        found = _Visible(frozenset(reads.visible_communities(connection, self._compile(connection, filters))))
        with self._lock:
            self._visible[name] = found
            while len(self._visible) > FILTER_CACHE:
                self._visible.popitem(last=False)
        return found

    def _read(self) -> AbstractContextManager[apsw.Connection]:
        return self._database.read()


def _stand_ins(
    connection: apsw.Connection, keys: Sequence[int], compiled: CompiledFilter
) -> dict[int, Float32Array | None]:
    """For communities whose own vector holds hidden text, the mean of their visible chunks; None for the others."""
    whole = reads.wholly_visible(connection, keys, compiled)
    partial = [key for key in keys if key not in whole]
    cited = reads.sentences(connection, partial, compiled)
    chunks = {key: list(dict.fromkeys(it.chunk_key for it in found)) for key, found in cited.items()}
    uncited = reads.key_entities(connection, [key for key in partial if key not in chunks], VISIBLE_CHUNKS, compiled)
    wanted = sorted({entity for listed in uncited.values() for entity, _ in listed})
    mentioned = tables.chunks_mentioning(connection, wanted, compiled)
    for key, entities in uncited.items():
        found = [chunk for entity, _ in entities for chunk in mentioned[entity][:VISIBLE_CHUNKS].tolist()]
        chunks[key] = list(dict.fromkeys(found))[:VISIBLE_CHUNKS]
    vectors = reads.chunk_vectors(connection, sorted({key for listed in chunks.values() for key in listed}))
    means = {key: _mean([vectors[chunk] for chunk in listed if chunk in vectors]) for key, listed in chunks.items()}
    # One without any visible chunk is left out of the results whatever its score.
    return {key: means.get(key) for key in keys}


def _mean(vectors: Sequence[Float32Array]) -> Float32Array:
    """The direction that vectors have in common."""
    total = np.sum(vectors, axis=0, dtype=np.float32)
    return np.asarray(total / (np.linalg.norm(total) or 1.0), dtype=np.float32)
