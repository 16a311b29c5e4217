"""Any sentence-embedding model with an ONNX file, from Hugging Face or a folder, on onnxruntime."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hybridrag.errors import ModelUnavailable
from hybridrag.models.clean_text import replace_halves
from hybridrag.models.run_onnx import open_session, open_tokenizer
from hybridrag.models.sentence_model import SentenceModel, read_sentence_model
from hybridrag.models.unit_vectors import map_threads, to_unit, usable_threads
from hybridrag.protocols import ModelInfo, Passages
from hybridrag.types.base import Float32Array

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

_INPUT_TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}


class OnnxEmbedder:
    """A model from the folder that `find_folder` gives; it is asked, and may download, on first use.

    OnnxEmbedder("my-model", find_folder=lambda: Path("models/my-model")).embed_query("hello").pooled.shape -> (1, n)

    Raises:
        ModelUnavailable: the folder, or a part of it, cannot be had or opened.
    """

    def __init__(self, name: str, *, find_folder: Callable[[], Path], threads: int = 0) -> None:
        self._name = name
        self._find_folder = find_folder
        self._threads = usable_threads(threads)
        self._lock = threading.Lock()
        self._loaded: _Engine | None = None

    @cached_property
    def model(self) -> SentenceModel:
        """What the folder says about the model."""
        return read_sentence_model(self._find_folder(), name=self._name)

    @cached_property
    def info(self) -> ModelInfo:
        """Which model this is; opens the tokenizer, not the weights."""
        model = self.model
        room = model.max_tokens - self._engine().specials - self._engine().prefix_tokens(model.prefixes.passage)
        return ModelInfo(model.name, model.fingerprint, model.dimension, max(1, room))

    def embed_passages(self, texts: Sequence[str], *, tokens: bool = False) -> Passages:
        """Embed texts to be found; token vectors are given where the graph returns them."""
        if not texts:
            return Passages(np.zeros((0, self.model.dimension), dtype=np.float32), () if tokens else None)
        return self._embed(texts, self.model.prefixes.passage, tokens=tokens)

    def embed_query(self, text: str, *, tokens: bool = False) -> Passages:
        """Embed one question."""
        return self._embed([text], self.model.prefixes.query, tokens=tokens)

    def token_spans(self, text: str) -> NDArray[np.int32]:
        """(n, 2) character offsets of the tokens in `text`."""
        offsets = self._engine().encode(text).offsets
        return np.asarray(offsets, dtype=np.int32).reshape(-1, 2)

    def _embed(self, texts: Sequence[str], prefix: str, *, tokens: bool) -> Passages:
        engine = self._engine()
        # Cut as passages are, so that a question of the same words has as many tokens.
        limit = self.info.max_tokens
        done = map_threads(lambda text: engine.embed(prefix, text, limit), texts, threads=self._threads)
        pooled = to_unit(np.stack([vector for vector, _ in done]))
        matrices = tuple(to_unit(matrix) for _, matrix in done if matrix is not None)
        return Passages(pooled, matrices if tokens and len(matrices) == len(texts) else None)

    def _engine(self) -> _Engine:
        model = self.model
        with self._lock:
            if self._loaded is None:
                self._loaded = _Engine(model, open_tokenizer(model.tokenizer, model=model.name))
            return self._loaded


@dataclass
class _Engine:
    """A tokenizer, and the session once it is needed."""

    model: SentenceModel
    tokenizer: Tokenizer

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._session: Any = None

    @property
    def specials(self) -> int:
        """How many special tokens are put around a text."""
        return int(self.tokenizer.num_special_tokens_to_add(False))

    def prefix_tokens(self, prefix: str) -> int:
        """How many tokens a prefix takes."""
        return len(self.encode(prefix).ids) if prefix else 0

    def encode(self, text: str) -> Encoding:
        """The text's own tokens."""
        return self.tokenizer.encode(replace_halves(text), add_special_tokens=False)

    def embed(self, prefix: str, text: str, limit: int) -> tuple[Float32Array, Float32Array | None]:
        """The pooled vector, and the vectors of the text's own tokens."""
        encoding = self.encode(prefix + text)
        is_content = [end > len(prefix) for _, end in encoding.offsets]
        before = is_content.index(True) if True in is_content else len(is_content)
        encoding.truncate(min(before + limit, self.model.max_tokens - self.specials))
        whole = self.tokenizer.post_process(encoding)
        outputs = self.session.run(None, self._inputs(whole))
        vectors = next((output[0] for output in outputs if output.ndim == 3), None)
        if vectors is None:
            return outputs[0][0].astype(np.float32), None
        vectors = vectors.astype(np.float32)
        own = [
            row
            for row, (special, (_, end)) in enumerate(zip(whole.special_tokens_mask, whole.offsets, strict=True))
            if not special and end > len(prefix)
        ]
        return _pool(vectors, self.model.pooling), vectors[own]

    @property
    def session(self) -> Any:
        """The open model."""
        with self._lock:
            if self._session is None:
                self._session = open_session(self.model.onnx, model=self.model.name, optimise=True)
            return self._session

    def _inputs(self, encoding: Encoding) -> dict[str, NDArray[Any]]:
        """Only what the graph asks for, in the type it asks for."""
        given = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
            "position_ids": range(len(encoding.ids)),
        }
        wanted = self.session.get_inputs()
        unknown = next((wish.name for wish in wanted if wish.name not in given), None)
        if unknown is not None:
            raise ModelUnavailable(self.model.name, f"its ONNX file asks for an input {unknown!r} that a text has not")
        return {
            wish.name: np.asarray([list(given[wish.name])], dtype=_INPUT_TYPES.get(wish.type, np.int64))
            for wish in wanted
        }


def _pool(vectors: Float32Array, pooling: str) -> Float32Array:
    poolings: dict[str, Callable[[], Float32Array]] = {
        "cls": lambda: vectors[0],
        "lasttoken": lambda: vectors[-1],
        "max": lambda: vectors.max(axis=0),
        "mean": lambda: vectors.mean(axis=0),
    }
    return poolings[pooling]()
