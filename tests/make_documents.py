"""Real sample files of every format, made by the libraries themselves or byte by byte."""

from __future__ import annotations

import gzip
import io
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hybridrag.documents.limits import DEFAULT_LIMITS, ReadLimits
from hybridrag.documents.read import read_document
from hybridrag.errors import DocumentError
from hybridrag.types.documents import BlockKind, Document

WHEN = datetime(2024, 5, 1, 9, 30, tzinfo=UTC)


def read(
    data: bytes | str, name: str, *, mime_type: str | None = None, limits: ReadLimits = DEFAULT_LIMITS
) -> Document:
    """Read and check what every document promises."""
    document = read_document(
        data.encode() if isinstance(data, str) else data, name=name, mime_type=mime_type, limits=limits
    )
    check(document)
    return document


def check(document: Document) -> None:
    """Blocks are ordered, inside the text, without overlap, and hold more than white space."""
    position = 0
    for block in document.blocks:
        assert position <= block.start < block.end <= len(document.text)
        assert document.text[block.start : block.end].strip()
        assert (block.kind is BlockKind.HEADING) == (1 <= block.level <= 6)
        position = block.end
    document.text.encode("utf-8")
    assert "\x00" not in document.text
    assert "\r" not in document.text
    for moment in (document.created, document.modified):
        assert moment is None or moment.tzinfo is not None


def check_error(error: DocumentError) -> None:
    """What every error promises: the file's name, and one line."""
    assert str(error).startswith(error.name)
    assert "\n" not in str(error)


def blocks(document: Document) -> list[tuple[str, str]]:
    """(kind, text) of every block."""
    return [(block.kind.value, document.text[block.start : block.end]) for block in document.blocks]


def headings(document: Document) -> list[tuple[int, str]]:
    """(level, text) of every heading."""
    found = (block for block in document.blocks if block.kind is BlockKind.HEADING)
    return [(block.level, document.text[block.start : block.end]) for block in found]


# --- PDF, byte by byte ------------------------------------------------------------------------------------------


def make_pdf(
    pages: Sequence[Sequence[tuple[float, str]] | bytes],
    *,
    info: Mapping[str, str] | None = None,
    bookmarks: Sequence[tuple[str, int]] = (),
    japanese: bool = False,
    step: float = 1.2,
) -> bytes:
    """A PDF with lines of (size, text), or with content streams as they are; an empty text leaves a gap.

    Japanese goes through a CID font.
    """
    printed = [page for page in pages if not isinstance(page, bytes)]
    letters = sorted({letter for page in printed for _, line in page for letter in line})
    codes = {letter: index + 1 for index, letter in enumerate(letters)}
    objects: dict[int, bytes] = {}
    fonts = b"/F1 5 0 R"
    objects[5] = (
        _cid_font() if japanese else b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"
    )
    if japanese:
        objects[6] = _descendant()
        objects[7] = _stream(_to_unicode(codes))
    numbers = []
    for index, page in enumerate(pages):
        number = 20 + 2 * index
        numbers.append(number)
        content = page if isinstance(page, bytes) else _content(page, codes if japanese else None, step)
        objects[number] = (
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<<%s>>>>/Contents %d 0 R>>"
            % (fonts, number + 1)
        )
        objects[number + 1] = _stream(content)
    kids = b" ".join(b"%d 0 R" % number for number in numbers)
    objects[2] = b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(numbers), kids)
    objects[1] = b"<</Type/Catalog/Pages 2 0 R%s>>" % (b"/Outlines 8 0 R" if bookmarks else b"")
    _add_bookmarks(objects, bookmarks, numbers)
    if info:
        objects[3] = b"<<%s>>" % b"".join(b"/%s %s" % (key.encode(), _text(value)) for key, value in info.items())
    return _assemble(objects, has_info=bool(info))


def _add_bookmarks(objects: dict[int, bytes], bookmarks: Sequence[tuple[str, int]], numbers: list[int]) -> None:
    first = 1000
    for index, (title, page) in enumerate(bookmarks):
        links = b"/Next %d 0 R" % (first + index + 1) if index + 1 < len(bookmarks) else b""
        objects[first + index] = b"<</Title %s/Parent 8 0 R/Dest[%d 0 R/Fit]%s>>" % (
            _text(title),
            numbers[page - 1],
            links,
        )
    if bookmarks:
        objects[8] = b"<</Type/Outlines/First %d 0 R/Last %d 0 R/Count %d>>" % (
            first,
            first + len(bookmarks) - 1,
            len(bookmarks),
        )


def _text(value: str) -> bytes:
    return b"<%s>" % (b"\xfe\xff" + value.encode("utf-16-be")).hex().encode()


