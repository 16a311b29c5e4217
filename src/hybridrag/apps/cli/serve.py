"""`hybridrag serve`: the HTTP server."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click

from hybridrag import InvalidInput, load_settings
from hybridrag.apps.cli.options import config_option, index_option

NEEDED = ("fastapi", "uvicorn", "prometheus_client", "python_multipart")


@click.command()
@click.option("--host", metavar="ADDRESS", help="The address to listen on; this machine alone unless set otherwise.")
@click.option("--port", type=click.IntRange(0, 65535), help="The port to listen on; 0 takes a free one.")
@click.option("--workers", type=click.IntRange(1, 256), help="How many processes answer requests.")
@index_option
@config_option
def serve(*, host: str | None, port: int | None, workers: int | None, index: Path | None, config: Path | None) -> None:
    """Start the HTTP server: search, answers and documents for programs, agents and people.

    It listens on this machine alone until a key exists. Ctrl-C ends it; jobs that were under way go on when it is
    started again.
    """
    if any(find_spec(name) is None for name in NEEDED):
        raise InvalidInput("The server is not installed.", hint="Run: pip install 'hybridrag[server]'")
    from hybridrag.apps.http.serve import run  # noqa: PLC0415 (only this command needs it; keeps start-up fast)

    overrides = {"server.host": host, "server.port": port, "server.workers": workers}
    if index is not None:
        overrides["index.path"] = str(index)
    run(load_settings(config, overrides=overrides).settings, tell=lambda line: click.echo(line, err=True))
