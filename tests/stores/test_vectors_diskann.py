"""The DiskANN index: libSQL's graph proposes, the rows decide; filters and changes are honoured exactly."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from hybridrag.errors import StoreCorrupt, StoreError
from hybridrag.protocols import Keys
from hybridrag.stores.vectors import diskann
from hybridrag.stores.vectors.choose import load_index
from hybridrag.stores.vectors.diskann import DiskAnnIndex
from hybridrag.stores.vectors.files import read_manifest
from hybridrag.testing.vectors import anisotropic

DIMENSION = 32
ROWS = 2500
VECTORS = anisotropic(ROWS + 500, DIMENSION, seed=1)
QUERIES = anisotropic(30, DIMENSION, seed=2)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("diskann")
    index = DiskAnnIndex(DIMENSION)
    index.add(np.arange(ROWS), VECTORS[:ROWS])
    index.save(folder)
    index.close()
    return folder


@pytest.fixture
def saved(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "copy"))


def recall(index: DiskAnnIndex, keys: Keys, *, allowed: Keys | None = None) -> float:
    pool = keys if allowed is None else np.intersect1d(keys, allowed)
    hits = 0
    for query in QUERIES:
        true = pool[np.argsort(-(VECTORS[pool] @ query))[:10]]
        hits += len(np.intersect1d(true, [key for key, _ in index.search(query, 10, allowed=allowed)]))
    return hits / (10 * len(QUERIES))


@pytest.mark.heavy
def test_the_graph_finds_the_true_neighbours(saved: Path) -> None:
    index = DiskAnnIndex.load(saved, dimension=DIMENSION)
    assert recall(index, np.arange(ROWS)) >= 0.95
    assert index._connection is not None


@pytest.mark.heavy
@pytest.mark.parametrize("count", [1, 30, 700, 2000, ROWS])
def test_a_filter_gives_the_true_nearest_among_the_allowed(
    count: int, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diskann, "GATHER_UP_TO", 100)
    index = DiskAnnIndex.load(saved, dimension=DIMENSION)
    allowed = np.sort(np.random.default_rng(count).choice(ROWS, count, replace=False))
    found = [index.search(query, 10, allowed=allowed) for query in QUERIES]
    assert all(len(hits) == min(10, count) for hits in found)
    assert all({key for key, _ in hits} <= set(allowed.tolist()) for hits in found)
    if count >= 10:
        assert recall(index, np.arange(ROWS), allowed=allowed) >= 0.95


@pytest.mark.heavy
def test_changes_are_searched_at_once_and_enter_the_graph_when_there_are_many(saved: Path) -> None:
    index = DiskAnnIndex.load(saved, dimension=DIMENSION)
    graph = read_manifest(saved).parts["diskann.db"].name
    index.remove(np.arange(0, 450))
    index.add(np.arange(ROWS, ROWS + 500), VECTORS[ROWS:])
    keys = np.arange(450, ROWS + 500)
    assert recall(index, keys) >= 0.95
    index.save(saved)
    assert read_manifest(saved).parts["diskann.db"].name == graph, "a tail of this size stays one"
    index.remove(np.arange(450, 700))
    index.save(saved)
    assert read_manifest(saved).parts["diskann.db"].name != graph
    again = DiskAnnIndex.load(saved, dimension=DIMENSION)
    assert recall(again, np.arange(700, ROWS + 500)) >= 0.95
    assert again.keys().tolist() == list(range(700, ROWS + 500))


def test_a_graph_of_which_most_changed_is_built_anew(tmp_path: Path) -> None:
    index = DiskAnnIndex(DIMENSION)
    index.add(np.arange(100), VECTORS[:100])
    index.save(tmp_path)
    index.remove(np.arange(100))
    index.add(np.array([7]), VECTORS[200:201])
    index.save(tmp_path)
    assert load_index("diskann", tmp_path, DIMENSION).search(VECTORS[200], 3)[0][0] == 7
    assert {key.tobytes() for key in index._walk(VECTORS[0])} == {np.int64(7).tobytes()}


def test_a_vector_of_zeros_is_kept_out_of_the_graph_but_in_the_index(tmp_path: Path) -> None:
    index = DiskAnnIndex(DIMENSION)
    vectors = VECTORS[:50].copy()
    vectors[3] = 0
    index.add(np.arange(50), vectors)
    index.save(tmp_path)
    assert 3 not in index._walk(VECTORS[0])
    assert index.search(VECTORS[0], 50)[-1] == (3, 0.0)


@pytest.mark.heavy
def test_a_damaged_database_is_reported_as_such(saved: Path) -> None:
    path = saved / read_manifest(saved).parts["diskann.db"].name
    content = bytearray(path.read_bytes())
    content[4096:] = bytes(len(content) - 4096)
    path.write_bytes(bytes(content))
    index = DiskAnnIndex.load(saved, dimension=DIMENSION)
    with pytest.raises(StoreCorrupt, match="libSQL reports"):
        index.search(QUERIES[0], 10)


def test_without_libsql_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "libsql", None)
    with pytest.raises(StoreError, match=r"pip install 'hybridrag\[diskann\]'"):
        DiskAnnIndex(DIMENSION)
    with pytest.raises(StoreError, match=r"pip install 'hybridrag\[diskann\]'"):
        load_index("diskann", tmp_path, DIMENSION)
