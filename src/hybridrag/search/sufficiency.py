"""Say whether the results suffice to answer, how sure that is, and what is missing."""

from __future__ import annotations

from hybridrag.config import VerifySettings
from hybridrag.protocols import Judgement
from hybridrag.types.results import SufficiencyEvaluation


def evaluate_sufficiency(judgement: Judgement, *, caution: float = VerifySettings().caution) -> SufficiencyEvaluation:
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
