"""The package's own cross-encoder: reads question and passage together, in English and Japanese, with no download.

Two sizes share one vocabulary and its word vectors: `small` (4 layers) and `base` (12 layers). For every pair a model
says how well the passage fits and whether it holds the answer; `base` also says where. Both become probabilities by
a calibration per language that is kept beside the weights. How it was made: docs/model_card.md and training/.
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
from hybridrag.language.lines import silent_lines
from hybridrag.models.clean_text import replace_halves
from hybridrag.models.e5_weights import BLOCK, BLOCK_BYTES, unpack_blocks
from hybridrag.models.run_onnx import open_session
from hybridrag.models.unigram import UnigramTokenizer
from hybridrag.models.unit_vectors import map_threads, usable_threads
from hybridrag.protocols import Question, Reading, Reranking
from hybridrag.result import Err, Ok, Result
from hybridrag.types.base import Float32Array
from hybridrag.types.results import Hit

Size = Literal["small", "base"]

FOLDER = Path(__file__).parent / "data" / "reranker"
WORDS_FILE = "words.q4"
CALIBRATION_FILE = "calibration.json"
REINSTALL = "Run: pip install --force-reinstall hybridrag"

INPUT, OUTPUT, SPANS = "embeddings", "answers", "spans"
SPECIAL_TOKENS = 3
"""Start, the mark between question and passage, end: the first rows of the input."""
START_ID, END_ID, UNKNOWN_ID = 0, 2, 3
QUESTION_TOKENS = 64
PASSAGE_TOKENS = 256
"""What the model was trained on; chunks have up to 200 tokens and a title."""
QUESTION, PASSAGE = 0, 1
"""The two kinds of token."""
LONGEST_SPAN = 48
"""Tokens of a short answer at most: nearly all of the written ones are shorter."""
LANGUAGES = ("en", "ja")
REMEMBERED = 512
"""Pairs whose answers are kept, so that reranking and then judging the same results reads them once."""

NOWHERE: Float32Array = np.zeros((0, 2), dtype=np.float32)

_JAPANESE = re.compile(r"[\u3041-\u30ff\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True)
class Calibration:
    """What turns a model's answers into probabilities, for one language: slope and shift of a logistic curve."""

    fit: tuple[float, float]
    """From fit to "bears on the question"."""
    holds: tuple[float, float]
    """From the best `holds` of the passages that a search found to "the answer is among them"."""


@dataclass(frozen=True, slots=True)
class Told:
    """What the model says of one passage, before calibration."""

    fit: float
    holds: float
    spans: Float32Array
    """(tokens of the passage, 2): the logits of being the first and last token of the answer; `small` gives none."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A loaded model: ids of question and passage in, its answers out."""

    session: Any
    tokenizer: UnigramTokenizer
    words: NDArray[np.uint8]
    places: Float32Array
    """(2, positions, hidden): what is added to a token of the question, and of the passage."""
    calibrations: Mapping[str, Calibration]

    def answers(self, question: list[int], passage: list[int]) -> Told:
        """What it says of one pair."""
        middle, end = len(question) + 1, len(question) + len(passage) + 2
        rows = self.words[[START_ID, END_ID, END_ID, *question, *passage]]
        embedded = unpack_blocks(rows.reshape(-1, BLOCK_BYTES)).reshape(len(rows), -1)
        # The two marks are moved to the front and keep their positions: attention does not look at the order of rows.
        kinds = [QUESTION, QUESTION, PASSAGE, *[QUESTION] * len(question), *[PASSAGE] * len(passage)]
        embedded += self.places[kinds, [0, middle, end, *range(1, middle), *range(middle + 1, end)]]
        answers, *spans = self.session.run(None, {INPUT: embedded[None]})
        fit, holds = answers[0].tolist()
        return Told(fit, holds, spans[0][SPECIAL_TOKENS + len(question) :] if spans else NOWHERE)


