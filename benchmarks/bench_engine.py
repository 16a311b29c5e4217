"""The whole engine by size: taking documents in by part, then searching by step, cold and warm; memory and disk.

python -m benchmarks.bench_engine --sizes 1000 10000 100000 [--data DIR] [--keep FOLDER] [--real]

Every size is built and searched in processes of its own. Documents are about one chunk each; without --data they are
made here. Above REAL_UP_TO chunks passages get made-up vectors of the same shape, which costs searches the same, and
what embedding would take is estimated from the measured rate; --real embeds them all. With --keep the index stays in
the folder: a build that was stopped goes on where it was, and one that is there is not built again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

from benchmarks.bench_corpus import documents, questions
from benchmarks.peers.runners.common import bytes_below, peak_mib
from benchmarks.report import Table, machine_line, write, write_between
from benchmarks.search import MadeUpPassages
from hybridrag import engine as engine_module
from hybridrag import ingest as ingest_module
from hybridrag.config import Settings, load_settings
from hybridrag.engine import Engine
from hybridrag.parts import make_embedder
from hybridrag.protocols import Embedder, ModelInfo, Passages
from hybridrag.stores.embedded.store import EmbeddedStore
from hybridrag.types.reports import Progress
from hybridrag.types.sources import TextDocument

SIZES = (1_000, 10_000, 100_000)
REAL_UP_TO = 10_000
"""Chunks that are embedded by the model unless asked otherwise: more would take most of an hour."""
SAMPLE = 192
"""Passages that the rate of the model is measured on."""
QUESTIONS = 200
WARM = 20
TOLD_EVERY = 30.0
"""Seconds between two lines that say how far a build is."""
MEBIBYTE = 1 << 20
PARTS = ("read", "chunk", "embed", "extract", "store", "communities")
WAYS: Mapping[str, dict[str, object]] = {
    "hybrid": {},
    "hybrid, no rerank": {"rerank_enabled": False},
    "keyword": {"strategies": ["keyword"], "rerank_enabled": False},
    "corrective": {"crag_enabled": True},
    "ask": {},
}
"""What is asked of each index; the first is taken apart into its steps."""


class Parts:
    """Seconds by part of the work; a part within another counts once, as the inner one."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._lock = threading.Lock()
        self._local = threading.local()

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Count what is done inside."""
        outer: list[float] = getattr(self._local, "inner", [])
        inner: list[float] = []
        self._local.inner = inner
        began = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - began
            self._local.inner = outer
            outer.append(spent)
            with self._lock:
                self.seconds[name] += spent - sum(inner)

    def watch(self, owner: object, name: str, part: str) -> Callable[[], None]:
        """Count every call of a function or method; returns what takes the counting away again."""
        original = getattr(owner, name)

        @wraps(original)
        def counted(*arguments: Any, **options: Any) -> Any:
            with self.part(part):
                return original(*arguments, **options)

        setattr(owner, name, counted)
        return lambda: setattr(owner, name, original)


@contextmanager
def watching(parts: Parts) -> Iterator[None]:
    """Count what an engine does while it takes documents in."""
    undo = [
        parts.watch(engine_module, "read_document", "read"),
        parts.watch(ingest_module, "chunk_document", "chunk"),
        parts.watch(ingest_module, "embed_passages", "embed"),
        parts.watch(Engine, "_extract", "extract"),
        parts.watch(EmbeddedStore, "put_file", "store"),
        parts.watch(EmbeddedStore, "flush", "store"),
        parts.watch(engine_module, "update_communities", "communities"),
    ]
    try:
        yield
    finally:
        for restore in undo:
            restore()


class CountedEmbedder:
    """An embedder whose time is counted wherever it is asked, also in the middle of another part."""

    def __init__(self, real: Embedder, parts: Parts) -> None:
        self._real, self._parts = real, parts

    @property
    def info(self) -> ModelInfo:
        """As the real one's."""
        return self._real.info

    def embed_passages(self, texts: Sequence[str], *, tokens: bool = False) -> Passages:
        """Counted."""
        with self._parts.part("embed"):
            return self._real.embed_passages(texts, tokens=tokens)

    def embed_query(self, text: str, *, tokens: bool = False) -> Passages:
        """As the real one."""
        return self._real.embed_query(text, tokens=tokens)

    def token_spans(self, text: str) -> NDArray[np.int32]:
        """As the real one; part of cutting."""
        return self._real.token_spans(text)


