"""The benchmark of ordinary folders: its arithmetic, and one run over a tiny folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.everyday import Question, Verdict, covered, judge_answer, judge_search, main, matching

from hybridrag import Answer

PLAIN = Question("q1", "?", "relation", "en", answerable=True, accepted=("310 g",), gold=("a", "f"))
OVERVIEW = Question("q2", "?", "overview", "en", answerable=True, themes=(("a", "b"), ("c",), ("d",)))
NOWHERE = Question("q3", "?", "unanswerable", "en", answerable=False)


def test_recall_counts_five_files_and_whole_counts_all_of_them() -> None:
    found = judge_search(PLAIN, ["a", "b", "c", "d", "e", "f"], empty=False, ms=1.0, verdict=Verdict())
    assert (found.recall, found.whole, found.themes, found.empty) == (0.5, True, None, False)


def test_an_overview_counts_themes_and_no_recall() -> None:
    found = judge_search(OVERVIEW, ["b", "a", "d"], empty=False, ms=1.0, verdict=Verdict())
    assert (found.recall, found.whole, found.themes) == (None, None, 2 / 3)
    assert covered([["a", "b"], ["c"]], ["b"]) == 0.5


def test_wordings_match_without_width_case_space_and_marks_and_not_by_the_number_of_a_citation() -> None:
    assert matching("It takes **３１０ G** of water. [1]", ["nothing", "310 g"]) == "310 g"
    assert matching("It takes some water. [1]", ["1"]) is None


@pytest.mark.parametrize(
    ("question", "text", "cited", "outcome"),
    [
        (PLAIN, "310g", [], "right"),
        (PLAIN, "300 g", ["a", "f"], "wrong"),
        (PLAIN, None, [], "refused"),
        (OVERVIEW, "x", ["a", "c"], "right"),
        (OVERVIEW, "x", ["a", "b"], "wrong"),
        (NOWHERE, "x", [], "answered"),
        (NOWHERE, None, [], "refused"),
    ],
)
def test_an_answer_is_right_wrong_or_refused(
    question: Question, text: str | None, cited: list[str], outcome: str
) -> None:
    answer = Answer(text=text or "310 g is not known", abstained=text is None)
    assert judge_answer(question, answer, cited, ms=1.0, verdict=Verdict()).outcome == outcome


def test_a_folder_is_indexed_searched_and_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "data" / "tiny"
    (folder / "corpus" / "notes").mkdir(parents=True)
    (folder / "corpus" / "notes" / "bread.md").write_text("The sourdough takes 310 g of water.\n", encoding="utf-8")
    query = {"_id": "q1", "text": "sourdough water", "type": "fact", "answerable": True, "answer": ["310 g"]}
    (folder / "queries.jsonl").write_text(json.dumps({**query, "language": "en"}) + "\n", encoding="utf-8")
    (folder / "qrels.tsv").write_text("q1\tnotes/bread.md\t2\n", encoding="utf-8")
    out = tmp_path / "out.json"
    given = ["--data", str(folder.parent), "--modes", "keyword", "--ask", "--json", str(out)]
    assert main([*given, "--settings", "embedding.provider=fake", "rerank.provider=none"]) == 0
    assert "Searches by kind" in capsys.readouterr().out
    (asked,) = json.loads(out.read_text(encoding="utf-8"))["questions"]
    assert asked["found"]["keyword"]["files"] == ["notes/bread.md"]
    assert asked["found"]["keyword"]["recall"] == 1.0
    assert main([*given, "--folders", "missing"]) == 2
