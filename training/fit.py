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
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from training.mine import Mined, mine
from training.net import JUDGE, RANK, Batch, CrossEncoder, base_model, compile_layers, mixed, pick_layers, start_on
from training.ragged import Ragged, load
from training.tables import Ints, Table, join_pairs, on_device, score_pairs

SEED = 7
LISTS = 96
LIST_SIZE = 8
JUDGED = {"right": 20, "wrong": 20, "swapped": 14, "gutted": 36, "trimmed": 36}
"""Judged pairs of each kind and language in a step: known ones, questions exchanged by rule, passages cut by rule."""
RATE = 2e-4
SMALL_RATE = 4e-4
WARM_UP = 0.06
DECAY = 0.01
TRIAL_STEPS = 40
SPARE_SECONDS = 20
LOG_EVERY = 100
JUDGE_SHARE = 1.0
LIST_JUDGE_SHARE = 0.5
SPAN_SHARE = 0.25
TEACHER_SHARE = 0.8
TEMPERATURE = 2.0
MAX_RANK = 200
"""A question whose own passage the base puts behind so many others cannot be told from its words alone."""
DENOISE_AFTER = 0.25
DENOISE_MARGIN = 1.5
"""Where no answer is given, a negative that the model puts so far ahead is taken for a right one without a label."""
JUDGE_MARGIN = -1.0
"""And one that is hardly behind may hold the answer too."""
HELD_OUT = 50
SMALL_LAYERS = {"small": [0, 4, 8, 11]}
SPAN_WIDTH = 323
"""A question of 64, a passage of 256, three marks."""
NOWHERE = 1e4


@dataclass(slots=True)
class Course:
    """Everything that is trained on, on the device."""

    data: dict[str, Any]
    questions: Table
    """Of the pairs, then claims, then judged ones."""
    passages: Table
    """Whole, then cut."""
    mined: Mined
    right: Ints
    """The right passage of each pair and claim; cut where a claim was taken out of it."""
    judged: dict[str, Ints]
    """Kind -> (pairs, 3): question, passage, language."""
    train: Ints
    held_out: Ints

    @classmethod
    def prepare(cls, work: Path, model: CrossEncoder, device: torch.device) -> Course:
        """Load the data and mine negatives with the untrained base."""
        data, cuts = load(work / "data.npz"), load(work / "cuts.npz")
        pieces = (work / "pieces.txt").read_bytes().decode("utf-8").split("\n")
        right = with_claims(data, cuts)
        asked = len(data["questions"])
        every = _joined(data["questions"], data["judged_questions"])
        questions = Table.build(every, device)
        passages = Table.build(data["passages"], device, (cuts["passage"], cuts["start"], cuts["end"]))
        pairs_only = Table.build(data["questions"], device)
        mined = _mine_once(work / "mined.npz", lambda: mine(model, data, pairs_only, passages, pieces))
        clear = mined.rank < MAX_RANK
        out = data["positive"] % HELD_OUT == 0
        rows = np.flatnonzero(clear & ~out), np.flatnonzero(clear & out)
        return cls(data, questions, passages, mined, right, judged_pairs(data, cuts, asked), *rows)

    def lists(self, rows: Ints, rng: np.random.Generator, size: int = LIST_SIZE) -> Ints:
        """(rows, size) passages: the right one, hard ones drawn with the hardest likeliest, one at random."""
        candidates = self.mined.candidates[rows]
        likely = -np.log(np.arange(candidates.shape[1]) + 4.0)
        drawn = np.where(candidates >= 0, likely + rng.gumbel(size=candidates.shape), -np.inf)
        hard = np.take_along_axis(candidates, np.argsort(-drawn, axis=1)[:, : size - 2], axis=1)
        chance = self.data["positive"][rng.choice(self.train, (len(rows), size - 1))]
        hard = np.where(hard >= 0, hard, chance[:, 1:])
        return np.concatenate([self.right[rows, None], hard, chance[:, :1]], axis=1).astype(np.int64)


