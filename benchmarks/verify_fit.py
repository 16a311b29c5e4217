"""Fit the judge's regressions to labelled cases, and cross-validate them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from benchmarks.verify_cases import LABELLED, Case
from hybridrag.verify.features import (
    MODEL_PASSAGE_FEATURES,
    MODEL_SET_FEATURES,
    NEED_SCORES,
    PASSAGE_FEATURES,
    SET_FEATURES,
    Features,
    has_scores,
    is_relational,
    model_answers,
    model_passage_features,
    model_set_features,
    passage_features,
    read_all,
    set_evidence,
    set_features,
)
from hybridrag.verify.judge import KINDS, MOST_CERTAIN, Coefficients, Logistic, Pair, weigh_model
from hybridrag.verify.wants import Want

PASSAGE_SET = tuple(name for name in PASSAGE_FEATURES if name != "graph")
SET_LOCAL = (
    *("best", "second", "coverage_of_best", "sentence_of_best", "attribute_of_best", "kind_in_best"),
    *("kind_with_coverage", "numbers_missing", "names_unseen", "semantic"),
)
SET_RELATIONAL = tuple(name for name in SET_FEATURES if name not in {"kind_in_best", "kind_with_coverage"})
"""What each regression rests on; chosen by cross-validation on the same cases."""

MODEL_RELEVANCE = ("evidence", "coverage", "fit", "holds")
MODEL_RELATIONAL = ("evidence", "best", "second", "coverage_of_fittest")
MODEL_LOCAL = tuple(
    name for name in MODEL_SET_FEATURES if name not in {"best", "second", "coverage_of_fittest", "together"}
)
"""The same with the model."""

READ_QUICKLY = 2
"""Passages that the model reads in a search that is not corrected (`rerank.read_k`)."""

STYLE_FEATURES = ("wants_date", "wants_number", "wants_person", "wants_place", "wants_thing", "terms", "negated")
"""How the question is put. Labelled sets have habits of asking; the judge does without them."""

SHRINK, SHRINK_JAPANESE = 5.0, 10.0
"""L2 penalties in units of cases: of the weights, and of what Japanese adds to them."""

PER_SET = 400.0
"""Every set counts as so many cases, whatever its size."""

MOST_WEIGHT = 2.0
"""But no case counts more: the few questions of a set that are of another kind would weigh as much as all others."""

SET_WEIGHT = {"nomiracl_en": 4.0, "nomiracl_ja": 4.0}
"""People judged all ten passages of these: the nearest to what a search hands to the judge, so they count for more."""

SAMPLE = "sample"
"""The repository's own questions. They teach the regressions with the model alone, and check the others."""

MODEL_LOCAL_WEIGHT = {"nomiracl_en": 4.0, "nomiracl_ja": 5.0, SAMPLE: 12.0}
MODEL_RELATIONAL_WEIGHT = {SAMPLE: 4.0}
"""The same with the model. The sample is the only set over documents such as people have, so it counts for most."""

SHRINK_JAPANESE_MODEL = {True: 40.0, False: 20.0}
"""For relations, and for other questions. The model was trained on both languages: what it says differs less between
them than counts of words do."""

RELEVANCE_ONLY = frozenset(("ja_jaquad_sufficiency", "ja_jsquad_sufficiency"))
"""Sources of single passages that are far easier than sets: they teach relevance, not sufficiency."""

FOLDS = 5
_STYLES = (Want.DATE, Want.NUMBER, Want.PERSON, Want.PLACE, Want.THING)


@dataclass(slots=True)
class Row:
    """A case as the regressions see it."""

    case: Case
    passages: Features
    evidence: Features
    style: Features
    answers: Features | None
    """What the model says of each passage; None where it did not read them."""
    scored: bool
    relational: bool
    japanese: bool
    fold: int = 0


