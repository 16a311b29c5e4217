"""The `hybridrag` command itself: knows every command by name, loads only the one that is run.

To add a command, write its module and add one line to `COMMANDS`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

COMMANDS: dict[str, tuple[str, str]] = {
    "add": ("hybridrag.apps.cli.documents:add", "Take in files and folders; `-` reads standard input."),
    "ask": ("hybridrag.apps.cli.ask:ask", "Answer a question with citations, or say what the documents do not hold."),
    "check": ("hybridrag.apps.cli.upkeep:check", "Verify that everything in the index agrees."),
    "classify": (
        "hybridrag.apps.cli.classify:classify",
        "Say what kind of answer a question wants, and what it names.",
    ),
    "config": ("hybridrag.apps.cli.config:config", "Show the effective settings and where each came from."),
    "eval": ("hybridrag.apps.cli.evaluate:evaluate", "Measure searches on questions with marked documents."),
    "files": ("hybridrag.apps.cli.documents:files", "List the files in the index."),
    "graph": (
        "hybridrag.apps.cli.graph:graph",
        "Look into the knowledge graph, mend its names, take it elsewhere.",
    ),
    "keys": ("hybridrag.apps.cli.keys:keys", "Make, list and revoke the keys that the server asks for."),
    "query": ("hybridrag.apps.cli.query:query", "Check a query and print it as JSON, without searching."),
    "reembed": (
        "hybridrag.apps.cli.upkeep:reembed",
        "Embed every chunk anew with the model that the settings name.",
    ),
    "remove": (
        "hybridrag.apps.cli.documents:remove",
        "Forget files with everything that came from them: by path, name, id, or a whole folder.",
    ),
    "repair": (
        "hybridrag.apps.cli.upkeep:repair",
        "Rebuild everything that is derived from the documents: terms, vector index, counts.",
    ),
    "schema": ("hybridrag.apps.cli.schema:schema", "Print the JSON Schema of a public type, or check a file."),
    "search": (
        "hybridrag.apps.cli.search:search",
        "Find the passages that answer a question, by keyword, meaning and knowledge graph.",
    ),
    "mcp": (
        "hybridrag.apps.cli.mcp:mcp",
        "Give an agent on this machine the index, by the Model Context Protocol over stdio.",
    ),
    "serve": (
        "hybridrag.apps.cli.serve:serve",
        "Start the HTTP server: search, answers and documents for programs, agents and people.",
    ),
    "show": (
        "hybridrag.apps.cli.show:show",
        "Show what was read of a file: its passages with their places, and what looks wrong.",
    ),
    "status": (
        "hybridrag.apps.cli.documents:status",
        "Say what the index holds, with which model, on how many bytes.",
    ),
    "sync": ("hybridrag.apps.cli.documents:sync", "Make the index hold exactly what a folder holds."),
    "tune": (
        "hybridrag.apps.cli.tune:tune_command",
        "Try settings on one half of a data set's questions, and say what the best are worth on the other half.",
    ),
    "watch": ("hybridrag.apps.cli.watch:watch", "Keep the index in step with a folder until it is stopped (Ctrl-C)."),
}
"""Name -> (module:object, first line of its help). The line stands here so that `--help` need not load the module; a
test keeps it equal to the command's own."""

EPILOG = """\
\b
Exit codes:
  0    done
  1    unexpected error
  2    wrong usage, settings or input
  3    no such index or id, or the index is busy or damaged
  4    some documents could not be read
  5    a model or a remote service failed
  130  interrupted
"""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every name in the table, sorted."""
        return sorted({*super().list_commands(ctx), *COMMANDS})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, loaded now."""
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 (click's)
        """The table as it stands; loading every command for its help would make `--help` slow."""
        own = {name: command.get_short_help_str(limit=80) for name, command in self.commands.items()}
        rows = {**own, **{name: line for name, (_, line) in COMMANDS.items()}}
        with formatter.section("Commands"):
            formatter.write_dl(sorted(rows.items()))


def _print_version(ctx: click.Context, _: click.Parameter, value: Any) -> None:
    if not value or ctx.resilient_parsing:
        return
    click.echo(f"hybridrag {import_module('hybridrag').__version__}")
    ctx.exit()


@click.group(cls=LazyGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version and exit.",
)
@click.option(
    "--debug", is_flag=True, expose_value=False, help="Show the details of an error. May stand after a command too."
)
def cli() -> None:
    """Search your own documents by keyword, meaning and knowledge graph at once.

    Everything runs on this machine; no key and no internet is needed.
    """
