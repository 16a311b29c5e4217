"""Communities by number of entities: found, and found again after one file more.

The graph is planted: entities stand in groups, a chunk names some of one group, and now and then a well-known entity
of any group. Nothing is embedded by a model: only the communities are measured.

python -m benchmarks.communities --sizes 10000 300000
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import psutil

from benchmarks.report import Table
from hybridrag.graph.communities import rebuild_communities, update_communities
from hybridrag.graph.community_views import search_communities
from hybridrag.protocols import NewChunk
from hybridrag.stores.embedded.store import EmbeddedStore
from hybridrag.testing.stores import DIMENSION, MODEL, make_file, make_vector
from hybridrag.types.base import Float32Array
from hybridrag.types.documents import Chunk
from hybridrag.types.extraction import ChunkGraph, Mention, Source
from hybridrag.types.graph import EntityType
from hybridrag.types.ids import FileId, chunk_id_for
from hybridrag.types.queries import SearchFilters

SIZES = (10_000, 300_000)
GROUP = 60
CHUNKS_PER_FILE = 10
ENTITIES_PER_CHUNK = 9
OUTSIDE = 0.12
"""Share of the names in a chunk that are of any group."""

WELL_KNOWN = 3.0
"""How uneven those are: at 3, a thousandth of the entities has a tenth of them."""

SEARCHES = 50
MEBIBYTE = 1 << 20


class Planted:
    """Files of a planted graph; the same number gives the same file."""

    def __init__(self, entities: int) -> None:
        # Some are never named.
        self.entities = entities * 5 // 4
        self.groups = max(1, self.entities // GROUP)

    def chunk(self, number: int) -> list[int]:
        """The entities that a chunk names."""
        rng = np.random.default_rng(number)
        count = int(np.clip(rng.poisson(ENTITIES_PER_CHUNK), 1, 25))
        group = int(rng.integers(self.groups))
        # Within a group some are named far more often than others, as in texts.
        often = np.minimum((rng.pareto(1.2, count) * GROUP / 8).astype(int), GROUP - 1)
        inside = group * GROUP + np.where(rng.random(count) < 0.5, often, rng.integers(GROUP, size=count))
        outside = (self.entities * rng.random(count) ** WELL_KNOWN).astype(int)
        return sorted({int(it) for it in np.where(rng.random(count) < OUTSIDE, outside, inside)})

    def put(self, store: EmbeddedStore, number: int) -> FileId:
        """Write one file."""
        file = make_file(f"{number}.txt", workspace=f"w{number % 10}")
        chunks: list[NewChunk] = []
        texts: list[str] = []
        place = 0
        for ordinal in range(CHUNKS_PER_FILE):
            text, graph = _said(self.chunk(number * CHUNKS_PER_FILE + ordinal))
            chunk = Chunk(
                id=chunk_id_for(file.id, text, ordinal),
                file_id=file.id,
                ordinal=ordinal,
                text=text,
                start=place,
                end=place + len(text),
            )
            chunks.append(NewChunk(chunk=chunk, passage=text, vector=make_vector(number), graph=graph))
            texts.append(text)
            place += len(text) + 1
        store.put_file(file, "\n".join(texts), chunks)
        return file.id


def _said(entities: Sequence[int]) -> tuple[str, ChunkGraph]:
    """Sentences of three names each."""
    text = ""
    mentions = []
    for place, entity in enumerate(entities):
        name = f"Name{entity}"
        mentions.append(
            Mention(name, name.casefold(), EntityType.OTHER, len(text), len(text) + len(name), 0.9, Source.NAME)
        )
        text += name + (". " if place % 3 == 2 or place == len(entities) - 1 else " met ")
    return text.strip(), ChunkGraph(mentions=tuple(mentions))


def embed(texts: Sequence[str]) -> Float32Array:
    """Vectors that only the text decides, made at once."""
    rng = np.random.default_rng(len(texts))
    vectors = rng.normal(size=(len(texts), DIMENSION)).astype(np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def run(sizes: Sequence[int] = SIZES) -> list[Table]:
    """One column per size."""
    measured = []
    for size in sizes:
        folder = Path(tempfile.mkdtemp(prefix="hybridrag-bench-"))
        try:
            measured.append(_measure(size, folder))
        finally:
            shutil.rmtree(folder)
    return [
        Table(
            "Communities by number of entities",
            ["what", *(f"{size:,}" for size in sizes)],
            [[name, *(row[name] for row in measured)] for name in measured[0]],
        )
    ]


def _measure(size: int, folder: Path) -> dict[str, object]:
    planted = Planted(size)
    files = size // 30
    store = EmbeddedStore.open(folder / "index")
    store.bind_model(MODEL)
    began = time.perf_counter()
    for number in range(files):
        planted.put(store, number)
    ingest = time.perf_counter() - began
    before = psutil.Process(os.getpid()).memory_info().rss
    processor = time.process_time()
    fresh = update_communities(store, embed=embed)
    processor = time.process_time() - processor
    row: dict[str, object] = {
        "entities": store.graph.statistics()["entities"],
        "chunks": files * CHUNKS_PER_FILE,
        "writing the chunks, s": ingest,
        "found from nothing, s": fresh.seconds,
        "that, s of processor": processor,
        "memory taken by that, MiB": (psutil.Process(os.getpid()).memory_info().rss - before) / MEBIBYTE,
        "on disk, MiB": _bytes(store) / MEBIBYTE,
        "communities by level": " / ".join(f"{count:,}" for count in fresh.levels),
        "modularity": fresh.modularity,
        "nothing changed, s": update_communities(store, embed=embed).seconds,
    }
    planted.put(store, files)
    again = rebuild_communities(store, embed=embed)
    row["found again after one more file, s"] = again.seconds
    row["of them with a new text"] = again.embedded
    row |= _searched(store)
    store.close()
    return row


def _bytes(store: EmbeddedStore) -> int:
    """What the tables of communities and their indexes take."""
    with store._database.read() as connection:  # noqa: SLF001 (no user asks for this)
        sql = "SELECT sum(pgsize) FROM dbstat WHERE name GLOB '*communit*'"
        return int(connection.execute(sql).get)


def _searched(store: EmbeddedStore) -> dict[str, object]:
    row: dict[str, object] = {}
    for name, filters in (("", None), (", one workspace of ten", SearchFilters(workspace_ids=("w3",)))):
        times = []
        for number in range(SEARCHES + 1):
            began = time.perf_counter()
            search_communities(store, make_vector(number), 10, filters=filters)
            times.append((time.perf_counter() - began) * 1e3)
        row[f"search{name}, first ms"] = times[0]
        row[f"search{name}, p50 ms"] = float(np.percentile(times[1:], 50))
        row[f"search{name}, p95 ms"] = float(np.percentile(times[1:], 95))
    return row


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    for table in run(parser.parse_args().sizes):
        table.print()
