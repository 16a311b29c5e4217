"""The three kinds of vector index keep the contract, and agree with brute force under any series of operations."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from hybridrag.protocols import VectorIndex
from hybridrag.stores.vectors.choose import build_index, load_index
from hybridrag.testing.vectors import anisotropic, check_vector_index
from hybridrag.types.base import Float32Array

DIMENSION = 8
POOL = np.concatenate([anisotropic(40, DIMENSION, seed=1), np.zeros((1, DIMENSION), dtype=np.float32)])
KEYS = st.lists(st.integers(-3, 25), max_size=8)


@pytest.mark.heavy
@pytest.mark.parametrize(("kind", "min_recall"), [("exact", 0.99), ("quantised", 0.98), ("diskann", 0.95)])
def test_every_kind_of_index_keeps_the_contract(kind: str, min_recall: float, tmp_path: Path) -> None:
    check_vector_index(
        lambda dimension: build_index(kind, dimension),
        lambda folder, dimension: load_index(kind, folder, dimension),
        tmp_path,
        min_recall=min_recall,
    )


class BruteForce(RuleBasedStateMachine):
    """An index beside a dictionary: whatever is done to both, they answer alike."""

    kind = "exact"

    def __init__(self) -> None:
        super().__init__()
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = Path(self.scratch.name) / "index"
        self.index: VectorIndex = build_index(self.kind, DIMENSION)
        self.model: dict[int, Float32Array] = {}
        self.saved: dict[int, Float32Array] | None = None

    @rule(keys=KEYS, first=st.integers(0, len(POOL) - 1))
    def add(self, keys: list[int], first: int) -> None:
        vectors = np.array([POOL[(first + step) % len(POOL)] for step in range(len(keys))], dtype=np.float32)
        self.index.add(np.array(keys, dtype=np.int64), vectors.reshape(len(keys), DIMENSION))
        self.model.update(zip(keys, vectors, strict=True))

    @rule(keys=KEYS)
    def remove(self, keys: list[int]) -> None:
        self.index.remove(np.array(keys, dtype=np.int64))
        for key in keys:
            self.model.pop(key, None)

    @rule()
    def save(self) -> None:
        self.index.save(self.folder)
        self.saved = dict(self.model)

    @rule()
    def reopen(self) -> None:
        if self.saved is not None:
            self.index.close()
            self.index = load_index(self.kind, self.folder, DIMENSION)
            self.model = dict(self.saved)

    @rule(query=st.integers(0, 39), k=st.integers(1, 30), allowed=st.none() | st.sets(st.integers(-5, 27)))
    def search(self, query: int, k: int, allowed: set[int] | None) -> None:
        keys = None if allowed is None else np.array(sorted(allowed), dtype=np.int64)
        found = self.index.search(POOL[query], k, allowed=keys)
        visible = {key: vector for key, vector in self.model.items() if allowed is None or key in allowed}
        # The stored numbers have 16 bits, so the truth is taken from them: ties are ties on both sides.
        scores = {key: _cosine(vector, POOL[query]) for key, vector in visible.items()}
        assert len(found) == min(k, len(visible))
        assert all(abs(cosine - scores[key]) < 1e-5 for key, cosine in found)
        assert [(-cosine, key) for key, cosine in found] == sorted((-cosine, key) for key, cosine in found)
        best = sorted(scores.values(), reverse=True)[: len(found)]
        assert np.allclose(best, [cosine for _, cosine in found], atol=1e-5)

    @invariant()
    def same_keys(self) -> None:
        assert self.index.keys().tolist() == sorted(self.model)
        assert len(self.index) == len(self.model)

    def teardown(self) -> None:
        self.index.close()
        self.scratch.cleanup()


def _cosine(vector: Float32Array, query: Float32Array) -> float:
    rounded = vector.astype(np.float16).astype(np.float64)
    return float(np.clip(rounded @ query, -1, 1))


@pytest.mark.heavy
@pytest.mark.parametrize(("kind", "examples"), [("exact", 60), ("quantised", 60), ("diskann", 30)])
def test_any_series_of_operations_answers_as_brute_force_does(kind: str, examples: int) -> None:
    machine = type(f"BruteForce_{kind}", (BruteForce,), {"kind": kind})
    run_state_machine_as_test(
        machine, settings=settings(max_examples=examples, stateful_step_count=25, deadline=None, derandomize=True)
    )
