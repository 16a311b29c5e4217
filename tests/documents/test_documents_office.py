"""Word, PowerPoint and Excel files made by their libraries, in English and Japanese."""

from __future__ import annotations

from datetime import date, datetime, time
from typing import Any

import docx
import openpyxl
import pptx
import pytest
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from pptx.util import Inches

from hybridrag.errors import DocumentError, UnknownFormat, UnreadableDocument
from make_documents import WHEN, blocks, headings, make_zip, member, read, rezip, save

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


def make_docx() -> Any:
    document = docx.Document()
    document.core_properties.author = "Ann"
    document.core_properties.created = WHEN
    document.core_properties.modified = WHEN
    document.add_heading("Plan", 0)
    document.add_heading("Costs", 1)
    document.add_paragraph("They are low.")
    document.add_paragraph("one", style="List Bullet")
    table = document.add_table(rows=2, cols=3)
    for row, values in zip(table.rows, [("city", "people", "note"), ("Tokyo", "14", "")], strict=True):
        for cell, value in zip(row.cells, values, strict=True):
            cell.text = value
    document.add_paragraph("After the table.")
    return document


def add_xml(document: Any, xml: str) -> None:
    """Put markup that the library cannot write at the end of the body."""
    document.element.body.insert(-1, parse_xml(xml.replace(">", f" {nsdecls('w')}>", 1)))


def test_a_word_document_is_read_in_its_own_order() -> None:
    document = read(save(make_docx()), "plan.docx")
    assert blocks(document) == [
        ("heading", "Plan"),
        ("heading", "Costs"),
        ("paragraph", "They are low."),
        ("list_item", "one"),
        ("table_row", "city | people | note"),
        ("table_row", "city: Tokyo | people: 14"),
        ("paragraph", "After the table."),
    ]
    assert document.mime_type == DOCX
    assert document.title == "Plan"
    assert document.metadata["author"] == "Ann"
    assert (document.created, document.modified) == (WHEN, WHEN)


def test_japanese_style_names_are_headings_too() -> None:
    document = docx.Document()
    document.core_properties.title = "計画書"
    for name in ("見出し 1", "見出し２", "表題"):
        document.styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH)
    document.add_paragraph("全体の計画", style="表題")
    document.add_paragraph("第一の章", style="見出し 1")
    document.add_paragraph("小さな節", style="見出し２")
    read_back = read(save(document), "a.docx")
    assert headings(read_back) == [(1, "全体の計画"), (1, "第一の章"), (2, "小さな節")]
    assert read_back.title == "計画書"


def test_a_style_inherits_its_level_and_an_outline_level_counts() -> None:
    document = docx.Document()
    style = document.styles.add_style("My own", WD_STYLE_TYPE.PARAGRAPH)
    style.base_style = document.styles["Heading 2"]
    document.add_paragraph("inherited", style="My own")
    add_xml(document, '<w:p><w:pPr><w:outlineLvl w:val="2"/></w:pPr><w:r><w:t>by outline</w:t></w:r></w:p>')
    add_xml(document, '<w:p><w:pPr><w:outlineLvl w:val="9"/></w:pPr><w:r><w:t>body</w:t></w:r></w:p>')
    assert headings(read(save(document), "a.docx")) == [(2, "inherited"), (3, "by outline")]


def test_styles_based_on_each_other_in_a_circle_end() -> None:
    document = docx.Document()
    one = document.styles.add_style("One", WD_STYLE_TYPE.PARAGRAPH)
    two = document.styles.add_style("Two", WD_STYLE_TYPE.PARAGRAPH)
    one.base_style, two.base_style = two, one
    document.add_paragraph("text", style="One")
    assert blocks(read(save(document), "a.docx")) == [("paragraph", "text")]


