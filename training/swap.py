"""Make questions that a passage does not answer out of questions that it does: another name, number or direction.

Questions that look answerable and are not are rare in free data, and they are what a judge must tell apart.
"""

from __future__ import annotations

import random
import re

_NAME = re.compile(r"[A-Z][\w'’-]{2,}(?: (?:of |de |von )?[A-Z][\w'’-]+)*")
_NUMBER = re.compile(r"(?<![\d,.])(?:\d[\d,.]*\d|\d)(?![\d,.]*\d)")
_KATAKANA = re.compile(r"[ァ-ヴー・]{3,}")
_KANJI = re.compile(r"(?<![一-龠々])[一-龠々]{2,8}(?=[のはがをにでと、])")
"""Before a particle it is a noun; before する it would be a verb, and the exchange no sentence."""
_NAMES_EN = (_NAME, _NUMBER)
_NAMES_JA = (_KATAKANA, _KANJI, _NUMBER, _NAME)

_OPPOSITES_EN = (
    "first last;before after;more less;most least;largest smallest;highest lowest;increase decrease;"
    "north south;east west;northern southern;eastern western;maximum minimum;"
    "oldest youngest;earliest latest;win lose;won lost;start end;"
    "began ended;above below;include exclude;allowed forbidden;better worse;best worst;longest shortest;high low;"
    "possible impossible;accepted rejected;never always;larger smaller;male female"
)
_OPPOSITES_JA = (
    "最初 最後;最大 最小;最も多 最も少;最も高 最も低;最も大き 最も小さ;最も古 最も新し;"
    "増加 減少;以前 以後;開始 終了;上昇 下降;賛成 反対;勝利 敗北;男性 女性;輸出 輸入;設立 解散;北部 南部;東部 西部;"
    "前半 後半;父 母;長男 次男;最高 最低;成功 失敗"
)


def _both_ways(table: str) -> dict[str, str]:
    pairs = [(pair.split(" ")[0], pair.split(" ")[1]) for pair in table.split(";")]
    return {**dict(pairs), **{b: a for a, b in pairs}}


OPPOSITES = {"en": _both_ways(_OPPOSITES_EN), "ja": _both_ways(_OPPOSITES_JA)}
OPPOSITE_SHARE = 0.3
"""How often an opposite is tried first; names and numbers are the commoner trick."""


def swap(question: str, passage: str, *, lang: str, rng: random.Random) -> str | None:
    """The question about something else, or None where nothing in it can be exchanged.

    "When did Ann leave Rome?", "Ann left Rome in 1900, Bob stayed." -> "When did Bob leave Rome?", for example
    """
    tricks = [_swap_name, _swap_opposite]
    if rng.random() < OPPOSITE_SHARE:
        tricks.reverse()
    for trick in tricks:
        changed = trick(question, passage, lang, rng)
        if changed is not None and changed != question:
            return changed
    return None


def _swap_name(question: str, passage: str, lang: str, rng: random.Random) -> str | None:
    kinds = list(_NAMES_JA if lang == "ja" else _NAMES_EN)
    rng.shuffle(kinds)
    small = question.casefold()
    for kind in kinds:
        spans: list[str] = sorted(set(kind.findall(passage)))
        # At the start of a sentence any word has a capital: only what is in the question in full counts as its name.
        inside = [span for span in spans if _occurs(span, question, kind, lang)]
        old = rng.choice(inside) if inside else ""
        others = [new for new in spans if new.casefold() not in small and not _overlap(old.casefold(), new.casefold())]
        if inside and others:
            new = rng.choice(others)
            if lang == "en" and question == question.lower():
                new = new.lower()
            place = small.index(old.casefold())
            if len(small) == len(question):
                return question[:place] + new + question[place + len(old) :]
    return None


def _occurs(span: str, question: str, kind: re.Pattern[str], lang: str) -> bool:
    if lang == "ja":
        return span in kind.findall(question)
    return len(span) > 3 and re.search(rf"(?<!\w){re.escape(span)}(?!\w)", question, re.IGNORECASE) is not None


def _overlap(one: str, other: str) -> bool:
    """Whether one is a part of the other, or they start alike (Shiro, Shiro's)."""
    return one in other or other in one or (len(one) > 4 and one[:4] == other[:4])


def _swap_opposite(question: str, _passage: str, lang: str, rng: random.Random) -> str | None:
    table = OPPOSITES[lang]
    bound = "" if lang == "ja" else r"\b"
    there = [word for word in table if re.search(f"{bound}{word}{bound}", question)]
    if not there:
        return None
    word = rng.choice(there)
    return re.sub(f"{bound}{word}{bound}", table[word], question, count=1)
