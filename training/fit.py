"""Train the base cross-encoder, distil smaller ones from it, and measure them.

    python -m training.fit WORK OUT [--steps 4000] [--distil-steps 3000] [--minutes 9] [--stage base|small|all]

Every list is one right passage among hard negatives (softmax over the list); every step also carries questions whose
one passage is known to hold the answer or not. Seeds are fixed; sums on a GPU still differ in their last digits.
"""

# mypy: disable-error-code="import-not-found", disallow-subclassing-any=False, disallow-untyped-decorators=False
# mypy: warn-return-any=False, warn-unused-ignores=False
# (torch is needed here alone, and is not installed where types are checked)

# ruff: noqa: T201 (a step says what it did)

from __future__ import annotations

import argparse
import copy
import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from training.mine import Mined, mine
from training.net import JUDGE, RANK, CrossEncoder, Layer, base_model, mixed, pick_layers
from training.ragged import load
from training.tables import Ints, Table, score_pairs

SEED = 7
LISTS = 96
LIST_SIZE = 8
JUDGED = 192
"""Judged pairs in a step, half of them answerable."""
RATE = 2e-4
SMALL_RATE = 4e-4
WARM_UP = 0.06
DECAY = 0.01
TRIAL_STEPS = 40
SPARE_SECONDS = 8
LOG_EVERY = 100
JUDGE_SHARE = 1.0
LIST_JUDGE_SHARE = 0.25
TEACHER_SHARE = 0.8
TEMPERATURE = 2.0
MAX_RANK = 200
"""A question whose own passage the base puts behind so many others cannot be told from its words alone."""
DENOISE_AFTER = 0.25
DENOISE_MARGIN = 1.5
"""Where no answer is given, a negative that the model puts so far ahead is taken for a right one without a label."""
HELD_OUT = 50
SMALL_LAYERS = {"small": [0, 4, 8, 11], "tiny": [0, 6]}


@dataclass(slots=True)
class Course:
    """Everything that is trained on, on the device."""

    data: dict[str, Any]
    questions: Table
    passages: Table
    judged: Table
    mined: Mined
    train: Ints
    held_out: Ints

    @classmethod
    def prepare(cls, work: Path, model: CrossEncoder, device: torch.device) -> Course:
        """Load the data and mine negatives with the untrained base."""
        data = load(work / "data.npz")
        pieces = (work / "pieces.txt").read_bytes().decode("utf-8").split("\n")
        questions, passages, judged = (
            Table.build(data[name], device) for name in ("questions", "passages", "judged_questions")
        )
        mined = _mine_once(work / "mined.npz", lambda: mine(model, data, questions, passages, pieces))
        clear = mined.rank < MAX_RANK
        out = data["positive"] % HELD_OUT == 0
        rows = np.flatnonzero(clear & ~out), np.flatnonzero(clear & out)
        return cls(data, questions, passages, judged, mined, *rows)

    def lists(self, rows: Ints, rng: np.random.Generator, size: int = LIST_SIZE) -> Ints:
        """(rows, size) passages: the right one, hard ones drawn with the hardest likeliest, one at random."""
        candidates = self.mined.candidates[rows]
        likely = -np.log(np.arange(candidates.shape[1]) + 4.0)
        drawn = np.where(candidates >= 0, likely + rng.gumbel(size=candidates.shape), -np.inf)
        hard = np.take_along_axis(candidates, np.argsort(-drawn, axis=1)[:, : size - 2], axis=1)
        chance = self.data["positive"][rng.choice(self.train, (len(rows), size - 1))]
        hard = np.where(hard >= 0, hard, chance[:, 1:])
        return np.concatenate([self.data["positive"][rows, None], hard, chance[:, :1]], axis=1).astype(np.int64)


def _mine_once(path: Path, action: Callable[[], Mined]) -> Mined:
    if not path.exists():
        found = action()
        np.savez(path, candidates=found.candidates, rank=found.rank)
    with np.load(path) as file:
        return Mined(file["candidates"], file["rank"])


