"""What kind of thing a question asks for: a date, a number, a person, a place, a reason, a way to do it."""

from __future__ import annotations

import re

from hybridrag.language.japanese import JAPANESE_TEXT
from hybridrag.language.normalise import normalise
from hybridrag.queries.words import any_of, english, japanese
from hybridrag.types.queries import Want

_NOT_BETWEEN = any_of(english("question_words", "prepositions") | {"a", "an", "do", "does", "did", "per"})
_GAP = rf"(?:\s+(?!{_NOT_BETWEEN}\b)[\w'’-]+){{0,3}}?\s+"
"""Up to three words between `which` and its noun: "which two large cities", not "what do we get a week"."""

_TIMES = any_of(english("times"))
_AMOUNTS = any_of(english("amounts"))
_PLACES = any_of(english("places"))
_PEOPLE = any_of(english("people", "kin", "offices", "professions"))
_ENGLISH_WANTS: tuple[tuple[Want, str], ...] = (
    (Want.DATE, rf"when|(?:what|which)(?:{_GAP}|\s+){_TIMES}s?|how\s+long\s+ago|since\s+when"),
    (
        Want.NUMBER,
        (
            r"how\s+(?:many|much|old|tall|high|long|far|fast|large|big|deep|heavy|often|wide|frequently|expensive)"
            rf"|(?:what|which)(?:{_GAP}|\s+){_AMOUNTS}s?"
        ),
    ),
    (Want.PERSON, rf"who|whom|whose|(?:what|which)(?:{_GAP}|\s+){_PEOPLE}s?"),
    (Want.PLACE, rf"where|(?:what|which)(?:{_GAP}|\s+)(?:{_PLACES}s?|cities|countries|counties)"),
    (Want.REASON, r"why|how\s+come|(?:what|which)\s+(?:is|was|are|were)?\s*(?:the\s+)?(?:reasons?|causes?|caused)"),
    (Want.MANNER, "how"),
    (Want.THING, "what|which"),
)
_ENGLISH = tuple((want, re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE)) for want, pattern in _ENGLISH_WANTS)
_WHEN_CLAUSE = re.compile(
    r"^\s*(?:when|where|why)\b[^?]*?,\s*(?=(?:\w+\s+){0,2}(?:what|who|where|which|how|when)\b)", re.IGNORECASE
)
"""`When Columbus sailed, what ...`: the first word opens a clause and asks nothing."""

_JAPANESE_AMOUNTS, _JAPANESE_PLACES = any_of(japanese("amounts")), any_of(japanese("places"))
_JAPANESE_PEOPLE = any_of(japanese("professions"))
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
        (f"いくつ|幾つ|いくら|幾ら|ど(?:の|れ)[くぐ]らい|どれほど|何(?:{_COUNTED})|{_JAPANESE_AMOUNTS}は"),
    ),
    (Want.PERSON, f"誰|だれ|どなた|何者|{_JAPANESE_PEOPLE}は"),
    (
        Want.PLACE,
        f"どこ|何処|どちらに|何県|何市|何国|何州|どの{_JAPANESE_PLACES}|{_JAPANESE_PLACES}は",
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
