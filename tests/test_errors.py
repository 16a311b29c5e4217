"""Errors: one tree, as drawn; data, one sentence and the next step; whole across processes."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NoReturn

import pytest

from hybridrag import errors
from hybridrag.errors import (
    DeadlineExceeded,
    DocumentError,
    DocumentTooLarge,
    InvalidInput,
    InvalidQuery,
    InvalidSettings,
    ModelMismatch,
    ModelUnavailable,
    NotFound,
    ProviderError,
    RAGError,
    StageError,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreNotFound,
    StoreVersionMismatch,
    UnknownFormat,
    UnreadableDocument,
)

INDEX = Path("docs.hybridrag")

# Every error once, with the data that it carries and the end of its sentence (None: no next step is promised).
EXAMPLES: list[tuple[RAGError, dict[str, object], str | None]] = [
    (RAGError("Nothing works.", hint="Try again."), {"message": "Nothing works.", "hint": "Try again."}, "Try again."),
    (InvalidInput("The limit is 0.", hint="Give 1 to 100."), {"message": "The limit is 0."}, "Give 1 to 100."),
    (InvalidQuery("The query is empty.", hint="Type a word."), {"hint": "Type a word."}, "Type a word."),
    (
        InvalidSettings(where="hybridrag.toml", key="store.kind", expected="must be one of a, b"),
        {"where": "hybridrag.toml", "key": "store.kind", "expected": "must be one of a, b"},
        "must be one of a, b.",
    ),
    (DocumentError("a.pdf", "is odd", hint="Skip it."), {"name": "a.pdf", "reason": "is odd"}, "Skip it."),
    (UnreadableDocument(Path("a.pdf"), "is encrypted"), {"name": "a.pdf", "reason": "is encrypted"}, None),
    (
        DocumentTooLarge("a.pdf", "has 3 GB", setting="documents.max_bytes"),
        {"name": "a.pdf", "reason": "has 3 GB", "setting": "documents.max_bytes"},
        "Raise `documents.max_bytes` in hybridrag.toml to accept it.",
    ),
    (UnknownFormat("a.xyz", "no reader takes .xyz"), {"name": "a.xyz", "reason": "no reader takes .xyz"}, None),
    (StoreError(INDEX, "The index is odd.", hint="Look."), {"path": INDEX}, "Look."),
    (StoreNotFound("docs.hybridrag"), {"path": INDEX}, "Run: hybridrag add FILES --index docs.hybridrag"),
    (
        StoreVersionMismatch(INDEX, found=2, expected=3),
        {"path": INDEX, "found": 2, "expected": 3},
        "Run: hybridrag repair --index docs.hybridrag",
    ),
    (
        StoreVersionMismatch(INDEX, found=4, expected=3),
        {"path": INDEX, "found": 4, "expected": 3},
        "Upgrade: pip install -U hybridrag",
    ),
    (
        StoreBusy(INDEX, waited_seconds=2.5),
        {"path": INDEX, "waited_seconds": 2.5},
        "Try again when it is done, or raise `store.busy_timeout_seconds`.",
    ),
    (
        StoreCorrupt(INDEX, "3 chunks without a file"),
        {"path": INDEX, "what": "3 chunks without a file"},
        "Run: hybridrag repair --index docs.hybridrag",
    ),
    (
        ModelMismatch(INDEX, found="e5", expected="bge"),
        {"path": INDEX, "found": "e5", "expected": "bge"},
        "Run: hybridrag reembed --index docs.hybridrag, or set `embedding.model` back.",
    ),
    (NotFound("file", "a.md"), {"kind": "file", "value": "a.md"}, None),
    (StageError("Grading failed.", hint="Switch it off."), {"message": "Grading failed."}, "Switch it off."),
    (
        ModelUnavailable("e5", "no weights are installed", hint="Run: hybridrag models"),
        {"model": "e5", "reason": "no weights are installed"},
        "Run: hybridrag models",
    ),
    (
        ProviderError("cohere", "answered 429", status=429, hint="Wait a minute."),
        {"provider": "cohere", "reason": "answered 429", "status": 429},
        "Wait a minute.",
    ),
    (DeadlineExceeded("graph", seconds=0.5), {"stage": "graph", "seconds": 0.5}, None),
]
EVERY_EXAMPLE = pytest.mark.parametrize(
    ("error", "data", "ending"), EXAMPLES, ids=[type(error).__name__ for error, _, _ in EXAMPLES]
)


def every_error() -> set[type[RAGError]]:
    return {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, RAGError)}


def drawn_parents() -> dict[str, str | None]:
    """Child -> parent, as the docstring's picture has it."""
    parents: dict[str, str | None] = {}
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if found := re.fullmatch(r"    ([│├└─ ]*)(\w+)(?:  +\S.*)?", line):
            depth = len(found[1]) // 4
            parents[found[2]] = above[depth - 1] if depth else None
            above = [*above[:depth], found[2]]
    return parents


