"""A run as figures: each metric by recipe and by kind of question, each with its interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from hybridrag.evaluate.metrics import (
    all_evidence_at,
    average_precision,
    ndcg_at,
    precision_at,
    recall_at,
    reciprocal_rank_at,
    themes_covered_at,
)
from hybridrag.evaluate.resample import BootstrapInterval, PairedDifference, bootstrap_interval, paired_difference
from hybridrag.evaluate.runs import ENOUGH_DOCUMENTS, AskedQuery, EvalRun, QueryOutcome, RecipeRun, common_queries
from hybridrag.types.results import CRAGVerdict

ALL_QUESTIONS = "all"
"""The group of every question."""

Metric = Callable[[AskedQuery, QueryOutcome], float | None]
"""The value of one question; None where the metric says nothing about it."""


def _ranked(function: Callable[[Sequence[str], Mapping[str, int]], float]) -> Metric:
    """A metric over the documents that are marked."""
    return lambda query, outcome: function(outcome.ranking, query.gold) if query.has_evidence else None


def _themes(query: AskedQuery, outcome: QueryOutcome) -> float | None:
    return themes_covered_at(outcome.ranking, query.themes, ENOUGH_DOCUMENTS) if query.themes else None


def _answer(query: AskedQuery, outcome: QueryOutcome) -> float | None:
    if not query.answers or not query.answerable:
        return None
    return float(outcome.answer_rank is not None and outcome.answer_rank <= 5)


def _abstains(query: AskedQuery, outcome: QueryOutcome) -> float | None:
    return None if query.answerable else float(outcome.abstained)


def _falsely_abstains(query: AskedQuery, outcome: QueryOutcome) -> float | None:
    return float(outcome.abstained) if query.answerable else None


def is_found(query: AskedQuery, outcome: QueryOutcome) -> bool:
    """Whether a marked document is among the first ten: then `correct` is the right grade, else `incorrect`."""
    return query.has_evidence and recall_at(outcome.ranking, query.gold, ENOUGH_DOCUMENTS) > 0


def holds_all(query: AskedQuery, outcome: QueryOutcome) -> bool:
    """Whether all evidence is among the first ten: then they suffice."""
    return query.has_evidence and all_evidence_at(outcome.ranking, query.gold, ENOUGH_DOCUMENTS) == 1


def _verdict(query: AskedQuery, outcome: QueryOutcome) -> float | None:
    if outcome.verdict is None or (query.answerable and not query.has_evidence):
        return None
    right = CRAGVerdict.CORRECT if is_found(query, outcome) else CRAGVerdict.INCORRECT
    return float(outcome.verdict == right.value)


def _sufficiency(query: AskedQuery, outcome: QueryOutcome) -> float | None:
    if outcome.sufficient is None or query.themes:
        return None
    return float(holds_all(query, outcome) == (outcome.sufficient >= SUFFICES_FROM))


def _kept(query: AskedQuery, outcome: QueryOutcome) -> float | None:
    """The harmonic mean of precision and recall over what was returned; of nothing to find, whether nothing was."""
    first = outcome.ranking[:ENOUGH_DOCUMENTS]
    if not query.answerable:
        return float(not first)
    wanted = {document for document, grade in query.gold.items() if grade >= 1}
    return 2 * len(wanted & set(first)) / (len(wanted) + len(first)) if wanted else None


METRICS: dict[str, Metric] = {
    "Recall@5": _ranked(partial(recall_at, k=5)),
    "Recall@10": _ranked(partial(recall_at, k=10)),
    "nDCG@10": _ranked(partial(ndcg_at, k=10)),
    "MRR@10": _ranked(partial(reciprocal_rank_at, k=10)),
    "MAP": _ranked(average_precision),
    "Precision@5": _ranked(partial(precision_at, k=5)),
    "all-evidence@5": _ranked(partial(all_evidence_at, k=5)),
    "themes@10": _themes,
    "answer@5": _answer,
    "abstains": _abstains,
    "falsely-abstains": _falsely_abstains,
    "F1@10": _kept,
    "verdict": _verdict,
    "sufficiency": _sufficiency,
}
"""`answer@5`: a gold answer stands in the text of the first five results. `abstains`: the share of the unanswerable
questions where the search said so; `falsely-abstains`: of the answerable ones. `verdict` and `sufficiency`: how often
the grade and the judgement are right."""

SUFFICES_FROM = 0.5

LESS_IS_BETTER = frozenset({"falsely-abstains"})

Groups = Mapping[str, frozenset[str]]
"""Group -> the ids of its questions."""


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One recipe on one group of questions."""

    recipe: str
    group: str
    queries: int
    values: Mapping[str, BootstrapInterval]
    """Metric -> its mean; without those that say nothing about these questions."""
    p50: float
    """Milliseconds that half of the questions stayed within."""
    p95: float
    failed: int
    """Questions that the search could not answer for an error."""