def rows_of(cases: Iterable[Case]) -> list[Row]:
    """The features of every case that has candidates, dealt into folds by group; themes are judged by rule."""
    rows = []
    folds: dict[str, int] = {}
    rng = np.random.default_rng(1)
    for case in cases:
        if not case.candidates or case.expected == "global":
            continue
        read = read_all(case.question, case.candidates)
        asked = read.asked
        style = [*(float(asked.want is want) for want in _STYLES), len(asked.terms) / 10.0, float(asked.negated)]
        fold = folds.setdefault(group_of(case), int(rng.integers(FOLDS)))
        rows.append(
            Row(
                case,
                passage_features(read),
                set_evidence(read),
                np.array(style),
                model_answers(case.candidates),
                has_scores(case.candidates),
                is_relational(case.question),
                asked.language == "ja",
                fold,
            )
        )
    return rows


def fit_logistic(
    values: Features,
    labels: Features,
    japanese: Features,
    weights: Features,
    features: Sequence[str],
    *,
    shrink_japanese: float = SHRINK_JAPANESE,
) -> Logistic:
    """A logistic regression with an addition for Japanese, by Newton's method."""
    middle = np.average(values, axis=0, weights=weights)
    scale = np.sqrt(np.average((values - middle) ** 2, axis=0, weights=weights)) + 1e-6
    standard = (values - middle) / scale
    design = np.c_[standard, standard * japanese[:, None], japanese, np.ones(len(values))]
    count = values.shape[1]
    penalty = np.r_[np.full(count, SHRINK), np.full(count, shrink_japanese), shrink_japanese, 1e-6]
    found = np.zeros(design.shape[1])
    for _ in range(40):
        chance = 1.0 / (1.0 + np.exp(-np.clip(design @ found, -30.0, 30.0)))
        slope = design.T @ (weights * (chance - labels)) + penalty * found
        bend = (design * (weights * chance * (1.0 - chance))[:, None]).T @ design + np.diag(penalty)
        step = np.linalg.solve(bend, slope)
        found -= step
        if np.abs(step).max() < 1e-6:
            break
    return Logistic(
        features=tuple(features),
        middle=tuple(map(float, middle)),
        scale=tuple(map(float, scale)),
        weights=tuple(map(float, found[:count])),
        japanese=tuple(map(float, found[count : 2 * count])),
        bias=float(found[-1]),
        japanese_bias=float(found[-2]),
        calibration={"en": (1.0, 0.0), "ja": (1.0, 0.0)},
    )


def fit_platt(logits: Features, labels: Features, weights: Features) -> tuple[float, float]:
    """The factor and shift that make log-odds true to the labels."""
    design = np.c_[logits, np.ones(len(logits))]
    found = np.array([1.0, 0.0])
    for _ in range(40):
        chance = 1.0 / (1.0 + np.exp(-np.clip(design @ found, -30.0, 30.0)))
        slope = design.T @ (weights * (chance - labels))
        bend = (design * (weights * chance * (1.0 - chance))[:, None]).T @ design + 1e-3 * np.eye(2)
        step = np.linalg.solve(bend, slope)
        found -= step
        if np.abs(step).max() < 1e-6:
            break
    return float(found[0]), float(found[1])


def _balance(rows: Sequence[Row], weight: Mapping[str, float] = SET_WEIGHT) -> Features:
    sizes = Counter(row.case.source for row in rows)
    return np.array(
        [min(MOST_WEIGHT, PER_SET / sizes[row.case.source]) * weight.get(row.case.source, 1.0) for row in rows]
    )


def _relevance(rows: Sequence[Row], features: Sequence[str]) -> Logistic:
    known = [row for row in rows if row.case.relevant is not None]
    columns = [PASSAGE_FEATURES.index(name) for name in features]
    sizes = [len(row.passages) for row in known]
    # A passage of a set of ten counts less than one alone, and a set of ten more than one passage.
    weights = np.repeat(_balance(known) * np.array([2.0 if size > 1 else 1.0 for size in sizes]) / sizes, sizes)
    return fit_logistic(
        np.concatenate([row.passages[:, columns] for row in known]),
        np.concatenate([np.array(row.case.relevant, dtype=np.float64) for row in known]),
        np.repeat([float(row.japanese) for row in known], sizes),
        weights,
        features,
    )


