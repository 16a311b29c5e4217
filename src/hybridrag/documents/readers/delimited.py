"""CSV and TSV: each row as one line that names its columns."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from itertools import chain, islice
from typing import Final

from hybridrag.documents.build import DocumentBuilder
from hybridrag.documents.formats import TSV
from hybridrag.documents.readers.text import read_text
from hybridrag.documents.source import Source
from hybridrag.documents.tables import HEADER_WITHIN, find_header, one_line, row_text
from hybridrag.types.documents import BlockKind, Document

_DELIMITERS: Final = (",", "\t", ";", "|")
_SAMPLE_ROWS: Final = 2 * HEADER_WITHIN
_SAMPLE_CHARACTERS: Final = 100_000
_DECLARED = re.compile(r"sep=(.)\n")
"""The first line by which Excel names the delimiter."""
_LONGEST_LINE: Final = 1_000_000
"""A longer line is no row of a table: cutting it at commas would make millions of cells."""


def read_delimited(source: Source) -> Document:
    r"""Every row as "name: value | name: value", with the delimiter found out.

    "city;people\nTokyo;14" -> "city | people", "city: Tokyo | people: 14"

    Raises:
        DocumentTooLarge: more rows than `max_rows`.
    """
    text = source.text()
    if len(max(text.split("\n"), key=len)) > _LONGEST_LINE:
        return read_text(source)
    declared = _DECLARED.match(text)
    if declared:
        text = text[declared.end() :]
    delimiter = declared[1] if declared else _delimiter(text, source.mime_type)
    # Only raised, never lowered: the limit is shared by the whole process.
    csv.field_size_limit(max(csv.field_size_limit(), source.limits.max_text_chars))
    rows = csv.reader(io.StringIO(text), delimiter=delimiter)
    # A cell may hold line ends: the reader knows the line that a row ended on.
    skipped = 1 if declared else 0
    numbered = ((rows.line_num - sum(cell.count("\n") for cell in row) + skipped, row) for row in rows)
    builder = DocumentBuilder(source)
    first = list(islice(numbered, _SAMPLE_ROWS))
    header = find_header([row for _, row in first])
    names = [one_line(name) for name in first[header][1]] if header is not None else None
    for index, (line, row) in enumerate(chain(first, numbered)):
        source.check_rows(index + 1)
        below = header is not None and index > header
        builder.add(BlockKind.TABLE_ROW, row_text(row, names if below else None), line=line)
    return builder.document()


def _delimiter(text: str, mime_type: str) -> str:
    """The delimiter that cuts the first rows into the most regular columns."""
    if mime_type == TSV and "\t" in text[:_SAMPLE_CHARACTERS]:
        return "\t"
    sample = text[:_SAMPLE_CHARACTERS]
    return max(_DELIMITERS, key=lambda delimiter: _regularity(sample, delimiter))


def _regularity(sample: str, delimiter: str) -> float:
    """Share of the rows that have the commonest number of cells, above zero only from two cells on."""
    rows = islice(csv.reader(io.StringIO(sample), delimiter=delimiter), _SAMPLE_ROWS)
    widths = Counter(len(row) for row in rows if row)
    if not widths:
        return 0.0
    width, count = widths.most_common(1)[0]
    return count / widths.total() if width > 1 else 0.0
