"""`hybridrag keys create | list | revoke`: who may use the server."""

from __future__ import annotations

from pathlib import Path

import click

from hybridrag import load_settings
from hybridrag.apps.cli.options import config_option, index_option, json_option
from hybridrag.apps.cli.output import print_json, print_rows, printable
from hybridrag.apps.keys import Key, Keys, Scope, data_dir


@click.group()
def keys() -> None:
    """Make, list and revoke the keys that the server asks for.

    The server refuses to listen beyond this machine until there is a key. Once there is one, every request needs one.
    """


@keys.command()
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    required=True,
    type=click.Choice([scope.value for scope in Scope]),
    help="What it may do: search, write (add and remove documents), or admin (everything). May be given several times.",
)
@click.option(
    "--workspace", "workspaces", multiple=True, metavar="NAME", help="Where it may do so. May be given several times."
)
@click.option("--all-workspaces", is_flag=True, help="Let it work in every workspace, later ones too.")
@click.option("--label", default="", metavar="TEXT", help="What it is for.")
@index_option
@config_option
@json_option
def create(
    *,
    scopes: tuple[str, ...],
    workspaces: tuple[str, ...],
    all_workspaces: bool,
    label: str,
    index: Path | None,
    config: Path | None,
    as_json: bool,
) -> None:
    """Make a key and print it, once; only its hash is kept."""
    if all_workspaces == bool(workspaces):
        raise click.UsageError("Give either --workspace NAME, once or several times, or --all-workspaces.")
    key, secret = _keys(index, config).create(
        scopes=[Scope(scope) for scope in scopes], workspaces=None if all_workspaces else workspaces, label=label
    )
    if as_json:
        print_json({**_shown(key), "key": secret})
        return
    click.echo(secret)
    click.echo("Keep it: it cannot be shown again. Send it as: Authorization: Bearer KEY", err=True)


@keys.command("list")
@index_option
@config_option
@json_option
def list_keys(*, index: Path | None, config: Path | None, as_json: bool) -> None:
    """List the keys, without their secrets."""
    found = sorted(_keys(index, config).known().values(), key=lambda key: key.created)
    if as_json:
        print_json([_shown(key) for key in found])
        return
    rows = [
        (
            key.id,
            ", ".join(key.scopes),
            "all" if key.workspaces is None else ", ".join(key.workspaces),
            f"{key.created:%Y-%m-%d %H:%M}",
            key.label or "-",
        )
        for key in found
    ]
    print_rows(("id", "scopes", "workspaces", "created", "label"), rows)


@keys.command()
@click.argument("identity", metavar="ID")
@index_option
@config_option
@json_option
def revoke(*, identity: str, index: Path | None, config: Path | None, as_json: bool) -> None:
    """Make a key worthless, at once, also for a server that runs."""
    gone = _keys(index, config).revoke(identity)
    if as_json:
        print_json(_shown(gone))
    else:
        click.echo(printable(f"revoked: {gone.id}" + (f" ({gone.label})" if gone.label else "")))


def _keys(index: Path | None, config: Path | None) -> Keys:
    overrides: dict[str, object] = {} if index is None else {"index.path": str(index)}
    return Keys(data_dir(load_settings(config, overrides=overrides).settings))


def _shown(key: Key) -> dict[str, object]:
    return key.model_dump(mode="json", exclude={"hash"})
