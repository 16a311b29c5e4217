"""Plain text, Markdown and source code keep their own text; blocks say what is what in it."""

from __future__ import annotations

from datetime import UTC, datetime

from hybridrag.documents.readers.markdown import plain
from hybridrag.types.documents import BlockKind
from make_documents import blocks, headings, read


def test_paragraphs_of_plain_text_lie_between_empty_lines() -> None:
    document = read("One\nline more.\n\n\n  Two.  \n", "a.txt")
    assert blocks(document) == [("paragraph", "One\nline more."), ("paragraph", "Two.")]
    assert document.mime_type == "text/plain"
    assert document.title is None
    assert document.text == "One\nline more.\n\n\n  Two.  \n"


def test_japanese_paragraphs_begin_with_a_full_width_space() -> None:
    document = read("　吾輩は猫である。\n　名前はまだ無い。\nどこで生れたか。", "a.txt")
    assert blocks(document) == [("paragraph", "吾輩は猫である。"), ("paragraph", "名前はまだ無い。\nどこで生れたか。")]


def test_underlined_lines_and_chapters_are_headings() -> None:
    document = read(
        "Plan\n====\n\nGo.\n\nCosts\n-----\nNone.\n\n第一章　旅立ち\n\n朝である。\n\nChapter 2\n\nEnd.", "a.txt"
    )
    assert headings(document) == [(1, "Plan"), (2, "Costs"), (1, "第一章　旅立ち"), (1, "Chapter 2")]
    assert document.title == "Plan"
    assert ("paragraph", "None.") in blocks(document)


def test_a_chapter_named_in_a_sentence_is_no_heading() -> None:
    assert headings(read("第一章で述べた通りである。\n\nChapter 2 was long, he said.", "a.txt")) == []


def test_shift_jis_text_is_read_with_its_line_ends() -> None:
    document = read("一行目\r\n\r\n二行目\r\n".encode("cp932"), "a.txt")
    assert document.text == "一行目\n\n二行目\n"


MARKDOWN = """---
title: "The Plan"
date: 2024-05-01
tags: [one, two]
authors:
  - Ann
  - Bob
---

# Main *thing* #

Text that goes
over two lines.

- first
  - nested

    second paragraph
1. numbered

| city | people |
|------|--------|
| Tokyo | 14 |

```python
x = 1

y = 2
```

> ## Quoted heading
> quoted text

Set
---

    indented code

<div>html text</div>

<!-- a comment -->

[ref]: http://example.com
"""


def test_markdown_keeps_its_source_and_marks_every_kind_of_block() -> None:
    document = read(MARKDOWN, "plan.md")
    table = "| city | people |\n|------|--------|\n| Tokyo | 14 |"
    assert document.text == MARKDOWN.replace(table, "city | people\ncity: Tokyo | people: 14")
    assert blocks(document) == [
        ("heading", "Main *thing*"),
        ("paragraph", "Text that goes\nover two lines."),
        ("list_item", "- first"),
        ("list_item", "- nested"),
        ("list_item", "second paragraph"),
        ("list_item", "1. numbered"),
        ("table_row", "city | people"),
        ("table_row", "city: Tokyo | people: 14"),
        ("code", "x = 1\n\ny = 2"),
        ("heading", "Quoted heading"),
        ("paragraph", "> quoted text"),
        ("heading", "Set"),
        ("code", "    indented code"),
        ("paragraph", "<div>html text</div>"),
    ]
    assert [level for level, _ in headings(document)] == [1, 2, 2]


def test_front_matter_gives_title_date_and_the_rest() -> None:
    document = read(MARKDOWN, "plan.md")
    assert document.title == "The Plan"
    assert document.created == datetime(2024, 5, 1, tzinfo=UTC)
    assert document.metadata == {"date": "2024-05-01", "tags": "one, two", "authors": "Ann, Bob"}


def test_toml_front_matter_is_read_too() -> None:
    document = read('+++\ntitle = "計画"\nupdated = 2024-05-02\ntags = ["a", "b"]\n+++\n\nText.\n', "plan.md")
    assert document.title == "計画"
    assert document.modified == datetime(2024, 5, 2, tzinfo=UTC)
    assert document.metadata["tags"] == "a, b"


def test_text_between_two_rules_is_no_front_matter() -> None:
    document = read("---\nJust prose here.\n---\n\nMore.\n", "a.md")
    assert "Just prose here." in [text for _, text in blocks(document)]
    assert read("+++\nnot = = toml\n+++\n\nMore.\n", "a.md").metadata == {}


def test_without_front_matter_the_first_heading_is_the_title_without_its_marks() -> None:
    assert read("# The **big** [plan](x.md)\n\nGo.", "a.md").title == "The big plan"
    assert plain("`code` and ![image](a.png)") == "code and image"


def test_unclosed_and_empty_fences_lose_nothing() -> None:
    document = read("```\nx = 1\nlast", "a.md")
    assert blocks(document) == [("code", "x = 1\nlast")]
    assert blocks(read("```\n```\n\ntext\n\n#\n", "a.md")) == [("paragraph", "text")]


def test_lists_deeper_than_twenty_levels_keep_their_text() -> None:
    deep = "".join("  " * level + f"- item {level}\n" for level in range(30))
    assert len(read(deep, "a.md").blocks) == 30


def test_a_heading_over_two_lines_is_one_heading() -> None:
    assert blocks(read("One\ntwo\n===\n\ntext", "a.md"))[0] == ("heading", "One\ntwo")


def test_source_code_is_cut_at_top_level_definitions() -> None:
    code = (
        "import os\nimport sys\n\n# about f\n@decorator\ndef f():\n    a = 1\n\n    return a\n"
        "def g():\n    pass\n\n\nclass C:\n    x = 1\n\n    def m(self):\n        return 2\n"
    )
    document = read(code, "a.py")
    assert [kind for kind, _ in blocks(document)] == ["code"] * 5
    firsts = ["import os", "# about f", "def g():", "class C:", "    def m(self):"]
    assert [text.split("\n")[0] for _, text in blocks(document)] == firsts
    assert [block.within for block in document.blocks] == [(), ("f",), ("g",), ("C",), ("C", "m")]
    assert document.text == code
    assert document.mime_type == "text/x-python"


def test_closing_braces_stay_with_what_they_close() -> None:
    code = "export function f() {\n  return 1;\n\n}\n\nexport class A {\n  b() {}\n}\n"
    document = read(code, "a.ts")
    assert [text for _, text in blocks(document)] == [
        "export function f() {\n  return 1;\n\n}",
        "export class A {\n  b() {}\n}",
    ]
    assert [block.within for block in document.blocks] == [("f",), ("A",)]


def test_scripts_without_an_ending_are_known_by_their_first_line() -> None:
    assert read("#!/usr/bin/env python3\nprint(1)\n", "run").mime_type == "text/x-python"
    assert read("#!/bin/sh\necho 1\n", "run").mime_type == "text/x-shellscript"
    assert read("FROM python:3.12\n", "Dockerfile").mime_type == "text/x-dockerfile"


def test_a_single_line_of_fifty_megabytes_goes_through() -> None:
    line = ("言葉" * 8 + " ") * 1_000_000
    document = read(line, "long.txt")
    assert len(line.encode()) > 45_000_000
    assert [block.kind for block in document.blocks] == [BlockKind.PARAGRAPH]
    assert document.blocks[0].end == len(line) - 1


def test_a_file_of_line_ends_holds_them_one_at_a_time() -> None:
    document = read("\n" * 500_000 + "end", "long.txt")
    assert blocks(document) == [("paragraph", "end")]
