"""Token places for models that keep their tokenizer to themselves: rather too many tokens than too few."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

_TOKEN = re.compile(
    r"[A-Za-z]{1,6}"  # vocabularies cut longer English words
    r"|[0-9]{1,3}"
    r"|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"  # kana, han, hangul: at most one token a character, often less
    r"|[^\W\d_]{1,3}"
    r"|\S"
)


def approximate_spans(text: str) -> NDArray[np.int32]:
    """(n, 2) character offsets of what most models would cut the text into, or finer.

    "internationally 東京" -> [[0, 6], [6, 12], [12, 15], [16, 17], [17, 18]]
    """
    spans = [match.span() for match in _TOKEN.finditer(text)]
    return np.asarray(spans, dtype=np.int32).reshape(-1, 2)


def cut_text(text: str, max_tokens: int) -> str:
    """The text up to its `max_tokens`-th token; most texts are shorter and stay as they are."""
    if len(text) <= max_tokens:
        return text
    spans = approximate_spans(text)
    return text if len(spans) <= max_tokens else text[: int(spans[max_tokens - 1, 1])]
