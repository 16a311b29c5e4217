"""The embedded store by size: ingest by part, memory, disk, opening, keyword and vector search, filters.

Vectors are generated (a common mean, a low-rank part and noise, as sentence embeddings have), because embedding
100,000 passages would take most of an hour; the rate of the real model is measured on a sample by
`benchmarks.embedding`.

python -m benchmarks.store --sizes 1000 10000 100000 [--data DIR]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import corpus
from benchmarks.report import Table
from hybridrag.documents.chunk import chunk_document, passage_text
from hybridrag.documents.read import read_document
from hybridrag.protocols import ModelInfo, NewChunk
from hybridrag.search.keyword import search_keywords
from hybridrag.stores.embedded.store import EmbeddedStore
from hybridrag.testing.embedders import HashEmbedder
from hybridrag.types.base import Float32Array
from hybridrag.types.documents import FileInfo
from hybridrag.types.ids import file_id_for
from hybridrag.types.queries import SearchFilters

SIZES = (1_000, 10_000, 100_000)
DIMENSION = 384
MODEL = ModelInfo(name="generated", fingerprint="generated", dimension=DIMENSION, max_tokens=512)
QUERIES = 200
CHUNKS_PER_FILE = 10
MEBIBYTE = 1 << 20


def run(sizes: tuple[int, ...] = SIZES, *, data: Path | None = None) -> list[Table]:
    """One row per size."""
    rows = []
    for size in sizes:
        folder = Path(tempfile.mkdtemp(prefix="hybridrag-bench-"))
        try:
            rows.append(_measure(size, folder, data))
        finally:
            shutil.rmtree(folder)
    sizes_shown = [f"{row['chunks']:,}" for row in rows]
    measured = [name for name in rows[0] if name != "chunks"]
    return [
        Table(
            "The embedded store by number of chunks",
            ["what", *sizes_shown],
            [[name, *(row[name] for row in rows)] for name in measured],
        )
    ]


def _measure(size: int, folder: Path, data: Path | None) -> dict[str, object]:
    texts = list(corpus.from_folder(data, size) if data else corpus.generated(size))
    vectors = make_vectors(size)
    parts, peak = _ingest(folder, texts, vectors)
    disk = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    row: dict[str, object] = {"chunks": size}
    row.update({f"{name} /s": round(size / seconds) for name, seconds in parts.items()})
    row["peak MiB"] = round(peak)
    row["bytes/chunk"] = round(disk / size)
    row["open ms"] = _open_ms(folder)
    row.update(_search(folder, texts, vectors))
    return row


def _ingest(folder: Path, texts: list[str], vectors: Float32Array) -> tuple[dict[str, float], float]:
    """Seconds by part, and the highest memory on the way, less what texts and vectors themselves hold."""
    import psutil

    process = psutil.Process(os.getpid())
    before = process.memory_info().rss
    peak = 0
    parts = {"read+chunk": 0.0, "write": 0.0}
    spans = HashEmbedder().token_spans
    store = EmbeddedStore.open(folder)
    store.bind_model(MODEL)
    began = datetime(2020, 1, 1, tzinfo=UTC)
    done = 0
    for first in range(0, len(texts), CHUNKS_PER_FILE):
        piece = texts[first : first + CHUNKS_PER_FILE]
        name = f"{first}.txt"
        start = time.perf_counter()
        data = "\n\n".join(f"# Section {place}\n\n{text}" for place, text in enumerate(piece)).encode()
        document = read_document(data, name=f"{first}.md")
        chunks = chunk_document(document, file_id=file_id_for("default", name), token_spans=spans)
        parts["read+chunk"] += time.perf_counter() - start
        file = FileInfo(
            id=file_id_for("default", name),
            name=name,
            workspace=f"w{first % 7}",
            mime_type=document.mime_type,
            content_hash="0",
            size=len(data),
            modified=began + timedelta(hours=first),
            added=began,
        )
        start = time.perf_counter()
        new = [
            NewChunk(chunk=chunk, passage=passage_text(chunk, None), vector=vectors[(done + place) % len(vectors)])
            for place, chunk in enumerate(chunks)
        ]
        store.put_file(file, document.text, new)
        parts["write"] += time.perf_counter() - start
        done += len(chunks)
        peak = max(peak, process.memory_info().rss)
    start = time.perf_counter()
    store.flush(force=True)
    parts["vector index"] = time.perf_counter() - start
    peak = max(peak, process.memory_info().rss)
    store.close()
    return parts, (peak - before) / MEBIBYTE


def _open_ms(folder: Path) -> float:
    """Opening and the first vector search, in a process of its own, its imports not counted."""
    script = (
        "import sys, time, numpy as np\n"
        "from pathlib import Path\n"
        "from hybridrag.stores.embedded.store import EmbeddedStore\n"
        "import hybridrag.stores.vectors.quantised, hybridrag.language.tokenise as t\n"
        "try:\n    import faiss\nexcept ImportError:\n    pass\n"
        "t.tokenise('warm 温める')\n"
        "start = time.perf_counter()\n"
        "store = EmbeddedStore.open(Path(sys.argv[1]))\n"
        "store.search_vector(np.ones(384, dtype=np.float32) / 384**0.5, 10)\n"
        "print((time.perf_counter() - start) * 1000)\n"
    )
    output = subprocess.run([sys.executable, "-c", script, str(folder)], check=True, capture_output=True, text=True)
    return round(float(output.stdout.split()[-1]), 1)


def _search(folder: Path, texts: list[str], vectors: Float32Array) -> dict[str, object]:
    store = EmbeddedStore.open(folder)
    asked = corpus.questions(texts, QUERIES)
    rng = np.random.default_rng(3)
    near = vectors[rng.integers(len(vectors), size=QUERIES)] + rng.normal(scale=0.02, size=(QUERIES, DIMENSION))
    near = (near / np.linalg.norm(near, axis=1, keepdims=True)).astype(np.float32)
    rare = SearchFilters(date_range={"start": "2020-01-01", "end": "2020-01-20"})  # type: ignore[arg-type]
    common = SearchFilters(workspace_ids=("w1", "w3"))
    row: dict[str, object] = {}
    row.update(_timed("keyword", [partial(search_keywords, store, text, 20) for text in asked]))
    row.update(
        _timed("keyword, filtered", [partial(search_keywords, store, text, 20, filters=common) for text in asked])
    )
    row.update(_timed("vector", [partial(store.search_vector, vector, 10) for vector in near]))
    row["recall@10"] = round(_recall(store, near, None), 3)
    for name, filters in (("wide filter", common), ("narrow filter", rare)):
        calls = [partial(store.search_vector, vector, 10, filters=filters) for vector in near]
        row.update(_timed(f"vector, {name}", calls))
        row[f"recall@10, {name}"] = round(_recall(store, near, filters), 3)
    store.close()
    return row


def _timed(name: str, calls: Sequence[Callable[[], object]]) -> dict[str, object]:
    for call in calls[:5]:
        call()
    times = []
    for call in calls:
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1000)
    return {
        f"{name} p50 ms": round(float(np.percentile(times, 50)), 2),
        f"{name} p95 ms": round(float(np.percentile(times, 95)), 2),
    }


def _recall(store: EmbeddedStore, queries: Float32Array, filters: SearchFilters | None) -> float:
    """Against a scan of every stored vector that the filter passes."""
    keys = store.chunk_keys()
    visible = np.array(sorted(store.chunks_by_key(keys, filters=filters)), dtype=np.int64)
    stored = store.vectors(visible.tolist())
    matrix = np.stack([stored[int(key)] for key in visible])
    found = wanted = 0
    for query in queries[:100]:
        best = visible[np.argsort(-(matrix @ query), kind="stable")[:10]]
        got = {key for key, _ in store.search_vector(query, 10, filters=filters)}
        found += len(got & set(best.tolist()))
        wanted += len(best)
    return found / wanted


def make_vectors(count: int, *, seed: int = 5) -> Float32Array:
    """Unit vectors whose cosines sit high and close together, as those of sentence embedders do."""
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=DIMENSION)
    basis = rng.normal(size=(48, DIMENSION)) / 7

    def pieces() -> Iterator[Float32Array]:
        for first in range(0, count, 20_000):
            rows = min(20_000, count - first)
            vectors = mean + rng.normal(size=(rows, 48)) @ basis * 0.6 + rng.normal(size=(rows, DIMENSION)) * 0.25
            yield (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)

    return np.concatenate(list(pieces()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--data", type=Path)
    arguments = parser.parse_args()
    for table in run(tuple(arguments.sizes), data=arguments.data):
        table.print()
