"""PDF: printed lines become headings and paragraphs again, page by page."""

from __future__ import annotations

import base64
import io
import zlib
from datetime import UTC, datetime

import pytest

from hybridrag.documents.limits import ReadLimits
from hybridrag.errors import DocumentTooLarge, UnreadableDocument
from make_documents import blocks, check_error, encrypt_pdf, headings, make_pdf, read

BODY = 10.0

AES_PDF = zlib.decompress(
    base64.b64decode(
        b"eNqNU0Fr1EAUFo+DCFbwJgzCFjzoJDOTSQbXYtvd1aJll65WRXuYZGa2KdukZGdr24t49ORR9OKtBw8FEU/6CzxUUG9WhPYmnhREENFJ"
        b"uttdXA8mIeR9ee9738w3r9So1M64Zwko7e69eQdc6MA0XALlMkBX11cURNPCiHbaAqghWqoDsU2YAxMTQCUyT8QjBUUeQNNpNzHQBehy"
        b"LDvwFiR5IVwYKiX/LM0bZcqW7ndCs0rGYipdsxSOvT3uwYBiS4TmVCftZpEVlTPUUltTfLiQ9kXaxwpJjOXrQO8v6XSkf84BULMbmiLM"
        b"QbuAKdFRBTu6pNqrysSRAKiaRKmMkxZE1+NkMunEfWCogTfUoBa3jcpsi7YwqqJsrl3pFZW0zCIMnLyoYzIllsHJ2+eWxisz2z/bN3bH"
        b"Tty8mL01r86f2t48fGzv8497r581HjV+bWxmH46fPnr38fj9F3c22ZcxduHbp7WdrZ2P9d/k6fuxB0fWD+GvLx9+33ryPBfTo+7JYkOy"
        b"5iG1G5m/elpcHFgHIMWccuZjjgfSm0YkUmQSoDose4xpEfhEKUIin/uRJCF3qJZC6sClQgtCpeaCBJopSd2QB1ThiEmBhWDas8Zcg+WQ"
        b"hVxql0YOpdRVvtLSV1RwTi1FqAIchJoqT1Hle4GgLqOOY2OmtRaO6wS5vbXC9aaRva/JrlmsruYnCFXSqL6ikjxpFqLJanMeDxbK+gek"
        b"aZZrcJ8gD7KDYODkWqY0cKAPnIMLMs8jHtTwAHOt38WfZIAxOoK5mIxg2HNHMEKDEYxyPsBMJuK2ygofm/GGsvLQXJraodufnJmKnZky"
        b"1owEUvvEJwwrbnccE+bIkGsfMxGRif9JWSgOfLa+YiDrT1HHiMwUGxM4DJRK1XoN/AE3zTjQ"
    )
)
"""The words `secret plan` under AES-128 with an empty password."""


def lines(*texts: str) -> list[tuple[float, str]]:
    return [(BODY, text) for text in texts]


REPORT = make_pdf(
    [
        [
            (20, "Annual Report"),
            (BODY, ""),
            *lines(
                "This is the first para-",
                "graph of the report, which goes on over",
                "several lines of text before it ends.",
                "",
                "The second paragraph follows after a gap",
                "and is rather short, too.",
            ),
        ],
        [(14, "Costs"), (BODY, ""), *lines("- travel", "- rent, which is", "high", "", "All of it is paid.")],
    ],
    info={"Author": "山田太郎", "CreationDate": "D:20240501093000Z", "Title": "Microsoft Word - report.docx"},
)


def test_pages_become_headings_paragraphs_and_list_items() -> None:
    document = read(REPORT, "report.pdf")
    assert [(block.page, *pair) for block, pair in zip(document.blocks, blocks(document), strict=True)] == [
        (1, "heading", "Annual Report"),
        (
            1,
            "paragraph",
            "This is the first paragraph of the report, which goes on over several lines of text before it ends.",
        ),
        (1, "paragraph", "The second paragraph follows after a gap and is rather short, too."),
        (2, "heading", "Costs"),
        (2, "list_item", "- travel"),
        (2, "list_item", "- rent, which is high"),
        (2, "paragraph", "All of it is paid."),
    ]
    assert headings(document) == [(1, "Annual Report"), (2, "Costs")]


