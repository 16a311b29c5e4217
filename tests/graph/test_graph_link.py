from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hybridrag.graph.link import (
    LinkDictionary,
    among,
    find_links,
    is_generic,
    may_name,
    outermost,
    plain_title,
    probe_terms,
    title_aliases,
)
from hybridrag.graph.linker import TitleLinker
from hybridrag.types.extraction import Link

ALPHABET = list("ab XYe.,'- \n12、。「」・ーァアンコピュタ漢字東京の氏ﾊﾟＡ&")
TEXTS = st.text(alphabet=st.sampled_from(ALPHABET), max_size=40)
TITLES = st.text(alphabet=st.sampled_from(ALPHABET), min_size=1, max_size=8)


def found(text: str, *titles: str, cased: bool = True) -> list[str]:
    dictionary = LinkDictionary(alias for title in titles for alias, _ in title_aliases(title))
    return [text[link.start : link.end] for link in find_links(text, dictionary, cased=cased)]


@given(
    text=st.text(alphabet=st.sampled_from(list("abAB1_ é–’.&ﾊＡ漢")), max_size=30),
    word=st.text("ab1 ", min_size=1).map(lambda text: " ".join(text.split())),
)
def test_an_alias_that_is_not_worth_looking_for_is_nowhere(text: str, word: str) -> None:
    """The quick look and the close one must agree, or a link would hang on whether its title came first."""
    assert may_name(text, word) or find_links(text, LinkDictionary([word])) == []


def test_an_alias_at_the_end_of_a_text_is_found_once_beside_a_longer_one() -> None:
    # The longer one was cut at the end of the text, and what was left of it counted as the shorter one once more.
    assert len(find_links("京X", LinkDictionary(["京x", "京x、1"]))) == 1


@given(text=TEXTS, titles=st.lists(TITLES, max_size=6))
def test_many_aliases_are_found_as_each_of_them_alone(text: str, titles: list[str]) -> None:
    aliases = sorted({alias for title in titles for alias, _ in title_aliases(title)})
    worth = among(text, aliases)
    assert find_links(text, LinkDictionary(worth)) == find_links(text, LinkDictionary(aliases))
    assert TitleLinker().find(text, aliases) == [
        link for link in find_links(text, LinkDictionary(aliases)) if may_name(text, link.alias_key)
    ]


def test_of_many_aliases_those_are_left_out_that_the_text_has_not_all_words_of() -> None:
    assert among("a meeting at Point Nemo", ["captain nemo", "nemo", "point nemo"]) == ["nemo", "point nemo"]
    assert among("東京タワーの高さ", ["東京タワ", "京都タワ", "tokyo"]) == ["東京タワ"]


def test_a_word_in_small_letters_is_not_worth_looking_for() -> None:
    assert not may_name("the point is – pointless", "point")
    assert may_name("a meeting at Point Nemo", "point")
    assert may_name("la pointé", "point")
    assert not may_name("the point of Nemo", "point nemo")
    assert may_name("at Point ‘Nemo’", "point nemo")
    assert may_name("war & peace", "war and peace")
    assert may_name("ネモ点", "point nemo"), "what is not plain English is looked at closely"


@pytest.mark.parametrize(
    ("title", "aliases"),
    [
        ("God of War (film)", [("god of war film", 1.0), ("god of war", 0.9)]),
        ("Lambert, Margrave of Tuscany", [("lambert margrave of tuscany", 1.0), ("lambert", 0.6)]),
        ("亜人（漫画）", [("亜人、漫画", 1.0), ("亜人", 0.9)]),
        ("Killer: Dead or Alive", [("killer dead or alive", 1.0), ("killer", 0.6)]),
        ("第2章 鎌倉幕府", [("鎌倉幕府", 1.0)]),
        ("quarterly_sales.pdf", [("quarterly_sales pdf", 1.0), ("quarterly sales", 0.9)]),
        ("サーバー", [("サーバ", 1.0)]),
        ("You and Me", [("you and me", 1.0)]),
    ],
)
def test_a_title_is_known_by_its_shorter_forms_too_at_less_weight(title: str, aliases: list[tuple[str, float]]) -> None:
    assert title_aliases(title) == aliases


@pytest.mark.parametrize(
    "title",
    [
        "README.md",
        "README",
        "Introduction",
        "1. Introduction",
        "Notes",
        "notes (2)",
        "42",
        "本1",
        "2023-05-01",
        "Chapter 3",
        "Me",
        "How to use",
        "第1章 はじめに",
        "概要",
        "2023年5月",
        "参考文献",
        "",
        "   ",
        "A",
        "表",
    ],
)
def test_a_generic_title_is_no_name(title: str) -> None:
    assert title_aliases(title) == []


def test_generic_is_judged_by_the_whole_name() -> None:
    assert is_generic("the final report")
    assert not is_generic("the warren report")


def test_a_title_loses_its_brackets() -> None:
    assert plain_title("God of War (film)") == "God of War"
    assert plain_title("亜人【完全版】") == "亜人"


def test_a_name_is_found_at_its_place() -> None:
    text = "A queen by marriage to Lothair II."
    assert find_links(text, LinkDictionary(["lothair ii", "marriage"])) == [Link("lothair ii", 23, 33)]


