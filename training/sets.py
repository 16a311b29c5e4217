"""Teach trained models the judge's own task: does the answer stand among the nearest ten passages?

    python -m training.sets WORK FIRST OUT --stage base [--steps 4000]
    python -m training.sets WORK FIRST OUT --stage small --teacher MEAN [--steps 8000]

A question comes with its nearest passages, once with the one that holds the answer and once without it, or with the
sentence that answers cut out of it. The loss is on what is said of the whole set; the order of the passages is held to
that of the models of FIRST, which `training.fit` made and which both stages start from. `small` learns from the base
in MEAN.
"""

# mypy: disable-error-code="import-not-found", disallow-subclassing-any=False, disallow-untyped-decorators=False
# mypy: warn-return-any=False, warn-unused-ignores=False
# (torch is needed here alone, and is not installed where types are checked)

# ruff: noqa: T201 (a step says what it did)

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from training.fit import (
    LOG_EVERY,
    NOWHERE,
    RIGHT_KINDS,
    SPAN_SHARE,
    TEACHER_SHARE,
    Answers,
    Course,
    Learner,
    Step,
    answers_of,
    check,
    judged_kinds,
    load_model,
    order_loss,
    save_model,
    soft_loss,
    span_loss,
    spans_of,
)
from training.net import JUDGE, RANK, CrossEncoder, base_model, compile_layers, mixed, start_on
from training.ragged import load
from training.tables import Ints, Table, on_device, score_pairs

SEED = 11
SETS = 48
SET_SIZE = 10
NEAREST = 20
"""A set is drawn from so many candidates, the nearest likeliest."""
MAX_RANK = 100
"""A question whose own passage the base puts behind so many others would not meet it among ten."""
JUDGED = {"right": 24, "wrong": 24, "swapped": 20, "gutted": 16, "trimmed": 16}
"""Judged pairs of each kind and language in a step."""
GUTTED_SHARE, TRIMMED_SHARE = 0.5, 0.4
"""How often the passage without its answering sentence is among the wrong ones, and one that lost another sentence is
the right one: where both occur, a gap tells nothing."""
ENGLISH_SHARE = 0.65
"""Of the questions; the Japanese ones are more alike."""
RATES = {"base": 1.2e-4, "small": 2.5e-4}
SET_SHARE, PASSAGE_SHARE = 0.7, 0.5
DOUBT_ORDER, DOUBT_JUDGE = 1.5, -0.5
"""Where no answer is given, a wrong passage that the model puts so far ahead of the right one is not held against it:
in the order of passages, and in whether it holds the answer."""
SOURCE_WEIGHTS = {
    "boolq": 3.0, "enwiki-lead": 3.0, "adversarialqa": 3.0, "squad1.1": 2.5, "hybridqa-dev": 2.0, "expertqa": 2.0,
    "strategyqa": 1.0, "covid": 1.0, "fairytale": 0.6, "qamr": 0.6,
    "aio": 2.5, "dolly-ja-context": 2.0, "jsquad": 1.0, "jaquad": 1.0,
}  # fmt: skip
"""How often a source is drawn: questions such as people ask of an encyclopaedia most."""
OTHER_WEIGHT = 0.4
CUT_BY_MODEL = (
    "squad1.1", "boolq", "adversarialqa", "hybridqa", "expertqa", "covid-qa", "policyqa", "qasper", "enwiki-lead",
)  # fmt: skip
"""Sources whose answering sentence is found by what the passage loses without it, where words do not tell."""
SENTENCE_TOKENS, LEAST_SENTENCES, LEAST_TOKENS = 8, 3, 30
CLEAR_LOSS = 1.5
"""The sentence answers where a passage without it scores so much less than without another."""


def cut_by_model(course: Course, cuts: dict[str, Any], model: CrossEncoder, pieces: list[str]) -> int:
    """Find answering sentences by leaving each out in turn; how many questions got one. Changes `cuts` and `course`."""
    data, device = course.data, course.questions.ids.device
    names = [str(name) for name in data["source_names"]]
    chosen = np.array([any(part in name for part in CUT_BY_MODEL) for name in names])
    rows = np.flatnonzero(chosen[data["source"][: len(cuts["gutted"])]] & (cuts["gutted"] < 0))
    ends = np.array([piece.endswith((".", "!", "?", '."')) for piece in pieces])
    begins = np.array([piece.startswith("▁") for piece in pieces])
    found = []
    for row in rows.tolist():
        passage = int(data["positive"][row])
        found += [(row, passage, *span) for span in _sentences(data["passages"][passage], ends, begins)]
    if not found:
        return 0
    table = np.array(found, dtype=np.int64)
    known = len(cuts["passage"])
    for place, name in enumerate(("passage", "start", "end")):
        cuts[name] = np.concatenate([cuts[name], table[:, place + 1]]).astype(np.int64)
    course.passages = Table.build(data["passages"], device, (cuts["passage"], cuts["start"], cuts["end"]))
    first = len(data["passages"]) + known
    with torch.no_grad(), mixed(device):
        said = score_pairs(
            model.eval(), course.questions, course.passages, table[:, 0], first + np.arange(len(table))
        ).float()  # fmt: skip
    left = (said[:, RANK] + 2 * said[:, JUDGE]).cpu().numpy()
    starts = np.flatnonzero(np.diff(table[:, 0], prepend=-1))
    clear = 0
    for start, end in zip(starts, [*starts[1:], len(table)], strict=True):
        part = left[start:end]
        if part.max() - part.min() >= CLEAR_LOSS:
            row = table[start, 0]
            cuts["gutted"][row], cuts["trimmed"][row] = known + start + part.argmin(), known + start + part.argmax()
            clear += 1
    return clear


