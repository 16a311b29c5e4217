"""Say what kind of answer a question wants, by rules.

What the types mean here:

- `local`: a fact or detail. "When is the next fire drill?", a bare name, a pasted error message.
- `global`: an account drawn together from many places. Themes, trends, summaries, what keeps coming up.
- `relationship`: how things compare, relate or follow from each other, or an answer that hangs on a thing which the
  question does not name: "the mother of the director of The Quiet Harbour".
- `hybrid`: several of these at once, or nothing that can be read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from hybridrag.language.detect import detect
from hybridrag.language.japanese import JAPANESE_TEXT
from hybridrag.language.normalise import Normalised, fold, normalise_with_offsets
from hybridrag.language.words import keywords
from hybridrag.queries import breadth_english, breadth_japanese, rules_english, rules_japanese
from hybridrag.queries.find_names import MAX_NAMES, identifiers, known_spans, quoted_names, settled
from hybridrag.queries.find_sides import english_sides, japanese_sides
from hybridrag.queries.morphemes import morphemes
from hybridrag.queries.pasted import is_pasted
from hybridrag.queries.plan import MIN_CONFIDENCE, default_weights, settle_type
from hybridrag.queries.read_english import Word, capitalised_names, raw_words, with_names
from hybridrag.queries.read_japanese import Phrase, noun_names, phrases
from hybridrag.queries.signals import Signal, Span
from hybridrag.queries.words_english import COMMANDS, FILLERS, QUESTION_WORDS, RELATION_WORDS
from hybridrag.queries.words_japanese import LIGHT_VERBS, NO_SIDE
from hybridrag.types.queries import QueryClassification, QueryType, RelationHint

MAX_CHARACTERS = 2000
"""How much of a text is read: twice the longest query, for what callers paste."""

KnownNames = Callable[[str], Sequence[str]]
"""Question -> the names in it that the graph knows, as the question writes them."""

CONFIDENCE = {
    "overview": 0.96,
    "what is reported": 0.95,
    "throughout": 0.92,
    "account": 0.9,
    "change over time": 0.88,
    "about": 0.85,
    "breadth": 0.85,
    "comparison": 0.95,
    "nested": 0.95,
    "relation": 0.82,
    "effect": 0.8,
    "reason": 0.75,
    "fact": 0.9,
    "plain": 0.88,
    "name": 0.88,
    "nearly broad": 0.62,
    "pasted": 0.9,
    "part of a document": 0.85,
    "mixed": 0.85,
    "unclear": 0.3,
}
"""How often a decision by each rule was right, over 2,800 labelled questions in both languages, rounded down.
`python -m benchmarks.classify` prints the table anew. Below every sensible `min_confidence` stands what nothing can
be read from."""

CONTRADICTED = 0.85
"""Factor where rules for two types fit at once."""

_LATIN = re.compile("[A-Za-z]")
_UNREADABLE = frozenset(("zh", "ko", "other"))
_ORDER = (
    "part of a document",
    "comparison",
    "relation",
    "overview",
    "what is reported",
    "throughout",
    "about",
    "account",
    "effect",
    "reason",
    "change over time",
    "breadth",
    "nested",
)
"""Which rule decides where several fit: what is plainly asked for before what is only mentioned."""
_WEAK_IN_PARTS = frozenset(("account", "breadth", "nested"))
"""Rules that need the whole question."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A question taken apart: everything that rules look at."""

    normal: Normalised
    names: list[Span]
    words: list[Word]
    row: list[Phrase]

    @property
    def text(self) -> str:
        """The normalised text."""
        return self.normal.text

    @property
    def line(self) -> str:
        """The words with one space between them, names as `N`."""
        return " ".join(word.text for word in self.words)


@dataclass(frozen=True, slots=True)
class Decision:
    """A type with its reason."""

    type: QueryType
    rule: str
    confidence: float
    hint: RelationHint | None = None


def classify(
    text: str, *, min_confidence: float = MIN_CONFIDENCE, known_names: KnownNames | None = None
) -> QueryClassification:
    """The type of a question, how sure that is, and the names and keywords in it; any text gets an answer.

    "ReactとVueの違いは何ですか" -> relationship (comparison), entities React, Vue, keywords React, Vue, 違い

    The confidence is how often such a decision was right on labelled questions. Below `min_confidence` the type is
    hybrid. `known_names` is asked for the names in the question that the graph knows; what it raises passes through.
    """
    shown = text.encode("utf-8", "replace").decode("utf-8")
    reading = _read(shown[:MAX_CHARACTERS], known_names)
    decision = _decide(reading)
    entities = _entities(shown, reading, decision)
    settled_type = settle_type(decision.type, decision.confidence, min_confidence=min_confidence)
    return QueryClassification(
        original_query=shown,
        type=settled_type,
        confidence=decision.confidence,
        extracted_entities=entities,
        suggested_weights=default_weights(settled_type),
        relation_hint=decision.hint if settled_type is QueryType.RELATIONSHIP else None,
        keywords=tuple(keywords(shown[:MAX_CHARACTERS])),
        intent=_intent(settled_type, decision, entities),
    )


def _read(text: str, known_names: KnownNames | None) -> Reading:
    normal = normalise_with_offsets(text)
    plain = normal.text
    sure = [known_spans(plain, known_names(text)) if known_names else [], quoted_names(plain)]
    language = detect(plain)
    raw = raw_words(plain)
    found = identifiers(plain) + capitalised_names(plain, raw)
    japanese = morphemes(plain) if JAPANESE_TEXT.search(plain) and language != "zh" else []
    if language == "ja":
        found += noun_names(plain, japanese)
    names = settled(*sure, found)
    return Reading(normal, names, with_names(raw, names), phrases(plain, japanese, names))


