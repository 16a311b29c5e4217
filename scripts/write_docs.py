"""Write the generated parts of docs/ anew: JSON Schemas, the settings, the help of every command.

python scripts/write_docs.py          write them
python scripts/write_docs.py --check  say which are out of date, and exit with 1 if any is
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from hybridrag import json_schema, schema_names
from hybridrag.apps.cli.group import cli
from hybridrag.config import FILE_VARIABLE, Leaf, Settings, setting_leaves

ROOT = Path(__file__).resolve().parent.parent
NOTE = "<!-- Written by `make docs`; edit the source instead. -->"
HELP_WIDTH = 100

CLI_INTRODUCTION = """\
Every command is a thin call of the Python API. Below is the `--help` of each.

Results go to standard output and errors to standard error: `error: ` and one sentence, or with `--json` one object
`{"error": {"code": ..., "message": ..., "hint": ...}}`. The exit code says what kind of error it was.
"""

SETTINGS_INTRODUCTION = f"""\
Settings are read once, from these places; the later one counts:

1. the defaults below;
2. `hybridrag.toml`: the file given with `--config`, else the one that `{FILE_VARIABLE}` names, else the nearest in the
   current folder or above it;
3. environment variables, where an empty one counts as not set, and a list is JSON or has commas between its parts;
4. arguments of a command or a Python call.

`hybridrag config show` prints what is in effect and where each value came from. A key or variable that does not exist
is an error, so that a misspelt one never passes silently. A relative path in a file starts at the folder of that file;
the default index lies beside a `hybridrag.toml` that was found in the current folder or above it.

```toml
[index]
path = "my-index"

[documents]
exclude = ["drafts/", "*.log"]
```
"""


def generated() -> dict[Path, str]:
    """Every generated file with what it must hold."""
    schemas = {Path("docs/schema") / f"{name}.json": _json(json_schema(name)) for name in schema_names()}
    return {**schemas, Path("docs/settings.md"): _settings(), Path("docs/cli.md"): _cli()}


def stale(root: Path = ROOT) -> list[Path]:
    """The generated files that differ from what the code says, and schemas of types that are no more."""
    files = generated()
    wrong = [path for path, text in files.items() if not _holds(root / path, text)]
    schemas = (root / "docs/schema").glob("*.json")
    return wrong + [path.relative_to(root) for path in schemas if path.relative_to(root) not in files]


def write(root: Path = ROOT) -> list[Path]:
    """Bring every generated file up to date; returns those that changed."""
    changed = stale(root)
    files = generated()
    for path in changed:
        if path in files:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(files[path], encoding="utf-8")
        else:
            (root / path).unlink()
    return changed


def _holds(file: Path, text: str) -> bool:
    return file.is_file() and file.read_text(encoding="utf-8") == text


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _settings() -> str:
    parts = ["# Settings", NOTE, SETTINGS_INTRODUCTION.rstrip()]
    leaves = setting_leaves()
    for name, field in Settings.model_fields.items():
        section = field.annotation
        assert section is not None  # noqa: S101 (every section is a class; mypy cannot know)
        parts += [f"## `[{name}]`", str(section.__doc__)]
        parts.append("\n".join(_setting(leaf) for key, leaf in leaves.items() if key.startswith(f"{name}.")))
    return "\n\n".join(parts) + "\n"


def _setting(leaf: Leaf) -> str:
    description = " ".join((leaf.field.description or "").split())
    return (
        f"- **`{leaf.key.split('.', 1)[1]}`**: {description}\n"
        f"  {leaf.expected[:1].upper()}{leaf.expected[1:]}. Default: {_default(leaf)}. Variable: `{leaf.variable}`."
    )


def _default(leaf: Leaf) -> str:
    default = leaf.default
    if default is None or str(default).startswith("the "):  # words, not a value
        return default or "not set"
    return f"`{default if isinstance(default, str) else json.dumps(default)}`"


def _cli() -> str:
    parts = ["# Commands", NOTE, CLI_INTRODUCTION.rstrip()]
    for path, text in _helps(
        cli, click.Context(cli, info_name="hybridrag", terminal_width=HELP_WIDTH, **cli.context_settings)
    ):
        parts.append(f"## {path}\n\n```text\n{text}\n```")
    return "\n\n".join(parts) + "\n"


def _helps(command: click.Command, context: click.Context) -> list[tuple[str, str]]:
    """The help of a command and of every command below it."""
    helps = [(context.command_path, command.get_help(context))]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                inner = click.Context(below, info_name=name, parent=context, terminal_width=HELP_WIDTH)
                helps += _helps(below, inner)
    return helps


def main() -> int:
    if "--check" in sys.argv[1:]:
        wrong = stale()
        for path in wrong:
            print(f"{path} is out of date. Run: make docs")
        return 1 if wrong else 0
    for path in write():
        print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
