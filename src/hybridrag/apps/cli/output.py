"""Print for whoever reads: a table on a terminal, aligned text in a pipe, JSON for programs."""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Sequence

import click


def print_json(value: object) -> None:
    r"""The value as indented JSON, with characters as they are where the output can hold them.

    {"text": "検索"} -> {"text": "検索"}, or "\u691c\u7d22" on an ASCII terminal
    """
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
    click.echo(json.dumps(value, indent=2, ensure_ascii=not encoding.startswith("utf")))


def printable(text: str) -> str:
    r"""Text of a document or a file name, without what a terminal would obey: colours, titles, cursor moves.

    "a\x1b[2Jb" -> "a\ufffd[2Jb"; line ends and tabs stay
    """
    return re.sub("[\x00-\x08\x0b-\x1f\x7f-\x9f]", "\ufffd", text)


def print_rows(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    r"""A table on a terminal; in a pipe, columns that `awk` and a diff can read.

    ("key", "value"), [("a", "1"), ("long", "2")] -> "key   value\na     1\nlong  2"
    """
    rows = [[printable(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _print_table(headings, rows)
        return
    widths = [max(_width(row[column]) for row in (headings, *rows)) for column in range(len(headings))]
    for row in (headings, *rows):
        cells = [cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)]
        click.echo("  ".join(cells).rstrip())


def _width(text: str) -> int:
    """Columns on a terminal: a Japanese character takes two."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def _print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console  # noqa: PLC0415 (only a terminal needs it; keeps start-up fast)
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(*headings)
    for row in rows:
        # Text, because a value such as "[a-z]*.log" is no markup.
        table.add_row(*(Text(cell, overflow="fold") for cell in row))
    Console().print(table)
