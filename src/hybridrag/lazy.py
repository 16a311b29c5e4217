"""Load a public name when it is first used."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any


def load_name(name: str, names_by_module: Mapping[str, str], namespace: dict[str, Any]) -> Any:
    """The value of a public name, which is then kept in the namespace of its package.

    Raises:
        AttributeError: The package has no such name.
    """
    for module, names in names_by_module.items():
        if name in names.split():
            namespace[name] = getattr(import_module(f"hybridrag.{module}"), name)
            return namespace[name]
    msg = f"module {namespace['__name__']!r} has no attribute {name!r}"
    raise AttributeError(msg)
