"""Take the mean of two models that started from the same base: what both learnt stays, what one overdid is halved.

    python -m training.average ONE OTHER OUT NAME [SHARE]

`SHARE` (.5) is how much the second counts.
"""

# ruff: noqa: T201 (a step says what it did)

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from training.export import read_state

PART_BYTES = 15 << 20


def main(one: Path, other: Path, out: Path, name: str, share: float = 0.5) -> None:
    """Write the mean; parameters that only one of them has are left out."""
    first, second = read_state(one, name), read_state(other, name)
    shared = sorted(set(first) & set(second))
    mean = {key: ((1 - share) * first[key] + share * second[key]).astype(np.float16) for key in shared}
    out.mkdir(parents=True, exist_ok=True)
    part: dict[str, Any] = {}
    number = 0
    for key in shared:
        if sum(value.nbytes for value in part.values()) + mean[key].nbytes > PART_BYTES:
            np.savez(out / f"{name}-{number}.npz", **part)
            part, number = {}, number + 1
        part[key] = mean[key]
    np.savez(out / f"{name}-{number}.npz", **part)
    print(f"{len(shared)} of {len(first | second)} parameters in {number + 1} files")


if __name__ == "__main__":
    folders = [Path(folder) for folder in sys.argv[1:4]]
    main(folders[0], folders[1], folders[2], sys.argv[4], float(sys.argv[5]) if len(sys.argv) > 5 else 0.5)
