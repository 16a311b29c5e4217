"""Japanese question -> its phrases: runs of nouns as one, particles and the rest between them; and the names in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hybridrag.language.morphemes import Morpheme
from hybridrag.language.words import ENGLISH_STOP_WORDS
from hybridrag.queries.signals import Span
from hybridrag.queries.words import japanese

MAX_NAME_WORDS = 12
"""Words that one name may have; a longer run of nouns is a list or no language."""

NAME = "name"
NOUN = "noun"

_KATAKANA = re.compile("[\u30a1-\u30ff]+")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f][A-Za-z0-9\u00c0-\u024f]*")
_ALNUM_END, _ALNUM_START = re.compile("[A-Za-z0-9]$"), re.compile("[A-Za-z0-9]")
_JOINING = frozenset("・=-.&+#!☆★/:")
_PRONOUNS, _DEPENDENT, _HONORIFICS = japanese("pronouns"), japanese("formal_nouns"), japanese("honorifics")
_NO_NAME, _LEGAL_FORMS, _BODIES = japanese("no_name"), japanese("legal_forms"), japanese("bodies")
_ROLES = japanese("kin", "roles")
_ROLE_ENDINGS = tuple(japanese("person_endings", "thing_endings"))
_NAMING = _BODIES | frozenset(("出版社", "放送局", "本社"))
"""Roles that end the name of a body."""
_ASIDE = re.compile(r"\([^()]{1,20}\)")
"""北駅(東京)と南駅: what stands in brackets parts nothing."""


class Phrase(NamedTuple):
    """A run of nouns, or one word of another kind."""

    text: str
    kind: str
    """`name`, `noun`, or Sudachi's part of speech: 助詞, 動詞, 助動詞, ..."""
    start: int
    end: int
    head: str
    """The last noun of the run: 東京本社所在地 -> 所在地."""
    proper: bool = False
    """Whether a name is in it."""

    @property
    def is_noun(self) -> bool:
        """Whether it can be one side of a comparison."""
        return self.kind in {NAME, NOUN}


def noun_names(text: str, words: Sequence[Morpheme]) -> list[Span]:
    """The runs of nouns that hold a proper name, without honorifics, titles and what stands around the name.

    "宮本健さんのお父さんは" -> 宮本健; "東京以外の会議" -> 東京
    """
    return [
        Span(piece[0].start, piece[-1].end)
        for run in _runs(text, words)
        for piece in _pieces(run)
        if any(map(_is_name, piece)) or _is_body(piece)
    ]


def phrases(text: str, words: Sequence[Morpheme], names: Sequence[Span]) -> list[Phrase]:
    """The question as phrases, each of the names as one, quotation marks and honorifics left out.

    "宮本健さんの妻の血液型は" -> 宮本健 (name), の, 妻, の, 血液型, は
    """
    lefts = [name.left for name in names]
    aside = [match.span() for match in _ASIDE.finditer(text)]
    out: list[Phrase] = []
    for word in words:
        if any(start <= word.start < end for start, end in aside):
            continue
        at = bisect_right(lefts, word.start) - 1
        if at >= 0 and word.start < names[at].right:
            if not out or out[-1].start < names[at].left:
                shown = text[names[at].start : names[at].end]
                out.append(Phrase(shown, NAME, names[at].left, names[at].right, shown, proper=True))
        elif word.surface in _HONORIFICS and out and out[-1].is_noun:
            out[-1] = out[-1]._replace(end=word.end)
        elif _is_nominal(word) and word.surface not in _PRONOUNS:
            _add_noun(out, word)
        else:
            out.append(Phrase(word.surface, word.pos[0], word.start, word.end, word.surface))
    return out


def _add_noun(out: list[Phrase], word: Morpheme) -> None:
    last = out[-1] if out else None
    if last is None or not last.is_noun or last.end != word.start:
        out.append(Phrase(word.surface, NOUN, word.start, word.end, word.surface))
        return
    head = last.head + word.surface if word.pos[0] == "接尾辞" and last.kind == NOUN else word.surface
    out[-1] = Phrase(last.text + word.surface, NOUN, last.start, word.end, head, last.proper)


