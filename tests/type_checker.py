"""Run mypy over the small files of tests/typing, as a user of the package would."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "typing"
WITH_PLUGIN = "[mypy]\nstrict = True\nplugins = pydantic.mypy\n"
WITHOUT_PLUGIN = "[mypy]\nstrict = True\n"
"""What most users have: mypy, pyright and editors then rely on `dataclass_transform` alone."""

Finding = tuple[int, str]
"""A line and what is wrong there."""


def expected(name: str) -> list[Finding]:
    """What the file itself says: `# E: message  [code]` above a line that must be refused."""
    text = (FOLDER / name).read_text(encoding="utf-8")
    marks = re.finditer(r"^ *# E: (.+(?:\n *#    .+)*)$", text, re.MULTILINE)
    return [(text.count("\n", 0, mark.end()) + 2, re.sub(r"\n *#    ", " ", mark[1])) for mark in marks]


def found(name: str, config: str = WITHOUT_PLUGIN) -> list[Finding]:
    """What mypy says about the file."""
    return _check_all(config).get(name, [])


@cache
def _check_all(config: str) -> dict[str, list[Finding]]:
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / "mypy.ini"
        settings.write_text(config, encoding="utf-8")
        options = ["--config-file", str(settings), "--cache-dir", folder, "--no-pretty", "--no-error-summary"]
        done = subprocess.run(  # noqa: PLW1510 (1 is an answer here)
            [sys.executable, "-m", "mypy", *options, *sorted(path.name for path in FOLDER.glob("*.py"))],
            cwd=FOLDER,
            capture_output=True,
            text=True,
        )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    findings: dict[str, list[Finding]] = {}
    for line in done.stdout.splitlines():
        parts = re.fullmatch(r"(\w+\.py):(\d+): error: (.+)", line)
        # A note explains an error of a file here; an error elsewhere would be one of the package itself.
        assert parts or ": note: " in line, line
        if parts:
            findings.setdefault(parts[1], []).append((int(parts[2]), parts[3]))
    return findings
