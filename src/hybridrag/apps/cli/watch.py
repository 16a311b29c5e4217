"""`hybridrag watch`: keep an index in step with a folder."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import click

from hybridrag.apps.cli.documents import print_report
from hybridrag.apps.cli.open import open_for, tell_llm
from hybridrag.apps.cli.options import config_option, index_option, json_option, quiet_option, workspace_option
from hybridrag.apps.cli.progress import progress_bar, stop_on_interrupt


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--every", type=click.FloatRange(min=0.1), default=2.0, metavar="SECONDS", help="How often to look.")
@workspace_option
@index_option
@config_option
@quiet_option
@json_option
def watch(
    *,
    folder: Path,
    every: float,
    workspace: str | None,
    index: Path | None,
    config: Path | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Keep the index in step with a folder until it is stopped (Ctrl-C).

    What is new, changed or gone is taken in within seconds, as `sync` does it.
    """
    with ExitStack() as stack:
        engine = stack.enter_context(open_for((folder,), index, config))
        stop = stack.enter_context(stop_on_interrupt())
        show = stack.enter_context(progress_bar(quiet=quiet or as_json))
        for report in engine.watch(folder, seconds=every, workspace=workspace, on_progress=show, stop=stop):
            tell_llm(engine)
            print_report(report, as_json=as_json, quiet=quiet)
