"""Answers as `eval --answers` measures them, and how far a judge agrees with people."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from evaluate_builders import write_dataset, write_lines
from hybridrag.config import load_settings
from hybridrag.errors import InvalidInput, InvalidSettings, ModelUnavailable, ProviderError
from hybridrag.evaluate.agreement import LabelledCase, judge_agreement, read_labelled_cases
from hybridrag.evaluate.answering import run_answers, score_answers
from hybridrag.evaluate.datasets import Dataset, load_dataset
from hybridrag.evaluate.report import render_report
from hybridrag.evaluate.runs import AnswerOutcome, EvalRun, run_searches
from hybridrag.evaluate.support import SupportByLlm, SupportByWords
from hybridrag.models.own_reranker import OwnReranker
from hybridrag.parts import load_judge, load_support_judge
from hybridrag.search.judge import LocalJudge
from hybridrag.testing.llms import ScriptedLlm
from hybridrag.types.answers import Answer, AnswerSentence, Citation

PASSAGES = ["The fee for small boats is twelve crowns a day.", "Gulls nest on the outer skerries."]


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    return load_dataset(write_dataset(tmp_path / "harbour"))


def answered(text: str) -> Answer:
    sentence = AnswerSentence(text=text, citations=(1,))
    citation = Citation(number=1, result_id="c", start=0, end=1)
    return Answer(text=f"{text} [1]", sentences=(sentence,), citations=(citation,))


def scripted(text: str) -> tuple[Answer, Sequence[str]]:
    if "fee" in text:
        return answered("The fee for small boats is twelve crowns a day."), PASSAGES
    if "designer" in text:
        return answered("Dragons guard the castle."), PASSAGES
    if "犬吠埼" in text:
        raise ModelUnavailable("e5", "it is gone")
    return Answer(text="The documents do not answer this.", abstained=True), PASSAGES[1:]


def run_of(dataset: Dataset, answers: tuple[AnswerOutcome, ...]) -> EvalRun:
    run = run_searches(dataset, {})
    return run.model_copy(update={"answers": answers, "answers_judged_by": "local"})


class TestAnswers:
    def test_a_known_answer_that_stands_in_it_is_right(self, dataset: Dataset) -> None:
        by_id = {one.query: one for one in run_answers(dataset, scripted, SupportByWords())}
        assert by_id["q1"].matches is True
        assert (by_id["q1"].faithfulness, by_id["q1"].context_precision, by_id["q1"].context_recall) == (1, 1, 1)
        assert by_id["q1"].text.endswith("[1]")

    def test_what_no_passage_says_is_not_faithful(self, dataset: Dataset) -> None:
        by_id = {one.query: one for one in run_answers(dataset, scripted, SupportByWords())}
        assert by_id["q2"].faithfulness == 0
        assert by_id["q2"].matches is None
        assert by_id["q2"].context_recall is None

    def test_a_question_that_fails_is_not_answered_and_says_why(self, dataset: Dataset) -> None:
        told: list[int] = []
        outcomes = run_answers(dataset, scripted, SupportByWords(), on_query=lambda done, _: told.append(done))
        failed = next(one for one in outcomes if one.query == "q3")
        assert failed.abstained
        assert "it is gone" in str(failed.error)
        assert told == [1, 2, 3, 4, 5]

    def test_silence_is_right_where_nothing_answers_and_wrong_elsewhere(self, dataset: Dataset) -> None:
        rows = score_answers(run_of(dataset, run_answers(dataset, scripted, SupportByWords())))
        everything = rows[0]
        assert (everything.group, everything.queries) == ("all", 5)
        assert everything.values["abstains"].mean == 1
        assert everything.values["refused"].mean == 0.5
        assert (everything.values["right"].mean, everything.values["wrong"].mean) == (0.5, 0)
        assert "type: local" in [row.group for row in rows]

    def test_a_judge_that_fails_leaves_its_figure_out(self, dataset: Dataset) -> None:
        judge = SupportByLlm(ScriptedLlm([ProviderError("judge", "it is down")]))
        first = run_answers(replace(dataset, queries=dataset.queries[:1]), scripted, judge)[0]
        assert first.faithfulness is None
        assert "it is down" in str(first.error)
        assert first.matches is True

    def test_a_run_without_answers_has_no_rows_and_an_old_one_still_loads(
        self, dataset: Dataset, tmp_path: Path
    ) -> None:
        run = run_searches(dataset, {})
        assert score_answers(run) == []
        run.save(tmp_path / "run.json")
        fields = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
        for name in ("answers", "answersJudgedBy"):
            del fields[name]
        (tmp_path / "run.json").write_text(json.dumps(fields), encoding="utf-8")
        assert EvalRun.load(tmp_path / "run.json").answers == ()

    def test_the_report_shows_answers_and_those_that_are_wrong(self, dataset: Dataset) -> None:
        outcomes = run_answers(dataset, scripted, SupportByWords())
        wrong = tuple(one.model_copy(update={"matches": False}) if one.query == "q1" else one for one in outcomes)
        run = run_of(dataset, wrong)
        search = run_searches(dataset, {"none": lambda _, __: (_ for _ in ()).throw(InvalidInput("x"))})
        page = render_report(search.model_copy(update={"answers": run.answers, "answers_judged_by": "local"}))
        assert "<h2>Answers</h2>" in page
        assert "context recall" in page
        assert "What is the fee for small boats?" in page


class TestAgreement:
    def test_cases_are_read_plain_and_packed_in_both_forms(self, tmp_path: Path) -> None:
        lines = [
            {"question": "What is the fee?", "passages": PASSAGES, "sufficient": 1},
            {"statement": "Gulls nest.", "passages": [{"title": "Birds", "text": "Gulls."}], "supported": True},
        ]
        write_lines(tmp_path / "cases.jsonl", lines)
        (tmp_path / "cases.jsonl.gz").write_bytes(gzip.compress((tmp_path / "cases.jsonl").read_bytes()))
        cases = read_labelled_cases(tmp_path / "cases.jsonl")
        assert cases == read_labelled_cases(tmp_path / "cases.jsonl.gz")
        assert [(case.label, case.states) for case in cases] == [(True, False), (True, True)]
        assert (cases[1].passages, cases[1].titles) == (("Gulls.",), ("Birds",))

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("{}", "line 1: must have a `question` or a `statement`"),
            ('{"question": "x", "passages": []}', "`sufficient` must be true or false"),
            ('{"statement": "x", "supported": "no", "passages": []}', "`supported` must be true or false"),
            ('{"question": "x", "sufficient": true, "passages": "y"}', "`passages` must be a list of texts"),
            ("[]", "must be an object"),
            ("", "holds no cases"),
        ],
    )
    def test_what_is_no_case_is_one_sentence(self, tmp_path: Path, line: str, message: str) -> None:
        (tmp_path / "cases.jsonl").write_text(f"{line}\n", encoding="utf-8")
        with pytest.raises(InvalidInput, match=message):
            read_labelled_cases(tmp_path / "cases.jsonl")

    def test_agreement_is_counted_over_all_and_by_language(self) -> None:
        cases = [
            LabelledCase("What is the fee for small boats?", tuple(PASSAGES), label=True),
            LabelledCase("Who won the chess cup of 1999?", tuple(PASSAGES), label=False),
            LabelledCase("犬吠埼灯台の設計者は誰ですか", ("犬吠埼灯台の設計者はブラントンである。",), label=False),
            LabelledCase("The fee is twelve crowns.", tuple(PASSAGES), label=True, states=True),
        ]
        told: list[int] = []
        found = judge_agreement(
            cases, judge=LocalJudge(OwnReranker()), support=SupportByWords(), on_case=lambda done, _: told.append(done)
        )
        assert set(found) == {"all", "en", "ja"}
        assert (found["en"].confusion.accuracy, found["en"].area) == (1.0, 1.0)
        assert found["ja"].confusion.accuracy == 0.0
        assert found["all"].confusion.counts["no", "yes"] == 1
        assert found["all"].curve[-1].coverage == 1
        assert told == [1, 2, 3, 4]
        assert set(judge_agreement(cases[:2], judge=LocalJudge(OwnReranker()), support=SupportByWords())) == {"all"}

    def test_a_judge_that_fails_gives_no_figure(self) -> None:
        case = LabelledCase("It is so.", tuple(PASSAGES), label=True, states=True)
        judge = SupportByLlm(ScriptedLlm([ProviderError("judge", "it is down")]))
        with pytest.raises(ProviderError):
            judge_agreement([case], judge=LocalJudge(OwnReranker()), support=judge)

    def test_the_settings_say_who_judges(self) -> None:
        local = load_settings(env={}).settings
        assert (load_judge(local).name, load_support_judge(local).name) == ("local", "local, reading")
        asked = load_settings(env={}, overrides={"verify.judge": "llm", "llm.model": "m", "llm.api_key": "k"}).settings
        assert (load_judge(asked).name, load_support_judge(asked).name) == ("llm", "m")
        with pytest.raises(InvalidSettings, match=r"needs `llm\.model`"):
            load_support_judge(load_settings(env={}, overrides={"verify.judge": "llm"}).settings)