def _is_nominal(word: Morpheme) -> bool:
    major, minor = word.pos[:2]
    if word.surface in _DEPENDENT:
        return False
    if major == "接尾辞":
        return minor == "名詞的"
    return major in {"名詞", "接頭辞"} or bool(_LATIN.fullmatch(word.surface))


def _runs(text: str, words: Sequence[Morpheme]) -> Iterator[list[Morpheme]]:
    """Neighbouring nouns, with the marks and single spaces that stand inside foreign names."""
    run: list[Morpheme] = []
    for at, word in enumerate(words):
        inside = bool(run) and _touches(text, run[-1], word)
        if _is_nominal(word) and word.surface not in _PRONOUNS:
            if run and not inside:
                yield run
                run = []
            run.append(word)
        elif inside and word.surface in _JOINING and _joins(words, at):
            run.append(word)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _touches(text: str, left: Morpheme, right: Morpheme) -> bool:
    if left.end == right.start:
        return True
    foreign = _ALNUM_END.search(left.surface) and _ALNUM_START.match(right.surface)
    return text[left.end : right.start] == " " and bool(foreign)


def _joins(words: Sequence[Morpheme], at: int) -> bool:
    """Whether a mark joins two parts of a foreign name: ジョン・スミス, K-200; 事件・事故 is a list."""
    if at + 1 >= len(words) or words[at + 1].start != words[at].end:
        return False
    left, right = words[at - 1].surface, words[at + 1].surface
    if words[at].surface in "・=":
        return all(_KATAKANA.match(it) or _LATIN.match(it) for it in (left, right)) or bool(_LATIN.match(left + right))
    return bool(_ALNUM_END.search(left) and _ALNUM_START.match(right))


def _pieces(run: Sequence[Morpheme]) -> Iterator[list[Morpheme]]:
    """The run cut at words that no name goes over, without roles and categories at its ends."""
    piece: list[Morpheme] = []
    for word in [*run, None]:
        if word is not None and word.surface not in _HONORIFICS and word.surface not in _NO_NAME:
            piece.append(word)
            continue
        if len(piece) <= MAX_NAME_WORDS and (bare := _without_role(_without_category(piece))):
            yield bare
        piece = []


def _without_category(piece: list[Morpheme]) -> list[Morpheme]:
    """映画静かな港 -> 静かな港: nouns before a name say what it is; but a legal form belongs to it."""
    first = next((at for at, word in enumerate(piece) if _is_name(word)), 0)
    before = piece[:first]
    kinds = all(word.pos[:2] == ("名詞", "普通名詞") and word.surface not in _LEGAL_FORMS for word in before)
    lettered = bool(piece) and len(piece[first].surface) == 1  # プランA
    return piece[first:] if kinds and not lettered else piece


def _without_role(piece: list[Morpheme]) -> list[Morpheme]:
    """ミナト販売会社 -> ミナト; 東京本社所在地 -> 東京; but 北浜出版社, which its body names."""
    for at in range(1, len(piece)):
        rest = "".join(word.surface for word in piece[at:])
        role = piece[at].surface in _ROLES or rest in _ROLES or (len(rest) > 1 and rest.endswith(_ROLE_ENDINGS))
        if role and rest not in _NAMING:
            piece = piece[:at]
            break
    while piece and (piece[-1].surface in _JOINING or piece[-1].pos[0] == "接頭辞"):
        piece = piece[:-1]
    return piece


def _is_body(piece: Sequence[Morpheme]) -> bool:
    """株式会社ミナト商会, 北浜研究所."""
    named = len(piece) > 1 and piece[-1].surface in _BODIES
    return named or (len(piece) > 1 and any(word.surface in _LEGAL_FORMS for word in piece))


def _is_name(word: Morpheme) -> bool:
    """Whether Sudachi knows it as a proper name, or does not know it and it is written like one."""
    surface = word.surface
    if surface in _ROLES or len(surface) == 1:
        return len(surface) == 1 and surface.isascii() and surface.isupper()
    if _LATIN.fullmatch(surface):
        return not surface.islower() and surface.lower() not in ENGLISH_STOP_WORDS
    return word.pos[1] == "固有名詞" or (word.unknown and bool(_KATAKANA.fullmatch(surface)))
