"""English question -> its words, with every name as one word; and the names that capitals show."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from hybridrag.language.words import ENGLISH_STOP_WORDS
from hybridrag.queries.signals import Span
from hybridrag.queries.words import english

NAME = "N"
"""How a name is written among words, which are all in small letters."""

UNCASED_WORDS = 3
"""From so many words on, capitals throughout say nothing: WHO IS THE HEAD OF PROCUREMENT."""

_ABBREVIATED, _CALENDAR, _INSIDE, _AUXILIARIES = map(
    english, ("abbreviated", "calendar", "inside_names", "auxiliaries")
)
OPENERS = ENGLISH_STOP_WORDS | english("function_words", "prepositions", "question_words", "auxiliaries", "commands")
"""Words that open a question with a capital and are no names."""

_LATIN = "A-Za-z\u00c0-\u024f\u1e00-\u1eff"
_WORD = re.compile(
    rf"""
      's(?![{_LATIN}])
    | (?:[A-Z]\.){{2,}}                                                     # U.S., D.P.
    | [{_LATIN}0-9](?:[{_LATIN}0-9]|[-&./](?=[{_LATIN}0-9])|'(?!s(?![{_LATIN}]))(?=[{_LATIN}]))*(?:\+\+|\#)?
    | [^\W_]+ | [,.;:?!&()]
    """,
    re.VERBOSE,
)
_CAPITAL = re.compile(r"[A-Z\u00c0-\u00d6\u00d8-\u00de\u0100-\u024f]")
_NUMBER = re.compile(r"[0-9][0-9.,]*|[IVX]+")
_AFTER_NAMES = frozenset(("'s", "and", "or", "vs", "versus", "&", ","))
_MAX_SMALL = 2  # "of the", "de la": more small words than that part two names


class Word(NamedTuple):
    """A word in small letters, a punctuation mark, or `NAME`."""

    text: str
    start: int
    end: int


def raw_words(text: str) -> list[Word]:
    """Words and punctuation as written, with their places.

    "Ken's K-200?" -> Ken, 's, K-200, ?
    """
    return [Word(match[0], match.start(), match.end()) for match in _WORD.finditer(text)]


def with_names(words: Sequence[Word], names: Sequence[Span]) -> list[Word]:
    """The words in small letters, each name as one `NAME`.

    "who directed The Quiet Harbour", name (13, 30) -> who, directed, N
    """
    starts = [name.left for name in names]
    out: list[Word] = []
    for word in words:
        at = bisect_right(starts, word.start) - 1
        if at < 0 or word.start >= names[at].right:
            out.append(Word(word.text.lower(), word.start, word.end))
        elif not out or out[-1].start != names[at].left:
            out.append(Word(NAME, names[at].left, names[at].right))
    return out


def capitalised_names(text: str, words: Sequence[Word]) -> list[Span]:
    """The stretches of capitalised words that are names; none where capitals say nothing.

    "Who directed The Lord of the Rings?" -> The Lord of the Rings; "WHO IS THE BOSS" -> nothing
    """
    if _is_uncased(words):
        return []
    found = []
    at = 0
    while at < len(words):
        end = _chain_end(text, words, at)
        if end:
            found.append(Span(words[at].start, _without_possessive(words, at, end)))
            at = end
        else:
            at += 1
    return found


def _is_uncased(words: Sequence[Word]) -> bool:
    """Whether capitals stand everywhere, or on the small words of a heading too."""
    letters = [word.text for word in words if word.text[0].isalpha() and word.text.isascii()]
    if len(letters) < UNCASED_WORDS:
        return False
    small = [text for text in letters[1:] if text.lower() in ENGLISH_STOP_WORDS and len(text) > 1]
    heading = len(small) >= 2 and all(text[0].isupper() for text in small)
    return heading or all(text.isupper() for text in letters)


def _is_capital(word: Word) -> bool:
    return bool(_CAPITAL.match(word.text)) and word.text not in {"I", "I'm", "I've", "I'd", "I'll"}


def _opens(words: Sequence[Word], at: int) -> bool:
    """Whether a capital here may be nothing but the start of a sentence."""
    return at == 0 or words[at - 1].text in {".", "?", "!", ":"}


def _chain_end(text: str, words: Sequence[Word], at: int) -> int:
    """The index after the name that begins at `at`; 0 where none does."""
    if not _is_capital(words[at]):
        return 0
    if _opens(words, at) and not _opens_with_name(words, at):
        return 0
    end = _grow(text, words, at)
    only = words[at].text.lower()
    if end == at + 1 and (only in _CALENDAR or (len(only) > 1 and only in OPENERS and not words[at].text.isupper())):
        return 0
    return end


def _opens_with_name(words: Sequence[Word], at: int) -> bool:
    opener = words[at].text
    if opener.lower() in OPENERS:
        return False
    following = words[at + 1] if at + 1 < len(words) else None
    if following is None or len(words) <= 2 or any(_CAPITAL.match(char) or char.isdigit() for char in opener[1:]):
        return True
    return _is_capital(following) or following.text in _INSIDE | _AUXILIARIES | _AFTER_NAMES


def _grow(text: str, words: Sequence[Word], at: int) -> int:
    end = at + 1
    while end < len(words) and (following := _continuation(text, words, end)):
        end = following
    return end


def _continuation(text: str, words: Sequence[Word], end: int) -> int:
    """The index after the next part of a name whose parts so far end before `end`; 0 where it goes no further."""
    before, word = words[end - 1], words[end]
    gap = text[before.end : word.start]
    if word.text == ".":
        return _over_full_stop(words, end) if not gap else 0
    if word.text == "'s":
        return _over(words, end + 1)
    if gap != " ":
        return 0
    if _is_capital(word) or _NUMBER.fullmatch(word.text):
        return end + 1
    if word.text == "&" or (word.text == "for" and end > 1):
        return _over(words, end + 1)
    small = end
    while small - end < _MAX_SMALL and small < len(words) and words[small].text in _INSIDE:
        small += 1
    return _over(words, small) if small > end else 0


def _over(words: Sequence[Word], at: int) -> int:
    """The index after the capitalised word at `at`; 0 where there is none."""
    return at + 1 if at < len(words) and _is_capital(words[at]) else 0


def _over_full_stop(words: Sequence[Word], end: int) -> int:
    """J. Smith, St. Paul; and the Jr. in "Jr.'s"."""
    before = words[end - 1].text
    if len(before) > 1 and before.lower() not in _ABBREVIATED:
        return 0
    possessive = end + 1 < len(words) and words[end + 1].text == "'s"
    return _over(words, end + 1) or (end + 1 if possessive else 0)


def _without_possessive(words: Sequence[Word], at: int, end: int) -> int:
    last = words[end - 1]
    return words[end - 2].end if last.text == "'s" and end - at > 1 else last.end
