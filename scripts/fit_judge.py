"""Fit the local judge anew and write its coefficients: `python -m scripts.fit_judge --data DIR --train DIR`.

Writes src/hybridrag/verify/judge.toml: numbers alone, no text of the data. `python -m benchmarks.verify` says how good
such a fit is on cases that it has not seen. `--cases FILE` keeps what was read and searched, for the next time.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from benchmarks.verify_fit import as_toml, fit_all, rows_of
from benchmarks.verify_model import kept_model_cases

TARGET = Path("src/hybridrag/verify/judge.toml")


def main(arguments: list[str] | None = None) -> None:
    """Fit and write."""
    parser = argparse.ArgumentParser(prog="python -m scripts.fit_judge", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--train", type=Path, help="folder of the training rows")
    parser.add_argument("--cases", type=Path, help="where the cases are kept")
    parser.add_argument("--sample", type=Path, default=Path("sample"), help="the repository's own labelled questions")
    options = parser.parse_args(arguments)
    rows = rows_of(kept_model_cases(options.cases, options.data, options.train, options.sample))
    counts = Counter(row.case.source for row in rows)
    read = Counter(row.case.source for row in rows if row.answers is not None)
    TARGET.write_text(as_toml(fit_all(rows), counts, read), encoding="utf-8")
    print(f"{TARGET}: fitted to {len(rows)} cases")


if __name__ == "__main__":
    main()
