"""Formats that people have besides the common ones, and places that are true in all of them."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import pytest

from hybridrag.documents.formats import no_document
from hybridrag.documents.limits import DEFAULT_LIMITS, ReadLimits
from hybridrag.documents.unpack import is_archive, members
from hybridrag.errors import DocumentError, DocumentTooLarge, UnreadableDocument
from hybridrag.types.documents import Document
from make_documents import blocks, check_error, headings, make_msg, make_opendocument, make_zip, read


def lines(document: Document) -> list[int | None]:
    assert document.lines is not None
    return [document.lines.at(block.start) for block in document.blocks]


def anchors(document: Document) -> list[str | None]:
    return [block.anchor for block in document.blocks]


# Lines put together


def test_japanese_words_that_a_line_end_cuts_are_whole_and_lines_stay_known() -> None:
    # "パッケー⏎ジ" could not be found.
    wrapped = (
        "このマニュアルは、新しくパッケージを作る人のための手引きです。最初のパッケー\n"
        "ジを作る前に、既存のものを読んでください。次に、ソースを取得して展開し、設定\n"
        "を確かめます。\n\n終わり。\n"
    )
    document = read(wrapped, "a.txt")
    assert "最初のパッケージを作る前に" in document.text
    assert "設定を確かめます" in document.text
    assert lines(document) == [1, 5]
    assert document.lines is not None
    assert document.lines.at(document.text.index("既存")) == 2
    assert document.lines.at(document.text.index("を確かめます")) == 3
    assert "最初のパッケージを作る前に" in read(wrapped, "a.md").text


def test_short_japanese_lines_are_a_list_and_stay_apart() -> None:
    assert read("りんご\nみかん\nぶどう\n", "a.txt").text == "りんご\nみかん\nぶどう\n"


def test_english_words_are_joined_at_a_hyphen_that_only_breaks_the_line() -> None:
    text = (
        "This is an example of a long line of plain text, which the editor broke in an exam-\n"
        "ple of hyphenation. It is well known that a word such as state of the art or well-\n"
        "known keeps its hyphen where both halves are words of the text.\n"
    )
    found = read(text, "a.txt").text
    assert "an example of hyphenation" in found
    assert "or well-known keeps" in found


def test_tables_of_markdown_name_their_columns_in_every_row() -> None:
    document = read("# T\n\n| State | Capital |\n|---|---|\n| Texas | Austin |\n| Ohio | Columbus |\n\nEnd.\n", "a.md")
    assert blocks(document)[1:] == [
        ("table_row", "State | Capital"),
        ("table_row", "State: Texas | Capital: Austin"),
        ("table_row", "State: Ohio | Capital: Columbus"),
        ("paragraph", "End."),
    ]
    assert lines(document) == [1, 3, 5, 6, 8]


# Places


def test_html_knows_the_line_and_the_anchor_of_a_heading() -> None:
    # "line 12" was the line of the stored text, which nobody has.
    page = (
        "<html>\n<body>\n\n<h1 id='top'>Plan</h1>\n<p>Go.</p>\n<section id='cost'>\n<h2>Costs</h2>\n<p>No"
        "ne.\n</p></section>"
    )
    document = read(page, "a.html")
    assert lines(document) == [4, 5, 7, 8]
    assert anchors(document) == ["top", "top", "cost", "cost"]


def test_csv_rows_know_their_line_also_behind_cells_of_several_lines() -> None:
    assert lines(read('name,note\nAnn,"one\ntwo"\nBob,x\n', "a.csv")) == [1, 2, 4]


# Pages without their frame


def test_the_frame_of_a_page_is_left_out() -> None:
    # "Prev / Next / Download the ebook" opened chunks.
    page = (
        "<body class='toc-on'><div class='navheader'><a href=1>Prev</a> <a href=2>Next</a></div>"
        "<p><a href='/'>Home</a> | <a href='/book'>Download the ebook</a></p><h1>APT</h1>"
        "<div class='toc'><ul><li><a href=#a>Use</a></li></ul></div>"
        "<p>See <a href=x>the manual</a> before use.</p><ul><li><a href=y>List of mirrors</a></li></ul>"
        "<p>Last words.</p><div><a href=1>Prev</a> <a href=2>Next</a></div><div class='cookie-banner'"
        ">We use cookies.</div>"
    )
    assert [text for _, text in blocks(read(page, "a.html"))] == [
        "APT", "See the manual before use.", "List of mirrors", "Last words.",
    ]  # fmt: skip


def test_a_page_of_links_keeps_them() -> None:
    page = "<body><ul><li><a href=1>Bread recipes</a></li><li><a href=2>Cake recipes</a></li></ul></body>"
    assert [text for _, text in blocks(read(page, "a.html"))] == ["Bread recipes", "Cake recipes"]


def test_a_menu_of_a_restaurant_is_no_navigation() -> None:
    page = "<h1>Lunch</h1><div class='menu'><p>Soup of the day, 4 euros</p></div>"
    assert ("paragraph", "Soup of the day, 4 euros") in blocks(read(page, "a.html"))


# Mail


MESSAGE = "From: Ann <ann@a.example>\nSubject: {}\nDate: Wed, 1 May 2024 09:30:00 +0000\n\n{}\n"


def test_a_mailbox_is_all_of_its_messages() -> None:
    # An mbox of 19 messages yielded one.
    box = "".join(
        f"From ann@a.example Wed May  1 09:30:00 2024\n{MESSAGE.format(f'No {n}', f'Body {n}.')}\n" for n in range(19)
    )
    for name in ("mail.mbox", "Inbox"):
        document = read(box, name)
        assert document.mime_type == "application/mbox"
        assert [text for _, text in headings(document)] == [f"No {n}" for n in range(19)]
        assert [block.page for block in document.blocks if block.level] == list(range(1, 20))


def test_a_line_that_begins_with_from_ends_no_message() -> None:
    box = "From a Wed May  1 2024\n" + MESSAGE.format("One", "Hello.\n\nFrom here on it rains.\n>From quoted.")
    document = read(box, "a.mbox")
    assert len(headings(document)) == 1
    assert "From here on it rains.\nFrom quoted." in document.text


def test_an_outlook_message_is_read_like_any_other() -> None:
    document = read(make_msg("Türen 扉", "The door is blue.\r\n\r\n扉は青い。", "Bob"), "a.msg")
    assert document.title == "Türen 扉"
    assert document.created is not None
    assert [text for _, text in blocks(document)] == [
        "Türen 扉", "From: Bob\nTo: Ann\nDate: Wed, 1 May 2024 09:30:00 +0000", "The door is blue.", "扉は青い。",
    ]  # fmt: skip


# Office of other makers


def test_opendocument_text_has_headings_lists_tables_and_notes() -> None:
    body = (
        '<text:h text:outline-level="2">Limits</text:h><text:p>Five<text:note><text:note-body><text:p>Or six.</text:p>'
        "</text:note-body></text:note> at most.</text:p><text:list><text:list-item><text:p>one</text:"
        "p></text:list-item>"
        "</text:list><table:table><table:table-row><table:table-cell><text:p>city</text:p></table:table-cell>"
        "<table:table-cell><text:p>people</text:p></table:table-cell></table:table-row><table:table-r"
        "ow><table:table-cell>"
        "<text:p>Oslo</text:p></table:table-cell><table:table-cell><text:p>7</text:p></table:table-ce"
        "ll></table:table-row>"
        "</table:table>"
    )
    document = read(make_opendocument("text", body), "a.odt")
    assert document.title == "The Plan"
    assert blocks(document) == [
        ("heading", "Limits"), ("paragraph", "Five at most."), ("paragraph", "Or six."), ("list_item", "one"),
        ("table_row", "city | people"), ("table_row", "city: Oslo | people: 7"),
    ]  # fmt: skip


def test_opendocument_sheets_know_their_rows_and_believe_no_million_of_empty_ones() -> None:
    row = (
        '<table:table-row{}><table:table-cell table:number-columns-repeated="{}">{}</table:table-cell></t'
        "able:table-row>"
    )
    body = (
        '<table:table table:name="Prices">'
        + row.format(' table:number-rows-repeated="1048000"', 16384, "")
        + row.format("", 2, "<text:p>7</text:p>")
        + "</table:table>"
    )
    document = read(make_opendocument("spreadsheet", body), "a.ods")
    assert blocks(document) == [("heading", "Prices"), ("table_row", "7 | 7")]
    assert document.lines is not None
    assert document.lines.at(document.blocks[1].start) == 1_048_001


def test_opendocument_slides_are_pages() -> None:
    slide = (
        '<draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>{}</text:p></draw:t'
        "ext-box></draw:frame>"
        "<draw:frame><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame></draw:page>"
    )
    document = read(make_opendocument("presentation", slide.format("A", "one") + slide.format("B", "two")), "a.odp")
    assert [(text, block.page) for (_, text), block in zip(blocks(document), document.blocks, strict=True)] == [
        ("A", 1), ("one", 1), ("B", 2), ("two", 2),
    ]  # fmt: skip


def test_rich_text_is_read_in_both_languages() -> None:
    data = rb"{\rtf1\ansi\ansicpg932 {\fonttbl{\f0\fcharset128 MS Mincho;}}\f0 Plan\par \'93\'fa\'96\'7b\u35486 ?\par}"
    assert [text for _, text in blocks(read(data, "a.rtf"))] == ["Plan", "日本語"]


# Text with a shape of its own


def test_a_manual_page_has_sections_options_and_examples() -> None:
    page = (
        '.\\" a comment\n.TH PUMP 1 2024\n.SH NAME\npump \\- moves water\n.SH OPTIONS\n.TP\n.BR \\-v '
        '", " \\-\\-verbose\n'
        "Say more,\nmuch more.\n.SH EXAMPLES\nRun it:\n.nf\npump \\-v\n  now\n.fi\n"
    )
    document = read(page, "pump.1")
    assert document.title == "pump(1)"
    assert blocks(document) == [
        ("heading", "NAME"), ("paragraph", "pump - moves water"), ("heading", "OPTIONS"),
        ("list_item", "-v, --verbose\nSay more, much more."), ("heading", "EXAMPLES"), ("paragraph", "Run it:"),
        ("code", "pump -v\n  now"),
    ]  # fmt: skip
    assert lines(document)[:2] == [3, 4]


def test_a_file_packed_by_gzip_is_read_as_what_it_is() -> None:
    document = read(gzip.compress(b".TH A 1\n.SH NAME\na\n"), "a.1.gz")
    assert document.mime_type == "text/troff"
    with pytest.raises(DocumentTooLarge):
        read(gzip.compress(b"x" * 10_000), "a.txt.gz", limits=ReadLimits(max_file_bytes=1_000))


def test_subtitles_are_sentences_with_their_time() -> None:
    text = (
        "1\n00:00:01,000 --> 00:00:02,500\n<i>Hello</i> and\n\n2\n00:00:02,600 --> 00:00:04,000\nwelcome.\n\n"
        "3\n00:01:00,000 --> 00:01:02,000\nGood-bye.\n"
    )
    document = read(text, "a.srt")
    assert [text for _, text in blocks(document)] == ["Hello and welcome.", "Good-bye."]
    assert anchors(document) == ["00:00:01", "00:01:00"]
    assert [text for _, text in blocks(read("WEBVTT\n\n00:01.000 --> 00:02.000\nHi.\n", "a.vtt"))] == ["Hi."]


def test_a_log_keeps_a_stack_trace_with_its_record() -> None:
    text = "2024-05-01 09:30:00 ERROR no disk\n  at main\n  at run\n2024-05-01 09:31:00 INFO ok\n"
    document = read(text, "a.log")
    assert [text for _, text in blocks(document)] == [
        "2024-05-01 09:30:00 ERROR no disk\n  at main\n  at run", "2024-05-01 09:31:00 INFO ok",
    ]  # fmt: skip
    assert anchors(document) == ["2024-05-01 09:30:00", "2024-05-01 09:31:00"]
    assert [block.within for block in document.blocks] == [("error",), ()]


def test_settings_stand_under_their_keys() -> None:
    yaml = read("name: pump\nserver:\n  port: 80\nlog:\n  level: info\n", "a.yaml")
    assert [block.within for block in yaml.blocks] == [(), ("server",), ("log",)]
    toml = read('[tool.ruff]\nline-length = 120\n\n[[sources]]\nname = "a"\n', "a.toml")
    assert [block.within for block in toml.blocks] == [("tool.ruff",), ("sources",)]


def test_restructured_text_has_headings_code_and_items() -> None:
    text = (
        "Plan\n====\n\n.. _ref:\n.. a comment\n   of two lines\n\nRun::\n\n    make all\n\nPart\n----\n\n"
        "- one\n- two\n\n.. note:: Beware.\n"
    )
    assert blocks(read(text, "a.rst")) == [
        ("heading", "Plan"), ("paragraph", "Run::"), ("code", "    make all"), ("heading", "Part"),
        ("list_item", "- one"), ("list_item", "- two"), ("paragraph", "Beware."),
    ]  # fmt: skip


def test_org_has_headings_code_and_items() -> None:
    text = (
        "#+TITLE: Big\n* TODO Plan :tag:\n:PROPERTIES:\n:ID: 1\n:END:\nWords\nmore.\n- one\n#+BEGIN_SRC s"
        "h\nmake\n#+END_SRC\n** Part\n"
    )
    document = read(text, "a.org")
    assert document.title == "Big"
    assert blocks(document) == [
        ("heading", "Plan"),
        ("paragraph", "Words\nmore."), ("list_item", "- one"), ("code", "make"), ("heading", "Part"),
    ]  # fmt: skip


def test_latex_is_read_without_its_commands() -> None:
    text = (
        "\\documentclass{article}\n\\title{The \\emph{Plan}}\n\\begin{document}\n\\section{Costs}\\label{c}\n"
        'It costs \\textbf{5\\%} of $x^2$ % not this\nmore, M\\"uller.\n\n\\begin{itemize}\n\\item one\n\\item two\n'
        "\\end{itemize}\n\\begin{verbatim}\nmake \\all\n\\end{verbatim}\n\\begin{tabular}{ll}\ncity & people \\\\\n"
        "Oslo & 7 \\\\\n\\end{tabular}\n\\end{document}\n"
    )
    document = read(text, "a.tex")
    assert document.title == "The Plan"
    assert blocks(document) == [
        ("heading", "Costs"), ("paragraph", "It costs 5% of $x^2$ more, Mu\u0308ller."), ("list_item", "one"),
        ("list_item", "two"), ("code", "make \\all"), ("table_row", "city | people"),
        ("table_row", "city: Oslo | people: 7"),
    ]  # fmt: skip


# What is no document, and what looks wrong


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("logo.PNG", "picture"), ("site.min.js", "generated file"), ("poetry.lock", "lock file"),
        ("package-lock.json", "lock file"), ("style.css", "style sheet"), ("a.tar.gz", None), ("notes.txt", None),
    ],
)  # fmt: skip
def test_a_name_can_say_that_a_file_is_no_document(name: str, kind: str | None) -> None:
    assert no_document(name) == kind


@pytest.mark.parametrize("data", [b"", b"\x00\x01\x02" * 90, b"\n\n \n", b"\x89PNG\r\n\x1a\n", b"%!PS-Adobe"])
def test_an_error_says_what_the_file_is_where_it_is_no_document(data: bytes) -> None:
    with pytest.raises(DocumentError) as caught:
        read(data, "a.txt")
    assert caught.value.kind is not None


def test_a_damaged_document_is_still_a_document() -> None:
    with pytest.raises(UnreadableDocument) as caught:
        read(b"%PDF-1.7 nothing", "a.pdf")
    assert caught.value.kind is None


JAPANESE_MOJIBAKE = "縺薙ｌ縺ｯ繝槭ル繝･繧｢繝ｫ縺ｧ縺吶りｨｭ螳壹ｒ螟峨∴縺ｦ縺上縺輔＞縲よ枚蟄怜喧縺代ｮ隕区悽縺ｧ縺吶" * 2
FRENCH_MOJIBAKE = "Café au lait, s’il vous plaît, naïve déjà vu".encode().decode("cp1252", "ignore")


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (JAPANESE_MOJIBAKE, "mojibake"),
        (FRENCH_MOJIBAKE, "mojibake"),
        ("1 2 3 4 5 6 7 8 9 0 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27", "letters"),
        ("word " * 10_000, "one giant line"),
    ],
)  # fmt: skip
def test_what_looks_wrong_is_said(text: str, warning: str) -> None:
    assert any(warning in said for said in read(text, "a.txt").warnings)


def test_ordinary_text_raises_no_doubt() -> None:
    for text in (
        "The crew paints the door blue. " * 20,
        "これはふつうの文章です。縺れた糸をほどく。" * 20,
        "Ångström, café, naïve. " * 9,
    ):
        assert read(text, "a.txt").warnings == ()


# Archives


def packed(folder: Path, name: str, files: dict[str, bytes]) -> Path:
    path = folder / name
    if name.endswith(".zip"):
        path.write_bytes(make_zip(files.items()))
        return path
    with tarfile.open(path, "w:gz" if name.endswith("gz") else "w") as archive:
        for inner, data in files.items():
            info = tarfile.TarInfo(inner)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tgz"])
def test_an_archive_is_a_folder_of_files(tmp_path: Path, name: str) -> None:
    files = {"メモ/x.txt": b"hello", "../../etc/y.md": b"# Y", ".git/config": b"no", "__MACOSX/z": b"no"}
    path = packed(tmp_path, name, files)
    assert is_archive(path.name)
    found = {member.name: member.load() for member in members(path, name=name, limits=DEFAULT_LIMITS, problems=[])}
    assert found == {f"{name}/メモ/x.txt": b"hello", f"{name}/etc/y.md": b"# Y"}


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tgz"])
def test_a_damaged_archive_is_one_clear_error(tmp_path: Path, name: str) -> None:
    path = packed(tmp_path, name, {"x.txt": b"hello" * 1000})
    whole = path.read_bytes()
    for cut in (1, 20, len(whole) // 2, len(whole) - 5):
        path.write_bytes(whole[:cut])
        try:
            for member in members(path, name=name, limits=DEFAULT_LIMITS, problems=[]):
                member.load()
        except DocumentError as error:
            check_error(error)


def test_a_bomb_in_an_archive_is_stopped(tmp_path: Path) -> None:
    limits = ReadLimits(max_file_bytes=1_000, max_unpacked_bytes=5_000)
    (member,) = members(packed(tmp_path, "a.zip", {"x": b"0" * 9_000}), name="a.zip", limits=limits, problems=[])
    with pytest.raises(DocumentTooLarge):
        member.load()
    with pytest.raises(DocumentTooLarge):
        list(members(packed(tmp_path, "a.tgz", {"x": b"0" * 9_000}), name="a.tgz", limits=limits, problems=[]))
