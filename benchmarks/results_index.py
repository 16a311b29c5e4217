"""Index one data set end to end with the real model: time, memory and size.

python -m benchmarks.results_index DATASET FOLDER

A process of its own, because the peak of memory is the process's. Prints one JSON object.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers.runners.common import bytes_below, peak_mib
from benchmarks.results_run import settings_with
from hybridrag import Engine
from hybridrag.evaluate import load_dataset
from hybridrag.parts import make_llm

KIB = 1024


def measure(dataset: Path, folder: Path) -> dict[str, object]:
    """What taking in all documents of a data set takes."""
    settings = settings_with()
    documents = load_dataset(dataset).documents
    began = time.perf_counter()
    with Engine.open(folder, settings=settings) as engine:
        report = engine.add_documents(documents)
        seconds = time.perf_counter() - began
        status, graph = engine.status(), engine.graph.statistics()
    return {
        "documents": len(documents),
        "failed": len(report.failed),
        "chunks": status.chunks,
        "characters": sum(len(document.text) for document in documents),
        "seconds": round(seconds, 1),
        "processor_seconds": round(time.process_time(), 1),
        "peak_mib": round(peak_mib()),
        "size_mib": round(bytes_below(folder) / KIB**2, 1),
        "llm_tokens": 0 if make_llm(settings) is None else None,
        "entities": graph.get("entities", 0),
        "facts": graph.get("facts", 0),
    }


def measure_apart(dataset: Path, folder: Path) -> dict[str, object]:
    """The same in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.results_index", str(dataset), str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(arguments: Sequence[str]) -> int:
    """Measure, and print."""
    dataset, folder = map(Path, arguments)
    print(json.dumps(measure(dataset, folder)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
