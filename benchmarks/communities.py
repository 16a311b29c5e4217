"""Communities by number of entities: found from nothing, and brought up to date after one file and after many.

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
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import psutil

from benchmarks.report import Table
from hybridrag.graph.communities import CommunityReport, rebuild_communities, update_communities
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

SINGLE_FILES = 5
SHARE_CHANGED = 0.04
"""Of all files removed, and as many others added, to see how the quality holds: just short of a fresh start."""

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
    ids = [planted.put(store, number) for number in range(files)]
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
    one = list(_single_files(store, planted, files))
    row["one file more, median s"] = float(np.median([report.seconds for report, _ in one]))
    row["one file more, worst s"] = max(report.seconds for report, _ in one)
    row["that, median s of processor"] = float(np.median([seconds for _, seconds in one]))
    row["communities looked at anew"] = int(np.median([report.recomputed for report, _ in one]))
    row["of them with a new text"] = int(np.median([report.embedded for report, _ in one]))
    row |= _many(store, planted, ids, files + SINGLE_FILES)
    row |= _searched(store)
    store.close()
    return row


def _bytes(store: EmbeddedStore) -> int:
    """What the tables of communities and their indexes take."""
    with store._database.read() as connection:  # noqa: SLF001 (no user asks for this)
        sql = "SELECT sum(pgsize) FROM dbstat WHERE name GLOB '*communit*' OR name GLOB '*_chunks'"
        return int(connection.execute(sql).get)


def _single_files(store: EmbeddedStore, planted: Planted, first: int) -> Iterator[tuple[CommunityReport, float]]:
    """What each update did, and how long the processor worked on it."""
    for number in range(first, first + SINGLE_FILES):
        planted.put(store, number)
        began = time.process_time()
        report = update_communities(store, embed=embed)
        assert not report.fresh
        yield report, time.process_time() - began


def _many(store: EmbeddedStore, planted: Planted, ids: Sequence[FileId], first: int) -> dict[str, object]:
    """Replace a share of the files in ten steps, then compare with communities found from nothing."""
    count = int(SHARE_CHANGED * len(ids))
    gone = np.random.default_rng(1).permutation(len(ids))[:count]
    maintained = None
    seconds = 0.0
    for part in np.array_split(np.arange(count), 10):
        store.remove_files([ids[gone[place]] for place in part])
        for place in part.tolist():
            planted.put(store, first + place)
        maintained = update_communities(store, embed=embed)
        seconds += maintained.seconds
        assert not maintained.fresh
    assert maintained is not None
    again = rebuild_communities(store, embed=embed)
    return {
        f"{SHARE_CHANGED:.0%} of the files replaced, files": count,
        "those, s": seconds,
        "modularity, maintained": maintained.modularity,
        "modularity, found again from nothing": again.modularity,
        "maintained / from nothing": maintained.modularity / again.modularity,
    }


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
