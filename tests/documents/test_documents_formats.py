"""A file is known by its content first and by its name second, and a user can add a reader."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hybridrag.documents.build import DocumentBuilder, storable
from hybridrag.documents.dates import parse_date
from hybridrag.documents.formats import charset_of, find_format
from hybridrag.documents.limits import ReadLimits, in_units
from hybridrag.documents.lines import close_gaps, collapse, join_lines
from hybridrag.documents.read import DEFAULT_FORMATS, load_file, read_document, read_file
from hybridrag.documents.source import Source
from hybridrag.errors import DocumentError, DocumentTooLarge, UnknownFormat, UnreadableDocument
from hybridrag.types.documents import Block, BlockKind, Document
from make_documents import blocks, check, make_pdf, read, save


@pytest.mark.parametrize(
    ("data", "name", "mime_type"),
    [
        (b"%PDF-1.7 ...", "report.txt", "application/pdf"),
        (b"# Plan", "plan.md", "text/markdown"),
        (b"<!DOCTYPE html><p>x", "noending", "text/html"),
        (b"<html><p>x", "page.txt", "text/html"),
        (b"<?xml version='1.0'?><html>", "x", "text/html"),
        (b"<?xml version='1.0'?><feed/>", "x", "application/xml"),
        (b"<!DOCTYPE html>", "template.php", "text/x-php"),
        (b"a,b", "a.CSV", "text/csv"),
        (b"fn main() {}", "src/main.rs", "text/x-rust"),
        (b"text", "README", "text/plain"),
        (b"\x89PNG\r\n\x1a\n...", "a.txt", "image/png"),
        (b"BZhang wrote this", "a.txt", "text/plain"),
        (b"BZh91AY&SY\x00\x01", "a.txt", "application/x-bzip2"),
        (b"SQLite format 3\x00", "a", "application/vnd.sqlite3"),
    ],
)
def test_the_type_is_found_by_content_and_then_by_name(data: bytes, name: str, mime_type: str) -> None:
    assert find_format(data, name=name) == mime_type


def test_what_the_sender_says_goes_before_the_name_but_not_before_the_content() -> None:
    assert find_format(b"# x", name="a.txt", mime_type="text/markdown; charset=utf-8") == "text/markdown"
    assert find_format(b"# x", name="a.md", mime_type="application/octet-stream") == "text/markdown"
    assert find_format(b"%PDF-1.7", name="a", mime_type="text/plain") == "application/pdf"
    assert charset_of('text/html; charset="Shift_JIS"') == "Shift_JIS"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x89PNG\r\n\x1a\n", "is an image, and images are not read. Run OCR"),
        (b"ID3\x04\x00\x00\x00", "is a sound recording. Add a transcript"),
        (b"\x00\x00\x00\x18ftypmp42", "is a video"),
        (b"%!PS-Adobe-3.0\n", "is PostScript. Convert it"),
        (b"\x7fELF\x02", "is a program."),
        (b"\x01\x02\x03\x04" * 100, "looks like binary data, not text."),
    ],
)
def test_what_no_reader_takes_says_what_it_is(data: bytes, reason: str) -> None:
    with pytest.raises(UnknownFormat, match=reason):
        read(data, "file.dat")


def test_a_type_that_nobody_knows_is_named() -> None:
    with pytest.raises(UnknownFormat, match="is of type application/x-foo, which no reader takes"):
        read(b"text", "a", mime_type="application/x-foo")


@pytest.mark.parametrize(
    ("data", "reason"), [(b"", "is empty"), (b" \n\t\n", "holds no text"), (b"\xef\xbb\xbf", "holds no text")]
)
def test_a_file_without_text_says_so(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableDocument, match=reason):
        read(data, "a.txt")


def read_note(source: Source) -> Document:
    builder = DocumentBuilder(source)
    builder.add(BlockKind.PARAGRAPH, source.data.decode().upper())
    return builder.document()


def read_nonsense(source: Source) -> Document:
    return Document("abc", (Block(BlockKind.PARAGRAPH, 2, 3), Block(BlockKind.PARAGRAPH, 0, 1)), source.mime_type)


def test_a_user_adds_a_reader_without_touching_the_others() -> None:
    formats = DEFAULT_FORMATS.plus("text/x-note", read_note, extensions=[".NOTE"])
    document = read_document(b"hello", name="a.note", formats=formats)
    assert (document.text, document.mime_type) == ("HELLO", "text/x-note")
    assert read_document(b"hello", name="a.note").text == "hello"


def test_a_reader_for_images_takes_what_was_refused() -> None:
    formats = DEFAULT_FORMATS.plus("image/png", lambda source: read_note(Source(b"ocr", "x", source.mime_type)))
    assert read_document(b"\x89PNG\r\n\x1a\n", name="a.png", formats=formats).text == "OCR"


def test_a_reader_that_breaks_its_promise_is_found_out() -> None:
    formats = DEFAULT_FORMATS.plus("text/x-bad", read_nonsense, extensions=[".bad"])
    with pytest.raises(UnreadableDocument, match="block 0-1 is out of order"):
        read_document(b"x", name="a.bad", formats=formats)


def test_a_date_inside_the_document_goes_before_the_files() -> None:
    when = datetime(2020, 1, 1, tzinfo=UTC)
    assert read_document(b"text", name="a.txt", modified=when).modified == when
    dated = read_document(b"---\nupdated: 2024-05-01\n---\n\nx", name="a.md", modified=when)
    assert dated.modified == datetime(2024, 5, 1, tzinfo=UTC)


def test_a_file_is_read_with_its_bytes_and_date(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"# Plan\n")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    data, document = read_file(path)
    check(document)
    assert data == b"# Plan\n"
    assert document.title == "Plan"
    assert document.modified == datetime.fromtimestamp(1_700_000_000, tz=UTC)


def test_the_size_is_looked_at_before_the_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    with path.open("wb") as stream:
        stream.truncate(200 * 1024 * 1024)
    with pytest.raises(DocumentTooLarge, match=r"is 200 MiB large; at most 100 MiB.*documents\.max_file_bytes"):
        read_file(path, name="large.txt")
    with pytest.raises(DocumentTooLarge, match="is 11 bytes large; at most 10 bytes are read"):
        read(b"hello world", "a.txt", limits=ReadLimits(max_file_bytes=10))


def test_what_is_no_file_says_so(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, reason in (
        (tmp_path, "is a folder"),
        (pipe, "is no ordinary file"),
        (tmp_path / "none", "cannot be opened: No such file"),
        (Path("bad\x00name"), "cannot be opened: embedded null byte"),
    ):
        with pytest.raises(UnreadableDocument, match=reason):
            load_file(path, name="x")


def test_too_much_text_names_the_setting() -> None:
    for name in ("a.txt", "a.md", "a.html", "a.csv"):
        with pytest.raises(DocumentTooLarge, match=r"more than 100 characters.*documents\.max_text_chars"):
            read("<p>word word word, " * 50, name, limits=ReadLimits(max_text_chars=100))


def test_a_file_past_its_time_stops_by_itself() -> None:
    with pytest.raises(UnreadableDocument, match=r"took longer than 0 s.*documents\.max_seconds"):
        read("<p>text", "a.html", limits=ReadLimits(max_seconds=0))


def test_titles_and_values_are_one_line_and_bounded() -> None:
    document = read(make_pdf([[(10, "x y z")]], info={"Title": "a\n b" + "c" * 1000, "Subject": " "}), "a.pdf")
    assert document.title is not None
    assert document.title.startswith("a b")
    assert len(document.title) == 300
    assert "subject" not in document.metadata


def test_errors_survive_a_process_boundary() -> None:
    import pickle

    with pytest.raises(DocumentError) as caught:
        read(b"", "a.txt")
    copy = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 (made here)
    assert str(copy) == str(caught.value)


def test_blocks_of_one_kind_of_row_stand_close_together() -> None:
    builder = DocumentBuilder(Source(b"", "x", "text/plain"))
    for kind, text in [
        (BlockKind.LIST_ITEM, "a"),
        (BlockKind.LIST_ITEM, "b"),
        (BlockKind.PARAGRAPH, " c\n"),
        (BlockKind.CODE, "\n  d\n"),
        (BlockKind.PARAGRAPH, " "),
    ]:
        builder.add(kind, text)
    document = builder.document()
    assert document.text == "a\nb\n\nc\n\n  d"
    assert len(blocks(document)) == 4


def test_lines_are_joined_as_their_language_asks() -> None:
    assert join_lines(["an exam-", "ple of", "", "text"]) == "an example of text"
    assert join_lines(["a well-", "Known thing"]) == "a well- Known thing"
    assert join_lines(["日本", "語と English", "words"]) == "日本語と English words"
    assert join_lines(["한국어", "텍스트"]) == "한국어 텍스트"
    assert collapse(" a \n\n b\u00a0c ") == "a b c"
    assert close_gaps("目 次") == "目次"
    assert close_gaps("plain words here") == "plain words here"


def test_small_helpers_say_what_they_promise() -> None:
    assert storable("a\x00b\ud800") == "a b\ufffd"
    assert [in_units(n) for n in (900, 2048, 104857600, 1610612736)] == ["900 bytes", "2 KiB", "100 MiB", "1.5 GiB"]
    assert parse_date("2024年5月1日") == datetime(2024, 5, 1, tzinfo=UTC)
    assert parse_date("soon") is None
    assert parse_date("2024-13-45") is None


def test_office_files_are_known_without_their_ending() -> None:
    import docx
    import openpyxl
    import pptx

    for library, mime in (
        (docx.Document, "wordprocessingml.document"),
        (openpyxl.Workbook, "spreadsheetml.sheet"),
        (pptx.Presentation, "presentationml.presentation"),
    ):
        assert find_format(save(library()), name="file").endswith(mime)
