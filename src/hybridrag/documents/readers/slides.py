"""PPTX: slides as pages, titles as headings, with tables, diagrams and speaker notes."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from hybridrag.documents.archive import CONTENT_TYPES, open_archive, read_member, with_content_type
from hybridrag.documents.build import DocumentBuilder
from hybridrag.documents.dates import aware
from hybridrag.documents.readers.webpage import xml_parser
from hybridrag.documents.source import Source
from hybridrag.documents.tables import find_header, row_text
from hybridrag.types.documents import BlockKind, Document

if TYPE_CHECKING:
    from pptx.shapes.base import BaseShape
    from pptx.slide import Slide

_PRESENTATION: Final = b"application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml"
_COUSINS: Final = (
    b"application/vnd.openxmlformats-officedocument.presentationml.slideshow.main+xml",
    b"application/vnd.openxmlformats-officedocument.presentationml.template.main+xml",
)
_A: Final = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_DIAGRAM_IDS: Final = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"
_DIAGRAM_DATA: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}dm"


def read_pptx(source: Source) -> Document:
    """Every slide's text; the first title is the deck's, the others stand below it.

    Slides titled "Plan" and "Costs" -> heading of level 1 on page 1, of level 2 on page 2

    Raises:
        UnreadableDocument: damaged or encrypted.
        DocumentTooLarge: more slides than `max_pages`, or unpacks to more than the limits allow.
    """
    import pptx  # noqa: PLC0415 (keeps start-up fast)

    archive = open_archive(source)
    listed = read_member(archive, CONTENT_TYPES, name=source.name)
    cousin = next((kind for kind in _COUSINS if kind in listed), None)
    deck = pptx.Presentation(with_content_type(archive, cousin, _PRESENTATION) if cousin else io.BytesIO(source.data))
    source.check_pages(len(deck.slides), what="slides")
    builder = DocumentBuilder(source)
    for number, slide in enumerate(deck.slides, start=1):
        _add_slide(builder, slide, number)
    properties = deck.core_properties
    metadata = {key: str(getattr(properties, key) or "") for key in ("author", "subject", "keywords", "category")}
    title = (properties.title or "").strip()
    return builder.document(
        title=title if title not in _DEFAULT_TITLES else None,
        created=aware(properties.created),
        modified=aware(properties.modified),
        metadata=metadata | {"pages": str(len(deck.slides))},
    )


_DEFAULT_TITLES: Final = frozenset({"", "PowerPoint Presentation", "PowerPoint プレゼンテーション"})
"""What PowerPoint writes when nobody gave a title."""


def _add_slide(builder: DocumentBuilder, slide: Slide, number: int) -> None:
    title = slide.shapes.title
    if title is not None and title.has_text_frame:
        words = " ".join(title.text_frame.text.split())
        builder.add(BlockKind.HEADING, words, level=1 if number == 1 else 2, page=number)
    for shape in _flat(slide.shapes):
        if title is None or shape.shape_id != title.shape_id:
            _add_shape(builder, slide, shape, number)
    if slide.has_notes_slide:
        frame = slide.notes_slide.notes_text_frame
        for paragraph in frame.paragraphs if frame is not None else ():
            builder.add(BlockKind.PARAGRAPH, _words(paragraph), page=number)


def _flat(shapes: Any) -> Iterator[BaseShape]:
    """Shapes in order, with those inside groups in the place of the group."""
    pending = list(reversed(list(shapes)))
    while pending:
        shape = pending.pop()
        if hasattr(shape, "shapes"):
            pending += reversed(list(shape.shapes))
        else:
            yield shape


def _add_shape(builder: DocumentBuilder, slide: Slide, shape: Any, number: int) -> None:
    if shape.has_text_frame:
        kind = BlockKind.LIST_ITEM if shape.is_placeholder else BlockKind.PARAGRAPH
        for paragraph in shape.text_frame.paragraphs:
            builder.add(kind, _words(paragraph), page=number)
    elif getattr(shape, "has_table", False):
        for line in _table_lines(shape.table):
            builder.add(BlockKind.TABLE_ROW, line, page=number)
    else:
        for words in _diagram(slide, shape):
            builder.add(BlockKind.LIST_ITEM, words, page=number)


def _words(paragraph: Any) -> str:
    return str(paragraph.text).replace("\v", "\n")


def _table_lines(table: Any) -> Iterator[str]:
    rows = [["" if cell.is_spanned else cell.text for cell in row.cells] for row in table.rows]
    header = find_header(rows, fewest_columns=2 if table.first_row else 3)
    for index, row in enumerate(rows):
        yield row_text(row, rows[header] if header is not None and index > header else None)


def _diagram(slide: Slide, shape: Any) -> Iterator[str]:
    """The labels of a SmartArt diagram, which lie in a part of their own."""
    from lxml import etree  # noqa: PLC0415 (keeps start-up fast)

    for ids in shape.element.iter(_DIAGRAM_IDS):
        relation = slide.part.rels.get(ids.get(_DIAGRAM_DATA, ""))
        if relation is not None and not relation.is_external:
            root = etree.fromstring(relation.target_part.blob, xml_parser())
            for paragraph in root.iter(f"{_A}p"):
                yield "".join(run.text or "" for run in paragraph.iter(f"{_A}t"))
