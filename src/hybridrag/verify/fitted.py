"""Fit the last step of any judge to one's own labelled questions, and judge with it.

A second logistic regression weighs what the first judge says and how the question is put: every collection has habits
of asking, and kinds of question that its documents answer. It is a file of words and weights that a person can read.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from hybridrag.errors import InvalidSettings
from hybridrag.language.detect import detect
from hybridrag.protocols import Candidate, Judge, Judgement, Question
from hybridrag.result import Err, Ok, Result
from hybridrag.verify.features import MODEL_SET_FEATURES, SET_FEATURES, Features, read_all
from hybridrag.verify.judge import MAX_JUDGED, MOST_CERTAIN, probability
from hybridrag.verify.missing import say_missing
from hybridrag.verify.read import is_theme, plain

FORMAT = 1
"""Raised when a file can no longer be read as before."""
KEY = "verify.fitted"
"""The setting that names the file."""
FIT_AGAIN = "Fit it again: hybridrag tune DATASET --judge --write FILE"
MAX_BYTES = 16_000_000
"""Far more than the words of any set of questions that one can label."""

ODDS = "odds"
"""What the first judge said, as log-odds."""
BEFORE = "before_fit"
"""The reason that says what the first judge had said."""

LEAST_QUESTIONS = 40
"""Of a language: with fewer, the first judge knows better. Four fifths of the fifty that can be cross-validated."""
LEAST_KNOWN = 0.9
"""A reason counts that so many of the questions come with; a model that was late once does not strike it out."""
LEAST_OCCURRENCES = 3
MOST_OCCURRENCES = 0.7
"""A word tells something that occurs in so many questions at least, and in this share of them at most."""

SHRINK_REASONS, SHRINK_WORDS = 8.0, 0.5
"""L2 penalties in units of questions, of standardised reasons and of words. There are far more words than reasons, and
the words of a question share a length of 1, so each has little to say without being held back."""

BESIDE_WORDS = ("evidence", "together")
"""The reasons that count beside words, where the judge gives them: for some twenty, most of which say the same, and
all the words, a few hundred questions are too few."""

ROUNDS, CLOSE = 50, 1e-6
"""Newton's method ends after so many steps, or when one changes nothing by more than this; it needs about eight."""
LEAST_BEND = 1e-4
"""Keeps the step of a question finite that is judged with certainty."""

BY_CHARACTERS = frozenset(("ja", "zh"))
"""Languages that put no spaces between words."""
_WORD = re.compile(r"\w+|[?']")

FORMS: Mapping[str, tuple[re.Pattern[str], re.Pattern[str]]] = {
    f"asks_{name}": (re.compile(spaced), re.compile(unspaced))
    for name, spaced, unspaced in (
        (
            "for_the_most",
            r"\b(first|last|most|best|second|oldest|youngest|(larg|bigg|small|tall|long|short|high|fast|great|heavi)est)\b",
            "一番|最も|最大|最小|最初|最古|最後|最高|初めて|番目",
        ),
        (
            "for_what_changes",
            r"\b(current|currently|now|today|next|latest|average|typical|still)\b",
            "現在|今の|今は|平均|最新|最近",
        ),
        (
            "for_a_measure",
            r"\bhow (many|much|long|old|large|wide|tall|far|big|high|deep|often|fast|heavy|small)\b",
            "いくつ|いくら|どのくらい|どれくらい|何(人|歳|年|度|回|メートル|キロ)|面積|人口|長さ|高さ|大きさ",
        ),
        ("for_yes_or_no", r"^(is|are|was|were|do|does|did|can|could|has|have|will|should)\b", "[るたい][？?。]?$"),
        (
            "for_a_meaning",
            r"\b(mean|means|meaning|stand for|known as|called|definition|define|what is an?)\b",
            "とは|意味|どんな|どのよう",
        ),
        (
            "for_a_manner",
            r"^(how(?! (many|much|long|old|large|wide|tall|far|big|high|deep|often))|why)\b",
            "なぜ|どうやって|どうして|方法",
        ),
        (
            "to_choose",
            r"^((in|on|of|to|at|by|from) )?(which|what)\b",
            "どの(?!くらい|よう)|どれ(?!くらい)|どちら|何(県|区|色|国)",
        ),
    )
}
"""How a question may be put, in languages with spaces and without. Some kinds are answered by one collection and not by
another: an encyclopaedia seldom says what is the most of its kind, or what is so today."""
LENGTH = "length"
"""The root of how many characters a question has."""

LOCAL = "local"
KNOWN_REASONS = frozenset((ODDS, *SET_FEATURES, *MODEL_SET_FEATURES, *FORMS, LENGTH))
"""What the local judge of this version can give."""

LabelledJudgement = tuple[Question, Judgement, bool]
"""A question, what the first judge made of its results, and whether they really sufficed."""


