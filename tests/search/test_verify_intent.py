"""Intent match and sufficiency: does what came back answer the kind of question, and is it enough?"""

from __future__ import annotations

import pytest

from hybridrag.protocols import Judgement, Question
from hybridrag.queries.question import read_question
from hybridrag.search.grade import evaluate_sufficiency, grade, set_score
from hybridrag.search.intent import match_intent
from hybridrag.search.missing import say_missing
from hybridrag.search.passages import read_all
from hybridrag.types.results import CRAGVerdict, Hit, IntentMatch, should_generate


def asked(text: str) -> Question:
    return read_question(text)


def passage(text: str, title: str = "") -> Hit:
    return Hit(id=text[:12], text=text, title=title, score=0.5)


def matched(question: str, *texts: str) -> IntentMatch:
    return match_intent(asked(question), [passage(text) for text in texts])


@pytest.mark.parametrize(
    ("question", "with_it", "without"),
    [
        ("When was Orin Works founded?", "Orin Works was founded in 1987.", "Orin Works was founded by friends."),
        ("How many people work at Orin?", "At Orin work 240 people.", "Many people work at Orin."),
        ("Who founded Orin Works?", "Orin Works was founded by Mira Vell.", "Orin Works was founded long ago."),
        ("Where does Orin make clocks?", "Orin makes clocks in Tessel.", "Orin makes clocks of oak."),
        ("Why did Orin close?", "Orin closed because of a fire.", "Orin closed."),
        ("オリンの創業はいつですか", "オリンの創業は1987年である。", "オリンの創業は古い。"),
        ("オリンの従業員は何人ですか", "オリンの従業員は240人である。", "オリンの従業員は多い。"),
        ("オリンを創業したのは誰ですか", "オリンを創業したのは三浦梨花である。", "オリンの創業は古い。"),
        ("オリンの本社はどこですか", "オリンの本社は横浜市にある。", "オリンの本社は古い。"),
        ("なぜオリンは閉鎖されたのですか", "オリンは火事のため閉鎖された。", "オリンは閉鎖された。"),
    ],
)
def test_a_question_for_a_kind_of_thing_needs_one(question: str, with_it: str, without: str) -> None:
    assert matched(question, with_it).matched
    lacking = matched(question, without)
    assert not lacking.matched
    assert lacking.missing == (lacking.expected,)


def test_a_date_that_the_question_holds_itself_is_no_answer() -> None:
    assert not matched("When did Orin move after the fire of 1987?", "Orin moved after the fire of 1987.").matched


def test_what_is_expected_and_missing_is_said_in_the_language_of_the_question() -> None:
    for question in ("オリンの創業はいつですか", "オリン社とベル社の違いは何ですか", "全体の概要を教えてください"):
        found = matched(question, "これは別の話である。")
        assert not any(letter.isascii() and letter.isalpha() for letter in "".join((found.expected, *found.missing)))


def test_a_name_may_be_written_otherwise_in_another_language() -> None:
    # A question on Hakodate was told that nothing speaks of it, beside a first result on 函館.
    question = read_question("When was the port of Hakodate opened?")
    japanese = Hit(id="1", text="函館の港は1859年に開かれた。", score=0.5, language="ja")
    english = Hit(id="2", text="The port of Otaru was opened in 1899.", score=0.5, language="en")
    assert not any("Hakodate" in line for line in say_missing(read_all(question, [english, japanese])))
    assert any("Hakodate" in line for line in say_missing(read_all(question, [english])))


def test_a_comparison_needs_both_sides() -> None:
    question = "What is the difference between Orin Works and Vell Brothers?"
    one = matched(question, "Orin Works makes clocks.")
    assert not one.matched
    assert one.missing == ("Vell Brothers",)
    assert matched(question, "Orin Works makes clocks.", "Vell Brothers makes boats.").matched


def test_a_relation_is_surer_where_both_stand_together() -> None:
    question = "What is the relationship between Orin Works and Mira Vell?"
    apart = matched(question, "Orin Works makes clocks.", "Mira Vell lives in Tessel.")
    together = matched(question, "Mira Vell founded Orin Works.")
    assert apart.matched
    assert together.matched
    assert together.confidence > apart.confidence


def test_an_overview_needs_several_documents() -> None:
    question = asked("What are the main themes of these documents?")
    documents = [passage(f"About {name}.", title=name) for name in "ABC"]
    assert match_intent(question, documents).matched
    few = match_intent(question, documents[:1] * 5)
    assert not few.matched
    assert few.missing


def test_an_open_question_is_matched_without_certainty() -> None:
    found = matched("What is a barometer?", "A barometer measures pressure.")
    assert found.matched
    assert found.confidence == 0.5


def test_nothing_found_matches_no_question_for_a_fact() -> None:
    assert not matched("What is a barometer?").matched


def test_an_unclassified_question_is_checked_by_its_words() -> None:
    assert match_intent(read_question("When did it open?"), [passage("It opened in 1999.")]).matched


# Sufficiency


def test_a_sure_judgement_suffices() -> None:
    found = evaluate_sufficiency(Judgement((0.9,), 0.9))
    assert (found.is_sufficient, found.confidence, found.missing_info) == (True, 0.9, ())
    assert should_generate(found)


def test_caution_moves_what_suffices() -> None:
    judgement = Judgement((0.9,), 0.6, missing=("Nothing was found on Orin Works.",))
    careful = evaluate_sufficiency(judgement, caution=0.7)
    assert evaluate_sufficiency(judgement, caution=0.6).is_sufficient
    assert not careful.is_sufficient
    assert careful.confidence == pytest.approx(0.4)
    assert careful.missing_info == judgement.missing


@pytest.mark.parametrize(
    ("question", "text", "said"),
    [
        ("When was Orin Works founded?", "", "Nothing was found on Orin Works."),
        (
            "When was Orin Works founded?",
            "Orin Works sells clocks.",
            "What was found is near the question and does not say it.",
        ),
        ("オリン製作所はいつ創業しましたか", "", "「オリン製作所」についての記述は見つかりませんでした。"),
    ],
)
def test_what_is_missing_is_said_in_the_questions_language(question: str, text: str, said: str) -> None:
    candidates = [passage(text)] if text else []
    assert say_missing(read_all(asked(question), candidates)) == (said,)


# The verdict over the set


@pytest.mark.parametrize(
    ("judgement", "graded"),
    [
        (Judgement((0.9, 0.2), 0.9), CRAGVerdict.CORRECT),
        (Judgement((0.9, 0.2), 0.1), CRAGVerdict.AMBIGUOUS),
        (Judgement((0.2, 0.1), 0.1), CRAGVerdict.INCORRECT),
        (Judgement((), 0.0), CRAGVerdict.INCORRECT),
    ],
)
def test_a_set_that_holds_the_answer_is_correct_in_part_ambiguous_and_without_it_incorrect(
    judgement: Judgement, graded: CRAGVerdict
) -> None:
    assert grade(set_score(judgement)).relevance is graded
