"""Whether a text holds a known answer, whatever its spelling, and how near a short answer comes to it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from hybridrag.language.normalise import fold

_BETWEEN = re.compile(r"[\W_]+")
_TOKEN = re.compile(r"[\u3005-\u3007\u3041-\u30fe\u3400-\u9fff]|[^\W_\u3005-\u3007\u3041-\u30fe\u3400-\u9fff]+")
_ARTICLES = frozenset({"a", "an", "the"})
_YES_NO = {"yes": "yes", "はい": "yes", "no": "no", "いいえ": "no"}
MOSTLY = 0.5
"""A short answer with this F1 says what the known one says, where their numbers agree: "eleven days" for "eleven days
without a ferry"."""
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


def is_right(said: str, short: str, answers: Sequence[str], *, yes_no: str | None = None) -> bool:
    """Whether a person would call it right: a known answer stands in what was said, or the short answer is mostly one.

    said "It took eleven days.", short "eleven days", answers ["eleven days without a ferry"] -> True

    Where yes or no is the known answer it has to be `yes_no`, or what an LLM opens with; "no" stands in many a text.
    """
    plain = [_YES_NO.get(_plain(answer)) for answer in answers]
    if any(plain):
        opening = _YES_NO.get(_plain(re.split(r"[\s,.、。]", said.strip(), maxsplit=1)[0]))
        return (yes_no or opening) in plain
    return holds_answer(said, answers) or any(
        token_f1(short, [answer]) >= MOSTLY and _numbers(short) == _numbers(answer) for answer in answers
    )


def exact_match(short: str, answers: Sequence[str]) -> bool:
    """Whether the short answer is a known one, articles, case, width and punctuation apart.

    ("The twelve crowns.", ["twelve crowns"]) -> True
    """
    return any(_tokens(short) == _tokens(answer) for answer in answers)


def token_f1(short: str, answers: Sequence[str]) -> float:
    """The harmonic mean of precision and recall over the words of the best known answer; Japanese counts characters.

    ("about twelve crowns", ["twelve crowns"]) -> 0.8
    """
    return max((_f1(_tokens(short), _tokens(answer)) for answer in answers), default=0.0)


def _f1(found: Sequence[str], known: Sequence[str]) -> float:
    shared = sum((Counter(found) & Counter(known)).values())
    return 2 * shared / (len(found) + len(known)) if shared else 0.0


def _tokens(text: str) -> list[str]:
    return [token for token in _TOKEN.findall(fold(text)) if token not in _ARTICLES]


def _numbers(text: str) -> list[str]:
    return re.findall(r"\d+", fold(text))


def _plain(text: str) -> str:
    return _BETWEEN.sub(" ", fold(text)).strip()


def _stands_in(text: str, answer: str) -> bool:
    if not answer:
        return False
    # Japanese has no spaces to end a word at; a number or a Latin word must not be part of a longer one.
    before = r"(?<![a-z0-9])" if _LATIN_OR_DIGIT.match(answer) else ""
    after = r"(?![a-z0-9])" if _LATIN_OR_DIGIT.match(answer[-1]) else ""
    return re.search(f"{before}{re.escape(answer)}{after}", text) is not None
