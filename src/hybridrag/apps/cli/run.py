"""Run the command line: every failure becomes one sentence and an exit code, never a traceback."""

from __future__ import annotations

import json
import sys
import textwrap
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import click

from hybridrag import DocumentError, InvalidInput, NotFound, RAGError, StageError, StoreError
from hybridrag.apps.cli.group import cli

MAX_UNEXPECTED = 200
"""Some libraries explain themselves at length; the whole of it is what `--debug` is for."""


class Exit(IntEnum):
    """What the shell is told; `hybridrag --help` lists them."""

    DONE = 0
    UNEXPECTED = 1
    INVALID = 2
    STORE = 3
    DOCUMENTS = 4
    MODELS = 5
    INTERRUPTED = 130  # 128 + SIGINT, as shells count


_EXIT_BY_ERROR: tuple[tuple[type[RAGError], Exit], ...] = (
    (InvalidInput, Exit.INVALID),
    (StoreError, Exit.STORE),
    (NotFound, Exit.STORE),
    (DocumentError, Exit.DOCUMENTS),
    (StageError, Exit.MODELS),
)


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as a user sees it."""

    code: str
    message: str
    hint: str | None
    exit: Exit

    def as_text(self) -> str:
        """`error: <sentence>`."""
        return f"error: {self.message}" + (f" {self.hint}" if self.hint else "")

    def as_json(self) -> str:
        """`{"error": {"code": ..., "message": ..., "hint": ...}}` on one line."""
        # ASCII only, so that no terminal's encoding can make reporting an error fail.
        return json.dumps({"error": {"code": self.code, "message": self.message, "hint": self.hint}})


def main(args: Sequence[str] | None = None) -> int:
    """Run `hybridrag` with these arguments (those of the process by default) and return the exit code.

    main(["config", "show"]) -> 0

    Errors go to stderr: one sentence, or one JSON object when `--json` is among the arguments.
    """
    _never_fail_to_print()
    options, rest = _split_at_double_dash(list(sys.argv[1:] if args is None else args))
    debug = "--debug" in options
    try:
        # `--debug` is taken anywhere: it is added after an error, to the end of the line.
        code = cli.main(
            [option for option in options if option != "--debug"] + rest, prog_name="hybridrag", standalone_mode=False
        )
        # Output that the pipe refuses must fail here, where click can still be told, not at interpreter exit.
        sys.stdout.flush()
    except BrokenPipeError:
        return _pipe_closed()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return int(Exit.INVALID)
    except Exception as error:  # noqa: BLE001 (the last resort: whatever it is, the user gets a sentence)
        if debug:
            traceback.print_exc()
        failure = describe(error)
        click.echo(failure.as_json() if "--json" in options else failure.as_text(), err=True)
        return int(failure.exit)
    return code if isinstance(code, int) else int(Exit.DONE)


def describe(error: Exception) -> Failure:
    """What to tell the user about an error, whatever it is.

    StoreNotFound(".hybridrag") -> code "store_not_found", "There is no index at ...", exit 3
    """
    if isinstance(error, RAGError):
        exit_code = next((code for kind, code in _EXIT_BY_ERROR if isinstance(error, kind)), Exit.UNEXPECTED)
        return Failure(error.code, error.message, error.hint, exit_code)
    if isinstance(error, click.Abort):
        return Failure("interrupted", "Interrupted.", None, Exit.INTERRUPTED)
    if isinstance(error, click.UsageError):
        command = error.ctx.command_path if error.ctx else "hybridrag"
        message = error.format_message().replace("\n", " ")
        return Failure("usage", message, f"Run: {command} --help", Exit.INVALID)
    if isinstance(error, click.ClickException):
        return Failure("usage", error.format_message(), None, Exit.INVALID)
    sentence = textwrap.shorten(f"{type(error).__name__}: {error}", MAX_UNEXPECTED, placeholder="...").rstrip(":. ")
    return Failure(
        "unexpected",
        f"Something went wrong inside hybridrag ({sentence}).",
        "Run the same command with --debug to see where.",
        Exit.UNEXPECTED,
    )


def _split_at_double_dash(args: list[str]) -> tuple[list[str], list[str]]:
    """What follows `--` is text, even where it looks like an option."""
    at = args.index("--") if "--" in args else len(args)
    return args[:at], args[at:]


def _never_fail_to_print() -> None:
    """A character that the terminal cannot show becomes an escape instead of an error."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _pipe_closed() -> int:
    """`hybridrag ... | head`: the reader has enough, which is no error of ours."""
    # Python flushes stdout once more at exit; without a working stdout it has nothing to complain about.
    sys.stdout = None
    return int(Exit.UNEXPECTED)
