"""Build patterns out of word lists."""

from __future__ import annotations

import re
from collections.abc import Iterable


def any_of(words: Iterable[str]) -> str:
    """A group that takes any of the words, the longest first.

    {"問題", "問題点"} -> "(?:問題点|問題)"
    """
    return "(?:" + "|".join(map(re.escape, sorted(words, key=lambda word: (-len(word), word)))) + ")"


WORD = r"[^ ,?.;]+\ "
"""A word of a sentence whose words have one space between them. The space is escaped for re.VERBOSE."""
FEW = rf"(?:{WORD}){{0,3}}"
GAP = r"(?:[^ ?.;]+\ ){0,24}"
"""Any words of the same sentence, bounded: no text makes a pattern slow."""
