"""Names -> keys: when two surface forms are one name, and why.

A key is what identity, links and look-ups go by. It is made from the text alone, so the same name has the same key
in every file, and a merge of two different keys always has a reason that can be shown.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from enum import Enum, StrEnum, auto
from functools import lru_cache
from typing import NamedTuple

from hybridrag.graph.words import CONNECTORS, LEGAL_FORMS, PERSON_TITLES
from hybridrag.language.normalise import Normalised, fold_normalised, normalise, normalise_with_offsets
from hybridrag.language.scripts import HALF_WIDTH_KANA, HAN, KANA
from hybridrag.language.variants import NAME_IDEOGRAPHS

KANA_KANJI = KANA + HALF_WIDTH_KANA + HAN
"""The inside of a character class: what Japanese words are written with. No middle dot, no punctuation."""

BREAK = "、"
"""How punctuation that parts phrases is written inside a key and a folded text."""

REMEMBERED_TEXTS = 16
"""Texts that stay cut: writing a chunk looks for titles in it several times in a row."""

REMEMBERED_NAMES = 8_192
"""Names whose keys are kept at hand: a document names the same things over and over."""

_HARD = r"""、。,;「」『』()【】\[\]〈〉《》<>"“”„|\n"""
# A sound mark or a voicing mark changes the character before it, so no word begins with one.
_NOT_FIRST = "ー\u3099\u309a\u309b\u309cﾞﾟ"
_WORD = rf"[^\W{KANA_KANJI}](?:[^\W{KANA_KANJI}]|[\u0300-\u036f])*(?:\+\+|\#)?|&"
_PIECES = re.compile(rf"(?P<word>{_WORD})|(?P<run>(?![{_NOT_FIRST}])[{KANA_KANJI}]+)|(?P<gap>[{_HARD}]+)")
_RUN = re.compile(rf"[{KANA_KANJI}]")
# JIS Z 8301 lets technical words of three or more sounds end with or without the long vowel: コンピュータ(ー).
_LONG_VOWEL = re.compile(r"(?<=[ァ-ヺー]{2}[ァ-ヺ])ー(?![ァ-ヺー])")


_RARE = re.compile(f"[{''.join(NAME_IDEOGRAPHS)}]")


class Kind(Enum):
    """What a piece of text is made of."""

    WORD = auto()
    """A word of an alphabet that parts words: Latin, Cyrillic, digits, `C++`."""
    RUN = auto()
    """Kana and kanji, which stand without spaces."""
    GAP = auto()
    """Punctuation that parts phrases."""


# A tuple and no frozen dataclass: one is made for every word of every chunk, and a tuple takes a third of the time.
class Piece(NamedTuple):
    """A stretch of a text in folded form, and where in the text it stands."""

    kind: Kind
    text: str
    start: int
    end: int
    spans: tuple[tuple[int, int], ...] = ()
    """For a run: where each character of `text` stands; empty where they are just those from `start` to `end`."""


def is_japanese(text: str) -> bool:
    """Whether any kana or kanji stands in it.

    "SPRiNGSの歌" -> True, "SPRiNGS" -> False
    """
    return _RUN.search(text) is not None


@lru_cache(maxsize=REMEMBERED_TEXTS)
def pieces(text: str) -> tuple[Piece, ...]:
    """Cut a text into words, kana-kanji runs and gaps, each with its offsets; everything else is passed over.

    "Dr.スランプ" -> word "dr" (0, 2), run "スランプ" (3, 7)
    """
    return tuple(_pieces(text))


def _pieces(text: str) -> Iterator[Piece]:
    normal = normalise_with_offsets(text)
    starts, ends = normal.starts, normal.ends
    for match in _PIECES.finditer(normal.text):
        first, last = match.start(), match.end() - 1
        kind = match.lastgroup
        if kind == "word":
            yield Piece(Kind.WORD, _fold_word(match.group()), starts[first], ends[last])
        elif kind == "run":
            folded, spans = _fold_run(match.group(), normal, first)
            yield Piece(Kind.RUN, folded, starts[first], ends[last], spans)
        else:
            yield Piece(Kind.GAP, BREAK, starts[first], ends[last])


def _fold_word(word: str) -> str:
    if word == "&":
        return "and"
    return word.lower() if word.isascii() else fold_normalised(word)


