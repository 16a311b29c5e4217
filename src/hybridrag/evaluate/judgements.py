"""How well a search judged its questions and its results, against what is marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hybridrag.evaluate.accuracy import Confusion, CoveragePoint, abstention_curve, confusion
from hybridrag.evaluate.runs import AskedQuery, EvalRun, QueryOutcome
from hybridrag.evaluate.score import holds_all, is_found, outcomes_of
from hybridrag.types.results import CORRECT_FROM, INCORRECT_UP_TO, CRAGVerdict


@dataclass(frozen=True, slots=True)
class Judgements:
    """How well one recipe judged questions and results. Each is None where nothing tells."""

    classification: Confusion | None
    """The type that was marked against the type that was found."""
    verdict: Confusion | None
    """Whether a marked document is among the first ten (`correct`, else `incorrect`) against the grade."""
    sufficiency: Confusion | None
    """Whether all evidence is among the first ten (`sufficient`, else `insufficient`) against the judgement."""
    abstention: tuple[CoveragePoint, ...]
    """Accuracy of the sufficiency judgement against how many of the questions are ventured at all."""
    graded_incorrect: int
    """Questions whose results were graded incorrect at first, and acted upon."""
    corrected: int
    """Of those, how many were graded correct in the end."""
    truly_corrected: int
    """Of those, how many then had a marked document among the first ten."""


def judgements_of(run: EvalRun, recipe: str) -> Judgements:
    """How well a recipe judged, against what is marked."""
    pairs = outcomes_of(run, recipe)
    correct_from, incorrect_until = _bounds(run)
    typed = [(q.intent, o.classified) for q, o in pairs if q.intent and o.classified]
    graded = [(_truth(q, o), o.verdict) for q, o in pairs if o.verdict and (q.has_evidence or not q.answerable)]
    judged = [(holds_all(q, o), o.sufficient) for q, o in pairs if o.sufficient is not None and not q.themes]
    incorrect = [(q, o) for q, o in pairs if o.grade_before is not None and o.grade_before <= incorrect_until]
    corrected = [(q, o) for q, o in incorrect if (o.grade_after or 0.0) >= correct_from]
    return Judgements(
        classification=_confused(typed),
        verdict=_confused(graded),
        sufficiency=_confused([(_named(truth), _named(found >= 0.5)) for truth, found in judged]),
        abstention=tuple(
            abstention_curve(
                [truth == (found >= 0.5) for truth, found in judged], [max(found, 1 - found) for _, found in judged]
            )
        ),
        graded_incorrect=len(incorrect),
        corrected=len(corrected),
        truly_corrected=sum(_truth(q, o) == CRAGVerdict.CORRECT for q, o in corrected),
    )


def _confused(pairs: Sequence[tuple[str, str]]) -> Confusion | None:
    return confusion([gold for gold, _ in pairs], [found for _, found in pairs]) if pairs else None


def _truth(query: AskedQuery, outcome: QueryOutcome) -> str:
    return (CRAGVerdict.CORRECT if is_found(query, outcome) else CRAGVerdict.INCORRECT).value


def _bounds(run: EvalRun) -> tuple[float, float]:
    """From where on the run graded `correct`, and up to where `incorrect`."""
    verify = run.settings.get("verify")
    said = verify if isinstance(verify, dict) else {}
    values = (said.get("correct_from", CORRECT_FROM), said.get("incorrect_until", INCORRECT_UP_TO))
    correct, incorrect = (float(it) if isinstance(it, int | float) else 0.5 for it in values)
    return correct, incorrect


def _named(sufficient: bool) -> str:
    return "sufficient" if sufficient else "insufficient"
