"""Subtitles: what is said, with its time."""

from __future__ import annotations

import re
from typing import Final

from hybridrag.documents.build import DocumentBuilder
from hybridrag.documents.lines import join_lines
from hybridrag.documents.readers.text import lines_of
from hybridrag.documents.source import Source
from hybridrag.types.documents import BlockKind, Document

_TIMES = re.compile(r"\s*((?:\d{1,3}:)?\d{1,2}:\d{2})[.,]\d{1,3}\s*-->\s*((?:\d{1,3}:)?\d{1,2}:\d{2})")
_MARKS = re.compile(r"<[^>]{0,100}>|\{\\[^}]{0,100}\}")
_SENTENCE_END = re.compile(r"[.!?。！？…]['\"」』)）]*$")
_PAUSE: Final = 4
"""Seconds without words after which something else is spoken of."""
_LONGEST: Final = 600
"""Characters after which a paragraph ends with the next cue: some subtitles have no marks at all."""


def read_subtitles(source: Source) -> Document:
    r"""Cues joined to paragraphs, each with the time at which it begins.

    "1\n00:00:01,000 --> 00:00:02,000\nHello\n\n2\n00:00:02,500 --> ...\nthere." -> "Hello there." at 00:00:01
    """
    builder = DocumentBuilder(source)
    said: list[str] = []
    began, began_line, until, showing = "", 0, 0, False
    for number, line in enumerate(lines_of(source.text()), start=1):
        match = _TIMES.match(line.text)
        words = _MARKS.sub("", line.text).strip()
        if match:
            ended = bool(said) and bool(_SENTENCE_END.search(said[-1]))
            if ended or _seconds(match[1]) - until > _PAUSE or sum(map(len, said)) > _LONGEST:
                builder.add(BlockKind.PARAGRAPH, join_lines(said), line=began_line or None, anchor=began)
                said = []
            if not said:
                began, began_line = match[1], number
            until, showing = _seconds(match[2]), True
        elif not words:
            showing = False
        elif showing and (not said or said[-1] != words):
            said.append(words)
    builder.add(BlockKind.PARAGRAPH, join_lines(said), line=began_line or None, anchor=began)
    return builder.document()


def _seconds(time: str) -> int:
    seconds = 0
    for part in time.split(":"):
        seconds = 60 * seconds + int(part)
    return seconds
