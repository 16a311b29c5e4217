"""Float16 rows: widened exactly, compared exactly, and only good vectors are let in."""

from __future__ import annotations

import numpy as np
import pytest

from hybridrag.errors import InvalidInput
from hybridrag.stores.vectors import matrix as module
from hybridrag.stores.vectors.exact import ExactIndex
from hybridrag.stores.vectors.matrix import BLOCK_NUMBERS, Main, Matrix, dots, widen
from hybridrag.testing.vectors import anisotropic

DIMENSION = 24
ROW_BLOCK = BLOCK_NUMBERS // DIMENSION
VECTORS = anisotropic(3 * ROW_BLOCK, DIMENSION, seed=1)


def test_every_finite_half_is_widened_exactly() -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    finite = every[np.isfinite(every)].reshape(-1, 16)
    assert np.array_equal(widen(finite), finite.astype(np.float32))


def test_dot_products_over_blocks_are_those_of_one_product() -> None:
    half = VECTORS.astype(np.float16)
    assert np.allclose(dots(half, VECTORS[0]), half.astype(np.float32) @ VECTORS[0], atol=1e-6)


def test_equal_vectors_tie_wherever_in_the_matrix_they_stand() -> None:
    # BLAS sums rows at the edge of a block in another order: equal vectors came out in any order of keys.
    places = np.r_[0, 1, 5, ROW_BLOCK - 1, ROW_BLOCK, ROW_BLOCK + 3, 3 * ROW_BLOCK - 1]
    vectors = VECTORS.copy()
    vectors[places] = VECTORS[7]
    for index in (ExactIndex(DIMENSION), _reordered(vectors)):
        if not len(index):
            index.add(np.arange(len(vectors)), vectors)
        found = index.search(VECTORS[7], 8)
        assert [key for key, _ in found] == sorted({7, *places.tolist()})
        assert len({cosine for _, cosine in found}) == 1


def _reordered(vectors: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> ExactIndex:
    index = ExactIndex(DIMENSION)
    order = np.random.default_rng(0).permutation(len(vectors))
    index.add(order, vectors[order])
    return index


@pytest.mark.parametrize("share", [0.01, 0.2, 0.6, 1.0])
@pytest.mark.parametrize("wide_bytes", [0, 1 << 20])
def test_the_same_rows_are_nearest_whichever_way_they_are_scanned(
    share: float, wide_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WIDE_BYTES", wide_bytes)
    main = Main(np.arange(1000, dtype=np.int64) * 2, VECTORS[:1000].astype(np.float16))
    matrix = Matrix(DIMENSION, main=main, keep_wide=True)
    matrix.add(np.arange(5000, 5200, dtype=np.int64), VECTORS[1000:1200])
    matrix.remove(np.arange(0, 100, dtype=np.int64))
    keys = matrix.keys()
    allowed = np.sort(np.random.default_rng(1).choice(keys, int(share * len(keys)), replace=False))
    stored = {int(key): row for block in matrix.live_blocks() for key, row in zip(block.keys, block.rows, strict=True)}
    for query in VECTORS[1200:1210]:
        scores = {int(key): float(stored[int(key)].astype(np.float32) @ query) for key in allowed}
        best = sorted(scores, key=lambda key: (-round(scores[key], 5), key))[:5]
        found = matrix.nearest(query, 5, matrix.rows_of(allowed))
        assert np.allclose([scores[key] for key, _ in found], [scores[key] for key in best], atol=1e-5)


def test_allowed_keys_may_be_unsorted_or_doubled() -> None:
    index = ExactIndex(DIMENSION)
    index.add(np.arange(10), VECTORS[:10])
    found = index.search(VECTORS[0], 10, allowed=np.array([5, 3, 5, 99, 3]))
    assert sorted(key for key, _ in found) == [3, 5]


@pytest.mark.parametrize("gap", [1, 3, 1000])
def test_rows_are_found_by_key_however_far_apart_the_keys_are(gap: int) -> None:
    stored = np.arange(-500, 2500, dtype=np.int64) * gap
    matrix = Matrix(2, main=Main(stored, np.zeros((3000, 2), dtype=np.float16)))
    matrix.remove(stored[:5])
    wanted = np.unique(np.concatenate([stored[::2], stored[::2] + 1, [-(10**15), 10**15]]))
    assert matrix.keys_of(matrix.rows_of(wanted)).tolist() == np.intersect1d(stored[5:], wanted).tolist()
    assert matrix.rows_of(stored[10:12]).tolist() == [10, 11]


def test_of_a_key_given_twice_the_last_vector_counts() -> None:
    index = ExactIndex(DIMENSION)
    index.add(np.array([4, 4]), VECTORS[:2])
    assert len(index) == 1
    key, cosine = index.search(VECTORS[1], 1)[0]
    assert (key, round(cosine, 3)) == (4, 1)


@pytest.mark.parametrize(
    ("keys", "vectors", "said"),
    [
        (np.zeros((1, 1), dtype=np.int64), VECTORS[:1], "one-dimensional array of integers"),
        (np.array([0.5]), VECTORS[:1], "one-dimensional array of integers"),
        (np.array([1, 2]), VECTORS[:1], r"shape \(2, 24\), not \(1, 24\)"),
        (np.array([1]), VECTORS[:1, :5], r"shape \(1, 24\), not \(1, 5\)"),
        (np.array([1]), np.full((1, DIMENSION), np.nan, dtype=np.float32), "finite"),
        (np.array([1]), 2 * VECTORS[:1], "L2-normalised"),
    ],
)
def test_bad_vectors_are_refused_and_nothing_changes(
    keys: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
    vectors: np.ndarray[tuple[int, ...], np.dtype[np.float32]],
    said: str,
) -> None:
    index = ExactIndex(DIMENSION)
    with pytest.raises(InvalidInput, match=said):
        index.add(keys, vectors)
    assert len(index) == 0


def test_a_bad_query_is_refused() -> None:
    index = ExactIndex(DIMENSION)
    with pytest.raises(InvalidInput, match="must have 24 numbers, not 3"):
        index.search(VECTORS[0, :3], 5)
    with pytest.raises(InvalidInput, match="finite"):
        index.search(np.full(DIMENSION, np.inf, dtype=np.float32), 5)


def test_an_index_needs_a_dimension() -> None:
    with pytest.raises(InvalidInput, match="dimension of 1 or more"):
        ExactIndex(0)
