from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import apsw
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrag.config import load_settings
from hybridrag.engine import Engine
from hybridrag.ingest import embed_passages
from hybridrag.models.hash_embedder import HashEmbedder
from hybridrag.models.token_vectors import (
    DIMENSION,
    E5_DIMENSION,
    HEADER,
    SEEDED_DIMENSION,
    TokenPacker,
    merge_pairs,
    packer_for,
    telling_tokens,
)
from hybridrag.models.unit_vectors import to_unit
from hybridrag.protocols import ModelInfo, Passages
from hybridrag.stores.embedded.store import EmbeddedStore
from hybridrag.testing.stores import MODEL, make_file, make_tokens, make_vector, put
from hybridrag.types.base import Float32Array

E5 = ModelInfo("multilingual-e5-small", "any", E5_DIMENSION, 507)
OTHER = ModelInfo("other", "any", 64, 512)


def vectors(count: int, dimension: int = E5_DIMENSION, seed: int = 1) -> Float32Array:
    return to_unit(np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32))


@pytest.fixture(params=[E5, OTHER], ids=["fitted", "seeded"])
def model(request: pytest.FixtureRequest) -> ModelInfo:
    found = request.param
    assert isinstance(found, ModelInfo)
    return found


def test_what_is_packed_is_read_back_nearly(model: ModelInfo) -> None:
    packer = packer_for(model)
    # Orthogonal, so that no two are merged by chance and each is recognised.
    given_vectors = np.eye(model.dimension, dtype=np.float32)[:1]
    read = packer.unpack(packer.pack(given_vectors))
    assert read is not None
    assert float(read[0] @ packer.project(given_vectors)[0]) > 0.7
    assert np.allclose(np.linalg.norm(read, axis=1), 1, atol=1e-3)


def test_a_token_is_nearest_to_itself_after_packing(model: ModelInfo) -> None:
    packer = packer_for(model)
    many = vectors(40, model.dimension)
    read = np.concatenate([unpacked(packer, packer.pack(one[None])) for one in many])
    nearest = (packer.project(many) @ read.T).argmax(axis=1)
    assert nearest.tolist() == list(range(40))


def unpacked(packer: TokenPacker, packed: bytes) -> Float32Array:
    read = packer.unpack(packed)
    assert read is not None
    return read


def test_a_vector_takes_two_bits_a_direction() -> None:
    packed = packer_for(E5).pack(vectors(1))
    assert len(packed) == HEADER.size + DIMENSION * 2 // 8
    large = ModelInfo("large", "any", 1024, 512)
    assert len(packer_for(large).pack(vectors(1, 1024))) == HEADER.size + SEEDED_DIMENSION * 2 // 8


@pytest.mark.parametrize("dimension", [1, 3, 10, 255, 768])
def test_a_model_of_any_dimension_can_be_packed(dimension: int) -> None:
    packer = packer_for(ModelInfo("any", "any", dimension, 512))
    assert len(unpacked(packer, packer.pack(vectors(1, dimension)))) == 1


def test_the_directions_of_an_unknown_model_are_orthogonal_and_always_the_same() -> None:
    matrix = packer_for(OTHER).matrix
    assert np.allclose(matrix.T @ matrix, np.eye(64), atol=1e-5)
    # Stored token vectors depend on these numbers: a change makes them useless.
    assert np.allclose(matrix[0, :3], PINNED, atol=1e-5)
    assert packer_for(OTHER).identity == packer_for(ModelInfo("another", "any", 64, 1)).identity
    assert packer_for(OTHER).identity != packer_for(ModelInfo("another", "any", 32, 1)).identity


PINNED = [-0.023625, 0.089418, 0.242087]


def test_the_packing_of_the_default_model_is_known_by_its_name(model: ModelInfo) -> None:
    hub = ModelInfo("intfloat/multilingual-e5-small", "other", E5_DIMENSION, 512)
    assert packer_for(hub).identity == packer_for(E5).identity
    assert packer_for(ModelInfo("multilingual-e5-small", "any", 64, 1)).identity == packer_for(OTHER).identity
    assert packer_for(model) is packer_for(model)


def test_bytes_of_another_packing_are_no_vectors() -> None:
    assert packer_for(OTHER).unpack(packer_for(E5).pack(vectors(3))) is None
    assert packer_for(E5).unpack(packer_for(OTHER).pack(vectors(3, 64))) is None


def test_damaged_bytes_are_no_vectors() -> None:
    packer = packer_for(E5)
    packed = packer.pack(vectors(3))
    newer = bytes([packed[0] + 1]) + packed[1:]
    for damaged in (b"", b"x", packed[:5], packed[:-1], packed + b"x", newer, packed[:1] + b"\0" + packed[2:]):
        assert packer.unpack(damaged) is None