def test_the_largest_heading_is_the_title_where_a_program_wrote_a_file_name() -> None:
    document = read(REPORT, "report.pdf")
    assert document.title == "Annual Report"
    assert document.metadata == {"author": "山田太郎", "pages": "2"}
    assert document.created == datetime(2024, 5, 1, 9, 30, tzinfo=UTC)
    assert document.mime_type == "application/pdf"


def test_a_real_title_in_the_properties_goes_first() -> None:
    assert read(make_pdf([lines("text of it")], info={"Title": "計画書"}), "a.pdf").title == "計画書"


def test_japanese_lines_are_joined_without_a_space() -> None:
    page = [
        (18.0, "第一章　旅立ち"),
        (BODY, ""),
        *lines("吾輩は猫である。名前はまだ無い。どこで生れたか", "とんと見当がつかぬ。Python の", "話もする。"),
    ]
    document = read(make_pdf([page], japanese=True), "a.pdf")
    assert blocks(document) == [
        ("heading", "第一章　旅立ち"),
        ("paragraph", "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。Python の話もする。"),
    ]


def test_letter_spaced_japanese_is_closed_up() -> None:
    document = read(make_pdf([lines("目 次 と 概 要", "東京都 大阪府 京都府")], japanese=True, step=2), "a.pdf")
    assert "目次と概要" in document.text
    assert "東京都 大阪府 京都府" in document.text


def test_bookmarks_are_headings_whatever_their_size() -> None:
    pdf = make_pdf(
        [lines("1. Beginning", "", "Some text here."), lines("2. End", "", "More text here.")],
        bookmarks=[("1. Beginning", 1), ("2.  End", 2)],
    )
    assert headings(read(pdf, "a.pdf")) == [(1, "1. Beginning"), (1, "2. End")]


def test_running_titles_and_page_numbers_are_left_out() -> None:
    pages = [
        [(8.0, "Secret Report 2024"), *lines("", f"Text of page number {number} stands here.", "", str(number))]
        for number in range(1, 7)
    ]
    document = read(make_pdf(pages), "a.pdf")
    assert [text for _, text in blocks(document)] == [
        f"Text of page number {number} stands here." for number in range(1, 7)
    ]
    assert [block.page for block in document.blocks] == list(range(1, 7))


def test_lines_of_a_table_of_contents_are_no_headings() -> None:
    page = [(14.0, "Costs . . . . . . . . . . 12"), (BODY, ""), *lines("Body text that is longer than the rest of it.")]
    assert headings(read(make_pdf([page]), "a.pdf")) == []


def test_pieces_on_one_baseline_are_cells_of_a_row() -> None:
    def cell(x: int, y: int, text: str) -> bytes:
        return b"BT 1 0 0 1 %d %d Tm /F1 10 Tf 12 TL (%s) Tj T* ET" % (x, y, text.encode())

    content = b"\n".join([cell(50, 700, "city"), cell(200, 700, "people"), cell(50, 680, "Rome"), cell(200, 680, "3")])
    document = read(make_pdf([content]), "a.pdf")
    assert blocks(document) == [("table_row", "city | people"), ("table_row", "Rome | 3")]


def test_a_pdf_that_only_forbids_printing_is_read() -> None:
    assert read(encrypt_pdf(REPORT, user=""), "a.pdf").title == "Annual Report"


def test_a_pdf_behind_a_password_says_so() -> None:
    with pytest.raises(UnreadableDocument, match="is encrypted with a password"):
        read(encrypt_pdf(REPORT, user="secret"), "a.pdf")


def test_a_pdf_under_aes_that_opens_without_a_password_is_read() -> None:
    assert "secret plan" in read(AES_PDF, "a.pdf").text


def test_a_scanned_pdf_says_that_it_needs_ocr() -> None:
    with pytest.raises(UnreadableDocument, match=r"has no text on its 2 pages.*OCR"):
        read(make_pdf([[], []]), "scan.pdf")


