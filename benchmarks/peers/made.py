"""A data set of any size to compare speed and memory on: made-up documents, and questions that name them.

Passages get made-up vectors, so that a hundred thousand need no hour of embedding; what is found then means nothing,
and no quality is reported.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from benchmarks.bench_corpus import documents, questions

QUESTIONS = 100


def make_dataset(size: int, folder: Path) -> Path:
    """A folder in the BEIR layout with so many documents of about one chunk each."""
    folder.mkdir(parents=True, exist_ok=True)
    made = list(documents(size))
    asked = questions([title for title, _ in made], QUESTIONS)
    rows = ({"_id": f"d{number}", "title": title, "text": text} for number, (title, text) in enumerate(made))
    _write(folder / "corpus.jsonl", rows)
    _write(folder / "queries.jsonl", ({"_id": f"q{number}", "text": text} for number, text in enumerate(asked)))
    # Something must be marked for a question to be asked.
    marks = "".join(f"q{number}\td0\t1\n" for number in range(len(asked)))
    (folder / "qrels.tsv").write_text(marks, encoding="utf-8")
    return folder


def _write(path: Path, rows: Iterable[dict[str, str]]) -> None:
    with path.open("w", encoding="utf-8") as lines:
        lines.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
