"""What every runner does: read the job, build an index that stays on disk, open it again and answer the questions.

python -m benchmarks.peers.runners.NAME build|search JOB INDEX OUT.json [--variant NAME]

A job is a folder that `benchmarks.peers.prepare` wrote. Building and searching are processes of their own, so that
each has its own peak of memory and searching starts cold.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

LIMIT = 20
"""Results asked for and timed, for everyone alike."""
ENOUGH_DOCUMENTS = 10
"""The deepest rank that is scored. Where twenty chunks are of fewer documents, more are asked for, untimed."""
MOST_RESULTS = 100
WARM = 10
"""Questions asked before the timing, besides the first, which is timed apart."""
KIBIBYTES_PER_MEBIBYTE = 1024

Search = Callable[[int, int], Sequence[str]]
"""The number of a question, how many results -> the documents of the results, best first; repeated where chunks are."""


@dataclass(slots=True)
class Job:
    """Chunks and questions with their vectors, and what of them is written where."""

    folder: Path
    variant: str = ""
    chunks: list[dict[str, str]] = field(default_factory=list)
    """`document`, `text`, and for languages without spaces `words`: the text with spaces between its words."""
    queries: list[dict[str, Any]] = field(default_factory=list)
    """`id`, `text`, `words` as above, and `names` and `keywords` that the question holds."""

    @classmethod
    def read(cls, folder: Path, variant: str = "") -> Job:
        """What `prepare` wrote."""
        written = json.loads((folder / "job.json").read_text(encoding="utf-8"))
        return cls(folder, variant, written["chunks"], written["queries"])

    def texts(self) -> list[str]:
        """The chunks as this variant takes them."""
        return [self._said(chunk) for chunk in self.chunks]

    def question(self, number: int) -> str:
        """A question as this variant asks it."""
        return self._said(self.queries[number])

    def _said(self, item: dict[str, str]) -> str:
        return item["words"] if self.variant == "words" else item["text"]

    def vectors(self) -> NDArray[np.float32]:
        """One row a chunk, of length 1."""
        return np.asarray(np.load(self.folder / "chunks.npy"), dtype=np.float32)

    def query_vectors(self) -> NDArray[np.float32]:
        """One row a question, of length 1."""
        return np.asarray(np.load(self.folder / "queries.npy"), dtype=np.float32)

    def knowledge(self) -> dict[str, list[dict[str, Any]]]:
        """`entities` and `relations`, each with the numbers of the chunks that say so."""
        found: dict[str, list[dict[str, Any]]] = json.loads((self.folder / "graph.json").read_text(encoding="utf-8"))
        return found

    def documents(self, chunks: Iterable[int]) -> list[str]:
        """The documents of these chunks."""
        return [self.chunks[chunk]["document"] for chunk in chunks]


def main(package: str, build: Callable[[Job, Path], None], open_index: Callable[[Job, Path], Search]) -> None:
    """The whole of a runner, once it says how to build and how to open."""
    parser = argparse.ArgumentParser()
    parser.add_argument("phase", choices=("build", "search"))
    parser.add_argument("job", type=Path)
    parser.add_argument("index", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--variant", default="")
    given = parser.parse_args()
    job = Job.read(given.job, given.variant)
    measured = (
        time_build(job, given.index, build) if given.phase == "build" else time_search(job, given.index, open_index)
    )
    measured["peak_mib"] = peak_mib()
    measured["version"] = metadata.version(package)
    measured["python"] = sys.version.split()[0]
    given.out.write_text(json.dumps(measured, ensure_ascii=False), encoding="utf-8")


def time_build(job: Job, index: Path, build: Callable[[Job, Path], None]) -> dict[str, Any]:
    """Seconds, and what the index takes on disk."""
    began = time.perf_counter()
    build(job, index)
    return {"seconds": time.perf_counter() - began, "bytes": bytes_below(index)}


def time_search(job: Job, index: Path, open_index: Callable[[Job, Path], Search]) -> dict[str, Any]:
    """Milliseconds to open and to answer, and the documents found for each question."""
    began = time.perf_counter()
    search = open_index(job, index)
    opened = time.perf_counter()
    search(0, LIMIT)
    first = time.perf_counter()
    for number in range(1, min(1 + WARM, len(job.queries))):
        search(number, LIMIT)
    times, worked, rankings = [], [], []
    for number in range(len(job.queries)):
        start, processor = time.perf_counter(), time.process_time()
        found = search(number, LIMIT)
        times.append((time.perf_counter() - start) * 1000)
        worked.append((time.process_time() - processor) * 1000)
        ranking = list(dict.fromkeys(found))
        if len(ranking) < ENOUGH_DOCUMENTS <= len(found):
            ranking = list(dict.fromkeys([*ranking, *search(number, MOST_RESULTS)]))
        rankings.append(ranking)
    return {
        "open_ms": (opened - began) * 1000,
        "first_ms": (first - opened) * 1000,
        "times_ms": times,
        "processor_ms": worked,
        "rankings": rankings,
    }


def bytes_below(path: Path) -> int:
    """What a file or a folder takes on disk."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def peak_mib() -> float:
    """The most memory that this process ever held."""
    status = Path("/proc/self/status")
    if status.exists():
        # What getrusage says on Linux is inherited from the process that started this one.
        held = next(line for line in status.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM"))
        return int(held.split()[1]) / KIBIBYTES_PER_MEBIBYTE
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KIBIBYTES_PER_MEBIBYTE
    # macOS counts in bytes.
    return peak / KIBIBYTES_PER_MEBIBYTE if sys.platform == "darwin" else peak
