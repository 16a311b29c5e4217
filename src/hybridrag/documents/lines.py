"""How the lines of a page become running text, in English and in Japanese."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

WIDE = (
    "\u3000-\u30ff"  # CJK punctuation, hiragana, katakana
    "\u31f0-\u31ff"  # small katakana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # ideographs
    "\uff01-\uff60\uffe0-\uffe6"  # full-width forms
    "\U00020000-\U0003ffff"  # ideographs of the supplementary planes
)
"""Character ranges (for a regex class) of scripts that put no space between words. Hangul does, so it is not here."""

_BREAK_IN_WIDE = re.compile(rf"(?<=[{WIDE}])[ \t]*\n[ \t\n]*(?=[{WIDE}])")
_SPACES = re.compile(r"[ \t\n\r\f\v\u00a0]+")
_WIDE_CHARACTER = re.compile(f"[{WIDE}]")
_HYPHENATED = re.compile(r"[A-Za-z]{2}[-\u2010\u00ad]$")
_SPACED_OUT = re.compile(rf"(?<=[{WIDE}]) (?=[{WIDE}])")

_SPACED_OUT_SHARE = 0.4
"""A Japanese line with a space in more than this share of its gaps is letter-spaced, not made of words."""


def is_wide(character: str) -> bool:
    """Whether the character belongs to a script without spaces between words.

    "語" -> True; "a" -> False; "" -> False
    """
    return bool(_WIDE_CHARACTER.match(character))


def collapse(text: str) -> str:
    r"""White space as a browser shows it: one space, and none where a line broke inside Japanese.

    "two\n  words" -> "two words"; "改\n行" -> "改行"
    """
    return _SPACES.sub(" ", _BREAK_IN_WIDE.sub("", text)).strip(" ")


_WHOLE_WORD = re.compile(r"(?<![A-Za-z-])[A-Za-z]+(?![A-Za-z-])")


def whole_words(text: str) -> set[str]:
    """The Latin words of a text in lower case, without those that a hyphen joins to others."""
    return {word.lower() for word in _WHOLE_WORD.findall(text)}


def is_one_word(left: str, right: str, words: Container[str]) -> bool:
    """Whether a hyphen between two halves only breaks the line: "exam-ple" does, "well-known" has it anyway.

    Decided by the other words of the text: the word is written whole, or a half is no word of its own.
    """
    left, right = left.lower(), right.lower()
    return left + right in words or left not in words or right not in words


def join_lines(lines: Sequence[str], words: Container[str] = frozenset()) -> str:
    """One paragraph from its printed lines: words hyphenated at a line end are put together again.

    `words` are those of the whole text, which tell "well-known" from "exam-ple".

    ["an exam-", "ple of", "text"] -> "an example of text"; ["日本", "語"] -> "日本語"
    """
    parts: list[str] = []
    last = ""
    for raw in lines:
        line = raw.strip()
        if not line:
            continue
        if last:
            _join(parts, last, line, words)
        parts.append(line)
        last = line
    return "".join(parts)


_LAST_WORD = re.compile(r"[A-Za-z]+(?=[-\u2010\u00ad]$)")
_FIRST_WORD = re.compile(r"[A-Za-z]+")


def _join(parts: list[str], last: str, line: str, words: Container[str]) -> None:
    """Put what belongs between two lines at the end of `parts`."""
    if _HYPHENATED.search(last) and line[0].islower():
        left, right = _LAST_WORD.search(last), _FIRST_WORD.match(line)
        if not (left and right) or is_one_word(left[0], right[0], words):
            parts[-1] = parts[-1][:-1]
    elif not (is_wide(last[-1]) or is_wide(line[0])):
        parts.append(" ")


def close_all_gaps(line: str) -> str:
    """A line without spaces between Japanese characters: recognition of print puts them in anywhere."""
    return _SPACED_OUT.sub("", line)


def close_gaps(line: str) -> str:
    """A letter-spaced Japanese line without its spaces; any other line as it is.

    "目 次" -> "目次"; "東京都 大阪府" -> "東京都 大阪府"
    """
    gaps = len(_SPACED_OUT.findall(line))
    if gaps and gaps > _SPACED_OUT_SHARE * (len(line) - gaps - 1):
        return _SPACED_OUT.sub("", line)
    return line
