"""Read the training texts, and turn texts into ids quickly."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from hybridrag.models.align_text import normalise
from hybridrag.models.unigram import SPECIAL_PIECES, WORD_START

PASSAGES, PAIRS, JUDGE, PARALLEL = "passages", "pairs", "judge", "parallel"
_BATCH = 4096


def read_rows(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    """The rows of one training file: `read_rows(folder, "pairs")` -> {"q": ..., "pos": 3, ...}, ..."""
    with lzma.open(folder / f"{name}.jsonl.xz", "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


class QuickTokenizer:
    """The same ids as `UnigramTokenizer.ids`, for millions of texts; a test holds the two together."""

    def __init__(self, pieces: Sequence[str], scores: Sequence[float], *, unknown_id: int) -> None:
        from tokenizers import Tokenizer, models, pre_tokenizers  # noqa: PLC0415 (heavy)

        # A special piece never matches text: its name is replaced by one that no text holds.
        names = [f"\0{place}" if piece in SPECIAL_PIECES else piece for place, piece in enumerate(pieces)]
        vocabulary = list(zip(names, map(float, scores), strict=True))
        self._tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=unknown_id, byte_fallback=False))
        self._tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()

    def many(self, texts: Iterable[str], *, limit: int | None = None) -> Iterator[list[int]]:
        """The ids of each text, or of the first `limit` tokens."""
        batch: list[str] = []
        for text in texts:
            batch.append(_marked(text))
            if len(batch) == _BATCH:
                yield from self._ids(batch, limit)
                batch = []
        yield from self._ids(batch, limit)

    def _ids(self, texts: list[str], limit: int | None) -> Iterator[list[int]]:
        for encoded in self._tokenizer.encode_batch_fast(texts, add_special_tokens=False):
            yield encoded.ids[:limit]


def _marked(text: str) -> str:
    """Every word with its start mark, as the unigram model saw them."""
    return " ".join(WORD_START + word for word in normalise(text).split())


def squash(text: str) -> str:
    """Text as answers are looked for in it: normalised, small letters, no spaces.

    "New  York" -> "newyork"
    """
    return "".join(normalise(text).casefold().split())
