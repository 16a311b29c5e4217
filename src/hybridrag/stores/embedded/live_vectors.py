"""The vector index of one process, kept in step with what any process committed.

The truth is the `vectors` table. The index here is derived: loaded from the folder where an earlier writer saved it,
brought up to date by what was added and removed since, and rebuilt from the table when the saved one is missing,
stale beyond the log, or damaged.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import numpy as np
from filelock import FileLock, Timeout

from hybridrag.errors import StoreCorrupt
from hybridrag.protocols import Keys, VectorIndex
from hybridrag.stores.embedded.filters import CompiledFilter
from hybridrag.stores.vectors.choose import build_index, choose_kind, load_index
from hybridrag.types.base import Float32Array

FOLDER_NAME = "vectors"

SAVE_AFTER_CHANGES = 2_000
"""Fewer changes than this are replayed from the table in milliseconds; saving them would cost more."""

SAVE_AFTER_SHARE = 0.1
"""...and for a large index, this share of it."""

FEW_FILES = 50
"""Up to here the chunks of files are looked up; above, one pass over all chunks is faster."""

READ_ROWS = 20_000
"""Vectors are read from the table in pieces of this many rows."""


@dataclass(frozen=True, slots=True)
class _State:
    """Up to where an index follows the database."""

    store_id: str
    epoch: int
    """Rises when all vectors are replaced (another model)."""
    generation: int
    last_key: int

    def stamp(self) -> str:
        return f"{self.store_id}:{self.epoch}:{self.generation}:{self.last_key}"

    @classmethod
    def parse(cls, stamp: str) -> _State | None:
        parts = stamp.split(":")
        if len(parts) != 4 or not all(part.isdigit() for part in parts[1:]):
            return None
        return cls(parts[0], *(int(part) for part in parts[1:]))


class LiveVectors:
    """Nearest neighbours over the vectors that are in the database now."""

    def __init__(self, folder: Path, *, setting: str) -> None:
        self._folder = folder / FOLDER_NAME
        self._setting = setting
        self._index: VectorIndex | None = None
        self._state: _State | None = None
        self._owners: tuple[int, Keys, Keys] | None = None
        """Generation, every chunk, and the file of each."""
        self._unsaved = 0
        self._guard = _SharedLock()

    @property
    def kind(self) -> str:
        """The kind of index in use; what the setting says while nothing is indexed."""
        return self._index.kind if self._index is not None else choose_kind(0, self._setting)

    def search(
        self, connection: apsw.Connection, query: Float32Array, limit: int, compiled: CompiledFilter
    ) -> list[tuple[int, float]]:
        """The nearest `(key, cosine)` among the vectors that the connection's snapshot sees and the filter passes."""
        if limit <= 0 or compiled.excludes_all:
            return []
        self.refresh(connection)
        with self._guard.shared():
            if self._index is None or len(self._index) == 0:
                return []
            allowed = self._allowed(connection, compiled)
            return self._index.search(query, limit, allowed=allowed)

    def refresh(self, connection: apsw.Connection) -> None:
        """Follow the database to the state that the connection sees."""
        now = _read_state(connection)
        if self._state == now:
            return
        with self._guard.alone():
            if self._state == now:
                return
            if self._state is not None and self._state.generation > now.generation:
                # Another thread moved on with a newer snapshot; what it dropped is dropped from results anyway.
                return
            if now.last_key == 0 and now.epoch == 0 and not _dimension(connection):
                self._state = now
                return
            if self._index is None or self._state is None:
                self._load_or_rebuild(connection, now)
            elif not self._follow(connection, now):
                self._rebuild(connection, now)

    def save(self, connection: apsw.Connection, *, force: bool = False) -> bool:
        """Write the index beside the database when enough has changed; whether it was written.

        Only an optimisation for the next process that opens the store: another process saving at the same time, a
        crash in the middle, or a folder that cannot be written loses nothing.
        """
        self.refresh(connection)
        with self._guard.alone():
            index, state = self._index, self._state
            if index is None or state is None:
                return False
            if not force and self._unsaved < max(SAVE_AFTER_CHANGES, SAVE_AFTER_SHARE * len(index)):
                return False
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                with FileLock(self._folder / "save.lock", timeout=0):
                    index.save(self._folder, stamp=state.stamp())
            except (Timeout, OSError):
                return False
            self._unsaved = 0
            return True

    def rebuild(self, connection: apsw.Connection) -> None:
        """Build anew from the table and save."""
        with self._guard.alone():
            self._rebuild(connection, _read_state(connection))
        self.save(connection, force=True)

    def keys(self, connection: apsw.Connection) -> Keys:
        """The keys that the index holds for the connection's snapshot."""
        self.refresh(connection)
        with self._guard.shared():
            return self._index.keys() if self._index is not None else np.empty(0, dtype=np.int64)

    def close(self) -> None:
        """Release the index files."""
        with self._guard.alone():
            if self._index is not None:
                self._index.close()
            self._index = self._state = None

    def _load_or_rebuild(self, connection: apsw.Connection, now: _State) -> None:
        dimension = _dimension(connection)
        kind = choose_kind(_count(connection), self._setting)
        try:
            index = load_index(kind, self._folder, dimension=dimension)
        except StoreCorrupt:
            self._rebuild(connection, now)
            return
        self._index, self._state = index, _State.parse(index.stamp)
        if not self._follow(connection, now):
            self._rebuild(connection, now)

    def _follow(self, connection: apsw.Connection, now: _State) -> bool:
        """Replay what was added and removed since; False when that is not known or not worth it."""
        was, index = self._state, self._index
        if was is None or index is None or (was.store_id, was.epoch) != (now.store_id, now.epoch):
            return False
        if was.generation > now.generation or was.generation < _meta(connection, "removed_floor"):
            return False
        if choose_kind(_count(connection), self._setting) != index.kind:
            return False
        removed = connection.execute(
            "SELECT key FROM removed_chunks WHERE generation > ? AND key <= ?", (was.generation, was.last_key)
        )
        gone = np.array([key for (key,) in removed], dtype=np.int64)
        if len(gone):
            index.remove(gone)
        added = 0
        for keys, vectors in _read_vectors(connection, after=was.last_key):
            index.add(keys, vectors)
            added += len(keys)
        self._unsaved += len(gone) + added
        self._state = now
        return True

    def _rebuild(self, connection: apsw.Connection, now: _State) -> None:
        if self._index is not None:
            self._index.close()
        index = build_index(choose_kind(_count(connection), self._setting), dimension=_dimension(connection))
        for keys, vectors in _read_vectors(connection, after=0):
            index.add(keys, vectors)
        self._index, self._state = index, now
        self._unsaved = len(index)

    def _allowed(self, connection: apsw.Connection, compiled: CompiledFilter) -> Keys | None:
        """The chunks that pass, ascending; None for all."""
        if compiled.file_keys is None:
            return compiled.chunk_keys
        chunks = self._chunks_of(connection, compiled.file_keys)
        if compiled.chunk_keys is None:
            return chunks
        return np.intersect1d(chunks, compiled.chunk_keys, assume_unique=True)

    def _chunks_of(self, connection: apsw.Connection, file_keys: Keys) -> Keys:
        """The chunks of those files, ascending."""
        if len(file_keys) <= FEW_FILES:
            marks = ", ".join("?" * len(file_keys))
            rows = connection.execute(
                f"SELECT key FROM chunks WHERE file_key IN ({marks}) ORDER BY key",  # noqa: S608 (only marks)
                [int(key) for key in file_keys],
            )
            return np.array([key for (key,) in rows], dtype=np.int64)
        generation, owners = _meta(connection, "generation"), self._owners
        # Threads come with snapshots of different age: what one of them read serves only those of the same.
        if owners is None or owners[0] != generation:
            pairs = connection.execute("SELECT key, file_key FROM chunks ORDER BY key").fetchall()
            table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
            owners = self._owners = (generation, table[:, 0].copy(), table[:, 1].copy())
        _, chunks, files = owners
        return chunks[np.isin(files, file_keys)]