def groups_of(queries: Sequence[AskedQuery]) -> dict[str, frozenset[str]]:
    """Every question, then those of each type, then those of each language, where there are several.

    -> {"all": {...}, "type: local": {...}, "type: global": {...}, "language: ja": {...}}
    """
    groups = {ALL_QUESTIONS: frozenset(query.id for query in queries)}
    for label in ("type", "language"):
        kinds: dict[str, set[str]] = {}
        for query in queries:
            kinds.setdefault(getattr(query, label) or "none", set()).add(query.id)
        if len(kinds) > 1:
            groups |= {f"{label}: {kind}": frozenset(kinds[kind]) for kind in sorted(kinds)}
    return groups


def score_run(run: EvalRun, *, groups: Groups | None = None) -> list[ScoreRow]:
    """Every recipe on every group of questions, groups first."""
    chosen = groups_of(run.queries) if groups is None else groups
    return [score_recipe(run, recipe, group, ids) for group, ids in chosen.items() for recipe in run.recipes]


def score_recipe(run: EvalRun, recipe: RecipeRun, group: str, ids: frozenset[str]) -> ScoreRow:
    """One recipe on the questions of these ids."""
    pairs = [pair for pair in zip(run.queries, recipe.outcomes, strict=True) if pair[0].id in ids]
    values = {name: metric_values(pairs, name) for name in METRICS}
    times = [outcome.milliseconds for _, outcome in pairs] or [0.0]
    p50, p95 = np.percentile(times, [50, 95])
    return ScoreRow(
        recipe=recipe.name,
        group=group,
        queries=len(pairs),
        values={name: bootstrap_interval(list(found.values())) for name, found in values.items() if found},
        p50=float(p50),
        p95=float(p95),
        failed=sum(outcome.error is not None for _, outcome in pairs),
    )


def metric_values(pairs: Sequence[tuple[AskedQuery, QueryOutcome]], metric: str) -> dict[str, float]:
    """The metric of each question that it says something about, by the id of the question."""
    found = {query.id: METRICS[metric](query, outcome) for query, outcome in pairs}
    return {name: value for name, value in found.items() if value is not None}


def compare_runs(
    before: tuple[EvalRun, str], after: tuple[EvalRun, str], *, ids: Sequence[str] | None = None
) -> dict[str, PairedDifference]:
    """What changed from one recipe of a run to another of the same or another run, on their common questions.

    Raises:
        InvalidInput: a run has no such recipe, or they have no question in common.
    """
    shared = frozenset(common_queries([before[0], after[0]]) if ids is None else ids)
    old, new = ({query.id: (query, outcome) for query, outcome in outcomes_of(*side)} for side in (before, after))
    differences: dict[str, PairedDifference] = {}
    for metric in METRICS:
        first = metric_values([old[one] for one in old if one in shared], metric)
        second = metric_values([new[one] for one in new if one in shared], metric)
        both = [one for one in first if one in second]
        if both:
            differences[metric] = paired_difference([first[one] for one in both], [second[one] for one in both])
    return differences


def outcomes_of(run: EvalRun, recipe: str) -> list[tuple[AskedQuery, QueryOutcome]]:
    """Each question with what the recipe made of it.

    Raises:
        InvalidInput: the recipe was not run.
    """
    return list(zip(run.queries, run.recipe(recipe).outcomes, strict=True))


def step_times(recipe: RecipeRun) -> dict[str, float]:
    """The mean milliseconds of each step over the questions, in the order in which they first ended.

    -> {"classify": 0.4, "keyword": 3.1, ...}
    """
    total: dict[str, float] = {}
    for outcome in recipe.outcomes:
        for step in outcome.steps:
            total[step.step] = total.get(step.step, 0.0) + step.milliseconds
    return {name: spent / len(recipe.outcomes) for name, spent in total.items()}
