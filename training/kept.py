"""Tell how much of what was learnt an exported model still has.

    python -m training.kept BEFORE AFTER OUT NAME

BEFORE and AFTER are folders with the exported model that it went on from and the one that came of it, OUT has what was
learnt between. 1 means all of it, plus noise; near 0 the weights fell back to the steps that they came from.
"""

# ruff: noqa: T201 (a step says what it did)

from __future__ import annotations

import sys
from pathlib import Path

from training.export import read_state
from training.read_back import read_graph


def main(before: Path, after: Path, out: Path, name: str) -> None:
    """Print the slope of what changed over what was learnt, all matrices taken together."""
    old, new, learnt = read_graph(before, name), read_graph(after, name), read_state(out, name)
    kept = whole = 0.0
    for key, value in learnt.items():
        if key in old and value.ndim > 1:
            step = (value - old[key]).ravel()
            kept += float((new[key] - old[key]).ravel() @ step)
            whole += float(step @ step)
    print(f"{kept / whole:.2f} of what was learnt")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