def _fold_run(run: str, normal: Normalised, first: int) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The run without final long vowels, which count as part of the character before them."""
    if isinstance(normal.starts, range) and "ー" not in run:
        return (fold_normalised(run) if _RARE.search(run) else run), ()
    at = range(first, first + len(run))
    spans = list(zip((normal.starts[i] for i in at), (normal.ends[i] for i in at), strict=True))
    folded = list(fold_normalised(run))
    for match in reversed(list(_LONG_VOWEL.finditer(run))):
        vowel = match.start()
        spans[vowel - 1] = (spans[vowel - 1][0], spans[vowel][1])
        del spans[vowel], folded[vowel]
    return "".join(folded), tuple(spans)


class Folded(NamedTuple):
    """A text as its key would be written; character i of it comes from `original[starts[i]:ends[i]]`."""

    text: str
    starts: list[int]
    ends: list[int]


def fold_parts(parts: Iterable[Piece]) -> Folded:
    """Pieces joined: words parted by one space, kana and kanji by nothing, phrases by a break.

    "ジョン・リーが、" -> "ジョンリが、": the long vowel of the whole name is dropped, as it is in ジョンリー
    """
    out: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    last: Kind | None = None
    for part in parts:
        if part.kind is Kind.GAP and last is Kind.GAP:
            continue
        if part.kind is Kind.WORD and last is Kind.WORD:
            out.append(" ")
            starts.append(part.start)
            ends.append(part.start)
        out.append(part.text)
        if part.kind is Kind.RUN and not part.spans:
            starts.extend(range(part.start, part.end))
            ends.extend(range(part.start + 1, part.end + 1))
        else:
            # Inside a word nothing begins or ends, so each of its characters may stand for all of it.
            spans = part.spans or ((part.start, part.end),) * len(part.text)
            starts.extend(start for start, _ in spans)
            ends.extend(end for _, end in spans)
        last = part.kind
    return _without_long_vowels("".join(out), starts, ends)


def _without_long_vowels(text: str, starts: list[int], ends: list[int]) -> Folded:
    vowels = [match.start() for match in _LONG_VOWEL.finditer(text)] if "ー" in text else []
    for vowel in reversed(vowels):
        ends[vowel - 1] = ends[vowel]
        del starts[vowel], ends[vowel]
        text = text[:vowel] + text[vowel + 1 :]
    return Folded(text, starts, ends)


def fold_key(text: str) -> str:
    """The key of a text as it stands: words parted by one space, kana and kanji by nothing.

    "ジョン・スミス" -> "ジョンスミス", "Retrieval-Augmented  Generation" -> "retrieval augmented generation",
    "ｺﾝﾋﾟｭｰﾀｰ" -> "コンピュータ", "彼女、お借りします" -> "彼女、お借りします"
    """
    parts = list(_pieces(text))
    if any(piece.kind is Kind.RUN for piece in parts):
        return fold_parts(parts).text.strip(BREAK)
    # English commas are dropped: "Paris, Texas" and "Paris Texas" are one key.
    return " ".join(piece.text for piece in parts if piece.kind is Kind.WORD)


_TITLE_WORD = re.compile(r"\s*([^\W\d_]+)\.?[ \u00a0]+(?=\S)")
_CREDENTIALS = re.compile(r",?\s+(?:Ph\.?\s?D|M\.?D|Esq|MBA|MSc|BSc|DPhil|OBE|CBE|MBE|QC|KC)\.?$")
_ARTICLE = re.compile(r"(?:the|an?)\s+(?=\S)", re.IGNORECASE)
_POSSESSIVE = re.compile(r"(?:['’ʼ`]s|(?<=s)['’ʼ])$", re.IGNORECASE)
_WRAPPING = " \t\r\n\"'`“”‘’«»「」『』《》〈〉【】()（）[]"
_JAPANESE_HONORIFIC = re.compile(r"(?:さん|さま|様|氏|くん|君|ちゃん|先生|殿|博士|教授)$")
# Words that end like an honorific and are none: 宮殿, 仕様, お母さん.
_NO_HONORIFIC = re.compile(r"(?:[宮神御社本拝寝]殿|[仕模同多異神王有皆客一]様|摂氏|華氏|[皆奥][さ様].*|^[おご].*)$")
_MIN_STEM = 2  # 源氏, 主君, 神様: a single character before it is part of the word
_WORDS_AFTER_TITLE = 2  # "Dr. Smith" may be any Smith; "Dr. John Smith" is John Smith


def strip_honorific(name: str) -> str:
    """The name without titles before a whole name and honorifics after a Japanese one.

    "Dr. John Smith" -> "John Smith", "山田太郎さん" -> "山田太郎"; "Dr. Smith" and "宮殿" stay as they are
    """
    if _RUN.match(name[-1:]):
        return _strip_japanese_honorific(name)
    stripped = _CREDENTIALS.sub("", name)
    while match := _TITLE_WORD.match(stripped):
        rest = stripped[match.end() :]
        words = rest.split()
        if match.group(1).casefold() not in PERSON_TITLES or len(words) < _WORDS_AFTER_TITLE:
            break
        if words[0].casefold() in CONNECTORS:
            break
        stripped = rest
    return stripped


def _strip_japanese_honorific(name: str) -> str:
    match = _JAPANESE_HONORIFIC.search(name)
    if match is None or match.start() < _MIN_STEM or _NO_HONORIFIC.search(name):
        return name
    return name[: match.start()].rstrip()


@lru_cache(maxsize=REMEMBERED_NAMES)
def name_key(name: str) -> str:
    """The key by which a name is one entity, whatever its case, width, title, article or final long vowel.

    "山田太郎さん" -> "山田太郎", "The Matrix" -> "matrix", "Dr. John Smith's" -> "john smith", "U.S.A." -> "usa"
    """
    bare = normalise(name).strip(_WRAPPING)
    bare = _POSSESSIVE.sub("", bare)
    bare = strip_honorific(bare) or bare
    article = _ARTICLE.match(bare)
    if article and bare[article.end() :].casefold() not in CONNECTORS:
        bare = bare[article.end() :]
    key = fold_key(bare)
    words = key.split(" ")
    # Dotted capitals are one word however they are spaced; initials before a name stay apart.
    if len(words) > 1 and all(len(word) == 1 and word.isalpha() for word in words):
        return "".join(words)
    return key


class SameName(StrEnum):
    """Why two different spellings are one name: the reason that a merge records."""

    SPELLING = "spelling"
    """Equal but for case, width, spaces, middle dots or punctuation."""
    LONG_VOWEL = "long_vowel"
    """コンピュータ, コンピューター."""
    HONORIFIC = "honorific"
    """A title, honorific, article or possessive stands with one of them."""
    INITIALS = "initials"
    """J. R. R. Tolkien, John Ronald Reuel Tolkien."""
    LEGAL_FORM = "legal_form"
    """Apple Inc., Apple; 株式会社日立製作所, 日立製作所."""
    KANJI_VARIANT = "kanji_variant"
    """渡邊, 渡辺."""
    DIACRITICS = "diacritics"
    """Björk, Bjork."""


def same_name(first: str, second: str) -> SameName | None:
    """Why the two are one name, or None where nothing but a guess says so.

    ("J. R. R. Tolkien", "John Ronald Reuel Tolkien") -> INITIALS, ("Dr. Smith", "Smith") -> None
    A name in Latin letters and one in katakana are one only where a text gives the pair: see `AliasRecord`.
    """
    a, b = name_key(first), name_key(second)
    if not a or not b:
        return None
    if a == b:
        return _same_key_reason(first, second)
    if strip_legal_form(a) == strip_legal_form(b):
        return SameName.LEGAL_FORM
    return SameName.INITIALS if _initials_match(a.split(" "), b.split(" ")) else None


def _same_key_reason(first: str, second: str) -> SameName:
    if fold_key(first) != fold_key(second):
        return SameName.HONORIFIC
    letters = [re.sub(r"\W", "", unicodedata.normalize("NFKC", name).casefold()) for name in (first, second)]
    if letters[0] == letters[1]:
        return SameName.SPELLING
    if _LONG_VOWEL.sub("", letters[0]) == _LONG_VOWEL.sub("", letters[1]):
        return SameName.LONG_VOWEL
    return SameName.KANJI_VARIANT if is_japanese(first) else SameName.DIACRITICS


_JAPANESE_LEGAL_FORM = re.compile(
    r"^(?:株式会社|有限会社|合同会社|合資会社|一般社団法人|一般財団法人|公益社団法人|公益財団法人|独立行政法人|国立大学法人|学校法人)"
    r"|(?:株式会社|有限会社|合同会社|合資会社)$"
)


def strip_legal_form(key: str) -> str:
    """A company's key without its legal form; the key itself where nothing would be left.

    "apple inc" -> "apple", "株式会社日立製作所" -> "日立製作所"
    """
    bare = _JAPANESE_LEGAL_FORM.sub("", key)
    if not bare:
        return key
    words = bare.split(" ")
    while len(words) > 1 and words[-1] in LEGAL_FORMS:
        words.pop()
    return " ".join(words)


_MIN_GIVEN_NAMES = 2  # "J. Smith" is too many people


def _initials_match(a: list[str], b: list[str]) -> bool:
    """Same family name, and given names that agree one by one, in full or by their first letter."""
    if len(a) != len(b) or len(a) <= _MIN_GIVEN_NAMES or a[-1] != b[-1] or len(a[-1]) == 1:
        return False
    given = list(zip(a[:-1], b[:-1], strict=True))
    return all(x == y or (min(len(x), len(y)) == 1 and x[0] == y[0]) for x, y in given)
