from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrag.language.detect import detect


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("国際標準化機構", "ja"),
        ("東京都都有地活用", "ja"),
        ("これは日本語です", "ja"),
        ("ｶﾀｶﾅ", "ja"),
        ("PythonのrequestsライブラリでHTTPを使う", "ja"),
        ("Quarterly report", "en"),
        ("Café à la carte", "en"),
        ("ＡＰＩ", "en"),
        ("The word 寿司 is Japanese for a dish of rice with fish", "en"),
        ("我们的报告", "zh"),
        ("這是一個測試", "zh"),
        ("全国人民代表大会是最高国家权力机关它的常设机关是常务委员会", "zh"),
        ("主席在北京的住所是最近才公布的他也就成了名人而我在那里", "zh"),
        ("서울은 대한민국의 수도", "ko"),
        ("Привет, мир", "other"),
        ("สวัสดี", "other"),
        ("42", "other"),
        ("、。！", "other"),
        ("", "other"),
    ],
)
def test_the_script_says_the_language(text: str, language: str) -> None:
    assert detect(text) == language


@given(st.text(alphabet=st.characters()))
def test_every_text_has_a_language_code(text: str) -> None:
    assert detect(text) in {"ja", "en", "zh", "ko", "other"}
