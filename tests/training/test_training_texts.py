"""The vocabulary cut, and the comparison of texts."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from training.overlap import mark, shared
from training.ragged import Ragged, load, save
from training.texts import JUDGE, PAIRS, PASSAGES, QuickTokenizer, read_left_out, read_rows, squash
from training.vocabulary import MIN_COUNT, count_pieces, keep_pieces

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


def test_texts_that_differ_in_form_only_are_the_same() -> None:
    assert mark("Ｗho is the president of Argentina?") == mark("who is the PRESIDENT of argentina")
    assert shared({mark("Who is the president?")}, ["who is the  president", "Who is the king of it?", "short"]) == 1
    assert squash("New  York") == "newyork"


PIECES = ["▁the", "▁cat", "▁sat", "▁here", ".", "▁a", "▁dog", "▁ran", "▁far", "▁away", "▁who", "▁title", ":", "▁well"]


STORY = "title : the cat sat here well well . a dog ran far far away . the dog sat here well well ."


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
