"""`hybridrag eval`: measure searches on questions with marked documents; `eval compare`: two saved runs."""

from __future__ import annotations

import platform
import shutil
import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from hashlib import blake2b
from os import cpu_count
from pathlib import Path
from typing import Any

import click

from hybridrag import (
    RECIPES,
    Answer,
    Engine,
    IngestReport,
    InvalidInput,
    OnProgress,
    Recipe,
    SearchResult,
    Settings,
    __version__,
    find_recipes,
    load_settings,
)
from hybridrag.apps.cli.evaluate_output import print_agreement, print_differences, print_run, run_as_json
from hybridrag.apps.cli.options import config_option, json_option, quiet_option
from hybridrag.apps.cli.output import print_json
from hybridrag.apps.cli.progress import progress_bar, stop_on_interrupt
from hybridrag.evaluate import (
    Dataset,
    EvalAnswer,
    EvalRun,
    EvalSearch,
    EvalSetting,
    compare_runs,
    judge_agreement,
    load_dataset,
    load_judge,
    load_support_judge,
    read_labelled_cases,
    run_answers,
    run_searches,
    write_report,
)

INTERRUPTED = 130
DEFAULT = "run"
ANSWERED_FROM = 10
"""Results that an answer is made from."""


class _RunUnlessNamed(click.Group):
    """A group whose first argument may be a data set: `eval DATASET` is `eval run DATASET`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first argument names, else `run` with all of them."""
        if args and args[0] not in self.commands:
            args = [DEFAULT, *args]
        return super().resolve_command(ctx, args)


@click.group(name="eval", cls=_RunUnlessNamed, context_settings={"ignore_unknown_options": True})
def evaluate() -> None:
    r"""Measure searches on questions with marked documents.

    \b
    hybridrag eval DATASET             the same as: hybridrag eval run DATASET
    hybridrag eval compare A.json B.json
    hybridrag eval judge CASES.jsonl
    """


