"""Questions and passages as tables on the device, and pairs of them as batches of one width."""

# mypy: disable-error-code="import-not-found", disallow-subclassing-any=False, disallow-untyped-decorators=False
# mypy: warn-return-any=False, warn-unused-ignores=False
# (torch is needed here alone, and is not installed where types are checked)

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.net import END, PAD, START, CrossEncoder
from training.ragged import Ragged

SPECIAL = 3
"""Start, between, end."""
WIDTH_STEP = 16
"""Widths are rounded up to it: fewer shapes, and what attention kernels want."""
CHUNK_TOKENS = 65_536
"""Tokens that go through the model at once, about; pairs of like length go together, so little is padding."""
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Table:
    """Texts as rows of ids, filled up with padding."""

    ids: Tensor
    lengths: Ints

    @classmethod
    def build(cls, texts: Ragged, device: torch.device) -> Table:
        """One row per text."""
        lengths = texts.lengths
        width = max(1, int(lengths.max(initial=1)))
        rows = np.full((len(texts), width), PAD, dtype=np.int32)
        rows[np.arange(width) < lengths[:, None]] = texts.values
        return cls(torch.from_numpy(rows).to(device), lengths)


@dataclass(frozen=True, slots=True)
class Batch:
    """Pairs of about one length."""

    ids: Tensor
    types: Tensor
    mask: Tensor
    order: Ints
    """Which of the pairs asked for each row is."""


def pair_batches(questions: Table, passages: Table, left: Ints, right: Ints) -> Iterator[Batch]:
    """`<s> question </s> passage </s>` for questions `left[i]` and passages `right[i]`, short ones first."""
    lengths = questions.lengths[left] + passages.lengths[right] + SPECIAL
    for chosen, width in _chunks(lengths):
        yield _join(questions, passages, left[chosen], right[chosen], width, chosen)


def single_batches(table: Table, rows: Ints, prefix: list[int]) -> Iterator[Batch]:
    """`<s> prefix text </s>`, as the base embeds it."""
    device = table.ids.device
    head = torch.tensor([START, *prefix], device=device, dtype=torch.int32)
    for chosen, width in _chunks(table.lengths[rows] + len(head) + 1):
        lengths = torch.from_numpy(table.lengths[rows[chosen]]).to(device)[:, None]
        place = torch.arange(width, device=device)[None, :]
        texts = table.ids[torch.from_numpy(rows[chosen]).to(device)]
        inner = (place - len(head)).clamp(0, texts.shape[1] - 1).expand(len(chosen), -1)
        ids = texts.gather(1, inner)
        ids = torch.where(place < len(head), head[place.clamp(max=len(head) - 1)], ids)
        ids = torch.where(place == len(head) + lengths, END, ids)
        mask = place <= len(head) + lengths
        yield Batch(torch.where(mask, ids, PAD).long(), torch.zeros_like(ids).long(), mask, chosen)


def score_pairs(model: CrossEncoder, questions: Table, passages: Table, left: Ints, right: Ints) -> Tensor:
    """(pairs, 2) in the order asked for; keeps what is needed for gradients where those are on."""
    parts, places = [], []
    for batch in pair_batches(questions, passages, left, right):
        parts.append(model(batch.ids, batch.types, batch.mask))
        places.append(batch.order)
    back = np.argsort(np.concatenate(places))
    return torch.cat(parts)[torch.from_numpy(back).to(questions.ids.device)]


def _chunks(lengths: Ints) -> Iterator[tuple[Ints, int]]:
    order = np.argsort(lengths, kind="stable")
    start = 0
    while start < len(order):
        # The last of a chunk is its longest, so the width is known only once the chunk is: two guesses settle it.
        count = max(1, CHUNK_TOKENS // _rounded(int(lengths[order[start]])))
        last = min(len(order), start + count) - 1
        count = max(1, CHUNK_TOKENS // _rounded(int(lengths[order[last]])))
        chosen = order[start : start + count]
        yield chosen, _rounded(int(lengths[chosen].max()))
        start += len(chosen)


def _rounded(length: int) -> int:
    return -(-length // WIDTH_STEP) * WIDTH_STEP


def _join(questions: Table, passages: Table, left: Ints, right: Ints, width: int, order: Ints) -> Batch:
    device = questions.ids.device
    place = torch.arange(width, device=device)[None, :]
    asked, told = (
        torch.from_numpy(t.lengths[rows]).to(device)[:, None] for t, rows in ((questions, left), (passages, right))
    )
    question = questions.ids[torch.from_numpy(left).to(device)]
    passage = passages.ids[torch.from_numpy(right).to(device)]
    first = question.gather(1, (place - 1).clamp(0, question.shape[1] - 1).expand(len(left), -1))
    second = passage.gather(1, (place - asked - 2).clamp(0, passage.shape[1] - 1))
    ids = torch.where(place <= asked, first, second)
    ids = torch.where(place == 0, START, ids)
    ids = torch.where((place == asked + 1) | (place == asked + told + 2), END, ids)
    mask = place <= asked + told + 2
    types = (place > asked + 1) & mask
    return Batch(torch.where(mask, ids, PAD).long(), types.long(), mask, order)
