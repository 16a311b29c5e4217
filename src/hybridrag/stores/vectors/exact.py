"""The exact index: compares the query with every vector."""

from __future__ import annotations

from typing import ClassVar

from hybridrag.stores.vectors.index import MatrixIndex
from hybridrag.stores.vectors.matrix import Rows
from hybridrag.types.base import Float32Array


class ExactIndex(MatrixIndex):
    """Every answer is the true one; right up to some ten thousand vectors, usable beyond.

    add([7], [(1, 0)]), search((1, 0), 5) -> [(7, 1.0)]
    """

    kind: ClassVar[str] = "exact"
    _keep_wide: ClassVar[bool] = True

    def _candidates(self, query: Float32Array, k: int, rows: Rows | None) -> Rows | None:  # noqa: ARG002 (all are compared)
        return None
