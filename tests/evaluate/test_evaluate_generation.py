"""Faithfulness, answer relevancy, context precision and context recall, by the local judge and by an LLM."""

from __future__ import annotations

import json

import pytest

from hybridrag.config import load_settings
from hybridrag.errors import ProviderError
from hybridrag.evaluate.answers import exact_match, first_with_answer, holds_answer, is_right, token_f1
from hybridrag.evaluate.generation import answer_relevancy, context_precision, context_recall, faithfulness
from hybridrag.evaluate.support import SupportByLlm, SupportByWords
from hybridrag.models.e5_embedder import E5Embedder
from hybridrag.models.hash_embedder import HashEmbedder
from hybridrag.parts import load_support_judge
from hybridrag.result import Err, Ok
from hybridrag.testing.llms import ScriptedLlm

pytest_plugins = ("model_fixtures",)

PASSAGES = [
    "The fee for small boats is twelve crowns a day. It is paid at the harbour office.",
    "The lighthouse was designed by Elvira Quist and first lit in 1874.",
    "灯台の設計者はブラントンで、1874年に点灯した。",
]


class TestLocalJudge:
    def test_half_of_an_answer_that_is_half_made_up_is_faithful(self) -> None:
        answer = "The fee for boats is twelve crowns. Dragons guard the castle."
        assert faithfulness(answer, PASSAGES, SupportByWords()) == Ok(0.5)

    def test_a_number_that_no_passage_has_is_not_supported(self) -> None:
        judge = SupportByWords()
        assert faithfulness("The lighthouse was first lit in 1874.", PASSAGES, judge) == Ok(1.0)
        assert faithfulness("The lighthouse was first lit in 1912.", PASSAGES, judge) == Ok(0.0)

    def test_japanese_is_judged_by_its_words(self) -> None:
        judge = SupportByWords()
        assert faithfulness("灯台の設計者はブラントンです。", PASSAGES, judge) == Ok(1.0)
        assert faithfulness("校長は山田太郎だった。", PASSAGES, judge) == Ok(0.0)

    def test_a_statement_may_join_two_passages(self) -> None:
        statement = "Elvira Quist designed the lighthouse; boats pay twelve crowns."
        assert context_recall(statement, PASSAGES, SupportByWords()) == Ok(1.0)

    def test_useful_passages_first_are_more_precise(self) -> None:
        question, judge = "What is the fee for small boats?", SupportByWords()
        assert context_precision(question, PASSAGES, judge) == Ok(1.0)
        assert context_precision(question, PASSAGES[::-1], judge) == Ok(1 / 3)
        assert context_precision("Who eats plums?", PASSAGES, judge) == Ok(0.0)

    def test_a_model_that_reads_counts_as_much_as_the_words(self) -> None:
        alone = SupportByWords().bears("What is the fee?", PASSAGES).unwrap()
        judge = SupportByWords(reads=lambda _, texts: Ok([1.0] + [0.0] * (len(texts) - 1)))
        both = judge.bears("What is the fee?", PASSAGES).unwrap()
        assert both == pytest.approx([(alone[0] + 1) / 2, *(word / 2 for word in alone[1:])])
        assert judge.name == "local, reading"

    def test_a_model_that_fails_gives_its_error_and_no_figure(self) -> None:
        gone = SupportByWords(reads=lambda *_: Err(ProviderError("model", "is gone")))
        assert isinstance(gone.bears("What is the fee?", PASSAGES), Err)
        assert gone.bears("What is the fee?", []) == Ok([])

    def test_the_judge_of_the_settings_reads_what_words_alone_do_not_tell(self) -> None:
        judge = load_support_judge(load_settings(env={}).settings)
        question, texts = "How much do boats pay?", PASSAGES[:2]
        useful, other = judge.bears(question, texts).unwrap()
        assert useful > 0.5 > other

    def test_an_answer_beside_the_question_is_less_relevant(self) -> None:
        judge = SupportByWords(HashEmbedder(), cosines=(0.0, 1.0))
        good = answer_relevancy("What is the fee for boats?", "The fee for boats is twelve crowns.", judge).unwrap()
        bad = answer_relevancy("What is the fee for boats?", "Elvira designed it.", judge).unwrap()
        assert good > 0.5 > bad

    def test_an_answer_need_not_repeat_the_names_of_its_question(self) -> None:
        # "It was founded in 2011." got .09: it shares one word of three with its question.
        asked = "When was Orin Works founded?"
        assert answer_relevancy(asked, "It was founded in 2011.", SupportByWords()).unwrap() > 0.9
        assert answer_relevancy(asked, "Orin Works makes clocks.", SupportByWords()).unwrap() == 0

    def test_known_rarity_decides_what_counts(self) -> None:
        statement = "The harbour office guards plums."
        common_plums = SupportByWords(rarity={"plum": 0.1, "guard": 0.1, "harbour": 5.0, "offic": 5.0, "office": 5.0})
        assert (
            common_plums.supports([statement], PASSAGES).unwrap()[0]
            > (SupportByWords().supports([statement], PASSAGES).unwrap()[0])
        )

    def test_empty_sides_have_their_meaning(self) -> None:
        judge = SupportByWords(HashEmbedder())
        assert faithfulness(" ", PASSAGES, judge) == Ok(1.0)
        assert faithfulness("The fee is twelve crowns.", [], judge) == Ok(0.0)
        assert context_recall("", PASSAGES, judge) == Ok(0.0)
        assert context_precision("What?", [], judge) == Ok(0.0)
        assert judge.supports([], PASSAGES) == Ok([])

    def test_it_names_itself(self) -> None:
        assert SupportByWords().name == "local"
        assert SupportByWords(HashEmbedder()).name == "local with fake"

    @pytest.mark.heavy
    def test_with_the_real_model_another_wording_is_supported_and_another_fact_is_not(self, e5: E5Embedder) -> None:
        judge = SupportByWords(e5)
        said, unsaid = judge.supports(
            ["Small boats pay a fee of twelve crowns daily.", "The king sold his horses in spring."], PASSAGES
        ).unwrap()
        assert said > 0.5 > unsaid


