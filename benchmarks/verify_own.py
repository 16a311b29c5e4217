"""What fitting the judge to a set's own questions is worth, how they are put included."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from benchmarks.report import Table
from benchmarks.verify_fit import FOLDS, SAMPLE, Told, dealt, fit_model
from benchmarks.verify_model import Key, Reads, key_of
from hybridrag.evaluate.accuracy import area_under_curve
from hybridrag.protocols import Judgement, Question
from hybridrag.verify.features import MODEL_PASSAGE_FEATURES, SET_FEATURES, set_features, spread_answers
from hybridrag.verify.fitted import LOCAL, Fitted, LabelledJudgement, fit_judge
from hybridrag.verify.judge import Pair, probability, weigh_model

OWN = ("nomiracl_en", "nomiracl_ja", "squad2_1000", SAMPLE)
"""Sets of one hand each, whose questions are put in one way."""

DEALS = 6
"""How often the cases are dealt into folds anew."""

CHOSEN_FOR = ("nomiracl_en", "nomiracl_ja")
PENALTIES, WORD_PENALTIES = (4.0, 8.0), (0.5, 1.0, 2.0)
"""What a fold may choose from."""

Choice = tuple[str, tuple[float, float]]
"""Who reads, and the penalties."""

TaughtReads = Sequence[Sequence[Mapping[Key, Reads]]]
"""By deal, and by the fold that is held back: what a model says that was taught without it."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A case as a judge sees it that was fitted to others."""

    source: str
    question: Question
    judgement: Judgement
    sufficient: bool

    @property
    def labelled(self) -> LabelledJudgement:
        """As the product's fit takes it."""
        return self.question, self.judgement, self.sufficient


def read_by_base(told: Sequence[Told], reads: Mapping[Key, Reads]) -> list[Told]:
    """The same cases, with what the larger size of the model says where it read them."""
    columns = [MODEL_PASSAGE_FEATURES.index(name) for name in ("fit", "holds")]
    found = []
    for one in told:
        said = reads.get(key_of(one.row.case))
        if said is not None:
            passages = one.passages.copy()
            passages[:, columns] = spread_answers(np.array(said))
            one = replace(one, passages=passages)  # noqa: PLW2901 (the same case)
        found.append(one)
    return found


def own_table(told: Sequence[Told], title: str, *, deals: int = DEALS, taught: TaughtReads | None = None) -> Table:
    """Right in percent and area: as the judge ships, fitted to what it says, and to the words of the questions too.

    A fifth of the cases is held back from everything, cases of one document together. The judge that ships and the
    fit to the same set are made from the rest; what the fit learns from was judged in turn by folds of the rest.
    With `taught`, the model that reads was taught without what is held back as well.
    """
    deals = deals if taught is None else len(taught)
    found: dict[str, list[list[float]]] = defaultdict(list)
    counts: dict[str, int] = {}
    for seed in range(deals):
        held = _held_back(dealt(told, seed), None if taught is None else taught[seed])
        for source, rows in held.items():
            counts[source] = len(rows)
            found[source].append(_rights_and_areas(np.array(rows)))
    table = [[source, counts[source], *np.mean(found[source], axis=0).tolist()] for source in OWN if source in counts]
    columns = ["set", "cases", "as it ships, right %", "area", "fitted, right %", "area", "with words, right %", "area"]
    return Table(f"Fitted to a set's own questions, {title}, {deals} deals", columns, table)


def _rights_and_areas(rows: np.ndarray) -> list[float]:
    labels = rows[:, 0] > 0.5
    columns = rows[:, 1:].T
    return [
        value
        for chances in columns
        for value in (
            100 * float(np.mean((chances >= 0.5) == labels)),
            area_under_curve(labels.tolist(), chances.tolist()),
        )
    ]


def _held_back(
    told: Sequence[Told], taught: Sequence[Mapping[Key, Reads]] | None
) -> dict[str, list[tuple[float, float, float, float]]]:
    """By set, for each case: its label, and the chance as the judge ships, fitted without words, fitted with them."""
    found: dict[str, list[tuple[float, float, float, float]]] = defaultdict(list)
    for fold in range(FOLDS):
        cases = told if taught is None else read_by_base(told, taught[fold])
        rest = [one for one in cases if one.row.fold != fold]
        learnt = judged_apart(rest)
        fits = {source: _fits([one.labelled for one in learnt if one.source == source]) for source in OWN}
        for one in _judged([one for one in cases if one.row.fold == fold], rest):
            first = one.judgement.sufficient
            after = [fitted.sufficient(one.question, one.judgement) for fitted in fits[one.source]]
            bare, worded = (first if chance is None else chance for chance in after)
            found[one.source].append((float(one.sufficient), first, bare, worded))
    return found


