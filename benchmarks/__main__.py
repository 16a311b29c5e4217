"""Run the benchmarks: `python -m benchmarks [NAME ...]`, all by default; JSON goes to bench-results/."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from benchmarks.report import RESULTS, Table, machine, tables_of, write

BENCHMARKS = ("parse", "embedding", "vectors", "search", "graph", "store")
"""In the order of their duration: the first answers come at once."""


class CannotRun(Exception):
    """A benchmark that is not there, or has nothing to run."""


def main(arguments: list[str] | None = None) -> int:
    """Run the named benchmarks; 1 when one of them could not be run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure speed and size, as tables.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHMARKS)}; all by default")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the JSON goes (default: %(default)s)")
    options = parser.parse_args(arguments)
    print(", ".join(f"{name} {value}" for name, value in machine().items() if name != "versions"))
    missing = 0
    for name in options.names or BENCHMARKS:
        try:
            tables = measure(name)
        except CannotRun as reason:
            missing += 1
            print(f"\n{reason}", file=sys.stderr)
            continue
        for table in tables:
            table.print()
        print(f"  -> {write(name, tables, options.out)}", flush=True)
    return 1 if missing else 0


def measure(name: str) -> list[Table]:
    """The tables of `benchmarks.NAME.run()`."""
    wanted = f"benchmarks.{name}"
    try:
        module = importlib.import_module(wanted)
    except ModuleNotFoundError as cause:
        # A benchmark that exists and lacks a package of its own must say so itself.
        if cause.name != wanted:
            raise
        raise CannotRun(f"There is no benchmark {name!r}. Known: {', '.join(BENCHMARKS)}.") from cause
    if not callable(getattr(module, "run", None)):
        raise CannotRun(f"The benchmark {name!r} has no run(); start it by itself: python -m {wanted} --help")
    return tables_of(name, module.run())


if __name__ == "__main__":
    sys.exit(main())
