"""A question is read once: what it asks for, whether it states something, whether it has a topic, its operators."""

from __future__ import annotations

import pytest

from hybridrag.queries.question import read_question, topic_words, weighed
from hybridrag.queries.statement import is_statement
from hybridrag.types.queries import Want


@pytest.mark.parametrize(
    "text",
    [
        "Statins decrease blood cholesterol.",
        "Cells which lack the gene die when they are heated.",
        "  The harbour was built in 1871. ",
        "She said “the harbour is closed.”",
        "この港は一八七一年に造られた。",
        "睡眠不足は記憶力を低下させる。",
    ],
)
def test_a_sentence_that_asks_nothing_is_a_statement(text: str) -> None:
    assert is_statement(text)


@pytest.mark.parametrize(
    "text",
    [
        "What decreases blood cholesterol?",
        "what decreases blood cholesterol",
        "In which year was the harbour built.",
        "Which harbour was built first.",
        "Is the harbour closed.",
        "Tell me about the harbour.",
        "Summarise the minutes of May.",
        "I need a new passport.",
        "港はいつ造られましたか。",
        "国の数は何か。",
        "木の枝に似た昆虫の名は。",
        "年金の払い方がわからない。",
        "粗大ごみの出し方を教えてください。",
        "カラスがごみを漁って困ります。",
        "体育館を借りたいのですが。",
    ],
)
def test_a_question_or_request_is_none_even_without_a_question_mark(text: str) -> None:
    assert not is_statement(text)


@pytest.mark.parametrize(
    "text",
    [
        "blood cholesterol",
        "statins decrease cholesterol",
        "港の歴史",
        "",
        ".",
        "harbours of the U.S.",
        "ports of Acme Inc.",
    ],
)
def test_words_alone_are_no_statement(text: str) -> None:
    assert not is_statement(text)


@pytest.mark.parametrize(
    "question",
    ["Elvira Quist", "Who is Elvira Quist?", "What is Marten Works", "tell me about Marten Works", "霧島電機とは",
     "霧島電機について教えてください", "霧島電機って何ですか"],
)  # fmt: skip
def test_a_bare_name_and_who_or_what_it_is_ask_for_the_entity(question: str) -> None:
    assert read_question(question).asks_what_it_is


@pytest.mark.parametrize(
    "question",
    ["Who is the mother of Elvira Quist?", "When did Elvira Quist found Marten Works?", "What are the main themes?",
     "霧島電機の社長は誰ですか", "how do I bake bread", "Elvira Quist and Marten Works"],
)  # fmt: skip
def test_other_questions_do_not(question: str) -> None:
    assert not read_question(question).asks_what_it_is


@pytest.mark.parametrize(
    "question",
    ["Summarize the whole meeting.", "What were the main discussion points of the meeting?", "全体をまとめてください",
     "主なテーマは何ですか", "What are the main themes of these documents?"],
)  # fmt: skip
def test_a_question_of_general_words_alone_has_no_topic(question: str) -> None:
    assert not topic_words(question)


@pytest.mark.parametrize(
    "question", ["What are the main themes in the safety reports?", "汐見市の災害について概要を教えてください"]
)
def test_a_question_that_says_what_of_the_whole_is_wanted_has_a_topic(question: str) -> None:
    assert topic_words(question)


@pytest.mark.parametrize(
    ("question", "want"),
    [
        ("When was Orin Works founded?", Want.DATE),
        ("In which year did it close?", Want.DATE),
        ("What do we get a week for being on call?", Want.THING),
        ("What is the population of Norrhamn?", Want.NUMBER),
        ("Which two large cities lie on the coast?", Want.PLACE),
        ("Which city lies on the coast?", Want.PLACE),
        ("Who founded it?", Want.PERSON),
        ("Which painter lived here?", Want.PERSON),
        ("人口は何人ですか", Want.NUMBER),
        ("どの都市にありますか", Want.PLACE),
        ("社長は誰ですか", Want.PERSON),
        ("When the light fails, what do we do?", Want.THING),
    ],
)
def test_the_kind_of_answer_is_read_off_the_question_word(question: str, want: Want) -> None:
    assert read_question(question).want is want


def test_a_word_that_names_what_is_asked_for_weighs_less() -> None:
    question = weighed(read_question("Which year was the harbour closed?"), {"year": 3.0, "harbour": 5.0, "close": 4.0})
    weights = {term.term: weight for term, weight in zip(question.terms, question.weights, strict=True)}
    assert weights["year"] < 1.0 < weights["harbour"]
    assert question.coverage([1.0] * len(question.terms)) == pytest.approx(1.0)


def test_an_overview_is_about_its_topic_alone() -> None:
    assert [term.term for term in read_question("Summarise the main themes of the harbour reports").terms] == [
        "harbour"
    ]
