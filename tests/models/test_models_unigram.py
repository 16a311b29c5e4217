from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from hybridrag.models.align_text import normalise
from hybridrag.models.unigram import Cut, UnigramTokenizer, longest_by_start, save_vocabulary

PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁", "a", "b", "ab", "▁ab", "abab", "日", "日本", "本語", "語", "1", "."]
SCORES = [0.0, 0.0, 0.0, 0.0, -3.0, -4.0, -4.5, -5.0, -6.0, -7.5, -6.0, -7.0, -6.6, -8.0, -5.0, -2.0]
UNKNOWN = 3


def small() -> UnigramTokenizer:
    ids = {piece: place for place, piece in enumerate(PIECES) if place > UNKNOWN}
    return UnigramTokenizer(ids, SCORES, unknown_id=UNKNOWN)


def library() -> Tokenizer:
    """The usual library over the same vocabulary."""
    tokenizer = Tokenizer(models.Unigram(list(zip(PIECES, SCORES, strict=True)), unk_id=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")]
    )
    return tokenizer


@given(st.text("ab日本語①.x \n", max_size=60))
def test_text_is_cut_exactly_as_the_usual_library_cuts_it(text: str) -> None:
    expected = library().encode(normalise(text), add_special_tokens=False).ids
    assert small().ids(text) == expected


def test_the_cheapest_pieces_win() -> None:
    # ▁ab + ab costs 6 + 5, ▁ + abab costs 3 + 7.5
    assert small().ids("abab") == [PIECES.index("▁"), PIECES.index("abab")]
    # 日本 + 語 costs 7 + 8, 日 + 本語 costs 6 + 6.6
    assert small().ids("日本語")[1:] == [PIECES.index("日"), PIECES.index("本語")]


def test_neighbouring_unknown_characters_are_one_unknown_token() -> None:
    assert small().ids("axyz") == [PIECES.index("▁"), PIECES.index("a"), UNKNOWN]


def test_special_pieces_in_text_are_ordinary_characters(tmp_path: Path) -> None:
    save_vocabulary(tmp_path, PIECES, np.array(SCORES, dtype=np.float32))
    tokenizer = UnigramTokenizer.load(tmp_path, unknown_id=UNKNOWN)
    assert not {0, 1, 2} & set(tokenizer.ids("<s> </s> <pad> a"))


def test_spans_point_into_the_original_text() -> None:
    text = "ab  ①日本."
    spans = small().spans(text).tolist()
    assert [text[start:end] for start, end in spans] == ["ab", "", "①", "日本", "."]


def test_a_start_mark_that_is_a_token_of_its_own_has_an_empty_span() -> None:
    assert small().spans("日本")[0].tolist() == [0, 0]


@given(st.text(max_size=80))
def test_spans_ascend_and_match_the_ids_one_to_one(text: str) -> None:
    tokenizer = small()
    spans = tokenizer.spans(text)
    assert len(spans) == len(tokenizer.ids(text))
    assert (np.diff(spans, axis=0) >= 0).all()
    assert (spans[:, 0] <= spans[:, 1]).all()
    assert spans.max(initial=0) <= len(text)


def test_a_saved_vocabulary_opens_as_it_was(tmp_path: Path) -> None:
    save_vocabulary(tmp_path, PIECES, np.array(SCORES, dtype=np.float32))
    tokenizer = UnigramTokenizer.load(tmp_path, unknown_id=UNKNOWN)
    assert tokenizer.ids("ab 日本語 1.") == small().ids("ab 日本語 1.")


def test_a_vocabulary_whose_files_disagree_is_refused(tmp_path: Path) -> None:
    save_vocabulary(tmp_path, PIECES, np.array(SCORES[:-1], dtype=np.float32))
    with pytest.raises(ValueError, match="16 pieces"):
        UnigramTokenizer.load(tmp_path, unknown_id=UNKNOWN)


def test_the_longest_piece_is_known_by_its_first_two_characters() -> None:
    assert longest_by_start(["to", "tok", "token", "a"]) == {"to": 5}


@given(st.text("ab日本語①.x \n", max_size=60), st.integers(0, 12))
def test_a_limit_gives_the_first_tokens_of_the_whole(text: str, limit: int) -> None:
    # A word is cut far behind the limit, where the cut may change the last piece but none of the first.
    assert small().ids(text, limit=limit) == small().ids(text)[:limit]


class Counting(UnigramTokenizer):
    """Counts the characters that it is given to cut."""

    seen = 0

    def _cut(self, word: str) -> Cut:
        self.seen += len(word)
        return super()._cut(word)


def test_a_huge_text_costs_no_more_than_its_first_tokens() -> None:
    ids = {piece: place for place, piece in enumerate(PIECES) if place > UNKNOWN}
    tokenizer = Counting(ids, SCORES, unknown_id=UNKNOWN)
    assert len(tokenizer.ids("日本語" * 100_000 + " ab" * 100_000, limit=5)) == 5
    assert tokenizer.seen < 100
