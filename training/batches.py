"""Rows of the training data as token ids, and lists of ids as batches without padding; for a processor as for a GPU."""

# mypy: disable-error-code="import-not-found", disallow-subclassing-any=False, disallow-untyped-decorators=False
# mypy: warn-return-any=False, warn-unused-ignores=False
# (torch is needed here alone, and is not installed where types are checked)

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from training.net import END, START, Batch, CrossEncoder, Shape, base_names
from training.texts import PASSAGES, read_rows
from training.vocabulary import base_weights

HELD_OUT = 600
"""Written rows that nothing is trained on, drawn once."""
SEED = 17


def read_passages(data: Path) -> list[str]:
    """The text of every passage, by its number."""
    return [" ".join(row["t"].split()) for row in read_rows(data, PASSAGES)]


def read_written(data: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The written questions to train on, and those held out; no passage is in both."""
    rows = list(read_rows(data, "written"))
    passages = sorted({row["p"] for row in rows})
    held = set(random.Random(SEED).sample(passages, HELD_OUT))
    return [row for row in rows if row["p"] not in held], [row for row in rows if row["p"] in held]


def join(texts: Sequence[Sequence[int]], kinds: Sequence[Sequence[int]] | None = None) -> Batch:
    """`<s> ids </s>` of every text, one after the other."""
    whole = [[START, *ids, END] for ids in texts]
    ends = np.cumsum([0, *map(len, whole)])
    marks = [[0] * len(ids) for ids in whole] if kinds is None else [[0, *kind, 1] for kind in kinds]
    return Batch(
        torch.tensor([number for ids in whole for number in ids]),
        torch.tensor([place for ids in whole for place in range(len(ids))]),
        torch.tensor([mark for kind in marks for mark in kind]),
        torch.tensor(ends, dtype=torch.int32),
    )


def base_encoder() -> CrossEncoder:
    """multilingual-e5-small with its whole vocabulary, as the installed package carries it."""
    weights = base_weights()
    shape = weights.shape
    words = torch.from_numpy(weights.matrix("emb.word", shape.hidden))
    model = CrossEncoder(Shape(shape.layers, shape.hidden, shape.heads, shape.feed_forward), words)
    state = model.state_dict()
    for name, key in base_names(shape.layers):
        kept = state[name]
        found = weights.matrix(key, kept.shape[1]) if weights.tensors[key].kind != 0 else weights.vector(key)
        state[name] = torch.from_numpy(np.array(found)).reshape(kept.shape)
    model.load_state_dict(state)
    return model


PART_BYTES = 15 << 20
"""Of one file of a saved model."""


def save_model(model: CrossEncoder, path: Path) -> None:
    """Write the trained parameters in half precision, in parts."""
    state = {name: value.detach().numpy().astype(np.float16) for name, value in sorted(model.state_dict().items())}
    part: dict[str, Any] = {}
    size = number = 0
    for name, value in state.items():
        if size + value.nbytes > PART_BYTES:
            np.savez(f"{path}-{number}.npz", **part)
            part, size, number = {}, 0, number + 1
        part[name] = value
        size += value.nbytes
    np.savez(f"{path}-{number}.npz", **part)