def set_values(row: Row, relevance: Logistic, names: Sequence[str]) -> Features:
    """The named features of a set; style counts among them."""
    logits = relevance.logits(row.passages, PASSAGE_FEATURES, japanese=row.japanese)
    values = dict(zip(SET_FEATURES, set_features(row.passages, row.evidence, logits), strict=True))
    values.update(zip(STYLE_FEATURES, row.style, strict=True))
    return np.array([values[name] for name in names])


def _sufficiency(rows: Sequence[Row], relevance: Logistic, features: Sequence[str]) -> Logistic:
    rows = [row for row in rows if row.case.source not in RELEVANCE_ONLY]
    return fit_logistic(
        np.array([set_values(row, relevance, features) for row in rows]),
        np.array([float(row.case.sufficient) for row in rows]),
        np.array([float(row.japanese) for row in rows]),
        _balance(rows),
        features,
    )


def fit_pair(rows: Sequence[Row], *, relational: bool, scored: bool, style: bool = False) -> Pair:
    """Both regressions, uncalibrated."""
    named = [name for name in PASSAGE_FEATURES if relational or name in PASSAGE_SET]
    passage = [name for name in named if scored or name not in NEED_SCORES]
    together = [name for name in (SET_RELATIONAL if relational else SET_LOCAL) if scored or name not in NEED_SCORES]
    relevance = _relevance(rows, passage)
    return Pair(relevance, _sufficiency(rows, relevance, [*together, *(STYLE_FEATURES if style else ())]))


def predict(pair: Pair, row: Row) -> tuple[Features, float]:
    """The log-odds of each passage and of the set."""
    passages = pair.relevance.logits(row.passages, PASSAGE_FEATURES, japanese=row.japanese)
    names = pair.sufficiency.features
    values = set_values(row, pair.relevance, names)
    return passages, float(pair.sufficiency.logits(values[None, :], names, japanese=row.japanese)[0])


def calibrated(pair: Pair, rows: Sequence[Row], *, relational: bool, scored: bool, style: bool = False) -> Pair:
    """The pair with factors and shifts from predictions for cases that it was not fitted on."""
    guesses: list[tuple[Row, float]] = []
    for fold in sorted({row.fold for row in rows}):
        rest = fit_pair([row for row in rows if row.fold != fold], relational=relational, scored=scored, style=style)
        guesses += [(row, predict(rest, row)[1]) for row in rows if row.fold == fold]
    by_set: dict[str, tuple[float, float]] = {"en": (1.0, 0.0), "ja": (1.0, 0.0)}
    for language, japanese in (("en", False), ("ja", True)):
        here = [
            guess for guess in guesses if guess[0].japanese is japanese and guess[0].case.source not in RELEVANCE_ONLY
        ]
        if here:
            labels = np.array([float(row.case.sufficient) for row, _ in here])
            balance = _balance([row for row, _ in here])
            by_set[language] = fit_platt(np.array([odds for _, odds in here]), labels, balance)
    return replace(pair, sufficiency=replace(pair.sufficiency, calibration=by_set))


def fit_kind(rows: Sequence[Row], *, relational: bool, scored: bool, style: bool = False) -> Pair:
    """The calibrated pair for one kind of question."""
    fitting = [
        row for row in rows if row.relational is relational and (row.scored or not scored) and row.case.source != SAMPLE
    ]
    pair = fit_pair(fitting, relational=relational, scored=scored, style=style)
    return calibrated(pair, fitting, relational=relational, scored=scored, style=style)


def fit_all(rows: Sequence[Row], by_base: Callable[[Sequence[Told]], Sequence[Told]]) -> Coefficients:
    """Every table that the judge ships with; `by_base` gives the cases as the larger size of the model reads them."""
    pairs = {
        kind: fit_kind(rows, relational=kind.endswith("relational"), scored=not kind.startswith("bare"))
        for kind in KINDS
        if not kind.startswith(("model", "base"))
    }
    told = told_apart(rows)
    for size, cases in (("model", told), ("base", by_base(told))):
        pairs |= {
            f"{size}_local": fit_model(cases, relational=False),
            f"{size}_relational": fit_model(cases, relational=True),
        }
    return Coefficients(**pairs)