@given(st.binary(max_size=200))
def test_no_bytes_at_all_crash(data: bytes) -> None:
    packer = packer_for(E5)
    assert packer.unpack(data) is None or len(data) == HEADER.size
    found, counts = packer.unpack_many([data, None])
    assert counts[1] == 0
    assert len(found) == sum(counts)


def test_many_are_read_at_once_each_with_its_own_count() -> None:
    packer = packer_for(E5)
    first, second = packer.pack(vectors(1)), packer.pack(vectors(1, seed=2))
    found, counts = packer.unpack_many([first, None, b"damaged", second])
    assert counts == [1, 0, 0, 1]
    assert np.allclose(found, np.concatenate([unpacked(packer, first), unpacked(packer, second)]))
    assert packer.unpack_many([])[1] == []


def test_no_tokens_are_packed_as_none() -> None:
    packer = packer_for(E5)
    packed = packer.pack(np.zeros((0, E5_DIMENSION), dtype=np.float32))
    assert len(unpacked(packer, packed)) == 0
    assert packer.unpack_many([packed])[1] == [0]


def test_tokens_that_are_each_others_nearest_become_one() -> None:
    a, b = np.eye(4, dtype=np.float32)[:2]
    almost = to_unit(np.array([[1, 0, 0.1, 0]], dtype=np.float32))[0]
    merged = merge_pairs(np.stack([a, b, almost]))
    assert merged.shape == (2, 4)
    assert np.allclose(merged[0], to_unit((a + almost)[None])[0])
    assert np.allclose(merged[1], b)
    assert merge_pairs(a[None]).tolist() == a[None].tolist()


def test_tokens_without_a_letter_or_digit_tell_nothing() -> None:
    spans = np.array([[0, 3], [3, 4], [5, 8], [8, 9]], dtype=np.int32)
    telling = telling_tokens("Yes, sir.", spans, 4)
    assert telling is not None
    assert telling.tolist() == [True, False, True, False]
    # A text that was cut has more spans than vectors; one with fewer spans is of other tokens.
    cut = telling_tokens("Yes, sir.", spans, 2)
    assert cut is not None
    assert cut.tolist() == [True, False]
    assert telling_tokens("Yes, sir.", spans, 5) is None


def test_a_passage_of_signs_alone_keeps_them() -> None:
    packer = packer_for(E5)
    packed = packer.pack(vectors(2), np.array([False, False]))
    assert len(unpacked(packer, packed)) > 0


class WithoutTokens:
    """An embedder that gives one vector for a text, as services do."""

    def __init__(self) -> None:
        self._real = HashEmbedder()
        self.info = self._real.info
        self.token_spans = self._real.token_spans

    def embed_passages(self, texts: list[str], *, tokens: bool = False) -> Passages:
        del tokens
        return Passages(self._real.embed_passages(texts).pooled)

    def embed_query(self, text: str, *, tokens: bool = False) -> Passages:
        return self.embed_passages([text], tokens=tokens)


def open_engine(path: Path, embedder: HashEmbedder | WithoutTokens) -> Engine:
    settings = load_settings(env={}, overrides={"documents.isolate": False, "graph.extractor": "light"}).settings
    return Engine.open(path, settings=settings, embedder=embedder)  # type: ignore[arg-type]


def stored(engine: Engine) -> dict[str, bytes]:
    """Packed token vectors by the text of their chunk."""
    store = engine._store
    packed = store.token_vectors(store.chunk_keys())
    return {chunk.text: packed[key] for key, chunk in store.chunks_by_key(list(packed)).items()}


def test_what_is_taken_in_has_its_token_vectors(tmp_path: Path) -> None:
    with open_engine(tmp_path, HashEmbedder()) as engine:
        engine.add(text="The harbour, built in 1871.", name="a")
        engine.add(text="", name="empty")
        (packed,) = stored(engine).values()
        packer = packer_for(HashEmbedder().info)
        assert len(unpacked(packer, packed)) in range(1, 6)
        (again,) = embed_passages(HashEmbedder(), ["The harbour, built in 1871."])
        assert again.tokens == packed


def test_an_update_leaves_the_token_vectors_of_what_stays_and_nothing_of_what_goes(tmp_path: Path) -> None:
    with open_engine(tmp_path, HashEmbedder()) as engine:
        engine.add(text="first one", name="a")
        engine.add(text="first one", name="copy")
        before = stored(engine)
        engine.add(text="second one", name="a")
        after = stored(engine)
        assert set(after) == {"first one", "second one"}
        assert after["first one"] == before["first one"]
        engine.remove(everything=True)
        assert stored(engine) == {}
        assert engine.check() == []


