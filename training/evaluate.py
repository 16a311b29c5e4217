"""Measure the package's own reranker against late interaction and against none, over the engine's own results.

    python -m training.evaluate --data DIR --sets squad2_dev jsquad_valid --size small --limit 100 [--indexes FOLDER]

Each set is a folder in the BEIR layout below DIR, indexed with the default settings and the light extractor. Late
interaction looks at the first 50 results, the cross-encoder at the first 16. A share says how much a reranker counts;
what is left is the order of the searches. Nothing was fitted on these sets but the share itself.

`--before FOLDER` also asks other weights, over the same results. With `--judge DIR/sufficiency`, how often
the judge is right about whether passages hold the answer.
"""

# ruff: noqa: T201 (a step says what it did)

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from benchmarks.report import Table
from benchmarks.rerank import Remembering, index, kept_folder, mean, settings_with, spread

from hybridrag.engine import Engine
from hybridrag.evaluate.datasets import Dataset, load_dataset
from hybridrag.evaluate.metrics import documents_in_order, ndcg_at, recall_at, reciprocal_rank_at
from hybridrag.evaluate.read_query import Query
from hybridrag.models.own_reranker import FOLDER, OwnReranker
from hybridrag.models.token_vectors import packer_for
from hybridrag.parts import make_embedder
from hybridrag.protocols import Candidate, Question, Reranking
from hybridrag.result import Ok, Result
from hybridrag.search.late import LateInteraction
from hybridrag.search.rerank import blend_reranking
from hybridrag.stores.embedded.store import EmbeddedStore

RECALLS = (5, 10)
READ = 16
"""Results that the cross-encoder reads."""
WAYS = {
    "searches": (0.0, 0.0),
    "late .5": (0.5, 0.0),
    "own .3": (0.0, 0.3),
    "own .5": (0.0, 0.5),
    "own .7": (0.0, 0.7),
    "late .25, own .5": (0.25, 0.5),
    "late .33, own .33": (0.33, 0.33),
}
"""Name -> shares of late interaction and of the cross-encoder."""
NOW, BEFORE = "now", "before"
"""The weights of `--weights`, and those of `--before`."""

Scores = Sequence[float | None]


@dataclass
class Recorder:
    """A reranker that asks all, notes what they say, and changes nothing."""

    late: LateInteraction
    own: Mapping[str, OwnReranker]
    name: str = "recorder"
    seen: dict[str, tuple[Sequence[Candidate], Scores, Mapping[str, Scores]]] = field(default_factory=dict)
    pairs: int = 0
    seconds: float = 0.0

    def rerank(
        self, question: Question, candidates: Sequence[Candidate], *, timeout: float | None = None
    ) -> Result[Reranking]:
        """No scores at all, so that the order of the searches stays."""
        late = self.late.rerank(question, candidates, timeout=timeout).unwrap().scores
        began = time.perf_counter()
        own = {name: model.rerank(question, candidates[:READ]).unwrap().scores for name, model in self.own.items()}
        self.seconds += time.perf_counter() - began
        self.pairs += sum(map(len, own.values()))
        rest = [None] * max(0, len(candidates) - READ)
        self.seen[question.text] = (candidates, late, {name: [*scores, *rest] for name, scores in own.items()})
        return Ok(Reranking(scores=(None,) * len(candidates), model=self.name))


def orders(candidates: Sequence[Candidate], late: Scores, own: Mapping[str, Scores]) -> dict[str, list[Candidate]]:
    """The candidates in the order of each way: "own .5" of the weights now, "own .5 before" of other ones."""
    found = {}
    plain = [candidate.score for candidate in candidates]
    led = [False] * len(candidates)
    for way, (by_late, by_own) in WAYS.items():
        share = by_late / (1 - by_own)
        first = blend_reranking(plain, late, share=share, led=led) if share else plain
        for weights, said in own.items() if by_own else [(NOW, late)]:
            scores = mixed(first, said, by_own) if by_own else first
            order = np.argsort([-score for score in scores], kind="stable").tolist()
            found[way if weights == NOW else f"{way} {weights}"] = [candidates[place] for place in order]
    return found


def mixed(scores: Sequence[float], own: Scores, share: float) -> list[float]:
    """What was read, by both; the rest stays behind it."""
    read = [place for place, score in enumerate(own) if score is not None]
    logits = [_logit(own[place]) for place in read]
    blended = blend_reranking([scores[place] for place in read], logits, share=share, led=[False] * len(read))
    result = [score - 10 for score in scores]
    for place, score in zip(read, blended, strict=True):
        result[place] = score
    return result


