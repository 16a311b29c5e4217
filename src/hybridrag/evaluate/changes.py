"""Which questions one search answered better or worse than another."""

from __future__ import annotations

from dataclasses import dataclass

from hybridrag.evaluate.runs import AskedQuery, EvalRun, QueryOutcome, common_queries
from hybridrag.evaluate.score import METRICS, outcomes_of

BY = ("nDCG@10", "themes@10", "abstains")
"""What a question is held by: the first of these that says something about it."""


@dataclass(frozen=True, slots=True)
class Change:
    """A question and what two searches made of it."""

    query: AskedQuery
    metric: str
    before: float
    after: float
    old: QueryOutcome
    new: QueryOutcome

    @property
    def gain(self) -> float:
        """How much better the second is; negative where it is worse."""
        return self.after - self.before


def find_changes(before: tuple[EvalRun, str], after: tuple[EvalRun, str]) -> list[Change]:
    """The questions that got better or worse, the greatest change first, ties by id.

    Raises:
        InvalidInput: a run has no such recipe, or they have no question in common.
    """
    shared = set(common_queries([before[0], after[0]]))
    old = {query.id: outcome for query, outcome in outcomes_of(*before)}
    found: list[Change] = []
    for query, outcome in outcomes_of(*after):
        if query.id not in shared:
            continue
        for metric in BY:
            was, is_now = METRICS[metric](query, old[query.id]), METRICS[metric](query, outcome)
            if was is not None and is_now is not None:
                found.append(Change(query, metric, was, is_now, old[query.id], outcome))
                break
    changed = [change for change in found if change.gain]
    return sorted(changed, key=lambda change: (-abs(change.gain), change.query.id))
