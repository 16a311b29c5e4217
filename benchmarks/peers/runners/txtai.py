"""txtai: `Embeddings(hybrid=True, content=True)`, its vectors taken from the job by a transform function."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.runners.common import Job, Search, main

# By name, because it is installed where this runs and not where it is checked.
txtai: Any = importlib.import_module("txtai")


Rows = dict[str, NDArray[np.float32]]


def _given(rows: Rows) -> Callable[[Sequence[str]], NDArray[np.float32]]:
    """A function, as txtai insists on: texts to the vectors that the job brings for them."""
    return lambda texts: np.stack([rows[text] for text in texts])


def build(job: Job, index: Path) -> None:
    texts = job.texts()
    given = _given(dict(zip(texts, job.vectors(), strict=True)))
    embeddings = txtai.Embeddings(method="external", transform=given, hybrid=True, content=True)
    embeddings.index((str(number), text, None) for number, text in enumerate(texts))
    # What it keeps of its settings holds no functions.
    embeddings.config.pop("transform")
    embeddings.save(str(index))


def open_index(job: Job, index: Path) -> Search:
    asked = [job.question(number) for number in range(len(job.queries))]
    given = _given(dict(zip(asked, job.query_vectors(), strict=True)))
    embeddings = txtai.Embeddings()
    embeddings.load(str(index), config={"transform": given})

    def search(number: int, limit: int) -> list[str]:
        return job.documents(int(row["id"]) for row in embeddings.search(asked[number], limit))

    return search


if __name__ == "__main__":
    main("txtai", build, open_index)
