"""Read the training texts, and turn texts into ids quickly."""

from __future__ import annotations

import json
import lzma
import random
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from hybridrag.models.align_text import normalise
from hybridrag.models.unigram import SPECIAL_PIECES, WORD_START

PASSAGES, PAIRS, JUDGE, PARALLEL = "passages", "pairs", "judge", "parallel"
LEFT_OUT_FILE = Path(__file__).parent / "left_out.txt"
"""Numbers of passages that an evaluation set also holds; `training.overlap --write` finds them."""
_BATCH = 4096


def read_rows(folder: Path, name: str, left_out: AbstractSet[int] | None = None) -> Iterator[dict[str, Any]]:
    """The rows of one training file that are trained on: `read_rows(folder, "pairs")` -> {"q": ..., "pos": 3, ...}, ...

    A passage that is left out stays as an empty one, so that the others keep their numbers; its questions are gone.
    """
    gone = read_left_out() if left_out is None else left_out
    with lzma.open(folder / f"{name}.jsonl.xz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if name == PASSAGES and row["i"] in gone:
                row["t"] = ""
            elif gone and name in (PAIRS, JUDGE):
                if row["pos" if name == PAIRS else "p"] in gone:
                    continue
                row["neg"] = [number for number in row.get("neg", ()) if number not in gone]
            yield row


def read_left_out(path: Path = LEFT_OUT_FILE) -> frozenset[int]:
    """The numbers in the file, one a line."""
    return frozenset(int(line) for line in path.read_text(encoding="ascii").split()) if path.exists() else frozenset()


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

    def offsets(self, marked: str) -> list[tuple[int, int]]:
        """Where the tokens of a text stand whose words have their start marks."""
        found: list[tuple[int, int]] = self._tokenizer.encode(marked, add_special_tokens=False).offsets
        return found

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


HELD_OUT = 600
"""Written rows that nothing is trained on, drawn once."""
SEED = 17


def read_passages(data: Path) -> list[str]:
    """The text of every passage, by its number."""
    return [" ".join(row["t"].split()) for row in read_rows(data, PASSAGES)]


def read_written(data: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The written questions to train on, and those held out; no passage is in both."""
    rows = list(read_rows(data, "written"))
    passages = sorted({row["p"] for row in rows})
    held = set(random.Random(SEED).sample(passages, HELD_OUT))
    return [row for row in rows if row["p"] not in held], [row for row in rows if row["p"] in held]
