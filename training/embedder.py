"""Teach the embedder questions in other words and in the other language.

    python -m training.embedder LESSONS FOLDER OUT [--seconds 560]

LESSONS has the files of `training.pack`, FOLDER the word vectors (src/hybridrag/models/data/reranker). Contrastive over
questions to folders, written questions on passages of either language, pairs of one language and parallel sentences: a
batch mixes the languages, so that the nearest text of a batch is often one of the question's own language and wrong,
and most questions bring a passage that a search finds for them and that does not answer. The pooled vector and the
token vectors (projected to 128 directions, late interaction) learn together; word vectors stay. OUT gets the running
mean of the weights, embedder-*.npz, and shares.json: how the mean of untaught and taught layers finds held-out
passages, by its share. `python -m training.export_embedder` ships one. Needs torch and numpy alone; a GPU is used where
there is one.
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

from training.net import END, START, Batch, CrossEncoder, Shape, save_model
from training.ragged import load
from training.read_back import read_words

SEED = 17
START_FILE = "start.npz"
"""The untaught layers, as `training.pack` writes them beside the lessons."""
LONGEST_QUERY, SHORTEST, LONGEST = 48, 24, 200
FOLDERS, WRITTEN, PARALLEL, PAIRS = 64, 96, 64, 192
"""Questions of a step by their source."""
LATE = 96
"""Questions of a step whose token vectors learn too: from the first on, so of every source but the last."""
WORDS_ALONE, KEPT = 0.1, 0.5
"""How many questions come as bare pieces, and the share of their pieces that stays."""
TEMPERATURE, LATE_TEMPERATURE = 0.02, 0.03
LATE_SHARE = 0.3
RATE, PROJECTION_RATE, WARM_UP, DECAY, MEAN = 6e-5, 2e-4, 0.05, 0.01, 0.998
UNANSWERED, ANSWERED, SEVERAL = 0, 1, 2
"""Kinds of questions to folders, as `training.pack` writes them."""
WORKERS = 8
SHARES = (0.0, 0.5, 0.65, 0.8, 0.9, 1.0)
DISTRACTORS = 3000
AT_ONCE = 64

Ids = Any


@dataclass
class Drawn:
    """A step: questions, the passage that each should find, and passages that it should not."""

    questions: list[Ids] = field(default_factory=list)
    passages: list[Ids] = field(default_factory=list)
    names: list[tuple[str, int]] = field(default_factory=list)
    """Of each passage: the same one twice is not wrong for either question."""
    wrong: list[Ids] = field(default_factory=list)


class Lessons(torch.utils.data.IterableDataset[dict[str, Tensor]]):
    """What a step is drawn from, without end."""

    def __init__(self, path: Path) -> None:
        self.parts = load(path / "lessons.npz")
        self.folders = load(path / "folders.npz")
        self.query, self.passage = (self.folders[f"prefix.{name}"] for name in ("query", "passage"))
        answered = (self.folders["kind"] != UNANSWERED) & ~self.folders["held"]
        self.taught = np.flatnonzero(answered)

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        info = torch.utils.data.get_worker_info()
        rng = np.random.default_rng(SEED + (info.id if info else 0))
        while True:
            yield self.joined(self.step(rng))

    def step(self, rng: Any) -> Drawn:
        """A mix of all kinds, with as many wrong passages beside them as there are."""
        drawn, p, f = Drawn(), self.parts, self.folders
        for row in rng.choice(self.taught, FOLDERS).tolist():
            steps, found = max(1, int(f["steps"][row])), f["list"][row].tolist()
            right = found[int(rng.integers(steps))]
            others = found[steps:]
            wrong = f["passages"][others[int(rng.integers(len(others)))]] if others else None
            self._add(drawn, f["question"][row], f["passages"][right], ("folder", right), wrong, rng)
        for name, count in (("written", WRITTEN), ("pairs", PAIRS)):
            asked = "yes" if name == "written" else "question"
            for row in rng.integers(0, len(p[f"{name}.passage"]), count).tolist():
                passage, near = int(p[f"{name}.passage"][row]), p[f"{name}.near"][row]
                wrong = self.window(int(rng.choice(near)), rng) if len(near) else None
                ids = self.window(passage, rng, p[f"{name}.span"][row])
                self._add(drawn, p[f"{name}.{asked}"][row], ids, ("passage", passage), wrong, rng)
        for row in rng.integers(0, len(p["parallel.a"]), PARALLEL).tolist():
            sides = [p["parallel.a"][row], p["parallel.b"][row]]
            if rng.random() < 0.5:
                sides.reverse()
            self._add(drawn, sides[0], sides[1], ("parallel", row), None, rng)
        return drawn

    def _add(self, drawn: Drawn, question: Ids, passage: Ids, name: tuple[str, int], wrong: Ids, rng: Any) -> None:
        if rng.random() < WORDS_ALONE and len(question) > 3:
            question = question[rng.random(len(question)) < KEPT]
        drawn.questions.append(question[:LONGEST_QUERY])
        drawn.passages.append(passage[:LONGEST])
        drawn.names.append(name)
        if wrong is not None:
            drawn.wrong.append(wrong[:LONGEST])

    def window(self, passage: int, rng: Any, span: Any = None) -> Ids:
        """A stretch of a passage, with the answer inside."""
        ids = self.parts["passages"][passage]
        size = int(rng.integers(SHORTEST, LONGEST + 1))
        low, high = 0, max(0, len(ids) - size)
        if span is not None and span[0] >= 0:
            size = max(size, int(span[1] - span[0]) + 1)
            low, high = max(0, int(span[1]) + 1 - size), min(int(span[0]), max(0, len(ids) - size))
        start = low if rng.random() < 0.5 or high <= low else int(rng.integers(low, high + 1))
        return ids[start : start + size]

    def joined(self, drawn: Drawn) -> dict[str, Tensor]:
        """The texts of a step, one after the other."""
        texts = [np.concatenate([self.query, ids]) for ids in drawn.questions]
        texts += [np.concatenate([self.passage, ids]) for ids in (*drawn.passages, *drawn.wrong)]
        numbers = {name: at for at, name in enumerate(dict.fromkeys(drawn.names))}
        return batch_of(texts) | {"names": torch.tensor([numbers[name] for name in drawn.names])}


def batch_of(texts: list[Ids]) -> dict[str, Tensor]:
    """`<s> ids </s>` of every text."""
    whole = [np.concatenate([[START], ids, [END]]) for ids in texts]
    sizes = [len(ids) for ids in whole]
    return {
        "ids": torch.from_numpy(np.concatenate(whole).astype(np.int64)),
        "places": torch.from_numpy(np.concatenate([np.arange(size) for size in sizes])),
        "starts": torch.tensor(np.cumsum([0, *sizes]), dtype=torch.int32),
    }


def encode(model: CrossEncoder, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Pooled vectors at length one, and all token vectors."""
    kinds = torch.zeros_like(batch["ids"])
    state = model.encode(Batch(batch["ids"], batch["places"], kinds, batch["starts"])).float()
    sizes = batch["starts"].diff().long()
    owner = torch.repeat_interleave(torch.arange(len(sizes), device=state.device), sizes)
    total = torch.zeros(len(sizes), state.shape[1], device=state.device).index_add(0, owner, state)
    return functional.normalize(total / sizes[:, None], dim=1), state


