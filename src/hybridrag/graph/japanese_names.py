"""Japanese words -> the runs of nouns that are names, and what kind each is by its form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from typing import NamedTuple

from hybridrag.graph.guess_type import FORM, HINTED, UNKNOWN, Guess
from hybridrag.graph.japanese_words import (
    DEICTIC,
    ENDING_TYPES,
    FORMAL_NOUNS,
    GENERIC_ALONE,
    HONORIFICS,
    KATAKANA_ENDINGS,
    LEGAL_FORMS,
    NAME_ENDS_BEFORE,
    ROLE_TYPES,
    ROYAL,
    STRONG_ENDINGS,
    UNITS,
)
from hybridrag.language.morphemes import Morpheme
from hybridrag.types.graph import EntityType


class Kind(Enum):
    """What a word can be in a name."""

    PERSON = auto()
    PLACE = auto()
    PROPER = auto()
    LATIN = auto()
    FOREIGN = auto()
    """Katakana that no dictionary knows: most often a name."""
    KATAKANA = auto()
    NOUN = auto()
    SUFFIX = auto()
    PREFIX = auto()
    NUMBER = auto()
    DOT = auto()
    """A mark that may stand inside a name: ・ between katakana, - between letters."""
    OTHER = auto()


class Word(NamedTuple):
    """A morpheme and its kind."""

    surface: str
    kind: Kind
    start: int
    end: int
    given_name: bool


class Name(NamedTuple):
    """A stretch of text that is a name or a term, how sure it is one, and what its form says it is."""

    start: int
    end: int
    confidence: float
    guess: Guess
    is_term: bool = False


_NAMES = frozenset({Kind.PERSON, Kind.PLACE, Kind.PROPER, Kind.LATIN, Kind.FOREIGN})
_KATAKANA = re.compile(r"[ァ-ヺーｦ-ﾟ]+$")
_LATIN = re.compile(r"[A-Za-zＡ-Ｚａ-ｚÀ-ɏ][\wＡ-Ｚａ-ｚ]*$")
_ORIGIN = re.compile(
    r"([ァ-ヺー]{3,}|日本|中国|韓国|米国|英国)(?:人|語|軍人)"
)  # イタリア人: one word to the dictionary
_ALL_KANJI = re.compile(r"[一-鿿々]{4,}$")
_KANJI_NAME = re.compile(r"[一-鿿々ヶケ]{1,4}$")
_HIRAGANA = re.compile(r"[ぁ-ゖー]+$")
_DIGIT = re.compile(r"\d")
_NUMBER_NAMES = frozenset("一二三四五六七八九十")
_DOTS = frozenset("・･·=＝゠")
_LATIN_MARKS = frozenset("-‐&'’.!?+/")
SURE, LIKELY, HALF, TERM = 0.9, 0.75, 0.6, 0.5
_MAX_RUN = 24  # words; nobody's name is longer, and a page of ideographs is no name
_MIN_TERM = 4  # characters of a term without a proper name: 機械学習, not 学習


def words_of(morphemes: Sequence[Morpheme]) -> list[Word]:
    """Morphemes with what they can be in a name."""
    return [Word(it.surface, _kind(it), it.start, it.end, it.pos[3] == "名") for it in morphemes]


def _kind(morpheme: Morpheme) -> Kind:
    major, minor, detail = morpheme.pos[:3]
    surface = morpheme.surface
    if surface in _DOTS or surface in _LATIN_MARKS:
        return Kind.DOT
    if major == "接尾辞":
        return Kind.SUFFIX if minor == "名詞的" else Kind.OTHER
    if major == "接頭辞":
        return Kind.PREFIX
    if major == "名詞":
        return _noun_kind(surface, minor, detail, unknown=morpheme.unknown)
    return Kind.LATIN if major == "記号" and _LATIN.match(surface) else Kind.OTHER


def _noun_kind(surface: str, minor: str, detail: str, *, unknown: bool) -> Kind:
    if minor == "固有名詞":
        return {"人名": Kind.PERSON, "地名": Kind.PLACE}.get(detail, Kind.PROPER)
    if minor == "数詞":
        return Kind.NUMBER
    if detail == "副詞可能":
        return Kind.OTHER
    if _LATIN.match(surface):
        return Kind.LATIN
    if _KATAKANA.match(surface):
        return Kind.FOREIGN if unknown and len(surface) > 1 else Kind.KATAKANA
    return Kind.NOUN


# ---------------------------------------------------------------- runs

_FOREIGN_KINDS = frozenset({Kind.PERSON, Kind.PLACE, Kind.PROPER, Kind.LATIN, Kind.FOREIGN, Kind.KATAKANA})


def runs(text: str, words: Sequence[Word]) -> Iterator[list[Word]]:
    """Neighbouring words that may make up one name.

    "監督の宮崎駿は" -> [監督], [宮崎, 駿]
    """
    run: list[Word] = []
    for at, word in enumerate(words):
        if run and (len(run) >= _MAX_RUN or not _joins(text, run[-1], word)):
            yield _without_dots(run)
            run = []
        if word.kind is Kind.DOT:
            after = words[at + 1] if at + 1 < len(words) else None
            if run and after and _dot_joins(run[-1], word, after):
                run.append(word)
                continue
        if word.kind in {Kind.OTHER, Kind.DOT}:
            if run:
                yield _without_dots(run)
            run = []
        else:
            run.append(word)
    if run:
        yield _without_dots(run)


def _joins(text: str, left: Word, right: Word) -> bool:
    """Side by side, or parted by a space: Joel Andryc, 大槻 隆."""
    gap = text[left.end : right.start]
    if gap in {" ", "\u3000"} and _KANJI_NAME.match(left.surface):
        return right.given_name and (left.kind is Kind.PERSON or left.kind is Kind.PLACE)
    return not gap or (gap == " " and all(_LATIN.match(it.surface) for it in (left, right)))


def _dot_joins(left: Word, dot: Word, right: Word) -> bool:
    if dot.start != left.end or dot.end != right.start:
        return False
    if dot.surface in _DOTS:
        # 事件・事故 is a list of two; ジョン・スミス is one name.
        foreign = [bool(_KATAKANA.match(it.surface) or it.kind is Kind.LATIN) for it in (left, right)]
        return all(foreign) and left.kind in _FOREIGN_KINDS
    return left.kind is Kind.LATIN and right.kind in {Kind.LATIN, Kind.NUMBER}


def _without_dots(run: list[Word]) -> list[Word]:
    while run and run[-1].kind is Kind.DOT:
        run = run[:-1]
    return run


# ---------------------------------------------------------------- names out of runs


def names(run: Sequence[Word]) -> Iterator[Name]:
    """The names and terms of one run.

    吉本興業 社長 -> 吉本興業; 日本 代表 監督 -> 日本代表; 俳優 山田 太郎 氏 -> 山田太郎
    """
    for piece in _pieces(run):
        bare = list(piece)
        while len(bare) > 1 and bare[-1].surface in HONORIFICS and not _is_part(bare):
            bare.pop()
        yield from _piece_names(bare, honoured=len(bare) < len(piece))


def _is_part(piece: Sequence[Word]) -> bool:
    """Whether the title at the end belongs to the name: 孝明天皇."""
    return piece[-1].surface in ROYAL and len(piece) == 2


def _pieces(run: Sequence[Word]) -> Iterator[Sequence[Word]]:
    """The run cut where a name cannot go on: メガドライブ 用 縦 スクロール -> メガドライブ, 縦スクロール."""
    start = 0
    for at, word in enumerate(run):
        ends = at > start and word.kind in {Kind.SUFFIX, Kind.NOUN} and _ends_name(run, start, at)
        if ends:
            if word.surface in HONORIFICS:
                yield run[start : at + 1]  # who it honours is a person
                start = at + 1
                continue
            # キューバ国内: what stands inside or outside is the country, not its 国.
            yield run[start : at - (word.surface in {"内", "外"} and run[at - 1].surface == "国")]
            start = at + 1
    if start < len(run):
        yield run[start:]


def _ends_name(run: Sequence[Word], start: int, at: int) -> bool:
    if run[at].surface in HONORIFICS:
        return at + 1 < len(run) and run[at + 1].kind in _NAMES  # ヘイルシャム子爵クィンティン
    if run[at].surface not in NAME_ENDS_BEFORE:
        return False
    return not _ending("".join(it.surface for it in run[start : at + 2]))


def _ending(surface: str) -> EntityType | None:
    """What the longest known ending of a name says; None where the ending is all there is."""
    for size in range(min(8, len(surface) - 1), 0, -1):
        found = ENDING_TYPES.get(surface[-size:])
        if found:
            return found
    return None


def _piece_names(piece: list[Word], *, honoured: bool) -> Iterator[Name]:
    cued: EntityType | None = None
    while len(piece) > 1 and _is_role_before(piece):
        cued = ROLE_TYPES[piece[0].surface]
        piece = piece[1:]
    if not piece or piece[0].surface in DEICTIC:
        return
    dotted = any(word.kind is Kind.DOT for word in piece)
    named = [at for at, word in enumerate(piece) if word.kind in _NAMES or (dotted and word.kind is Kind.KATAKANA)]
    whole = "".join(word.surface for word in piece)
    ending = _whole_ending(piece, whole)
    origin = _ORIGIN.match(whole)
    if len(piece) > 1 and (piece[0].surface in LEGAL_FORMS or piece[-1].surface in LEGAL_FORMS):
        yield _name(piece, SURE, Guess(EntityType.ORGANISATION, FORM))
    elif origin and len(piece) <= 2:
        yield Name(piece[0].start, piece[0].start + origin.end(1), SURE, Guess(EntityType.PLACE, FORM))
    elif not named:
        yield from _terms(piece, whole, ending)
    elif ending and not _is_person(piece, ending):
        start = _start_of_ended(piece, ending)
        yield _name(piece[start:], SURE, Guess(ending, FORM))
    elif any(word.kind is Kind.PERSON for word in piece):
        yield from _with_person(piece, honoured=honoured)
    else:
        yield from _with_proper(piece, named, cued, honoured=honoured)


def _is_role_before(piece: Sequence[Word]) -> bool:
    dotted = len(piece) > 2 and piece[2].kind is Kind.DOT
    return piece[0].surface in ROLE_TYPES and (piece[1].kind in _NAMES or dotted)


def _whole_ending(piece: Sequence[Word], whole: str) -> EntityType | None:
    last = piece[-1]
    if last.surface in ENDING_TYPES and len(piece) > 1:
        return ENDING_TYPES[last.surface]
    if last.kind is Kind.PERSON or (last.kind is Kind.PLACE and len(piece) == 1):
        return None
    if last.kind in {Kind.FOREIGN, Kind.KATAKANA, Kind.LATIN}:
        return None
    return _ending(whole)


def _is_person(piece: Sequence[Word], ending: EntityType) -> bool:
    """小山 ends like a mountain and is a family name."""
    return all(word.kind in {Kind.PERSON, Kind.DOT} for word in piece) and ending is not EntityType.ORGANISATION


def _start_of_ended(piece: Sequence[Word], ending: EntityType) -> int:
    """Numbers and prefixes before a name count only where they number it: 第23回衆議院議員総選挙."""
    foreign = len(piece) > 1 and piece[1].kind is Kind.LATIN
    if foreign:
        return 0  # 3Di社
    numbered = ending in {EntityType.EVENT, EntityType.ORGANISATION, EntityType.PLACE} and piece[0].surface == "第"
    start = 0
    while not numbered and start < len(piece) - 1 and piece[start].kind in {Kind.NUMBER, Kind.SUFFIX}:
        start += 1
    return start


def _with_person(piece: Sequence[Word], *, honoured: bool) -> Iterator[Name]:
    """The stretch around the personal names, and the place before it."""
    first = next(at for at, word in enumerate(piece) if word.kind is Kind.PERSON)
    last = max(at for at, word in enumerate(piece) if word.kind is Kind.PERSON)
    while first and _goes_before_given(piece, first):
        first -= 1
    while last + 1 < len(piece) and _goes_after_person(piece, last):
        last += 1
    if first:
        yield from _piece_names(list(piece[:first]), honoured=False)
    stretch = piece[first : last + 1]
    has_place = any(word.kind is Kind.PLACE for word in stretch) and not honoured
    guess = Guess(EntityType.PERSON, HINTED if has_place else FORM)
    yield _name(stretch, SURE, guess)
    if last + 1 < len(piece):
        yield from _terms(piece[last + 1 :], "".join(it.surface for it in piece[last + 1 :]), None)


def _goes_before_given(piece: Sequence[Word], first: int) -> bool:
    """車 吉章, 兵庫 慎司: a family name that is also a word or a place; ルイ・ヴィトン."""
    before = piece[first - 1]
    if before.kind is Kind.DOT:
        return True
    if piece[first].kind is Kind.DOT or before.kind in {Kind.FOREIGN, Kind.LATIN}:
        return piece[first].kind is Kind.DOT or before.kind is Kind.FOREIGN
    if not piece[first].given_name:
        return False
    kanji = not _KATAKANA.match(before.surface)
    return kanji and len(before.surface) <= 3 and before.kind in {Kind.PLACE, Kind.PROPER, Kind.NOUN} and first == 1


def _goes_after_person(piece: Sequence[Word], last: int) -> bool:
    """Over a dot, and to katakana or an unknown given name right behind it."""
    after = piece[last + 1]
    if after.kind is Kind.DOT or piece[last].kind is Kind.DOT:
        return True
    if after.surface in ROYAL:
        return True
    if after.kind is Kind.NUMBER:
        return after.surface in _NUMBER_NAMES and last + 2 == len(piece)  # 伊藤穣一
    if after.kind is Kind.FOREIGN:
        return bool(_KATAKANA.match(piece[last].surface))
    kanji_given = after.kind in {Kind.NOUN, Kind.PLACE, Kind.PROPER} and 1 <= len(after.surface) <= 2
    return kanji_given and not piece[last].given_name and after.surface not in ROLE_TYPES and last + 2 == len(piece)


def _with_proper(piece: Sequence[Word], named: list[int], cued: EntityType | None, *, honoured: bool) -> Iterator[Name]:
    """Places stand for themselves; other proper names take the katakana and the word after them along."""
    first, last = named[0], named[-1]
    dotted = any(word.kind is Kind.DOT for word in piece)
    if piece[first].kind is Kind.PLACE and not dotted and len(piece) > 1:
        yield from _place_first(piece, first)
        return
    while first and piece[first - 1].kind in {Kind.KATAKANA, Kind.DOT, Kind.NUMBER, Kind.PREFIX, Kind.NOUN}:
        glued = piece[first - 1].kind is Kind.NUMBER and piece[first].kind is Kind.LATIN
        if piece[first - 1].kind in {Kind.NOUN, Kind.NUMBER} and not (dotted or glued):
            break
        first -= 1
    while last + 1 < len(piece) and piece[last + 1].kind in {Kind.KATAKANA, Kind.DOT, Kind.NUMBER}:
        last += 1
    stretch = piece[first : last + 1]
    if _is_nothing(stretch, piece, first):
        return
    yield _name(stretch, LIKELY, _proper_guess(stretch, cued, honoured=honoured, dotted=dotted))
    rest = piece[last + 1 :]
    if rest:
        yield from _terms(rest, "".join(it.surface for it in rest), None)


def _is_nothing(stretch: Sequence[Word], piece: Sequence[Word], first: int) -> bool:
    """Common words written like names, units behind numbers, and single letters."""
    surface = "".join(word.surface for word in stretch)
    letters = [word.surface for word in stretch if word.kind is Kind.LATIN]
    counted = stretch[0].kind is Kind.NUMBER or (first > 0 and piece[first - 1].kind is Kind.NUMBER)
    unit = counted and len(letters) == 1 and len(letters[0]) <= 3 and letters[0][1:].islower()
    return surface in GENERIC_ALONE or len(surface) == 1 or unit or surface in UNITS


def _place_first(piece: Sequence[Word], first: int) -> Iterator[Name]:
    """日本 フリー アナウンサー -> 日本; ソ連 軍 守備 隊 has an ending and does not come here."""
    last = first
    while last + 1 < len(piece) and piece[last + 1].kind is Kind.PLACE:
        last += 1
    rest = piece[last + 1 :]
    if rest and rest[0].kind in {Kind.FOREIGN, Kind.PROPER, Kind.LATIN} and len(rest) <= 2:
        yield _name(piece[first:], LIKELY, Guess(EntityType.ORGANISATION, HINTED))
        return
    if rest and all(word.kind is Kind.KATAKANA for word in rest):
        yield _name(piece[first:], HALF, Guess(EntityType.ORGANISATION, HINTED))
        return
    yield _name(piece[first : last + 1], SURE, Guess(EntityType.PLACE, FORM))
    if rest:
        yield from _piece_names(list(rest), honoured=False)


def _proper_guess(stretch: Sequence[Word], cued: EntityType | None, *, honoured: bool, dotted: bool) -> Guess:
    if cued:
        return Guess(cued, FORM)
    if honoured and stretch[-1].kind in {Kind.FOREIGN, Kind.KATAKANA, Kind.LATIN}:
        return Guess(EntityType.PERSON, FORM)
    if stretch[-1].surface.endswith("時代"):
        return Guess(EntityType.TIME, FORM)
    ending = _ending(stretch[-1].surface) or ENDING_TYPES.get(stretch[-1].surface)
    if ending and len(stretch) > 1:
        return Guess(ending, FORM)
    if len(stretch) == 1 and stretch[0].kind is Kind.PLACE:
        return Guess(EntityType.PLACE, FORM)
    return _foreign_guess(stretch, dotted=dotted)


def _foreign_guess(stretch: Sequence[Word], *, dotted: bool) -> Guess:
    first, last = stretch[0], stretch[-1]
    if first.kind is Kind.LATIN:
        coded = any(word.kind is Kind.NUMBER or _DIGIT.search(word.surface) for word in stretch)
        if coded or (len(stretch) > 1 and last.kind is not Kind.LATIN):
            # ASローマ, JR九州; what T-500 or E42 number, nothing tells
            return Guess(EntityType.CONCEPT if coded else EntityType.ORGANISATION, HINTED)
        if len(stretch) > 1 and all(word.surface.isalpha() for word in stretch):
            return UNKNOWN  # Joel Andryc, Devolver Digital
        plain = first.surface.isupper() and not any(char.isdigit() for char in last.surface)
        return Guess(EntityType.ORGANISATION if plain else EntityType.PRODUCT, HINTED)
    if dotted and any(word.kind is Kind.PLACE for word in stretch):
        return Guess(EntityType.ORGANISATION, HINTED)
    if dotted:
        return Guess(EntityType.PERSON, HINTED)
    return Guess(EntityType.ORGANISATION, HINTED) if first.kind is Kind.PROPER else UNKNOWN


def _terms(piece: Sequence[Word], whole: str, ending: EntityType | None) -> Iterator[Name]:
    """Common nouns: a body or event by its ending, else a term."""
    start = 0
    while start < len(piece) and (
        piece[start].kind in {Kind.NUMBER, Kind.SUFFIX, Kind.PREFIX, Kind.DOT} or piece[start].surface in FORMAL_NOUNS
    ):
        if ending and piece[start].surface == "第":
            break
        start += 1
    end = len(piece)
    while end > start + 1 and _HIRAGANA.match(piece[end - 1].surface):
        end -= 1  # 自己負担なし, 世帯ごと
    kept = piece[start:end]
    if not kept:
        return
    whole = "".join(word.surface for word in kept)
    numbered = any(word.kind is Kind.NUMBER for word in kept)
    if ending and len(kept) > 1 and len(whole) >= 3 and _makes_name(kept, whole):
        yield _name(kept, HALF, Guess(ending, FORM))
    elif not numbered and whole not in GENERIC_ALONE and len(whole) >= _MIN_TERM and _is_term(kept):
        yield _name(kept, TERM, UNKNOWN)._replace(is_term=True)


def _is_term(piece: Sequence[Word]) -> bool:
    # A katakana word alone that the dictionary has is a word of every text: オプション, メニュー.
    return len(piece) > 1 or bool(_ALL_KANJI.match(piece[0].surface))


def _makes_name(piece: Sequence[Word], whole: str) -> bool:
    """Whether the ending makes a name of common nouns: 国防省, ユーロコプター社; 寄宿制学校 is none."""
    if whole.endswith(tuple(STRONG_ENDINGS)):
        return True
    return piece[0].kind is Kind.KATAKANA and len(piece[0].surface) > 2 and whole.endswith(tuple(KATAKANA_ENDINGS))


def _name(stretch: Sequence[Word], confidence: float, guess: Guess) -> Name:
    return Name(stretch[0].start, stretch[-1].end, confidence, guess)
