"""The one base of every public type: frozen, camelCase in JSON, strict about unknown fields."""

from __future__ import annotations

from typing import Annotated, Any, dataclass_transform

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, PlainValidator, PrivateAttr, WithJsonSchema
from pydantic.alias_generators import to_camel

Float32Array = NDArray[np.float32]


# Said again for type checkers: without pydantic's own mypy plugin they do not read `model_config`, and would let
# a caller assign to a field.
@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(Field, PrivateAttr))
class Model(BaseModel):
    """A frozen value; snake_case in Python, camelCase in JSON, both accepted on input.

    An unknown field is an error that names it, so that a misspelt option never passes silently.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        # A default is written once and read by everyone: a wrong one must fail where it stands.
        validate_default=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )

    def __hash__(self) -> int:
        """Equal values have equal hashes; free-form dicts take no part, because Python cannot hash them."""
        return hash((type(self), *(value for value in self.__dict__.values() if not isinstance(value, dict))))


def _to_vector(value: Any) -> Float32Array:
    """A read-only float32 array of one dimension from an array or a list of numbers.

    [0.1, 0.2] -> array([0.1, 0.2], dtype=float32)
    """
    if not _holds_numbers(value):
        msg = "must be a list of numbers"
        raise ValueError(msg)
    try:
        # A number beyond float32 becomes infinite here and is refused below, in words.
        with np.errstate(over="ignore"):
            vector = np.array(value, dtype=np.float32)
    except OverflowError as cause:
        msg = "must hold finite numbers only"
        raise ValueError(msg) from cause
    if vector.ndim != 1 or vector.size == 0:
        msg = "must be a non-empty list of numbers"
        raise ValueError(msg)
    if not np.isfinite(vector).all():
        msg = "must hold finite numbers only"
        raise ValueError(msg)
    vector.flags.writeable = False
    return vector


def _holds_numbers(value: Any) -> bool:
    """Whether these are numbers as JSON means it; numpy by itself would read "0.5", b"1" and True as such."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "iuf"
    if not isinstance(value, list | tuple):
        return False
    kinds = {type(number) for number in value}
    return bool not in kinds and all(issubclass(kind, int | float | np.integer | np.floating) for kind in kinds)


Vector = Annotated[
    np.ndarray[tuple[int, ...], np.dtype[np.float32]],
    PlainValidator(_to_vector),
    PlainSerializer(lambda vector: vector.tolist(), return_type=list[float]),
    WithJsonSchema({"type": "array", "items": {"type": "number"}, "minItems": 1}),
]
"""An embedding: float32 in Python, a list of numbers in JSON."""
