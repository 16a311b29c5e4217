"""The command line as a whole: exit codes, errors as one sentence, help that loads nothing heavy."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import click
import pytest

from hybridrag import (
    DeadlineExceeded,
    InvalidQuery,
    ModelUnavailable,
    NotFound,
    ProviderError,
    RAGError,
    StoreBusy,
    StoreNotFound,
    UnreadableDocument,
)
from hybridrag.apps.cli import main
from hybridrag.apps.cli.group import COMMANDS, cli
from hybridrag.apps.cli.run import describe

SCRIPT = Path(sys.executable).parent / "hybridrag"
HEAVY = ("apsw", "faiss", "lxml", "numpy", "onnxruntime", "pydantic", "rich", "spacy", "sudachipy")


@pytest.fixture
def failing() -> Iterator[Callable[[BaseException], None]]:
    """A command `boom` that raises what the test gives."""

    def install(error: BaseException) -> None:
        @cli.command("boom")
        @click.option("--json", "as_json", is_flag=True)
        def boom(*, as_json: bool) -> None:  # noqa: ARG001 (read by the top level)
            raise error

    yield install
    cli.commands.pop("boom", None)


def run(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SCRIPT, *args], capture_output=True, text=True, timeout=60, check=False)


class TestErrors:
    @pytest.mark.parametrize(
        ("error", "code"),
        [
            (InvalidQuery("The query is wrong."), 2),
            (StoreNotFound("x"), 3),
            (StoreBusy("x", waited_seconds=1), 3),
            (NotFound("file", "x"), 3),
            (UnreadableDocument("a.pdf", "it is encrypted"), 4),
            (ModelUnavailable("m", "it is not installed"), 5),
            (ProviderError("openai", "it answered 500"), 5),
            (DeadlineExceeded("semantic", seconds=1), 5),
            (RAGError("Something else."), 1),
        ],
    )
    def test_the_exit_code_follows_the_class_of_the_error(
        self,
        failing: Callable[[BaseException], None],
        capsys: pytest.CaptureFixture[str],
        error: RAGError,
        code: int,
    ) -> None:
        failing(error)
        assert main(["boom"]) == code
        printed = capsys.readouterr()
        assert printed.err == f"error: {error}\n"
        assert printed.out == ""

    def test_with_json_an_error_is_one_json_object(
        self, failing: Callable[[BaseException], None], capsys: pytest.CaptureFixture[str]
    ) -> None:
        failing(StoreNotFound("docs"))
        assert main(["boom", "--json"]) == 3
        assert json.loads(capsys.readouterr().err) == {
            "error": {
                "code": "store_not_found",
                "message": "There is no index at docs.",
                "hint": "Run: hybridrag add FILES --index docs",
            }
        }

    def test_an_unexpected_error_is_one_sentence_that_names_debug(
        self, failing: Callable[[BaseException], None], capsys: pytest.CaptureFixture[str]
    ) -> None:
        failing(RuntimeError("no\n\nway " + "x" * 1000))
        assert main(["boom"]) == 1
        printed = capsys.readouterr().err
        assert printed.count("\n") == 1
        assert len(printed) < 400
        assert "RuntimeError: no way" in printed
        assert "--debug" in printed
        assert "Traceback" not in printed

    @pytest.mark.parametrize("args", [["--debug", "boom"], ["boom", "--debug"]])
    def test_debug_shows_where_the_error_came_from(
        self, failing: Callable[[BaseException], None], capsys: pytest.CaptureFixture[str], args: list[str]
    ) -> None:
        failing(RuntimeError("no way"))
        assert main(args) == 1
        printed = capsys.readouterr().err
        assert "Traceback" in printed
        assert printed.rstrip().endswith("to see where.")

    def test_an_interrupt_exits_with_130(
        self, failing: Callable[[BaseException], None], capsys: pytest.CaptureFixture[str]
    ) -> None:
        failing(KeyboardInterrupt())
        assert main(["boom"]) == 130
        assert "error: Interrupted." in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("args", "message"),
        [
            (["confg"], "No such command 'confg'."),
            (["config", "show", "--nope"], "No such option '--nope'."),
            (["query"], "Missing argument 'TEXT'."),
            (["query", "x", "--limit", "many"], "'many' is not a valid integer."),
            (["schema", "SearchQuery", "--all"], "Give one of NAME, --all and --check."),
        ],
    )
    def test_wrong_usage_exits_with_2_and_leads_to_the_help(
        self, capsys: pytest.CaptureFixture[str], args: list[str], message: str
    ) -> None:
        assert main(args) == 2
        printed = capsys.readouterr().err
        assert printed.startswith("error: ")
        assert message in printed
        assert "--help" in printed
        assert printed.count("\n") == 1

    def test_wrong_usage_with_json_is_json(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["config", "shw", "--json"]) == 2
        assert json.loads(capsys.readouterr().err)["error"]["code"] == "usage"

    def test_what_follows_a_double_dash_is_text(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["query", "--", "--debug"]) == 0
        assert json.loads(capsys.readouterr().out)["text"] == "--debug"

    def test_other_errors_of_click_are_reported_too(self) -> None:
        assert describe(click.FileError("x", "is locked")).exit == 2

    @pytest.mark.parametrize("args", [[], ["config"]])
    def test_a_group_without_a_command_prints_its_help(
        self, capsys: pytest.CaptureFixture[str], args: list[str]
    ) -> None:
        assert main(args) == 2
        printed = capsys.readouterr().err
        assert printed.startswith("Usage: hybridrag")
        assert "\nCommands:\n" in printed


class TestHelp:
    def test_the_first_line_in_the_table_is_the_command_s_own(self) -> None:
        for name, (_, line) in COMMANDS.items():
            command = cli.get_command(click.Context(cli), name)
            assert command is not None
            assert (command.help or "").split("\n")[0] == line, name

    def test_every_command_and_option_is_explained(self) -> None:
        def below(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
            yield path, command
            if isinstance(command, click.Group):
                context = click.Context(command)
                for name in command.list_commands(context):
                    inner = command.get_command(context, name)
                    assert inner is not None
                    yield from below(inner, f"{path} {name}")

        for path, command in below(cli, "hybridrag"):
            assert command.help, path
            for parameter in command.params:
                if isinstance(parameter, click.Option):
                    assert parameter.help, f"{path} {parameter.name}"

    def test_every_module_of_the_table_exists(self) -> None:
        for target, _ in COMMANDS.values():
            module, _, name = target.partition(":")
            assert isinstance(getattr(import_module(module), name), click.Command)

    def test_help_lists_every_command_and_exit_code(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["--help"]) == 0
        text = capsys.readouterr().out
        assert all(f"\n  {name} " in text for name in COMMANDS)
        assert "130  interrupted" in text

    def test_help_loads_nothing_heavy(self) -> None:
        code = (
            "import sys; from hybridrag.apps.cli import main; main(['--help']);"
            f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
        assert done.stderr.strip() == "[]"


class TestProcess:
    def test_the_installed_command_prints_its_version(self) -> None:
        done = run("--version")
        assert done.returncode == 0
        assert done.stdout.startswith("hybridrag ")

    def test_the_installed_command_fails_with_the_code_and_no_traceback(self) -> None:
        done = run("query", "")
        assert done.returncode == 2
        assert done.stderr.startswith("error: The query is not valid: `text`")
        assert "Traceback" not in done.stderr

    def test_a_reader_that_stops_early_causes_no_traceback(self) -> None:
        with subprocess.Popen(
            [SCRIPT, "schema", "--all"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.readline()
            process.stdout.close()
            assert process.stderr.read() == ""

    def test_ctrl_c_causes_no_traceback(self) -> None:
        with subprocess.Popen(
            [SCRIPT, "schema", "--check", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr is not None
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(timeout=2)  # it waits for standard input by then
            process.send_signal(signal.SIGINT)
            error = process.stderr.read()
            assert process.wait(timeout=30) == 130
        assert "Traceback" not in error

    def test_text_that_the_terminal_cannot_show_is_escaped(self) -> None:
        env = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
        done = subprocess.run(
            [SCRIPT, "query", "検索"], capture_output=True, text=True, timeout=60, check=False, env=env
        )
        assert done.returncode == 0
        assert json.loads(done.stdout)["text"] == "検索"

    def test_bytes_that_are_no_text_are_refused_in_one_sentence(self) -> None:
        done = subprocess.run([SCRIPT, b"query", b"a\xff"], capture_output=True, timeout=60, check=False)
        assert done.returncode == 2
        assert done.stderr.startswith(b"error: ")
        assert b"Traceback" not in done.stderr
