"""Questions and passages as tables on the device, and pairs of them as batches."""

# mypy: disable-error-code="import-not-found", disallow-subclassing-any=False, disallow-untyped-decorators=False
# mypy: warn-return-any=False, warn-unused-ignores=False
# (torch is needed here alone, and is not installed where types are checked)

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.net import END, PAD, START, Batch, CrossEncoder
from training.ragged import Ragged

SPECIAL = 3
"""Start, between, end."""
CHUNK_TOKENS = 400_000
"""Tokens that go through the model at once, at most; a step of training is one chunk."""
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Table:
    """Texts as rows of ids, filled up with padding; more rows may be texts without some of their tokens."""

    ids: Tensor
    lengths: Ints
    text: Ints
    """Which text each row is."""
    cut_start: Ints
    cut_length: Ints

    @classmethod
    def build(cls, texts: Ragged, device: torch.device, cuts: tuple[Ints, Ints, Ints] | None = None) -> Table:
        """One row per text, then one for each of `cuts`: text, first token that is left out, first that is not."""
        lengths = texts.lengths
        width = max(1, int(lengths.max(initial=1)))
        rows = np.full((len(texts), width), PAD, dtype=np.int32)
        rows[np.arange(width) < lengths[:, None]] = texts.values
        none = np.zeros(0, dtype=np.int64)
        text, start, end = (part.astype(np.int64) for part in cuts or (none, none, none))
        whole = np.zeros(len(texts), dtype=np.int64)
        return cls(
            torch.from_numpy(rows).to(device),
            np.concatenate([lengths, lengths[text] - (end - start)]),
            np.concatenate([np.arange(len(texts)), text]),
            np.concatenate([whole, start]),
            np.concatenate([whole, end - start]),
        )

    def tokens(self, rows: Tensor, places: Tensor) -> Tensor:
        """The id at a place of a text; places outside give any id."""
        width = self.ids.shape[1]
        return self.ids.view(-1)[rows * width + places.clamp(0, width - 1)]


def on_device(array: Any, device: torch.device) -> Tensor:
    """A copy that the program need not wait for."""
    held = torch.from_numpy(np.ascontiguousarray(array))
    return held.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else held


def join_pairs(questions: Table, passages: Table, left: Ints, right: Ints) -> Batch:
    """`<s> question </s> passage </s>` for questions `left[i]` and passages `right[i]`."""
    asked = questions.lengths[left]
    lengths = asked + passages.lengths[right] + SPECIAL
    columns = [left, passages.text[right], asked, lengths, passages.cut_start[right], passages.cut_length[right]]
    owner, place, starts = _places(lengths, questions.ids.device)
    table = on_device(np.stack(columns), questions.ids.device)
    row, text, before, length, cut_start, cut_length = table[:, owner]
    inner = place - before - 2
    inner = inner + torch.where(inner >= cut_start, cut_length, 0)
    ids = torch.where(place <= before, questions.tokens(row, place - 1), passages.tokens(text, inner))
    ids = torch.where(place == 0, START, ids)
    ids = torch.where((place == before + 1) | (place == length - 1), END, ids)
    return Batch(ids.long(), place, (place > before + 1).long(), starts)


def join_single(table: Table, rows: Ints, prefix: list[int]) -> Batch:
    """`<s> prefix text </s>`, as the base embeds it."""
    device = table.ids.device
    head = torch.tensor([START, *prefix], device=device)
    lengths = table.lengths[rows] + len(head) + 1
    owner, place, starts = _places(lengths, device)
    row, length = on_device(np.stack([rows, lengths]), device)[:, owner]
    ids = torch.where(
        place < len(head), head[place.clamp(max=len(head) - 1)], table.tokens(row, place - len(head)).long()
    )
    return Batch(torch.where(place == length - 1, END, ids), place, torch.zeros_like(place), starts)


def _places(lengths: Ints, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """For every token the text it belongs to and its place there; for every text its start."""
    bounds = on_device(np.concatenate([[0], np.cumsum(lengths)]), device)
    repeats = on_device(lengths, device)
    owner = torch.repeat_interleave(repeats, output_size=int(lengths.sum()))
    return owner, torch.arange(len(owner), device=device) - bounds[owner], bounds.int()


def score_pairs(model: CrossEncoder, questions: Table, passages: Table, left: Ints, right: Ints) -> Tensor:
    """(pairs, 2) in the order asked for."""
    lengths = questions.lengths[left] + passages.lengths[right] + SPECIAL
    return torch.cat([model(join_pairs(questions, passages, left[c], right[c]))[0] for c in chunks(lengths)])


def chunks(lengths: Ints) -> Iterator[slice]:
    """Parts of a list of texts that are not too much at once."""
    number = np.cumsum(lengths) // CHUNK_TOKENS
    bounds = [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), len(lengths)]
    yield from (slice(start, end) for start, end in itertools.pairwise(bounds) if end > start)
