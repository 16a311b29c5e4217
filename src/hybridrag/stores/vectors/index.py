"""What the three kinds of index share: contract, saving and loading. A kind adds how candidates are found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from hybridrag.errors import InvalidInput, StoreCorrupt
from hybridrag.protocols import Keys
from hybridrag.stores.vectors.files import (
    Manifest,
    Part,
    clean_unnamed,
    commit,
    disk_errors,
    map_part,
    new_token,
    open_current,
    part_name,
    read_manifest,
    write_part,
)
from hybridrag.stores.vectors.matrix import (
    HALF,
    HEADER_BYTES,
    KEY,
    Main,
    Matrix,
    Rows,
    check_query,
    header,
)
from hybridrag.types.base import Float32Array

TAIL_LIMIT = 8192
"""Rows kept apart from main at most: scanned exactly in about 2 ms, and small enough to write at every save."""
TAIL_SHARE = 4
"""A tail of more than one row to this many of main goes into main, however short: a small main is cheap to write."""
SMALL_TAIL = 256
"""Rows that stay a tail whatever the size of main."""
DEAD_SHARE = 4
"""Main is written anew when more than one row in this many was removed: they cost disk, and time to pass over."""

MATRIX, KEYS, DELTA = "matrix", "keys", "delta"


class MatrixIndex(ABC):
    """A `VectorIndex` over a `Matrix`; `stamp` is whatever the caller gave to `save`.

    Main parts are written once and mapped; what was added and removed since is written beside them at each save,
    until there is enough of it to write main anew.
    """

    kind: ClassVar[str]
    _keep_wide: ClassVar[bool] = False

    def __init__(self, dimension: int) -> None:
        if dimension < 1:
            raise InvalidInput(f"A vector index needs a dimension of 1 or more, not {dimension}.")
        self.stamp = ""
        self._matrix = Matrix(dimension, keep_wide=self._keep_wide)
        self._home: Path | None = None
        self._main_parts: dict[str, Part] = {}

    def __len__(self) -> int:
        """How many live keys."""
        return len(self._matrix)

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""
        return self._matrix.dimension

    def keys(self) -> Keys:
        """Every live key, ascending."""
        return self._matrix.keys()

    def add(self, keys: Keys, vectors: Float32Array) -> None:
        """Add or replace; of a key given twice the last vector counts.

        Raises:
            InvalidInput: wrong shape, not finite or not normalised; nothing was changed.
        """
        self._matrix.add(np.asarray(keys), np.asarray(vectors))

    def remove(self, keys: Keys) -> None:
        """Forget; unknown keys are ignored."""
        self._matrix.remove(np.asarray(keys, dtype=KEY))

    def search(self, query: Float32Array, k: int, *, allowed: Keys | None = None) -> list[tuple[int, float]]:
        """The k best `(key, cosine)`, best first, ties by key; with `allowed` the true best among those.

        Raises:
            InvalidInput: the query has another dimension or is not finite.
        """
        query = check_query(query, dimension=self.dimension)
        rows = None if allowed is None else self._matrix.rows_of(np.asarray(allowed, dtype=KEY))
        if k < 1 or not len(self) or (rows is not None and not len(rows)):
            return []
        if rows is not None and len(rows) == len(self):
            rows = None
        found = self._candidates(query, k, rows)
        return self._matrix.nearest(query, k, rows if found is None else found)

    def save(self, folder: Path, *, stamp: str = "") -> None:
        """Write into `folder` (made if missing) so that a crash leaves the old or the new index, never a mix.

        Raises:
            StoreError: the disk is full or the folder is not writable; what was saved there before still is.
        """
        with disk_errors(folder, doing="written"):
            folder.mkdir(parents=True, exist_ok=True)
            try:
                if self._keeps_main(folder):
                    self._commit(folder, self._main_parts, self._matrix, stamp=stamp)
                else:
                    self._save_anew(folder, stamp=stamp)
            except BaseException:
                # A disk that is full needs the room back now, not at the next save.
                clean_unnamed(folder)
                raise
        self._home = folder.resolve()
        self.stamp = stamp

    @classmethod
    def load(cls, folder: Path, *, dimension: int) -> Self:
        """Open what `save` wrote; main is mapped, not read.

        Raises:
            StoreCorrupt: missing, damaged, of another kind or of another dimension.
            StoreError: the folder cannot be read.
        """
        index = cls(dimension)
        with disk_errors(folder, doing="read"):
            open_current(folder, lambda manifest: index._open(folder, manifest))
        return index

    def close(self) -> None:
        """Release files; the index is not used afterwards."""
        self._matrix = Matrix(self.dimension)
        self._main_parts = {}

    @abstractmethod
    def _candidates(self, query: Float32Array, k: int, rows: Rows | None) -> Rows | None:
        """Live rows that hold the k best among `rows` (None: among all); None means: compare with every one."""

    def _extra_parts(self, folder: Path, token: str, main: Main) -> dict[str, Part]:  # noqa: ARG002 (for subclasses)
        """Write what a kind keeps beside the rows of a new main."""
        return {}

    def _adopt_main(self, folder: Path, parts: dict[str, Part]) -> None:  # noqa: B027 (nothing to do unless a kind has extra parts)
        """Open what `_extra_parts` wrote.

        Raises:
            StoreCorrupt: it is damaged.
        """

    def _keeps_main(self, folder: Path) -> bool:
        if self._home != folder.resolve() or not self._still_there(folder):
            return False
        rows = len(self._matrix.main.keys)
        tail_limit = min(TAIL_LIMIT, max(SMALL_TAIL, rows // TAIL_SHARE))
        return len(self._matrix.tail.keys) <= tail_limit and self._matrix.dead_count * DEAD_SHARE <= rows

    def _still_there(self, folder: Path) -> bool:
        """Whether the parts in use are those of the folder: another index may have been saved there since."""
        try:
            parts = read_manifest(folder).parts
        except StoreCorrupt:
            return False
        return all(parts.get(role) == part for role, part in self._main_parts.items())

    def _save_anew(self, folder: Path, *, stamp: str) -> None:
        parts = self._write_main(folder, new_token())
        fresh = self._opened(folder, parts, rows=len(self))
        self._commit(folder, parts, fresh, stamp=stamp)
        self._matrix = fresh
        self._main_parts = parts
        self._adopt_main(folder, parts)

    def _write_main(self, folder: Path, token: str) -> dict[str, Part]:
        matrix = self._matrix
        blocks = (np.ascontiguousarray(block.rows).data for block in matrix.live_blocks())
        first = header(token, rows=len(matrix), dimension=matrix.dimension)
        parts = {
            KEYS: write_part(folder, part_name(token, KEYS), [matrix.keys().tobytes()]),
            MATRIX: write_part(folder, part_name(token, MATRIX), _chain(first, blocks)),
        }
        main = self._opened(folder, parts, rows=len(matrix)).main
        return parts | self._extra_parts(folder, token, main)

    def _commit(self, folder: Path, main_parts: dict[str, Part], matrix: Matrix, *, stamp: str) -> None:
        tail = matrix.tail
        buried = np.flatnonzero(matrix.dead).astype(KEY)
        delta = [tail.keys.tobytes(), tail.rows.tobytes(), buried.tobytes()]
        parts = main_parts | {DELTA: write_part(folder, part_name(new_token(), DELTA), delta)}
        manifest = Manifest(
            kind=self.kind,
            dimension=matrix.dimension,
            stamp=stamp,
            main_rows=len(matrix.main.keys),
            tail_rows=len(tail.keys),
            dead_rows=len(buried),
            parts=parts,
        )
        commit(folder, manifest)

    def _open(self, folder: Path, manifest: Manifest) -> None:
        self._check_belongs(folder, manifest)
        self._matrix = self._opened(folder, manifest.parts, rows=manifest.main_rows)
        self._replay(folder, manifest)
        self._main_parts = {role: part for role, part in manifest.parts.items() if role != DELTA}
        self._adopt_main(folder, self._main_parts)
        self._home = folder.resolve()
        self.stamp = manifest.stamp

    def _check_belongs(self, folder: Path, manifest: Manifest) -> None:
        if manifest.kind != self.kind:
            raise StoreCorrupt(folder, f"it holds a vector index of kind {manifest.kind}, not {self.kind}")
        if manifest.dimension != self.dimension:
            raise StoreCorrupt(folder, f"its vectors have {manifest.dimension} numbers, not {self.dimension}")
        if not {MATRIX, KEYS, DELTA} <= manifest.parts.keys():
            raise StoreCorrupt(folder, "its list of parts is not complete")

    def _opened(self, folder: Path, parts: dict[str, Part], *, rows: int) -> Matrix:
        """The matrix of those parts, mapped."""
        keys = map_part(folder, parts[KEYS], verify=True)
        content = map_part(folder, parts[MATRIX], verify=False)
        token = parts[MATRIX].name.split("-")[1].split(".")[0]
        expected = header(token, rows=rows, dimension=self.dimension)
        sizes = (rows * KEY.itemsize, HEADER_BYTES + rows * self.dimension * HALF.itemsize)
        if (keys.nbytes, content.nbytes) != sizes or content[:HEADER_BYTES].tobytes() != expected:
            raise StoreCorrupt(folder, f"{parts[MATRIX].name} belongs to another index")
        vectors = content[HEADER_BYTES:].view(HALF).reshape(rows, self.dimension)
        return Matrix(self.dimension, main=Main(keys.view(KEY), vectors), keep_wide=self._keep_wide)

    def _replay(self, folder: Path, manifest: Manifest) -> None:
        """Put what was added and removed since main was written back into memory."""
        content = map_part(folder, manifest.parts[DELTA], verify=True)
        count, dead = manifest.tail_rows, manifest.dead_rows
        keys_end = count * KEY.itemsize
        rows_end = keys_end + count * self.dimension * HALF.itemsize
        if content.nbytes != rows_end + dead * KEY.itemsize:
            raise StoreCorrupt(folder, f"{manifest.parts[DELTA].name} belongs to another index")
        keys = content[:keys_end].view(KEY)
        vectors = content[keys_end:rows_end].view(HALF).reshape(count, self.dimension)
        self._matrix.add_half(keys, vectors)
        self._matrix.bury(np.frombuffer(content[rows_end:].tobytes(), dtype=KEY))


def _chain(first: bytes, blocks: Iterator[memoryview]) -> Iterator[bytes | memoryview]:
    yield first
    yield from blocks
