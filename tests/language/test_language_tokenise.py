from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridrag.language import japanese, latin, units
from hybridrag.language.japanese import MAX_SEGMENT
from hybridrag.language.tokenise import (
    Token,
    analyser_fingerprint,
    index_terms,
    phrase_terms,
    prefix_form,
    query_terms,
    tokenise,
)
from hybridrag.language.units import MAX_TERM
from hybridrag.types.terms import QueryTerm

WORDS = [
    "getUserName", "state-of-the-art", "don't", "C++", ".NET", "1,000.5", "a@b.c", "http://x.y/z", "U.S.A.",
    "2024-03-15", "国際標準化機構", "東京都庁", "横浜市立", "Tシャツ", "3千円", "2024年3月15日", "令和元年度",
    "の", "です", "ｶﾞｯｺｳ", "㍿", "①", "サーーバ", "渡邊", "人工智能", "서울에서", "สวัสดี", "Привет",
    "مَرْحَبًا", "हिन्दी", "👍🏽", "🇯🇵", "🇯", " ", "\n", "\t", "。", "-", "'", ".", "_", "/", "\x00", "\ud800",
    "\u200b", "\u202e", "\u0301", "\u3099", "゛", "ー", "か", "é", "x",
]  # fmt: skip
texts = st.one_of(
    st.lists(st.sampled_from(WORDS), max_size=25).map("".join),
    st.text(alphabet=st.characters(), max_size=60),
)


def by_position(text: str) -> list[list[str]]:
    positions: list[list[str]] = []
    for token in tokenise(text):
        if token.position == len(positions):
            positions.append([])
        positions[token.position].append(token.term)
    return positions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Running the API", [["run", "running"], ["the"], ["api"]]),
        ("state-of-the-art", [["state", "state-of-the-art"], ["of"], ["the"], ["art"]]),
        ("getUserName", [["get", "getusername", "getusernam"], ["user"], ["name"]]),
        ("HTTPServer2", [["http", "httpserver", "httpserver2"], ["server"], ["2"]]),
        ("max_tokens", [["max", "max_tokens"], ["token", "tokens"]]),
        ("v2.3.1", [["v", "v2", "v2.3.1"], ["2"], ["3"], ["1"]]),
        ("1,000.5", [["1000", "1000.5"], ["5"]]),
        ("U.S.A. e-mail", [["usa"], ["e", "e-mail", "email"], ["mail"]]),
        ("C++ C# .NET", [["c++"], ["c#"], ["net", ".net"]]),
        ("dog's don't O'Neil", [["dog"], ["don't"], ["o", "o'neil", "oneil"], ["neil"]]),
        ("d41d8cd98f00b204", [["d41d8cd98f00b204"]]),
        ("JavaScript iOS mRNA GHz McDonald", [["javascript"], ["io", "ios"], ["mrna"], ["ghz"], ["mcdonald"]]),
        ("国際標準化機構の規格", [["国際", "国際標準化機構"], ["標準", "標準化"], ["化"], ["機構"], ["規格"]]),
        ("東京都庁", [["東京", "東京都", "東京都庁"], ["都庁"]]),
        ("引越しする", [["引っ越し", "引越し"], ["為る"]]),
        ("ご利用", [["利用"]]),
        ("アブラカダブラー", [["アブラカダブラ", "アブラカダブラー"]]),
        ("Tシャツ", [["t", "tシャツ"], ["シャツ"]]),
        ("2024年3月15日", [["2024", "2024-03-15"], ["年"], ["3"], ["月"], ["15"], ["日"]]),
        ("2024/99/99", [["2024", "2024/99/99"], ["99"], ["99"]]),
        ("서울에서", [["서울", "서울에서"], ["울에"], ["에서"]]),
        ("집", [["집"]]),
        ("สวัส", [["สวั", "สวัส"], ["วัส"]]),
        ("👍🏽🇯🇵", [["👍"], ["🇯🇵"]]),
        ("の", [["の"]]),
        ("", []),
        ("。、 \n", []),
    ],
)
def test_text_gives_these_terms_at_these_positions(text: str, expected: list[list[str]]) -> None:
    assert by_position(text) == expected


