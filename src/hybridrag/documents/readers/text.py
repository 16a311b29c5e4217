"""Plain text: paragraphs between empty lines, and the headings that people write without markup."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, pairwise
from typing import Final, NamedTuple

from hybridrag.documents.source import Source
from hybridrag.documents.unwrap import unwrapped
from hybridrag.types.documents import Block, BlockKind, Document

_UNDERLINE = re.compile(r"([=\-~^\"#*+])\1{2,}$")
_UNDERLINE_LEVELS: Final = {"=": 1, "-": 2, "~": 3, "^": 4, '"': 4}
_CHAPTER = re.compile(r"第[0-9０-９一二三四五六七八九十百]{1,4}([章部編節])[\s:：.．　]?.{0,40}$")
_CHAPTER_LEVELS: Final = {"部": 1, "編": 1, "章": 1, "節": 2}
_ENGLISH_CHAPTER = re.compile(r"(?:CHAPTER|Chapter|PART|Part) (?:\d{1,3}|[IVXLC]{1,7})\b.{0,60}$")
_SENTENCE_END: Final = ("。", ".", "、", ",", "」")
_INDENT: Final = "\u3000"
"""The full-width space that opens a paragraph in Japanese, where no empty line does."""
_MAX_HEADING: Final = 200


class Line(NamedTuple):
    """A line of the text without its end, and where it starts."""

    start: int
    text: str

    @property
    def end(self) -> int:
        """Where it ends, trailing white space left out."""
        return self.start + len(self.text.rstrip())


def read_text(source: Source) -> Document:
    r"""The text with a block per paragraph and heading, and words whole that line ends cut.

    "Plan\n====\n\nGo." -> heading "Plan", paragraph "Go."
    """
    text = source.text()
    blocks = tuple(_blocks(text))
    heading = next((block for block in blocks if block.kind is BlockKind.HEADING), None)
    title = text[heading.start : heading.end] if heading else None
    return unwrapped(text, blocks, source.mime_type, title)


def lines_of(text: str) -> Iterator[Line]:
    r"""Every line with its offset, one at a time: a file may consist of line ends alone.

    "a\nb" -> (0, "a"), (2, "b")
    """
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield Line(start, text[start:end])
        start = end + 1
    yield Line(start, text[start:])


def _blocks(text: str) -> Iterator[Block]:
    first = last = None
    for line, below in pairwise(chain(lines_of(text), [Line(len(text), "")])):
        if first and last and (_is_blank(line) or line.text.startswith(_INDENT)):
            yield Block(BlockKind.PARAGRAPH, indented(first), last.end)
            first = None
        if first is None and (level := _heading_level(line, below)):
            yield Block(BlockKind.HEADING, indented(line), line.end, level)
        elif not (_is_blank(line) or (first is None and _is_rule(line))):
            first, last = first or line, line
    if first and last:
        yield Block(BlockKind.PARAGRAPH, indented(first), last.end)


def paragraphs(text: str) -> Iterator[Block]:
    r"""The paragraphs and headings of a text.

    "a\n\nb" -> paragraphs (0, 1), (3, 4)
    """
    return _blocks(text)


def indented(line: Line) -> int:
    """Where the line's first character that is no white space stands."""
    return line.start + len(line.text) - len(line.text.lstrip())


def _is_blank(line: Line) -> bool:
    return not line.text or line.text.isspace()


def _is_rule(line: Line) -> bool:
    """Whether the line only underlines or overlines a heading, or rules off a part."""
    return len(line.text) <= _MAX_HEADING and bool(_UNDERLINE.match(line.text.rstrip()))


def _heading_level(line: Line, below: Line) -> int:
    """1-6 for a heading, 0 for any other line."""
    words = line.text[: _MAX_HEADING + 1].strip()
    if not words or len(line.text) > _MAX_HEADING or _is_rule(line):
        return 0
    if _is_rule(below) and 2 * len(below.text) >= len(words):
        return _UNDERLINE_LEVELS.get(below.text[0], 5)
    if _is_blank(below) and not words.endswith(_SENTENCE_END):
        if chapter := _CHAPTER.match(words):
            return _CHAPTER_LEVELS[chapter[1]]
        return 1 if _ENGLISH_CHAPTER.match(words) else 0
    return 0
