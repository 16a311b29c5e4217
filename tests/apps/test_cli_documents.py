"""The commands for documents and upkeep, run as a user runs them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

ENVIRONMENT = {
    **os.environ,
    "HYBRIDRAG_EMBEDDING_PROVIDER": "fake",
    "HYBRIDRAG_GRAPH_EXTRACTOR": "light",
    "PYTHONUNBUFFERED": "1",
}


FILES = 150
"""Enough that an interruption comes in the middle."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "guide.md").write_text("# Guide\n\nThe upload limit is five megabytes.\n")
    (docs / "日本.txt").write_text("国際標準化機構は規格を定める。\n", encoding="utf-8")
    return tmp_path


def hybridrag(home: Path, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "hybridrag.apps.cli", *arguments],
        cwd=home,
        env=ENVIRONMENT,
        input=stdin,
        capture_output=True,
        check=False,
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def test_documents_come_in_are_listed_and_leave(home: Path) -> None:
    added = hybridrag(home, "add", "docs")
    assert (added.returncode, added.stderr) == (0, "")
    assert added.stdout.startswith("2 added; 2 chunks in ")
    assert hybridrag(home, "add", "docs").stdout.startswith("2 unchanged")
    listed = hybridrag(home, "files").stdout
    assert "guide.md" in listed
    assert "日本.txt" in listed
    assert "text/markdown" in hybridrag(home, "files", "--type", "text/markdown").stdout
    assert "日本" not in hybridrag(home, "files", "--type", "text/markdown").stdout
    assert hybridrag(home, "remove", "docs/guide.md").stdout.startswith("1 removed")
    assert hybridrag(home, "check").stdout == "The index is sound.\n"
    assert (home / ".hybridrag").is_dir()


