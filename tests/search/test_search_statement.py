"""Which queries state something instead of asking."""

from __future__ import annotations

import pytest

from hybridrag.search.statement import is_statement


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
