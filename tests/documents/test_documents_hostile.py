"""Files made to do harm: each costs one clear error, in bounded time and memory, and nothing else."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable

import docx
import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybridrag.documents.formats import EXTENSIONS
from hybridrag.documents.limits import MIB, ReadLimits
from hybridrag.documents.read import read_document
from hybridrag.errors import DocumentError, DocumentTooLarge, UnreadableDocument
from make_documents import check, check_error, make_epub, make_pdf, make_zip, member, read, rezip, save, xhtml

LAUGHS = (
    '<!DOCTYPE l [<!ENTITY a0 "haha">' + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10)) + "]>"
)
OUTSIDE = '<!DOCTYPE l [<!ENTITY x SYSTEM "file:///etc/passwd">]>'


def make_docx(text: str = "text") -> bytes:
    document = docx.Document()
    document.add_paragraph(text)
    return save(document)


def make_xlsx() -> bytes:
    book = openpyxl.Workbook()
    book.active.append(["text", "more"])
    return save(book)


def test_a_zip_bomb_is_refused_by_its_ratio() -> None:
    bomb = rezip(make_docx(), {"word/media/zeros.bin": bytes(60 * MIB)})
    assert len(bomb) < MIB
    with pytest.raises(DocumentTooLarge, match=r"more than 200 times its size.*documents\.max_unpack_ratio"):
        read(bomb, "a.docx")


def test_a_zip_bomb_is_refused_by_its_size() -> None:
    bomb = rezip(make_docx(), {"word/media/zeros.bin": bytes(20 * MIB)})
    limits = ReadLimits(max_unpacked_bytes=10 * MIB, max_unpack_ratio=10_000)
    with pytest.raises(DocumentTooLarge, match=r"more than 10 MiB.*documents\.max_unpacked_bytes"):
        read(bomb, "a.docx", limits=limits)
    stored = rezip(make_docx(), {"word/media/zeros.bin": bytes(20 * MIB)}, compression=zipfile.ZIP_STORED)
    with pytest.raises(DocumentTooLarge, match="more than 10 MiB"):
        read(stored, "a.docx", limits=limits)


def lie_about(data: bytes, name: str, size: int) -> bytes:
    """The archive with another unpacked size and checksum claimed for a member, in both places that say it."""
    content = member(data, name)
    checksum = zlib.crc32(content[:size])
    out = bytearray(data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        local = archive.getinfo(name).header_offset
    central = data.index(b"PK\x01\x02")
    while data[central + 46 : central + 46 + len(name)] != name.encode():
        central = data.index(b"PK\x01\x02", central + 1)
    for at in (local + 14, central + 16):
        struct.pack_into("<L", out, at, checksum)
        struct.pack_into("<L", out, at + 8, size)
    return bytes(out)


def test_a_bomb_that_lies_about_its_size_is_found_out() -> None:
    bomb = lie_about(rezip(make_docx(), {"word/zeros.xml": bytes(60 * MIB)}), "word/zeros.xml", 100)
    with zipfile.ZipFile(io.BytesIO(bomb)) as archive:
        assert archive.getinfo("word/zeros.xml").file_size == 100
    with pytest.raises(DocumentTooLarge, match="times its size"):
        read(bomb, "a.docx")
    small = lie_about(rezip(make_docx(), {"word/zeros.xml": bytes(1000)}), "word/zeros.xml", 100)
    with pytest.raises(UnreadableDocument, match=r"word/zeros.xml inside cannot be unpacked"):
        read(small, "a.docx")


def test_a_damaged_member_is_named() -> None:
    data = bytearray(make_docx("some text that is long enough " * 20))
    with zipfile.ZipFile(io.BytesIO(bytes(data))) as archive:
        info = archive.getinfo("word/document.xml")
    at = info.header_offset + 30 + len(info.filename) + 10
    data[at : at + 40] = b"\xff" * 40
    with pytest.raises(UnreadableDocument, match=r"word/document.xml inside cannot be unpacked"):
        read(bytes(data), "a.docx")


def test_a_directory_of_absurd_length_is_refused_before_it_is_read() -> None:
    data = bytearray(make_docx())
    at = data.rfind(b"PK\x05\x06")
    struct.pack_into("<L", data, at + 12, 50 * MIB)
    with pytest.raises(UnreadableDocument, match="absurdly many files"):
        read(bytes(data), "a.docx")
    wide = struct.pack("<4sQHHLLQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, 9, 9, 50 * MIB, 0)
    struct.pack_into("<L", data, at + 12, 0xFFFFFFFF)
    with pytest.raises(UnreadableDocument, match="absurdly many files"):
        read(bytes(data[:at]) + wide + bytes(data[at:]), "a.docx")


def test_packing_that_documents_do_not_use_is_refused() -> None:
    data = rezip(make_docx(), {"word/extra.xml": b"x" * 100}, compression=zipfile.ZIP_LZMA)
    with pytest.raises(UnreadableDocument, match="packed in a way that documents do not use"):
        read(data, "a.docx")


@pytest.mark.parametrize("dtd", [LAUGHS, OUTSIDE])
def test_entities_in_word_files_are_never_expanded(dtd: str) -> None:
    data = make_docx("marker")
    xml = member(data, "word/document.xml").decode()
    start = xml.index("<w:document")
    entity = "&a9;" if dtd is LAUGHS else "&x;"
    hostile = xml[:start] + dtd + xml[start:].replace("marker", f"marker{entity}")
    assert_harmless(rezip(data, {"word/document.xml": hostile.encode()}), "a.docx")


@pytest.mark.parametrize("dtd", [LAUGHS, OUTSIDE])
def test_entities_in_workbooks_are_never_expanded(dtd: str) -> None:
    data = make_xlsx()
    entity = "&a9;" if dtd is LAUGHS else "&x;"
    strings = (
        f'{dtd}<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><t>m{entity}</t></si></sst>'
    )
    assert_harmless(rezip(data, {"xl/sharedStrings.xml": strings.encode()}), "a.xlsx")


@pytest.mark.parametrize("dtd", [LAUGHS, OUTSIDE])
@pytest.mark.parametrize("name", ["a.xml", "a.html", "a.epub"])
def test_entities_in_pages_are_never_expanded(dtd: str, name: str) -> None:
    entity = "&a9;" if dtd is LAUGHS else "&x;"
    page = f"{dtd}<html><body><p>marker {entity}</p></body></html>"
    data = make_epub({"a.xhtml": page}) if name == "a.epub" else page.encode()
    assert_harmless(data, name)


def assert_harmless(data: bytes, name: str) -> None:
    try:
        document = read(data, name)
    except UnreadableDocument as error:
        check_error(error)
    else:
        assert "root:" not in document.text
        assert len(document.text) < 10_000


def test_pages_nested_without_end_are_refused_not_cut_off() -> None:
    with pytest.raises(UnreadableDocument, match="is nested too deeply"):
        read("<div>" * 100_000 + "text", "a.html")
    assert read("<div>" * 1000 + "text", "a.html").text == "text"


@pytest.mark.parametrize("data", ["[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000])
@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.ipynb"])
def test_json_nested_without_end_is_one_clear_error_or_text(data: str, name: str) -> None:
    try:
        read(data, name)
    except UnreadableDocument as error:
        check_error(error)


def test_xml_nested_without_end_is_read_as_text_or_refused() -> None:
    assert_document_or_error(b"<a>" * 3000 + b"text" + b"</a>" * 3000, "a.xml")


def test_mail_nested_without_end_is_one_clear_error_or_its_subject() -> None:
    parts = "".join(f'Content-Type: multipart/mixed; boundary="b{n}"\n\n--b{n}\n' for n in range(2000))
    try:
        document = read(f"Subject: deep\nFrom: a@b.c\n{parts}", "a.eml")
    except UnreadableDocument as error:
        check_error(error)
    else:
        assert document.title == "deep"


@pytest.mark.parametrize(
    "text",
    [
        "[" * 50_000,
        "> " * 20_000 + "x",
        "*a " * 50_000,
        "- " * 20_000 + "x",
        "|a" * 50_000 + "\n" + "|-" * 50_000,
        "`" * 100_000,
        "<" * 100_000,
        "\\" * 100_000,
        "# " * 50_000,
    ],
)
def test_odd_markdown_takes_no_odd_time(text: str) -> None:
    assert_document_or_error(text.encode(), "a.md")


def test_a_table_that_claims_endless_spans_is_bounded() -> None:
    cells = "<td colspan=999999999 rowspan=999999999>x</td>" * 3000
    document = read(f"<table><tr>{cells}</tr><tr>{cells}</tr></table>", "a.html")
    assert len(document.text) < 200_000


def test_a_pdf_whose_pages_contain_themselves_ends() -> None:
    data = make_pdf([[(10, "text")]]).replace(b"/Kids[20 0 R]", b"/Kids[ 2 0 R]")
    with pytest.raises(UnreadableDocument):
        read(data, "a.pdf")


def test_a_pdf_that_claims_a_billion_pages_is_read_by_what_it_has() -> None:
    data = make_pdf([[(10, "text")]]).replace(b"/Count 1/", b"/Count 999999999/")
    try:
        assert read(data, "a.pdf").text == "text"
    except DocumentError as error:
        check_error(error)


def test_a_pdf_with_a_bomb_for_a_page_is_bounded() -> None:
    page = b"BT /F1 10 Tf (x) Tj ET\n" + b" " * (100 * MIB)
    data = make_pdf([page, [(10, "the other page")]])
    assert len(data) < MIB
    try:
        document = read(data, "a.pdf")
    except DocumentError as error:
        check_error(error)
    else:
        assert "the other page" in document.text


def test_paths_that_lead_out_of_an_archive_are_only_names() -> None:
    data = make_zip(
        [
            ("mimetype", b"application/epub+zip"),
            ("META-INF/container.xml", b'<container><rootfile full-path="../../../etc/passwd"/></container>'),
            ("../../../tmp/evil", b"x"),
        ]
    )
    with pytest.raises(UnreadableDocument, match="is missing inside"):
        read(data, "a.epub")


@pytest.mark.heavy
def test_fifty_megabytes_without_a_line_end_go_through_every_text_reader() -> None:
    line = b"word " * 10_000_000
    limits = ReadLimits(max_text_chars=60_000_000)
    for name in ("a.txt", "a.py", "a.csv"):
        assert len(read(line, name, limits=limits).blocks) == 1
    with pytest.raises(DocumentTooLarge, match=r"documents\.max_text_chars"):
        read(line, "a.txt")


SAMPLES: dict[str, Callable[[], bytes]] = {
    "a.docx": lambda: make_docx("some text"),
    "a.xlsx": make_xlsx,
    "a.epub": lambda: make_epub({"a.xhtml": xhtml("<p>text</p>")}),
    "a.pdf": lambda: make_pdf([[(10, "text of the page")]]),
    "a.html": lambda: b"<html><body><table><tr><th>a<th>b<tr><td>1<td>2</table><p>x<ul><li>y</ul>",
    "a.eml": lambda: b"Subject: =?utf-8?B?5pel?=\nFrom: a@b.c\nContent-Type: text/plain\n\nbody\n",
    "a.json": lambda: b'{"a": [1, 2, {"b": null}], "title": "x", "text": "y"}',
    "a.md": lambda: b"---\ntitle: x\n---\n# h\n\n- a\n\n| a |\n|---|\n| b |\n",
}


@pytest.mark.parametrize("name", sorted(SAMPLES))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cuts=st.lists(st.tuples(st.integers(0, 4000), st.binary(max_size=8)), min_size=1, max_size=4))
def test_a_damaged_file_is_a_document_or_a_document_error(name: str, cuts: list[tuple[int, bytes]]) -> None:
    data = bytearray(SAMPLES[name]())
    for at, replacement in cuts:
        start = at % len(data)
        data[start : start + max(1, len(replacement))] = replacement
        data = data or bytearray(b"x")
    assert_document_or_error(bytes(data), name)


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=400), st.sampled_from(sorted(EXTENSIONS)))
def test_any_bytes_under_any_name_are_a_document_or_a_document_error(data: bytes, ending: str) -> None:
    assert_document_or_error(data, f"file{ending}")


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=400), st.sampled_from(sorted(EXTENSIONS)))
def test_any_text_under_any_name_is_a_document_or_a_document_error(text: str, ending: str) -> None:
    assert_document_or_error(text.encode("utf-8", "surrogatepass"), f"file{ending}")


def assert_document_or_error(data: bytes, name: str) -> None:
    try:
        check(read_document(data, name=name))
    except DocumentError as error:
        check_error(error)
