"""CSV, TSV, JSON, JSONL and notebooks: every record can be found and understood by itself."""

from __future__ import annotations

import json

import pytest

from hybridrag.documents.limits import ReadLimits
from hybridrag.documents.tables import find_header, row_text
from hybridrag.errors import DocumentTooLarge, UnreadableDocument
from make_documents import blocks, headings, read


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_of_a_table_is_found_out(delimiter: str) -> None:
    table = "\n".join(delimiter.join(row) for row in [["city", "people"], ["Tokyo", "14"], ["Osaka", "9"]])
    document = read(table, "a.csv")
    assert blocks(document) == [
        ("table_row", delimiter.join(["city", "people"]).replace(delimiter, " | ")),
        ("table_row", "city: Tokyo | people: 14"),
        ("table_row", "city: Osaka | people: 9"),
    ]
    assert document.mime_type == "text/csv"
    assert document.title is None


def test_a_japanese_table_from_excel_is_read() -> None:
    table = '氏名,住所,備考\r\n山田太郎,東京都,"一行目\r\n二行目"\r\n佐藤花子,大阪府,"彼女は""はい""と言った"\r\n'
    assert [text for _, text in blocks(read(table.encode("cp932"), "a.csv"))] == [
        "氏名 | 住所 | 備考",
        "氏名: 山田太郎 | 住所: 東京都 | 備考: 一行目 二行目",
        '氏名: 佐藤花子 | 住所: 大阪府 | 備考: 彼女は"はい"と言った',
    ]


def test_tabs_are_kept_to_in_a_tsv_file() -> None:
    document = read("a, b\tc, d\n1, 2\t3, 4\n", "a.tsv")
    assert blocks(document)[1] == ("table_row", "a, b: 1, 2 | c, d: 3, 4")
    assert document.mime_type == "text/tab-separated-values"


def test_excels_own_line_names_the_delimiter() -> None:
    assert blocks(read("sep=;\na;b,c\n1;2,5\n", "a.csv"))[1] == ("table_row", "a: 1 | b,c: 2,5")


def test_rows_without_a_header_stay_as_they_are() -> None:
    assert read("1,2\n3,4\n", "a.csv").text == "1 | 2\n3 | 4"
    assert read("word\nother\n", "a.csv").text == "word\nother"


def test_the_header_is_the_row_that_names_the_columns() -> None:
    assert find_header([["Sales"], ["city", "people"], ["Tokyo", "14"]]) == 1
    assert find_header([["a", "a"], ["1", "2"]]) is None
    assert find_header([["a", "b"]]) is None
    assert find_header([["name", "Ann", "", ""], ["born", "1990", "in", "Rome"]]) is None
    assert find_header([["x", "y"], ["1", "2"]], fewest_columns=3) is None
    assert find_header([]) is None
    assert row_text(["1", "2", "3"], ["a"]) == "a: 1 | 2 | 3"


def test_more_rows_than_allowed_name_the_setting() -> None:
    with pytest.raises(DocumentTooLarge, match=r"more than 10 rows.*documents\.max_rows"):
        read("a,b\n" + "1,2\n" * 20, "a.csv", limits=ReadLimits(max_rows=10))


def test_a_csv_of_one_endless_line_is_read_as_text() -> None:
    assert len(read("1," * 1_000_000, "a.csv").blocks) == 1


def test_a_field_of_a_megabyte_is_read() -> None:
    long = "\n".join(["word " * 1000] * 200)
    assert len(read(f'name,text\nx,"{long}"\n', "a.csv").text) > 900_000


def test_records_with_a_text_get_their_title_as_heading() -> None:
    records = [
        {
            "id": 7,
            "title": "富士山",
            "text": "日本一高い山。\n\n標高3776m。",
            "tags": ["山", "静岡"],
            "geo": {"lat": 35.36},
        },
        {"id": 8, "name": "plain", "price": 1.50, "on": True, "none": None},
    ]
    document = read("\n".join(json.dumps(record, ensure_ascii=False) for record in records), "a.jsonl")
    assert blocks(document) == [
        ("heading", "富士山"),
        ("paragraph", "日本一高い山。"),
        ("paragraph", "標高3776m。"),
        ("table_row", "id: 7 | tags: 山, 静岡 | geo.lat: 35.36"),
        ("table_row", "id: 8 | name: plain | price: 1.5 | on: true"),
    ]
    assert document.title is None
    assert document.mime_type == "application/jsonl"


