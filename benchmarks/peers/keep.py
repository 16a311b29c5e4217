"""Vectors that are computed once and then read from a file: every search of a comparison gets the same, at no cost."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hybridrag.protocols import Embedder, ModelInfo, Passages
from hybridrag.types.base import Float32Array

PASSAGE, QUERY = b"p", b"q"
BATCH = 64
Row = tuple[Float32Array, Float32Array | None]
"""A text's vector, and those of its tokens."""


class KeptEmbedder:
    """An embedder whose answers stay in a file; the model is loaded for what is not there.

    KeptEmbedder(Path("vectors.db"), make).embed_query("When?") -> the model's answer, and from then on the file's
    """

    def __init__(self, file: Path, make: Callable[[], Embedder]) -> None:
        self._make = make
        self._lock = threading.RLock()
        self._kept = sqlite3.connect(file, check_same_thread=False)
        # Nothing is lost that cannot be computed again.
        self._kept.execute("PRAGMA synchronous = OFF")
        self._kept.execute("CREATE TABLE IF NOT EXISTS kept (key BLOB PRIMARY KEY, pooled BLOB, tokens BLOB)")
        self.computed = 0
        """Texts that the model was asked for."""

    @cached_property
    def _real(self) -> Embedder:
        return self._make()

    @property
    def info(self) -> ModelInfo:
        """The model's."""
        return self._real.info

    def token_spans(self, text: str) -> NDArray[np.int32]:
        """The model's."""
        return self._real.token_spans(text)

    def embed_passages(self, texts: Sequence[str], *, tokens: bool = False) -> Passages:
        """From the file, else from the model."""
        rows: list[Row] = []
        for first in range(0, len(texts), BATCH):
            rows += self._look_up(PASSAGE, texts[first : first + BATCH], tokens=tokens)
        return self._joined(rows, tokens=tokens)

    def embed_query(self, text: str, *, tokens: bool = False) -> Passages:
        """From the file, else from the model."""
        return self._joined(self._look_up(QUERY, [text], tokens=tokens), tokens=tokens)

    def _look_up(self, kind: bytes, texts: Sequence[str], *, tokens: bool) -> list[Row]:
        keys = [_key(kind, text) for text in texts]
        with self._lock:
            found = {key: row for key in keys if (row := self._row(key)) is not None}
            # What was kept without its tokens is computed again when they are asked for.
            known = {key for key, (_, kept) in found.items() if kept is not None or not tokens}
            missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
            if missing:
                found.update(self._compute(kind, missing, tokens=tokens))
        return [found[key] for key in keys]

    def _row(self, key: bytes) -> Row | None:
        row = self._kept.execute("SELECT pooled, tokens FROM kept WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        pooled = np.frombuffer(row[0], np.float32)
        if row[1] is None:
            return pooled, None
        return pooled, np.frombuffer(row[1], np.float16).astype(np.float32).reshape(-1, len(pooled))

    def _compute(self, kind: bytes, missing: dict[bytes, str], *, tokens: bool) -> dict[bytes, Row]:
        texts = list(missing.values())
        if kind == QUERY:
            made = self._real.embed_query(texts[0], tokens=tokens)
        else:
            made = self._real.embed_passages(texts, tokens=tokens)
        self.computed += len(texts)
        rows = dict(zip(missing, zip(made.pooled, made.tokens or [None] * len(texts), strict=True), strict=True))
        # Tokens in half precision: an index packs them far smaller.
        kept = [
            (key, pooled.tobytes(), None if it is None else it.astype(np.float16).tobytes())
            for key, (pooled, it) in rows.items()
        ]
        with self._kept:
            self._kept.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?, ?)", kept)
        return rows

    def _joined(self, rows: Sequence[Row], *, tokens: bool) -> Passages:
        if not rows:
            return Passages(np.zeros((0, self.info.dimension), np.float32), () if tokens else None)
        pooled = np.stack([row for row, _ in rows])
        given = [it for _, it in rows if it is not None]
        if not tokens or len(given) < len(rows):
            return Passages(pooled)
        return Passages(pooled, tuple(given))

    def close(self) -> None:
        """Release the file."""
        self._kept.close()


class DrawnEmbedder(KeptEmbedder):
    """The same for questions; passages are asked anew each time, of an embedder that draws their vectors."""

    def embed_passages(self, texts: Sequence[str], *, tokens: bool = False) -> Passages:
        """As they are drawn."""
        return self._real.embed_passages(texts, tokens=tokens)


def _key(kind: bytes, text: str) -> bytes:
    return blake2b(kind + text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
