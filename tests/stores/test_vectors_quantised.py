"""The quantised index finds the true neighbours: of crowded directions, under filters, after changes."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from hybridrag.errors import StoreCorrupt
from hybridrag.protocols import Keys
from hybridrag.stores.vectors import quantised
from hybridrag.stores.vectors.files import commit, part_name, read_manifest, write_part
from hybridrag.stores.vectors.quantised import QuantisedIndex
from hybridrag.testing.vectors import anisotropic
from hybridrag.types.base import Float32Array

DIMENSION = 96
ROWS = 12_000
KEYS: Keys = np.arange(ROWS, dtype=np.int64) * 5
VECTORS = anisotropic(ROWS, DIMENSION, seed=1)
QUERIES = anisotropic(40, DIMENSION, seed=2)


class Filled:
    """An index of saved vectors with codes, beside all that is in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.keys: Keys = KEYS
        self.vectors = VECTORS.copy()
        self.index = QuantisedIndex.load(folder, dimension=DIMENSION)

    def recall(self, *, allowed: Keys | None = None, k: int = 10) -> float:
        rows = np.arange(len(self.keys)) if allowed is None else np.flatnonzero(np.isin(self.keys, allowed))
        hits = total = 0
        for query in QUERIES:
            true = self.keys[rows[np.argsort(-(self.vectors[rows] @ query))[:k]]]
            found = [key for key, _ in self.index.search(query, k, allowed=allowed)]
            assert len(found) == min(k, len(rows))
            hits += len(np.intersect1d(true, found))
            total += len(true)
        return hits / total


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("quantised")
    index = QuantisedIndex(DIMENSION)
    index.add(KEYS, VECTORS)
    index.save(folder)
    return folder


@pytest.fixture
def filled(built: Path, tmp_path: Path) -> Filled:
    return Filled(Path(shutil.copytree(built, tmp_path / "copy")))


def test_vectors_crowded_around_one_direction_are_told_apart(filled: Filled) -> None:
    cosines = filled.vectors[:500] @ QUERIES.T
    assert cosines.min() > 0.5
    assert filled.recall() >= 0.98
    assert filled.recall(k=100) >= 0.98


@pytest.mark.parametrize("count", [1, 9, 100, 4000, 4500, 6000, 11_999, ROWS])
def test_a_filter_never_costs_recall(count: int, filled: Filled) -> None:
    allowed = np.sort(np.random.default_rng(count).choice(filled.keys, count, replace=False))
    assert filled.recall(allowed=allowed) >= max(0.98, filled.recall() - 0.005)


def test_a_filter_far_from_the_query_gives_the_true_nearest_of_it(filled: Filled) -> None:
    # Where the best allowed stand in a crowd, 500 candidates held half of the true ten.
    for query in QUERIES[:10]:
        cosines = filled.vectors @ query
        far = np.sort(np.argsort(cosines)[:5000])
        found = filled.index.search(query, 10, allowed=filled.keys[far])
        assert np.allclose([cosine for _, cosine in found], np.sort(cosines[far])[:-11:-1], atol=2e-4)


def test_removed_replaced_and_new_vectors_are_found_as_they_are_now(filled: Filled) -> None:
    gone = np.concatenate([filled.index.search(query, 20) for query in QUERIES])[:, 0].astype(np.int64)
    filled.index.remove(gone)
    filled.keys, filled.vectors = _without(filled.keys, filled.vectors, gone)
    new = anisotropic(300, DIMENSION, seed=3)
    filled.vectors[:100] = new[:100]
    filled.keys = np.concatenate([filled.keys, np.arange(100_000, 100_200)])
    filled.vectors = np.concatenate([filled.vectors, new[100:]])
    filled.index.add(filled.keys[:100], new[:100])
    filled.index.add(filled.keys[-200:], new[100:])
    for _ in range(2):
        assert filled.recall() >= 0.98
        assert filled.recall(allowed=filled.keys[::2]) >= 0.98
        assert filled.recall(allowed=filled.keys[-250:]) >= 0.98
        filled.index.save(filled.folder)
        filled.index = QuantisedIndex.load(filled.folder, dimension=DIMENSION)
        assert filled.index.keys().tolist() == sorted(filled.keys.tolist())


def _without(keys: Keys, vectors: Float32Array, gone: Keys) -> tuple[Keys, Float32Array]:
    left = ~np.isin(keys, gone)
    return keys[left], vectors[left]


def test_thousands_of_equal_vectors_come_in_the_order_of_keys(tmp_path: Path) -> None:
    vectors = VECTORS.copy()
    vectors[2000:9000] = vectors[2000]
    index = QuantisedIndex(DIMENSION)
    index.add(np.arange(ROWS), vectors)
    index.save(tmp_path)
    assert [key for key, _ in index.search(vectors[2000], 5)] == [2000, 2001, 2002, 2003, 2004]
    odd = np.arange(1, ROWS, 2)
    assert [key for key, _ in index.search(vectors[2000], 3, allowed=odd)] == [2001, 2003, 2005]


def test_half_of_the_lists_are_enough_for_a_large_index(filled: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantised, "PROBE_ALL_UP_TO", 1000)
    assert filled.recall() >= 0.98
    assert filled.recall(allowed=filled.keys[::2]) >= 0.98


@pytest.mark.parametrize("dimension", [1, 3, 8, 100, 768])
def test_any_dimension_will_do(dimension: int, tmp_path: Path) -> None:
    vectors = anisotropic(quantised.CODES_FROM, dimension, seed=1)
    index = QuantisedIndex(dimension)
    index.add(np.arange(len(vectors)), vectors)
    index.save(tmp_path)
    assert index.search(vectors[5], 1)[0][1] == pytest.approx(1, abs=1e-3)


def test_codes_take_a_tenth_of_the_memory_of_the_rows(filled: Filled) -> None:
    parts = read_manifest(filled.folder).parts
    assert parts["codes"].size / ROWS < DIMENSION / 8 + 20


def test_faiss_has_as_many_threads_after_a_search_as_before(filled: Filled) -> None:
    import faiss

    before = faiss.omp_get_max_threads()
    filled.index.search(QUERIES[0], 10)
    assert faiss.omp_get_max_threads() == before


def test_codes_that_faiss_cannot_read_are_damage(filled: Filled) -> None:
    manifest = read_manifest(filled.folder)
    strange = write_part(filled.folder, part_name("0" * 16, "codes"), [b"from another version" * 10])
    commit(filled.folder, manifest.model_copy(update={"parts": manifest.parts | {"codes": strange}}))
    index = QuantisedIndex.load(filled.folder, dimension=DIMENSION)
    with pytest.raises(StoreCorrupt, match="another version of faiss"):
        index.search(QUERIES[0], 10)
