"""Knowledge refinement: strips that bear on the question."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hybridrag.queries.question import read_question
from hybridrag.search.refine import refine
from hybridrag.types.results import Hit
from model_strategies import SETTINGS


def passage(text: str, title: str = "") -> Hit:
    return Hit(id=text[:10], text=text, title=title, score=0.5)


def refined(question: str, text: str, title: str = "") -> str:
    return refine(read_question(question), [passage(text, title)])[0].text


def test_sentences_that_do_not_bear_on_the_question_are_left_out() -> None:
    text = "Orin Works was founded in 1987. The canteen serves soup. Parking is free."
    assert refined("When was Orin Works founded?", text) == "Orin Works was founded in 1987."


def test_a_sentence_that_refers_back_keeps_the_one_before() -> None:
    text = "Orin makes clocks. It was founded in 1987. Parking is free."
    assert refined("When was Orin founded?", text) == "Orin makes clocks. It was founded in 1987."


def test_a_japanese_sentence_that_refers_back_keeps_the_one_before() -> None:
    text = "オリン製作所は時計を作る。同社は1987年に創業した。駐車場は無料である。"
    assert refined("オリン製作所の創業はいつですか", text) == "オリン製作所は時計を作る。同社は1987年に創業した。"


def test_an_ellipsis_stands_where_something_was_left_out() -> None:
    text = "Orin Works was founded in 1987. The canteen serves soup. Orin Works moved in 1999."
    assert " … " in refined("When was Orin Works founded or moved?", text)


def test_a_candidate_on_nothing_of_the_question_keeps_one_sentence() -> None:
    found = refine(read_question("When was Orin Works founded?"), [passage("Soup is served. Parking is free.")])
    assert len(found[0].strips) == 1
    assert found[0].kept < 1.0


def test_the_bar_is_set_by_the_best_sentence_of_all_candidates() -> None:
    good, weak = passage("Orin Works was founded in 1987."), passage("Works of art hang here. Orin is a bird. Soup.")
    _, other = refine(read_question("When was Orin Works founded?"), [good, weak])
    assert other.text in {"Works of art hang here.", "Orin is a bird."}


def test_an_empty_text_has_no_strips() -> None:
    found = refine(read_question("When?"), [passage("")])
    assert found[0].strips == ()
    assert found[0].kept == 1.0


def test_white_space_alone_stays_as_it_is() -> None:
    assert refined("When?", " \n ") == " \n "


@SETTINGS
@given(st.text(max_size=60), st.lists(st.text(max_size=200), min_size=1, max_size=3))
def test_strips_lie_within_the_text_in_order_and_never_all_is_gone(question: str, texts: list[str]) -> None:
    for found in refine(read_question(question), [passage(text) for text in texts]):
        ends = [0]
        for strip in found.strips:
            assert ends[-1] <= strip.start < strip.end <= len(found.candidate.text)
            ends.append(strip.end)
        assert bool(found.strips) == bool(found.candidate.text)
