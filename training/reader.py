"""Teach the reader: how well a passage fits a question, whether it holds the answer, and where that stands.

    python -m training.reader LESSONS FOLDER OUT [--base 540] [--small 240]

LESSONS has the files of `training.pack`, FOLDER the exported `base` to go on from and the word vectors. `base` is
taught for so many seconds, then `small`, four of its layers, against what `base` says. What counts most for "is it
here" are questions to folders with what a search finds for them, and the written questions: each passage with one that
it answers and one much like it that it does not. Pairs with passages that a search finds, and judged pairs, are the
easier cases. What is kept is the running mean of the weights. OUT gets SIZE-*.npz for `training.export` and
SIZE.held_out.json. Needs torch and numpy alone; a GPU is used where there is one.
"""

# mypy: disable-error-code="import-not-found", disallow-subclassing-any=False, disallow-untyped-decorators=False
# mypy: warn-return-any=False, warn-unused-ignores=False
# (torch is needed here alone, and is not installed where types are checked)

# ruff: noqa: T201 (a step says what it did)

from __future__ import annotations

import argparse
import copy
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from training.net import HEAD, JUDGE, RANK, Batch, CrossEncoder, Shape, join_pairs, save_model
from training.ragged import Ragged, load
from training.read_back import read_graph, read_words

SEED = 17
SHORTEST, LONGEST = 96, 220
"""Tokens of a passage that are read: a stretch of a length and at a place drawn each time, with the answer inside."""
FOLDERS, WRITTEN, PAIRS, JUDGED = 36, 28, 20, 24
"""Of a step: questions to folders with five passages each, passages with both of their questions and others, pairs with
four others, judged pairs."""
OTHERS = 4
NEAREST = 8
"""Of what a search found for a question to a folder, what is drawn from."""
UNANSWERED, ANSWERED, SEVERAL = 0, 1, 2
"""Kinds of questions to folders, as `training.pack` writes them."""
WORDS, KEPT = 10, 0.6
"""Written questions of a step that also come as bare words, and the share of their pieces that stays."""
FIRST_PIECE, PIECES = 4, 51_242
"""Of the vocabulary, past the special ones."""
RATES = {"base": 8e-5, "small": 2e-4}
WARM_UP, DECAY, CLIP, MEAN = 0.05, 0.01, 1.0, 0.995
SPAN_SHARE, RANK_SHARE, SET_SHARE, APART_SHARE, SOFT_SHARE = 0.5, 0.5, 0.5, 0.5, 0.7
EASIER = 0.5
"""What "is it here" weighs for pairs that were not written for it."""
SMALL_LAYERS = (0, 4, 8, 11)
WORKERS = 14
HALF, SAVED_EVERY = 0.5, 25.0
"""In the second half, seconds between two writes of what is learnt so far."""


@dataclass
class Drawn:
    """Pairs of a step before they are joined."""

    questions: list[Any] = field(default_factory=list)
    passages: list[Any] = field(default_factory=list)
    labels: list[float] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    """First and last token of the answer within the passage; -1 for none."""
    lists: list[list[int]] = field(default_factory=list)
    """Places of pairs of one question, the right one first."""
    sets: list[tuple[list[int], bool]] = field(default_factory=list)
    """Places of pairs of one question, and whether the first holds the answer or none does."""
    apart: list[tuple[int, int]] = field(default_factory=list)
    """Places of the answered and the unanswered question on one passage."""

    def add(self, question: Any, passage: Any, label: float, weight: float, span: tuple[int, int] = (-1, -1)) -> int:
        """Take a pair in; its place."""
        self.questions.append(question)
        self.passages.append(passage)
        self.labels.append(label)
        self.weights.append(weight)
        self.spans.append(span)
        return len(self.labels) - 1


