"""When a name is short for a longer one: Kwame for Kwame Addo-Leigh, つばくろ電機 for つばくろ電機株式会社."""

from __future__ import annotations

from hybridrag.graph.names import is_japanese, strip_legal_form
from hybridrag.graph.words import CONNECTORS
from hybridrag.types.graph import EntityType

SHORT = "short "
"""Begins what a whole name is filed under for each form that it may be shortened to."""

MAX_WORDS = 5
"""Longer names are titles, which nobody shortens to their first words."""

MAX_JAPANESE_PERSON = 8
"""Characters of a whole Japanese name."""

_WEEKDAYS = frozenset("月火水木金土日")
"""Stand in brackets behind dates far more often than for a name that begins so: 22日（金）, 金沢."""

_CODE_WORDS = 2
"""A product may be called by its number alone, and has so many words before it: Leafnode LN3."""

NUMBERED = frozenset({EntityType.PRODUCT, EntityType.CONCEPT, EntityType.OTHER})
"""What may be called by a number; of most, nothing tells which of these they are."""


def shorter_forms(norm: str) -> set[str]:
    """What a name may be shortened to; which of these it is depends on its type.

    "nadia farrow" -> {"nadia", "farrow", "n farrow"}; "小鷹隆" -> {"小", "小鷹"}
    """
    words = norm.split(" ")
    if len(words) == 1:
        if not is_japanese(norm):
            return set()
        starts = {norm[:size] for size in range(1, len(norm))} if len(norm) <= MAX_JAPANESE_PERSON else set()
        return (starts | {strip_legal_form(norm)}) - {norm} - _WEEKDAYS
    if len(words) > MAX_WORDS:
        return set()
    parts = {" ".join(words[:size]) for size in range(1, len(words))}
    parts |= {" ".join(words[size:]) for size in range(1, len(words))}
    return parts | {f"{words[0][0]} {words[-1]}"} - {norm}


def fits(short: str, whole: str, kind: EntityType) -> bool:
    """Whether one of the shorter forms of a name of that type is what people call it.

    "kwame", "kwame addo leigh", person -> True; "selby", "selby castle", place -> False
    """
    words, left = whole.split(" "), short.split(" ")
    if len(words) == 1:
        return strip_legal_form(whole) == short or (kind is EntityType.PERSON and whole.startswith(short))
    if CONNECTORS.intersection(words[: len(left) + 1]) or len(short) < 2:
        return False
    if kind is EntityType.PERSON:
        return short in {words[0], words[-1], f"{words[0][0]} {words[-1]}"}
    if kind is EntityType.ORGANISATION:
        return words[: len(left)] == left
    before = words[: -len(left)]
    numbered = any(char.isdigit() for char in left[-1]) and words[-len(left) :] == left
    return numbered and kind in NUMBERED and len(before) <= _CODE_WORDS and all(word.isalpha() for word in before)
