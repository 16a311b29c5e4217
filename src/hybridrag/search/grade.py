"""Grade how well what was found bears on the question, and say whether it suffices to answer."""

from __future__ import annotations

from hybridrag.config import VerifySettings
from hybridrag.protocols import Judgement
from hybridrag.search.state import SearchState
from hybridrag.types.results import CRAGScore, CRAGVerdict, SufficiencyEvaluation

BR_016 = VerifySettings()
"""Its bounds are those of the rule."""


def verdict(score: float, bounds: VerifySettings = BR_016) -> CRAGVerdict:
    """Correct from 0.7, incorrect up to 0.3, ambiguous between (BR-016); `bounds` are other such values.

    0.7 -> correct; 0.3 -> incorrect; 0.5 -> ambiguous
    """
    if score >= bounds.correct_from:
        return CRAGVerdict.CORRECT
    if score <= bounds.incorrect_until:
        return CRAGVerdict.INCORRECT
    return CRAGVerdict.AMBIGUOUS


def grade(score: float, bounds: VerifySettings = BR_016, *, refined_query: str | None = None) -> CRAGScore:
    """The grade of a probability of relevance; all but a correct one asks for a web search (BR-017).

    0.9 -> correct, confidence 0.9, no web search
    0.1 -> incorrect, confidence 0.9, web search
    """
    score = min(1.0, max(0.0, score))
    relevance = verdict(score, bounds)
    # How sure the verdict is: far from the middle, either way. An ambiguous one is never sure.
    confidence = max(score, 1.0 - score)
    return CRAGScore(
        relevance=relevance,
        confidence=confidence,
        needs_web_search=relevance is not CRAGVerdict.CORRECT,
        refined_query=refined_query,
    )


def set_score(judgement: Judgement) -> float:
    """One score over all results: halfway between "something bears on it" and "they hold the answer".

    relevance (.9, .2), sufficient .9 -> .9; relevance (.9,), sufficient .1 -> .5; no results -> 0
    relevance (.4, .4), sufficient .8 -> .8: where all together hold the answer, something does bear on it

    So a set that holds the answer is correct, one that holds part of it ambiguous, one that holds nothing incorrect.
    """
    if not judgement.relevance:
        return 0.0
    return (max(*judgement.relevance, judgement.sufficient) + judgement.sufficient) / 2.0


def state_score(state: SearchState) -> float:
    """The same over what one try found; 0 where nobody could judge it."""
    return 0.0 if state.judgement is None else set_score(state.judgement)


def evaluate_sufficiency(judgement: Judgement, *, caution: float = BR_016.caution) -> SufficiencyEvaluation:
    """The judgement over all results: enough from the probability `caution` on.

    sufficient .9 -> sufficient, confidence .9; sufficient .36 -> not sufficient, confidence .64
    """
    chance = min(1.0, max(0.0, judgement.sufficient))
    sufficient = chance >= caution
    return SufficiencyEvaluation(
        is_sufficient=sufficient,
        confidence=chance if sufficient else 1.0 - chance,
        missing_info=() if sufficient else judgement.missing,
    )
