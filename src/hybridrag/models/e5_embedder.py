"""multilingual-e5-small on onnxruntime, as it is or taught to cross words and languages: no download, no torch, no key.

The taught one is the default. It shares word vectors and tokenizer with the other; its layers lie in this package. How
it was made: docs/model_card.md and training/.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridrag.errors import ModelUnavailable
from hybridrag.models.e5_onnx import INPUT, SPECIAL_TOKENS
from hybridrag.models.e5_prepare import (
    ENCODER_FILE,
    POSITIONS_FILE,
    WORDS_FILE,
    PreparedModel,
    find_prepared_model,
    fingerprint_of,
    prepare_default_model,
)
from hybridrag.models.e5_weights import BLOCK, BLOCK_BYTES, MODEL, digest_weights, find_package_weights, unpack_blocks
from hybridrag.models.prefixes import prefixes_of
from hybridrag.models.progress import Progress
from hybridrag.models.run_onnx import open_session
from hybridrag.models.unigram import UnigramTokenizer
from hybridrag.models.unit_vectors import map_threads, to_unit, usable_threads
from hybridrag.protocols import ModelInfo, Passages
from hybridrag.types.base import Float32Array

TAUGHT = "hybridrag-e5-small"
"""What the settings call the taught model."""
TAUGHT_FOLDER = Path(__file__).parent / "data" / "embedder"
TAUGHT_INFO = "info.json"
DIMENSION = 384
POSITIONS = 512
PREFIX_TOKENS = 3
"""`query: ` is three tokens, `passage: ` two; both leave the same room."""
MAX_TOKENS = POSITIONS - SPECIAL_TOKENS - PREFIX_TOKENS
PREFIXES = prefixes_of(MODEL)


class E5Embedder:
    """multilingual-e5-small from a prepared folder, made on first use.

    E5Embedder(cache_dir).embed_query("東京の人口は？").pooled.shape -> (1, 384)

    Each text runs alone on one thread and several at once: no padding is computed, and a text's vector cannot depend
    on its neighbours, as it would when a batch shares the range of its 8 bits. Batches measured no faster.

    Raises:
        ModelUnavailable: the weights are not installed, or cannot be prepared or loaded.
    """

    def __init__(
        self, cache_dir: Path, *, model: str = TAUGHT, threads: int = 0, on_progress: Progress | None = None
    ) -> None:
        self._cache_dir = cache_dir
        self._model = model
        self._threads = usable_threads(threads)
        self._on_progress = on_progress
        self._lock = threading.Lock()
        self._loaded: _Engine | None = None

    @cached_property
    def info(self) -> ModelInfo:
        """Which model this is; prepares nothing and loads nothing."""
        prepared = find_prepared_model(self._cache_dir)
        if prepared is not None:
            fingerprint = prepared.fingerprint
        else:
            source = find_package_weights()
            # Without weights, preparing says what is missing.
            digest = digest_weights(source) if source else prepare_default_model(self._cache_dir).digest
            fingerprint = fingerprint_of(digest)
        if self._model == TAUGHT:
            fingerprint = f"{fingerprint}-{taught_info()['digest']}"
        return ModelInfo(self._model, fingerprint, DIMENSION, MAX_TOKENS)

    def embed_passages(self, texts: Sequence[str], *, tokens: bool = False) -> Passages:
        """Embed texts to be found."""
        if not texts:
            return Passages(np.zeros((0, DIMENSION), dtype=np.float32), () if tokens else None)
        return self._embed(texts, PREFIXES.passage, tokens=tokens)

    def embed_query(self, text: str, *, tokens: bool = False) -> Passages:
        """Embed one question."""
        return self._embed([text], PREFIXES.query, tokens=tokens)

    def token_spans(self, text: str) -> NDArray[np.int32]:
        """(n, 2) character offsets of the tokens in `text`."""
        return self._engine().tokenizer.spans(text)

    def _embed(self, texts: Sequence[str], prefix: str, *, tokens: bool) -> Passages:
        engine = self._engine()
        prefix_ids = engine.tokenizer.ids(prefix)

        def embed(text: str) -> tuple[Float32Array, Float32Array | None]:
            vectors = engine.token_vectors(prefix_ids, engine.tokenizer.ids(text, limit=MAX_TOKENS))
            content = to_unit(vectors[SPECIAL_TOKENS + len(prefix_ids) :]) if tokens else None
            return vectors.mean(axis=0), content

        done = map_threads(embed, texts, threads=self._threads)
        pooled = to_unit(np.stack([mean for mean, _ in done]))
        return Passages(pooled, tuple(content for _, content in done if content is not None) if tokens else None)

    def _engine(self) -> _Engine:
        with self._lock:
            if self._loaded is None:
                prepared = prepare_default_model(self._cache_dir, self._on_progress)
                self._loaded = _load(prepared, TAUGHT_FOLDER if self._model == TAUGHT else prepared.folder, self._model)
            return self._loaded


@dataclass(frozen=True, slots=True)
class _Engine:
    """A loaded model."""

    session: Any
    tokenizer: UnigramTokenizer
    words: NDArray[np.uint8]
    positions: Float32Array
    start_id: int
    end_id: int

    def token_vectors(self, prefix_ids: list[int], ids: list[int]) -> Float32Array:
        """(tokens, dimension): start, end, prefix, then the text's own tokens."""
        length = SPECIAL_TOKENS + len(prefix_ids) + len(ids)
        rows = self.words[[self.start_id, self.end_id, *prefix_ids, *ids]]
        embedded = unpack_blocks(rows.reshape(-1, BLOCK_BYTES)).reshape(length, -1)
        # The end mark is moved to the second row, and keeps the last position.
        embedded += self.positions[[0, length - 1, *range(1, length - 1)]]
        vectors: Float32Array = self.session.run(None, {INPUT: embedded[None]})[0][0]
        return vectors


def taught_info() -> dict[str, Any]:
    """What `training.export_embedder` noted of the taught layers.

    Raises:
        ModelUnavailable: a file of the package is missing or damaged.
    """
    try:
        found: dict[str, Any] = json.loads((TAUGHT_FOLDER / TAUGHT_INFO).read_text(encoding="utf-8"))
    except (OSError, ValueError) as cause:
        hint = "Run: pip install --force-reinstall hybridrag"
        raise ModelUnavailable(TAUGHT, f"its files in {TAUGHT_FOLDER} are missing or damaged", hint=hint) from cause
    return found


def _load(prepared: PreparedModel, layers: Path, model: str) -> _Engine:
    """Words and tokenizer from the prepared folder, positions and encoder from the folder of the layers."""
    shape, folder = prepared.shape, prepared.folder
    try:
        row_bytes = shape.hidden // BLOCK * BLOCK_BYTES
        words = np.memmap(folder / WORDS_FILE, dtype=np.uint8, mode="r").reshape(-1, row_bytes)
        positions = np.load(layers / POSITIONS_FILE, allow_pickle=False).astype(np.float32)
        tokenizer = UnigramTokenizer.load(folder, unknown_id=shape.unknown_id)
        session = open_session(layers / ENCODER_FILE, model=model)
    except (OSError, ValueError) as cause:
        raise ModelUnavailable(
            model, f"its prepared folder is damaged ({cause})", hint=f"Delete {folder}; it is made again."
        ) from cause
    return _Engine(session, tokenizer, words, positions, shape.start_id, shape.end_id)