def test_more_pages_than_allowed_name_the_setting() -> None:
    with pytest.raises(DocumentTooLarge, match=r"more than 2 pages.*documents\.max_pages"):
        read(make_pdf([lines("x")] * 3), "a.pdf", limits=ReadLimits(max_pages=2))


@pytest.mark.parametrize("cut", [10, 200, len(REPORT) // 2])
def test_a_cut_off_pdf_is_one_clear_error_or_what_is_left(cut: int) -> None:
    try:
        read(REPORT[:cut], "a.pdf")
    except UnreadableDocument as error:
        check_error(error)


def test_a_broken_page_costs_only_itself() -> None:
    from pypdf import PdfReader, PdfWriter
    from pypdf.generic import ArrayObject, NameObject, NullObject

    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(REPORT)))
    writer.pages[0][NameObject("/Resources")] = ArrayObject([NullObject()])
    out = io.BytesIO()
    writer.write(out)
    document = read(out.getvalue(), "a.pdf")
    assert "All of it is paid." in document.text


def test_lines_before_the_mark_are_forgiven_for_a_file_called_pdf() -> None:
    assert read(b"junk\r\n" + REPORT, "a.pdf").title == "Annual Report"
    assert read("The mark %PDF-1.4 opens such files.", "a.txt").mime_type == "text/plain"


def placed(x: float, y: float, text: str, *, turned: bool = False) -> bytes:
    matrix = b"0 1 -1 0" if turned else b"1 0 0 1"
    return b"BT /F1 10 Tf %s %.1f %.1f Tm (%s) Tj ET" % (matrix, x, y, text.encode())


def test_rows_name_their_columns_years_among_them_and_gaps_stay_in_their_column() -> None:
    rows = [("Item", "2023", "2024"), ("Flights", "11", "23"), ("Gas", "", "204")]
    content = b"\n".join(
        placed(x, 700 - 20 * index, text)
        for index, row in enumerate(rows)
        for x, text in zip((50, 200, 300), row, strict=True)
        if text
    )
    assert blocks(read(make_pdf([content]), "a.pdf")) == [
        ("table_row", "Item | 2023 | 2024"),
        ("table_row", "Item: Flights | 2023: 11 | 2024: 23"),
        ("table_row", "Item: Gas | 2024: 204"),
    ]


def test_turned_print_is_read_in_words_and_lines() -> None:
    # The library put a space between any two letters of turned text: "P u b lis h in g".
    content = placed(100, 100, "Publishing with care is", turned=True) + placed(112, 100, "worth it.", turned=True)
    assert blocks(read(make_pdf([content]), "a.pdf")) == [("paragraph", "Publishing with care is worth it.")]


def test_the_title_of_a_chapter_at_the_head_of_its_pages_is_left_out() -> None:
    # It covers less than most of the pages, so that it stood in the middle of sentences that went on overleaf.
    def page(number: int) -> bytes:
        title = "Chapter on pumps" if number < 5 else "Chapter on doors"
        return placed(50, 800, title) + placed(50, 500, f"Text {number} of it") + placed(50, 400, "that goes on.")

    text = read(make_pdf([page(number) for number in range(10)]), "a.pdf").text
    assert "Chapter on" not in text
    assert all(f"Text {number} of it" in text for number in range(10))


def test_a_passage_knows_its_rectangle_on_the_page() -> None:
    (block,) = read(make_pdf([placed(50, 742, "Some words here")]), "a.pdf").blocks
    assert block.box is not None
    left, top, right, bottom = block.box
    assert (left, round(top), round(bottom)) == (50, 92, 102)
    assert 100 < right < 150


def test_columns_of_words_alone_have_no_names() -> None:
    # A list of people in three columns, and a table that goes on from the page before, took their first row for names.
    rows = [("Ann", "Bob", "Cid"), ("Dee", "Eve", "Fay"), ("Gus", "Hal", "Ida")]
    content = b"\n".join(
        placed(x, 700 - 20 * index, f"{text} Smith")
        for index, row in enumerate(rows)
        for x, text in zip((50, 200, 350), row, strict=True)
    )
    assert blocks(read(make_pdf([content]), "a.pdf"))[1] == ("table_row", "Dee Smith | Eve Smith | Fay Smith")
