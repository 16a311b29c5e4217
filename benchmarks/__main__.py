"""Run the benchmarks: `python -m benchmarks [NAME ...]`, all by default; JSON goes to bench-results/.

--sizes, --data, --keep and --real go to those benchmarks that know them.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import sys
from collections.abc import Mapping
from pathlib import Path

from benchmarks.report import RESULTS, Table, machine, tables_of, write

BENCHMARKS = ("parse", "embedding", "vectors", "graph", "store", "bench_engine", "peers")
"""The parts first, for their answers come soonest; then the whole engine by size, and other libraries beside it."""


INTERRUPTED = 130
"""The exit code after Ctrl-C, as a shell expects it."""


class CannotRun(Exception):
    """A benchmark that is not there, or has nothing to run."""


def main(arguments: list[str] | None = None) -> int:
    """Run the named benchmarks; 1 when one of them could not be run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure speed and size, as tables.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHMARKS)}; all by default")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the JSON goes (default: %(default)s)")
    parser.add_argument(
        "--sizes", type=int, nargs="+", metavar="N", help="chunks or documents, where sizes are measured"
    )
    parser.add_argument("--data", type=Path, metavar="DIR", help="public texts and questions; made-up ones without")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="indexes stay here and are not built again")
    parser.add_argument("--real", action="store_true", default=None, help="embed every passage, however many there are")
    options = parser.parse_args(arguments)
    chosen = {name: getattr(options, name) for name in ("sizes", "data", "keep", "real")}
    print(", ".join(f"{name} {value}" for name, value in machine().items() if name != "versions"))
    missing = 0
    for name in options.names or BENCHMARKS:
        try:
            tables = measure(name, {key: value for key, value in chosen.items() if value is not None})
        except CannotRun as reason:
            missing += 1
            print(f"\n{reason}", file=sys.stderr)
            continue
        for table in tables:
            table.print()
        print(f"  -> {write(name, tables, options.out)}", flush=True)
    return 1 if missing else 0


def measure(name: str, options: Mapping[str, object] | None = None) -> list[Table]:
    """The tables of `benchmarks.NAME.run()`, with those of the options that it takes.

    Raises:
        CannotRun: there is no such benchmark, or it cannot be run from here.
    """
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
    known = inspect.signature(module.run).parameters
    return tables_of(name, module.run(**{key: value for key, value in (options or {}).items() if key in known}))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\nStopped. With --keep, what was built stays, and the same command goes on from there.", file=sys.stderr)
        sys.exit(INTERRUPTED)
