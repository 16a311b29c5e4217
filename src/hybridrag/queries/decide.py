"""Weigh the rules that fit a question, and settle on one type."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hybridrag.queries import rules_english, rules_japanese
from hybridrag.queries.pasted import is_pasted
from hybridrag.queries.read_english import OPENERS
from hybridrag.queries.read_japanese import Phrase
from hybridrag.queries.read_question import Reading
from hybridrag.queries.rules_english import COMMANDS, QUESTION_WORDS
from hybridrag.queries.signals import Signal
from hybridrag.queries.words import english, japanese
from hybridrag.types.queries import QueryType, RelationHint

CONFIDENCE = {
    "overview": 0.96,
    "what is reported": 0.95,
    "throughout": 0.92,
    "list": 0.9,
    "change over time": 0.88,
    "about": 0.85,
    "breadth": 0.84,
    "comparison": 0.95,
    "nested": 0.88,
    "relation": 0.82,
    "effect": 0.8,
    "reason": 0.75,
    "fact": 0.86,
    "plain": 0.88,
    "name": 0.88,
    "nearly broad": 0.62,
    "pasted": 0.9,
    "part of a document": 0.85,
    "mixed": 0.85,
    "unclear": 0.3,
}
"""How often a decision by each rule is right: over 2,800 labelled questions in both languages, rounded down.
`python -m benchmarks.classify` prints the table anew. For `relation`, `effect` and `reason` labels count as corrected:
sets of plain facts call every why-question a fact. `unclear` stands below every sensible `min_confidence`."""

CONTRADICTED = 0.85
"""Factor where rules for two types fit at once."""

_FILLERS = OPENERS | english("fillers")
_RELATION_WORDS = english("relations")
_LIGHT_VERBS, _NO_SIDE = japanese("light_verbs"), japanese("no_side")
_LATIN = re.compile("[A-Za-z]")
_UNREADABLE = frozenset(("zh", "ko", "other"))
LONG_QUESTION = 28
"""Words; a longer one is one question with many clauses."""
_ORDER = (
    "part of a document",
    "comparison",
    "relation",
    "overview",
    "list",
    "what is reported",
    "throughout",
    "about",
    "effect",
    "reason",
    "change over time",
    "breadth",
    "nested",
)
"""Which rule decides where several fit: what is plainly asked for before what is only mentioned."""
_WEAK_IN_PARTS = frozenset(("breadth", "nested", "list"))
"""Rules that need the whole question."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A type with its reason."""

    type: QueryType
    rule: str
    confidence: float
    hint: RelationHint | None = None


def decide(reading: Reading) -> Decision:
    """The type that the rules settle on, the rule that did, and how often it is right.

    "which of N and N is deeper ?" -> relationship by `comparison`, 0.95
    """
    if is_pasted(reading.text):
        return Decision(QueryType.LOCAL, "pasted", CONFIDENCE["pasted"])
    signals = _signals(reading)
    if not signals and _is_unclear(reading):
        return Decision(QueryType.HYBRID, "unclear", CONFIDENCE["unclear"])
    if _is_mixed(reading):
        return Decision(QueryType.HYBRID, "mixed", CONFIDENCE["mixed"])
    if not signals:
        return _plain(reading)
    best = _best(signals)
    if best.type is QueryType.RELATIONSHIP and not _has_subject(reading):
        return Decision(QueryType.HYBRID, "unclear", CONFIDENCE["unclear"])
    confidence = CONFIDENCE[best.rule]
    if len({signal.type for signal in signals}) > 1:
        confidence *= CONTRADICTED
    return Decision(best.type, best.rule, confidence, best.hint)


def _signals(reading: Reading) -> list[Signal]:
    english = rules_english.signals(reading.line) if _LATIN.search(reading.text) else ()
    japanese = rules_japanese.signals(reading.text, reading.row) if reading.row else ()
    return [*english, *japanese]


def _best(signals: Sequence[Signal]) -> Signal:
    return min(signals, key=lambda signal: _ORDER.index(signal.rule))


def _plain(reading: Reading) -> Decision:
    """No rule fits: a fact or detail, the surer the more plainly it is asked."""
    if rules_english.is_fact(reading.line) or rules_japanese.is_fact(reading.text):
        rule = "fact"
    elif _is_bare_name(reading):
        rule = "name"
    else:
        breadth = max(rules_english.breadth(reading.line), rules_japanese.breadth(reading.text, reading.row))
        rule = "plain" if breadth < rules_english.BROAD_FROM - 1 else "nearly broad"
    return Decision(QueryType.LOCAL, rule, CONFIDENCE[rule])


def _is_bare_name(reading: Reading) -> bool:
    return len(reading.names) == 1 and len(reading.text.strip()) <= reading.names[0].right - reading.names[0].left + 1


def _is_unclear(reading: Reading) -> bool:
    """Whether no word says what it is about: hmm, what about that one, それについて, ???."""
    if reading.language in _UNREADABLE:
        return True
    return not (reading.names or _says(reading, _FILLERS, frozenset()))


def _has_subject(reading: Reading) -> bool:
    """Whether it says what it relates; `why?` and 違い do not."""
    return bool(reading.names) or _says(reading, _FILLERS | _RELATION_WORDS, _NO_SIDE)


def _says(reading: Reading, fillers: frozenset[str], empty_nouns: frozenset[str]) -> bool:
    english = any(word.text[0].isalnum() and word.text.isascii() and word.text not in fillers for word in reading.words)
    return english or any(
        (phrase.is_noun and phrase.text not in empty_nouns)
        or phrase.kind in {"形容詞", "形状詞"}
        or (phrase.kind == "動詞" and phrase.text not in _LIGHT_VERBS)
        for phrase in reading.row
    )


def _is_mixed(reading: Reading) -> bool:
    """Whether it asks for the whole and, in another part, for a fact or a relation."""
    if reading.line.count(" ") >= LONG_QUESTION:
        return False
    english = [_kind_of_english(part) for part in rules_english.parts(reading.line)]
    japanese = [_kind_of_japanese(*part) for part in rules_japanese.parts(reading.text, reading.row)]
    return any("whole" in kinds and {"fact", "relation"}.intersection(kinds) for kinds in (english, japanese))


def _kind_of_english(part: str) -> str:
    # "throughout the novel, whom does she help?" asks one thing.
    asks = any(word in QUESTION_WORDS | COMMANDS for word in part.split(" "))
    signals = [signal for signal in rules_english.signals(part) if asks or signal.rule != "throughout"]
    return _kind(signals, is_fact=rules_english.is_fact(part))


def _kind_of_japanese(part: str, row: Sequence[Phrase]) -> str:
    signals = list(rules_japanese.signals(part, row))
    return _kind(signals, is_fact=rules_japanese.is_fact(part))


def _kind(signals: Sequence[Signal], *, is_fact: bool) -> str:
    types = {signal.type for signal in signals if signal.rule not in _WEAK_IN_PARTS}
    if len(types) > 1:
        return ""
    if QueryType.GLOBAL in types:
        return "whole"
    if QueryType.RELATIONSHIP in types:
        return "relation"
    return "fact" if is_fact and not signals else ""
