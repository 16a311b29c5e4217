"""What is done about results that do not answer."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrag.queries.classify import classify
from hybridrag.queries.rewrite import rewrite_query
from hybridrag.search.correct import (
    BY_LINKS,
    BY_MEANING,
    BY_WORD,
    NOTHING,
    REFINE,
    Correction,
    Situation,
    next_correction,
    other_weights,
)
from hybridrag.types.queries import LOCAL_WEIGHTS, MAX_QUERY_CHARACTERS, SearchWeights
from hybridrag.types.results import CorrectiveActionKind as Kind
from hybridrag.types.results import CRAGVerdict
from model_strategies import SETTINGS

QUESTION = "When was the clockmaker Orin Works founded?"


def situation(verdict: CRAGVerdict, *, web: bool = False, rewrites: tuple[str, ...] = ("a", "b")) -> Situation:
    return Situation(verdict, QUESTION, LOCAL_WEIGHTS, rewrites=rewrites, web=web)


def all_steps(start: Situation, *, max_rounds: int) -> list[Correction]:
    """Every step that is taken while the verdict does not change."""
    tried: list[Correction] = []
    while (step := next_correction(replace(start, tried=tuple(tried)), max_rounds=max_rounds)) != NOTHING:
        assert step not in tried
        tried.append(step)
    return tried


def test_correct_results_are_refined_and_nothing_else() -> None:
    assert all_steps(situation(CRAGVerdict.CORRECT, web=True), max_rounds=3) == [REFINE]


def test_for_ambiguous_results_more_candidates_are_taken_in_last() -> None:
    *_, widened, last = all_steps(situation(CRAGVerdict.AMBIGUOUS), max_rounds=9)
    assert widened.kind is Kind.REFINE_KNOWLEDGE
    assert widened.widen > 1
    assert widened.searches
    assert last == REFINE


def test_incorrect_results_are_searched_anew_in_other_words_then_weights_then_depth() -> None:
    steps = all_steps(situation(CRAGVerdict.INCORRECT), max_rounds=9)
    assert [step.kind for step in steps] == [
        Kind.REWRITE_QUERY,
        Kind.CHANGE_WEIGHTS,
        Kind.DEEPEN_WALK,
        Kind.REWRITE_QUERY,
    ]
    assert [step.query for step in steps] == ["a", None, None, "b"]
    assert steps[2].depth == 2


@pytest.mark.parametrize("rounds", [0, 1])
def test_after_the_rounds_the_web_is_searched_where_it_can_be(rounds: int) -> None:
    steps = all_steps(situation(CRAGVerdict.INCORRECT, web=True), max_rounds=rounds)
    assert [step.kind for step in steps] == [Kind.REWRITE_QUERY, Kind.WEB_SEARCH][1 - rounds :]
    assert steps[-1].query == QUESTION


def test_without_anything_else_to_try_the_web_is_searched_at_once() -> None:
    start = replace(situation(CRAGVerdict.INCORRECT, web=True, rewrites=()), depth=3)
    assert [step.kind for step in all_steps(start, max_rounds=9)] == [Kind.CHANGE_WEIGHTS, Kind.WEB_SEARCH]


@pytest.mark.parametrize("verdict", [CRAGVerdict.AMBIGUOUS, CRAGVerdict.INCORRECT])
@pytest.mark.parametrize("rounds", [0, 1, 2, 5])
def test_no_more_rounds_are_taken_than_allowed(verdict: CRAGVerdict, rounds: int) -> None:
    steps = all_steps(situation(verdict, web=True), max_rounds=rounds)
    assert sum(step.searches and step.kind is not Kind.WEB_SEARCH for step in steps) <= rounds


def test_a_result_that_became_correct_is_still_refined() -> None:
    widened = all_steps(situation(CRAGVerdict.AMBIGUOUS), max_rounds=9)[:-1]
    after = replace(situation(CRAGVerdict.CORRECT), tried=tuple(widened))
    assert next_correction(after, max_rounds=2) == REFINE


@pytest.mark.parametrize(
    ("before", "after"), [(LOCAL_WEIGHTS, BY_WORD), (BY_WORD, BY_MEANING), (BY_MEANING, BY_WORD), (BY_LINKS, BY_WORD)]
)
def test_other_weights_let_another_search_lead(before: SearchWeights, after: SearchWeights) -> None:
    assert other_weights(before) == after


def test_a_relation_that_words_did_not_find_is_looked_for_by_links() -> None:
    assert other_weights(LOCAL_WEIGHTS, classify("What is the relationship between Orin Works and Vell?")) == BY_LINKS


def test_a_question_is_rewritten_into_keywords_names_and_its_rarest_words() -> None:
    rarity = {"clockmak": 5.0, "orin": 6.0, "work": 1.0, "found": 1.5}
    found = rewrite_query(QUESTION, classify(QUESTION), rarity)
    assert found == ["clockmaker Orin Works founded", "Orin Works clockmaker founded", "clockmaker Orin", "Orin Works"]


def test_a_japanese_question_is_rewritten_too() -> None:
    text = "オリン製作所を創業したのは誰ですか"
    assert rewrite_query(text, classify(text), {}) == ["オリン 製作所 創業", "オリン製作所 創業", "オリン製作所"]


def test_keywords_alone_are_not_rewritten_into_themselves() -> None:
    assert "orin founding" not in [query.lower() for query in rewrite_query("Orin founding?")]


@SETTINGS
@given(st.text(max_size=1200))
def test_rewrites_of_any_text_are_distinct_queries(text: str) -> None:
    found = rewrite_query(text, classify(text))
    assert len(found) == len({query.casefold() for query in found})
    assert all(query.strip() and len(query) <= MAX_QUERY_CHARACTERS for query in found)
