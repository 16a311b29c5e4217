"""Say what fitting a judge to one's own questions is worth, on questions that it was not fitted to.

The fit itself is handed in: whatever learns from judgements with labels, and then says how likely results suffice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hybridrag.errors import InvalidInput
from hybridrag.evaluate.accuracy import area_under_curve
from hybridrag.evaluate.datasets import Dataset
from hybridrag.evaluate.read_query import Query
from hybridrag.evaluate.resample import PairedDifference, paired_difference
from hybridrag.evaluate.runs import EvalSearch, OnQuery, run_searches
from hybridrag.evaluate.score import SUFFICES_FROM, holds_all, outcomes_of
from hybridrag.language.detect import detect
from hybridrag.protocols import Candidate, Judge, Judgement, Question
from hybridrag.result import Ok, Result

FOLDS = 5
DEALS = 6
"""How often the questions are dealt into folds anew: a few questions more or less change a figure by points."""
LEAST_QUESTIONS = 50
"""Of one language, with marked documents or unanswerable: with fewer, what is found is chance."""
LEAST_UNANSWERABLE = 10
"""Of those: a judge learns nothing about answers that are missing where none is."""

_RUN = "judged"

Sufficient = Callable[[Question, Judgement], float | None]
"""The probability that results suffice, after a fit; None where the first judge's stands."""
JudgeFitter = Callable[[Sequence[tuple[Question, Judgement, bool]]], Sufficient]
"""Learns from judgements and whether the results really sufficed."""


@dataclass(frozen=True, slots=True)
class JudgedQuestion:
    """A question with what the judge made of its results, and whether those really sufficed."""

    question: Question
    judgement: Judgement
    sufficient: bool
    group: str
    """Questions of one group are held back together: they rest on the same documents."""

    @property
    def language(self) -> str:
        """Of the question."""
        return detect(self.question.text)


