"""Write a trained model as the package runs it: an ONNX graph in 8 bits, and what stands before it.

    python -m training.export WORK MODELS TARGET NAME ...

WORK is that of `training.pack`, or TARGET itself where only the layers are new.

    words.q4              word vectors, 4 bits each as the base has them; all sizes share them
    pieces.txt, scores.npy, lengths.json   the cut vocabulary
    NAME.onnx             the layers
    NAME.places.npy       position vectors for question and passage, with their type added

The special tokens come first and go through the feed-forward apart: their numbers are ten times those of words, and
quantised together they would leave words with a few levels. The first token gives the two answers, every token where
the answer starts and ends.
"""

# ruff: noqa: T201 (a step says what it did)

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hybridrag.models.e5_onnx import CONTRIB, IR_VERSION, OPSET, quantise_columns
from hybridrag.models.e5_weights import BLOCK_BYTES
from hybridrag.models.own_reranker import (
    INPUT,
    OUTPUT,
    PASSAGE_TOKENS,
    QUESTION_TOKENS,
    SPANS,
    SPECIAL_TOKENS,
    WORDS_FILE,
)
from training.ragged import load

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    State = Mapping[str, NDArray[np.float32]]

HEAD = 32
EPSILON = 1e-12
OFF_GRID = 1.0
"""How wide the steps of the weights are, against the narrowest that hold the largest of a column. A model that went on
from an exported one has weights near the steps of that one; rounded to the same steps, they become what they were, and
what was learnt is lost: of `base`, exported with 1.1 before, .15 was left with 1.1 and all of it with 1.0. So take
1.1 where the model was exported with 1.0, and 1.0 where it was 1.1; `python -m training.kept` tells."""
MAX_POSITIONS = SPECIAL_TOKENS + QUESTION_TOKENS + PASSAGE_TOKENS
VOCABULARY_FILES = ("pieces.txt", "scores.npy", "lengths.json")


def build_graph(state: State) -> Any:
    """The `onnx.ModelProto` of a trained model: (1, tokens, hidden) -> (1, 2) and (tokens, 2)."""
    graph = _Graph(state)
    layers = 1 + max(int(name.split(".")[1]) for name in state if name.startswith("layers."))
    value = graph.norm(INPUT, "norm")
    for layer in range(layers):
        value = graph.layer(value, f"layers.{layer}.")
    return graph.finish(value)


