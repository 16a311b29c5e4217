"""What a caller sends becomes a query, or one sentence that names the field in camelCase."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridrag import DateRange, InvalidInput, InvalidQuery, SearchQuery, SearchStrategy, parse_query
from hybridrag.schema import check_json
from hybridrag.types.parse import parse_json


def refused(data: Any) -> str:
    with pytest.raises(InvalidQuery) as caught:
        parse_query(data)
    return str(caught.value)


def test_a_text_is_a_query_with_defaults() -> None:
    assert parse_query("  what is BM25? ") == SearchQuery(text="what is BM25?")


def test_a_query_stays_itself() -> None:
    query = SearchQuery(text="x")
    assert parse_query(query) is query


def test_camel_case_and_snake_case_say_the_same() -> None:
    camel = parse_query({"text": "x", "filters": {"minRelevance": 0.5}, "options": {"rerankEnabled": False}})
    snake = parse_query({"text": "x", "filters": {"min_relevance": 0.5}, "options": {"rerank_enabled": False}})
    assert camel == snake


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({}, "`text` is missing"),
        ([], "`SearchQuery` must be an object, found []"),
        ({"text": " "}, "`text`: the query is empty; give at least one character to search for"),
        ({"text": 5}, "`text` must be a valid string, found 5"),
        ({"text": "x", "type": "locl"}, "`type` must be 'local', 'global', 'relationship' or 'hybrid', found \"locl\""),
        ({"text": "x", "txt": "y"}, "`txt` is not a known field (did you mean `text`?)"),
        ({"text": "x", "zzzzzz": "y"}, "`zzzzzz` is not a known field."),
        ({"text": "x", "options": {"limt": 5}}, "`options.limt` is not a known field (did you mean `options.limit`?)"),
        (
            {"text": "x", "options": {"rerank_enable": True}},
            "`options.rerank_enable` is not a known field (did you mean `options.rerankEnabled`?)",
        ),
        ({"text": "x", "options": {"limit": "many"}}, '`options.limit` must be a valid integer, found "many"'),
        ({"text": "x", "options": {"include_metadata": None}}, "`options.includeMetadata` must be a valid boolean"),
        ({"text": "x", "options": {"weights": None}}, "`options.weights` must be an object, found null"),
        ({"text": "x", "options": 3}, "`options` must be an object, found 3"),
        ({"text": "x", "filters": {"fileIds": ["abc"]}}, "`filters.fileIds[0]`: FileId must be a UUID"),
        (
            {"text": "x", "filters": {"fileTypes": ["a"], "file_types": ["b"]}},
            "`filters.file_types` is given twice, as file_types and as fileTypes",
        ),
        ({"text": "x", "filters": {"dateRange": {"form": 1}}}, "`filters.dateRange.form` is not a known field"),
        ({"text": "x", "embedding": ["a"]}, "`embedding` must be a list of numbers"),
    ],
)
def test_a_wrong_field_is_named_by_its_path_with_what_was_expected(data: object, expected: str) -> None:
    assert expected in refused(data)


def test_a_list_with_a_wrong_item_is_one_problem() -> None:
    assert refused({"text": "x", "options": {"strategies": ["fuzzy"]}}).count("strategies") == 1


def test_several_problems_stand_in_one_sentence() -> None:
    message = refused({"text": "", "options": {"limit": 0, "offset": -1}})
    assert message.startswith("The query is not valid: `text`: ")
    assert message.count(";") >= 2
    assert message.endswith(".")


def test_many_problems_are_counted_instead_of_listed() -> None:
    message = refused({"text": "x", **{f"field{number}": 1 for number in range(30)}})
    assert message.endswith("and 25 more.")


def test_a_long_value_is_cut() -> None:
    assert len(refused({"text": "x", "type": "y" * 9999})) < 300


def test_a_value_that_json_cannot_hold_is_named_all_the_same() -> None:
    assert "found {1, 2}" in refused({"text": "x", "type": {1, 2}})


def test_json_becomes_the_type_that_was_asked_for() -> None:
    assert parse_json(DateRange, '{"from": "2024-01-01"}') == DateRange.model_validate({"start": "2024-01-01"})
    assert parse_json(SearchQuery, b'{"text": "x", "options": {"mode": "graph"}}').options.strategies == (
        SearchStrategy.GRAPH,
    )


def test_broken_json_names_the_place() -> None:
    with pytest.raises(InvalidQuery, match=r"the JSON is broken: .* at line 1 column"):
        parse_json(SearchQuery, '{"text": }')


def test_json_of_another_type_is_refused_with_its_name() -> None:
    with pytest.raises(InvalidInput, match="The DateRange is not valid: ") as caught:
        parse_json(DateRange, '{"start": 5.5e300}')
    assert not isinstance(caught.value, InvalidQuery)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
fields = st.sampled_from(["text", "type", "embedding", "filters", "options", "limit", "mode", "dateRange", "fileIds"])


@settings(deadline=None)  # a busy machine is no error
@given(st.dictionaries(fields, json_values | st.dictionaries(fields, json_values, max_size=3), max_size=4))
def test_whatever_is_sent_is_a_query_or_one_line_of_reason(data: dict[str, Any]) -> None:
    reason = ""
    try:
        parse_query(data)
    except InvalidQuery as error:
        reason = str(error)
    assert "\n" not in reason
    assert not reason or reason.startswith("The query is not valid: ")


@settings(deadline=None)  # a busy machine is no error
@given(st.binary(max_size=40))
def test_whatever_bytes_are_checked_the_answer_is_a_list_of_problems(text: bytes) -> None:
    assert all("\n" not in problem for problem in check_json(text))