def run(
    sizes: Sequence[int] = SIZES,
    *,
    data: Path | None = None,
    keep: Path | None = None,
    real: bool = False,
    count: int = QUESTIONS,
) -> list[Table]:
    """What taking in costs and what searching costs, a column or two a size; each size is asked `count` questions."""
    rate = embedding_rate(data)
    _announce(sizes, rate, real=real)
    measured = []
    with ExitStack() as stack:
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hybridrag-bench-")))
        for size in sizes:
            made_up = not real and size > REAL_UP_TO
            built = _child("build", size, folder, data, made_up=made_up, count=count)
            asked = _child("search", size, folder, data, made_up=made_up, count=count)
            if made_up:
                built["parts"]["embed"] = built["chunks"] / rate
            measured.append((size, made_up, built, asked))
    return [_ingest_table(measured, rate), _steps_table(measured, count), _ways_table(measured)]


def embedding_rate(data: Path | None) -> float:
    """Passages that the model embeds in a second, on a sample of the documents."""
    embedder = make_embedder(_settings())
    sample = [f"{title}\n{text}" for title, text in documents(SAMPLE, data)]
    embedder.embed_passages(sample[:8], tokens=True)
    began = time.perf_counter()
    ingest_module.embed_passages(embedder, sample)
    return len(sample) / (time.perf_counter() - began)


def _announce(sizes: Sequence[int], rate: float, *, real: bool) -> None:
    for size in sizes:
        made_up = size > REAL_UP_TO and not real
        how = "made-up vectors; the model would take" if made_up else "embedding takes"
        _say(f"{size:,} chunks: {how} about {_duration(size / rate)} at {rate:.0f} passages a second.")


def build(size: int, folder: Path, data: Path | None, *, made_up: bool) -> dict[str, Any]:
    """Take the documents in, or what is missing of them; seconds by part, memory, disk.

    What earlier, interrupted runs took is added.
    """
    state = folder / "building.json"
    before: dict[str, Any] = {"seconds": 0.0, "parts": {}}
    if state.exists():
        before = json.loads(state.read_text(encoding="utf-8"))
    parts, settings = Parts(), _settings()
    real = make_embedder(settings)
    embedder = CountedEmbedder(MadeUpPassages(real) if made_up else real, parts)
    made = [
        TextDocument(f"{number}.txt", text, title=title or None)
        for number, (title, text) in enumerate(documents(size, data))
    ]
    began = time.perf_counter()

    def so_far() -> dict[str, Any]:
        spent = {name: parts.seconds[name] + before["parts"].get(name, 0.0) for name in PARTS}
        return {"seconds": before["seconds"] + time.perf_counter() - began, "parts": spent}

    with Engine.open(folder / "index", settings=settings, embedder=embedder) as engine, watching(parts):
        engine.add_documents(made, on_progress=_teller(state, so_far))
        found = {
            **so_far(),
            "chunks": engine.status().chunks,
            "documents": len(made),
            "graph": engine.graph.statistics(),
            "peak_mib": peak_mib(),
        }
    state.unlink(missing_ok=True)
    return {**found, "bytes": bytes_below(folder / "index")}


def _teller(state: Path, so_far: Callable[[], dict[str, Any]]) -> Callable[[Progress], None]:
    """Says from time to time how far it is, and writes down what it took until then."""
    began = told = time.monotonic()

    def tell(progress: Progress) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told < TOLD_EVERY or not progress.files_done:
            return
        told = now
        left = (now - began) / progress.files_done * (progress.files_total - progress.files_done)
        _say(f"  {progress.files_done:,} of {progress.files_total:,} documents, about {_duration(left)} to go")
        state.write_text(json.dumps(so_far()), encoding="utf-8")

    return tell


