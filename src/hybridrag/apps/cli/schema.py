"""`hybridrag schema`: the contract for programs in other languages."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from hybridrag import InvalidInput, check_json, json_schema, schema_names
from hybridrag.apps.cli.options import json_option
from hybridrag.apps.cli.output import print_json

PROBLEMS_FOUND = 2
"""As for any other wrong input."""


@click.command()
@click.argument("name", required=False)
@click.option("--all", "every", is_flag=True, help="Print all of them as one JSON object.")
@click.option("--check", "file", metavar="FILE", help="Check a JSON file instead; - reads standard input.")
@click.option("--type", "kind", metavar="NAME", help="The type to check against.  [default: SearchQuery]")
@json_option
@click.pass_context
def schema(
    ctx: click.Context, *, name: str | None, every: bool, file: str | None, kind: str | None, as_json: bool
) -> None:
    """Print the JSON Schema of a public type, or check a file.

    Without a NAME, lists the types. Field names are those of the JSON: camelCase.
    """
    if sum((name is not None, every, file is not None)) > 1:
        ctx.fail("Give one of NAME, --all and --check.")
    if kind is not None and file is None:
        ctx.fail("--type belongs to --check.")
    if file is not None:
        _check(ctx, file, kind or "SearchQuery", as_json=as_json)
    elif every:
        print_json({each: json_schema(each) for each in schema_names()})
    elif name is not None:
        print_json(json_schema(name))
    elif as_json:
        print_json(schema_names())
    else:
        click.echo("\n".join(schema_names()))


def _check(ctx: click.Context, file: str, kind: str, *, as_json: bool) -> None:
    """One line per problem, each with the name of the file, as compilers do."""
    problems = check_json(_read(file), kind)
    if as_json:
        print_json({"file": file, "type": kind, "valid": not problems, "problems": problems})
    elif not problems:
        click.echo(f"{file}: a valid {kind}")
    for problem in problems if not as_json else ():
        click.echo(f"{file}: {problem}")
    if problems:
        ctx.exit(PROBLEMS_FOUND)


def _read(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        # Windows editors write a byte order mark, which JSON does not know.
        return Path(file).read_bytes().removeprefix(b"\xef\xbb\xbf")
    except OSError as cause:
        raise InvalidInput(f"{file} cannot be read: {(cause.strerror or str(cause)).lower()}.") from cause
