"""Vectors as float16 rows: a main part that may be mapped from disk, and a tail of what was added since.

A row number below the length of main is a row of main, the others count on into the tail.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybridrag.errors import InvalidInput
from hybridrag.protocols import Keys
from hybridrag.types.base import Float32Array

Half = NDArray[np.float16]
Rows = NDArray[np.int64]

HALF = np.dtype("<f2")
KEY = np.dtype("<i8")
BLOCK_NUMBERS = 256 * 384
"""Numbers multiplied in one call. They stay in the second-level cache, and BLAS keeps to the calling thread: with
2,048 rows at a time it wakes others, which is twice as fast on an idle machine and 40 times slower on a busy one."""
WRITE_BLOCK = 8192
"""Rows copied at a time when a main part is written: some megabytes, whatever the size of the index."""
WIDE_BYTES = 64 << 20
"""Main parts up to this size as float32 are kept widened: three times as fast to scan, for twice the memory."""
SCAN_SHARE = 3
"""From one row in this many on it is faster to pass over all rows in order than to pick those asked for."""
TABLE_FROM = 1024
"""Keys from which rows are looked up in a table instead of by bisection: 15 times as fast for half of 100,000."""
TABLE_SPAN = 4
"""A table is made where keys lie at most this far apart on average: 16 bytes of memory a row, and mostly 4."""
TIE_MARGIN = 1e-5
"""How much the sum of one row may differ with its place in a BLAS call; equal rows must compare equal."""
NORM_LIMIT = 1.01
"""Longest vector taken as L2-normalised: float16 weights and sums are off by far less."""

# A float16 widened by moving its bits is too small by 2**112; the query is scaled up instead of every row.
_EXPONENT_GAP = np.float32(2.0**112)
_FLOAT_BITS = np.int32(0x8FFFE000 - (1 << 32))
_HEADER = struct.Struct("<8s16sqq")
_MAGIC = b"HRAGVEC1"
HEADER_BYTES = 64
"""Room before the first row; keeps rows aligned."""


def check_vectors(keys: Keys, vectors: Float32Array, *, dimension: int) -> None:
    """Accept keys and as many finite, L2-normalised vectors of `dimension`.

    Raises:
        InvalidInput: says which of these does not hold.
    """
    if keys.ndim != 1 or not np.issubdtype(keys.dtype, np.integer):
        raise InvalidInput("Keys of vectors must be a one-dimensional array of integers.")
    if vectors.shape != (len(keys), dimension):
        raise InvalidInput(f"{len(keys)} keys need vectors of shape ({len(keys)}, {dimension}), not {vectors.shape}.")
    if not np.isfinite(vectors).all():
        raise InvalidInput("Vectors must hold finite numbers only.")
    if len(keys) and float(np.einsum("ij,ij->i", vectors, vectors).max()) > NORM_LIMIT**2:
        raise InvalidInput("Vectors must be L2-normalised; divide each by its length.")


def check_query(query: Float32Array, *, dimension: int) -> Float32Array:
    """The query as a contiguous float32 vector; one row of two dimensions is taken too.

    Raises:
        InvalidInput: another shape, or not finite.
    """
    flat = np.ascontiguousarray(query, dtype=np.float32).reshape(-1)
    if flat.shape != (dimension,):
        raise InvalidInput(f"The query vector must have {dimension} numbers, not {flat.size}.")
    if not np.isfinite(flat).all():
        raise InvalidInput("The query vector must hold finite numbers only.")
    return flat


def widen(rows: Half) -> Float32Array:
    """float16 -> float32, exactly; three times as fast as `astype`."""
    wide = _shifted(rows)
    wide *= _EXPONENT_GAP
    return wide


def _shifted(rows: Half) -> Float32Array:
    """The rows as float32 times 2**-112: sign, exponent and fraction moved to where float32 has them."""
    bits: NDArray[np.int32] = np.left_shift(rows.view(np.int16), 13, dtype=np.int32, casting="unsafe")
    # The sign was extended over the new exponent bits.
    bits &= _FLOAT_BITS
    return bits.view(np.float32)


def dots(rows: Half, query: Float32Array) -> Float32Array:
    """The dot product of every row with the query, block by block."""
    scores = np.empty(len(rows), dtype=np.float32)
    scaled = query * _EXPONENT_GAP
    for block in _blocks(*rows.shape):
        np.dot(_shifted(rows[block]), scaled, out=scores[block])
    return scores


def _wide_dots(rows: Float32Array, query: Float32Array) -> Float32Array:
    scores = np.empty(len(rows), dtype=np.float32)
    for block in _blocks(*rows.shape):
        np.dot(rows[block], query, out=scores[block])
    return scores


def _blocks(rows: int, dimension: int) -> Iterator[slice]:
    step = max(1, BLOCK_NUMBERS // dimension)
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def kth_best(scores: Float32Array, k: int) -> float:
    """The k-th highest of at least k scores."""
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])


def header(token: str, *, rows: int, dimension: int) -> bytes:
    """What stands before the first row of a matrix file; ties it to its name and size."""
    return _HEADER.pack(_MAGIC, token.encode("ascii"), rows, dimension).ljust(HEADER_BYTES, b"\0")


@dataclass(frozen=True, slots=True)
class Main:
    """Immutable rows in ascending order of key."""

    keys: Keys
    rows: Half

    @classmethod
    def empty(cls, dimension: int) -> Main:
        """No rows."""
        return cls(np.zeros(0, dtype=KEY), np.zeros((0, dimension), dtype=HALF))


class Matrix:
    """Float16 vectors under int64 keys: add, replace, remove, and the exact nearest among any of them.

    [1: (1, 0), 2: (0, 1)], nearest((1, 0), 1) -> [(1, 1.0)]
    """

    def __init__(self, dimension: int, *, main: Main | None = None, keep_wide: bool = False) -> None:
        self.dimension = dimension
        self.main = main if main is not None else Main.empty(dimension)
        self.dead: NDArray[np.bool_] = np.zeros(len(self.main.keys), dtype=np.bool_)
        self._dead_count = 0
        self._keep_wide = keep_wide
        self._wide: Float32Array | None = None
        self._table: NDArray[np.int32] | None = None
        self._tail_row: dict[int, int] = {}
        self._tail_keys = np.zeros(0, dtype=KEY)
        self._tail_rows = np.zeros((0, dimension), dtype=HALF)

    def __len__(self) -> int:
        """How many live rows."""
        return len(self.main.keys) - self._dead_count + len(self._tail_row)

    @property
    def dead_count(self) -> int:
        """How many rows of main were removed or replaced."""
        return self._dead_count

    @property
    def tail(self) -> Main:
        """What was added after main was made, in the order of adding."""
        count = len(self._tail_row)
        return Main(self._tail_keys[:count], self._tail_rows[:count])

    def keys(self) -> Keys:
        """Every live key, ascending."""
        live = self.main.keys[~self.dead] if self._dead_count else self.main.keys
        return np.sort(np.concatenate([live, self.tail.keys]))

    def add(self, keys: Keys, vectors: Float32Array) -> None:
        """Add or replace; of a key given twice the last vector counts.

        Raises:
            InvalidInput: wrong shape, not finite or not normalised.
        """
        check_vectors(keys, vectors, dimension=self.dimension)
        self.add_half(keys.astype(KEY), vectors.astype(HALF))

    def add_half(self, keys: Keys, vectors: Half) -> None:
        """`add` for rows that are checked and float16 already."""
        self.bury(self._main_rows(keys))
        self._reserve(len(self._tail_row) + len(keys))
        places = np.empty(len(keys), dtype=np.int64)
        for position, key in enumerate(keys.tolist()):
            places[position] = self._tail_row.setdefault(key, len(self._tail_row))
        self._tail_keys[places] = keys
        self._tail_rows[places] = vectors

    def remove(self, keys: Keys) -> None:
        """Forget; unknown keys are ignored."""
        self.bury(self._main_rows(keys))
        for key in keys.tolist():
            self._drop_from_tail(key)

    def bury(self, rows: Rows) -> None:
        """Mark rows of main as removed."""
        if len(rows):
            self.dead[rows] = True
            self._dead_count = int(np.count_nonzero(self.dead))

    def rows_of(self, keys: Keys) -> Rows:
        """The live rows of those keys; unknown keys are left out. Rows of main come first, ascending."""
        keys = _ascending(keys)
        main = self._main_rows(keys)
        if self._dead_count:
            main = main[~self.dead[main]]
        if not self._tail_row:
            return main
        offset = len(self.main.keys)
        tail_keys = self.tail.keys
        tail = np.flatnonzero(_contains(keys, tail_keys)) + offset
        return np.concatenate([main, tail])

    def tail_row_numbers(self) -> Rows:
        """The row numbers of the whole tail."""
        start = len(self.main.keys)
        return np.arange(start, start + len(self._tail_row), dtype=np.int64)

    def nearest(self, query: Float32Array, k: int, rows: Rows | None = None) -> list[tuple[int, float]]:
        """The k best `(key, cosine)` among `rows` (live ones; None is all), best first, ties by key."""
        if rows is None:
            rows = self._live_rows()
        scores = self.scores(query, rows)
        if len(rows) > k:
            rows = rows[scores >= kth_best(scores, k) - TIE_MARGIN]
        return self._ranked(query, k, rows)

    def live_blocks(self) -> Iterator[Main]:
        """Every live row in ascending order of key, some thousand at a time."""
        rows = self._live_rows()
        keys = self.keys_of(rows)
        order = np.argsort(keys)
        for start in range(0, len(rows), WRITE_BLOCK):
            block = order[start : start + WRITE_BLOCK]
            yield Main(keys[block], self.gather(rows[block]))

    def gather(self, rows: Rows) -> Half:
        """Those rows, copied, in the order asked for."""
        border = len(self.main.keys)
        in_main = rows < border
        if in_main.all():
            return self.main.rows[rows]
        out = np.empty((len(rows), self.dimension), dtype=HALF)
        out[in_main] = self.main.rows[rows[in_main]]
        out[~in_main] = self._tail_rows[rows[~in_main] - border]
        return out

    def keys_of(self, rows: Rows) -> Keys:
        """The key of each row."""
        border = len(self.main.keys)
        out = np.empty(len(rows), dtype=KEY)
        in_main = rows < border
        out[in_main] = self.main.keys[rows[in_main]]
        out[~in_main] = self._tail_keys[rows[~in_main] - border]
        return out

    def _live_rows(self) -> Rows:
        return np.concatenate([np.flatnonzero(~self.dead), self.tail_row_numbers()])

    def scores(self, query: Float32Array, rows: Rows) -> Float32Array:
        """The cosine of each of those rows with the query, to `TIE_MARGIN`."""
        total = len(self.main.keys) + len(self._tail_row)
        if len(rows) * SCAN_SHARE > total:
            return self._scan(query)[rows]
        scores = np.empty(len(rows), dtype=np.float32)
        scaled = query * _EXPONENT_GAP
        for block in _blocks(len(rows), self.dimension):
            np.dot(_shifted(self.gather(rows[block])), scaled, out=scores[block])
        return scores

    def _scan(self, query: Float32Array) -> Float32Array:
        """The score of every row, live or not."""
        wide = self._wide_main()
        main = _wide_dots(wide, query) if wide is not None else dots(self.main.rows, query)
        return np.concatenate([main, dots(self.tail.rows, query)])

    def _ranked(self, query: Float32Array, k: int, rows: Rows) -> list[tuple[int, float]]:
        # BLAS sums a row differently at the edge of a block; this sums every row alike, so equal rows tie.
        scaled = query * _EXPONENT_GAP
        scores = np.empty(len(rows), dtype=np.float32)
        for block in _blocks(len(rows), self.dimension):
            (_shifted(self.gather(rows[block])) * scaled).sum(axis=1, out=scores[block])
        keys = self.keys_of(rows)
        best = np.lexsort((keys, -scores))[:k]
        cosines = np.clip(scores[best], -1.0, 1.0)
        return list(zip(keys[best].tolist(), cosines.tolist(), strict=True))

    def _wide_main(self) -> Float32Array | None:
        if not self._keep_wide or self.main.rows.size * 4 > WIDE_BYTES:
            return None
        wide = self._wide
        if wide is None:
            # Two threads may both do this once; either result serves.
            wide = widen(self.main.rows)
            self._wide = wide
        return wide

    def _main_rows(self, keys: Keys) -> Rows:
        stored = self.main.keys
        if not len(stored) or not len(keys):
            return np.zeros(0, dtype=np.int64)
        if len(keys) >= TABLE_FROM and int(stored[-1]) - int(stored[0]) < TABLE_SPAN * len(stored):
            return self._looked_up(keys)
        places = np.searchsorted(stored, keys)
        places[places == len(stored)] = 0
        rows: Rows = places[stored[places] == keys]
        return rows

    def _looked_up(self, keys: Keys) -> Rows:
        first, last = self.main.keys[0], self.main.keys[-1]
        table = self._table
        if table is None:
            # Two threads may both do this once; either result serves.
            table = np.full(int(last - first) + 1, -1, dtype=np.int32)
            table[self.main.keys - first] = np.arange(len(self.main.keys), dtype=np.int32)
            self._table = table
        places = table[keys[(keys >= first) & (keys <= last)] - first]
        rows: Rows = places[places >= 0].astype(np.int64)
        return rows

    def _reserve(self, count: int) -> None:
        capacity = len(self._tail_keys)
        if count <= capacity:
            return
        # Doubling keeps a long series of small additions linear.
        grown = max(count, 2 * capacity, 64)
        keys = np.zeros(grown, dtype=KEY)
        rows = np.zeros((grown, self.dimension), dtype=HALF)
        keys[:capacity] = self._tail_keys
        rows[:capacity] = self._tail_rows
        self._tail_keys, self._tail_rows = keys, rows

    def _drop_from_tail(self, key: int) -> None:
        row = self._tail_row.pop(key, None)
        if row is None:
            return
        last = len(self._tail_row)
        if row != last:
            # The last row moves into the gap, so that the tail has none.
            moved = int(self._tail_keys[last])
            self._tail_keys[row] = moved
            self._tail_rows[row] = self._tail_rows[last]
            self._tail_row[moved] = row


def _ascending(keys: Keys) -> Keys:
    if len(keys) > 1 and not (keys[1:] > keys[:-1]).all():
        return np.unique(keys)
    return keys


def _contains(sorted_keys: Keys, wanted: Keys) -> NDArray[np.bool_]:
    if not len(sorted_keys):
        return np.zeros(len(wanted), dtype=np.bool_)
    places = np.searchsorted(sorted_keys, wanted)
    places[places == len(sorted_keys)] = 0
    found: NDArray[np.bool_] = sorted_keys[places] == wanted
    return found