def test_offsets_point_into_the_original_text() -> None:
    text = "ﾃﾞｰﾀﾍﾞｰｽ㍿"
    assert tokenise(text)[0] == Token("データベース", 0, 8, 0)
    assert {text[token.start : token.end] for token in tokenise(text)[1:]} == {"㍿"}
    assert tokenise("see getUserName\tnow")[1:3] == [Token("get", 4, 7, 1), Token("getusername", 4, 15, 1)]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_word_broken_by_the_end_of_a_wrapped_line_is_one_word(line_end: str) -> None:
    text = f"この文書は情報システムの設計に関する国際的な標{line_end}準化機構の規格である。"
    standards = [token for token in tokenise(text) if token.term == "標準化"]
    assert [text[token.start : token.end] for token in standards] == [f"標{line_end}準化"]


def test_a_drawn_out_word_is_the_word_whatever_was_read_before() -> None:
    assert by_position("コーーヒー") == [["コーヒー", "コーーヒー"]]
    assert by_position("コーヒーー") == [["コーヒー", "コーヒーー"]]
    assert by_position("コーヒー") == [["コーヒー"]]


def test_short_lines_are_not_joined() -> None:
    assert "東京都" not in {token.term for token in tokenise("東京\n都")}


@given(texts)
def test_tokens_stand_in_the_text_and_ascend_by_position(text: str) -> None:
    tokens = tokenise(text)
    position = -1
    for token in tokens:
        assert token.term
        assert "\x00" not in token.term
        assert len(token.term) <= MAX_TERM
        token.term.encode()
        assert 0 <= token.start < token.end <= len(text)
        assert token.position in (position, position + 1)
        position = token.position
    assert tokens == tokenise(text)


@given(texts)
def test_the_terms_without_offsets_are_the_same_terms(text: str) -> None:
    assert [list(here) for here in index_terms(text)] == by_position(text)


@given(texts)
def test_no_position_holds_a_term_twice(text: str) -> None:
    assert all(len(set(here)) == len(here) for here in index_terms(text))


@given(texts)
def test_what_a_text_asks_for_is_found_in_the_text_itself(text: str) -> None:
    indexed = {term for here in index_terms(text) for term in here}
    for asked in query_terms(text):
        assert asked.term in indexed or indexed.issuperset(asked.parts)
        assert indexed.issuperset(asked.words())
        assert 0 <= asked.start < asked.end <= len(text)
    assert bool(query_terms(text)) == bool(indexed)


@given(texts)
def test_a_phrase_is_the_first_term_of_every_position(text: str) -> None:
    assert phrase_terms(text) == [here[0] for here in index_terms(text)]


@given(texts, texts)
def test_paragraphs_give_the_same_terms_alone_and_together(left: str, right: str) -> None:
    # A text of particles alone is indexed by them, so the two sides need words of their own.
    left, right = f"東京 {left}", f"東京 {right}"
    assert index_terms(left + "\n\n" + right) == index_terms(left) + index_terms(right)


