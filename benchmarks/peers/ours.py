"""hybridrag itself, measured as the other libraries are: `python -m benchmarks.peers.ours build|search ...`.

The variant is a recipe. It reads the data set's own documents and makes of them the chunks that the others get.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.peers.prepare import open_embedder, settings_of, take_in
from benchmarks.peers.runners.common import Job, Search, peak_mib, time_build, time_search
from hybridrag import __version__
from hybridrag.engine import Engine
from hybridrag.evaluate.datasets import load_dataset
from hybridrag.recipes import find_recipes


def main() -> None:
    """As the runners', with the data set on top."""
    parser = argparse.ArgumentParser()
    parser.add_argument("phase", choices=("build", "search"))
    parser.add_argument("job", type=Path)
    parser.add_argument("index", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--variant", default="hybrid")
    parser.add_argument("--dataset", type=Path, required=True)
    parser.add_argument("--made-up", action="store_true", help="passages have made-up vectors")
    given = parser.parse_args()
    dataset = load_dataset(given.dataset)
    settings = settings_of()
    embedder = open_embedder(given.job, settings, made_up=given.made_up)
    embedder.token_spans("The model is loaded before the clock starts, as every library's vectors are.")

    def build(_: Job, index: Path) -> None:
        with Engine.open(index, settings=settings, embedder=embedder) as engine:
            take_in(engine, dataset)

    def open_index(job: Job, index: Path) -> Search:
        engine = Engine.open(index, settings=settings, embedder=embedder)
        recipe = find_recipes([job.variant])[0]

        def search(number: int, limit: int) -> list[str]:
            found = engine.search(job.queries[number]["text"], limit=limit, explain=False, **recipe.options())
            names = [item.sources.file_name for item in found.results]
            return [dataset.document_id(name) for name in names if name]

        return search

    job = Job.read(given.job, given.variant)
    phase = time_build(job, given.index, build) if given.phase == "build" else time_search(job, given.index, open_index)
    measured = {**phase, "peak_mib": peak_mib(), "version": __version__, "computed": embedder.computed}
    given.out.write_text(json.dumps(measured, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
