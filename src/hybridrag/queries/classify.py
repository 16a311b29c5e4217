"""Say what kind of answer a question wants, by rules.

What the types mean here:

- `local`: a fact or detail. "When is the next fire drill?", a bare name, a pasted error message.
- `global`: an account drawn together from many places. Themes, trends, summaries, what keeps coming up.
- `relationship`: how things compare, relate or follow from each other, or an answer that hangs on a thing which the
  question does not name: "the mother of the director of The Quiet Harbour".
- `hybrid`: several of these at once, or nothing that can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hybridrag.language.normalise import fold
from hybridrag.language.words import keywords
from hybridrag.queries.decide import Decision, decide
from hybridrag.queries.find_names import MAX_NAMES, settled
from hybridrag.queries.find_sides import english_sides, japanese_sides
from hybridrag.queries.plan import DEFAULTS, default_weights, settle_type
from hybridrag.queries.read_question import KnownNames, Reading, read_question
from hybridrag.queries.signals import Span
from hybridrag.types.queries import QueryClassification, QueryType, RelationHint

MAX_CHARACTERS = 2000
"""How much of a text is read: twice the longest query, for what callers paste."""

MAX_NAMES_SHOWN = 3
"""Names that the sentence about the intention repeats."""


def classify(
    text: str, *, min_confidence: float = DEFAULTS.min_confidence, known_names: KnownNames | None = None
) -> QueryClassification:
    """The type of a question, how sure that is, and the names and keywords in it; any text gets an answer.

    "ReactとVueの違いは何ですか" -> relationship (comparison), entities React, Vue, keywords React, Vue, 違い

    The confidence is how often such a decision was right on labelled questions. Below `min_confidence` the type is
    hybrid. `known_names` is asked for the names in the question that the graph knows; what it raises passes through.
    """
    shown = text.encode("utf-8", "replace").decode("utf-8")
    reading = read_question(shown[:MAX_CHARACTERS], known_names=known_names)
    decision = decide(reading)
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


def _entities(text: str, reading: Reading, decision: Decision) -> tuple[str, ...]:
    """The names in the order of the question, each once, as written; with the sides of a comparison.

    What is asked by way of something else has no sides: 書いた人は何年に生まれましたか sets 人 against nothing.
    """
    sides: list[Span] = []
    if decision.type is QueryType.RELATIONSHIP and decision.rule != "nested":
        sides = [*english_sides(reading.words), *japanese_sides(reading.row)]
    found: dict[str, str] = {}
    whole = [side for side in sides if any(side.start <= name.start and name.end < side.end for name in reading.names)]
    for span in settled(whole, reading.names, sides)[:MAX_NAMES]:
        start, end = reading.normal.span(span.start, span.end)
        shown = text[start:end].strip()
        if shown:
            found.setdefault(fold(shown), shown)
    return tuple(found.values())


def _intent(query_type: QueryType, decision: Decision, entities: Sequence[str]) -> str:
    about = _listed(entities[:MAX_NAMES_SHOWN])
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