@evaluate.command(name=DEFAULT)
@click.argument("dataset", type=click.Path(path_type=Path))
@click.option(
    "--recipe",
    "names",
    multiple=True,
    metavar="NAME",
    help=f"Only this way of searching; may be repeated. One of {', '.join(recipe.name for recipe in RECIPES)}.",
)
@click.option("--answers", is_flag=True, help="Also answer the questions, and say how good the answers are.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Ask so many of the questions only.")
@click.option("--split", metavar="NAME", help="Which of several qrels: test, dev, ...")
@click.option("--files", type=click.Path(path_type=Path), metavar="DIR", help="Take the documents from this folder.")
@click.option(
    "--index",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep the index here instead of in the cache; needed where the data set brings no documents.",
)
@click.option("--fresh", is_flag=True, help="Build the index in the cache anew.")
@click.option("--save", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Save the run as JSON.")
@click.option(
    "--report", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write a report as one HTML page."
)
@config_option
@quiet_option
@json_option
@click.pass_context
def run(
    ctx: click.Context,
    *,
    dataset: Path,
    names: tuple[str, ...],
    answers: bool,
    limit: int | None,
    split: str | None,
    files: Path | None,
    index: Path | None,
    fresh: bool,
    save: Path | None,
    report: Path | None,
    config: Path | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Ask every question of a data set in several ways on one index, and say how good and how fast each was.

    DATASET is a folder in the BEIR layout: corpus.jsonl, queries.jsonl, qrels.tsv. Its index is built on the first
    run and brought up to date on later ones.
    """
    recipes = find_recipes(names)
    data = load_dataset(dataset, split=split, files=files).first(limit)
    # Answers that were kept would be timed instead of searches.
    settings = load_settings(config, overrides={"search.cache_size": 0}).settings
    with ExitStack() as stack:
        engine = stack.enter_context(open_dataset_index(data, settings, index, fresh=fresh))
        stop = stack.enter_context(stop_on_interrupt())
        with progress_bar(quiet=quiet or as_json) as show:
            if data.has_corpus:
                told = take_in(engine, data, on_progress=show, stop=stop, own=index is None)
                if told.interrupted:
                    ctx.exit(INTERRUPTED)
                for outcome in told.failed:
                    click.echo(f"not indexed: {outcome.reason}", err=True)
        counting = None if quiet or as_json or not sys.stderr.isatty() else _count
        done = run_searches(
            data,
            {recipe.name: search_with(engine, recipe) for recipe in recipes},
            options={recipe.name: recipe.model_dump(mode="json", exclude={"name"}) for recipe in recipes},
            setting=_setting(engine),
            on_query=counting,
        )
        if answers:
            judge = load_support_judge(settings)
            given = run_answers(data, answer_with(engine), judge, on_query=counting)
            done = done.model_copy(update={"answers": given, "answers_judged_by": judge.name})
    _finish(done, save=save, report=report, as_json=as_json)


@evaluate.command()
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", type=click.Path(path_type=Path))
@click.option("--recipe", "names", multiple=True, metavar="NAME", help="Only this one; may be repeated.")
@click.option(
    "--report", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write a report as one HTML page."
)
@json_option
def compare(*, before: Path, after: Path, names: tuple[str, ...], report: Path | None, as_json: bool) -> None:
    """Say what changed from one saved run to another, by the same questions, and how sure that is.

    Recipes of the same name are compared; where each run has a single one, those two.
    """
    old, new = EvalRun.load(before), EvalRun.load(after)
    pairs = _pairs(old, new, names)
    differences = {pair: compare_runs((old, pair[0]), (new, pair[1])) for pair in pairs}
    if report is not None:
        write_report(new, report, before=old)
    print_differences(old, new, differences, as_json=as_json)


@evaluate.command(name="judge")
@click.argument("cases", type=click.Path(path_type=Path))
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Judge so many of the cases only.")
@config_option
@quiet_option
@json_option
def judge_command(*, cases: Path, limit: int | None, config: Path | None, quiet: bool, as_json: bool) -> None:
    """Say how far the judge of the settings agrees with people.

    CASES is a file of JSON lines, plain or .gz: {"question", "passages", "sufficient"}, whether the passages hold the
    answer, or {"statement", "passages", "supported"}.
    """
    labelled = read_labelled_cases(cases)[:limit]
    settings = load_settings(config).settings
    judge, support = load_judge(settings), load_support_judge(settings)
    counting = None if quiet or as_json or not sys.stderr.isatty() else _count_cases
    found = judge_agreement(labelled, judge=judge, support=support, on_case=counting)
    print_agreement(found, judge.name, as_json=as_json)


def _pairs(old: EvalRun, new: EvalRun, names: Sequence[str]) -> list[tuple[str, str]]:
    """Which recipe is held against which."""
    there = [recipe.name for recipe in new.recipes]
    if names:
        return [(name, name) for name in names]
    same = [(recipe.name, recipe.name) for recipe in old.recipes if recipe.name in there]
    if not same and len(old.recipes) == len(there) == 1:
        return [(old.recipes[0].name, there[0])]
    if not same:
        raise InvalidInput("The two runs have no recipe in common.", hint="EvalRun both with the same --recipe.")
    return same


# The index


def open_dataset_index(data: Dataset, settings: Settings, index: Path | None, *, fresh: bool) -> Engine:
    """The index at `--index`, or the data set's own in the cache."""
    if index is not None:
        return Engine.open(index, settings=settings, create=data.has_corpus)
    if not data.has_corpus:
        raise InvalidInput(
            f"{data.path} brings no documents.", hint="Name an index that holds them with --index, or a folder."
        )
    folder = _cache_folder(data, settings)
    if fresh and folder.exists():
        shutil.rmtree(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    return Engine.open(folder, settings=settings)


def _cache_folder(data: Dataset, settings: Settings) -> Path:
    """One for each data set and each way to make an index of it."""
    made_with = (
        str(data.path.resolve()),
        str(data.root),
        __version__,
        settings.embedding.model,
        settings.embedding.provider,
        settings.chunking,
        settings.graph,
    )
    name = f"{data.name}-{blake2b(repr(made_with).encode(), digest_size=6).hexdigest()}"
    return settings.embedding.cache_dir / "eval" / name


def take_in(
    engine: Engine, data: Dataset, *, own: bool, on_progress: OnProgress | None, stop: threading.Event
) -> IngestReport:
    """Bring the index up to date with the data set; what is not of it would be found instead of what is."""
    wanted = data.ids
    others = [file.id for file in engine.files() if data.document_id(file.name) not in wanted]
    if others and not own:
        raise InvalidInput(
            f"The index at {engine.path} holds {len(others)} other documents.", hint="Name a folder of its own."
        )
    if others:
        engine.remove(*others)
    if data.documents:
        return engine.add_documents(data.documents, on_progress=on_progress, stop=stop)
    return engine.add([str(file) for file in data.files], on_progress=on_progress, stop=stop)


def search_with(engine: Engine, recipe: Recipe) -> EvalSearch:
    """The engine asked by a recipe, with its trace."""
    options: dict[str, Any] = recipe.options()

    def search(text: str, limit: int) -> SearchResult:
        return engine.search(text, explain=True, limit=limit, **options)

    return search


def answer_with(engine: Engine) -> EvalAnswer:
    """The engine asked for answers, each with the texts of the results that it was made from."""
    # The answer is made from the very results that were found just before, so the search is done but once.
    kept = engine.settings.search.model_copy(update={"cache_size": 1})
    answering = engine.with_settings(engine.settings.model_copy(update={"search": kept}))

    def answer(text: str) -> tuple[Answer, list[str]]:
        found = answering.search(text, limit=ANSWERED_FROM, crag_enabled=True)
        return answering.answer(text, limit=ANSWERED_FROM), [item.content.text for item in found.results]

    return answer


# What is said


def _setting(engine: Engine) -> EvalSetting:
    status = engine.status()
    shown = engine.settings.model_dump(
        mode="json", by_alias=True, include={"chunking", "embedding", "graph", "search", "rerank", "verify"}
    )
    shown["embedding"] = {key: shown["embedding"][key] for key in ("provider", "model", "dimensions", "threads")}
    return EvalSetting(
        documents=status.files,
        chunks=status.chunks,
        version=__version__,
        model=status.model.name if status.model else "",
        settings=shown,
        machine={
            "system": platform.platform(),
            "processor": platform.processor() or platform.machine(),
            "cores": cpu_count(),
            "python": platform.python_version(),
        },
    )


def _count(done: int, total: int) -> None:
    click.echo(f"\r{done} of {total} questions asked{_line_end(done, total)}", nl=False, err=True)


def _count_cases(done: int, total: int) -> None:
    click.echo(f"\r{done} of {total} cases judged{_line_end(done, total)}", nl=False, err=True)


def _line_end(done: int, total: int) -> str:
    return "\n" if done == total else ""


def _finish(done: EvalRun, *, save: Path | None, report: Path | None, as_json: bool) -> None:
    if save is not None:
        done.save(save)
    if report is not None:
        write_report(done, report)
    if as_json:
        print_json(run_as_json(done))
    else:
        print_run(done)
