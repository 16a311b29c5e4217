"""The cross-encoder in torch: the encoder of multilingual-e5-small over question and passage, and two answers.

`<s> question </s> passage </s>` in, two numbers out: how well the passage fits the question (only differences between
passages mean something) and the logit of "it holds the answer". Word vectors stay as the base has them: they are the
largest part, they are kept in 4 bits, and words that the training texts lack keep their place among the others.
"""

# mypy: disable-error-code="import-not-found", disallow-subclassing-any=False, disallow-untyped-decorators=False
# mypy: warn-return-any=False, warn-unused-ignores=False
# (torch is needed here alone, and is not installed where types are checked)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

START, PAD, END = 0, 1, 2
"""Ids of the special pieces, in the whole vocabulary and in the cut one."""
RANK, JUDGE = 0, 1
"""Places of the two answers."""
DROPOUT = 0.1
HEAD = 32
"""Numbers in a head."""
LONGEST = 384
"""Tokens of a text at most: a question of 64, a passage of 256, marks and a prefix."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of an encoder."""

    layers: int
    hidden: int
    heads: int
    feed_forward: int
    epsilon: float = 1e-12


class Layer(nn.Module):
    """One layer, normalised after each half."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        hidden, wide = shape.hidden, shape.feed_forward
        self.q, self.k, self.v, self.ao = (nn.Linear(hidden, hidden) for _ in range(4))
        self.fi, self.fo = nn.Linear(hidden, wide), nn.Linear(wide, hidden)
        self.aln, self.oln = (nn.LayerNorm(hidden, eps=shape.epsilon) for _ in range(2))
        self.drop = nn.Dropout(DROPOUT)

    def forward(self, state: Tensor, starts: Tensor) -> Tensor:
        """(tokens, hidden) -> the same; `starts` says where each text begins, and where the last one ends."""
        heads = (len(state), self.shape.heads, self.shape.hidden // self.shape.heads)
        q, k, v = (part(state).view(heads) for part in (self.q, self.k, self.v))
        context = attend(q, k, v, starts).reshape(state.shape)
        # Between the halves in the precision of the products: twice the bytes would make a GPU wait for its memory.
        state = self.aln(state + self.drop(self.ao(context))).to(q.dtype)
        return self.oln(state + self.drop(self.fo(functional.gelu(self.fi(state))))).to(q.dtype)


def attend(q: Tensor, k: Tensor, v: Tensor, starts: Tensor) -> Tensor:
    """Attention within each text, (tokens, heads, size) each: no padding, and one call for all of them on a GPU."""
    if q.is_cuda:
        try:
            found = torch.ops.aten._flash_attention_forward(  # noqa: SLF001 (the public one differs between versions)
                q, k, v, starts, starts, LONGEST, LONGEST, 0.0, False, False
            )
            return found[0]
        except (RuntimeError, TypeError):  # another version of torch, or a GPU that flash attention does not know
            return attend_padded(q, k, v, starts)
    # Split, not sliced: the gradient of a slice is as large as the whole, once for every text.
    sizes = (starts[1:] - starts[:-1]).tolist()
    turned = [[part.transpose(0, 1)[None] for part in x.split(sizes)] for x in (q, k, v)]
    found = [functional.scaled_dot_product_attention(*one)[0].transpose(0, 1) for one in zip(*turned, strict=True)]
    return torch.cat(found)


def attend_padded(q: Tensor, k: Tensor, v: Tensor, starts: Tensor) -> Tensor:
    """The same with every text as long as the longest."""
    sizes = (starts[1:] - starts[:-1]).long()
    widest = int(sizes.max())
    places = torch.arange(widest, device=q.device)
    there = places[None] < sizes[:, None]
    rows = (starts[:-1, None].long() + places[None]).clamp(max=len(q) - 1)
    turned = [x[rows].transpose(1, 2) for x in (q, k, v)]
    found = functional.scaled_dot_product_attention(*turned, attn_mask=there[:, None, None, :])
    return found.transpose(1, 2)[there]


@dataclass(frozen=True, slots=True)
class Batch:
    """Texts one after the other, without padding."""

    ids: Tensor
    places: Tensor
    """Of each token in its text."""
    kinds: Tensor
    """1 for tokens of the passage."""
    starts: Tensor
    """Of each text, and the end of the last."""


class CrossEncoder(nn.Module):
    """Question and passage in, (fit, holds the answer) out."""

    def __init__(self, shape: Shape, words: Tensor) -> None:
        super().__init__()
        self.shape = shape
        self.register_buffer("words", words, persistent=False)
        self.positions = nn.Parameter(torch.zeros(512, shape.hidden))
        self.types = nn.Parameter(torch.zeros(2, shape.hidden))
        self.norm = nn.LayerNorm(shape.hidden, eps=shape.epsilon)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.pool = nn.Linear(shape.hidden, shape.hidden)
        self.answer = nn.Linear(shape.hidden, 2)
        self.span = nn.Linear(shape.hidden, 2)
        """Where the answer starts and ends."""
        self.drop = nn.Dropout(DROPOUT)
        for part in (self.pool, self.answer, self.span):
            nn.init.normal_(part.weight, std=0.02)
            nn.init.zeros_(part.bias)

    def encode(self, batch: Batch) -> Tensor:
        """Token vectors (tokens, hidden)."""
        # Not `self.types[kinds]`: two rows gathered so often make the backward step wait for itself, 80 ms of 250.
        kind = self.types[0] + batch.kinds[:, None].float() * (self.types[1] - self.types[0])
        state = self.words[batch.ids].float() + functional.embedding(batch.places, self.positions) + kind
        state = self.drop(self.norm(state))
        if state.is_cuda:
            state = state.to(torch.bfloat16)
        for layer in self.layers:
            state = layer(state, batch.starts)
        return state

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """(texts, 2): fit, and the logit of holding the answer; (tokens, 2): start and end of the answer."""
        state = self.encode(batch)
        first = state[batch.starts[:-1].long()]
        return self.answer(self.drop(torch.tanh(self.pool(first)))).float(), self.span(state)


def join_pairs(questions: Sequence[Any], passages: Sequence[Any]) -> tuple[Batch, list[int]]:
    """`<s> question </s> passage </s>` of every pair, one after the other, and where each passage begins."""
    ids, places, kinds, ends, firsts = [], [], [], [0], []
    for question, passage in zip(questions, passages, strict=True):
        size = len(question) + len(passage) + 3
        firsts.append(ends[-1] + len(question) + 2)
        ids.append(np.concatenate([[START], question, [END], passage, [END]]))
        places.append(np.arange(size))
        kinds.append(np.arange(size) > len(question) + 1)
        ends.append(ends[-1] + size)
    flat = [torch.from_numpy(np.concatenate(part).astype(np.int64)) for part in (ids, places, kinds)]
    return Batch(flat[0], flat[1], flat[2], torch.tensor(ends, dtype=torch.int32)), firsts


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
