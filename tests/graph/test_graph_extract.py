from __future__ import annotations

import threading
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridrag.graph.extract import LightExtractor, Passage
from hybridrag.graph.extract_light import extract_light
from hybridrag.graph.mentions import Context, Extraction, without_overlaps
from hybridrag.graph.names import name_key
from hybridrag.language.morphemes import MAX_TEXT, morphemes
from hybridrag.types.extraction import AliasKind, Mention, Source
from hybridrag.types.graph import EntityType

PERSON, ORGANISATION, PLACE = EntityType.PERSON, EntityType.ORGANISATION, EntityType.PLACE
WORK, EVENT, TIME = EntityType.WORK, EntityType.EVENT, EntityType.TIME
CONCEPT, PRODUCT, OTHER = EntityType.CONCEPT, EntityType.PRODUCT, EntityType.OTHER


def names(text: str, *, title: str | None = None, headings: tuple[str, ...] = ()) -> list[str]:
    return [it.name for it in extract_light(text, context=Context(title, headings)).mentions]


def types(text: str, *, title: str | None = None) -> dict[str, EntityType]:
    return {it.name: it.type for it in extract_light(text, context=Context(title)).mentions}


def aliases(text: str) -> list[tuple[str, str, AliasKind]]:
    return [(it.name_key, it.alias_key, it.kind) for it in extract_light(text).aliases]


# ---------------------------------------------------------------- English names


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Yesterday we met Ann Lee in Paris.", ["Ann Lee", "Paris"]),
        ("She studied at the University of the Arts.", ["University of the Arts"]),
        ("He met Ludwig van Beethoven there.", ["Ludwig van Beethoven"]),
        ("The crew of Apollo 11 landed.", ["Apollo 11"]),
        ("We work with Acme, Inc. and Globex Ltd. now.", ["Acme, Inc.", "Globex Ltd."]),
        ("They saw The Man in the Funny Suit there.", ["The Man in the Funny Suit"]),
        ("He joined the Ministry of Trade and Industry.", ["Ministry of Trade and Industry"]),
        ("It belongs to the Delaware and Hudson Railway.", ["Delaware", "Hudson Railway"]),
        ("It belongs to the Energy and Security Institute.", ["Energy and Security Institute"]),
        ("British Prime Minister Tony Blair spoke.", ["British", "Tony Blair"]),
        ("The U.S. government left.", ["U.S."]),
        ("Soviet Armenian Grandmaster Petrosian won.", ["Soviet", "Armenian", "Grandmaster Petrosian"]),
        ("He fixed the Oscar-nominated song of Acme's band.", ["Oscar", "Acme"]),
        ("Dr. Ann Lee and J. R. Smith agreed.", ["Ann Lee", "J. R. Smith"]),
        ('Wilfried "Willi" Schneider won.', ['Wilfried "Willi" Schneider']),
        ("He read about the People's Party.", ["People's Party"]),
        ("Song of Freedom is good.", ["Song of Freedom"]),
        ("He wore a T-shirt on TV.", []),
        ("NOTHING HERE IS A NAME AT ALL", []),
        ("", []),
    ],
)
def test_english_names_are_told_by_their_capitals(text: str, expected: list[str]) -> None:
    assert [it.name for it in extract_light(text, language="en").mentions] == expected


def test_a_word_that_only_opens_its_sentence_is_no_name() -> None:
    assert names("However, nothing happened. Critics praised it. Then they left.") == []


def test_a_word_that_the_text_also_writes_small_is_no_name() -> None:
    assert names("Gravel was laid, and the gravel held.") == []


def test_a_name_that_opens_a_sentence_is_known_from_elsewhere() -> None:
    assert names("Teutberga left. People called Teutberga a queen.") == ["Teutberga", "Teutberga"]
    assert names("Teutberga was a queen.") == ["Teutberga"]


def test_quoted_and_italic_titles_are_works() -> None:
    found = types('They sang "Worry Worry Worry" and read *The Old House*. He said "well, no".')
    assert found == {"Worry Worry Worry": WORK, "The Old House": WORK}