class Lessons(torch.utils.data.IterableDataset[dict[str, Tensor]]):
    """What a step is drawn from, without end."""

    def __init__(self, path: Path, part: float = 1.0) -> None:
        self.sizes = [max(1, round(part * size)) for size in (FOLDERS, WRITTEN, PAIRS, JUDGED)]
        self.parts = load(path / "lessons.npz")
        self.passages: Ragged = self.parts["passages"]
        folders = load(path / "folders.npz")
        self.folders: dict[str, Any] = folders
        self.taught = np.flatnonzero(~folders["held"])
        self.left_out = np.flatnonzero(folders["held"] & (folders["kind"] != SEVERAL))

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        info = torch.utils.data.get_worker_info()
        rng = np.random.default_rng(SEED + (info.id if info else 0))
        while True:
            yield joined(self.step(rng))

    def window(self, passage: int, rng: Any, span: Any = None) -> tuple[Any, tuple[int, int]]:
        """A stretch of a passage with the answer inside, and where that stands in it."""
        ids = self.passages[passage]
        size = int(rng.integers(SHORTEST, LONGEST + 1))
        low, high = 0, max(0, len(ids) - size)
        placed = span is not None and span[0] >= 0
        if placed:
            size = max(size, int(span[1] - span[0]) + 9)
            low, high = max(0, int(span[1]) + 1 - size), min(int(span[0]), max(0, len(ids) - size))
        # The start of a passage says what it is about: half of the time it is kept where it can be.
        start = low if rng.random() < 0.5 or high <= low else int(rng.integers(low, high + 1))
        found = ids[start : start + min(size, 256)]
        inside = placed and int(span[1]) - start < len(found)
        return found, ((int(span[0]) - start, int(span[1]) - start) if inside else (-1, -1))

    def step(self, rng: Any) -> Drawn:
        """A mix of all kinds."""
        drawn, p = Drawn(), self.parts
        folders, written, pairs, judged = self.sizes
        for row in rng.choice(self.taught, folders).tolist():
            self._folder(drawn, row, rng)
        for row in rng.integers(0, len(p["written.passage"]), written).tolist():
            self._written(drawn, "written", row, rng)
        for yes, _ in drawn.apart[: round(WORDS * written / WRITTEN)]:
            self._words(drawn, yes, rng)
        for row in rng.integers(0, len(p["pairs.passage"]), pairs).tolist():
            near, asked = p["pairs.near"][row], p["pairs.question"][row]
            whole = p["pairs.span"][row]
            ids, span = self.window(int(p["pairs.passage"][row]), rng, whole)
            # Where the answer is not found in a long passage, nobody knows whether the stretch holds it.
            known = span[0] >= 0 or len(self.passages[int(p["pairs.passage"][row])]) <= len(ids)
            places = [drawn.add(asked, ids, 1.0, EASIER if known else 0.0, span)]
            others = rng.permutation(near)[:OTHERS].tolist()
            places += [drawn.add(asked, self.window(other, rng)[0], 0.0, EASIER / 2) for other in others]
            drawn.lists.append(places)
            if known:
                drawn.sets.append((places, True))
        for row in rng.integers(0, len(p["judged.passage"]), judged).tolist():
            ids, _ = self.window(int(p["judged.passage"][row]), rng)
            whole = len(ids) == len(self.passages[int(p["judged.passage"][row])])
            label = float(p["judged.label"][row])
            drawn.add(p["judged.question"][row], ids, label, EASIER if whole or not label else 0.0)
        return drawn

    def _written(self, drawn: Drawn, name: str, row: int, rng: Any) -> None:
        """Both questions on their passage, and the answered one on others."""
        p = self.parts
        passage = int(p[f"{name}.passage"][row])
        ids, span = self.window(passage, rng, p[f"{name}.span"][row])
        yes = drawn.add(p[f"{name}.yes"][row], ids, 1.0, 1.0, span)
        no = drawn.add(p[f"{name}.no"][row], ids, 0.0, 1.0)
        drawn.apart.append((yes, no))
        near = rng.permutation(p[f"{name}.near"][row])[:1].tolist()
        far = int(rng.choice(p["written.passage"]))
        places = [yes]
        others = [*near, *([far] if far != passage else [])]
        asked = p[f"{name}.yes"][row]
        places += [drawn.add(asked, self.window(int(other), rng)[0], 0.0, EASIER) for other in others]
        drawn.lists.append(places)
        drawn.sets += [(places, True), ([no], False)]

    def _folder(self, drawn: Drawn, row: int, rng: Any) -> list[int]:
        """A question to a folder, on some of what a search found for it."""
        f = self.folders
        kind, found = int(f["kind"][row]), f["list"][row].tolist()
        steps = max(1, int(f["steps"][row])) if kind != UNANSWERED else 0
        first = [found[int(rng.integers(steps))]] if steps else []
        others = found[steps : steps + NEAREST]
        chosen = first + [others[at] for at in rng.permutation(len(others))[: OTHERS + 1 - len(first)]]
        return self._read_folder(drawn, row, chosen)

    def _read_folder(self, drawn: Drawn, row: int, chosen: list[int]) -> list[int]:
        f = self.folders
        kind, asked = int(f["kind"][row]), f["question"][row]
        places = []
        for at, passage in enumerate(chosen):
            right = at == 0 and kind != UNANSWERED
            whole = f["passages"][passage][:256]
            span = tuple(f["span"][row].tolist()) if right and kind == ANSWERED else (-1, -1)
            span = span if span[1] < len(whole) else (-1, -1)
            # One step of several does not hold the answer, and may hold a part of it.
            places.append(drawn.add(asked, whole, float(right), 0.0 if right and kind == SEVERAL else 1.0, span))
        if kind != UNANSWERED:
            drawn.lists.append(places)
        if kind != SEVERAL:
            drawn.sets.append((places, kind == ANSWERED))
        return places

    def _words(self, drawn: Drawn, yes: int, rng: Any) -> None:
        """What people type instead of questions: some words of the answered one; and pieces that say nothing."""
        asked, passage = drawn.questions[yes], drawn.passages[yes]
        kept = asked[rng.random(len(asked)) < KEPT]
        if len(kept) >= 2:
            drawn.add(kept, passage, 1.0, EASIER / 2)
        chance = rng.integers(FIRST_PIECE, PIECES, int(rng.integers(2, 10))).astype(np.uint16)
        drawn.add(chance, passage, 0.0, EASIER)

    def held_folder(self, row: int, first: int) -> dict[str, Tensor]:
        """A held-out question to a folder on the first passages of its search, the right one first."""
        drawn = Drawn()
        self._read_folder(drawn, row, self.folders["list"][row].tolist()[:first])
        return joined(drawn)

    def held(self, row: int) -> dict[str, Tensor]:
        """Both questions of a held-out passage."""
        drawn = Drawn()
        self._written(drawn, "held", row, np.random.default_rng(row))
        return joined(drawn)


