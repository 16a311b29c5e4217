"""`hybridrag tune --judge`: what the questions of a data set teach the judge, and what that is worth."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from evaluate_builders import write_dataset, write_lines
from evaluate_home import settle_in
from hybridrag import Engine, load_settings
from hybridrag.apps.cli import main
from hybridrag.apps.cli import tune_judge as cli
from hybridrag.errors import InvalidInput, InvalidSettings, ProviderError
from hybridrag.evaluate import RecordingJudge, check_labelled, cross_validate_fit, load_dataset, load_search_judge
from hybridrag.evaluate.judge_fits import DEALS, FOLDS, JudgedQuestion, Sufficient, held_out
from hybridrag.protocols import Candidate, Judgement, Question
from hybridrag.result import Err, Ok, Result
from hybridrag.verify.fitted import Fitted
from hybridrag.verify.judge import LocalJudge

WORKS = [f"{first} {second}" for first in ("Orin", "Tessel", "Vell", "Quist", "Brandt") for second in "ABCDEF"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return settle_in(tmp_path, monkeypatch)


def write_works(folder: Path, *, answerable: bool = False, every: int = 1) -> Path:
    """Documents that say when a firm was founded, and questions about that and about who paid."""
    folder.mkdir()
    texts = [f"{name} Works was founded in {1900 + place} by Mira Vell." for place, name in enumerate(WORKS)]
    write_lines(folder / "corpus.jsonl", [{"_id": str(place), "text": text} for place, text in enumerate(texts)])
    asked = [
        query
        for place, name in enumerate(WORKS[::every])
        for query in (
            {"_id": f"w{place}", "text": f"When was {name} Works founded?"},
            {"_id": f"p{place}", "text": f"Who paid for {name} Works?", "answerable": answerable},
        )
    ]
    theme = {"_id": "t", "text": "What are these notes about?", "themes": [["0"]]}
    write_lines(folder / "queries.jsonl", [*asked, theme, {"_id": "unmarked", "text": "Where is it?"}])
    gold = [f"w{place}\t{place * every}\t1" for place in range(len(WORKS[::every]))]
    (folder / "qrels.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *gold]) + "\n", encoding="utf-8")
    return folder


class TestCommand:
    @pytest.mark.heavy
    def test_what_helps_on_questions_held_back_is_written_and_used(
        self, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_works(home / "works")
        assert main(["tune", "works", "--judge", "--write", "judge.toml", "--index", "index"]) == 0
        printed = capsys.readouterr().out
        assert 'fitted = "judge.toml"' in printed
        assert "en        reasons and words  60         30 " in printed
        assert tomllib.loads((home / "judge.toml").read_text(encoding="utf-8"))["en"]["questions"] == 60

        with Engine.open("index") as plain:
            before = plain.search("Who paid for Orin A Works?", explain=True)
        monkeypatch.setenv("HYBRIDRAG_VERIFY_FITTED", "judge.toml")
        with Engine.open("index") as engine:
            paid = engine.search("Who paid for Orin A Works?", explain=True)
            when = engine.search("When was Orin A Works founded?")
        assert paid.sufficiency is not None
        assert when.sufficiency is not None
        assert not paid.sufficiency.is_sufficient
        assert when.sufficiency.is_sufficient
        assert [item.id for item in paid.results] == [item.id for item in before.results]
        assert paid.trace is not None
        (grade,) = (step for step in paid.trace.steps if step.step == "grade")
        assert grade.details["judge"] == "local, fitted"

        # Fitted again, it starts from the first judge, and without --write nothing is written.
        (home / "judge.toml").write_text("broken", encoding="utf-8")
        assert main(["tune", "works", "--judge", "--index", "index"]) == 0
        assert "Write it with --write FILE." in capsys.readouterr().out
        assert (home / "judge.toml").read_text(encoding="utf-8") == "broken"

    @pytest.mark.heavy
    def test_what_does_not_help_is_not_written(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        write_works(home / "works")
        lines = (home / "works" / "queries.jsonl").read_text(encoding="utf-8").splitlines()
        queries = [json.loads(line) for line in lines]
        # Which of two questions in the same words is answerable, no judge can tell.
        for place, query in enumerate(queries[:60]):
            query["text"] = f"Number {place}: which works of Mira Vell?"
        write_lines(home / "works" / "queries.jsonl", queries)
        args = ["tune", "works", "--judge", "--write", "judge.toml", "--recipe", "keyword", "--json"]
        assert main(args) == 0
        printed = json.loads(capsys.readouterr().out)
        assert [row["fittedTo"] for row in printed["gains"]] == ["reasons", "reasons and words"]
        assert not any(row["better"] for row in printed["gains"])
        assert (printed["chosen"], printed["written"]) == ({}, None)
        assert main(args[:-1]) == 0
        assert "Nothing judged better than the judge as it is" in capsys.readouterr().out
        assert not (home / "judge.toml").exists()

    def test_too_few_questions_and_none_unanswerable_are_one_sentence(
        self, home: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        write_dataset(home / "harbour")
        assert main(["tune", "harbour", "--judge"]) == 2
        assert "has 3 labelled questions of one language; fitting a judge needs 50." in capsys.readouterr().err
        write_works(home / "works", answerable=True)
        assert main(["tune", "works", "--judge"]) == 2
        assert "has 30 labelled questions" in capsys.readouterr().err
        gold = "".join(f"p{place}\t{place}\t1\n" for place in range(30))
        with (home / "works" / "qrels.tsv").open("a", encoding="utf-8") as file:
            file.write(gold)
        assert main(["tune", "works", "--judge"]) == 2
        assert "has 0 unanswerable questions; fitting a judge needs 10." in capsys.readouterr().err

    def test_knobs_are_not_turned_at_the_same_time(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        write_dataset(home / "harbour")
        assert main(["tune", "harbour", "--judge", "--grid"]) == 2
        assert "--judge turns no knobs. Leave out --knob and --grid." in capsys.readouterr().err

    def test_a_file_that_cannot_be_written_is_one_sentence(self, home: Path) -> None:
        with pytest.raises(InvalidInput, match="cannot be written"):
            cli._write(home / "no" / "x.toml", Fitted("local", {}))

    def test_a_broken_file_in_the_settings_is_one_sentence(self, home: Path) -> None:
        (home / "judge.toml").write_text("broken", encoding="utf-8")
        settings = load_settings(overrides={"verify.fitted": "judge.toml"}).settings
        with pytest.raises(InvalidSettings, match="is no fitted judge"):
            Engine.open("index", settings=settings)
        assert load_search_judge(settings).name == "local"


class Failing:
    """A judge out of reach."""

    name = "far"

    def judge(self, question: Question, candidates: object, *, timeout: float | None = None) -> Result[Judgement]:
        return Err(ProviderError("far", f"{question.text} {candidates} {timeout}"))


class TestRecording:
    def test_of_several_tries_the_best_judged_is_kept(self) -> None:
        judge, question = RecordingJudge(LocalJudge()), Question("When was Orin Works founded?")
        good, bad = (Candidate(id=text, text=text, score=1.0) for text in ("Orin Works was founded in 1987.", "Gulls."))
        for found in (bad, good, bad):
            assert isinstance(judge.judge(question, [found]), Ok)
        assert judge.name == "local"
        assert judge.kept[question.text][1] == LocalJudge().judge(question, [good]).unwrap()

    def test_a_judge_that_fails_leaves_nothing(self) -> None:
        judge = RecordingJudge(Failing())
        assert isinstance(judge.judge(Question("When?"), []), Err)
        assert not judge.kept


def case(number: int, *, sufficient: bool, group: str = "", said: float = 0.6, text: str = "When") -> JudgedQuestion:
    return JudgedQuestion(Question(f"{text} {number}"), Judgement((0.5,), said), sufficient, group or str(number))


class TestCrossValidation:
    def test_no_question_is_judged_by_a_fit_that_saw_it_or_one_of_its_group(self) -> None:
        cases = [case(number, sufficient=True, group=str(number // 2)) for number in range(40)]
        groups = {one.question.text: one.group for one in cases}

        def fit(labelled: object) -> Sufficient:
            assert isinstance(labelled, list)
            seen = {groups[question.text] for question, _, _ in labelled}
            return lambda question, _: float(groups[question.text] in seen)

        assert held_out(cases, fit) == [0.0] * 40

    def test_deals_differ_and_each_question_is_held_back_once(self) -> None:
        cases = [case(number, sufficient=True) for number in range(50)]
        sizes: list[int] = []

        def fit(labelled: object) -> Sufficient:
            assert isinstance(labelled, list)
            sizes.append(len(labelled))
            return lambda *_: None

        cross_validate_fit(cases, fit)
        assert sizes == [40] * FOLDS * DEALS

    def test_a_fit_is_better_where_more_is_right_and_the_order_no_worse(self) -> None:
        cases = [case(number, sufficient=number % 2 == 0, said=0.6 + number % 3 / 100) for number in range(60)]
        (gain,) = cross_validate_fit(cases, lambda _: lambda asked, _: float(asked.text[-1] in "02468"), deals=2)
        (same,) = cross_validate_fit(cases, lambda _: lambda *_: None, deals=2)
        assert (gain.language, gain.questions, gain.insufficient) == ("en", 60, 30)
        assert (gain.before.right, gain.after.right, gain.after.area) == (0.5, 1.0, 1.0)
        assert gain.difference.mean == 0.5
        assert gain.is_better
        assert same.before == same.after
        assert not same.is_better

    def test_languages_are_told_apart(self) -> None:
        cases = [case(number, sufficient=True, text=text) for number in range(5) for text in ("When", "いつ")]
        found = cross_validate_fit(cases, lambda _: lambda *_: None, deals=1)
        assert [(gain.language, gain.questions) for gain in found] == [("en", 5), ("ja", 5)]

    def test_enough_labelled_questions_pass(self, home: Path) -> None:
        check_labelled(load_dataset(write_works(home / "works")))
        with pytest.raises(InvalidInput, match="has 20 labelled questions"):
            check_labelled(load_dataset(write_works(home / "fewer", every=3)))
