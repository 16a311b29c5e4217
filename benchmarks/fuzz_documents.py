"""Broken files of every format: does reading ever stop a run, hang, or eat the memory?

python -m benchmarks.fuzz_documents FOLDER [FOLDER ...] [--files 20000] [--seed 1] [--json FILE]

Every file of the folders is a seed; `python tests/make_documents.py DIR` writes one of every format. Seeds are damaged
at random: bytes flipped, cut out, put in, doubled, cut off, or the half of another file put behind. In zipped formats
the damage goes into a member as well, so that it reaches what parses it. Each file goes through the reader in its own
process, as `add` reads it.

A file may be read or refused with a `DocumentError`; any other exception is an aborted run, and one that takes longer
than the limit a hang.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.report import Table, machine_line
from hybridrag.documents.isolate import IsolatedReader
from hybridrag.documents.limits import ReadLimits
from hybridrag.documents.unpack import is_archive, members
from hybridrag.errors import DocumentError

SECONDS = 20.0
"""A small file that takes longer hangs."""
LARGEST_SEED = 300_000


@dataclass(slots=True)
class Outcome:
    """What came of the damaged files."""

    read: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    aborted: list[str] = field(default_factory=list)
    hung: list[str] = field(default_factory=list)
    slowest: tuple[float, str] = (0.0, "")
    memory: int = 0
    """The most that the reading process held, in bytes."""


def damaged(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """The bytes with one to eight things wrong with them."""
    if data[:2] == b"PK" and rng.random() < 0.5:
        data = _inside(data, other, rng) or data
        if rng.random() < 0.7:
            return data
    broken = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        at = rng.randrange(len(broken) + 1)
        size = rng.choice((1, 2, 4, 16, 256, 4096))
        kind = rng.randrange(7)
        if kind == 0 and broken:
            broken[at % len(broken)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            broken[at : at + size] = rng.randbytes(size)
        elif kind == 2:
            del broken[at : at + size]
        elif kind == 3:
            broken[at:at] = broken[at : at + size] * rng.choice((1, 2, 50))
        elif kind == 4:
            del broken[at:]
        elif kind == 5:
            broken[at:] = other[len(other) // 2 :]
        else:
            broken[at:at] = rng.choice(
                (b"\xff" * 8, b"\x00" * size, b"<" * size, b"(" * size, b"\n" * size, b"\\" * size)
            )
    return bytes(broken)


def _inside(data: bytes, other: bytes, rng: random.Random) -> bytes | None:
    """A zip with one member damaged."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
    except zipfile.BadZipFile:
        return None
    made = io.BytesIO()
    chosen = rng.choice(list(files))
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, damaged(content, other, rng) if name == chosen and content[:2] != b"PK" else content)
    return made.getvalue()


def seeds(folders: Sequence[Path]) -> list[tuple[str, bytes]]:
    """The files below the folders by name, small ones only: damage must hit something."""
    found = [file for folder in folders for file in sorted(folder.rglob("*")) if file.is_file()]
    read = [(file.name, file.read_bytes()) for file in found if 0 < file.stat().st_size <= LARGEST_SEED]
    return sorted(read, key=lambda item: (Path(item[0]).suffix, item[0]))


def fuzz(seeds: Sequence[tuple[str, bytes]], count: int, rng: random.Random, *, folder: Path) -> Outcome:
    """Read so many damaged files; every ending gets its share."""
    outcome, before = Outcome(), _peak("self")
    by_ending: dict[str, list[tuple[str, bytes]]] = {}
    for name, data in seeds:
        by_ending.setdefault(Path(name).suffix.lower(), []).append((name, data))
    endings = sorted(by_ending)
    with IsolatedReader() as reader:
        for number in range(count):
            ending = endings[number % len(endings)]
            name, data = rng.choice(by_ending[ending])
            broken = damaged(data, rng.choice(seeds)[1], rng)
            began = time.monotonic()
            _read(reader, number, name, broken, outcome, folder)
            seconds = time.monotonic() - began
            outcome.slowest = max(outcome.slowest, (seconds, f"{number} {name}"))
            if seconds > SECONDS:
                outcome.hung.append(f"{number} {name}: {seconds:.0f} s")
            if number % 50 == 0:
                outcome.memory = max(outcome.memory, _memory(reader, before))
            if number % 1000 == 999:
                print(f"{number + 1} of {count}", file=sys.stderr, flush=True)
    return outcome


def _read(reader: IsolatedReader, number: int, name: str, data: bytes, outcome: Outcome, folder: Path) -> None:
    """Read one file and note what came of it."""
    ending = Path(name).suffix.lower()
    try:
        for part, content in _files(name, data, folder):
            reader.read(content, name=part, limits=ReadLimits(max_seconds=SECONDS))
        outcome.read[ending] += 1
    except DocumentError as error:
        outcome.refused[ending] += 1
        if "crashed the reader" in str(error):
            outcome.aborted.append(f"{number} {error}")
    except Exception as error:  # noqa: BLE001 (that is what is looked for)
        outcome.aborted.append(f"{number} {name}: {type(error).__name__}: {error}")


def _files(name: str, data: bytes, folder: Path) -> Iterator[tuple[str, bytes]]:
    """The file, or the files in it where it is an archive."""
    if not is_archive(name):
        yield name, data
        return
    path = folder / name
    path.write_bytes(data)
    for member in members(path, name=name, limits=ReadLimits(), problems=[]):
        yield member.name, member.load()


def _memory(reader: IsolatedReader, before: int) -> int:
    """The peak of the reading process, or by how much that of this one grew, whichever is more."""
    worker = reader._worker  # noqa: SLF001 (its process is what is measured)
    reading = 0 if worker is None else _peak(str(worker._process.pid))  # noqa: SLF001 (same)
    return max(reading, _peak("self") - before)


def _peak(process: str) -> int:
    """The most memory that a process held, in bytes; 0 where the platform does not say."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")), 0)


def main(arguments: list[str] | None = None) -> int:
    """Fuzz and print a table; 1 where a run was aborted or hung."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz_documents")
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    import tempfile

    given = seeds(options.folders)
    if not given:
        print("There are no files in the folders.", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        outcome = fuzz(given, options.files, random.Random(options.seed), folder=Path(folder))
    print(machine_line())
    endings = sorted(set(outcome.read) | set(outcome.refused))
    rows = [[ending or "(none)", outcome.read[ending], outcome.refused[ending]] for ending in endings]
    Table(
        "Damaged files", ["ending", "read", "refused"], [*rows, ["all", outcome.read.total(), outcome.refused.total()]]
    ).print()
    print(
        f"aborted: {len(outcome.aborted)}; hung: {len(outcome.hung)}; "
        f"slowest: {outcome.slowest[0]:.1f} s ({outcome.slowest[1]}); "
        f"memory: {outcome.memory / 2**20:.0f} MiB"
    )
    for line in (*outcome.aborted[:20], *outcome.hung[:20]):
        print(line)
    if options.json:
        found = {
            "read": outcome.read,
            "refused": outcome.refused,
            "aborted": outcome.aborted,
            "hung": outcome.hung,
            "slowest": outcome.slowest,
            "memory": outcome.memory,
        }
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return 1 if outcome.aborted or outcome.hung else 0


if __name__ == "__main__":
    raise SystemExit(main())
