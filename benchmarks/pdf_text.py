"""PDFs against pdftotext: are the characters right, and in the right order?

python -m benchmarks.pdf_text FOLDER [--files N] [--pages N] [--json FILE]

Every PDF below FOLDER is read by our reader and by poppler's `pdftotext` (packages poppler-utils and poppler-data).
White space, width and ligatures do not count (NFKC). Good material are the documentation packages of a Linux
distribution, in several languages.

- characters: share of pdftotext's characters that ours has too, as often;
- invented: share of our characters that pdftotext's text does not have, the names of columns among them, which we
  repeat in every row of a table;
- order: share of pdftotext's runs of 12 characters that stand in ours just so: what broken columns, glued lines and
  lost words cost. Running titles and page numbers, which we leave out, cost a little of both.
- seconds: what reading took, for us.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import unicodedata
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.report import Table, machine_line
from hybridrag.documents.isolate import IsolatedReader
from hybridrag.errors import DocumentError
from hybridrag.language.detect import detect

RUN = 12


@dataclass(frozen=True, slots=True)
class Compared:
    """One file, both ways."""

    file: str
    language: str
    characters: int
    kept: float
    invented: float
    order: float
    seconds: float
    problem: str = ""


def plain(text: str) -> str:
    """Without white space and what fonts do to letters."""
    return "".join(unicodedata.normalize("NFKC", text.replace("\u00ad", "-")).split())


def runs(text: str) -> Counter[str]:
    """How often every run of characters occurs."""
    return Counter(text[at : at + RUN] for at in range(len(text) - RUN + 1))


def compare(file: Path, folder: Path, reader: IsolatedReader) -> Compared:
    """Read one file in both ways."""
    name = file.relative_to(folder).as_posix()
    theirs = subprocess.run(
        ["pdftotext", "-q", "-enc", "UTF-8", str(file), "-"], capture_output=True, check=False
    ).stdout.decode("utf-8", "replace")
    began = time.perf_counter()
    try:
        document = reader.read(file.read_bytes(), name=name)
        ours, problem = document.text, "; ".join(document.warnings)
    except DocumentError as error:
        ours, problem = "", error.reason
    seconds = time.perf_counter() - began
    a, b = plain(theirs), plain(ours)
    common = (Counter(a) & Counter(b)).total()
    ordered = (runs(a) & runs(b)).total()
    return Compared(
        file=name,
        language=detect(theirs[:20_000]),
        characters=len(a),
        kept=common / len(a) if a else 1.0,
        invented=1 - common / len(b) if b else 0.0,
        order=ordered / (len(a) - RUN + 1) if len(a) >= RUN else 1.0,
        seconds=seconds,
        problem=problem,
    )


def main(arguments: list[str] | None = None) -> int:
    """Compare the files and print tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pdf_text", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, default=0, help="only so many, spread over the folder")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    files = sorted(options.folder.rglob("*.pdf"))
    if options.files and len(files) > options.files:
        files = [files[at * len(files) // options.files] for at in range(options.files)]
    if not files:
        print(f"There is no PDF in {options.folder}.", file=sys.stderr)
        return 2
    found: list[Compared] = []
    with IsolatedReader() as reader:
        for file in files:
            found.append(compare(file, options.folder, reader))
            print(f"{len(found)} of {len(files)} {file.name}", file=sys.stderr, flush=True)
    print(machine_line())
    columns = ["file", "language", "characters", "characters %", "invented %", "order %", "s", "problem"]
    rows = [
        [
            one.file[-50:],
            one.language,
            one.characters,
            *(round(100 * x, 1) for x in (one.kept, one.invented, one.order)),
            round(one.seconds, 1),
            one.problem,
        ]
        for one in found
    ]
    Table("PDF against pdftotext", columns, rows).print()
    totals: list[list[object]] = []
    for language in [*sorted({one.language for one in found}), "all"]:
        some = [one for one in found if language in {one.language, "all"}]
        means = [sum(getattr(one, name) for one in some) / len(some) for name in ("kept", "invented", "order")]
        totals.append(
            [language, len(some), *(round(100 * mean, 1) for mean in means), sum("mojibake" in x.problem for x in some)]
        )
    Table("By language", ["language", "files", "characters %", "invented %", "order %", "mojibake"], totals).print()
    if options.json:
        options.json.write_text(json.dumps([asdict(one) for one in found], indent=1, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
