"""Ship a taught embedder: the mean of untaught and taught layers in 8 bits, and the projection of its token vectors.

    python -m training.export_embedder DATA OUT SHARE

OUT is that of `training.embedder`. The mean and deviation of each direction, and what unrelated passages reach, are
read off training passages.
"""

# ruff: noqa: T201 (a step says what it did)

from __future__ import annotations

import hashlib
import json
import random
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import platformdirs

from hybridrag.models.e5_embedder import TAUGHT_FOLDER, TAUGHT_INFO, E5Embedder
from hybridrag.models.e5_onnx import build_encoder
from hybridrag.models.e5_prepare import ENCODER_FILE, POSITIONS_FILE
from hybridrag.models.e5_weights import E5Shape
from hybridrag.models.token_vectors import E5_PROJECTION_FILE, PROJECTION_FILE
from hybridrag.models.unit_vectors import to_unit
from hybridrag.types.base import Float32Array
from training.read_back import base_names
from training.texts import SEED, read_passages, read_written
from training.vocabulary import base_weights

SAMPLE = 300
"""Passages, and questions, that the projection's numbers are read off."""
UNRELATED_SHARE = 0.05


@dataclass(frozen=True)
class TaughtWeights:
    """Tensors by the names of the base."""

    shape: E5Shape
    tensors: dict[str, Float32Array]

    def vector(self, name: str) -> Float32Array:
        """A flat tensor."""
        return self.tensors[name].reshape(-1)

    def dense(self, name: str) -> tuple[Float32Array, Float32Array]:
        """A matrix, outputs by inputs, and its bias."""
        return self.tensors[f"{name}.w"], self.tensors[f"{name}.b"]


def mean_weights(out: Path, share: float) -> tuple[TaughtWeights, Float32Array]:
    """The layers between untaught and taught, and the projection likewise."""
    base = base_weights()
    tensors: dict[str, Float32Array] = {}
    taught: dict[str, Float32Array] = {}
    for part in sorted(out.glob("embedder-*.npz")):
        with np.load(part) as file:
            taught |= {name: file[name].astype(np.float32) for name in file.files}
    for name, key in base_names(base.shape.layers):
        after = taught[name]
        kept = base.matrix(key, after.shape[1]) if base.tensors[key].kind else base.vector(key).reshape(after.shape)
        tensors[key] = (1 - share) * kept + share * after
    first = np.load(E5_PROJECTION_FILE)[:-2].astype(np.float32)
    projection = (1 - share) * first + share * np.load(out / "projection.npy").astype(np.float32)
    return TaughtWeights(base.shape, tensors), projection


def main(data: Path, out: Path, share: float) -> None:
    """Write everything that the package runs."""
    TAUGHT_FOLDER.mkdir(parents=True, exist_ok=True)
    weights, projection = mean_weights(out, share)
    onnx.save_model(build_encoder(weights), TAUGHT_FOLDER / ENCODER_FILE)
    hidden = weights.shape.hidden
    positions = weights.tensors["emb.pos"] + weights.vector("emb.type")[:hidden]
    np.save(TAUGHT_FOLDER / POSITIONS_FILE, positions.astype(np.float16), allow_pickle=False)
    digest = hashlib.sha256((TAUGHT_FOLDER / ENCODER_FILE).read_bytes()).hexdigest()[:16]
    info = {"digest": digest, "share": share, "unrelated": 0.0}
    (TAUGHT_FOLDER / TAUGHT_INFO).write_text(json.dumps(info, indent=1))
    embedder = E5Embedder(platformdirs.user_cache_path("hybridrag"))
    rng, passages = random.Random(SEED), read_passages(data)
    held = [row for row in rng.sample(read_written(data)[1], SAMPLE) if passages[row["p"]]]
    told = embedder.embed_passages([passages[row["p"]][:600] for row in held], tokens=True).tokens or ()
    asked = [(embedder.embed_query(row["yes"], tokens=True).tokens or ())[0] for row in held]
    short = [to_unit(vectors @ projection) for vectors in told]
    every = np.concatenate(short)
    numbers = np.vstack([projection, every.mean(axis=0), every.std(axis=0)])
    np.save(TAUGHT_FOLDER / PROJECTION_FILE, numbers.astype(np.float16), allow_pickle=False)
    # Of each question's passages the ten that are nearest but its own: those that a search would bring up.
    reached = []
    for place, vectors in enumerate(asked):
        mine = to_unit(vectors @ projection)
        near = [float((mine @ other.T).max(axis=1).mean()) for at, other in enumerate(short) if at != place]
        reached += sorted(near)[-10:]
    info["unrelated"] = round(float(np.quantile(reached, UNRELATED_SHARE)), 3)
    (TAUGHT_FOLDER / TAUGHT_INFO).write_text(json.dumps(info, indent=1))
    print(info, {path.name: path.stat().st_size for path in sorted(TAUGHT_FOLDER.iterdir())})


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]))
