"""Turn what the reader says into probabilities, on the held-out written questions.

    python -m training.calibrate_reader DATA [SIZE ...]

Each held-out question, the answered and the unanswered one, searches the held-out passages by meaning; the best `holds`
of the first five is what the judge goes by, and its curve is fitted to whether the question is answered. One half of
the passages is fitted, the other measured, then all of them are kept. An answered question counts three times: about
three of four questions that people ask can be answered. `fit` is fitted to whether a passage is the question's own.
What is printed by caution is the share of wrong refusals and of wrong answers: the default of `verify.caution` refuses
about one in ten wrongly.
"""

# ruff: noqa: T201 (a step says what it did)

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs
from numpy.typing import NDArray

from hybridrag.models.e5_embedder import E5Embedder
from hybridrag.models.own_reranker import CALIBRATION_FILE, FOLDER, OwnReranker
from hybridrag.protocols import Candidate, Question
from hybridrag.verify.judge import READ
from training.texts import read_passages, read_written

ANSWERED_WEIGHT = 3.0
LONGEST = 900
"""Characters of a passage, as of a chunk."""

Floats = NDArray[np.float64]


def platt(values: Floats, labels: Floats, weights: Floats) -> tuple[float, float]:
    """Slope and shift of the logistic curve, by Newton's method; labels are drawn in a little as Platt does."""
    x = np.stack([values, np.ones_like(values)], axis=1)
    target = labels * (1 - 1e-3) + (1 - labels) * 1e-3
    beta = np.zeros(2)
    for _ in range(50):
        chance = 1 / (1 + np.exp(-x @ beta))
        slope = x.T @ (weights * (chance - target))
        curve = (x * (weights * chance * (1 - chance))[:, None]).T @ x + 1e-3 * np.eye(2)
        beta = beta - np.linalg.solve(curve, slope)
    return round(float(beta[0]), 4), round(float(beta[1]), 4)


def area(values: Floats, labels: Floats) -> float:
    """Under ROC."""
    yes, no = values[labels == 1], values[labels == 0]
    return float(((yes[:, None] > no[None]) + 0.5 * (yes[:, None] == no[None])).mean())


def read_all(reader: OwnReranker, rows: list[dict[str, Any]], texts: list[str]) -> list[dict[str, Any]]:
    """For every question of the rows the best `holds` among the nearest passages, and `fit` of each."""
    embedder = E5Embedder(platformdirs.user_cache_path("hybridrag"))
    vectors = embedder.embed_passages(texts).pooled
    found = []
    for at, row in enumerate(rows):
        for label, question in ((1, row["yes"]), (0, row["no"])):
            near = np.argsort(-(vectors @ embedder.embed_query(question).pooled[0]))[:READ].tolist()
            candidates = [Candidate(id=str(n), text=texts[n], score=0.0) for n in near]
            told = [one for one in reader.tell(question, candidates).unwrap() if one is not None]
            first = max(range(len(told)), key=lambda place: told[place].holds)
            right = near[first] == at and _overlaps(reader, question, candidates[first], row["a"])
            fits = [(one.fit, int(n == at)) for one, n in zip(told, near, strict=True)]
            best = max(one.holds for one in told)
            found.append({"label": label, "holds": best, "fits": fits, "lang": row["ql"], "row": at, "right": right})
    return found


def _overlaps(reader: OwnReranker, question: str, candidate: Candidate, answer: str) -> bool:
    """Whether the stretch that answers shares something with the written one."""
    (reading,) = reader.read(Question(question), [candidate]).unwrap()
    at = candidate.text.find(answer)
    return reading is not None and at >= 0 and reading.start < at + len(answer) and reading.end > at


def main(data: Path, sizes: list[str]) -> None:
    """Fit and write the curves of each size."""
    passages = read_passages(data)
    rows = [row for row in read_written(data)[1] if passages[row["p"]]]
    texts = []
    for row in rows:
        at = max(0, passages[row["p"]].find(row["a"]) - LONGEST // 2)
        texts.append(passages[row["p"]][at : at + LONGEST])
    path = FOLDER / CALIBRATION_FILE
    curves = json.loads(path.read_text(encoding="utf-8"))
    for size in sizes:
        read = read_all(OwnReranker("base" if size == "base" else "small"), rows, texts)
        curves[size] = {}
        for lang in ("en", "ja"):
            here = [one for one in read if one["lang"] == lang]
            values = np.array([one["holds"] for one in here])
            labels = np.array([one["label"] for one in here], dtype=float)
            right = np.array([one["label"] and one["right"] for one in here], dtype=float)
            weights = np.where(labels == 1, ANSWERED_WEIGHT, 1.0)
            odd = np.array([one["row"] % 2 == 1 for one in here])
            slope, shift = platt(values[odd], labels[odd], weights[odd])
            said = slope * values[~odd] + shift >= 0
            answered = labels[~odd] == 1
            print(
                f"{size} {lang}: area {area(values[~odd], labels[~odd]):.3f}, "
                f"wrong refusals {np.mean(~said[answered]):.3f}, wrong answers {np.mean(said[~answered]):.3f}, "
                f"right of all that can be answered {np.mean((right[~odd] == 1)[answered]):.3f}"
            )
            chance = 1 / (1 + np.exp(-(slope * values[~odd] + shift)))
            for caution in (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8):
                refused = chance < caution
                print(f"  caution {caution}: {np.mean(refused[answered]):.3f}, {np.mean(~refused[~answered]):.3f}")
            fits = [pair for one in here if one["label"] == 1 for pair in one["fits"]]
            fit, own = (np.array(column, dtype=float) for column in zip(*fits, strict=True))
            curves[size][lang] = {"fit": platt(fit, own, np.ones_like(own)), "holds": platt(values, labels, weights)}
    path.write_text(json.dumps(curves, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] or ["small", "base"])
