"""What late interaction does to the order of results, by how much it counts: `python -m benchmarks.rerank --data DIR`.

Each set is a folder in the BEIR layout below DIR. It is indexed with the default settings and the light extractor, and
asked the same questions with each share of the reranker; 0 is the order of the searches. Indexing a set takes minutes:
`--indexes FOLDER` keeps the indexes for the next run.

The share and `token_vectors.E5_UNRELATED` were chosen by these figures, on the sets named in SETS: they are no measure
of a set that nobody looked at.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.report import Table
from hybridrag.config import Settings, load_settings
from hybridrag.engine import Engine
from hybridrag.errors import InvalidInput
from hybridrag.evaluate.datasets import Dataset, load_dataset
from hybridrag.evaluate.metrics import documents_in_order, ndcg_at, recall_at, reciprocal_rank_at
from hybridrag.evaluate.read_query import Query
from hybridrag.models.token_vectors import packer_for
from hybridrag.parts import make_embedder
from hybridrag.protocols import Embedder, Passages, Question, Reranking
from hybridrag.result import Ok, Result
from hybridrag.search.late import LateInteraction
from hybridrag.stores.embedded.store import EmbeddedStore
from hybridrag.types.results import Hit

SETS = ("squad2_dev", "jsquad_valid", "localgovfaq_ja", "niilc_dev", "scifact", "2wikimultihopqa", "jemhopqa_train")
SHARES = (0.0, 0.2, 0.3, 0.4, 0.5, 1.0)
LIMIT = 300
LOOKED_AT = 50
SHOWN = 20
"""More than the ten that are scored: several chunks may be of one document."""


class Remembering:
    """An embedder that embeds each question once, for all shares."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Passages] = {}
        self.info = embedder.info
        self.token_spans = embedder.token_spans
        self.embed_passages = embedder.embed_passages

    def embed_query(self, text: str, *, tokens: bool = False) -> Passages:
        if text not in self._known:
            self._known[text] = self._embedder.embed_query(text, tokens=True)
        found = self._known[text]
        return found if tokens else Passages(found.pooled)


class Timed:
    """A reranker that notes how long each question took of the processor, and what it said of each candidate."""

    def __init__(self, reranker: LateInteraction) -> None:
        self._reranker = reranker
        self.name = reranker.name
        self.milliseconds: list[float] = []
        self.said: dict[str, dict[int, float]] = {}

    def rerank(
        self, question: Question, candidates: Sequence[Hit], *, timeout: float | None = None
    ) -> Result[Reranking]:
        began = time.thread_time()
        result = self._reranker.rerank(question, candidates, timeout=timeout)
        self.milliseconds.append((time.thread_time() - began) * 1000)
        if isinstance(result, Ok):
            scores = zip(candidates, result.value.scores, strict=True)
            self.said[question.text] = {one.key: score for one, score in scores if score is not None}
        return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    parser.add_argument("--sets", nargs="+", default=SETS, metavar="NAME")
    parser.add_argument("--limit", type=int, default=LIMIT, help="questions of each set (default: %(default)s)")
    parser.add_argument("--shares", nargs="+", type=float, default=SHARES, metavar="SHARE")
    parser.add_argument("--indexes", type=Path, metavar="FOLDER", help="where indexes are kept; not kept without it")
    options = parser.parse_args()
    embedder = Remembering(make_embedder(settings_with(0.0)))
    order: list[list[object]] = []
    cost: list[list[object]] = []
    for name in options.sets:
        try:
            dataset = load_dataset(options.data / name)
        except InvalidInput as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
            continue
        with kept_folder(options.indexes) as folder:
            index(folder / name, dataset, embedder)
            queries = [query for query in dataset.queries if query.has_evidence]
            rows, row = measure(folder / name, dataset, spread(queries, options.limit), embedder, options.shares)
        order.extend(rows)
        cost.append(row)
        print(f"{name} done", file=sys.stderr, flush=True)
    shares = [f"{share:g}" for share in options.shares]
    Table("Order of results by the share of late interaction, x 100", ["set", "metric", *shares], order).print()
    costs = [
        "set",
        "questions",
        "chunks",
        "bytes a chunk",
        "ms p50",
        "ms p95",
        "answers, p50",
        "others, p50",
        "others, p5",
    ]
    Table("What it costs, and what it says of passages that answer and of others", costs, cost).print()
    return 0


