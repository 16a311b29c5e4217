"""The package's own cross-encoder: reads question and passage together, in English and Japanese, with no download.

Two sizes share one vocabulary and its word vectors: `small` (4 layers) and `base` (12 layers). For every pair a model
gives two numbers: how well the passage fits, and whether it holds the answer. Both become probabilities by a
calibration per language that is kept beside the weights. How it was made: docs/model_card.md and training/.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hybridrag.errors import DeadlineExceeded, ModelUnavailable
from hybridrag.models.clean_text import replace_halves
from hybridrag.models.e5_weights import BLOCK, BLOCK_BYTES, unpack_blocks
from hybridrag.models.run_onnx import open_session
from hybridrag.models.unigram import UnigramTokenizer
from hybridrag.models.unit_vectors import map_threads, usable_threads
from hybridrag.protocols import Candidate, Judgement, Question, Reranking
from hybridrag.result import Err, Ok, Result
from hybridrag.types.base import Float32Array

Size = Literal["small", "base"]

FOLDER = Path(__file__).parent / "data" / "reranker"
WORDS_FILE = "words.q4"
CALIBRATION_FILE = "calibration.json"
REINSTALL = "Run: pip install --force-reinstall hybridrag"

INPUT, OUTPUT = "embeddings", "answers"
SPECIAL_TOKENS = 3
"""Start, the mark between question and passage, end: the first rows of the input."""
START_ID, END_ID, UNKNOWN_ID = 0, 2, 3
QUESTION_TOKENS = 64
PASSAGE_TOKENS = 256
"""What the model was trained on; chunks have up to 200 tokens and a title."""
QUESTION, PASSAGE = 0, 1
"""The two kinds of token."""
FIT, HOLDS = 0, 1
"""Places of the two answers."""
LANGUAGES = ("en", "ja")
REMEMBERED = 512
"""Pairs whose answers are kept, so that reranking and then judging the same results reads them once."""

_JAPANESE = re.compile(r"[\u3041-\u30ff\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True)
class Calibration:
    """What turns a model's answers into probabilities, for one language."""

    fit: tuple[float, float]
    """Slope and shift of the logistic curve from fit to "bears on the question"."""
    relevant: tuple[float, float, float]
    """Weights of fit and of holding the answer, and a shift: "this passage answers"."""
    sufficient: tuple[float, float, float]
    """Weights of the best and of the mean of the three best such logits, and a shift: "the answer is among them"."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A loaded model: ids of question and passage in, its two answers out."""

    session: Any
    tokenizer: UnigramTokenizer
    words: NDArray[np.uint8]
    places: Float32Array
    """(2, positions, hidden): what is added to a token of the question, and of the passage."""
    calibrations: Mapping[str, Calibration]

    def answers(self, question: list[int], passage: list[int]) -> tuple[float, float]:
        """Fit, and the logit of holding the answer."""
        middle, end = len(question) + 1, len(question) + len(passage) + 2
        rows = self.words[[START_ID, END_ID, END_ID, *question, *passage]]
        embedded = unpack_blocks(rows.reshape(-1, BLOCK_BYTES)).reshape(len(rows), -1)
        # The two marks are moved to the front and keep their positions: attention does not look at the order of rows.
        kinds = [QUESTION, QUESTION, PASSAGE, *[QUESTION] * len(question), *[PASSAGE] * len(passage)]
        embedded += self.places[kinds, [0, middle, end, *range(1, middle), *range(middle + 1, end)]]
        fit, holds = self.session.run(None, {INPUT: embedded[None]})[0][0].tolist()
        return fit, holds