class _Graph:
    """Collects nodes and constants; each method adds a part and returns the name of what it computes."""

    def __init__(self, state: State) -> None:
        import onnx  # noqa: PLC0415 (heavy)

        self._onnx, self._state = onnx, state
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}
        self._quantised: set[str] = set()
        self._heads = len(state["norm.weight"]) // HEAD
        self._constant("special", np.array([SPECIAL_TOKENS], dtype=np.int64))
        self._node("Shape", [INPUT], ["length"], start=1, end=2)
        self._node("Sub", ["length", "special"], ["rest"])
        self._node("Concat", ["special", "rest"], ["sizes"], axis=0)
        self._constant("zero", np.array([0], dtype=np.int64))
        self._constant("one", np.array([1], dtype=np.int64))

    def layer(self, value: str, name: str) -> str:
        """A whole layer."""
        value = self._attention(value, name)
        streams = [f"{name}special", f"{name}words"]
        self._node("Split", [value, "sizes"], streams, axis=1)
        done = [self._feed(stream, name) for stream in streams]
        return self._add_norm(value, self._node("Concat", done, [f"{name}fed"], axis=1), f"{name}oln")

    def norm(self, value: str, name: str) -> str:
        """LayerNormalization with the scale and shift called `name`."""
        parts = [self._constant(f"{name}.{part}", self._state[f"{name}.{part}"]) for part in ("weight", "bias")]
        return self._node("LayerNormalization", [value, *parts], [f"{name}.out"], axis=-1, epsilon=EPSILON)

    def finish(self, value: str) -> Any:
        """The two answers from the first token, start and end from all, and the model around everything."""
        helper, hidden = self._onnx.helper, len(self._state["norm.weight"])
        flat = self._node("Reshape", [value, self._constant("rows", np.array([-1, hidden], dtype=np.int64))], ["flat"])
        self._node("Identity", [self._plain(flat, "span")], [SPANS])
        first = self._node("Slice", [flat, "zero", "one", "zero"], ["first"])
        pooled = self._node("Tanh", [self._plain(first, "pool")], ["pooled"])
        self._node("Identity", [self._plain(pooled, "answer")], [OUTPUT])
        info, kind = helper.make_tensor_value_info, self._onnx.TensorProto.FLOAT
        graph = helper.make_graph(
            self._nodes,
            "hybridrag-reranker",
            [info(INPUT, kind, [1, "tokens", hidden])],
            [info(OUTPUT, kind, [1, 2]), info(SPANS, kind, ["tokens", 2])],
            list(self._constants.values()),
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)

    def _attention(self, value: str, name: str) -> str:
        parts = [self._multiply(value, f"{name}{part}") for part in "qkv"]
        context = self._node("MultiHeadAttention", parts, [f"{name}context"], domain=CONTRIB, num_heads=self._heads)
        return self._add_norm(value, self._multiply(context, f"{name}ao"), f"{name}aln")

    def _feed(self, value: str, name: str) -> str:
        wide = self._multiply(value, f"{name}fi")
        active = self._node("Gelu", [wide], [f"{wide}.active"], domain=CONTRIB)
        return self._multiply(active, f"{name}fo")

    def _add_norm(self, value: str, change: str, name: str) -> str:
        return self.norm(self._node("Add", [value, change], [f"{name}.sum"]), name)

    def _plain(self, value: str, name: str) -> str:
        matrix = self._constant(f"{name}.w", np.ascontiguousarray(self._state[f"{name}.weight"].T))
        bias = self._constant(f"{name}.b", self._state[f"{name}.bias"])
        return self._node("Gemm", [value, matrix, bias], [f"{name}.done"])

    def _multiply(self, value: str, name: str) -> str:
        """`value` times the matrix called `name` plus its bias, in 8 bits."""
        numbers = [f"{value}.{part}" for part in ("numbers", "scale", "shift")]
        if value not in self._quantised:
            self._quantised.add(value)
            self._node("DynamicQuantizeLinear", [value], numbers)
        if f"{name}.w" not in self._constants:
            matrix, scale = quantise_columns(np.ascontiguousarray(self._state[f"{name}.weight"].T), OFF_GRID)
            self._constant(f"{name}.w", matrix)
            self._constant(f"{name}.s", scale)
            self._constant(f"{name}.b", self._state[f"{name}.bias"])
        inputs = [numbers[0], f"{name}.w", numbers[1], f"{name}.s", numbers[2], "", f"{name}.b"]
        return self._node("MatMulIntegerToFloat", inputs, [f"{value}*{name}"], domain=CONTRIB)

    def _constant(self, name: str, value: NDArray[Any]) -> str:
        self._constants.setdefault(name, self._onnx.numpy_helper.from_array(value, name))
        return name

    def _node(
        self, kind: str, inputs: Sequence[str], outputs: list[str], *, domain: str = "", **attributes: Any
    ) -> str:
        self._nodes.append(self._onnx.helper.make_node(kind, inputs, outputs, domain=domain, **attributes))
        return outputs[0]


def read_state(models: Path, name: str) -> dict[str, NDArray[np.float32]]:
    """A trained model's parameters, put together from its parts."""
    state: dict[str, NDArray[np.float32]] = {}
    for path in sorted(models.glob(f"{name}-*.npz")):
        with np.load(path, allow_pickle=False) as file:
            state |= {key: file[key].astype(np.float32) for key in file.files}
    return state


def pack_words(numbers: NDArray[np.int8], scale: NDArray[np.float16]) -> bytes:
    """Word vectors in blocks of 18 bytes again, as `unpack_blocks` reads them."""
    blocks = np.empty((len(numbers), BLOCK_BYTES), dtype=np.uint8)
    blocks[:, :2] = scale.astype("<f2").reshape(-1, 1).view(np.uint8)
    nibbles = (numbers + 8).astype(np.uint8)
    blocks[:, 2:] = nibbles[:, :16] | (nibbles[:, 16:] << 4)
    return blocks.tobytes()


def export_model(state: State, target: Path, name: str) -> None:
    """Write NAME.onnx and NAME.places.npy."""
    import onnx  # noqa: PLC0415 (heavy)

    onnx.save_model(build_graph(state), target / f"{name}.onnx")
    places = state["types"][:, None] + state["positions"][None, :MAX_POSITIONS]
    np.save(target / f"{name}.places.npy", places.astype(np.float16), allow_pickle=False)


def main(work: Path, models: Path, target: Path, names: list[str]) -> None:
    """Write everything that the package runs."""
    target.mkdir(parents=True, exist_ok=True)
    if work != target:
        weights = load(work / "weights.npz")
        (target / WORDS_FILE).write_bytes(pack_words(weights["emb.word"], weights["emb.word.scale"]))
        for file in VOCABULARY_FILES:
            shutil.copyfile(work / file, target / file)
    for name in names:
        export_model(read_state(models, name), target, name)
    for path in sorted(target.iterdir()):
        print(f"{path.name} {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:])
