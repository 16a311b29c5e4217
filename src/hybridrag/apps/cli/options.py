"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def config_option(function: F) -> F:
    """`--config FILE`, as `config: Path | None`."""
    option = click.option(
        "--config",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Read settings from this file instead of the nearest hybridrag.toml.",
    )
    return option(function)


def json_option(function: F) -> F:
    """`--json`, as `as_json: bool`; the top level reports errors as JSON when it is given."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON; errors too.")(function)


def index_option(function: F) -> F:
    """`--index DIR`, as `index: Path | None`."""
    option = click.option(
        "--index",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="The index directory; .hybridrag in the current directory unless the settings say otherwise.",
    )
    return option(function)


def workspace_option(function: F) -> F:
    """`--workspace NAME`, as `workspace: str | None`."""
    return click.option("--workspace", metavar="NAME", help="The workspace to work in.")(function)


def quiet_option(function: F) -> F:
    """`--quiet`, as `quiet: bool`."""
    return click.option("--quiet", "-q", is_flag=True, help="Print nothing but failures.")(function)
