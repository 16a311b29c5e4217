"""JSON Schema of the public types: complete, camelCase, and of one mind with the types themselves."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import hybridrag
from hybridrag import InvalidInput, SearchQuery, json_schema, parse_query, schema_names
from hybridrag.schema import RETURNED, SENT
from hybridrag.types.base import Model


def satisfies(value: object, name: str) -> bool:
    return bool(jsonschema.Draft202012Validator(json_schema(name)).is_valid(value))


def test_every_model_of_the_types_has_a_schema() -> None:
    modules = (Path(hybridrag.__file__).parent / "types").glob("*.py")
    models = {
        name
        for module in modules
        for name, kind in vars(import_module(f"hybridrag.types.{module.stem}")).items()
        if isinstance(kind, type) and issubclass(kind, Model) and kind is not Model
    }
    assert models == set(schema_names())


def test_every_type_is_explained_and_every_field_camel_case() -> None:
    for name in schema_names():
        schema = json_schema(name)
        assert schema["description"]
        assert [field for field in schema["properties"] if "_" in field] == []


def test_what_is_sent_may_leave_out_what_has_a_default() -> None:
    assert json_schema("SearchQuery")["required"] == ["text"]


def test_what_is_returned_always_has_every_field() -> None:
    schema = json_schema("SearchResultItem")
    assert set(schema["required"]) == set(schema["properties"])


@pytest.mark.parametrize(
    "query",
    [
        {"text": "x"},
        {"text": "x", "options": {"mode": "hybridrag"}},
        {"text": "x", "filters": {"dateRange": {"from": "2024-01-01", "to": "2024-12-31T10:00:00Z"}}},
        {"text": "x", "filters": {"dateRange": None}, "embedding": [0.1, 2]},
    ],
)
def test_schema_and_type_accept_the_same_queries(query: dict[str, Any]) -> None:
    assert satisfies(query, "SearchQuery")
    assert isinstance(parse_query(query), SearchQuery)


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"text": ""},
        {"text": "x", "limit": 5},
        {"text": "x", "options": {"limit": 0}},
        {"text": "x", "options": {"mode": "fuzzy"}},
        {"text": "x", "options": {"strategies": []}},
        {"text": "x", "filters": {"minRelevance": 2}},
        {"text": "x", "embedding": []},
    ],
)
def test_schema_and_type_refuse_the_same_queries(query: dict[str, Any]) -> None:
    assert not satisfies(query, "SearchQuery")
    with pytest.raises(InvalidInput):
        parse_query(query)


def test_a_query_as_json_satisfies_its_own_schema() -> None:
    assert satisfies(json.loads(SearchQuery(text="検索").model_dump_json()), "SearchQuery")


def test_an_unknown_name_is_led_to_the_nearest_or_to_the_list() -> None:
    with pytest.raises(InvalidInput, match=r"There is no public type 'SearchQerry'\. Did you mean SearchQuery\?"):
        json_schema("SearchQerry")
    with pytest.raises(InvalidInput, match="hybridrag schema"):
        json_schema("zzz")


def test_no_type_is_both_sent_and_returned() -> None:
    assert set(SENT) & set(RETURNED) == set()
