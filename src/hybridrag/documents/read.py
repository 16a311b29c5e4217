"""The one way from a file to a document: find the format, read it, and turn every failure into one sentence."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Final

from hybridrag.documents import formats as known
from hybridrag.documents.build import storable
from hybridrag.documents.dates import aware, moment
from hybridrag.documents.formats import EXTENSIONS, SOURCE_CODE, charset_of, find_format, refusal
from hybridrag.documents.limits import DEFAULT_LIMITS, ReadLimits, in_units, too_large
from hybridrag.documents.readers.book import read_epub
from hybridrag.documents.readers.delimited import read_delimited
from hybridrag.documents.readers.log import read_log
from hybridrag.documents.readers.mail import read_mail, read_mbox
from hybridrag.documents.readers.manual import read_manual
from hybridrag.documents.readers.markdown import read_markdown
from hybridrag.documents.readers.markup import read_org, read_rst, read_tex
from hybridrag.documents.readers.old_office import read_old_office
from hybridrag.documents.readers.opendocument import read_odp, read_ods, read_odt
from hybridrag.documents.readers.outlook import read_msg
from hybridrag.documents.readers.pdf import read_pdf
from hybridrag.documents.readers.records import read_json, read_notebook
from hybridrag.documents.readers.rtf import read_rtf
from hybridrag.documents.readers.sheets import read_xlsx
from hybridrag.documents.readers.slides import read_pptx
from hybridrag.documents.readers.source_code import read_source_code
from hybridrag.documents.readers.subtitles import read_subtitles
from hybridrag.documents.readers.text import read_text
from hybridrag.documents.readers.webpage import read_html
from hybridrag.documents.readers.word import read_docx
from hybridrag.documents.readers.xml import read_xml
from hybridrag.documents.source import Reader, Source, took_too_much_memory
from hybridrag.documents.tables import one_line
from hybridrag.documents.unpack import is_packed, unpacked
from hybridrag.documents.warn import doubts
from hybridrag.errors import DocumentError, UnreadableDocument
from hybridrag.types.documents import Document

READERS: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        **dict.fromkeys(
            (*SOURCE_CODE.values(), "text/x-dockerfile", "text/x-makefile", "text/x-script"), read_source_code
        ),
        **dict.fromkeys((known.DOC, known.XLS, known.PPT), read_old_office),
        known.PLAIN: read_text,
        known.RST: read_rst,
        known.TEX: read_tex,
        known.ORG: read_org,
        known.MAN: read_manual,
        known.LOG: read_log,
        **dict.fromkeys((known.SUBRIP, known.WEBVTT), read_subtitles),
        known.ODT: read_odt,
        known.ODS: read_ods,
        known.ODP: read_odp,
        known.RTF: read_rtf,
        known.MSG: read_msg,
        known.MBOX: read_mbox,
        **dict.fromkeys((known.HTML, "application/xhtml+xml"), read_html),
        **dict.fromkeys((known.XML, "text/xml", "application/rss+xml", "application/atom+xml"), read_xml),
        **dict.fromkeys((known.JSON, known.JSONL, "application/x-ndjson"), read_json),
        **dict.fromkeys((known.CSV, known.TSV), read_delimited),
        **dict.fromkeys((known.MARKDOWN, "text/x-markdown"), read_markdown),
        known.PDF: read_pdf,
        known.DOCX: read_docx,
        known.PPTX: read_pptx,
        known.XLSX: read_xlsx,
        known.EPUB: read_epub,
        known.MAIL: read_mail,
        known.NOTEBOOK: read_notebook,
    }
)
"""The reader of each type."""

_LONGEST_TITLE: Final = 300
_LONGEST_VALUE: Final = 2_000
_LONGEST_CAUSE: Final = 160


@dataclass(frozen=True, slots=True)
class Formats:
    """Which reader takes which type, and which ending stands for which type. A value: adding makes another one.

    Formats().plus("text/x-note", read_note, extensions=[".note"]) -> reads .note files too
    """

    readers: Mapping[str, Reader] = field(default_factory=lambda: READERS)
    extensions: Mapping[str, str] = field(default_factory=lambda: EXTENSIONS)

    def plus(self, mime_type: str, reader: Reader, *, extensions: list[str] | None = None) -> Formats:
        """The same with one more reader, or with another in place of the one there was."""
        endings = {ending.lower(): mime_type for ending in extensions or []}
        return Formats(
            readers=MappingProxyType({**self.readers, mime_type: reader}),
            extensions=MappingProxyType({**self.extensions, **endings}),
        )


DEFAULT_FORMATS: Final = Formats()


def read_document(
    data: bytes,
    *,
    name: str,
    mime_type: str | None = None,
    limits: ReadLimits = DEFAULT_LIMITS,
    modified: datetime | None = None,
    formats: Formats = DEFAULT_FORMATS,
) -> Document:
    r"""Read a file of any known format.

    b"# Plan\n\nGo.", name="plan.md" -> Document(title="Plan", blocks: heading, paragraph)

    Args:
        data: The file's bytes.
        name: Its path or name; the ending helps to find the format.
        mime_type: What its sender says it is, with or without a charset.
        limits: How far to go.
        modified: When the file was changed; a date inside the document goes before it.
        formats: The readers to choose from.

    Raises:
        UnknownFormat: no reader takes it.
        DocumentTooLarge: over a limit; says which setting raises it.
        UnreadableDocument: damaged, encrypted, or without text.
    """
    if len(data) > limits.max_file_bytes:
        raise _file_too_large(name, len(data), limits)
    if not data:
        raise UnreadableDocument(name, "is empty", kind="empty file")
    try:
        if is_packed(data):
            data = unpacked(data, name=name, limits=limits)
        found = find_format(data, name=name, mime_type=mime_type, extensions=formats.extensions)
        reader = formats.readers.get(found)
        if reader is None:
            raise refusal(name, found)  # noqa: TRY301 (the one place that knows the type)
        document = reader(Source(data, name, found, limits, charset_of(mime_type)))
        return _finished(document, name=name, modified=modified)
    except DocumentError:
        raise
    except MemoryError as cause:
        raise took_too_much_memory(name, in_units(limits.max_memory_bytes)) from cause
    except RecursionError as cause:
        raise UnreadableDocument(name, "is nested too deeply") from cause
    except Exception as cause:  # libraries raise anything on a damaged file
        raise UnreadableDocument(name, f"is damaged or not what it seems ({_one_line(cause)})") from cause


def read_file(
    path: str | Path,
    *,
    name: str | None = None,
    limits: ReadLimits = DEFAULT_LIMITS,
    formats: Formats = DEFAULT_FORMATS,
) -> tuple[bytes, Document]:
    """The bytes of a file and the document in them; its size is looked at before it is read.

    Raises:
        DocumentError: it cannot be opened, or what `read_document` raises.
    """
    name = str(path) if name is None else name
    data, modified = load_file(path, name=name, limits=limits)
    return data, read_document(data, name=name, limits=limits, modified=modified, formats=formats)


def load_file(path: str | Path, *, name: str, limits: ReadLimits = DEFAULT_LIMITS) -> tuple[bytes, datetime | None]:
    """The bytes of a file, and when it was changed where its file system says so sensibly.

    Raises:
        UnreadableDocument: missing, no ordinary file, or not ours to open.
        DocumentTooLarge: over `max_file_bytes`.
    """
    path = Path(path)
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            # Opening a pipe or a device may wait for ever.
            raise UnreadableDocument(name, "is a folder" if path.is_dir() else "is no ordinary file")
        if status.st_size > limits.max_file_bytes:
            raise _file_too_large(name, status.st_size, limits)
        with path.open("rb") as stream:
            data = stream.read(limits.max_file_bytes + 1)
    except (OSError, ValueError) as cause:
        reason = getattr(cause, "strerror", None) or str(cause)
        raise UnreadableDocument(name, f"cannot be opened: {reason}") from cause
    if len(data) > limits.max_file_bytes:
        raise _file_too_large(name, len(data), limits)
    return data, moment(status.st_mtime)


def _file_too_large(name: str, size: int, limits: ReadLimits) -> DocumentError:
    reason = f"is {in_units(size)} large; at most {in_units(limits.max_file_bytes)} are read"
    return too_large(name, reason, "max_file_bytes")


def _one_line(cause: Exception) -> str:
    text = one_line(str(cause))[:_LONGEST_CAUSE]
    return f"{type(cause).__name__}: {text}" if text else type(cause).__name__


def _finished(document: Document, *, name: str, modified: datetime | None) -> Document:
    """The document as every later stage may rely on it: storable text, ordered blocks, dates with a zone."""
    if not document.blocks:
        raise UnreadableDocument(name, "holds no text", kind="file without text")
    _check_blocks(document, name)
    metadata = {key: storable(one_line(value))[:_LONGEST_VALUE] for key, value in document.metadata.items()}
    return replace(
        document,
        warnings=(*document.warnings, *doubts(document)),
        text=storable(document.text),
        title=storable(one_line(document.title or ""))[:_LONGEST_TITLE] or None,
        created=aware(document.created),
        modified=aware(document.modified) or aware(modified),
        metadata={key: value for key, value in metadata.items() if value},
    )


def _check_blocks(document: Document, name: str) -> None:
    position = 0
    for block in document.blocks:
        if not position <= block.start < block.end <= len(document.text):
            raise UnreadableDocument(name, f"was read wrongly: block {block.start}-{block.end} is out of order")
        position = block.end
