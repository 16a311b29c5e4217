"""Teach a trained model what people said of whole sets of passages: do they hold the answer?

    python -m training.labelled WORK FOLDER OUT --size base [--deals 3]

WORK has what `training.pack_labelled` wrote, FOLDER exported models to start from. OUT gets the model, and
taught_reads.npz: what is said of each case by a model that was taught without its fold, `--deals` times.

Nobody labelled single passages, so the loss is on the likeliest of a set; how the passages are ordered stays as it was.
"""

# mypy: disable-error-code="import-not-found", disallow-subclassing-any=False, disallow-untyped-decorators=False
# mypy: warn-return-any=False, warn-unused-ignores=False
# (torch is needed here alone, and is not installed where types are checked)

# ruff: noqa: T201 (a step says what it did)

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from training.fit import NOWHERE, save_model
from training.net import HEAD, JUDGE, RANK, CrossEncoder, Shape, mixed, start_on
from training.ragged import load
from training.read_back import read_graph, read_words
from training.sets import likeliest
from training.tables import Ints, Table, score_pairs

SEED = 11
FOLDS = 5
SETS = 32
"""In a step."""
RATE, LINE_RATE = 6e-5, 2e-2
"""Of the model, and of the line that turns what it says of a set into a chance."""
ROUNDS = 8
WEIGHTS = {"squad2_1000": 0.4, "split_niilc_dev": 0.4}
"""How often a set is drawn, against 1 for those that people judged as a whole, which are fewer."""
DECAY, WARM_UP = 0.01, 0.1
READ_AT_ONCE = 100

State = dict[str, Tensor]


