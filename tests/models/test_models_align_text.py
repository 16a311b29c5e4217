from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hybridrag.models.align_text import align, normalise

ORDINARY = st.characters(blacklist_categories=["Cs", "Cc"], blacklist_characters="～▁\ufeff\ufffd\u1680\u2028\u2029")
ZERO_WIDTH = {chr(code) for code in range(0x200B, 0x2010)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain English", "plain English"),
        ("ｶﾞｲﾄﾞ①", "ガイド1"),
        ("か\u3099き\u3099", "がぎ"),
        ("ＦＵＬＬ　ＷＩＤＴＨ", "FULL WIDTH"),
        ("10～20時", "10～20時"),
        ("a\x00b\x07c", "abc"),
        ("zero\u200bwidth", "zero width"),
        ("\ufeffstart", " start"),
        ("\u1112\u1161\u11ab\u1100\u116e\u11a8", "한국"),
        ("㈱㌔", "(株)キロ"),
        ("", ""),
    ],
)
def test_text_is_normalised_as_the_models_were_trained(text: str, expected: str) -> None:
    assert normalise(text) == expected
    assert align(text).text == expected


@given(st.text(ORDINARY))
@example("e\u0301\u0323")
@example("\u0301")
@example("か\u3099゛ﾞ")
@example("\u0dd9\u0dcf")
def test_ordinary_text_becomes_its_nfkc_form(text: str) -> None:
    if not ZERO_WIDTH & set(text):
        assert normalise(text) == unicodedata.normalize("NFKC", text)


@given(st.text(st.characters(codec=None)))
def test_every_character_of_the_result_has_its_place_in_the_original(text: str) -> None:
    aligned = align(text)
    assert aligned.text == normalise(text)
    if aligned.starts is None or aligned.ends is None:
        assert aligned.text == text
        return
    assert len(aligned.starts) == len(aligned.ends) == len(aligned.text)
    assert (aligned.starts < aligned.ends).all()
    assert (np.diff(aligned.starts) >= 0).all()
    assert (np.diff(aligned.ends) >= 0).all()
    assert all(start >= 0 and end <= len(text) for start, end in zip(aligned.starts, aligned.ends, strict=True))


def test_a_composed_character_stands_for_all_that_it_was_made_of() -> None:
    aligned = align("xｶﾞy")
    place = aligned.text.index("ガ")
    spans = aligned.spans(np.array([place], dtype=np.int32), np.array([place + 1], dtype=np.int32))
    assert spans.tolist() == [[1, 3]]
