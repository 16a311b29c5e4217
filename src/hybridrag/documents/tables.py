"""Rows of a table as text that can be found and understood one by one, each with the names of its columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

CELL_SEPARATOR: Final = " | "
HEADER_WITHIN: Final = 20
"""Rows looked at for the header: sheets often begin with a title and a date."""

_LONGEST_NAME: Final = 60
_NUMBER = re.compile(r"[\s\d.,%¥￥$€£+\-/:()年月日時分秒円]*\d[\s\d.,%¥￥$€£+\-/:()年月日時分秒円]*")
_YEAR = re.compile(r"(?:FY ?)?(?:19|20)\d\d(?:年度?|/\d\d)?|(?:令和|平成)(?:元|\d{1,2})年度?")
_FEWEST_FILLED: Final = 0.5


def row_text(cells: Sequence[str], header: Sequence[str] | None = None) -> str:
    """One row as one line; empty cells are left out.

    ["Tokyo", "", "14M"] with ["city", "note", "people"] -> "city: Tokyo | people: 14M"
    """
    parts = []
    for index, cell in enumerate(cells):
        value = one_line(cell)
        if value:
            name = header[index] if header is not None and index < len(header) else ""
            parts.append(f"{name}: {value}" if name else value)
    return CELL_SEPARATOR.join(parts)


def one_line(text: str) -> str:
    r"""White space of any kind as one space.

    " two\nlines " -> "two lines"
    """
    return " ".join(text.split())


def find_header(rows: Sequence[Sequence[str]], *, fewest_columns: int = 2) -> int | None:
    """The index of the row that names the columns, or None if none does.

    [["Sales"], ["city", "people"], ["Tokyo", "14"]] -> 1; [["a", "1"], ["b", "2"]] -> None
    """
    for index, row in enumerate(rows[:HEADER_WITHIN]):
        filled = _filled(row)
        if len(filled) >= 2:
            below = [columns for later in rows[index + 1 : index + 1 + HEADER_WITHIN] if (columns := _filled(later))]
            rest = rows[index + 1 : index + 1 + HEADER_WITHIN]
            names = _without_years(row, filled, rest)
            is_header = len(filled) >= fewest_columns and _could_be_names(row, names) and _fits(filled, below)
            return index if is_header else None
    return None


def names_numbers(rows: Sequence[Sequence[str]]) -> bool:
    """Whether below words in the first row stand numbers: then it names columns, for data would be alike.

    [["city", "people"], ["Oslo", "7"]] -> True; [["Ann", "Bob"], ["Cid", "Dee"]] -> False
    """
    for column, name in enumerate(rows[0]):
        below = [row[column].strip() for row in rows[1:] if len(row) > column and row[column].strip()]
        numbers = sum(bool(_NUMBER.fullmatch(value)) for value in below)
        if numbers > len(below) / 2 and (_YEAR.fullmatch(name.strip()) or not _NUMBER.fullmatch(name)):
            return True
    return False


def are_names(cells: Sequence[str]) -> bool:
    """Whether a row that stands where column names do is made of names.

    ["State", "Capital"] -> True; ["Size", "512 x 512 pixels at 1.1 cm, taken from a height of 40 m in June"] -> False
    """
    return _could_be_names(cells, _filled(cells))


def _filled(row: Sequence[str]) -> set[int]:
    return {index for index, cell in enumerate(row) if cell.strip()}


def _without_years(row: Sequence[str], filled: set[int], rest: Sequence[Sequence[str]]) -> set[int]:
    """The cells that must read like names: years are numbers that name columns, where no years stand below them."""
    years = {
        column
        for column in filled - {min(filled)}
        if _YEAR.fullmatch(row[column].strip())
        and not any(_YEAR.fullmatch(later[column].strip()) for later in rest if len(later) > column)
    }
    return filled - years if len({row[column].strip() for column in years}) == len(years) else filled


def _could_be_names(row: Sequence[str], filled: set[int]) -> bool:
    names = [row[index].strip() for index in filled]
    return len(set(names)) == len(names) and all(
        len(name) <= _LONGEST_NAME and not _NUMBER.fullmatch(name) for name in names
    )


def _fits(columns: set[int], below: Sequence[set[int]]) -> bool:
    """Rows stand below, in these columns alone, and fill at least half of them: a table, not a form."""
    if not below:
        return False
    inside = all(filled <= columns for filled in below)
    return inside and sum(map(len, below)) >= _FEWEST_FILLED * len(columns) * len(below)