def padded(state: Tensor, starts: Tensor, rows: range, skip: int) -> tuple[Tensor, Tensor]:
    """(texts, tokens, size) of some texts without start mark, prefix and end, and which places hold a token."""
    first, last = starts[rows.start : rows.stop].long() + 1 + skip, starts[rows.start + 1 : rows.stop + 1].long() - 1
    places = first[:, None] + torch.arange(int((last - first).max()), device=state.device)
    there = places < last[:, None]
    return state[places.clamp(max=len(state) - 1)], there


def late_scores(asked: tuple[Tensor, Tensor], told: tuple[Tensor, Tensor]) -> Tensor:
    """(questions, passages): the mean over a question's tokens of the nearest token of the passage."""
    (left, here), (right, there) = asked, told
    with torch.autocast(left.device.type, dtype=torch.bfloat16):
        near = torch.einsum("qid,pjd->qpij", left, right)
    best = near.masked_fill(~there[None, :, None, :], -1.0).amax(3).float()
    return (best * here[:, None]).sum(2) / here.sum(1)[:, None].clamp(min=1)


def loss_of(model: CrossEncoder, projection: Tensor, step: dict[str, Tensor], skip: tuple[int, int]) -> Tensor:
    """Every question finds its passage among all passages of the step, and every passage its question."""
    with torch.autocast(step["ids"].device.type, dtype=torch.bfloat16):
        pooled, state = encode(model, step)
    names, count = step["names"], len(step["names"])
    right = torch.arange(count, device=pooled.device)
    same = (names[:, None] == names[None]) & (right[:, None] != right[None])
    scores = pooled[:count] @ pooled[count:].T / TEMPERATURE
    scores[:, :count] = scores[:, :count].masked_fill(same, -1e4)
    loss = functional.cross_entropy(scores, right) + 0.5 * functional.cross_entropy(scores[:, :count].T, right)
    short = functional.normalize(state @ projection, dim=1)
    asked = padded(short, step["starts"], range(LATE), skip[0])
    told = padded(short, step["starts"], range(count, count + LATE), skip[1])
    wrong = padded(short, step["starts"], range(2 * count, 2 * count + LATE), skip[1])
    late = torch.cat([late_scores(asked, told).masked_fill(same[:LATE, :LATE], -1.0), late_scores(asked, wrong)], 1)
    return loss + LATE_SHARE * functional.cross_entropy(late / LATE_TEMPERATURE, right[:LATE])


