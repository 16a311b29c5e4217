from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrag.graph.names import (
    Kind,
    SameName,
    fold_key,
    is_japanese,
    name_key,
    pieces,
    same_name,
    strip_honorific,
    strip_legal_form,
)

TEXTS = st.text(
    alphabet=st.sampled_from(list("ab CZ.'-é123、。「」・ーァアンコピュタ漢字東京ﾊﾟｶﾞＡ１氏さん　\n")), max_size=30
)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Retrieval-Augmented  Generation", "retrieval augmented generation"),
        ("ジョン・スミス", "ジョンスミス"),
        ("ジョン スミス", "ジョンスミス"),
        ("ジョン＝スミス", "ジョンスミス"),
        ("コンピューター", "コンピュータ"),
        ("ｺﾝﾋﾟｭｰﾀｰ", "コンピュータ"),
        ("スーパーマーケット", "スーパーマーケット"),
        ("タワー", "タワー"),
        ("Johnson & Johnson", "johnson and johnson"),
        ("The Matrix", "matrix"),
        ("Japan's", "japan"),
        ("Dr. John Smith", "john smith"),
        ("Prof. Dr. Ada Lovelace", "ada lovelace"),
        ("John Smith, Ph.D.", "john smith"),
        ("Dr. Smith", "dr smith"),
        ("General Motors Company", "general motors company"),
        ("President of the United States", "president of the united states"),
        ("山田太郎さん", "山田太郎"),
        ("山田太郎氏", "山田太郎"),
        ("バッキンガム宮殿", "バッキンガム宮殿"),
        ("源氏", "源氏"),
        ("お母さん", "お母さん"),
        ("U.S.A.", "usa"),
        ("J. R. R. Tolkien", "j r r tolkien"),
        ("C++", "c++"),
        ("彼女、お借りします", "彼女、お借りします"),
        ("「君の名は。」", "君の名は"),
        ("The The", "the the"),
        ("Björk", "bjork"),
        ("ＮＨＫ", "nhk"),
    ],
)
def test_one_name_has_one_key_however_it_is_written(name: str, key: str) -> None:
    assert name_key(name) == key


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ("J. R. R. Tolkien", "John Ronald Reuel Tolkien", SameName.INITIALS),
        ("George W. Bush", "George Walker Bush", SameName.INITIALS),
        ("J. Smith", "John Smith", None),
        ("John Smith", "Jane Smith", None),
        ("Dr. Smith", "Smith", None),
        ("Dr. John Smith", "john smith", SameName.HONORIFIC),
        ("山田太郎さん", "山田太郎", SameName.HONORIFIC),
        ("コンピュータ", "コンピューター", SameName.LONG_VOWEL),
        ("ＮＨＫ", "nhk", SameName.SPELLING),
        ("ジョン・スミス", "ジョン スミス", SameName.SPELLING),
        ("ジョン・スミス", "John Smith", None),
        ("Apple Inc.", "Apple", SameName.LEGAL_FORM),
        ("株式会社青空", "青空", SameName.LEGAL_FORM),
        ("渡邊謙", "渡辺謙", SameName.KANJI_VARIANT),
        ("Björk", "Bjork", SameName.DIACRITICS),
        ("", "Apple", None),
    ],
)
def test_a_merge_of_two_spellings_has_a_reason_or_does_not_happen(
    first: str, second: str, reason: SameName | None
) -> None:
    assert same_name(first, second) is reason
    assert same_name(second, first) is reason


def test_a_legal_form_alone_is_kept() -> None:
    assert strip_legal_form("株式会社") == "株式会社"
    assert strip_legal_form("company") == "company"
    assert strip_legal_form("青空株式会社") == "青空"


def test_an_honorific_alone_is_kept() -> None:
    assert strip_honorific("さん") == "さん"
    assert strip_honorific("Mr. President") == "Mr. President"


def test_japanese_is_told_by_its_script() -> None:
    assert is_japanese("SPRiNGSの歌")
    assert not is_japanese("Ünïcode")


def test_pieces_know_where_they_stand() -> None:
    text = "Dr.ｶﾞｽ、C++!"
    assert [(it.kind, it.text, text[it.start : it.end]) for it in pieces(text)] == [
        (Kind.WORD, "dr", "Dr"),
        (Kind.RUN, "ガス", "ｶﾞｽ"),
        (Kind.GAP, "、", "、"),
        (Kind.WORD, "c++", "C++"),
    ]


def test_a_dropped_long_vowel_belongs_to_the_character_before_it() -> None:
    (run,) = pieces("サーバー")
    assert run.text == "サーバ"
    assert run.spans == ((0, 1), (1, 2), (2, 4))


@given(TEXTS)
def test_the_key_of_a_key_is_itself(text: str) -> None:
    key = fold_key(text)
    assert fold_key(key) == key


@given(TEXTS)
def test_pieces_stand_in_order(text: str) -> None:
    found = list(pieces(text))
    assert all(left.start <= right.start and left.start < left.end for left, right in pairwise(found))
    assert all(len(it.spans) in {0, len(it.text)} for it in found)


@given(TEXTS, TEXTS)
def test_the_same_name_has_no_order(first: str, second: str) -> None:
    assert same_name(first, second) is same_name(second, first)
