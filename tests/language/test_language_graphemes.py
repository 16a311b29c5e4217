from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrag.language.graphemes import MAX_CLUSTER, grapheme_spans, snap_to_grapheme

ALPHABET = "ab\r\n\u0301\u3099\ufe0f\u200d\u200bかﾊﾞ👨👩👧👍🏽🇯🇵🇺❤각가ᄀ\u1161\u11a8\U000e0100葛\ud800"
texts = st.text(alphabet=st.sampled_from(ALPHABET), max_size=60)


@pytest.mark.parametrize(
    "pieces",
    [
        ["e\u0301", "👨\u200d👩\u200d👧", "x"],
        ["🇯🇵", "🇺🇸", "🇫"],
        ["か\u3099", "く"],
        ["ﾊﾞ", "ﾋﾟ"],
        ["葛\U000e0100", "城"],
        ["\u1100\u1161\u11a8", "각", "가\u11a8"],
        ["a", "\r\n", "b"],
        ["👍🏽", "❤\ufe0f"],
        ["a\u200d", "b"],
        ["\u0301", "a"],
        ["हि", "न्", "दी"],
        ["\ud800", "a"],
    ],
)
def test_text_is_cut_into_what_a_reader_sees(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert [text[start:end] for start, end in grapheme_spans(text)] == pieces


def test_an_empty_text_has_no_graphemes() -> None:
    assert grapheme_spans("") == []


def test_snapping_goes_to_the_near_border_in_the_direction_asked() -> None:
    text = "か\u3099く"
    assert snap_to_grapheme(text, 1) == 0
    assert snap_to_grapheme(text, 1, 1) == 2
    assert snap_to_grapheme(text, 2) == 2
    assert snap_to_grapheme(text, 99) == 3
    assert snap_to_grapheme(text, -5) == 0


def test_piled_up_marks_do_not_make_text_uncuttable() -> None:
    text = "a" + "\u0301" * 1_000
    assert snap_to_grapheme(text, 500) == 500 - MAX_CLUSTER
    assert max(end - start for start, end in grapheme_spans(text)) <= MAX_CLUSTER


def test_flags_pair_up_within_an_endless_run() -> None:
    text = "🇯🇵" * 500
    assert [end - start for start, end in grapheme_spans(text)] == [2] * 500


@given(texts)
def test_spans_cover_the_text_without_gaps(text: str) -> None:
    spans = grapheme_spans(text)
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(start < end for start, end in spans)


@given(texts, st.integers(-3, 70), st.sampled_from([-1, 1]))
def test_a_snapped_index_is_a_border_and_stays_put(text: str, index: int, direction: int) -> None:
    snapped = snap_to_grapheme(text, index, -1 if direction < 0 else 1)
    borders = {0, *(end for _, end in grapheme_spans(text))}
    assert snapped in borders
    assert snap_to_grapheme(text, snapped, -1 if direction < 0 else 1) == snapped
