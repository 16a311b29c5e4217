"""Judge by evidence alone, on this machine: does a passage bear on the question, do all together hold its answer?"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

import numpy as np

from hybridrag.language.tokenise import QueryTerm
from hybridrag.protocols import Candidate, Judgement, Question
from hybridrag.result import Ok, Result
from hybridrag.verify.features import (
    MODEL_PASSAGE_FEATURES,
    MODEL_SET_FEATURES,
    NEED_SCORES,
    PASSAGE_FEATURES,
    SET_FEATURES,
    Features,
    Read,
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
from hybridrag.verify.missing import say_missing, theme_terms
from hybridrag.verify.read import is_theme, name_presence, presence

MAX_JUDGED = 20
"""Candidates that are read: an answer is within the first ones or not found; what follows gets the least grade."""

MOST_CERTAIN = 6.0
"""Log-odds are cut here, at 0.25 %: no count of words is surer than that."""

ON_THEME, ALL_OF_THEME, NAMED_ALONE, OFF_THEME = 0.7, 0.9, 0.5, 0.1
"""The relevance of a passage for an overview: it has a word of the subject, all of them, only a name of the question,
neither. An overview is made of passages that each say a part."""

SPOKEN_OF = 0.5
"""From this share of a compound or a name on, it counts as said."""

FITS_THEME = 0.0
"""From this logit on, a model that read a passage with the question takes it to be on the subject in other words."""

BREADTH_SUFFICES = (0.05, 0.35, 0.6, 0.8)
"""The chance that passages of none, one, two, or three documents and more make an overview."""


@dataclass(frozen=True, slots=True)
class Logistic:
    """A logistic regression with its own shift for Japanese, calibrated for each language."""

    features: tuple[str, ...]
    middle: tuple[float, ...]
    scale: tuple[float, ...]
    weights: tuple[float, ...]
    japanese: tuple[float, ...]
    """Added to the weights for a Japanese question."""
    bias: float
    japanese_bias: float
    calibration: Mapping[str, tuple[float, float]]
    """`en` or `ja` -> factor and shift of the log-odds (Platt)."""

    def logits(self, rows: Features, names: Sequence[str], *, japanese: bool) -> Features:
        """The calibrated log-odds of each row, whose columns are `names`."""
        columns = [names.index(feature) for feature in self.features]
        standard = (rows[:, columns] - np.array(self.middle)) / np.array(self.scale)
        weights, bias = np.array(self.weights), self.bias
        if japanese:
            weights, bias = weights + np.array(self.japanese), bias + self.japanese_bias
        factor, shift = self.calibration["ja" if japanese else "en"]
        found: Features = np.clip((standard @ weights + bias) * factor + shift, -MOST_CERTAIN, MOST_CERTAIN)
        return found


@dataclass(frozen=True, slots=True)
class Pair:
    """The two regressions that judge one kind of question."""

    relevance: Logistic
    sufficiency: Logistic


@dataclass(frozen=True, slots=True)
class Coefficients:
    """What was fitted: for questions about one thing and for relations, with the scores of the searches and without.

    What a model says that read question and passages together is weighed after that, against what the others found.
    """

    local: Pair
    relational: Pair
    bare_local: Pair
    bare_relational: Pair
    model_local: Pair
    model_relational: Pair
    base_local: Pair
    base_relational: Pair
    """The same for the larger size of the package's own model, which says other numbers."""

    @classmethod
    def read(cls, text: str) -> Coefficients:
        """The coefficients in TOML, as `scripts/fit_judge.py` writes them."""
        tables = tomllib.loads(text)
        pairs = {
            kind: Pair(_logistic(tables[kind]["relevance"]), _logistic(tables[kind]["sufficiency"])) for kind in KINDS
        }
        return cls(**pairs)

    def of(self, *, relational: bool, scored: bool) -> Pair:
        """The regressions for such a question and such candidates."""
        if scored:
            return self.relational if relational else self.local
        return self.bare_relational if relational else self.bare_local

    def of_reader(self, size: str, *, relational: bool) -> Pair:
        """The regressions for what the package's own model says, in this size."""
        if size == BASE:
            return self.base_relational if relational else self.base_local
        return self.model_relational if relational else self.model_local


KINDS = (
    *("local", "relational", "bare_local", "bare_relational"),
    *("model_local", "model_relational", "base_local", "base_relational"),
)
"""The tables of the coefficients."""
SMALL, BASE = "small", "base"
"""Sizes of the package's own model."""


def _logistic(table: Mapping[str, Any]) -> Logistic:
    rows = table["weights"]
    return Logistic(
        features=tuple(rows),
        middle=tuple(row[0] for row in rows.values()),
        scale=tuple(row[1] for row in rows.values()),
        weights=tuple(row[2] for row in rows.values()),
        japanese=tuple(row[3] for row in rows.values()),
        bias=table["bias"],
        japanese_bias=table["japanese_bias"],
        calibration={language: (pair[0], pair[1]) for language, pair in table["calibration"].items()},
    )


@lru_cache(maxsize=1)
def default_coefficients() -> Coefficients:
    """The coefficients that ship with the package."""
    return Coefficients.read(resources.files(__package__).joinpath("judge.toml").read_text(encoding="utf-8"))


