"""Teach the embedder questions in other words and in the other language.

    python -m training.embedder DATA OUT [--minutes 25]

Contrastive over pairs of one language, written questions on passages of either, and parallel sentences: a batch mixes
the languages, so that the nearest text of a batch is often one of the question's own language and wrong. The pooled
vector and the token vectors (projected to 128 directions, late interaction) learn together; word vectors stay. OUT gets
embedder.npz with the layers as they were taught, and shares.json: how the mean of taught and untaught layers finds
held-out passages, by its share. `python -m training.export_embedder DATA OUT SHARE` ships one.
"""

# mypy: disable-error-code="import-not-found", disallow-subclassing-any=False, disallow-untyped-decorators=False
# mypy: warn-return-any=False, warn-unused-ignores=False
# (torch is needed here alone, and is not installed where types are checked)

# ruff: noqa: T201 (a step says what it did)

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hybridrag.models.token_vectors import E5_PROJECTION_FILE
from training.batches import SEED, base_encoder, join, read_passages, read_written
from training.net import CrossEncoder
from training.texts import PAIRS, PARALLEL, QuickTokenizer, read_rows
from training.vocabulary import base_weights

QUERY, PASSAGE = "query: ", "passage: "
LONGEST_QUERY, LONGEST_PASSAGE = 48, 144
MIX = {"written": 20, "parallel": 16, "pairs": 28}
"""Questions of a step by their source."""
TEMPERATURE, LATE_TEMPERATURE = 0.02, 0.03
LATE_SHARE = 0.3
RATE, PROJECTION_RATE, WARM_UP, DECAY = 4e-5, 2e-4, 0.06, 0.01
SHARES = (0.0, 0.35, 0.5, 0.65, 0.8, 1.0)
DISTRACTORS = 900
MEASURED_PAIRS = 300
SPECIAL = 1
"""The start mark, before the prefix."""

Ids = list[int]


@dataclass(frozen=True, slots=True)
class Pair:
    """A question and the text that it should find."""

    question: Ids
    passage: Ids
    kind: str


class Texts:
    """Texts as ids with their prefix, cut to length."""

    def __init__(self) -> None:
        weights = base_weights()
        self.tokenizer = QuickTokenizer(weights.pieces, weights.scores.tolist(), unknown_id=weights.shape.unknown_id)
        self.query, self.passage = self.tokenizer.many([QUERY, PASSAGE])

    def queries(self, texts: Sequence[str]) -> list[Ids]:
        """With the prefix of questions."""
        return [self.query + ids for ids in self.tokenizer.many(texts, limit=LONGEST_QUERY)]

    def passages(self, texts: Sequence[str]) -> list[Ids]:
        """With the prefix of passages."""
        return [self.passage + ids for ids in self.tokenizer.many(texts, limit=LONGEST_PASSAGE)]


def around(passage: str, answer: str, rng: random.Random) -> str:
    """A piece of the passage that holds the answer, as a chunk of a document would."""
    at = passage.find(answer)
    size = 160 + 90 * (passage.isascii()) * 4
    start = max(0, min(at, len(passage)) - rng.randrange(size)) if at > 0 else 0
    return passage[start : start + size + len(answer)]


def read_pairs(data: Path, texts: Texts) -> tuple[dict[str, list[Pair]], list[Pair], list[Ids]]:
    """Pairs to learn from by source, held-out ones, and passages to find those among."""
    rng = random.Random(SEED)
    passages = read_passages(data)
    train, held = read_written(data)
    hidden = {row["p"] for row in held}
    plain = [row for row in read_rows(data, PAIRS) if row["pos"] not in hidden and passages[row["pos"]]]
    rng.shuffle(plain)
    parallel = [(row["a"], row["b"]) for row in read_rows(data, PARALLEL)]
    kinds = {
        "written": [(row["yes"], around(passages[row["p"]], row["a"], rng)) for row in train],
        "parallel": [pair if rng.random() < 0.5 else pair[::-1] for pair in parallel],
        "pairs": [(row["q"], passages[row["pos"]]) for row in plain[:40_000]],
    }
    found = {}
    for kind, rows in kinds.items():
        asked, told = texts.queries([a for a, _ in rows]), texts.passages([b for _, b in rows])
        found[kind] = [Pair(a, b, kind) for a, b in zip(asked, told, strict=True)]
    rest = plain[-2 * MEASURED_PAIRS :]
    measured = [(row["yes"], around(passages[row["p"]], row["a"], rng), f"{row['ql']} on {row['pl']}") for row in held]
    measured += [(row["q"], passages[row["pos"]], f"pairs {row['lang']}") for row in rest]
    asked, told = texts.queries([a for a, _, _ in measured]), texts.passages([b for _, b, _ in measured])
    used = {row["pos"] for row in rest} | hidden
    others = texts.passages(
        [passages[n] for n in rng.sample([n for n in range(len(passages)) if n not in used], DISTRACTORS)]
    )
    return found, [Pair(a, b, kind) for a, b, (_, _, kind) in zip(asked, told, measured, strict=True)], others


def steps(pairs: dict[str, list[Pair]], rng: random.Random) -> Iterator[list[Pair]]:
    """Batches without end, each mixed from all sources, no passage twice."""
    waiting: dict[str, list[Pair]] = {kind: [] for kind in MIX}
    while True:
        batch: dict[tuple[int, ...], Pair] = {}
        for kind, count in MIX.items():
            if len(waiting[kind]) < count:
                waiting[kind] = rng.sample(pairs[kind], len(pairs[kind]))
            batch |= {tuple(pair.passage): pair for pair in (waiting[kind].pop() for _ in range(count))}
        yield list(batch.values())


