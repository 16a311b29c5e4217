"""The DiskANN index: libSQL's graph over the vectors on disk finds candidates, the float16 rows decide among them.

The graph has a database file of its own, which no other SQLite library ever opens: two copies of SQLite in one
process do not see each other's locks.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from hybridrag.errors import StoreCorrupt, StoreError
from hybridrag.protocols import Keys
from hybridrag.stores.vectors.files import Part, adopt_part, map_part, part_name
from hybridrag.stores.vectors.index import MatrixIndex
from hybridrag.stores.vectors.matrix import WRITE_BLOCK, Main, Rows, widen
from hybridrag.types.base import Float32Array

GRAPH = "diskann.db"
SEARCH_WIDTH = 400
"""Nodes that a walk of the graph keeps, and candidates it yields: 11 ms of processor time. Questions put to 8,900 e5
vectors of passages on other subjects find .95 of the true ten; with libSQL's default of 200, in 4 ms, .84."""
GRAPH_OPTIONS = (
    "metric=cosine",
    # A vector of 384 numbers takes 12 kB on disk with these two, and 84 without.
    "compress_neighbors=float8",
    "max_neighbors=20",
    # libSQL's default of 1.2 prunes, with so few neighbours, the edges that lead into crowds: .72 of the true ten.
    "alpha=1.0",
    f"search_l={SEARCH_WIDTH}",
)
GRAPH_FROM = 2000
"""Smallest main that is searched through its graph: below it a comparison with every row takes half a millisecond."""
GATHER_UP_TO = 8192
"""Allowed rows up to which all are compared exactly: as fast as a walk of the graph, and exact."""
SURVIVORS_PER_RESULT = 4
"""How many candidates per result must pass a filter before the walk is believed to have seen the best of them."""
RENEW_SHARE = 2
"""A graph of which more than one row in this many changed is built anew instead of being changed."""
_VERSION_AT = 60  # where a SQLite file keeps `user_version`, four bytes, big endian
_SQLITE = b"SQLite format 3\0"


class DiskAnnIndex(MatrixIndex):
    """Most answers are the true ones (recall@10 >= .95) with next to no memory, at 12 kB of disk a vector.

    The graph is brought up to date by `save`; what was added since is compared exactly.

    Raises:
        StoreError: the package `libsql` is not installed.
    """

    kind: ClassVar[str] = "diskann"

    def __init__(self, dimension: int) -> None:
        super().__init__(dimension)
        _libsql()
        self._graph: Path | None = None
        self._connection: Any = None
        # libSQL's connections do not say that they may be used by two threads at once.
        self._walking = threading.Lock()

    def close(self) -> None:
        """Release files; the index is not used afterwards."""
        super().close()
        self._disconnect()
        self._graph = None

    def _candidates(self, query: Float32Array, k: int, rows: Rows | None) -> Rows | None:
        matrix = self._matrix
        border = len(matrix.main.keys)
        live = border - matrix.dead_count if rows is None else int(np.searchsorted(rows, border))
        needed = k * SURVIVORS_PER_RESULT
        if self._graph is None or needed > SEARCH_WIDTH or live <= (GRAPH_FROM if rows is None else GATHER_UP_TO):
            return None
        found = matrix.rows_of(self._walk(query))
        found = found[found < border]
        tail = matrix.tail_row_numbers()
        if rows is not None:
            found = np.intersect1d(found, rows[:live], assume_unique=True)
            tail = rows[live:]
        return np.concatenate([found, tail]) if len(found) >= needed else None

    def _walk(self, query: Float32Array) -> Keys:
        """The keys that the graph holds nearest, as many as a walk yields, ascending.

        Raises:
            StoreCorrupt: the database is damaged.
        """
        statement = "SELECT id FROM vector_top_k('nearest', ?, ?)"
        with self._walking:
            try:
                found = self._connected().execute(statement, (query.tobytes(), SEARCH_WIDTH)).fetchall()
            except ValueError as cause:  # what libSQL raises for every error of a database
                raise StoreCorrupt(self._graph or "", f"libSQL reports: {cause}") from cause
        return np.sort(np.array([key for (key,) in found], dtype=np.int64))

    def _connected(self) -> Any:
        if self._connection is None:
            self._connection = _libsql().connect(str(self._graph))
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _extra_parts(self, folder: Path, token: str, main: Main) -> dict[str, Part]:
        name = part_name(token, GRAPH)
        unfinished = folder / f".{name}.tmp"
        matrix = self._matrix
        changes = matrix.dead_count + len(matrix.tail.keys)
        if self._graph is not None and changes * RENEW_SHARE <= len(matrix.main.keys) and self._graph.exists():
            shutil.copyfile(self._graph, unfinished)
            _change(unfinished, matrix.main.keys[matrix.dead], matrix.tail, token)
        else:
            _create(unfinished, main, token)
        return {GRAPH: adopt_part(folder, name, unfinished)}

    def _adopt_main(self, folder: Path, parts: dict[str, Part]) -> None:
        if GRAPH not in parts:
            raise StoreCorrupt(folder, "its list of parts is not complete")
        part = parts[GRAPH]
        first = map_part(folder, part, verify=False)[:100].tobytes()
        token = part.name.split("-")[1].split(".")[0]
        found = int.from_bytes(first[_VERSION_AT : _VERSION_AT + 4], "big")
        if not first.startswith(_SQLITE) or found != _mark(token):
            raise StoreCorrupt(folder, f"{part.name} belongs to another index")
        self._disconnect()
        self._graph = folder.resolve() / part.name


