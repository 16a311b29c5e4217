"""The vocabulary cut, questions about something else, and the comparison of texts."""

from __future__ import annotations

import json
import lzma
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from training.average import main as average
from training.calibrate import expected_error, fit_logistic, plot, reliability
from training.cut import NONE, Cuts, Reader, cut_claims, cut_pairs
from training.overlap import mark, shared
from training.ragged import Ragged, load, save
from training.recase import Recaser, joined
from training.swap import swap
from training.texts import JUDGE, PAIRS, PASSAGES, QuickTokenizer, read_left_out, read_rows, squash
from training.vocabulary import MIN_COUNT, count_pieces, keep_pieces

from hybridrag.evaluate.plots import Line
from hybridrag.models.e5_weights import find_package_weights, read_weights
from hybridrag.models.own_reranker import FOLDER, UNKNOWN_ID
from hybridrag.models.unigram import SPECIAL_PIECES, UnigramTokenizer

TEXTS = (
    "The quarterly report was published on 15 November 2026, at 9:30 a.m.",
    "東京都の人口は約1400万人であり、日本の都道府県の中で最も多い。",
    "for (int i = 0; i < n; ++i) { total += values[i]; }",
    "ガイドライン①によれば、ＡＰＩキーは環境変数に置く。",
)


@pytest.fixture(scope="module")
def whole() -> UnigramTokenizer:
    path = find_package_weights()
    assert path is not None
    weights = read_weights(path)
    ids = {piece: place for place, piece in enumerate(weights.pieces) if piece not in SPECIAL_PIECES}
    return UnigramTokenizer(ids, weights.scores.tolist(), unknown_id=weights.shape.unknown_id)


@pytest.fixture(scope="module")
def whole_pieces() -> list[str]:
    path = find_package_weights()
    assert path is not None
    return read_weights(path).pieces


@pytest.fixture(scope="module")
def cut() -> UnigramTokenizer:
    return UnigramTokenizer.load(FOLDER, unknown_id=UNKNOWN_ID)


@pytest.fixture(scope="module")
def cut_pieces() -> list[str]:
    return (FOLDER / "pieces.txt").read_bytes().decode("utf-8").split("\n")


@pytest.mark.heavy
@pytest.mark.parametrize("text", TEXTS)
def test_a_text_whose_pieces_are_kept_is_cut_as_before(
    text: str, whole: UnigramTokenizer, whole_pieces: list[str], cut: UnigramTokenizer, cut_pieces: list[str]
) -> None:
    before = [whole_pieces[place] for place in whole.ids(text)]
    assert set(before) <= set(cut_pieces)
    assert [cut_pieces[place] for place in cut.ids(text)] == before


@pytest.mark.heavy
@settings(max_examples=60, deadline=None)
@given(text=st.text(min_size=1, max_size=40))
def test_nothing_becomes_unknown_that_was_known(text: str) -> None:
    whole, cut = _both()
    before, after = whole.ids(text), cut.ids(text)
    assert (UNKNOWN_ID in after) <= (UNKNOWN_ID in before)


def _both() -> tuple[UnigramTokenizer, UnigramTokenizer]:
    if not _OPENED:
        path = find_package_weights()
        assert path is not None
        weights = read_weights(path)
        ids = {piece: place for place, piece in enumerate(weights.pieces) if piece not in SPECIAL_PIECES}
        scores = weights.scores.tolist()
        _OPENED.append(UnigramTokenizer(ids, scores, unknown_id=UNKNOWN_ID))
        _OPENED.append(UnigramTokenizer.load(FOLDER, unknown_id=UNKNOWN_ID))
    return _OPENED[0], _OPENED[1]


_OPENED: list[UnigramTokenizer] = []


@pytest.mark.heavy
def test_the_quick_tokenizer_gives_the_same_ids(cut: UnigramTokenizer, cut_pieces: list[str]) -> None:
    scores = np.load(FOLDER / "scores.npy").tolist()
    quick = QuickTokenizer(cut_pieces, scores, unknown_id=UNKNOWN_ID)
    texts = [*TEXTS, "</s> is typed", "", "𠮷野家 🍜 ไทย"]
    assert list(quick.many(texts)) == [cut.ids(text) for text in texts]


def test_common_pieces_single_characters_special_ones_and_the_worst_stay() -> None:
    pieces = ["<s>", "a", "ab", "abc", "abcd"]
    counts = np.array([0, 0, MIN_COUNT, MIN_COUNT - 1, 0])
    assert keep_pieces(pieces, np.array([0, -1, -2, -3, -9], dtype=np.float32), counts).tolist() == [0, 1, 2, 4]


