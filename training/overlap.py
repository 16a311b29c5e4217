"""Prove that no question and no passage of the evaluation sets is trained on.

    python -m training.overlap DATA EVALUATION [--write]

Texts are compared normalised, in small letters and without spaces or punctuation. Ends with an error if any is shared.
`--write` notes in left_out.txt which training passages an evaluation set also holds: every later step passes over them.
"""

# ruff: noqa: T201 (a step says what it did)

from __future__ import annotations

import gzip
import hashlib
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from hybridrag.models.align_text import normalise
from training.texts import JUDGE, LEFT_OUT_FILE, PAIRS, PASSAGES, read_rows

_NOT_WORDS = re.compile(r"[\W_]+")
SHORTEST = 12
"""Shorter questions ("What is it?", 富士山とは) are anybody's."""


def mark(text: str) -> bytes:
    """What two texts share when they differ in form only.

    mark("Ｗho is she?") == mark("who is SHE")
    """
    plain = _NOT_WORDS.sub("", normalise(text).casefold())
    return hashlib.sha1(plain.encode("utf-8"), usedforsecurity=False).digest() if len(plain) >= SHORTEST else b""


def shared(trained: set[bytes], texts: Iterable[str]) -> int:
    """How many of the texts are trained on."""
    return sum(1 for text in texts if (key := mark(text)) and key in trained)


def evaluation_texts(folder: Path) -> Iterator[tuple[str, str, str]]:
    """(set, `question` or `passage`, text) of every evaluation set."""
    for path in sorted(folder.glob("*/corpus.jsonl.gz")):
        for row in _rows(path):
            yield path.parent.name, "passage", row["text"]
    for path in [*sorted(folder.glob("*/queries.jsonl")), *sorted(folder.glob("sufficiency/*.jsonl.gz"))]:
        for row in _rows(path):
            yield path.parent.name, "question", row["text"] if "text" in row else row["question"]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    data = path.read_bytes()
    for line in (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8").split("\n"):
        if line:
            yield json.loads(line)


def find_passages(data: Path, evaluation: Path) -> list[int]:
    """The numbers of all training passages, left out or not, that an evaluation set also holds."""
    texts = evaluation_texts(evaluation)
    known = {mark(text) for _, kind, text in texts if kind == "passage"} - {b""}
    return [row["i"] for row in read_rows(data, PASSAGES, frozenset()) if mark(row["t"]) in known]


def main(data: Path, evaluation: Path, *, write: bool = False) -> int:
    """Count what is shared, by set; `write` first notes the passages that have to be left out."""
    if write:
        numbers = find_passages(data, evaluation)
        LEFT_OUT_FILE.write_text("".join(f"{number}\n" for number in numbers), encoding="ascii")
    trained = {
        "passage": {mark(row["t"]) for row in read_rows(data, PASSAGES)},
        "question": {mark(row["q"]) for name in (PAIRS, JUDGE) for row in read_rows(data, name)},
    }
    texts: dict[tuple[str, str], list[str]] = {}
    for name, kind, text in evaluation_texts(evaluation):
        texts.setdefault((name, kind), []).append(text)
    found = {key: shared(trained[key[1]], values) for key, values in texts.items()}
    for (name, kind), count in found.items():
        print(f"{name}: {count} of {len(texts[name, kind])} {kind}s are trained on")
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), write="--write" in sys.argv[3:]))