def _create(path: Path, main: Main, token: str) -> None:
    """Write a database with a graph over all rows."""
    dimension = main.rows.shape[1]
    options = ", ".join(f"'{option}'" for option in GRAPH_OPTIONS)
    with _writing(path) as connection:
        connection.execute(f"CREATE TABLE vectors (key INTEGER PRIMARY KEY, embedding F32_BLOB({dimension}) NOT NULL)")
        connection.execute(f"CREATE INDEX nearest ON vectors (libsql_vector_idx(embedding, {options}))")
        _insert(connection, main)
        _finish(connection, token)


def _change(path: Path, removed: Keys, added: Main, token: str) -> None:
    """Bring a copy of an earlier graph up to date."""
    with _writing(path) as connection:
        # One by one: libSQL leaves the nodes of a DELETE without a WHERE in the graph.
        connection.executemany("DELETE FROM vectors WHERE key = ?", [(key,) for key in removed.tolist()])
        _insert(connection, added)
        _finish(connection, token)


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[Any]:
    """A connection to the database, closed at the end.

    Raises:
        StoreError: libSQL could not write.
    """
    connection = _libsql().connect(str(path))
    try:
        yield connection
    except ValueError as cause:  # what libSQL raises for every error of a database
        raise StoreError(
            path.parent,
            f"The vector index at {path.parent} cannot be written: libSQL reports: {cause}.",
            hint="Check the free space on its disk; the saved index is as it was.",
        ) from cause
    finally:
        connection.close()


def _insert(connection: Any, added: Main) -> None:
    for start in range(0, len(added.keys), WRITE_BLOCK):
        stop = start + WRITE_BLOCK
        rows = list(_parameters(added.keys[start:stop], widen(added.rows[start:stop])))
        connection.executemany("INSERT INTO vectors (key, embedding) VALUES (?, ?)", rows)


def _parameters(keys: Keys, vectors: Float32Array) -> Iterator[tuple[int, bytes]]:
    for key, vector in zip(keys.tolist(), vectors, strict=True):
        # The cosine with a vector of zeros is not a number, and would spread through the graph.
        if vector.any():
            yield key, vector.tobytes()


def _finish(connection: Any, token: str) -> None:
    connection.commit()
    connection.execute(f"PRAGMA user_version = {_mark(token)}")
    connection.commit()


def _mark(token: str) -> int:
    """What ties a database to its name: the first digits of its token."""
    return int(token[:7], 16)


def _libsql() -> Any:
    """The package, imported when first needed.

    Raises:
        StoreError: it is not installed.
    """
    try:
        import libsql  # noqa: PLC0415 (optional)
    except ImportError as cause:
        raise StoreError(
            Path(),
            "The diskann vector index needs libSQL, which is not installed.",
            hint="Run: pip install 'hybridrag[diskann]', or use the vector index `auto`.",
        ) from cause
    return libsql
