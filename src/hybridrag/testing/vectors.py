"""The contract suite of `VectorIndex`: what every index keeps, whatever it is built on."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridrag.errors import StoreCorrupt
from hybridrag.protocols import Keys, VectorIndex
from hybridrag.types.base import Float32Array

Make = Callable[[int], VectorIndex]
Load = Callable[[Path, int], VectorIndex]

DIMENSION = 32
ROWS = 6000
"""Enough that an approximate index is one: smaller ones may compare with everything."""
QUERIES = 40
COSINE_MARGIN = 2e-3
"""A cosine may be off by what storing numbers in 16 bits costs."""
SELECTIVITIES = (1, 10, ROWS // 100, ROWS // 10, ROWS // 2, ROWS)
"""How many keys are allowed, from one to all."""


def anisotropic(rows: int, dimension: int, *, seed: int, mean: float = 0.88, noise: float = 0.3) -> Float32Array:
    """Unit vectors shaped like those of a text embedding model: all close to one direction.

    A common mean direction carries most of each vector (cosines mostly .65 to .9, as with e5 models); the rest is
    a mixture of topics along few directions of falling weight, plus noise in all of them. The same `dimension`
    gives the same directions and topics, `seed` only which vectors are drawn.
    """
    world = np.random.default_rng(dimension)
    rank = max(2, dimension // 4)
    common = _unit(world.standard_normal((1, dimension), dtype=np.float32))
    basis = np.linalg.qr(world.standard_normal((max(rank, dimension), rank)))[0][:dimension]
    directions = (basis / np.sqrt(np.arange(1, rank + 1))).T.astype(np.float32)
    topics = world.standard_normal((2000, rank), dtype=np.float32)
    draw = np.random.default_rng(seed)
    spread = topics[draw.integers(0, len(topics), rows)] + draw.standard_normal((rows, rank), dtype=np.float32)
    own = _unit(spread @ directions) * np.float32(np.sqrt(1 - noise))
    own += draw.standard_normal((rows, dimension), dtype=np.float32) * np.float32(np.sqrt(noise / dimension))
    return _unit(common * np.float32(mean) + own * np.float32(np.sqrt(1 - mean**2)))


def check_vector_index(make: Make, load: Load, tmp_path: Path, *, min_recall: float) -> None:
    """Check every promise of `VectorIndex`; raises AssertionError at the first that is broken.

    `make(dimension)` gives an empty index, `load(folder, dimension)` opens a saved one, `min_recall` is the
    share of the true ten nearest that searches must find over all vectors and under every filter.

    check_vector_index(ExactIndex, lambda folder, d: ExactIndex.load(folder, dimension=d), tmp_path, min_recall=0.99)

    Raises:
        AssertionError: says which promise.
    """
    _check_empty(make, load, tmp_path / "empty")
    _check_adding_and_removing(make)
    _check_order_and_ties(make)
    saved = _saved_example(make, tmp_path / "recall")
    for example in (saved, _reopened(load, saved)):
        _check_recall(example, min_recall=min_recall)
        _check_filters(example, min_recall=min_recall)
    _check_threads(saved, min_recall=min_recall)
    _check_round_trip(make, load, tmp_path / "round")
    _check_damage(make, load, tmp_path / "damage")


@dataclass(frozen=True)
class _Example:
    index: VectorIndex
    folder: Path
    keys: Keys
    vectors: Float32Array
    queries: Float32Array

    def truth(self, query: Float32Array, k: int, allowed: Keys | None = None) -> list[int]:
        """The true nearest, by comparing with everything."""
        scores = self.vectors @ query
        if allowed is not None:
            scores = np.where(np.isin(self.keys, allowed), scores, -np.inf)
        best = np.lexsort((self.keys, -scores))[:k]
        return [int(self.keys[row]) for row in best if np.isfinite(scores[row])]


def _unit(vectors: NDArray[np.floating[Any]]) -> Float32Array:
    unit: Float32Array = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32, copy=False)
    return unit


def _keys(*keys: int) -> Keys:
    return np.array(keys, dtype=np.int64)


def _saved_example(make: Make, folder: Path) -> _Example:
    """An index that was filled in two calls, changed, and saved in between, so that it has every part it can have."""
    vectors = anisotropic(ROWS, DIMENSION, seed=1)
    keys = np.arange(ROWS, dtype=np.int64) * 7 + 3
    index = make(DIMENSION)
    half = ROWS // 2
    index.add(keys[:half], vectors[half:])  # wrong on purpose: replaced below
    index.add(keys[half:-20], vectors[half:-20])
    index.add(keys[:half], vectors[:half])
    index.save(folder)
    index.add(keys[-20:], vectors[-20:])
    index.remove(keys[:50])
    index.add(keys[30:40], vectors[30:40])
    live = np.r_[30:40, 50:ROWS]
    index.save(folder)
    return _Example(index, folder, keys[live], vectors[live], anisotropic(QUERIES, DIMENSION, seed=2))


def _reopened(load: Load, example: _Example) -> _Example:
    index = load(example.folder, DIMENSION)
    return _Example(index, example.folder, example.keys, example.vectors, example.queries)


def _check_empty(make: Make, load: Load, folder: Path) -> None:
    index = make(DIMENSION)
    query = anisotropic(1, DIMENSION, seed=3)[0]
    assert len(index) == 0, "a new index has no keys"
    assert index.keys().tolist() == []
    assert index.search(query, 5) == [], "an empty index finds nothing"
    assert index.search(query, 5, allowed=_keys(1, 2)) == []
    index.remove(_keys(1))
    index.add(_keys(), np.zeros((0, DIMENSION), dtype=np.float32))
    index.save(folder)
    assert len(load(folder, DIMENSION)) == 0, "an empty index survives saving"


def _check_adding_and_removing(make: Make) -> None:
    vectors = anisotropic(6, DIMENSION, seed=4)
    index = make(DIMENSION)
    index.add(_keys(40, 10, 30), vectors[:3])
    index.add(_keys(20), vectors[3:4])
    assert index.keys().tolist() == [10, 20, 30, 40], "keys are ascending, whatever the order of adding"
    index.add(_keys(10, 50), vectors[4:6])
    assert len(index) == 5, "adding a known key replaces"
    assert index.search(vectors[4], 1)[0][0] == 10, "the new vector of a replaced key is found"
    assert index.search(vectors[1], 5)[0][0] != 10 or index.search(vectors[1], 1)[0][1] < 1 - COSINE_MARGIN, (
        "the old vector of a replaced key is gone"
    )
    index.remove(_keys(20, 30, 99))
    assert index.keys().tolist() == [10, 40, 50], "removing forgets; unknown keys are ignored"
    assert {key for key, _ in index.search(vectors[3], 10)} == {10, 40, 50}, "a removed key is not found"
    index.add(_keys(20), vectors[3:4])
    assert index.search(vectors[3], 1)[0][0] == 20, "a removed key may come back"


def _check_order_and_ties(make: Make) -> None:
    vectors = anisotropic(50, DIMENSION, seed=5)
    index = make(DIMENSION)
    index.add(np.arange(50, dtype=np.int64), vectors)
    twin = np.repeat(vectors[7:8], 5, axis=0)
    index.add(_keys(905, 903, 901, 904, 902), twin)
    found = index.search(vectors[7], 60)
    assert len(found) == 55, "k may be larger than the number of keys"
    cosines = [cosine for _, cosine in found]
    assert cosines == sorted(cosines, reverse=True), "the best come first"
    assert [key for key, _ in found[:6]] == [7, 901, 902, 903, 904, 905], "equal vectors come in the order of keys"
    assert [key for key, _ in index.search(vectors[7], 3)] == [7, 901, 902], "ties are cut in the order of keys"
    assert all(-1 <= cosine <= 1 for cosine in cosines)
    truth = {key: float(vectors[key] @ vectors[7]) for key in range(50)}
    assert all(abs(cosine - truth[key]) < COSINE_MARGIN for key, cosine in found if key in truth)
    assert index.search(vectors[7], 0) == []


def _check_recall(example: _Example, *, min_recall: float) -> None:
    found = [[key for key, _ in example.index.search(query, 10)] for query in example.queries]
    true = [example.truth(query, 10) for query in example.queries]
    recall = _recall(found, true)
    assert recall >= min_recall, f"recall@10 is {recall:.3f}, below {min_recall}"


def _check_filters(example: _Example, *, min_recall: float) -> None:
    unknown = _keys(1, 2)
    assert example.index.search(example.queries[0], 5, allowed=_keys()) == [], "nothing allowed, nothing found"
    assert example.index.search(example.queries[0], 5, allowed=unknown) == [], "unknown keys are not found"
    draw = np.random.default_rng(6)
    for count in SELECTIVITIES:
        some = draw.choice(example.keys, min(count, len(example.keys)), replace=False)
        allowed = np.sort(np.concatenate([some, unknown]))
        found = [[key for key, _ in example.index.search(q, 10, allowed=allowed)] for q in example.queries]
        assert all(len(keys) == min(10, len(some)) for keys in found), f"k results or all {len(some)} that are allowed"
        assert all(set(keys) <= set(some.tolist()) for keys in found), "only allowed keys are found"
        true = [example.truth(query, 10, some) for query in example.queries]
        recall = _recall(found, true)
        assert recall >= min_recall, f"recall@10 is {recall:.3f} with {len(some)} keys allowed, below {min_recall}"


def _check_threads(example: _Example, *, min_recall: float) -> None:
    allowed = example.keys[::2]

    def ask(query: Float32Array) -> tuple[list[int], list[int]]:
        free = example.index.search(query, 10)
        filtered = example.index.search(query, 10, allowed=allowed)
        return [key for key, _ in free], [key for key, _ in filtered]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(ask, example.queries))
    # Compared with the truth, not with one thread's answers: a search may start at a random place.
    true = [example.truth(query, 10) for query in example.queries]
    assert _recall([free for free, _ in found], true) >= min_recall, "threads find what one thread finds"
    true = [example.truth(query, 10, allowed) for query in example.queries]
    assert _recall([filtered for _, filtered in found], true) >= min_recall, "threads do not mix up their filters"


def _check_round_trip(make: Make, load: Load, folder: Path) -> None:
    vectors = anisotropic(400, DIMENSION, seed=8)
    index = make(DIMENSION)
    index.add(np.arange(300, dtype=np.int64), vectors[:300])
    index.save(folder)
    _assert_same(index, load(folder, DIMENSION), vectors)
    again = load(folder, DIMENSION)
    again.add(np.arange(290, 350, dtype=np.int64), vectors[300:360])
    again.remove(_keys(0, 5, 295, 349))
    again.save(folder)
    _assert_same(again, load(folder, DIMENSION), vectors)
    again.remove(np.arange(10, 340, dtype=np.int64))
    again.save(folder)
    _assert_same(again, load(folder, DIMENSION), vectors)
    _check_other_folder(load, folder, vectors)


def _check_other_folder(load: Load, folder: Path, vectors: Float32Array) -> None:
    copy = load(folder, DIMENSION)
    before = copy.keys().tolist()
    copy.add(_keys(5000), vectors[360:361])
    copy.save(folder.with_name("elsewhere"))
    assert load(folder, DIMENSION).keys().tolist() == before, "saving elsewhere leaves the first folder alone"
    _assert_same(copy, load(folder.with_name("elsewhere"), DIMENSION), vectors)
    copy.close()


def _assert_same(one: VectorIndex, other: VectorIndex, queries: Float32Array) -> None:
    assert other.keys().tolist() == one.keys().tolist(), "a loaded index has the keys that were saved"
    assert len(other) == len(one)
    for query in queries[::40]:
        assert other.search(query, 10) == one.search(query, 10), "a loaded index answers as the saved one"


def _check_damage(make: Make, load: Load, folder: Path) -> None:
    _assert_corrupt(load, folder, "a missing folder")
    index = make(DIMENSION)
    index.add(np.arange(200, dtype=np.int64), anisotropic(200, DIMENSION, seed=9))
    index.save(folder)
    index.add(_keys(300), anisotropic(1, DIMENSION, seed=10))
    index.save(folder)
    index.close()
    _assert_corrupt(load, folder, "another dimension", dimension=DIMENSION + 1)
    for name, broken in _damaged_copies(folder):
        _assert_corrupt(load, broken, name)
    assert len(load(folder, DIMENSION)) == 201


def _damaged_copies(folder: Path) -> Iterator[tuple[str, Path]]:
    for position, file in enumerate(sorted(folder.iterdir())):
        content = file.read_bytes()
        for damage, left in (("missing", None), ("empty", b""), ("cut off", content[: len(content) // 2])):
            broken = folder.with_name(f"{folder.name}-{position}-{damage.replace(' ', '-')}")
            shutil.copytree(folder, broken)
            (broken / file.name).unlink()
            if left is not None:
                (broken / file.name).write_bytes(left)
            if left != content:
                yield f"{file.name} {damage}", broken


def _assert_corrupt(load: Load, folder: Path, what: str, *, dimension: int = DIMENSION) -> None:
    try:
        load(folder, dimension)
    except StoreCorrupt:
        return
    raise AssertionError(f"{what} is answered by StoreCorrupt")


def _recall(found: list[list[int]], true: list[list[int]]) -> float:
    hits = sum(len(set(one) & set(other)) for one, other in zip(found, true, strict=True))
    return hits / sum(len(other) for other in true)
