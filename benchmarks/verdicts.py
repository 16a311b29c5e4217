"""How often the verdict is right: half of a corpus left out of the index, and sets of passages that people judged.

python -m benchmarks.verdicts --data DIR [--sets NAME ...] [--limit N] [--keep FOLDER] [--write docs/results.md]

- Half outside: every second document of a data set (by the hash of its id) is indexed. A question whose every marked
  document is inside can be answered, one without any cannot; the others are not asked. No question was taught.
- Judged passages: `DIR/sufficiency/NAME.jsonl.gz` has a question, its passages and whether they hold the answer. Each
  passage is one document of a small index that holds the question's passages only.

A refusal is the verdict *not sufficient* of `Engine.answer`. The area is that under the ROC curve of its confidence.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.report import Table, machine_line, write_between
from hybridrag import Engine, load_settings
from hybridrag.errors import RAGError
from hybridrag.evaluate import load_dataset

HALF_OUTSIDE = ("niilc_dev", "squad2_dev", "jsquad_valid", "localgovfaq_ja")
JUDGED = ("nomiracl_en", "nomiracl_ja", "squad2_1000")
COLUMNS = ("set", "can be answered", "cannot", "wrong refusals", "wrong answers", "right", "area", "p50 / p95 ms")
QUESTIONS = 200
"""Asked of each set unless --limit says otherwise: the first by the hash of their ids, always the same."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the engine held of one question."""

    can: bool
    """Whether what is indexed holds the answer."""
    chance: float
    """How probable the engine held that to be."""
    refused: bool
    milliseconds: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask and print; 1 where a set cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verdicts", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of the data sets")
    parser.add_argument("--sets", nargs="*", choices=(*HALF_OUTSIDE, *JUDGED), default=(*HALF_OUTSIDE, *JUDGED))
    parser.add_argument("--limit", type=int, default=QUESTIONS, help="questions of each set")
    parser.add_argument("--keep", type=Path, help="where the indexes stay, to be used again")
    parser.add_argument("--write", type=Path, help="put the table between its markers in this document")
    options = parser.parse_args(arguments)
    rows: list[tuple[object, ...]] = []
    with tempfile.TemporaryDirectory() as made:
        for name in options.sets:
            try:
                verdicts = list(ask_set(options.data, name, options.limit, options.keep or Path(made)))
            except (RAGError, OSError) as error:
                print(f"{name}: {error}", file=sys.stderr)
                return 1
            rows.append((name, *summary(verdicts)))
            print(f"{name}: asked {len(verdicts)}", file=sys.stderr, flush=True)
    table = Table("Verdicts, in percent", COLUMNS, rows)
    table.print()
    print(machine_line())
    if options.write is not None:
        write_between(options.write, "verdicts", table.as_markdown())
    return 0


def ask_set(data: Path, name: str, limit: int, work: Path) -> Iterator[Verdict]:
    """The verdict over each question of one set."""
    if name in JUDGED:
        yield from _ask_judged(data / "sufficiency" / f"{name}.jsonl.gz", limit)
        return
    dataset = load_dataset(data / name)
    with _engine(work / f"{name}-half") as engine:
        engine.add_documents([document for document in dataset.documents if _inside(document.name)])
        asked = 0
        for query in sorted(dataset.queries, key=lambda query: zlib.crc32(query.id.encode())):
            gold = [document for document, grade in query.gold.items() if grade >= 1]
            inside = sum(map(_inside, gold))
            if gold and inside in {0, len(gold)} and asked < limit:
                asked += 1
                yield _ask(engine, query.text, can=inside > 0)


def summary(verdicts: Sequence[Verdict]) -> tuple[object, ...]:
    """The cells of a set's row.

    two answerable, one of them refused; two that are not, one answered -> 50.0 wrong refusals, 50.0 wrong answers
    """
    can = [one for one in verdicts if one.can]
    cannot = [one for one in verdicts if not one.can]
    right = [one.can is not one.refused for one in verdicts]
    times = [one.milliseconds for one in verdicts]
    return (
        len(can),
        len(cannot),
        _share([one.refused for one in can]),
        _share([not one.refused for one in cannot]),
        _share(right),
        f"{area([one.chance for one in can], [one.chance for one in cannot]):.3f}",
        f"{np.percentile(times, 50):.0f} / {np.percentile(times, 95):.0f}" if times else "-",
    )


def area(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Under the ROC curve: how often a positive stands above a negative, ties counting half.

    [.9, .4] against [.4, .1] -> (1 + 1 + .5 + 1) / 4 = .875
    """
    if not positive or not negative:
        return float("nan")
    above = np.asarray(positive)[:, None] - np.asarray(negative)[None, :]
    return float(np.mean((above > 0) + 0.5 * (above == 0)))


def _ask_judged(path: Path, limit: int) -> Iterator[Verdict]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = sorted(map(json.loads, lines), key=lambda row: zlib.crc32(str(row["_id"]).encode()))
    for row in rows[:limit]:
        with tempfile.TemporaryDirectory() as folder, _engine(Path(folder) / "index") as engine:
            for number, passage in enumerate(row["passages"]):
                engine.add(text=passage, name=f"{number}.txt")
            yield _ask(engine, row["question"], can=bool(row["sufficient"]))


def _ask(engine: Engine, question: str, *, can: bool) -> Verdict:
    began = time.perf_counter()
    answer = engine.answer(question)
    return Verdict(can, answer.confidence, answer.abstained, (time.perf_counter() - began) * 1000)


@contextmanager
def _engine(path: Path) -> Iterator[Engine]:
    settings = load_settings(env={}, overrides={"documents.isolate": False, "search.cache_size": 0}).settings
    with Engine.open(path, settings=settings) as engine:
        yield engine


def _inside(document: str) -> bool:
    return zlib.crc32(document.encode()) % 2 == 0


def _share(flags: Sequence[bool]) -> str:
    return f"{100 * sum(flags) / len(flags):.1f}" if flags else "-"


if __name__ == "__main__":
    sys.exit(main())
