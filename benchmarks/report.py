"""Tables of measurements, printed for people and written for machines, with what they were measured on."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import psutil

RESULTS = Path("bench-results")
PACKAGES = ("hybridrag", "apsw", "faiss-cpu", "numpy", "onnxruntime", "pydantic", "sudachipy", "tokenizers")
"""Whose versions explain a difference between two runs."""

Cell = object


@dataclass(frozen=True, slots=True)
class Table:
    """Measurements in rows under named columns.

    Table("Parse", ["what", "p50 µs"], [["SearchQuery", 12.3]]).print()
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    def print(self) -> None:
        """Write it to the terminal: numbers to the right, everything else to the left."""
        texts = [list(self.columns), *([_shown(cell) for cell in row] for row in self.rows)]
        widths = [max(len(row[column]) for row in texts) for column in range(len(self.columns))]
        numeric = [bool(self.rows) and all(_is_number(row[at]) for row in self.rows) for at in range(len(self.columns))]
        print(f"\n{self.title}")
        for number, row in enumerate(texts):
            cells = [
                text.rjust(width) if right else text.ljust(width)
                for text, width, right in zip(row, widths, numeric, strict=True)
            ]
            print("  " + "  ".join(cells).rstrip())
            if number == 0:
                print("  " + "  ".join("-" * width for width in widths))

    def as_markdown(self) -> str:
        """The same for a page: numbers to the right."""
        rows = [[_shown(cell) for cell in row] for row in self.rows]
        right = [bool(self.rows) and all(_is_number(row[at]) for row in self.rows) for at in range(len(self.columns))]
        rule = ["---:" if number else "---" for number in right]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in ([*self.columns], rule, *rows))

    def as_json(self) -> dict[str, object]:
        """The same as one JSON object."""
        return {
            "title": self.title,
            "columns": list(self.columns),
            "rows": [[_plain(cell) for cell in row] for row in self.rows],
        }


def tables_of(name: str, measured: Table | Sequence[Table] | Sequence[Mapping[str, Cell]]) -> list[Table]:
    """What a benchmark's `run()` returned, as tables: one, several, or rows of named values.

    ("vectors", [{"kind": "exact", "p50": 1.2}]) -> [Table("vectors", ["kind", "p50"], [["exact", 1.2]])]
    """
    if isinstance(measured, Table):
        return [measured]
    tables = [item for item in measured if isinstance(item, Table)]
    rows = [item for item in measured if not isinstance(item, Table)]
    if rows:
        columns = list(dict.fromkeys(column for row in rows for column in row))
        tables.append(Table(name, columns, [[row.get(column, "") for column in columns] for row in rows]))
    return tables


def write(name: str, tables: Sequence[Table], folder: Path = RESULTS) -> Path:
    """Keep the tables as `folder/name.json`, with the machine and the time; returns the file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    content = {
        "benchmark": name,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "tables": [table.as_json() for table in tables],
    }
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return path


def write_between(path: Path, name: str, text: str) -> None:
    """Put a text in the place of what stands between `<!-- name -->` and `<!-- /name -->` of a file.

    Raises:
        ValueError: the file has no such markers.
    """
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    content = path.read_text(encoding="utf-8")
    before, found, rest = content.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"{path} has no place for it: write {begin} and {end} into it.")
    path.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}", encoding="utf-8")


def machine() -> dict[str, object]:
    """What the numbers were measured on: processor, cores, memory, Python, versions."""
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in PACKAGES},
    }


def machine_line() -> str:
    """The machine in one line, with how busy it was: a load above its cores makes times say little."""
    about = machine()
    return f"{about['cpu']}, {about['cores']} cores, load {about['load']}, Python {about['python']}"


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.lower().startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _is_number(cell: Cell) -> bool:
    return isinstance(_plain(cell), int | float) and not isinstance(cell, bool)


def _plain(cell: Cell) -> Cell:
    """A numpy number as Python's own, which JSON knows."""
    item = getattr(cell, "item", None)
    return item() if callable(item) else cell


def _shown(cell: Cell) -> str:
    cell = _plain(cell)
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, float):
        return f"{cell:,.1f}" if abs(cell) >= 100 else f"{cell:.3g}"
    return "" if cell is None else str(cell)
