"""Other search libraries on the same chunks and the same vectors: `python -m benchmarks.peers DATASET`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.report import Table


SIZES = (1_000, 10_000)


def run(sizes: Sequence[int] = SIZES, *, data: Path | None = None) -> list[Table]:
    """The sample that ships with the project, or the data sets of a folder; then made-up documents of these sizes."""
    # The runners import this package too, in environments that have nothing of hybridrag.
    from benchmarks.peers.__main__ import run_all

    return run_all(data, sizes)
