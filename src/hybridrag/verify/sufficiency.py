"""Say whether the results suffice to answer, how sure that is, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence

from hybridrag.protocols import Judgement
from hybridrag.types.results import IntentMatch, SufficiencyEvaluation

SUFFICES_FROM = 0.5
"""The more likely side: the judge's probability is calibrated."""

DOUBT = 0.5
"""How much of the probability a sure mismatch of kind takes away: a missing date is a sign, and no proof."""

MAX_MISSING = 5
"""Sentences shown of what is missing."""


def evaluate_sufficiency(judgement: Judgement, intent: IntentMatch | None = None) -> SufficiencyEvaluation:
    """The judgement over all results, lowered where they do not hold the kind of thing asked for.

    sufficient .9, intent matched -> sufficient, confidence .9
    sufficient .6, "a date" missing with confidence .8 -> .36: not sufficient, confidence .64
    """
    probability = judgement.sufficient
    if intent is not None and not intent.matched:
        probability *= 1.0 - DOUBT * intent.confidence
    probability = min(1.0, max(0.0, probability))
    sufficient = probability >= SUFFICES_FROM
    return SufficiencyEvaluation(
        is_sufficient=sufficient,
        confidence=probability if sufficient else 1.0 - probability,
        missing_info=() if sufficient else _missing(judgement, intent),
    )


def _missing(judgement: Judgement, intent: IntentMatch | None) -> tuple[str, ...]:
    said = list(judgement.missing)
    lacking = () if intent is None or intent.matched else intent.missing
    # The judge may have named the same thing in its own words.
    said += [f"Nothing found holds {what}." for what in lacking if not _names(what, judgement.missing)]
    return tuple(dict.fromkeys(said))[:MAX_MISSING] or ("Nothing that answers the question.",)


def _names(what: str, said: Sequence[str]) -> bool:
    word = what.removeprefix("a ").strip('"').casefold()
    return any(word in sentence.casefold() for sentence in said)
