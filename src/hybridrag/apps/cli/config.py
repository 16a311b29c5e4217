"""`hybridrag config`: what is set, and by whom."""

from __future__ import annotations

import json
from pathlib import Path

import click

from hybridrag import load_settings
from hybridrag.apps.cli.options import config_option, json_option
from hybridrag.apps.cli.output import print_json, print_rows

NO_FILE = 3
"""As for anything else that is not there."""


@click.group()
def config() -> None:
    """Show the effective settings and where each came from."""


@config.command()
@config_option
@json_option
def show(*, config: Path | None, as_json: bool) -> None:
    """Print every setting, its value and where it was set.

    Later ones count: defaults, then hybridrag.toml, then HYBRIDRAG_* variables, then arguments. Secrets are masked.
    """
    loaded = load_settings(config)
    shown = loaded.shown()
    if as_json:
        rows = [{"key": setting.key, "value": setting.value, "origin": setting.origin} for setting in shown]
        print_json({"file": str(loaded.file) if loaded.file else None, "settings": rows})
        return
    print_rows(
        ("setting", "value", "set by"), [(setting.key, _cell(setting.value), setting.origin) for setting in shown]
    )


@config.command()
@config_option
@click.pass_context
def path(ctx: click.Context, *, config: Path | None) -> None:
    """Print the settings file that is read.

    Without one, says so and exits with 3.
    """
    file = load_settings(config).file
    if file is None:
        click.echo(f"There is no hybridrag.toml in {Path.cwd()} or above it; the defaults are in use.", err=True)
        ctx.exit(NO_FILE)
    click.echo(file)


def _cell(value: object) -> str:
    """As it would stand in hybridrag.toml; `-` where nothing is set."""
    if value is None:
        return "-"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
