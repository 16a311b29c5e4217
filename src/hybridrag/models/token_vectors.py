"""The token vectors of a passage in a few kilobytes: fewer directions, fewer tokens, two bits a number.

A packed passage is a header (format, which packing, directions, vectors) and the codes, four to a byte. Bytes of
another format or packing, or damaged ones, are read as None: they lead to no score, never to a wrong one.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hybridrag.models.e5_embedder import TAUGHT, TAUGHT_FOLDER, taught_info
from hybridrag.models.unit_vectors import to_unit
from hybridrag.protocols import Embedder, ModelInfo
from hybridrag.types.base import Float32Array

FORMAT = 1
"""Raised when the same bytes would mean something else."""

HEADER = struct.Struct("<BIHH")
"""Format, packing, directions, vectors."""

MOST_VECTORS = 2**16 - 1
"""What the header can count."""

DIMENSION = 128
"""Directions kept of the default model's 384: with each flattened a little, results are ranked as well by 128."""

SEEDED_DIMENSION = 256
"""Directions for a model that nothing is known of: directions drawn by lot need to be more."""

E5_NAMES = frozenset({"multilingual-e5-small", "intfloat/multilingual-e5-small"})
E5_DIMENSION = 384
PROJECTION_FILE = "projection.npy"
"""Of the taught model, beside its layers: taught with them, written by training.export_embedder."""
E5_PROJECTION_FILE = Path(__file__).with_name("e5_token_projection.npy")
"""Written by scripts/fit_token_projection.py: the matrix, then each direction's mean, then its deviation."""

E5_UNRELATED = 0.4
"""About what the lowest twentieth reach of passages that are among the fifty best and do not answer: the last column of
benchmarks/rerank.py is near 0. All vectors of the model lie near one another, so that it is far from 0."""

SEED = 20_240_607
"""Which directions a model gets that nothing is known of; another number would make stored token vectors useless."""

LEVELS = np.array([-1.510, -0.4528, 0.4528, 1.510], dtype=np.float32)
"""Max, IRE Transactions 1960: the four values that stand for a normal variable with the least error."""

THRESHOLDS = (LEVELS[1:] + LEVELS[:-1]) / 2
CODES_PER_BYTE = 4
_SHIFTS = np.array([0, 2, 4, 6], dtype=np.uint8)


