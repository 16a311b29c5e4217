"""Any text gets a classification: nothing raises, and no text is slow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrag.language.normalise import fold
from hybridrag.queries.classify import classify
from hybridrag.queries.expand import expand
from hybridrag.queries.find_names import MAX_NAMES
from hybridrag.types.queries import QueryClassification, QueryType
from model_strategies import SETTINGS

ANY = st.text(st.characters(codec=None, exclude_categories=()), max_size=80)
PIECES = st.sampled_from(
    (
        *(
            "how does ",
            "the author of ",
            "which of ",
            " and ",
            " or ",
            " vs ",
            "N ",
            "'",
            '"',
            "「",
            "」",
            "と",
            "の",
            "は",
        ),
        *(
            "より",
            "違い",
            "東京",
            "『",
            "』",
            "、",
            "?",
            "\0",
            "\ud800",
            "\n",
            "A",
            "a_",
            "/",
            "@",
            "http://",
            "…",
            "全体の",
        ),
    )
)
HOSTILE = {
    "how does": "how does " * 111,
    "pairs": "AとB、" * 250,
    "particles": "のは" * 500,
    "quotes": "'" * 1000,
    "open brackets": "「" * 1000,
    "joined": "a-" * 500,
    "underscores": "a_" * 500,
    "paths": "/a" * 500,
    "emoji": "😀" * 500,
    "nul": "\0" * 1000,
    "lone surrogates": "\ud800" * 1000,
    "right to left": "\u202e" * 1000,
    "new lines": "\n" * 1000,
    "nested": "the author of " * 71,
    "clauses": "the person who " * 66,
    "names": "Aa of " * 166,
    "more than": "は東京より" * 200,
    "collections": "この資料" * 250,
    "sql": "'; DROP TABLE chunks; --",
    "fts": 'NEAR("a b" c, 5) AND NOT *',
    "regex": "(a+)+$" * 150,
    "ideographs": "漢" * 1000,
    "accents": "a" + "\u0301" * 999,
    "long": "どう" * 100_000,
}


def assert_sound(found: QueryClassification) -> None:
    assert 0 <= found.confidence <= 1
    assert len(found.extracted_entities) <= MAX_NAMES
    assert len({fold(name) for name in found.extracted_entities}) == len(found.extracted_entities)
    assert all(name.strip() == name != "" for name in found.extracted_entities)
    assert found.intent.endswith(".")
    assert (found.relation_hint is not None) == (found.type is QueryType.RELATIONSHIP)
    # What is returned can be sent: half a character cannot.
    assert found.model_dump_json()


@SETTINGS
@given(ANY)
def test_any_text_is_classified(text: str) -> None:
    assert_sound(classify(text))


@SETTINGS
@given(st.lists(PIECES, max_size=40).map("".join))
def test_any_mix_of_what_rules_look_for_is_classified(text: str) -> None:
    assert_sound(classify(text))


@SETTINGS
@given(ANY, st.lists(ANY, max_size=5))
def test_any_known_names_are_taken(text: str, names: list[str]) -> None:
    assert_sound(classify(text, known_names=lambda _: names))


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_classified(name: str) -> None:
    assert_sound(classify(HOSTILE[name]))


def test_half_a_character_is_shown_as_a_question_mark() -> None:
    assert classify("caf\ud800").original_query == "caf?"


@SETTINGS
@given(text=ANY, synonyms=st.dictionaries(ANY, st.lists(ANY, max_size=3), max_size=4))
def test_any_text_and_any_synonyms_expand_to_the_text_first(text: str, synonyms: dict[str, list[str]]) -> None:
    found = expand(text, synonyms, {})
    assert found[0].text == text
    assert all(expansion.weight < 1 for expansion in found[1:])
