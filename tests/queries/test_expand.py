"""Query expansion: whole words in any script, the question itself first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrag.queries.expand import MAX_EXPANSIONS, expand
from model_strategies import SETTINGS


def expanded(query: str, synonyms: Mapping[str, Sequence[str]], **limit: int) -> tuple[str, ...]:
    return tuple(expansion.text for expansion in expand(query, synonyms, {}, **limit))


def test_the_question_comes_first_then_one_variant_for_each_synonym() -> None:
    assert expanded("car price", {"car": ["automobile", "auto"], "price": ["cost"]}) == (
        "car price",
        "automobile price",
        "car cost",
        "auto price",
    )


def test_a_question_without_known_words_stands_alone() -> None:
    assert expanded("train fare", {"car": ["automobile"]}) == ("train fare",)
    assert expanded("train fare", {}) == ("train fare",)


@pytest.mark.parametrize(
    ("query", "word", "expected"),
    [
        ("the CAR and the Car", "car", "the auto and the auto"),
        ("car-park", "car", "auto-park"),
        ("(car)", "car", "(auto)"),
        ("carpet", "car", None),
        ("supercar", "car", None),
        ("car_2", "car", None),
        ("cars", "car", None),
        ("the cafés", "café", None),
        ("the café", "café", "the auto"),
        ("cafe\u0301", "cafe", None),
        ("который", "кот", None),
        ("мой кот", "кот", "мой auto"),
        ("C++ или C#", "c++", "auto или C#"),
        ("a.b or aab", "a.b", "auto or aab"),
    ],
)
def test_a_word_of_letters_matches_as_a_whole_word_only(query: str, word: str, expected: str | None) -> None:
    assert expanded(query, {word: ["auto"]}) == ((query,) if expected is None else (query, expected))


@pytest.mark.parametrize(
    ("query", "word", "expected"),
    [
        ("車の値段は", "車", "自動車の値段は"),
        ("カーの値段", "カー", "自動車の値段"),
        ("カードの値段", "カー", None),
        ("スーパーカーの値段", "カー", None),
        ("ｶｰの値段", "ｶｰ", "自動車の値段"),
        ("ガソリンカ\u3099", "カ", None),
        ("APIの使い方", "api", "自動車の使い方"),
        ("新APIとは", "API", "新自動車とは"),
        ("APIsの使い方", "API", None),
        ("くるまの値段", "くるま", "自動車の値段"),
    ],
)
def test_japanese_matches_without_spaces_and_katakana_as_a_whole_word(
    query: str, word: str, expected: str | None
) -> None:
    assert expanded(query, {word: ["自動車"]}) == ((query,) if expected is None else (query, expected))


def test_repeats_and_variants_that_say_nothing_are_left_out() -> None:
    assert expanded("car", {"car": ["auto", "auto", "car", "", "  "], "CAR": ["auto"]}) == ("car", "auto")


def test_a_synonym_is_taken_letter_by_letter() -> None:
    assert expanded("path", {"path": [r"C:\1\g<0>"]}) == ("path", r"C:\1\g<0>")


@pytest.mark.parametrize("word", ["", "  "])
def test_an_empty_word_matches_nothing(word: str) -> None:
    assert expanded("car", {word: ["auto"]}) == ("car",)


def test_there_are_at_most_sixteen_and_always_the_question() -> None:
    synonyms = {"car": [f"car{number}" for number in range(50)]}
    assert len(expanded("car", synonyms)) == MAX_EXPANSIONS == 16
    assert expanded("car", synonyms, limit=2) == ("car", "car0")
    assert expanded("car", synonyms, limit=0) == ("car",)


words = st.text(max_size=6)


@SETTINGS
@given(query=st.text(max_size=30), synonyms=st.dictionaries(words, st.lists(words, max_size=3), max_size=4))
def test_any_question_and_any_synonyms_give_the_question_and_no_repeats(
    query: str, synonyms: dict[str, list[str]]
) -> None:
    expansions = expanded(query, synonyms)
    assert expansions[0] == query
    assert len(set(expansions)) == len(expansions) <= MAX_EXPANSIONS


@SETTINGS
@given(before=words, word=st.text("abcxyzäßаб0", min_size=1), after=words)
def test_a_word_with_spaces_around_it_is_always_found(before: str, word: str, after: str) -> None:
    query = f"{before} {word} {after}"
    assert len(expanded(query, {word: ["\N{SNOWMAN}\N{SNOWMAN}"]})) == 2
