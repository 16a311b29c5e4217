"""DOCX: headings, paragraphs, lists and tables in document order, with text boxes and footnotes in their place."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from hybridrag.documents.archive import CONTENT_TYPES, open_archive, read_member, with_content_type
from hybridrag.documents.build import DocumentBuilder
from hybridrag.documents.dates import aware
from hybridrag.documents.source import Source
from hybridrag.documents.tables import find_header, row_text
from hybridrag.types.documents import BlockKind, Document

if TYPE_CHECKING:
    from lxml.etree import _Element

_W: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_M: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_MC: Final = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"

_DOCUMENT: Final = b"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
_COUSINS: Final = (
    b"application/vnd.ms-word.document.macroEnabled.main+xml",
    b"application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml",
)
_FOOTNOTES: Final = "/relationships/footnotes"
_ENDNOTES: Final = "/relationships/endnotes"

_HEADING_STYLE = re.compile(r"(?:heading|見出し|標題)\s*([1-9１-９])", re.IGNORECASE)
_TITLE_STYLES: Final = {"title": 1, "表題": 1, "タイトル": 1, "subtitle": 2, "副題": 2}
_LIST_STYLE = re.compile(r"list|箇条書き|リスト|段落番号", re.IGNORECASE)
_BODY_LEVEL: Final = 9
"""The outline level that Word writes for body text."""

_SKIPPED: Final = frozenset(
    {
        f"{_W}del",  # text that was deleted while changes were tracked
        f"{_W}moveFrom",
        f"{_W}rt",  # the reading of kanji, which the base text holds already
        f"{_W}pPr",
        f"{_W}rPr",
        f"{_MC}Fallback",  # the same text box again, for old versions of Word
        f"{_W}txbxContent",  # a text box: its paragraphs are blocks of their own
    }
)
_CONTAINERS: Final = frozenset(f"{_W}{tag}" for tag in ("sdt", "sdtContent", "customXml", "smartTag", "ins", "moveTo"))
_BREAKS: Final = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}


def read_docx(source: Source) -> Document:
    """The document's text; headings by outline level or style name, in English or Japanese.

    A paragraph in style 「見出し 1」 -> heading of level 1

    Raises:
        UnreadableDocument: damaged or encrypted.
        DocumentTooLarge: unpacks to more than the limits allow.
    """
    import docx  # noqa: PLC0415 (keeps start-up fast)

    archive = open_archive(source)
    listed = read_member(archive, CONTENT_TYPES, name=source.name)
    cousin = next((kind for kind in _COUSINS if kind in listed), None)
    document = docx.Document(with_content_type(archive, cousin, _DOCUMENT) if cousin else io.BytesIO(source.data))
    builder = DocumentBuilder(source)
    writer = _Writer(builder, _styles(document.styles.element), _notes(document.part))
    writer.add_all(document.element.body)
    properties = document.core_properties
    metadata = {key: str(getattr(properties, key) or "") for key in ("author", "subject", "keywords", "category")}
    return builder.document(
        title=(properties.title or "").strip() or None,
        created=aware(properties.created),
        modified=aware(properties.modified),
        metadata=metadata,
    )


@dataclass(frozen=True, slots=True)
class _Style:
    level: int = 0
    is_list: bool = False


def _styles(root: _Element) -> dict[str, _Style]:
    """What each paragraph style means, by its id; a style inherits from the one that it is based on."""
    elements = {element.get(f"{_W}styleId", ""): element for element in root.iter(f"{_W}style")}
    return {identifier: _style(identifier, elements) for identifier in elements}


def _style(identifier: str, elements: Mapping[str, _Element]) -> _Style:
    seen: set[str] = set()
    is_list = False
    while identifier in elements and identifier not in seen:
        seen.add(identifier)
        element = elements[identifier]
        name = _value(element, "name").strip()
        level = _outline_level(element) or _level_by_name(name)
        is_list = is_list or element.find(f"{_W}pPr/{_W}numPr") is not None or bool(_LIST_STYLE.match(name))
        if level:
            return _Style(level, is_list)
        identifier = _value(element, "basedOn")
    return _Style(0, is_list)


def _value(element: _Element, tag: str) -> str:
    found = element.find(f"{_W}{tag}")
    return "" if found is None else found.get(f"{_W}val") or ""


def _outline_level(element: _Element) -> int:
    """1-6 by the outline level in the element's paragraph properties, 0 where there is none."""
    found = element.find(f"{_W}pPr/{_W}outlineLvl")
    value = "" if found is None else found.get(f"{_W}val") or ""
    return min(int(value) + 1, 6) if value.isdecimal() and int(value) < _BODY_LEVEL else 0


def _level_by_name(name: str) -> int:
    match = _HEADING_STYLE.match(name)
    return min(int(match[1]), 6) if match else _TITLE_STYLES.get(name.lower(), 0)


def _notes(part: Any) -> dict[tuple[str, str], _Element]:
    """Footnotes and endnotes by kind and number."""
    from docx.oxml import parse_xml  # noqa: PLC0415 (keeps start-up fast)

    notes: dict[tuple[str, str], _Element] = {}
    for relation in part.rels.values():
        for ending, kind in ((_FOOTNOTES, "footnote"), (_ENDNOTES, "endnote")):
            if relation.reltype.endswith(ending) and not relation.is_external:
                for note in parse_xml(relation.target_part.blob).iter(f"{_W}{kind}"):
                    notes[kind, note.get(f"{_W}id", "")] = note
    return notes