@dataclass(frozen=True, slots=True)
class Step:
    """What one step learns from."""

    rows: Ints
    lists: Ints
    judged: Ints
    progress: float


def steps(course: Course, count: int, seed: int) -> Iterator[Step]:
    """Lists in random order, over and over, with judged pairs beside them."""
    rng = np.random.default_rng(seed)
    kinds = _judged_kinds(course)
    waiting = np.zeros(0, dtype=np.int64)
    for step in range(count):
        if len(waiting) < LISTS:
            waiting = np.concatenate([waiting, rng.permutation(course.train)])
        rows, waiting = waiting[:LISTS], waiting[LISTS:]
        judged = np.concatenate([rng.choice(kind, share) for kind, share in kinds])
        yield Step(rows, course.lists(rows, rng), judged, step / count)


def _judged_kinds(course: Course) -> list[tuple[Ints, int]]:
    """Judged pairs by language and kind, with how many of each a step takes: half answerable, a quarter exchanged."""
    data = course.data
    label, swapped = data["judged_label"], data["judged_swapped"]
    usable, tongue = data["judged_passage"] % HELD_OUT != 0, data["passage_lang"][data["judged_passage"]]
    kinds = [(label == 1, JUDGED // 4), ((label == 0) & (swapped == 0), JUDGED // 8), (swapped == 1, JUDGED // 8)]
    found = [(np.flatnonzero(usable & kind & (tongue == lang)), share) for kind, share in kinds for lang in (0, 1)]
    return [(rows, share) for rows, share in found if len(rows)]


def scores_of(model: CrossEncoder, course: Course, step: Step) -> tuple[Tensor, Tensor]:
    """(lists, size, 2) for the lists and (judged, 2) for the judged pairs."""
    left = np.repeat(step.rows, step.lists.shape[1])
    listed = score_pairs(model, course.questions, course.passages, left, step.lists.reshape(-1))
    judged = score_pairs(
        model, course.judged, course.passages, step.judged, course.data["judged_passage"][step.judged].astype(np.int64)
    )
    return listed.view(*step.lists.shape, 2), judged


def hard_loss(listed: Tensor, judged: Tensor, course: Course, step: Step) -> Tensor:
    """Against the labels."""
    fit, holds = listed[..., RANK], listed[..., JUDGE]
    silent = torch.from_numpy(course.data["answers"].lengths[step.rows] == 0).to(fit.device)
    doubtful = silent[:, None] & (fit.detach() > fit.detach()[:, :1] + DENOISE_MARGIN)
    if step.progress < DENOISE_AFTER:
        doubtful = torch.zeros_like(doubtful)
    loss = functional.cross_entropy(fit.masked_fill(doubtful, -1e4), torch.zeros_like(fit[:, 0], dtype=torch.long))
    label = torch.from_numpy(course.data["judged_label"][step.judged]).to(fit.device).float()
    loss = loss + JUDGE_SHARE * functional.binary_cross_entropy_with_logits(judged[:, JUDGE], label)
    right = functional.softplus(-holds[:, 0]).mean()
    wrong = functional.softplus(holds[:, 1:])[~doubtful[:, 1:]].mean()
    return loss + LIST_JUDGE_SHARE * (right + wrong)


def soft_loss(listed: Tensor, judged: Tensor, taught: tuple[Tensor, Tensor]) -> Tensor:
    """Against a teacher: the same order with the same distances, and the same doubts."""
    fit, teacher = listed[..., RANK], taught[0][..., RANK]
    order = functional.kl_div(
        functional.log_softmax(fit / TEMPERATURE, dim=1), functional.log_softmax(teacher / TEMPERATURE, dim=1),
        log_target=True, reduction="batchmean",
    )  # fmt: skip
    apart = functional.smooth_l1_loss(fit - fit.mean(1, keepdim=True), teacher - teacher.mean(1, keepdim=True))
    doubts = functional.binary_cross_entropy_with_logits
    holds = doubts(listed[..., JUDGE], taught[0][..., JUDGE].sigmoid())
    judges = doubts(judged[:, JUDGE], taught[1][:, JUDGE].sigmoid())
    return order * TEMPERATURE**2 + 0.1 * apart + LIST_JUDGE_SHARE * 2 * holds + JUDGE_SHARE * judges


class Learner:
    """A model with its optimiser and rate."""

    def __init__(self, name: str, model: CrossEncoder, count: int, rate: float) -> None:
        self.name, self.model = name, model
        plain = [p for p in model.parameters() if p.ndim < 2]
        dense = [p for p in model.parameters() if p.ndim >= 2]
        groups = [{"params": dense, "weight_decay": DECAY}, {"params": plain, "weight_decay": 0.0}]
        fused = next(model.parameters()).is_cuda
        self.optimiser = torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), fused=fused)
        warm = max(1, int(WARM_UP * count))
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimiser, lambda step: min((step + 1) / warm, max(0.0, (count - step) / max(1, count - warm)))
        )
        self.average = math.nan

    def learn(self, loss: Tensor) -> None:
        """One step down."""
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        self.schedule.step()


