from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridrag.graph.extract_light import extract_light
from hybridrag.graph.mentions import Context
from hybridrag.graph.relations import relate
from hybridrag.language.sentences import sentences
from hybridrag.types.extraction import Fact, FactKind


def facts(text: str, *, title: str | None = None) -> list[Fact]:
    context = Context(title)
    found = extract_light(text, context=context)
    return list(relate(text, found.mentions, context=context))


def triples(text: str, *, title: str | None = None) -> list[tuple[str, str, str]]:
    return [(it.subject_key, it.predicate, it.object_key) for it in facts(text, title=title)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ann Lee founded Acme Corp.", ("ann lee", "founded", "acme corp")),
        ("Acme Corp was founded by Ann Lee.", ("ann lee", "founded", "acme corp")),
        ("Acme Corp was founded in 1990 by Ann Lee and Bob Kerr.", ("bob kerr", "founded", "acme corp")),
        ("Ann Lee and Bob Kerr founded Acme Corp.", ("ann lee", "founded", "acme corp")),
        ("Mary Holt left. Ann Lee succeeded her in 2020.", ("ann lee", "succeeded", "mary holt")),
        ("Acme Corp makes pumps. The managing director is Ann Lee.", ("ann lee", "director of", "acme corp")),
        ("The managing director of Acme Corp is Ann Lee.", ("ann lee", "director of", "acme corp")),
        ("Acme Corp was taken over by Borealis Ltd in 2021.", ("borealis ltd", "taken over", "acme corp")),
        ("The contract between Acme Corp and Borealis Ltd ends.", ("acme corp", "contract with", "borealis ltd")),
        ("Ann Lee starred in the film Toy House.", ("ann lee", "starred in", "toy house")),
        (
            "Ann Lee served as president of Oxford University.",
            ("ann lee", "served as president of", "oxford university"),
        ),
        ("Ann Lee is the director of Toy House.", ("ann lee", "director of", "toy house")),
        ("Ann Lee became part of Acme Corp.", ("ann lee", "part of", "acme corp")),
        ("Ann Lee, the director of Toy House, left.", ("ann lee", "director of", "toy house")),
        ("Ann Lee, the director of Toy House, married Bob Ray.", ("ann lee", "married", "bob ray")),
        ("It was opened by the director of Toy House, Ann Lee.", ("ann lee", "director of", "toy house")),
        ("We met Acme Corp's founder Ann Lee.", ("ann lee", "founder of", "acme corp")),
        ("Ann Lee (born 13 March 1963 in Durg) left.", ("ann lee", "born", "13 march 1963")),
        ("Ann Lee (born 13 March 1963 in Durg) left.", ("ann lee", "born in", "durg")),
        ("Ann Lee (1911 – 1971) was kind.", ("ann lee", "died", "1971")),
        ("Ann Lee founded Acme Corp in 1999.", ("acme corp", "founded in", "1999")),
        ("Ann Lee joined Acme Corp in 1999.", ("ann lee", "joined in", "1999")),
        ("Ann Lee directed Toy House and Big Tree.", ("ann lee", "directed", "big tree")),
        ("He was born in Durg, Bengal.", ("durg", "in", "bengal")),
        ("Ann Lee was an American singer.", ("ann lee", "is", "american")),
        ("They met at Oxford University in Oxford.", ("oxford university", "in", "oxford")),
        ("Toy House is a 1936 film directed by Ann Lee.", ("ann lee", "directed", "toy house")),
        ("Ann Lee married Bob Ray. His wife Eva Ray left.", ("eva ray", "wife of", "ann lee")),
    ],
)
def test_english_sentences_state_facts(text: str, expected: tuple[str, str, str]) -> None:
    assert expected in triples(text)


@pytest.mark.parametrize(
    "text",
    [
        "The Kingdom of Prussia formed when Frederick Barbarossa came.",
        "They like Africa, Asia and Europe.",
        "Ann Lee lives 27 miles west of the city of Duluth and other works of Homer Simpson.",
        "Nothing is said here.",
        "Who: Ann Lee | What: founded by hand | Where: Acme Corp",
        "",
    ],
)
def test_no_fact_is_read_where_no_clause_joins_two_names(text: str) -> None:
    assert [it for it in facts(text) if it.kind is not FactKind.VERB or it.predicate in {"formed", "works of"}] == []


def test_a_sentence_with_he_goes_on_about_the_title() -> None:
    (fact,) = facts("He joined Acme Corp.", title="Ram Das (singer)")
    assert (fact.subject_key, fact.predicate, fact.object_key) == ("ram das", "joined", "acme corp")
    assert fact.confidence < facts("Ram Das joined Acme Corp.")[0].confidence