@dataclass(slots=True)
class _Writer:
    """Adds the parts of a body to the builder, in order."""

    builder: DocumentBuilder
    styles: Mapping[str, _Style]
    notes: dict[tuple[str, str], _Element] = field(default_factory=dict)

    def add_all(self, container: _Element) -> None:
        for element in _parts(container):
            if element.tag == f"{_W}p":
                self._add_paragraph(element)
            else:
                self._add_table(element)

    def _add_paragraph(self, paragraph: _Element) -> None:
        style = self._style(paragraph)
        if style.level:
            heading = " ".join(_text(paragraph).split())
            self.builder.add(BlockKind.HEADING, heading, level=style.level)
        else:
            self.builder.add(BlockKind.LIST_ITEM if style.is_list else BlockKind.PARAGRAPH, _text(paragraph))
        for box in _text_boxes(paragraph):
            self.add_all(box)
        for kind in ("footnote", "endnote"):
            for mark in paragraph.iter(f"{_W}{kind}Reference"):
                note = self.notes.pop((kind, mark.get(f"{_W}id", "")), None)
                if note is not None:
                    self.builder.add(BlockKind.PARAGRAPH, _cell_text(note))

    def _style(self, paragraph: _Element) -> _Style:
        properties = paragraph.find(f"{_W}pPr")
        if properties is None:
            return _Style()
        named = self.styles.get(_value(properties, "pStyle"), _Style())
        numbered = properties.find(f"{_W}numPr") is not None
        return _Style(_outline_level(paragraph) or named.level, named.is_list or numbered)

    def _add_table(self, table: _Element) -> None:
        rows = [_cells(row) for row in _inside(table, f"{_W}tr")]
        if all(len(cells) == 1 for cells in rows):
            # A table of one column frames text; its paragraphs are worth more than its border.
            for cells in rows:
                self.add_all(cells[0])
            return
        texts = list(_grid(rows))
        header = _header(table, texts)
        for index, row in enumerate(texts):
            names = texts[header] if header is not None and index > header else None
            self.builder.add(BlockKind.TABLE_ROW, row_text(row, names))


def _parts(container: _Element) -> Iterator[_Element]:
    """Paragraphs and tables, also those inside content controls and tracked insertions."""
    for child in container.iterchildren():
        if child.tag in {f"{_W}p", f"{_W}tbl"}:
            yield child
        elif child.tag in _CONTAINERS:
            yield from _parts(child)


def _inside(container: _Element, tag: str) -> Iterator[_Element]:
    """Children of that tag, also those inside content controls."""
    for child in container.iterchildren():
        if child.tag == tag:
            yield child
        elif child.tag in _CONTAINERS:
            yield from _inside(child, tag)


def _text(paragraph: _Element) -> str:
    """What a paragraph says, without deleted text, readings and text boxes."""
    from lxml import etree  # noqa: PLC0415 (keeps start-up fast)

    pieces: list[str] = []
    walker = etree.iterwalk(paragraph, events=("start",))
    for _, element in walker:
        tag = element.tag
        if tag in _SKIPPED:
            walker.skip_subtree()
        elif tag in {f"{_W}t", f"{_M}t"}:
            pieces.append(element.text or "")
        elif tag in _BREAKS:
            pieces.append(_BREAKS[tag])
    return "".join(pieces)


def _text_boxes(paragraph: _Element) -> Iterator[_Element]:
    for box in paragraph.iter(f"{_W}txbxContent"):
        inside = {ancestor.tag for ancestor in box.iterancestors(f"{_MC}Fallback", f"{_W}txbxContent")}
        if not inside:
            yield box


def _cells(row: _Element) -> list[_Element]:
    return list(_inside(row, f"{_W}tc"))


def _cell_text(cell: _Element) -> str:
    return " ".join(filter(None, (_text(paragraph).strip() for paragraph in cell.iter(f"{_W}p"))))


def _grid(rows: list[list[_Element]]) -> Iterator[list[str]]:
    """The text of every cell; a cell merged downwards is said again in each of its rows."""
    above: list[str] = []
    for cells in rows:
        texts: list[str] = []
        for cell in cells:
            properties = cell.find(f"{_W}tcPr")
            merged = None if properties is None else properties.find(f"{_W}vMerge")
            continues = merged is not None and merged.get(f"{_W}val") != "restart"
            column = len(texts)
            texts.append(above[column] if continues and column < len(above) else _cell_text(cell))
            span = "" if properties is None else _value(properties, "gridSpan")
            texts += [""] * (min(int(span), 64) - 1 if span.isdecimal() else 0)
        above = texts
        yield texts


def _header(table: _Element, texts: list[list[str]]) -> int | None:
    """The row that names the columns: the one marked as header, or one that reads like it."""
    marked = table.find(f"{_W}tr/{_W}trPr/{_W}tblHeader")
    if marked is not None and marked.get(f"{_W}val") not in {"0", "false"}:
        return 0
    return find_header(texts, fewest_columns=3)