def joined(drawn: Drawn) -> dict[str, Tensor]:
    """The pairs of a step as tensors; lists and answers as places, -1 where there is none."""
    batch, firsts = join_pairs(drawn.questions, drawn.passages)
    widest = max(len(places) for places, _ in drawn.sets)
    lists = _rectangle(drawn.lists, widest)
    sets = _rectangle([places for places, _ in drawn.sets], widest)
    # Behind the passages of a set stands that none of them holds the answer.
    targets = [0 if answered else widest for _, answered in drawn.sets]
    answered = [at for at, span in enumerate(drawn.spans) if span[0] >= 0]
    tokens = np.full((len(answered), 256), -1)
    for row, at in enumerate(answered):
        size = len(drawn.passages[at])
        tokens[row, :size] = np.arange(firsts[at], firsts[at] + size)
    return {
        "ids": batch.ids,
        "places": batch.places,
        "kinds": batch.kinds,
        "starts": batch.starts,
        "labels": torch.tensor(drawn.labels),
        "weights": torch.tensor(drawn.weights),
        "lists": torch.from_numpy(lists),
        "sets": torch.from_numpy(sets),
        "targets": torch.tensor(targets),
        "apart": torch.tensor(drawn.apart).reshape(-1, 2),
        "tokens": torch.from_numpy(tokens),
        "spans": torch.tensor([drawn.spans[at] for at in answered]).reshape(-1, 2),
    }


def _rectangle(rows: list[list[int]], width: int) -> Any:
    found = np.full((len(rows), width), -1)
    for at, row in enumerate(rows):
        found[at, : len(row)] = row
    return found


def loss_of(said: tuple[Tensor, Tensor], step: dict[str, Tensor], taught: tuple[Tensor, Tensor] | None) -> Tensor:
    """Against the labels, and against a teacher where there is one."""
    scores, spans = said[0].float(), said[1].float()
    holds = functional.binary_cross_entropy_with_logits(scores[:, JUDGE], step["labels"], reduction="none")
    loss = (holds * step["weights"]).sum() / step["weights"].sum()
    yes, no = step["apart"].T
    loss = loss + APART_SHARE * functional.softplus(scores[no, JUDGE] - scores[yes, JUDGE]).mean()
    within = scores[step["sets"].clamp(min=0), JUDGE].masked_fill(step["sets"] < 0, -1e4)
    within = torch.cat([within, torch.zeros_like(within[:, :1])], 1)
    loss = loss + SET_SHARE * functional.cross_entropy(within, step["targets"])
    fit = scores[step["lists"].clamp(min=0), RANK].masked_fill(step["lists"] < 0, -1e4)
    loss = loss + RANK_SHARE * -fit.log_softmax(1)[:, 0].mean()
    placed = spans[step["tokens"].clamp(min=0)].masked_fill((step["tokens"] < 0)[..., None], -1e4)
    loss = loss + SPAN_SHARE * functional.cross_entropy(placed, step["spans"])
    if taught is None:
        return loss
    soft = functional.binary_cross_entropy_with_logits(scores[:, JUDGE], taught[0][:, JUDGE].float().sigmoid())
    theirs = taught[0].float()[step["lists"].clamp(min=0), RANK].masked_fill(step["lists"] < 0, -1e4)
    soft = soft + RANK_SHARE * functional.kl_div(fit.log_softmax(1), theirs.softmax(1), reduction="batchmean")
    theirs = taught[1].float()[step["tokens"].clamp(min=0)].masked_fill((step["tokens"] < 0)[..., None], -1e4)
    near = functional.kl_div(placed.log_softmax(1), theirs.softmax(1), reduction="batchmean")
    return (1 - SOFT_SHARE) * loss + SOFT_SHARE * (2 * soft + SPAN_SHARE * near / 2)