def _content(page: Sequence[tuple[float, str]], codes: Mapping[str, int] | None, step: float) -> bytes:
    parts = [b"BT"]
    height = 780.0
    for size, line in page:
        height -= size * step
        if line:
            shown = (
                b"<%s>" % "".join(f"{codes[letter]:04x}" for letter in line).encode()
                if codes
                else b"(%s)" % line.encode("cp1252").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")
            )
            parts.append(b"/F1 %g Tf 1 0 0 1 50 %g Tm %s Tj" % (size, height, shown))
    return b"\n".join([*parts, b"ET"])


def _cid_font() -> bytes:
    return b"<</Type/Font/Subtype/Type0/BaseFont/Gothic/Encoding/Identity-H/DescendantFonts[6 0 R]/ToUnicode 7 0 R>>"


def _descendant() -> bytes:
    return (
        b"<</Type/Font/Subtype/CIDFontType2/BaseFont/Gothic/DW 1000"
        b"/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>>>"
    )


def _to_unicode(codes: Mapping[str, int]) -> bytes:
    pairs = "\n".join(f"<{code:04x}> <{letter.encode('utf-16-be').hex()}>" for letter, code in codes.items())
    return (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 def\n"
        "1 begincodespacerange <0000> <ffff> endcodespacerange\n"
        f"{len(codes)} beginbfchar\n{pairs}\nendbfchar\nendcmap end end"
    ).encode()


def _stream(data: bytes) -> bytes:
    packed = zlib.compress(data)
    return b"<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream" % (len(packed), packed)


def _assemble(objects: Mapping[int, bytes], *, has_info: bool) -> bytes:
    out = bytearray(b"%PDF-1.7\n")
    offsets = {}
    for number in sorted(objects):
        offsets[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, objects[number])
    start = len(out)
    size = max(objects) + 1
    out += b"xref\n0 %d\n0000000000 65535 f \n" % size
    for number in range(1, size):
        out += b"%010d 00000 n \n" % offsets[number] if number in offsets else b"0000000000 00001 f \n"
    info = b"/Info 3 0 R" if has_info else b""
    out += b"trailer\n<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF\n" % (size, info, start)
    return bytes(out)


def encrypt_pdf(data: bytes, *, user: str, owner: str = "owner", algorithm: str = "RC4-128") -> bytes:
    """The same PDF behind a password; with an empty `user` password it opens without one."""
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(data)))
    writer.encrypt(user, owner, algorithm=algorithm)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


# --- Office, by the libraries ------------------------------------------------------------------------------------


def save(thing: Any) -> bytes:
    """What `thing.save()` writes."""
    out = io.BytesIO()
    thing.save(out)
    return out.getvalue()


