"""Small models of the real formats, built on the spot: they run in milliseconds and know nothing."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from hybridrag.models.e5_weights import BLOCK, MAGIC

PIECES = [
    "<s>",
    "<pad>",
    "</s>",
    "<unk>",
    *"▁abcdehlorstuvwy,.:",
    "▁the",
    "▁cat",
    "sat",
    "▁sat",
    "日本",
    "日",
    "本",
    "語",
]
"""A vocabulary; all but the special pieces get a score."""


@dataclass(frozen=True)
class TinyE5:
    """The numbers behind a small weights file, and the file."""

    path: Path
    matrices: dict[str, NDArray[np.float32]]
    vectors: dict[str, NDArray[np.float32]]
    hidden: int = 64
    layers: int = 2
    heads: int = 2
    feed_forward: int = 128
    positions: int = 48


def write_tiny_e5(path: Path, *, seed: int = 0) -> TinyE5:
    """A file of the format of `e5_weights`, with random weights of a usual size."""
    tiny = TinyE5(path, {}, {})
    rng = np.random.default_rng(seed)
    chunks: dict[str, bytes] = {}
    sizes = _sizes(tiny)
    for name, shape in sizes.items():
        if len(shape) == 2:
            blob, tiny.matrices[name] = _pack_blocks(rng.normal(0, 0.08, shape).astype(np.float32))
            chunks[name] = blob
            continue
        middle = 1.0 if name.endswith("ln.w") else 0.0
        tiny.vectors[name] = rng.normal(middle, 0.05, shape).astype(np.float32)
        chunks[name] = tiny.vectors[name].tobytes()
    path.write_bytes(_assemble(tiny, chunks))
    return tiny


def _sizes(tiny: TinyE5) -> dict[str, tuple[int, ...]]:
    hidden, wide = tiny.hidden, tiny.feed_forward
    sizes: dict[str, tuple[int, ...]] = {"emb.word": (len(PIECES), hidden)}
    sizes |= {"emb.pos": (tiny.positions * hidden,), "emb.type": (2 * hidden,)}
    sizes |= {"emb.ln.w": (hidden,), "emb.ln.b": (hidden,)}
    for layer in range(tiny.layers):
        for part in ("q", "k", "v", "ao"):
            sizes |= {f"l{layer}.{part}.w": (hidden, hidden), f"l{layer}.{part}.b": (hidden,)}
        sizes |= {f"l{layer}.fi.w": (wide, hidden), f"l{layer}.fi.b": (wide,)}
        sizes |= {f"l{layer}.fo.w": (hidden, wide), f"l{layer}.fo.b": (hidden,)}
        for norm in ("aln", "oln"):
            sizes |= {f"l{layer}.{norm}.w": (hidden,), f"l{layer}.{norm}.b": (hidden,)}
    return sizes


def _pack_blocks(matrix: NDArray[np.float32]) -> tuple[bytes, NDArray[np.float32]]:
    """The bytes of a 4-bit tensor, and the numbers that they stand for."""
    blocks = matrix.reshape(-1, BLOCK)
    scales = (np.abs(blocks).max(axis=1, keepdims=True) / 7).astype("<f2")
    nibbles = np.clip(np.rint(blocks / scales.astype(np.float32)), -8, 7).astype(np.int8)
    codes = (nibbles + 8).astype(np.uint8)
    packed = codes[:, : BLOCK // 2] | (codes[:, BLOCK // 2 :] << 4)
    blob = np.concatenate([scales.view(np.uint8), packed], axis=1).tobytes()
    return blob, (nibbles.astype(np.float32) * scales.astype(np.float32)).reshape(matrix.shape)


def _assemble(tiny: TinyE5, chunks: dict[str, bytes]) -> bytes:
    sizes = (tiny.hidden, tiny.layers, tiny.heads, tiny.feed_forward, len(PIECES), tiny.positions, 2)
    head = MAGIC + struct.pack("<I7ifi", 1, *sizes, 1e-12, BLOCK)
    encoded = [piece.encode() for piece in PIECES]
    offsets = np.cumsum([0, *map(len, encoded)]).astype("<u4")
    scores = np.array([0, 0, 0, 0, *(-float(place) / 4 for place in range(4, len(PIECES)))], dtype="<f4")
    head += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, int(offsets[-1]))
    head += offsets.tobytes() + scores.tobytes() + b"".join(encoded)
    table = struct.pack("<IB1I", ord("①"), 1, ord("1"))
    head += struct.pack("<iI", 1, len(table)) + table
    directory = sum(2 + len(name) + 21 for name in chunks) + 4
    place = len(head) + directory
    entries = struct.pack("<i", len(chunks))
    for name, blob in chunks.items():
        kind = 1 if name in tiny.matrices else 0
        entries += struct.pack("<H", len(name)) + name.encode()
        entries += struct.pack("<BIQQ", kind, len(blob), place, len(blob))
        place += len(blob)
    return head + entries + b"".join(chunks.values())


WORDS = (
    "the harbour of town was built in and is still used by fishing boats when "
    "boil rice for ten minutes add a little salt"
)
CHARACTERS = "この町の港は一八七一年に造られ、今も漁船に使われています。いつましたか炊いた米少し塩を加えて混ぜす長文"


def write_sentence_model(
    folder: Path,
    *,
    dimension: int = 16,
    pooling: dict[str, object] | None = None,
    inputs: tuple[str, ...] = ("input_ids", "attention_mask", "token_type_ids"),
    integer: int = TensorProto.INT64,
    pooled: bool = False,
    max_positions: int = 64,
) -> Path:
    """A folder as on Hugging Face: each token's vector depends on its id alone, so texts of the same words are near."""
    folder.mkdir(parents=True, exist_ok=True)
    _save_tokenizer(folder / "tokenizer.json")
    config = {"hidden_size": dimension, "max_position_embeddings": max_positions}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    if pooling is not None:
        (folder / "1_Pooling").mkdir(exist_ok=True)
        (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling), encoding="utf-8")
    (folder / "onnx").mkdir(exist_ok=True)
    onnx.save_model(_sentence_graph(dimension, inputs, integer, pooled=pooled), folder / "onnx" / "model.onnx")
    return folder