def test_an_equal_passage_needs_no_model_a_second_time(tmp_path: Path) -> None:
    with open_engine(tmp_path, HashEmbedder()) as engine:
        engine.add(text="a line that two files have", name="a")
        report = engine.add(text="a line that two files have", name="b")
        assert report.outcomes[0].embedded == 0
        store = engine._store
        first, second = store.token_vectors(store.chunk_keys()).values()
        assert first == second


def test_a_model_without_token_vectors_stores_none(tmp_path: Path) -> None:
    with open_engine(tmp_path, WithoutTokens()) as engine:
        engine.add(text="some words", name="a")
        assert stored(engine) == {}
        assert len(engine.search("words").results) == 1


def test_another_model_renews_the_token_vectors(tmp_path: Path) -> None:
    with open_engine(tmp_path, HashEmbedder()) as engine:
        engine.add(text="some words", name="a")
        old = stored(engine)
    with open_engine(tmp_path, HashEmbedder(seed=5)) as engine:
        assert engine.reembed() == 1
        new = stored(engine)
        assert set(new) == set(old)
        assert new != old
        assert engine.check() == []
    with open_engine(tmp_path, HashEmbedder(dimension=64)) as engine:
        engine.reembed()
        assert packer_for(HashEmbedder(dimension=64).info).unpack(stored(engine)["some words"]) is not None


def test_a_model_without_token_vectors_leaves_none_of_the_old_ones(tmp_path: Path) -> None:
    with open_engine(tmp_path, HashEmbedder(seed=5)) as engine:
        engine.add(text="some words", name="a")
    with open_engine(tmp_path, WithoutTokens()) as engine:
        engine.reembed()
        assert stored(engine) == {}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EmbeddedStore]:
    opened = EmbeddedStore.open(tmp_path / "index")
    opened.bind_model(MODEL)
    yield opened
    opened.close()


def test_an_index_from_before_gets_room_for_token_vectors(store: EmbeddedStore) -> None:
    put(store, make_file("a.txt"), ["alpha"])
    with store._database.write() as connection:
        connection.execute("DROP TABLE token_vectors; DROP TABLE staged_token_vectors")
        connection.execute("ALTER TABLE files DROP COLUMN folder; ALTER TABLE chunks DROP COLUMN anchor")
        connection.pragma("user_version", 2)
    store.close()
    again = EmbeddedStore.open(store.path)
    assert again.token_vectors(again.chunk_keys()) == {}
    put(again, make_file("b.txt"), ["beta"])
    assert list(again.token_vectors(again.chunk_keys()).values()) == [make_tokens("beta")]
    assert again.check() == []
    again.close()


def test_token_vectors_of_another_model_replace_all_at_once(store: EmbeddedStore) -> None:
    put(store, make_file("a.txt"), ["alpha", "beta"])
    before = store.token_vectors(store.chunk_keys())
    other = replace(MODEL, fingerprint="other-1")
    store.begin_reembedding(other)
    first, second = store.unstaged_keys(10)
    store.stage_vectors({first: make_vector(1)}, {first: b"new"})
    assert store.token_vectors([first, second]) == before
    assert not store.finish_reembedding(other)
    # A third model starts anew: nothing of the second one is left.
    third = replace(MODEL, fingerprint="third-1")
    store.begin_reembedding(third)
    store.stage_vectors({first: make_vector(2), second: make_vector(3)}, {second: b"newest"})
    assert store.finish_reembedding(third)
    assert store.token_vectors([first, second]) == {second: b"newest"}
    assert store.check() == []


def test_token_vectors_without_their_chunk_are_found_and_dropped(store: EmbeddedStore) -> None:
    put(store, make_file("a.txt"), ["alpha"])
    # A connection of its own, which does not hold on to foreign keys.
    connection = apsw.Connection(str(store.path / "store.db"))
    connection.execute("INSERT INTO token_vectors VALUES (999, x'00')")
    connection.close()
    (problem,) = store.check()
    assert problem.what == "1 token vectors without their chunk"
    assert problem.derived
    assert store.repair() == []
    assert store.token_vectors([999]) == {}
    assert len(store.token_vectors(store.chunk_keys())) == 1


def test_token_vectors_count_in_the_size_of_an_index(store: EmbeddedStore) -> None:
    put(store, make_file("a.txt"), ["alpha"])
    before = store.status().bytes_on_disk
    with store._database.write() as connection:
        connection.execute("UPDATE token_vectors SET packed = zeroblob(1000000)")
    assert store.status().bytes_on_disk >= before + 1_000_000
