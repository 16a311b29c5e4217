"""The parts of the pipeline, each for itself: legs, record, cache, names, duplicates, the blend of a reranker."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hybridrag.errors import ModelUnavailable
from hybridrag.queries.recognise import recognise
from hybridrag.search.cache import QueryCache
from hybridrag.search.duplicates import find_duplicates
from hybridrag.search.parallel import Leg
from hybridrag.search.record import Recorder
from hybridrag.search.rerank_scores import add_reading, blend_reranking, complement
from hybridrag.steps import Step, StepState

# Legs


def test_legs_run_side_by_side() -> None:
    both = threading.Barrier(2, timeout=5)
    legs = [Leg("one", both.wait, seconds=5), Leg("other", both.wait, seconds=5)]
    assert {leg.result().value for leg in legs} == {0, 1}


def test_a_leg_that_hangs_is_late_and_holds_up_nobody() -> None:
    release = threading.Event()
    began = time.monotonic()
    timed = Leg("graph", lambda: release.wait(30), seconds=0.05).result()
    release.set()
    assert time.monotonic() - began < 10
    assert timed.value is None
    assert timed.error is not None
    assert "graph did not finish within 0.05 s" in timed.error


def test_whatever_a_leg_raises_is_a_result(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise ModelUnavailable("m", "it is not there")

    assert "it is not there" in (Leg("semantic", fail, seconds=5).result().error or "")
    assert not caplog.records
    timed = Leg("semantic", lambda: 1 // 0, seconds=5).result()
    assert timed.error == "semantic failed: ZeroDivisionError: integer division or modulo by zero"
    assert "ZeroDivisionError" in caplog.text


# The record


def test_a_step_is_recorded_with_its_state_reason_and_details() -> None:
    recorder = Recorder()
    with recorder.step(Step.CLASSIFY) as note:
        note.details["type"] = "local"
    recorder.skipped(Step.RERANK, "Switched off.")
    assert not recorder.troubled
    with pytest.raises(ZeroDivisionError), recorder.step(Step.FUSE):
        _ = 1 // 0
    classify, rerank, fuse = recorder.trace().steps
    assert (classify.state, classify.details) == (StepState.DONE, {"type": "local"})
    assert (rerank.state, rerank.reason) == (StepState.SKIPPED, "Switched off.")
    assert (fuse.state, fuse.reason) == (StepState.FAILED, "integer division or modulo by zero")
    assert recorder.troubled


# The cache


def test_an_answer_is_kept_until_the_index_changes() -> None:
    cache: QueryCache[str] = QueryCache(2)
    assert cache.get("q", generation=1) is None
    cache.put("q", "answer", generation=1)
    assert cache.get("q", generation=1) == "answer"
    assert cache.get("q", generation=2) is None
    assert len(cache) == 0
    assert cache.get("q", generation=2) is None


def test_an_answer_from_an_older_state_is_not_kept() -> None:
    cache: QueryCache[str] = QueryCache(2)
    cache.get("q", generation=2)
    cache.put("q", "made while the index changed", generation=1)
    assert cache.get("q", generation=2) is None


def test_a_reader_that_lags_behind_does_not_empty_the_cache() -> None:
    cache: QueryCache[str] = QueryCache(2)
    cache.get("q", generation=2)
    cache.put("q", "answer", generation=2)
    assert cache.get("q", generation=1) is None
    assert cache.get("q", generation=2) == "answer"


def test_the_least_used_answer_goes_first_and_size_zero_keeps_nothing() -> None:
    cache: QueryCache[str] = QueryCache(2)
    cache.get("", generation=1)
    for key in ("a", "b"):
        cache.put(key, key, generation=1)
    cache.get("a", generation=1)
    cache.put("c", "c", generation=1)
    assert [cache.get(key, generation=1) for key in ("a", "b", "c")] == ["a", None, "c"]
    none: QueryCache[str] = QueryCache(0)
    none.get("a", generation=1)
    none.put("a", "a", generation=1)
    assert none.get("a", generation=1) is None


# Names that the graph knows

KNOWN = {"marten lighthouse": 1, "elvira quist": 2, "may": 3, "iso": 4, "quist": 7, "who": 8, "are": 9}
KNOWN |= {"犬吠埼灯台": 5, "風の谷": 6}


def names(text: str) -> list[tuple[str, int]]:
    found = recognise(text, lambda norms: {norm: KNOWN[norm] for norm in norms if norm in KNOWN})
    assert all(text[name.start : name.end] == name.text for name in found)
    return [(name.text, name.entity_key) for name in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("who designed the marten lighthouse?", [("marten lighthouse", 1)]),
        ("Elvira Quist", [("Elvira Quist", 2)]),
        ("what may happen to ISO", [("ISO", 4)]),
        ("犬吠埼灯台の設計者は誰ですか", [("犬吠埼灯台", 5)]),
        ("風の谷とISOの違い", [("風の谷", 6), ("ISO", 4)]),
        ("ISOの正式名称は", [("ISO", 4)]),
        ("Elvira Quistさんの灯台", [("Elvira Quist", 2)]),
        ("Who is Elvira Quist?", [("Elvira Quist", 2)]),
        ("Are ISO and WHO bodies of the UN?", [("ISO", 4), ("WHO", 8)]),
        ("May I ask ISO, and when? In May?", [("ISO", 4), ("May", 3)]),
        ("nothing of it", []),
        ("", []),
    ],
)
def test_known_names_are_recognised_the_longest_first(text: str, expected: list[tuple[str, int]]) -> None:
    found = names(text)
    # An article may belong to the span: what counts is which entity it is.
    assert [key for _, key in found] == [key for _, key in expected]


@given(st.text(max_size=200))
def test_any_text_is_read_for_names(text: str) -> None:
    names(text.encode("utf-8", "replace").decode("utf-8"))


# Duplicates

PAGE = "The harbour fee for small boats is twelve crowns a day and it is paid at the office beside the market hall."


def vectors(count: int) -> dict[int, np.ndarray]:
    return {key: np.eye(8, dtype=np.float32)[0] for key in range(1, count + 1)}


def test_a_copy_is_left_out_for_the_better_one() -> None:
    texts = {1: PAGE, 2: PAGE.upper(), 3: PAGE + "\n", 4: "Something else altogether, on another subject."}
    assert find_duplicates([1, 2, 3, 4], lambda _: texts, vectors(4)) == {2: 1, 3: 1}


def test_two_versions_that_differ_in_a_number_are_both_shown() -> None:
    long = PAGE + " " + " ".join(f"Sentence about boat and quay of the {word}." for word in ["north", "south", "east"])
    texts = {1: long + " The limit is 10 tons.", 2: long + " The limit is 20 tons."}
    assert find_duplicates([1, 2], lambda _: texts, vectors(2)) == {}


def test_japanese_copies_are_found_without_spaces() -> None:
    text = "汐見崎灯台は明治七年に完成した石造りの灯台で、設計者は三浦清蔵である。港の入口に立つ。"
    assert find_duplicates([1, 2], lambda _: {1: text, 2: text + " "}, vectors(2)) == {2: 1}


def test_passages_whose_vectors_are_far_apart_are_not_compared() -> None:
    apart = {1: np.eye(8, dtype=np.float32)[0], 2: np.eye(8, dtype=np.float32)[1]}
    assert find_duplicates([1, 2], lambda _: {1: PAGE, 2: PAGE}, apart) == {}
    assert find_duplicates([1, 2], lambda _: {1: PAGE, 2: PAGE}, {}) == {2: 1}


# The blend of a reranker


def test_what_a_model_reads_in_two_results_counts_by_how_sure_it_is() -> None:
    apart = add_reading([0.9, 0.8], [0.2, 0.8], share=0.4)
    assert apart == pytest.approx([0.9 - 0.4 * 2 * 1.386294 / 5, 0.8])
    assert add_reading([0.9, 0.8], [0.5, 0.52], share=0.4)[0] > 0.8
    assert add_reading([0.9, 0.8], [0.0001, 0.9999], share=0.4) == pytest.approx([0.1, 0.8])


def test_what_was_not_read_keeps_its_score() -> None:
    assert add_reading([0.9, 0.8], [0.99, None], share=0.4) == [0.9, 0.8]
    assert add_reading([0.9], [None], share=0.4) == [0.9]


def test_own_and_reranked_scores_are_stretched_and_shared() -> None:
    assert blend_reranking([1.0, 0.9], [0.2, 0.8], share=0.5) == [0.5, 0.5]
    assert blend_reranking([1.0, 0.5, 0.0], [0.0, 0.5, 1.0], share=0.0) == [1.0, 0.5, 0.0]
    assert blend_reranking([1.0, 0.0], [0.1, 0.9], share=1.0) == [0.0, 1.0]


def test_what_the_reranker_did_not_look_at_keeps_its_score() -> None:
    assert blend_reranking([1.0, 0.5, 0.0], [None, None, None], share=0.5) == [1.0, 0.5, 0.0]
    assert blend_reranking([1.0, 0.5, 0.0], [0.3, None, 0.9], share=0.5)[1] == 0.5
    assert blend_reranking([], [], share=0.5) == []


# Results that complement each other


def matching(*rows: Sequence[float]) -> NDArray[np.float32]:
    return np.array(rows, dtype=np.float32)


def test_a_result_on_the_other_half_of_the_question_comes_before_one_more_on_the_first() -> None:
    # "When is the fair and what does a stall cost?": two results on the date, one on the price.
    found = matching([0.9, 0.3], [0.9, 0.3], [0.3, 0.8])
    assert complement([0, 1, 2], [1.0, 0.8, 0.7], found) == [0, 2, 1]


def test_a_much_better_result_is_not_passed_for_what_another_adds() -> None:
    found = matching([0.9, 0.3], [0.9, 0.3], [0.3, 0.8])
    assert complement([0, 1, 2], [1.0, 0.9, 0.1], found) == [0, 1, 2]
    assert complement([2, 0, 1], [0.5, 0.4, 0.9], found)[0] == 2


def test_results_that_match_every_word_alike_keep_their_order() -> None:
    assert complement([1, 0], [0.2, 0.9], matching([0.5, 0.5], [0.5, 0.5])) == [1, 0]
