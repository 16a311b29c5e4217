from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrag.models.read_json import read_json_object, without_thoughts

WANTED = {"entities": [{"name": "Ann"}], "relations": []}
TEXT = json.dumps(WANTED)


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"\ufeff  {TEXT}\n",
        f"```json\n{TEXT}\n```",
        f"```\n{TEXT}\n```",
        f"Here is the JSON:\n\n```json\n{TEXT}\n```\nLet me know!",
        f"Sure! {TEXT} Anything else?",
        f"<think>Maybe {{}} or [1]?</think>\n{TEXT}",
        f"Use {{name}} as a placeholder. {TEXT}",
        f'First {{"entities": []}}, then {TEXT}',
        TEXT.replace("]}", "],}"),
        json.dumps(WANTED, indent=4),
    ],
)
def test_the_object_is_found(text: str) -> None:
    assert read_json_object(text, required=["entities", "relations"]) == WANTED


def test_line_breaks_within_strings_and_nan_are_taken() -> None:
    assert read_json_object('{"a": "x\ny", "b": NaN}') == {"a": "x\ny", "b": None}


def test_of_several_objects_the_longest_counts() -> None:
    assert read_json_object('Not {"a": 1} but {"a": [1, 2, 3]}.') == {"a": [1, 2, 3]}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is not JSON"),
        ("I am sorry, I cannot do that.", "is not JSON"),
        ("null", "is not JSON"),
        ('[{"entities": [], "relations": []}]', "another shape"),
        ('"entities"', "another shape"),
        ('{"entities": []}', "another shape"),
        ("```json\n[1]\n```", "another shape"),
        ('{"entities": [{"name": "Ann"}, {"na', "no whole JSON object"),
        ('{"entities": [{"name": "A"}], "relations": [', "no whole JSON object"),
        ('Sure: {"entities": [], "relations": [{"a": {}}', "no whole JSON object"),
        ("{entities: [], relations: []}", "no whole JSON object"),
        ("{" * 100_000, "no whole JSON object"),
        ('{"a":' * 5_000, "no whole JSON object"),
        ('{"a": ' + "1" * 5_000 + "}", "no whole JSON object"),
    ],
)
def test_anything_else_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_json_object(text, required=["entities", "relations"])


def test_what_stands_inside_an_object_that_was_cut_off_is_not_the_answer() -> None:
    with pytest.raises(ValueError, match="no whole JSON object"):
        read_json_object('{"list": [{"a": 1}, {"a": 2}, {"a"')


def test_only_thoughts_at_the_beginning_are_left_out() -> None:
    assert without_thoughts("<thinking>x</thinking> Yes <think>no</think>") == "Yes <think>no</think>"
    assert without_thoughts("<think>never closed") == "<think>never closed"


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), _VALUES, max_size=4))
def test_any_object_is_read_as_it_was_written(value: dict[str, Any]) -> None:
    assert read_json_object(json.dumps(value)) == value


@given(st.text(alphabet='{}[]",:a1 \n\\`', max_size=80))
def test_any_text_gives_an_object_or_a_reason(text: str) -> None:
    with suppress(ValueError):
        assert isinstance(read_json_object(text), dict)
