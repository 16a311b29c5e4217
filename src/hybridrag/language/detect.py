"""Say which language a text is in, by its script."""

from __future__ import annotations

import re

from hybridrag.language.scripts import HALF_WIDTH_KANA, HAN, HANGUL, KANA, LATIN

SAMPLE = 4000
"""Characters looked at; a chunk is shorter, and the first pages of a document speak for it."""

JAPANESE_WEIGHT = 3
"""One Japanese character carries as much as about three Latin letters."""

CHINESE_SHARE = 0.05
"""Share of Chinese function words among ideographs above which a text without kana is Chinese."""

CHINESE_LENGTH = 20
"""Ideographs needed for that share to mean anything: 目的 and 完了 are Japanese words too."""

_KANA = re.compile(f"[{KANA}{HALF_WIDTH_KANA}]+")
_HAN = re.compile(f"[{HAN}]+")
_HANGUL = re.compile(f"[{HANGUL}]+")
_LATIN_LETTERS = re.compile(f"[{LATIN[3:]}\uff21-\uff3a\uff41-\uff5a]+")
_OTHER_LETTERS = re.compile(rf"[^\W\d_{KANA}{HALF_WIDTH_KANA}{HAN}{HANGUL}{LATIN[3:]}\uff21-\uff3a\uff41-\uff5a]+")
_CHINESE_ONLY = re.compile(
    "[们这为说对时过见长门问间关东车书马鸟鱼风飞发经济现实应该让还样两么吗呢吧啊您她它這們說讓嗎很啦咱]"
)
_CHINESE_WORDS = re.compile("[的了是在我你他也就与把]")


def detect(text: str) -> str:
    """The language code of `text`: "ja", "en" (any text in Latin letters), "zh", "ko", or "other".

    A short text in ideographs alone is taken for Japanese unless it holds characters that only Chinese uses.

    "国際標準化機構" -> "ja"; "Quarterly report" -> "en"; "我们的报告" -> "zh"; "Привет" -> "other"; "42" -> "other"
    """
    text = text[:SAMPLE]
    if text.isascii():
        return "en" if _LATIN_LETTERS.search(text) else "other"
    kana, han = _count(_KANA, text), _count(_HAN, text)
    weights = {
        "ja": (kana + han) * JAPANESE_WEIGHT,
        "ko": _count(_HANGUL, text) * JAPANESE_WEIGHT,
        "en": _count(_LATIN_LETTERS, text),
        "other": _count(_OTHER_LETTERS, text),
    }
    language = max(weights, key=weights.__getitem__)
    if not weights[language]:
        return "other"
    return "zh" if language == "ja" and _is_chinese(text, kana, han) else language


def _count(pattern: re.Pattern[str], text: str) -> int:
    return sum(map(len, pattern.findall(text)))


def _is_chinese(text: str, kana: int, han: int) -> bool:
    if kana * 20 > han:
        return False
    if _CHINESE_ONLY.search(text):
        return True
    return han >= CHINESE_LENGTH and _count(_CHINESE_WORDS, text) >= CHINESE_SHARE * han
