"""Highlight fragments: whole characters, the whole match, and offsets that point at it."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hybridrag.search.highlight import ELLIPSIS, best_stretch, highlight_fragment
from hybridrag.types.results import Highlight
from model_strategies import SETTINGS

FAMILY = "\N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL}"
THUMB = "\N{THUMBS UP SIGN}\N{EMOJI MODIFIER FITZPATRICK TYPE-5}"
FLAG = "\N{REGIONAL INDICATOR SYMBOL LETTER J}\N{REGIONAL INDICATOR SYMBOL LETTER P}"
HEART = "\u2764\ufe0f"
GA = "か\u3099"
HALF_GA = "ｶﾞ"
E_ACUTE = "e\u0301"
IDEOGRAPH_VARIANT = "葛\U000e0100"
ASTRAL_KANJI = "𠮷"
HANGUL = "\u1112\u1161\u11ab"
LINE_END = "\r\n"

CLUSTERS = [FAMILY, THUMB, FLAG, HEART, GA, HALF_GA, E_ACUTE, IDEOGRAPH_VARIANT, HANGUL, LINE_END]
"""Each is one character to a reader, and several to Python."""

# No full stop, so that an ellipsis is known when seen.
pieces = st.sampled_from([*CLUSTERS, ASTRAL_KANJI, "a", "b", " ", "日", "本", "。", "ー"])
anything = st.text(st.characters(codec="utf-8", exclude_characters="."), max_size=40)
documents = st.lists(pieces, max_size=60).map("".join) | anything
spans = st.lists(st.tuples(st.integers(-3, 130), st.integers(-3, 130)), max_size=4)


def marked(highlight: Highlight) -> list[str]:
    return [highlight.fragment[offset.start : offset.end] for offset in highlight.offsets]


def core_of(highlight: Highlight) -> tuple[int, int]:
    """Where the cut text lies within the fragment, without the ellipses."""
    start = len(ELLIPSIS) if highlight.fragment.startswith(ELLIPSIS) else 0
    end = len(highlight.fragment) - (len(ELLIPSIS) if highlight.fragment.endswith(ELLIPSIS) else 0)
    return start, end


def tears(text: str, index: int) -> bool:
    """Whether a cut there parts what a reader sees as one; on its own terms, not the product's."""
    if not 0 < index < len(text):
        return False
    before, after = text[index - 1], text[index]
    if before in "\r\n" or unicodedata.category(before) in ("Cc", "Zl", "Zp"):
        return before + after == LINE_END
    joined = unicodedata.category(after) in ("Mn", "Me") or after in "ﾞﾟ\u200d" or "\U0001f3fb" <= after <= "\U0001f3ff"
    return joined or (before == "\u200d" and after in "\N{MAN}\N{WOMAN}\N{GIRL}")


# Examples


def test_a_fragment_shows_the_match_in_its_context() -> None:
    highlight = highlight_fragment("The limit is 5.", [(4, 9)], context=4)
    assert highlight.fragment == "The limit is ..."
    assert marked(highlight) == ["limit"]
    assert highlight.field == "text"


def test_an_ellipsis_stands_where_text_was_left_out() -> None:
    text = "a" * 100 + " limit " + "b" * 100
    highlight = highlight_fragment(text, [(101, 106)], context=3, field="summary")
    assert highlight.fragment == "...aa limit bb..."
    assert marked(highlight) == ["limit"]
    assert highlight.field == "summary"


def test_every_match_within_the_fragment_is_marked_and_those_outside_are_not() -> None:
    highlight = highlight_fragment("ab ab ab" + " " * 100 + "ab", [(3, 5), (0, 2), (6, 8), (108, 110)], context=10)
    assert marked(highlight) == ["ab", "ab", "ab"]


def test_matches_that_touch_or_overlap_are_marked_as_one() -> None:
    assert marked(highlight_fragment("東京都庁の住所", [(0, 2), (2, 4), (1, 3)])) == ["東京都庁"]


def test_context_grows_to_the_other_side_where_one_side_has_none() -> None:
    highlight = highlight_fragment("x" + "a" * 300, [(0, 1)], context=100, max_length=60)
    assert highlight.fragment == "x" + "a" * 53 + "..."


def test_without_matches_it_is_the_start_of_the_text() -> None:
    assert highlight_fragment("abcdef", [], max_length=3) == Highlight(field="text", fragment="abc")
    assert highlight_fragment("", []) == Highlight(field="text", fragment="")
    assert highlight_fragment("", [(0, 3)]) == Highlight(field="text", fragment="")
    assert highlight_fragment("abc", [(2, 2), (9, 12), (2, 1)]) == Highlight(field="text", fragment="abc")


def test_a_match_longer_than_the_fragment_is_shown_whole() -> None:
    text = "before " + "m" * 500 + " after"
    highlight = highlight_fragment(text, [(7, 507)], max_length=200)
    assert highlight.fragment == "m" * 500
    assert marked(highlight) == ["m" * 500]


@pytest.mark.parametrize("length", range(190, 202))
def test_a_match_that_nearly_fills_the_fragment_gives_up_the_ellipses_and_not_the_bound(length: int) -> None:
    # Two ellipses were once added to a match of 198 characters, and made it 204.
    text = "before " + "m" * length + " after"
    highlight = highlight_fragment(text, [(7, 7 + length)], max_length=200)
    assert marked(highlight) == ["m" * length]
    assert len(highlight.fragment) <= max(200, length)


