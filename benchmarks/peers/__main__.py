"""Compare hybridrag with other libraries: `python -m benchmarks.peers DATASET ... [--limit N]`.

Each data set is a folder in the BEIR layout; without one, the sample that ships with the project is asked. --sizes
compares speed and memory on made-up documents. The libraries are installed by pip into environments of their own below
`--keep`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers.compare import Comparison, answerable, compare
from benchmarks.peers.install import PEERS, Peer
from benchmarks.peers.made import make_dataset
from benchmarks.report import RESULTS, Table, machine_line, write, write_between
from hybridrag.errors import RAGError
from hybridrag.evaluate.datasets import load_dataset

SAMPLE = Path("sample/eval")
PUBLIC = {"hotpotqa_train100": None, "2wikimultihopqa": None, "localgovfaq_ja": None, "squad2_dev": 300}
"""Data sets that the documentation shows, and how many of their questions; those that a data folder holds are asked."""


def run(
    datasets: Sequence[Path] = (SAMPLE,),
    *,
    limit: int | None = None,
    peers: Sequence[Peer] = PEERS,
    keep: Path = RESULTS / "peers",
) -> list[Comparison]:
    """One comparison for each data set."""
    return [
        compare(answerable(load_dataset(path)).first(limit), peers, jobs=keep / "jobs", environments=keep)
        for path in datasets
    ]


def run_size(size: int, *, peers: Sequence[Peer] = PEERS, keep: Path = RESULTS / "peers") -> Comparison:
    """Speed and memory on so many made-up documents."""
    path = make_dataset(size, keep / "sets" / f"made-{size}")
    return compare(load_dataset(path), peers, jobs=keep / "jobs", environments=keep, made_up=True)


def run_all(data: Path | None, sizes: Sequence[int]) -> list[Table]:
    """The tables of the sample, or of those of PUBLIC that the folder holds; then those of the sizes."""
    there = {data / name: limit for name, limit in PUBLIC.items() if data is not None and (data / name).is_dir()}
    found = [it for path, limit in (there or {SAMPLE: None}).items() for it in run([path], limit=limit)]
    found += [run_size(size) for size in sizes]
    return [table for it in found for table in (it.table, _notes(it))]


def _notes(found: Comparison) -> Table:
    return Table(f"{found.dataset}: notes", ["note"], [[note] for note in found.notes])


def as_markdown(found: Comparison, command: str) -> str:
    """A comparison as the documentation shows it."""
    notes = "\n".join(f"- {note}" for note in found.notes)
    return f"`{command}`\n\n{found.table.title}; {machine_line()}.\n\n{found.table.as_markdown()}\n\n{notes}"


def main(arguments: list[str] | None = None) -> int:
    """Print the tables, keep them as JSON, and with --write put them into the documentation."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("datasets", nargs="*", type=Path, metavar="DATASET")
    parser.add_argument(
        "--sizes", nargs="+", type=int, default=[], metavar="N", help="so many made-up documents instead"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="ask so many of the questions only")
    parser.add_argument("--peers", nargs="+", choices=[peer.name for peer in PEERS], help="only these; all by default")
    parser.add_argument("--keep", type=Path, default=RESULTS / "peers", metavar="DIR", help="environments and vectors")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the tables between the markers of this file")
    given = parser.parse_args(arguments)
    chosen = [peer for peer in PEERS if given.peers is None or peer.name in given.peers]
    only = f" --peers {' '.join(given.peers)}" if given.peers else ""
    try:
        for path in given.datasets or ([] if given.sizes else [SAMPLE]):
            shown = path if path == SAMPLE else Path("DATA") / path.name
            limited = (f" --limit {given.limit}" if given.limit else "") + only
            for found in run([path], limit=given.limit, peers=chosen, keep=given.keep):
                _show(found, given.write, f"python -m benchmarks.peers {shown}{limited}")
        for size in given.sizes:
            made = run_size(size, peers=chosen, keep=given.keep)
            _show(made, given.write, f"python -m benchmarks.peers --sizes {size}{only}")
    except RAGError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _show(found: Comparison, document: Path | None, command: str) -> None:
    found.table.print()
    for note in found.notes:
        print(f"  {note}")
    name = f"peers-{found.dataset.replace('/', '-')}"
    print(f"  -> {write(name, [found.table, _notes(found)])}", flush=True)
    if document is not None:
        write_between(document, name, as_markdown(found, command))


if __name__ == "__main__":
    sys.exit(main())