@dataclass(frozen=True, slots=True)
class FittedLanguage:
    """The regression for the questions of one language."""

    questions: int
    """How many it was fitted to."""
    bias: float
    reasons: Mapping[str, tuple[float, float, float]]
    """Name -> middle, scale and weight."""
    words: Mapping[str, float]
    """What occurs in questions, as `question_words` writes it -> weight."""

    def odds(self, given: Mapping[str, float], words: Sequence[str]) -> float | None:
        """The log-odds that the results suffice; None where a reason is not given."""
        if not all(math.isfinite(given.get(name, math.nan)) for name in self.reasons):
            return None
        found = self.bias + sum(w * (given[name] - middle) / scale for name, (middle, scale, w) in self.reasons.items())
        known = [self.words[word] for word in words if word in self.words]
        found += sum(known) / math.sqrt(max(1, len(known)))
        return min(MOST_CERTAIN, max(-MOST_CERTAIN, found))


@dataclass(frozen=True, slots=True)
class Fitted:
    """What was fitted, by language; a language that is not there stays as the first judge has it."""

    judge: str
    """The name of the first judge."""
    languages: Mapping[str, FittedLanguage]

    def sufficient(self, question: Question, judgement: Judgement) -> float | None:
        """The probability that the results suffice; None where the first judge's stands.

        It stands for themes, which are judged by rule, where nothing was found, for a language without a regression,
        and where a reason is missing that the regression rests on.
        """
        fitted = self.languages.get(detect(question.text))
        if fitted is None or is_theme(question) or not judgement.relevance:
            return None
        odds = fitted.odds(_given(question, judgement), question_words(question.text))
        return None if odds is None else float(probability(odds))

    @property
    def fingerprint(self) -> str:
        """Of what it rests on: the judge, the languages and the names of the reasons."""
        names = {language: sorted(fitted.reasons) for language, fitted in sorted(self.languages.items())}
        return blake2b(json.dumps([self.judge, names]).encode(), digest_size=8).hexdigest()

    def as_toml(self) -> str:
        """The file that `read_fitted` reads; of words, those that say most come first."""
        lines = [
            "# Written by `hybridrag tune --judge`. A positive weight speaks for results that suffice.",
            "# Under reasons: middle, scale, weight. Under words: ^ is the beginning of a question, $ its end.",
            f"format = {FORMAT}",
            f"judge = {_quoted(self.judge)}",
            f'fingerprint = "{self.fingerprint}"',
        ]
        for language, fitted in sorted(self.languages.items()):
            lines += ["", f"[{language}]", f"questions = {fitted.questions}", f"bias = {fitted.bias:.4f}"]
            lines += ["", f"[{language}.reasons]"]
            # Of a middle and a scale the first digits count, wherever the point stands.
            lines += [f"{_quoted(name)} = [{a:.6g}, {b:.6g}, {w:.4f}]" for name, (a, b, w) in fitted.reasons.items()]
            lines += ["", f"[{language}.words]"]
            ordered = sorted(fitted.words.items(), key=lambda pair: (-abs(pair[1]), pair[0]))
            lines += [f"{_quoted(word)} = {weight:.4f}" for word, weight in ordered]
        return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _given(question: Question, judgement: Judgement) -> dict[str, float]:
    """What the first judge gives by name, and how the question is put."""
    limit = 1.0 / (1.0 + math.exp(MOST_CERTAIN))
    chance = min(1.0 - limit, max(limit, judgement.sufficient))
    return {**judgement.reasons, **question_forms(question.text), ODDS: math.log(chance / (1.0 - chance))}


def question_forms(text: str) -> dict[str, float]:
    """How a question is put: 1 for each form that it has, and its length.

    "How long is the first bridge?" -> asks_for_the_most 1, asks_for_a_measure 1, all others 0, length 5.4
    """
    written, unspaced = plain(text).strip(), detect(text) in BY_CHARACTERS
    forms = {name: float(bool(patterns[unspaced].search(written))) for name, patterns in FORMS.items()}
    return {**forms, LENGTH: math.sqrt(len(written))}


def question_words(text: str) -> list[str]:
    """What a question is made of, each once: words and pairs of them, or up to three characters; its beginning or end.

    "Who built it?" -> who, built, it, ?, "who built", "built it", "it ?", ^who, "^who built"
    "誰か" -> 誰, か, 誰か, $か, $誰か
    """
    written = plain(text).strip()
    if detect(text) in BY_CHARACTERS:
        parts = [written[at : at + n] for n in (1, 2, 3) for at in range(len(written) - n + 1)]
        parts += [f"${written[-n:]}" for n in (1, 2, 3, 4) if n <= len(written)]
    else:
        words = _WORD.findall(written)
        pairs = [" ".join(pair) for pair in pairwise(words)]
        parts = [*words, *pairs, *(f"^{first}" for first in (*words[:1], *pairs[:1]))]
    # What cannot be seen cannot be read in a file either.
    return [part for part in dict.fromkeys(parts) if part.isprintable()]