def test_a_long_run_of_touching_matches_does_not_make_a_long_fragment() -> None:
    # Every pair of a run of one letter matches; taken as one match, the fragment was as long as the run.
    highlight = highlight_fragment("a" * 10_000, [(at, at + 2) for at in range(9_999)])
    assert len(highlight.fragment) <= 200
    assert len(marked(highlight)) == 1


# Whole characters


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_cut_in_the_context_never_parts_a_character(cluster: str) -> None:
    text = cluster * 30 + "limit" + cluster * 30
    start = len(cluster) * 30
    for context in range(3 * len(cluster) + 1):
        highlight = highlight_fragment(text, [(start, start + 5)], context=context)
        first, last = core_of(highlight)
        left, right = highlight.fragment[first:last].split("limit")
        assert left == cluster * (context // len(cluster))
        assert right == cluster * (context // len(cluster))
        assert marked(highlight) == ["limit"]


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_cut_without_matches_never_parts_a_character(cluster: str) -> None:
    for length in range(3 * len(cluster) + 1):
        assert highlight_fragment(cluster * 9, [], max_length=length).fragment == cluster * (length // len(cluster))


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_match_of_part_of_a_character_shows_the_whole_and_marks_the_part(cluster: str) -> None:
    text = "x" * 80 + cluster + "y" * 80
    highlight = highlight_fragment(text, [(80, 81)], context=0)
    assert highlight.fragment == f"...{cluster}..."
    assert marked(highlight) == [cluster[0]]


# Any text, any matches


@SETTINGS
@given(text=documents, matches=spans, context=st.integers(-1, 30), length=st.integers(-1, 60))
@example(text="か\u3099" * 20, matches=[(1, 2)], context=3, length=10)
@example(text=FAMILY * 6, matches=[(7, 9)], context=5, length=8)
@example(text="\r\n" * 9, matches=[(4, 5)], context=1, length=9)
def test_a_fragment_contains_the_first_match_whole_with_right_offsets_and_whole_characters(
    text: str, matches: list[tuple[int, int]], context: int, length: int
) -> None:
    valid = sorted((max(0, start), min(len(text), end)) for start, end in matches)
    valid = [(start, end) for start, end in valid if start < end]
    highlight = highlight_fragment(text, matches, context=context, max_length=length)
    if not valid:
        assert highlight.offsets == ()
        assert text.startswith(highlight.fragment)
        assert len(highlight.fragment) <= max(0, length)
        assert not tears(text, len(highlight.fragment))
        return
    start, end = valid[0]
    shift = start - highlight.offsets[0].start
    # The first match, whole.
    assert highlight.fragment[start - shift : end - shift] == text[start:end]
    # The fragment is one stretch of the text, cut between characters.
    first, last = core_of(highlight)
    assert highlight.fragment[first:last] == text[first + shift : last + shift]
    assert not tears(text, first + shift)
    assert not tears(text, last + shift)
    # Every mark covers matches and nothing else, in order, apart from one another.
    covered = {position for match in valid for position in range(*match)}
    for offset in highlight.offsets:
        assert first <= offset.start < offset.end <= last
        assert set(range(offset.start + shift, offset.end + shift)) <= covered
    assert all(one.end < other.start for one, other in pairwise(highlight.offsets))
    # No longer than asked for, unless the match with its whole characters is.
    whole_start, whole_end = start, end
    while tears(text, whole_start):
        whole_start -= 1
    while tears(text, whole_end):
        whole_end += 1
    assert len(highlight.fragment) <= max(length, whole_end - whole_start + 8)


@SETTINGS
@given(
    before=st.lists(st.sampled_from(CLUSTERS), max_size=20),
    match=st.lists(st.sampled_from(CLUSTERS), min_size=1, max_size=20),
    after=st.lists(st.sampled_from(CLUSTERS), max_size=20),
    context=st.integers(0, 30),
    length=st.integers(0, 60),
)
def test_a_match_of_whole_characters_is_shown_between_whole_characters(
    before: list[str], match: list[str], after: list[str], context: int, length: int
) -> None:
    # Two flags side by side are four letters; in one run, a letter still belongs to its own flag.
    text = "".join([*before, *match, *after])
    start = len("".join(before))
    end = start + len("".join(match))
    highlight = highlight_fragment(text, [(start, end)], context=context, max_length=length)
    first, last = core_of(highlight)
    left, right = highlight.offsets[0].start - first, last - highlight.offsets[0].end
    assert left in {len("".join(before[number:])) for number in range(len(before) + 1)}
    assert right in {len("".join(after[:number])) for number in range(len(after) + 1)}
    assert left <= context
    assert right <= context
    assert len(highlight.fragment) <= max(length, end - start)


def test_the_fragment_lies_where_most_different_words_of_the_question_stand() -> None:
    text = "A limit is a limit. " + "Nothing else is said for a while here. " * 8 + "The rate limit of uploads is five."
    matches = [(at, at + len(word)) for word in ("limit", "rate", "uploads") for at in places(text, word)]
    found = highlight_fragment(text, matches, around=best_stretch(text, matches))
    assert "The rate limit of uploads" in found.fragment
    assert [found.fragment[it.start : it.end] for it in found.offsets] == ["rate", "limit", "uploads"]
    assert best_stretch(text, []) is None


def places(text: str, word: str) -> list[int]:
    return [at for at in range(len(text)) if text.startswith(word, at)]