def train(
    model: CrossEncoder, projection: nn.Parameter, lessons: Lessons, seconds: float, device: str
) -> tuple[CrossEncoder, Tensor]:
    """Learn until the time is up, the rate falling with the time that is left; the running mean of the weights."""
    groups = [
        {"params": [p for p in model.parameters() if p.ndim > 1], "lr": RATE, "weight_decay": DECAY},
        {"params": [p for p in model.parameters() if p.ndim == 1], "lr": RATE, "weight_decay": 0.0},
        {"params": [projection], "lr": PROJECTION_RATE, "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, betas=(0.9, 0.98))
    rates = [group["lr"] for group in groups]
    mean, mean_projection = copy.deepcopy(model).eval(), projection.detach().clone()
    skip = (len(lessons.query), len(lessons.passage))
    workers = WORKERS if device == "cuda" else 0
    loader = torch.utils.data.DataLoader(lessons, batch_size=None, num_workers=workers, pin_memory=device == "cuda")
    began = time.monotonic()
    for number, drawn in enumerate(loader):
        gone = (time.monotonic() - began) / seconds
        if gone >= 1:
            print(number, "steps", flush=True)
            break
        for group, rate in zip(optimiser.param_groups, rates, strict=True):
            group["lr"] = rate * min(gone / WARM_UP + 0.02, max(0.01, (1 - gone) / (1 - WARM_UP)))
        model.train()
        loss = loss_of(model, projection, {key: value.to(device) for key, value in drawn.items()}, skip)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        share = 1 - min(MEAN, (number + 1) / (number + 10))
        with torch.no_grad():
            torch._foreach_lerp_(list(mean.parameters()), list(model.parameters()), share)
            mean_projection.lerp_(projection, share)
        if number % 50 == 0:
            print(f"step {number} loss {loss.item():.4f} {time.monotonic() - began:.0f} s", flush=True)
    return mean, mean_projection


@torch.no_grad()
def measure(model: CrossEncoder, lessons: Lessons, device: str) -> dict[str, float]:
    """How often a held-out question has its passage first, by kind; in its folder, or among passages of all kinds."""
    model.eval()
    p, f, rng = lessons.parts, lessons.folders, np.random.default_rng(SEED)

    def vectors(prefix: Ids, texts: list[Ids]) -> Tensor:
        found = []
        for at in range(0, len(texts), AT_ONCE):
            batch = batch_of([np.concatenate([prefix, ids[:LONGEST]]) for ids in texts[at : at + AT_ONCE]])
            with torch.autocast(device, dtype=torch.bfloat16):
                found.append(encode(model, {key: value.to(device) for key, value in batch.items()})[0])
        return torch.cat(found)

    rows = range(len(p["held.passage"]))
    told = [lessons.window(int(p["held.passage"][row]), rng, p["held.span"][row]) for row in rows]
    others = [lessons.window(int(at), rng) for at in rng.integers(0, len(p["passages"]), DISTRACTORS)]
    pool = vectors(lessons.passage, told + others)
    first = (vectors(lessons.query, [p["held.yes"][row] for row in rows]) @ pool.T).argmax(1).tolist()
    hits: dict[str, list[bool]] = {}
    for row in rows:
        hits.setdefault(str(p["held.kind"][row]), []).append(first[row] == row)
    for row in np.flatnonzero(f["held"] & (f["kind"] == ANSWERED)).tolist():
        found = f["list"][row].tolist()
        scores = (
            vectors(lessons.query, [f["question"][row]]) @ vectors(lessons.passage, [f["passages"][n] for n in found]).T
        )
        hits.setdefault("folders", []).append(bool(scores.argmax() == 0))
        hits.setdefault(f"folders {f['type'][row]}", []).append(bool(scores.argmax() == 0))
    return {kind: float(np.mean(right)) for kind, right in sorted(hits.items())}


def read_start(path: Path, folder: Path) -> tuple[CrossEncoder, nn.Parameter]:
    """The untaught model and its projection."""
    with np.load(path / START_FILE) as file:
        parts = {name: file[name] for name in file.files}
    layers, hidden, heads, wide = parts.pop("shape").tolist()
    projection = nn.Parameter(torch.from_numpy(parts.pop("projection").astype(np.float32)))
    model = CrossEncoder(Shape(layers, hidden, heads, wide), torch.from_numpy(read_words(folder, hidden)))
    state = model.state_dict()
    for name in [name for name in parts if not name.endswith("/scale")]:
        value = parts[name].astype(np.float32)
        scale = parts.get(f"{name}/scale")
        state[name] = torch.from_numpy(value if scale is None else value * scale).reshape(state[name].shape)
    model.load_state_dict(state)
    return model, projection


def model_state(model: CrossEncoder) -> dict[str, Tensor]:
    """A copy of what is learnt."""
    return {name: value.clone() for name, value in model.state_dict().items()}


def main() -> None:
    """Teach, and keep the running mean."""
    parser = argparse.ArgumentParser()
    parser.add_argument("lessons", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=560.0)
    options = parser.parse_args()
    torch.manual_seed(SEED)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    lessons = Lessons(options.lessons)
    model, projection = read_start(options.lessons, options.folder)
    model, projection = model.to(device), nn.Parameter(projection.detach().to(device))
    taught, mean_projection = train(model, projection, lessons, options.seconds, device)
    options.out.mkdir(parents=True, exist_ok=True)
    before, after = model_state(read_start(options.lessons, options.folder)[0]), model_state(taught)
    found = {}
    for share in SHARES:
        taught.load_state_dict({name: (1 - share) * before[name].to(device) + share * after[name] for name in after})
        found[str(share)] = measure(taught, lessons, device)
        print(share, {kind: round(value, 3) for kind, value in found[str(share)].items()}, flush=True)
    (options.out / "shares.json").write_text(json.dumps(found, indent=1))
    save_model(taught.cpu(), options.out / "embedder")
    np.save(options.out / "projection.npy", mean_projection.cpu().numpy())


if __name__ == "__main__":
    main()
