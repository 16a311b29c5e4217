"""Stage 4: judge whether what was found holds the answer, and say so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from hybridrag.config import Settings
from hybridrag.protocols import Judge, Judgement, StoreWithCommunities
from hybridrag.result import Err
from hybridrag.search.grade import evaluate_sufficiency, grade, set_score
from hybridrag.search.intent import match_intent
from hybridrag.search.parallel import Leg
from hybridrag.search.record import Note
from hybridrag.search.refine import refine
from hybridrag.search.state import SearchState
from hybridrag.steps import Step
from hybridrag.types.results import CorrectiveActionKind, CRAGReport, Hit, SearchResultType

JUDGED = 10
"""Results that are judged together, whatever page is shown: what an answer would be made from."""

GRACE = 0.25
"""Seconds past its own timeout after which a judge is not waited for."""


class Verifier:
    """Verifies what was found. Thread-safe.

    `judge` gives the judge of a search that is corrected (True), or of one that has to be quick (False); `fallback`
    judges where that one fails.
    """

    def __init__(
        self, store: StoreWithCommunities, judge: Callable[[bool], Judge], fallback: Judge, settings: Settings
    ) -> None:
        self._store = store
        self._judge = judge
        self._fallback = fallback
        self._settings = settings

    def judge(self, state: SearchState, note: Note) -> None:
        """Judge the first hits together, if anybody can."""
        # Communities are summaries of what is judged anyway.
        chunks = [hit for hit in state.hits if hit.type is SearchResultType.CHUNK][:JUDGED]
        state.judged = _side_by_side(state.with_texts(self._store, chunks))
        state.judgement = self.judgement(state, state.judged, note)

    def judgement(self, state: SearchState, hits: Sequence[Hit], note: Note) -> Judgement | None:
        """What the judge makes of these hits, or the fallback; None where both fail."""
        question = state.asked
        judge = self._judge(state.query.options.crag_enabled)
        timeout = self._settings.llm.timeout_seconds
        note.details["judge"] = judge.name
        timed = Leg("judge", partial(judge.judge, question, hits, timeout=timeout), seconds=timeout + GRACE).result()
        answer = timed.value
        if answer is not None and not isinstance(answer, Err) and len(answer.value.relevance) == len(hits):
            return answer.value
        reason = timed.error or (str(answer.error) if isinstance(answer, Err) else "it judged other results")
        local = Leg("judge", partial(self._fallback.judge, question, hits), seconds=timeout).result().value
        if local is None or isinstance(local, Err):
            note.fail(f"{judge.name} did not judge: {reason} Nor did the local judge.")
            return None
        note.degrade(f"{judge.name} did not judge: {reason} The local judge did.")
        note.details["judge"] = self._fallback.name
        return local.value

    def conclude(self, state: SearchState) -> None:
        """Whether the hits answer the kind of question, whether they suffice and, where asked for, their grades."""
        judgement, options = state.judgement, state.query.options
        if judgement is None:
            state.intent = match_intent(state.asked, ())
            return
        with state.recorder.step(Step.INTENT) as note:
            state.intent = match_intent(state.asked, state.judged)
            note.details |= {"expected": state.intent.expected, "matched": state.intent.matched}
        with state.recorder.step(Step.SUFFICIENCY) as note:
            enough = state.sufficiency = evaluate_sufficiency(judgement, caution=self._settings.verify.caution)
            note.details |= {"sufficient": enough.is_sufficient, "confidence": round(enough.confidence, 4)}
        if options.crag_enabled:
            self._grade(state, judgement)

    def _grade(self, state: SearchState, judgement: Judgement) -> None:
        """The verdict over all hits; each judged one gets its own, and its sentences that bear on the question."""
        bounds = self._settings.verify
        verdict = grade(set_score(judgement), bounds)
        helped = [action for action in state.actions if action.helped]
        rewritten = [action.detail for action in helped if action.kind is CorrectiveActionKind.REWRITE_QUERY]
        state.crag = CRAGReport(
            relevance=verdict.relevance,
            confidence=verdict.confidence,
            needs_web_search=verdict.needs_web_search,
            refined_query=rewritten[-1] if rewritten else None,
            actions=tuple(state.actions),
        )
        refined = refine(state.asked, state.judged)
        graded = {
            strips.candidate.id: (grade(score, bounds), strips.text if strips.kept < 1 else None)
            for score, strips in zip(judgement.relevance, refined, strict=True)
        }
        hits = state.with_texts(self._store, state.hits[: len(state.judged) * 2])
        state.hits[: len(hits)] = [
            replace(hit, grade=graded[hit.id][0], summary=graded[hit.id][1]) if hit.id in graded else hit
            for hit in hits
        ]


def _side_by_side(hits: list[Hit]) -> list[Hit]:
    """The hits; where some are from outside, all without the scores of the searches.

    No search scored what is outside, and what has no score would be taken for what every search found unlike.
    """
    return hits if all(hit.page is None for hit in hits) else [replace(hit, scores={}) for hit in hits]
