"""How the lines of a page become running text, in English and in Japanese."""

from __future__ import annotations

import re
from collections.abc import Sequence

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


def join_lines(lines: Sequence[str]) -> str:
    """One paragraph from its printed lines: words hyphenated at a line end are put together again.

    ["an exam-", "ple of", "text"] -> "an example of text"; ["日本", "語"] -> "日本語"
    """
    parts: list[str] = []
    last = ""
    for raw in lines:
        line = raw.strip()
        if not line:
            continue
        if last:
            _join(parts, last, line)
        parts.append(line)
        last = line
    return "".join(parts)


def _join(parts: list[str], last: str, line: str) -> None:
    """Put what belongs between two lines at the end of `parts`."""
    if _HYPHENATED.search(last) and line[0].islower():
        # "well-\nknown" loses its hyphen too: without a dictionary the two cannot be told apart, and
        # hyphenation at line ends is by far the commoner.
        parts[-1] = parts[-1][:-1]
    elif not (is_wide(last[-1]) or is_wide(line[0])):
        parts.append(" ")


def close_gaps(line: str) -> str:
    """A letter-spaced Japanese line without its spaces; any other line as it is.

    "目 次" -> "目次"; "東京都 大阪府" -> "東京都 大阪府"
    """
    gaps = len(_SPACED_OUT.findall(line))
    if gaps and gaps > _SPACED_OUT_SHARE * (len(line) - gaps - 1):
        return _SPACED_OUT.sub("", line)
    return line
