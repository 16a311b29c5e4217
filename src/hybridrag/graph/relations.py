"""A chunk and its mentions -> facts with the sentences that say them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from hybridrag.graph.extract_light import extract_light
from hybridrag.graph.link import plain_title
from hybridrag.graph.mentions import Context
from hybridrag.graph.names import name_key
from hybridrag.graph.relations_english import english_facts
from hybridrag.graph.relations_japanese import japanese_facts
from hybridrag.language.detect import detect
from hybridrag.language.sentences import sentences
from hybridrag.types.extraction import Fact, Mention, Source


def relate(
    text: str, mentions: Sequence[Mention], *, language: str | None = None, context: Context | None = None
) -> tuple[Fact, ...]:
    """What the chunk says about the names in it, in reading order.

    "Ann Lee founded Acme Corp." -> (ann lee, founded, acme corp)
    The title in `context` is whom "he" and "it" mean before the text has named anyone.
    """
    title = plain_title(context.title or "") if context else ""
    topic = _named(title) if title else None
    if (language or detect(text)) == "ja":
        found = japanese_facts(text, sentences(text), mentions, topic=topic, title=name_key(title))
    else:
        found = english_facts(text, sentences(text), mentions, topic=topic)
    return tuple(found)


@lru_cache(maxsize=256)
def _named(title: str) -> str | None:
    """The key of a title that is a name: a page on Acme Corp says of it what it says of nobody else.

    "函館工場" -> its key; "在宅勤務規程", "Leave and absence" -> None: no sentence means the document by "it"
    """
    found = extract_light(title).mentions
    whole = len(found) == 1 and found[0].name == title and found[0].source is Source.NAME
    return found[0].key if whole else None
