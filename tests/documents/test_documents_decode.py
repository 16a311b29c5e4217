"""Bytes of any encoding become the text that was meant; binary data becomes an error."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrag.documents.decode import codec_of, decode
from hybridrag.errors import UnknownFormat

JAPANESE = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp932", "euc_jp", "iso2022_jp")
TEXTS = (
    "日本語",
    "テスト",
    "東京",
    "これは短い文です。",
    "Hello, 世界",
    "名前,年齢\n太郎,20\n",
    "価格: 100円",
    "株式会社",
    "吾輩は猫である。名前はまだ無い。\n" * 40,
)


@pytest.mark.parametrize("encoding", JAPANESE)
@pytest.mark.parametrize("text", TEXTS)
def test_japanese_is_read_in_every_encoding(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding), name="x").text == text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("①㈱髙橋".encode("cp932"), "①㈱髙橋"),
        ("ﾔﾏﾀﾞ ﾀﾛｳ".encode("cp932"), "ﾔﾏﾀﾞ ﾀﾛｳ"),
        ("ﾔﾏﾀﾞ ﾀﾛｳ".encode("euc_jp"), "ﾔﾏﾀﾞ ﾀﾛｳ"),
        ("Ⅷ①の件".encode("euc_jis_2004"), "Ⅷ①の件"),
        (b"\x1b$B-!-j\x1b(B ok", "①㈱ ok"),
        (b"\x1b(I16@\x1b(B", "ｱｶﾀ"),
        (b"\x1b$(D0!\x1b(B", "丂"),
        (b"\x1b(B" + "漢字".encode("iso2022_jp"), "漢字"),
        (b"\x1b$(Q\x28\x21\x1b(B", b"\x1b$(Q\x28\x21\x1b(B".decode("iso2022_jp_2004")),
    ],
)
def test_characters_that_only_vendors_defined_are_read_too(data: bytes, text: str) -> None:
    assert decode(data, name="x").text == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("café au lait, naïve résumé", "cp1252"),
        ("“Smart” quotes – it’s", "cp1252"),
        ("Straße und Übung für alle Mädchen", "cp1252"),
        ("Привет, как дела? Это довольно длинный русский текст для проверки.", "cp1251"),
        ("Привет, как дела? Это довольно длинный русский текст для проверки.", "koi8-r"),
        ("这是一个中文文本，用来测试编码检测的效果如何，希望能够正确识别。", "gb18030"),
        ("這是一個中文文本，用來測試編碼檢測的效果如何，希望能夠正確識別。", "big5"),
        ("이것은 한국어 텍스트입니다. 인코딩 감지를 테스트합니다. 오늘은 날씨가 매우 좋습니다.", "cp949"),
        ("東京都千代田区永田町一丁目七番一号 大阪府大阪市北区中之島一丁目三番二十号", "euc_jp"),
        ("東京都千代田区永田町一丁目七番一号 大阪府大阪市北区中之島一丁目三番二十号", "cp932"),
    ],
)
def test_other_languages_are_recognised(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding), name="x").text == text


def test_line_ends_of_every_system_become_the_same() -> None:
    assert decode(b"a\r\nb\rc\nd", name="x").text == "a\nb\nc\nd"


def test_a_stray_nul_becomes_a_space_and_moves_nothing() -> None:
    data = b"a log\x00that a crash left a hole in\n" + b"and that goes on for a while\n" * 20
    text = decode(data, name="x").text
    assert "\x00" not in text
    assert len(text) == len(data)


def test_a_cut_off_character_costs_only_itself() -> None:
    text = decode("これは途中で切れた文です。終わり".encode()[:-1], name="x").text
    assert text.startswith("これは途中で切れた文です。終わ")


@pytest.mark.parametrize(
    "data",
    [
        b"\x7fELF\x02\x01\x01" + bytes(60),
        bytes(range(256)) * 4,
        b"\x00" * 100,
        random.Random(1).randbytes(300),
        random.Random(2).randbytes(5000),
        b"text" + bytes(range(1, 32)) * 3,
        # Regression: the number 1.0 over and over was read as UTF-16 kanji (耀?耀?).
        b"\x08\x02\x08\x03\x08\x04\x10\x01B\x01XJ`" + b"\x00\x00\x80?" * 24,
    ],
)
def test_binary_data_is_no_text(data: bytes) -> None:
    with pytest.raises(UnknownFormat, match="binary data, not text"):
        decode(data, name="x")


def test_a_declared_encoding_is_honoured() -> None:
    data = "Ünïcödé ąę".encode("iso8859-4", "replace")
    assert decode("漢".encode("euc_jp"), name="x", declared="EUC-JP").text == "漢"
    assert decode("漢字".encode("cp932"), name="x", declared="x-sjis").encoding == "cp932"
    assert decode(data, name="x", declared="iso-8859-4").encoding == "iso8859-4"


def test_a_declaration_that_cannot_be_true_is_not_believed() -> None:
    assert decode("日本語の文".encode(), name="x", declared="iso-8859-1").text == "日本語の文"
    assert decode("日本語の文".encode("cp932"), name="x", declared="utf-8").text == "日本語の文"
    assert decode("日本語の文".encode("cp932"), name="x", declared="no-such").text == "日本語の文"


def test_declarations_mean_what_browsers_take_them_for() -> None:
    assert codec_of("Shift_JIS") == "cp932"
    assert codec_of("latin1") == "cp1252"
    assert codec_of("GB2312") == "gb18030"
    assert codec_of("base64") is None
    assert codec_of(None) is None


def test_a_long_file_that_begins_in_ascii_is_judged_by_its_foreign_part() -> None:
    text = "id,value\n" * 20_000 + "名前,太郎\n" * 20
    assert decode(text.encode("cp932"), name="x").text == text


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_any_utf8_text_comes_back_unchanged(text: str) -> None:
    assert decode(text.encode(), name="x").text == text.removeprefix("\ufeff")


@given(st.binary(max_size=300))
def test_any_bytes_are_text_or_an_error(data: bytes) -> None:
    try:
        text = decode(data, name="x").text
    except UnknownFormat:
        return
    assert "\x00" not in text
    assert "\r" not in text
