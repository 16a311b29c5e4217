"""Any cross-encoder with an ONNX file, from Hugging Face or a folder: it reads question and passage as one text."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hybridrag.errors import DeadlineExceeded, ModelUnavailable
from hybridrag.models.clean_text import replace_halves
from hybridrag.models.hf_download import find_model
from hybridrag.models.progress import Progress
from hybridrag.models.run_onnx import open_session, open_tokenizer
from hybridrag.models.sentence_model import CONFIG_FILE, TOKENIZER_FILE, choose_onnx, max_tokens_of, read_settings
from hybridrag.models.unit_vectors import map_threads, usable_threads
from hybridrag.protocols import Question, Reranking
from hybridrag.result import Err, Ok, Result
from hybridrag.types.base import Float32Array
from hybridrag.types.results import Hit

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

DEFAULT_MODEL = "cross-encoder/ms-marco-MiniLM-L-6-v2"
"""Small, and made for English; other languages need another one."""

BATCH_SIZE = 16
QUESTION_SHARE = 0.5
"""Of the model's room, what a question may take at most: a passage of which nothing is left cannot be judged."""

HINT = "Set `rerank.model` to the name of a cross-encoder with an ONNX file on Hugging Face, or to a folder with one."

_INPUT_TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}


class CrossEncoder:
    """A `Reranker` from the folder that `find_folder` gives; it is asked, and may download, on first use.

    CrossEncoder("my-model", find_folder=lambda: Path("models/my-model")).rerank(question, candidates)
    -> Ok(Reranking(scores=(.98, .02)))

    One label is read as a logit by the logistic function, of two the second one's share by softmax. Too long a
    passage is cut at its end. When `timeout` passes between two batches, what was scored stands and the rest, which
    are the candidates that came last, have None; if nothing was scored, it is an `Err`. Thread-safe.
    """

    def __init__(
        self, name: str, *, find_folder: Callable[[], Path], batch_size: int = BATCH_SIZE, threads: int = 0
    ) -> None:
        self._name = name
        self._find_folder = find_folder
        self._batch_size = batch_size
        self._threads = usable_threads(threads)
        self._lock = threading.Lock()
        self._loaded: _Engine | None = None

    @property
    def name(self) -> str:
        """What the trace calls it."""
        return self._name

    def prepare(self) -> None:
        """Download and open the model now instead of with the first question.

        Raises:
            ModelUnavailable: it cannot be had or opened.
        """
        self._engine()

    def rerank(
        self, question: Question, candidates: Sequence[Hit], *, timeout: float | None = None
    ) -> Result[Reranking]:
        """A score for each candidate that there was time for."""
        if not candidates:
            return Ok(Reranking(scores=(), model=self._name))
        began = time.monotonic()
        try:
            engine = self._engine()
            scores = self._score(engine, question.text, candidates, None if timeout is None else began + timeout)
        except ModelUnavailable as error:
            return Err(error)
        if timeout is not None and all(score is None for score in scores):
            return Err(DeadlineExceeded(f"Reranking with {self._name}", seconds=timeout))
        return Ok(Reranking(scores=tuple(scores), model=self._name))

    def _score(
        self, engine: _Engine, question: str, candidates: Sequence[Hit], deadline: float | None
    ) -> list[float | None]:
        asked = engine.encode_question(question)

        def score(batch: Sequence[Hit]) -> list[float | None]:
            if deadline is not None and time.monotonic() >= deadline:
                return [None] * len(batch)
            pairs = [engine.encode_pair(asked, _passage(candidate)) for candidate in batch]
            return list(engine.relevance(pairs).tolist())

        starts = range(0, len(candidates), self._batch_size)
        batches = [candidates[start : start + self._batch_size] for start in starts]
        return [value for part in map_threads(score, batches, threads=self._threads) for value in part]

    def _engine(self) -> _Engine:
        with self._lock:
            if self._loaded is None:
                self._loaded = _open(self._find_folder(), self._name)
            return self._loaded


def load_cross_encoder(
    model: str | None = None,
    *,
    cache_dir: Path,
    batch_size: int = BATCH_SIZE,
    threads: int = 0,
    on_progress: Progress | None = None,
    endpoint: str | None = None,
) -> CrossEncoder:
    """The cross-encoder of a folder or a Hugging Face name; nothing is loaded before it is used.

    load_cross_encoder("models/my-reranker", cache_dir=folder).name -> "my-reranker"
    """
    name = model or DEFAULT_MODEL
    folder = Path(name).expanduser()
    if folder.is_dir():
        return CrossEncoder(folder.resolve().name, find_folder=lambda: folder, batch_size=batch_size, threads=threads)

    def find_folder() -> Path:
        try:
            return find_model(name, cache_dir=cache_dir, on_progress=on_progress, endpoint=endpoint)
        except ModelUnavailable as error:
            if error.hint is None or "embedding" not in error.hint:
                raise
            # The same reason; but it is another setting that helps.
            raise ModelUnavailable(error.model, error.reason, hint=HINT) from error

    return CrossEncoder(name, find_folder=find_folder, batch_size=batch_size, threads=threads)


