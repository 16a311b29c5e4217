"""An LLM's answer about a chunk -> mentions and facts, as far as the text of the chunk bears them out.

A model may invent, and a document may talk it into anything. So nothing counts that is not in the text: a name must
stand in it, a fact must join two such names, and its evidence is a sentence of the text and not the model's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from hybridrag.graph.names import KANA_KANJI, is_japanese, name_key
from hybridrag.language.morphemes import morphemes
from hybridrag.language.normalise import normalise, normalise_with_offsets
from hybridrag.language.sentences import sentences
from hybridrag.types.extraction import Fact, FactKind, Mention, Source
from hybridrag.types.graph import EntityType

NAME_CONFIDENCE = 0.9
TYPED, UNTYPED = 2, 0
"""How good a model's word for a type is, as `Mention.type_strength` counts it: like a sentence that says it."""
QUOTED = 0.9
"""The evidence is in the text, with both names in it."""
QUOTED_IN_PART = 0.7
"""The evidence is in the text, and one of the names or both are only meant there: "he", "the company"."""
NOT_QUOTED = 0.6
"""The evidence is not in the text, and a sentence with both names is."""

MAX_ITEMS = 500
"""Of each list; a chunk has some dozen, and a model that repeats itself has no end."""
MAX_NAME = 200
MAX_PREDICATE = 60
MAX_EVIDENCE = 2000

OTHER_WORDS = {
    "organization": EntityType.ORGANISATION,
    "company": EntityType.ORGANISATION,
    "location": EntityType.PLACE,
    "date": EntityType.TIME,
    "technology": EntityType.CONCEPT,
}
"""What models write instead of the types that they were given."""

# Compiled once and looked at beside each place: inside the pattern of every name they would take most of the time.
_GOES_ON = (re.compile(rf"[^\W{KANA_KANJI}]"), re.compile("[\u30a1-\u30fa\u30fc]"))
"""Letters of alphabets, and katakana: a word goes on from one to the next."""
_TRIMMED = " \t\r\n\"'`“”‘’「」『』.,;:!?…。、"

Span = tuple[int, int]


class Claim(NamedTuple):
    """A relation as the model states it."""

    source: str
    predicate: str
    target: str
    evidence: str


@dataclass(slots=True)
class Answer:
    """What a model said, in one round or several, each thing once."""

    types: dict[str, EntityType] = field(default_factory=dict)
    """By name, as the model spells it."""
    claims: dict[tuple[str, str, str], Claim] = field(default_factory=dict)

    def add(self, other: Answer) -> bool:
        """Take in another round; whether it said anything new."""
        before = len(self.types) + len(self.claims)
        self.types = {**other.types, **self.types}
        self.claims = {**other.claims, **self.claims}
        return len(self.types) + len(self.claims) > before


@dataclass(frozen=True, slots=True)
class Borne:
    """What the text bears out, and how much of the answer it does not."""

    mentions: tuple[Mention, ...]
    facts: tuple[Fact, ...]
    dropped: int


def parse_answer(text: str) -> Answer:
    """What an answer says, without the items that are malformed.

    '{"entities": [{"name": "Ann", "type": "person"}], "relations": []}' -> Ann: person

    Raises:
        ValueError: it is not the JSON that was asked for.
    """
    try:
        said = json.loads(text)
    except RecursionError as cause:
        raise ValueError(str(cause)) from cause
    if not isinstance(said, dict) or not all(isinstance(said.get(key), list) for key in ("entities", "relations")):
        msg = "it has no lists `entities` and `relations`"
        raise ValueError(msg)
    answer = Answer()
    for item in said["entities"][:MAX_ITEMS]:
        name = _string(item, "name", MAX_NAME)
        if name:
            answer.types.setdefault(name, _type(_string(item, "type", MAX_NAME)))
    for item in said["relations"][:MAX_ITEMS]:
        claim = _claim(item)
        if claim is not None:
            answer.claims.setdefault((claim.source, claim.predicate.casefold(), claim.target), claim)
    return answer


def bear_out(answer: Answer, text: str) -> Borne:
    """What of an answer stands in the text, at its place.

    Ann: person, Mars: place; "Ann left." -> Ann at (0, 3); Mars is dropped
    """
    place = _Passage(text)
    names = dict.fromkeys(name for claim in answer.claims.values() for name in (claim.source, claim.target))
    found = {name: spans for name in [*answer.types, *names] if name_key(name) and (spans := place.find_name(name))}
    mentions = _mentions(text, found, answer.types)
    keys = {name: name_key(text[slice(*spans[0])]) for name, spans in found.items()}
    alive = {mention.key for mention in mentions}
    facts: dict[tuple[str, str, str], Fact] = {}
    for claim in answer.claims.values():
        fact = _fact(claim, keys, alive, mentions, place)
        if fact is not None:
            facts.setdefault((fact.subject_key, fact.predicate.casefold(), fact.object_key), fact)
    dropped = sum(keys.get(name) not in alive for name in answer.types) + len(answer.claims) - len(facts)
    ordered = sorted(facts.values(), key=lambda it: (it.start, it.subject_key, it.predicate, it.object_key))
    return Borne(tuple(mentions), tuple(ordered), dropped)