def test_code_terms_are_terms() -> None:
    text = "Call `open` or read_file() in main.py; see parseQuery, --dry-run, and https://example.org/Some_Page."
    found = extract_light(text).mentions
    assert [it.name for it in found] == ["open", "read_file()", "main.py", "parseQuery", "--dry-run"]
    assert {it.source for it in found} == {Source.CODE}
    assert {it.type for it in found} == {CONCEPT}


def test_fenced_code_is_passed_over() -> None:
    assert names("Run:\n```\nclass Paris: New_York()\n```\nin London today.") == ["London"]


def test_dates_are_times() -> None:
    text = "From 13 March 1963 to March 1965, in May, on 2020-05-01, in the 1990s and the 19th century, 1,999 times."
    expected = ["13 March 1963", "March 1965", "May", "2020-05-01", "the 1990s", "the 19th century"]
    assert [it.name for it in extract_light(text).mentions if it.type is TIME] == expected


def test_a_year_belongs_to_the_event_behind_it() -> None:
    assert types("He ran at the 2002 Winter Olympics in 2002.") == {"2002 Winter Olympics": EVENT, "2002": TIME}


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("He runs Acme Corp today.", "Acme Corp", ORGANISATION),
        ("She left Oxford University.", "Oxford University", ORGANISATION),
        ("He lives in Guri now.", "Guri", PLACE),
        ("They crossed the Yellow River.", "Yellow River", PLACE),
        ("He likes Japan.", "Japan", PLACE),
        ("a German racer", "German", PLACE),
        ("They fought the Hundred Years War.", "Hundred Years War", EVENT),
        ("We saw the film Toy House twice.", "Toy House", WORK),
        ("He starred in Cycle once.", "Cycle", WORK),
        ("President Lincoln spoke.", "Lincoln", PERSON),
        ("Zinga, a singer from Rome, left.", "Zinga", PERSON),
        ("Zinga (born 1950) left.", "Zinga", PERSON),
        ("Then Zinga said no.", "Zinga", PERSON),
        ("We use the Zinga framework here.", "Zinga", PRODUCT),
        ("Zinga is a software company.", "Zinga", ORGANISATION),
        ("The funds went to the RUSNANO then.", "RUSNANO", ORGANISATION),
        ("We met Ann Maria Lee.", "Ann Maria Lee", PERSON),
        ("Martin King, Jr. spoke.", "Martin King, Jr", PERSON),
        ("They like the Minnesota Vikings.", "Minnesota Vikings", ORGANISATION),
        ("King Edward ruled.", "King Edward", PERSON),
        ("They visited Mount Athos.", "Mount Athos", PLACE),
        ("He saw a village named Foo there.", "Foo", PLACE),
        ("It lies north of Rügen.", "Rügen", PLACE),
    ],
)
def test_the_type_follows_from_cues(text: str, name: str, expected: EntityType) -> None:
    found = {it.name.rstrip("."): it.type for it in extract_light(text, language="en").mentions}
    assert found[name.rstrip(".")] is expected


def test_names_of_one_list_are_of_one_kind() -> None:
    assert types("It covers Denmark, Skåne and Rügen.") == {"Denmark": PLACE, "Skåne": PLACE, "Rügen": PLACE}


def test_one_place_of_a_name_types_the_others() -> None:
    assert set(types("Zinga left. The singer Zinga said no.").values()) == {PERSON}


def test_a_family_name_stands_for_the_one_whole_name() -> None:
    found = extract_light("Ann Lee came. Then Lee left. Bob Ray and Tim Ray met Ray.").mentions
    assert [it.key for it in found] == ["ann lee", "ann lee", "bob ray", "tim ray", "ray"]


def test_a_family_name_stands_for_the_person_of_the_title() -> None:
    found = extract_light("Then Schneider won.", context=Context(title="Willi Schneider (skeleton racer)")).mentions
    assert [(it.name, it.key, it.type) for it in found] == [("Schneider", "willi schneider", PERSON)]


