"""Where a text has a date, a number, a person, a place: things of the kind that a question may want."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hybridrag.language.units import Role, Unit
from hybridrag.types.queries import Want


class Find(NamedTuple):
    """A stretch `text[start:end]` of that kind."""

    want: Want
    start: int
    end: int


_COUNTED = (
    "人|名|個|本|枚|回|台|歳|才|円|ドル|件|社|校|種類?|段階|度|つ|冊|頭|匹|軒|階|点|位|倍|割|パーセント|%|キロ|メートル|km|m|分"
    "|時間|年間|日間|週間|[かカヶ]国|[かカヶ]月"
)
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_NUMBER_WORDS = (
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen"
    "|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundreds?|thousands?|millions?|billions?|dozens?"
    "|half|twice|thrice"
)
_CAPITAL = r"[A-ZÀ-ÖØ-Þ][\w'’-]*"
_NAME = rf"{_CAPITAL}\.?(?:\s+(?:(?:de|da|del|der|di|du|la|le|van|von|bin|al|of|the)\s+)?{_CAPITAL}\.?)+"
_DATES = re.compile(
    rf"\b(?:{_MONTHS})\s+\d{{1,2}}(?:,?\s+\d{{4}})?\b|\b(?:\d{{1,2}}\s+)?(?:{_MONTHS})\s+\d{{4}}\b"
    r"|\b(?:1\d{3}|20\d{2})s?\b|\b\d{1,2}(?:st|nd|rd|th)[\s-]+century\b|\b\d{1,4}\s+(?:BCE?|AD|CE)\b|\bAD\s+\d{1,4}\b"
    r"|\d{1,4}年(?:代|頃|ごろ)?(?:\d{1,2}月(?:\d{1,2}日)?)?|\d{1,2}月\d{1,2}日|\d{1,2}世紀|(?:明治|大正|昭和|平成|令和)(?:元|\d{1,2})年"
    r"|\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}:\d{2}\b"
)
_NUMBERS = re.compile(
    rf"(?<![\w.])(?!(?:1\d{{3}}|20\d{{2}})(?![\d,.%]|\s*(?:{_COUNTED})))\d[\d,.]*(?!\d*[年月世])|\b(?:{_NUMBER_WORDS})\b"
    rf"|[一二三四五六七八九十百千万億]+(?:{_COUNTED})|(?<=[^\W\d_])\d[\d,.]*(?=(?:{_COUNTED}))",
    re.IGNORECASE,
)
_PERSONS = re.compile(
    rf"{_NAME}|\b(?:Mr|Mrs|Ms|Dr|Prof|Sir|Dame|King|Queen|Pope|President|Emperor)\.?\s+{_CAPITAL}"
    "|[ァ-ヴー]{2,}(?:[・=][ァ-ヴー]{1,})+|[一-龥々]{2,6}(?=氏|さん|博士|監督|選手|教授|首相|大統領|天皇)"
)
_PLACE_NAMES = re.compile(
    rf"(?:(?<=\bin\s)|(?<=\bat\s)|(?<=\bnear\s)|(?<=\bfrom\s)|(?<=\bto\s)|(?<=\binto\s)|(?<=\bof\s)|(?<=\bthe\s))"
    rf"{_CAPITAL}(?:\s+{_CAPITAL})*|{_CAPITAL}(?:\s+{_CAPITAL})*,\s+{_CAPITAL}"
    r"|[一-龥々ァ-ヴー]{1,10}(?:都|道|府|県|市|区|町|村|州|国|島|山|川|湖|駅|半島|大陸|地方)"
)
_REASONS = re.compile(
    r"\b(?:because|due\s+to|since|owing\s+to|therefore|as\s+a\s+result|caused|causes?|in\s+order\s+to|so\s+that|led\s+to"
    r"|reasons?|thanks\s+to|resulted|thus|hence)\b|ため|ので|から、|によって|により|理由|原因|せいで|おかげ",
    re.IGNORECASE,
)
_MANNERS = re.compile(
    r"\bby\s+\w+ing\b|\b(?:using|through|via|method|process|technique|first|then|finally|steps?)\b"
    "|によって|により|方法|手順|用いて|使って|ことで",
    re.IGNORECASE,
)
_PATTERNS = {
    Want.DATE: _DATES,
    Want.NUMBER: _NUMBERS,
    Want.PERSON: _PERSONS,
    Want.PLACE: _PLACE_NAMES,
    Want.REASON: _REASONS,
    Want.MANNER: _MANNERS,
}
_PERSON_ROLES = frozenset((Role.FAMILY_NAME, Role.GIVEN_NAME))


def find_kind(want: Want, text: str, units: Sequence[tuple[int, Unit]]) -> Iterator[Find]:
    """What a normalised text holds of one kind, as far as form tells; nothing for a thing.

    date, "Orin Works was founded in 1987." -> 1987

    `units` are the language layer's of the same text: it knows Japanese names of people and places.
    """
    pattern = _PATTERNS.get(want)
    if pattern is None:
        return
    for match in pattern.finditer(text):
        yield Find(want, match.start(), match.end())
    if want is Want.PERSON:
        yield from (Find(want, at, at + _length(unit)) for at, unit in units if unit.role in _PERSON_ROLES)
    if want is Want.PLACE:
        yield from (Find(want, at, at + len(unit.place)) for at, unit in units if unit.place)


def _length(unit: Unit) -> int:
    return max(part.end for part in unit.parts)
