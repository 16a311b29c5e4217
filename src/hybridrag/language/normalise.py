"""Bring text into the one form in which it is compared, and find the way back to the original characters.

What counts as the same: full and half width (ＡＰＩ = API, ｶﾞ = ガ), composed and decomposed (が = か + ゛),
compatibility signs (㍿ = 株式会社, ㌔ = キロ, ﬁ = fi), old and rare ideographs (國 = 国, 髙 = 高, with or without a
variation selector), dashes, wave dashes and apostrophes of every shape. Case is kept: `fold` removes it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from hybridrag.language.variants import IDEOGRAPHS, LETTERS, NAME_IDEOGRAPHS

MAX_MARKS = 30
"""Combining marks kept on one character, as in Unicode's stream-safe format: sorting them is quadratic."""

_NEWLINES = "\x0b\x0c\x85\u2028\u2029"
_HYPHENS = "\u2010\u2011\u2212\ufe58\ufe63\uff0d"
_LONG_DASHES = "\u2014\u2015\u2500\u2501"

_FIXED: dict[str, str] = (
    dict.fromkeys("\u2018\u2019\u201b\u02bc\u2032\u00b4", "'")
    | dict.fromkeys(_NEWLINES, "\n")
    | dict.fromkeys(_HYPHENS, "\u2010")
    | dict.fromkeys("\u2012\u2013", "-")
    | dict.fromkeys(_LONG_DASHES, "\u2014")
    | dict.fromkeys("\u301c\u3030\uff5e\u2053\u223c", "~")
    | {"\u2044": "/", "\u2215": "/", "\u2122": "", "\u2120": ""}
)
"""What NFKC does not do, or does badly: Windows™ would become WindowsTM."""

# An en dash or an ASCII hyphen between kana joins two words; the others look like ー and are typed for it.
# A doubled dash is a dash, and nothing lengthens ン or ッ.
_SOUND_MARK = re.compile(
    "(?<=[\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff])(?<![ンッ])[\u2010\u2014](?![-\u2010\u20140-9A-Za-z])"
)
_DASH_TYPED_AS_SOUND_MARK = re.compile("(?<=[0-9A-Za-z\u00c0-\u024f\u1e00-\u1eff])ー+")
_ASCII_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_LOOSE_MARKS = re.compile("(?<=[0-9A-Za-z\u00c0-\u024f\u1e00-\u1eff])[\u0300-\u036f\u3099\u309a]+")
_KANA = re.compile("[\u3041-\u3096\u30a1-\u30fa]")
_VOICING = {"\u309b": "\u3099", "\u309c": "\u309a"}
_SURROGATES = range(0xD800, 0xE000)
_JAMO_TAILS = (range(0x1160, 0x1200), range(0xD7B0, 0xD800))
_ATTACHED = (
    frozenset("\u200d") | frozenset(map(chr, range(0xFE00, 0xFE10))) | frozenset(map(chr, range(0xE0100, 0xE01F0)))
)
"""Dropped signs that belong to the character before them, so that a span covers both."""


class Normalised(NamedTuple):
    """A normalised text; character i of it comes from `original[starts[i]:ends[i]]`."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """Start and end in the original, per character of `text`."""
        return list(zip(self.starts, self.ends, strict=True))

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where `text[start:end]`, which is not empty, stands in the original."""
        return self.starts[start], self.ends[end - 1]


class _Character(NamedTuple):
    """What is known of one character, whatever stands around it."""

    form: str
    """Its own normal form; empty when it is dropped."""
    extends: bool
    """It may merge into the character before it: a mark, a jamo, or a dropped sign."""
    numeric_sign: bool
    """① or ½: becomes digits that must not run into digits beside it."""


class _Characters(dict[str, _Character]):
    """Characters seen so far; at most one entry for each code point, so it needs no bound."""

    def __missing__(self, char: str) -> _Character:
        known = _describe(char)
        self[char] = known
        if known.form == char and not known.extends:
            _PLAIN.add(char)
        return known


_PLAIN: set[str] = set()
"""Characters known to stay as they are."""
_CHARACTERS = _Characters()


def normalise(text: str) -> str:
    """The normal form of `text`; normalising it again changes nothing.

    "ﾃﾞｰﾀﾍﾞｰｽ（ＡＰＩ）" -> "データベース(API)"
    """
    return normalise_with_offsets(text).text


def normalise_with_offsets(text: str) -> Normalised:
    """The normal form of `text`, and for each of its characters the place it came from.

    "ﾊﾞ㍿" -> text "バ株式会社", offsets [(0, 2), (2, 3), (2, 3), (2, 3), (2, 3)]
    """
    if text.isascii() and not _ASCII_CONTROLS.search(text):
        return _unmoved(text)
    odd = set(text) - _PLAIN
    known = [(char, _CHARACTERS[char]) for char in odd]
    if any(len(it.form) != 1 or it.extends or it.numeric_sign for _, it in known):
        return _rebuild(text)
    folds = {ord(char): it.form for char, it in known if it.form != char}
    return _unmoved(_with_dashes(text.translate(folds) if folds else text))