def test_pieces_are_counted_over_all_texts() -> None:
    quick = QuickTokenizer(["<s>", "<unk>", "▁a", "b"], [0.0, 0.0, -1.0, -2.0], unknown_id=1)
    assert count_pieces(quick, ["ab", "a a"], 4).tolist() == [0, 0, 3, 1]


def test_ragged_arrays_come_back_as_they_were(tmp_path: Path) -> None:
    given_lists = [[5, 6], [], [7]]
    save(
        tmp_path / "x.npz", {"lists": Ragged.join(given_lists), "texts": Ragged.of_texts(["a", "猫"]), "n": np.ones(2)}
    )
    found = load(tmp_path / "x.npz")
    assert [found["lists"][place].tolist() for place in range(3)] == given_lists
    assert len(found["lists"]) == 3
    assert found["texts"].text(1) == "猫"
    assert found["n"].tolist() == [1, 1]


def test_a_swapped_question_asks_about_something_else_in_the_passage() -> None:
    passage = "In 1900 Alice Brown left Rome. Carol Smith stayed."
    changed = swap("When did Alice Brown leave?", passage, lang="en", rng=random.Random(1))
    assert changed in {"When did Carol Smith leave?", "When did Rome leave?"}


def test_a_swapped_number_is_another_number() -> None:
    changed = swap("1842年にミレーはどこに移ったか。", "ミレーは1840年に入選した。", lang="ja", rng=random.Random(3))
    assert changed is None
    changed = swap("1842年に何があったか。", "彼は1840年に入選し、1842年に移った。", lang="ja", rng=random.Random(3))
    assert changed == "1840年に何があったか。"


def test_a_direction_is_turned_round() -> None:
    assert (
        swap("what was the largest city?", "small.", lang="en", rng=random.Random(1)) == "what was the smallest city?"
    )
    assert swap("最初の会長は誰か。", "会長。", lang="ja", rng=random.Random(1)) == "最後の会長は誰か。"


def test_texts_that_differ_in_form_only_are_the_same() -> None:
    assert mark("Ｗho is the president of Argentina?") == mark("who is the PRESIDENT of argentina")
    assert shared({mark("Who is the president?")}, ["who is the  president", "Who is the king of it?", "short"]) == 1
    assert squash("New  York") == "newyork"


def test_a_logistic_fit_finds_the_side_and_states_its_chances() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=4000)
    labels = (rng.random(4000) < 1 / (1 + np.exp(-(2 * values - 1)))).astype(float)
    slope, shift = fit_logistic(values[:, None], labels)
    assert slope == pytest.approx(2, abs=0.35)
    assert shift == pytest.approx(-1, abs=0.25)
    chance = 1 / (1 + np.exp(-(slope * values + shift)))
    assert expected_error(chance, labels) < 0.04


def test_what_the_cross_encoder_did_not_read_stays_behind_what_it_read() -> None:
    from training.evaluate import orders

    from hybridrag.protocols import Candidate

    candidates = [Candidate(str(place), f"text {place}", score) for place, score in enumerate((0.9, 0.8, 0.7))]
    found = orders(candidates, [0.1, 0.2, 0.3], {"now": [0.1, 0.9, None], "before": [0.9, 0.1, None]})
    assert [one.id for one in found["searches"]] == ["0", "1", "2"]
    assert [one.id for one in found["own .7"]] == ["1", "0", "2"]
    assert [one.id for one in found["own .7 before"]] == ["0", "1", "2"]


PIECES = ["▁the", "▁cat", "▁sat", "▁here", ".", "▁a", "▁dog", "▁ran", "▁far", "▁away", "▁who", "▁title", ":", "▁well"]


def tokens(text: str) -> list[int]:
    return [PIECES.index(word if word in {".", ":"} else f"▁{word}") for word in text.split()]


STORY = "title : the cat sat here well well . a dog ran far far away . the dog sat here well well ."


@pytest.fixture
def story() -> dict[str, Any]:
    return {
        "passages": Ragged.join([tokens(STORY), tokens("the cat sat here"), []]),
        "questions": Ragged.join([tokens("who sat here"), tokens("who ran away"), tokens("who")]),
        "positive": np.array([0, 0, 1]),
        "answers": Ragged.of_texts(["thecat", "", ""]),
        "source": np.array([0, 1, 1]),
    }


def spoken(data: dict[str, Any], cuts: Cuts, number: int) -> str:
    ids = data["passages"][cuts.passage[number]].tolist()
    left = ids[: cuts.start[number]] + ids[cuts.end[number] :]
    return " ".join(PIECES[piece].removeprefix("▁") for piece in left)