@dataclass(slots=True)
class Teaching:
    """The sets, a model that is taught again and again, and what it was and said at the start."""

    data: dict[str, Any]
    questions: Table
    passages: Table
    model: CrossEncoder
    start: State
    first: list[Tensor]

    @classmethod
    def prepare(cls, work: Path, folder: Path, size: str, device: torch.device) -> Teaching:
        """Read everything."""
        data, state = load(work / "labelled.npz"), read_graph(folder, size)
        layers = 1 + max(int(name.split(".")[1]) for name in state if name.startswith("layers."))
        hidden = state["positions"].shape[1]
        words = torch.from_numpy(read_words(folder, hidden))
        words = words.to(torch.bfloat16 if device.type == "cuda" else torch.float32)
        model = CrossEncoder(Shape(layers, hidden, hidden // HEAD, len(state["layers.0.fi.bias"])), words)
        model.load_state_dict(
            {
                name: torch.from_numpy(state[name]) if name in state else value
                for name, value in model.state_dict().items()
            }
        )
        model.to(device)
        questions, passages = (Table.build(data[name], device) for name in ("questions", "passages"))
        start = {name: value.clone() for name, value in model.state_dict().items()}
        found = cls(data, questions, passages, model, start, [])
        found.first = [torch.from_numpy(said).to(device) for said in found.read(np.arange(len(data["label"])))]
        return found

    def read(self, cases: Ints) -> list[NDArray[np.float32]]:
        """(passages, 2) for each case."""
        self.model.eval()
        said = []
        with torch.no_grad():
            for at in range(0, len(cases), READ_AT_ONCE):
                said += [part.cpu().numpy() for part in self.answers(cases[at : at + READ_AT_ONCE].tolist())]
        return said

    def answers(self, cases: Sequence[int]) -> list[Tensor]:
        """The same with gradients."""
        sets = [self.data["sets"][case].astype(np.int64) for case in cases]
        left = np.repeat(np.array(cases, dtype=np.int64), [len(one) for one in sets])
        with mixed(self.questions.ids.device):
            said = score_pairs(self.model, self.questions, self.passages, left, np.concatenate(sets))
        return list(said.float().split([len(one) for one in sets]))

    def teach(self, cases: Ints, seed: int) -> None:
        """From the start again, on these cases."""
        torch.manual_seed(seed)
        self.model.load_state_dict(self.start)
        self.model.train()
        data, device = self.data, self.questions.ids.device
        weights = np.array([WEIGHTS.get(str(name), 1.0) for name in data["source_names"]])[data["source"][cases]]
        steps = max(1, int(ROUNDS * weights.sum() / SETS))
        lines = Lines(len(data["source_names"])).to(device)
        learnt = [value for name, value in self.model.named_parameters() if not name.startswith("span")]
        groups = [
            {"params": learnt, "lr": RATE, "weight_decay": DECAY},
            {"params": list(lines.parameters()), "lr": LINE_RATE},
        ]
        optimiser = torch.optim.AdamW(groups, betas=(0.9, 0.98), weight_decay=0.0)
        warm = max(1, int(WARM_UP * steps))
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimiser, [lambda step: min((step + 1) / warm, (steps - step) / steps), lambda _: 1.0]
        )
        for some in _drawn(cases, weights, steps, seed):
            loss = self._loss(some, lines)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(learnt, 1.0)
            optimiser.step()
            schedule.step()

    def _loss(self, cases: list[int], lines: Lines) -> Tensor:
        device = self.questions.ids.device
        said, before = self.answers(cases), [self.first[case] for case in cases]
        holds, fit, first = (_filled([part[:, column] for part in parts])
                             for parts, column in ((said, JUDGE), (said, RANK), (before, RANK)))  # fmt: skip
        odds = likeliest(holds, holds > -NOWHERE)
        rows = [
            torch.from_numpy(self.data[name][cases].astype(np.int64)).to(device)
            for name in ("source", "japanese", "label")
        ]
        judged = functional.binary_cross_entropy_with_logits(lines(odds, *rows[:2]), rows[2].float())
        order = functional.kl_div(fit.log_softmax(1), first.softmax(1), reduction="batchmean")
        return judged + order


class Lines(nn.Module):
    """Turns what is said of a set into log-odds: a slope for each language, a shift for each source.

    So a model need not learn how often the sets of one source suffice.
    """

    def __init__(self, sources: int) -> None:
        super().__init__()
        self.slopes = nn.Parameter(torch.full((2,), 0.5))
        self.shifts = nn.Parameter(torch.zeros(sources))

    def forward(self, said: Tensor, source: Tensor, japanese: Tensor) -> Tensor:
        """Of as many sets as were said."""
        return said * self.slopes[japanese].abs() + self.shifts[source]


def _filled(parts: list[Tensor]) -> Tensor:
    """Sets of different sizes as rows, what is missing far below everything."""
    return nn.utils.rnn.pad_sequence(parts, batch_first=True, padding_value=-NOWHERE)


def _drawn(cases: Ints, weights: NDArray[np.float64], steps: int, seed: int) -> Iterator[list[int]]:
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        yield rng.choice(cases, min(SETS, len(cases)), replace=False, p=weights / weights.sum()).tolist()


def read_apart(teaching: Teaching, folds: NDArray[np.uint8], seed: int) -> NDArray[np.float16]:
    """(held, passages of all cases, 2): with fold `held` put aside, each case by a model that saw neither fold.

    Cases of the fold that is put aside are read by a model that saw all others; what was never taught, too.
    """
    taught, sets = teaching.data["taught"] == 1, teaching.data["sets"]
    found = np.zeros((FOLDS, len(sets.values), 2), dtype=np.float16)

    def note(held: int, cases: Ints) -> None:
        for case, said in zip(cases.tolist(), teaching.read(cases), strict=True):
            found[held, sets.starts[case] : sets.starts[case + 1]] = said

    for held in range(FOLDS):
        teaching.teach(np.flatnonzero(taught & (folds != held)), seed + held)
        note(held, np.flatnonzero(~taught | (folds == held)))
    for one, other in itertools.combinations(range(FOLDS), 2):
        rest = np.flatnonzero(taught & (folds != one) & (folds != other))
        teaching.teach(rest, seed + FOLDS + one * FOLDS + other)
        note(one, np.flatnonzero(taught & (folds == other)))
        note(other, np.flatnonzero(taught & (folds == one)))
    return found


def main() -> None:
    """Teach one size."""
    parser = argparse.ArgumentParser()
    parser.add_argument("work", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--size", choices=("base", "small"), default="base")
    parser.add_argument("--deals", type=int, default=3)
    options = parser.parse_args()
    began = time.monotonic()
    teaching = Teaching.prepare(options.work, options.folder, options.size, start_on(SEED))
    options.out.mkdir(parents=True, exist_ok=True)
    teaching.teach(np.flatnonzero(teaching.data["taught"] == 1), SEED)
    save_model(teaching.model, options.out / options.size)
    print(f"taught after {time.monotonic() - began:.0f} s", flush=True)
    reads = []
    for deal in range(options.deals):
        folds = teaching.data["folds"][deal]
        reads.append(read_apart(teaching, folds, SEED + 1000 * (deal + 1)))
        print(f"deal {deal} after {time.monotonic() - began:.0f} s", flush=True)
        known = {"keys": teaching.data["keys"], "starts": teaching.data["sets"].starts}
        np.savez_compressed(options.out / "taught_reads.npz", reads=np.array(reads), **known)


if __name__ == "__main__":
    main()