def test_the_title_and_headings_are_named_in_any_case() -> None:
    text = "We use machine learning and gradient descent."
    found = extract_light(text, context=Context(title="Machine learning", headings=("2. Gradient descent",))).mentions
    assert [(it.name, it.source) for it in found] == [
        ("machine learning", Source.TITLE),
        ("gradient descent", Source.TITLE),
    ]


# ---------------------------------------------------------------- aliases


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "We use Retrieval-Augmented Generation (RAG) here.",
            ("retrieval augmented generation", "rag", AliasKind.ACRONYM),
        ),
        (
            "We use RAG (Retrieval-Augmented Generation) here.",
            ("retrieval augmented generation", "rag", AliasKind.ACRONYM),
        ),
        ("It does natural language processing (NLP).", ("natural language processing", "nlp", AliasKind.ACRONYM)),
        ("ELAM, formerly known as LASM, is here.", ("elam", "lasm", AliasKind.ALSO_KNOWN_AS)),
        ("山田太郎（やまだ たろう、1950年 - ）は歌手。", ("山田太郎", "やまだたろう", AliasKind.READING)),
        ("ジョン・スミス（John Smith）は俳優。", ("ジョンスミス", "john smith", AliasKind.SCRIPT)),
        ("株式会社青空（以下「青空」という）は東京にある。", ("株式会社青空", "青空", AliasKind.ALSO_KNOWN_AS)),
        ("国際連合（英: United Nations、略称：国連）は組織。", ("国際連合", "united nations", AliasKind.SCRIPT)),
        ("国際連合（UN）は組織である。", ("国際連合", "un", AliasKind.ACRONYM)),
    ],
)
def test_a_text_that_gives_two_names_for_one_thing_gives_an_alias(
    text: str, expected: tuple[str, str, AliasKind]
) -> None:
    assert expected in aliases(text)


def test_brackets_that_hold_no_name_give_no_alias() -> None:
    assert aliases("Marketing (MT) is hard. He left (ABC).") == []
    assert aliases("山田太郎（1950年生まれ）は歌手。") == []
    assert aliases("サポート (n,vs) という語。") == []
    assert aliases("これは Reading (books) のこと。") == []
    assert aliases("東アジア共同体（中東欧諸国）に加わる。") == []
    assert aliases("エスペラント（ザメンホフ以降 1887）は言語。") == []


def test_what_is_called_so_is_not_what_stands_before_it() -> None:
    assert aliases("They met at a place in London called the Steelyard.") == []
    assert ("london", "londinium", AliasKind.ALSO_KNOWN_AS) in aliases("They saw London, also called Londinium.")


def test_both_names_of_an_alias_are_of_one_type() -> None:
    assert types("The Foo Bar Institute (FBI) left.") == {"Foo Bar Institute": ORGANISATION, "FBI": ORGANISATION}


def test_an_alias_says_where_it_stands() -> None:
    text = "We use Retrieval-Augmented Generation (RAG)."
    (record,) = extract_light(text).aliases
    assert text[record.start : record.end] == "Retrieval-Augmented Generation (RAG"


