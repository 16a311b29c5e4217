"""OpenDocument: text, spreadsheets and presentations of LibreOffice and others."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from hybridrag.documents.archive import open_archive, read_member
from hybridrag.documents.build import DocumentBuilder
from hybridrag.documents.dates import parse_date
from hybridrag.documents.lines import collapse
from hybridrag.documents.readers.webpage import xml_parser
from hybridrag.documents.source import Source
from hybridrag.documents.tables import find_header, row_text
from hybridrag.errors import UnreadableDocument
from hybridrag.types.documents import BlockKind, Document

if TYPE_CHECKING:
    from lxml.etree import _Element

_OFFICE: Final = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TEXT: Final = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE: Final = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_DRAW: Final = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_PRESENTATION: Final = "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}"
_DC: Final = "{http://purl.org/dc/elements/1.1/}"
_META: Final = "{urn:oasis:names:tc:opendocument:xmlns:meta:1.0}"

_SKIPPED: Final = frozenset(
    {
        f"{_TEXT}tracked-changes",
        f"{_TEXT}sequence-decls",
        f"{_TEXT}table-of-content",
        f"{_TEXT}ruby-text",  # the reading of kanji, which the base text holds already
        f"{_OFFICE}annotation",
        f"{_OFFICE}forms",
    }
)
_BLOCKS: Final = frozenset({f"{_TEXT}p", f"{_TEXT}h"})
_MOST_REPEATED: Final = 50
"""Cells repeated more often fill up an empty sheet."""


def read_odt(source: Source) -> Document:
    """Headings, paragraphs, lists and tables in their order.

    Raises:
        UnreadableDocument: damaged or encrypted.
        DocumentTooLarge: over a limit.
    """
    archive = open_archive(source)
    builder = DocumentBuilder(source)
    for body in _content(archive, source.name).iter(f"{_OFFICE}text"):
        _add(builder, source, body)
    return _finished(builder, archive, source.name)


def read_odp(source: Source) -> Document:
    """Slides as pages, with their notes; the first text of a slide's title is its heading.

    Raises:
        UnreadableDocument: damaged or encrypted.
        DocumentTooLarge: over a limit.
    """
    archive = open_archive(source)
    builder = DocumentBuilder(source)
    slides = list(_content(archive, source.name).iter(f"{_DRAW}page"))
    source.check_pages(len(slides), what="slides")
    for number, slide in enumerate(slides, start=1):
        title = next((f for f in slide.iter(f"{_DRAW}frame") if f.get(f"{_PRESENTATION}class") == "title"), None)
        if title is not None:
            words = " ".join(filter(None, (_words(part) for part in title.iter(*_BLOCKS))))
            builder.add(BlockKind.HEADING, words, level=1 if number == 1 else 2, page=number)
        _add(builder, source, slide, page=number, without=title)
    return _finished(builder, archive, source.name)


def read_ods(source: Source) -> Document:
    """Sheets as pages; each row as one line that names its columns.

    Raises:
        UnreadableDocument: damaged or encrypted.
        DocumentTooLarge: over a limit.
    """
    archive = open_archive(source)
    builder = DocumentBuilder(source)
    total = 0
    sheets = list(_content(archive, source.name).iter(f"{_OFFICE}spreadsheet"))
    for number, sheet in enumerate((table for body in sheets for table in body.iter(f"{_TABLE}table")), start=1):
        builder.add(BlockKind.HEADING, sheet.get(f"{_TABLE}name") or "", level=1, page=number)
        total = _add_rows(builder, source, sheet, page=number, counted=total)
    return _finished(builder, archive, source.name)


def _content(archive: zipfile.ZipFile, name: str) -> _Element:
    if b"encryption-data" in read_member(archive, "META-INF/manifest.xml", name=name, at_most=1_000_000):
        raise UnreadableDocument(name, "is encrypted with a password")
    return _xml(archive, "content.xml", name)


def _xml(archive: zipfile.ZipFile, member: str, name: str) -> _Element:
    from lxml import etree  # noqa: PLC0415 (keeps start-up fast)

    try:
        return etree.fromstring(read_member(archive, member, name=name), xml_parser())
    except etree.XMLSyntaxError as cause:
        raise UnreadableDocument(name, f"is damaged: {member} inside is not valid XML") from cause


def _add(
    builder: DocumentBuilder,
    source: Source,
    root: _Element,
    *,
    page: int | None = None,
    without: _Element | None = None,
) -> None:
    """Add what stands below an element, in order."""
    from lxml import etree  # noqa: PLC0415 (keeps start-up fast)

    walker = etree.iterwalk(root, events=("start", "end"))
    lists = 0
    for event, element in walker:
        tag = element.tag
        if tag == f"{_TEXT}list":
            lists += 1 if event == "start" else -1
        if event == "end":
            continue
        if tag in _SKIPPED or element is without:
            walker.skip_subtree()
        elif tag == f"{_TABLE}table":
            _add_rows(builder, source, element, page=page)
            walker.skip_subtree()
        elif tag in _BLOCKS:
            level = element.get(f"{_TEXT}outline-level") or "1"
            if tag == f"{_TEXT}h":
                level_number = min(int(level), 6) if level.isdecimal() else 1
                builder.add(BlockKind.HEADING, _words(element), level=level_number, page=page)
            else:
                builder.add(BlockKind.LIST_ITEM if lists else BlockKind.PARAGRAPH, _words(element), page=page)
            for note in element.iter(f"{_TEXT}note-body"):
                builder.add(BlockKind.PARAGRAPH, " ".join(_words(part) for part in note.iter(f"{_TEXT}p")), page=page)
            walker.skip_subtree()


def _words(paragraph: _Element) -> str:
    """What a paragraph says; notes are blocks of their own."""
    from lxml import etree  # noqa: PLC0415 (keeps start-up fast)

    parts: list[str] = []
    walker = etree.iterwalk(paragraph, events=("start", "end"))
    for event, element in walker:
        if event == "start":
            if element.tag in _SKIPPED or element.tag == f"{_TEXT}note":
                walker.skip_subtree()
                continue
            if element.tag in {f"{_TEXT}s", f"{_TEXT}tab", f"{_TEXT}line-break"}:
                parts.append(" ")
            parts.append(element.text or "")
        elif element is not paragraph:
            parts.append(element.tail or "")
    return collapse("".join(parts))


def _add_rows(
    builder: DocumentBuilder, source: Source, table: _Element, *, page: int | None = None, counted: int = 0
) -> int:
    """Add a table; the number of rows so far goes in and comes out."""
    rows = list(_rows(source, table, counted))
    header = find_header([cells for _, cells in rows])
    for index, (line, cells) in enumerate(rows):
        names = rows[header][1] if header is not None and index > header else None
        builder.add(BlockKind.TABLE_ROW, row_text(cells, names), page=page, line=line if page else None)
    return counted + len(rows)


def _rows(source: Source, table: _Element, counted: int) -> Iterator[tuple[int, list[str]]]:
    """The rows that say anything, with their numbers."""
    number = filled = 0
    for row in table.iter(f"{_TABLE}table-row"):
        number += 1
        cells: list[str] = []
        for cell in row.iterchildren(f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
            text = " ".join(filter(None, (_words(part) for part in cell.iter(f"{_TEXT}p"))))
            cells += [text] * min(_repeated(cell, "columns"), _MOST_REPEATED)
        again = _repeated(row, "rows")
        if any(cells):
            filled += 1
            source.check_rows(counted + filled)
            source.check_time()
            yield number, cells
        number += again - 1


def _repeated(element: _Element, what: str) -> int:
    value = element.get(f"{_TABLE}number-{what}-repeated") or "1"
    return max(1, int(value)) if value.isdecimal() and len(value) < 9 else 1


def _finished(builder: DocumentBuilder, archive: zipfile.ZipFile, name: str) -> Document:
    values: dict[str, str] = {}
    if "meta.xml" in archive.namelist():
        for element in _xml(archive, "meta.xml", name).iter(
            f"{_DC}title", f"{_DC}creator", f"{_DC}subject", f"{_DC}date", f"{_META}creation-date", f"{_META}keyword"
        ):
            values.setdefault(element.tag.rpartition("}")[2], collapse(element.text or ""))
    metadata = {"author": values.get("creator", ""), "subject": values.get("subject", "")}
    return builder.document(
        title=values.get("title") or None,
        created=parse_date(values.get("creation-date")),
        modified=parse_date(values.get("date")),
        metadata=metadata | {"keywords": values.get("keyword", "")},
    )
