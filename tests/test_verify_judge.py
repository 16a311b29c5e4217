"""The local judge: does a passage bear on the question, do all together hold its answer?"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrag.protocols import Candidate, Judge, Judgement, Question
from hybridrag.queries.classify import classify
from hybridrag.verify.features import (
    MODEL_PASSAGE_FEATURES,
    MODEL_SET_FEATURES,
    PASSAGE_FEATURES,
    USUAL_NEAREST,
    has_scores,
    model_answers,
    model_set_features,
    passage_features,
    read_all,
)
from hybridrag.verify.judge import MAX_JUDGED, LocalJudge, default_coefficients
from hybridrag.verify.wants import Want, wanted
from model_strategies import SETTINGS


def asked(text: str, *, classified: bool = True) -> Question:
    return Question(text, classification=classify(text) if classified else None)


def passage(text: str, *, title: str = "", score: float = 0.5, **scores: float) -> Candidate:
    return Candidate(id=text[:20] or "empty", text=text, title=title, score=score, scores=scores)


def judged(question: Question, *candidates: Candidate) -> Judgement:
    return LocalJudge().judge(question, candidates).unwrap()


FOUNDED = passage("Orin Works was founded in 1987 by Mira Vell in the harbour town of Tessel.", title="Orin Works")
PRODUCTS = passage("The company sells wall clocks and barometers. They are made of oak.", title="Orin Works")
WEATHER = passage("Rain is expected over the northern hills. Farmers should cover their hay.", title="Weather")


def test_the_local_judge_is_a_judge() -> None:
    assert isinstance(LocalJudge(), Judge)
    assert LocalJudge().name == "local"


def test_a_passage_that_answers_is_more_relevant_than_one_that_does_not() -> None:
    found = judged(asked("When was Orin Works founded?"), FOUNDED, PRODUCTS, WEATHER)
    assert found.relevance[0] > found.relevance[1] > found.relevance[2]


def test_candidates_with_the_answer_suffice_more_than_those_without() -> None:
    question = asked("When was Orin Works founded?")
    assert judged(question, FOUNDED).sufficient > 0.5 > judged(question, WEATHER).sufficient


def test_the_same_holds_in_japanese() -> None:
    question = asked("オリン製作所を創業したのは誰ですか")
    with_answer = passage("オリン製作所は1987年に三浦梨花が創業した時計メーカーである。", title="オリン製作所")
    without = passage("北の丘では雨が予想される。農家は干し草を覆うこと。", title="天気")
    found = judged(question, with_answer, without)
    assert found.relevance[0] > found.relevance[1]
    assert judged(question, with_answer).sufficient > judged(question, without).sufficient


def test_no_candidates_are_not_sufficient_and_say_what_is_missing() -> None:
    found = judged(asked("When was Orin Works founded?"))
    assert found == Judgement((), 0.0, ("Nothing on Orin Works.",))


def test_what_is_missing_is_said_where_it_does_not_suffice() -> None:
    found = judged(asked("When was Orin Works founded?"), WEATHER)
    assert found.missing == ("Nothing on Orin Works.",)


def test_scores_of_the_searches_are_used_where_there_are_any() -> None:
    question = asked("When was Orin Works founded?")
    near, far = passage(FOUNDED.text, semantic=0.93), passage(FOUNDED.text, semantic=0.76)
    assert has_scores([near])
    assert not has_scores([FOUNDED])
    assert judged(question, near).relevance[0] > judged(question, far).relevance[0]


def test_cosines_of_another_model_can_be_left_out() -> None:
    question = asked("When was Orin Works founded?")
    scored = passage(FOUNDED.text, title=FOUNDED.title, semantic=0.2)
    distrusting = LocalJudge(trust_cosines=False)
    assert distrusting.judge(question, [scored]).unwrap() == distrusting.judge(question, [FOUNDED]).unwrap()


def test_a_candidate_that_the_semantic_search_did_not_find_is_as_far_as_the_farthest() -> None:
    question = asked("When was Orin Works founded?")
    rows = passage_features(
        read_all(question, [passage("a", semantic=0.9), passage("b", semantic=0.8), passage("c", keyword=0.5)])
    )
    cosines = rows[:, PASSAGE_FEATURES.index("semantic")]
    assert cosines[2] == cosines[1] < cosines[0]


def test_a_title_lends_its_words_to_the_passage_under_it() -> None:
    question = asked("When was Orin Works founded?")
    titled = passage("It was founded in 1987.", title="Orin Works")
    bare = passage("It was founded in 1987.")
    assert judged(question, titled).relevance[0] > judged(question, bare).relevance[0]


def test_candidates_beyond_the_first_ones_get_the_least_relevance() -> None:
    many = [FOUNDED, *[WEATHER] * MAX_JUDGED]
    found = judged(asked("When was Orin Works founded?"), *many)
    assert len(found.relevance) == len(many)
    assert found.relevance[-1] == min(found.relevance)


def test_an_overview_is_judged_by_breadth() -> None:
    question = asked("What are the main themes of these documents?")
    several = [passage(f"Text {name}.", title=name) for name in "ABC"]
    assert judged(question, *several).sufficient > 0.5 > judged(question, several[0]).sufficient


def test_an_overview_of_a_subject_needs_passages_on_it() -> None:
    question = asked("Summarise what these documents say overall about harbour fees")
    on = [passage("The harbour fees rose again.", title=name) for name in "ABC"]
    off = [passage("The bakery closed.", title=name) for name in "ABC"]
    assert judged(question, *on).sufficient > judged(question, *off).sufficient


def test_the_words_of_asking_need_not_stand_in_an_overview() -> None:
    question = asked("Give an overview of the dangers from weather and sea around Norrhamn")
    several = [
        passage("A gale warning closes the quay of Norrhamn; the weather mast shows it.", title="Storms"),
        passage("The lifeboat of Norrhamn goes to sea in any wind.", title="Rescue"),
        passage("No ferry leaves Norrhamn when the sea is rough.", title="Ferry"),
    ]
    found = judged(question, *several)
    assert found.sufficient > 0.5
    assert found.missing == ()
    assert found.reasons == {"documents": 3.0, "named": 0.0}


def test_the_same_overview_holds_in_japanese() -> None:
    question = asked("汐見市の音楽と行事の全体像を教えてください")
    several = [passage(f"汐見市の{name}では音楽が演奏される。", title=name) for name in ("港", "学校", "図書館")]
    assert judged(question, *several).sufficient > 0.5


def test_documents_with_the_name_alone_make_no_overview_of_a_subject() -> None:
    question = asked("Give an overview of the football clubs of Norrhamn")
    found = judged(
        question, *[passage(f"The {name} of Norrhamn is old.", title=name) for name in ("hall", "quay", "inn")]
    )
    assert found.sufficient < 0.5
    assert found.missing == ('Nothing that mentions "football" and "clubs".',)


def test_an_overview_of_one_document_says_that_there_are_too_few() -> None:
    found = judged(asked("Give an overview of harbour fees"), passage("The harbour fees rose again.", title="A"))
    assert found.missing == ('Too few documents on "harbour" and "fees" for an overview.',)
    found = judged(asked("What are the main themes of these documents?"), passage("Text.", title="A"))
    assert found.missing == ("Too few documents for an overview.",)


def test_a_subject_in_other_words_counts_where_the_model_sees_it() -> None:
    question = asked("Give an overview of the dangers of Norrhamn")
    several = [passage(f"{name} hits Norrhamn.", title=name) for name in ("A gale", "A flood", "A fire")]
    fitting = [passage(each.text, title=each.title, fit=3.0, holds=1.0) for each in several]
    assert judged(question, *fitting).sufficient > 0.5 > judged(question, *several).sufficient


def test_what_a_model_read_counts_where_it_is_there() -> None:
    question = asked("When was Orin Works founded?")
    fits = judged(question, passage(FOUNDED.text, title=FOUNDED.title, fit=8.0, holds=2.5))
    fits_not = judged(question, passage(FOUNDED.text, title=FOUNDED.title, fit=-8.0, holds=-2.5))
    assert fits.sufficient > 0.5 > fits_not.sufficient
    assert fits.relevance[0] > fits_not.relevance[0]
    assert fits.reasons["fit"] == 1.6
    assert "fit" not in judged(question, FOUNDED).reasons


def test_what_a_model_read_counts_for_relations_too() -> None:
    question = asked("Who is the mother of the founder of Orin Works?")
    both = (FOUNDED.text, "Mira Vell was born to Ada Vell, a weaver.")
    fits = judged(question, *[passage(text, fit=6.0, holds=2.0) for text in both])
    fits_not = judged(question, *[passage(text, fit=-9.0, holds=-2.0) for text in both])
    assert fits.sufficient > fits_not.sufficient


def test_a_passage_that_the_model_had_no_time_for_is_as_the_worst_that_it_read() -> None:
    answers = model_answers([passage("a", fit=5.0, holds=2.5), passage("b", fit=-5.0, holds=0.0), passage("c")])
    assert answers is not None
    assert answers.tolist() == [[1.0, 1.0, 1.0], [-1.0, 0.0, 1.0], [-1.0, 0.0, 0.0]]
    assert model_answers([FOUNDED]) is None


def of_set(*rows: tuple[float, float, float, float]) -> dict[str, float]:
    """The features of passages given by fit, holds, cosine (spread) and whether they were read."""
    table = np.array([[0.0, 0.5, fit, holds, cosine, read] for fit, holds, cosine, read in rows])
    return dict(zip(MODEL_SET_FEATURES, model_set_features(table, np.zeros(len(rows)), 1.0).tolist(), strict=True))


def test_what_the_model_says_of_the_nearest_passage_is_told_apart_from_what_it_says_of_the_best() -> None:
    found = of_set((2.0, 2.0, -1.0, 1.0), (1.0, -1.0, 1.0, 1.0))
    assert found["fit"] == 2.0
    assert found["holds_of_nearest"] == -1.0
    assert found["mean_holds"] == 0.5


def test_a_passage_that_the_model_did_not_read_says_nothing_for_the_model() -> None:
    read = of_set((1.0, 1.0, 0.0, 1.0))
    with_another = of_set((1.0, 1.0, 0.0, 1.0), (-2.0, -2.0, 0.0, 0.0))
    assert {name: with_another[name] for name in ("fit", "mean_holds", "holds_of_nearest")} == {
        name: read[name] for name in ("fit", "mean_holds", "holds_of_nearest")
    }


def test_a_set_is_near_where_all_of_it_is_and_not_where_one_passage_is() -> None:
    assert of_set((0.0, 0.0, 1.0, 1.0), (0.0, 0.0, 1.0, 1.0))["near"] > 0.95
    assert of_set((0.0, 0.0, 1.0, 1.0), (0.0, 0.0, -3.0, 1.0))["near"] < 0.05


def test_where_cosines_mean_nothing_no_set_is_near_and_the_fittest_stands_for_the_nearest() -> None:
    unknown = float("nan")
    found = of_set((0.0, -1.0, unknown, 1.0), (2.0, 1.0, unknown, 1.0))
    assert (found["near"], found["nearest"], found["holds_of_nearest"]) == (0.0, USUAL_NEAREST, 1.0)
    assert all(found[name] == 0.0 for name in MODEL_SET_FEATURES if name.endswith("_near"))


def test_an_answer_of_the_model_beyond_its_range_counts_as_its_end() -> None:
    question = asked("When was Orin Works founded?")
    far, farther = (passage(FOUNDED.text, fit=fit, holds=2.0) for fit in (10.0, 1e9))
    assert judged(question, far) == judged(question, farther)


def test_each_size_of_the_model_is_weighed_by_its_own_regressions() -> None:
    known, question = default_coefficients(), asked("When was Orin Works founded?")
    assert known.of_reader("base", relational=True) is known.base_relational
    assert known.of_reader("small", relational=True) is known.model_relational
    read = passage(FOUNDED.text, fit=2.0, holds=1.0)
    by_base = LocalJudge(reader="base")
    assert by_base.judge(question, [read]).unwrap().sufficient != judged(question, read).sufficient
    assert by_base.judge(question, [FOUNDED]).unwrap() == judged(question, FOUNDED), "where no model read, none counts"


def test_the_judgement_shows_what_it_rests_on() -> None:
    reasons = judged(asked("When was Orin Works founded?"), FOUNDED).reasons
    assert reasons["names_unseen"] == 0.0
    assert reasons["coverage_of_best"] == 1.0
    assert "semantic" not in reasons


def test_the_coefficients_name_features_that_exist() -> None:
    known = default_coefficients()
    for pair in (known.local, known.relational, known.bare_local, known.bare_relational):
        assert set(pair.relevance.features) <= set(PASSAGE_FEATURES)
    assert "semantic" not in known.bare_local.relevance.features
    for pair in (known.model_local, known.model_relational, known.base_local, known.base_relational):
        assert set(pair.relevance.features) <= set(MODEL_PASSAGE_FEATURES)
        assert set(pair.sufficiency.features) <= set(MODEL_SET_FEATURES)


@SETTINGS
@given(st.text(max_size=80), st.lists(st.text(max_size=200), max_size=4), st.booleans())
def test_any_text_gets_a_judgement_within_bounds(question: str, texts: list[str], classified: bool) -> None:
    found = judged(asked(question, classified=classified), *map(passage, texts))
    assert len(found.relevance) == len(texts)
    assert all(0.0 <= chance <= 1.0 for chance in (*found.relevance, found.sufficient))


@pytest.mark.parametrize(
    ("question", "want"),
    [
        ("When was Orin Works founded?", Want.DATE),
        ("In what year did the mill open?", Want.DATE),
        ("How long ago did it close?", Want.DATE),
        ("How many people work there?", Want.NUMBER),
        ("What is the population of Tessel?", Want.NUMBER),
        ("Who founded Orin Works?", Want.PERSON),
        ("Which actor played the lead?", Want.PERSON),
        ("Where is Tessel?", Want.PLACE),
        ("In which country was Mira Vell born?", Want.PLACE),
        ("When Mira Vell moved to Tessel, what did she open?", Want.THING),
        ("Why did the mill close?", Want.REASON),
        ("How is oak dried?", Want.MANNER),
        ("What is a barometer?", Want.THING),
        ("Orin Works", Want.THING),
        ("オリン製作所はいつ創業しましたか", Want.DATE),
        ("従業員は何人ですか", Want.NUMBER),
        ("入場料はいくらですか", Want.NUMBER),
        ("創業したのは誰ですか", Want.PERSON),
        ("本社はどこにありますか", Want.PLACE),
        ("なぜ閉鎖されたのですか", Want.REASON),
        ("どうやって乾燥させますか", Want.MANNER),
        ("気圧計とは何ですか", Want.THING),
    ],
)
def test_a_question_says_what_kind_of_thing_it_wants(question: str, want: Want) -> None:
    assert wanted(question) is want