@dataclass
class OwnReranker:
    """A `Reranker` and a `Reader` that needs no service, no key and no download. Calls are thread-safe.

    OwnReranker().rerank(Question("首都は？"), [Hit("1", "東京は日本の首都である。", 0.5)]) -> Ok(scores=(.98,))

    Candidates are read in their order, several at once; when `timeout` passes, those not read have no score, and if
    none was read it is an `Err`. A passage is read up to its first 256 tokens, its title and headings before it.
    """

    size: Size = "base"
    threads: int = 0
    """How many passages are read at once; 0 means one on every core."""
    folder: Path = FOLDER
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _known: OrderedDict[tuple[str, str], Told] = field(default_factory=OrderedDict, repr=False)

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
        self, question: Question, candidates: Sequence[Hit], *, timeout: float | None = None
    ) -> Result[Reranking]:
        """The probability that each candidate bears on the question."""
        answers = self.tell(question.text, candidates, timeout)
        if isinstance(answers, Err):
            return answers
        curve = self._calibration(question.text).fit if candidates else (1.0, 0.0)
        scores = [None if answer is None else _logistic(curve, answer.fit) for answer in answers.value]
        return Ok(Reranking(scores=tuple(scores), model=self.name))

    def read(
        self, question: Question, candidates: Sequence[Hit], *, timeout: float | None = None
    ) -> Result[Sequence[Reading | None]]:
        """How likely each candidate bears on the question and holds its answer, and where that stands."""
        answers = self.tell(question.text, candidates, timeout)
        if isinstance(answers, Err):
            return answers
        pairs = zip(candidates, answers.value, strict=True)
        return Ok([None if told is None else self._reading(question.text, one, told) for one, told in pairs])

    def tell(self, question: str, candidates: Sequence[Hit], timeout: float | None = None) -> Result[list[Told | None]]:
        """The model's own numbers for each candidate, before calibration; None for one that was not read."""
        if not candidates:
            return Ok([])
        until = None if timeout is None else time.monotonic() + timeout
        try:
            self.prepare()
            asked = self._engine.tokenizer.ids(replace_halves(question), limit=QUESTION_TOKENS)

            def tell(candidate: Hit) -> Told | None:
                late = until is not None and time.monotonic() >= until
                return None if late else self._told(question, asked, passage_text(candidate))

            found = map_threads(tell, candidates, threads=usable_threads(self.threads))
        except ModelUnavailable as error:
            return Err(error)
        if timeout is not None and all(answer is None for answer in found):
            return Err(DeadlineExceeded(f"Reading passages with {self.name}", seconds=timeout))
        return Ok(found)

    def _told(self, question: str, asked: list[int], passage: str) -> Told:
        key = (question, passage)
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        ids = self._engine.tokenizer.ids(replace_halves(passage), limit=PASSAGE_TOKENS)
        found = self._engine.answers(asked, ids)
        with self._lock:
            self._known[key] = found
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return found

    def _reading(self, question: str, candidate: Hit, told: Told) -> Reading:
        curves = self._calibration(question)
        start, end = self._stretch(question, candidate, told)
        return Reading(_logistic(curves.fit, told.fit), _logistic(curves.holds, told.holds), start, end)

    def _stretch(self, question: str, candidate: Hit, told: Told) -> tuple[int, int]:
        """Where the answer stands in the candidate's own text: neither in a heading nor in the question itself."""
        text = passage_text(candidate)
        before = len(text) - len(candidate.text)
        places = self._engine.tokenizer.spans(replace_halves(text))[: len(told.spans)] - before
        silent = silent_lines(candidate.text, (question, candidate.title, *candidate.headings))
        quotable = np.array(
            [start >= 0 and end > start and not any(a <= start < b for a, b in silent) for start, end in places],
            dtype=bool,
        )
        if not quotable.any():
            return 0, 0
        logits = np.where(quotable[:, None], told.spans[: len(places)], -np.inf)
        first, last = best_span(logits, LONGEST_SPAN)
        return int(places[first][0]), int(places[last][1])

    def _calibration(self, question: str) -> Calibration:
        return self._engine.calibrations["ja" if _JAPANESE.search(question) else "en"]

    @cached_property
    def _engine(self) -> Engine:
        return open_engine(self.folder, self.size)


def best_span(logits: Float32Array, longest: int) -> tuple[int, int]:
    """The first and last token that are likeliest together, of so many tokens at most.

    [[5, 0], [0, 0], [0, 4]] -> (0, 2)
    """
    best, found = -np.inf, (0, 0)
    for start in np.argsort(-logits[:, 0])[:20].tolist():
        stop = start + int(np.argmax(logits[start : start + longest, 1]))
        if logits[start, 0] + logits[stop, 1] > best:
            best, found = logits[start, 0] + logits[stop, 1], (start, stop)
    return found


def passage_text(candidate: Hit) -> str:
    """Title and headings, each once and on their own lines, then the text: what it is about, then what it says.

    title "Vue", text "It is small." -> "Vue", line break, "It is small."
    """
    opening = candidate.text.lstrip("# ")
    path = [part for part in (candidate.title, *candidate.headings) if part and not opening.startswith(part)]
    return "\n".join([*dict.fromkeys(path), candidate.text])


def _logistic(curve: tuple[float, float], value: float) -> float:
    slope, shift = curve
    return float(1 / (1 + np.exp(-np.clip(slope * value + shift, -60, 60))))


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
    (slope, shift), (steep, bias) = curves["fit"], curves["holds"]
    return Calibration((slope, shift), (steep, bias))
