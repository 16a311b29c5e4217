"""Find what a Japanese question goes over without naming it: 監督 in 『静かな港』の監督の母親は誰ですか.

A question is nested when its answer hangs on a thing that it neither names nor asks for. 『静かな港』の監督は誰ですか
asks for the director, so it is not; 『静かな港』の監督はどこで生まれましたか is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hybridrag.queries.read_japanese import NAME, Phrase
from hybridrag.queries.words_japanese import (
    BELONGING,
    ENTITIES,
    GENERIC_KATAKANA,
    KIN,
    LOOSE,
    MAKERS,
    ROLES,
    TRANSPARENT,
)

MAX_COUNTER = 2
"""Characters of what is counted: 国は何カ国 asks for the countries, 妻は何県出身 about the wife."""

_ROLE_ENDINGS = tuple(sorted(word for word in ROLES if len(word) > 2))
_ENTITY_ENDINGS = tuple(sorted(word for word in ENTITIES if len(word) > 2))
_PERSON_ENDINGS = ("師", "家", "士", "手", "匠", "人物")
_CERTAIN = KIN | (MAKERS - LOOSE)
_PAST = frozenset({"た", "だ", "れる", "られる", "ない"})
_PERIOD = re.compile(r"[0-9]+(?:年|月|日|世紀|年代)|当時|現在")
_KATAKANA = re.compile("[\u30a1-\u30ff]{4,}")
_BELONGS = re.compile("|".join(sorted(BELONGING)))
_ASKING = re.compile("[何誰]|いつ|どこ|どの|どちら|なん|なに|だれ|いくつ|いくら")
_ON = frozenset(("の", "が", "に", "で", "から", "も", "と", "へ", "を"))
_BECOMES = frozenset(("なっ", "なる", "なり", "言わ", "呼ば", "いわ", "よば", "し", "する", "就い", "就任"))
_WISHES = frozenset(("知り", "たい", "教え", "挙げ", "あげ", "よ", "ほしい", "いただけ", "下さい", "お願い", "し"))
_ENDS = frozenset("?。!")
_CLOSING = frozenset(
    (
        "です",
        "か",
        "でしょう",
        "だ",
        "、",
        "た",
        "だっ",
        "の",
        "まし",
        "ます",
        "でし",
        "教え",
        "て",
        "ください",
        "な",
        "こと",
    )
)


def bridges(row: Sequence[Phrase]) -> Iterator[int]:
    """Where in the phrases something stands that the question needs on its way.

    静かな港, の, 監督, の, 母親, は, 誰 -> 2, the director
    """
    asks = any(_ASKING.match(phrase.text) for phrase in row) or _ends_open(row)
    for at, phrase in enumerate(row):
        if not phrase.is_noun or phrase.kind == NAME:
            continue
        if (_is_role(row, at, asks=asks) or _is_clause_head(row, at)) and not _is_asked_for(row, at):
            yield at


def _ends_open(row: Sequence[Phrase]) -> bool:
    """Whether it breaks off after its topic: 生年月日は?"""
    return [phrase.text for phrase in row if phrase.text not in _ENDS][-1:] == ["は"]


def _is_role(row: Sequence[Phrase], at: int, *, asks: bool) -> bool:
    """What something is to another: 『静かな港』の監督, 太陽の塔の設計者, ミナト販売会社."""
    phrase = row[at]
    if _BELONGS.search(phrase.text) and _ends_in(phrase, ENTITIES, _ENTITY_ENDINGS) and _is_certain(row, at):
        return True
    if not _ends_in(phrase, ROLES, _ROLE_ENDINGS):
        return False
    for owner in range(at - 2, -1, -2):
        if row[owner + 1].text != "の" or not row[owner].is_noun:
            break
        if _is_certain(row, owner) or (asks and phrase.head in _CERTAIN):
            return True
    return False


def _is_certain(row: Sequence[Phrase], at: int) -> bool:
    """Whether it is one certain thing: named, told by what it did, or something to something."""
    named = row[at].proper or (at > 0 and row[at - 1].proper and row[at - 1].is_noun)
    if named or row[at].text in ROLES or _named_in_katakana(row[at]):
        return True
    return _is_clause_head(row, at, named=False) and row[at].head.endswith(_PERSON_ENDINGS)


def _named_in_katakana(phrase: Phrase) -> bool:
    found = _KATAKANA.match(phrase.text)
    return found is not None and found[0] not in GENERIC_KATAKANA


def _ends_in(phrase: Phrase, words: frozenset[str], endings: tuple[str, ...]) -> bool:
    return phrase.head in words or phrase.text in words or phrase.text.endswith(endings)


def _is_clause_head(row: Sequence[Phrase], at: int, *, named: bool = True) -> bool:
    """A thing told by what it did, with a name in the telling: 『静かな港』を書いた作家, Aが手掛けた2016年のドラマ."""
    if not (_ends_in(row[at], ENTITIES, _ENTITY_ENDINGS) or row[at].head.endswith(_PERSON_ENDINGS)):
        return False
    before = at - 1
    if before >= 1 and row[before].text == "の" and _PERIOD.fullmatch(row[before - 1].text):
        before -= 2
    if before < 0:
        return False
    clause = row[before]
    if clause.kind != "動詞" and not (clause.kind == "助動詞" and clause.text in _PAST):
        return False
    told = row[:before]
    return not named or row[at].text == "人物" or any(phrase.proper or _named_in_katakana(phrase) for phrase in told)


def _is_asked_for(row: Sequence[Phrase], at: int) -> bool:
    """Whether this is what the question is after: 監督は誰ですか, 国はどこ, 島の名前は, 国は何カ国."""
    texts = _rest_of_sentence(row, at + 1)
    while len(texts) >= 2 and texts[0] == "の" and texts[1] in TRANSPARENT:
        texts = texts[2:]
    if not texts:
        return True
    if texts[0] in {"は", "とは", "って"}:
        rest = [text for text in texts[1:] if text not in _CLOSING]
        return len(rest) <= 1 or (len(rest) == 2 and rest[0] == "何" and len(rest[1]) <= MAX_COUNTER)
    if texts[0] == "を":
        return not any(text not in _CLOSING | _WISHES for text in texts[1:])
    becomes = texts[0] in {"に", "と"} and texts[1:2] and texts[1] in _BECOMES
    return texts[0] not in _ON or bool(becomes)


def _rest_of_sentence(row: Sequence[Phrase], at: int) -> list[str]:
    rest = []
    for phrase in row[at:]:
        if phrase.text in _ENDS:
            break
        rest.append(phrase.text)
    return rest
