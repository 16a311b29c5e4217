"""Find passages that look like answers and are none: nearest by meaning, by words, and from the same article."""

# mypy: disable-error-code="import-not-found", disallow-subclassing-any=False, disallow-untyped-decorators=False
# mypy: warn-return-any=False, warn-unused-ignores=False
# (torch is needed here alone, and is not installed where types are checked)

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from training.net import CrossEncoder, mixed
from training.ragged import Ragged
from training.tables import Ints, Table, chunks, join_single

NEAREST = 24
"""Taken from each of the two searches."""
WIDTH = 48
"""Candidates kept for a question."""
CHUNK = 2048
K1, B = 1.2, 0.75
"""BM25's usual values."""


@dataclass(frozen=True, slots=True)
class Mined:
    """For each question its candidates, hardest first, -1 where there are no more."""

    candidates: Ints
    rank: Ints
    """How many passages the base puts before the right one; large for questions that make sense only with it."""


def mine(model: CrossEncoder, data: dict[str, Any], questions: Table, passages: Table, pieces: list[str]) -> Mined:
    """Hard negatives for every question."""
    vectors = embed(model, passages, data["passage_prefix"].tolist())
    asked = embed(model, questions, data["query_prefix"].tolist())
    near, rank = nearest(asked, vectors, data["positive"])
    words = WordIndex(data["passages"], len(pieces), passages.ids.device)
    alike = words.search(data["questions"], NEAREST + 1)
    texts = squashed_texts(data["passages"], pieces)
    return Mined(_merge(near, alike, data, texts), rank)


@torch.no_grad()
def embed(model: CrossEncoder, table: Table, prefix: list[int]) -> Tensor:
    """Unit vectors (texts, hidden) as the base makes them: the mean over all tokens."""
    model.eval()
    found = []
    rows = np.arange(len(table.ids))
    for part in chunks(table.lengths[rows] + len(prefix) + 2):
        batch = join_single(table, rows[part], prefix)
        with mixed(table.ids.device):
            state = model.encode(batch).float()
        found.append(torch.nn.functional.normalize(torch.segment_reduce(state, "mean", offsets=batch.starts.long())))
    return torch.cat(found)


def nearest(asked: Tensor, vectors: Tensor, positive: Ints) -> tuple[Ints, Ints]:
    """The nearest passages of each question, and how many are nearer than the right one."""
    found, ranks = [], []
    target = torch.from_numpy(positive.astype(np.int64)).to(vectors.device)
    for start in range(0, len(asked), CHUNK):
        cosine = asked[start : start + CHUNK] @ vectors.T
        own = cosine.gather(1, target[start : start + CHUNK, None])
        ranks.append((cosine > own).sum(1).cpu())
        found.append(cosine.topk(min(NEAREST + 1, len(vectors)), dim=1).indices.cpu())
    return torch.cat(found).numpy(), torch.cat(ranks).numpy()


class WordIndex:
    """BM25 over pieces as one large matrix: what a GPU multiplies in seconds."""

    def __init__(self, passages: Ragged, size: int, device: torch.device) -> None:
        self.device, self.size = device, size
        kind = torch.float16 if device.type == "cuda" else torch.float32
        lengths = passages.lengths
        self.weights = torch.zeros(len(passages), size, dtype=kind, device=device)
        for start in range(0, len(passages), CHUNK):
            self.weights[start : start + CHUNK] = self._counts(passages, start).to(kind)
        spread = (self.weights > 0).sum(0)
        self.rarity = torch.log(1 + (len(passages) - spread + 0.5) / (spread + 0.5))
        length = torch.from_numpy(lengths / max(1.0, lengths.mean())).to(device)[:, None].float()
        for start in range(0, len(passages), CHUNK):
            count = self.weights[start : start + CHUNK].float()
            damped = count * (K1 + 1) / (count + K1 * (1 - B + B * length[start : start + CHUNK]))
            self.weights[start : start + CHUNK] = (damped * self.rarity).to(kind)

    def scores(self, questions: Ragged, start: int) -> Tensor:
        """(questions, passages) for one chunk of questions."""
        present = (self._counts(questions, start) > 0).to(self.weights.dtype)
        return present @ self.weights.T

    def search(self, questions: Ragged, count: int) -> Ints:
        """The best passages of each question by BM25."""
        count = min(count, len(self.weights))
        found = [
            self.scores(questions, start).topk(count, dim=1).indices.cpu() for start in range(0, len(questions), CHUNK)
        ]
        return torch.cat(found).numpy()

    def _counts(self, texts: Ragged, start: int) -> Tensor:
        end = min(start + CHUNK, len(texts))
        rows = np.repeat(np.arange(end - start), texts.lengths[start:end])
        flat = rows * self.size + texts.values[texts.starts[start] : texts.starts[end]].astype(np.int64)
        counts = torch.zeros((end - start) * self.size, device=self.device)
        place = torch.from_numpy(flat).to(self.device)
        counts.scatter_add_(0, place, torch.ones(len(flat), device=self.device))
        return counts.view(end - start, self.size)


def squashed_texts(passages: Ragged, pieces: list[str]) -> list[str]:
    """Passages as answers are looked for in them, put together again from their pieces."""
    plain = [piece.replace("▁", "").casefold() for piece in pieces]
    return ["".join([plain[piece] for piece in passages[row].tolist()]) for row in range(len(passages))]


def _merge(near: Ints, alike: Ints, data: dict[str, Any], texts: list[str]) -> Ints:
    """Same article first, then both searches in turn; neither the right passage nor any that holds the answer."""
    answers, positive = data["answers"], data["positive"]
    found = np.full((len(near), WIDTH), -1, dtype=np.int64)
    for row in range(len(near)):
        turns = np.stack([near[row], alike[row]], axis=1).reshape(-1).tolist()
        answer = answers.text(row)
        own = int(positive[row])
        kept = [
            passage
            for passage in dict.fromkeys([*data["negatives"][row].tolist(), *turns])
            if passage != own and texts[passage] and not (answer and answer in texts[passage])
        ][:WIDTH]
        found[row, : len(kept)] = kept
    return found
