"""Documents and questions for measuring speed: made here, or those of a folder given with --data.

Documents that are made name one another as those of people do, and are half English-like and half Japanese.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks import corpus
from benchmarks.graph import documents_of as made_up_documents
from benchmarks.search import ENGLISH, JAPANESE

JAPANESE_VERBS = ("を設立した", "を訪れた", "と提携した", "を買収した", "を設計した", "を支援した")
JAPANESE_KINDS = ("株式会社", "研究所", "大学", "市", "財団")
TITLE_LENGTH = 60


def documents(count: int, data: Path | None = None) -> Iterator[tuple[str, str]]:
    """`count` titles and texts of about one chunk each; always the same."""
    return corpus.titled(data, count) if data else _made(count)


def questions(titles: Sequence[str], count: int, *, seed: int = 5) -> list[str]:
    """Questions of every kind and in both languages about the documents of these titles.

    ["Ada"], 1 -> ["What is Ada?"]
    """
    rng = np.random.default_rng(seed)
    named = [title[:TITLE_LENGTH] for title in titles if title] or ["this"]
    asked = []
    for number in range(count):
        first, second = (named[int(place)] for place in rng.integers(len(named), size=2))
        forms = JAPANESE if _is_japanese(first) else ENGLISH
        asked.append(forms[number % len(forms)].format(a=first, b=second))
    return asked


def _made(count: int, *, seed: int = 13) -> Iterator[tuple[str, str]]:
    """What a document says of others, then what it says besides."""
    rng = np.random.default_rng(seed)
    english = made_up_documents(None, count)
    japanese = _japanese_names(rng, max(50, count // 2))
    filler = corpus.generated(count)
    for number, (title, facts) in enumerate(islice(english, count)):
        besides = _shorter(next(filler))
        if number % 2 == 0:
            yield title, f"{facts} {besides}"
            continue
        name = japanese[number // 2 % len(japanese)]
        others = [japanese[min(len(japanese), int(rank)) - 1] for rank in rng.zipf(1.2, size=4)]
        said = "".join(f"{name}は{other}{rng.choice(JAPANESE_VERBS)}。" for other in others)
        yield name, said + besides


def _shorter(text: str) -> str:
    """The first half: together with the facts that makes about one chunk, for made-up words have many tokens."""
    return text[: len(text) // 2]


def _japanese_names(rng: np.random.Generator, count: int) -> list[str]:
    nouns, kana = corpus.JAPANESE_NOUNS.split(), "アイカキサシタチナニマミラリ"
    return [
        "".join(rng.choice(list(kana), size=3)) + str(rng.choice(nouns)) + str(rng.choice(JAPANESE_KINDS))
        for _ in range(count)
    ]


def _is_japanese(text: str) -> bool:
    return any("\u3040" <= letter <= "\u9fff" for letter in text)
