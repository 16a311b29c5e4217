"""`hybridrag tune --judge`: fit the judge of the results to labelled questions, where that helps."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path

import click

from hybridrag import Engine, InvalidInput, Recipe, Settings, load_settings
from hybridrag.apps.cli.evaluate import open_dataset_index, search_with, take_in
from hybridrag.apps.cli.output import print_json, print_rows
from hybridrag.apps.cli.progress import progress_bar, stop_on_interrupt
from hybridrag.evaluate import (
    Dataset,
    Fitted,
    JudgedQuestion,
    JudgeGain,
    RecordingJudge,
    check_labelled,
    cross_validate_fit,
    fit_judge,
    judge_questions,
    load_search_judge,
)

INTERRUPTED = 130
WAYS = {"reasons": False, "reasons and words": True}
"""What is fitted to -> whether how a question is put counts. Of two that are equally good the first is kept."""

HEADINGS = ["language", "fitted to", "questions", "insufficient", "right", "after", "difference", "area", "after"]

Gains = Mapping[str, Sequence[JudgeGain]]
"""What each way is worth, by language."""


def tune_judge(
    ctx: click.Context,
    data: Dataset,
    recipe: Recipe,
    *,
    config: Path | None,
    index: Path | None,
    write: Path | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Ask every question once, fit the judge in both ways, and say what each is worth; write the better one.

    Raises:
        InvalidInput: there are too few labelled questions, or the file cannot be written.
    """
    check_labelled(data)
    # The first judge is what is fitted to, whatever was fitted before; kept answers would be judged by nobody.
    loaded = load_settings(config, overrides={"search.cache_size": 0}).settings
    settings = loaded.model_copy(update={"verify": loaded.verify.model_copy(update={"fitted": None})})
    judge = RecordingJudge(load_search_judge(settings, corrected=recipe.crag_enabled))
    cases = _judged(ctx, data, recipe, judge, settings, index=index, quiet=quiet or as_json)
    gains = {way: _gains(judge.name, cases, words=words) for way, words in WAYS.items()}
    chosen = _chosen(gains)
    if write is not None and chosen:
        _write(write, _fitted(judge.name, cases, chosen))
    _print(gains, chosen, write, as_json=as_json)


def _judged(
    ctx: click.Context,
    data: Dataset,
    recipe: Recipe,
    judge: RecordingJudge,
    settings: Settings,
    *,
    index: Path | None,
    quiet: bool,
) -> list[JudgedQuestion]:
    with ExitStack() as stack:
        engine = stack.enter_context(open_dataset_index(data, settings, index, fresh=False))
        stop = stack.enter_context(stop_on_interrupt())
        with progress_bar(quiet=quiet) as show:
            if data.has_corpus and take_in(engine, data, own=index is None, on_progress=show, stop=stop).interrupted:
                ctx.exit(INTERRUPTED)
        asking = stack.enter_context(
            Engine.open(engine.path, settings=settings, embedder=engine.embedder(), judge=judge, create=False)
        )
        counting = None if quiet or not sys.stderr.isatty() else _count
        return judge_questions(data, search_with(asking, recipe), judge, on_query=counting)


def _gains(judge: str, cases: Sequence[JudgedQuestion], *, words: bool) -> list[JudgeGain]:
    return cross_validate_fit(cases, lambda labelled: fit_judge(judge, labelled, words=words).sufficient)


def _chosen(gains: Gains) -> dict[str, str]:
    """The way that is right most often for each language that gains at all."""
    best: dict[str, tuple[float, str]] = {}
    for way, rows in gains.items():
        for row in rows:
            if row.is_better and row.after.right > best.get(row.language, (0.0, ""))[0]:
                best[row.language] = (row.after.right, way)
    return {language: way for language, (_, way) in sorted(best.items())}


def _fitted(judge: str, cases: Sequence[JudgedQuestion], chosen: Mapping[str, str]) -> Fitted:
    """Fitted to all questions, each language in its own way."""
    labelled = [(case.question, case.judgement, case.sufficient) for case in cases]
    ways = {way: fit_judge(judge, labelled, words=WAYS[way]) for way in set(chosen.values())}
    first = next(iter(ways.values()))
    return replace(first, languages={language: ways[way].languages[language] for language, way in chosen.items()})


def _write(file: Path, fitted: Fitted) -> None:
    try:
        file.write_text(fitted.as_toml(), encoding="utf-8")
    except OSError as cause:
        raise InvalidInput(f"{file} cannot be written ({cause.strerror or cause}).") from None


def _print(gains: Gains, chosen: Mapping[str, str], write: Path | None, *, as_json: bool) -> None:
    if as_json:
        found = [
            {"fittedTo": way, **asdict(row), "better": row.is_better} for way, all_ in gains.items() for row in all_
        ]
        print_json({"gains": found, "chosen": dict(chosen), "written": str(write) if write and chosen else None})
        return
    rows = sorted(((row, way) for way, all_ in gains.items() for row in all_), key=lambda pair: pair[0].language)
    print_rows(HEADINGS, [_row(row, way) for row, way in rows])
    if not chosen:
        click.echo("Nothing judged better than the judge as it is; nothing to set.")
    elif write is None:
        click.echo("Write it with --write FILE.")
    else:
        kept = ", ".join(f"{language} by {way}" for language, way in chosen.items())
        click.echo(f'Written for {kept}. Set it:\n\n[verify]\nfitted = "{write.as_posix()}"')


def _row(row: JudgeGain, way: str) -> list[str]:
    before, after = row.before, row.after
    shares = [f"{before.right:.1%}", f"{after.right:.1%}", f"{100 * row.difference.mean:+.1f} {_interval(row)}"]
    return [
        row.language,
        way,
        str(row.questions),
        str(row.insufficient),
        *shares,
        f"{before.area:.3f}",
        f"{after.area:.3f}",
    ]


def _interval(row: JudgeGain) -> str:
    return f"[{100 * row.difference.low:+.1f}, {100 * row.difference.high:+.1f}]"


def _count(done: int, total: int) -> None:
    click.echo(f"\r{done} of {total} questions asked" + ("\n" if done == total else ""), nl=False, err=True)