# Fitting


def fit_judge(
    judge: str,
    labelled: Sequence[LabelledJudgement],
    *,
    words: bool = True,
    shrink: tuple[float, float] = (SHRINK_REASONS, SHRINK_WORDS),
) -> Fitted:
    """The regressions that do best on these questions, one for each language that has enough of both labels.

    `judge` is the name of the judge whose judgements these are; `words` off leaves how a question is put aside, and
    weighs all reasons of the judge instead of the few that count beside words. `shrink` are the penalties of both.

    fit_judge("local", cases).sufficient(question, judgement) -> 0.7
    """
    counted = [case for case in labelled if case[1].relevance and not is_theme(case[0])]
    by_language: dict[str, list[LabelledJudgement]] = {}
    for case in counted:
        by_language.setdefault(detect(case[0].text), []).append(case)
    fitted = {language: _fit_language(cases, shrink, words=words) for language, cases in by_language.items()}
    return Fitted(judge, {language: found for language, found in fitted.items() if found is not None})


def _fit_language(
    cases: Sequence[LabelledJudgement], shrink: tuple[float, float], *, words: bool
) -> FittedLanguage | None:
    given = [_given(question, judgement) for question, judgement, _ in cases]
    names = _reasons_of(given, words=words)
    known = [place for place, one in enumerate(given) if all(_has(one, name) for name in names)]
    labels = np.array([float(cases[place][2]) for place in known])
    if len(known) < LEAST_QUESTIONS or len(set(labels)) < 2:
        return None
    values = np.array([[given[place][name] for name in names] for place in known])
    middle, scale = values.mean(axis=0), values.std(axis=0) + CLOSE
    said = [question_words(cases[place][0].text) for place in known] if words else [[] for _ in known]
    vocabulary = _vocabulary(said)
    rows = _word_rows(said, vocabulary)
    usual = rows.mean(axis=0)
    by_reason, by_word = map(math.sqrt, shrink)
    design = np.c_[(values - middle) / scale / by_reason, (rows - usual) / by_word]
    weights, bias = solve_dual(design, labels)
    of_reasons, of_words = weights[: len(names)] / by_reason, weights[len(names) :] / by_word
    table = zip(middle.tolist(), scale.tolist(), of_reasons.tolist(), strict=True)
    return FittedLanguage(
        questions=len(known),
        bias=bias - float(usual @ of_words),
        reasons=dict(zip(names, table, strict=True)),
        words=dict(zip(vocabulary, of_words.tolist(), strict=True)),
    )


def _has(given: Mapping[str, float], name: str) -> bool:
    return math.isfinite(given.get(name, math.nan))


def _reasons_of(given: Sequence[Mapping[str, float]], *, words: bool) -> list[str]:
    """The reasons that nearly all questions come with, and that are not the same for all."""
    names = dict.fromkeys(name for one in given for name in one)
    values = {name: [one[name] for one in given if _has(one, name)] for name in names}
    told = [n for n, v in values.items() if len(v) >= LEAST_KNOWN * len(given) and float(np.ptp(v)) > CLOSE]
    put = [name for name in told if name in FORMS or name == LENGTH]
    if not words:
        return [name for name in told if name not in put]
    # Where no model read, what the judge says as a whole stands for both.
    few = BESIDE_WORDS if all(name in told for name in BESIDE_WORDS) else (ODDS,)
    return [*(name for name in few if name in told), *put]


def _vocabulary(said: Sequence[Sequence[str]]) -> list[str]:
    counts = Counter(word for words in said for word in words)
    most = MOST_OCCURRENCES * len(said)
    return sorted(word for word, count in counts.items() if LEAST_OCCURRENCES <= count <= most)


def _word_rows(said: Sequence[Sequence[str]], vocabulary: Sequence[str]) -> Features:
    """A row for each question, of length 1 where it has a word that counts."""
    places = {word: place for place, word in enumerate(vocabulary)}
    rows: Features = np.zeros((len(said), len(vocabulary)))
    for row, words in zip(rows, said, strict=True):
        row[[places[word] for word in words if word in places]] = 1.0
    rows /= np.sqrt(np.maximum(rows.sum(axis=1, keepdims=True), 1.0))
    return rows


