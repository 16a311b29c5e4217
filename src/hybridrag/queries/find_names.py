"""Find what a question marks as a name: quoted, known to the graph, or written like an identifier."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from hybridrag.language.normalise import normalise
from hybridrag.queries.read_english import OPENERS
from hybridrag.queries.signals import Span

MAX_NAME = 80
"""Characters in a quoted name; what is longer is a quoted sentence."""

MAX_NAMES = 16
"""Names taken out of one question; a pasted log would else name every word of it."""

MAX_KNOWN = 64
"""Names that a caller may report; each is looked for in the question."""

MAX_ASIDE = 3
"""Words in brackets that say which one is meant; more tell something of their own."""

_INSIDE = rf"{{1,{MAX_NAME}}}"
_QUOTED = re.compile(
    rf'"([^"\n]{_INSIDE})"|“([^“”\n]{_INSIDE})”|「([^「」\n]{_INSIDE})」|『([^『』\n]{_INSIDE})』'
    rf"|《([^《》\n]{_INSIDE})》|〈([^〈〉\n]{_INSIDE})〉|«([^«»\n]{_INSIDE})»|`([^`\n]{_INSIDE})`"
    rf"|(?<![\w'])'((?:[^'\n]|'(?=\w)){{2,{MAX_NAME}}})'(?!\w)"
)
_LETTER = "A-Za-z\u00c0-\u024f"
_ALNUM = f"[{_LETTER}0-9]"
_IDENTIFIER = re.compile(
    rf"""
    (?<![{_LETTER}0-9_/.%+-])(?:
        [a-z]{{2,10}}://[!-~]+                                    # https://example.com/a
      | [A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+       # someone@example.com
      | (?:[A-Za-z]:)?[\\/](?:[\w.-]+[\\/])+[\w.-]+               # /etc/hosts, C:\\temp\\a.txt
      | [A-Za-z_][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+                   # max_tokens
      | [A-Za-z_][A-Za-z0-9_]*(?:(?:\.|::|->)[A-Za-z_][A-Za-z0-9_]*)+(?:\(\))?  # os.path.join()
      | [a-z]+[A-Z][A-Za-z0-9]*(?:\ [0-9]{{1,4}})?                #  getUserName, iPhone 15
      | [A-Z][a-z0-9]+[A-Z][A-Za-z0-9]*                           # JavaScript
      | [A-Za-z]{{1,6}}[-.]?[0-9][A-Za-z0-9]*(?:[-.][A-Za-z0-9]+)*    # E-4012, SA80, v2.1
      | [A-Za-z](?:\+\+|\#) | \.NET
    )(?![{_LETTER}0-9_])
    """,
    re.VERBOSE,
)
_NO_IDENTIFIER = re.compile(r"(?:[A-Za-z]\.)+[A-Za-z]?|[a-z]{1,2}\.[a-z]|[qh][1-4]", re.IGNORECASE)
"""U.S., e.g, Q3."""
_ASIDE = re.compile(r"(?: |(?<=[^\x00-\x7f]))\(([^()\n]{1,40})\)")
"""Behind a space or a Japanese name: in `charge(Invoice)` something is called."""
_EDGES = " \t\r\n.,;:!?、。！？・'\"“”"


def quoted_names(text: str) -> list[Span]:
    """What stands in quotation marks, without the marks.

    "who wrote 'Quiet Harbours,' and 「静かな港」" -> Quiet Harbours, 静かな港
    """
    found = []
    for match in _QUOTED.finditer(text):
        inside = next(number for number, name in enumerate(match.groups(), 1) if name is not None)
        start, end = trimmed(text, *match.span(inside))
        if start < end:
            found.append(Span(start, end, (start - match.start(), match.end() - end)))
    return found


def identifiers(text: str) -> list[Span]:
    """What is written as no word is: addresses, paths, code, model numbers.

    "what does max_tokens do on the K-200?" -> max_tokens, K-200
    """
    found = (Span(*match.span()) for match in _IDENTIFIER.finditer(text))
    return [span for span in found if not _NO_IDENTIFIER.fullmatch(text, span.start, span.end)]


def with_asides(text: str, names: Sequence[Span]) -> list[Span]:
    """The names without those that only say in brackets which one is meant; the brackets go with the name before them.

    "Was Harbour (Film) made before Harbour (1946 Film)?" -> Harbour, Harbour
    """
    kept: list[Span] = []
    for name in names:
        if kept and kept[-1].right > name.left:
            continue
        aside = _ASIDE.match(text, name.right)
        behind = aside.end() - name.end if aside and _says_which(aside[1]) else name.marks[1]
        kept.append(name._replace(marks=(name.marks[0], behind)))
    return kept


def _says_which(inside: str) -> bool:
    """A few words without grammar: Film, York, 1946 film; no "founded by Ken Ito"."""
    words = inside.split()
    return len(words) <= MAX_ASIDE and not any(word.lower() in OPENERS for word in words)


def known_spans(text: str, names: Sequence[str]) -> list[Span]:
    """Where names that the caller knows stand in the question; a name that is not there is left out.

    "となりのトトロの監督", ["となりのトトロ", "宮崎駿"] -> となりのトトロ
    """
    found = []
    for name in names[:MAX_KNOWN]:
        plain = normalise(name).strip(_EDGES)
        if not plain:
            continue
        before = f"(?<!{_ALNUM})" if re.match(_ALNUM, plain) else ""
        after = f"(?!{_ALNUM})" if re.match(_ALNUM, plain[-1]) else ""
        pattern = re.compile(before + re.escape(plain) + after, re.IGNORECASE)
        found += [Span(*match.span()) for match in pattern.finditer(text)]
    return found


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The stretch without punctuation and spaces at its ends.

    ("Quiet Harbours,", 0, 13) -> (0, 12)
    """
    while start < end and text[start] in _EDGES:
        start += 1
    while start < end and text[end - 1] in _EDGES:
        end -= 1
    return start, end


def settled(*ranked: Iterable[Span]) -> list[Span]:
    """One list in text order without overlaps: earlier lists win, and within a list the longer span.

    [(0, 4)], [(2, 9), (10, 12)] -> [(0, 4), (10, 12)]
    """
    kept: list[Span] = []
    for spans in ranked:
        for span in sorted(spans, key=lambda it: (it.start - it.end, it.start))[:MAX_NAMES]:
            if all(span.right <= other.left or other.right <= span.left for other in kept):
                kept.append(span)
    return sorted(kept)[:MAX_NAMES]
