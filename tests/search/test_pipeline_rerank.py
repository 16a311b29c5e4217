"""Reranking as a whole: scores keep the order, and what asks nothing is not read for an answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hybridrag.config import load_settings
from hybridrag.engine import Engine
from hybridrag.steps import Step
from hybridrag.testing.embedders import HashEmbedder
from hybridrag.types.results import SearchResult

DOCUMENTS = {
    "north.md": "# North quay\n\nThe harbour fee for small boats at the north quay is twelve crowns a day.\n",
    "south.md": "# South quay\n\nThe harbour fee for small boats at the south quay is nine crowns a day.\n",
    "east.md": "# East quay\n\nThe harbour fee for small boats at the east quay is ten crowns a day.\n",
    "ferry.md": "# Ferry\n\nThe ferry leaves the harbour at nine, and small boats must wait until it has passed.\n",
    "baker.md": "# Bakery\n\nThe bakery sells a loaf for three crowns a day before the market opens.\n",
    "quist.md": "# Elvira Quist\n\nElvira Quist designed the lighthouse of the harbour in 1874.\n",
}
QUESTION = "How much is the harbour fee for small boats?"


def open_engine(path: Path, **overrides: object) -> Engine:
    chosen = {"documents.isolate": False, "graph.extractor": "light", **overrides}
    engine = Engine.open(path, settings=load_settings(env={}, overrides=chosen).settings, embedder=HashEmbedder())
    if engine.status().files == 0:
        for name, text in DOCUMENTS.items():
            engine.add(text=text, name=name)
    return engine


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("i") / "i"
    open_engine(path).close()
    return path


@pytest.fixture(scope="module")
def engine(index: Path) -> Iterator[Engine]:
    with open_engine(index) as engine:
        yield engine


def reranked(result: SearchResult) -> dict[str, Any]:
    assert result.trace is not None
    entry = result.trace.of(Step.RERANK)
    assert entry is not None
    return dict(entry.details)


def models(result: SearchResult) -> list[str]:
    return [look["model"] for look in reranked(result)["looks"]]


def test_scores_stay_in_order_and_within_bounds(engine: Engine) -> None:
    for text in (QUESTION, "crowns a day", "Small boats wait for the ferry.", "the lighthouse of the harbour"):
        scores = [item.score for item in engine.search(text).results]
        assert scores
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in scores)


def test_a_question_is_read_for_its_answer_and_a_statement_is_not(engine: Engine) -> None:
    asked = engine.search(QUESTION, explain=True)
    stated = engine.search("The harbour fee for small boats is twelve crowns.", explain=True)
    assert models(asked)[0] == "late-interaction"
    assert len(models(asked)) == 2
    assert models(stated) == ["late-interaction"]
    assert "unread" not in reranked(asked)
    assert reranked(stated)["unread"] == "A statement asks for no answer."
