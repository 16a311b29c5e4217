"""What holds for every public model alike: JSON and back, both spellings, no unknown fields, no changes."""

from __future__ import annotations

import copy
import importlib
import json
import pickle
import pkgutil
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from pydantic.alias_generators import to_camel

import hybridrag.types
from hybridrag.types.base import Float32Array, Model
from hybridrag.types.queries import SearchQuery
from model_strategies import MODELS, SETTINGS, queries, vectors

EVERY_MODEL = pytest.mark.parametrize("kind", MODELS, ids=lambda kind: kind.__name__)


def public_models() -> set[type[Model]]:
    found = set()
    for module in pkgutil.iter_modules(hybridrag.types.__path__, "hybridrag.types."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, type) and issubclass(value, Model) and value is not Model:
                found.add(value)
    return found


def test_every_public_model_is_tested_here() -> None:
    assert public_models() == set(MODELS)


@EVERY_MODEL
@SETTINGS
@given(data=st.data())
def test_a_model_survives_json_unchanged(kind: type[Model], data: st.DataObject) -> None:
    model = data.draw(MODELS[kind])
    text = model.model_dump_json()
    again = kind.model_validate_json(text)
    assert again == model
    assert hash(again) == hash(model)
    assert again.model_dump_json() == text


@EVERY_MODEL
@SETTINGS
@given(data=st.data())
def test_a_model_survives_a_json_library_unchanged(kind: type[Model], data: st.DataObject) -> None:
    model = data.draw(MODELS[kind])
    parsed = json.loads(json.dumps(model.model_dump(mode="json")))
    assert kind.model_validate(parsed) == model


@EVERY_MODEL
@SETTINGS
@given(data=st.data())
def test_a_model_survives_pickling_and_copying_unchanged(kind: type[Model], data: st.DataObject) -> None:
    model = data.draw(MODELS[kind])
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):  # noqa: S301 (our own bytes)
        assert again == model
        assert hash(again) == hash(model)


@EVERY_MODEL
@SETTINGS
@given(data=st.data())
def test_json_is_camel_case_all_the_way_down(kind: type[Model], data: st.DataObject) -> None:
    model = data.draw(MODELS[kind])
    assert_camel_case(model, json.loads(model.model_dump_json()))


def assert_camel_case(value: Any, written: Any) -> None:
    if isinstance(value, Model):
        assert list(written) == [to_camel(name) for name in type(value).model_fields]
        for name in type(value).model_fields:
            assert_camel_case(getattr(value, name), written[to_camel(name)])
    elif isinstance(value, tuple):
        for inner, inner_written in zip(value, written, strict=True):
            assert_camel_case(inner, inner_written)


@EVERY_MODEL
@SETTINGS
@given(data=st.data())
def test_both_spellings_are_accepted_on_input(kind: type[Model], data: st.DataObject) -> None:
    model = data.draw(MODELS[kind])
    assert kind.model_validate(model.model_dump(by_alias=False)) == model
    assert kind.model_validate(model.model_dump(by_alias=True)) == model


@EVERY_MODEL
@SETTINGS
@given(data=st.data())
def test_an_unknown_field_is_refused_by_name(kind: type[Model], data: st.DataObject) -> None:
    model = data.draw(MODELS[kind])
    with pytest.raises(ValidationError) as refusal:
        kind.model_validate({**model.model_dump(), "limitt": 3})
    assert [error["loc"] for error in refusal.value.errors()] == [("limitt",)]
    assert "limitt" in str(refusal.value)


def test_an_unknown_field_deep_inside_is_refused_with_its_whole_path() -> None:
    with pytest.raises(ValidationError) as refusal:
        SearchQuery.model_validate({"text": "x", "options": {"weights": {"keyword": 1, "semantic": 0, "grph": 0}}})
    assert ("options", "weights", "grph") in [error["loc"] for error in refusal.value.errors()]