@dataclass(frozen=True, slots=True)
class _Engine:
    """A loaded model."""

    name: str
    session: Any
    tokenizer: Tokenizer
    max_tokens: int
    pad_id: int

    def encode_question(self, text: str) -> Encoding:
        """The question's own tokens, cut only where it would leave a passage too little room."""
        encoding = self.tokenizer.encode(replace_halves(text), add_special_tokens=False)
        encoding.truncate(max(1, int(QUESTION_SHARE * self.max_tokens)))
        return encoding

    def encode_pair(self, question: Encoding, passage: str) -> Encoding:
        """Question and passage as the model reads them; the passage is cut to the room that is left."""
        encoding = self.tokenizer.encode(replace_halves(passage), add_special_tokens=False)
        specials = self.tokenizer.num_special_tokens_to_add(True)
        encoding.truncate(max(1, self.max_tokens - specials - len(question.ids)))
        return self.tokenizer.post_process(question, encoding)

    def relevance(self, pairs: Sequence[Encoding]) -> Float32Array:
        """0-1 for each pair."""
        try:
            logits = np.asarray(self.session.run(None, self._inputs(pairs))[0], dtype=np.float32)
        except ModelUnavailable:
            raise
        except Exception as cause:  # onnxruntime raises a dozen kinds with no common base but Exception
            raise ModelUnavailable(self.name, "its ONNX file fails on a question and a passage", hint=HINT) from cause
        logits = logits.reshape(len(pairs), -1) if logits.size else logits
        if logits.ndim != 2 or logits.shape[1] not in {1, 2} or not np.isfinite(logits).all():
            raise ModelUnavailable(self.name, "it does not give one or two numbers for each passage", hint=HINT)
        # The softmax of two is the logistic function of their difference.
        margin = logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]
        return np.asarray(1 / (1 + np.exp(-np.clip(margin, -80, 80))), dtype=np.float32)

    def _inputs(self, pairs: Sequence[Encoding]) -> dict[str, NDArray[Any]]:
        """Only what the graph asks for, in the type it asks for, padded to the longest pair."""
        width = max(len(pair.ids) for pair in pairs)
        given: dict[str, tuple[Callable[[Encoding], Sequence[int]], int]] = {
            "input_ids": (lambda pair: pair.ids, self.pad_id),
            "attention_mask": (lambda pair: pair.attention_mask, 0),
            "token_type_ids": (lambda pair: pair.type_ids, 0),
            "position_ids": (lambda pair: range(len(pair.ids)), 0),
        }
        inputs = {}
        for wish in self.session.get_inputs():
            if wish.name not in given:
                raise ModelUnavailable(self.name, f"its ONNX file asks for an input {wish.name!r} that a text has not")
            read, padding = given[wish.name]
            rows = np.full((len(pairs), width), padding, dtype=_INPUT_TYPES.get(wish.type, np.int64))
            for row, pair in zip(rows, pairs, strict=True):
                values = read(pair)
                row[: len(values)] = values
            inputs[wish.name] = rows
        return inputs


def _passage(candidate: Hit) -> str:
    """Title and headings, each once, then the text: what the passage is about, then what it says."""
    opening = candidate.text.lstrip("# ")
    path = [part for part in (candidate.title, *candidate.headings) if part and not opening.startswith(part)]
    return "\n".join([*dict.fromkeys(path), candidate.text])


def _open(folder: Path, name: str) -> _Engine:
    onnx = choose_onnx(path.relative_to(folder).as_posix() for path in folder.rglob("*.onnx"))
    if onnx is None:
        raise ModelUnavailable(name, f"{folder} holds no ONNX file", hint=HINT)
    if not (folder / TOKENIZER_FILE).is_file():
        raise ModelUnavailable(name, f"{folder} holds no {TOKENIZER_FILE}", hint=HINT)
    config = read_settings(folder, CONFIG_FILE, name)
    pad_id = config.get("pad_token_id")
    return _Engine(
        name=name,
        session=open_session(folder / onnx, model=name, optimise=True),
        tokenizer=open_tokenizer(folder / TOKENIZER_FILE, model=name),
        max_tokens=max_tokens_of(folder, config, name),
        pad_id=pad_id if isinstance(pad_id, int) else 0,
    )