def _fits(labelled: Sequence[LabelledJudgement]) -> tuple[Fitted, Fitted]:
    return fit_judge(LOCAL, labelled, words=False), fit_judge(LOCAL, labelled)


def choices_table(told: Mapping[str, Sequence[Told]], taught: TaughtReads) -> Table:
    """The same, where who reads and how strongly all is held back is chosen anew in each fold, without what it holds.

    So no choice rests on the questions that it is measured on. `told` are the cases by reader, of which `base` was
    taught.
    """
    deals = len(taught)
    found: dict[str, list[list[float]]] = defaultdict(list)
    often: dict[str, Counter[str]] = defaultdict(Counter)
    for seed in range(deals):
        rows: dict[str, list[tuple[float, float]]] = defaultdict(list)
        by_reader = {reader: dealt(cases, seed) for reader, cases in told.items()}
        for fold in range(FOLDS):
            by_reader["base"] = read_by_base(by_reader["base"], taught[seed][fold])
            rest = {reader: [one for one in cases if one.row.fold != fold] for reader, cases in by_reader.items()}
            learnt = {reader: judged_apart(cases) for reader, cases in rest.items()}
            held = {
                reader: _judged([one for one in cases if one.row.fold == fold], rest[reader])
                for reader, cases in by_reader.items()
            }
            for source in CHOSEN_FOR:
                choice = _chosen(learnt, source)
                often[source][_shown(choice)] += 1
                fitted = _fit(learnt[choice[0]], source, choice)
                rows[source] += [_said(fitted, one) for one in held[choice[0]] if one.source == source]
        for source, guesses in rows.items():
            found[source].append(_rights_and_areas(np.array(guesses)))
    table = [[source, *np.mean(found[source], axis=0).tolist(), often[source].most_common(1)[0][0]] for source in found]
    return Table(f"Choices made in the folds, {deals} deals", ["set", "right %", "area", "mostly chosen"], table)


def _shown(choice: Choice) -> str:
    reader, shrink = choice
    return f"{reader}, {shrink[0]:g} and {shrink[1]:g}"


def _chosen(learnt: Mapping[str, Sequence[Judged]], source: str) -> Choice:
    """What gives the cases the likeliest labels, each judged by a fit to other folds of them."""

    def surprise(choice: Choice) -> float:
        here = [one for one in learnt[choice[0]] if one.source == source]
        parts = [here[at::FOLDS] for at in range(FOLDS)]
        guesses = [
            _said(_fit([one for other in parts if other is not part for one in other], source, choice), one)
            for part in parts
            for one in part
        ]
        labels, chances = np.array(guesses).T
        return float(-np.log(np.where(labels > 0.5, chances, 1.0 - chances)).mean())

    return min(product(learnt, product(PENALTIES, WORD_PENALTIES)), key=surprise)


def _fit(learnt: Sequence[Judged], source: str, choice: Choice) -> Fitted:
    return fit_judge(LOCAL, [one.labelled for one in learnt if one.source == source], shrink=choice[1])


def _said(fitted: Fitted, one: Judged) -> tuple[float, float]:
    """The label, and the chance by the fit."""
    chance = fitted.sufficient(one.question, one.judgement)
    return float(one.sufficient), one.judgement.sufficient if chance is None else chance


def judged_apart(told: Sequence[Told]) -> list[Judged]:
    """Every case of the sets, judged by regressions that were fitted to cases of other folds."""
    folds = sorted({one.row.fold for one in told})
    return [
        judged
        for fold in folds
        for judged in _judged(
            [one for one in told if one.row.fold == fold], [one for one in told if one.row.fold != fold]
        )
    ]


def _judged(held: Sequence[Told], rest: Sequence[Told]) -> list[Judged]:
    """The cases of the sets among `held`, judged by regressions that were fitted to `rest`."""
    judged = []
    for relational in (False, True):
        here = [one for one in held if one.row.relational is relational and one.row.case.source in OWN]
        if here:
            pair = fit_model(rest, relational=relational)
            judged += [_judge(one, pair) for one in here]
    return judged


def _judge(one: Told, pair: Pair) -> Judged:
    """What `LocalJudge` would say with such regressions."""
    evidence = one.passages[:, MODEL_PASSAGE_FEATURES.index("evidence")]
    reasons = dict(zip(SET_FEATURES, set_features(one.row.passages, one.row.evidence, evidence).tolist(), strict=True))
    logits, odds, seen = weigh_model(pair, one.passages, one.odds, japanese=one.row.japanese)
    judgement = Judgement(tuple(probability(logits).tolist()), float(probability(odds)), (), {**reasons, **seen})
    return Judged(one.row.case.source, one.row.case.question, judgement, bool(one.row.case.sufficient))
