"""Build and ask every library on one job, in processes of their own, and make one row of each."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.install import CannotRun, Peer, last_line, python_of
from benchmarks.peers.prepare import embed_wanted, prepare, settings_of
from benchmarks.report import Table
from hybridrag.evaluate.datasets import Dataset
from hybridrag.evaluate.metrics import ndcg_at, recall_at, reciprocal_rank_at

RECIPES = ("keyword", "hybrid-no-rerank", "hybrid")
SECONDS = 3 * 3600
"""After which a library has not answered."""
ROUNDS = 3
"""Once without the vectors of its own texts, once with them, and once more where that made it ask for others."""
MEBIBYTE = 1 << 20
QUALITIES = 4
"""Columns, after the name, that say how good a search is."""
COLUMNS = (
    *("search", "Recall@5", "Recall@10", "nDCG@10", "MRR@10", "p50 ms", "p95 ms", "CPU ms", "first ms"),
    *("index s", "build MiB", "search MiB", "disk MiB"),
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came of one data set."""

    dataset: str
    table: Table
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Contender:
    """Who builds and searches, and how it is started."""

    label: str
    command: tuple[str, ...]
    variants: tuple[tuple[str, str], ...]
    """What the runner calls a way of searching, and what the table calls it."""
    build_variant: str = ""


def compare(
    dataset: Dataset, peers: Sequence[Peer], *, jobs: Path, environments: Path, made_up: bool = False
) -> Comparison:
    """Every library on the questions of the data set that documents are marked for.

    With `made_up`, passages have vectors that mean nothing, and quality is left out. What cannot run is named in the
    notes with its reason.
    """
    job = jobs / dataset.name.replace("/", "-")
    made = prepare(dataset, job, settings_of(), made_up=made_up)
    _say(f"{dataset.name}: {made}")
    unspaced = any(query.language == "ja" for query in dataset.queries)
    contenders: list[Callable[[], list[Contender]]] = [lambda: [_ours(dataset, made_up=made_up)]]
    contenders += [_peer(peer, environments, unspaced=unspaced) for peer in peers]
    rows: list[list[object]] = []
    failed: list[str] = []
    for make in contenders:
        try:
            for contender in make():
                rows += _rows(contender, dataset, job, made_up=made_up)
        except CannotRun as reason:
            failed.append(str(reason))
            _say(str(reason))
    title = f"{dataset.name}: {made['chunks']:,} chunks, {len(dataset.queries)} questions"
    columns = (COLUMNS[0], *COLUMNS[1 + QUALITIES :]) if made_up else COLUMNS
    return Comparison(dataset.name, Table(title, columns, rows), tuple(_notes(made, dataset, made_up=made_up) + failed))


def answerable(dataset: Dataset) -> Dataset:
    """The same with only those questions that documents are marked for."""
    return replace(dataset, queries=tuple(query for query in dataset.queries if query.has_evidence))


def _ours(dataset: Dataset, *, made_up: bool) -> Contender:
    command = (sys.executable, "-m", "benchmarks.peers.ours", "--dataset", str(dataset.path))
    variants = tuple((recipe, f"hybridrag {recipe}") for recipe in RECIPES)
    return Contender("hybridrag", (*command, "--made-up") if made_up else command, variants)


def _peer(peer: Peer, environments: Path, *, unspaced: bool) -> Callable[[], list[Contender]]:
    def make() -> list[Contender]:
        try:
            python = python_of(peer, environments)
        except CannotRun as reason:
            raise CannotRun(f"{peer.name} did not run: {reason}") from None
        command = (str(python), "-m", f"benchmarks.peers.runners.{peer.name}")
        named = tuple((variant, f"{peer.label} {variant}".strip()) for variant in peer.variants)
        plain = Contender(peer.name, command, named)
        if not (unspaced and peer.splits_words):
            return [plain]
        split = (("words", f"{peer.label}, words split"),)
        return [plain, Contender(f"{peer.name}-words", command, split, build_variant="words")]

    return make


