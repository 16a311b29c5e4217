"""Answers in the documents' own words: the stretch, its sentence, its place; never a heading."""

from __future__ import annotations

from hybridrag.answers.extract import abstain, extract_answer
from hybridrag.protocols import Question, Reading
from hybridrag.queries.question import read_question
from hybridrag.search.passages import read_all
from hybridrag.types.results import Hit


def question(text: str) -> Question:
    return read_question(text)


def read_at(text: str, stretch: str, holds: float = 0.9) -> Reading:
    start = text.index(stretch)
    return Reading(0.9, holds, start, start + len(stretch))


def test_the_short_answer_is_the_stretch_and_the_answer_its_sentence() -> None:
    text = "Orin Works makes clocks. It was founded in 1987 by two sisters. Its logo is a bird."
    asked = question("When was Orin Works founded?")
    answer = extract_answer(asked, [Hit(id="1", text=text, score=1.0)], [read_at(text, "1987")])
    assert answer.short is not None
    assert answer.short.text == "1987"
    assert text[answer.short.start : answer.short.end] == "1987"
    assert answer.text == "Orin Works makes clocks. It was founded in 1987 by two sisters. [1]"


def test_a_way_to_do_it_is_told_with_the_sentences_that_follow() -> None:
    text = "Open the lid. Hold the green button. Wait for the light.\n\nThe pump is blue."
    asked = question("How do I reset the pump?")
    answer = extract_answer(asked, [Hit(id="1", text=text, score=1.0)], [read_at(text, "Open the lid")])
    assert answer.sentences[0].text == "Open the lid. Hold the green button. Wait for the light."


def test_of_a_table_the_row_is_quoted() -> None:
    text = "state: Ohio | capital: Columbus\nstate: Texas | capital: Austin\nstate: Utah | capital: Salt Lake City"
    asked = question("What is the capital of Texas?")
    answer = extract_answer(asked, [Hit(id="1", text=text, score=1.0)], [read_at(text, "Austin")])
    assert answer.sentences[0].text == "state: Texas | capital: Austin"


def test_a_comparison_quotes_every_side() -> None:
    texts = ["Orin Works has 40 people.", "Vell Foundry has 90 people.", "Bread is made of flour."]
    readings = [read_at(texts[0], "40"), read_at(texts[1], "90", 0.2), read_at(texts[2], "flour", 0.1)]
    some = [Hit(id=str(at), text=text, score=1.0) for at, text in enumerate(texts)]
    answer = extract_answer(question("Compare Orin Works and Vell Foundry"), some, readings)
    assert [sentence.text for sentence in answer.sentences] == texts[:2]


def test_an_overview_quotes_no_heading() -> None:
    texts = ["# Harbour\n\nThe harbour was dredged in May.", "## Fees\nFees rose by a tenth.", "# Staff"]
    some = [Hit(id=str(at), text=text, score=1.0, title=str(at)) for at, text in enumerate(texts)]
    answer = extract_answer(question("What are the main themes?"), some, [Reading(0.5, 0.5)] * 3)
    assert [sentence.text for sentence in answer.sentences] == [
        "The harbour was dredged in May.",
        "Fees rose by a tenth.",
    ]
    assert answer.short is None


def test_nothing_that_may_be_quoted_is_no_answer() -> None:
    asked = question("Reset?")
    assert extract_answer(asked, [Hit(id="1", text="# Reset", score=1.0)], [Reading(0.9, 0.9)]).abstained


def test_a_refusal_is_in_the_questions_language() -> None:
    assert abstain(read_all(question("創業者は誰ですか"), ()), ("x",)).text == "文書にはこの質問の答えがありません。 x"
    assert abstain(read_all(question("Who founded it?"), ())).text == "The documents do not answer this."
