"""Versions of a document among the results: which one replaces which, and in what order they are shown."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hybridrag.search.versions import asks_for, find_superseded, newer_first
from hybridrag.types.documents import FileInfo
from hybridrag.types.ids import FileId, file_id_for

TEXT = (
    "Every member of staff has {} days of leave, to be taken before the end of March. Ask the head of your group first."
)
OTHER = "The canteen opens at eleven. Soup is free on Fridays, and there is a vegetarian dish on every day of the week."


def file(name: str, day: int = 1) -> FileInfo:
    when = datetime(2025, 1, day, tzinfo=UTC)
    return FileInfo(
        id=file_id_for("default", name), name=name, mime_type="text/plain", content_hash="x", size=1, modified=when,
        added=when,
    )  # fmt: skip


def superseded(*files: FileInfo, texts: tuple[str, ...] = (TEXT.format(24), TEXT.format(25))) -> list[tuple[str, str]]:
    names = {one.id: one.name for one in files}
    read = dict(zip(names, texts, strict=True))
    return [(names[older], newer.name) for older, newer in find_superseded(files, read.get).items()]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("/d/leave-2023.md", "/d/leave-2025.docx"),
        ("/d/archive/leave-2023.md", "/d/leave.md"),
        ("/d/旧/休暇規程.md", "/d/休暇規程.md"),
        ("/d/leave_v1.md", "/d/leave_v2.md"),
        ("/d/leave_v9.md", "/d/leave_v10.md"),
        ("/d/休暇規程_第1版.md", "/d/休暇規程_第2版.md"),
        ("/d/就業規則_2023年度.md", "/d/就業規則_2024年度.md"),
        ("/d/旧版/就業規則_2019年.md", "/d/就業規則_2024年改定.md"),
        ("/d/leave (old).md", "/d/leave.md"),
    ],
)
def test_a_version_is_told_by_a_mark_in_its_name(older: str, newer: str) -> None:
    assert superseded(file(older), file(newer)) == [(older, newer)]
    assert superseded(file(newer), file(older)) == [(older, newer)]


def test_a_name_without_a_mark_is_compared_by_its_last_change() -> None:
    assert superseded(file("/d/leave.md", 1), file("/d/leave-2023.md", 2)) == [("/d/leave.md", "/d/leave-2023.md")]
    assert superseded(file("/d/leave.md", 2), file("/d/leave-2023.md", 1)) == [("/d/leave-2023.md", "/d/leave.md")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/d/leave.md", "/e/leave.md"),  # another folder's
        ("/d/2025-01-17_minutes.md", "/d/2025-02-20_minutes.md"),  # a series
        ("/d/sales_202501.csv", "/d/sales_202502.csv"),
        ("/d/leave-2023.md", "/d/canteen-2025.md"),
    ],
)
def test_files_of_a_series_or_of_other_names_are_no_versions(one: str, other: str) -> None:
    assert superseded(file(one), file(other)) == []


def test_texts_that_share_little_are_no_versions() -> None:
    assert superseded(file("/d/report-2023.md"), file("/d/report-2024.md"), texts=(TEXT.format(1), OTHER)) == []


def test_a_question_may_ask_for_the_older_version() -> None:
    assert asks_for("How many days did the 2023 rules give?", file("/d/leave-2023.md"))
    assert not asks_for("How many days of leave are there?", file("/d/leave-2023.md"))


def test_the_newer_one_goes_first_and_nothing_else_moves() -> None:
    a, b, c = (FileId(file(name).id) for name in "abc")
    newer = file("c")
    assert newer_first([a, b, c], {a: newer}) == [2, 1, 0]
    assert newer_first([c, b, a], {a: newer}) == [0, 1, 2]
    assert newer_first([a, b, None], {a: newer}) == [0, 1, 2]
