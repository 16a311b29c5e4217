"""How good searches are on public data sets, stage by stage, beside published results: the tables of docs/results.md.

python -m benchmarks.results --data DIR [--sets NAME ...] [--limit N] [--cache DIR] [--write docs/results.md]

For each set an index is built with the package's defaults (or brought up to date), its questions are asked in every way
by the code of `hybridrag eval`, and what came back is kept in the cache folder: a run that was stopped goes on with the
next set, and a set is asked again only where the package changed. Besides the data sets there are two parts:
`themes`, questions about the whole (see benchmarks/themes.py), and `index`, what indexing 2wikimultihopqa takes.
`--write` puts the tables of everything that is kept between their markers in the document.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks.report import machine
from benchmarks.results_index import measure_apart
from benchmarks.results_misses import Miss, find_misses
from benchmarks.results_run import Keep, code_hash, kept_run, run_set
from benchmarks.results_sets import SETS, ResultSet
from benchmarks.results_tables import DEFAULT, Measured, tables
from benchmarks.themes import ask, covered, theme_sets
from hybridrag.errors import RAGError
from hybridrag.evaluate import EvalRun
from hybridrag.protocols import Embedder

CACHE = Path("bench-results") / "results"
THEMES, INDEX = "themes", "index"
PARTS = (*(one.name for one in SETS), THEMES, INDEX)
INDEXED = "2wikimultihopqa"
FIRST = 10


def main(arguments: Sequence[str] | None = None, *, embedder: Embedder | None = None) -> int:
    """Measure what is not kept yet, print the tables, and write them where asked to; 1 where a set cannot be read."""
    options = _parser().parse_args(arguments)
    keep = Keep(options.cache)
    failed = 0
    for name in options.sets or PARTS:
        began = time.monotonic()
        try:
            measure(name, options.data, keep, limit=options.limit, embedder=embedder, fresh=options.fresh)
        except RAGError as error:
            failed += 1
            print(f"{name}: {error}", file=sys.stderr)
            continue
        print(f"{name}: done in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    made = tables(gather(options.data, keep, limit=options.limit))
    for place, table in made.items():
        print(f"\n## {place}\n\n{table}")
    if options.write is not None:
        options.write.write_text(put(options.write.read_text(encoding="utf-8"), made), encoding="utf-8")
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.results", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder with the data sets")
    parser.add_argument("--sets", nargs="+", choices=PARTS, metavar="NAME", help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--limit", type=int, help="ask at most so many questions of each set")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where indexes and results stay (%(default)s)")
    parser.add_argument("--fresh", action="store_true", help="build and ask again what is kept")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the tables between their markers in this file")
    return parser


def measure(
    name: str,
    data: Path,
    keep: Keep,
    *,
    limit: int | None = None,
    embedder: Embedder | None = None,
    fresh: bool = False,
) -> None:
    """Measure one part, unless it is kept.

    Raises:
        InvalidInput: the set is not there or cannot be read.
    """
    if name == THEMES:
        _kept_or(keep.part(THEMES), lambda: _themes(data, keep, embedder), fresh=fresh)
    elif name == INDEX:
        _kept_or(keep.part(INDEX), lambda: _index(data), fresh=fresh)
    else:
        chosen = next(one for one in SETS if one.name == name)
        run_set(chosen, data, keep, limit=limit, embedder=embedder, fresh=fresh, say=_say)


def gather(data: Path, keep: Keep, *, limit: int | None = None) -> Measured:
    """Everything that is kept of this code."""
    runs = [(one, run) for one in SETS if (run := kept_run(one, data, keep, limit=limit)) is not None]
    themes = _read(keep.part(THEMES)) or {}
    return Measured(
        runs=runs,
        themes={str(name): ways for name, ways in themes.items() if isinstance(ways, dict)},
        index=_read(keep.part(INDEX)) or {},
        misses=_misses(runs, data),
        machine=machine(),
    )


def put(document: str, made: Mapping[str, str]) -> str:
    """The document with each table between `<!-- NAME -->` and `<!-- /NAME -->`; other text stays.

    Raises:
        SystemExit: a marker is missing.
    """
    for place, table in made.items():
        between = re.compile(rf"(<!-- {place} -->).*?(<!-- /{place} -->)", re.DOTALL)
        found = between.search(document)
        if found is None:
            sys.exit(
                f"The document has no place for the table {place!r}: write <!-- {place} --> and <!-- /{place} -->."
            )
        start, end = found.end(1), found.start(2)
        document = f"{document[:start]}\n\n{table}\n\n{document[end:]}"
    return document


def _themes(data: Path, keep: Keep, embedder: Embedder | None) -> dict[str, object]:
    found: dict[str, object] = {}
    for one in theme_sets(data=data):
        _say(f"themes: {one.name}, {len(one.cases)} questions")
        ways = ask(one, keep.index(f"themes-{one.index or one.name}"), embedder=embedder)
        found[one.name] = {way: covered(one.cases, results, FIRST) for way, results in ways.items()}
    return found


def _index(data: Path) -> dict[str, object]:
    _say(f"index: {INDEXED} with the real model")
    with tempfile.TemporaryDirectory() as folder:
        return measure_apart(data / INDEXED, Path(folder) / "index")


def _misses(runs: Sequence[tuple[ResultSet, EvalRun]], data: Path) -> list[Miss]:
    found = next(((one, run) for one, run in runs if one.name == INDEXED), None)
    if found is None:
        return []
    chosen, run = found
    return find_misses(run, DEFAULT, chosen.load(data).documents)


def _kept_or(file: Path, make: Callable[[], dict[str, object]], *, fresh: bool) -> None:
    if not fresh and _read(file) is not None:
        _say(f"{file.stem}: kept")
        return
    made = make()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"code": code_hash(), "found": made}) + "\n", encoding="utf-8")


def _read(file: Path) -> dict[str, object] | None:
    """What is kept of this code; None where nothing is."""
    if not file.is_file():
        return None
    kept = json.loads(file.read_text(encoding="utf-8"))
    found: dict[str, object] = kept["found"]
    return found if kept["code"] == code_hash() else None


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
