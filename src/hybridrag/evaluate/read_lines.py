"""The lines of a data set, plain or compressed, each with the place to name when it is wrong."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from hybridrag.errors import InvalidInput

QRELS_COLUMNS = 3
TREC_COLUMNS = 4
"""The older layout has an unused second column."""


def read_objects(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each JSON object of a file of lines that has an `_id`, with its place for messages; empty lines are passed over.

    -> ("corpus.jsonl, line 1", {"_id": "1", "text": "..."})

    Raises:
        InvalidInput: the file cannot be read, or a line is no object with an `_id`.
    """
    for where, fields in read_records(file):
        if not isinstance(fields.get("_id"), str | int) or fields["_id"] == "":
            raise InvalidInput(f"{where}: `_id` is missing or is no text.")
        yield where, fields


def read_records(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each JSON object of a file of lines, with its place for messages; empty lines are passed over.

    -> ("cases.jsonl, line 1", {"question": "...", "passages": [...]})

    Raises:
        InvalidInput: the file cannot be read, or a line is no object.
    """
    for number, line in _lines(file):
        where = f"{file.name}, line {number}"
        try:
            fields = json.loads(line)
        except ValueError as cause:
            raise InvalidInput(f"{where}: is not valid JSON ({getattr(cause, 'msg', cause)}).") from None
        if not isinstance(fields, dict):
            raise InvalidInput(f"{where}: must be an object such as {{'_id': '1', 'text': '...'}}.")
        yield where, fields


def read_rows(file: Path) -> Iterator[tuple[str, str, int]]:
    r"""Each (query, document, grade) of qrels, with or without a heading, in three columns or in TREC's four.

    "q1\td1\t2" -> ("q1", "d1", 2)

    Raises:
        InvalidInput: the file cannot be read, or a line has other columns.
    """
    for position, (number, line) in enumerate(_lines(file)):
        where = f"{file.name}, line {number}"
        cells = line.rstrip("\r\n").split("\t") if "\t" in line else line.split()
        if len(cells) == TREC_COLUMNS:
            cells = [cells[0], *cells[2:]]
        if len(cells) != QRELS_COLUMNS:
            raise InvalidInput(f"{where}: must be query-id, corpus-id and score, found {len(cells)} columns.")
        query, document, score = (cell.strip() for cell in cells)
        grade = _grade(score)
        if grade is None and position == 0:
            continue  # the heading
        if grade is None:
            raise InvalidInput(f"{where}: the score must be a whole number, found {score[:40]!r}.")
        yield query, document, grade


def _grade(text: str) -> int | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return int(value) if value.is_integer() else None


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    """Each line that is not empty, with its number."""
    number = 0
    try:
        with _opened(file) as stream:
            for number, line in enumerate(stream, start=1):
                if line.strip():
                    yield number, line
    except UnicodeDecodeError:
        raise InvalidInput(f"{file.name}: is not UTF-8 text after line {number}.") from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InvalidInput(f"{file.name}: is damaged after line {number}; it cannot be unpacked.") from None
    except OSError as cause:
        raise InvalidInput(f"{file.name}: cannot be read ({cause.strerror or cause}).") from None


def _opened(file: Path) -> TextIO:
    if file.suffix == ".gz":
        return gzip.open(file, "rt", encoding="utf-8-sig")
    return file.open(encoding="utf-8-sig")
