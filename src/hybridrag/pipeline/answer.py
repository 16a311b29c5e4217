"""Answer a question from verified results, with citations; or abstain and say what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hybridrag.pipeline.record import span
from hybridrag.protocols import Candidate, Llm, Question
from hybridrag.result import Err
from hybridrag.searching import Searcher
from hybridrag.types.answers import Answer, Citation
from hybridrag.types.queries import SearchQuery
from hybridrag.types.results import SearchResult, SearchResultItem, SufficiencyEvaluation, should_generate
from hybridrag.verify.answer import abstain, extract_answer
from hybridrag.verify.answer_llm import answer_with_llm

READ = 10
"""Results that an answer is made from."""

UNJUDGED = SufficiencyEvaluation(is_sufficient=False, confidence=0.0)


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer, and the search that it rests on."""

    answer: Answer
    result: SearchResult


class Answerer:
    """Answers questions over one index. Thread-safe."""

    def __init__(self, searcher: Searcher, *, llm: Llm | None, min_confidence: float, timeout: float) -> None:
        self._searcher = searcher
        self._llm = llm
        self._min_confidence = min_confidence
        self._timeout = timeout

    def answer(self, query: SearchQuery) -> Answered:
        """Search with correction, then answer in the documents' own sentences or, where there is one, by the LLM.

        An LLM that fails, or writes what no result carries, is replaced by the documents' own sentences.
        """
        corrective = query.options.model_copy(update={"crag_enabled": True})
        result = self._searcher.search(query.model_copy(update={"options": corrective}))
        with span("answer"):
            return Answered(self._from(result), result)

    def _from(self, result: SearchResult) -> Answer:
        judged = result.sufficiency or UNJUDGED
        items = [item for item in result.results if item.content.text.strip()][:READ]
        if not items or not should_generate(judged, min_confidence=self._min_confidence):
            return abstain(judged.missing_info or ("Nothing that answers the question.",))
        question = Question(result.query.text, result.classification)
        candidates = [_candidate(item) for item in items]
        answer = self._written(question, candidates) or extract_answer(question, candidates)
        return _with_sources(answer, items)

    def _written(self, question: Question, candidates: Sequence[Candidate]) -> Answer | None:
        if self._llm is None:
            return None
        written = answer_with_llm(self._llm, question, candidates, timeout=self._timeout)
        return None if isinstance(written, Err) else written.value


def _candidate(item: SearchResultItem) -> Candidate:
    title = (item.metadata or {}).get("title")
    return Candidate(
        id=item.id,
        text=item.content.text,
        score=item.score,
        title=str(title or ""),
        headings=item.sources.headings,
        scores={"semantic": item.relevance.semantic, "keyword": item.relevance.keyword},
    )


def _with_sources(answer: Answer, items: Sequence[SearchResultItem]) -> Answer:
    """The answer with the place of each citation."""
    by_id = {item.id: item.sources for item in items}
    citations = tuple(_placed(citation, by_id.get(citation.result_id)) for citation in answer.citations)
    return answer.model_copy(update={"citations": citations})


def _placed(citation: Citation, sources: object) -> Citation:
    return citation.model_copy(update={"sources": sources})
