"""Outlook messages (.msg): subject, people, date and text, from the properties in an OLE container."""

from __future__ import annotations

import io
from contextlib import closing
from typing import TYPE_CHECKING, Final

from hybridrag.documents.build import DocumentBuilder
from hybridrag.documents.dates import parse_date
from hybridrag.documents.decode import decode
from hybridrag.documents.readers.text import paragraphs
from hybridrag.documents.readers.webpage import add_html, declared_charset, parse_html
from hybridrag.documents.source import Source
from hybridrag.documents.unwrap import cut_edits, edited
from hybridrag.errors import UnreadableDocument
from hybridrag.types.documents import BlockKind, Document

if TYPE_CHECKING:
    from olefile import OleFileIO

# Numbers of properties: [MS-OXPROPS].
_SUBJECT: Final = "0037"
_SENDER: Final = "0C1A"
_SENDER_ADDRESS: Final = ("5D01", "0C1F")
_TO: Final = "0E04"
_CC: Final = "0E03"
_HEADERS: Final = "007D"
_BODY: Final = "1000"
_HTML: Final = "1013"
_MESSAGE_ID: Final = "1035"
_LONG_FILE_NAME: Final = "3707"


def read_msg(source: Source) -> Document:
    """The message as `read_mail` shows one; attachments by name.

    Raises:
        UnreadableDocument: damaged, or a container of something else.
    """
    import olefile  # noqa: PLC0415 (keeps start-up fast)

    try:
        container = olefile.OleFileIO(io.BytesIO(source.data))
    except OSError as cause:
        raise UnreadableDocument(source.name, "is damaged: its OLE container cannot be read") from cause
    with closing(container) as ole:
        return _document(DocumentBuilder(source), ole)


def _document(builder: DocumentBuilder, ole: OleFileIO) -> Document:
    subject = _text(ole, _SUBJECT)
    address = next(filter(None, (_text(ole, number) for number in _SENDER_ADDRESS)), "")
    headers = _text(ole, _HEADERS)
    date = next((line[5:].strip() for line in headers.splitlines() if line.lower().startswith("date:")), "")
    shown = {
        "From": " ".join(filter(None, (_text(ole, _SENDER), f"<{address}>" if "@" in address else ""))),
        "To": _text(ole, _TO),
        "Cc": _text(ole, _CC),
        "Date": date,
    }
    builder.add(BlockKind.HEADING, subject, level=1)
    builder.add(BlockKind.PARAGRAPH, "\n".join(f"{name}: {value}" for name, value in shown.items() if value))
    _add_body(builder, ole)
    folders = {entry[0] for entry in ole.listdir() if entry[0].startswith("__attach_version1.0_")}
    attached = ", ".join(filter(None, (_text(ole, _LONG_FILE_NAME, folder) for folder in sorted(folders))))
    builder.add(BlockKind.PARAGRAPH, f"Attachments: {attached}" if attached else "")
    metadata = {name.lower(): value for name, value in shown.items()}
    metadata |= {"attachments": attached, "message_id": _text(ole, _MESSAGE_ID)}
    return builder.document(title=subject or None, created=parse_date(date), metadata=metadata)


def _add_body(builder: DocumentBuilder, ole: OleFileIO) -> None:
    text = _text(ole, _BODY).replace("\r\n", "\n")
    if text.strip():
        text, blocks, _ = edited(text, found := list(paragraphs(text)), cut_edits(text, found))
        for block in blocks:
            builder.add(BlockKind.PARAGRAPH, text[block.start : block.end])
        return
    html = _stream(ole, f"__substg1.0_{_HTML}0102")
    if html:
        root = parse_html(decode(html, name="", declared=declared_charset(html)).text, name="")
        if root is not None:
            add_html(builder, root)


def _text(ole: OleFileIO, number: str, folder: str | None = None) -> str:
    """A property as text: UTF-16, or bytes in the sender's own encoding."""
    wide = _stream(ole, f"__substg1.0_{number}001F", folder)
    if wide is not None:
        return wide.decode("utf-16-le", "replace").rstrip("\x00")
    narrow = _stream(ole, f"__substg1.0_{number}001E", folder)
    return decode(narrow, name="").text.rstrip("\x00") if narrow else ""


def _stream(ole: OleFileIO, name: str, folder: str | None = None) -> bytes | None:
    path = [folder, name] if folder else [name]
    return bytes(ole.openstream(path).read()) if ole.exists(path) else None