def _vocabulary() -> dict[str, int]:
    words = dict.fromkeys(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS.split(), *CHARACTERS, *"0123456789?.,:"])
    return {word: place for place, word in enumerate(words)}


def _save_tokenizer(path: Path) -> None:
    vocabulary = _vocabulary()
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))  # noqa: S106 (a token of text)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])]
    )
    # As published models do; the embedder must not be cut or padded by it.
    tokenizer.enable_truncation(8)
    tokenizer.enable_padding(length=32)
    tokenizer.save(str(path))


def _sentence_graph(dimension: int, inputs: tuple[str, ...], integer: int, *, pooled: bool) -> onnx.ModelProto:
    rng = np.random.default_rng(7)
    table = rng.normal(0, 1, (len(_vocabulary()), dimension)).astype(np.float32)
    table[:4] *= 0.01  # special tokens and unknown words say nothing
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["words"])]
    last = "words"
    for name in inputs[1:]:
        # Every input takes part, so that the graph fails where one is missing or of the wrong shape.
        nodes.append(helper.make_node("Cast", [name], [f"{name}_f"], to=TensorProto.FLOAT))
        nodes.append(helper.make_node("Unsqueeze", [f"{name}_f", "two"], [f"{name}_3"]))
        nodes.append(helper.make_node("Mul", [f"{name}_3", "zero"], [f"{name}_0"]))
        nodes.append(helper.make_node("Add", [last, f"{name}_0"], [f"{name}_sum"]))
        last = f"{name}_sum"
    constants = [
        numpy_helper.from_array(table, "table"),
        numpy_helper.from_array(np.array([2], dtype=np.int64), "two"),
        numpy_helper.from_array(np.array(0, dtype=np.float32), "zero"),
    ]
    shape: list[str | int] = ["batch", dimension] if pooled else ["batch", "tokens", dimension]
    kind = (
        helper.make_node("ReduceMean", [last, "one"], ["out"], keepdims=0)
        if pooled
        else helper.make_node("Identity", [last], ["out"])
    )
    constants.append(numpy_helper.from_array(np.array([1], dtype=np.int64), "one"))
    graph = helper.make_graph(
        [*nodes, kind],
        "tiny",
        [helper.make_tensor_value_info(name, integer, ["batch", "tokens"]) for name in inputs],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, shape)],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
