"""A chunk and its mentions -> facts with their sentences, and the pairs that merely stand together."""

from __future__ import annotations

from dataclasses import dataclass

from hybridrag.graph.facts import Cooccurrence, Fact, cooccurrences
from hybridrag.graph.link import plain_title
from hybridrag.graph.mentions import Context, Extraction
from hybridrag.graph.names import name_key
from hybridrag.graph.relations_english import english_facts
from hybridrag.graph.relations_japanese import japanese_facts
from hybridrag.language.detect import detect
from hybridrag.language.sentences import sentences


@dataclass(frozen=True, slots=True)
class Relations:
    """Facts in reading order, and co-occurrences ordered by key."""

    facts: tuple[Fact, ...] = ()
    cooccurrences: tuple[Cooccurrence, ...] = ()


def relate(
    text: str, extraction: Extraction, *, language: str | None = None, context: Context | None = None
) -> Relations:
    """What the chunk says about the names in it.

    "Ann Lee founded Acme Corp." -> fact (ann lee, founded, acme corp), pair (acme corp, ann lee)
    """
    spans = sentences(text)
    topic = name_key(plain_title(context.title)) if context and context.title else None
    read = japanese_facts if (language or detect(text)) == "ja" else english_facts
    facts = read(text, spans, extraction.mentions, topic=topic)
    return Relations(tuple(facts), tuple(cooccurrences(extraction.mentions, spans)))
