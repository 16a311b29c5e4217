"""English text -> sentences of words that know how they are written."""

from __future__ import annotations

import re
from typing import NamedTuple

from hybridrag.language.sentences import sentences


class Token(NamedTuple):
    """A word of the text; `end` leaves a possessive 's out."""

    text: str
    start: int
    end: int
    opens: bool
    """It is the first word of a sentence, line, list item or quotation, where anything has a capital."""
    possessive: bool
    low: str
    """In small letters, without the dot at the end of an abbreviation."""
    is_name_like: bool
    """Written with a capital, first or inside: Paris, NASA, iPhone; not T-shirt."""


_TOKEN = re.compile(r"[^\W_]+(?:[’'.\-‐&][^\W_]+)*(?:\+\+|\#)?")
_DOTTED = re.compile(r"(?:[A-Z]\.)+[A-Z]$|(?:Inc|Ltd|Corp|Co|Jr|Sr|Bros)$")
_LETTER_WORD = re.compile(r"[A-Z]-[a-z]+$")
_POSSESSIVE = re.compile(r"[’']s$", re.IGNORECASE)
# "Oscar-nominated", "Paris-based": the name ends at the hyphen; "Yuen Woo-ping" goes on.
_HYPHEN_TAIL = re.compile(
    r"[-‐](?:[a-z]+ed|[a-z]{2,}ing|based|born|style|type|like|era|led|wide|run|built|made|only|free|level|class|"
    r"century|year|old|time|line|language|area|san|sama|kun|chan|sensei)$"
)
_LOOK_BACK = 24  # characters; marks before a word are few
_OPENING_MARKS = "\"“‘'([-*_•#>–—|: \t\n"
_NUMBERED = re.compile(r"[\s#>*_-]*\(?(?:\d{1,3}|[a-z])[.)]")


def tokens_of(text: str) -> list[list[Token]]:
    """The words of each sentence.

    "Teutberga's son died." -> [[Teutberga (opens, possessive), son, died]]
    """
    return [_sentence_tokens(text, start, end) for start, end in sentences(text)]


def _sentence_tokens(text: str, start: int, end: int) -> list[Token]:
    return [
        _token(text, match.group(), match.start(), _opens(text, match.start(), start))
        for match in _TOKEN.finditer(text, start, end)
    ]


def _token(text: str, word: str, at: int, opens: bool) -> Token:
    after = text[at + len(word) : at + len(word) + 2]
    possessive = _POSSESSIVE.search(word)
    plural_possessive = word[-1] in "sS" and after[:1] in {"'", "’"} and not after[1:].isalpha()
    if possessive:
        word = word[: possessive.start()]
    tail = _HYPHEN_TAIL.search(word)
    if tail and word[0].isupper():
        word = word[: tail.start()]
    if after[:1] == "." and _DOTTED.match(word):
        word += "."
    name_like = word != word.lower() and not _LETTER_WORD.match(word)
    low = word.lower().rstrip(".")
    return Token(word, at, at + len(word), opens, possessive is not None or plural_possessive, low, name_like)


def _opens(text: str, at: int, sentence: int) -> bool:
    """Whether nothing but marks stands between the beginning of the sentence, line or quotation and this word."""
    before = text[max(sentence, at - _LOOK_BACK) : at]
    stripped = before.rstrip(_OPENING_MARKS)
    gap = before[len(stripped) :]
    if not stripped or any(mark in gap for mark in '\n:"“|•'):
        return True
    emphasised = stripped[-1] in ".!?" and any(mark in gap for mark in "*_")  # "**3 May.** Bought boots."
    return emphasised or _NUMBERED.fullmatch(stripped.rpartition("\n")[2]) is not None
