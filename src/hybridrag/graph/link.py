"""A text -> the titles, headings and aliases that it names.

Each alias is found on its own: `find_links(text, a + b)` is the union of both, nested names included. So a new
title adds links and a removed title removes its own, and no other link of any text changes. Readers who want one
name per place take `outermost`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from hybridrag.graph.names import BREAK, KANA_KANJI, Kind, Piece, fold_key, fold_parts, is_japanese, pieces
from hybridrag.graph.words import EVERYDAY_WORDS, GENERIC_JAPANESE, STRUCTURE_WORDS
from hybridrag.types.extraction import Link

FULL_TITLE = 1.0
WITHOUT_PARENTHESIS = 0.9  # "God of War (film)" is called "God of War"; so are others
BEFORE_SUBTITLE = 0.6  # "Lambert, Margrave of Tuscany" is called "Lambert"; so are many others


# ---------------------------------------------------------------- titles -> aliases

_PARENTHESIS = re.compile(r"\s*(?:\([^()]*\)|（[^（）]*）|【[^【】]*】|\[[^\[\]]*\])\s*")
_SUBTITLE = re.compile(r"\s*(?:[,，、:：|｜]|\s[-–—]\s|——|―)\s*")
_EXTENSION = re.compile(r"\.(?:[a-z]{1,4}|[a-z]+[0-9]|html|docx|xlsx|pptx|json|yaml|toml|ipynb)$", re.IGNORECASE)
_SEPARATORS = re.compile(r"[_\-.+]+|(?<=[a-z])(?=[A-Z])")

_NUMBERING = re.compile(
    r"(?:第?[0-9一二三四五六七八九十百〇]+[章節部項編巻回話条号版]?|"
    r"[0-9]+年(?:[0-9]+月)?(?:[0-9]+日)?|[0-9]+月(?:[0-9]+日)?|令和|平成|昭和)+$"
)
_UNNAMED = re.compile(r"(?:[0-9]+(?:st|nd|rd|th)?|[ivxlc]+|[a-z])$")  # 3, 3rd, iii, b
_MIN_LETTERS = 3  # a shorter alias in an alphabet is a word of many texts
_MIN_CHARACTERS = 2  # one kanji or kana is a word of any text


def is_generic(alias_key: str) -> bool:
    """Whether a title says nothing that a text could name: numbers, "README", "Introduction", "第1章", 「概要」.

    "introduction" -> True, "chapter 3" -> True, "teutberga" -> False
    """
    if is_japanese(alias_key):
        bare = alias_key.replace(BREAK, "").replace(" ", "")
        telling_characters = sum(not char.isdigit() for char in bare)
        return telling_characters < _MIN_CHARACTERS or bare in GENERIC_JAPANESE or _NUMBERING.match(bare) is not None
    words = alias_key.split(" ")
    if sum(len(word) for word in words) < _MIN_LETTERS:
        return True
    telling = [word for word in words if word not in EVERYDAY_WORDS and not _UNNAMED.match(word)]
    if not telling:
        # "You and Me" is a title; "Me", "1999" and "No. 2" are none.
        return sum(word.isalpha() for word in words) < 2
    return all(word in STRUCTURE_WORDS for word in telling)


def title_aliases(title: str) -> list[tuple[str, float]]:
    """What a document or section of that title may be called, best first; generic names are left out.

    "God of War (film)" -> [("god of war film", 1.0), ("god of war", 0.9)]
    "Lambert, Margrave of Tuscany" -> [("lambert margrave of tuscany", 1.0), ("lambert", 0.6)]
    "README.md" -> []
    """
    found: dict[str, float] = {}
    for form, quality in _title_forms(title.strip()):
        key = fold_key(form)
        if key and not is_generic(key):
            found.setdefault(key, quality)
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))


_LEADING_NUMBER = re.compile(
    r"(?:第[0-9０-９一二三四五六七八九十]+[章節部項編条回][\s:：.．、]*|(?:[0-9]+\.)+[0-9]*\s+|[(（]?[0-9]+[)）]\s*|"
    r"(?:chapter|section|part|appendix)\s+(?:[0-9]+|[ivx]+|[a-z])\b[\s:.\-–]*)",
    re.IGNORECASE,
)


def plain_title(title: str) -> str:
    """The title without what stands in brackets.

    "God of War (film)" -> "God of War"
    """
    return _PARENTHESIS.sub(" ", title).strip()


def _title_forms(title: str) -> Iterator[tuple[str, float]]:
    numbered = _LEADING_NUMBER.match(title)
    if numbered:
        # "3.2 Results" is "Results", and so generic; "第2章 鎌倉幕府" is named as 鎌倉幕府.
        title = title[numbered.end() :]
    stem = _EXTENSION.sub("", title)
    if stem != title and " " not in stem:
        if is_generic(fold_key(_SEPARATORS.sub(" ", stem))):
            return
        yield title, FULL_TITLE
        yield _SEPARATORS.sub(" ", stem), WITHOUT_PARENTHESIS
        return
    yield title, FULL_TITLE
    plain = plain_title(title)
    yield plain, WITHOUT_PARENTHESIS
    yield _SUBTITLE.split(plain, maxsplit=1)[0], BEFORE_SUBTITLE


# ---------------------------------------------------------------- the dictionary

_HEAD = 2  # characters by which Japanese aliases are filed: few enough to hold all, enough to pass over most places


class LinkDictionary:
    """The aliases to look for; grows and shrinks one alias at a time.

    Reading is thread-safe while nobody writes. `LinkDictionary(["god of war"])`
    """

    __slots__ = ("_keys", "_run_lengths", "_word_lengths")

    def __init__(self, alias_keys: Iterable[str] = ()) -> None:
        self._keys: set[str] = set()
        self._word_lengths: dict[str, dict[int, int]] = {}
        self._run_lengths: dict[str, dict[int, int]] = {}
        for key in alias_keys:
            self.add(key)

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, alias_key: object) -> bool:
        return alias_key in self._keys

    def add(self, alias_key: str) -> None:
        """Look for this alias from now on; one that is known already, or empty, changes nothing."""
        if not alias_key or alias_key in self._keys:
            return
        self._keys.add(alias_key)
        lengths, size = self._file(alias_key)
        lengths[size] = lengths.get(size, 0) + 1

    def remove(self, alias_key: str) -> None:
        """Look for it no more; an unknown one is ignored."""
        if alias_key not in self._keys:
            return
        self._keys.discard(alias_key)
        lengths, size = self._file(alias_key)
        lengths[size] -= 1
        if not lengths[size]:
            del lengths[size]

    def _file(self, key: str) -> tuple[dict[int, int], int]:
        """Where a key is filed: under its first word or first two characters, by its length."""
        if is_japanese(key):
            return self._run_lengths.setdefault(key[:_HEAD], {}), len(key)
        words = key.split(" ")
        return self._word_lengths.setdefault(words[0], {}), len(words)

    def match_words(self, words: list[Piece]) -> Iterator[Link]:
        """Every alias made of words among neighbouring words."""
        texts = [word.text for word in words]
        for at, text in enumerate(texts):
            for size in self._word_lengths.get(text, ()):
                key = text if size == 1 else " ".join(texts[at : at + size])
                if at + size <= len(texts) and key in self._keys:
                    yield Link(key, words[at].start, words[at + size - 1].end)

    def match_characters(self, folded: str) -> Iterator[tuple[str, int]]:
        """Every alias with kana or kanji, and where in the folded text it begins."""
        lengths_at = self._run_lengths.get
        for at in range(len(folded) - 1):
            for size in lengths_at(folded[at : at + _HEAD], ()):
                key = folded[at : at + size]
                # Near the end of the text a longer alias is cut to a shorter one, which was found already.
                if len(key) == size and key in self._keys:
                    yield key, at

    @property
    def has_runs(self) -> bool:
        """Whether any alias has kana or kanji."""
        return bool(self._run_lengths)


# ---------------------------------------------------------------- finding


def find_links(text: str, dictionary: LinkDictionary, *, cased: bool = True) -> list[Link]:
    """Every place where the text names an alias, in reading order, the longest first at each place.

    "A queen by marriage to Lothair II." with {"lothair ii", "marriage"} -> [Link("lothair ii", 23, 33)]
    `cased` asks a one-word alias to be written with a capital or a digit, as names in running text are; switch it
    off for questions, which people type in small letters.
    """
    parts = pieces(text)
    links = [link for words in _unbroken_words(parts) for link in dictionary.match_words(words)]
    if cased:
        links = [link for link in links if _written_as_name(link, text)]
    if dictionary.has_runs and any(part.kind is Kind.RUN for part in parts):
        links.extend(_character_links(text, parts, dictionary))
    return sorted(links, key=lambda link: (link.start, -link.end, link.alias_key))


_TYPOGRAPHY = str.maketrans(dict.fromkeys("–—‘’“”…•·×°£€§©®™\u00a0", " "))


def may_name(text: str, alias_key: str) -> bool:
    """Whether it is worth looking for an alias: False only where `find_links` finds no place of it.

    "the point is" -> False for "point", which is nowhere written like a name, and for "point nemo"; True for whatever
    takes a closer look, as any text does that is not plain English
    """
    plain = text if text.isascii() else text.translate(_TYPOGRAPHY)
    if not (alias_key.isascii() and plain.isascii()):
        return True
    if " " in alias_key or not alias_key.isalpha():
        return _in_a_row(alias_key).search(plain.lower()) is not None
    low, at = plain.lower(), -1
    while (at := low.find(alias_key, at + 1)) >= 0:
        if not plain.startswith(alias_key, at):
            return True
    return False


@lru_cache(maxsize=256)
def _in_a_row(alias_key: str) -> re.Pattern[str]:
    """The words of an alias with nothing but signs between them; an "and" may be written "&"."""
    words = (re.escape(word) if word != "and" else "(?:and|&)" for word in alias_key.split(" "))
    return re.compile(r"\W*".join(words))


def among(text: str, alias_keys: Iterable[str]) -> list[str]:
    """Those of many aliases that are worth looking for; the others `find_links` finds nowhere.

    "a meeting at Point Nemo" with ["nemo", "captain nemo"] -> ["nemo"]: the text has no captain
    """
    parts = pieces(text)
    words = {part.text for part in parts if part.kind is Kind.WORD}
    folded = fold_parts(parts).text if any(part.kind is Kind.RUN for part in parts) else ""
    return [key for key in alias_keys if (key in folded if is_japanese(key) else words.issuperset(key.split(" ")))]


def outermost(links: Iterable[Link]) -> list[Link]:
    """Those that lie within no other, in reading order.

    "Bank of Japan" and, inside it, "Japan" -> "Bank of Japan"
    """
    kept: list[Link] = []
    for link in sorted(links, key=lambda link: (link.start, -link.end, link.alias_key)):
        if not kept or link.end > kept[-1].end or (link.start, link.end) == (kept[-1].start, kept[-1].end):
            kept.append(link)
    return kept


def _unbroken_words(parts: Sequence[Piece]) -> Iterator[list[Piece]]:
    """Rows of words that no Japanese interrupts. Punctuation does not: "Paris, Texas" is a name."""
    words: list[Piece] = []
    for part in parts:
        if part.kind is Kind.WORD:
            words.append(part)
        elif part.kind is Kind.RUN and words:
            yield words
            words = []
    if words:
        yield words


def _written_as_name(link: Link, text: str) -> bool:
    """One-word aliases, and those of everyday words alone, count only where they are written like a name."""
    words = link.alias_key.split(" ")
    if len(words) > 1 and not all(word in EVERYDAY_WORDS or word in STRUCTURE_WORDS for word in words):
        return True
    return any(char.isupper() or char.isdigit() or char == "_" for char in text[link.start : link.end])


def _character_links(text: str, parts: Sequence[Piece], dictionary: LinkDictionary) -> Iterator[Link]:
    folded, starts, ends = fold_parts(parts)
    for key, at in dictionary.match_characters(folded):
        start, end = starts[at], ends[at + len(key) - 1]
        if _stands_alone(text, start, end, len(key)):
            yield Link(key, start, end)


_SCRIPTS = (
    (re.compile(r"[ぁ-ゖゝゞ]"), "hiragana"),
    (re.compile(r"[ァ-ヺーヽヾㇰ-ㇿｦ-ﾟ]"), "katakana"),
    (re.compile(rf"[{KANA_KANJI}]"), "kanji"),
    (re.compile(r"\w"), "letter"),
)
_SELF_EVIDENT_KANJI = 3  # 鳥山明氏, 岡山藩主: a name of three kanji is seldom part of another word; 東京 in 東京都 is
_SELF_EVIDENT_HIRAGANA = 4  # particles are hiragana, so a name's neighbours often are; a short one is mostly chance


def _script(char: str) -> str:
    return next((name for pattern, name in _SCRIPTS if pattern.match(char)), "")


def _stands_alone(text: str, start: int, end: int, size: int) -> bool:
    """Whether the place is a word of its own, judged by the change of script at both ends."""
    return _parted(text[start - 1 : start], text[start], size) and _parted(text[end - 1], text[end : end + 1], size)


def _parted(left: str, right: str, size: int) -> bool:
    script = _script(left) if left and right else ""
    if not script or script != _script(right):
        return True
    if script == "kanji":
        return size >= _SELF_EVIDENT_KANJI
    return script == "hiragana" and size >= _SELF_EVIDENT_HIRAGANA


# ---------------------------------------------------------------- finding older texts for a new alias


def probe_terms(text: str) -> set[str]:
    """What a text is filed under, so that those that name an alias are found: its words, pairs of kana and kanji.

    "Dr.スランプ" -> {"dr", "スラ", "ラン", "ンプ"}
    """
    parts = pieces(text)
    terms = {part.text for part in parts if part.kind is Kind.WORD}
    if any(part.kind is Kind.RUN for part in parts):
        terms.update(_RUN_PAIR.findall(fold_parts(parts).text))
    return terms


_RUN_PAIR = re.compile(rf"(?=([{KANA_KANJI}]{{2}}))")