def with_claims(data: dict[str, Any], cuts: dict[str, Any]) -> Ints:
    """Put claims behind the pairs, in `data` itself; the right passage of each."""
    rows, count = cuts["claim_passage"].astype(np.int64), len(cuts["claim_passage"])
    spans = zip(rows.tolist(), cuts["claim_start"].tolist(), cuts["claim_end"].tolist(), strict=True)
    claims = Ragged.join([data["passages"][row][start:end] for row, start, end in spans])
    whole = np.where(cuts["claim_cut"] >= 0, len(data["passages"]) + cuts["claim_cut"], rows)
    right = np.concatenate([data["positive"], whole]).astype(np.int64)
    data["claim"] = np.arange(len(right)) >= len(data["positive"])
    data["positive"] = np.concatenate([data["positive"], rows]).astype(np.int64)
    data["lang"] = np.concatenate([data["lang"], data["passage_lang"][rows]])
    data["questions"] = _joined(data["questions"], claims)
    for name in ("negatives", "answers"):
        data[name] = _joined(data[name], Ragged.join([[]] * count, data[name].values.dtype.type))
    for name in ("span_start", "span_end"):
        data[name] = np.concatenate([cuts[name], np.full(count, -1)]).astype(np.int64)
    return right


def _joined(one: Ragged, other: Ragged) -> Ragged:
    values = np.concatenate([one.values, other.values.astype(one.values.dtype)])
    return Ragged(values, np.concatenate([one.starts, other.starts[1:] + one.starts[-1]]))


def judged_pairs(data: dict[str, Any], cuts: dict[str, Any], asked: int) -> dict[str, Ints]:
    """Kind -> (pairs, 3): question, passage, language. Questions of judged pairs stand behind the `asked` others."""
    label, swapped, passage = data["judged_label"], data["judged_swapped"] == 1, data["judged_passage"].astype(np.int64)
    known = np.stack([asked + np.arange(len(label)), passage, data["passage_lang"][passage]], axis=1)
    found = {"right": known[label == 1], "wrong": known[(label == 0) & ~swapped], "swapped": known[swapped]}
    for kind in ("gutted", "trimmed"):
        rows = np.flatnonzero(cuts[kind] >= 0)
        cut = len(data["passages"]) + cuts[kind][rows].astype(np.int64)
        found[kind] = np.stack([rows, cut, data["lang"][rows]], axis=1).astype(np.int64)
    return found


RIGHT_KINDS = ("right", "trimmed")


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
    """(pairs, 2): question, passage."""
    labels: NDArray[np.float32]
    spans: Ints
    """(rows, 2): the first and last token of the answer in the right passage; -1 where that is not known."""
    progress: float


def steps(course: Course, count: int, seed: int) -> Iterator[Step]:
    """Lists in random order, over and over, with judged pairs beside them."""
    rng = np.random.default_rng(seed)
    kinds = list(judged_kinds(course, held_out=False))
    waiting = np.zeros(0, dtype=np.int64)
    for step in range(count):
        if len(waiting) < LISTS:
            waiting = np.concatenate([waiting, rng.permutation(course.train)])
        rows, waiting = waiting[:LISTS], waiting[LISTS:]
        drawn = [(rng.choice(pairs, JUDGED[kind]), kind in RIGHT_KINDS) for kind, _, pairs in kinds]
        labels = np.concatenate([np.full(len(pairs), label, dtype=np.float32) for pairs, label in drawn])
        judged = np.concatenate([pairs for pairs, _ in drawn])[:, :2]
        yield Step(rows, course.lists(rows, rng), judged, labels, spans_of(course, rows), step / count)


def spans_of(course: Course, rows: Ints) -> Ints:
    """Where the answers stand in the right passages, as they are whole."""
    return np.stack([course.data[name][rows] for name in ("span_start", "span_end")], axis=1)


def judged_kinds(course: Course, *, held_out: bool) -> Iterator[tuple[str, str, Ints]]:
    """(kind, language, pairs), those of held-out passages or all others."""
    for kind, pairs in course.judged.items():
        out = course.passages.text[pairs[:, 1]] % HELD_OUT == 0
        for code, lang in enumerate(("en", "ja")):
            chosen = pairs[(out == held_out) & (pairs[:, 2] == code)]
            if len(chosen):
                yield kind, lang, chosen


@dataclass(frozen=True, slots=True)
class Answers:
    """What a model says to a step."""

    listed: Tensor
    """(lists, size, 2)"""
    judged: Tensor
    """(judged, 2)"""
    spans: Tensor
    """(tokens, 2)"""
    batch: Batch


