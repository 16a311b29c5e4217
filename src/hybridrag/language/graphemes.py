"""Find where text may be cut without tearing one visible character apart.

The rules of Unicode's extended grapheme clusters that occur in practice: marks and variation selectors stay with
their base, Hangul jamo with their syllable, ﾞ with its kana, joined emoji and flags together, CR with LF.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Literal

from hybridrag.language.scripts import EMOJI, FLAG_LETTERS, SKIN_TONES

MAX_CLUSTER = 64
"""Characters after which a cluster may be cut all the same: piled-up marks must not make text uncuttable."""

_ZWJ = "\u200d"
_PICTURE = re.compile(f"[{EMOJI}\u00a9\u00ae\u2122\u2139\u2194-\u2199\u21a9\u21aa]")
_FLAG = re.compile(f"[{FLAG_LETTERS}]")
_EXTENDING = re.compile(
    f"[{SKIN_TONES}\ufe00-\ufe0f\uff9e\uff9f\U000e0020-\U000e007f\U000e0100-\U000e01ef\u200c{_ZWJ}]"
)
_SYLLABLE_BASE = 0xAC00
_JAMO_PER_BASE = 28

_Kind = Literal["other", "control", "extend", "picture", "flag", "L", "V", "T", "LV", "LVT"]
_JAMO_FOLLOWERS: dict[str, tuple[str, ...]] = {
    "L": ("L", "V", "LV", "LVT"),
    "LV": ("V", "T"),
    "V": ("V", "T"),
    "LVT": ("T",),
    "T": ("T",),
}


def grapheme_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of every visible character, in order, covering the whole text.

    "e\u0301👨‍👩‍👧x" -> [(0, 2), (2, 7), (7, 8)]
    """
    cuts = [index for index in range(1, len(text)) if _is_border(text, index)]
    spans: list[tuple[int, int]] = []
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        spans.extend((at, min(at + MAX_CLUSTER, end)) for at in range(start, end, MAX_CLUSTER))
    return spans


def snap_to_grapheme(text: str, index: int, direction: Literal[-1, 1] = -1) -> int:
    """The nearest place at or before `index` (after it with 1) where `text` may be cut.

    An index outside of the text is brought inside.

    ("か\u3099く", 1, -1) -> 0; ("か\u3099く", 1, 1) -> 2
    """
    index = max(0, min(index, len(text)))
    for _ in range(MAX_CLUSTER):
        if index in (0, len(text)) or _is_border(text, index):
            return index
        index += direction
    return index


def _is_border(text: str, index: int) -> bool:
    before, after = _kind(text[index - 1]), _kind(text[index])
    if before == "control" or after == "control":
        return text[index - 1 : index + 1] != "\r\n"
    if after == "extend":
        return False
    if after == "picture" and text[index - 1] == _ZWJ:
        return not _follows_picture(text, index - 1)
    if before == "flag" and after == "flag":
        return _flags_before(text, index) % 2 == 0
    return after not in _JAMO_FOLLOWERS.get(before, ())


def _follows_picture(text: str, index: int) -> bool:
    floor = max(0, index - MAX_CLUSTER)
    index -= 1
    while index > floor and _kind(text[index]) == "extend":
        index -= 1
    return index >= 0 and _kind(text[index]) == "picture"


def _flags_before(text: str, index: int) -> int:
    floor = max(0, index - MAX_CLUSTER)
    start = index
    while start > floor and _kind(text[start - 1]) == "flag":
        start -= 1
    # Within an endless run pairs are counted from the start of the text: looking back has to end somewhere.
    return index - start if start > floor or start == 0 else index


@lru_cache(maxsize=8192)
def _kind(char: str) -> _Kind:
    if _FLAG.match(char):
        return "flag"
    if _EXTENDING.match(char):
        return "extend"
    category = unicodedata.category(char)
    if category in ("Mn", "Me", "Mc"):
        return "extend"
    if category in ("Cc", "Zl", "Zp", "Cf", "Cs"):
        return "control"
    return "picture" if _PICTURE.match(char) else _jamo_kind(ord(char))


def _jamo_kind(code: int) -> _Kind:
    if 0x1100 <= code < 0x1160 or 0xA960 <= code < 0xA980:
        return "L"
    if 0x1160 <= code < 0x11A8 or 0xD7B0 <= code < 0xD7CB:
        return "V"
    if 0x11A8 <= code < 0x1200 or 0xD7CB <= code < 0xD800:
        return "T"
    if _SYLLABLE_BASE <= code <= 0xD7A3:
        return "LV" if (code - _SYLLABLE_BASE) % _JAMO_PER_BASE == 0 else "LVT"
    return "other"