def test_tracked_changes_readings_and_controls_are_read_as_shown() -> None:
    document = docx.Document()
    add_xml(
        document,
        "<w:p><w:r><w:t>kept</w:t></w:r><w:ins><w:r><w:t> new</w:t></w:r></w:ins>"
        "<w:del><w:r><w:delText> old</w:delText></w:r></w:del></w:p>",
    )
    add_xml(
        document,
        "<w:p><w:r><w:ruby><w:rt><w:r><w:t>かんじ</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>漢字</w:t></w:r>"
        "</w:rubyBase></w:ruby></w:r><w:r><w:tab/><w:t>a</w:t><w:br/><w:t>b</w:t><w:noBreakHyphen/></w:r></w:p>",
    )
    add_xml(document, "<w:sdt><w:sdtContent><w:p><w:r><w:t>controlled</w:t></w:r></w:p></w:sdtContent></w:sdt>")
    assert [text for _, text in blocks(read(save(document), "a.docx"))] == ["kept new", "漢字\ta\nb-", "controlled"]


def test_a_text_box_is_read_once() -> None:
    box = "<w:txbxContent><w:p><w:r><w:t>in the box</w:t></w:r></w:p></w:txbxContent>"
    document = docx.Document()
    add_xml(
        document,
        '<w:p><w:r><w:t>outside</w:t></w:r><w:r><mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/'
        f'markup-compatibility/2006"><mc:Choice Requires="wps">{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>'
        "</mc:AlternateContent></w:r></w:p>",
    )
    assert [text for _, text in blocks(read(save(document), "a.docx"))] == ["outside", "in the box"]


def test_footnotes_follow_the_paragraph_that_refers_to_them() -> None:
    document = docx.Document()
    add_xml(document, '<w:p><w:r><w:t>claim</w:t><w:footnoteReference w:id="2"/></w:r></w:p>')
    document.add_paragraph("next")
    data = save(document)
    note = '<w:footnote w:id="2"><w:p><w:r><w:t>proof</w:t></w:r></w:p></w:footnote>'
    notes = f"<w:footnotes {nsdecls('w')}>{note}</w:footnotes>"
    relation = (
        b'<Relationship Id="rId99" Target="footnotes.xml" '
        b'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes"/></Relationships>'
    )
    override = (
        b'<Override PartName="/word/footnotes.xml" ContentType="application/vnd.openxmlformats-officedocument.'
        b'wordprocessingml.footnotes+xml"/></Types>'
    )
    rels, types = "word/_rels/document.xml.rels", "[Content_Types].xml"
    data = rezip(
        data,
        {
            "word/footnotes.xml": notes.encode(),
            rels: member(data, rels).replace(b"</Relationships>", relation),
            types: member(data, types).replace(b"</Types>", override),
        },
    )
    assert [text for _, text in blocks(read(data, "a.docx"))] == ["claim", "proof", "next"]


def test_merged_cells_are_said_in_each_of_their_rows() -> None:
    document = docx.Document()
    table = document.add_table(rows=3, cols=3)
    values = [("area", "year", "sum"), ("East", "2023", "5"), ("", "2024", "6")]
    for row, texts in zip(table.rows, values, strict=True):
        for cell, text in zip(row.cells, texts, strict=True):
            cell.text = text
    table.cell(1, 0).merge(table.cell(2, 0))
    rows = [text for _, text in blocks(read(save(document), "a.docx"))]
    assert rows[2].startswith("area: East | year: 2024")


def test_a_marked_header_row_names_even_two_columns() -> None:
    document = docx.Document()
    table = document.add_table(rows=2, cols=2)
    for cell, text in zip([c for row in table.rows for c in row.cells], ["氏名", "住所", "山田", "東京"], strict=True):
        cell.text = text
    assert read(save(document), "a.docx").text == "氏名 | 住所\n山田 | 東京"
    table.rows[0]._tr.get_or_add_trPr().append(parse_xml(f"<w:tblHeader {nsdecls('w')}/>"))
    assert read(save(document), "a.docx").text == "氏名 | 住所\n氏名: 山田 | 住所: 東京"


def test_a_table_of_one_column_is_a_frame_around_text() -> None:
    document = docx.Document()
    cell = document.add_table(rows=1, cols=1).cell(0, 0)
    cell.text = "framed"
    cell.add_paragraph("more")
    assert blocks(read(save(document), "a.docx")) == [("paragraph", "framed"), ("paragraph", "more")]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("a.docm", b"wordprocessingml.document.main+xml", b"vnd.ms-word.document.macroEnabled.main+xml"),
        ("a.dotx", b"wordprocessingml.document.main+xml", b"wordprocessingml.template.main+xml"),
    ],
)
def test_templates_and_macro_files_are_the_same_format(name: str, old: bytes, new: bytes) -> None:
    data = save(make_docx())
    full = b"application/vnd.openxmlformats-officedocument." + old
    wanted = new if new.startswith(b"vnd") else b"vnd.openxmlformats-officedocument." + new
    types = member(data, "[Content_Types].xml").replace(full, b"application/" + wanted)
    document = read(rezip(data, {"[Content_Types].xml": types}), name)
    assert document.title == "Plan"
    assert document.mime_type == DOCX


