"""Teach the embedder itself late interaction: each word of a question looks for its like in the passage.

    python -m training.late WORK OUT [--steps 2000] [--minutes 8]

The base's token vectors were never trained to be compared one by one. A step has questions with their right passages
and two hard ones each, everything else in the step counts as wrong too; the loss is on late interaction and on pooled
vectors, and pooled vectors may not go far from where they were, so that cosines keep their meaning. Prints what the
evaluation sets make of it before and after (`training.pack_eval` must have been run).
"""

# mypy: disable-error-code="import-not-found", disallow-subclassing-any=False, disallow-untyped-decorators=False
# mypy: warn-return-any=False, warn-unused-ignores=False
# (torch is needed here alone, and is not installed where types are checked)

# ruff: noqa: T201 (a step says what it did)

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from training.fit import LOG_EVERY, NOWHERE, Course, Learner, save_model
from training.measure import DEPTH, first_stage, ranking_metrics, unit
from training.mine import embed
from training.net import CrossEncoder, base_model, compile_layers, mixed, start_on
from training.ragged import load
from training.tables import Ints, Table, join_single

SEED = 5
QUESTIONS, HARD = 128, 2
"""Questions in a step, and hard passages of each."""
AT_ONCE = 32
"""Questions whose words are compared with all passages at a time: more would not fit into memory."""
RATE = 4e-5
TEMPERATURE = 0.02
"""Cosines of this model lie close together."""
POOLED_SHARE, STAY = 0.5, 2.0
"""What pooled vectors count beside late interaction, and what it costs them to move."""
MAX_RANK = 100
SHARES = (0.5, 0.7)
"""Of late interaction in the order of results, where it is measured."""


@dataclass(frozen=True, slots=True)
class Words:
    """Texts as unit vectors: one for each token, padded, and one for the whole."""

    tokens: Tensor
    there: Tensor
    """Where a token is, and no padding."""
    pooled: Tensor


def words_of(model: CrossEncoder, table: Table, rows: Ints, prefix: list[int]) -> Words:
    """Marks and prefix count for the whole and are left out of the tokens, as the package does it."""
    batch = join_single(table, rows, prefix)
    state = model.encode(batch).float()
    pooled = functional.normalize(torch.segment_reduce(state, "mean", offsets=batch.starts.long()))
    lengths = torch.from_numpy(table.lengths[rows]).to(state.device)
    places = torch.arange(int(lengths.max()), device=state.device)
    first = batch.starts[:-1].long()[:, None] + 1 + len(prefix)
    tokens = functional.normalize(state[(first + places).clamp(max=len(state) - 1)], dim=-1)
    return Words(tokens, places < lengths[:, None], pooled)


def late(asked: Words, told: Words) -> Tensor:
    """(questions, passages): how near the nearest word of the passage is, the mean over the words of the question."""
    found = []
    for start in range(0, len(asked.tokens), AT_ONCE):
        tokens, there = asked.tokens[start : start + AT_ONCE], asked.there[start : start + AT_ONCE]
        near = torch.einsum("qid,pjd->qpij", tokens, told.tokens).float()
        near = near.masked_fill(~told.there[None, :, None, :], -1.0).amax(-1)
        found.append((near * there[:, None, :]).sum(-1) / there.sum(-1)[:, None])
    return torch.cat(found)


