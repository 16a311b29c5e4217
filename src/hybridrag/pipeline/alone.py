"""A judge for passages that no search found: with the cosines that a search would have given them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from hybridrag.errors import RAGError
from hybridrag.models.own_reranker import passage_text
from hybridrag.protocols import Candidate, Embedder, Judge, Judgement, Question
from hybridrag.result import Err, Result


class ComparingJudge:
    """A `Judge` that compares question and passages by meaning before it lets another judge them."""

    def __init__(self, judge: Judge, embedder: Callable[[], Embedder]) -> None:
        self._judge = judge
        self._embedder = embedder

    @property
    def name(self) -> str:
        """What reports call it."""
        return self._judge.name

    def judge(
        self, question: Question, candidates: Sequence[Candidate], *, timeout: float | None = None
    ) -> Result[Judgement]:
        """What the judge makes of the candidates and of how near each is to the question."""
        if candidates:
            try:
                embedder = self._embedder()
                asked = embedder.embed_query(question.text).pooled[0]
                cosines = embedder.embed_passages([passage_text(one) for one in candidates]).pooled @ asked
            except RAGError as error:
                return Err(error)
            candidates = [
                replace(candidate, scores={**candidate.scores, "semantic": min(1.0, max(0.0, float(cosine)))})
                for candidate, cosine in zip(candidates, cosines, strict=True)
            ]
        return self._judge.judge(question, candidates, timeout=timeout)
