"""`hybridrag check | repair | reembed`: keep the index sound."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import click

from hybridrag import Problem
from hybridrag.apps.cli.open import open_engine
from hybridrag.apps.cli.options import config_option, index_option, json_option, quiet_option
from hybridrag.apps.cli.output import print_json
from hybridrag.apps.cli.progress import progress_bar, stop_on_interrupt

DAMAGED = 3
INTERRUPTED = 130


@click.command()
@index_option
@config_option
@json_option
@click.pass_context
def check(ctx: click.Context, *, index: Path | None, config: Path | None, as_json: bool) -> None:
    """Verify that everything in the index agrees.

    Exits with 3 when something does not.
    """
    with open_engine(index, config, create=False) as engine:
        problems = engine.check()
    _report(ctx, problems, as_json=as_json, clean="The index is sound.")


@click.command()
@index_option
@config_option
@json_option
@click.pass_context
def repair(ctx: click.Context, *, index: Path | None, config: Path | None, as_json: bool) -> None:
    """Rebuild everything that is derived from the documents: terms, vector index, counts."""
    with open_engine(index, config, create=False) as engine:
        problems = engine.repair()
    _report(ctx, problems, as_json=as_json, clean="Repaired; the index is sound.")


@click.command()
@index_option
@config_option
@quiet_option
@json_option
@click.pass_context
def reembed(ctx: click.Context, *, index: Path | None, config: Path | None, quiet: bool, as_json: bool) -> None:
    """Embed every chunk anew with the model that the settings name.

    Searches use the old vectors until the new ones are complete. An interrupted run goes on where it stopped.
    """
    with open_engine(index, config, create=False) as engine, ExitStack() as stack:
        stop = stack.enter_context(stop_on_interrupt())
        show = stack.enter_context(progress_bar(quiet=quiet or as_json))
        done = engine.reembed(on_progress=show, stop=stop)
        model = engine.status().model
    if as_json:
        print_json({"embedded": done, "model": model.name if model else None, "interrupted": stop.is_set()})
    elif not quiet:
        click.echo(f"{done} chunks embedded.")
    if stop.is_set():
        ctx.exit(INTERRUPTED)


def _report(ctx: click.Context, problems: list[Problem], *, as_json: bool, clean: str) -> None:
    if as_json:
        print_json([{"what": problem.what, "derived": problem.derived} for problem in problems])
    else:
        for problem in problems:
            remedy = "hybridrag repair mends it" if problem.derived else "add its files again"
            click.echo(f"{problem.what} ({remedy})")
        if not problems:
            click.echo(clean)
    if problems:
        ctx.exit(DAMAGED)