def test_what_is_no_document_is_skipped_and_counted(home: Path) -> None:
    # A documentation folder "failed" with exit code 4, because it holds pictures and an empty __init__.py.
    docs = home / "docs"
    (docs / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (docs / "photo").write_bytes(b"\xff\xd8\xff\xe0")
    (docs / "site.css").write_text("a { color: red }")
    (docs / "__init__.py").touch()
    added = hybridrag(home, "add", "docs")
    assert (added.returncode, added.stderr) == (0, "")
    assert "2 added, 4 skipped (2 pictures, 1 empty file, 1 style sheet); 2 chunks" in added.stdout
    named = hybridrag(home, "add", "docs/logo.png")
    assert named.returncode == 4
    assert "is an image" in named.stderr


def test_places_are_shown_below_the_folder_that_was_added(home: Path) -> None:
    (home / "docs" / "deep").mkdir()
    (home / "docs" / "deep" / "zebra.md").write_text("# Zoo\n\nOther words.\n\n## Zebra\n\nThe zebra is striped.\n")
    hybridrag(home, "add", "docs")
    found = hybridrag(home, "search", "zebra striped").stdout
    assert "1. deep/zebra.md, line 1 > Zoo" in found
    (result, *_) = json.loads(hybridrag(home, "search", "zebra striped", "--json").stdout)["results"]
    assert result["sources"]["fileName"] == str(home / "docs" / "deep" / "zebra.md")
    assert result["sources"]["shownName"] == "deep/zebra.md"


def test_show_prints_what_was_read_with_places_with_and_without_an_index(home: Path) -> None:
    shown = hybridrag(home, "show", "docs/guide.md")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "not in the index" in shown.stdout
    assert "1 of 1: line 1, " in shown.stdout
    assert "> Guide" in shown.stdout
    assert "The upload limit is five megabytes." in shown.stdout
    assert not (home / ".hybridrag").exists()
    hybridrag(home, "add", "docs")
    (home / "docs" / "guide.md").unlink()
    kept = json.loads(hybridrag(home, "show", "guide.md", "--json").stdout)
    assert kept["inIndex"]
    assert kept["chunks"][0]["lineStart"] == 1
    assert "no file" in hybridrag(home, "show", "other.md").stderr.lower()


def test_an_archive_is_taken_in_as_a_folder_and_leaves_as_one(home: Path) -> None:
    with zipfile.ZipFile(home / "docs" / "old.zip", "w") as archive:
        archive.writestr("notes/zebra.md", "# Zebra\n\nThe zebra is striped.\n")
        archive.writestr("logo.png", b"\x89PNG")
    assert "3 added, 1 skipped (1 picture)" in hybridrag(home, "sync", "docs").stdout
    assert "1. old.zip/notes/zebra.md" in hybridrag(home, "search", "zebra striped").stdout
    (home / "docs" / "old.zip").unlink()
    assert "1 removed" in hybridrag(home, "sync", "docs").stdout


def test_a_damaged_archive_keeps_what_the_index_has_of_it(home: Path) -> None:
    with zipfile.ZipFile(home / "docs" / "old.zip", "w") as archive:
        archive.writestr("zebra.md", "# Zebra\n\nThe zebra is striped.\n")
    hybridrag(home, "sync", "docs")
    (home / "docs" / "old.zip").write_bytes(b"PK\x03\x04 no more")
    damaged = hybridrag(home, "sync", "docs")
    assert damaged.returncode == 4
    assert "removed" not in damaged.stdout
    assert "old.zip/zebra.md" in hybridrag(home, "files").stdout


def test_warnings_are_said_at_add(home: Path) -> None:
    (home / "docs" / "numbers.txt").write_text("1 2 3 4 5 6 7 8 9 " * 10)
    added = hybridrag(home, "add", "docs")
    assert added.returncode == 0
    assert "numbers.txt: holds hardly any letters" in added.stderr


def test_watch_takes_in_what_changes_and_ends_on_interrupt(home: Path) -> None:
    watching = subprocess.Popen(
        [sys.executable, "-m", "hybridrag.apps.cli", "watch", "docs", "--every", "0.2"],
        cwd=home,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert watching.stdout is not None
    try:
        assert watching.stdout.readline().startswith("2 added")
        (home / "docs" / "new.txt").write_text("The zebra is striped.\n")
        assert watching.stdout.readline().startswith("1 added, 2 unchanged")
        (home / "docs" / "guide.md").unlink()
        assert watching.stdout.readline().startswith("2 unchanged, 1 removed")
    finally:
        watching.send_signal(signal.SIGINT)
    assert watching.wait(timeout=60) == 0
    watching.stdout.close()


def test_sync_follows_the_folder(home: Path) -> None:
    hybridrag(home, "sync", "docs")
    (home / "docs" / "guide.md").unlink()
    (home / "docs" / "new.txt").write_text("A new file.")
    assert hybridrag(home, "sync", "docs").stdout.startswith("1 added, 1 unchanged, 1 removed")


def test_json_is_the_report_itself(home: Path) -> None:
    (home / "docs" / "broken.pdf").write_bytes(b"%PDF-1.4 broken")
    done = hybridrag(home, "add", "docs", "--json")
    assert done.returncode == 4
    report = json.loads(done.stdout)
    assert {outcome["state"] for outcome in report["outcomes"]} == {"added", "failed"}
    assert report["interrupted"] is False
    status = json.loads(hybridrag(home, "status", "--json").stdout)
    assert (status["files"], status["chunks"], status["vectorIndex"]) == (2, 2, "exact")
    assert [file["mimeType"] for file in json.loads(hybridrag(home, "files", "--json").stdout)] == [
        "text/markdown",
        "text/plain",
    ]
    assert json.loads(hybridrag(home, "check", "--json").stdout) == []


def test_a_file_that_fails_is_one_line_and_exit_code_4(home: Path) -> None:
    (home / "docs" / "broken.pdf").write_bytes(b"%PDF-1.7 no more")
    done = hybridrag(home, "add", "docs")
    assert done.returncode == 4
    (line,) = done.stderr.splitlines()
    assert line.startswith("failed: ")
    assert "broken.pdf: is damaged" in line
    assert "2 added, 1 failed" in done.stdout


def test_standard_input_comes_in_under_a_name(home: Path) -> None:
    done = hybridrag(home, "add", "-", "--name", "note.md", stdin="# 題\n\n本文です。".encode())
    assert done.stdout.startswith("1 added")
    assert "note.md" in hybridrag(home, "files").stdout


def test_a_missing_index_is_one_sentence_with_the_next_step(home: Path) -> None:
    done = hybridrag(home, "status")
    assert done.returncode == 3
    assert done.stderr == "error: There is no index at .hybridrag. Run: hybridrag add FILES --index .hybridrag\n"
    assert not (home / ".hybridrag").exists()


def test_workspaces_are_kept_apart(home: Path) -> None:
    hybridrag(home, "add", "docs", "--workspace", "a")
    hybridrag(home, "add", "docs", "--workspace", "b")
    assert len(hybridrag(home, "files", "--workspace", "a").stdout.splitlines()) == 3
    assert hybridrag(home, "remove", "--all", "--workspace", "a").stdout.startswith("2 removed")
    assert len(hybridrag(home, "files").stdout.splitlines()) == 3


def test_repair_and_reembed_work_on_a_real_index(home: Path) -> None:
    hybridrag(home, "add", "docs")
    assert hybridrag(home, "repair").stdout == "Repaired; the index is sound.\n"
    assert hybridrag(home, "reembed").stdout == "2 chunks embedded.\n"


def test_quiet_prints_nothing_but_failures(home: Path) -> None:
    done = hybridrag(home, "add", "docs", "missing.txt", "--quiet")
    assert done.stdout == ""
    assert "missing.txt" in done.stderr


@pytest.mark.heavy
def test_interrupting_keeps_what_was_finished(home: Path) -> None:
    many = home / "many"
    many.mkdir()
    for number in range(FILES):
        (many / f"{number:03}.txt").write_text(f"Document {number}. " + "Some words to be embedded here. " * 200)
    process = subprocess.Popen(
        [sys.executable, "-m", "hybridrag.apps.cli", "add", "many"],
        cwd=home,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    database = home / ".hybridrag" / "store.db-wal"
    until = time.monotonic() + 60
    while time.monotonic() < until and not (database.exists() and database.stat().st_size > 1_500_000):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "interrupted; what is listed is kept" in out
    kept = json.loads(hybridrag(home, "status", "--json").stdout)["files"]
    assert 0 < kept < FILES
    assert hybridrag(home, "check").returncode == 0
    assert hybridrag(home, "add", "many").stdout.startswith(f"{FILES - kept} added, {kept} unchanged")
