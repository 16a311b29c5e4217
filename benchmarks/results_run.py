"""Ask the questions of one set in every way, on an index that is built once, and keep what came back."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from benchmarks.report import machine
from benchmarks.results_sets import ResultSet
from hybridrag import RECIPES, Engine, Settings, __version__
from hybridrag.apps.cli.evaluate import search_with, take_in
from hybridrag.config import load_settings
from hybridrag.errors import InvalidInput
from hybridrag.evaluate import Dataset, EvalRun, EvalSearch, EvalSetting, run_searches
from hybridrag.graph.extract import RULES_VERSION
from hybridrag.protocols import Embedder
from hybridrag.recipes import HYBRID, HYBRID_NO_RERANK, Recipe
from hybridrag.types.queries import SearchStrategy

SOURCE = Path(__file__).resolve().parent.parent / "src" / "hybridrag"
SEARCHED_WITH = frozenset({".py", ".toml", ".txt", ".onnx", ".npy"})
BESIDES = frozenset({"apps", "evaluate", "testing"})
"""Folders whose changes change no result of a search."""
OVERRIDES: dict[str, object] = {
    "graph.extractor": "light",  # what every installation has; docs/graph.md holds it against the others
    "documents.isolate": False,  # texts need no process of their own to be read in
    "search.cache_size": 0,
}
NO_GRAPH = HYBRID_NO_RERANK.replace(name="no-graph", strategies=(SearchStrategy.KEYWORD, SearchStrategy.SEMANTIC))
"""Words and meaning, fused: what the graph adds shows against it."""
RRF = "rrf: "
"""Stands before the name of a recipe that is asked with reciprocal rank fusion."""
BY_SCORE: tuple[Recipe, ...] = (*RECIPES[:3], NO_GRAPH, *RECIPES[3:])
LATE, SMALL_ALONE, QUALITY = "late interaction", "small alone", "quality"
RERANKERS: Mapping[str, dict[str, object]] = {
    LATE: {"rerank.provider": "late-interaction", "rerank.read_k": 0},
    SMALL_ALONE: {"rerank.provider": "own", "rerank.top_k": 8},
    QUALITY: {"rerank.model": "base", "rerank.read_k": 8},
}
"""Other ways to rerank than the default, which is late interaction and then `small` over the first two results."""
BY_RANK: tuple[Recipe, ...] = (HYBRID_NO_RERANK, HYBRID)


@dataclass(frozen=True, slots=True)
class Keep:
    """Where indexes and results stay between runs."""

    folder: Path

    def index(self, name: str) -> Path:
        """The index of a set."""
        return self.folder / "index" / name

    def run(self, name: str) -> Path:
        """What was asked of a set and came back."""
        return self.folder / "runs" / f"{name}.json"

    def part(self, name: str) -> Path:
        """What was measured besides the sets."""
        return self.folder / f"{name}.json"


def settings_with(**more: object) -> Settings:
    """The package's defaults, whatever this machine is set to, with what a benchmark needs."""
    return load_settings(env={}, overrides={**OVERRIDES, **more}).settings


def code_hash() -> str:
    """Changes with every change of the package: results of other code are not taken for those of this."""
    digest = blake2b(digest_size=8)
    for file in sorted(SOURCE.rglob("*")):
        if file.suffix in SEARCHED_WITH and file.relative_to(SOURCE).parts[0] not in BESIDES:
            digest.update(file.relative_to(SOURCE).as_posix().encode() + file.read_bytes())
    return digest.hexdigest()


def run_set(
    chosen: ResultSet,
    data: Path,
    keep: Keep,
    *,
    limit: int | None = None,
    recipes: Sequence[str] = (),
    embedder: Embedder | None = None,
    fresh: bool = False,
    say: Callable[[str], None] = print,
) -> EvalRun:
    """The run of a set: the kept one where the same was asked of the same code, else a new one.

    Raises:
        InvalidInput: the set is not there or cannot be read.
    """
    whole = chosen.load(data)
    asked = whole.first(_count(chosen, limit))
    wanted = [name for name in names_of(chosen) if not recipes or name in recipes]
    file = keep.run(chosen.name)
    code = code_hash()
    kept = None if fresh else _kept(file, asked, wanted, code)
    if kept is not None:
        say(f"{chosen.name}: kept from {kept.made:%Y-%m-%d %H:%M} UTC")
        return kept
    with ExitStack() as stack:
        engine = stack.enter_context(open_index(whole, keep.index(chosen.name), embedder, fresh=fresh, say=say))
        every = _searches(engine, stack, embedder) | _rerankers(engine, stack, embedder)
        done = run_searches(
            asked,
            {name: every[name] for name in wanted},
            setting=EvalSetting(
                documents=engine.status().files,
                chunks=engine.status().chunks,
                version=__version__,
                model=engine.embedder().info.name,
                machine={"code": code, "cores": str(machine()["cores"]), "cpu": str(machine()["cpu"])},
            ),
            on_query=lambda number, total: say(f"{chosen.name}: {number} of {total}") if number % 50 == 0 else None,
        )
    file.parent.mkdir(parents=True, exist_ok=True)
    done.save(file)
    return done