def test_the_drawn_tree_is_the_real_one() -> None:
    real = {
        kind.__name__: next((base.__name__ for base in kind.__mro__[1:] if issubclass(base, RAGError)), None)
        for kind in every_error()
    }
    assert drawn_parents() == real


def test_every_branch_of_the_drawn_tree_says_what_it_is_for() -> None:
    for name in drawn_parents().keys() - {"RAGError"}:
        assert re.search(rf"{name} +\w", errors.__doc__ or "")


def test_every_error_has_an_example_here() -> None:
    assert {type(error) for error, _, _ in EXAMPLES} == every_error()


def test_every_error_has_its_own_code_and_docstring() -> None:
    codes = [kind.code for kind in every_error()]
    assert len(set(codes)) == len(codes)
    for kind in every_error():
        assert kind.code == re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower().replace("ragerror", "rag_error")
        assert "__doc__" in vars(kind)
        assert kind.__doc__


@EVERY_EXAMPLE
def test_an_error_carries_its_data(error: RAGError, data: dict[str, object], ending: str | None) -> None:
    assert {name: getattr(error, name) for name in data} == data
    assert ending is None or str(error).endswith(ending)


@EVERY_EXAMPLE
def test_a_message_is_one_line_that_ends_with_the_next_step(
    error: RAGError, data: dict[str, object], ending: str | None
) -> None:
    assert data
    text = str(error)
    assert text.splitlines() == [text]
    assert text == (error.message if error.hint is None else f"{error.message} {error.hint}")
    assert error.message.endswith(".")
    assert (ending is None) <= (error.hint is None)


@EVERY_EXAMPLE
def test_an_error_survives_pickling_and_copying(error: RAGError, data: dict[str, object], ending: str | None) -> None:
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):  # noqa: S301 (our own bytes)
        assert type(again) is type(error)
        assert (str(again), again.hint, again.code) == (str(error), error.hint, error.code)
        assert vars(again) == vars(error)
        assert {name: getattr(again, name) for name in data} == data
        assert ending is None or str(again).endswith(ending)


def fail() -> NoReturn:
    raise ModelMismatch(INDEX, found="e5", expected="bge")


def test_an_error_raised_in_another_process_arrives_whole() -> None:
    # `__init__` takes keywords only here; the default pickling calls it with the message, and the pool hangs.
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        pytest.raises(ModelMismatch, match="was embedded with e5") as refusal,
    ):
        pool.submit(fail).result(timeout=60)
    assert (refusal.value.path, refusal.value.found) == (INDEX, "e5")


def test_wrong_input_is_also_a_value_error_for_those_who_expect_one() -> None:
    assert issubclass(InvalidInput, ValueError)
    with pytest.raises(ValueError, match="empty"):
        raise InvalidQuery("The query is empty.")


def test_the_public_parts_of_the_module_are_its_errors_alone() -> None:
    own = {name for name, value in vars(errors).items() if inspect.getmodule(value) is errors and name[0] != "_"}
    assert own == {kind.__name__ for kind in every_error()}