# ---------------------------------------------------------------- Japanese names


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("山田太郎さんは東京都千代田区に住む。", {"山田太郎": PERSON, "東京都千代田区": PLACE}),
        ("株式会社青空は工場を持つ。", {"株式会社青空": ORGANISATION}),
        ("ジョン・スミスが来た。", {"ジョン・スミス": PERSON}),
        ("Joel Andrycが就任した。", {"Joel Andryc": OTHER}),
        ("映画『となりの山』を見た。", {"となりの山": WORK}),
        ("俳優の高田浩二が出演した。", {"高田浩二": PERSON}),
        ("関ヶ原の戦いに敗れた。", {"関ヶ原の戦い": EVENT}),
        ("1936年ベルリンオリンピックに出場した。", {"1936年ベルリンオリンピック": EVENT}),
        ("国防省は発表した。", {"国防省": ORGANISATION}),
        ("ユーロコプター社が作る。", {"ユーロコプター社": ORGANISATION}),
        ("孝明天皇が住んだ。", {"孝明天皇": PERSON}),
        ("伊藤穣一が話した。", {"伊藤穣一": PERSON}),
        ("イタリア人が来た。", {"イタリア": PLACE}),
        ("キューバ国内で売れた。", {"キューバ": PLACE}),
        ("大阪大学で学んだ。", {"大阪大学": ORGANISATION}),
        ("元禄14年3月14日に起きた。", {"元禄14年3月14日": TIME}),
        ("有名な3Di社の製品。", {"3Di社": ORGANISATION}),
        ("ASローマに加入した。", {"ASローマ": ORGANISATION}),
        ("ボルチモア・レイブンズと契約した。", {"ボルチモア・レイブンズ": ORGANISATION}),
        ("車吉章は来た。", {"車吉章": PERSON}),
        ("ザルク子爵クィンティン・ホッグが来た。", {"ザルク": PERSON, "クィンティン・ホッグ": PERSON}),
        ("歌手マドンナ・ザルクが来た。", {"マドンナ・ザルク": PERSON}),
        ("第23回衆議院議員総選挙に出た。", {"第23回衆議院議員総選挙": EVENT}),
        ("室町時代に栄えた。", {"室町時代": TIME}),
        ("体重は78kgだった。", {}),
        ("事件・事故が起きた。", {}),
        ("同大学で学んだ。", {}),
        ("彼は走った。", {}),
    ],
)
def test_japanese_names_are_told_by_words_script_and_endings(text: str, expected: dict[str, EntityType]) -> None:
    found = {it.name: it.type for it in extract_light(text).mentions if it.type is not CONCEPT}
    assert found == expected


def test_japanese_compounds_without_a_name_are_terms() -> None:
    found = extract_light("機械学習と自然言語処理を学ぶ。").mentions
    assert [(it.name, it.type, it.source) for it in found] == [
        ("機械学習", CONCEPT, Source.NOUN),
        ("自然言語処理", CONCEPT, Source.NOUN),
    ]


def test_a_definition_types_what_it_defines() -> None:
    assert types("ゾルタックスは、日本のバンド。")["ゾルタックス"] is ORGANISATION
    assert types("ゾルタックス（1950年 - 2000年）が来た。")["ゾルタックス"] is PERSON


def test_a_quoted_sentence_is_no_name() -> None:
    assert "もう帰ります" not in names("彼は「もう帰ります」と言った。")


def test_a_japanese_family_name_stands_for_the_one_whole_name() -> None:
    found = extract_light("山田太郎が来た。山田は帰った。").mentions
    assert [it.key for it in found] == ["山田太郎", "山田太郎"]


def test_half_width_katakana_has_the_key_of_full_width() -> None:
    (mention,) = extract_light("ｼﾞｮﾝ･ｽﾐｽが来た。").mentions
    assert mention.key == "ジョンスミス"


# ---------------------------------------------------------------- what always holds

PIECES = st.sampled_from(
    [
        "Ann Lee",
        "the",
        "of",
        "Acme Corp.",
        "said",
        "(",
        ")",
        '"',
        "1999",
        ",",
        ". ",
        " ",
        "\n",
        "`x_y`",
        "RAG",
        "'s",
        "-",
        "山田太郎",
        "は",
        "の",
        "株式会社",
        "『",
        "』",
        "（",
        "）",
        "。",
        "東京",
        "ｶﾞ",
        "・",
        "ジョン",
        "1950年",
        "以下「",
        "」",
    ]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(PIECES, max_size=25).map("".join), st.sampled_from(["en", "ja", None]))
def test_mentions_stand_where_they_say_in_order_without_overlap(text: str, language: str | None) -> None:
    found = extract_light(text, language=language, context=Context(title="Ann Lee"))
    assert all(text[it.start : it.end] == it.name and it.name and it.key for it in found.mentions)
    assert all(0 < it.confidence <= 1 for it in found.mentions)
    assert all(left.end <= right.start for left, right in pairwise(found.mentions))
    assert all(0 <= it.start < it.end <= len(text) and it.name_key and it.alias_key for it in found.aliases)
    assert found == extract_light(text, language=language, context=Context(title="Ann Lee"))


