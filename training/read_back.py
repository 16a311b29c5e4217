"""Read an exported model back, to go on from it where the floats that it was made from are gone.

Nothing of the package is imported: a machine that trains has torch, and little else.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
WORDS_FILE = "words.q4"
SCALE_BYTES, HALF = 2, 16
"""A block of word vectors: a scale, then so many bytes of two numbers each, the first ones in the low halves."""
ZERO = 8
POSITIONS = 512
"""Of the base; those behind the longest pair are never used."""


def read_words(folder: Path, hidden: int) -> Array:
    """A row for each piece."""
    blocks = np.frombuffer((folder / WORDS_FILE).read_bytes(), dtype=np.uint8).reshape(-1, SCALE_BYTES + HALF)
    scale = np.ascontiguousarray(blocks[:, :SCALE_BYTES]).view("<f2").astype(np.float32)
    pairs = blocks[:, SCALE_BYTES:]
    numbers = np.concatenate([pairs & 0x0F, pairs >> 4], axis=1).astype(np.float32) - ZERO
    return (numbers * scale).reshape(-1, hidden)


def read_graph(folder: Path, name: str) -> dict[str, Array]:
    """The parameters that `training.export` wrote, by their names in `training.net`, in steps of 8 bits."""
    import onnx  # noqa: PLC0415 (heavy)

    kept = onnx.load(str(folder / f"{name}.onnx")).graph.initializer
    constants: dict[str, Any] = {one.name: onnx.numpy_helper.to_array(one) for one in kept}
    state: dict[str, Array] = {}
    for key, value in constants.items():
        stem, _, part = key.rpartition(".")
        if part == "w":
            scale = constants.get(f"{stem}.s", np.ones(1, dtype=np.float32))
            state[f"{stem}.weight"] = np.ascontiguousarray((value.astype(np.float32) * scale.reshape(1, -1)).T)
        elif part == "b":
            state[f"{stem}.bias"] = value.copy()
        elif part in {"weight", "bias"}:
            state[key] = value.copy()
    places = np.load(folder / f"{name}.places.npy", allow_pickle=False).astype(np.float32)
    hidden = places.shape[2]
    state["positions"] = np.zeros((POSITIONS, hidden), dtype=np.float32)
    state["positions"][: places.shape[1]] = places[0]
    # The first kind is in the positions already.
    state["types"] = np.stack([np.zeros(hidden, dtype=np.float32), (places[1] - places[0]).mean(axis=0)])
    return state


DENSE = ("q", "k", "v", "ao", "fi", "fo")
NORMS = ("aln", "oln")


def base_names(layers: int) -> list[tuple[str, str]]:
    """Which parameter of the model is which tensor of the base."""
    names = [("positions", "emb.pos"), ("types", "emb.type"), ("norm.weight", "emb.ln.w"), ("norm.bias", "emb.ln.b")]
    for i in range(layers):
        for part in (*DENSE, *NORMS):
            names += [(f"layers.{i}.{part}.weight", f"l{i}.{part}.w"), (f"layers.{i}.{part}.bias", f"l{i}.{part}.b")]
    return names
