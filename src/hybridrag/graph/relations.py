"""A chunk and its mentions -> facts with the sentences that say them."""

from __future__ import annotations

from collections.abc import Sequence

from hybridrag.graph.link import plain_title
from hybridrag.graph.mentions import Context
from hybridrag.graph.names import name_key
from hybridrag.graph.relations_english import english_facts
from hybridrag.graph.relations_japanese import japanese_facts
from hybridrag.language.detect import detect
from hybridrag.language.sentences import sentences
from hybridrag.types.extraction import Fact, Mention


def relate(
    text: str, mentions: Sequence[Mention], *, language: str | None = None, context: Context | None = None
) -> tuple[Fact, ...]:
    """What the chunk says about the names in it, in reading order.

    "Ann Lee founded Acme Corp." -> (ann lee, founded, acme corp)
    The title in `context` is whom "he" and "it" mean before the text has named anyone.
    """
    topic = name_key(plain_title(context.title)) if context and context.title else None
    read = japanese_facts if (language or detect(text)) == "ja" else english_facts
    return tuple(read(text, sentences(text), mentions, topic=topic))