def make_pptx() -> Any:
    deck = pptx.Presentation()
    first = deck.slides.add_slide(deck.slide_layouts[0])
    first.shapes.title.text = "年度計画"
    first.placeholders[1].text = "営業部"
    second = deck.slides.add_slide(deck.slide_layouts[1])
    second.shapes.title.text = "Costs"
    second.placeholders[1].text_frame.text = "low"
    second.placeholders[1].text_frame.add_paragraph().text = "very\vlow"
    second.notes_slide.notes_text_frame.text = "Say it slowly."
    table = second.shapes.add_table(2, 2, Inches(1), Inches(1), Inches(4), Inches(1)).table
    for row, values in enumerate([("city", "people"), ("Tokyo", "14")]):
        for column, value in enumerate(values):
            table.cell(row, column).text = value
    group = second.shapes.add_group_shape()
    group.shapes.add_textbox(0, 0, Inches(1), Inches(1)).text_frame.text = "grouped"
    deck.slides.add_slide(deck.slide_layouts[6])
    return deck


def test_a_deck_is_read_slide_by_slide() -> None:
    document = read(save(make_pptx()), "deck.pptx")
    assert [(block.page, *pair) for block, pair in zip(document.blocks, blocks(document), strict=True)] == [
        (1, "heading", "年度計画"),
        (1, "list_item", "営業部"),
        (2, "heading", "Costs"),
        (2, "list_item", "low"),
        (2, "list_item", "very\nlow"),
        (2, "table_row", "city | people"),
        (2, "table_row", "city: Tokyo | people: 14"),
        (2, "paragraph", "grouped"),
        (2, "paragraph", "Say it slowly."),
    ]
    assert [level for level, _ in headings(document)] == [1, 2]
    assert document.title == "年度計画"
    assert document.mime_type == PPTX
    assert document.metadata["pages"] == "3"


def test_the_labels_of_a_diagram_are_read() -> None:
    from pptx.opc.constants import RELATIONSHIP_TYPE
    from pptx.opc.package import Part
    from pptx.opc.packuri import PackURI
    from pptx.oxml import parse_xml as parse

    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    data = (
        b'<dgm:dataModel xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram" '
        b'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><dgm:ptLst><dgm:pt><dgm:t>'
        b"<a:p><a:r><a:t>step </a:t></a:r><a:r><a:t>one</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:ptLst></dgm:dataModel>"
    )
    part = Part(PackURI("/ppt/diagrams/data1.xml"), "application/vnd.x.diagramData+xml", deck.part.package, data)
    relation = slide.part.relate_to(part, RELATIONSHIP_TYPE.DIAGRAM_DATA)
    slide.shapes._spTree.append(
        parse(
            '<p:graphicFrame xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
            'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
            'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">'
            '<p:nvGraphicFramePr><p:cNvPr id="9" name="d"/><p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr>'
            '<p:xfrm><a:off x="0" y="0"/><a:ext cx="1" cy="1"/></p:xfrm><a:graphic><a:graphicData '
            'uri="http://schemas.openxmlformats.org/drawingml/2006/diagram"><dgm:relIds '
            'xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram" '
            f'r:dm="{relation}"/></a:graphicData></a:graphic></p:graphicFrame>'
        )
    )
    assert blocks(read(save(deck), "a.pptx")) == [("list_item", "step one")]


def test_a_slide_show_is_a_deck() -> None:
    data = save(make_pptx())
    types = member(data, "[Content_Types].xml").replace(b"presentation.main+xml", b"slideshow.main+xml")
    assert read(rezip(data, {"[Content_Types].xml": types}), "a.ppsx").title == "年度計画"


