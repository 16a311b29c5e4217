"""Synonym files and expansion: symmetric groups, clear errors, the question first, everything else for less."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridrag.errors import InvalidSettings
from hybridrag.queries.expand import EXPANSION_WEIGHTS, MAX_EXPANSIONS, Expansion, ExpansionSource, expand
from hybridrag.queries.synonyms import MAX_BYTES, MAX_WORD, default_synonyms, load_synonyms

ORIGINAL, ALIAS, SYNONYM = ExpansionSource.ORIGINAL, ExpansionSource.ALIAS, ExpansionSource.SYNONYM


def written(folder: Path, text: str) -> Path:
    path = folder / "synonyms.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_word_of_a_group_stands_for_the_others(tmp_path: Path) -> None:
    path = written(tmp_path, "car, automobile, 自動車\n")
    assert load_synonyms(path) == {
        "car": ("automobile", "自動車"),
        "automobile": ("car", "自動車"),
        "自動車": ("car", "automobile"),
    }


def test_comments_empty_lines_a_byte_order_mark_and_japanese_commas_are_read(tmp_path: Path) -> None:
    path = written(tmp_path, "\ufeff# vehicles\n\n  # more\ncar、automobile\r\n顧客，お客様,\n")
    assert set(load_synonyms(str(path))) == {"car", "automobile", "顧客", "お客様"}


def test_a_word_in_two_groups_stands_for_the_words_of_both_and_they_not_for_each_other(tmp_path: Path) -> None:
    found = load_synonyms(written(tmp_path, "summary, 概要\noverview, 概要\n"))
    assert found["概要"] == ("summary", "overview")
    assert found["summary"] == ("概要",)


def test_the_same_word_in_another_case_or_width_is_one_word(tmp_path: Path) -> None:
    assert load_synonyms(written(tmp_path, "API, ＡＰＩ, interface\n")) == {
        "ＡＰＩ": ("interface",),
        "interface": ("ＡＰＩ",),
    }


@pytest.mark.parametrize(
    ("text", "where", "expected"),
    [
        ("car, automobile\ncar\n", "line 2", "at least two different words"),
        ("car, CAR", "line 1", "at least two different words"),
        ("car: automobile", "line 1", "at least two different words"),
        (",,,", "line 1", "at least two different words"),
        ("car, " + "a" * (MAX_WORD + 1), "line 1", "81 characters"),
    ],
)
def test_a_line_that_is_no_group_is_named_with_its_number(tmp_path: Path, text: str, where: str, expected: str) -> None:
    with pytest.raises(InvalidSettings) as caught:
        load_synonyms(written(tmp_path, text))
    assert where in str(caught.value)
    assert expected in str(caught.value)
    assert "search.synonyms" in str(caught.value)


def test_a_file_that_is_missing_a_folder_too_large_or_not_utf8_is_one_clear_sentence(tmp_path: Path) -> None:
    large, latin = tmp_path / "large.txt", tmp_path / "latin.txt"
    large.write_bytes(b"a, b\n" * MAX_BYTES)
    latin.write_bytes("café, bar".encode("latin-1"))
    for path, expected in (
        (tmp_path / "none.txt", "No such file"),
        (tmp_path, "cannot be read"),
        ("nul\0", "cannot be read"),
        (large, "more than 1,000,000 bytes"),
        (latin, "UTF-8"),
    ):
        with pytest.raises(InvalidSettings) as caught:
            load_synonyms(path)
        assert expected in str(caught.value)


def test_the_list_that_ships_is_symmetric_and_covers_both_languages() -> None:
    known = default_synonyms()
    assert "会議" in known["meeting"]
    assert "meeting" in known["会議"]
    assert all(word in known[other] for word, others in known.items() for other in others)
    assert len(known) > 300


def test_expansions_show_what_was_replaced_by_what_and_count_less_than_the_question() -> None:
    found = expand("Acme meeting", {"meeting": ["会議"]}, {"acme": ["Acme Corporation"]})
    assert found == [
        Expansion("Acme meeting", "", "", ORIGINAL),
        Expansion("Acme Corporation meeting", "Acme", "Acme Corporation", ALIAS),
        Expansion("Acme 会議", "meeting", "会議", SYNONYM),
    ]
    assert [expansion.weight for expansion in found] == [1.0, 0.8, 0.6]
    assert all(weight < 1 for source, weight in EXPANSION_WEIGHTS.items() if source is not ORIGINAL)


def test_a_word_with_many_synonyms_does_not_crowd_out_the_others() -> None:
    many = [f"car{number}" for number in range(50)]
    found = expand("car price", {"car": many, "price": ["cost"]}, {})
    assert [expansion.text for expansion in found[:3]] == ["car price", "car0 price", "car cost"]
    assert len(found) == MAX_EXPANSIONS


def test_at_least_the_question_comes_back_and_at_most_the_limit() -> None:
    assert [it.text for it in expand("car", {"car": ["auto", "van"]}, {}, limit=0)] == ["car"]
    assert [it.text for it in expand("car", {"car": ["auto", "van"]}, {}, limit=2)] == ["car", "auto"]
    assert [it.text for it in expand("car", {}, {})] == ["car"]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("会議室の予約", []),
        ("会議の予約", ["meetingの予約"]),
        ("会議", ["meeting"]),
        ("ＤＢの設定", ["databaseの設定"]),
        ("dbms", []),
        ("DB", ["database"]),
    ],
)
def test_words_match_whole_in_any_width_and_ideographs_apart(question: str, expected: list[str]) -> None:
    found = expand(question, {"会議": ["meeting"], "db": ["database"]}, {})
    assert [expansion.text for expansion in found[1:]] == expected


def test_what_would_be_the_same_search_comes_once() -> None:
    found = expand("API  design", {"api": ["ＡＰＩ", "Api", "", " ", r"\1"]}, {"API": ["api"]})
    assert [expansion.text for expansion in found] == ["API  design", r"\1  design"]