def _sentences(ids: Any, ends: Any, begins: Any) -> Iterator[tuple[int, int]]:
    """Ranges of tokens, short ones joined to the next; none where there are too few."""
    if len(ids) < LEAST_TOKENS:
        return
    bounds = [0]
    for bound in (*(np.flatnonzero(ends[ids[:-1]] & begins[ids[1:]]) + 1).tolist(), len(ids)):
        if bound - bounds[-1] >= SENTENCE_TOKENS or bound == len(ids):
            bounds.append(bound)
    if len(bounds) > LEAST_SENTENCES:
        yield from itertools.pairwise(bounds)


@dataclass(slots=True)
class Sets:
    """Draws steps of sets."""

    course: Course
    cuts: dict[str, Any]
    rows: Ints
    chances: Any
    """How likely each row is drawn."""

    @classmethod
    def prepare(cls, course: Course, cuts: dict[str, Any]) -> Sets:
        """All questions whose passage may be met among the nearest."""
        data = course.data
        rows = course.train[~data["claim"][course.train]]
        rows = rows[course.mined.rank[rows] < MAX_RANK]
        rows = rows[(course.mined.candidates[rows][:, : SET_SIZE - 2] >= 0).all(1)]
        names = [str(name) for name in data["source_names"]]
        weights = [next((w for part, w in SOURCE_WEIGHTS.items() if part in name), OTHER_WEIGHT) for name in names]
        chances = np.array(weights)[data["source"][rows]]
        for code, share in enumerate((ENGLISH_SHARE, 1 - ENGLISH_SHARE)):
            here = data["lang"][rows] == code
            chances[here] *= share / max(chances[here].sum(), 1e-9)
        whole = len(data["passages"])
        for kind in ("gutted", "trimmed"):
            cut = np.flatnonzero(cuts[kind] >= 0)
            course.judged[kind] = np.stack([cut, whole + cuts[kind][cut], data["lang"][cut]], axis=1).astype(np.int64)
        return cls(course, cuts, rows, chances / chances.sum())

    def draw(self, rng: np.random.Generator, progress: float) -> Step:
        """One step: the first passage of each list is the right one."""
        course, data, cuts = self.course, self.course.data, self.cuts
        rows = rng.choice(self.rows, SETS, p=self.chances)
        near = course.mined.candidates[rows][:, :NEAREST]
        drawn = np.where(near >= 0, -np.log(np.arange(near.shape[1]) + 3.0) + 0.6 * rng.gumbel(size=near.shape), -1e9)
        wrong = np.take_along_axis(near, np.argsort(-drawn, axis=1)[:, :SET_SIZE], axis=1)
        wrong = np.where(wrong >= 0, wrong, data["positive"][rng.choice(self.rows, wrong.shape)])
        right, spans, whole = data["positive"][rows].astype(np.int64), spans_of(course, rows), len(data["passages"])
        gutted, trimmed = (cuts[kind][rows].astype(np.int64) for kind in ("gutted", "trimmed"))
        lost = (gutted >= 0) & (rng.random(SETS) < GUTTED_SHARE)
        wrong[lost, 0] = whole + gutted[lost]
        lost = (trimmed >= 0) & (rng.random(SETS) < TRIMMED_SHARE)
        right[lost] = whole + trimmed[lost]
        after = lost & (spans[:, 0] >= cuts["end"][trimmed])
        spans[after] -= (cuts["end"] - cuts["start"])[trimmed[after], None]
        pairs = [(rng.choice(some, JUDGED[kind]), kind in RIGHT_KINDS) for kind, _, some in self._kinds()]
        labels = np.concatenate([np.full(len(some), label, dtype=np.float32) for some, label in pairs])
        judged = np.concatenate([some for some, _ in pairs])[:, :2]
        lists = np.concatenate([right[:, None], wrong], axis=1).astype(np.int64)
        return Step(rows, lists, judged, labels, spans, progress)

    def _kinds(self) -> list[tuple[str, str, Ints]]:
        return list(judged_kinds(self.course, held_out=False))