def make_xlsx() -> Any:
    book = openpyxl.Workbook()
    book.properties.creator = "Ann"
    sheet = book.active
    sheet.title = "売上"
    for row in (
        ["売上一覧"],
        [],
        ["日付", "商品", "金額", "済"],
        [datetime(2024, 5, 1), "りんご\n赤", 1200.0, True],  # noqa: DTZ001 (Excel knows no time zones)
        [date(2024, 5, 2), "みかん", 0.1 + 0.2, None],
        [datetime(2024, 5, 3, 9, 30), "#N/A", 7, False],  # noqa: DTZ001 (same)
    ):
        sheet.append(row)
    other = book.create_sheet("Sheet2")
    other.append([time(9, 30), 1])
    other.append([time(10, 30), 2])
    hidden = book.create_sheet("hidden")
    hidden.append(["secret"])
    hidden.sheet_state = "hidden"
    return book


def test_a_workbook_is_read_sheet_by_sheet_with_the_names_of_its_columns() -> None:
    document = read(save(make_xlsx()), "sales.xlsx")
    assert [(block.page, *pair) for block, pair in zip(document.blocks, blocks(document), strict=True)] == [
        (1, "heading", "売上"),
        (1, "table_row", "売上一覧"),
        (1, "table_row", "日付 | 商品 | 金額 | 済"),
        (1, "table_row", "日付: 2024-05-01 | 商品: りんご 赤 | 金額: 1200 | 済: TRUE"),
        (1, "table_row", "日付: 2024-05-02 | 商品: みかん | 金額: 0.3"),
        (1, "table_row", "日付: 2024-05-03 09:30 | 金額: 7 | 済: FALSE"),
        (2, "heading", "Sheet2"),
        (2, "table_row", "09:30:00 | 1"),
        (2, "table_row", "10:30:00 | 2"),
    ]
    assert document.mime_type == XLSX
    assert document.title == "売上"
    assert document.metadata["author"] == "Ann"
    assert "secret" not in document.text


def test_a_sheet_that_claims_a_million_rows_is_read_by_what_it_has() -> None:
    data = save(make_xlsx())
    name = "xl/worksheets/sheet1.xml"
    changed = member(data, name).replace(b'<dimension ref="A1:D6"', b'<dimension ref="A1:XFD1048576"')
    assert changed != member(data, name)
    assert len(read(rezip(data, {name: changed}), "a.xlsx").blocks) == 9


def test_an_encrypted_office_file_says_so() -> None:
    ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + "EncryptedPackage".encode("utf-16-le")
    with pytest.raises(UnreadableDocument, match="is encrypted with a password"):
        read(ole, "secret.docx")


def test_old_office_files_say_what_to_do() -> None:
    # Where a converter is installed, it is asked.
    with pytest.raises(DocumentError, match=r"before 2007\. .*save it as \.docx|cannot convert it"):
        read(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "old.doc")


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx"])
def test_a_damaged_office_file_is_one_clear_error(name: str) -> None:
    whole = {"a.docx": save(make_docx()), "a.pptx": save(make_pptx()), "a.xlsx": save(make_xlsx())}[name]
    for data in (whole[: len(whole) // 2], whole[:100]):
        with pytest.raises(UnreadableDocument) as caught:
            read(data, name)
        assert "\n" not in str(caught.value)
    main = {"a.docx": "word/document.xml", "a.pptx": "ppt/presentation.xml", "a.xlsx": "xl/workbook.xml"}[name]
    for content in (b"<broken", None, b""):
        with pytest.raises(UnreadableDocument):
            read(rezip(whole, {main: content}), name)


def test_an_encrypted_member_says_so() -> None:
    data = bytearray(save(make_docx()))
    at = data.rfind(b"PK\x01\x02")
    data[at + 8] |= 1
    with pytest.raises(UnreadableDocument, match="is encrypted with a password"):
        read(bytes(data), "a.docx")


def test_a_zip_of_other_things_is_an_archive() -> None:
    with pytest.raises(UnknownFormat, match=r"is an archive\. Unpack it"):
        read(make_zip([("a.txt", b"text")]), "a.zip")
    with pytest.raises(UnknownFormat, match="is a drawing or another OpenDocument file"):
        read(make_zip([("mimetype", b"application/vnd.oasis.opendocument.graphics")]), "a.odg")