# ---------------------------------------------------------------- deciding


def _decide(reading: Reading) -> Decision:
    if is_pasted(reading.text):
        return Decision(QueryType.LOCAL, "pasted", CONFIDENCE["pasted"])
    signals = _signals(reading.line, reading.text, reading.row)
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


def _signals(line: str, text: str, row: Sequence[Phrase]) -> list[Signal]:
    english = rules_english.signals(line) if _LATIN.search(line) else ()
    japanese = rules_japanese.signals(text, row) if row else ()
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
        breadth = max(rules_english.breadth(reading.line), breadth_japanese.breadth(reading.text, reading.row))
        rule = "plain" if breadth < breadth_english.BROAD_FROM - 1 else "nearly broad"
    return Decision(QueryType.LOCAL, rule, CONFIDENCE[rule])


def _is_bare_name(reading: Reading) -> bool:
    return len(reading.names) == 1 and len(reading.text.strip()) <= reading.names[0].right - reading.names[0].left + 1


def _is_unclear(reading: Reading) -> bool:
    """Whether no word says what it is about: hmm, what about that one, それについて, ???."""
    if detect(reading.text) in _UNREADABLE:
        return True
    return not (reading.names or _says(reading, FILLERS, frozenset()))


def _has_subject(reading: Reading) -> bool:
    """Whether it says what it relates; `why?` and 違い do not."""
    return bool(reading.names) or _says(reading, FILLERS | RELATION_WORDS, NO_SIDE)


def _says(reading: Reading, fillers: frozenset[str], empty_nouns: frozenset[str]) -> bool:
    english = any(word.text[0].isalnum() and word.text.isascii() and word.text not in fillers for word in reading.words)
    return english or any(
        (phrase.is_noun and phrase.text not in empty_nouns)
        or phrase.kind in {"形容詞", "形状詞"}
        or (phrase.kind == "動詞" and phrase.text not in LIGHT_VERBS)
        for phrase in reading.row
    )


def _is_mixed(reading: Reading) -> bool:
    """Whether it asks for the whole and, in another part, for a fact or a relation."""
    if reading.line.count(" ") >= rules_english.LONG_QUESTION:
        return False
    english = [_kind_of_english(part) for part in rules_english.parts(reading.line)]
    japanese = [_kind_of_japanese(part) for part in rules_japanese.parts(reading.text)] if reading.row else []
    return any("whole" in kinds and {"fact", "relation"}.intersection(kinds) for kinds in (english, japanese))


def _kind_of_english(part: str) -> str:
    # "throughout the novel, whom does she help?" asks one thing.
    asks = any(word in QUESTION_WORDS | COMMANDS for word in part.split(" "))
    signals = [signal for signal in rules_english.signals(part) if asks or signal.rule != "throughout"]
    return _kind(signals, is_fact=rules_english.is_fact(part))


def _kind_of_japanese(part: str) -> str:
    signals = list(rules_japanese.signals(part, ()))
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


# ---------------------------------------------------------------- what it is about


def _entities(text: str, reading: Reading, decision: Decision) -> tuple[str, ...]:
    """The names in the order of the question, each once, as written; with the sides of a comparison."""
    sides: list[Span] = []
    if decision.type is QueryType.RELATIONSHIP:
        sides = [*english_sides(reading.words), *japanese_sides(reading.row)]
    found: dict[str, str] = {}
    whole = [side for side in sides if any(side.start <= name.start and name.end < side.end for name in reading.names)]
    for span in settled(whole, reading.names, sides)[:MAX_NAMES]:
        start, end = reading.normal.span(span.start, span.end)
        shown = text[start:end].strip()
        if shown:
            found.setdefault(fold(shown), shown)
    return tuple(found.values())


def _intent(query_type: QueryType, decision: Decision, entities: Iterable[str]) -> str:
    about = _listed(tuple(entities)[:3])
    if query_type is QueryType.RELATIONSHIP:
        return _RELATION_INTENTS[decision.hint or RelationHint.GENERAL](about)
    if query_type is QueryType.GLOBAL:
        return f"Get an overview that covers {about}." if about else "Get an overview of the whole."
    if query_type is QueryType.LOCAL:
        if decision.rule == "pasted":
            return "Find where this text is dealt with."
        return f"Find a fact or detail about {about}." if about else "Find a fact or detail."
    if decision.rule == "mixed":
        return "Answer several kinds of questions at once."
    return "Search in every way: what is wanted is not clear."


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


_RELATION_INTENTS: dict[RelationHint, Callable[[str], str]] = {
    RelationHint.COMPARISON: lambda about: f"Compare {about}." if about else "Compare two things.",
    RelationHint.RELATIONSHIP: lambda about: f"Find how {about} relate." if about else "Find how things relate.",
    RelationHint.CAUSATION: lambda about: (
        f"Find what causes or changes what, with {about}." if about else "Find what causes or changes what."
    ),
    RelationHint.REASON: lambda about: f"Find the reason, with {about}." if about else "Find the reason.",
    RelationHint.GENERAL: lambda about: (
        f"Follow the relations from {about}." if about else "Follow relations between things."
    ),
}