def kept_run(chosen: ResultSet, data: Path, keep: Keep, *, limit: int | None = None) -> EvalRun | None:
    """The run of a set that is kept of this code; None where it has to be asked."""
    if not keep.run(chosen.name).is_file():
        return None
    asked = chosen.load(data).first(_count(chosen, limit))
    return _kept(keep.run(chosen.name), asked, names_of(chosen), code_hash())


def _count(chosen: ResultSet, limit: int | None) -> int | None:
    return min((count for count in (chosen.sample, limit) if count is not None), default=None)


def names_of(chosen: ResultSet) -> list[str]:
    """The ways in which a set is asked."""
    names = [*(recipe.name for recipe in BY_SCORE), *(f"{RRF}{recipe.name}" for recipe in BY_RANK)]
    names += RERANKERS if chosen.reranked else ()
    return [name for name in names if not chosen.only or name in chosen.only]


def _searches(engine: Engine, stack: ExitStack, embedder: Embedder | None) -> dict[str, EvalSearch]:
    """Every way, by its name.

    Ways without reranking read nothing for their judge either: that changes no order, and takes half of their time.
    """

    def ways(recipes: Sequence[Recipe], fusion: str) -> dict[str, EvalSearch]:
        read, unread = (_again(engine, stack, embedder, fusion, more) for more in ({}, {"rerank.read_k": 0}))
        return {recipe.name: search_with(read if recipe.rerank_enabled else unread, recipe) for recipe in recipes}

    by_rank = {f"{RRF}{name}": search for name, search in ways(BY_RANK, "rrf").items()}
    return ways(BY_SCORE, "score") | by_rank


def _rerankers(engine: Engine, stack: ExitStack, embedder: Embedder | None) -> dict[str, EvalSearch]:
    return {
        name: search_with(_again(engine, stack, embedder, "score", more), HYBRID.replace(name=name))
        for name, more in RERANKERS.items()
    }


def _again(
    engine: Engine, stack: ExitStack, embedder: Embedder | None, fusion: str, more: Mapping[str, object]
) -> Engine:
    """The same index under other settings."""
    settings = settings_with(**{"search.fusion": fusion, **more})
    return stack.enter_context(Engine.open(engine.path, settings=settings, embedder=embedder, create=False))


def _kept(file: Path, asked: Dataset, wanted: Sequence[str], code: str) -> EvalRun | None:
    """The saved run, where it asked the same questions in the same ways of the same code."""
    try:
        run = EvalRun.load(file)
    except InvalidInput:
        return None
    there = {recipe.name for recipe in run.recipes}
    same = run.fingerprint == asked.fingerprint and there.issuperset(wanted) and run.machine.get("code") == code
    return run if same else None


def open_index(
    data: Dataset, folder: Path, embedder: Embedder | None, *, fresh: bool, say: Callable[[str], None]
) -> Engine:
    """The index of a data set, brought up to date; built anew where other rules made it."""
    mark = folder / "rules"
    made_by = f"{__version__}, rules {RULES_VERSION}"
    if folder.exists() and (fresh or not mark.is_file() or mark.read_text(encoding="utf-8") != made_by):
        shutil.rmtree(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    engine = Engine.open(folder, settings=settings_with(), embedder=embedder)
    say(f"{data.name}: taking in {len(data.ids)} documents")
    report = take_in(engine, data, own=True, on_progress=None, stop=threading.Event())
    for outcome in report.failed:
        say(f"not indexed: {outcome.reason}")
    mark.write_text(made_by, encoding="utf-8")
    return engine