def _rows(contender: Contender, dataset: Dataset, job: Path, *, made_up: bool) -> list[list[object]]:
    index = job / "indexes" / contender.label
    built = _run(contender, "build", contender.build_variant, job, index, made_up=made_up)
    rows = []
    for variant, label in contender.variants:
        asked = _run(contender, "search", variant, job, index, made_up=made_up)
        quality = [] if made_up else _quality(dataset, asked["rankings"])
        rows.append([label, *quality, *_speed(asked), *_size(built, asked)])
    return rows


def _run(
    contender: Contender, phase: str, variant: str, job: Path, index: Path, *, made_up: bool = False
) -> dict[str, Any]:
    """One process; once more where it wanted vectors that it had not been given.

    Raises:
        CannotRun: it failed or took too long.
    """
    out = job / f"{contender.label}-{variant or 'plain'}-{phase}.json"
    wanted = job / f"{contender.label}-wanted.json"
    command = [*contender.command[:3], phase, str(job), str(index), str(out), *contender.command[3:]]
    command += ["--variant", variant] if variant else []
    for _ in range(ROUNDS):
        if phase == "build":
            shutil.rmtree(index, ignore_errors=True)
            index.parent.mkdir(parents=True, exist_ok=True)
        _say(f"  {contender.label} {phase} {variant}")
        _start(contender, phase, command)
        if not wanted.exists():
            found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
            return found
        texts = json.loads(wanted.read_text(encoding="utf-8"))
        _say(f"  embedding {len(texts):,} texts that {contender.label} makes")
        embed_wanted(job, texts, job / f"{contender.label}-own.npy", settings_of(), made_up=made_up)
        wanted.unlink()
    raise CannotRun(f"{contender.label} did not {phase}: it wants other vectors every time.")


def _start(contender: Contender, phase: str, command: Sequence[str]) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path.cwd()),
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=SECONDS, env=environment)
    except subprocess.TimeoutExpired:
        raise CannotRun(f"{contender.label} did not {phase} within {SECONDS // 3600} hours.") from None
    if done.returncode != 0:
        raise CannotRun(f"{contender.label} did not {phase}: {last_line(done.stderr)}")


def _quality(dataset: Dataset, rankings: Sequence[Sequence[str]]) -> list[object]:
    """Recall@5, Recall@10, nDCG@10, MRR@10."""
    found = list(zip(rankings, (query.gold for query in dataset.queries), strict=True))
    means = (
        np.mean([recall_at(ranking, gold, 5) for ranking, gold in found]),
        np.mean([recall_at(ranking, gold, 10) for ranking, gold in found]),
        np.mean([ndcg_at(ranking, gold, 10) for ranking, gold in found]),
        np.mean([reciprocal_rank_at(ranking, gold, 10) for ranking, gold in found]),
    )
    return [f"{mean:.3f}" for mean in means]


def _speed(asked: dict[str, Any]) -> list[object]:
    times = asked["times_ms"]
    worked = round(float(np.median(asked["processor_ms"])), 1)
    first = asked["open_ms"] + asked["first_ms"]
    return [*(round(float(np.percentile(times, share)), 1) for share in (50, 95)), worked, round(first)]


def _size(built: dict[str, Any], asked: dict[str, Any]) -> list[object]:
    memory = (round(built["peak_mib"]), round(asked["peak_mib"]))
    return [round(built["seconds"], 1), *memory, round(built["bytes"] / MEBIBYTE, 1)]


def _notes(made: dict[str, object], dataset: Dataset, *, made_up: bool) -> list[str]:
    graph = f"Graph: {made['entities']:,} entities, {made['relations']:,} relations."
    embedding = f"Embedding a question: {made['query_ms']} ms at the median, on top of every search by meaning."
    drawn = "Vectors of passages are made up; drawing them is part of hybridrag's `index s`, and of nobody else's."
    return [*dataset.notes, graph, embedding, *([drawn] if made_up else [])]


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
