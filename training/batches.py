"""Rows of the training data as token ids, and lists of ids as batches without padding; for a processor as for a GPU."""

# mypy: disable-error-code="import-not-found", disallow-subclassing-any=False, disallow-untyped-decorators=False
# mypy: warn-return-any=False, warn-unused-ignores=False
# (torch is needed here alone, and is not installed where types are checked)

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from training.net import END, START, Batch, CrossEncoder, Shape
from training.read_back import base_names
from training.vocabulary import base_weights


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
