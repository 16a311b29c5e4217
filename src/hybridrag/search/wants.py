"""What a question asks for, a date, a number, a person, a place, and where a text has such a thing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from hybridrag.language.japanese import JAPANESE_TEXT
from hybridrag.language.normalise import normalise
from hybridrag.language.units import Role, Unit


class Want(StrEnum):
    """The kind of thing that answers a question."""

    DATE = "date"
    NUMBER = "number"
    PERSON = "person"
    PLACE = "place"
    REASON = "reason"
    MANNER = "manner"
    THING = "thing"
    """Anything else: nothing in a text can be told to be of the right kind."""


class Find(NamedTuple):
    """A stretch `text[start:end]` of that kind."""

    want: Want
    start: int
    end: int


_GAP = r"(?:\s+(?!(?:who|where|when|why|how)\b)[\w'’-]+){0,3}?\s+"
"""Up to three words between `which` and its noun: "which two large cities"."""

_YEARS = "year|years|date|dates|day|month|century|decade|era|birthday|birthdate"
_AMOUNTS = (
    "percentage|percent|number|population|amount|size|price|cost|length|height|depth|area|speed|distance|temperature"
    "|age|rate|score|total|quantity|capacity|weight|salary|budget|revenue|width|altitude|elevation|frequency|fee|limit"
)
_PEOPLE = (
    "person|people|man|woman|actor|actress|president|king|queen|emperor|author|writer|singer|musician|director|player"
    "|scientist|founder|leader|minister|chancellor|politician|composer|artist|painter|poet|architect|engineer|inventor"
    "|general|mother|father|wife|husband|son|daughter|brother|sister|spouse|ceo|chairman|manager|mayor|governor|coach"
)
_PLACES = (
    "country|countries|city|cities|state|states|region|town|county|continent|place|island|province|village|nation"
    "|location|district|capital|birthplace|venue|neighborhood|neighbourhood|hometown|prefecture|area of the world"
)
_ENGLISH_WANTS: tuple[tuple[Want, str], ...] = (
    (Want.DATE, rf"when|(?:what|which){_GAP}(?:{_YEARS})|how\s+long\s+ago|since\s+when|(?:what|which)\s+(?:{_YEARS})"),
    (
        Want.NUMBER,
        (
            r"how\s+(?:many|much|old|tall|high|long|far|fast|large|big|deep|heavy|often|wide|frequently|expensive)"
            rf"|(?:what|which)(?:{_GAP}|\s+)(?:{_AMOUNTS})"
        ),
    ),
    (Want.PERSON, rf"who|whom|whose|(?:what|which)(?:{_GAP}|\s+)(?:{_PEOPLE})"),
    (Want.PLACE, rf"where|(?:what|which)(?:{_GAP}|\s+)(?:{_PLACES})"),
    (Want.REASON, r"why|how\s+come|(?:what|which)\s+(?:is|was|are|were)?\s*(?:the\s+)?(?:reasons?|causes?|caused)"),
    (Want.MANNER, "how"),
    (Want.THING, "what|which"),
)
_ENGLISH = tuple((want, re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE)) for want, pattern in _ENGLISH_WANTS)
_WHEN_CLAUSE = re.compile(
    r"^\s*(?:when|where|why)\b[^?]*?,\s*(?=(?:\w+\s+){0,2}(?:what|who|where|which|how|when)\b)", re.IGNORECASE
)
"""`When Columbus sailed, what ...`: the first word opens a clause and asks nothing."""

_COUNTED = (
    "人|名|個|本|枚|回|台|歳|才|円|ドル|件|社|校|種類?|段階|度|つ|冊|頭|匹|軒|階|点|位|倍|割|パーセント|%|キロ|メートル|km|m|分"
    "|時間|年間|日間|週間|[かカヶ]国|[かカヶ]月"
)
_JAPANESE_WANTS: tuple[tuple[Want, str], ...] = (
    (
        Want.DATE,
        "いつ|何時(?!間)|何年(?!間|前から)|何月|何日(?!間)|何世紀|何年代|何曜日|生年月日|年月日|日付|日時は|年は何|西暦",
    ),
    (
        Want.NUMBER,
        (
            f"いくつ|幾つ|いくら|幾ら|ど(?:の|れ)[くぐ]らい|どれほど|何(?:{_COUNTED})|(?:人口|面積|数|長さ|高さ|重さ|大きさ|広さ"
            "|値段|価格|料金|金額|割合|確率|温度|速度|時速|距離|身長|体重|年齢)は"
        ),
    ),
    (Want.PERSON, "誰|だれ|どなた|何者|(?:人物|作者|著者|監督|社長|首相|大統領|創業者|創設者|発明者)は"),
    (
        Want.PLACE,
        "どこ|何処|どちらに|何県|何市|何国|何州|どの(?:国|都市|町|街|県|市|州|地方|地域|場所|島|大陸)|(?:場所|所在地|首都|出身地|国|都市)は",
    ),
    (Want.REASON, "なぜ|何故|どうして|なんで|理由|原因"),
    (Want.MANNER, "どうやって|どのように|どうすれば|どうしたら|方法|やり方|手順"),
    (Want.THING, "何|なに|なん|どの|どれ|どんな|どういう|どのような"),
)
_JAPANESE = tuple((want, re.compile(pattern)) for want, pattern in _JAPANESE_WANTS)


def wanted(question: str) -> Want:
    """The kind of thing that a question asks for: what its first question word says.

    "When was Orin Works founded?" -> date; "Orin Worksを創業したのは誰ですか" -> person; "Orin Works" -> thing
    """
    text = normalise(question)
    clause = _WHEN_CLAUSE.match(text)
    text = text[clause.end() :] if clause else text
    patterns = _JAPANESE if JAPANESE_TEXT.search(text) else _ENGLISH
    # In Japanese the sharper question wins wherever it stands; in English the first, then the sharper.
    best: tuple[int, Want] | None = None
    for want, pattern in patterns:
        match = pattern.search(text)
        if match is None:
            continue
        if patterns is _JAPANESE:
            return want
        if best is None or match.start() < best[0]:
            best = (match.start(), want)
    return best[1] if best else Want.THING


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