def rezip(data: bytes, changes: Mapping[str, bytes | None], *, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """The archive with members replaced, added, or (None) left out."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", compression) as new:
        for name in old.namelist():
            if name not in changes:
                new.writestr(name, old.read(name))
        for name, content in changes.items():
            if content is not None:
                new.writestr(name, content)
    return out.getvalue()


def member(data: bytes, name: str) -> bytes:
    """One member of an archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return archive.read(name)


def make_zip(members: Iterable[tuple[str, bytes]], *, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """An archive of these members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


# --- EPUB --------------------------------------------------------------------------------------------------------

_CONTAINER = (
    b'<?xml version="1.0"?><container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0">'
    b'<rootfiles><rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles>'
    b"</container>"
)


def make_epub(chapters: Mapping[str, str], *, title: str = "A Book", extra: Mapping[str, bytes] | None = None) -> bytes:
    """A book of (file name, XHTML) chapters, with a table of contents that calls each by its file name."""
    items = "".join(
        f'<item id="c{index}" href="{name}" media-type="application/xhtml+xml"/>' for index, name in enumerate(chapters)
    )
    spine = "".join(f'<itemref idref="c{index}"/>' for index in range(len(chapters)))
    package = (
        '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0">'
        '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{title}</dc:title><dc:creator>夏目漱石</dc:creator><dc:language>ja</dc:language>"
        "<dc:date>1914-04-20</dc:date></metadata>"
        f'<manifest>{items}<item id="nav" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>'
        f"</manifest><spine>{spine}</spine></package>"
    )
    links = "".join(f'<li><a href="{name}">Part {name.split(".")[0]}</a></li>' for name in chapters)
    nav = f'<html xmlns="http://www.w3.org/1999/xhtml"><body><nav><ol>{links}</ol></nav></body></html>'
    return make_zip(
        [
            ("mimetype", b"application/epub+zip"),
            ("META-INF/container.xml", _CONTAINER),
            ("OEBPS/book.opf", package.encode()),
            ("OEBPS/nav.xhtml", nav.encode()),
            *((f"OEBPS/{name}", text.encode()) for name, text in chapters.items()),
            *(extra or {}).items(),
        ]
    )


def xhtml(body: str, *, title: str = "") -> str:
    """A page as EPUBs hold it; without a title, the tag is self-closed."""
    head = f"<title>{title}</title>" if title else "<title/>"
    return (
        '<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" '
        f'"http://www.w3.org/TR/xhtml11/DTD/xhtml11.dtd"><html xmlns="http://www.w3.org/1999/xhtml"><head>{head}</head>'
        f"<body>{body}</body></html>"
    )


_ODF = 'xmlns:dc="http://purl.org/dc/elements/1.1/" ' + " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for prefix, name in {
        **{name: name for name in ("office", "text", "table", "presentation")},
        "draw": "drawing",
    }.items()
)


def make_opendocument(kind: str, body: str) -> bytes:
    """A document of `text`, `spreadsheet` or `presentation` with that body."""
    content = (
        f"<office:document-content {_ODF}><office:body><office:{kind}>{body}</office:{kind}></office:body>"
        "</office:document-content>"
    )
    meta = (
        f"<office:document-meta {_ODF}><office:meta><dc:title>The Plan</dc:title></office:meta></office:document-meta>"
    )
    return make_zip(
        [
            ("mimetype", f"application/vnd.oasis.opendocument.{kind}".encode()),
            ("META-INF/manifest.xml", b"<manifest/>"),
            ("content.xml", content.encode()),
            ("meta.xml", meta.encode()),
        ]
    )


def make_ole(streams: Mapping[str, bytes]) -> bytes:
    """An OLE container; streams are padded with zeros so that none needs the small-stream table."""
    padded = {
        name: data + bytes(-len(data) % 512 if len(data) > 4096 else 4096 - len(data)) for name, data in streams.items()
    }
    fat: list[int] = [0xFFFFFFFD]  # sector 0 is this table

    def chain(size: int) -> int:
        first, count = len(fat), size // 512
        fat.extend([*range(first + 1, first + count), 0xFFFFFFFE])
        return first

    entries = [_ole_entry("Root Entry", 5, child=1, start=0xFFFFFFFE, size=0)]
    for number, (name, data) in enumerate(sorted(padded.items(), key=lambda item: (len(item[0]), item[0])), start=1):
        right = number + 1 if number < len(padded) else 0xFFFFFFFF
        entries.append(_ole_entry(name, 2, right=right, start=chain(len(data)), size=len(data)))
    bodies = b"".join(data for _, data in sorted(padded.items(), key=lambda item: (len(item[0]), item[0])))
    folder = b"".join(entries) + bytes(-len(b"".join(entries)) % 512)
    start = chain(len(folder))
    table = struct.pack(f"<{len(fat)}I", *fat).ljust(512, b"\xff")
    assert len(table) == 512
    header = struct.pack(
        "<8s16x6H10x8I",
        *(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 0x3E, 3, 0xFFFE, 9, 6, 0),
        *(0, 1, start, 0, 4096, 0xFFFFFFFE, 0, 0xFFFFFFFE),
    )
    header = header[:44] + struct.pack("<9I", 1, start, 0, 4096, 0xFFFFFFFE, 0, 0xFFFFFFFE, 0, 0)
    return header.ljust(512, b"\xff") + table + bodies + folder


def _ole_entry(
    name: str, kind: int, *, start: int, size: int, right: int = 0xFFFFFFFF, child: int = 0xFFFFFFFF
) -> bytes:
    encoded = name.encode("utf-16-le")
    return struct.pack("<64sHBB3I36xIQ", encoded, len(encoded) + 2, kind, 1, 0xFFFFFFFF, right, child, start, size)


def make_msg(subject: str, body: str, sender: str) -> bytes:
    """An Outlook message."""
    texts = {
        "0037": subject,
        "1000": body,
        "0C1A": sender,
        "0E04": "Ann",
        "007D": "Date: Wed, 1 May 2024 09:30:00 +0000",
    }
    streams = {f"__substg1.0_{number}001F": text.encode("utf-16-le") for number, text in texts.items()}
    return make_ole(streams | {"__properties_version1.0": b"\x00" * 32})


TEXTS: Mapping[str, str] = {
    "a.txt": "Plan\n====\n\nGo to 東京.\n\n　次の段落。\n",
    "a.md": "---\ntitle: T\n---\n# Plan\n\n- a\n- b\n\n| x | y |\n|---|---|\n| 1 | 2 |\n\n```sh\nmake\n```\n",
    "a.html": "<html><head><title>T</title></head><body><nav><a href=x>N</a></nav><h1 id=a>A</h1><p>Text<table>"
    "<tr><th>x<th>y<tr><td>1<td>2</table><pre>code</pre></body></html>",
    "a.xml": "<feed><title>News</title><p>It <b>rains</b>.</p></feed>",
    "a.csv": "name,note\nAnn,one\nBob,two\n",
    "a.tsv": "name\tnote\nAnn\tone\n",
    "a.json": '[{"title": "Plan", "text": "Go.", "n": {"x": [1, 2]}}]',
    "a.jsonl": '{"text": "one"}\n{"text": "two"}\n',
    "a.ipynb": '{"cells": [{"cell_type": "markdown", "source": "# A"}, {"cell_type": "code", "source": ["x = 1"]}]}',
    "a.eml": "From: a@x\nSubject: =?utf-8?B?5Lu2?=\nDate: Wed, 1 May 2024 09:30:00 +0000\n\nHello.\n",
    "a.mbox": "From a Wed May  1 2024\nFrom: a@x\nSubject: One\n\nHello.\n\n"
    "From b Wed May  1 2024\nSubject: Two\n\nBye.\n",
    "a.rtf": r"{\rtf1\ansi\ansicpg932 {\fonttbl{\f0 Mincho;}}\f0 Plan\par \'93\'fa\u35486 ?\par}",
    "a.1": ".TH PUMP 1\n.SH NAME\npump \\- moves \\fIwater\\fR\n.TP\n.B \\-v\nMore.\n.nf\ncode\n.fi\n",
    "a.rst": "Plan\n====\n\nRun::\n\n    make\n\n- one\n\n.. note:: Beware.\n",
    "a.org": "* Plan\nWords.\n- one\n#+BEGIN_SRC sh\nmake\n#+END_SRC\n| a | b |\n",
    "a.tex": "\\begin{document}\n"
    "\\section{Plan}\nGo \\emph{now} $x^2$.\n\\begin{itemize}\n\\item one\n\\end{itemize}\n",
    "a.srt": "1\n00:00:01,000 --> 00:00:02,000\nHello.\n",
    "a.vtt": "WEBVTT\n\n00:01.000 --> 00:02.000\nHi.\n",
    "a.log": "2024-05-01 09:30:00 ERROR no disk\n  at main\n2024-05-01 09:31:00 INFO ok\n",
    "a.yaml": "server:\n  port: 80\nlog:\n  level: info\n",
    "a.toml": "[tool]\nx = 1\n",
    "a.ini": "[a]\nx = 1\n",
    "a.py": "class A:\n    def f(self):\n        return 1\n",
    "a.js": "export function f() {\n  return 1;\n}\n",
    "a.sql": "CREATE TABLE t (x int);\n",
}
"""One small file of every format that is text."""


def make_samples() -> dict[str, bytes]:
    """One small file of every format."""
    import docx
    import openpyxl
    import pptx

    word, book, deck = docx.Document(), openpyxl.Workbook(), pptx.Presentation()
    word.add_heading("Plan", 1)
    word.add_paragraph("They are low.")
    word.add_table(rows=2, cols=2).cell(0, 0).text = "cell"
    book.active.append(["city", "people"])
    book.active.append(["Oslo", 7])
    deck.slides.add_slide(deck.slide_layouts[0]).shapes.title.text = "Plan"
    texts = {name: text.encode() for name, text in TEXTS.items()}
    row = "<table:table-row><table:table-cell><text:p>7</text:p></table:table-cell></table:table-row>"
    return texts | {
        "a.docx": save(word),
        "a.xlsx": save(book),
        "a.pptx": save(deck),
        "a.odt": make_opendocument("text", "<text:h>Plan</text:h><text:p>Go.</text:p>"),
        "a.ods": make_opendocument("spreadsheet", f'<table:table table:name="A">{row}</table:table>'),
        "a.odp": make_opendocument(
            "presentation", "<draw:page><draw:frame><text:p>Go</text:p></draw:frame></draw:page>"
        ),
        "a.epub": make_epub({"a.xhtml": xhtml("<h1>One</h1><p>Text.</p>")}),
        "a.pdf": make_pdf([[(18, "Plan"), (10, "Text of the plan.")]]),
        "a.msg": make_msg("Plan", "Go.", "Ann"),
        "a.zip": make_zip([("x.txt", b"hello"), ("y.md", b"# Y")]),
        "a.txt.gz": gzip.compress(b"hello world"),
        "a.1.gz": gzip.compress(TEXTS["a.1"].encode()),
    }


if __name__ == "__main__":
    into = Path(sys.argv[1])
    into.mkdir(parents=True, exist_ok=True)
    for file, content in make_samples().items():
        (into / file).write_bytes(content)
