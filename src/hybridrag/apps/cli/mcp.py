"""`hybridrag mcp`: the index for an agent on this machine, over stdio."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click

from hybridrag import InvalidInput
from hybridrag.apps.cli.open import open_engine
from hybridrag.apps.cli.options import config_option, index_option


@click.command()
@click.option("--write", is_flag=True, help="Let the agent add and remove documents too.")
@index_option
@config_option
def mcp(*, write: bool, index: Path | None, config: Path | None) -> None:
    """Give an agent on this machine the index, by the Model Context Protocol over stdio.

    Programs such as Claude Desktop, Cursor or VS Code start it themselves: name `hybridrag` as the command and
    `mcp --index FOLDER` as its arguments. For agents elsewhere `hybridrag serve` answers under /mcp.
    """
    if find_spec("mcp") is None:
        raise InvalidInput("MCP is not installed.", hint="Run: pip install 'hybridrag[mcp]'")
    import anyio.to_thread  # noqa: PLC0415 (only this command needs it; keeps start-up fast)

    from hybridrag.apps.access import LOCAL, Access  # noqa: PLC0415
    from hybridrag.apps.mcp import make_server  # noqa: PLC0415

    with open_engine(index, config, create=False) as engine:
        access = Access(engine, LOCAL)
        public_url = engine.settings.server.public_url
        server = make_server(lambda _: access, anyio.to_thread.run_sync, public_url=public_url, write=write)
        server.run("stdio")