@dataclass
class OwnReranker:
    """A `Reranker` and a `Judge` that needs no service, no key and no download. Calls are thread-safe.

    OwnReranker().rerank(Question("首都は？"), [Candidate("1", "東京は日本の首都である。", 0.5)]) -> Ok(scores=(.98,))

    Candidates are read in their order, several at once; when `timeout` passes, those not read have no score, and if
    none was read it is an `Err`. A passage is read up to its first 256 tokens, its title and headings before it.
    """

    size: Size = "small"
    threads: int = 0
    """How many passages are read at once; 0 means one on every core."""
    folder: Path = FOLDER
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _known: OrderedDict[tuple[str, str], tuple[float, float]] = field(default_factory=OrderedDict, repr=False)

    @property
    def name(self) -> str:
        """What the trace calls it: `own-small` or `own-base`."""
        return f"own-{self.size}"

    def prepare(self) -> None:
        """Open the model now instead of with the first question.

        Raises:
            ModelUnavailable: its files are missing or damaged.
        """
        with self._lock:
            self._engine  # noqa: B018 (a cached property that loads)

    def rerank(
        self, question: Question, candidates: Sequence[Candidate], *, timeout: float | None = None
    ) -> Result[Reranking]:
        """The probability that each candidate bears on the question."""
        answers = self._read(question.text, candidates, timeout)
        if isinstance(answers, Err):
            return answers
        slope, shift = self._calibration(question.text).fit if candidates else (1.0, 0.0)
        scores = [None if answer is None else _logistic(slope * answer[FIT] + shift) for answer in answers.value]
        return Ok(Reranking(scores=tuple(scores), model=self.name))

    def judge(
        self, question: Question, candidates: Sequence[Candidate], *, timeout: float | None = None
    ) -> Result[Judgement]:
        """Which candidates answer the question, and whether its answer is among them.

        A candidate for which there was no time counts as not answering.
        """
        if not candidates:
            return Ok(Judgement(relevance=(), sufficient=0.0))
        answers = self._read(question.text, candidates, timeout)
        if isinstance(answers, Err):
            return answers
        by_fit, by_holding, shift = self._calibration(question.text).relevant
        logits = [by_fit * a[FIT] + by_holding * a[HOLDS] + shift if a else -np.inf for a in answers.value]
        best = sorted((logit for logit in logits if logit > -np.inf), reverse=True)[:3]
        top, mean, bias = self._calibration(question.text).sufficient
        sufficient = _logistic(top * best[0] + mean * sum(best) / len(best) + bias)
        relevance = tuple(_logistic(logit) for logit in logits)
        return Ok(Judgement(relevance=relevance, sufficient=sufficient, reasons={"best_passage": max(relevance)}))

    def read(
        self, question: Question, candidates: Sequence[Candidate], timeout: float | None = None
    ) -> Result[list[tuple[float, float] | None]]:
        """The model's own two numbers for each candidate, before calibration; None for one that was not read."""
        return self._read(question.text, candidates, timeout)

    def logits(self, question: str, passages: Sequence[str]) -> list[tuple[float, float]]:
        """The model's own two numbers for each passage, before calibration.

        Raises:
            ModelUnavailable: its files are missing or damaged.
        """
        candidates = [Candidate(id=str(place), text=text, score=0.0) for place, text in enumerate(passages)]
        return [answer for answer in self._read(question, candidates, None).unwrap() if answer is not None]

    def _read(
        self, question: str, candidates: Sequence[Candidate], timeout: float | None
    ) -> Result[list[tuple[float, float] | None]]:
        if not candidates:
            return Ok([])
        until = None if timeout is None else time.monotonic() + timeout
        try:
            self.prepare()
            asked = self._engine.tokenizer.ids(replace_halves(question), limit=QUESTION_TOKENS)

            def read(candidate: Candidate) -> tuple[float, float] | None:
                late = until is not None and time.monotonic() >= until
                return None if late else self._answers(question, asked, passage_text(candidate))

            found = map_threads(read, candidates, threads=usable_threads(self.threads))
        except ModelUnavailable as error:
            return Err(error)
        if timeout is not None and all(answer is None for answer in found):
            return Err(DeadlineExceeded(f"Reading passages with {self.name}", seconds=timeout))
        return Ok(found)

    def _answers(self, question: str, asked: list[int], passage: str) -> tuple[float, float]:
        key = (question, passage)
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        told = self._engine.tokenizer.ids(replace_halves(passage), limit=PASSAGE_TOKENS)
        found = self._engine.answers(asked, told)
        with self._lock:
            self._known[key] = found
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return found

    def _calibration(self, question: str) -> Calibration:
        return self._engine.calibrations["ja" if _JAPANESE.search(question) else "en"]

    @cached_property
    def _engine(self) -> Engine:
        return open_engine(self.folder, self.size)


def passage_text(candidate: Candidate) -> str:
    """Title and headings, each once and on their own lines, then the text: what it is about, then what it says.

    title "Vue", text "It is small." -> "Vue", line break, "It is small."
    """
    opening = candidate.text.lstrip("# ")
    path = [part for part in (candidate.title, *candidate.headings) if part and not opening.startswith(part)]
    return "\n".join([*dict.fromkeys(path), candidate.text])


def _logistic(logit: float) -> float:
    return float(1 / (1 + np.exp(-np.clip(logit, -60, 60))))


def open_engine(folder: Path, size: str, *, calibrated: bool = True) -> Engine:
    """Open one size; `calibrated=False` is for making the calibration.

    Raises:
        ModelUnavailable: a file is missing or damaged.
    """
    name = f"own-{size}"
    try:
        places = np.load(folder / f"{size}.places.npy", allow_pickle=False).astype(np.float32)
        row_bytes = places.shape[-1] // BLOCK * BLOCK_BYTES
        return Engine(
            session=open_session(folder / f"{size}.onnx", model=name),
            tokenizer=UnigramTokenizer.load(folder, unknown_id=UNKNOWN_ID),
            words=np.memmap(folder / WORDS_FILE, dtype=np.uint8, mode="r").reshape(-1, row_bytes),
            places=places,
            calibrations=_read_calibrations(folder / CALIBRATION_FILE, size) if calibrated else {},
        )
    except (OSError, ValueError, KeyError, TypeError) as cause:
        raise ModelUnavailable(name, f"its files in {folder} are missing or damaged", hint=REINSTALL) from cause


def _read_calibrations(path: Path, size: str) -> dict[str, Calibration]:
    """By language; both must be there."""
    found = json.loads(path.read_text(encoding="utf-8"))[size]
    return {lang: _calibration_of(found[lang]) for lang in LANGUAGES}


def _calibration_of(curves: Mapping[str, Sequence[float]]) -> Calibration:
    slope, shift = curves["fit"]
    by_fit, by_holding, relevant = curves["relevant"]
    best, mean, sufficient = curves["sufficient"]
    return Calibration((slope, shift), (by_fit, by_holding, relevant), (best, mean, sufficient))
