"""Which index for how many vectors, and how to get one."""

from __future__ import annotations

from pathlib import Path

from hybridrag.errors import InvalidInput
from hybridrag.stores.vectors.diskann import DiskAnnIndex
from hybridrag.stores.vectors.exact import ExactIndex
from hybridrag.stores.vectors.index import MatrixIndex
from hybridrag.stores.vectors.quantised import QuantisedIndex

AUTO = "auto"
EXACT_UP_TO = 20_000
"""Vectors up to which `auto` compares with every one: 3 ms a query against 1, but exact, and a program that asks one
question is spared the 0.2 s in which faiss is loaded."""
KINDS: dict[str, type[MatrixIndex]] = {index.kind: index for index in (ExactIndex, QuantisedIndex, DiskAnnIndex)}


def choose_kind(count: int, setting: str = AUTO) -> str:
    """The kind of index for `count` vectors: the setting itself, or by size where it is `auto`.

    1_000 -> "exact"; 100_000 -> "quantised"; 1_000, "diskann" -> "diskann"

    Raises:
        InvalidInput: there is no such kind.
    """
    if setting == AUTO:
        return ExactIndex.kind if count <= EXACT_UP_TO else QuantisedIndex.kind
    return _class_of(setting).kind


def build_index(kind: str, dimension: int) -> MatrixIndex:
    """An empty index.

    "exact", 384 -> ExactIndex(384)

    Raises:
        InvalidInput: there is no such kind.
        StoreError: the kind needs a package that is not installed.
    """
    return _class_of(kind)(dimension)


def load_index(kind: str, folder: Path, dimension: int) -> MatrixIndex:
    """The index that was saved in `folder`.

    Raises:
        InvalidInput: there is no such kind.
        StoreCorrupt: missing, damaged, of another kind or of another dimension; build it anew.
        StoreError: the folder cannot be read, or the kind needs a package that is not installed.
    """
    return _class_of(kind).load(folder, dimension=dimension)


def _class_of(kind: str) -> type[MatrixIndex]:
    try:
        return KINDS[kind]
    except KeyError:
        raise InvalidInput(
            f"There is no vector index called {kind!r}.", hint=f"Use {', '.join([AUTO, *KINDS][:-1])} or diskann."
        ) from None