def draw(course: Course, rows: Ints, chances: Any, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Questions, and passages: the right ones in their order, then the hard ones."""
    chosen = rng.choice(rows, min(QUESTIONS, len(rows)), p=chances, replace=False)
    near = course.mined.candidates[chosen]
    likely = np.where(near >= 0, -np.log(np.arange(near.shape[1]) + 3.0) + 0.7 * rng.gumbel(size=near.shape), -np.inf)
    hard = np.take_along_axis(near, np.argsort(-likely, axis=1)[:, :HARD], axis=1)
    right = course.data["positive"]
    hard = np.where(hard >= 0, hard, right[rng.choice(rows, hard.shape)])
    return chosen, np.concatenate([right[chosen], hard.reshape(-1)]).astype(np.int64)


def late_loss(model: CrossEncoder, before: CrossEncoder, course: Course, asked: Ints, told: Ints) -> Tensor:
    """Against the right passages, and against moving."""
    query, passage = (course.data[name].tolist() for name in ("query_prefix", "passage_prefix"))
    q, p = (words_of(model, t, r, x) for t, r, x in _sides(course, asked, told, query, passage))
    with torch.no_grad():
        was = [words_of(before, t, r, x).pooled for t, r, x in _sides(course, asked, told, query, passage)]
    device = q.pooled.device
    # A passage may be the right one of two questions.
    again = torch.from_numpy(told[None, :] == told[: len(asked), None]).to(device)
    again.diagonal().fill_(False)
    labels = torch.arange(len(asked), device=device)
    pooled, words = (
        functional.cross_entropy((score / TEMPERATURE).masked_fill(again, -NOWHERE), labels)
        for score in (q.pooled @ p.pooled.T, late(q, p))
    )
    moved = sum((1 - (new.pooled * old).sum(-1)).mean() for new, old in zip((q, p), was, strict=True))
    return words + POOLED_SHARE * pooled + STAY * moved


def _sides(
    course: Course, asked: Ints, told: Ints, query: list[int], passage: list[int]
) -> Iterator[tuple[Table, Ints, list[int]]]:
    yield course.questions, asked, query
    yield course.passages, told, passage


@torch.no_grad()
def measure(model: CrossEncoder, sets: dict[str, Any], title: str) -> None:
    """MRR@10 and nDCG@10 of pooled vectors, of both searches, and with late interaction over the first fifty."""
    model.eval()
    device = model.positions.device
    query, passage = (sets[f"{name}_prefix"].tolist() for name in ("query", "passage"))
    print(f"{title}: pooled, both searches, late interaction {SHARES}; MRR@10/nDCG@10", flush=True)
    for name in sorted({key.split("/")[1] for key in sets if key.startswith("ranked/")}):
        grades = sets[f"ranked/{name}/grades"]
        questions, passages = (Table.build(sets[f"ranked/{name}/{part}"], device) for part in ("questions", "passages"))
        lists, first = first_stage(model, sets, name, model.words.shape[0])
        nearest = (embed(model, questions, query) @ embed(model, passages, passage).T).topk(
            min(DEPTH, len(passages.ids)), dim=1
        )
        rows = [ranking_metrics(nearest.indices.cpu().numpy(), nearest.values.cpu().numpy(), grades)]
        rows.append(ranking_metrics(lists, first, grades))
        again = np.zeros(lists.shape)
        with mixed(device):
            for row, found in enumerate(lists):
                asked = words_of(model, questions, np.array([row]), query)
                again[row] = late(asked, words_of(model, passages, found, passage))[0].cpu().numpy()
        rows += [ranking_metrics(lists, (1 - share) * first + share * unit(again), grades) for share in SHARES]
        print(f"   {name}", *(f"{mrr:.3f}/{ndcg:.3f}" for mrr, ndcg, _ in rows), flush=True)


def main() -> None:
    """Train, and measure before and after."""
    parser = argparse.ArgumentParser()
    parser.add_argument("work", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--minutes", type=float, default=8.0, help="stop earlier rather than later than this")
    options = parser.parse_args()
    deadline = time.monotonic() + 60 * options.minutes
    device = start_on(SEED)
    weights, sets = load(options.work / "weights.npz"), load(options.work / "eval.npz")
    model, before = base_model(weights).to(device), base_model(weights).to(device).eval()
    course = Course.prepare(options.work, before, device)
    measure(before, sets, "before")
    rows = course.train[~course.data["claim"][course.train] & (course.mined.rank[course.train] < MAX_RANK)]
    chances = np.zeros(len(rows))
    for code in np.unique(course.data["lang"][rows]):
        here = course.data["lang"][rows] == code
        chances[here] = 1 / here.sum()
    compile_layers(device)
    learner, rng = Learner("embedder", model, options.steps, RATE), np.random.default_rng(SEED)
    model.train()
    for number in range(options.steps):
        with mixed(device):
            loss = late_loss(model, before, course, *draw(course, rows, chances / chances.sum(), rng))
        learner.learn(loss)
        if number % LOG_EVERY == 0:
            print(f"embedder {number}/{options.steps} {loss.item():.3f}", flush=True)
            if time.monotonic() > deadline:
                print("time is up", flush=True)
                break
    options.out.mkdir(parents=True, exist_ok=True)
    save_model(model, options.out / "embedder")
    measure(model, sets, "after")


if __name__ == "__main__":
    main()
