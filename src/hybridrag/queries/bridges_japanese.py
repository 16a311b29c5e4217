"""Find what a Japanese question goes over without naming it: 監督 in 『静かな港』の監督の母親は誰ですか.

A question is nested when its answer hangs on a thing that it neither names nor asks for. 『静かな港』の監督は誰ですか
asks for the director, so it is not; 『静かな港』の監督はどこで生まれましたか is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hybridrag.language.roles import JAPANESE_KIN, JAPANESE_MAKERS, JAPANESE_ROLES
from hybridrag.queries.read_japanese import NAME, Phrase
from hybridrag.queries.words_japanese import (
    BELONGING,
    ENTITIES,
    GENERIC_KATAKANA,
    GENERIC_PEOPLE,
    LOOSE,
    TRANSPARENT,
)

MAX_COUNTER = 2
"""Characters of what is counted: 国は何カ国 asks for the countries, 妻は何県出身 about the wife."""

_ROLE_ENDINGS = tuple(sorted(word for word in JAPANESE_ROLES if len(word) > 2))
_ENTITY_ENDINGS = tuple(sorted(word for word in ENTITIES if len(word) > 2))
_PERSON_ENDINGS = ("師", "家", "士", "手", "匠", "人物", "守", "長", "主")
_BODY_ENDINGS = ("団", "隊", "社", "店", "屋", "館", "院", "校", "園", "堂", "寺", "所", "局")
"""What the words for bodies and places end in: 合唱団, 喫茶店."""
_OFFICES = ("初代", "主任", "筆頭", "二代目", "三代目", "先代")
"""In front of a noun they leave one certain holder: 主任技師, 初代館長."""
_FOUNDED = re.compile("創業|創設|設立|創立|開業|開店|開設|経営|設計|建て|建設|始め|開い")
_WHO = re.compile("誰|だれ|どなた")
_ASKED_OF_THE_PAST = re.compile("(?:た|だ)(?:の|ん(?:です)?|のです|でしょう)?か[?。]?$")
_ONE_PERSON = frozenset({"人", "者", "人物", "男性", "女性", "男", "女"})
_CERTAIN = JAPANESE_KIN | (JAPANESE_MAKERS - LOOSE)
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
        reached = _is_role(row, at, asks=asks) or _is_clause_head(row, at) or _is_told(row, at, asks=asks)
        if reached and not _is_asked_for(row, at):
            yield at


def _ends_open(row: Sequence[Phrase]) -> bool:
    """Whether it breaks off after its topic: 生年月日は?"""
    return [phrase.text for phrase in row if phrase.text not in _ENDS][-1:] == ["は"]


def _is_role(row: Sequence[Phrase], at: int, *, asks: bool) -> bool:
    """What something is to another: 『静かな港』の監督, 太陽の塔の設計者, ミナト販売会社."""
    phrase = row[at]
    if _BELONGS.search(phrase.text) and _ends_in(phrase, ENTITIES, _ENTITY_ENDINGS) and _is_certain(row, at):
        return True
    if not phrase.text.startswith(_OFFICES) and not _ends_in(phrase, JAPANESE_ROLES, _ROLE_ENDINGS):
        return False
    for owner in range(at - 2, -1, -2):
        if row[owner + 1].text != "の" or not row[owner].is_noun:
            break
        if _is_certain(row, owner) or (asks and phrase.head in _CERTAIN):
            return True
    return False


def _is_told(row: Sequence[Phrase], at: int, *, asks: bool) -> bool:
    """Something that no name stands for, only what it does or did.

    手紙を書いた人は何を学びましたか; 羊羹を売る店を創業したのは誰; 鐘を鳴らした灯台守の祖父
    """
    past = at > 1 and row[at - 1].kind == "助動詞" and row[at - 1].text in {"た", "だ"}
    behind = [phrase.text for phrase in row[at + 1 : at + 3]]
    if past and row[at].text in _ONE_PERSON and behind[:1] == ["は"]:
        # Both what was done and what is asked for are over: one person is meant, and not whoever does so.
        return bool(_ASKED_OF_THE_PAST.search("".join(phrase.text for phrase in row)))
    if past and behind[:1] == ["の"] and behind[1:] and behind[1] in JAPANESE_KIN:
        return asks and row[at].text not in GENERIC_PEOPLE
    rest = "".join(_rest_of_sentence(row, at + 1))
    verb = at > 1 and (past or row[at - 1].kind == "動詞")
    founded = rest.startswith("を") and _FOUNDED.search(rest) and _WHO.search(rest)
    return verb and row[at].text.endswith(_BODY_ENDINGS) and bool(founded)


def _is_certain(row: Sequence[Phrase], at: int) -> bool:
    """Whether it is one certain thing: named, told by what it did, or something to something."""
    named = row[at].proper or (at > 0 and row[at - 1].proper and row[at - 1].is_noun)
    if named or row[at].text in JAPANESE_ROLES or _named_in_katakana(row[at]):
        return True
    if row[at].text.endswith(_BODY_ENDINGS) and _is_clause_head(row, at):
        return True
    return _is_clause_head(row, at, named=False) and row[at].head.endswith(_PERSON_ENDINGS)


def _named_in_katakana(phrase: Phrase) -> bool:
    found = _KATAKANA.match(phrase.text)
    return found is not None and found[0] not in GENERIC_KATAKANA


def _ends_in(phrase: Phrase, words: frozenset[str], endings: tuple[str, ...]) -> bool:
    return phrase.head in words or phrase.text in words or phrase.text.endswith(endings)


def _is_clause_head(row: Sequence[Phrase], at: int, *, named: bool = True) -> bool:
    """A thing told by what it did, with a name in the telling: 『静かな港』を書いた作家, Aが手掛けた2016年のドラマ."""
    endings = _PERSON_ENDINGS + _BODY_ENDINGS
    if not (_ends_in(row[at], ENTITIES, _ENTITY_ENDINGS) or row[at].head.endswith(endings)):
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
