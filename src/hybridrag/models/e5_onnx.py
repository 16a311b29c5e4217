"""The encoder of multilingual-e5-small as an ONNX graph in 8 bits, from embedded tokens to token vectors.

The graph is written with the operators that measured fastest on one thread and is run as it stands:
- query, key and value multiplied apart from an input that is quantised once: cutting one product in three cost more;
- Add and LayerNormalization apart: the fused SkipLayerNormalization was slower than both together, by 0.3 ms a layer;
- the two special tokens go through the feed-forward apart. Their activations are up to 60 where those of words stay
  under 5; quantised together, the words would be left with a few levels (cosine .997 against .999 apart).

The caller puts the two special tokens first and adds positions itself: attention does not look at the order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hybridrag.models.e5_weights import E5Shape
from hybridrag.types.base import Float32Array

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

INPUT = "embeddings"
OUTPUT = "token_vectors"
SPECIAL_TOKENS = 2
"""Start and end, the first two rows of the input."""

OPSET = 18
IR_VERSION = 9
"""What onnxruntime 1.20, the oldest supported, reads."""
CONTRIB = "com.microsoft"

MAX_WEIGHT = 63
"""7 bits: on processors without VNNI, two products of an 8-bit activation and weight are added in 16 bits, and
2 * 255 * 63 still fits. So every processor computes the same vectors; 8 bits gained .0005 of cosine."""


class EncoderWeights(Protocol):
    """Where the numbers of an encoder come from."""

    @property
    def shape(self) -> E5Shape:
        """Its sizes."""
        ...

    def vector(self, name: str) -> Float32Array:
        """A flat tensor by its name."""
        ...

    def dense(self, name: str) -> tuple[Float32Array, Float32Array]:
        """The matrix, outputs by inputs, and the bias of a dense layer."""
        ...


def build_encoder(weights: EncoderWeights, *, on_layer: Callable[[int], None] | None = None) -> Any:
    """The graph as an `onnx.ModelProto`: (1, tokens, hidden) embeddings -> (1, tokens, hidden) token vectors.

    `on_layer` is told how many layers are done.

    Raises:
        ModelUnavailable: a tensor is missing.
    """
    graph = _Graph(weights)
    graph.split_sizes()
    state = graph.layer_norm(INPUT, "emb.ln")
    for layer in range(weights.shape.layers):
        state = graph.feed_forward(graph.attention(state, f"l{layer}."), f"l{layer}.")
        if on_layer is not None:
            on_layer(layer + 1)
    return graph.finish(state)


def quantise_columns(matrix: Float32Array, stretch: float = 1.0) -> tuple[NDArray[np.int8], Float32Array]:
    """Whole numbers up to `MAX_WEIGHT` and one scale per column, symmetric around zero; steps are `stretch` as wide.

    [[1.0], [-0.25]] -> [[63], [-16]], [1/63]
    """
    scale = stretch * np.abs(matrix).max(axis=0) / MAX_WEIGHT
    scale[scale == 0] = 1
    return np.rint(matrix / scale).astype(np.int8), scale.astype(np.float32)


class _Graph:
    """Collects nodes and constants; each method adds a part and returns the name of what it computes."""

    def __init__(self, weights: EncoderWeights) -> None:
        import onnx  # noqa: PLC0415 (needed once, when a model is prepared)

        self._onnx = onnx
        self._weights = weights
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}
        self._quantised_states: set[str] = set()

    def split_sizes(self) -> None:
        """The lengths of the two streams: special tokens, and the rest of the input."""
        self._constant("special", np.array([SPECIAL_TOKENS], dtype=np.int64))
        self._node("Shape", [INPUT], ["length"], start=1, end=2)
        self._node("Sub", ["length", "special"], ["rest"])
        self._node("Concat", ["special", "rest"], ["sizes"], axis=0)

    def attention(self, state: str, layer: str) -> str:
        """Self-attention with its residual and normalisation."""
        parts = [self._multiply(state, f"{layer}{part}", f"{layer}{part}") for part in "qkv"]
        heads = self._weights.shape.heads
        context = self._node("MultiHeadAttention", parts, [f"{layer}context"], domain=CONTRIB, num_heads=heads)
        return self._add_norm(state, self._multiply(context, f"{layer}ao", f"{layer}attended"), f"{layer}aln")

    def feed_forward(self, state: str, layer: str) -> str:
        """The two dense layers, for special tokens and words apart, with residual and normalisation."""
        streams = [f"{layer}special", f"{layer}words"]
        self._node("Split", [state, "sizes"], streams, axis=1)
        done = []
        for stream in streams:
            wide = self._multiply(stream, f"{layer}fi", f"{stream}.wide")
            active = self._node("Gelu", [wide], [f"{stream}.active"], domain=CONTRIB)
            done.append(self._multiply(active, f"{layer}fo", f"{stream}.narrow"))
        joined = self._node("Concat", done, [f"{layer}fed"], axis=1)
        return self._add_norm(state, joined, f"{layer}oln")

    def layer_norm(self, state: str, name: str) -> str:
        """LayerNormalization with the scale and shift called `name`."""
        scale, shift = (self._constant(f"{name}.{part}", self._weights.vector(f"{name}.{part}")) for part in "wb")
        epsilon = self._weights.shape.epsilon
        return self._node("LayerNormalization", [state, scale, shift], [f"{name}.out"], axis=-1, epsilon=epsilon)

    def finish(self, state: str) -> Any:
        """The model whose output is `state`."""
        helper, hidden = self._onnx.helper, self._weights.shape.hidden
        self._node("Identity", [state], [OUTPUT])
        value, kind = helper.make_tensor_value_info, self._onnx.TensorProto.FLOAT
        graph = helper.make_graph(
            self._nodes,
            "multilingual-e5-small",
            [value(INPUT, kind, [1, "tokens", hidden])],
            [value(OUTPUT, kind, [1, "tokens", hidden])],
            list(self._constants.values()),
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)

    def _add_norm(self, state: str, change: str, name: str) -> str:
        return self.layer_norm(self._node("Add", [state, change], [f"{name}.sum"]), name)

    def _multiply(self, state: str, name: str, output: str) -> str:
        """`state` times the matrix called `name` plus its bias."""
        numbers, input_scale, zero = self._quantise(state)
        matrix, scale, bias = self._quantised(name)
        inputs = [numbers, matrix, input_scale, scale, zero, "", bias]
        return self._node("MatMulIntegerToFloat", inputs, [output], domain=CONTRIB)

    def _quantise(self, state: str) -> tuple[str, str, str]:
        """`state` in 8 bits by its own range; done once, however often it is multiplied."""
        outputs = [f"{state}.quantised", f"{state}.scale", f"{state}.zero"]
        if state not in self._quantised_states:
            self._quantised_states.add(state)
            self._node("DynamicQuantizeLinear", [state], outputs)
        return outputs[0], outputs[1], outputs[2]

    def _quantised(self, name: str) -> tuple[str, str, str]:
        weights = self._weights
        if f"{name}.w" not in self._constants:
            matrix, bias = weights.dense(name)
            numbers, scale = quantise_columns(np.ascontiguousarray(matrix.T))
            self._constant(f"{name}.w", numbers)
            self._constant(f"{name}.s", scale)
            self._constant(f"{name}.b", bias)
        return f"{name}.w", f"{name}.s", f"{name}.b"

    def _constant(self, name: str, value: NDArray[Any]) -> str:
        self._constants.setdefault(name, self._onnx.numpy_helper.from_array(value, name))
        return name

    def _node(
        self, kind: str, inputs: Sequence[str], outputs: list[str], *, domain: str = "", **attributes: Any
    ) -> str:
        self._nodes.append(self._onnx.helper.make_node(kind, inputs, outputs, domain=domain, **attributes))
        return outputs[0]
