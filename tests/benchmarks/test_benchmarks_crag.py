"""The benchmark of correction: half of a corpus inside, the other half behind a web search."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.crag import main, measure, tables

from evaluate_builders import write_dataset, write_lines
from hybridrag.models.hash_embedder import HashEmbedder

NAME = "2wikimultihopqa"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The fees lie outside, the rest inside."""
    write_dataset(tmp_path / NAME)
    (tmp_path / "crag_split").mkdir()
    (tmp_path / "crag_split" / f"{NAME}.external_docs.txt").write_text("fees\n", encoding="utf-8")
    write_lines(
        tmp_path / "crag_split" / f"{NAME}.expected.jsonl",
        [{"_id": "q1", "expected": "incorrect"}, {"_id": "q3", "expected": "correct"}],
    )
    return tmp_path


def test_what_lies_outside_is_found_over_http_and_counted(data: Path, tmp_path: Path) -> None:
    outside, inside = measure(data, NAME, tmp_path / "work", embedder=HashEmbedder())
    assert (outside.id, outside.expected, outside.language) == ("q1", "incorrect", "en")
    assert outside.searched
    assert outside.seen
    assert outside.turned
    assert outside.whole
    assert "web_search" in [step["kind"] for step in outside.rounds]
    assert (inside.id, inside.turned, inside.whole) == ("q3", False, True)
    verdicts, corrections, rounds = tables(NAME, [outside, inside])
    assert corrections.rows[0][:6] == ["en", "incorrect", 1, "100.0", "100.0", "100.0"]
    assert verdicts.rows[2][:3] == ["ja", "correct", 1]
    assert rounds.rows


@pytest.mark.heavy
def test_the_command_prints_tables_and_keeps_what_became_of_each_question(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["--data", str(data), "--set", NAME, "--limit", "3", "--keep", str(tmp_path / "kept")]
    assert main([*args, "--out", str(tmp_path / "out.jsonl")]) == 0
    assert "after correction, %" in capsys.readouterr().out
    lines = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["set"] for line in lines} == {NAME}
