"""Keyword search: operators exactly, plain questions first all then any, both languages, true offsets."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrag.language.tokenise import phrase_terms
from hybridrag.queries.operators import read_operators
from hybridrag.search.keyword import bm25_score, search_keywords
from hybridrag.search.match import find_matches
from hybridrag.stores.embedded.store import EmbeddedStore
from hybridrag.testing.stores import MODEL, make_file, put
from hybridrag.types.queries import SearchFilters
from hybridrag.types.terms import AllOf, AnyOf, Near, Phrase, Prefix, Term, TermQuery, Without

TEXTS = [
    "The upload limit is five megabytes per file.",
    "Uploading needs an account.",
    "The rate limit resets every minute.",
    "国際標準化機構は規格を定める。",
    "標準化の作業は機構の委員会が行う。",
    "TypeScript adds type safety to JavaScript.",
    "Call getUserName() from version v2.3.1 on.",
]


@pytest.fixture
def store(tmp_path: Path) -> EmbeddedStore:
    store = EmbeddedStore.open(tmp_path)
    store.bind_model(MODEL)
    put(store, make_file("a.txt"), TEXTS)
    return store


def texts(store: EmbeddedStore, query: str, limit: int = 10) -> list[str]:
    found = search_keywords(store, query, limit, operators=read_operators(query))
    chunks = store.chunks_by_key([key for key, _ in found.hits])
    return [chunks[key].text for key, _ in found.hits]


def parse(query: str) -> TermQuery | None:
    operators = read_operators(query)
    return operators.tree if operators else None


def test_a_natural_question_finds_the_chunk_that_answers_it(store: EmbeddedStore) -> None:
    assert texts(store, "What is the upload limit?")[0] == TEXTS[0]
    assert texts(store, "国際標準化機構とは何ですか")[0] == TEXTS[3]
    assert texts(store, "機構の標準化")[0] in {TEXTS[3], TEXTS[4]}
    assert texts(store, "user name")[0] == TEXTS[6]
    assert texts(store, "getUserName") == [TEXTS[6]]
    assert texts(store, "v2.3.1")[0] == TEXTS[6]


def test_all_words_count_first_and_any_of_them_when_too_few_have_all(store: EmbeddedStore) -> None:
    strict = search_keywords(store, "upload limit", 1)
    assert not strict.relaxed
    relaxed = search_keywords(store, "upload limit", 10)
    assert relaxed.relaxed
    assert len(relaxed.hits) == 3
    assert search_keywords(store, "limit", 10).relaxed is False


def test_operators_are_honoured_exactly(store: EmbeddedStore) -> None:
    assert set(texts(store, "upload OR minute")) == {TEXTS[0], TEXTS[1], TEXTS[2]}
    assert texts(store, "limit NOT upload") == [TEXTS[2]]
    assert texts(store, "upload AND limit") == [TEXTS[0]]
    assert texts(store, '"type safety"') == [TEXTS[5]]
    assert texts(store, '"safety type"') == []
    assert texts(store, "minut*") == [TEXTS[2]]
    assert texts(store, "NEAR(rate minute, 5)") == [TEXTS[2]]
    assert texts(store, "NEAR(rate minute, 1)") == []
    assert texts(store, "(upload OR rate) AND limit NOT minute") == [TEXTS[0]]
    assert texts(store, '"標準化の作業"') == [TEXTS[4]]


def test_what_not_excludes_is_no_word_of_the_query() -> None:
    def words(query: str) -> str:
        operators = read_operators(query)
        return operators.words if operators else ""

    assert words("Otter NOT Malmö") == "Otter"
    assert words("函館工場 NOT 停電") == "函館工場"
    assert words('(tax OR "rate limit") NOT (draft OR old) final') == 'tax "rate limit" final'
    assert words("NEAR(rate minute, 5) limit*") == "rate minute limit"


@pytest.mark.parametrize(
    "malformed",
    [
        '"open phrase limit',
        "limit OR",
        "AND limit",
        "NOT limit",
        "(limit",
        "limit)",
        "NEAR(limit",
        "limit OR OR rate",
        "()",
        '""',
    ],
)
def test_malformed_operators_are_words(store: EmbeddedStore, malformed: str) -> None:
    assert parse(malformed) is None
    if "limit" in malformed:
        assert any("limit" in text for text in texts(store, malformed))


def test_operators_nest_and_bind_as_documented() -> None:
    a, b, c = Term("alpha"), Term("beta"), Term("gamma")
    assert parse("alpha OR beta AND gamma") == AnyOf((a, AllOf((b, c))))
    assert parse("alpha AND beta NOT gamma") == AllOf((a, Without(b, c)))
    assert parse("(alpha OR beta) gamma") == AllOf((AnyOf((a, b)), c))
    assert parse('"alpha" beta') == AllOf((a, b))
    assert parse("beta*") == Prefix("beta")
    assert parse("NEAR(alpha beta)") == Near((Phrase(("alpha",)), Phrase(("beta",))), 10)
    assert parse("alpha beta") is None
    assert parse("(" * 50 + "alpha OR beta" + ")" * 50) is None


def test_filters_bind_keyword_search(store: EmbeddedStore) -> None:
    put(store, make_file("b.txt", workspace="other"), ["The upload limit of another team."])
    only = SearchFilters(workspace_ids=("other",))
    found = search_keywords(store, "upload limit", 10, filters=only)
    assert [chunk.text for chunk in store.chunks_by_key([key for key, _ in found.hits]).values()] == [
        "The upload limit of another team."
    ]


def test_very_common_words_are_left_out_while_rarer_ones_remain(
    store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybridrag.search.keyword.SMALL_INDEX", 0)
    put(store, make_file("many.txt"), [f"everywhere number{n}" for n in range(60)])
    found = search_keywords(store, "everywhere limit nowhere", 100)
    assert found.relaxed
    assert found.dropped == ("everywher",)
    assert len(found.hits) == 2
    assert len(search_keywords(store, "everywhere nowhere", 100).hits) == 60


def test_scores_are_within_bounds_and_in_order(store: EmbeddedStore) -> None:
    scores = [score for _, score in search_keywords(store, "the upload rate limit", 10).hits]
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)
    assert bm25_score(0.0) == 0.5
    assert bm25_score(1e9) == 1.0


def test_matches_carry_true_offsets() -> None:
    text = "The RATE Limits, and the ｺﾝﾋﾟｭｰﾀの国際標準化機構."

    def marked(query: TermQuery) -> list[str]:
        return [text[start:end] for start, end in find_matches(query, text)]

    assert marked(Phrase(("rate", "limit"))) == ["RATE Limits"]
    assert marked(AllOf((Term("rate"), Prefix("lim")))) == ["RATE", "Limits"]
    assert marked(Term("標準化")) == ["標準化"]
    assert marked(Phrase(tuple(phrase_terms("コンピュータ")))) == ["ｺﾝﾋﾟｭｰﾀ"]
    assert marked(Without(Term("rate"), Term("limit"))) == ["RATE"]
    assert marked(Near((Phrase(("rate",)), Phrase(("limit",))))) == ["RATE", "Limits"]
    assert find_matches(None, text) == []
    assert find_matches(Phrase(()), text) == []


@given(st.text(max_size=200))
def test_no_text_breaks_the_parser(text: str) -> None:
    parse(text)


@given(st.text(alphabet=' "()*ANDORTE,5a検NOT', max_size=60))
def test_no_mixture_of_operators_breaks_a_search(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    store = _shared(tmp_path_factory)
    search_keywords(store, text, 3, operators=read_operators(text))


_STORES: list[EmbeddedStore] = []


def _shared(factory: pytest.TempPathFactory) -> EmbeddedStore:
    if not _STORES:
        store = EmbeddedStore.open(factory.mktemp("operators"))
        store.bind_model(MODEL)
        put(store, make_file("a.txt"), TEXTS)
        _STORES.append(store)
    return _STORES[0]
