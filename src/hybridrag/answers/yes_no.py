"""Yes or no, where a question asks for it and the documents say it in so many words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from hybridrag.language.normalise import normalise

YesNo = Literal["yes", "no"]

YES_NO: Mapping[str, Mapping[YesNo, str]] = {
    "en": {"yes": "Yes.", "no": "No."},
    "ja": {"yes": "はい。", "no": "いいえ。"},
}
"""How an answer opens, by the language of its question."""

_NOT_ENGLISH = re.compile(r"\b(?:no|not|never|none|nothing|nobody|nowhere|neither|nor|cannot)\b|n't\b", re.IGNORECASE)
_NOT_JAPANESE = re.compile(
    "ない|なく|なかった|なし(?!で)|無し(?!で)|ません|ず(?=[にと、。]|$)|不可|不要|禁止|無効|対象外|だめ|いいえ"
)
_NO_DENIAL = re.compile(
    "(?:かま|構)(?:いません|わない)|差し支え(?:ありません|ない)|問題(?:は|が)?(?:ありません|ない)|だけで(?:は)?な[いく]|かもしれ(?:ない|ません)"
    "|な(?:ければ|いと|くては)|少な[いく]"
)
"""What denies nothing, though it is written with a negation."""
_WITHOUT = re.compile(r"\b(?:without|un(?:less|til))\b|な(?:し|く)|無し", re.IGNORECASE)
"""What turns a question round, though a statement with it denies nothing."""
_BRACKETS = re.compile(r"\([^()]*\)")
_SAID = re.compile(r"\W*(yes|no|はい|いいえ)(?=\s*[,.!;:、。！]|$)", re.IGNORECASE)


def say_yes_no(question: str, sentence: str) -> YesNo | None:
    """What a sentence says to such a question; None where that cannot be told from its words.

    "May fragments be sold?", "Fragments may not be sold." -> no; "May I park?", "Yes, behind the house." -> yes

    A plain statement is no yes: "Five weeks is for boards" does not say that it takes five weeks. A question with a
    negation of its own is left to the reader.
    """
    text = normalise(sentence)
    said = _SAID.match(text)
    if said:
        return "yes" if said[1].casefold() in {"yes", "はい"} else "no"
    asked = normalise(question)
    return "no" if denies(text) and not denies(asked) and not _WITHOUT.search(asked) else None


def denies(text: str) -> bool:
    """Whether a text holds a negation outside brackets."""
    text = _BRACKETS.sub("", text)
    return _NOT_ENGLISH.search(text) is not None or _NOT_JAPANESE.search(_NO_DENIAL.sub("", text)) is not None
