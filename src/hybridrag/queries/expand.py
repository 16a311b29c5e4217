"""Say the same question in other words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

MAX_EXPANSIONS = 16
"""Each expansion is searched: a long synonym list must not multiply the cost without end."""


def expand_query(query: str, synonyms: Mapping[str, Sequence[str]], *, limit: int = MAX_EXPANSIONS) -> tuple[str, ...]:
    """The question first, then once per known synonym with that word replaced, without repeats.

    ("car price", {"car": ["automobile"]}) -> ("car price", "automobile price")

    Words match without regard to case. A Japanese word has no spaces around it, so it matches anywhere; a word
    of letters matches only as a whole word.
    """
    expansions = [query]
    for word, alternatives in synonyms.items():
        pattern = _whole_word(word)
        if pattern is None or not pattern.search(query):
            continue
        for alternative in alternatives:
            # A replacement string would interpret backslashes.
            expanded = pattern.sub(alternative.replace("\\", r"\\"), query)
            if expanded.strip() and expanded not in expansions:
                expansions.append(expanded)
    return tuple(expansions[:limit])


def _whole_word(word: str) -> re.Pattern[str] | None:
    word = word.strip()
    if not word:
        return None
    before = r"(?<![A-Za-z0-9_])" if _is_latin(word[0]) else ""
    after = r"(?![A-Za-z0-9_])" if _is_latin(word[-1]) else ""
    return re.compile(before + re.escape(word) + after, re.IGNORECASE)


def _is_latin(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character == "_")
