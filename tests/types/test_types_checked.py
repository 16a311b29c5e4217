"""What a type checker accepts and refuses: the small files of tests/typing, line by line."""

from __future__ import annotations

import pytest

from type_checker import FOLDER, WITH_PLUGIN, WITHOUT_PLUGIN, expected, found

FILES = sorted(path.name for path in FOLDER.glob("*.py"))
ACCEPTED = ["inferred_types.py", "right_ids.py"]


@pytest.mark.heavy
@pytest.mark.parametrize("config", [WITHOUT_PLUGIN, WITH_PLUGIN], ids=["mypy", "mypy with pydantic's plugin"])
@pytest.mark.parametrize("name", FILES)
def test_mypy_refuses_exactly_the_lines_that_are_marked(name: str, config: str) -> None:
    assert found(name, config) == expected(name)


def test_files_are_marked_as_what_they_are_for() -> None:
    assert [name for name in FILES if not expected(name)] == ACCEPTED
