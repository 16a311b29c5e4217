"""Put back together what hard line ends cut in text files: Japanese words and hyphenated English ones."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final
from unicodedata import east_asian_width

from hybridrag.documents.lines import WIDE, is_one_word, whole_words
from hybridrag.types.documents import Block, BlockKind, Document, LineMap

_CUT = re.compile(rf"(?<=[{WIDE}])[ \t]*\n[ \t]*(?=[{WIDE}])(?!\u3000)|(?<=[A-Za-z][a-z])-\n[ \t]*(?=[a-z]{{2}})")
_PROSE: Final = frozenset({BlockKind.PARAGRAPH, BlockKind.LIST_ITEM})
_NARROWEST: Final = 40
"""Columns. Lines of shorter blocks are lists, verse and addresses, which end where their writer wanted."""
_RAGGED: Final = 8
"""A line this much shorter than the longest of its block ended for want of room: a word or a mark had to stay whole."""
_WORD = re.compile(r"[A-Za-z]+")


Edit = tuple[int, int, str]
"""A stretch of a text and what stands in its place."""


def edited(text: str, blocks: Sequence[Block], edits: Sequence[Edit]) -> tuple[str, tuple[Block, ...], LineMap]:
    """The text after ordered edits, its blocks where they stand now, and the lines of the file.

    An edit lies within a block, is a whole block, or lies between two.
    """
    lines = LineMap.of_text(text)
    if not edits:
        return text, tuple(blocks), lines
    kept: list[str] = []
    starts, ends, grown = array("Q"), array("Q"), [0]
    position = 0
    for start, end, put in edits:
        kept += (text[position:start], put)
        position = end
        starts.append(start)
        ends.append(end)
        grown.append(grown[-1] + len(put) - (end - start))
    kept.append(text[position:])

    def moved(offset: int) -> int:
        over = bisect_right(ends, offset)
        # Inside of an edit nothing is where it was: its beginning stands for it.
        inside = over < len(starts) and starts[over] < offset
        return (starts[over] if inside else offset) + grown[over]

    line_starts = array("I", [moved(start) for start in lines.starts])
    shifted = tuple(replace(block, start=moved(block.start), end=moved(block.end)) for block in blocks)
    return "".join(kept), shifted, LineMap(line_starts, lines.numbers)


def cut_edits(text: str, blocks: Sequence[Block]) -> list[Edit]:
    r"""What puts words together again that line ends cut.

    "...パッケー\nジを..." in lines of equal length -> the line end goes
    """
    return [(start, end, "") for start, end in _cuts(text, blocks)] if _CUT.search(text) else []


def unwrapped(text: str, blocks: Sequence[Block], mime_type: str, title: str | None = None) -> Document:
    """A document of a text file, with its lines put together and known."""
    text, moved, lines = edited(text, blocks, cut_edits(text, blocks))
    return Document(text=text, blocks=moved, mime_type=mime_type, title=title, lines=lines)


def _cuts(text: str, blocks: Sequence[Block]) -> Iterator[tuple[int, int]]:
    """What to leave out: line ends with the white space around them, and hyphens before them."""
    known: set[str] | None = None
    for block in blocks:
        if block.kind not in _PROSE:
            continue
        found = list(_CUT.finditer(text, block.start, block.end))
        if not found:
            continue
        body = text[block.start : block.end]
        widths = {}
        start = block.start
        for line in body.split("\n"):
            widths[start + len(line)] = _width(line)
            start += len(line) + 1
        longest = max(widths.values())
        for match in found:
            line_end = text.index("\n", match.start())
            if longest < _NARROWEST or widths[line_end] < longest - _RAGGED:
                continue
            if match[0][0] != "-":
                yield match.span()
                continue
            if known is None:
                known = whole_words(text)
            yield (match.start() + (0 if _is_one_word(text, match, known) else 1), match.end())


def _width(line: str) -> int:
    """Columns of a line on a terminal, where ideographs and kana take two."""
    line = line.rstrip()
    return len(line) if line.isascii() else sum(1 + (east_asian_width(character) in "WF") for character in line)


def _is_one_word(text: str, match: re.Match[str], known: set[str]) -> bool:
    left = re.search(r"[A-Za-z]+$", text[max(0, match.start() - 40) : match.start()])
    right = _WORD.match(text, match.end())
    return not (left and right) or is_one_word(left[0], right[0], known)
