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
    unit = group.units[0][1]
    if len(group.units) > 1 or unit.role is not Role.WORD or not JAPANESE_TEXT.search(written):
        return written
    # The normalised form may be a rare ideograph (纏める); the dictionary's spelling of the word stands last.
    return unit.positions[0][-1]
