"""Logs: one block a record, with its time; the lines of a stack trace stay with the record that they belong to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from hybridrag.documents.readers.text import Line, lines_of, read_text
from hybridrag.documents.source import Source
from hybridrag.types.documents import Block, BlockKind, Document, LineMap

_TIME = re.compile(
    r"[\[<(]?(?P<time>"
    r"\d{4}[-/.]\d{2}[-/.]\d{2}[T ]\d{2}:\d{2}(?::\d{2})?"
    r"|(?:\w{3} )?[A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2}"
    r"|\d{2}/[A-Z][a-z]{2}/\d{4}:\d{2}:\d{2}:\d{2}"
    r"|\d{2}:\d{2}:\d{2})"
)
_TIME_WITHIN: Final = 60
"""Characters: access logs begin with an address."""
_LEVEL = re.compile(
    r"\b(?:(?P<F>FATAL|FTL|CRITICAL|CRIT|EMERG|ALERT|PANIC)|(?P<E>ERROR|ERR|SEVERE)|(?P<W>WARNING|WARN|WRN)"
    r"|(?P<I>INFO|INF|NOTICE|DEBUG|DBG|TRACE|OK))\b",
    re.IGNORECASE,
)
_NAMES: Final = {"F": "fatal", "E": "error", "W": "warning"}
_FEWEST_RECORDS: Final = 0.2
"""Of the lines that are looked at. A file with fewer times is no log, whatever it is called."""
_LOOKED_AT: Final = 500


def read_log(source: Source) -> Document:
    r"""A block per record, its time as anchor; records of a warning or worse stand under their level.

    "2024-05-01 09:30:00 ERROR no disk\n  at main" -> one block under "error", anchor "2024-05-01 09:30:00"
    """
    text = source.text()
    looked = stamped = 0
    for line in lines_of(text[: _LOOKED_AT * 200]):
        looked += not _is_blank(line)
        stamped += _time(line) is not None
    if stamped < _FEWEST_RECORDS * looked or not looked:
        return read_text(source)
    return Document(text=text, blocks=tuple(_records(text)), mime_type=source.mime_type, lines=LineMap.of_text(text))


def _records(text: str) -> Iterator[Block]:
    first = last = None
    for line in lines_of(text):
        if _is_blank(line):
            continue
        if first and last and _time(line) is not None:
            yield _record(first, last)
            first = None
        first, last = first or line, line
    if first and last:
        yield _record(first, last)


def _record(first: Line, last: Line) -> Block:
    level = _LEVEL.search(first.text[:200])
    name = _NAMES.get(level.lastgroup or "") if level else None
    return Block(BlockKind.CODE, first.start, last.end, within=(name,) if name else (), anchor=_time(first))


def _is_blank(line: Line) -> bool:
    return not line.text or line.text.isspace()


def _time(line: Line) -> str | None:
    """The time that a record begins with; None for a line that begins none."""
    if line.text[:1].isspace():
        return None
    match = _TIME.search(line.text, 0, 100)
    return match["time"] if match and match.start() <= _TIME_WITHIN else None
