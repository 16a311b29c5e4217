"""Fit how likely a hit bears on a question, and see how true the probabilities are: the constants of relevance.toml.

python -m training.folders SETS OUT
python -m benchmarks.relevance SETS [--check DIR/everyday INDEXES] [--write src/hybridrag/search/relevance.toml]

A logistic model over what the searches say of the first hits of each question. It is fitted on those written
folders that no model was taught from, unanswerable questions included: nothing is marked for them. Each folder is
then left out in turn: `said` is the mean probability of its hits by the model of the others, `marked` the share of
hits in marked files, and `error` the mean distance of the two over ten bins, weighted by their hits. `--check` adds
folders that are in no fit: their questions, and the indexes that `benchmarks.everyday --keep DIR` left.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from training.folders import is_held_out

from benchmarks.everyday import OVERVIEW, read_questions
from benchmarks.report import Cell, Table
from benchmarks.results_run import settings_with
from hybridrag.graph.linker import TitleLinker
from hybridrag.parts import make_embedder
from hybridrag.protocols import Embedder
from hybridrag.search.duplicates import leave_out_copies
from hybridrag.search.fuse import rank
from hybridrag.search.record import Recorder
from hybridrag.search.relevance import FEATURES, features
from hybridrag.search.retrieve import Retriever
from hybridrag.search.understand import Understander
from hybridrag.stores.embedded.store import EmbeddedStore
from hybridrag.types.parse import make_query

FIRST = 50
"""Hits of each question."""
ROUNDS = 50
RIDGE = 1.0
"""Keeps a weight small that the data do not ask for."""
BINS = 10
LIKELY = 0.3
HEAD = """\
# How likely a hit bears on a question: the weights of a logistic model over what the searches say of it.
# Fitted by `python -m benchmarks.relevance SETS --write src/hybridrag/search/relevance.toml`
# on the first {first} hits of {questions} questions over {folders} written folders that no model was taught from.
# To be fitted anew with another default embedding model: cosines are its own.
"""


@dataclass(frozen=True, slots=True)
class Hits:
    """The first hits of one folder's questions: a row of features each, and whether it is marked."""

    name: str
    features: NDArray[np.float64]
    marked: NDArray[np.float64]
    questions: int


def collect(folder: Path, index: Path, embedder: Embedder) -> Hits:
    """Search every question of a folder, and note what the searches say of its first hits."""
    settings = settings_with()
    rows: list[tuple[float, ...]] = []
    marked: list[bool] = []
    # What an overview rests on is not marked file by file.
    questions = [one for one in read_questions(folder) if one.kind != OVERVIEW]
    store = EmbeddedStore.open(index, create=False, linker=TitleLinker())
    try:
        understander = Understander(store.graph, settings.search)
        retriever = Retriever(store, lambda: embedder, TitleLinker(), settings.search)
        for question in questions:
            right = tuple(f"/corpus/{path}" for path in question.gold)
            state = understander.understand(make_query(question.text, {}), Recorder())
            retriever.retrieve(state)
            rank(state, settings.search)
            leave_out_copies(state, store)
            chunks = state.read(store, [hit.key for hit in state.hits[:FIRST]])
            files = state.read_files(store, chunks.values())
            said = features(state)
            for key, chunk in chunks.items():
                file = files[chunk.file_id]
                rows.append(said[key])
                marked.append(file is not None and file.name.endswith(right))
    finally:
        store.close()
    return Hits(folder.name, np.array(rows), np.array(marked, dtype=np.float64), len(questions))


def fit(folders: Sequence[Hits]) -> NDArray[np.float64]:
    """The bias and the weights, by Newton's method."""
    x = np.concatenate([_with_bias(one.features) for one in folders])
    y = np.concatenate([one.marked for one in folders])
    weights = np.zeros(x.shape[1])
    ridge = RIDGE * np.eye(x.shape[1])
    for _ in range(ROUNDS):
        chances = _chances(x, weights)
        gradient = x.T @ (y - chances) - ridge @ weights
        curve = (x * (chances * (1 - chances))[:, None]).T @ x + ridge
        weights += np.linalg.solve(curve, gradient)
    return weights


def _with_bias(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.hstack([np.ones((len(rows), 1)), rows])


def _chances(x: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(1 / (1 + np.exp(-np.clip(x @ weights, -40, 40))))


def row(one: Hits, weights: NDArray[np.float64]) -> list[Cell]:
    """A folder against a model that was fitted without it."""
    chances = _chances(_with_bias(one.features), weights)
    bins = np.minimum((chances * BINS).astype(int), BINS - 1)
    apart = [
        (bins == place).mean() * abs(chances[bins == place].mean() - one.marked[bins == place].mean())
        for place in range(BINS)
        if (bins == place).any()
    ]
    likely = chances >= LIKELY
    precision = one.marked[likely].mean() if likely.any() else 0.0
    found = one.marked[likely].sum() / max(1.0, one.marked.sum())
    shares = (chances.mean(), one.marked.mean(), sum(apart), likely.mean(), precision, found)
    return [one.name, one.questions, *(round(100 * float(value), 1) for value in shares)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Collect, fit, print how true it is on what was left out, and write the weights where asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.relevance", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sets", type=Path, help="the folders that `training.folders` wrote")
    parser.add_argument("--check", type=Path, nargs=2, metavar=("SETS", "INDEXES"), help="folders that are in no fit")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the weights there")
    options = parser.parse_args(arguments)
    embedder = make_embedder(settings_with())
    names = sorted(path for path in options.sets.iterdir() if is_held_out(path.name))
    folders = [collect(path, path / "index", embedder) for path in names]
    weights = fit(folders)
    rows = [row(one, fit([other for other in folders if other is not one])) for one in folders]
    if options.check:
        sets, indexes = options.check
        rows += [row(collect(sets / path.name, path, embedder), weights) for path in sorted(indexes.iterdir())]
    shares = ("said %", "marked %", "error %", f"from {LIKELY} on %", "marked of these %", "these of the marked %")
    Table("How true the probabilities are", ["folder", "questions", *shares], rows).print()
    text = "".join(f"{name} = {weight:.3f}\n" for name, weight in zip(("bias", *FEATURES), weights, strict=True))
    print(f"\n{text}")
    if options.write is not None:
        questions = sum(one.questions for one in folders)
        head = HEAD.format(first=FIRST, questions=questions, folders=len(folders))
        options.write.write_text(head + text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