def search(size: int, folder: Path, data: Path | None, *, made_up: bool, count: int = QUESTIONS) -> dict[str, Any]:
    """Milliseconds of the first question of a process, and of the following ones by step."""
    titles = [title for title, _ in documents(size, data)]
    warm = min(WARM, count)
    asked = questions(titles, count + warm)
    settings = _settings()
    began = time.perf_counter()
    real = make_embedder(settings)
    embedder = MadeUpPassages(real) if made_up else real
    with Engine.open(folder / "index", settings=settings, embedder=embedder) as engine:
        opened = time.perf_counter()
        engine.search(asked[0], limit=10)
        first = time.perf_counter()
        ways = {name: _ask(engine, asked, options, warm, answer=name == "ask") for name, options in WAYS.items()}
        own = own_mib()
    return {
        "open_ms": (opened - began) * 1000,
        "first_ms": (first - opened) * 1000,
        "ways": ways,
        "own_mib": own,
        "peak_mib": peak_mib(),
    }


def own_mib() -> float:
    """What this process holds now, without the pages of files that are mapped: a system takes those back as it likes.

    Each connection maps the index for itself, so that a page counts as often as there are connections that read it.
    """
    held = psutil.Process().memory_info()
    return float(held.rss - getattr(held, "shared", 0)) / MEBIBYTE


def _ask(
    engine: Engine, asked: Sequence[str], options: Mapping[str, object], warm: int, *, answer: bool
) -> dict[str, Any]:
    """How long searches take by step, or answers as a whole."""
    whole, worked = [], []
    steps: dict[str, list[float]] = defaultdict(list)
    for number, question in enumerate(asked):
        start, began = time.perf_counter(), time.process_time()
        if answer:
            engine.answer(question, limit=10)
        result = None if answer else engine.search(question, limit=10, explain=True, **options)
        spent, processor = time.perf_counter() - start, time.process_time() - began
        if number < warm:
            continue
        whole.append(spent * 1000)
        worked.append(processor * 1000)
        taken: dict[str, float] = defaultdict(float)
        for step in result.trace.steps if result and result.trace else ():
            taken[step.step.value] += step.processing_time
        for name, milliseconds in taken.items():
            steps[name].append(milliseconds)
    return {
        "whole": _spread(whole),
        "processor": float(np.median(worked)),
        "steps": {name: _spread(times) for name, times in steps.items()},
    }


def _spread(times: Sequence[float]) -> list[float]:
    return [round(float(np.percentile(times, share)), 2) for share in (50, 95)]


def _child(phase: str, size: int, folder: Path, data: Path | None, *, made_up: bool, count: int) -> dict[str, Any]:
    """One phase in a process of its own; a build that is there is not done again."""
    place = folder / "-".join([str(size), "made-up" if made_up else "real", data.name if data else "made-here"])
    place.mkdir(parents=True, exist_ok=True)
    out = place / f"{phase}.json"
    if phase == "search" or not out.exists():
        _say(f"{phase} {size:,}")
        command = [sys.executable, "-m", "benchmarks.bench_engine", "--phase", phase, "--sizes", str(size)]
        command += ["--questions", str(count)]
        command += ["--keep", str(place), *(["--data", str(data)] if data else []), *([] if made_up else ["--real"])]
        subprocess.run(command, check=True)
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return found


Measured = Sequence[tuple[int, bool, dict[str, Any], dict[str, Any]]]


def _ingest_table(measured: Measured, rate: float) -> Table:
    rows: list[list[object]] = [
        ["documents", *(built["documents"] for _, _, built, _ in measured)],
        ["chunks", *(built["chunks"] for _, _, built, _ in measured)],
        ["the whole, s", *(round(built["seconds"], 1) for _, _, built, _ in measured)],
    ]
    for part in PARTS:
        cells = [_part(built["parts"].get(part, 0.0), part, made_up=made_up) for _, made_up, built, _ in measured]
        rows.append([f"{part}, s", *cells])
    rows += [
        ["ms a chunk, embedding aside", *(_without_embedding(built) for _, _, built, _ in measured)],
        ["memory, peak MiB", *(round(built["peak_mib"]) for _, _, built, _ in measured)],
        ["index, MiB", *(round(built["bytes"] / MEBIBYTE, 1) for _, _, built, _ in measured)],
        ["bytes a chunk", *(round(built["bytes"] / built["chunks"]) for _, _, built, _ in measured)],
        ["entities", *(built["graph"].get("entities", 0) for _, _, built, _ in measured)],
    ]
    title = f"Taking documents in (the model embeds {rate:.0f} passages a second; parts overlap)"
    return Table(title, ["what", *(f"{size:,}" for size, *_ in measured)], rows)