def test_a_record_without_a_title_does_not_stand_under_the_one_before() -> None:
    records = [{"text": "a"}, {"title": "T", "text": "b"}, {"id": "x7", "text": "c"}, {"text": "d"}]
    document = read("\n".join(map(json.dumps, records)), "a.jsonl")
    assert [text for kind, text in blocks(document) if kind == "heading"] == ["T", "x7", "#4"]


def test_a_json_list_is_one_block_a_record() -> None:
    document = read('[{"a": 1}, {"a": [{"b": 2}, {"b": 3}]}, "text", 5, null]', "a.json")
    assert [text for _, text in blocks(document)] == ["a: 1", "a.b: 2 | a.b: 3", "text", "5"]


def test_a_json_object_is_one_block_a_member() -> None:
    document = read('{"title": "T", "options": {"x": 1, "y": [1, 2]}, "rows": [{"title": "R", "text": "t"}]}', "a.json")
    assert blocks(document) == [
        ("table_row", "title: T"),
        ("table_row", "options.x: 1 | options.y: 1, 2"),
        ("heading", "rows"),
        ("heading", "R"),
        ("paragraph", "t"),
    ]
    assert headings(document) == [(1, "rows"), (2, "R")]
    assert document.title == "T"


def test_a_single_record_names_the_document() -> None:
    assert read('{"Title": "Plan", "Body": "Go."}', "a.json").title == "Plan"
    assert read('"just text"', "a.json").text == "just text"


def test_numbers_stay_as_they_are_written() -> None:
    digits = "9" * 5000
    assert read(f'{{"n": {digits}, "x": 1.10, "i": NaN}}', "a.json").text == f"n: {digits}\nx: 1.10\ni: NaN"


def test_json_lines_in_a_json_file_are_read() -> None:
    document = read('{"a": 1}\n{"a": 2}\n', "a.json")
    assert document.text == "a: 1\na: 2"
    assert document.mime_type == "application/jsonl"


def test_a_few_broken_lines_are_counted_and_left_out() -> None:
    document = read('{"a": 1}\n' * 20 + "{broken\n", "a.jsonl")
    assert document.metadata == {"unreadable_lines": "1"}
    assert len(document.blocks) == 20


def test_what_is_no_json_is_read_as_text() -> None:
    document = read('// settings\n{"a": 1, // why\n "b": 2}\n', "tsconfig.json")
    assert "// why" in document.text
    assert document.mime_type == "text/plain"


def test_lone_surrogates_in_json_become_storable() -> None:
    assert read('{"a": "x\\ud800y\\u0000z"}', "a.json").text == "a: x\ufffdy z"


def test_line_ends_inside_records_become_the_same() -> None:
    assert read('{"text": "one\\r\\ntwo\\rthree"}', "a.json").text == "one\ntwo\nthree"


def test_json_without_an_ending_is_known_by_its_shape() -> None:
    assert read('{"a": 1}\n{"a": 2}\n', "data").mime_type == "application/jsonl"
    assert read('[{"a": 1}]', "data").mime_type == "application/json"


def test_a_notebook_is_text_and_code() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Plan\n", "\n", "- go"]},
        {"cell_type": "code", "source": "x = 1", "outputs": [{"text": "secret"}]},
        {"cell_type": "raw", "source": "raw"},
        "no cell",
    ]
    document = read(json.dumps({"cells": cells, "nbformat": 4}), "a.ipynb")
    assert blocks(document) == [("heading", "Plan"), ("list_item", "- go"), ("code", "x = 1"), ("paragraph", "raw")]
    assert document.title == "Plan"


def test_what_is_no_notebook_says_so() -> None:
    with pytest.raises(UnreadableDocument, match="JSON is broken"):
        read("{", "a.ipynb")
    with pytest.raises(UnreadableDocument, match="not a notebook of format 4"):
        read("{}", "a.ipynb")