def answers_of(model: CrossEncoder, course: Course, step: Step) -> Answers:
    """All pairs of the step at once."""
    left = np.concatenate([np.repeat(step.rows, step.lists.shape[1]), step.judged[:, 0]])
    right = np.concatenate([step.lists.reshape(-1), step.judged[:, 1]])
    batch = join_pairs(course.questions, course.passages, left, right)
    scores, spans = model(batch)
    listed = scores[: step.lists.size].view(*step.lists.shape, 2)
    return Answers(listed, scores[step.lists.size :], spans, batch)


def hard_loss(said: Answers, course: Course, step: Step) -> Tensor:
    """Against the labels."""
    fit, device = said.listed[..., RANK], said.listed.device
    silent = on_device(course.data["answers"].lengths[step.rows] == 0, device)[:, None]
    silent = silent & (step.progress >= DENOISE_AFTER)
    ahead = fit.detach() - fit.detach()[:, :1]
    doubtful = silent & (ahead > DENOISE_MARGIN)
    loss = functional.cross_entropy(fit.masked_fill(doubtful, -NOWHERE), torch.zeros_like(fit[:, 0], dtype=torch.long))
    labels = on_device(step.labels, device)
    loss = loss + JUDGE_SHARE * functional.binary_cross_entropy_with_logits(said.judged[:, JUDGE], labels)
    asks = on_device(~course.data["claim"][step.rows], device)[:, None]
    loss = loss + LIST_JUDGE_SHARE * list_judge_loss(said.listed[..., JUDGE], asks, silent & (ahead > JUDGE_MARGIN))
    return loss + SPAN_SHARE * span_loss(said, course, step)


def list_judge_loss(holds: Tensor, asks: Tensor, doubtful: Tensor) -> Tensor:
    """The right passage holds the answer, the others do not; half of what these count for goes to the likeliest."""
    right = (functional.softplus(-holds[:, :1]) * asks).sum() / asks.sum().clamp(min=1)
    counts = (asks & ~doubtful)[:, 1:]
    wrong = functional.softplus(holds[:, 1:]) * counts
    hardest = holds.detach()[:, 1:].masked_fill(~counts, -NOWHERE).softmax(1)
    total = counts.sum().clamp(min=1)
    return right + 0.5 * wrong.sum() / total + 0.5 * (wrong * hardest).sum() / counts.any(1).sum().clamp(min=1)


def span_loss(said: Answers, course: Course, step: Step) -> Tensor:
    """Where the answer starts and ends in the right passage; at the first mark where there is none."""
    data, size = course.data, step.lists.shape[1]
    start, end = step.spans.T
    known = np.flatnonzero(start >= 0)
    unknown = np.flatnonzero(step.labels == 0) + step.lists.size
    # One other passage of each list is enough: most of what is drawn holds no answer.
    other = np.flatnonzero(data["answers"].lengths[step.rows] > 0) * size + 1
    pairs = np.concatenate([known * size, other, unknown])
    if not len(pairs):
        return said.spans.sum() * 0
    before = course.questions.lengths[step.rows[known]] + 2
    target = np.zeros((len(pairs), 2), dtype=np.int64)
    target[: len(known)] = np.stack([before + start[known], before + end[known]], axis=1)
    device = said.spans.device
    chosen, places = on_device(pairs, device), torch.arange(SPAN_WIDTH, device=device)
    begin, stop = said.batch.starts[:-1].long()[chosen, None], said.batch.starts[1:].long()[chosen, None]
    token = (begin + places).clamp(max=len(said.spans) - 1)
    allowed = (begin + places < stop - 1) & ((said.batch.kinds[token] == 1) | (places == 0))
    logits = said.spans[token].float().masked_fill(~allowed[..., None], -NOWHERE)
    found = functional.cross_entropy(
        logits.transpose(1, 2).reshape(-1, SPAN_WIDTH), on_device(target, device).reshape(-1), reduction="none"
    )
    there = torch.arange(len(found), device=device) < 2 * len(known)
    return found[: 2 * len(known)].sum() / max(1, 2 * len(known)) + (found * ~there).mean()


def soft_loss(said: Answers, taught: Answers) -> Tensor:
    """Against a teacher: the same order with the same distances, and the same doubts."""
    doubts = functional.binary_cross_entropy_with_logits
    holds = doubts(said.listed[..., JUDGE], taught.listed[..., JUDGE].sigmoid())
    judges = doubts(said.judged[:, JUDGE], taught.judged[:, JUDGE].sigmoid())
    return order_loss(said, taught) + LIST_JUDGE_SHARE * 2 * holds + JUDGE_SHARE * judges