def _logit(chance: float | None) -> float:
    sure = min(max(chance or 0.0, 1e-9), 1 - 1e-9)
    return float(np.log(sure / (1 - sure)))


def measure(
    path: Path, dataset: Dataset, queries: Sequence[Query], embedder: Remembering, own: Mapping[str, OwnReranker]
) -> list[list[object]]:
    """One row for each way."""
    store = EmbeddedStore.open(path, create=False)
    recorder = Recorder(LateInteraction(store.token_vectors, packer_for(embedder.info)), own)
    with Engine.open(path, settings=settings_with(0.5), embedder=embedder, reranker=recorder) as engine:
        for query in queries:
            engine.search(query.text, limit=10, rerank_enabled=True, include_highlights=False)
    names = {file.id: dataset.document_id(file.name) for file in store.files()}
    values: dict[str, list[tuple[float, ...]]] = {}
    for query in queries:
        for way, order in orders(*recorder.seen.get(query.text, ((), (), dict.fromkeys(own, ())))).items():
            chunks = store.chunks_by_key([candidate.key for candidate in order])
            found = documents_in_order(
                names[chunks[candidate.key].file_id] for candidate in order if candidate.key in chunks
            )
            gold = query.gold
            recalls = [recall_at(found, gold, depth) for depth in RECALLS]
            values.setdefault(way, []).append((reciprocal_rank_at(found, gold, 10), ndcg_at(found, gold, 10), *recalls))
    store.close()
    rate = round(recorder.pairs / max(recorder.seconds, 1e-9))
    print(f"{dataset.name}: {len(queries)} questions, {rate} pairs a second", file=sys.stderr, flush=True)
    return [
        [dataset.name, len(queries), way, *(mean(list(column)) for column in zip(*rows, strict=True))]
        for way, rows in values.items()
    ]


def judged(path: Path, model: OwnReranker, limit: int) -> list[object]:
    """One row for a file of questions with passages and a label: how often the judge is right at .5."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    # Files are sorted by label: a sample is spread over the whole of it.
    rows = [rows[place] for place in np.unique(np.linspace(0, len(rows) - 1, min(limit, len(rows))).astype(int))]
    said = []
    for row in rows:
        candidates = [Candidate(str(place), text, 0.5) for place, text in enumerate(row["passages"])]
        said.append(model.judge(Question(row["question"]), candidates).unwrap().sufficient)
    label, chance = np.array([row["sufficient"] for row in rows]) == 1, np.array(said)
    order = np.argsort(np.argsort(chance))
    area = (order[label].sum() - label.sum() * (label.sum() - 1) / 2) / max(1, label.sum() * (~label).sum())
    return [path.name.split(".")[0], len(rows), mean(((chance > 0.5) == label).tolist()), mean([float(area)])]


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    parser.add_argument("--sets", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--judge", type=Path, metavar="FOLDER")
    parser.add_argument("--size", choices=("small", "base"), default="small")
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--indexes", type=Path, metavar="FOLDER")
    parser.add_argument("--weights", type=Path, default=FOLDER, metavar="FOLDER")
    parser.add_argument("--before", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    folders = {NOW: options.weights, **({BEFORE: options.before} if options.before else {})}
    own = {name: OwnReranker(options.size, folder=folder) for name, folder in folders.items()}
    if options.judge is not None:
        files = sorted(options.judge.glob("*.jsonl.gz"))
        found = [[name, *judged(path, model, options.limit)] for path in files for name, model in own.items()]
        heads = ["weights", "set", "questions", "right at .5", "area under ROC"]
        Table(f"Own judge, {options.size}, x 100", heads, found).print()
    embedder = Remembering(make_embedder(settings_with(0.0)))
    rows: list[list[object]] = []
    for name in options.sets:
        dataset = load_dataset(options.data / name)
        with kept_folder(options.indexes) as folder:
            index(folder / name, dataset, embedder)
            queries = spread([query for query in dataset.queries if query.has_evidence], options.limit)
            rows.extend(measure(folder / name, dataset, queries, embedder, own))
    heads = ["set", "questions", "order", "MRR@10", "nDCG@10", *(f"Recall@{depth}" for depth in RECALLS)]
    Table(f"Own reranker, {options.size}, x 100", heads, rows).print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
