"""Turn a model's answers into probabilities, per language, on held-out training questions.

    python -m training.calibrate WORK TARGET NAME ... [--questions 200] [--judge-only] [--plot FILE]

A held-out question gets its passage, others of the same article, and those of a quarter of all passages that share most
rare words with it, less those that hold the answer: eight in all. That is about what a search hands in, so "0.7" means:
of such passages with this score, seven in ten answer. Whether a set holds the answer is fitted on the same lists, half
of them without the right passage. Half of the questions are fitted on, the
other half says how far the probabilities are to be trusted (`--plot` draws it); then all of them are fitted on.
"""

# ruff: noqa: T201 (a step says what it did)

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridrag.evaluate.plots import Line
from hybridrag.evaluate.plots import lines as draw_lines
from hybridrag.models.own_reranker import CALIBRATION_FILE, FIT, HOLDS, open_engine
from training.ragged import load

SEED = 7
HELD_OUT = 50
LIST_SIZE = 8
POOL = 4
"""One passage in so many is among those that neighbours are looked for in."""
SAME_ARTICLE = 3
RIDGE = 1e-2
LANGUAGES = ("en", "ja")
BINS = 10
PLOT_BINS = 8
PLOTTED = ("sufficient",)
"""Passages are nearly always told apart with certainty; whether the answer is among them is what is in doubt."""
Floats = NDArray[np.float64]


def fit_logistic(features: Floats, labels: Floats) -> Floats:
    """Weights and a shift by Newton's method; a little ridge keeps separable data finite.

    features [[-1], [1]], labels [0, 1] -> a positive weight and a shift of 0
    """
    rows = np.column_stack([features, np.ones(len(features))])
    weights = np.zeros(rows.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))
        slope = rows.T @ (chance - labels) / len(rows) + RIDGE * np.append(weights[:-1], 0)
        curve = (rows * (chance * (1 - chance))[:, None]).T @ rows / len(rows)
        curve += RIDGE * np.diag(np.append(np.ones(len(weights) - 1), 1e-6))
        weights -= np.linalg.solve(curve, slope)
    return weights


def expected_error(chance: Floats, labels: Floats) -> float:
    """How far stated probabilities are from what happened, over ten bins of equal width (ECE)."""
    bins = np.minimum((chance * BINS).astype(int), BINS - 1)
    sizes = np.bincount(bins, minlength=BINS)
    gaps = [abs(chance[bins == b].mean() - labels[bins == b].mean()) * sizes[b] for b in range(BINS) if sizes[b]]
    return float(sum(gaps) / max(1, len(chance)))


class Neighbours:
    """Which passages share rare pieces with a question."""

    def __init__(self, data: dict[str, Any], pool: list[int]) -> None:
        self._holders: dict[int, list[int]] = defaultdict(list)
        for row in pool:
            for piece in set(data["passages"][row].tolist()):
                self._holders[piece].append(row)
        self._size = len(pool)

    def nearest(self, question: list[int]) -> list[int]:
        """All that share something, the largest sum of idf first."""
        sums: dict[int, float] = defaultdict(float)
        for piece in set(question):
            holders = self._holders.get(piece, [])
            for row in holders:
                sums[row] += math.log(self._size / len(holders))
        return sorted(sums, key=lambda row: -sums[row])


@dataclass(frozen=True, slots=True)
class Lists:
    """Answers of the model for held-out lists of one language; the right passage is the first of each."""

    answers: Floats
    """(questions, LIST_SIZE, 2)"""
    judged: Floats
    labels: Floats


def collect(engine: Any, data: dict[str, Any], work: Path, lang: int, count: int) -> Lists:
    """Run the model over held-out lists and held-out judged pairs."""
    rng = np.random.default_rng(SEED)
    held = data["positive"] % HELD_OUT == 0
    mine = data["passage_lang"] == lang
    pool = np.flatnonzero(mine & (np.arange(len(mine)) % POOL == 0)).tolist()
    near = Neighbours(data, pool)
    pieces = (work / "pieces.txt").read_bytes().decode("utf-8").split("\n")
    plain = [piece.replace("▁", "").casefold() for piece in pieces]
    rows = rng.permutation(np.flatnonzero(held & (data["lang"] == lang)))[:count]
    lists = []
    for row in rows.tolist():
        question, right = data["questions"][row].tolist(), int(data["positive"][row])
        answer, found = data["answers"].text(row), [right]
        for passage in dict.fromkeys([*data["negatives"][row].tolist()[:SAME_ARTICLE], *near.nearest(question)]):
            text = "".join(plain[piece] for piece in data["passages"][passage].tolist()) if answer else ""
            if passage != right and not (answer and answer in text):
                found.append(passage)
            if len(found) == LIST_SIZE:
                break
        passages = found
        if len(passages) == LIST_SIZE:
            lists.append([engine.answers(question, data["passages"][p].tolist()) for p in passages])
    usable = (data["judged_passage"] % HELD_OUT == 0) & mine[data["judged_passage"]] & (data["judged_swapped"] == 0)
    judged = rng.permutation(np.flatnonzero(usable))[: count * 2]
    answers = [
        engine.answers(data["judged_questions"][i].tolist(), data["passages"][data["judged_passage"][i]].tolist())
        for i in judged.tolist()
    ]
    return Lists(np.array(lists), np.array(answers), data["judged_label"][judged].astype(float))


