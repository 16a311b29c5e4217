"""Teach the reader: how well a passage fits a question, whether it holds the answer, and where that stands.

    python -m training.reader DATA FOLDER OUT --size base [--minutes 40]
    python -m training.reader DATA FOLDER OUT --size small --teacher OUT [--minutes 15]

FOLDER has exported models to go on from (src/hybridrag/models/data/reranker). What counts most for "is it here" are
the written questions: each passage with a question that it answers and one much like it that it does not. Pairs with
other passages of the same article keep the order of results; judged pairs and passages of other questions are the easy
cases. OUT gets SIZE-*.npz for `training.export`, and SIZE.held_out.json.
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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hybridrag.models.align_text import normalise
from hybridrag.models.own_reranker import QUESTION_TOKENS, UNKNOWN_ID
from hybridrag.models.unigram import WORD_START
from training.batches import SEED, join, read_passages, read_written, save_model
from training.net import HEAD, JUDGE, RANK, CrossEncoder, Shape
from training.read_back import read_graph, read_words
from training.texts import JUDGE as JUDGED
from training.texts import PAIRS, QuickTokenizer, read_rows

LONGEST = 200
"""Tokens of a passage: those of a chunk."""
WRITTEN, LISTS, JUDGED_PAIRS = 8, 3, 4
"""Of a step: passages with both of their questions, lists of a passage and two others, judged pairs."""
RATE, SMALL_RATE, WARM_UP, DECAY = 4e-5, 8e-5, 0.06, 0.01
SPAN_SHARE, RANK_SHARE, SOFT_SHARE = 0.5, 0.7, 0.6
TEMPERATURE = 2.0
MEASURED_TWICE = 500
NOWHERE = 1e4


@dataclass(frozen=True, slots=True)
class Example:
    """A question on a passage."""

    question: list[int]
    passage: list[int]
    holds: float
    span: tuple[int, int] | None = None
    """First and last token of the answer, within the passage."""
    group: int = -1
    """Examples of one question, of which the first is the right one; -1 for none."""


class Texts:
    """Texts as ids of the reader's vocabulary, passages with the place of an answer."""

    def __init__(self, folder: Path) -> None:
        pieces = (folder / "pieces.txt").read_bytes().decode("utf-8").split("\n")
        scores = np.load(folder / "scores.npy", allow_pickle=False).tolist()
        self._quick = QuickTokenizer(pieces[: len(scores)], scores, unknown_id=UNKNOWN_ID)
        self._kept: dict[str, tuple[list[int], list[tuple[int, int]], str]] = {}

    def question(self, text: str) -> list[int]:
        """The ids of a question."""
        return next(iter(self._quick.many([text], limit=QUESTION_TOKENS)))

    def passage(self, text: str, answer: str = "", start: int = 0) -> tuple[list[int], tuple[int, int] | None]:
        """The ids of a passage from token `start` on, and the tokens of the answer in them."""
        marked = " ".join(WORD_START + word for word in normalise(text).split())
        encoded = self._quick._tokenizer.encode(marked, add_special_tokens=False)  # noqa: SLF001 (with its offsets)
        ids, offsets = encoded.ids, encoded.offsets
        span = _span(marked, offsets, answer) if answer else None
        if span is not None and span[1] >= LONGEST:
            start = max(0, min(span[0] - LONGEST // 3, len(ids) - LONGEST))
        ids = ids[start : start + LONGEST]
        if span is None or span[1] - start >= len(ids):
            return ids, None
        return ids, (span[0] - start, span[1] - start)


def _span(marked: str, offsets: Sequence[tuple[int, int]], answer: str) -> tuple[int, int] | None:
    places = [at for at, letter in enumerate(marked) if letter not in (WORD_START, " ")]
    bare = "".join(marked[at] for at in places)
    wanted = "".join(normalise(answer).split())
    at = bare.find(wanted)
    if at < 0 or not wanted:
        return None
    first, last = places[at], places[at + len(wanted) - 1]
    inside = [n for n, (start, end) in enumerate(offsets) if start <= last and end > first]
    return (inside[0], inside[-1]) if inside else None


class Lessons:
    """What a step is drawn from."""

    def __init__(self, data: Path, folder: Path) -> None:
        self.texts = Texts(folder)
        self.passages = read_passages(data)
        self.written, self.held = read_written(data)
        hidden = {row["p"] for row in self.held}
        self.lists = [row for row in read_rows(data, PAIRS) if len(row["neg"]) > 1 and row["pos"] not in hidden]
        self.judged = [row for row in read_rows(data, JUDGED) if row["p"] not in hidden]
        self.by_language = {lang: [row["p"] for row in self.written if row["pl"] == lang] for lang in ("en", "ja")}
        self._waiting: list[dict[str, Any]] = []

    def step(self, rng: random.Random) -> list[Example]:
        """A mix of all kinds."""
        if len(self._waiting) < WRITTEN:
            self._waiting = rng.sample(self.written, len(self.written))
        rows = [self._waiting.pop() for _ in range(WRITTEN)]
        found: list[Example] = []
        for group, row in enumerate(rows):
            found += self.of_written(row, group, rng)
        for group, row in enumerate(rng.sample(self.lists, LISTS), start=WRITTEN):
            asked = self.texts.question(row["q"])
            ids, span = self.texts.passage(self.passages[row["pos"]], row["a"])
            found.append(Example(asked, ids, 1.0, span, group))
            others = [n for n in rng.sample(row["neg"], 2) if not row["a"] or row["a"] not in self.passages[n]]
            found += [Example(asked, self.texts.passage(self.passages[n])[0], 0.0, None, group) for n in others]
        for row in rng.sample(self.judged, JUDGED_PAIRS):
            found.append(
                Example(self.texts.question(row["q"]), self.texts.passage(self.passages[row["p"]])[0], float(row["y"]))
            )
        return found

    def of_written(self, row: dict[str, Any], group: int, rng: random.Random) -> list[Example]:
        """Both questions on their passage, and the answered one on some passage in the question's own language."""
        asked = self.texts.question(row["yes"])
        ids, span = self.texts.passage(self.passages[row["p"]], row["a"])
        start = 0
        if span is not None and len(ids) == LONGEST:
            full = self.texts.passage(self.passages[row["p"]])[0]
            start = 0 if full == ids else -1
        if start == 0:
            missing = Example(self.texts.question(row["no"]), ids, 0.0)
        else:
            missing = Example(self.texts.question(row["no"]), self.texts.passage(self.passages[row["p"]])[0], 0.0)
        found = [Example(asked, ids, 1.0, span, group), missing]
        if rng.random() < 0.5:
            other = rng.choice(self.by_language[row["ql"]])
            if other != row["p"]:
                found.append(Example(asked, self.texts.passage(self.passages[other])[0], 0.0, None, group))
        return found


def read(model: CrossEncoder, examples: Sequence[Example]) -> tuple[Tensor, list[Tensor]]:
    """(examples, 2) of fit and holding, and for each example (tokens of the passage, 2) of start and end."""
    texts, kinds = [], []
    for one in examples:
        texts.append([*one.question, 2, *one.passage])
        kinds.append([0] * (len(one.question) + 1) + [1] * len(one.passage))
    scores, spans = model(join(texts, kinds))
    sizes = [len(ids) + 2 for ids in texts]
    parts = spans.float().split(sizes)
    return scores.float(), [part[len(one.question) + 2 : -1] for part, one in zip(parts, examples, strict=True)]


def loss_of(
    said: tuple[Tensor, list[Tensor]], examples: Sequence[Example], taught: tuple[Tensor, list[Tensor]] | None
) -> Tensor:
    """Against the labels, and against a teacher where there is one."""
    scores, spans = said
    labels = torch.tensor([one.holds for one in examples])
    weight = torch.tensor([1.0 if one.group < WRITTEN else 0.5 for one in examples])
    loss = functional.binary_cross_entropy_with_logits(scores[:, JUDGE], labels, weight)
    groups: dict[int, list[int]] = {}
    for at, one in enumerate(examples):
        if one.group >= 0:
            groups.setdefault(one.group, []).append(at)
    lists = [scores[places, RANK] for places in groups.values() if len(places) > 1]
    if lists:
        order = torch.stack(
            [functional.cross_entropy(row[None], torch.zeros(1, dtype=torch.long)) for row in lists]
        ).mean()
        loss = loss + RANK_SHARE * order
    placed = [(part, one.span) for part, one in zip(spans, examples, strict=True) if one.span is not None]
    if placed:
        found = [functional.cross_entropy(part.T, torch.tensor(span)) for part, span in placed]
        loss = loss + SPAN_SHARE * torch.stack(found).mean()
    if taught is None:
        return loss
    soft = functional.binary_cross_entropy_with_logits(scores[:, JUDGE], taught[0][:, JUDGE].sigmoid())
    apart = functional.smooth_l1_loss(
        scores[:, RANK] - scores[:, RANK].mean(), taught[0][:, RANK] - taught[0][:, RANK].mean()
    )
    near = [
        functional.kl_div(
            functional.log_softmax(mine / TEMPERATURE, 0),
            functional.log_softmax(theirs / TEMPERATURE, 0),
            log_target=True,
            reduction="sum",
        )
        for mine, theirs, one in zip(spans, taught[1], examples, strict=True)
        if one.span is not None
    ]
    soft = 2 * soft + 0.2 * apart + SPAN_SHARE * (torch.stack(near).mean() if near else 0.0)
    return (1 - SOFT_SHARE) * loss + SOFT_SHARE * soft


def train(model: CrossEncoder, lessons: Lessons, teacher: CrossEncoder | None, minutes: float, rate: float) -> int:
    """Learn until the time is up; the rate falls with the time that is left."""
    groups = [
        {"params": [p for p in model.parameters() if p.ndim > 1], "weight_decay": DECAY},
        {"params": [p for p in model.parameters() if p.ndim == 1], "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98))
    rng, began, number, mean = random.Random(SEED), time.monotonic(), 0, 0.0
    while True:
        gone = (time.monotonic() - began) / (60 * minutes)
        if gone >= 1:
            return number
        for group in optimiser.param_groups:
            group["lr"] = rate * min(gone / WARM_UP + 0.02, max(0.01, (1 - gone) / (1 - WARM_UP)))
        model.train()
        examples = lessons.step(rng)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            taught = None
            if teacher is not None:
                with torch.no_grad():
                    taught = read(teacher, examples)
            said = read(model, examples)
        loss = loss_of(said, examples, taught)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        mean = 0.95 * mean + 0.05 * loss.item() if number else loss.item()
        if number % 25 == 0:
            print(f"step {number} loss {mean:.4f} {time.monotonic() - began:.0f} s", flush=True)
        number += 1


@torch.no_grad()
def measure(model: CrossEncoder, lessons: Lessons, count: int = MEASURED_TWICE) -> dict[str, float]:
    """On held-out passages with both questions: area under ROC of "is it here", and F1 of the answer's tokens."""
    model.eval()
    by_kind: dict[str, list[tuple[float, float]]] = {}
    overlap: dict[str, list[float]] = {}
    rng = random.Random(SEED)
    for row in lessons.held[:count]:
        examples = lessons.of_written(row, 0, rng)[:2]
        with torch.autocast("cpu", dtype=torch.bfloat16):
            scores, spans = read(model, examples)
        kind = f"{row['ql']} on {row['pl']}"
        by_kind.setdefault(kind, []).append((float(scores[0, JUDGE]), float(scores[1, JUDGE])))
        if examples[0].span is not None:
            overlap.setdefault(kind, []).append(_f1(best_span(spans[0].numpy()), examples[0].span))
    found = {}
    for kind, pairs in sorted(by_kind.items()):
        yes, no = np.array(pairs).T
        found[f"area {kind}"] = float((yes[:, None] > no[None]).mean())
        found[f"span {kind}"] = float(np.mean(overlap[kind]))
    return found


def best_span(logits: np.ndarray[Any, Any], longest: int = 48) -> tuple[int, int]:
    """The likeliest first and last token."""
    best, found = -np.inf, (0, 0)
    for start, value in enumerate(logits[:, 0]):
        stop = start + int(np.argmax(logits[start : start + longest, 1]))
        if value + logits[stop, 1] > best:
            best, found = value + logits[stop, 1], (start, stop)
    return found


def _f1(said: tuple[int, int], right: tuple[int, int]) -> float:
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


def main() -> None:
    """Teach and measure one size."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--size", default="base")
    parser.add_argument("--teacher", type=Path, help="where a taught base lies")
    parser.add_argument("--minutes", type=float, default=40.0)
    options = parser.parse_args()
    torch.manual_seed(SEED)
    lessons = Lessons(options.data, options.folder)
    print(len(lessons.written), "written,", len(lessons.held), "held out,", len(lessons.lists), "lists", flush=True)
    model, teacher = start_from(options.folder, options.size), None
    print("before", {key: round(value, 3) for key, value in measure(model, lessons, 120).items()}, flush=True)
    if options.teacher:
        teacher = start_from(options.folder, "base")
        parts: dict[str, Any] = {}
        for path in sorted(options.teacher.glob("base-*.npz")):
            with np.load(path) as file:
                parts |= {key: torch.from_numpy(file[key].astype(np.float32)) for key in file.files}
        teacher.load_state_dict(parts, strict=False)
        teacher.eval()
    count = train(model, lessons, teacher, options.minutes, RATE if options.size == "base" else SMALL_RATE)
    options.out.mkdir(parents=True, exist_ok=True)
    save_model(model, options.out / options.size)
    found = measure(model, lessons)
    print(count, "steps", {key: round(value, 3) for key, value in found.items()}, flush=True)
    (options.out / f"{options.size}.held_out.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
