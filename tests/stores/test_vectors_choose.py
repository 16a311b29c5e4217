"""Which index for how many vectors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hybridrag.errors import InvalidInput
from hybridrag.stores.vectors.choose import EXACT_UP_TO, build_index, choose_kind, load_index
from hybridrag.testing.vectors import anisotropic


@pytest.mark.parametrize(
    ("count", "kind"), [(0, "exact"), (EXACT_UP_TO, "exact"), (EXACT_UP_TO + 1, "quantised"), (10**6, "quantised")]
)
def test_auto_goes_by_the_number_of_vectors(count: int, kind: str) -> None:
    assert choose_kind(count) == kind
    assert choose_kind(count, "auto") == kind


@pytest.mark.parametrize("kind", ["exact", "quantised", "diskann"])
def test_a_setting_is_obeyed_whatever_the_number(kind: str, tmp_path: Path) -> None:
    assert choose_kind(10, kind) == choose_kind(10**6, kind) == kind
    index = build_index(kind, 8)
    assert index.kind == kind
    index.add(np.array([1]), anisotropic(1, 8, seed=1))
    index.save(tmp_path)
    assert load_index(kind, tmp_path, 8).keys().tolist() == [1]


def test_an_unknown_kind_is_answered_with_those_there_are(tmp_path: Path) -> None:
    for attempt in (
        lambda: choose_kind(5, "hnsw"),
        lambda: build_index("hnsw", 8),
        lambda: load_index("hnsw", tmp_path, 8),
    ):
        with pytest.raises(
            InvalidInput, match=r"no vector index called 'hnsw'\. Use auto, exact, quantised or diskann"
        ):
            attempt()


def test_importing_and_loading_need_neither_faiss_nor_libsql(tmp_path: Path) -> None:
    index = build_index("quantised", 8)
    index.add(np.arange(5000), anisotropic(5000, 8, seed=1))
    index.save(tmp_path)
    program = (
        "import sys; from pathlib import Path; from hybridrag.stores.vectors.choose import load_index;"
        f"index = load_index('quantised', Path({str(tmp_path)!r}), 8); assert len(index) == 5000;"
        "print(sorted({'faiss', 'libsql'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