def order_loss(said: Answers, taught: Answers) -> Tensor:
    """Against a teacher: the same order with the same distances."""
    fit, teacher = said.listed[..., RANK], taught.listed[..., RANK]
    order = functional.kl_div(
        functional.log_softmax(fit / TEMPERATURE, dim=1), functional.log_softmax(teacher / TEMPERATURE, dim=1),
        log_target=True, reduction="batchmean",
    )  # fmt: skip
    apart = functional.smooth_l1_loss(fit - fit.mean(1, keepdim=True), teacher - teacher.mean(1, keepdim=True))
    return order * TEMPERATURE**2 + 0.1 * apart


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
                    taught = answers_of(teacher, course, step)
            for learner in learners:
                said = answers_of(learner.model, course, step)
                loss = hard_loss(said, course, step)
                if taught is not None:
                    loss = (1 - TEACHER_SHARE) * loss + TEACHER_SHARE * soft_loss(said, taught)
                learner.learn(loss)
                if number % LOG_EVERY == 0:
                    spent = time.monotonic() - began
                    print(f"{learner.name} step {number}/{count} loss {loss.item():.4f} {spent:.0f} s", flush=True)
        if time.monotonic() > deadline:
            print(f"stopped at step {number}: time is up", flush=True)
            return


@torch.no_grad()
def check(model: CrossEncoder, course: Course, name: str) -> dict[str, float]:
    """How the held-out questions fare, by language; also how often each kind of judged pair is told."""
    model.eval()
    rng = np.random.default_rng(SEED)
    rows = course.held_out
    found: dict[str, float] = {}
    with mixed(course.questions.ids.device):
        lists = course.lists(rows, rng, size=16)
        left = np.repeat(rows, 16)
        fit = score_pairs(model, course.questions, course.passages, left, lists.reshape(-1))[:, RANK].view(lists.shape)
        ranks = 1 + (fit[:, 1:] > fit[:, :1]).sum(1).cpu().numpy()
        for code, lang in enumerate(("en", "ja")):
            here, claim = course.data["lang"][rows] == code, course.data["claim"][rows]
            found[f"mrr_{lang}"] = _mean(1 / ranks[here & ~claim])
            found[f"claims_{lang}"] = _mean(1 / ranks[here & claim])
        for kind, lang, pairs in judged_kinds(course, held_out=True):
            logit = score_pairs(model, course.questions, course.passages, pairs[:, 0], pairs[:, 1])[:, JUDGE]
            found[f"{kind}_{lang}"] = float(((logit > 0) == (kind in RIGHT_KINDS)).float().mean())
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
    lacking = set(model.load_state_dict(state, strict=False).missing_keys)
    if lacking - {"span.weight", "span.bias"}:
        raise ValueError(f"{name} in {work} lacks {', '.join(sorted(lacking))}.")
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
    parser.add_argument("--stage", choices=("mine", "base", "small", "all"), default="all")
    parser.add_argument("--without-claims", action="store_true", help="train on questions alone")
    parser.add_argument(
        "--go-on", action="store_true", help="smaller models start from those in WORK, at half the rate"
    )
    options = parser.parse_args()
    deadline = time.monotonic() + 60 * options.minutes
    device = start_on(SEED)
    weights = load(options.work / "weights.npz")
    model = base_model(weights).to(device)
    began = time.monotonic()
    course = Course.prepare(options.work, model, device)
    print(f"prepared in {time.monotonic() - began:.0f} s: {len(course.train)} lists, {len(course.held_out)} held out")
    print("rank of the right passage", np.percentile(course.mined.rank, [50, 75, 90, 95]), flush=True)
    if options.without_claims:
        course.train = course.train[~course.data["claim"][course.train]]
    if options.stage == "mine":
        return
    options.out.mkdir(parents=True, exist_ok=True)
    compile_layers(device)
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
        if options.go_on:
            students = {name: load_model(options.work, name, weights).to(device) for name in students}
        rate = SMALL_RATE / 2 if options.go_on else SMALL_RATE
        _run(course, students, model, options.distil_steps, rate, deadline)
        for name, student in students.items():
            save_model(student, options.out / name)
            results[name] = check(student, course, name)
    (options.out / "held_out.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