@dataclass(frozen=True, slots=True)
class Guess:
    """What was predicted for a case by regressions that had not seen it."""

    row: Row
    relevance: Features
    sufficient: float


def cross_validate(rows: Sequence[Row], *, scored: bool = True, style: bool = False) -> list[Guess]:
    """A prediction for every case, from the cases of the other folds."""
    guesses = []
    for relational in (False, True):
        kind = [row for row in rows if row.relational is relational and (row.scored or not scored)]
        for fold in range(FOLDS):
            rest, held = [row for row in kind if row.fold != fold], [row for row in kind if row.fold == fold]
            if not held:
                continue
            pair = fit_kind(rest, relational=relational, scored=scored, style=style)
            for row in held:
                passages, odds = predict(pair, row)
                guesses.append(Guess(row, _chance(passages), float(_chance(np.array(odds)))))
    return guesses


@dataclass(frozen=True, slots=True)
class Told:
    """A case that the model read, with what is said of it without the model by regressions that had not seen it."""

    row: Row
    passages: Features
    """The `model_passage_features`."""
    odds: float


def told_apart(rows: Sequence[Row]) -> list[Told]:
    """Every case that the model read and that counts for sufficiency, judged without the model."""
    told = []
    for relational, scored in product((False, True), (True, False)):
        kind = [row for row in rows if row.relational is relational and (row.scored or not scored)]
        for fold in range(FOLDS):
            held = [row for row in kind if row.fold == fold and row.answers is not None and row.scored is scored]
            held = [row for row in held if row.case.source not in RELEVANCE_ONLY]
            if held:
                pair = fit_kind([row for row in kind if row.fold != fold], relational=relational, scored=scored)
                told += [_told(row, pair) for row in held]
    return told


def _told(row: Row, pair: Pair) -> Told:
    logits, odds = predict(pair, row)
    if row.answers is None:
        raise ValueError("The model did not read this case.")
    return Told(row, model_passage_features(row.answers, row.passages, logits, scored=row.scored), odds)


def read_less(one: Told, count: int = READ_QUICKLY) -> Told:
    """The same where the model read the first `count` passages alone; those that no search ordered, the nearest."""
    fit, holds, cosine, read = (MODEL_PASSAGE_FEATURES.index(name) for name in ("fit", "holds", "semantic", "read"))
    rows = one.passages.copy()
    order = np.argsort(-rows[:, cosine], kind="stable") if one.row.case.source in LABELLED else np.arange(len(rows))
    first, rest = order[:count], order[count:]
    rows[rest, read] = 0.0
    for column in (fit, holds):
        rows[rest, column] = rows[first, column].min()
    return replace(one, passages=rows)


def dealt(told: Sequence[Told], seed: int) -> list[Told]:
    """The same cases in other folds; what is said without the model stays as it is, by folds of its own."""
    rng = np.random.default_rng(seed)
    folds: dict[str, int] = {}
    return [
        replace(one, row=replace(one.row, fold=folds.setdefault(group_of(one.row.case), int(rng.integers(FOLDS)))))
        for one in told
    ]


def group_of(case: Case) -> str:
    """A question stays in one fold, as it was found and as it was corrected."""
    return f"{case.source.replace('corrected_', 'split_')}/{case.group}"


def _as_it_is(one: Told) -> Told:
    return one


