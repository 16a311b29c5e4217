"""The documentation is true: its examples run, its commands exist, its generated parts are up to date."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import tomllib
from pathlib import Path
from types import ModuleType

import click
import jsonschema
import pytest

from hybridrag import check_json, json_schema, load_settings, schema_names
from hybridrag.apps.cli import main
from hybridrag.apps.cli.group import cli
from hybridrag.schema import RETURNED

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.json"))
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page: Path, language: str) -> list[str]:
    return [code for name, code in FENCE.findall(page.read_text(encoding="utf-8")) if name == language]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def pages_with(language: str) -> list[Path]:
    return [page for page in PAGES if blocks(page, language)]


def writer() -> ModuleType:
    """`scripts/write_docs.py`, which is no package."""
    spec = importlib.util.spec_from_file_location("write_docs", ROOT / "scripts" / "write_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def type_of(example: Path) -> str:
    """`SearchQuery.full.json` -> `SearchQuery`."""
    return example.name.split(".")[0]


class TestGeneratedParts:
    def test_schemas_settings_and_help_are_those_of_the_code(self) -> None:
        assert [str(path) for path in writer().stale()] == [], "run: make docs"

    def test_writing_brings_what_is_stale_up_to_date_and_removes_what_is_no_more(self, tmp_path: Path) -> None:
        docs = writer()
        changed = docs.write(tmp_path)
        assert Path("docs/cli.md") in changed
        (tmp_path / "docs/schema/Gone.json").write_text("{}")
        (tmp_path / "docs/cli.md").write_text("old")
        assert docs.stale(tmp_path) == [Path("docs/cli.md"), Path("docs/schema/Gone.json")]
        docs.write(tmp_path)
        assert docs.stale(tmp_path) == []

    def test_every_setting_is_documented(self) -> None:
        text = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
        for key in load_settings(env={}).origins:
            assert f"HYBRIDRAG_{key.replace('.', '_').upper()}" in text


class TestExamples:
    @pytest.mark.parametrize("page", pages_with("python"), ids=name_of)
    def test_the_python_examples_of_a_page_run(
        self, page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        names: dict[str, object] = {"__name__": "__main__"}
        for number, code in enumerate(blocks(page, "python"), start=1):
            exec(compile(code, f"{page.name}, example {number}", "exec"), names)  # noqa: S102 (our own pages)

    @pytest.mark.parametrize("page", pages_with("console"), ids=name_of)
    def test_the_commands_of_a_page_exist_with_their_options(self, page: Path) -> None:
        for code in blocks(page, "console"):
            for line in code.splitlines():
                if line.startswith("$ hybridrag"):
                    parse(line.removeprefix("$ hybridrag"))

    @pytest.mark.parametrize("page", pages_with("toml"), ids=name_of)
    def test_the_settings_of_a_page_are_valid(self, page: Path, tmp_path: Path) -> None:
        for code in blocks(page, "toml"):
            file = tmp_path / "hybridrag.toml"
            file.write_text(code, encoding="utf-8")
            load_settings(file, env={})

    @pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
    def test_the_json_examples_pass_hybridrag_schema(self, example: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["schema", "--check", str(example), "--type", type_of(example)]) == 0
        assert f"a valid {type_of(example)}" in capsys.readouterr().out

    @pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
    def test_the_json_examples_satisfy_the_json_schema_of_the_docs(self, example: Path) -> None:
        schema = json.loads((ROOT / "docs" / "schema" / f"{type_of(example)}.json").read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator(schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER).validate(
            json.loads(example.read_text(encoding="utf-8"))
        )

    def test_what_is_returned_is_written_exactly_as_the_example_shows(self) -> None:
        returned = {kind.__name__: kind for kind in RETURNED}
        shown = [example for example in EXAMPLES if type_of(example) in returned]
        assert shown
        for example in shown:
            text = example.read_text(encoding="utf-8")
            value = returned[type_of(example)].model_validate_json(text)
            assert value.model_dump(mode="json") == json.loads(text)

    def test_the_json_of_a_page_that_looks_like_a_query_is_one(self) -> None:
        found = 0
        for page in PAGES:
            for code in blocks(page, "json"):
                if '"text"' in code and '"results"' not in code:
                    assert check_json(code) == [], page.name
                    found += 1
        assert found

    def test_every_schema_is_itself_valid(self) -> None:
        for name in schema_names():
            jsonschema.Draft202012Validator.check_schema(json_schema(name))


class TestPages:
    def test_links_between_pages_lead_somewhere(self) -> None:
        dead = [
            f"{name_of(page)}: {target}"
            for page in PAGES
            for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
            if "://" not in target and not (page.parent / target).exists()
        ]
        assert dead == []

    def test_every_dependency_has_its_reason(self) -> None:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        wanted = [
            *project["dependencies"],
            *(one for extra in project["optional-dependencies"].values() for one in extra),
        ]
        decisions = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")
        for requirement in wanted:
            name = re.split(r"[<>=;\[ ]", requirement)[0]
            assert name == "hybridrag" or f"**{name}**" in decisions, name

    def test_every_folder_of_the_package_has_its_question(self) -> None:
        text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
        for folder in (ROOT / "src" / "hybridrag").iterdir():
            if (folder / "__init__.py").exists():
                assert f"`{folder.name}/`" in text, folder.name

    def test_the_readme_names_the_two_commands(self) -> None:
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        assert "make demo" in text
        assert "make test" in text


def parse(line: str) -> None:
    """Take a command line apart as click does when it runs it, and run nothing.

    Raises:
        click.UsageError: there is no such command or option.
    """
    args = shlex.split(re.split(r"\s(?:[|>&]|2>)", line)[0], comments=True)
    context = cli.make_context("hybridrag", args) if args and not args[0].startswith("-") else None
    command: click.Command = cli
    while context is not None and isinstance(command, click.Group):
        name, inner, args = command.resolve_command(context, args)
        assert inner is not None
        command = inner
        context = command.make_context(name, list(args), parent=context)


@pytest.mark.parametrize("line", ["serach x", "config show --jsn", "config", "query"])
def test_a_command_of_the_docs_that_does_not_exist_is_noticed(line: str) -> None:
    with pytest.raises(click.UsageError):
        parse(line)


def test_pipes_and_comments_of_the_docs_are_no_part_of_a_command() -> None:
    parse("config show --json | jq .file")
    parse("query 'what is BM25?'  # prints JSON")
    parse("--version")
