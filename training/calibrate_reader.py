"""Turn what the reader says into probabilities, on questions that it was not taught.

    python -m training.calibrate_reader DATA SETS [SIZE ...]

Two kinds of held-out questions count alike: those to folders (SETS is what `training.folders` wrote; each is searched
as `ask` does) and the written ones (the answered and the unanswered question of a passage search the held-out passages
by meaning). The best `holds` of the first passages is what the judge goes by, and its curve is fitted to whether the
question is answered. An answered question counts three times: about three of four questions that people ask can be
answered. `fit` is fitted to whether a passage is the question's own. One half of the folders and passages is fitted and
the other measured, then all of them are kept. What is printed by caution is the share of wrong refusals and of wrong
answers; with probabilities calibrated at three in four, .5 treats both mistakes alike.
"""

# ruff: noqa: T201 (a step says what it did)

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs
from numpy.typing import NDArray

from hybridrag import Engine, SearchResultType, load_settings
from hybridrag.models.e5_embedder import E5Embedder
from hybridrag.models.own_reranker import CALIBRATION_FILE, FOLDER, OwnReranker
from hybridrag.protocols import Question
from hybridrag.types.results import Hit
from training.folders import file_name, is_held_out, read_folders
from training.texts import read_passages, read_written

READ = 5
"""Passages that the judge goes by."""
ANSWERED_WEIGHT = 3.0
LONGEST = 900
"""Characters of a written passage, as of a chunk."""
CAUTIONS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Asked:
    """A held-out question and what the reader said of the passages that were found for it."""

    source: str
    """`folders` or `written`."""
    language: str
    answered: bool
    holds: float
    fits: list[tuple[float, int]]
    """What it said of each passage, and whether that is the question's own."""
    right: bool
    """Whether the stretch of the likeliest passage overlaps the answer."""
    half: bool


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


def _told(
    reader: OwnReranker, question: str, found: Sequence[Hit], own: Sequence[bool], answer: str | None
) -> tuple[float, list[tuple[float, int]], bool]:
    told = [one for one in reader.tell(question, found).unwrap() if one is not None]
    first = max(range(len(told)), key=lambda place: told[place].holds)
    fits = [(one.fit, int(mine)) for one, mine in zip(told, own, strict=True)]
    return told[first].holds, fits, bool(answer) and _overlaps(reader, question, found[first], str(answer))


def _overlaps(reader: OwnReranker, question: str, candidate: Hit, answer: str) -> bool:
    (reading,) = reader.read(Question(question), [candidate]).unwrap()
    at = candidate.text.find(answer)
    return reading is not None and at >= 0 and reading.start < at + len(answer) and reading.end > at


def ask_written(reader: OwnReranker, data: Path) -> Iterator[Asked]:
    """Both questions of every held-out passage, on the passages nearest to each."""
    passages = read_passages(data)
    rows = [row for row in read_written(data)[1] if passages[row["p"]]]
    texts = []
    for row in rows:
        at = max(0, passages[row["p"]].find(row["a"]) - LONGEST // 2)
        texts.append(passages[row["p"]][at : at + LONGEST])
    embedder = E5Embedder(platformdirs.user_cache_path("hybridrag"))
    vectors = embedder.embed_passages(texts).pooled
    for at, row in enumerate(rows):
        for question, answer in ((row["yes"], row["a"]), (row["no"], None)):
            near = np.argsort(-(vectors @ embedder.embed_query(question).pooled[0]))[:READ].tolist()
            found = [Hit(id=str(n), text=texts[n], score=0.0) for n in near]
            holds, fits, right = _told(reader, question, found, [n == at for n in near], answer)
            yield Asked("written", row["ql"], answer is not None, holds, fits if answer else [], right, bool(at % 2))


def ask_folders(reader: OwnReranker, sets: Path) -> Iterator[Asked]:
    """The questions to held-out folders, but those over several documents, on what `ask` would be given."""
    for number, (name, rows) in enumerate(sorted(read_folders().items())):
        if not is_held_out(name):
            continue
        with Engine.open(sets / name / "index", settings=load_settings(env={}).settings, create=False) as engine:
            for row in rows:
                for one in row.get("qs", ()):
                    found = _search(engine, one["q"])
                    if not found:
                        continue
                    mine = [
                        bool(one["a"]) and Path(candidate.id).name == Path(file_name(row["file"])).name
                        for candidate in found
                    ]
                    holds, fits, right = _told(reader, one["q"], found, mine, one["a"])
                    answered = one["a"] is not None
                    yield Asked(
                        "folders", one["ql"], answered, holds, fits if answered else [], right, bool(number % 2)
                    )


def _search(engine: Engine, question: str) -> list[Hit]:
    result = engine.search(question, limit=READ, crag_enabled=True)
    return [
        Hit(
            id=str(item.sources.file_name),
            text=item.content.text,
            score=0.0,
            title=str((item.metadata or {}).get("title") or ""),
            headings=item.sources.headings,
        )
        for item in result.results
        if item.type is SearchResultType.CHUNK
    ]


def fit_curve(asked: Sequence[Asked]) -> tuple[float, float]:
    """From the best `holds` to whether the question is answered; both sources weigh alike."""
    holds = np.array([one.holds for one in asked])
    labels = np.array([one.answered for one in asked], dtype=float)
    sizes = {name: sum(one.source == name for one in asked) for name in ("folders", "written")}
    weights = np.array([(ANSWERED_WEIGHT if one.answered else 1.0) / sizes[one.source] for one in asked])
    return platt(holds, labels, weights * len(asked) / weights.sum())


def report(asked: Sequence[Asked], curve: tuple[float, float]) -> None:
    """Print how well the curve does on what it was not fitted to."""
    for source in ("folders", "written"):
        some = [one for one in asked if one.source == source]
        holds = np.array([one.holds for one in some])
        answered = np.array([one.answered for one in some])
        right = np.array([one.right for one in some])[answered].mean()
        print(f"  {source}: {len(some)} questions, area {area(holds, answered * 1.0):.3f}, stretch right {right:.3f}")
        chance = 1 / (1 + np.exp(-(curve[0] * holds + curve[1])))
        for caution in CAUTIONS:
            refused = chance < caution
            print(f"    caution {caution}: {refused[answered].mean():.3f}, {(~refused[~answered]).mean():.3f}")


def main(data: Path, sets: Path, sizes: list[str]) -> None:
    """Fit and write the curves of each size."""
    path = FOLDER / CALIBRATION_FILE
    curves: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    for size in sizes:
        reader = OwnReranker("base" if size == "base" else "small")
        asked = [*ask_written(reader, data), *ask_folders(reader, sets)]
        curves[size] = {}
        for language in ("en", "ja"):
            here = [one for one in asked if one.language == language]
            print(size, language, "wrong refusals and wrong answers, on the half that was not fitted")
            report([one for one in here if not one.half], fit_curve([one for one in here if one.half]))
            pairs = [pair for one in here for pair in one.fits]
            fit, own = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
            curves[size][language] = {"fit": platt(fit, own, np.ones_like(own)), "holds": fit_curve(here)}
    path.write_text(json.dumps(curves, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:] or ["base"])
