"""Every public type says what it is and what each field means, and leaves nothing untyped (NFR-001, NFR-005)."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from enum import Enum
from typing import Any, get_args

import numpy as np
import pytest
from pydantic import JsonValue
from pydantic.fields import FieldInfo

import hybridrag.types
from hybridrag.types.base import Model
from hybridrag.types.ids import Id
from model_strategies import MODELS

FIELDS = [(kind, name, field) for kind in MODELS for name, field in kind.model_fields.items()]
EVERY_FIELD = pytest.mark.parametrize(
    ("kind", "name", "field"), FIELDS, ids=[f"{kind.__name__}.{name}" for kind, name, _ in FIELDS]
)


def public_classes() -> list[type]:
    names = [module.name for module in pkgutil.iter_modules(hybridrag.types.__path__, "hybridrag.types.")]
    values = [value for name in names for value in vars(importlib.import_module(name)).values()]
    own = {value for value in values if inspect.isclass(value) and value.__module__ in names}
    return sorted(own, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", public_classes())
def test_every_public_class_has_a_docstring_of_its_own(kind: type) -> None:
    inherited = {base.__doc__ for base in kind.__mro__[1:]}
    assert kind.__doc__
    assert kind.__doc__ not in inherited
    assert kind.__doc__.split("\n")[0].endswith((".", ":"))


@EVERY_FIELD
def test_every_field_is_described(kind: type[Model], name: str, field: FieldInfo) -> None:
    assert field.description, f"{kind.__name__}.{name}"
    assert field.description.strip().endswith(".")


@EVERY_FIELD
def test_no_field_is_of_any_type(kind: type[Model], name: str, field: FieldInfo) -> None:
    assert Any not in parts_of(field.annotation), f"{kind.__name__}.{name}"


@EVERY_FIELD
def test_every_field_is_of_an_immutable_type_or_a_free_form_dict(
    kind: type[Model], name: str, field: FieldInfo
) -> None:
    mutable = {list, set, bytearray} & set(parts_of(field.annotation))
    assert not mutable, f"{kind.__name__}.{name}"
    if dict in parts_of(field.annotation):
        assert name in ("metadata", "details")


def parts_of(annotation: Any) -> list[Any]:
    """The type and everything that it is made of."""
    if annotation is JsonValue:
        return []
    arguments = [part for argument in get_args(annotation) for part in parts_of(argument)]
    return [getattr(annotation, "__origin__", annotation), *arguments]


def test_the_parts_of_a_type_are_all_looked_at() -> None:
    assert Any in parts_of(dict[str, tuple[Any, ...] | None])
    assert list in parts_of(tuple[list[int], ...] | None)
    assert parts_of(JsonValue) == []


def test_the_classes_looked_at_are_the_ones_that_exist() -> None:
    classes = public_classes()
    assert set(MODELS) <= set(classes)
    assert any(issubclass(kind, Enum) for kind in classes)
    assert any(issubclass(kind, Id) for kind in classes)
    assert np.ndarray not in classes
