"""XML of any kind: each element that holds text of its own as a paragraph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybridrag.documents.build import DocumentBuilder
from hybridrag.documents.lines import collapse
from hybridrag.documents.readers.source_code import read_source_code
from hybridrag.documents.readers.webpage import declared_charset, line_of, local_name, xml_parser
from hybridrag.documents.source import Source
from hybridrag.types.documents import BlockKind, Document

if TYPE_CHECKING:
    from lxml.etree import _Element


def read_xml(source: Source) -> Document:
    """The text of the elements in order, `title` elements as headings; a file that is no XML is read as text.

    "<feed><title>News</title><p>It <b>rains</b>.</p></feed>" -> heading "News", paragraph "It rains."
    """
    from lxml import etree  # noqa: PLC0415 (keeps start-up fast)

    text = source.text(declared=declared_charset(source.data))
    try:
        root = etree.fromstring(text.encode("utf-8", "replace"), xml_parser())
    except etree.XMLSyntaxError:
        return read_source_code(source)
    etree.strip_tags(root, etree.Entity)
    builder = DocumentBuilder(source)
    walker = etree.iterwalk(root, events=("start",))
    for _, element in walker:
        if _has_text(element):
            kind = BlockKind.HEADING if local_name(element) == "title" else BlockKind.PARAGRAPH
            words = collapse("".join(element.itertext()))
            builder.add(kind, words, level=2 if kind is BlockKind.HEADING else 0, line=line_of(element))
            walker.skip_subtree()
    return builder.document()


def _has_text(element: _Element) -> bool:
    return bool((element.text or "").strip()) or any((child.tail or "").strip() for child in element)
