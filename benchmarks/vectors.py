"""How fast, small and true the vector indexes are: `python -m benchmarks.vectors [--sizes N ...] [--kinds KIND ...]`.

Vectors are made, not embedded: `anisotropic()` of `hybridrag.testing.vectors` draws unit vectors of 384 numbers
around one common direction (cosines .63 to .91, median .78; e5-small on mixed English and Japanese passages: .62 to
.99, median .81), with topics along 96 directions of falling weight and 30 % noise. The truth for recall is
a float32 comparison with every vector. Filters allow a random share of the keys.

Each index is built here and measured in a process of its own: load time, then memory, then single queries one after
another. `private` is memory that is gone from the machine, `mapped` are pages of the files that were touched and
can be taken back at any time.
"""

from __future__ import annotations

import argparse
import multiprocessing
import shutil
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import psutil

from hybridrag.protocols import Keys
from hybridrag.stores.vectors.choose import KINDS, build_index, load_index
from hybridrag.stores.vectors.index import MatrixIndex
from hybridrag.testing.vectors import anisotropic
from hybridrag.types.base import Float32Array

Row = dict[str, str | float]

DIMENSION = 384
QUERIES = 200
K = 10
SELECTIVITIES = (1.0, 0.001, 0.01, 0.1, 0.5)
DISKANN_UP_TO = 10_000  # its graph takes some 300 vectors a second
MEASURES = ("build_s", "load_ms", "bytes", "private_mb", "mapped_mb", "p50_ms", "p95_ms", "cpu_ms", "recall")
COLUMNS = ("kind", "size", "filter", *MEASURES)


def run(sizes: Sequence[int] = (1_000, 10_000, 100_000), kinds: Sequence[str] = tuple(KINDS)) -> list[Row]:
    """One row for every size, kind and filter."""
    rows: list[Row] = []
    for size in sizes:
        scratch = Path(tempfile.mkdtemp(prefix="hybridrag-vectors-"))
        try:
            for kind in kinds:
                if kind != "diskann" or size <= DISKANN_UP_TO:
                    rows += _measured(kind, size, scratch / kind)
        finally:
            shutil.rmtree(scratch)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed, size and recall of the vector indexes.")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    options = parser.parse_args()
    print("  ".join(f"{name:>10}" for name in COLUMNS))
    for size in options.sizes:
        for row in run([size], options.kinds):
            print("  ".join(f"{_shown(row.get(name, '')):>10}" for name in COLUMNS), flush=True)


def _measured(kind: str, size: int, folder: Path) -> list[Row]:
    vectors = anisotropic(size, DIMENSION, seed=1)
    queries = anisotropic(QUERIES, DIMENSION, seed=2)
    keys = np.arange(size, dtype=np.int64) * 3 + 1
    started = time.perf_counter()
    index = build_index(kind, DIMENSION)
    index.add(keys, vectors)
    index.save(folder)
    index.close()
    built: Row = {
        "kind": kind,
        "size": size,
        "build_s": time.perf_counter() - started,
        "bytes": sum(path.stat().st_size for path in folder.iterdir()) / size,
    }
    filters = {share: _allowed(keys, share) for share in SELECTIVITIES}
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh) as pool:
        opened, answers = pool.submit(_queried, kind, folder, queries, filters).result()
    rows = []
    for share, (times, cpu, found) in answers.items():
        recall = _recall(found, keys, vectors, queries, filters[share])
        p50, p95 = np.percentile(times, [50, 95]) * 1e3
        rows.append(
            built | opened | {"filter": share, "p50_ms": p50, "p95_ms": p95, "cpu_ms": cpu * 1e3, "recall": recall}
        )
    return rows


Answers = dict[float, tuple[list[float], float, list[list[int]]]]


def _queried(kind: str, folder: Path, queries: Float32Array, filters: dict[float, Keys | None]) -> tuple[Row, Answers]:
    """In a process of its own: open the index, then ask every query under every filter."""
    _import_engine(kind, folder.parent)
    process = psutil.Process()
    before = process.memory_info()
    started = time.perf_counter()
    index = load_index(kind, folder, DIMENSION)
    load_ms = (time.perf_counter() - started) * 1e3
    answers: Answers = {}
    opened: Row = {"load_ms": load_ms}
    for share, allowed in filters.items():
        answers[share] = _asked(index, queries, allowed)
        if share == 1.0:
            after = process.memory_info()
            opened["mapped_mb"] = (after.shared - before.shared) / 1e6
            opened["private_mb"] = (after.rss - before.rss) / 1e6 - float(opened["mapped_mb"])
    return opened, answers


def _import_engine(kind: str, scratch: Path) -> None:
    """Let libraries take the memory they take once, before it is counted."""
    size = 5_000 if kind == "quantised" else 10
    index = build_index(kind, 8)
    index.add(np.arange(size), anisotropic(size, 8, seed=1))
    index.save(scratch / "warm-up")
    index.search(anisotropic(1, 8, seed=2)[0], K)
    index.close()


def _asked(
    index: MatrixIndex, queries: Float32Array, allowed: Keys | None
) -> tuple[list[float], float, list[list[int]]]:
    index.search(queries[0], K, allowed=allowed)
    times, found = [], []
    cpu = time.process_time()
    for query in queries:
        started = time.perf_counter()
        hits = index.search(query, K, allowed=allowed)
        times.append(time.perf_counter() - started)
        found.append([key for key, _ in hits])
    return times, (time.process_time() - cpu) / len(queries), found


def _allowed(keys: Keys, share: float) -> Keys | None:
    if share == 1.0:
        return None
    count = max(1, int(share * len(keys)))
    return np.sort(np.random.default_rng(count).choice(keys, count, replace=False))


def _recall(
    found: list[list[int]], keys: Keys, vectors: Float32Array, queries: Float32Array, allowed: Keys | None
) -> float:
    rows = np.arange(len(keys)) if allowed is None else np.searchsorted(keys, allowed)
    hits = total = 0
    for query, answer in zip(queries, found, strict=True):
        true = keys[rows[np.argsort(-(vectors[rows] @ query))[:K]]]
        hits += len(np.intersect1d(true, answer))
        total += len(true)
    return hits / total


def _shown(value: str | float) -> str:
    return f"{value:,.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