def fold(text: str) -> str:
    """The key under which spellings that differ by case, width, accent or old ideographs are one.

    "Ｃａｆé 澤田" -> "cafe 沢田"
    """
    return fold_normalised(normalise(text))


def fold_normalised(text: str) -> str:
    """As `fold`, for a text that is normalised already."""
    text = text.casefold()
    if text.isascii():
        return text
    bare = _LOOSE_MARKS.sub("", normalise(text))
    return _with_dashes("".join(map(_fold_character, bare)))


def _fold_character(char: str) -> str:
    if char.isascii():
        return char
    if char < "\u0250" or "\u1e00" <= char < "\u1f00":
        base = unicodedata.normalize("NFD", char)[0]
        return LETTERS.get(base, base)
    return NAME_IDEOGRAPHS.get(char, char)


def _unmoved(text: str) -> Normalised:
    return Normalised(text, range(len(text)), range(1, len(text) + 1))


def _with_dashes(text: str) -> str:
    """Tell ー from the dashes that look like it, by what stands around them; one character stays one."""
    if "\u2010" in text or "\u2014" in text:
        text = _SOUND_MARK.sub("ー", text).replace("\u2010", "-")
    if "ー" in text:
        text = _DASH_TYPED_AS_SOUND_MARK.sub(lambda match: "-" * len(match[0]), text)
    return text


def _describe(char: str) -> _Character:
    form = _own_form(char)
    if not form:
        return _Character("", extends=True, numeric_sign=False)
    first = form[0]
    extends = (
        unicodedata.category(first).startswith("M")
        or any(ord(first) in tails for tails in _JAMO_TAILS)
        or char in _VOICING
    )
    numeric = unicodedata.category(char) == "No" and (form[0].isdigit() or form[-1].isdigit())
    return _Character(form, extends=extends, numeric_sign=numeric)


def _own_form(char: str) -> str:
    if char in _FIXED:
        return _FIXED[char]
    if ord(char) in _SURROGATES:
        return "\ufffd"
    category = unicodedata.category(char)
    if category == "Cc":
        return char if char in "\t\n\r" else " "
    if category == "Cf" or char in _ATTACHED or 0xE0000 <= ord(char) < 0xE1000:
        return ""
    if _stands_alone(char):
        return char
    form = unicodedata.normalize("NFKC", char)
    return "".join(IDEOGRAPHS.get(it, _FIXED.get(it, it)) for it in form)


def _stands_alone(char: str) -> bool:
    """Whether it is a free-standing accent (¨ or ゛): NFKC makes a space and a mark of it, which would cut the word."""
    form = unicodedata.normalize("NFKC", char)
    return len(form) > 1 and form[0] == " "


def _rebuild(text: str) -> Normalised:
    """The slow way, for text whose length changes: one cluster of base and marks after the other."""
    out: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    at, length, after_sign = 0, len(text), False
    while at < length:
        start, end, stop = _cluster(text, at)
        form = _CHARACTERS[text[start]].form if end == start + 1 else _cluster_form(text[start:end])
        sign = _CHARACTERS[text[start]].numeric_sign
        if (sign or after_sign) and form[:1].isdigit() and out and out[-1].isdigit():
            form = " " + form
        out.extend(form)
        starts.extend([start] * len(form))
        ends.extend([end] * len(form))
        after_sign = sign
        at = stop
    return Normalised(_with_dashes("".join(out)), starts, ends)


def _cluster(text: str, at: int) -> tuple[int, int, int]:
    """Start and end of the cluster at `at`, and where the next one begins (dropped signs lie between)."""
    length = len(text)
    start = at
    while start < length - 1 and not _CHARACTERS[text[start]].form:
        start += 1
    end = stop = start + 1
    while stop < length and _CHARACTERS[text[stop]].extends:
        if text[stop] in _VOICING and not _KANA.match(_CHARACTERS[text[start]].form):
            break
        if _CHARACTERS[text[stop]].form or text[stop] in _ATTACHED:
            end = stop + 1
        stop += 1
    return start, end, stop


def _cluster_form(cluster: str) -> str:
    """Base and marks composed: か + ゛ -> が."""
    kept = [char for char in cluster if _CHARACTERS[char].form][: 2 * MAX_MARKS]
    if not kept:
        return ""
    base, marks = _CHARACTERS[kept[0]].form, "".join(_VOICING.get(char, _CHARACTERS[char].form) for char in kept[1:])
    if _stands_alone(base):
        return base + unicodedata.normalize("NFKC", marks)[:MAX_MARKS]
    opened = unicodedata.normalize("NFKD", base + marks)
    cut = len(unicodedata.normalize("NFKD", base)) + MAX_MARKS
    composed = unicodedata.normalize("NFC", opened[:cut])
    return "".join(IDEOGRAPHS.get(char, char) for char in composed)