@given(st.text(alphabet=st.characters(), max_size=200))
def test_a_prefix_form_can_be_given_to_the_index(text: str) -> None:
    form = prefix_form(text)
    form.encode()
    assert len(form) <= MAX_TERM
    assert form == form.strip()
    assert "\x00" not in form


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("running", [QueryTerm("run", 0, 7)]),
        ("getUserName", [QueryTerm("getusername", 0, 11, ("get", "user", "name"))]),
        ("e-mail", [QueryTerm("e-mail", 0, 6, ("e", "mail"), ("email",))]),
        ("国際標準化機構", [QueryTerm("国際標準化機構", 0, 7, ("国際", "標準", "化", "機構"))]),
        ("第３四半期", [QueryTerm("第3四半期", 0, 5, ("第", "3", "四半", "期"))]),
        ("3月の会議", [QueryTerm("3月", 0, 2, ("3", "月")), QueryTerm("会議", 3, 5)]),
        ("2024年3月", [QueryTerm("2024年3月", 0, 7, ("2024", "年", "3", "月"))]),
        ("2024年3月15日", [QueryTerm("2024-03-15", 0, 10, ("2024", "年", "3", "月", "15", "日"))]),
        ("2024/3/15", [QueryTerm("2024-03-15", 0, 9, ("2024", "3", "15"), ("2024/3/15",))]),
        ("山田太郎", [QueryTerm("山田太郎", 0, 4, ("山田", "太郎"))]),
        ("Tシャツ", [QueryTerm("tシャツ", 0, 4, ("t", "シャツ"))]),
        ("令和元年", [QueryTerm("令和1年", 0, 4, ("令和", "元年"))]),
        ("渡辺さんの報告", [QueryTerm("渡辺", 0, 2), QueryTerm("報告", 5, 7)]),
        ("附属書A", [QueryTerm("附属書", 0, 3, ("付属", "書")), QueryTerm("a", 3, 4)]),
        (".NET", [QueryTerm(".net", 0, 4)]),
        ("", []),
    ],
)
def test_a_query_asks_for_wholes_and_knows_their_parts(query: str, expected: list[QueryTerm]) -> None:
    assert query_terms(query) == expected


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("What is the difference between Vue and React?", ["differ", "vue", "react"]),
        ("TypeScriptとReactの違いは何ですか", ["typescript", "react", "違い"]),
        ("the who", ["the", "who"]),
        ("to be or not to be", ["to", "be", "or", "not", "to", "be"]),
        ("IT budget", ["it", "budget"]),
        ("WHAT IS THE BUDGET", ["budget"]),
        ("it's over there e.g. now", ["now"]),
        ("こと", ["こと"]),
        ("それについて教えてください", ["其れ", "つく", "教える", "下さる"]),
    ],
)
def test_words_that_say_little_are_left_out_unless_nothing_else_remains(query: str, terms: list[str]) -> None:
    assert [asked.term for asked in query_terms(query)] == terms


def test_the_words_of_a_query_term_are_its_smallest_terms() -> None:
    assert query_terms("標準化")[0].words() == ("標準", "化")
    assert query_terms("規格")[0].words() == ("規格",)


@pytest.mark.parametrize(
    "text",
    [
        "あ" * 60_000,
        "国際標準化機構" * 8_000,
        "文です。" * 12_000,
        "ア-" * 30_000,
        "𠮟" * 30_000,
        "a" * 200_000,
        "a-" * 40_000,
        "a.b@" * 20_000,
        "1,000" * 40_000,
        "😀" * 50_000,
        "한" * 100_000,
        "ก" * 100_000,
        "ѐ" * 100_000,
        "\u0301" * 100_000,
        "Tシャツ" * 10_000,
        "東京市立" * 10_000,
        "CamelCase" * 20_000,
        "." * 200_000,
        "'" * 200_000,
    ],
    ids=lambda text: text[:7].encode("ascii", "backslashreplace").decode(),
)
def test_very_long_unbroken_text_is_taken_in(text: str) -> None:
    tokens = tokenise(text)
    assert all(0 <= token.start < token.end <= len(text) for token in tokens)


def test_a_long_text_is_cut_at_sentence_ends_so_that_words_stay_whole() -> None:
    sentence = "国際標準化機構の規格である。"
    count = 2 * MAX_SEGMENT // len(sentence)
    assert sum(token.term == "国際標準化機構" for token in tokenise(sentence * count)) == count


def test_threads_get_the_same_tokens() -> None:
    samples = [f"国際標準化機構の規格{number} running tests{number}" for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(tokenise, samples)) == [tokenise(sample) for sample in samples]


def test_a_full_cache_changes_no_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Running tests of 国際標準化機構 and 髙橋涼真 in getUserName"
    before = tokenise(text)
    monkeypatch.setattr(units, "CACHE_SIZE", 1)
    assert index_terms("quixotically unheard") == [("quixot", "quixotically"), ("unheard",)]
    assert len(latin._units) == 1
    assert tokenise(text) == before


def test_the_fingerprint_names_everything_that_decides_the_terms() -> None:
    fingerprint = analyser_fingerprint()
    assert fingerprint == analyser_fingerprint()
    assert all(name in fingerprint for name in ("hybridrag", "sudachidict-core", "snowball"))
    assert japanese.dictionary_version() in fingerprint


@settings(max_examples=30)
@given(st.lists(st.sampled_from(["標準化", "機構", "規格", "走った", "Python", "API"]), min_size=1, max_size=6))
def test_words_apart_are_found_whatever_their_order(words: list[str]) -> None:
    indexed = {term for here in index_terms("、".join(reversed(words))) for term in here}
    assert all(indexed.issuperset(asked.words()) for word in words for asked in query_terms(word))