@EVERY_MODEL
@SETTINGS
@given(data=st.data())
def test_no_field_can_be_changed(kind: type[Model], data: st.DataObject) -> None:
    model = data.draw(MODELS[kind])
    for name in kind.model_fields:
        with pytest.raises(ValidationError, match="frozen"):
            setattr(model, name, None)
        with pytest.raises(ValidationError, match="frozen"):
            delattr(model, name)


@EVERY_MODEL
def test_a_model_has_a_json_schema_in_camel_case(kind: type[Model]) -> None:
    schema = kind.model_json_schema()
    # A type that holds itself is told among the definitions.
    schema = schema["$defs"][kind.__name__] if "$ref" in schema else schema
    assert set(schema["properties"]) == {to_camel(name) for name in kind.model_fields}
    assert schema["additionalProperties"] is False


@SETTINGS
@given(vector=vectors())
def test_an_embedding_is_the_same_float32_to_the_last_bit_after_json(vector: Float32Array) -> None:
    query = SearchQuery(text="x", embedding=vector)
    again = SearchQuery.model_validate_json(query.model_dump_json())
    assert again.embedding is not None
    assert again.embedding.dtype == np.float32
    assert again.embedding.tobytes() == vector.tobytes()


@SETTINGS
@given(query=queries, vector=vectors())
def test_queries_are_equal_exactly_when_all_their_parts_are(query: SearchQuery, vector: Float32Array) -> None:
    other = query.model_copy(update={"embedding": vector})
    same = query.embedding is not None and query.embedding.tobytes() == vector.tobytes()
    assert (query == other) is same
    assert query != query.text
    assert len({query, other}) == (1 if same else 2)


def test_an_embedding_cannot_be_written_to_however_the_query_came_about() -> None:
    query = SearchQuery(text="x", embedding=np.array([1.0, 2.0], dtype=np.float32))
    copies = [
        query,
        copy.deepcopy(query),
        query.model_copy(deep=True),
        pickle.loads(pickle.dumps(query)),  # noqa: S301 (our own bytes)
        SearchQuery.model_validate_json(query.model_dump_json()),
    ]
    for each in copies:
        assert each.embedding is not None
        with pytest.raises(ValueError, match="read-only"):
            each.embedding[0] = 5.0


def test_an_embedding_does_not_change_with_the_array_that_it_was_made_from() -> None:
    array = np.array([1.0, 2.0], dtype=np.float32)
    query = SearchQuery(text="x", embedding=array)
    array[0] = 9.0
    assert query.model_dump(mode="json")["embedding"] == [1.0, 2.0]


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("0.5, 0.5", "must be a list of numbers"),
        (["0.5"], "must be a list of numbers"),
        ([True, False], "must be a list of numbers"),
        ([None], "must be a list of numbers"),
        ([b"1"], "must be a list of numbers"),
        ({"0": 1.0}, "must be a list of numbers"),
        (0.5, "must be a list of numbers"),
        (np.array(["a"]), "must be a list of numbers"),
        ([[0.5]], "must be a list of numbers"),
        (np.ones((2, 2)), "must be a non-empty list of numbers"),
        ([], "must be a non-empty list of numbers"),
        ([float("nan")], "must hold finite numbers only"),
        ([float("inf")], "must hold finite numbers only"),
        ([1e300], "must hold finite numbers only"),
        ([10**400], "must hold finite numbers only"),
    ],
)
def test_what_is_no_vector_is_refused_in_words(value: object, complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        SearchQuery.model_validate({"text": "x", "embedding": value})


@pytest.mark.parametrize(
    "value", [[1, 2], (1.0, 2), np.array([1, 2]), np.array([1.0, 2.0]), [np.float32(1), np.int64(2)], [1, 2.0]]
)
def test_numbers_of_any_kind_become_float32(value: object) -> None:
    query = SearchQuery.model_validate({"text": "x", "embedding": value})
    assert query.embedding is not None
    assert query.embedding.dtype == np.float32
    assert query.embedding.tolist() == [1.0, 2.0]
