"""`hybridrag search`, as a user sees it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hybridrag import Answer, SearchResult
from hybridrag.apps.cli import main


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HYBRIDRAG_EMBEDDING_PROVIDER", "fake")
    monkeypatch.setenv("HYBRIDRAG_GRAPH_EXTRACTOR", "light")
    (tmp_path / "fees.md").write_text("# Harbour fees\n\nThe fee for small boats is twelve crowns a day.\n")
    (tmp_path / "灯台.md").write_text("# 犬吠埼灯台\n\n設計者はブラントンである。\n", encoding="utf-8")
    assert main(["add", "fees.md", "灯台.md", "--quiet"]) == 0
    return tmp_path


def test_a_result_shows_its_place_and_its_match(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "fee for boats"]) == 0
    first, text, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("  1. ")
    assert "fees.md, line 1 > Harbour fees" in first
    assert "The fee for small boats is twelve crowns" in text


def test_japanese_is_found_and_limited(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "灯台の設計者は", "--limit", "1"]) == 0
    out = capsys.readouterr().out
    assert "灯台.md" in out
    assert "  2. " not in out


def test_explain_says_who_found_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "Harbour fees", "--explain"]) == 0
    out = capsys.readouterr().out
    assert "keyword: rank 1" in out
    assert "semantic: rank 1" in out
    assert "by way of harbour fees" in out
    assert "ms in all" in out


def test_explain_shows_every_step_and_a_verdict(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HYBRIDRAG_VERIFY_MAX_ROUNDS", "1")
    assert main(["search", "Who won the chess championship of Atlantis?", "--explain", "--crag"]) == 0
    out = capsys.readouterr().out
    for step in ("classify", "expand", "plan", "fuse", "rerank", "grade", "correct", "sufficiency"):
        assert f"\n{step} " in out
    assert "The results may not answer the question." in out
    assert "Tried rewrite query" in out


def test_since_takes_days_and_spans(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "fee", "--since", "1d"]) == 0
    assert "fees.md" in capsys.readouterr().out
    assert main(["search", "fee", "--since", "2999-01-01"]) == 0
    assert "Nothing was found." in capsys.readouterr().out
    assert main(["search", "fee", "--since", "yesterday"]) == 2


def test_ask_answers_with_its_source_or_says_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "How much is the fee for small boats?"]) == 0
    out = capsys.readouterr().out
    assert "twelve crowns a day. [1]" in out
    assert "[1] " in out.splitlines()[-1]
    assert "fees.md, line 3 > Harbour fees" in out
    assert main(["ask", "Who won the chess championship of Atlantis?"]) == 0
    assert capsys.readouterr().out.startswith("The documents do not answer this.")
    assert main(["ask", "How much is the fee for small boats?", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert Answer.model_validate(printed).model_dump(mode="json") == printed


def test_json_is_exactly_the_search_result(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "fee", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    result = SearchResult.model_validate(printed)
    assert result.model_dump(mode="json") == printed
    assert result.results[0].sources.headings == ("Harbour fees",)


def test_nothing_found_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "fee", "--since", "2999-01-01"]) == 0
    assert capsys.readouterr().out == "Nothing was found.\n"


def test_a_missing_index_and_a_wrong_option_are_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "fee", "--index", "nowhere"]) == 3
    assert capsys.readouterr().err.startswith("error: There is no index at nowhere.")
    assert main(["search", "fee", "--limit", "1000"]) == 2
    assert main(["search", "   "]) == 2


def test_classify_says_what_a_question_wants(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["classify", "ReactとVueの違いは何ですか"]) == 0
    out = capsys.readouterr().out
    assert "relationship" in out
    assert "React, Vue" in out
    assert main(["classify", "What is the upload limit?", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["type"] == "local"
