"""Fit the local judge anew and write its coefficients: `python -m scripts.fit_judge --data DIR --train DIR`.

Writes src/hybridrag/verify/judge.toml: numbers alone, no text of the data. `python -m benchmarks.verify` says how good
such a fit is on cases that it has not seen. `--cases FILE` keeps what was read and searched, for the next time.
`--taught FILE` has what `training.labelled` wrote: of the sets that `base` was taught, what models say that did not see
them.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.verify_fit import Told, as_toml, dealt, fit_all, rows_of
from benchmarks.verify_model import TAUGHT_READS, kept_base_reads, kept_model_cases, key_of, read_taught
from benchmarks.verify_own import read_by_base

TARGET = Path("src/hybridrag/verify/judge.toml")


def main(arguments: list[str] | None = None) -> None:
    """Fit and write."""
    parser = argparse.ArgumentParser(prog="python -m scripts.fit_judge", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--train", type=Path, help="folder of the training rows")
    parser.add_argument("--cases", type=Path, help="where the cases are kept")
    parser.add_argument("--sample", type=Path, default=Path("sample"), help="the repository's own labelled questions")
    parser.add_argument("--taught", type=Path, default=TAUGHT_READS, help="what training.labelled wrote (%(default)s)")
    options = parser.parse_args(arguments)
    cases = kept_model_cases(options.cases, options.data, options.train, options.sample)
    rows = rows_of(cases)
    base, taught = kept_base_reads(options.cases, cases), read_taught(options.taught, cases)[0]

    def by_base(told: Sequence[Told]) -> list[Told]:
        folds = {key_of(one.row.case): one.row.fold for one in dealt(told, 0)}
        unseen = {key: taught[fold][key] for key, fold in folds.items() if key in taught[fold]}
        return read_by_base(told, {**base, **unseen})

    counts = Counter(row.case.source for row in rows)
    read = Counter(row.case.source for row in rows if row.answers is not None)
    TARGET.write_text(as_toml(fit_all(rows, by_base), counts, read), encoding="utf-8")
    print(f"{TARGET}: fitted to {len(rows)} cases")


if __name__ == "__main__":
    main()
