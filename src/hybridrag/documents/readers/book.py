"""EPUB: chapters in the order of the book."""

from __future__ import annotations

import posixpath
import re
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from hybridrag.documents.archive import open_archive, read_member
from hybridrag.documents.build import DocumentBuilder
from hybridrag.documents.dates import parse_date
from hybridrag.documents.decode import decode
from hybridrag.documents.lines import collapse
from hybridrag.documents.readers.webpage import add_html, declared_charset, inline_text, parse_xhtml, xml_parser
from hybridrag.documents.source import Source
from hybridrag.errors import UnreadableDocument
from hybridrag.types.documents import BlockKind, Document

if TYPE_CHECKING:
    from lxml.etree import _Element

_CONTAINER: Final = "META-INF/container.xml"
_ENCRYPTION: Final = "META-INF/encryption.xml"
_OBFUSCATED_FONT = re.compile(rb"http://(?:www\.idpf\.org/2008/embedding|ns\.adobe\.com/pdf/enc#RC)")
_PAGES: Final = frozenset({"application/xhtml+xml", "text/html", "application/x-dtbook+xml"})
_DC: Final = "{http://purl.org/dc/elements/1.1/}"


@dataclass(frozen=True, slots=True)
class _Item:
    path: str
    media_type: str
    properties: str


def read_epub(source: Source) -> Document:
    """The chapters of a book; one without a heading of its own gets it from the table of contents.

    Raises:
        UnreadableDocument: damaged, incomplete or protected.
        DocumentTooLarge: more chapters than `max_pages`, or unpacks to more than the limits allow.
    """
    archive = open_archive(source)
    _refuse_protected(archive, source.name)
    package_path = _package_path(archive, source.name)
    package = _xml(archive, package_path, source.name)
    items = _manifest(package, posixpath.dirname(package_path))
    spine = [reference.get("idref", "") for reference in package.iter("{*}itemref")]
    chapters = [items[key] for key in spine if key in items and items[key].media_type in _PAGES]
    source.check_pages(len(chapters), what="chapters")
    labels = _labels(archive, items, source.name)
    builder = DocumentBuilder(source)
    for chapter in chapters:
        _add_chapter(builder, archive, chapter, labels, source.name)
    values = {key: _dublin(package, key) for key in ("title", "creator", "language", "publisher", "date", "subject")}
    return builder.document(
        title=values["title"] or None,
        created=parse_date(values["date"]),
        metadata={"author" if key == "creator" else key: value for key, value in values.items() if key != "title"},
    )


def _refuse_protected(archive: zipfile.ZipFile, name: str) -> None:
    """Fonts may be obfuscated; anything else that is encrypted is the text itself."""
    if _ENCRYPTION not in archive.namelist():
        return
    listed = read_member(archive, _ENCRYPTION, name=name)
    if listed.count(b"EncryptedData>") // 2 > len(_OBFUSCATED_FONT.findall(listed)):
        raise UnreadableDocument(name, "is protected by DRM")


def _xml(archive: zipfile.ZipFile, path: str, name: str) -> _Element:
    from lxml import etree  # noqa: PLC0415 (keeps start-up fast)

    try:
        return etree.fromstring(read_member(archive, path, name=name), xml_parser())
    except etree.XMLSyntaxError as cause:
        raise UnreadableDocument(name, f"is damaged: {path} inside is not valid XML") from cause


def _package_path(archive: zipfile.ZipFile, name: str) -> str:
    for rootfile in _xml(archive, _CONTAINER, name).iter("{*}rootfile"):
        if path := rootfile.get("full-path"):
            return path
    raise UnreadableDocument(name, "is incomplete: it names no package inside")


def _manifest(package: _Element, folder: str) -> dict[str, _Item]:
    return {
        item.get("id", ""): _Item(
            path=posixpath.normpath(posixpath.join(folder, unquote(item.get("href", "")))),
            media_type=item.get("media-type", ""),
            properties=item.get("properties", ""),
        )
        for item in package.iter("{*}item")
    }


def _dublin(package: _Element, key: str) -> str:
    return ", ".join(filter(None, (collapse(element.text or "") for element in package.iter(f"{_DC}{key}"))))


def _page(archive: zipfile.ZipFile, path: str, name: str) -> _Element | None:
    data = read_member(archive, path, name=name)
    if not data.strip():
        return None
    return parse_xhtml(decode(data, name=name, declared=declared_charset(data)).text, name=name)


def _add_chapter(
    builder: DocumentBuilder, archive: zipfile.ZipFile, chapter: _Item, labels: dict[str, str], name: str
) -> None:
    root = _page(archive, chapter.path, name)
    if root is None:
        return
    label = labels.get(chapter.path)
    if label and next(root.iter(*(f"{{*}}h{level}" for level in range(1, 7))), None) is None:
        builder.add(BlockKind.HEADING, label, level=1)
    add_html(builder, root)


def _labels(archive: zipfile.ZipFile, items: dict[str, _Item], name: str) -> dict[str, str]:
    """What the table of contents calls each chapter, by its path; without a readable one, nothing."""
    labels: dict[str, str] = {}
    for item in items.values():
        is_nav = "nav" in item.properties.split()
        if is_nav or item.media_type == "application/x-dtbncx+xml":
            try:
                root = _page(archive, item.path, name)
            except UnreadableDocument:
                continue
            for target, label in _links(root, is_nav=is_nav):
                path = posixpath.normpath(posixpath.join(posixpath.dirname(item.path), unquote(target.split("#")[0])))
                labels.setdefault(path, label)
    return labels


def _links(root: _Element | None, *, is_nav: bool) -> list[tuple[str, str]]:
    if root is None:
        return []
    if is_nav:
        return [(link.get("href", ""), inline_text(link)) for link in root.iter("{*}a")]
    return [
        (content.get("src", ""), inline_text(label))
        for point in root.iter("{*}navPoint")
        for content, label in zip(point.iterchildren("{*}content"), point.iterchildren("{*}navLabel"), strict=False)
    ]
