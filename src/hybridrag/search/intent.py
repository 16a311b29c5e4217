"""Check that what came back answers the kind of question that was asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hybridrag.protocols import Question
from hybridrag.search.missing import language_of, unseen_names
from hybridrag.search.passages import Read, best_sentence, mentions, new_finds, presence, read_all
from hybridrag.types.queries import QueryType, RelationHint, Want
from hybridrag.types.results import Hit, IntentMatch

BREADTH = 3
"""Documents that an overview draws on at least."""

SPEAKS_OF_IT = 0.5
"""A sentence that says this share of the question speaks of what was asked."""

IN_PLACE, SOMEWHERE, ABSENT, UNTOLD = 0.9, 0.6, 0.8, 0.5
"""How sure a check is: the thing stands in the sentence that speaks of it; only elsewhere; nowhere; cannot be told."""

_EXPECTED = {
    "en": {
        Want.DATE: "a date",
        Want.NUMBER: "a number",
        Want.PERSON: "a person",
        Want.PLACE: "a place",
        Want.REASON: "a reason",
        Want.MANNER: "a way to do it",
        Want.THING: "a passage on the subject",
    },
    "ja": {
        Want.DATE: "日付",
        Want.NUMBER: "数",
        Want.PERSON: "人",
        Want.PLACE: "場所",
        Want.REASON: "理由",
        Want.MANNER: "方法",
        Want.THING: "その事柄についての記述",
    },
}
_SIDES = {"en": "{count} sides: {names}", "ja": "{count}つの対象：{names}"}
_BOTH = {"en": "both {names}", "ja": "{names}の両方"}
_ALL_NAMED = {"en": "all that is named", "ja": "挙げられたものすべて"}
_BREADTH = {"en": "breadth: at least {least} documents", "ja": "広がり：{least}件以上の文書"}
_NARROW = {
    "en": "more than {count} of the at least {least} documents of an overview",
    "ja": "概観に要る{least}件以上の文書のうち{count}件を超える分",
}
_COMMA = {"en": ", ", "ja": "、"}
_AND = {"en": " and ", "ja": "と"}


def match_intent(question: Question, candidates: Sequence[Hit]) -> IntentMatch:
    """Whether the results hold what such a question wants, and what of it they lack.

    "When was Orin Works founded?" with "Orin Works was founded in 1987." -> matched, expected "a date"
    "Compare Orin Works and Vell" with passages on Orin Works alone -> not matched, missing "Vell"
    """
    read = read_all(question, candidates)
    return _check_of(question)(read)


def _check_of(question: Question) -> Callable[[Read], IntentMatch]:
    if question.type is QueryType.GLOBAL:
        return _check_breadth
    if question.type is QueryType.RELATIONSHIP and len(question.names) >= 2:
        return _check_sides if question.hint is RelationHint.COMPARISON else _check_relation
    if question.type is QueryType.RELATIONSHIP and question.hint is RelationHint.REASON:
        return _check_reason
    return _check_kind


def _check_sides(read: Read) -> IntentMatch:
    """A comparison needs every side."""
    missing = tuple(name.text for name in unseen_names(read))
    names, language = [name.text for name in read.question.names], language_of(read)
    expected = _SIDES[language].format(count=len(names), names=_COMMA[language].join(names))
    return IntentMatch(
        matched=not missing, confidence=ABSENT if missing else IN_PLACE, expected=expected, missing=missing
    )


def _check_relation(read: Read) -> IntentMatch:
    """A relation needs both ends; in one passage it is surer."""
    names = read.question.names
    missing = tuple(name.text for name in unseen_names(read))
    together = any(all(mentions(read, at, name) for name in names) for at in range(len(read.candidates)))
    confidence = ABSENT if missing else IN_PLACE if together else SOMEWHERE
    language = language_of(read)
    expected = _ALL_NAMED[language]
    if len(names) == 2:
        expected = _BOTH[language].format(names=_AND[language].join(name.text for name in names))
    return IntentMatch(matched=not missing, confidence=confidence, expected=expected, missing=missing)


def _check_breadth(read: Read) -> IntentMatch:
    """An overview needs several documents; candidates without a title each count as one."""
    sources = {candidate.title or candidate.id for candidate in read.candidates}
    matched = len(sources) >= BREADTH
    language = language_of(read)
    missing = () if matched else (_NARROW[language].format(count=len(sources), least=BREADTH),)
    return IntentMatch(
        matched=matched,
        confidence=IN_PLACE if matched else ABSENT,
        expected=_BREADTH[language].format(least=BREADTH),
        missing=missing,
    )


def _check_reason(read: Read) -> IntentMatch:
    return _check_for(read, Want.REASON)


def _check_kind(read: Read) -> IntentMatch:
    return _check_for(read, read.question.want)


def _check_for(read: Read, want: Want) -> IntentMatch:
    """Something of that kind, in the sentence that speaks of it or elsewhere."""
    expected = _EXPECTED[language_of(read)][want]
    if not read.candidates:
        return IntentMatch(matched=False, confidence=1.0, expected=expected, missing=(expected,))
    if want in {Want.THING, Want.MANNER}:
        return IntentMatch(matched=True, confidence=UNTOLD, expected=expected)
    places = [_where(read, at, want) for at in range(len(read.candidates))]
    best = max(places)
    matched = best > 0.0
    return IntentMatch(
        matched=matched,
        confidence=best if matched else ABSENT,
        expected=expected,
        missing=() if matched else (expected,),
    )


def _where(read: Read, at: int, want: Want) -> float:
    asked, passage, heading = read.question, read.passages[at], read.headings[at]
    new = new_finds(asked, passage, want)
    if not new:
        return 0.0
    best = passage.sentences[best_sentence(asked, passage, heading)]
    speaks = asked.coverage(presence(asked.terms, best.terms, heading.terms)) >= SPEAKS_OF_IT
    there = any(best.start <= find.start < best.end for find in new)
    return IN_PLACE if speaks and there else SOMEWHERE