def _string(item: Any, key: str, longest: int) -> str:
    value = item.get(key) if isinstance(item, dict) else None
    text = value.strip() if isinstance(value, str) else ""
    return text if len(text) <= longest else ""


def _type(word: str) -> EntityType:
    """The type of that name or of a word that models use for it; other, where it is neither."""
    word = word.casefold()
    if word in OTHER_WORDS:
        return OTHER_WORDS[word]
    return EntityType(word) if word in set(EntityType) else EntityType.OTHER


def _claim(item: Any) -> Claim | None:
    source, target = _string(item, "source", MAX_NAME), _string(item, "target", MAX_NAME)
    predicate = " ".join(_string(item, "predicate", MAX_PREDICATE).replace("_", " ").split()).strip(_TRIMMED)
    if not (source and target and any(char.isalpha() for char in predicate)):
        return None
    return Claim(source, predicate, target, _string(item, "evidence", MAX_EVIDENCE))


class _Passage:
    """Finds words in a text, whatever their width, white space and case."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._normal = normalise_with_offsets(text)

    @cached_property
    def sentences(self) -> Sequence[Span]:
        return sentences(self.text)

    @cached_property
    def _borders(self) -> tuple[set[int], set[int]]:
        words = morphemes(self.text)
        return {word.start for word in words}, {word.end for word in words}

    def find_name(self, name: str) -> list[Span]:
        """Where it stands as a name of its own: "Ann" is not in "Annual", 京都 not in 東京都 if it is elsewhere."""
        spans = self._spans_of_name(name) or self._spans_of_name(name.strip(_TRIMMED))
        if not is_japanese(name):
            return spans
        starts, ends = self._borders
        return [span for span in spans if span[0] in starts and span[1] in ends] or spans

    def _spans_of_name(self, name: str) -> list[Span]:
        words = _escaped(name)
        return (self._spans(words, whole=True) or self._spans(words, re.IGNORECASE, whole=True)) if words else []

    def find_evidence(self, evidence: str) -> Span | None:
        """Where it was copied from, if it was."""
        words = _escaped(evidence.strip(_TRIMMED))
        return next(iter(self._spans(words, re.IGNORECASE)), None) if words else None

    def _spans(self, pattern: str, flags: int = 0, *, whole: bool = False) -> list[Span]:
        text = self._normal.text
        found = (match.span() for match in re.finditer(pattern, text, flags))
        return [self._normal.span(*span) for span in found if not (whole and _within_word(text, *span))]


def _escaped(words: str) -> str:
    """The normal form of some words as a pattern that takes any white space between them."""
    return r"\s+".join(re.escape(word) for word in normalise(words).split())


def _within_word(text: str, start: int, end: int) -> bool:
    """Whether a word that `text[start:end]` begins or ends with goes on outside it."""
    return any(
        (start > 0 and kind.match(text, start - 1) and kind.match(text, start))
        or (kind.match(text, end - 1) and kind.match(text, end))
        for kind in _GOES_ON
    )


def _mentions(text: str, found: dict[str, list[Span]], types: dict[str, EntityType]) -> list[Mention]:
    """One mention for every place; where two overlap the longer name is meant: Bank of Japan, Japan.

    A name that only a relation gives comes last: it may be half a sentence around the names that are meant.
    """
    kept: list[Mention] = []
    taken: set[int] = set()
    places = [(name not in types, start - end, start, name) for name, spans in found.items() for start, end in spans]
    for _, minus_length, start, name in sorted(places):
        end = start - minus_length
        key = name_key(text[start:end])
        if key and taken.isdisjoint(range(start, end)):
            taken.update(range(start, end))
            kind = types.get(name, EntityType.OTHER)
            strength = UNTYPED if kind is EntityType.OTHER else TYPED
            kept.append(Mention(text[start:end], key, kind, start, end, NAME_CONFIDENCE, Source.MODEL, strength))
    return sorted(kept, key=lambda it: it.start)


def _fact(claim: Claim, keys: dict[str, str], alive: set[str], mentions: list[Mention], place: _Passage) -> Fact | None:
    subject, target = keys.get(claim.source), keys.get(claim.target)
    if subject is None or target is None or subject == target or not {subject, target} <= alive:
        return None
    found = _sentence(claim, {subject, target}, mentions, place)
    if found is None:
        return None
    (start, end), confidence = found
    return Fact(subject, claim.predicate, target, start, end, confidence, FactKind.MODEL)


def _sentence(claim: Claim, pair: set[str], mentions: list[Mention], place: _Passage) -> tuple[Span, float] | None:
    """The sentence that states a claim: the one quoted, best with both names; else any with both names."""
    quoted = place.find_evidence(claim.evidence)
    near = [span for span in place.sentences if quoted is not None and _overlap(span, quoted)]
    for span in near:
        if pair <= set(_keys_in(span, mentions)):
            return span, QUOTED
    if near:
        return next((span for span in near if pair & set(_keys_in(span, mentions))), near[0]), QUOTED_IN_PART
    for span in place.sentences:
        if pair <= set(_keys_in(span, mentions)):
            return span, NOT_QUOTED
    return None


def _overlap(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _keys_in(span: Span, mentions: list[Mention]) -> Iterator[str]:
    return (mention.key for mention in mentions if span[0] <= mention.start < span[1])
