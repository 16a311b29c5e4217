"""Runs: what is asked, what is kept, how it is scored, compared and shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from evaluate_builders import item, result, write_dataset
from hybridrag.errors import InvalidInput, ProviderError
from hybridrag.evaluate.changes import find_changes
from hybridrag.evaluate.datasets import Dataset, load_dataset
from hybridrag.evaluate.judgements import judgements_of
from hybridrag.evaluate.report import render_report, write_report
from hybridrag.evaluate.runs import LIMIT, MOST_RESULTS, EvalRun, EvalSearch, EvalSetting, run_searches
from hybridrag.evaluate.score import ALL_QUESTIONS, compare_runs, groups_of, score_run, step_times
from hybridrag.types.results import (
    CorrectiveAction,
    CorrectiveActionKind,
    CRAGReport,
    CRAGVerdict,
    SearchResult,
    SufficiencyEvaluation,
)

RIGHT = {"q1": ["fees", "fees", "birds"], "q2": ["light", "quist"], "q3": ["灯台"], "q4": ["fees", "light"], "q5": []}
WRONG = {"q1": ["birds", "fees"], "q2": ["birds", "light"], "q3": ["birds"], "q4": ["birds"], "q5": ["birds"]}


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    return load_dataset(write_dataset(tmp_path / "harbour"))


def answering(dataset: Dataset, found: dict[str, list[str]]) -> EvalSearch:
    by_text = {query.text: found[query.id] for query in dataset.queries}
    return lambda text, limit: result(text, by_text[text][:limit])


@pytest.fixture
def run(dataset: Dataset) -> EvalRun:
    searches = {"weak": answering(dataset, WRONG), "strong": answering(dataset, RIGHT)}
    setting = EvalSetting(documents=5, chunks=5, version="1.2", model="fake", machine={"cores": 2})
    return run_searches(dataset, searches, setting=setting)


def outcome_for(dataset: Dataset, make: Callable[[str], SearchResult]) -> EvalRun:
    return run_searches(dataset.first(None), {"one": lambda text, _: make(text)})


class TestAsking:
    def test_every_question_is_asked_of_every_search_and_documents_count_once(self, run: EvalRun) -> None:
        assert [recipe.name for recipe in run.recipes] == ["weak", "strong"]
        assert [outcome.query for outcome in run.recipe("weak").outcomes] == ["q1", "q2", "q3", "q4", "q5"]
        assert run.recipe("strong").outcomes[0].ranking == ("fees", "birds")

    def test_the_searches_take_turns_to_be_first(self, dataset: Dataset) -> None:
        order: list[str] = []

        def noting(name: str) -> EvalSearch:
            def search(text: str, _: int) -> SearchResult:
                order.append(name)
                return result(text, [])

            return search

        run_searches(dataset, {"a": noting("a"), "b": noting("b")})
        assert order == ["a", "b", "a", "b", "b", "a", "a", "b", "b", "a", "a", "b"]

    def test_more_is_asked_for_where_the_first_page_has_few_documents(self, dataset: Dataset) -> None:
        asked: list[int] = []

        def search(text: str, limit: int) -> SearchResult:
            asked.append(limit)
            deep = [f"d{number}" for number in range(30)]
            return result(text, ["fees"] * LIMIT if limit <= LIMIT else ["other", "fees", *deep], total=99)

        run = run_searches(replace(dataset, queries=dataset.queries[:1]), {"one": search})
        assert asked == [1, LIMIT, MOST_RESULTS]
        assert run.recipes[0].outcomes[0].ranking[:3] == ("fees", "other", "d0")

    def test_a_search_that_fails_is_kept_with_its_reason_and_scores_nothing(self, dataset: Dataset) -> None:
        def search(_: str, __: int) -> SearchResult:
            raise ProviderError("model", "is down")

        run = run_searches(dataset, {"one": search})
        assert run.recipes[0].outcomes[0].error == "model: is down."
        row = score_run(run)[0]
        assert row.failed == 5
        assert row.values["Recall@5"].mean == 0

    def test_progress_is_told(self, dataset: Dataset) -> None:
        told: list[tuple[int, int]] = []
        run_searches(
            dataset, {"one": answering(dataset, RIGHT)}, on_query=lambda done, total: told.append((done, total))
        )
        assert told == [(number, 5) for number in range(1, 6)]

    def test_what_is_in_no_document_has_no_place_and_what_is_from_the_web_has_its_address(
        self, dataset: Dataset
    ) -> None:
        def search(text: str, _: int) -> SearchResult:
            items = (item(None), item(None, url="https://example.org/a"), item("fees"))
            return result(text, []).model_copy(update={"results": items})

        run = run_searches(dataset, {"one": search})
        assert run.recipes[0].outcomes[0].ranking == ("https://example.org/a", "fees")

    def test_what_explains_a_place_is_kept(self, run: EvalRun) -> None:
        first = run.recipe("strong").outcomes[1]
        assert (first.first[0].document, first.first[0].ranks, first.first[0].via) == (
            "light",
            {"graph": 1},
            ("quist",),
        )
        assert [step.step for step in first.steps] == ["keyword", "rerank"]
        assert first.classified == "local"


class TestAbstaining:
    @pytest.mark.parametrize(
        ("judged", "probability", "abstains"),
        [
            (SufficiencyEvaluation(is_sufficient=True, confidence=0.9), 0.9, False),
            (SufficiencyEvaluation(is_sufficient=True, confidence=0.4), 0.4, True),
            (SufficiencyEvaluation(is_sufficient=False, confidence=0.7), pytest.approx(0.3), True),
        ],
    )
    def test_the_judgement_of_sufficiency_decides(
        self, dataset: Dataset, judged: SufficiencyEvaluation, probability: float, abstains: bool
    ) -> None:
        run = outcome_for(dataset, lambda text: result(text, ["fees"], sufficiency=judged))
        outcome = run.recipes[0].outcomes[0]
        assert outcome.sufficient == probability
        assert outcome.abstained is abstains

    def test_without_it_the_grade_decides_and_without_that_silence(self, dataset: Dataset) -> None:
        graded = CRAGReport(relevance=CRAGVerdict.INCORRECT, confidence=0.9, needs_web_search=True)
        run = outcome_for(dataset, lambda text: result(text, ["fees"], crag=graded))
        assert run.recipes[0].outcomes[0].abstained
        assert run.recipes[0].outcomes[0].verdict == "incorrect"
        assert not outcome_for(dataset, lambda text: result(text, ["fees"])).recipes[0].outcomes[0].abstained
        assert outcome_for(dataset, lambda text: result(text, [])).recipes[0].outcomes[0].abstained


class TestScores:
    def test_groups_are_all_then_types_then_languages(self, run: EvalRun) -> None:
        groups = groups_of(run.queries)
        assert list(groups) == [
            ALL_QUESTIONS,
            "type: global",
            "type: local",
            "type: relationship",
            "type: unanswerable",
            "language: en",
            "language: ja",
        ]
        assert groups["type: local"] == {"q1", "q3"}

    def test_each_metric_is_over_the_questions_that_it_says_something_about(self, run: EvalRun) -> None:
        weak, strong = score_run(run)[:2]
        assert strong.values["Recall@5"].mean == 1
        assert strong.values["Recall@5"].count == 3
        assert weak.values["Recall@5"].mean == pytest.approx((1 + 0.5 + 0) / 3)
        assert weak.values["MRR@10"].mean == pytest.approx((1 / 2 + 1 / 2 + 0) / 3)
        assert (strong.values["themes@10"].mean, weak.values["themes@10"].mean) == (1, 0)
        assert (strong.values["abstains"].mean, weak.values["abstains"].mean) == (1, 0)
        assert strong.values["falsely-abstains"].count == 4
        assert strong.values["answer@5"].count == 2

    def test_a_group_without_marks_has_no_retrieval_metric(self, run: EvalRun) -> None:
        rows = [row for row in score_run(run) if row.group == "type: unanswerable"]
        assert set(rows[0].values) == {"abstains", "F1@10"}

    def test_two_recipes_are_compared_question_by_question(self, run: EvalRun) -> None:
        found = compare_runs((run, "weak"), (run, "strong"))
        assert found["Recall@5"].mean == pytest.approx(1.5 / 3)
        assert (found["Recall@5"].better, found["Recall@5"].worse, found["Recall@5"].same) == (2, 0, 1)
        with pytest.raises(InvalidInput, match="has no recipe 'nope'; it has weak, strong"):
            compare_runs((run, "weak"), (run, "nope"))

    def test_only_common_questions_are_compared(self, run: EvalRun) -> None:
        fewer = run.model_copy(
            update={
                "queries": run.queries[:1],
                "recipes": tuple(r.model_copy(update={"outcomes": r.outcomes[:1]}) for r in run.recipes),
            }
        )
        assert compare_runs((run, "weak"), (fewer, "strong"))["nDCG@10"].better == 1
        other = fewer.model_copy(update={"queries": (run.queries[0].model_copy(update={"text": "Another?"}),)})
        with pytest.raises(InvalidInput, match="no question in common"):
            compare_runs((run, "weak"), (other, "strong"))

    def test_step_times_are_means_over_the_questions(self, run: EvalRun) -> None:
        assert step_times(run.recipe("weak")) == {"keyword": 2.0, "rerank": 0.0}

    def test_changes_name_the_questions_by_what_they_are_held_by(self, run: EvalRun) -> None:
        changes = {change.query.id: change for change in find_changes((run, "weak"), (run, "strong"))}
        assert {name: change.metric for name, change in changes.items()} == {
            "q1": "nDCG@10",
            "q2": "nDCG@10",
            "q3": "nDCG@10",
            "q4": "themes@10",
            "q5": "abstains",
        }
        assert all(change.gain > 0 for change in changes.values())
        assert find_changes((run, "weak"), (run, "weak")) == []


class TestJudgements:
    def test_types_verdicts_and_sufficiency_are_held_against_the_marks(self, dataset: Dataset) -> None:
        action = CorrectiveAction(kind=CorrectiveActionKind.REWRITE_QUERY, before=0.2, after=0.8)
        graded = CRAGReport(
            relevance=CRAGVerdict.CORRECT, confidence=0.9, needs_web_search=False, actions=(action, action)
        )
        judged = SufficiencyEvaluation(is_sufficient=True, confidence=0.8)
        by_text = {query.text: RIGHT[query.id] for query in dataset.queries}
        run = outcome_for(dataset, lambda text: result(text, by_text[text], crag=graded, sufficiency=judged))
        found = judgements_of(run, "one")
        assert found.classification is not None
        assert found.classification.counts == {
            ("local", "local"): 2,
            ("relationship", "local"): 1,
            ("global", "local"): 1,
        }
        assert found.verdict is not None
        assert found.verdict.counts == {("correct", "correct"): 3, ("incorrect", "correct"): 1}
        assert found.sufficiency is not None
        assert found.sufficiency.accuracy == 3 / 4
        assert [(point.coverage, point.accuracy) for point in found.abstention] == [(1.0, 3 / 4)]
        assert (found.graded_incorrect, found.corrected, found.truly_corrected) == (5, 5, 3)

    def test_an_attempt_that_made_it_worse_does_not_lower_the_grade(self, dataset: Dataset) -> None:
        """The grade of the last attempt was taken for that of what was kept."""
        helped = CorrectiveAction(kind=CorrectiveActionKind.REWRITE_QUERY, before=0.2, after=0.8)
        worse = CorrectiveAction(kind=CorrectiveActionKind.WEB_SEARCH, before=0.8, after=0.1)
        graded = CRAGReport(
            relevance=CRAGVerdict.CORRECT, confidence=0.8, needs_web_search=False, actions=(helped, worse)
        )
        run = outcome_for(dataset, lambda text: result(text, ["fees"], crag=graded))
        assert run.recipe("one").outcomes[0].grade_after == 0.8
        assert judgements_of(run, "one").corrected == 5

    def test_a_run_graded_by_other_bounds_is_counted_by_them(self, dataset: Dataset) -> None:
        action = CorrectiveAction(kind=CorrectiveActionKind.REWRITE_QUERY, before=0.4, after=0.6)
        graded = CRAGReport(relevance=CRAGVerdict.CORRECT, confidence=0.6, needs_web_search=False, actions=(action,))
        run = outcome_for(dataset, lambda text: result(text, ["fees"], crag=graded))
        assert judgements_of(run, "one").graded_incorrect == 0
        bounds = {"verify": {"correct_from": 0.6, "incorrect_until": 0.4}}
        moved = judgements_of(run.model_copy(update={"settings": bounds}), "one")
        assert (moved.graded_incorrect, moved.corrected) == (5, 5)
        page = render_report(run.model_copy(update={"settings": bounds}))
        assert "<h3>Corrections</h3>" in page

    def test_what_was_not_judged_is_none(self, run: EvalRun) -> None:
        found = judgements_of(run, "weak")
        assert found.verdict is found.sufficiency is None
        assert found.abstention == ()


class TestSaving:
    def test_a_saved_run_is_read_back_the_same(self, run: EvalRun, tmp_path: Path) -> None:
        run.save(tmp_path / "run.json")
        assert EvalRun.load(tmp_path / "run.json") == run

    def test_what_is_no_run_is_one_sentence(self, run: EvalRun, tmp_path: Path) -> None:
        (tmp_path / "x.json").write_text("{}")
        with pytest.raises(InvalidInput, match="is no saved run"):
            EvalRun.load(tmp_path / "x.json")
        with pytest.raises(InvalidInput, match="cannot be read"):
            EvalRun.load(tmp_path / "nowhere.json")
        with pytest.raises(InvalidInput, match="cannot be written"):
            run.save(tmp_path / "no" / "run.json")


class TestReport:
    def test_it_is_one_page_that_loads_nothing(self, run: EvalRun, tmp_path: Path) -> None:
        write_report(run, tmp_path / "out.html")
        page = (tmp_path / "out.html").read_text(encoding="utf-8")
        assert not re.search(r"(?:src|href)\s*=|url\(|@import|<script|<link", page)
        assert page.count("<svg") >= 5
        assert "犬吠埼灯台の設計者は誰ですか" in page

    def test_every_tag_is_closed(self, run: EvalRun) -> None:
        open_tags: list[str] = []

        class Checker(HTMLParser):
            def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 (as the parser calls it)
                if tag not in {"meta", "br"}:
                    open_tags.append(tag)

            def handle_startendtag(self, tag: str, attrs: object) -> None:
                pass

            def handle_endtag(self, tag: str) -> None:
                assert open_tags.pop() == tag

        Checker().feed(render_report(run))
        assert open_tags == []

    def test_text_of_questions_and_documents_cannot_become_markup(self, dataset: Dataset) -> None:
        bad = "<script>alert(1)</script>"
        queries = tuple(replace(query, text=f"{query.text}{bad}", type=bad) for query in dataset.queries)
        evil = replace(dataset, name=bad, queries=queries)
        run = run_searches(
            evil, {bad: lambda text, _: result(text, [bad]), "b": lambda text, _: result(text, ["fees"])}
        )
        page = render_report(run)
        assert "<script" not in page
        assert "switched &lt;off&gt;" in page

    def test_with_a_run_before_the_changes_are_between_the_two(self, run: EvalRun, dataset: Dataset) -> None:
        now = run_searches(dataset, {"weak": answering(dataset, RIGHT)})
        page = render_report(now, before=run)
        assert "weak before and now" in page
        assert "5 better" in page

    def test_judgements_and_their_curve_are_drawn(self, dataset: Dataset) -> None:
        judged = SufficiencyEvaluation(is_sufficient=True, confidence=0.8)
        run = outcome_for(dataset, lambda text: result(text, ["fees"], sufficiency=judged))
        page = render_report(run)
        assert "accuracy by coverage" in page
        assert "relationship as local 1 x" in page

    def test_a_file_that_cannot_be_written_is_one_sentence(self, run: EvalRun, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match="cannot be written"):
            write_report(run, tmp_path / "no" / "out.html")
