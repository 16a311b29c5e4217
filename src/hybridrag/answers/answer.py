"""Answer a question from verified results, with citations; or abstain and show what is nearest."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hybridrag.answers.extract import abstain, extract_answer
from hybridrag.answers.quote import Span, quote
from hybridrag.answers.write_llm import answer_with_llm
from hybridrag.protocols import Llm, Question, Reader, Reading
from hybridrag.queries.question import read_question
from hybridrag.result import Err
from hybridrag.search.judge import READ
from hybridrag.search.missing import language_of
from hybridrag.search.passages import read_all
from hybridrag.search.record import span
from hybridrag.types.answers import Answer, Citation, NearestPassage
from hybridrag.types.queries import SearchQuery
from hybridrag.types.results import (
    Hit,
    SearchResult,
    SearchResultItem,
    SearchResultSources,
    SearchResultType,
    SufficiencyEvaluation,
)

NEAREST = 3
"""Passages shown beside an answer or a refusal."""

SHOWN = 280
"""Characters shown of each."""

BESIDE_THE_QUESTION = 0.1
"""Below this probability an LLM is not asked: the passages are clearly beside the question."""

_HEADING = re.compile(r"^(#{1,6})\s+(.+)$", re.MULTILINE)

UNJUDGED = SufficiencyEvaluation(is_sufficient=False, confidence=0.5)


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer, and the search that it rests on."""

    answer: Answer
    result: SearchResult


class Answerer:
    """Answers questions over one index. Thread-safe."""

    def __init__(
        self, search: Callable[[SearchQuery], SearchResult], reader: Reader, *, llm: Llm | None, timeout: float
    ) -> None:
        self._search = search
        self._reader = reader
        self._llm = llm
        self._timeout = timeout

    def answer(self, query: SearchQuery) -> Answered:
        """Search with correction, then answer in the documents' own sentences or, where there is one, by the LLM.

        The LLM is asked unless the passages are clearly beside the question, and may say that they do not answer. One
        that fails, or writes what no result carries, is replaced by the documents' own sentences.
        """
        # Titles, which the reader is given too, are metadata.
        corrective = query.options.model_copy(update={"crag_enabled": True, "include_metadata": True})
        result = self._search(query.model_copy(update={"options": corrective}))
        with span("answer"):
            return Answered(self._from(result), result)

    def _from(self, result: SearchResult) -> Answer:
        judged = result.sufficiency or UNJUDGED
        chance = judged.confidence if judged.is_sufficient else 1.0 - judged.confidence
        # Entities and communities have no place in a document that could be cited.
        items = [item for item in result.results if item.content.text.strip() and item.type is SearchResultType.CHUNK]
        question = read_question(result.query.text, result.classification)
        candidates = [_candidate(item) for item in items]
        readings = self._readings(question, candidates)
        answer = None
        if items and self._llm is not None and chance >= BESIDE_THE_QUESTION:
            written = answer_with_llm(
                self._llm, question, candidates, missing=judged.missing_info, reader=self._reader, timeout=self._timeout
            )
            answer = None if isinstance(written, Err) else written.value
        if answer is None:
            answer = (
                extract_answer(question, candidates, readings)
                if items and judged.is_sufficient
                else abstain(read_all(question, candidates), judged.missing_info)
            )
        nearest = tuple(_nearest(*pair) for pair in zip(items[:NEAREST], readings, strict=False))
        placed = _with_sources(answer, items)
        said = {"nearest": nearest, "confidence": chance, "language": language_of(read_all(question, ()))}
        return placed.model_copy(update=said)

    def _readings(self, question: Question, candidates: Sequence[Hit]) -> list[Reading]:
        """What the reader makes of the candidates; the judge had it read the first of them already."""
        read = self._reader.read(question, candidates[:READ])
        known = [] if isinstance(read, Err) else [one or Reading(0.0, 0.0) for one in read.value]
        return known + [Reading(0.0, 0.0)] * (len(candidates) - len(known))


def _candidate(item: SearchResultItem) -> Hit:
    title = (item.metadata or {}).get("title")
    return Hit(
        id=item.id,
        text=item.content.text,
        score=item.score,
        title=str(title or ""),
        headings=item.sources.headings,
    )


def _nearest(item: SearchResultItem, reading: Reading) -> NearestPassage:
    return NearestPassage(
        text=snippet(item.content.text, (reading.start, reading.end)),
        result_id=item.id,
        relevance=reading.relevance,
        sources=item.sources,
    )


def snippet(text: str, stretch: Span) -> str:
    """What stands around a stretch: its row of a table, or its sentence and what follows, cut between words.

    ("It rained. The fee is 12 crowns.", (22, 24)) -> "The fee is 12 crowns."
    """
    quoted = quote(text, stretch)
    start = quoted.start if quoted else 0
    row = quoted is not None and " | " in quoted.shown
    rest = " ".join((quoted.shown if quoted and row else text[start:]).split())
    if len(rest) <= SHOWN:
        return rest
    cut = rest.rfind(" ", SHOWN * 3 // 4, SHOWN)
    return f"{rest[: cut if cut > 0 else SHOWN]} …"


def _with_sources(answer: Answer, items: Sequence[SearchResultItem]) -> Answer:
    """The answer with the place of each citation."""
    by_id = {item.id: item for item in items}
    placed = [(citation, by_id[citation.result_id]) for citation in answer.citations]
    citations = tuple(
        citation.model_copy(update={"sources": place_within(item.sources, item.content.text, citation)})
        for citation, item in placed
    )
    return answer.model_copy(update={"citations": citations})


def place_within(sources: SearchResultSources, text: str, citation: Citation) -> SearchResultSources:
    """Where a quotation stands: under the last heading before it and, where lines are those of the file, on its lines.

    A chunk of lines 5 to 9 with "## Staff" on line 8, quoted from line 9 on -> headings [..., "Staff"], line 9
    """
    changed: dict[str, object] = {}
    before = text[: citation.start]
    above = list(_HEADING.finditer(before))
    if above:
        level = len(above[-1][1])
        changed["headings"] = (*sources.headings[: level - 1], above[-1][2].strip())
    first, last = sources.line_start, sources.line_end
    if first and last and last - first == text.count("\n"):
        line = first + before.count("\n")
        changed |= {"line_start": line, "line_end": line + text[citation.start : citation.end].count("\n")}
        if sources.place and sources.place.endswith(f" {first}"):
            changed["place"] = f"{sources.place.removesuffix(str(first))}{line}"
    return sources.model_copy(update=changed)