def test_of_names_that_overlap_the_surest_stays() -> None:
    def at(start: int, end: int, confidence: float) -> Mention:
        return Mention("x" * (end - start), name_key("x"), OTHER, start, end, confidence, Source.NAME)

    assert without_overlaps([at(0, 5, 0.5), at(3, 9, 0.9), at(9, 12, 0.2), at(9, 15, 0.2)]) == [
        at(3, 9, 0.9),
        at(9, 15, 0.2),
    ]


def test_threads_read_at_the_same_time() -> None:
    text = "山田太郎は株式会社青空を設立した。" * 20
    results: list[Extraction] = []
    threads = [threading.Thread(target=lambda: results.append(extract_light(text))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [extract_light(text)] * 4


def test_a_long_text_is_read_in_pieces() -> None:
    text = "山田太郎は東京で働く。" * (MAX_TEXT // 10)
    words = morphemes(text)
    assert words[-1].end == len(text)
    assert all(text[word.start : word.end] == word.surface for word in words)


@pytest.mark.parametrize(
    "text", ["漢" * 3000, "ア・" * 2000, "Foo Bar (FB) " * 300, "1999-" * 1000, "「" * 2000, "A " * 2000]
)
def test_a_page_of_one_sign_is_read_like_any_other(text: str) -> None:
    # A run of ideographs without end once went deeper with every word.
    found = LightExtractor().extract([Passage(text)])[0]
    assert all(text[it.start : it.end] == it.name for it in found.mentions)


# ---------------------------------------------------------------- ordinary folders


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Part no.: QM-LN2 | Lead time (working days): 5 | Remark: ask Ann Lee", ["QM-LN2", "Ann Lee"]),
        ("Who | What | By\nWho: Ann Lee | What: call the bank", ["Ann Lee"]),
        ("| Name | Role |\n|---|---|\n| Ann Lee | driver |", ["Ann Lee"]),
        ("From: Ann Lee <ann@example.org>\nSubject: lunch", ["Ann Lee"]),
        ("We meet on Tuesday, and I've told Ann Lee.", ["Ann Lee"]),
        ("3. First aid\n\nThe box is empty.", []),
        ("**3 May.** Bought a lamp.", ["3 May"]),
        ("2 Aug Seahouses\n3 Aug Alnmouth", ["2 Aug", "Seahouses", "3 Aug", "Alnmouth"]),
        ("Day: 5 Aug\nClaire\nDay: 6 Aug", ["5 Aug", "6 Aug"]),
        ("Dear Philippa,\n\nthe lamp broke.", ["Philippa"]),
    ],
)
def test_columns_fields_days_and_numbered_headings_are_no_names(text: str, expected: list[str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("We replaced QM-LN2 and left.", "QM-LN2", CONCEPT),
        ("It showed E-117 again.", "E-117", CONCEPT),
        ("We wrote to Ann Lee <ann@example.org> about it.", "Ann Lee", PERSON),
        ("She asked Sato-san about it.", "Sato", PERSON),
        ("It reports to Bob Kerr.", "Bob Kerr", PERSON),
        ("T-500は動かない。", "T-500", CONCEPT),
        ("担当は大槻 隆です。", "大槻 隆", PERSON),
        ("納入先はつばくろ電機株式会社である。", "つばくろ電機株式会社", ORGANISATION),
    ],
)
def test_codes_addressees_and_companies_have_their_types(text: str, name: str, kind: EntityType) -> None:
    assert types(text)[name] is kind


@pytest.mark.parametrize(
    "text",
    [
        "クライアント（サーバー）を再起動する。",
        "オプション（LTE）を選ぶ。",
        "大槻（オンライン）が出席した。",
        "青空社（以下「乙」という）は支払う。",
    ],
)
def test_a_remark_in_brackets_equates_nothing(text: str) -> None:
    """Client and server, an option and what it is of, a person and how he took part were each made one thing."""
    assert aliases(text) == []


def test_a_word_that_is_set_off_is_no_name() -> None:
    assert names("写真を「砂」と「岩」に分けた。") == []
