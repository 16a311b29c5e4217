"""XLSX: sheets as pages, each row as one line that names its columns."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from datetime import date, datetime, time
from itertools import chain, islice
from typing import Any, Final

from hybridrag.documents.archive import open_archive
from hybridrag.documents.build import DocumentBuilder
from hybridrag.documents.dates import aware
from hybridrag.documents.source import Source
from hybridrag.documents.tables import HEADER_WITHIN, find_header, one_line, row_text
from hybridrag.types.documents import BlockKind, Document

_DEFAULT_NAME = re.compile(r"(?:Sheet|シート|ワークシート)\s*\d+", re.IGNORECASE)
_ERRORS: Final = frozenset({"#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NUM!", "#NULL!", "#SPILL!", "#CALC!"})
_CHECK_TIME_EVERY: Final = 1000


def read_xlsx(source: Source) -> Document:
    """Every visible sheet's rows, with the results of formulas as they were last calculated.

    city | people above Tokyo | 14 -> "city: Tokyo | people: 14"

    Raises:
        UnreadableDocument: damaged or encrypted.
        DocumentTooLarge: more rows than `max_rows`, or unpacks to more than the limits allow.
    """
    import openpyxl  # noqa: PLC0415 (keeps start-up fast)

    open_archive(source)
    builder = DocumentBuilder(source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styling that is not read anyway
        book = openpyxl.load_workbook(io.BytesIO(source.data), read_only=True, data_only=True, keep_links=False)
        try:
            source.check_pages(len(book.worksheets), what="sheets")
            rows = 0
            for number, sheet in enumerate(book.worksheets, start=1):
                if sheet.sheet_state == "visible":
                    rows = _add_sheet(builder, source, sheet, number=number, rows=rows)
            return _document(builder, book)
        finally:
            book.close()


def _document(builder: DocumentBuilder, book: Any) -> Document:
    properties = book.properties
    values = {"author": properties.creator, "subject": properties.subject, "keywords": properties.keywords}
    metadata = {key: str(value or "") for key, value in values.items()}
    return builder.document(
        title=(properties.title or "").strip() or None,
        created=aware(properties.created),
        modified=aware(properties.modified),
        metadata=metadata | {"sheets": ", ".join(sheet.title for sheet in book.worksheets)},
    )


def _add_sheet(builder: DocumentBuilder, source: Source, sheet: Any, *, number: int, rows: int) -> int:
    """Add one sheet; the number of rows so far goes in and comes out."""
    # A name that nobody gave says nothing, but below another sheet's heading its rows would seem to belong to that.
    if not _DEFAULT_NAME.fullmatch(sheet.title) or builder.first_heading:
        builder.add(BlockKind.HEADING, sheet.title, level=1, page=number)
    lines = _rows(source, sheet)
    first = list(islice(lines, 2 * HEADER_WITHIN))
    header = find_header([row for _, row in first])
    names = [one_line(name) for name in first[header][1]] if header is not None else None
    for index, (line, row) in enumerate(chain(first, lines)):
        rows += 1
        source.check_rows(rows)
        below = header is not None and index > header
        builder.add(BlockKind.TABLE_ROW, row_text(row, names if below else None), page=number, line=line)
    return rows


def _rows(source: Source, sheet: Any) -> Iterator[tuple[int, list[str]]]:
    """The rows that hold anything, with their numbers, as text."""
    sheet.reset_dimensions()  # files claim sizes of a million rows that they do not have
    for index, row in enumerate(sheet.iter_rows(values_only=True)):
        if index % _CHECK_TIME_EVERY == 0:
            source.check_time()
        cells = [_cell(value) for value in row]
        if any(cells):
            yield index + 1, cells


def _cell(value: object) -> str:
    """A value as it would be typed.

    3.0 -> "3"; datetime(2024, 5, 1) -> "2024-05-01"; True -> "TRUE"; "#N/A" -> ""
    """
    if value is None or value in _ERRORS:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return f"{value:.15g}"  # as many digits as Excel shows
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "minutes")
    if isinstance(value, date | time):
        return value.isoformat()
    return str(value)
