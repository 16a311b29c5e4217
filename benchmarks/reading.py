"""How fast are files read, by format?

python -m benchmarks.reading FOLDER [FOLDER ...] [--seconds 2] [--chunk] [--json FILE]

Every file below the folders is read again and again in this process, for so many seconds a format; `--chunk` cuts the
text into chunks too, as `add` does before anything is embedded.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from benchmarks.report import Table, machine_line
from hybridrag.documents.chunk import chunk_document
from hybridrag.documents.read import read_document
from hybridrag.errors import DocumentError
from hybridrag.models.approximate_tokens import approximate_spans
from hybridrag.types.ids import file_id_for


def measure(files: list[tuple[str, bytes]], seconds: float, *, chunk: bool) -> tuple[float, float]:
    """Files a second and megabytes a second, by the processor's time: other work on the machine does not count."""
    read = size = 0
    began = time.process_time()
    while (taken := time.process_time() - began) < seconds:
        for name, data in files:
            document = read_document(data, name=name)
            if chunk:
                chunk_document(document, file_id=file_id_for("default", name), token_spans=approximate_spans)
            read, size = read + 1, size + len(data)
    return read / taken, size / taken / 1e6


def main(arguments: list[str] | None = None) -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reading", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--chunk", action="store_true", help="cut into chunks too")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    by_ending: dict[str, list[tuple[str, bytes]]] = {}
    for file in sorted(file for folder in options.folders for file in folder.rglob("*") if file.is_file()):
        data = file.read_bytes()
        try:
            read_document(data, name=file.name)  # what cannot be read is not measured; libraries are loaded by now
        except DocumentError:
            continue
        by_ending.setdefault(file.suffix.lower(), []).append((file.name, data))
    if not by_ending:
        print("There is no file to read in the folders.", file=sys.stderr)
        return 2
    rows: list[list[object]] = []
    for ending, files in sorted(by_ending.items()):
        files_a_second, megabytes = measure(files, options.seconds, chunk=options.chunk)
        kilobytes = sum(len(data) for _, data in files) / len(files) / 1e3
        rows.append([ending, len(files), round(kilobytes, 1), round(files_a_second), round(megabytes, 2)])
    print(machine_line())
    table = Table("Reading", ["ending", "files", "kB each", "files/s", "MB/s"], rows)
    table.print()
    if options.json:
        options.json.write_text(json.dumps(table.as_json(), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
