"""`hybridrag add | sync | remove | files | status`: documents in and out."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path

import click

from hybridrag import FileState, IngestReport, SearchFilters
from hybridrag.apps.cli.open import check_known, open_engine, open_for, tell_llm
from hybridrag.apps.cli.options import config_option, index_option, json_option, quiet_option, workspace_option
from hybridrag.apps.cli.output import print_json, print_rows, printable
from hybridrag.apps.cli.progress import progress_bar, stop_on_interrupt

SOME_FAILED = 4
INTERRUPTED = 130
STANDARD_INPUT = "-"


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(allow_dash=True))
@click.option("--name", help="The name to keep standard input under, with an ending such as .md.")
@workspace_option
@index_option
@config_option
@quiet_option
@json_option
@click.pass_context
def add(
    ctx: click.Context,
    *,
    paths: tuple[str, ...],
    name: str | None,
    workspace: str | None,
    index: Path | None,
    config: Path | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Take in files and folders; `-` reads standard input.

    Unchanged files cost nothing and changed ones are replaced. A file that cannot be read is reported, and the rest
    goes on.
    """
    with ExitStack() as stack:
        standard_input = paths == (STANDARD_INPUT,)
        given = (Path.cwd(),) if standard_input else paths
        engine = stack.enter_context(open_for(given, index, config))
        stop = stack.enter_context(stop_on_interrupt())
        show = stack.enter_context(progress_bar(quiet=quiet or as_json))
        if standard_input:
            data = sys.stdin.buffer.read()
            report = engine.add(data, name=name or "standard-input.txt", workspace=workspace, on_progress=show)
        else:
            report = engine.add(paths, workspace=workspace, on_progress=show, stop=stop)
        tell_llm(engine)
    _finish(ctx, report, as_json=as_json, quiet=quiet)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@workspace_option
@index_option
@config_option
@quiet_option
@json_option
@click.pass_context
def sync(
    ctx: click.Context,
    *,
    folder: Path,
    workspace: str | None,
    index: Path | None,
    config: Path | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Make the index hold exactly what a folder holds.

    Adds what is new, replaces what changed by its content, removes what is gone. Files from elsewhere stay.
    """
    with ExitStack() as stack:
        engine = stack.enter_context(open_for((folder,), index, config))
        stop = stack.enter_context(stop_on_interrupt())
        show = stack.enter_context(progress_bar(quiet=quiet or as_json))
        report = engine.sync(folder, workspace=workspace, on_progress=show, stop=stop)
        tell_llm(engine)
    _finish(ctx, report, as_json=as_json, quiet=quiet)


@click.command()
@click.argument("targets", nargs=-1)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Remove every file (of the workspace, if the settings or --workspace name one).",
)
@workspace_option
@index_option
@config_option
@quiet_option
@json_option
@click.pass_context
def remove(
    ctx: click.Context,
    *,
    targets: tuple[str, ...],
    everything: bool,
    workspace: str | None,
    index: Path | None,
    config: Path | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Forget files with everything that came from them: by path, name, id, or a whole folder."""
    with open_engine(index, config, create=False) as engine:
        check_known(engine, workspaces=() if workspace is None else (workspace,))
        report = engine.remove(*targets, workspace=workspace, everything=everything)
    _finish(ctx, report, as_json=as_json, quiet=quiet)


@click.command()
@click.option("--type", "types", multiple=True, metavar="MIME", help="Only this type, such as text/markdown or text/*.")
@workspace_option
@index_option
@config_option
@json_option
def files(
    *, types: tuple[str, ...], workspace: str | None, index: Path | None, config: Path | None, as_json: bool
) -> None:
    """List the files in the index."""
    with open_engine(index, config, create=False) as engine:
        check_known(engine, workspaces=() if workspace is None else (workspace,), types=types)
        found = list(engine.files(workspace=workspace, filters=SearchFilters(file_types=types)))
    if as_json:
        print_json([file.model_dump(mode="json") for file in found])
        return
    print_rows(
        ("file", "type", "chunks", "workspace", "modified"),
        [
            (
                file.shown_name,
                file.mime_type,
                str(file.chunk_count),
                file.workspace,
                f"{file.modified:%Y-%m-%d %H:%M}" if file.modified else "-",
            )
            for file in found
        ],
    )


@click.command()
@index_option
@config_option
@json_option
def status(*, index: Path | None, config: Path | None, as_json: bool) -> None:
    """Say what the index holds, with which model, on how many bytes."""
    with open_engine(index, config, create=False) as engine:
        now = engine.status()
        path = engine.path
    values: dict[str, object] = {
        "index": str(path),
        "files": now.files,
        "chunks": now.chunks,
        "workspaces": dict(now.workspaces),
        "model": now.model.name if now.model else None,
        "dimension": now.model.dimension if now.model else None,
        "vectorIndex": now.vector_index,
        "bytesOnDisk": now.bytes_on_disk,
        "format": now.format,
        "generation": now.generation,
    }
    if as_json:
        print_json(values)
        return
    print_rows(("what", "value"), [(key, _readable(value)) for key, value in values.items()])


def _readable(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} ({count})" for name, count in value.items()) or "-"
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def _finish(ctx: click.Context, report: IngestReport, *, as_json: bool, quiet: bool) -> None:
    """Print what happened, and exit by it."""
    print_report(report, as_json=as_json, quiet=quiet)
    if report.interrupted:
        ctx.exit(INTERRUPTED)
    if report.failed:
        ctx.exit(SOME_FAILED)


def print_report(report: IngestReport, *, as_json: bool, quiet: bool) -> None:
    """What happened to the files: failures and doubts on stderr, the sum on stdout."""
    if as_json:
        print_json(report.model_dump(mode="json"))
        return
    for outcome in report.failed:
        click.echo(printable(f"failed: {outcome.reason}"), err=True)
    for outcome in report.outcomes:
        for warning in outcome.warnings:
            click.echo(printable(f"warning: {outcome.name}: {warning}."), err=True)
    for note in report.notes:
        click.echo(f"note: {note}", err=True)
    if not quiet:
        click.echo(_summary(report))


def _plural(kind: str, count: int) -> str:
    """2 of "file without text" -> "files without text"."""
    first, space, rest = kind.partition(" without ")
    return kind if count == 1 else f"{first}s{space}{rest}"


def _summary(report: IngestReport) -> str:
    counts = [f"{report.count(state)} {state.value}" for state in FileState if report.count(state)]
    if kinds := report.skipped:
        counts[-1] += f" ({', '.join(f'{count} {_plural(kind, count)}' for kind, count in kinds.items())})"
    done = ", ".join(counts) or "nothing to do"
    kept = " (interrupted; what is listed is kept)" if report.interrupted else ""
    return f"{done}; {report.chunks} chunks in {report.seconds:.1f} s{kept}"
