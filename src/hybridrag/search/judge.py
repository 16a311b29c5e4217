"""Judge on this machine: which passages bear on the question, and do they together hold its answer?

A fact is answered where the best passage holds it. A relation or comparison is answered where that is so, or where
every side has a passage that bears on the question. An overview is answered by several documents on its topic.
"""

from __future__ import annotations

from collections.abc import Sequence

from hybridrag.language.detect import detect
from hybridrag.protocols import Judgement, Question, Reader, Reading
from hybridrag.result import Err, Ok, Result
from hybridrag.search.missing import say_missing
from hybridrag.search.passages import Read, mentions, presence, read_all
from hybridrag.types.queries import QueryType
from hybridrag.types.results import Hit

READ = 5
"""Passages that are read: where the right one is among the first ten it mostly is among these, and each takes time."""

BREADTH_SUFFICES = (0.0, 0.4, 0.6, 0.8)
"""How likely an overview can be given from no document on its topic, from one, two, three or more."""

BEARS = 0.5
"""A passage that shares no word with the topic is on it from this relevance on."""


class LocalJudge:
    """Judges by what a reader makes of the first passages. Thread-safe; never fails.

    LocalJudge(reader).judge(Question("When was Orin Works founded?"), [Hit(id="1", text="Orin Works was founded
    in 1987.", score=1.0)]) -> Ok(relevance (.97,), sufficient .95)

    Without a reader, or where it fails, a passage is as relevant as the searches scored it.
    """

    def __init__(self, reader: Reader | None = None, *, first: int = READ) -> None:
        self._reader = reader
        self._first = first

    @property
    def name(self) -> str:
        """What the trace calls it."""
        return "local"

    def judge(
        self, question: Question, candidates: Sequence[Hit], *, timeout: float | None = None
    ) -> Result[Judgement]:
        """The probability that each candidate bears on the question, and that all together answer it."""
        if not candidates:
            return Ok(Judgement((), 0.0, say_missing(read_all(question, ()))))
        readings = self._readings(question, candidates, timeout)
        read = read_all(question, candidates)
        sufficient, reasons = _weigh(read, readings)
        relevance = tuple(reading.relevance for reading in readings)
        stretches = tuple((reading.start, reading.end) for reading in readings)
        return Ok(Judgement(relevance, sufficient, say_missing(read), reasons, stretches))

    def _readings(self, question: Question, candidates: Sequence[Hit], timeout: float | None) -> list[Reading]:
        """One for each candidate: of those that nobody read, none is better than the worst that was read."""
        first = candidates[: self._first]
        answer = self._reader.read(question, first, timeout=timeout) if self._reader is not None else None
        if answer is None or isinstance(answer, Err):
            return [Reading(one.score, one.score) for one in candidates]
        known = [one for one in answer.value if one is not None]
        least = min(known, key=lambda one: one.relevance, default=Reading(0.0, 0.0))
        rest: list[Reading | None] = [None] * (len(candidates) - len(first))
        return [one or Reading(least.relevance, 0.0) for one in (*answer.value, *rest)]


def _weigh(read: Read, readings: Sequence[Reading]) -> tuple[float, dict[str, float]]:
    """How likely the answer is there, and what that rests on."""
    if read.question.type is QueryType.GLOBAL:
        return _weigh_overview(read, readings)
    best = max(reading.holds for reading in readings)
    reasons = {"best_passage": round(best, 4)}
    names = read.question.names
    if read.question.type is not QueryType.RELATIONSHIP or len(names) < 2:
        return best, reasons
    sides = [
        max((reading.relevance for at, reading in enumerate(readings) if mentions(read, at, name)), default=0.0)
        for name in names
    ]
    reasons["weakest_side"] = round(min(sides), 4)
    return max(best, min(sides)), reasons


def _weigh_overview(read: Read, readings: Sequence[Reading]) -> tuple[float, dict[str, float]]:
    """By the documents on the topic; without one all are, and so are those whose words cannot be compared."""
    topic = read.question.terms if read.question.topic else ()
    on_topic = {
        candidate.title or candidate.id
        for at, candidate in enumerate(read.candidates)
        if not topic
        or readings[at].relevance >= BEARS
        or detect(candidate.text) != read.question.language
        or any(presence(topic, read.passages[at].terms, read.headings[at].terms))
    }
    return BREADTH_SUFFICES[min(len(on_topic), len(BREADTH_SUFFICES) - 1)], {"documents": float(len(on_topic))}
