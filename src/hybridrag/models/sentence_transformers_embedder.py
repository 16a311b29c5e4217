"""Any model of the sentence-transformers library, which brings torch: the widest choice, the largest install."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hybridrag.errors import ModelUnavailable
from hybridrag.models.approximate_tokens import approximate_spans
from hybridrag.models.clean_text import replace_halves
from hybridrag.models.prefixes import Prefixes, prefixes_of
from hybridrag.models.unit_vectors import to_unit
from hybridrag.protocols import ModelInfo, Passages

INSTALL = "Run: pip install 'hybridrag[sentence-transformers]'"
DEFAULT_MAX_TOKENS = 512


class SentenceEncoder(Protocol):
    """What is used of a `sentence_transformers.SentenceTransformer`; any object with these will do."""

    max_seq_length: int | None
    prompts: dict[str, str]
    tokenizer: Any

    def encode(self, sentences: Sequence[str], /, **options: Any) -> Any:
        """One vector per sentence."""
        ...


class SentenceTransformersEmbedder:
    """A model by its name, loaded on first use; or an encoder that the caller has loaded.

    SentenceTransformersEmbedder("BAAI/bge-m3").embed_query("hello").pooled.shape -> (1, 1024)

    It gives no token vectors.

    Raises:
        ModelUnavailable: the library is not installed, or cannot load the model.
    """

    def __init__(
        self,
        name: str,
        *,
        encoder: SentenceEncoder | None = None,
        cache_dir: Path | None = None,
        batch_size: int = 32,
    ) -> None:
        self._name = name
        self._encoder = encoder
        self._cache_dir = cache_dir
        self._batch_size = batch_size
        # Its tokenizers are set up anew on each call, which two threads must not do at once.
        self._lock = threading.Lock()

    @cached_property
    def info(self) -> ModelInfo:
        """Which model this is; loads it, since nothing else knows its dimension."""
        encoder = self._load()
        dimension = self._encode([""], "").shape[1]
        prefixes = self._prefixes
        said = f"{self._name}\0{_commit(encoder)}\0{prefixes.query}\0{prefixes.passage}\0{dimension}"
        digest = hashlib.sha256(said.encode()).hexdigest()[:16]
        return ModelInfo(self._name, f"st-{digest}", dimension, self._max_tokens(encoder))

    def embed_passages(self, texts: Sequence[str], *, tokens: bool = False) -> Passages:  # noqa: ARG002 (none given)
        """Embed texts to be found."""
        if not texts:
            return Passages(np.zeros((0, self.info.dimension), dtype=np.float32))
        return Passages(self._encode(texts, self._prefixes.passage))

    def embed_query(self, text: str, *, tokens: bool = False) -> Passages:  # noqa: ARG002 (none given)
        """Embed one question."""
        return Passages(self._encode([text], self._prefixes.query))

    def token_spans(self, text: str) -> NDArray[np.int32]:
        """(n, 2) character offsets of the tokens in `text`; estimated where the tokenizer cannot tell."""
        tokenizer = self._load().tokenizer
        if not getattr(tokenizer, "is_fast", False):
            return approximate_spans(text)
        with self._lock:
            encoded = tokenizer(
                replace_halves(text),
                add_special_tokens=False,
                return_offsets_mapping=True,
                truncation=False,
                verbose=False,
            )
        return np.asarray(encoded["offset_mapping"], dtype=np.int32).reshape(-1, 2)

    @cached_property
    def _prefixes(self) -> Prefixes:
        prompts = self._load().prompts or {}
        query, passage = prompts.get("query") or "", prompts.get("document") or prompts.get("passage") or ""
        return Prefixes(query, passage) if query or passage else prefixes_of(self._name)

    def _encode(self, texts: Sequence[str], prefix: str) -> NDArray[np.float32]:
        encoder = self._load()
        with self._lock:
            vectors = encoder.encode(
                [prefix + replace_halves(text) for text in texts],
                # An empty prompt keeps the model's default prompt from being added to ours.
                prompt="",
                batch_size=self._batch_size,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        return to_unit(np.asarray(vectors, dtype=np.float32))

    def _max_tokens(self, encoder: SentenceEncoder) -> int:
        total = encoder.max_seq_length or DEFAULT_MAX_TOKENS
        tokenizer = encoder.tokenizer
        specials = tokenizer.num_special_tokens_to_add() if getattr(tokenizer, "is_fast", False) else 2
        return max(1, total - specials - len(self.token_spans(self._prefixes.passage)))

    def _load(self) -> SentenceEncoder:
        with self._lock:
            if self._encoder is None:
                self._encoder = _load_encoder(self._name, self._cache_dir)
            return self._encoder


def _load_encoder(name: str, cache_dir: Path | None) -> SentenceEncoder:
    try:
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415 (optional, and takes seconds)
    except ImportError as cause:
        raise ModelUnavailable(name, "the package sentence-transformers is not installed", hint=INSTALL) from cause
    load: Callable[..., SentenceEncoder] = SentenceTransformer
    try:
        return load(name, device=None, cache_folder=None if cache_dir is None else str(cache_dir / "huggingface"))
    except Exception as cause:  # the library passes on errors of torch, transformers and the hub
        raise ModelUnavailable(
            name,
            f"sentence-transformers cannot load it ({type(cause).__name__})",
            hint="Check `embedding.model` and, for the first download, the connection.",
        ) from cause


def _commit(encoder: SentenceEncoder) -> str:
    """The revision that was loaded, where the library says it."""
    module = encoder[0] if hasattr(encoder, "__getitem__") else None
    config = getattr(getattr(module, "auto_model", None), "config", None)
    return str(getattr(config, "_commit_hash", None) or "")