def test_a_passage_loses_the_sentence_that_answers_and_keeps_its_title(story: dict[str, Any]) -> None:
    cuts = Cuts()
    found = cut_pairs(story, Reader(story["passages"], PIECES), ["jsquad", "boolq"], cuts)
    assert spoken(story, cuts, found["gutted"][0]) == "title : a dog ran far far away . the dog sat here well well ."
    assert "the cat" in spoken(story, cuts, found["trimmed"][0])
    assert (found["span_start"][0], found["span_end"][0]) == (2, 3)


def test_where_no_answer_is_given_the_sentence_that_shares_most_words_is_taken(story: dict[str, Any]) -> None:
    cuts = Cuts()
    found = cut_pairs(story, Reader(story["passages"], PIECES), ["jsquad", "boolq"], cuts)
    assert "far away" not in spoken(story, cuts, found["gutted"][1])
    assert found["gutted"][2] == found["trimmed"][2] == found["span_start"][2] == NONE


def test_a_sentence_becomes_a_claim_about_the_rest(story: dict[str, Any]) -> None:
    cuts = Cuts()
    found = cut_claims(story, Reader(story["passages"], PIECES), ["jsquad", "pubmedqa"], cuts)
    claims = list(
        zip(found["claim_passage"], found["claim_start"], found["claim_end"], found["claim_cut"], strict=True)
    )
    assert claims
    for passage, start, end, cut in claims:
        assert passage == 0
        assert end - start >= 6
        assert cut == NONE or (cuts.start[cut], cuts.end[cut]) == (start, end)


def test_passages_that_are_left_out_are_empty_and_their_questions_gone(tmp_path: Path) -> None:
    rows: dict[str, list[dict[str, Any]]] = {
        PASSAGES: [{"i": 0, "t": "kept"}, {"i": 1, "t": "also in an evaluation set"}],
        PAIRS: [{"q": "one", "pos": 0, "neg": [1]}, {"q": "two", "pos": 1, "neg": []}],
        JUDGE: [{"q": "three", "p": 1, "y": 1}],
    }
    for name, lines in rows.items():
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (tmp_path / f"{name}.jsonl.xz").write_bytes(lzma.compress(text.encode()))
    gone = frozenset({1})
    assert [row["t"] for row in read_rows(tmp_path, PASSAGES, gone)] == ["kept", ""]
    assert [(row["q"], row["neg"]) for row in read_rows(tmp_path, PAIRS, gone)] == [("one", [])]
    assert list(read_rows(tmp_path, JUDGE, gone)) == []
    (tmp_path / "left_out.txt").write_text("3\n5\n", encoding="ascii")
    assert read_left_out(tmp_path / "left_out.txt") == {3, 5}
    assert read_left_out()


def test_two_models_are_averaged_over_what_both_have(tmp_path: Path) -> None:
    models: dict[str, dict[str, Any]] = {
        "one": {"pool.weight": np.full(2, 1.0)},
        "other": {"pool.weight": np.full(2, 3.0), "span.weight": np.ones(2)},
    }
    for name, parameters in models.items():
        (tmp_path / name).mkdir()
        np.savez(tmp_path / name / "small-0.npz", **parameters)
    average(tmp_path / "one", tmp_path / "other", tmp_path / "mean", "small", 0.25)
    with np.load(tmp_path / "mean" / "small-0.npz") as file:
        assert {name: file[name].tolist() for name in file.files} == {"pool.weight": [1.5, 1.5]}


def test_reliability_says_what_was_said_and_what_happened() -> None:
    chance, labels = np.array([0.1, 0.9, 0.3, 0.7]), np.array([0.0, 1.0, 0.0, 1.0])
    points = reliability(chance, labels, 2)
    assert np.allclose(points, [(0.2, 0.0), (0.8, 1.0)])
    assert plot([Line("small en", points)]).startswith('<svg xmlns="http://www.w3.org/2000/svg"')


def test_words_get_the_case_that_other_passages_write_them_in() -> None:
    recaser = Recaser(["In 1920 the Orin Works built a bridge. They left the Orin Works in May."])
    assert recaser.recase("when was the orin bridge -lrb- of zaltbommel -rrb- built ?") == (
        "When was the Orin bridge (of Zaltbommel) built?"
    )


def test_brackets_quotes_and_endings_join_their_words() -> None:
    assert joined("the town 's `` old '' bridge , -lrb- 1920 -rrb- did n't fall .") == (
        "the town's \"old\" bridge, (1920) didn't fall."
    )