def read(model: CrossEncoder, step: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    """(pairs, 2) of fit and holding, (tokens, 2) of start and end."""
    with torch.autocast(step["ids"].device.type, dtype=torch.bfloat16):
        scores, spans = model(Batch(step["ids"], step["places"], step["kinds"], step["starts"]))
    return scores, spans


def train(
    model: CrossEncoder,
    lessons: Lessons,
    teacher: CrossEncoder | None,
    seconds: float,
    rate: float,
    out: Path,
) -> CrossEncoder:
    """Learn until the time is up, the rate falling with the time that is left; the running mean of the weights.

    It is written to `out` now and then: what is learnt outlives a machine that is taken away.
    """
    device = str(model.words.device.type)
    taught_parts = [part for part in model.parameters() if part.requires_grad]
    groups = [
        {"params": [p for p in taught_parts if p.ndim > 1], "weight_decay": DECAY},
        {"params": [p for p in taught_parts if p.ndim == 1], "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98))
    mean = copy.deepcopy(model).eval()
    workers = WORKERS if device == "cuda" else 0
    loader = torch.utils.data.DataLoader(lessons, batch_size=None, num_workers=workers, pin_memory=device == "cuda")
    began = written = time.monotonic()
    for number, drawn in enumerate(loader):
        gone = (time.monotonic() - began) / seconds
        if gone >= 1:
            print(number, "steps", flush=True)
            return mean
        for group in optimiser.param_groups:
            group["lr"] = rate * min(gone / WARM_UP + 0.02, max(0.01, (1 - gone) / (1 - WARM_UP)))
        step = {name: value.to(device, non_blocking=True) for name, value in drawn.items()}
        model.train()
        with torch.no_grad():
            taught = None if teacher is None else read(teacher, step)
        loss = loss_of(read(model, step), step, taught)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimiser.step()
        share = min(MEAN, (number + 1) / (number + 10))
        with torch.no_grad():
            torch._foreach_lerp_(list(mean.parameters()), list(model.parameters()), 1 - share)
        if number % 100 == 0:
            print(f"step {number} loss {loss.item():.4f} {time.monotonic() - began:.0f} s", flush=True)
        if gone > HALF and time.monotonic() - written > SAVED_EVERY:
            save_model(copy.deepcopy(mean).cpu(), out)
            written = time.monotonic()
    return mean


@torch.no_grad()
def measure(model: CrossEncoder, lessons: Lessons, device: str, count: int = 600) -> dict[str, float]:
    """On held-out passages with both questions: area under ROC of "is it here", and F1 of the answer's tokens."""
    model.eval()
    by_kind: dict[str, list[tuple[float, float]]] = {}
    overlap: dict[str, list[float]] = {}
    found = measure_folders(model, lessons, device, count)
    for row in range(min(count, len(lessons.parts["held.passage"]))):
        step = {name: value.to(device) for name, value in lessons.held(row).items()}
        scores, spans = read(model, step)
        kind = str(lessons.parts["held.kind"][row])
        yes, no = scores[:2, JUDGE].float().tolist()
        by_kind.setdefault(kind, []).append((yes, no))
        if len(step["spans"]):
            tokens = step["tokens"][0]
            logits = spans[tokens[tokens >= 0]].float().cpu().numpy()
            overlap.setdefault(kind, []).append(_f1(best_span(logits), step["spans"][0].tolist()))
    for kind, pairs in sorted(by_kind.items()):
        yes_all, no_all = np.array(pairs).T
        found[f"area {kind}"] = float((yes_all[:, None] > no_all[None]).mean())
        found[f"span {kind}"] = float(np.mean(overlap[kind]))
    return found


@torch.no_grad()
def measure_folders(model: CrossEncoder, lessons: Lessons, device: str, count: int) -> dict[str, float]:
    """Of held-out questions to folders: how often the right passage is the likeliest of five, the stretch, the area."""
    best: dict[bool, list[float]] = {True: [], False: []}
    picked, fitting, overlap = [], [], []
    f = lessons.folders
    for row in lessons.left_out[:count].tolist():
        step = {name: value.to(device) for name, value in lessons.held_folder(row, 5).items()}
        scores, spans = read(model, step)
        holds = scores[:, JUDGE].float()
        answered = int(f["kind"][row]) == ANSWERED
        best[answered].append(float(holds.max()))
        if answered:
            picked.append(float(holds.argmax() == 0))
            fitting.append(float(scores[:, RANK].argmax() == 0))
            if len(step["spans"]):
                tokens = step["tokens"][0]
                logits = spans[tokens[tokens >= 0]].float().cpu().numpy()
                overlap.append(_f1(best_span(logits), step["spans"][0].tolist()))
    yes, no = np.array(best[True]), np.array(best[False])
    means = {"picked": picked, "fitting": fitting, "span": overlap}
    return {f"folders {name}": float(np.mean(values)) for name, values in means.items()} | {
        "folders area": float((yes[:, None] > no[None]).mean())
    }


def best_span(logits: np.ndarray[Any, Any], longest: int = 48) -> tuple[int, int]:
    """The likeliest first and last token."""
    best, found = -np.inf, (0, 0)
    for start, value in enumerate(logits[:, 0]):
        stop = start + int(np.argmax(logits[start : start + longest, 1]))
        if value + logits[stop, 1] > best:
            best, found = value + logits[stop, 1], (start, stop)
    return found


def _f1(said: tuple[int, int], right: list[int]) -> float:
    both = max(0, min(said[1], right[1]) - max(said[0], right[0]) + 1)
    return 2 * both / (said[1] - said[0] + right[1] - right[0] + 2)


def start_from(folder: Path, size: str) -> CrossEncoder:
    """An exported model as floats again, with an untaught end for where answers stand if it has none."""
    state = read_graph(folder, size)
    layers = 1 + max(int(name.split(".")[1]) for name in state if name.startswith("layers."))
    hidden = state["positions"].shape[1]
    words = torch.from_numpy(read_words(folder, hidden))
    model = CrossEncoder(Shape(layers, hidden, hidden // HEAD, len(state["layers.0.fi.bias"])), words)
    kept = model.state_dict()
    model.load_state_dict(
        {name: torch.from_numpy(state[name]) if name in state else value for name, value in kept.items()}
    )
    return model


def freeze(model: CrossEncoder, layers: int) -> None:
    """Leave the first layers, and what is added to the word vectors, as they are: a fifth of the time for four."""
    if not layers:
        return
    for part in (model.norm, *model.layers[:layers]):
        part.requires_grad_(False)
    for part in (model.positions, model.types):
        part.requires_grad_(False)


def cut(model: CrossEncoder) -> CrossEncoder:
    """A model of some of the layers."""
    found = copy.deepcopy(model)
    found.layers = nn.ModuleList(found.layers[at] for at in SMALL_LAYERS if at < len(model.layers))
    return found


def main() -> None:
    """Teach and measure both sizes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("lessons", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--base", type=float, default=540.0, help="seconds")
    parser.add_argument("--small", type=float, default=240.0, help="seconds")
    parser.add_argument("--measured", type=int, default=600, help="held-out questions to measure with; 0 for none")
    parser.add_argument("--part", type=float, default=1.0, help="of a step's pairs, for a machine without a GPU")
    parser.add_argument("--frozen", type=int, default=0, help="layers from the first on that stay as they are")
    options = parser.parse_args()
    torch.manual_seed(SEED)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    lessons = Lessons(options.lessons, options.part)
    options.out.mkdir(parents=True, exist_ok=True)
    base = start_from(options.folder, "base").to(device)
    for size, seconds in (("base", options.base), ("small", options.small)):
        if not seconds:
            continue
        model, teacher = (copy.deepcopy(base), None) if size == "base" else (cut(base), base)
        freeze(model, options.frozen if size == "base" else 0)
        rate = RATES[size] * options.part**0.5
        taught = train(model, lessons, teacher, seconds, rate, options.out / size)
        save_model(copy.deepcopy(taught).cpu(), options.out / size)
        if options.measured:
            found = measure(taught, lessons, device, options.measured)
            print(size, {key: round(value, 3) for key, value in found.items()}, flush=True)
            (options.out / f"{size}.held_out.json").write_text(json.dumps(found, indent=1))
        if size == "base":
            base = taught


if __name__ == "__main__":
    main()