class LocalJudge:
    """Weighs how far the question is covered, and whether something of the kind it asks for stands there.

    LocalJudge().judge(Question("When was Orin Works founded?"), [Candidate(id="1", text="Orin Works was founded in
    1987.", score=1.0)]) -> Ok(relevance about .9, sufficient about .8)

    Needs no model and no network; thread-safe; never fails.
    """

    def __init__(
        self, coefficients: Coefficients | None = None, *, trust_cosines: bool = True, reader: str = SMALL
    ) -> None:
        """`trust_cosines` off judges by the text alone: for an embedding model other than the default one.

        `reader` is the size of the package's own model, where that read the candidates: `small` or `base`.
        """
        self._given = coefficients
        self._trust_cosines = trust_cosines
        self._reader = reader

    @property
    def name(self) -> str:
        """What the trace calls it."""
        return "local"

    def judge(
        self,
        question: Question,
        candidates: Sequence[Candidate],
        *,
        timeout: float | None = None,  # noqa: ARG002 (part of the protocol; a few milliseconds need none)
    ) -> Result[Judgement]:
        """The probability that each candidate bears on the question, and that all together answer it."""
        read = read_all(question, candidates[:MAX_JUDGED])
        if not candidates:
            return Ok(Judgement((), 0.0, say_missing(read)))
        relevance, sufficient, values = weigh_theme(read) if is_theme(question) else self.weigh(read)
        rest = (min(relevance),) * (len(candidates) - len(relevance))
        missing = () if sufficient >= 0.5 else say_missing(read)
        return Ok(Judgement((*relevance, *rest), sufficient, missing, values))

    def weigh(self, read: Read) -> tuple[tuple[float, ...], float, dict[str, float]]:
        """The relevance of each, the sufficiency of all, and what that rests on by name."""
        scored = self._trust_cosines and has_scores(read.candidates)
        tables, relational = self._given or default_coefficients(), is_relational(read.question)
        known = tables.of(relational=relational, scored=scored)
        japanese = read.asked.language == "ja"
        rows = passage_features(read)
        logits = known.relevance.logits(rows, PASSAGE_FEATURES, japanese=japanese)
        row = set_features(rows, set_evidence(read), logits)
        odds = float(known.sufficiency.logits(row[None, :], SET_FEATURES, japanese=japanese)[0])
        values = dict(zip(SET_FEATURES, row, strict=True))
        shown = {name: value for name, value in values.items() if scored or name not in NEED_SCORES}
        answers = model_answers(read.candidates)
        if answers is not None:
            with_model = tables.of_reader(self._reader, relational=relational)
            read_rows = model_passage_features(answers, rows, logits, scored=scored)
            logits, odds, seen = weigh_model(with_model, read_rows, odds, japanese=japanese)
            shown |= seen
        reasons = {name: round(float(value), 4) for name, value in shown.items()}
        return tuple(float(value) for value in probability(logits)), float(probability(odds)), reasons


def weigh_model(pair: Pair, rows: Features, odds: float, *, japanese: bool) -> tuple[Features, float, dict[str, float]]:
    """The log-odds of each passage and of the set with what a model says of them, and what those rest on.

    `rows` are the `model_passage_features`, `odds` those of the set so far.
    """
    logits = pair.relevance.logits(rows, MODEL_PASSAGE_FEATURES, japanese=japanese)
    row = model_set_features(rows, logits, odds)
    found = pair.sufficiency.logits(row[None, :], MODEL_SET_FEATURES, japanese=japanese)[0]
    # The products are for the regression; a reader of the reasons has their factors.
    shown = {
        name: float(value) for name, value in zip(MODEL_SET_FEATURES, row, strict=True) if not name.endswith("_near")
    }
    return logits, float(found), shown


def weigh_theme(read: Read) -> tuple[tuple[float, ...], float, dict[str, float]]:
    """As `LocalJudge.weigh`, for a question about the whole: by rule, as no words of an overview must recur.

    "What are the main themes?" with passages of three documents -> each .7, together .8
    "Give an overview of harbour fees": a document counts where it has a word of that.
    """
    subject = theme_terms(read.asked)
    spoken = [_spoken_of(read, at, subject) for at in range(len(read.candidates))]
    named = [_is_named(read, at) for at in range(len(read.candidates))]
    relevance = tuple(_on_theme(share, named=name) for share, name in zip(spoken, named, strict=True))
    titles = [candidate.title or candidate.id for candidate in read.candidates]
    on = {title for title, share in zip(titles, spoken, strict=True) if share > 0.0}
    near = {title for title, name in zip(titles, named, strict=True) if name} - on
    # Any number of documents with the name alone counts as one: they may be about anything else.
    breadth = BREADTH_SUFFICES[min(len(on) + bool(near), len(BREADTH_SUFFICES) - 1)]
    return relevance, breadth, {"documents": float(len(on)), "named": float(len(near))}


def _spoken_of(read: Read, at: int, subject: Sequence[QueryTerm]) -> float:
    """The share of the subject that a passage has; where there is no subject, whether it has the names asked about."""
    if not subject:
        return float(not read.asked.names or _is_named(read, at))
    there = presence(subject, read.passages[at].terms, read.headings[at].terms)
    share = sum(found >= SPOKEN_OF for found in there) / len(there)
    fits = read.candidates[at].scores.get("fit", FITS_THEME - 1.0) >= FITS_THEME
    return max(share, 1.0 / len(there)) if fits else share


def _is_named(read: Read, at: int) -> bool:
    passage, heading = read.passages[at], read.headings[at]
    text = f"{passage.plain}\n{heading.plain}"
    return any(name_presence(name, text, passage.terms, heading.terms) >= SPOKEN_OF for name in read.asked.names)


def _on_theme(share: float, named: bool) -> float:
    if share > 0.0:
        return ON_THEME + share * (ALL_OF_THEME - ON_THEME)
    return NAMED_ALONE if named else OFF_THEME


def probability(logits: Features | float) -> Features:
    """Log-odds as a probability: 0 -> 0.5."""
    found: Features = 1.0 / (1.0 + np.exp(-np.asarray(logits, dtype=np.float64)))
    return found
