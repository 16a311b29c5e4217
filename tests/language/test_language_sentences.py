from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrag.language.sentences import MAX_QUOTE, sentences


def split(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


@pytest.mark.parametrize(
    "expected",
    [
        ["Dr. Smith left.", "He was late."],
        ["He paid $3.50 at 5 p.m. in the U.S. Army base.", "It was cheap."],
        ["It grew in the U.S. economy.", "So did I.", "But why?"],
        ["We use lists, maps, etc. in code.", "They made Acme Inc.", "The firm grew."],
        ["See https://a.b/c.html?x=1.2 for more.", "Then stop."],
        ["Some cities, e.g. Paris, are big.", "Others, i.e. Rome, too."],
        ["J. K. Rowling wrote it.", "Vitamin C.", "The end."],
        ["He said no.", "Then No. 5 came, see Fig. 3."],
        ["Wait... what?", "Nothing."],
        ['"Stop!" he said.', '"No."', "She left."],
        ["It works (see p. 4.)", "Next one."],
        ["As shown.[12]", "Others disagree."],
        ["Use vue.js or Node.js today.", "Or not."],
    ],
)
def test_english_sentences_end_where_a_reader_stops(expected: list[str]) -> None:
    assert split(" ".join(expected)) == expected


@pytest.mark.parametrize(
    "expected",
    [
        ["「はい。」と言った。", "次の文。"],
        ["私は「今日は晴れ。明日は雨。」と聞いた。", "そうか。"],
        ["「一。」", "「二。」"],
        ["本当ですか？", "はい！"],
        ["すごい！と言った。", "なぜ？って聞いた。"],
        ["Yahoo!ニュースを見た。", "終わり。"],
        ["（注意。必読。）これは文です。", "次。"],
        ["１．５倍です．", "次です．"],
        ["値は3.5です.", "次の文です."],
        ["できた！？", "まだ。"],
        ["ﾊﾝｶｸ｡", "ﾂｷﾞ｡"],
    ],
)
def test_japanese_sentences_end_outside_of_quotations(expected: list[str]) -> None:
    assert split("".join(expected)) == expected


@pytest.mark.parametrize(
    "expected", [["هل أنت بخير؟", "نعم."], ["यह वाक्य है।", "दूसरा।"], ["ይህ ነው።", "ሌላ።"], ["这是一句话。", "第二句！"]]
)
def test_other_scripts_have_stops_of_their_own(expected: list[str]) -> None:
    assert split(" ".join(expected)) == expected


def test_a_line_end_within_a_wrapped_paragraph_is_no_border() -> None:
    assert split("The quick brown\nfox jumps over\nNew York.") == ["The quick brown\nfox jumps over\nNew York."]
    assert split("これは\n長い文です。\n次の文\nです。") == ["これは\n長い文です。", "次の文\nです。"]
    assert split("Ask Dr.\nSmith about it.") == ["Ask Dr.\nSmith about it."]


@pytest.mark.parametrize("gap", ["\n\n", "\r\n\r\n", "\n \t\n", "\x0c", "\u2029", "\n\u3000"])
def test_a_blank_line_or_paragraph_sign_is_a_border(gap: str) -> None:
    assert split(f"見出し{gap}本文") == ["見出し", "本文"]


@pytest.mark.parametrize(
    "item",
    [
        "・二つ",
        "- two",
        "2. two",
        "(2) two",
        "（２）二つ",
        "②二つ",
        "# Two",
        "第2条 二つ",
        "b) two",
        "■二つ",
        "| a | b |",
    ],
)
def test_a_list_item_begins_a_sentence(item: str) -> None:
    assert split(f"items\n{item}") == ["items", item]


def test_the_number_of_a_list_item_is_part_of_it() -> None:
    assert split("1. First thing. More.\n2. Second") == ["1. First thing.", "More.", "2. Second"]


def test_a_quotation_that_never_closes_or_is_very_long_is_cut_all_the_same() -> None:
    assert split("「一。二。三。") == ["「一。", "二。", "三。"]
    long = "「" + "長い文。" * MAX_QUOTE + "」"
    assert len(sentences(long)) == MAX_QUOTE
    assert split("「一。\n\n二。」三。") == ["「一。", "二。」三。"]


def test_a_text_without_words_has_no_sentences() -> None:
    assert sentences("") == sentences(" \n\t\u3000 ") == []


HOSTILE = [
    "a.",
    ". ",
    "「",
    "「。",
    "\n ",
    "...",
    "Dr. ",
    "。」",
    ".[1]",
    ".[",
    "x\r\n",
    ".'",
    "((",
    "あ。",
    "1. ",
    "U.S.A. ",
    "\n\n",
]


@pytest.mark.parametrize("shape", HOSTILE)
def test_hostile_shapes_of_a_megabyte_take_no_time_to_speak_of(shape: str) -> None:
    text = shape * (200_000 // len(shape))
    spans = sentences(text)
    assert all(start < end for start, end in spans)


def test_one_line_of_a_megabyte_is_taken_in_one_go() -> None:
    assert sentences("a" * 1_000_000) == [(0, 1_000_000)]
    assert sentences("." + " " * 1_000_000 + "X") == [(0, 1), (1_000_001, 1_000_002)]
    assert sentences(" " * 1_000_000) == []


@given(
    st.text(
        alphabet=st.sampled_from("aB1 .!?\n\r\t\u3000。！？「」『』（）()'\"…・-あ漢．\x0c\ud800\x00"), max_size=120
    )
)
def test_sentences_cover_every_visible_character_in_order(text: str) -> None:
    spans = sentences(text)
    covered = set[int]()
    end_before = 0
    for start, end in spans:
        assert end_before <= start < end
        assert not text[start].isspace()
        assert not text[end - 1].isspace()
        covered.update(range(start, end))
        end_before = end
    assert all(char.isspace() or at in covered for at, char in enumerate(text))


@given(st.text(max_size=60), st.text(max_size=60))
def test_paragraphs_are_cut_alike_alone_and_together(left: str, right: str) -> None:
    together = split(left + "\n\n" + right)
    assert together == split(left) + split(right)