def train(course: Course, learners: list[Learner], teacher: CrossEncoder | None, count: int, deadline: float) -> None:
    """Train all learners on the same steps; stops early, rather than losing everything, when time is up."""
    device, began = course.questions.ids.device, time.monotonic()
    for learner in learners:
        learner.model.train()
    for number, step in enumerate(steps(course, count, SEED)):
        with mixed(device):
            taught = None
            if teacher is not None:
                with torch.no_grad():
                    taught = scores_of(teacher, course, step)
            for learner in learners:
                listed, judged = scores_of(learner.model, course, step)
                loss = hard_loss(listed, judged, course, step)
                if taught is not None:
                    loss = (1 - TEACHER_SHARE) * loss + TEACHER_SHARE * soft_loss(listed, judged, taught)
                learner.learn(loss)
                if number % LOG_EVERY == 0:
                    spent = time.monotonic() - began
                    print(f"{learner.name} step {number}/{count} loss {loss.item():.4f} {spent:.0f} s", flush=True)
        if time.monotonic() > deadline:
            print(f"stopped at step {number}: time is up", flush=True)
            return


@torch.no_grad()
def check(model: CrossEncoder, course: Course, name: str) -> dict[str, float]:
    """How the held-out questions fare, by language; also whether judged pairs are told apart."""
    model.eval()
    rng = np.random.default_rng(SEED)
    rows = course.held_out
    found: dict[str, float] = {}
    with mixed(course.questions.ids.device):
        lists = course.lists(rows, rng, size=16)
        left = np.repeat(rows, 16)
        fit = score_pairs(model, course.questions, course.passages, left, lists.reshape(-1))[:, RANK].view(lists.shape)
        ranks = 1 + (fit[:, 1:] > fit[:, :1]).sum(1).cpu().numpy()
        out = np.flatnonzero(course.data["judged_passage"] % HELD_OUT == 0)
        logit = score_pairs(
            model, course.judged, course.passages, out, course.data["judged_passage"][out].astype(np.int64)
        )
    for code, lang in enumerate(("en", "ja")):
        found[f"mrr_{lang}"] = _mean(1 / ranks[course.data["lang"][rows] == code])
    label, said = course.data["judged_label"][out] == 1, (logit[:, JUDGE] > 0).cpu().numpy()
    swapped = course.data["judged_swapped"][out] == 1
    tongue = course.data["passage_lang"][course.data["judged_passage"][out]]
    for code, lang in enumerate(("en", "ja")):
        here = tongue == code
        found[f"judge_{lang}"] = _mean((said == label)[here & ~swapped])
        found[f"swapped_{lang}"] = _mean((~said)[here & swapped])
    print(name, {key: round(value, 4) for key, value in found.items()}, flush=True)
    return found


def _mean(values: Any) -> float:
    return float(values.mean()) if len(values) else math.nan