def test_years_in_office_are_no_life() -> None:
    assert triples("Alumni include Louis Deacon (1991-1995), a player.") == []
    assert ("ann lee", "born", "1 may 1911") in triples("Ann Lee (1 May 1911 – 3 June 1971) was kind.")


def test_the_company_means_the_last_company() -> None:
    text = "Ann Lee founded Acme Corp. The company was acquired by Globex Inc."
    assert ("globex inc", "acquired", "acme corp") in triples(text)


def test_a_fact_carries_its_sentence() -> None:
    text = "Hello there. Ann Lee founded Acme. Good bye."
    (fact,) = facts(text)
    assert text[fact.start : fact.end] == "Ann Lee founded Acme."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("山田太郎は株式会社青空を設立した。", ("山田太郎", "設立", "株式会社青空")),
        ("株式会社青空は東京にある。社長は山田太郎である。", ("株式会社青空", "社長", "山田太郎")),
        ("株式会社青空は山田太郎と佐藤花子によって設立された。", ("佐藤花子", "設立", "株式会社青空")),
        ("山田太郎の後任として佐藤花子が就任した。", ("山田太郎", "後任", "佐藤花子")),
        ("北見地震により函館工場が停電した。", ("北見地震", "により停電", "函館工場")),
        ("山田太郎が株式会社青空を設立。", ("山田太郎", "設立", "株式会社青空")),
        ("株式会社青空は山田太郎によって設立された。", ("山田太郎", "設立", "株式会社青空")),
        ("株式会社青空は1999年に山田太郎により設立された。", ("株式会社青空", "に設立", "1999年")),
        ("株式会社青空は株式会社大空に買収された。", ("株式会社大空", "買収", "株式会社青空")),
        ("山田太郎は『となりの山』の監督である。", ("となりの山", "監督", "山田太郎")),
        ("『となりの山』の監督山田太郎が来た。", ("となりの山", "監督", "山田太郎")),
        ("青空商事社長の山田太郎が来た。", ("青空商事", "社長", "山田太郎")),
        ("日本の首都は東京である。", ("日本", "首都", "東京")),
        ("山田太郎は東京都で生まれた。", ("山田太郎", "で生まれる", "東京都")),
        ("山田太郎は北海道札幌市出身の歌手。", ("山田太郎", "出身", "北海道札幌市")),
        ("山田太郎が来た。東京大学に所属している。", ("山田太郎", "に所属", "東京大学")),
        ("鈴木一郎が機械学習を研究する。", ("鈴木一郎", "研究", "機械学習")),
        ("山田太郎さんは青空商事の会長を務めた。", ("青空商事", "会長", "山田太郎")),
        ("青空商事は山田太郎と鈴木花子が設立した日本の企業である。", ("山田太郎", "設立", "青空商事")),
        ("青空商事は山田太郎と鈴木花子が設立した日本の企業である。", ("鈴木花子", "設立", "青空商事")),
        ("『青い空』は山田太郎が監督した映画。", ("山田太郎", "監督", "青い空")),
    ],
)
def test_japanese_sentences_state_facts(text: str, expected: tuple[str, str, str]) -> None:
    assert expected in triples(text)


def test_what_one_made_is_not_whatever_is_named_behind_it() -> None:
    text = "郵政省が推進した地域情報化政策により高山市が指定を受けた。"
    assert ("郵政省", "推進", "高山市") not in triples(text)


def test_what_stands_in_brackets_belongs_to_no_verb_outside() -> None:
    text = "株式会社青空（以下「青空」という）は東京に本社を置く。"
    assert triples(text) == [("株式会社青空", "に置く", "東京")]


PIECES = st.sampled_from(
    [
        "Ann Lee ",
        "Acme Corp ",
        "founded ",
        "was ",
        "by ",
        "the ",
        "director of ",
        ", ",
        ". ",
        "in 1999",
        "'s ",
        "(",
        ") ",
        "山田太郎",
        "は",
        "が",
        "を",
        "の",
        "監督",
        "青空社",
        "設立",
        "された",
        "。",
        "によって",
        "東京",
        "で",
        "（",
        "）",
    ]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(PIECES, max_size=20).map("".join))
def test_facts_join_two_mentions_of_the_text_or_its_title(text: str) -> None:
    found = extract_light(text, context=Context("Ram Das"))
    keys = {it.key for it in found.mentions} | {"ram das"}
    for fact in relate(text, found.mentions, context=Context("Ram Das")):
        assert {fact.subject_key, fact.object_key} <= keys
        assert fact.subject_key != fact.object_key
        assert fact.predicate.strip()
        assert 0 < fact.confidence <= 1
        assert (fact.start, fact.end) in sentences(text)
