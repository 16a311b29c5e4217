"""The words of a query that a person would call its keywords, and the words that are none."""

from __future__ import annotations

from hybridrag.language.japanese import JAPANESE_TEXT
from hybridrag.language.stopwords import ENGLISH as ENGLISH_STOP_WORDS
from hybridrag.language.stopwords import JAPANESE as JAPANESE_STOP_WORDS
from hybridrag.language.tokenise import QueryGroup, query_groups
from hybridrag.language.units import Role

__all__ = ["ENGLISH_STOP_WORDS", "JAPANESE_STOP_WORDS", "keywords"]


def keywords(text: str) -> list[str]:
    """What a query is about, as written and in order, each once; inflected Japanese in dictionary form.

    "TypeScriptとReactの違いは何ですか" -> ["TypeScript", "React", "違い"]
    """
    found: dict[str, str] = {}
    for group in query_groups(text):
        found.setdefault(group.term, _readable(group, text))
    return list(found.values())


def _readable(group: QueryGroup, text: str) -> str:
    written = text[group.start : group.end]
    is_inflected = len(group.units) == 1 and group.units[0][1].role is Role.WORD and JAPANESE_TEXT.search(written)
    return group.term if is_inflected else written