def settings_with(share: float) -> Settings:
    overrides = {
        "documents.isolate": False,
        "graph.extractor": "light",
        "rerank.blend": share,
        "rerank.top_k": LOOKED_AT,
        "search.cache_size": 0,
    }
    return load_settings(env={}, overrides=overrides).settings


@contextmanager
def kept_folder(folder: Path | None) -> Iterator[Path]:
    if folder is not None:
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="hybridrag-rerank-") as made:
        yield Path(made)


def index(path: Path, dataset: Dataset, embedder: Remembering) -> None:
    with Engine.open(path, settings=settings_with(0.0), embedder=embedder) as engine:
        # What an earlier run took in costs next to nothing.
        engine.add_documents(dataset.documents)


def spread(queries: Sequence[Query], count: int) -> list[Query]:
    """So many of them, evenly spread over the file: files are often sorted by kind."""
    places = np.unique(np.linspace(0, len(queries) - 1, min(count, len(queries))).astype(int))
    return [queries[place] for place in places]


def measure(
    path: Path, dataset: Dataset, queries: Sequence[Query], embedder: Remembering, shares: Sequence[float]
) -> tuple[list[list[object]], list[object]]:
    """The rows of a set, one for each metric, and the row of what it costs."""
    store = EmbeddedStore.open(path, create=False)
    reranker = Timed(LateInteraction(store.token_vectors, packer_for(embedder.info)))
    values: dict[str, list[object]] = {"MRR@10": [], "nDCG@10": [], "Recall@5": []}
    for share in shares:
        with Engine.open(path, settings=settings_with(share), embedder=embedder, reranker=reranker) as engine:
            rankings = [ranking(engine, dataset, query, rerank=share > 0) for query in queries]
        pairs = list(zip(rankings, queries, strict=True))
        values["MRR@10"].append(mean([reciprocal_rank_at(found, query.gold, 10) for found, query in pairs]))
        values["nDCG@10"].append(mean([ndcg_at(found, query.gold, 10) for found, query in pairs]))
        values["Recall@5"].append(mean([recall_at(found, query.gold, 5) for found, query in pairs]))
    keys = store.chunk_keys()
    size = sum(map(len, store.token_vectors(keys).values())) / max(1, len(keys))
    took = np.percentile(reranker.milliseconds, [50, 95]).round(1).tolist()
    answers, others = said_of(store, dataset, queries, reranker)
    store.close()
    said = [round(float(np.percentile(part, place)), 2) for part, place in ((answers, 50), (others, 50), (others, 5))]
    rows = [[dataset.name, name, *row] for name, row in values.items()]
    return rows, [dataset.name, len(queries), len(keys), round(size), *took, *said]


def ranking(engine: Engine, dataset: Dataset, query: Query, *, rerank: bool) -> list[str]:
    result = engine.search(query.text, limit=SHOWN, rerank_enabled=rerank, include_highlights=False)
    return documents_in_order(dataset.document_id(item.sources.file_name or "") for item in result.results)


def said_of(
    store: EmbeddedStore, dataset: Dataset, queries: Sequence[Query], reranker: Timed
) -> tuple[list[float], list[float]]:
    """What the reranker said of passages from documents that answer, and of the others."""
    names = {file.id: dataset.document_id(file.name) for file in store.files()}
    answers: list[float] = []
    others: list[float] = []
    for query in queries:
        said = reranker.said.get(query.text, {})
        for key, chunk in store.chunks_by_key(list(said)).items():
            (answers if query.gold.get(names[chunk.file_id], 0) > 0 else others).append(said[key])
    return answers or [0.0], others or [0.0]


def mean(values: Sequence[float]) -> float:
    return round(100 * float(np.mean(values)), 1)


if __name__ == "__main__":
    sys.exit(main())