def fit_model(told: Sequence[Told], *, relational: bool) -> Pair:
    """Both regressions with the model, for one kind of question."""
    told = [one for one in told if one.row.relational is relational]
    known = [one for one in told if one.row.case.relevant is not None]
    sizes = [len(one.passages) for one in known]
    weight = MODEL_RELATIONAL_WEIGHT if relational else MODEL_LOCAL_WEIGHT
    columns = [MODEL_PASSAGE_FEATURES.index(name) for name in MODEL_RELEVANCE]
    relevance = fit_logistic(
        np.concatenate([one.passages[:, columns] for one in known]),
        np.concatenate([np.array(one.row.case.relevant, dtype=np.float64) for one in known]),
        np.repeat([float(one.row.japanese) for one in known], sizes),
        np.repeat(_balance([one.row for one in known], weight) / sizes, sizes) * 2.0,
        MODEL_RELEVANCE,
        shrink_japanese=SHRINK_JAPANESE_MODEL[True],
    )
    # One search has ten passages read, the other two: the same weights serve both.
    seen = told if relational else [*told, *map(read_less, told)]
    balance = _balance([one.row for one in told], weight) * len(told) / len(seen)
    features = MODEL_RELATIONAL if relational else MODEL_LOCAL
    columns = [MODEL_SET_FEATURES.index(name) for name in features]
    sufficiency = fit_logistic(
        np.array([_model_row(one, relevance)[columns] for one in seen]),
        np.array([float(one.row.case.sufficient) for one in seen]),
        np.array([float(one.row.japanese) for one in seen]),
        np.tile(balance, len(seen) // len(told)),
        features,
        shrink_japanese=SHRINK_JAPANESE_MODEL[relational],
    )
    return Pair(relevance, sufficiency)


def _model_row(one: Told, relevance: Logistic) -> Features:
    logits = relevance.logits(one.passages, MODEL_PASSAGE_FEATURES, japanese=one.row.japanese)
    return model_set_features(one.passages, logits, one.odds)


def cross_validate_model(told: Sequence[Told], *, reading: Callable[[Told], Told] = _as_it_is) -> list[Guess]:
    """As `cross_validate`, with the model; `reading` is how a case is read that is judged."""
    guesses = []
    for relational in (False, True):
        kind = [one for one in told if one.row.relational is relational]
        for fold in range(FOLDS):
            held = [one for one in kind if one.row.fold == fold]
            if held:
                pair = fit_model([one for one in kind if one.row.fold != fold], relational=relational)
                guesses += [guess_with_model(reading(one), pair) for one in held]
    return guesses


def guess_with_model(one: Told, pair: Pair) -> Guess:
    """What such regressions say of a case."""
    logits, odds, _ = weigh_model(pair, one.passages, one.odds, japanese=one.row.japanese)
    return Guess(one.row, _chance(logits), float(_chance(np.array(odds))))


def guess_without_model(one: Told) -> Guess:
    """What was said of it before the model."""
    evidence = one.passages[:, MODEL_PASSAGE_FEATURES.index("evidence")]
    return Guess(one.row, _chance(evidence), float(_chance(np.array(one.odds))))


def _chance(odds: Features) -> Features:
    found: Features = 1.0 / (1.0 + np.exp(-np.clip(odds, -MOST_CERTAIN, MOST_CERTAIN)))
    return found


def _listed(counts: Mapping[str, int], *, without: str = "") -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items() if name != without)


def as_toml(coefficients: Coefficients, note: Mapping[str, int], read: Mapping[str, int]) -> str:
    """The coefficients as the judge reads them, and what they were fitted to."""
    lines = [
        "# Written by `python -m scripts.fit_judge`. Under weights: middle, scale, weight, what Japanese adds to it.",
        f"# Fitted to these numbers of cases: {_listed(note, without=SAMPLE)}",
        f"# The tables with the model, to those of them that it read: {_listed(read)}",
    ]
    for kind in KINDS:
        pair: Pair = getattr(coefficients, kind)
        for part, fitted in (("relevance", pair.relevance), ("sufficiency", pair.sufficiency)):
            lines += ["", f"[{kind}.{part}]"]
            lines += [f"bias = {fitted.bias:.4f}", f"japanese_bias = {fitted.japanese_bias:.4f}"]
            shown = ", ".join(f"{lang} = [{a:.4f}, {b:.4f}]" for lang, (a, b) in fitted.calibration.items())
            lines += [f"calibration = {{ {shown} }}", f"[{kind}.{part}.weights]"]
            table = zip(fitted.features, fitted.middle, fitted.scale, fitted.weights, fitted.japanese, strict=True)
            lines += [f"{name} = [{', '.join(f'{value:.4f}' for value in row)}]" for name, *row in table]
    return "\n".join(lines) + "\n"
