"""The one base of every public type: frozen, camelCase in JSON, strict about unknown fields."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, WithJsonSchema
from pydantic.alias_generators import to_camel

Float32Array = NDArray[np.float32]


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


def _to_vector(value: Any) -> Float32Array:
    """A read-only float32 array of one dimension from any sequence of numbers.

    [0.1, 0.2] -> array([0.1, 0.2], dtype=float32)
    """
    if isinstance(value, str | bytes):
        msg = "must be a list of numbers"
        raise ValueError(msg)  # noqa: TRY004 (pydantic turns ValueError into a validation error)
    try:
        vector = np.array(value, dtype=np.float32)
    except (TypeError, ValueError, OverflowError) as cause:
        msg = "must be a list of numbers"
        raise ValueError(msg) from cause
    if vector.ndim != 1 or vector.size == 0:
        msg = "must be a non-empty list of numbers"
        raise ValueError(msg)
    if not np.isfinite(vector).all():
        msg = "must hold finite numbers only"
        raise ValueError(msg)
    vector.flags.writeable = False
    return vector


Vector = Annotated[
    np.ndarray[Any, np.dtype[np.float32]],
    BeforeValidator(_to_vector),
    PlainSerializer(lambda vector: vector.tolist(), return_type=list[float]),
    WithJsonSchema({"type": "array", "items": {"type": "number"}, "minItems": 1}),
]
"""An embedding: float32 in Python, a list of numbers in JSON."""