def _part(seconds: float, part: str, *, made_up: bool) -> object:
    return f"would be {seconds:,.0f}" if made_up and part == "embed" else round(seconds, 1)


def _without_embedding(built: Mapping[str, Any]) -> float:
    seconds = sum(float(built["parts"].get(part, 0.0)) for part in PARTS if part != "embed")
    return round(1000 * seconds / float(built["chunks"]), 2)


def _steps_table(measured: Measured, count: int) -> Table:
    first = [asked["ways"]["hybrid"]["steps"] for *_, asked in measured]
    names = dict.fromkeys(name for steps in first for name in steps)
    rows: list[list[object]] = [
        [name, *(cell for steps in first for cell in steps.get(name, ("", "")))] for name in names
    ]
    rows.append(["the whole", *(cell for *_, asked in measured for cell in asked["ways"]["hybrid"]["whole"])])
    columns = [f"{size:,} {share} ms" for size, *_ in measured for share in ("p50", "p95")]
    title = f"A search by step, warm, {count} questions; the three searches run side by side"
    return Table(title, ["step", *columns], rows)


def _ways_table(measured: Measured) -> Table:
    rows: list[list[object]] = [
        ["open, ms", *(round(asked["open_ms"], 1) for *_, asked in measured)],
        ["first question of a process, ms", *(round(asked["first_ms"]) for *_, asked in measured)],
    ]
    for way in WAYS:
        rows.append([f"{way}, p50 ms", *(asked["ways"][way]["whole"][0] for *_, asked in measured)])
        rows.append([f"{way}, p95 ms", *(asked["ways"][way]["whole"][1] for *_, asked in measured)])
        rows.append([f"{way}, processor ms", *(round(asked["ways"][way]["processor"], 1) for *_, asked in measured)])
    rows.append(
        ["memory in the end, the index's pages aside, MiB", *(round(asked["own_mib"]) for *_, asked in measured)]
    )
    rows.append(["memory, peak MiB", *(round(asked["peak_mib"]) for *_, asked in measured)])
    return Table("Searching by size, cold and warm", ["what", *(f"{size:,}" for size, *_ in measured)], rows)


def _settings() -> Settings:
    overrides = {"documents.isolate": False, "graph.extractor": "light", "search.cache_size": 0}
    return load_settings(env={}, overrides=overrides).settings


def _duration(seconds: float) -> str:
    minutes = seconds / 60
    if minutes < 1:
        return f"{seconds:.0f} s"
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.1f} h"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    """The tables; or one phase of one size, for the process that it runs in."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--data", type=Path, metavar="DIR", help="holds scale_en and scale_ja")
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    parser.add_argument("--real", action="store_true", help="embed every passage, however many there are")
    parser.add_argument("--questions", type=int, default=QUESTIONS, metavar="N")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the tables between the markers of this file")
    parser.add_argument("--phase", choices=("build", "search"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.phase == "build":
        found = build(given.sizes[0], given.keep, given.data, made_up=not given.real)
        (given.keep / "build.json").write_text(json.dumps(found), encoding="utf-8")
    elif given.phase == "search":
        found = search(given.sizes[0], given.keep, given.data, made_up=not given.real, count=given.questions)
        (given.keep / "search.json").write_text(json.dumps(found), encoding="utf-8")
    else:
        tables = run(given.sizes, data=given.data, keep=given.keep, real=given.real, count=given.questions)
        for table in tables:
            table.print()
        print(f"  -> {write('bench_engine', tables)}")
        if given.write is not None:
            write_between(given.write, "engine", as_markdown(tables, given.sizes, with_data=given.data is not None))


def as_markdown(tables: Sequence[Table], sizes: Sequence[int], *, with_data: bool) -> str:
    """The tables as the documentation shows them."""
    command = f"python -m benchmarks.bench_engine --sizes {' '.join(map(str, sizes))}{' --data DATA' * with_data}"
    shown = "\n\n".join(f"{table.title}:\n\n{table.as_markdown()}" for table in tables)
    return f"`{command}`; {machine_line()}.\n\n{shown}"


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        # A phase in a process of its own: whoever started it says what that means.
        sys.exit(130)