@dataclass(frozen=True, eq=False)
class TokenPacker:
    """Packs the token vectors of one model, and reads them back. Thread-safe.

    packer.unpack(packer.pack(vectors)) -> about packer.project(vectors), with near-equal vectors merged
    """

    matrix: Float32Array
    """(model dimension, directions)."""
    middle: Float32Array
    """The mean of each direction among projected vectors."""
    deviation: Float32Array
    """Its deviation: what two bits are spread over."""
    identity: int
    """Tells packings apart whose bytes must not be compared; 32 bits."""
    unrelated: float = 0.0
    """The mean best cosine that passages reach which have nothing to do with a question."""

    def project(self, vectors: Float32Array) -> Float32Array:
        """Each token vector in the directions that are kept, at length one."""
        return to_unit(vectors @ self.matrix)

    def pack(self, vectors: Float32Array, kept: NDArray[np.bool_] | None = None) -> bytes:
        """Token vectors as bytes; of those that `kept` names, where it is given and names any."""
        if kept is not None and kept.any():
            vectors = vectors[kept]
        merged = merge_pairs(self.project(vectors[:MOST_VECTORS]))
        codes = np.searchsorted(THRESHOLDS, (merged - self.middle) / self.deviation).astype(np.uint8)
        grouped = codes.reshape(len(merged), self.matrix.shape[1] // CODES_PER_BYTE, CODES_PER_BYTE) << _SHIFTS
        header = HEADER.pack(FORMAT, self.identity, self.matrix.shape[1], len(merged))
        packed: NDArray[np.uint8] = np.bitwise_or.reduce(grouped, axis=2)
        return header + packed.tobytes()

    def unpack(self, packed: bytes) -> Float32Array | None:
        """(vectors, directions), each at length one; None for bytes that this packing did not write."""
        codes = self._codes(packed)
        return None if codes is None else self._decode(codes)

    def unpack_many(self, packed: Sequence[bytes | None]) -> tuple[Float32Array, list[int]]:
        """All vectors one after the other, and how many each passage has: 0 where there are none to read."""
        codes = [None if one is None else self._codes(one) for one in packed]
        readable = [part for part in codes if part is not None]
        counts = [0 if part is None else len(part) for part in codes]
        if not sum(counts):
            return np.zeros((0, self.matrix.shape[1]), dtype=np.float32), counts
        return self._decode(np.concatenate(readable)), counts

    def _codes(self, packed: bytes) -> NDArray[np.uint8] | None:
        width = self.matrix.shape[1] // CODES_PER_BYTE
        if len(packed) < HEADER.size:
            return None
        version, identity, directions, count = HEADER.unpack_from(packed)
        expected = (FORMAT, self.identity, self.matrix.shape[1], HEADER.size + count * width)
        if (version, identity, directions, len(packed)) != expected:
            return None
        return np.frombuffer(packed, dtype=np.uint8, offset=HEADER.size).reshape(count, width)

    def _decode(self, codes: NDArray[np.uint8]) -> Float32Array:
        numbers, squares = self._tables
        places = codes + self._offsets
        vectors = np.take(numbers, places, axis=0).reshape(len(codes), self.matrix.shape[1])
        lengths = np.sqrt(np.take(squares, places).sum(axis=1, keepdims=True))
        return np.asarray(vectors / np.maximum(lengths, np.float32(1e-6)), dtype=np.float32)

    @cached_property
    def _offsets(self) -> NDArray[np.int32]:
        return np.arange(self.matrix.shape[1] // CODES_PER_BYTE, dtype=np.int32) * 256

    @cached_property
    def _tables(self) -> tuple[Float32Array, Float32Array]:
        """What each byte stands for at each place, and the sum of its squares: one look-up instead of arithmetic."""
        values = np.arange(256, dtype=np.uint8)[:, None] >> _SHIFTS & 3
        shape = (-1, 1, CODES_PER_BYTE)
        numbers = self.middle.reshape(shape) + self.deviation.reshape(shape) * LEVELS[values]
        flat = np.ascontiguousarray(numbers.reshape(-1, CODES_PER_BYTE), dtype=np.float32)
        return flat, np.asarray((flat**2).sum(axis=1), dtype=np.float32)


def packer_for(model: ModelInfo) -> TokenPacker:
    """How the token vectors of a model are packed: directions fitted to it, or drawn by lot.

    packer_for(ModelInfo("multilingual-e5-small", "...", 384, 507)) -> the packing that ships with the package
    """
    if model.dimension == E5_DIMENSION and model.name == TAUGHT:
        return _fitted(TAUGHT_FOLDER / PROJECTION_FILE, taught_info()["unrelated"])
    if model.dimension == E5_DIMENSION and model.name in E5_NAMES:
        return _fitted(E5_PROJECTION_FILE, E5_UNRELATED)
    return _seeded(model.dimension)


def pack_passages(
    packer: TokenPacker, embedder: Embedder, passages: Sequence[str], tokens: Sequence[Float32Array]
) -> list[bytes]:
    """The token vectors of passages, packed; tokens without a letter or digit are left out."""
    return [
        packer.pack(vectors, telling_tokens(passage, embedder.token_spans(passage), len(vectors)))
        for passage, vectors in zip(passages, tokens, strict=True)
    ]


def telling_tokens(text: str, spans: NDArray[np.int32], count: int) -> NDArray[np.bool_] | None:
    """Which tokens of a text hold a letter or a digit; None where spans and vectors may not be of the same tokens.

    "Yes, sir." as [Yes] [,] [sir] [.] -> [True, False, True, False]
    """
    if len(spans) < count:
        return None
    telling = (any(map(str.isalnum, text[start:end])) for start, end in spans[:count].tolist())
    return np.fromiter(telling, dtype=np.bool_, count=count)


def merge_pairs(vectors: Float32Array) -> Float32Array:
    """Vectors that are each other's nearest become their mean: a fourth fewer, and results rank as before.

    [a, almost a, b] -> [a, b]
    """
    if len(vectors) < 2:
        return vectors
    near = vectors @ vectors.T
    np.fill_diagonal(near, -np.inf)
    nearest = near.argmax(axis=1)
    places = np.arange(len(vectors))
    first = places[(nearest[nearest] == places) & (places < nearest)]
    merged = vectors.copy()
    merged[first] = to_unit(vectors[first] + vectors[nearest[first]])
    return np.delete(merged, nearest[first], axis=0)


@lru_cache(maxsize=2)
def _fitted(path: Path, unrelated: float) -> TokenPacker:
    stored = np.load(path, allow_pickle=False)
    numbers = stored.astype(np.float32)
    identity = zlib.crc32(stored.astype("<f2").tobytes())
    return TokenPacker(numbers[:-2], numbers[-2], numbers[-1], identity=identity, unrelated=unrelated)


@lru_cache(maxsize=4)
def _seeded(dimension: int) -> TokenPacker:
    """Orthogonal directions that only the dimension decides."""
    drawn_directions = min(SEEDED_DIMENSION, dimension)
    # Of numpy's generators this one promises the same numbers for ever.
    drawn = np.random.RandomState(SEED).normal(size=(dimension, drawn_directions))
    matrix, triangle = np.linalg.qr(drawn)
    # Libraries differ in the signs that they choose.
    matrix = np.asarray(matrix * np.sign(np.diag(triangle)), dtype=np.float32)
    # Whole bytes: a model of few numbers gets empty directions.
    directions = math.ceil(drawn_directions / CODES_PER_BYTE) * CODES_PER_BYTE
    matrix = np.pad(matrix, ((0, 0), (0, directions - drawn_directions)))
    spread = np.full(directions, 1 / math.sqrt(directions), dtype=np.float32)
    identity = zlib.crc32(f"{SEED}:{dimension}:{directions}".encode())
    return TokenPacker(matrix, np.zeros_like(spread), spread, identity=identity)
