"""Take a text apart into units: each script by its own rules, in one order."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from hybridrag.language import japanese, latin
from hybridrag.language.japanese import JAPANESE_TEXT, Analysis, Extra
from hybridrag.language.normalise import Normalised, fold_normalised, normalise_with_offsets
from hybridrag.language.scripts import EMOJI, FLAG_LETTERS, HAN, HANGUL, KANA, LATIN, MARKS, UNSPACED
from hybridrag.language.units import Builder, Unit

MAX_RUN = 32
"""Longest Korean or Thai run in characters that is kept whole beside its pairs."""

REMEMBERED = 128
"""Texts whose analysis is kept: a search judges, marks and quotes the same few passages one after the other."""

WRAPPED_LINE = 20
"""A line of at least this length that ends within Japanese text goes on in the next: its last word may be broken."""

_JAPANESE = KANA + HAN
_OTHER = rf"(?:[^\W_{LATIN}{_JAPANESE}{HANGUL}{UNSPACED}]|[{MARKS}])++"
_WORDS = re.compile(
    rf"[{_JAPANESE}\s、。・「」]++|({latin.CHUNK}|[{HANGUL}]++|[{UNSPACED}]++|{_OTHER}|[{EMOJI}]|[{FLAG_LETTERS}]{{2}})"
)
_LATIN_WORDS = re.compile(f"({latin.CHUNK})")
_NOT_LATIN = re.compile("[^\x00-\u024f\u1e00-\u1eff\u2000-\u206f\u20a0-\u20cf\u2190-\u22ff]")
_LONG_LINE = rf"[^\n]{{{WRAPPED_LINE - 1}}}[{_JAPANESE}]"
# The line end first: a look-behind in front would be tried at every character.
_WRAP = re.compile(rf"(?:\n(?<={_LONG_LINE}\n)|\r\n(?<={_LONG_LINE}\r\n))(?=[{_JAPANESE}])")
_DATE = re.compile("([0-9]{4})年([0-9]{1,2})月([0-9]{1,2})日")
_ERA_YEAR = re.compile("(明治|大正|昭和|平成|令和)(元|[0-9]{1,2})年")
_MARKS_LEFT_OUT = re.compile("[\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]")
"""Vowel points that Arabic and Hebrew mostly leave unwritten, and the sign that stretches a word."""

_is_latin_run = re.compile(f"[{LATIN}.]").match
_is_hangul = re.compile(f"[{HANGUL}]").match
_is_unspaced = re.compile(f"[{UNSPACED}]").match
_is_picture = re.compile(f"[{EMOJI}{FLAG_LETTERS}]").match


class Text(NamedTuple):
    """A text, analysed; offsets count in the normalised text."""

    normal: Normalised
    units: list[tuple[int, Unit]]
    """Each with its start, ascending."""
    extras: list[Extra]


@lru_cache(maxsize=REMEMBERED)
def analyse(text: str) -> Text:
    """The units of a text in every script, in order. The result is shared: read it, do not change it.

    "Python入門" -> units [(0, python), (6, 入門)]
    """
    return analyse_normalised(normalise_with_offsets(text))


def is_latin(text: str) -> bool:
    """Whether nothing in a normalised text is in another script than Latin."""
    return text.isascii() or not _NOT_LATIN.search(text)


def analyse_normalised(normal: Normalised) -> Text:
    """As `analyse`, for a text that is normalised already."""
    plain = normal.text
    if is_latin(plain):
        return Text(normal, list(latin_units(plain)), [])
    found = Analysis([], [])
    if JAPANESE_TEXT.search(plain):
        if "\n" in plain:
            normal = _unwrapped(normal)
            plain = normal.text
        found = japanese.analyse(plain)
    others = list(_other_units(plain))
    if not found.units and not others:
        # A text of particles alone: they are its words then.
        found = japanese.analyse(plain, keep_function_words=True)
    units = sorted(found.units + others) if found.units and others else found.units or others
    return Text(normal, units, found.extras + _dates(plain))


def latin_units(text: str) -> Iterator[tuple[int, Unit]]:
    """The units of a text in Latin letters."""
    pieces = _LATIN_WORDS.split(text)
    at = 0
    for gap, chunk in zip(pieces[::2], pieces[1::2], strict=False):
        at += len(gap)
        yield at, latin.analyse(chunk)
        at += len(chunk)


def _other_units(text: str) -> Iterator[tuple[int, Unit]]:
    """The units in every script but Japanese."""
    for match in _WORDS.finditer(text):
        if match.lastindex:
            run = match[0]
            yield match.start(), latin.analyse(run) if _is_latin_run(run) else _other_unit(run)


def _other_unit(run: str) -> Unit:
    if _is_hangul(run):
        return _pairs(run, [(at, at + 1) for at in range(len(run))])
    if _is_unspaced(run):
        return _pairs(run, list(_clusters(run)))
    builder = Builder()
    term = fold_normalised(run)
    builder.step([run if _is_picture(run) else _MARKS_LEFT_OUT.sub("", term) or term], 0, len(run))
    return Unit(builder.parts(), 1, builder.first(), builder.positions())


def _clusters(run: str) -> Iterator[tuple[int, int]]:
    """Letters with the vowel signs and tones on them."""
    start = 0
    for at in range(1, len(run)):
        if not unicodedata.category(run[at]).startswith("M"):
            yield start, at
            start = at
    yield start, len(run)


def _pairs(run: str, letters: Sequence[tuple[int, int]]) -> Unit:
    """Neighbouring letters two by two, and the whole where it is short: 서울에서 -> 서울, 울에, 에서."""
    builder = Builder()
    pairs = [(first[0], second[1]) for first, second in pairwise(letters)] or [(0, len(run))]
    for start, end in pairs:
        builder.step([run[start:end]], start, end)
    whole = run if len(run) <= MAX_RUN else ""
    builder.join(whole, 0, len(run), 0)
    return Unit(builder.parts(), len(builder), whole, builder.positions())


def _unwrapped(normal: Normalised) -> Normalised:
    """The text without the line ends that fall inside Japanese words."""
    kept: list[slice] = []
    start = 0
    for match in _WRAP.finditer(normal.text):
        kept.append(slice(start, match.start()))
        start = match.end()
    if not kept:
        return normal
    kept.append(slice(start, len(normal.text)))
    return Normalised(
        "".join(normal.text[piece] for piece in kept),
        [offset for piece in kept for offset in normal.starts[piece]],
        [offset for piece in kept for offset in normal.ends[piece]],
    )


def _dates(text: str) -> list[Extra]:
    """2024年3月15日 is found as 2024-03-15 too, and 令和元年 within 令和元年度, which is cut elsewhere."""
    if "年" not in text:
        return []
    found = [
        Extra(match.start(), match.end(), term, merges=True)
        for match in _DATE.finditer(text)
        if (term := latin.iso_date(match[1], match[2], match[3]))
    ]
    for match in _ERA_YEAR.finditer(text):
        year = 1 if match[2] == "元" else int(match[2])
        found.append(Extra(match.start(), match.end(), f"{match[1]}{year}年", merges=True))
    return found
