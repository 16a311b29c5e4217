"""A judge that is fitted to labelled questions: what it learns, what it leaves alone, and the file it is kept in."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrag.config import load_settings
from hybridrag.errors import InvalidSettings, ProviderError
from hybridrag.parts import load_judge
from hybridrag.protocols import Candidate, Judge, Judgement, Question
from hybridrag.queries.classify import classify
from hybridrag.result import Err, Ok, Result
from hybridrag.verify.fitted import (
    BEFORE,
    FORMS,
    LEAST_QUESTIONS,
    LENGTH,
    ODDS,
    Fitted,
    FittedJudge,
    FittedLanguage,
    LabelledJudgement,
    fit_judge,
    question_forms,
    question_words,
    read_fitted,
    solve_dual,
)
from hybridrag.verify.judge import LocalJudge, probability
from model_strategies import SETTINGS

NAMES = [f"{first} {second}" for first in ("Orin", "Tessel", "Marten", "Vell", "Quist") for second in "ABCDE"]
TOWNS = [f"{first}{second}市" for first in "潮岬秋北港" for second in "見津浜原川"]


def asked(text: str) -> Question:
    return Question(text, classification=classify(text))


def passages(name: str) -> list[Candidate]:
    text = f"{name} Works was founded in 1987 by Mira Vell, who built a quay there."
    return [Candidate(id="1", text=text, score=0.5, title=name, scores={"semantic": 0.85})]


def labelled(text: str, found: Sequence[Candidate], sufficient: bool) -> LabelledJudgement:
    question = asked(text)
    return question, LocalJudge().judge(question, found).unwrap(), sufficient


def english() -> list[LabelledJudgement]:
    """Documents that say when, and never who paid."""
    return [
        labelled(text, passages(name), sufficient)
        for name in NAMES
        for text, sufficient in ((f"When was {name} founded?", True), (f"Who paid for {name} then?", False))
    ]


def japanese() -> list[LabelledJudgement]:
    found = [Candidate(id="1", text="市役所は1987年に建てられた。", score=0.5, scores={"semantic": 0.85})]
    return [
        labelled(text, found, sufficient)
        for town in TOWNS
        for text, sufficient in (
            (f"{town}の市役所はいつ建てられましたか", True),
            (f"{town}の市役所の費用はいくら", False),
        )
    ]


@pytest.fixture(scope="module")
def fitted() -> Fitted:
    return fit_judge("local", [*english(), *japanese()])


class TestForms:
    @pytest.mark.parametrize(
        ("text", "forms"),
        [
            ("How long is the first bridge?", {"asks_for_the_most", "asks_for_a_measure"}),
            ("Who is the current mayor of Orin?", {"asks_for_what_changes"}),
            ("Is the quay open?", {"asks_for_yes_or_no"}),
            ("In which year was Orin founded?", {"asks_to_choose"}),
            ("Why did Orin close?", {"asks_for_a_manner"}),
            ("日本で一番長い橋はどれですか", {"asks_for_the_most", "asks_to_choose"}),
            ("北見市の人口はどのくらいですか", {"asks_for_a_measure"}),
            ("現在の市長は誰ですか", {"asks_for_what_changes"}),
            ("灯台とは何ですか", {"asks_for_a_meaning"}),
        ],
    )
    def test_a_question_is_put_in_forms(self, text: str, forms: set[str]) -> None:
        found = question_forms(text)
        assert {name for name, value in found.items() if value and name != LENGTH} == forms
        assert found[LENGTH] == pytest.approx(len(text) ** 0.5)


class TestWords:
    def test_english_questions_are_words_pairs_and_their_beginning(self) -> None:
        assert question_words("Who built it?") == [
            *("who", "built", "it", "?", "who built", "built it", "it ?", "^who", "^who built"),
        ]

    def test_japanese_questions_are_characters_and_their_end(self) -> None:
        assert question_words("誰か") == ["誰", "か", "誰か", "$か", "$誰か"]
        assert "$ですか" in question_words("灯台を建てたのは誰ですか")

    def test_width_and_case_do_not_matter(self) -> None:
        assert question_words("ＷＨＯ Built it?") == question_words("who built it?")

    def test_a_question_of_signs_alone_has_few_words(self) -> None:
        assert question_words("!!") == []


class TestFitting:
    def test_the_regression_is_where_its_slope_is_nothing(self) -> None:
        rng = np.random.default_rng(3)
        design, labels = rng.normal(size=(60, 90)), (rng.random(60) < 0.4).astype(np.float64)
        weights, bias = solve_dual(design, labels)
        off = labels - probability(design @ weights + bias)
        assert np.allclose(design.T @ off, weights, atol=1e-5)
        assert abs(off.sum()) < 1e-5

    def test_what_the_documents_answer_is_learnt_from_how_questions_are_put(self, fitted: Fitted) -> None:
        judge = FittedJudge(LocalJudge(), fitted)
        when, paid = (asked(text) for text in ("When was Zander Q founded?", "Who paid for Zander Q then?"))
        found = passages("Zander Q")
        assert judge.judge(when, found).unwrap().sufficient > 0.7
        assert judge.judge(paid, found).unwrap().sufficient < 0.3

    def test_japanese_has_a_regression_of_its_own(self, fitted: Fitted) -> None:
        assert set(fitted.languages) == {"en", "ja"}
        assert fitted.languages["ja"].words["いつ"] > 0 > fitted.languages["ja"].words["$くら"]
        assert "いつ" not in fitted.languages["en"].words

    def test_without_words_only_what_the_judge_says_counts(self) -> None:
        found = fit_judge("local", english(), words=False).languages["en"]
        assert found.words == {}
        assert ODDS in found.reasons

    def test_words_that_are_rare_or_everywhere_do_not_count(self, fitted: Fitted) -> None:
        words = fitted.languages["en"].words
        assert "?" not in words
        assert "orin a" not in words
        assert {"when", "^when was", "paid"} <= set(words)

    def test_few_questions_or_one_label_leave_a_language_as_it_is(self) -> None:
        cases = english()
        assert fit_judge("local", cases[: LEAST_QUESTIONS - 1]).languages == {}
        assert fit_judge("local", [(question, said, True) for question, said, _ in cases]).languages == {}
        assert fit_judge("local", []).languages == {}

    def test_a_question_whose_reasons_are_missing_does_not_strike_them_out(self) -> None:
        cases = english()
        question, said, label = cases[0]
        rest = [(question, replace(said, reasons={}), label), *cases[1:]]
        found = fit_judge("local", rest, words=False).languages["en"]
        assert found.questions == len(cases) - 1
        assert "coverage_of_best" in found.reasons

    def test_beside_words_few_reasons_count_and_how_the_question_is_put(self, fitted: Fitted) -> None:
        # No model read these, so what the judge said as a whole stands for evidence and the model.
        assert set(fitted.languages["en"].reasons) <= {ODDS, LENGTH, *FORMS}
        assert {ODDS, LENGTH} <= set(fitted.languages["en"].reasons)

    def test_where_a_model_read_evidence_and_the_best_passage_as_a_whole_count(self) -> None:
        cases = [
            (
                question,
                replace(said, reasons={**said.reasons, "evidence": said.sufficient, "together": place / 50}),
                label,
            )
            for place, (question, said, label) in enumerate(english())
        ]
        reasons = set(fit_judge("local", cases).languages["en"].reasons)
        assert {"evidence", "together"} <= reasons
        assert ODDS not in reasons

    def test_themes_and_questions_without_results_teach_nothing(self) -> None:
        cases = english()
        theme = labelled("What are the main themes?", passages("Orin A"), False)
        nothing = labelled("When was Orin B founded?", [], False)
        assert fit_judge("local", [*cases, theme, nothing]) == fit_judge("local", cases)


class Content:
    """A judge that is content with whatever is found, or out of reach."""

    name = "local"

    def __init__(self, *, fails: bool = False) -> None:
        self._fails = fails

    def judge(
        self, question: Question, candidates: Sequence[Candidate], *, timeout: float | None = None
    ) -> Result[Judgement]:
        if self._fails:
            return Err(ProviderError("judge", f"no answer within {timeout} s"))
        said = LocalJudge().judge(question, candidates).unwrap()
        return Ok(replace(said, sufficient=0.6, missing=()))


class TestJudging:
    def test_it_is_a_judge_and_says_that_it_is_fitted(self, fitted: Fitted) -> None:
        judge = FittedJudge(LocalJudge(), fitted)
        assert isinstance(judge, Judge)
        assert judge.name == "local, fitted"

    @pytest.mark.parametrize("text", ["When was Orin A founded?", "Who paid for Orin A then?", "潮見市の費用はいくら"])
    def test_grades_stay_and_the_change_is_a_reason(self, fitted: Fitted, text: str) -> None:
        question, found = asked(text), passages("Orin A")
        before, after = (
            judge.judge(question, found).unwrap() for judge in (LocalJudge(), FittedJudge(LocalJudge(), fitted))
        )
        assert after.relevance == before.relevance
        assert after.reasons == {**before.reasons, BEFORE: round(before.sufficient, 4)}
        assert bool(after.missing) is (after.sufficient < 0.5)

    def test_what_is_missing_is_said_where_the_first_judge_was_content(self, fitted: Fitted) -> None:
        said = FittedJudge(Content(), fitted).judge(asked("Who paid for Orin A then?"), passages("Orin A")).unwrap()
        assert said.sufficient < 0.5
        assert said.missing

    def test_themes_nothing_found_and_other_languages_stay_with_the_first_judge(self, fitted: Fitted) -> None:
        judge, found = FittedJudge(LocalJudge(), fitted), passages("Orin A")
        for text, candidates in (
            ("What are the main themes?", found),
            ("When was Orin A founded?", []),
            ("42?", found),
        ):
            question = asked(text)
            assert judge.judge(question, candidates) == LocalJudge().judge(question, candidates)

    def test_where_a_reason_is_not_given_the_first_judge_stands(self, fitted: Fitted) -> None:
        question, found = asked("When was Orin A founded?"), passages("Orin A")
        without = [replace(one, scores={}) for one in found]
        needed = replace(fitted.languages["en"], reasons={"semantic": (0.8, 0.1, 1.0)})
        judge = FittedJudge(LocalJudge(), replace(fitted, languages={"en": needed}))
        assert judge.judge(question, without) == LocalJudge().judge(question, without)
        assert judge.judge(question, found) != LocalJudge().judge(question, found)

    def test_a_judge_that_fails_fails(self, fitted: Fitted) -> None:
        assert isinstance(FittedJudge(Content(fails=True), fitted).judge(asked("When?"), passages("Orin A")), Err)

    def test_a_fit_for_another_judge_is_one_sentence(self, fitted: Fitted) -> None:
        with pytest.raises(InvalidSettings, match=r"was fitted to the judge `llm`, and `local` is set.*Fit it again"):
            FittedJudge(LocalJudge(), replace(fitted, judge="llm"))


class TestFile:
    def test_what_is_written_is_read_again(self, fitted: Fitted, tmp_path: Path) -> None:
        file = tmp_path / "judge.toml"
        file.write_text(fitted.as_toml(), encoding="utf-8")
        again = read_fitted(file)
        assert again.fingerprint == fitted.fingerprint
        for question, said, _ in english()[:6] + japanese()[:6]:
            before, after = fitted.sufficient(question, said), again.sufficient(question, said)
            assert before == pytest.approx(after, abs=0.01)

    def test_a_person_finds_the_words_that_say_most_at_the_top(self, fitted: Fitted) -> None:
        words = tomllib.loads(fitted.as_toml())["en"]["words"]
        sizes = [abs(weight) for weight in words.values()]
        assert sizes == sorted(sizes, reverse=True)
        assert words["when"] > 0 > words["paid"]

    @SETTINGS
    @given(st.text(min_size=1, max_size=40))
    def test_any_question_can_be_written_and_read(self, text: str) -> None:
        words = dict.fromkeys(question_words(text), 0.5)
        written = Fitted("local", {"en": FittedLanguage(50, 0.0, {ODDS: (0.0, 1.0, 1.0)}, words)}).as_toml()
        assert tomllib.loads(written.encode("utf-8").decode("utf-8"))["en"]["words"] == words

    @pytest.mark.parametrize(
        "change",
        [
            lambda _: "no = [toml",
            lambda _: "",
            lambda _: 'format = 1\njudge = "local"\nfingerprint = "x"\nen = 3\n',
            lambda text: text.replace("[en.words]", "[en.others]"),
            lambda text: text.replace("bias = ", "bias = nan #"),
            lambda text: text.replace("questions = ", "questions = [1] #"),
            lambda text: text.replace('"odds" = [', '"odds" = [1.0, -1.0, 1.0] #'),
        ],
    )
    def test_a_file_of_another_kind_is_one_sentence(self, fitted: Fitted, tmp_path: Path, change: object) -> None:
        file = tmp_path / "judge.toml"
        assert callable(change)
        file.write_text(change(fitted.as_toml()), encoding="utf-8")
        with pytest.raises(InvalidSettings, match=r"is no fitted judge.*Fit it again") as caught:
            read_fitted(file)
        assert "\n" not in str(caught.value)

    def test_a_file_that_is_not_there_or_is_no_text_is_one_sentence(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidSettings, match="cannot be read"):
            read_fitted(tmp_path / "none.toml")
        (tmp_path / "image.png").write_bytes(b"\x89PNG\xff")
        with pytest.raises(InvalidSettings, match="is no fitted judge"):
            read_fitted(tmp_path / "image.png")

    def test_another_format_unknown_reasons_and_changed_ones_ask_for_a_new_fit(
        self, fitted: Fitted, tmp_path: Path
    ) -> None:
        file, written = tmp_path / "judge.toml", fitted.as_toml()
        for text, said in (
            (written.replace("format = 1", "format = 2"), "of another format than 1"),
            (written.replace('"length"', '"moonshine"'), "rests on 'moonshine'"),
            (written.replace('"length"', '"coverage_of_fittest"'), "not those"),
        ):
            file.write_text(text, encoding="utf-8")
            with pytest.raises(InvalidSettings, match=f"{said}.*Fit it again"):
                read_fitted(file)

    def test_the_setting_puts_it_over_the_judge_that_stands_alone(self, fitted: Fitted, tmp_path: Path) -> None:
        file = tmp_path / "judge.toml"
        file.write_text(fitted.as_toml(), encoding="utf-8")
        overrides = {"verify.fitted": str(file), "embedding.provider": "fake"}
        assert load_judge(load_settings(env={}, overrides=overrides).settings).name == "local, fitted"
        file.write_text("", encoding="utf-8")
        with pytest.raises(InvalidSettings, match=r"`verify\.fitted`"):
            load_judge(load_settings(env={}, overrides=overrides).settings)


def test_certainty_is_bounded() -> None:
    sure = Fitted("local", {"en": FittedLanguage(50, 1e9, {ODDS: (0.0, 1.0, 1.0)}, {})})
    chance = sure.sufficient(asked("When was it?"), Judgement((1.0,), 1.0))
    assert chance is not None
    assert math.isclose(chance, 1 / (1 + math.exp(-6.0)))