def sets_loss(said: Answers, course: Course, step: Step) -> Tensor:
    """Against the labels: the order, the set with the right passage and without it, each passage, judged pairs."""
    fit, holds, device = said.listed[..., RANK], said.listed[..., JUDGE], said.listed.device
    silent = on_device(course.data["answers"].lengths[step.rows] == 0, device)[:, None]
    ahead = fit.detach() - fit.detach()[:, :1]
    other = torch.arange(fit.shape[1], device=device) > 0
    masked = fit.masked_fill(silent & other & (ahead > DOUBT_ORDER), -NOWHERE)
    order = functional.cross_entropy(masked, torch.zeros_like(fit[:, 0], dtype=torch.long))
    counts = ~(silent & other & (ahead > DOUBT_JUDGE))
    without = counts & other
    some = without.any(1)
    there = functional.softplus(-likeliest(holds, counts)).mean()
    absent = (functional.softplus(likeliest(holds, without)) * some).sum() / some.sum().clamp(min=1)
    wrong = functional.softplus(holds) * without
    hardest = holds.detach().masked_fill(~without, -NOWHERE).softmax(1)
    each = functional.softplus(-holds[:, 0]).mean() + 0.5 * wrong.sum() / without.sum().clamp(min=1)
    each = each + 0.5 * (wrong * hardest).sum() / some.sum().clamp(min=1)
    judged = functional.binary_cross_entropy_with_logits(said.judged[:, JUDGE], on_device(step.labels, device))
    spans = span_loss(said, course, step)
    return order + SET_SHARE * (there + absent) + PASSAGE_SHARE * each + judged + SPAN_SHARE * spans


def likeliest(holds: Tensor, counts: Tensor) -> Tensor:
    """What is said of a set: its passages, weighed by how likely each holds the answer."""
    held = holds.masked_fill(~counts, -NOWHERE)
    return (held.softmax(1) * held.clamp(min=-50)).sum(1)


def main() -> None:
    """Train one size."""
    parser = argparse.ArgumentParser()
    parser.add_argument("work", type=Path)
    parser.add_argument("first", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--stage", choices=("base", "small"), required=True)
    parser.add_argument("--teacher", type=Path, help="folder of the base that `small` learns from")
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--minutes", type=float, default=9.0, help="stop earlier rather than later than this")
    options = parser.parse_args()
    deadline = time.monotonic() + 60 * options.minutes
    device = start_on(SEED)
    weights, cuts = load(options.work / "weights.npz"), load(options.work / "cuts.npz")
    pieces = (options.work / "pieces.txt").read_bytes().decode("utf-8").split("\n")
    course = Course.prepare(options.work, base_model(weights).to(device), device)
    teacher = load_model(options.first, "base", weights).to(device).eval()
    print(f"{cut_by_model(course, cuts, teacher, pieces)} questions got a sentence that answers", flush=True)
    sets = Sets.prepare(course, cuts)
    print(f"{len(sets.rows)} questions", flush=True)
    compile_layers(device)
    model = load_model(options.first, options.stage, weights).to(device)
    if options.stage == "small":
        teacher = load_model(options.teacher, "base", weights).to(device).eval()
    learner = Learner(options.stage, model, options.steps, RATES[options.stage])
    train(sets, learner, teacher, options.steps, deadline)
    options.out.mkdir(parents=True, exist_ok=True)
    save_model(model, options.out / options.stage)
    check(model, course, options.stage)


def train(sets: Sets, learner: Learner, teacher: CrossEncoder, count: int, deadline: float) -> None:
    """The base keeps the teacher's order; a smaller one learns its doubts as well."""
    course, rng, began = sets.course, np.random.default_rng(SEED), time.monotonic()
    device = course.questions.ids.device
    learner.model.train()
    for number in range(count):
        step = sets.draw(rng, number / count)
        with mixed(device):
            with torch.no_grad():
                taught = answers_of(teacher, course, step)
            said = answers_of(learner.model, course, step)
            loss = sets_loss(said, course, step)
            if learner.name == "base":
                loss = loss + order_loss(said, taught)
            else:
                loss = (1 - TEACHER_SHARE) * loss + TEACHER_SHARE * soft_loss(said, taught)
        learner.learn(loss)
        if number % LOG_EVERY == 0:
            print(f"{learner.name} {number}/{count} {loss.item():.3f} {time.monotonic() - began:.0f} s", flush=True)
            if time.monotonic() > deadline:
                print("time is up", flush=True)
                return


if __name__ == "__main__":
    main()
