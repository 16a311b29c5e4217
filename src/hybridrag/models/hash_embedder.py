"""A fake embedding model: no weights, no training, the same vectors on every machine. For tests and trials."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hybridrag.models.unit_vectors import to_unit
from hybridrag.protocols import ModelInfo, Passages
from hybridrag.types.base import Float32Array

_CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_TOKEN = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+|\S")
_NGRAM = 3
_WHOLE_WEIGHT = 2.0
"""A shared word says more than shared parts of words."""
_CACHED_FEATURES = 65_536
_ALGORITHM = 1
"""Raised when the same text would get another vector."""


class HashEmbedder:
    """Vectors from the words and letter groups of a text: texts that share words are near, others are not.

    HashEmbedder().embed_query("red apple") is nearer to "a red apple" than to "blue sky"
    """

    def __init__(self, *, dimension: int = 256, seed: int = 0, max_tokens: int = 512) -> None:
        self._seed = seed
        self._info = ModelInfo(
            name="fake",
            fingerprint=f"hash-{_ALGORITHM}-{dimension}-{seed}-{max_tokens}",
            dimension=dimension,
            max_tokens=max_tokens,
        )
        self._direction = lru_cache(maxsize=_CACHED_FEATURES)(self._hash_to_direction)

    @property
    def info(self) -> ModelInfo:
        """Which model this is."""
        return self._info

    def embed_passages(self, texts: Sequence[str], *, tokens: bool = False) -> Passages:
        """Embed texts; passages and questions are treated alike."""
        matrices = [self._token_vectors(text) for text in texts]
        pooled = np.zeros((len(texts), self._info.dimension), dtype=np.float32)
        for row, matrix in enumerate(matrices):
            # A text without words points somewhere too, so that every vector has length one.
            pooled[row] = matrix.sum(axis=0) if len(matrix) else self._direction("")
        return Passages(to_unit(pooled), tuple(matrices) if tokens else None)

    def embed_query(self, text: str, *, tokens: bool = False) -> Passages:
        """Embed one question."""
        return self.embed_passages([text], tokens=tokens)

    def token_spans(self, text: str) -> NDArray[np.int32]:
        """(n, 2) character offsets: words, single Japanese characters, single signs."""
        return np.asarray([match.span() for match in _TOKEN.finditer(text)], dtype=np.int32).reshape(-1, 2)

    def _token_vectors(self, text: str) -> Float32Array:
        words = _TOKEN.findall(text)[: self._info.max_tokens]
        matrix = np.zeros((len(words), self._info.dimension), dtype=np.float32)
        for row, word in enumerate(words):
            follower = words[row + 1] if row + 1 < len(words) else ""
            for feature, weight in _features(word, follower):
                matrix[row] += weight * self._direction(feature)
        return to_unit(matrix)

    def _hash_to_direction(self, feature: str) -> Float32Array:
        """±1 per dimension from a hash: two features are nearly at right angles."""
        key = f"{self._seed}:{feature}".encode("utf-8", "surrogatepass")
        bits = np.frombuffer(hashlib.shake_128(key).digest(self._info.dimension // 8 + 1), dtype=np.uint8)
        return np.unpackbits(bits)[: self._info.dimension].astype(np.float32) * 2 - 1


def _features(word: str, follower: str) -> Iterator[tuple[str, float]]:
    """What a token is known by: itself, and the letter groups in it or the character after it."""
    plain = unicodedata.normalize("NFKC", word).casefold()
    yield plain, _WHOLE_WEIGHT
    if len(plain) == 1:
        yield plain + unicodedata.normalize("NFKC", follower).casefold()[:1], 1.0
        return
    marked = f"<{plain}>"
    groups = len(marked) - _NGRAM + 1
    for start in range(groups):
        yield marked[start : start + _NGRAM], 1.0 / groups**0.5
