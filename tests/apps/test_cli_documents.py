"""The commands for documents and upkeep, run as a user runs them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
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
    (home / "docs" / "empty.txt").write_bytes(b"")
    done = hybridrag(home, "add", "docs")
    assert done.returncode == 4
    (line,) = done.stderr.splitlines()
    assert line.startswith("failed: ")
    assert "empty" in line
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
