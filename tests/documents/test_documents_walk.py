"""Folders are walked in a fixed order, without what is excluded, and never outside."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from hybridrag.documents.walk import FoundFile, find_files
from hybridrag.errors import DocumentError, InvalidInput


def make(root: Path, *names: str, text: str = "x") -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def walk(*roots: Path | str, base: Path, excludes: tuple[str, ...] = (), **options: bool) -> list[str]:
    problems: list[DocumentError] = []
    found = [file.name for file in find_files(roots, problems=problems, excludes=excludes, base=base, **options)]
    assert problems == []
    return found


def test_files_come_in_sorted_order_by_the_path_from_the_base(tmp_path: Path) -> None:
    make(tmp_path, "docs/b.md", "docs/a/z.md", "docs/a.md", "docs/c/y.md")
    assert walk(tmp_path / "docs", base=tmp_path) == ["docs/a/z.md", "docs/a.md", "docs/b.md", "docs/c/y.md"]


def test_a_found_file_says_where_it_is_and_how_large(tmp_path: Path) -> None:
    make(tmp_path, "a.md", text="12345")
    os.utime(tmp_path / "a.md", (1_700_000_000, 1_700_000_000))
    (found,) = find_files([tmp_path], problems=[], base=tmp_path)
    assert found == FoundFile(tmp_path / "a.md", "a.md", 5, found.modified, str(tmp_path), chosen=False)
    assert found.modified is not None
    assert found.modified.timestamp() == 1_700_000_000


def test_a_name_does_not_depend_on_how_the_root_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "docs/a.md")
    monkeypatch.chdir(tmp_path / "docs")
    for root in (".", "../docs", "a.md", str(tmp_path / "docs"), tmp_path):
        assert walk(root, base=tmp_path) == ["docs/a.md"]
    assert walk(".", base=Path()) == ["a.md"]


def test_a_file_outside_of_the_base_has_its_absolute_path_as_name(tmp_path: Path) -> None:
    make(tmp_path, "one/docs/a.md", "two/docs/a.md")
    names = walk(tmp_path / "one/docs", tmp_path / "two/docs", base=tmp_path / "one")
    assert names == ["docs/a.md", (tmp_path / "two/docs/a.md").as_posix()]


def test_a_base_reached_through_a_link_is_the_same_base(tmp_path: Path) -> None:
    make(tmp_path, "real/a.md")
    (tmp_path / "link").symlink_to("real")
    assert walk(tmp_path / "real", base=tmp_path / "link") == ["a.md"]


def test_names_are_composed_unicode(tmp_path: Path) -> None:
    make(tmp_path, unicodedata.normalize("NFD", "がぎ.md"))
    assert walk(tmp_path, base=tmp_path) == ["がぎ.md"]


def test_names_in_another_encoding_become_storable(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\x83e.md")).write_text("x", encoding="utf-8")
    (name,) = walk(tmp_path, base=tmp_path)
    name.encode("utf-8")


def test_hidden_and_generated_files_are_left_out(tmp_path: Path) -> None:
    make(tmp_path, ".git/config", ".hybridrag/db", ".venv/a.py", "node_modules/a.js", "__pycache__/a.pyc", ".env")
    make(tmp_path, "src/a.py", "~$plan.docx", "src/.hidden/b.py")
    assert walk(tmp_path, base=tmp_path) == ["src/a.py"]


def test_a_file_given_itself_is_always_taken(tmp_path: Path) -> None:
    make(tmp_path, ".env", "a.log")
    assert walk(tmp_path / ".env", tmp_path / "a.log", base=tmp_path, excludes=("*.log",)) == [".env", "a.log"]


def test_a_hidden_folder_given_itself_is_walked(tmp_path: Path) -> None:
    make(tmp_path, ".notes/a.md")
    assert walk(tmp_path / ".notes", base=tmp_path) == [".notes/a.md"]


def test_excludes_are_written_as_in_gitignore(tmp_path: Path) -> None:
    make(tmp_path, "a.log", "keep.log", "build/x.md", "docs/build/y.md", "docs/a.md", "old/deep/z.md", "a.md")
    excludes = ("*.log", "!keep.log", "/build/", "old/**")
    assert walk(tmp_path, base=tmp_path, excludes=excludes) == ["a.md", "docs/a.md", "docs/build/y.md", "keep.log"]


def test_ignore_files_hold_for_their_folder_and_the_nearest_decides(tmp_path: Path) -> None:
    make(tmp_path, ".gitignore", text="*.tmp\nsecret.md\n")
    make(tmp_path, "sub/.gitignore", text="!secret.md\nlocal.md\n")
    make(tmp_path, "a.tmp", "secret.md", "sub/secret.md", "sub/local.md", "sub/a.tmp", "local.md")
    assert walk(tmp_path, base=tmp_path) == ["local.md", "sub/secret.md"]
    assert len(walk(tmp_path, base=tmp_path, use_ignore_files=False)) == 6


def test_our_own_ignore_file_decides_over_gits_and_over_the_defaults(tmp_path: Path) -> None:
    make(tmp_path, ".gitignore", text="*.pdf\n")
    make(tmp_path, ".hybridragignore", text="!report.pdf\n!.github/\ndrafts/\n")
    make(tmp_path, "report.pdf", "other.pdf", ".github/a.md", "drafts/b.md")
    assert walk(tmp_path, base=tmp_path) == [".github/a.md", "report.pdf"]
    assert walk(tmp_path, base=tmp_path, excludes=("report.pdf",)) == [".github/a.md"]


def test_links_to_files_inside_are_followed_once_and_those_outside_are_reported(tmp_path: Path) -> None:
    make(tmp_path, "outside.md", "docs/real.md", "docs/.hidden/h.md")
    (tmp_path / "docs/zlink.md").symlink_to("real.md")
    (tmp_path / "docs/hlink.md").symlink_to(".hidden/h.md")
    (tmp_path / "docs/out.md").symlink_to("../outside.md")
    problems: list[DocumentError] = []
    names = [file.name for file in find_files([tmp_path / "docs"], problems=problems, base=tmp_path)]
    assert names == ["docs/hlink.md", "docs/real.md"]
    assert [str(problem) for problem in problems] == [
        "docs/out.md: is a link that leads out of the folder and is not followed."
    ]


def test_links_in_circles_end(tmp_path: Path) -> None:
    make(tmp_path, "docs/a.md")
    (tmp_path / "docs/loop").symlink_to("../docs")
    (tmp_path / "docs/self").symlink_to("self")
    (tmp_path / "docs/gone").symlink_to("nowhere")
    problems: list[DocumentError] = []
    assert [file.name for file in find_files([tmp_path / "docs"], problems=problems, base=tmp_path)] == ["docs/a.md"]
    assert [problem.name for problem in problems] == ["docs/gone", "docs/self"]


def test_missing_and_odd_paths_are_reported_and_the_others_go_on(tmp_path: Path) -> None:
    make(tmp_path, "a.md")
    os.mkfifo(tmp_path / "pipe")
    problems: list[DocumentError] = []
    roots: list[str | Path] = [tmp_path / "none", tmp_path / "pipe", "bad\x00name", tmp_path / "a.md"]
    assert [file.name for file in find_files(roots, problems=problems, base=tmp_path)] == ["a.md"]
    assert [problem.reason for problem in problems] == [
        "does not exist",
        "is neither a file nor a folder",
        "cannot be opened: embedded null byte",
    ]


def test_special_files_inside_a_folder_are_passed_over(tmp_path: Path) -> None:
    make(tmp_path, "docs/a.md")
    os.mkfifo(tmp_path / "docs/pipe")
    assert walk(tmp_path / "docs", base=tmp_path) == ["docs/a.md"]


def test_an_unreadable_folder_is_reported_not_raised(tmp_path: Path) -> None:
    make(tmp_path, "docs/a.md", "docs/locked/b.md", "docs/z.md")
    problems: list[DocumentError] = []
    found = find_files([tmp_path / "docs"], problems=problems, base=tmp_path)
    assert next(found).name == "docs/a.md"
    # The folder goes away while the walk is under way, as any user may do.
    (tmp_path / "docs/locked/b.md").unlink()
    (tmp_path / "docs/locked").rmdir()
    assert [file.name for file in found] == ["docs/z.md"]
    assert [str(problem) for problem in problems] == ["docs/locked: does not exist."]


def test_a_file_in_two_roots_comes_once(tmp_path: Path) -> None:
    make(tmp_path, "docs/a.md")
    assert walk(tmp_path / "docs", tmp_path, tmp_path / "docs/a.md", base=tmp_path) == ["docs/a.md"]


def test_a_malformed_pattern_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"excludes: .*written as in \.gitignore"):
        list(find_files([tmp_path], problems=[], excludes=["!"]))


def test_a_malformed_ignore_file_is_reported_and_not_honoured(tmp_path: Path) -> None:
    make(tmp_path, ".gitignore", text="!\n*.md\n")
    make(tmp_path, "a.md")
    problems: list[DocumentError] = []
    assert [file.name for file in find_files([tmp_path], problems=problems, base=tmp_path)] == ["a.md"]
    assert "malformed pattern" in problems[0].reason
