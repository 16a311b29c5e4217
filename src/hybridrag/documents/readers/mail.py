"""E-mail: who wrote what to whom and when, and the text of it; attachments by name."""

from __future__ import annotations

import email
import email.header
import email.policy
import re
from collections.abc import Iterator
from email.message import Message
from typing import Final

from hybridrag.documents.build import DocumentBuilder
from hybridrag.documents.dates import parse_date
from hybridrag.documents.decode import codec_of, decode, decode_as
from hybridrag.documents.lines import collapse
from hybridrag.documents.readers.text import paragraphs
from hybridrag.documents.readers.webpage import add_html, declared_charset, page_title, parse_html
from hybridrag.documents.source import Source
from hybridrag.documents.unwrap import cut_edits, edited
from hybridrag.errors import UnknownFormat, UnreadableDocument
from hybridrag.types.documents import BlockKind, Document

_SHOWN: Final = ("From", "To", "Cc", "Date")
_FOLDED = re.compile(r"\r?\n[ \t]+")


def read_mail(source: Source) -> Document:
    r"""The subject as heading, sender, receivers and date as text, then the body.

    "Subject: Plan\n\nGo." -> heading "Plan", paragraph "Go."

    Raises:
        UnreadableDocument: there are no headers.
    """
    message = _parsed(source.data)
    if not message.keys():
        raise UnreadableDocument(source.name, "is no e-mail: it has no headers")
    builder = DocumentBuilder(source)
    subject, page, metadata = _add_message(builder, source, message)
    return builder.document(title=subject or page, created=parse_date(metadata["date"]), metadata=metadata)


_BETWEEN_MESSAGES = re.compile(rb"(?:^|\n\r?\n)(?=From [^\r\n]{1,200}\r?\n[!-9;-~]{1,60}:)")
"""A line of an mbox that begins a message; in the body of one such a line would be quoted, or no header follows."""


def read_mbox(source: Source) -> Document:
    """Every message of a mailbox as `read_mail` reads it, numbered as pages.

    Raises:
        UnreadableDocument: there is no message in it.
    """
    starts = [match.end() for match in _BETWEEN_MESSAGES.finditer(source.data)]
    source.check_rows(len(starts))
    builder = DocumentBuilder(source)
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(source.data)], strict=True), start=1):
        source.check_time()
        lines = source.data[start:end].partition(b"\n")[2]
        _add_message(builder, source, _parsed(_QUOTED_FROM.sub(rb"\1", lines)), page=number)
    if not starts:
        raise UnreadableDocument(source.name, "is no mailbox: no message begins in it")
    return builder.document(title_from_heading=False, metadata={"messages": str(len(starts))})


_QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)


def _parsed(data: bytes) -> Message:
    # The newer policies parse headers strictly and fail on what old mail programs wrote.
    return email.message_from_bytes(data, policy=email.policy.compat32)


def _add_message(
    builder: DocumentBuilder, source: Source, message: Message, *, page: int | None = None
) -> tuple[str, str | None, dict[str, str]]:
    """Add one message; its subject, the title of its HTML, and its headers."""
    subject = _header(message, "Subject")
    shown = {name: _header(message, name) for name in _SHOWN}
    builder.add(BlockKind.HEADING, subject or (f"Message {page}" if page else ""), level=1, page=page)
    headers = "\n".join(f"{name}: {value}" for name, value in shown.items() if value)
    builder.add(BlockKind.PARAGRAPH, headers, page=page)
    title = _add_body(builder, source, message, page=page)
    attached = ", ".join(_attachments(message))
    builder.add(BlockKind.PARAGRAPH, f"Attachments: {attached}" if attached else "", page=page)
    metadata = {name.lower(): value for name, value in shown.items()} | {"attachments": attached}
    return subject, title, metadata | {"message_id": _header(message, "Message-ID")}


def _header(message: Message, name: str) -> str:
    """A header in plain text, from whichever encoding it was written in.

    "=?ISO-2022-JP?B?GyRCN28bKEI=?=" -> "件"
    """
    for key, value in message.raw_items():
        if key.lower() == name.lower():
            return decode_header(str(value))
    return ""


def decode_header(value: str) -> str:
    """A raw header or parameter with its encoded words decoded."""
    raw = _FOLDED.sub(" ", value).encode("utf-8", "surrogateescape")
    if not raw.isascii():
        # Bytes put into the header as they were, against the rules.
        return collapse(decode(raw, name="").text)
    parts = []
    try:
        pieces = email.header.decode_header(raw.decode("ascii"))
    except (email.errors.HeaderParseError, ValueError):
        return collapse(value)
    for piece, charset in pieces:
        parts.append(piece if isinstance(piece, str) else decode_as(piece, codec_of(charset) or "utf-8"))
    return collapse("".join(parts))


def _parts(message: Message) -> Iterator[Message]:
    """The leaves of a message in order; of alternatives only the best, of forwarded messages only the envelope."""
    pending = [message]
    while pending:
        part = pending.pop()
        payload = part.get_payload()
        inner = [piece for piece in payload if isinstance(piece, Message)] if isinstance(payload, list) else []
        if part.get_content_maintype() != "multipart":
            yield part
        elif part.get_content_subtype() == "alternative":
            pending += _best(inner)
        else:
            pending += reversed(inner)


def _best(alternatives: list[Message]) -> list[Message]:
    """Plain text where it says anything, otherwise the last alternative, which is the richest."""
    for part in alternatives:
        if part.get_content_type() == "text/plain" and _bytes(part).strip():
            return [part]
    return alternatives[-1:]


def _bytes(part: Message) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _is_body(part: Message) -> bool:
    named = part.get_content_disposition() == "attachment" or part.get_filename() is not None
    return part.get_content_type() in {"text/plain", "text/html"} and not named


def _add_body(builder: DocumentBuilder, source: Source, message: Message, *, page: int | None = None) -> str | None:
    """Add the text of every part that is shown; the title of the first HTML part comes back."""
    title = None
    for number, part in enumerate(_parts(message), start=1):
        if not _is_body(part):
            continue
        anchor = f"part={number}" if number > 1 else None
        data = _bytes(part)
        declared = part.get_content_charset()
        if part.get_content_type() == "text/html":
            text = _text(data, declared or declared_charset(data), source.name)
            root = parse_html(text, name=source.name)
            if root is not None:
                title = title or page_title(root)
                add_html(builder, root, page=page)
        else:
            text = _text(data, declared, source.name)
            text, blocks, _ = edited(text, found := list(paragraphs(text)), cut_edits(text, found))
            for block in blocks:
                builder.add(BlockKind.PARAGRAPH, text[block.start : block.end], page=page, anchor=anchor)
    return title


def _text(data: bytes, declared: str | None, name: str) -> str:
    try:
        return decode(data, name=name, declared=declared).text
    except UnknownFormat:
        return ""


def _attachments(message: Message) -> Iterator[str]:
    for part in _parts(message):
        if part.get_content_type() == "message/rfc822":
            inner = part.get_payload()
            forwarded = inner[0] if isinstance(inner, list) and inner else None
            yield _header(forwarded, "Subject") if isinstance(forwarded, Message) else "message"
        elif (filename := part.get_filename()) is not None and not _is_body(part):
            yield decode_header(filename)