class RecordingJudge:
    """A `Judge` that keeps what another one said of each question; of several tries the one it thought most of."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._kept: dict[str, tuple[Question, Judgement]] = {}

    @property
    def name(self) -> str:
        """That of the other."""
        return self._judge.name

    @property
    def kept(self) -> Mapping[str, tuple[Question, Judgement]]:
        """By the text of the question."""
        return self._kept

    def judge(
        self, question: Question, candidates: Sequence[Candidate], *, timeout: float | None = None
    ) -> Result[Judgement]:
        """As the other does."""
        found = self._judge.judge(question, candidates, timeout=timeout)
        if isinstance(found, Ok):
            before = self._kept.get(question.text)
            if before is None or found.value.sufficient > before[1].sufficient:
                self._kept[question.text] = (question, found.value)
        return found


def judge_questions(
    dataset: Dataset, search: EvalSearch, judge: RecordingJudge, *, on_query: OnQuery | None = None
) -> list[JudgedQuestion]:
    """Ask every question once with a search that `judge` judges, and label what it said.

    Results suffice where all marked documents are among the first ten; those of an unanswerable question never do.
    Themes, and questions for which nothing is marked, are left out.
    """
    run = run_searches(dataset, {_RUN: search}, on_query=on_query)
    labelled = []
    for query, outcome in outcomes_of(run, _RUN):
        known = judge.kept.get(query.text.strip())
        if (
            known is None
            or outcome.error is not None
            or query.themes
            or not (query.has_evidence or not query.answerable)
        ):
            continue
        group = " ".join(sorted(document for document, grade in query.gold.items() if grade >= 1)) or query.id
        labelled.append(JudgedQuestion(*known, sufficient=holds_all(query, outcome), group=group))
    return labelled


def check_labelled(dataset: Dataset) -> None:
    """See to it that a judge can be fitted to a data set.

    Raises:
        InvalidInput: no language has enough questions that are labelled, or too few of them are unanswerable.
    """
    labelled = [query for query in dataset.queries if not query.themes and (query.has_evidence or not query.answerable)]
    counts = Counter(detect(query.text) for query in labelled)
    most = max(counts.values(), default=0)
    if most < LEAST_QUESTIONS:
        raise InvalidInput(
            f"{dataset.path} has {most} labelled questions of one language; fitting a judge needs {LEAST_QUESTIONS}.",
            hint="Mark the documents of more questions, themes aside.",
        )
    none = _most_unanswerable(labelled, [language for language, count in counts.items() if count >= LEAST_QUESTIONS])
    if none < LEAST_UNANSWERABLE:
        raise InvalidInput(
            f"{dataset.path} has {none} unanswerable questions; fitting a judge needs {LEAST_UNANSWERABLE}.",
            hint='Add questions that the documents do not answer, each with `"answerable": false`.',
        )


def _most_unanswerable(queries: Sequence[Query], languages: Sequence[str]) -> int:
    return max(sum(not query.answerable and detect(query.text) == one for query in queries) for one in languages)


@dataclass(frozen=True, slots=True)
class JudgeScore:
    """How good a judge is."""

    right: float
    """The share of the questions where it was right on whether the results suffice."""
    area: float
    """The probability that it thinks more of results that suffice than of results that do not."""


@dataclass(frozen=True, slots=True)
class JudgeGain:
    """What a fit is worth for the questions of one language, each judged by a fit that had not seen it."""

    language: str
    questions: int
    insufficient: int
    before: JudgeScore
    after: JudgeScore
    """The mean over the deals."""
    difference: PairedDifference
    """Of the share that is right, with its interval."""

    @property
    def is_better(self) -> bool:
        """Whether more were right, and the order of the questions is no worse."""
        return self.difference.mean > 0 and self.after.area >= self.before.area


def cross_validate_fit(cases: Sequence[JudgedQuestion], fit: JudgeFitter, *, deals: int = DEALS) -> list[JudgeGain]:
    """What a fit is worth, by language: by five folds, dealt several times, never on what it was fitted to."""
    after = np.array([held_out(cases, fit, seed=seed) for seed in range(deals)])
    places: dict[str, list[int]] = {}
    for place, case in enumerate(cases):
        places.setdefault(case.language, []).append(place)
    return [
        _gain(language, [cases[place] for place in here], after[:, here]) for language, here in sorted(places.items())
    ]


def held_out(cases: Sequence[JudgedQuestion], fit: JudgeFitter, *, seed: int = 0) -> list[float]:
    """The probability for each question, by a fit to the questions of the other folds."""
    folds = _folds(cases, seed)
    found = [case.judgement.sufficient for case in cases]
    for fold in range(FOLDS):
        rest = [case for case, its in zip(cases, folds, strict=True) if its != fold]
        fitted = fit([(case.question, case.judgement, case.sufficient) for case in rest])
        for place, case in enumerate(cases):
            chance = fitted(case.question, case.judgement) if folds[place] == fold else None
            found[place] = found[place] if chance is None else chance
    return found


def _folds(cases: Sequence[JudgedQuestion], seed: int) -> list[int]:
    groups = sorted({case.group for case in cases})
    order = np.random.default_rng(seed).permutation(len(groups))
    by_group = {groups[place]: number % FOLDS for number, place in enumerate(order)}
    return [by_group[case.group] for case in cases]


def _gain(language: str, cases: Sequence[JudgedQuestion], after: np.ndarray) -> JudgeGain:
    """`after`: a row for each deal."""
    labels = [case.sufficient for case in cases]
    before = [case.judgement.sufficient for case in cases]
    was = [float(truth == (chance >= SUFFICES_FROM)) for truth, chance in zip(labels, before, strict=True)]
    now = ((after >= SUFFICES_FROM) == np.array(labels)).mean(axis=0)
    return JudgeGain(
        language=language,
        questions=len(cases),
        insufficient=labels.count(False),
        before=JudgeScore(float(np.mean(was)), area_under_curve(labels, before)),
        after=JudgeScore(
            float(now.mean()), float(np.mean([area_under_curve(labels, list(row)) for row in after.tolist()]))
        ),
        difference=paired_difference(was, now.tolist()),
    )
