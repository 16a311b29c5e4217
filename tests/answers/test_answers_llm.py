"""Answers that an LLM writes: every sentence is held against the passages that it cites."""

from __future__ import annotations

import pytest

from hybridrag.answers.write_llm import answer_with_llm, is_supported, numbers_in
from hybridrag.models.own_reranker import OwnReranker
from hybridrag.protocols import Question
from hybridrag.result import Err
from hybridrag.testing.llms import ScriptedLlm
from hybridrag.types.answers import AnswerSentence
from hybridrag.types.results import Hit

LIGHTHOUSE = Hit(id="1", text="The Marten Lighthouse opened in 1874 and has 1,200 steps.", score=0.9)
BREAD = Hit(id="2", text="Bread is baked at 230 degrees for forty minutes.", score=0.5)


@pytest.fixture(scope="module")
def reader() -> OwnReranker:
    return OwnReranker()


def test_a_sentence_with_a_number_that_its_passage_lacks_is_left_out_and_named(reader: OwnReranker) -> None:
    llm = ScriptedLlm(["The lighthouse opened in 1874 [1]. It has 3,000 steps [1]."])
    answer = answer_with_llm(llm, Question("When did it open?"), [LIGHTHOUSE], reader=reader).unwrap()
    assert answer.text == "The lighthouse opened in 1874. [1]"
    assert answer.unsupported == ("It has 3,000 steps.",)


def test_a_sentence_that_cites_a_passage_on_something_else_is_left_out(reader: OwnReranker) -> None:
    cited = AnswerSentence(text="The lighthouse is in Norrhamn.", citations=(2,))
    assert not is_supported(cited, [LIGHTHOUSE, BREAD], reader)
    assert is_supported(AnswerSentence(text="The lighthouse opened long ago.", citations=(1,)), [LIGHTHOUSE], reader)


def test_an_answer_without_a_supported_sentence_is_not_used(reader: OwnReranker) -> None:
    llm = ScriptedLlm(["It opened in 1999 [1]."])
    assert isinstance(answer_with_llm(llm, Question("When did it open?"), [LIGHTHOUSE], reader=reader), Err)


def test_numbers_are_compared_in_one_way_of_writing() -> None:
    assert numbers_in("１，２００円 and 3.5 km, 1,200 steps.") == {"1200", "3.5"}


def test_passages_are_given_under_their_headings() -> None:
    # A row of prices says nothing of what it is the price of.
    llm = ScriptedLlm(["It costs 12 crowns [1]."])
    row = Hit(id="1", text="It costs 12 crowns.", score=0.9, title="Harbour fees", headings=("Small boats",))
    answer_with_llm(llm, Question("What do small boats pay?"), [row]).unwrap()
    assert "Harbour fees\nSmall boats\nIt costs 12 crowns." in llm.asked[0].messages[-1].content
