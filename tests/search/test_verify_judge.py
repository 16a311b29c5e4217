"""The local judge: what a reader makes of passages becomes a verdict over all of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hybridrag.errors import StageError
from hybridrag.protocols import Question, Reading
from hybridrag.queries.question import read_question
from hybridrag.result import Err, Ok, Result
from hybridrag.search.judge import LocalJudge
from hybridrag.testing.promises import check_judge
from hybridrag.types.results import Hit


class ScriptedReader:
    """A reader that says of a text what it was told to say: text -> (relevance, holds)."""

    def __init__(self, said: dict[str, tuple[float, float]] | None = None, *, fails: bool = False) -> None:
        self.said = said or {}
        self.fails = fails
        self.asked: list[str] = []

    def read(
        self, question: Question, candidates: Sequence[Hit], *, timeout: float | None = None
    ) -> Result[Sequence[Reading | None]]:
        del question, timeout
        if self.fails:
            return Err(StageError("The model is gone."))
        self.asked += [one.text for one in candidates]
        return Ok([Reading(*self.said.get(one.text, (0.1, 0.1))) for one in candidates])


def candidates(*texts: str) -> list[Hit]:
    return [Hit(id=str(at), text=text, score=0.4, title=f"t{at}") for at, text in enumerate(texts)]


def question(text: str) -> Question:
    return read_question(text)


def test_it_keeps_the_promises_of_a_judge() -> None:
    check_judge(LocalJudge(ScriptedReader()))
    check_judge(LocalJudge())


def test_a_fact_is_answered_as_surely_as_the_best_passage_holds_it() -> None:
    reader = ScriptedReader({"a": (0.9, 0.2), "b": (0.8, 0.93)})
    judged = LocalJudge(reader).judge(question("When was Orin Works founded?"), candidates("a", "b", "c")).unwrap()
    assert judged.sufficient == pytest.approx(0.93)
    assert judged.relevance == pytest.approx((0.9, 0.8, 0.1))


def test_a_comparison_is_answered_where_every_side_has_a_passage() -> None:
    texts = ("Orin Works has 40 people.", "Vell Foundry has 90 people.")
    reader = ScriptedReader({texts[0]: (0.9, 0.3), texts[1]: (0.8, 0.3)})
    asked = question("Compare Orin Works and Vell Foundry")
    both = LocalJudge(reader).judge(asked, candidates(*texts)).unwrap()
    one = LocalJudge(reader).judge(asked, candidates(texts[0])).unwrap()
    assert both.sufficient == pytest.approx(0.8)
    assert one.sufficient == pytest.approx(0.3)
    assert one.missing == ("Nothing was found on Vell Foundry.",)


@pytest.mark.parametrize("text", ["What are the main themes of these documents?", "Give me an overview of these files"])
def test_an_overview_is_answered_by_several_documents(text: str) -> None:
    asked = question(text)
    judge = LocalJudge(ScriptedReader())
    chances = [judge.judge(asked, candidates(*"abcd"[:count])).unwrap().sufficient for count in (1, 2, 3, 4)]
    assert chances == sorted(chances)
    assert chances[0] < 0.5 < chances[-1]


def test_documents_on_something_else_are_no_overview_of_a_topic() -> None:
    # Any three documents were an overview of anything.
    asked = question("Give me an overview of penguin husbandry")
    judge = LocalJudge(ScriptedReader())
    assert judge.judge(asked, candidates("Bread.", "Clocks.", "Harbour fees.")).unwrap().sufficient == 0
    some = candidates("Penguin diets.", "Husbandry of penguins.", "Penguins moult.", "Clocks.")
    assert judge.judge(asked, some).unwrap().sufficient > 0.5


def test_only_the_first_passages_are_read_and_none_after_them_counts_for_more() -> None:
    reader = ScriptedReader({"a": (0.9, 0.9)})
    judged = LocalJudge(reader, first=2).judge(question("Who?"), candidates(*"abcd")).unwrap()
    assert reader.asked == ["a", "b"]
    assert judged.relevance == pytest.approx((0.9, 0.1, 0.1, 0.1))


def test_where_the_reader_fails_the_searches_scores_count() -> None:
    judged = LocalJudge(ScriptedReader(fails=True)).judge(question("Who?"), candidates("a", "b")).unwrap()
    assert judged.relevance == pytest.approx((0.4, 0.4))


def test_what_is_missing_is_said_in_the_questions_language() -> None:
    asked = question("ベル製作所の創業者は誰ですか")
    judged = LocalJudge(ScriptedReader()).judge(asked, candidates("味噌の作り方")).unwrap()
    assert judged.missing[0].endswith("ません。")
