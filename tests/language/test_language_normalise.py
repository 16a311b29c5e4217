from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrag.language.normalise import MAX_MARKS, fold, fold_normalised, normalise, normalise_with_offsets
from hybridrag.language.variants import IDEOGRAPHS, NAME_IDEOGRAPHS

TRICKY = (
    "abcXYZ019 \t\n\r-'\x00\x0b\x1f\x7f\x85\xad\u200b\u200d\u200e\u202e\u2028\u2060\ufeff\ufe0f\U000e0100\ud800\udfff"
    "アカサンッー‐‑–—―−－─〜～ｱｶﾊﾞﾟｰ゛゜\u3099\u309a\u0301\u0323\u0308がぎ漢字國髙﨑𠮷⻑①②½²㍿㌔㈱℃™ﬁéÅ가ㄱㅏᄀ\u1161\u11a8👍🏽🇯"
)
texts = st.one_of(
    st.text(alphabet=st.sampled_from(TRICKY), max_size=30),
    st.text(alphabet=st.characters(), max_size=30),
)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("ﾃﾞｰﾀﾍﾞｰｽ（ＡＰＩ）", "データベース(API)"),
        ("か\u3099は\u309aき゛", "がぱぎ"),
        ("㍿㌔㈱", "株式会社キロ(株)"),
        ("國學 髙﨑 渡邊 𠮷野", "国学 高崎 渡辺 吉野"),
        ("葛\U000e0100城", "葛城"),
        ("⻑い⽇", "長い日"),
        ("サ―バ― コンピュ－タ デ−タ", "サーバー コンピュータ データ"),
        ("データ――つまり", "データ——つまり"),
        ("ロンドン—パリ", "ロンドン—パリ"),
        ("サーバ-クライアント", "サーバ-クライアント"),
        ("Aー1 03ー1234", "A-1 03-1234"),
        ("non‑breaking – 1990–1995", "non-breaking - 1990-1995"),
        ("東京〜大阪～", "東京~大阪~"),
        ("don’t ‘x’", "don't 'x'"),
        ("①②③ 1½ 10²", "1 2 3 1 1/2 10 2"),
        ("m² CO₂ ㎡", "m2 CO2 m2"),
        ("Windows™", "Windows"),
        ("ﬁnance", "finance"),
        ("zero\u200bwidth\u2060 so\u00adft", "zerowidth soft"),
        ("\u202eright\u200f", "right"),
        ("a\x00b\x07c", "a b c"),
        ("\ud83d!", "\ufffd!"),
        ("a\u2028b", "a\nb"),
        ("¨ a゛ か゛\n゛", "¨ a゛ が\n゛"),
        ("plain ASCII\n", "plain ASCII\n"),
        ("普通の文章です。", "普通の文章です。"),
        ("", ""),
    ],
)
def test_spellings_of_one_thing_get_one_form(text: str, normal: str) -> None:
    assert normalise(text) == normal


def test_every_character_knows_where_it_came_from() -> None:
    normal = normalise_with_offsets("ﾊﾞ㍿e\u0301!")
    assert normal.text == "バ株式会社é!"
    assert normal.offsets == [(0, 2), (2, 3), (2, 3), (2, 3), (2, 3), (3, 5), (5, 6)]
    assert normal.span(1, 6) == (2, 5)


def test_dropped_signs_belong_to_the_character_they_change() -> None:
    assert normalise_with_offsets("葛\U000e0100城").offsets == [(0, 2), (2, 3)]
    assert normalise_with_offsets("\ufeffa\u200bb").offsets == [(1, 2), (3, 4)]


@given(texts)
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once


@given(texts)
def test_offsets_are_in_range_and_never_go_back(text: str) -> None:
    normal = normalise_with_offsets(text)
    assert len(normal.starts) == len(normal.ends) == len(normal.text)
    assert all(0 <= start < end <= len(text) for start, end in normal.offsets)
    assert list(normal.starts) == sorted(normal.starts)
    assert list(normal.ends) == sorted(normal.ends)


@given(texts)
def test_what_is_normalised_can_be_stored(text: str) -> None:
    normal = normalise(text)
    normal.encode()
    assert "\x00" not in normal
    assert not any(unicodedata.category(char) == "Cf" for char in normal)


@given(texts)
def test_folding_twice_changes_nothing(text: str) -> None:
    once = fold(text)
    assert fold(once) == once
    assert fold_normalised(normalise(text)) == once


@given(texts, texts)
def test_lines_are_normalised_alike_alone_and_together(left: str, right: str) -> None:
    assert normalise(left + "\n" + right) == normalise(left) + "\n" + normalise(right)


def test_folding_removes_case_accents_and_old_ideographs() -> None:
    assert fold("Ｃａｆé STRASSE straße 澤田 İ Łódź") == "cafe strasse strasse 沢田 i lodz"


def test_piled_up_marks_are_cut_and_take_linear_time() -> None:
    assert len(normalise("a" + "\u0301\u0323" * 50_000)) <= MAX_MARKS + 1


def test_no_variant_leads_to_another_variant() -> None:
    tables = IDEOGRAPHS | NAME_IDEOGRAPHS
    assert not set(tables) & set(tables.values())
    assert all(len(key) == len(value) == 1 for key, value in tables.items())