def encode(model: CrossEncoder, texts: Sequence[Ids]) -> tuple[Tensor, Tensor, list[int]]:
    """Pooled vectors at length one, all token vectors, and how many tokens each text has."""
    batch = join(texts)
    state = model.encode(batch).float()
    sizes = [len(ids) + 2 for ids in texts]
    pooled = torch.stack([part.mean(0) for part in state.split(sizes)])
    return functional.normalize(pooled, dim=1), state, sizes


def late_scores(
    asked: Tensor, asked_sizes: list[int], told: Tensor, told_sizes: list[int], skip: tuple[int, int]
) -> Tensor:
    """(questions, passages): the mean over a question's tokens of the nearest token of the passage."""
    left = [part[SPECIAL + skip[0] : -1] for part in asked.split(asked_sizes)]
    right = [part[SPECIAL + skip[1] : -1] for part in told.split(told_sizes)]
    padded = nn.utils.rnn.pad_sequence(right, batch_first=True)
    there = nn.utils.rnn.pad_sequence([torch.ones(len(part)) for part in right], batch_first=True) > 0
    rows = []
    for part in left:
        near = torch.einsum("qd,ptd->qpt", part, padded).masked_fill(~there[None], -1.0)
        rows.append(near.amax(2).mean(0))
    return torch.stack(rows)


def train(
    model: CrossEncoder, projection: nn.Parameter, pairs: dict[str, list[Pair]], skip: tuple[int, int], minutes: float
) -> int:
    """Learn until the time is up; the rate falls with the time that is left."""
    groups = [
        {"params": [p for p in model.parameters() if p.ndim > 1], "lr": RATE, "weight_decay": DECAY},
        {"params": [p for p in model.parameters() if p.ndim == 1], "lr": RATE, "weight_decay": 0.0},
        {"params": [projection], "lr": PROJECTION_RATE, "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, betas=(0.9, 0.98))
    rates = [group["lr"] for group in groups]
    model.train()
    began, number = time.monotonic(), 0
    for number, batch in enumerate(steps(pairs, random.Random(SEED))):
        gone = (time.monotonic() - began) / (60 * minutes)
        if gone >= 1:
            break
        for group, rate in zip(optimiser.param_groups, rates, strict=True):
            group["lr"] = rate * min(gone / WARM_UP + 0.02, max(0.02, (1 - gone) / (1 - WARM_UP)))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            pooled, tokens, sizes = encode(model, [pair.question for pair in batch] + [pair.passage for pair in batch])
        count, right = len(batch), torch.arange(len(batch))
        scores = pooled[:count] @ pooled[count:].T / TEMPERATURE
        split = sum(sizes[:count])
        short = functional.normalize(tokens @ projection, dim=1)
        late = late_scores(short[:split], sizes[:count], short[split:], sizes[count:], skip) / LATE_TEMPERATURE
        loss = functional.cross_entropy(scores, right) + 0.5 * functional.cross_entropy(scores.T, right)
        loss = loss + LATE_SHARE * functional.cross_entropy(late, right)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if number % 20 == 0:
            right_first = [float((x.argmax(1) == right).float().mean()) for x in (scores, late)]
            spent = time.monotonic() - began
            print(f"step {number} loss {loss.item():.4f} right, late {right_first} {spent:.0f} s", flush=True)
    return number


@torch.no_grad()
def measure(model: CrossEncoder, held: Sequence[Pair], others: Sequence[Ids]) -> dict[str, float]:
    """How often a held-out question has its passage first, by kind."""
    model.eval()

    def vectors(texts: Sequence[Ids]) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return torch.cat([encode(model, texts[at : at + 64])[0] for at in range(0, len(texts), 64)])

    asked, told = vectors([pair.question for pair in held]), vectors([*(pair.passage for pair in held), *others])
    first = (asked @ told.T).argmax(1) == torch.arange(len(held))
    kinds = sorted({pair.kind for pair in held})
    return {
        kind: float(np.mean([bool(first[at]) for at, pair in enumerate(held) if pair.kind == kind])) for kind in kinds
    }


def mean_state(before: dict[str, Tensor], after: dict[str, Tensor], share: float) -> dict[str, Tensor]:
    """Between two states; `share` of the later one."""
    return {name: (1 - share) * before[name] + share * after[name] for name in before}


def main() -> None:
    """Teach, then measure shares."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--minutes", type=float, default=25.0)
    options = parser.parse_args()
    torch.manual_seed(SEED)
    texts = Texts()
    pairs, held, others = read_pairs(options.data, texts)
    print({kind: len(rows) for kind, rows in pairs.items()}, len(held), "held out", flush=True)
    model = base_encoder()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    kept = np.load(E5_PROJECTION_FILE)[: model.shape.hidden]
    projection = nn.Parameter(torch.from_numpy(kept.astype(np.float32)))
    count = train(model, projection, pairs, (len(texts.query), len(texts.passage)), options.minutes)
    after = {name: value.clone() for name, value in model.state_dict().items()}
    options.out.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, Any] = {name: value.numpy() for name, value in after.items()}
    np.savez(options.out / "embedder.npz", projection=projection.detach().numpy(), **arrays)
    found = {}
    for share in SHARES:
        model.load_state_dict(mean_state(before, after, share))
        found[str(share)] = measure(model, held, others)
        print(count, "steps", share, {kind: round(value, 3) for kind, value in found[str(share)].items()}, flush=True)
        (options.out / "shares.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
