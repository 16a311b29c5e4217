"""How far passages go along the way to an answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrag.protocols import Candidate, Question
from hybridrag.queries.classify import classify
from hybridrag.verify.features import read_all
from hybridrag.verify.way import NOT_OVER, SPOKEN_OF, UNNAMED, WITHOUT_KIND, whole_way

TIDE = ("The Long Tide", "The Long Tide is a film of 1971 directed by Ann Lee.")
KITE = ("Red Kite (film)", "Red Kite is a silent film from 1927. Otto Brandt directed it.")
LEE = ("Ann Lee", "Ann Lee was born in Bergen on 3 May 1930.")
BRANDT = ("Otto Brandt", "Otto Brandt was born in 1890.")
UNDATED = ("Red Kite", "Red Kite is a silent film.")
LETTER = ("", "A letter about Red Kite, shown in 1927, and nothing else.")


def way(question: str, *pages: tuple[str, str]) -> float:
    candidates = [Candidate(id=str(at), text=text, title=title, score=1.0) for at, (title, text) in enumerate(pages)]
    read = read_all(Question(question, classification=classify(question)), candidates)
    titles = [candidate.title.casefold().split("(")[0].strip() for candidate in candidates]
    return whole_way(read.asked, titles, read.passages)


@pytest.mark.parametrize(
    ("question", "pages", "expected"),
    [
        ("Which film came out first, The Long Tide or Red Kite?", (TIDE, KITE), 1.0),
        ("Which film came out first, The Long Tide or Red Kite?", (TIDE,), 0.0),
        ("Which film came out first, The Long Tide or Red Kite?", (TIDE, UNDATED), WITHOUT_KIND),
        ("Which film came out first, The Long Tide or Red Kite?", (TIDE, LETTER), SPOKEN_OF),
        ("Where was the director of The Long Tide born?", (TIDE, LEE), 1.0),
        ("Where was the director of The Long Tide born?", (TIDE, KITE), NOT_OVER),
        ("Which film has the director born first, The Long Tide or Red Kite?", (TIDE, KITE, LEE, BRANDT), 1.0),
        ("Which film has the director born first, The Long Tide or Red Kite?", (TIDE, KITE, LEE), NOT_OVER),
        ("Which director was born first, Ann Lee or Otto Brandt?", (LEE, BRANDT), 1.0),
        ("what does it cost?", (TIDE, LEE), UNNAMED),
        ("Where was the director of The Long Tide born?", (), 0.0),
    ],
)
def test_every_step_to_the_answer_needs_a_page(
    question: str, pages: tuple[tuple[str, str], ...], expected: float
) -> None:
    assert way(question, *pages) == pytest.approx(expected)


def test_japanese_questions_lead_over_a_role_as_well() -> None:
    film = ("長い潮", "長い潮は1971年の映画で、監督は山田花子である。")
    person = ("山田花子", "山田花子は1930年に広島県で生まれた。")
    assert way("長い潮の監督はどこで生まれましたか", film, person) == 1.0
    assert way("長い潮の監督はどこで生まれましたか", film) == NOT_OVER


def test_a_title_within_another_word_is_not_named() -> None:
    assert (
        way("Where is the start of Ardal Road?", ("art", "Art in 1900."), ("Ardal Road", "It starts in Oslo.")) == 1.0
    )


@given(st.text(max_size=80), st.lists(st.tuples(st.text(max_size=12), st.text(max_size=60)), max_size=3))
def test_any_text_has_a_way_between_none_and_all(question: str, pages: list[tuple[str, str]]) -> None:
    assert 0.0 <= way(question or "?", *pages) <= 1.0
