"""Turn evaluation sets into ids, to measure where the model is trained. Nothing of it is trained on.

python -m training.pack_eval EVALUATION WORK
"""

# ruff: noqa: T201 (a step says what it did)

from __future__ import annotations

import csv
import gzip
import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np

from hybridrag.models.e5_weights import MODEL
from hybridrag.models.prefixes import prefixes_of
from training.pack import PASSAGE_TOKENS, QUESTION_TOKENS, SEED
from training.ragged import Ragged, save
from training.texts import QuickTokenizer

RANKED = {
    "squad2_dev": 500, "jsquad_valid": 500, "localgovfaq_ja": 500, "scifact": 500, "niilc_dev": 500,
    "2wikimultihopqa": 300, "musique_train200": 200, "hotpotqa_train100": 100, "jemhopqa_train": 300,
}  # fmt: skip
"""Sets with labelled passages, and how many questions are taken at most."""
JUDGED = ("nomiracl_en", "nomiracl_ja", "squad2_1000")


def read_set(folder: Path, most: int) -> tuple[list[str], list[str], list[tuple[int, int, int]]]:
    """Passages with their titles, a fixed sample of questions, and (question, passage, grade)."""
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    places = {str(row["_id"]): place for place, row in enumerate(rows)}
    texts = [f"{row['title']}\n{row['text']}" if row.get("title") else row["text"] for row in rows]
    with (folder / "queries.jsonl").open(encoding="utf-8") as lines:
        questions = {str(row["_id"]): row["text"] for row in map(json.loads, lines)}
    with (folder / "qrels.tsv").open(encoding="utf-8") as lines:
        labels = [row for row in list(csv.reader(lines, delimiter="\t"))[1:] if row[0] in questions and int(row[2]) > 0]
    asked = sorted({row[0] for row in labels})
    random.Random(SEED).shuffle(asked)  # noqa: S311 (a fixed sample is wanted)
    asked = asked[:most]
    order = {question: place for place, question in enumerate(asked)}
    grades = [(order[q], places[d], int(grade)) for q, d, grade in labels if q in order and d in places]
    return texts, [questions[question] for question in asked], grades


def main(evaluation: Path, work: Path) -> None:
    """Write eval.npz."""
    pieces = (work / "pieces.txt").read_bytes().decode("utf-8").split("\n")
    tokenizer = QuickTokenizer(pieces, np.load(work / "scores.npy").tolist(), unknown_id=3)
    prefixes = prefixes_of(MODEL)
    query, passage = tokenizer.many([prefixes.query, prefixes.passage])
    arrays: dict[str, Any] = {"query_prefix": np.array(query), "passage_prefix": np.array(passage)}
    for name, most in RANKED.items():
        texts, questions, grades = read_set(evaluation / name, most)
        arrays[f"ranked/{name}/passages"] = Ragged.join(tokenizer.many(texts, limit=PASSAGE_TOKENS))
        arrays[f"ranked/{name}/questions"] = Ragged.join(tokenizer.many(questions, limit=QUESTION_TOKENS))
        arrays[f"ranked/{name}/grades"] = np.array(grades, dtype=np.int32)
    for name in JUDGED:
        with gzip.open(evaluation / "sufficiency" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        counts = [len(row["passages"]) for row in rows]
        texts = [text for row in rows for text in row["passages"]]
        arrays[f"judged/{name}/passages"] = Ragged.join(tokenizer.many(texts, limit=PASSAGE_TOKENS))
        arrays[f"judged/{name}/questions"] = Ragged.join(
            tokenizer.many((r["question"] for r in rows), limit=QUESTION_TOKENS)
        )
        arrays[f"judged/{name}/owner"] = np.repeat(np.arange(len(rows)), counts)
        arrays[f"judged/{name}/label"] = np.array([row["sufficient"] for row in rows], dtype=np.uint8)
    save(work / "eval.npz", arrays)
    print({name: len(value) for name, value in arrays.items()})


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
