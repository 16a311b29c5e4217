"""The knowledge graph by size: building it, adding one file to it, and walking it.

Vectors are made by the hashing embedder, so that only the graph is measured.

python -m benchmarks.graph --sizes 1000 10000 [--corpus FILE.jsonl.gz] [--keep FOLDER]

The corpus has one JSON object with `title` and `text` a line, each taken as a document of its own; without one,
texts that name each other are generated. With `--keep`, indexes stay in the folder, and one that is there already is
measured without being built again.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import psutil

from benchmarks.peers.runners.common import peak_mib
from benchmarks.report import Table
from hybridrag.config import load_settings
from hybridrag.engine import Engine
from hybridrag.graph.walk import WalkLimits
from hybridrag.ingest import Source
from hybridrag.protocols import Passages
from hybridrag.testing.embedders import HashEmbedder

SIZES = (1_000, 10_000)
WALKS = 200
MEBIBYTE = 1 << 20
VERBS = ("founded", "directed", "wrote", "acquired", "visited", "married", "designed", "reviewed")


class PooledEmbedder(HashEmbedder):
    """One vector for each text and none for its tokens: those belong to reranking."""

    def embed_passages(self, texts: Sequence[str], *, tokens: bool = False) -> Passages:
        del tokens
        return super().embed_passages(texts)


def run(sizes: tuple[int, ...] = SIZES, *, corpus: Path | None = None, keep: Path | None = None) -> list[Table]:
    """One column per size."""
    measured = []
    for size in sizes:
        folder = keep / str(size) if keep else Path(tempfile.mkdtemp(prefix="hybridrag-bench-"))
        try:
            measured.append(_measure(size, folder, corpus))
        finally:
            if not keep:
                shutil.rmtree(folder)
    names = dict.fromkeys(name for row in measured for name in row if name != "documents")
    return [
        Table(
            "The knowledge graph by number of documents",
            ["what", *(f"{row['documents']:,}" for row in measured)],
            [[name, *(row.get(name, "") for row in measured)] for name in names],
        )
    ]


def _measure(size: int, folder: Path, corpus: Path | None) -> dict[str, object]:
    documents = list(islice(documents_of(corpus, size), size))
    settings = load_settings(env={}, overrides={"documents.isolate": False, "graph.extractor": "light"}).settings
    row: dict[str, object] = {"documents": len(documents)}
    built = (folder / "index").exists()
    engine = Engine.open(folder / "index", settings=settings, embedder=PooledEmbedder(dimension=64))
    if not built:
        row.update(_build(engine, documents))
    status = engine.status()
    row["chunks"] = status.chunks
    row["bytes/chunk"] = round(status.bytes_on_disk / status.chunks)
    row.update(engine.graph.statistics())
    row["components"] = _components(engine)
    start = time.perf_counter()
    engine.add(text=" ".join(text for _, text in documents[:3]) + " Zyx Qwerty joined.", name="new.txt", title="New")
    row["add one file ms"] = round((time.perf_counter() - start) * 1000)
    start = time.perf_counter()
    engine.remove("new.txt")
    row["remove one file ms"] = round((time.perf_counter() - start) * 1000)
    row.update(_walks(engine))
    engine.close()
    return row


def _build(engine: Engine, documents: list[tuple[str, str]]) -> dict[str, object]:
    """Time and memory of taking everything in, communities included."""
    before = psutil.Process(os.getpid()).memory_info().rss
    sources = [
        Source(name=f"{number}.txt", load=text.encode, mime_type="text/plain", title=title)
        for number, (title, text) in enumerate(documents)
    ]
    start, began = time.perf_counter(), time.process_time()
    engine._ingest(sources, [], None, None, None)  # noqa: SLF001 (many texts in one call, as a folder would be)
    processor = time.process_time() - began
    return {
        "build s": round(time.perf_counter() - start, 1),
        "build, processor s": round(processor, 1),
        "documents per processor s": round(len(documents) / processor),
        "memory, peak MiB": round(peak_mib() - before / MEBIBYTE),
    }


def _components(engine: Engine) -> int:
    """Parts of the graph that nothing joins; entities that stand alone count as one each."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    graph = engine._store.graph  # noqa: SLF001 (the public view is bounded)
    keys = graph.entity_list(2**31)
    place = {key: number for number, key in enumerate(keys)}
    pairs = [(place[first], place[second]) for first, second, _ in graph.edges()]
    rows, columns = zip(*pairs, strict=True) if pairs else ((), ())
    matrix = coo_matrix((np.ones(len(pairs)), (rows, columns)), shape=(len(keys), len(keys)))
    count, _ = connected_components(matrix, directed=False)
    return int(count)


def _walks(engine: Engine) -> dict[str, object]:
    store = engine._store  # noqa: SLF001 (walks start from keys)
    rng = np.random.default_rng(3)
    keys = store.chunk_keys()
    times, worked, nodes = [], [], []
    for _ in range(WALKS):
        seeds = {int(key): 1.0 for key in rng.choice(keys, size=min(8, len(keys)), replace=False)}
        start, began = time.perf_counter(), time.thread_time()
        found = engine.graph.walk(chunks=seeds, limits=WalkLimits(depth=3))
        worked.append((time.thread_time() - began) * 1000)
        times.append((time.perf_counter() - start) * 1000)
        nodes.append(len(found.chunks) + len(found.entities))
    return {
        "walk p50 ms": round(float(np.percentile(times, 50)), 1),
        "walk p95 ms": round(float(np.percentile(times, 95)), 1),
        "walk, processor p95 ms": round(float(np.percentile(worked, 95)), 1),
        "walk nodes p50": int(np.median(nodes)),
    }


def documents_of(corpus: Path | None, size: int) -> Iterator[tuple[str, str]]:
    """Titles and texts of the corpus, or so many generated ones."""
    return _from_file(corpus) if corpus else _generated(size)


def _from_file(path: Path) -> Iterator[tuple[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield row["title"], row["text"]


def _generated(count: int, *, seed: int = 9) -> Iterator[tuple[str, str]]:
    """Documents about made-up people and places; the well known are named often, most are named a few times."""
    rng = np.random.default_rng(seed)
    syllables = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]

    def word() -> str:
        return "".join(rng.choice(syllables, size=3)).capitalize()

    names = [f"{word()} {word()}" for _ in range(max(50, count))]
    for number in range(count):
        title = names[number % len(names)]
        others = [names[min(len(names) - 1, int(rank) - 1)] for rank in rng.zipf(1.2, size=6)]
        parts = [f"{title} {rng.choice(VERBS)} {other} in {1800 + int(rng.integers(220))}." for other in others]
        yield title, " ".join(parts)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    for table in run(tuple(arguments.sizes), corpus=arguments.corpus, keep=arguments.keep):
        table.print()