def reliability(chance: Floats, labels: Floats, bins: int = PLOT_BINS) -> list[tuple[float, float]]:
    """What was said and what happened, in groups of equal size from the least likely up.

    chances (.1, .3, .7, .9), labels (0, 0, 1, 1), two groups -> (.2, 0) and (.8, 1)
    """
    groups = np.array_split(np.argsort(chance, kind="stable"), bins)
    return [(float(chance[group].mean()), float(labels[group].mean())) for group in groups if len(group)]


@dataclass(frozen=True, slots=True)
class Check:
    """How well probabilities hold on questions that they were not fitted on."""

    error: float
    right: float
    points: list[tuple[float, float]]


def calibrate(lists: Lists) -> tuple[dict[str, list[float]], dict[str, Check]]:
    """The curves of one language, and how well they hold on the half that they were not fitted on."""
    half = len(lists.answers) // 2
    fits, checks = _curves(lists, slice(0, half)), {}
    for name, (chance, labels) in _chances(lists, slice(half, None), fits).items():
        right = float(((chance > 0.5) == (labels > 0.5)).mean())
        checks[name] = Check(expected_error(chance, labels), right, reliability(chance, labels))
    return _curves(lists, slice(None)), checks


def plot(drawn: list[Line]) -> str:
    """A picture of its own: said across, happened up; what can be trusted lies on the diagonal."""
    true = Line("what it should be", [(0.0, 0.0), (1.0, 1.0)])
    svg = draw_lines("reliability on held-out questions", [true, *drawn], across="said", up="happened")
    opening = '<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" font-size="11" '
    style = "<style>.axis{stroke:#888}svg{background:#fff}</style>"
    return svg.replace("<svg ", opening, 1).replace(">", ">" + style, 1) + "\n"


def _curves(lists: Lists, part: slice) -> dict[str, list[float]]:
    answers = lists.answers[part]
    flat = answers.reshape(-1, 2)
    right = np.tile([1.0] + [0.0] * (LIST_SIZE - 1), len(answers))
    fit = fit_logistic(flat[:, :1], right)
    pairs = np.concatenate([flat, lists.judged[part]])
    relevant = fit_logistic(pairs, np.concatenate([right, lists.labels[part]]))
    features, labels = _sets(answers, relevant)
    curves = {"fit": fit, "relevant": relevant, "sufficient": fit_logistic(features, labels)}
    return {name: [round(float(value), 4) for value in curve] for name, curve in curves.items()}


def _sets(answers: Floats, relevant: Any) -> tuple[Floats, Floats]:
    """The best logit and the mean of the three best, of every list with and without its right passage."""
    logits = answers[..., FIT] * relevant[0] + answers[..., HOLDS] * relevant[1] + relevant[2]
    rows = [np.sort(part, axis=1)[:, ::-1] for part in (logits, logits[:, 1:])]
    features = np.concatenate([np.stack([row[:, 0], row[:, :3].mean(1)], axis=1) for row in rows])
    return features, np.repeat([1.0, 0.0], len(logits))


def _chances(lists: Lists, part: slice, curves: dict[str, list[float]]) -> dict[str, tuple[Floats, Floats]]:
    answers = lists.answers[part]
    right = np.tile([1.0] + [0.0] * (LIST_SIZE - 1), len(answers))
    features, labels = _sets(answers, curves["relevant"])
    return {
        "fit": (_logistic(answers.reshape(-1, 2)[:, :1], curves["fit"]), right),
        "relevant": (_logistic(answers.reshape(-1, 2), curves["relevant"]), right),
        "sufficient": (_logistic(features, curves["sufficient"]), labels),
    }


def _logistic(features: Floats, curve: list[float]) -> Floats:
    chance: Floats = 1 / (1 + np.exp(-(features @ np.array(curve[:-1]) + curve[-1])))
    return chance


def main() -> None:
    """Write the curves of each size into calibration.json."""
    parser = argparse.ArgumentParser()
    parser.add_argument("work", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument(
        "--judge-only", action="store_true", help="leave the curve of fit, which orders results, as it is"
    )
    parser.add_argument("--plot", type=Path, help="where to draw how often what was said with a probability was so")
    options = parser.parse_args()
    data = load(options.work / "data.npz")
    path = options.target / CALIBRATION_FILE
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    drawn = []
    for name in options.names:
        engine = open_engine(options.target, name, calibrated=False)
        before, known[name] = known.get(name, {}), {}
        for code, lang in enumerate(LANGUAGES):
            curves, checks = calibrate(collect(engine, data, options.work, code, options.questions))
            known[name][lang] = {**curves, "fit": before[lang]["fit"]} if options.judge_only else curves
            shown = {what: f"error {check.error:.3f}, right {check.right:.3f}" for what, check in checks.items()}
            print(name, lang, curves, shown, flush=True)
            drawn += [Line(f"{name} {lang}: {what}", checks[what].points) for what in PLOTTED]
    path.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    if options.plot:
        options.plot.write_text(plot(drawn), encoding="utf-8")


if __name__ == "__main__":
    main()