def save_model(model: CrossEncoder, path: Path) -> None:
    """Write the trained parameters in half precision, in files that are small enough to travel."""
    state = {name: value.detach().cpu().numpy().astype(np.float16) for name, value in model.state_dict().items()}
    names = sorted(state)
    part: dict[str, Any] = {}
    size = number = 0
    for name in names:
        if size + state[name].nbytes > PART_BYTES:
            np.savez(f"{path}-{number}.npz", **part)
            part, size, number = {}, 0, number + 1
        part[name] = state[name]
        size += state[name].nbytes
    np.savez(f"{path}-{number}.npz", **part)


PART_BYTES = 15 << 20


def load_model(work: Path, name: str, weights: dict[str, Any]) -> CrossEncoder:
    """Read what `save_model` wrote."""
    state: dict[str, Any] = {}
    for path in sorted(work.glob(f"{name}-*.npz")):
        with np.load(path) as file:
            state |= {key: torch.from_numpy(file[key].astype(np.float32)) for key in file.files}
    layers = 1 + max(int(key.split(".")[1]) for key in state if key.startswith("layers."))
    base = base_model(weights)
    model = base if layers == base.shape.layers else pick_layers(base, list(range(layers)))
    model.load_state_dict(state)
    return model


def affordable(course: Course, learners: list[Learner], teacher: CrossEncoder | None, seconds: float) -> int:
    """How many steps fit into the time, by trying some on copies."""
    copies = [Learner(learner.name, copy.deepcopy(learner.model), TRIAL_STEPS, 0.0) for learner in learners]
    train(course, copies, teacher, TRIAL_STEPS // 2, math.inf)
    began = time.monotonic()
    train(course, copies, teacher, TRIAL_STEPS, math.inf)
    return int(seconds / ((time.monotonic() - began) / TRIAL_STEPS))


def _run(
    course: Course,
    models: dict[str, CrossEncoder],
    teacher: CrossEncoder | None,
    count: int,
    rate: float,
    deadline: float,
) -> None:
    learners = [Learner(name, model, max(1, count), rate) for name, model in models.items()]
    if not count:
        count = affordable(course, learners, teacher, deadline - time.monotonic() - SPARE_SECONDS)
        learners = [Learner(name, model, count, rate) for name, model in models.items()]
    print(f"{count} steps for {', '.join(models)}", flush=True)
    train(course, learners, teacher, count, deadline)


def main() -> None:
    """Mine, train, distil, check."""
    parser = argparse.ArgumentParser()
    parser.add_argument("work", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=0, help="0: as many as fit into --minutes")
    parser.add_argument("--distil-steps", type=int, default=0, help="same")
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--stage", choices=("base", "small", "all"), default="all")
    options = parser.parse_args()
    deadline = time.monotonic() + 60 * options.minutes
    torch.manual_seed(SEED)
    torch.set_float32_matmul_precision("high")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    weights = load(options.work / "weights.npz")
    model = base_model(weights).to(device)
    began = time.monotonic()
    course = Course.prepare(options.work, model, device)
    print(f"prepared in {time.monotonic() - began:.0f} s: {len(course.train)} lists, {len(course.held_out)} held out")
    print("rank of the right passage", np.percentile(course.mined.rank, [50, 75, 90, 95]), flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    if device.type == "cuda":
        Layer.forward = torch.compile(Layer.forward, dynamic=True)  # type: ignore[method-assign]
    results = {}
    if options.stage == "small":
        model = load_model(options.work, "base", weights).to(device)
    else:
        _run(course, {"base": model}, None, options.steps, RATE, deadline)
        save_model(model, options.out / "base")
    results["base"] = check(model, course, "base")
    if options.stage != "base":
        model.eval()
        students = {name: pick_layers(model, layers) for name, layers in SMALL_LAYERS.items()}
        _run(course, students, model, options.distil_steps, SMALL_RATE, deadline)
        for name, student in students.items():
            save_model(student, options.out / name)
            results[name] = check(student, course, name)
    (options.out / "held_out.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
