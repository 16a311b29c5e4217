"""Versions of one document among the results: the newer one goes first, and the older one says what replaced it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import combinations
from pathlib import PurePosixPath
from typing import Final

from hybridrag.language.normalise import fold
from hybridrag.types.documents import FileInfo
from hybridrag.types.ids import FileId

_MARK: Final = re.compile(
    r"(?:^|(?<=[\W_]))(?:v(?:er(?:sion)?)?[ _.-]?\d+(?:\.\d+)*|(?:fy)?(?:19|20)\d\d(?:年度?)?(?:改[定訂])?版?"
    r"|(?:第|改[定訂]第?)\d+版|(?P<old>old|archived?|outdated|obsolete|旧版?)|(?P<new>new|latest|final|current|新版?|最新版?))"
    r"(?=$|[\W_])"
)
"""How people mark versions in names. A day or a month is none: minutes and monthly lists are a series."""
_DATED: Final = re.compile(r"(?:19|20)\d\d[-_.年]?(?:0?[1-9]|1[0-2])(?=$|\D)")
_OLD_FOLDERS: Final = frozenset({"archive", "archives", "archived", "old", "旧", "旧版", "過去", "アーカイブ"})
_ROW: Final = 6
"""Characters in a row that texts are compared by, spaces and numbers left out: the same in both languages."""
_SHARED: Final = 0.25
"""Of the rows of the shorter text. In ordinary folders versions keep a third and more, and two pages of one kind, such
as minutes, a sixth at most."""
_COMPARED: Final = 20_000
"""Characters of each text."""
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


def find_superseded(files: Sequence[FileInfo], read: Callable[[FileId], str | None]) -> dict[FileId, FileInfo]:
    """Which of the files another one of them replaces: {older: newer}.

    prices-2024.csv, prices-2025.xlsx with most words in common -> {the first: the second}

    Told by names that differ in a mark of their version alone (a year, v2, old, a folder "archive"), and by texts that
    share much of their words.
    """
    found: dict[FileId, FileInfo] = {}
    by_stem: dict[tuple[str, str], list[FileInfo]] = {}
    for file in files:
        if not _DATED.search(PurePosixPath(file.name).name):
            by_stem.setdefault((file.workspace, _stem(file)), []).append(file)
    for group in by_stem.values():
        for one, other in combinations(group, 2):
            newer = _newer(one, other)
            if newer and _folders(one) == _folders(other) and _share(read(one.id), read(other.id)):
                found[(one if newer is other else other).id] = newer
    return found


def asks_for(question: str, file: FileInfo) -> bool:
    """Whether a question names the version that a file is: "the 2024 list", "v1"."""
    asked = fold(question)
    marks = [match[0].strip(" _.-") for match in _MARK.finditer(_base(file))]
    return any(mark in asked for mark in marks)


def _base(file: FileInfo) -> str:
    return fold(PurePosixPath(file.name).stem)


def _stem(file: FileInfo) -> str:
    return re.sub(r"[\W_]+", " ", _MARK.sub(" ", _base(file))).strip()


def _folders(file: FileInfo) -> tuple[str, ...]:
    return tuple(part for part in PurePosixPath(file.name).parent.parts if fold(part) not in _OLD_FOLDERS)


def _newer(one: FileInfo, other: FileInfo) -> FileInfo | None:
    """The newer of two files of one name: by what is set aside, then by numbers, then by the time of the last change.

    None where neither bears a mark of its version, or nothing decides.
    """
    (rank, numbers), (other_rank, other_numbers) = _version(one), _version(other)
    if rank != other_rank:
        return one if rank > other_rank else other
    if numbers and other_numbers and numbers != other_numbers:
        return one if numbers > other_numbers else other
    dated = one.modified is not None and other.modified is not None and one.modified != other.modified
    if dated and bool(numbers) != bool(other_numbers):
        return max(one, other, key=lambda file: file.modified or _LONG_AGO)
    return None


def _version(file: FileInfo) -> tuple[int, list[int]]:
    """Set aside (-1), marked as new (1) or neither, and the numbers of its marks."""
    marks = list(_MARK.finditer(_base(file)))
    parts = PurePosixPath(file.name).parent.parts
    old = any(fold(part) in _OLD_FOLDERS for part in parts) or any(mark["old"] for mark in marks)
    numbers = [int(number) for mark in marks for number in re.findall(r"\d+", mark[0])]
    return -1 if old else int(any(mark["new"] for mark in marks)), numbers


def _share(one: str | None, other: str | None) -> bool:
    first, second = _rows(one or ""), _rows(other or "")
    shorter = min(len(first), len(second))
    return shorter > 0 and len(first & second) >= _SHARED * shorter


def _rows(text: str) -> set[str]:
    bare = re.sub(r"[\d\s]+", "", fold(text[:_COMPARED]))
    return {bare[at : at + _ROW] for at in range(len(bare) - _ROW + 1)}


def newer_first(order: Sequence[FileId | None], superseded: Mapping[FileId, FileInfo]) -> list[int]:
    """The places of results in a new order: the first of an older file changes places with the newer one's first.

    [old, x, new], old replaced by new -> [2, 1, 0]
    """
    places = list(range(len(order)))
    for older, newer in superseded.items():
        if older in order and newer.id in order:
            first, second = order.index(older), order.index(newer.id)
            if first < second:
                places[first], places[second] = places[second], places[first]
    return places
