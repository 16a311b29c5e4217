from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrag.language.words import ENGLISH_STOP_WORDS, JAPANESE_STOP_WORDS, keywords


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("TypeScriptとReactの違いは何ですか", ["TypeScript", "React", "違い"]),
        ("What is the difference between Vue and React?", ["difference", "Vue", "React"]),
        ("第3四半期の売上高はどのように変化しましたか", ["第3四半期", "売上高", "変化"]),
        ("走った距離を教えてください", ["走る", "距離"]),
        ("How do I configure max_tokens in config.toml?", ["configure", "max_tokens", "config.toml"]),
        ("国際標準化機構の役割と歴史について", ["国際標準化機構", "役割", "歴史"]),
        ("山田太郎が所属する会社はどこですか", ["山田太郎", "所属", "会社"]),
        ("全体の傾向をまとめて", ["全体", "傾向", "まとめる"]),
        ("2024年3月の会議とAPIとapi", ["2024年3月", "会議", "API"]),
        ("なぜ売上が落ちたのか", ["売上", "落ちる"]),
        ("", []),
    ],
)
def test_keywords_are_what_a_query_is_about(query: str, expected: list[str]) -> None:
    assert keywords(query) == expected


def test_stop_words_are_case_folded() -> None:
    assert all(word == word.casefold() for word in ENGLISH_STOP_WORDS | JAPANESE_STOP_WORDS)


@given(st.text(alphabet=st.characters(), max_size=60))
def test_keywords_are_never_empty_and_come_once(text: str) -> None:
    found = keywords(text)
    assert all(found)