def solve_dual(design: Features, labels: Features) -> tuple[Features, float]:
    """The weights of a logistic regression with penalty 1 on each, and its bias, which has none.

    By Newton's method over the questions instead of the words, of which there are more.
    """
    kernel, count = design @ design.T, len(labels)
    share: Features = np.zeros(count)
    bias = 0.0
    system = np.ones((count + 1, count + 1))
    system[count, count] = 0.0
    for _ in range(ROUNDS):
        odds = kernel @ share + bias
        chance = probability(np.clip(odds, -30.0, 30.0))
        bend = np.maximum(chance * (1.0 - chance), LEAST_BEND)
        system[:count, :count] = kernel + np.diag(1.0 / bend)
        found = np.linalg.solve(system, np.r_[odds + (labels - chance) / bend, 0.0])
        change = float(np.abs(found[:count] - share).max())
        share, bias = np.asarray(found[:count], dtype=np.float64), float(found[count])
        if change < CLOSE:
            break
    return design.T @ share, bias


# Reading


def read_fitted(file: str | Path) -> Fitted:
    """What `Fitted.as_toml` wrote.

    Raises:
        InvalidSettings: the file cannot be read, is of another kind or format, or rests on what this version has not.
    """
    where = str(file)
    try:
        raw = Path(file).read_bytes()
    except OSError as cause:
        expected = f"names a file that cannot be read ({cause.strerror or cause})"
        raise InvalidSettings(where=where, key=KEY, expected=expected) from None
    try:
        found, mark = _parsed(raw)
    except (ValueError, KeyError, TypeError, AttributeError):
        expected = "names a file that is no fitted judge"
        raise InvalidSettings(where=where, key=KEY, expected=expected, hint=FIT_AGAIN) from None
    if found is None:
        expected = f"names a file of another format than {FORMAT}, which this version reads"
        raise InvalidSettings(where=where, key=KEY, expected=expected, hint=FIT_AGAIN)
    _check_reasons(found, mark, where)
    return found


def _parsed(raw: bytes) -> tuple[Fitted | None, str]:
    """What a file holds, and its fingerprint; None where it is of another format."""
    if len(raw) > MAX_BYTES:
        raise ValueError
    tables = tomllib.loads(raw.decode("utf-8"))
    if tables.pop("format") != FORMAT:
        return None, ""
    judge, mark = tables.pop("judge"), tables.pop("fingerprint")
    return Fitted(str(judge), {language: _read_language(table) for language, table in tables.items()}), str(mark)


def _read_language(table: Mapping[str, Any]) -> FittedLanguage:
    reasons = {name: (_number(a), _number(b), _number(w)) for name, (a, b, w) in table["reasons"].items()}
    if any(scale <= 0.0 for _, scale, _ in reasons.values()):
        raise ValueError
    words = {word: _number(weight) for word, weight in table["words"].items()}
    return FittedLanguage(int(table["questions"]), _number(table["bias"]), reasons, words)


def _number(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError
    return float(value)


def _check_reasons(fitted: Fitted, mark: str, where: str) -> None:
    names = {name for one in fitted.languages.values() for name in one.reasons}
    unknown = sorted(names - KNOWN_REASONS) if fitted.judge == LOCAL else []
    if unknown:
        expected = f"rests on {', '.join(map(repr, unknown))}, which the judge of this version does not give"
        raise InvalidSettings(where=where, key=KEY, expected=expected, hint=FIT_AGAIN)
    if mark != fitted.fingerprint:
        expected = "names a file whose reasons are not those that it was written with"
        raise InvalidSettings(where=where, key=KEY, expected=expected, hint=FIT_AGAIN)


# Judging


class FittedJudge:
    """A `Judge` that lets another judge, and puts right how likely the results suffice.

    The grades of the candidates stay as they are. Thread-safe where the other judge is.
    """

    def __init__(self, judge: Judge, fitted: Fitted) -> None:
        """Put `fitted` after `judge`.

        Raises:
            InvalidSettings: it was fitted to the judgements of another one.
        """
        if judge.name != fitted.judge:
            expected = f"was fitted to the judge `{fitted.judge}`, and `{judge.name}` is set"
            raise InvalidSettings(where="settings", key=KEY, expected=expected, hint=FIT_AGAIN)
        self._judge = judge
        self._fitted = fitted

    @property
    def name(self) -> str:
        """What the trace calls it: "local, fitted"."""
        return f"{self._judge.name}, fitted"

    def judge(
        self, question: Question, candidates: Sequence[Candidate], *, timeout: float | None = None
    ) -> Result[Judgement]:
        """What the other judge makes of them, with the fitted probability; its own is the reason `before_fit`."""
        found = self._judge.judge(question, candidates, timeout=timeout)
        if isinstance(found, Err):
            return found
        first = found.value
        sufficient = self._fitted.sufficient(question, first)
        if sufficient is None:
            return found
        reasons = {**first.reasons, BEFORE: round(first.sufficient, 4)}
        missing = () if sufficient >= 0.5 else first.missing or say_missing(read_all(question, candidates[:MAX_JUDGED]))
        return Ok(replace(first, sufficient=sufficient, missing=missing, reasons=reasons))