def test_a_one_word_title_is_named_by_a_capital_unless_someone_asks_in_small_letters() -> None:
    assert found("he felt bugsy about it", "Bugsy") == []
    assert found("He saw Bugsy.", "Bugsy") == ["Bugsy"]
    assert found("who directed bugsy?", "Bugsy", cased=False) == ["bugsy"]


def test_a_title_of_everyday_words_is_named_only_where_it_is_written_like_a_name() -> None:
    assert found("it was between you and me", "You and Me") == []
    assert found('the song "You and Me"', "You and Me") == ["You and Me"]


def test_a_term_is_found_in_small_letters() -> None:
    assert found("We use machine learning here.", "Machine learning") == ["machine learning"]


def test_punctuation_and_possessives_do_not_hide_a_name() -> None:
    assert found("He moved to Paris, Texas.", "Paris Texas") == ["Paris, Texas"]
    assert found("Guy's widow", "Guy") == ["Guy"]
    assert found("Mumford and Sons played", "Mumford & Sons") == ["Mumford and Sons"]


def test_accents_do_not_hide_a_name() -> None:
    assert found("She met Bjork.", "Björk") == ["Bjork"]


@pytest.mark.parametrize(
    ("text", "title", "expected"),
    [
        ("鳥山明氏の作品", "鳥山明", ["鳥山明"]),
        ("東京で会う", "東京", ["東京"]),
        ("東京都で会う", "東京", []),
        ("岡山藩主の子", "岡山藩", ["岡山藩"]),
        ("スーパーマンの話", "スーパー", []),
        ("昔々あまちゃんは海へ", "あまちゃん", ["あまちゃん"]),
        ("そのときの話", "とき", []),
        ("「とき」に乗る", "とき", ["とき"]),
        ("7ORDERの曲", "7ORDER", ["7ORDER"]),
        ("ｺﾝﾋﾟｭｰﾀｰを買う", "コンピュータ", ["ｺﾝﾋﾟｭｰﾀｰ"]),
        ("ジョン スミスは", "ジョン・スミス", ["ジョン スミス"]),
        ("ジョンリーは", "ジョン・リー", ["ジョンリー"]),
        (
            "映画ワイルド・スピードX3 TOKYO DRIFTは",
            "ワイルド・スピードX3 TOKYO DRIFT",
            ["ワイルド・スピードX3 TOKYO DRIFT"],
        ),
        ("東京、大阪", "東京大阪", []),
        ("彼女、お借りしますを読む", "彼女、お借りします", ["彼女、お借りします"]),
    ],
)
def test_a_japanese_title_is_found_inside_running_text(text: str, title: str, expected: list[str]) -> None:
    dictionary = LinkDictionary([title_aliases(title)[0][0]])
    assert [text[it.start : it.end] for it in find_links(text, dictionary)] == expected


def test_nested_names_are_all_found_and_the_outermost_can_be_asked_for() -> None:
    text = "The Bank of Japan said"
    links = find_links(text, LinkDictionary(["bank of japan", "japan"]))
    assert [it.alias_key for it in links] == ["bank of japan", "japan"]
    assert [it.alias_key for it in outermost(links)] == ["bank of japan"]


def test_a_dictionary_forgets_what_is_removed() -> None:
    dictionary = LinkDictionary(["god of war", "東京大学"])
    assert len(dictionary) == 2
    dictionary.remove("god of war")
    dictionary.remove("never there")
    dictionary.add("東京大学")
    dictionary.add("")
    assert "god of war" not in dictionary
    assert len(dictionary) == 1
    assert find_links("God of War", dictionary) == []


def test_probe_terms_are_words_and_pairs_of_characters() -> None:
    assert probe_terms("Dr.スランプ") == {"dr", "スラ", "ラン", "ンプ"}
    assert probe_terms("god of war") == {"god", "of", "war"}


@given(TEXTS, st.lists(TITLES, max_size=5), st.lists(TITLES, max_size=5))
def test_each_alias_is_found_on_its_own(text: str, first: list[str], second: list[str]) -> None:
    # An update adds and removes aliases one by one; that is exact only if no alias hides another.
    keys = [[key for title in titles for key, _ in title_aliases(title)] for titles in (first, second)]
    apart = {link for part in keys for link in find_links(text, LinkDictionary(part))}
    assert set(find_links(text, LinkDictionary(keys[0] + keys[1]))) == apart


@given(TEXTS, TITLES)
def test_a_text_that_names_an_alias_is_filed_under_its_probe_terms(text: str, title: str) -> None:
    for key, _ in title_aliases(title):
        if find_links(text, LinkDictionary([key]), cased=False):
            assert probe_terms(key) <= probe_terms(text)


@given(TITLES, TEXTS, TEXTS)
def test_a_title_between_line_ends_is_always_found(title: str, before: str, after: str) -> None:
    aliases = title_aliases(title)
    assume(aliases and aliases[0][1] == 1.0 and not set(title) & set("ーﾟ"))
    text = f"{before}。\n{title}\n。{after}"
    assert find_links(text, LinkDictionary([aliases[0][0]]), cased=False)


@given(TEXTS, st.lists(TITLES, max_size=6))
def test_a_dictionary_after_removals_is_as_one_never_filled(text: str, titles: list[str]) -> None:
    keys = sorted({key for title in titles for key, _ in title_aliases(title)})
    dictionary = LinkDictionary(keys)
    for key in keys[1:]:
        dictionary.remove(key)
    assert find_links(text, dictionary) == find_links(text, LinkDictionary(keys[:1]))
