"""Whether a text holds a known answer, whatever its spelling."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hybridrag.language.normalise import fold

_BETWEEN = re.compile(r"[\W_]+")
_LATIN_OR_DIGIT = re.compile(r"[a-z0-9]", re.IGNORECASE)


def holds_answer(text: str, answers: Sequence[str]) -> bool:
    """Whether one of the answers stands in the text, as whole words, case and width and punctuation apart.

    ("It cost ＴＷＥＬＶＥ crowns.", ["twelve crowns"]) -> True; ("It cost 120", ["12"]) -> False
    """
    plain = _plain(text)
    return any(_stands_in(plain, _plain(answer)) for answer in answers)


def first_with_answer(texts: Sequence[str], answers: Sequence[str]) -> int | None:
    """The rank of the first text that holds an answer; None where none does.

    (["no", "twelve crowns"], ["twelve"]) -> 2
    """
    return next((rank for rank, text in enumerate(texts, start=1) if holds_answer(text, answers)), None)


def _plain(text: str) -> str:
    return _BETWEEN.sub(" ", fold(text)).strip()


def _stands_in(text: str, answer: str) -> bool:
    if not answer:
        return False
    # Japanese has no spaces to end a word at; a number or a Latin word must not be part of a longer one.
    before = r"(?<![a-z0-9])" if _LATIN_OR_DIGIT.match(answer) else ""
    after = r"(?![a-z0-9])" if _LATIN_OR_DIGIT.match(answer[-1]) else ""
    return re.search(f"{before}{re.escape(answer)}{after}", text) is not None
