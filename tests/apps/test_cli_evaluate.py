"""`hybridrag eval`, as a user sees it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluate_builders import CORPUS, write_dataset, write_lines
from evaluate_home import settle_in
from hybridrag import Engine, FileState, InvalidInput
from hybridrag.apps.cli import main
from hybridrag.apps.cli import tune as cli_tune
from hybridrag.evaluate.resample import paired_difference
from hybridrag.evaluate.runs import EvalRun
from hybridrag.evaluate.tuning import Tuned
from hybridrag.models.hash_embedder import HashEmbedder
from hybridrag.types.sources import TextDocument

SAMPLE = Path(__file__).resolve().parents[2] / "sample"
FAST = ["--recipe", "keyword", "--recipe", "hybrid-no-rerank"]
"""Two recipes are enough where it is not about all of them."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    settle_in(tmp_path, monkeypatch)
    write_dataset(tmp_path / "harbour")
    return tmp_path


def index_in_cache(home: Path) -> Path:
    (found,) = (home / "cache" / "eval").iterdir()
    return found


class TestEval:
    def test_every_recipe_is_a_row_with_intervals_and_times(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["eval", "harbour"]) == 0
        out = capsys.readouterr().out
        assert out.startswith("harbour: 5 questions on 5 documents in 5 chunks; fake\n")
        table = out.split("\n\n")[1].splitlines()
        assert table[0].split()[:4] == ["all", "questions", "(5)", "Recall@5"]
        assert [line.split()[0] for line in table[1:]] == [
            "keyword",
            "semantic",
            "graph",
            "hybrid-no-rerank",
            "hybrid",
            "corrective",
        ]
        assert "type: relationship (1)" in out
        assert "language: ja (1)" in out
        assert "1.000 [1.00-1.00]" in out

    def test_json_holds_every_figure_and_what_it_was_made_with(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["eval", "harbour", *FAST, "--json"]) == 0
        printed = json.loads(capsys.readouterr().out)
        assert (printed["dataset"], printed["model"], printed["queries"]) == ("harbour", "fake", 5)
        assert printed["machine"]["cores"]
        assert printed["settings"]["chunking"]["max_tokens"] == 200
        row = next(row for row in printed["scores"] if row["recipe"] == "keyword" and row["group"] == "all")
        assert set(row["metrics"]["Recall@5"]) == {"mean", "low", "high", "count"}
        assert printed["judgements"]["keyword"]["classification"]["total"] == 4

    def test_the_index_is_built_once_and_kept_up_to_date(self, home: Path) -> None:
        assert main(["eval", "harbour", *FAST, "--quiet"]) == 0
        with Engine.open(index_in_cache(home), create=False) as engine:
            before = {file.name: file.added for file in engine.files()}
        write_lines(home / "harbour" / "corpus.jsonl", [*CORPUS[:3], *CORPUS[4:], {"_id": "new", "text": "New."}])
        assert main(["eval", "harbour", *FAST, "--quiet"]) == 0
        with Engine.open(index_in_cache(home), create=False) as engine:
            after = {file.name: file.added for file in engine.files()}
        assert set(after) == {"fees", "light", "quist", "灯台", "new"}
        assert after["fees"] == before["fees"]
        assert main(["eval", "harbour", *FAST, "--quiet", "--fresh"]) == 0
        with Engine.open(index_in_cache(home), create=False) as engine:
            assert {file.name: file.added for file in engine.files()}["fees"] > before["fees"]

    def test_an_index_that_holds_other_documents_is_refused_and_left_as_it_is(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with Engine.open("mine", embedder=HashEmbedder()) as engine:
            engine.add(text="My own note.", name="note.txt")
        assert main(["eval", "harbour", *FAST, "--index", "mine"]) == 2
        assert "holds 1 other documents. Name a folder of its own." in capsys.readouterr().err
        with Engine.open("mine", embedder=HashEmbedder()) as engine:
            assert [file.name for file in engine.files()] == ["note.txt"]

    def test_questions_alone_are_asked_of_an_index_that_holds_the_documents(
        self, home: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["eval", "harbour", *FAST, "--index", "kept", "--quiet"]) == 0
        (home / "harbour" / "corpus.jsonl").unlink()
        assert main(["eval", "harbour", *FAST, "--quiet"]) == 2
        assert "harbour brings no documents. Name an index" in capsys.readouterr().err
        assert main(["eval", "harbour", *FAST, "--index", "nowhere"]) == 3
        assert main(["eval", "harbour", *FAST, "--index", "kept"]) == 0
        assert "5 questions on 5 documents" in capsys.readouterr().out

    def test_files_are_documents_by_their_path_and_one_that_cannot_be_read_is_named(
        self, home: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (home / "harbour" / "corpus.jsonl").unlink()
        (home / "harbour" / "corpus").mkdir()
        (home / "harbour" / "corpus" / "fees.md").write_text("# Fees\n\nThe fee for small boats is twelve crowns.\n")
        (home / "harbour" / "corpus" / "bad.pdf").write_bytes(b"%PDF-1.4 broken")
        (home / "harbour" / "qrels.tsv").write_text("q1\tfees.md\t1\n")
        assert main(["eval", "harbour", *FAST, "--json", "--limit", "3"]) == 0
        printed = capsys.readouterr()
        assert "not indexed: " in printed.err
        assert json.loads(printed.out)["documents"] == 1

    def test_a_run_is_saved_and_shown_as_a_page(self, home: Path) -> None:
        assert main(["eval", "harbour", *FAST, "--quiet", "--save", "run.json", "--report", "out.html"]) == 0
        assert [recipe.name for recipe in EvalRun.load(home / "run.json").recipes] == ["keyword", "hybrid-no-rerank"]
        assert "from keyword to hybrid-no-rerank" in (home / "out.html").read_text(encoding="utf-8")

    def test_the_table_is_printed_even_where_progress_is_not(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["eval", "harbour", "--recipe", "keyword", "--quiet"]) == 0
        printed = capsys.readouterr()
        assert "all questions (5)" in printed.out
        assert printed.err == ""

    def test_answers_are_measured_beside_the_searches(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        args = ["eval", "harbour", "--recipe", "keyword", "--answers"]
        assert main([*args, "--save", "run.json"]) == 0
        out = capsys.readouterr().out
        assert "answers, judged by local" in out
        assert "faithfulness" in out
        saved = EvalRun.load(home / "run.json")
        assert [one.query for one in saved.answers] == ["q1", "q2", "q3", "q4", "q5"]
        assert next(one for one in saved.answers if one.query == "q1").matches is True
        assert main([*args, "--json"]) == 0
        rows = json.loads(capsys.readouterr().out)["answers"]
        assert rows[0]["group"] == "all"
        assert {"right", "refused", "abstains", "context precision", "context recall"} <= set(rows[0]["metrics"])

    def test_corrections_are_counted(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["eval", "harbour", "--recipe", "corrective", "--json"]) == 0
        judged = json.loads(capsys.readouterr().out)["judgements"]["corrective"]
        assert {"gradedIncorrect", "corrected", "trulyCorrected"} <= set(judged)
        assert judged["verdict"]["total"] == 4
        assert main(["eval", "harbour", "--recipe", "corrective"]) == 0
        assert "incorrect, then correct" in capsys.readouterr().out

    def test_options_may_stand_before_the_data_set(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["eval", "--recipe", "keyword", "--limit", "2", "harbour"]) == 0
        assert "2 of 5 queries were asked." in capsys.readouterr().out
        assert main(["eval", "run", "harbour", "--recipe", "keyword", "--quiet"]) == 0

    @pytest.mark.parametrize(
        ("args", "message"),
        [
            (["nowhere"], "There is no folder nowhere."),
            (["harbour", "--recipe", "hybird"], "There is no recipe 'hybird'. Did you mean hybrid?"),
            (["harbour", "--split", "dev"], "there are no qrels named 'dev'"),
            (["harbour", "--nope"], "No such option"),
        ],
    )
    def test_wrong_input_is_one_sentence(
        self, capsys: pytest.CaptureFixture[str], args: list[str], message: str
    ) -> None:
        assert main(["eval", *args]) == 2
        err = capsys.readouterr().err
        assert message in err
        assert err.count("\n") == 1

    def test_the_sample_can_be_measured(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["eval", str(SAMPLE / "eval"), "--recipe", "keyword", "--limit", "40", "--json"]) == 0
        printed = json.loads(capsys.readouterr().out)
        assert printed["dataset"] == "sample/eval"
        assert printed["scores"][0]["metrics"]["Recall@10"]["mean"] > 0.7

    @pytest.mark.heavy
    def test_the_real_model_finds_the_sample(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("HYBRIDRAG_EMBEDDING_PROVIDER", "auto")
        monkeypatch.delenv("HYBRIDRAG_EMBEDDING_CACHE_DIR")
        args = ["--recipe", "hybrid", "--limit", "30", "--index", "real", "--json"]
        assert main(["eval", str(SAMPLE / "eval"), *args]) == 0
        printed = json.loads(capsys.readouterr().out)
        assert printed["model"] == "hybridrag-e5-small"
        assert printed["scores"][0]["metrics"]["Recall@10"]["mean"] > 0.8


class TestJudge:
    def test_agreement_with_people_is_a_table_or_json(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        fee = ["The fee for small boats is twelve crowns a day."]
        lines = [
            {"question": "What is the fee for small boats?", "passages": fee, "sufficient": True},
            {"statement": "Dragons guard the castle.", "passages": fee, "supported": False},
        ]
        write_lines(home / "cases.jsonl", lines)
        assert main(["eval", "judge", "cases.jsonl"]) == 0
        table = capsys.readouterr().out.splitlines()
        assert table[0].startswith("agreement of local")
        assert table[1].split()[:3] == ["all", "(2)", "1.000"]
        assert main(["eval", "judge", "cases.jsonl", "--json", "--limit", "1"]) == 0
        assert json.loads(capsys.readouterr().out)["all"]["total"] == 1
        assert main(["eval", "judge", "nowhere.jsonl"]) == 2
        assert "nowhere.jsonl: cannot be read" in capsys.readouterr().err


class TestCompare:
    @pytest.fixture
    def runs(self, home: Path) -> Path:
        assert main(["eval", "harbour", "--recipe", "keyword", "--quiet", "--save", "a.json"]) == 0
        assert main(["eval", "harbour", "--recipe", "semantic", "--quiet", "--save", "b.json"]) == 0
        assert main(["eval", "harbour", *FAST, "--quiet", "--limit", "4", "--save", "c.json"]) == 0
        return home

    @pytest.mark.usefixtures("runs")
    def test_the_same_recipe_is_compared_with_itself(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["eval", "compare", "a.json", "c.json"]) == 0
        out = capsys.readouterr().out
        assert "The two runs asked different questions; those in common are compared." in out
        assert "+0.000 [+0.000, +0.000]" in out
        assert "hybrid-no-rerank" not in out

    @pytest.mark.usefixtures("runs")
    def test_two_single_recipes_are_compared_whatever_their_names(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["eval", "compare", "a.json", "b.json", "--json"]) == 0
        (printed,) = json.loads(capsys.readouterr().out)
        assert (printed["before"], printed["after"]) == ("keyword", "semantic")
        assert {"mean", "low", "high", "p_value", "better", "worse", "same"} == set(printed["metrics"]["nDCG@10"])
        assert main(["eval", "compare", "a.json", "b.json"]) == 0
        assert "keyword -> semantic" in capsys.readouterr().out

    def test_changes_between_two_runs_can_be_read_as_a_page(self, runs: Path) -> None:
        assert main(["eval", "compare", "a.json", "c.json", "--report", "d.html"]) == 0
        assert "keyword before and now" in (runs / "d.html").read_text(encoding="utf-8")

    @pytest.mark.usefixtures("runs")
    def test_what_cannot_be_compared_is_one_sentence(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["eval", "compare", "b.json", "c.json"]) == 2
        assert "The two runs have no recipe in common." in capsys.readouterr().err
        assert main(["eval", "compare", "a.json", "c.json", "--recipe", "graph"]) == 2
        assert "has no recipe 'graph'" in capsys.readouterr().err
        assert main(["eval", "compare", "a.json", "nowhere.json"]) == 2
        assert "nowhere.json cannot be read" in capsys.readouterr().err


class TestTune:
    def test_it_tries_settings_and_says_what_they_are_worth_on_the_other_half(
        self, home: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        args = ["harbour", "--knob", "rerank.blend", "--knob", "search.expand", "--metric", "MRR@10"]
        assert main(["tune", *args, "--json", "--write", "found.toml"]) == 0
        printed = json.loads(capsys.readouterr().out)
        assert printed["trials"][0]["choice"] == {"rerank.blend": 0.7, "search.expand": True}
        assert len(printed["trials"]) >= 6
        assert printed["training"]["queries"] + printed["heldOut"]["queries"] == 5
        assert (home / "found.toml").exists() is printed["worthIt"]

    def test_nothing_better_is_said_and_trials_are_shown(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["tune", "harbour", "--knob", "search.min_confidence", "--recipe", "keyword"]) == 0
        printed = capsys.readouterr()
        assert printed.out == "Nothing did better than what is set (3 tried).\n"
        assert "search.min_confidence 0.7" in printed.err

    def test_what_is_found_is_a_fragment_unless_the_other_half_did_worse(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        up, down = paired_difference([0.0, 0.5], [0.5, 0.5]), paired_difference([0.5, 0.5], [0.0, 0.5])
        choice = {"rerank.blend": 0.5}
        cli_tune._print(Tuned(choice, (), up, up), "MAP", sizes=(3, 2), as_json=False)
        printed = capsys.readouterr().out
        assert printed.startswith("MAP on the 3 questions it was chosen by: +0.2500 [")
        assert printed.endswith("\n\n[rerank]\nblend = 0.5\n")
        cli_tune._print(Tuned(choice, (), up, down), "MAP", sizes=(3, 2), as_json=False)
        assert capsys.readouterr().out.endswith("The others did worse with it; keep what is set.\n")

    def test_weights_are_turned_for_the_kinds_of_question_there_are(self, capsys: pytest.CaptureFixture[str]) -> None:
        args = ["harbour", "--knob", "weights.local", "--recipe", "hybrid-no-rerank", "--json"]
        assert main(["tune", *args]) == 0
        trials = json.loads(capsys.readouterr().out)["trials"]
        assert trials[0]["choice"]["search.weights.local.keyword"] == 0.35
        assert len(trials) >= 7

    def test_thresholds_are_tuned_by_the_metric_that_they_move(self, capsys: pytest.CaptureFixture[str]) -> None:
        args = ["harbour", "--knob", "verify.bounds", "--metric", "verdict", "--recipe", "corrective", "--json"]
        assert main(["tune", *args]) == 0
        assert len(json.loads(capsys.readouterr().out)["trials"]) == 7
        args = ["harbour", "--knob", "search.min_relevance", "--metric", "F1@10", "--recipe", "keyword", "--json"]
        assert main(["tune", *args]) == 0
        assert len(json.loads(capsys.readouterr().out)["trials"]) == 6

    def test_a_grid_that_would_not_end_is_refused(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["tune", "harbour", "--grid"]) == 2
        assert "Name fewer with --knob" in capsys.readouterr().err
        args = ["--knob", "rerank.blend", "--knob", "search.expand", "--recipe", "keyword", "--json"]
        assert main(["tune", "harbour", "--grid", *args]) == 0
        assert len(json.loads(capsys.readouterr().out)["trials"]) == 10

    def test_a_file_that_cannot_be_written_is_one_sentence(self, home: Path) -> None:
        same = paired_difference([], [])
        with pytest.raises(InvalidInput, match="cannot be written"):
            cli_tune._write(home / "no" / "x.toml", Tuned({"rerank.blend": 0.5}, (), same, same))

    def test_too_few_questions_and_an_unknown_recipe_are_one_sentence(
        self, home: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["tune", "harbour", "--recipe", "hybird"]) == 2
        assert "Did you mean hybrid?" in capsys.readouterr().err
        (home / "harbour" / "queries.jsonl").write_text('{"_id": "q1", "text": "What is the fee?"}\n')
        assert main(["tune", "harbour"]) == 2
        assert "harbour has 1 questions; two halves need at least four." in capsys.readouterr().err


class TestManyTexts:
    def test_many_texts_go_in_at_once_each_under_its_name(self) -> None:
        texts = [TextDocument("1", "The fee is twelve crowns.", title="Fees"), TextDocument("2", "Gulls nest here.")]
        with Engine.open("many", embedder=HashEmbedder()) as engine:
            assert engine.add_documents(texts).count(FileState.ADDED) == 2
            assert {file.name: file.title for file in engine.files()} == {"1": "Fees", "2": None}
            assert engine.search("fee").results[0].sources.file_name == "1"
            again = engine.add_documents([texts[0], TextDocument("2", "Terns nest here.")])
            assert [outcome.state for outcome in again.outcomes] == [FileState.UNCHANGED, FileState.UPDATED]
