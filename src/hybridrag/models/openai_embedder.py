"""Embeddings of any service that speaks OpenAI's `/embeddings`: OpenAI, Ollama, vLLM, LM Studio, llama.cpp, TEI."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridrag.errors import ProviderError
from hybridrag.models.approximate_tokens import approximate_spans, cut_text
from hybridrag.models.clean_text import replace_halves
from hybridrag.models.json_service import JsonService, Patience
from hybridrag.models.prefixes import prefixes_of
from hybridrag.models.unit_vectors import map_threads, to_unit
from hybridrag.protocols import ModelInfo, Passages
from hybridrag.types.base import Float32Array

OPENAI = "https://api.openai.com/v1"
PATH = "/embeddings"
MAX_TOKENS = 8000
"""OpenAI's limit is 8191; the tokens are estimated."""
MAX_BATCH_CHARS = 100_000
"""OpenAI takes 300,000 tokens a request, and Japanese may have more than one token a character."""
PARALLEL_REQUESTS = 4
"""A service far away is mostly waited for."""
EMPTY_STANDS_FOR = "."
"""Services refuse an empty text."""
KNOWN_DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
"""Spares one request when only `info` is asked for."""
TOO_LARGE = 413


class OpenAIEmbedder:
    """A model behind an OpenAI-compatible service; it gives no token vectors, and token places are estimated.

    OpenAIEmbedder("bge-m3", base_url="http://localhost:11434/v1").embed_query("hello").pooled.shape -> (1, 1024)

    Raises:
        ProviderError: refused, unreachable, too slow after every retry, or a wrong answer.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        dimensions: int | None = None,
        batch_size: int = 32,
        max_batch_chars: int = MAX_BATCH_CHARS,
        max_tokens: int = MAX_TOKENS,
        patience: Patience | None = None,
        requests_per_minute: int = 0,
    ) -> None:
        self._model = model
        self._dimensions = dimensions
        self._batch_size = batch_size
        self._max_batch_chars = max_batch_chars
        self._max_tokens = max_tokens
        self._prefixes = prefixes_of(model)
        self._service = JsonService(
            (base_url or OPENAI).rstrip("/").removesuffix(PATH),
            api_key=api_key,
            key_setting="embedding.api_key",
            patience=patience,
            requests_per_minute=requests_per_minute,
        )

    @cached_property
    def info(self) -> ModelInfo:
        """Which model this is; asks the service for one vector where nothing else says their length."""
        known = self._dimensions or KNOWN_DIMENSIONS.get(self._model)
        dimension = known or self._request([EMPTY_STANDS_FOR]).shape[1]
        said = f"{self._model}\0{dimension}\0{self._prefixes.query}\0{self._prefixes.passage}"
        fingerprint = f"openai-{hashlib.sha256(said.encode()).hexdigest()[:16]}"
        return ModelInfo(self._model, fingerprint, dimension, self._max_tokens)

    def embed_passages(self, texts: Sequence[str], *, tokens: bool = False) -> Passages:  # noqa: ARG002 (none given)
        """Embed texts to be found, as many a request as the limits allow."""
        if not texts:
            return Passages(np.zeros((0, self.info.dimension), dtype=np.float32))
        return Passages(self._embed([self._prepare(text, self._prefixes.passage) for text in texts]))

    def embed_query(self, text: str, *, tokens: bool = False) -> Passages:  # noqa: ARG002 (none given)
        """Embed one question."""
        return Passages(self._embed([self._prepare(text, self._prefixes.query)]))

    def token_spans(self, text: str) -> NDArray[np.int32]:
        """(n, 2) character offsets, estimated: services do not tell."""
        return approximate_spans(text)

    def close(self) -> None:
        """Drop open connections."""
        self._service.close()

    def _prepare(self, text: str, prefix: str) -> str:
        return (prefix + cut_text(replace_halves(text), self._max_tokens)).strip() or EMPTY_STANDS_FOR

    def _embed(self, inputs: list[str]) -> Float32Array:
        batches = list(self._batches(inputs))
        vectors = np.concatenate(map_threads(self._request_halved, batches, threads=PARALLEL_REQUESTS))
        expected = self.info.dimension
        if vectors.shape[1] != expected:
            raise self._wrong(
                f"it gave vectors of length {vectors.shape[1]} where {expected} was expected",
                hint="Check `embedding.model` and `embedding.dimensions`.",
            )
        return to_unit(vectors)

    def _batches(self, inputs: list[str]) -> Iterator[list[str]]:
        batch: list[str] = []
        size = 0
        for text in inputs:
            if batch and (len(batch) >= self._batch_size or size + len(text) > self._max_batch_chars):
                yield batch
                batch, size = [], 0
            batch.append(text)
            size += len(text)
        if batch:
            yield batch

    def _request_halved(self, batch: list[str]) -> Float32Array:
        """A batch that the service calls too large is asked for in halves."""
        try:
            return self._request(batch)
        except ProviderError as error:
            if error.status != TOO_LARGE or len(batch) == 1:
                raise
        half = len(batch) // 2
        return np.concatenate([self._request_halved(batch[:half]), self._request_halved(batch[half:])])

    def _request(self, batch: list[str]) -> Float32Array:
        body: dict[str, Any] = {"model": self._model, "input": batch}
        if self._dimensions is not None:
            body["dimensions"] = self._dimensions
        return self._vectors(self._service.post(PATH, body), len(batch))

    def _vectors(self, answer: Any, count: int) -> Float32Array:
        """The vectors in the order of the texts, whatever the order of the answer."""
        items = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise self._wrong("its answer holds no list `data`", hint="Check `embedding.base_url`.")
        if len(items) != count:
            raise self._wrong(f"it gave {len(items)} vectors for {count} texts")
        places = [item.get("index", place) for place, item in enumerate(items)]
        if sorted(place for place in places if type(place) is int) != list(range(count)):
            raise self._wrong("its vectors are not numbered 0, 1, 2, ...")
        vectors = [
            self._vector(item.get("embedding")) for _, item in sorted(zip(places, items, strict=True), key=_first)
        ]
        if len({len(vector) for vector in vectors}) > 1:
            raise self._wrong("its vectors differ in length")
        return np.stack(vectors)

    def _vector(self, value: Any) -> Float32Array:
        if not isinstance(value, list | str):
            raise self._wrong("one of its vectors is not a list of numbers")
        try:
            # Some services answer in base64, as OpenAI does when asked to.
            raw = np.frombuffer(base64.b64decode(value, validate=True), "<f4") if isinstance(value, str) else value
            vector = np.asarray(raw, dtype=np.float32)
        except (ValueError, TypeError, OverflowError, binascii.Error) as cause:
            raise self._wrong("one of its vectors is not a list of numbers") from cause
        if vector.ndim != 1 or vector.size == 0 or not np.isfinite(vector).all() or not vector.any():
            raise self._wrong("one of its vectors is empty, zero or not finite")
        return vector

    def _wrong(self, reason: str, *, hint: str | None = None) -> ProviderError:
        return ProviderError(self._service.name, reason, hint=hint)


def _first(pair: tuple[int, Any]) -> int:
    return pair[0]
