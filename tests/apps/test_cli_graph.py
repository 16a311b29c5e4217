"""The graph commands, run as a user runs them."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from hybridrag.apps.cli import main


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HYBRIDRAG_EMBEDDING_PROVIDER", "fake")
    monkeypatch.setenv("HYBRIDRAG_GRAPH_EXTRACTOR", "light")
    (tmp_path / "ada.md").write_text("# Ada Lovelace\n\nAda Lovelace worked with Charles Babbage in London.\n")
    (tmp_path / "babbage.md").write_text("# Charles Babbage\n\nCharles Babbage designed the Analytical Engine.\n")
    assert main(["add", "ada.md", "babbage.md", "--quiet"]) == 0
    return tmp_path


def test_show_prints_a_neighbourhood(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "show", "Charles Babbage"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Charles Babbage (person), mentioned ")
    assert "Ada Lovelace" in out
    assert "Analytical Engine" in out
    assert "\nbelongs to: " in out
    assert main(["graph", "show", "Charles Babbage", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["entity"]["name"] == "Charles Babbage"
    assert shown["communities"][0]["level"] == 0


def test_an_unknown_entity_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "show", "Charles Babage"]) == 3
    assert capsys.readouterr().err.startswith("error: There is no entity 'Charles Babage' in this index. Did you mean")


def test_find_paths_and_stats(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "find", "lovelace"]) == 0
    assert "Ada Lovelace" in capsys.readouterr().out
    assert main(["graph", "paths", "Ada Lovelace", "Analytical Engine"]) == 0
    assert capsys.readouterr().out.startswith("Ada Lovelace --")
    assert main(["graph", "paths", "Ada Lovelace", "Analytical Engine", "--hops", "1"]) == 0
    assert "No path of up to 1 steps" in capsys.readouterr().out
    assert main(["graph", "stats", "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)
    assert counts["entities"] >= 4
    assert counts["extractor"] == "light 3"
    assert main(["graph", "stats"]) == 0
    assert capsys.readouterr().out.endswith("\nextracted by light 3\n")


def test_names_are_merged_listed_and_split(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "merge", "Ada Lovelace", "Analytical Engine"]) == 0
    assert main(["graph", "aliases", "Ada Lovelace", "--json"]) == 0
    assert "Analytical Engine" in capsys.readouterr().out
    assert main(["graph", "aliases", "Ada Lovelace"]) == 0
    assert capsys.readouterr().out.endswith("  ada lovelace = analytical engine: decision\n")
    assert main(["graph", "aliases"]) == 0
    assert "merge" in capsys.readouterr().out
    assert main(["graph", "split", "Ada Lovelace"]) == 0
    capsys.readouterr()
    assert main(["graph", "aliases", "Ada Lovelace"]) == 0
    assert capsys.readouterr().out == "Ada Lovelace\n"


def test_export_and_plot_write_files(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "export", "--format", "csv"]) == 0
    assert capsys.readouterr().out.startswith("source,target")
    assert main(["graph", "export", "-o", "graph.graphml"]) == 0
    assert "<graphml" in (home / "graph.graphml").read_text(encoding="utf-8")
    assert main(["graph", "plot", "Ada Lovelace", "-o", "around.html"]) == 0
    assert "<svg" in (home / "around.html").read_text(encoding="utf-8")
    assert main(["graph", "plot", "-o", "picture.png"]) == 2


def test_communities_say_what_the_documents_are_about(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "communities"]) == 0
    assert "Charles Babbage" in capsys.readouterr().out
    assert main(["graph", "communities", "engines", "--limit", "1", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 1


def test_rebuild_reads_everything_anew(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "rebuild"]) == 0
    assert capsys.readouterr().out == "2 chunks read anew by light 3.\n"


def test_rebuilding_with_an_llm_asks_first(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("HYBRIDRAG_GRAPH_EXTRACTOR", "llm")
    monkeypatch.setenv("HYBRIDRAG_LLM_MODEL", "nobody")
    monkeypatch.setenv("HYBRIDRAG_LLM_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("HYBRIDRAG_LLM_MAX_RETRIES", "0")
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    assert main(["graph", "rebuild"]) == 130
    assert "2 passages: at most" in capsys.readouterr().err
    assert main(["graph", "rebuild", "--yes"]) == 0
    assert "read without the LLM" in capsys.readouterr().err
