"""How far a judge agrees with people: cases that somebody labelled, judged again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybridrag.errors import InvalidInput
from hybridrag.evaluate.accuracy import Confusion, CoveragePoint, abstention_curve, area_under_curve, confusion
from hybridrag.evaluate.read_lines import read_records
from hybridrag.evaluate.support import SupportJudge
from hybridrag.language.detect import detect
from hybridrag.protocols import Judge, Question
from hybridrag.result import Ok, Result
from hybridrag.types.results import Hit

YES_FROM = 0.5
"""A probability from here on is a yes."""
ALL_CASES = "all"


@dataclass(frozen=True, slots=True)
class LabelledCase:
    """Passages, what is asked or stated, and what a person said of it."""

    text: str
    passages: tuple[str, ...]
    label: bool
    """Whether the passages hold the answer to the question, or support the statement."""
    states: bool = False
    """Whether `text` is a statement."""
    titles: tuple[str, ...] = ()
    """Of the passages, where they are known."""


@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """How far a judge agrees with people."""

    confusion: Confusion
    """`yes` and `no`: as people labelled it, and as the judge found it."""
    area: float
    """The probability that a case labelled yes is judged higher than one labelled no."""
    curve: tuple[CoveragePoint, ...]
    """Agreement against the share of the cases that are judged at all, the surest first."""


def read_labelled_cases(file: str | Path) -> list[LabelledCase]:
    """Cases from a file of JSON lines, plain or `.gz`.

    {"question": "Who?", "passages": ["Ann."], "sufficient": true}: do the passages hold the answer?
    {"statement": "Ann did.", "passages": ["Ann."], "supported": false}: do they support the statement?

    A passage is a text, or {"title": ..., "text": ...}.

    Raises:
        InvalidInput: the file cannot be read, is empty, or a line is neither.
    """
    cases = [_case(where, fields) for where, fields in read_records(Path(file))]
    if not cases:
        raise InvalidInput(f"{file} holds no cases.", hint='Write {"question", "passages", "sufficient"} a line.')
    return cases


def judge_agreement(
    cases: Sequence[LabelledCase],
    *,
    judge: Judge,
    support: SupportJudge,
    on_case: Callable[[int, int], None] | None = None,
) -> dict[str, JudgeAgreement]:
    """The agreement over all cases, then over those of each language where there are several.

    `judge` says of questions whether they can be answered, `support` of statements whether they are supported.

    Raises:
        RAGError: the judge failed; there is no figure then.
    """
    found: list[float] = []
    for number, case in enumerate(cases, start=1):
        found.append(_judged(case, judge, support).unwrap())
        if on_case is not None:
            on_case(number, len(cases))
    places: dict[str, list[int]] = {ALL_CASES: list(range(len(cases)))}
    for place, case in enumerate(cases):
        places.setdefault(detect(case.text), []).append(place)
    # One language is what "all" says already.
    kept = places if len(places) > 2 else {ALL_CASES: places[ALL_CASES]}
    return {
        name: _agreement([cases[at].label for at in some], [found[at] for at in some]) for name, some in kept.items()
    }


def _agreement(labels: Sequence[bool], found: Sequence[float]) -> JudgeAgreement:
    said = [value >= YES_FROM for value in found]
    right = [label == yes for label, yes in zip(labels, said, strict=True)]
    return JudgeAgreement(
        confusion=confusion([_named(label) for label in labels], [_named(yes) for yes in said]),
        area=area_under_curve(labels, found),
        curve=tuple(abstention_curve(right, [max(value, 1 - value) for value in found])),
    )


def _judged(case: LabelledCase, judge: Judge, support: SupportJudge) -> Result[float]:
    if case.states:
        supported = support.supports([case.text], case.passages)
        return Ok(supported.value[0]) if isinstance(supported, Ok) else supported
    titles = case.titles or ("",) * len(case.passages)
    candidates = [
        Hit(id=str(place), text=text, score=0.0, title=title)
        for place, (text, title) in enumerate(zip(case.passages, titles, strict=True))
    ]
    judged = judge.judge(Question(case.text), candidates)
    return Ok(judged.value.sufficient) if isinstance(judged, Ok) else judged


def _case(where: str, fields: Mapping[str, Any]) -> LabelledCase:
    states = "statement" in fields
    text = fields.get("statement" if states else "question")
    label = fields.get("supported" if states else "sufficient")
    passages = fields.get("passages")
    if not isinstance(text, str) or not text.strip():
        raise InvalidInput(f"{where}: must have a `question` or a `statement`.")
    if label not in {True, False}:  # 0 and 1 are these
        raise InvalidInput(f"{where}: `{'supported' if states else 'sufficient'}` must be true or false.")
    rows = [one if isinstance(one, dict) else {"text": one} for one in passages] if isinstance(passages, list) else []
    texts, titles = [row.get("text") for row in rows], [row.get("title") or "" for row in rows]
    if not isinstance(passages, list) or not all(isinstance(one, str) for one in (*texts, *titles)):
        raise InvalidInput(f"{where}: `passages` must be a list of texts.")
    return LabelledCase(text, tuple(map(str, texts)), bool(label), states, tuple(map(str, titles)))


def _named(yes: bool) -> str:
    return "yes" if yes else "no"