class _SharedLock:
    """Many readers or one writer."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._readers = 0
        self._writing = False

    @contextmanager
    def shared(self) -> Iterator[None]:
        with self._condition:
            self._condition.wait_for(lambda: not self._writing)
            self._readers += 1
        try:
            yield
        finally:
            with self._condition:
                self._readers -= 1
                self._condition.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self._condition:
            self._condition.wait_for(lambda: not self._writing)
            self._writing = True
            self._condition.wait_for(lambda: self._readers == 0)
        try:
            yield
        finally:
            with self._condition:
                self._writing = False
                self._condition.notify_all()


def to_blob(vector: Float32Array) -> bytes:
    """A vector as it is stored: float16, which moves a cosine by about 1e-5 and halves the size."""
    return np.asarray(vector, dtype="<f2").tobytes()


def from_blob(blob: bytes) -> Float32Array:
    """A stored vector, back in float32."""
    return np.frombuffer(blob, dtype="<f2").astype(np.float32)


def _read_vectors(connection: apsw.Connection, *, after: int) -> Iterator[tuple[Keys, Float32Array]]:
    """Every vector with a key above `after`, in pieces."""
    while True:
        rows: list[tuple[Any, ...]] = connection.execute(
            "SELECT chunk_key, vector FROM vectors WHERE chunk_key > ? ORDER BY chunk_key LIMIT ?", (after, READ_ROWS)
        ).fetchall()
        if not rows:
            return
        keys = np.fromiter((key for key, _ in rows), dtype=np.int64, count=len(rows))
        packed = np.frombuffer(b"".join(blob for _, blob in rows), dtype="<f2")
        yield keys, packed.reshape(len(rows), -1).astype(np.float32)
        after = int(keys[-1])


def _read_state(connection: apsw.Connection) -> _State:
    last_key = connection.execute("SELECT coalesce(max(chunk_key), 0) FROM vectors").get
    store_id = connection.execute("SELECT value FROM meta WHERE name = 'store_id'").get
    return _State(str(store_id), _meta(connection, "vector_epoch"), _meta(connection, "generation"), int(last_key))


def _meta(connection: apsw.Connection, name: str) -> int:
    value = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).get
    return int(value) if isinstance(value, int) else 0


def _count(connection: apsw.Connection) -> int:
    return _meta(connection, "chunk_count")


def _dimension(connection: apsw.Connection) -> int:
    return _meta(connection, "model_dimension")