class TestLlmJudge:
    def test_it_asks_once_and_takes_the_numbers(self) -> None:
        llm = ScriptedLlm([{"scores": [1, 0.2]}])
        assert faithfulness("The fee is 12. It is paid in gold.", PASSAGES, SupportByLlm(llm)) == Ok(0.5)
        assert len(llm.asked) == 1
        sent = json.loads(llm.asked[0].messages[1].content)
        assert sent["statements"] == ["The fee is 12.", "It is paid in gold."]
        assert sent["passages"] == PASSAGES

    def test_it_judges_texts_for_a_question(self) -> None:
        assert context_precision("?", PASSAGES, SupportByLlm(ScriptedLlm([{"scores": [0, 1, 1]}]))) == Ok(
            (1 / 2 + 2 / 3) / 2
        )
        assert answer_relevancy("?", "Yes.", SupportByLlm(ScriptedLlm([{"scores": [0.9]}]))) == Ok(0.9)

    @pytest.mark.parametrize("line", ["no JSON", "[1]", {"scores": [1]}, {"scores": [2, 1]}, {"scores": [True, "x"]}])
    def test_an_answer_that_was_not_asked_for_is_a_failure_with_a_sentence(self, line: str | dict[str, object]) -> None:
        judged = faithfulness("One thing. Another thing.", PASSAGES, SupportByLlm(ScriptedLlm([line])))
        assert isinstance(judged, Err)
        assert "not a list of 2 numbers" in str(judged.error)

    def test_an_llm_that_fails_gives_no_figure(self) -> None:
        judge = SupportByLlm(ScriptedLlm([ProviderError("scripted", "down")]))
        for judged in (
            faithfulness("One.", PASSAGES, judge),
            context_recall("One.", PASSAGES, judge),
            context_precision("?", PASSAGES, judge),
            answer_relevancy("?", "One.", judge),
        ):
            assert isinstance(judged, Err)

    def test_nothing_to_judge_is_not_asked(self) -> None:
        llm = ScriptedLlm(["never"])
        judge = SupportByLlm(llm)
        assert judge.supports(["a"], []) == Ok([0.0])
        assert judge.bears("?", []) == Ok([])
        assert llm.asked == []
        assert judge.name == "scripted"


class TestAnswers:
    @pytest.mark.parametrize(
        ("text", "answers", "holds"),
        [
            ("It cost ＴＷＥＬＶＥ crowns.", ["twelve crowns"], True),
            ("It cost 120.", ["12"], False),
            ("It cost 12.", ["12"], True),
            ("the cats", ["cat"], False),
            ("設計者は三浦清蔵である。", ["三浦清蔵"], True),
            ("1874年に点灯", ["1874年"], True),
            ("Born in New-York.", ["new york"], True),
            ("anything", ["", "!"], False),
            ("anything", [], False),
        ],
    )
    def test_an_answer_is_found_whatever_its_spelling_and_only_as_a_whole(
        self, text: str, answers: list[str], holds: bool
    ) -> None:
        assert holds_answer(text, answers) is holds

    def test_the_first_text_that_holds_it_counts(self) -> None:
        assert first_with_answer(["no", "a fee of twelve"], ["twelve"]) == 2
        assert first_with_answer(["no"], ["twelve"]) is None


class TestShortAnswers:
    def test_exact_match_forgives_articles_case_and_width(self) -> None:
        assert exact_match("The ＴＷＥＬＶＥ crowns.", ["x", "twelve crowns"])
        assert not exact_match("about twelve crowns", ["twelve crowns"])

    def test_f1_counts_words_and_japanese_characters(self) -> None:
        assert token_f1("about twelve crowns", ["twelve crowns"]) == pytest.approx(0.8)
        assert token_f1("1874年に", ["1874年"]) == pytest.approx(0.8)
        assert token_f1("birds", ["twelve crowns"]) == 0

    @pytest.mark.parametrize(
        ("said", "short", "answer", "right"),
        [
            ("It took twelve crowns.", "it", "twelve crowns", True),
            ("Closed for eleven days.", "eleven days", "eleven days without a ferry", True),
            ("It is 45L.", "45L", "45L、60Lではない", False),
            ("5.5mmとする。", "5.5mm", "5.5mm以上", True),
            ("Nobody may park here.", "Nobody may park", "no", False),
            ("Yes, behind the house.", "behind the house", "yes", True),
        ],
    )
    def test_right_is_what_a_person_would_call_right(self, said: str, short: str, answer: str, *, right: bool) -> None:
        assert is_right(said, short, [answer]) is right

    def test_yes_or_no_has_to_be_said(self) -> None:
        assert is_right("Nobody may park here.", "", ["no"], yes_no="no")
        assert not is_right("No fee is due. Yes, park.", "", ["no"], yes_no="yes")
