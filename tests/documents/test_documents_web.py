"""HTML, XML, EPUB and e-mail: what a person sees, in reading order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from email.message import EmailMessage

import pytest

from hybridrag.errors import UnreadableDocument
from make_documents import blocks, headings, make_epub, make_zip, read, xhtml

PAGE = """<!doctype html><html lang="ja"><head><title> The
 page </title><meta name="author" content="Ann">
<meta property="article:published_time" content="2024-05-01T10:00:00+09:00">
<style>p { color: red }</style></head><body>
<nav><a href="/">Home</a></nav><div role="navigation">Menu</div>
<h1>Main <em>heading</em><a class="headerlink">¶</a></h1>
<p>First <b>bold</b> para
graph.</p>loose text
<ul><li>one<ul><li>nested</li></ul></li><li><p>two</p></li></ul>
<pre>  code
    here</pre>
<table><caption>Cities</caption><tr><th>city<th>people</tr><tr><td>Tokyo<td>14</tr><tr><td>Osaka<td></tr></table>
<p>line one<br>line two<br><br>another paragraph</p>
<script>alert("x")</script><p hidden>hidden</p><p style="display: none">gone</p><noscript>no</noscript>
<p><ruby>漢字<rp>(</rp><rt>かんじ</rt><rp>)</rp></ruby>を読む</p>
<p>改行
された日本語</p>
</body></html>"""


def test_a_page_is_read_as_it_is_seen() -> None:
    document = read(PAGE, "page.html")
    assert blocks(document) == [
        ("heading", "Main heading"),
        ("paragraph", "First bold para graph."),
        ("paragraph", "loose text"),
        ("list_item", "one"),
        ("list_item", "nested"),
        ("list_item", "two"),
        ("code", "  code\n    here"),
        ("paragraph", "Cities"),
        ("table_row", "city | people"),
        ("table_row", "city: Tokyo | people: 14"),
        ("table_row", "city: Osaka"),
        ("paragraph", "line one\nline two"),
        ("paragraph", "another paragraph"),
        ("paragraph", "漢字を読む"),
        ("paragraph", "改行された日本語"),
    ]


def test_a_page_gives_its_title_author_date_and_language() -> None:
    document = read(PAGE, "page.html")
    assert document.title == "The page"
    assert document.created == datetime(2024, 5, 1, 10, tzinfo=timezone(timedelta(hours=9)))
    assert document.metadata == {"author": "Ann", "language": "ja"}


@pytest.mark.parametrize("charset", ["shift_jis", "euc-jp", "iso-2022-jp", "utf-8"])
def test_the_charset_that_a_page_names_is_honoured(charset: str) -> None:
    page = f'<html><head><meta http-equiv="Content-Type" content="text/html; charset={charset}"></head><p>縦'
    assert read(page.encode(charset), "a.html").text == "縦"


def test_a_charset_from_outside_goes_before_the_pages_own() -> None:
    page = '<meta charset="utf-8"><p>縦書'.encode("cp932")
    assert read(page, "a.html", mime_type="text/html; charset=shift_jis").text == "縦書"


def test_a_page_that_calls_itself_utf_16_in_ascii_is_utf_8() -> None:
    assert read('<meta charset="utf-16"><p>日本', "a.html").text == "日本"


def test_tables_that_lay_out_a_page_are_read_as_text() -> None:
    page = (
        "<table><tr><td><h2>News</h2><p>It rains.</p></td><td><table><tr><td>inner<td>x</tr></table></td></tr></table>"
    )
    assert blocks(read(page, "a.html")) == [
        ("heading", "News"),
        ("paragraph", "It rains."),
        ("table_row", "inner | x"),
    ]


def test_cells_over_several_rows_are_said_in_each() -> None:
    page = (
        "<table><tr><th>area<th colspan=2>figures</tr><tr><td rowspan=2>East<td>1<td>2</tr><tr><td>3<td>4</tr></table>"
    )
    assert [text for _, text in blocks(read(page, "a.html"))] == [
        "area | figures | figures",
        "area: East | figures: 1 | figures: 2",
        "area: East | figures: 3 | figures: 4",
    ]


def test_rows_that_name_themselves_are_pairs() -> None:
    page = "<table><tr><th>Name<td>Ann</tr><tr><th>Born<td>1990</tr></table>"
    assert [text for _, text in blocks(read(page, "a.html"))] == ["Name: Ann", "Born: 1990"]


def test_a_page_of_nothing_but_navigation_keeps_it() -> None:
    assert blocks(read("<nav><ul><li>Home</li></ul></nav>", "a.html")) == [("list_item", "Home")]


def test_xml_gives_the_text_of_its_elements() -> None:
    feed = '<?xml version="1.0" encoding="Shift_JIS"?><feed><title>記事</title><p>It <b>rains</b>.</p><n/></feed>'
    document = read(feed.encode("cp932"), "a.xml")
    assert blocks(document) == [("heading", "記事"), ("paragraph", "It rains.")]
    assert document.title == "記事"
    assert read("<a><b>not closed", "a.xml").text == "<a><b>not closed"


def test_a_book_is_read_in_the_order_of_its_spine() -> None:
    book = make_epub(
        {
            "one.xhtml": xhtml("<h1>上 先生と私</h1><p>私は&nbsp;その人を&mdash;</p>", title="x"),
            "two.xhtml": xhtml("<p>No heading here.</p>"),
        },
        title="こころ",
    )
    document = read(book, "kokoro.epub")
    assert blocks(document) == [
        ("heading", "上 先生と私"),
        ("paragraph", "私は その人を—"),
        ("heading", "Part two"),
        ("paragraph", "No heading here."),
    ]
    assert document.title == "こころ"
    assert document.mime_type == "application/epub+zip"
    assert document.metadata["author"] == "夏目漱石"
    assert document.created == datetime(1914, 4, 20, tzinfo=UTC)


def test_a_book_with_an_ncx_takes_its_labels_from_there() -> None:
    ncx = (
        '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap><navPoint><navLabel><text>序章</text></navLabel>'
        '<content src="a.xhtml#x"/></navPoint></navMap></ncx>'
    )
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata/><manifest>'
        '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="n" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
        '</manifest><spine toc="n"><itemref idref="a"/><itemref idref="none"/></spine></package>'
    )
    container = '<container><rootfiles><rootfile full-path="b.opf"/></rootfiles></container>'
    book = make_zip(
        [
            ("META-INF/container.xml", container.encode()),
            ("b.opf", package.encode()),
            ("toc.ncx", ncx.encode()),
            ("a.xhtml", b"<html><body><p>text<p>broken</body>"),
        ]
    )
    document = read(book, "a.epub")
    assert blocks(document) == [("heading", "序章"), ("paragraph", "text"), ("paragraph", "broken")]


def test_a_protected_book_says_so() -> None:
    locked = b'<encryption><EncryptedData><EncryptionMethod Algorithm="http://www.w3.org/aes128"/></EncryptedData></encryption>'
    font = locked.replace(b"http://www.w3.org/aes128", b"http://www.idpf.org/2008/embedding")
    chapters = {"a.xhtml": xhtml("<p>text</p>")}
    with pytest.raises(UnreadableDocument, match="is protected by DRM"):
        read(make_epub(chapters, extra={"META-INF/encryption.xml": locked}), "a.epub")
    assert read(make_epub(chapters, extra={"META-INF/encryption.xml": font}), "a.epub").text.endswith("text")


def test_a_book_that_lacks_parts_says_which() -> None:
    with pytest.raises(UnreadableDocument, match=r"META-INF/container.xml is missing inside"):
        read(make_zip([("mimetype", b"application/epub+zip")]), "a.epub")
    with pytest.raises(UnreadableDocument, match="names no package"):
        read(make_zip([("mimetype", b"application/epub+zip"), ("META-INF/container.xml", b"<container/>")]), "a.epub")
    with pytest.raises(UnreadableDocument, match="not valid XML"):
        read(make_zip([("mimetype", b"application/epub+zip"), ("META-INF/container.xml", b"<container")]), "a.epub")


def make_mail() -> EmailMessage:
    mail = EmailMessage()
    mail["Subject"] = "来週の会議について"
    mail["From"] = "山田太郎 <taro@example.com>"
    mail["To"] = "Ann <ann@example.com>"
    mail["Date"] = "Wed, 01 May 2024 10:00:00 +0900"
    mail["Message-ID"] = "<1@example.com>"
    mail.set_content("お世話になっております。\n\n会議は10時からです。\n")
    return mail


def test_a_mail_says_who_wrote_what_to_whom_and_when() -> None:
    document = read(make_mail().as_bytes(), "a.eml")
    assert document.title == "来週の会議について"
    assert blocks(document) == [
        ("heading", "来週の会議について"),
        (
            "paragraph",
            "From: 山田太郎 <taro@example.com>\nTo: Ann <ann@example.com>\nDate: Wed, 01 May 2024 10:00:00 +0900",
        ),
        ("paragraph", "お世話になっております。"),
        ("paragraph", "会議は10時からです。"),
    ]
    assert document.created == datetime(2024, 5, 1, 1, tzinfo=UTC)
    assert document.metadata["from"] == "山田太郎 <taro@example.com>"
    assert document.metadata["message_id"] == "<1@example.com>"


def test_plain_text_is_preferred_and_attachments_are_named_only() -> None:
    mail = make_mail()
    mail.add_alternative("<p>HTML body</p>", subtype="html")
    mail.add_attachment(b"%PDF-1.4", maintype="application", subtype="pdf", filename="見積書.pdf")
    mail.add_attachment("attached text", filename="note.txt")
    inner = EmailMessage()
    inner["Subject"] = "転送"
    inner.set_content("inner text")
    mail.add_attachment(inner)
    document = read(mail.as_bytes(), "a.eml")
    assert "HTML body" not in document.text
    assert "attached text" not in document.text
    assert "inner text" not in document.text
    assert document.metadata["attachments"] == "見積書.pdf, note.txt, 転送"
    assert blocks(document)[-1] == ("paragraph", "Attachments: 見積書.pdf, note.txt, 転送")


def test_a_mail_in_html_alone_is_read_like_a_page() -> None:
    mail = EmailMessage()
    mail["From"] = "ann@example.com"
    mail.set_content("<html><head><title>News</title></head><h2>Top</h2><p>It rains.</p></html>", subtype="html")
    document = read(mail.as_bytes(), "a.eml")
    assert headings(document) == [(2, "Top")]
    assert document.title == "News"


def test_old_japanese_mail_is_read_with_its_vendor_characters() -> None:
    header = b"Subject: =?ISO-2022-JP?B?GyRCLSEkTjdvGyhC?=\r\nFrom: a@example.com\r\nDate: broken\r\n"
    body = b'Content-Type: text/plain; charset="ISO-2022-JP"\r\n\r\n\x1b$B-!$N7o\x1b(B\r\n'
    document = read(header + body, "a.eml")
    assert document.title == "①の件"
    assert blocks(document)[-1] == ("paragraph", "①の件")
    assert document.created is None


def test_headers_written_in_raw_bytes_are_read() -> None:
    data = b"Subject: " + "件名です".encode("cp932") + b"\r\nFrom: a@b.c\r\n\r\nbody\r\n"
    assert read(data, "a.eml").title == "件名です"
    assert read(b"Subject: =?utf-8?B?broken!?=\r\nFrom: a@b.c\r\n\r\nbody", "a.eml").text.endswith("body")


def test_a_mail_without_an_ending_is_known_by_its_headers() -> None:
    data = b"From: a@b.c\nTo: d@e.f\nSubject: Hi\n\nbody\n"
    assert read(data, "message").mime_type == "message/rfc822"


def test_a_mail_without_headers_is_none() -> None:
    with pytest.raises(UnreadableDocument, match="has no headers"):
        read(b"\n\nonly a body", "a.eml")


def test_binary_data_in_a_text_part_is_left_out() -> None:
    data = b"Subject: x\nFrom: a@b.c\nContent-Transfer-Encoding: base64\n\nAAECAwQFBgcICQ4PEBESExQVFhcYGRobHB0eHw==\n"
    assert read(data, "a.eml").text == "x\n\nFrom: a@b.c"
