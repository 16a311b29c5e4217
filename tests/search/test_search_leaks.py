"""Nothing of a file that a filter excludes is in any kind of result: no text, name, count or highlight."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hybridrag.config import load_settings
from hybridrag.engine import Engine
from hybridrag.testing.embedders import HashEmbedder
from hybridrag.types.queries import SearchFilters
from hybridrag.types.results import SearchResult

OPEN = {
    "lighthouse.md": "# The Marten Lighthouse\n\nElvira Quist designed the Marten Lighthouse. It opened in 1874.\n"
    "Elvira Quist also drew the Halvar Bridge.\n",
    "bridge.md": "# The Halvar Bridge\n\nThe Halvar Bridge was finished in 1881. Olof Brandt paid for the bridge.\n",
    "fees.md": "# Harbour fees\n\nThe harbour fee for small boats is twelve crowns a day.\n",
    "灯台.md": "# 汐見崎灯台\n\n汐見崎灯台は三浦清蔵が設計した。1903年に完成した。\n",
}
# Every name and every sentence of these holds a word that is nowhere else.
SECRETS = ("Zarquon", "Brontide", "Quillfeather", "zarquon", "brontide", "quillfeather", "黒曜丸", "影山")
HIDDEN = {
    "zarquon.html": "<h1>Zarquon Harbour</h1><p>Elvira Quist secretly sold the Marten Lighthouse to Brontide "
    "Quillfeather of Zarquon in 1899.</p><h2>Brontide fees</h2><p>The Zarquon harbour fee for small boats is ninety "
    "crowns a day. Brontide Quillfeather set the Zarquon fee.</p>",
    "quillfeather.html": "<h1>Brontide Quillfeather</h1><p>Brontide Quillfeather, also called the Quillfeather Baron, "
    "married Elvira Quist. Quillfeather owns the Halvar Bridge.</p>",
    "影山.html": "<h1>黒曜丸</h1><p>黒曜丸は影山が所有する船で、汐見崎灯台の沖で影山が沈めた。"
    "三浦清蔵は影山の友人である。</p>",
}
QUESTIONS = (
    "How much is the harbour fee for small boats?",
    "Elvira Quist",
    "Who is Elvira Quist?",
    "Who married the designer of the Marten Lighthouse?",
    "Which is older, the Marten Lighthouse or the Halvar Bridge?",
    "How is Elvira Quist related to Olof Brandt?",
    "What are the main themes of these documents?",
    "What happened in 1899?",
    "汐見崎灯台の設計者は誰ですか",
    "汐見崎灯台と三浦清蔵の関係は",
    "この資料の全体的なテーマは何ですか",
    "harbour OR fee",
    '"small boats"',
    "harb*",
)
OLD, NEW = datetime(2020, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    chosen = load_settings(env={}, overrides={"documents.isolate": False, "graph.extractor": "light"}).settings
    with Engine.open(tmp_path_factory.mktemp("i") / "i", settings=chosen, embedder=HashEmbedder()) as engine:
        for name, text in OPEN.items():
            engine.add(text=text, name=name, mime_type="text/markdown", modified=NEW)
        for name, text in HIDDEN.items():
            engine.add(text=text, name=name, mime_type="text/html", modified=OLD, workspace="secret")
        yield engine


def filters(engine: Engine) -> dict[str, dict[str, Any]]:
    visible = [file.id for file in engine.files() if Path(file.name).name in OPEN]
    return {
        "workspace": {"workspace_ids": ("default",)},
        "files": {"file_ids": tuple(visible)},
        "type": {"file_types": ("text/markdown",)},
        "types": {"file_types": ("text/markdown", "text/x-rst")},
        "date": {"date_range": {"start": "2023-01-01"}},
        "two at once": {"workspace_ids": ("default",), "date_range": {"start": "2023-01-01"}},
    }


def shown(result: SearchResult) -> str:
    """Everything that a caller gets."""
    return json.dumps(result.model_dump(mode="json", by_alias=True), ensure_ascii=False)


def secrets_in(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret in text]


def test_without_a_filter_the_secrets_are_found(engine: Engine) -> None:
    """Else the tests below could not fail."""
    found = " ".join(shown(engine.search(question, explain=True)) for question in QUESTIONS)
    assert set(secrets_in(found)) >= {"Zarquon", "Brontide", "Quillfeather", "黒曜丸", "影山"}
    themes = engine.search("What are the main themes of these documents?")
    assert {item.type.value for item in themes.results} >= {"chunk", "community"}
    assert "entity" in {item.type.value for item in engine.search("Who is Elvira Quist?").results}


@pytest.mark.parametrize("mode", ["hybridrag", "keyword", "semantic", "graph"])
@pytest.mark.parametrize("kind", ["workspace", "files", "type", "types", "date", "two at once"])
def test_no_kind_of_result_holds_anything_from_an_excluded_file(engine: Engine, kind: str, mode: str) -> None:
    chosen = filters(engine)[kind]
    for question in QUESTIONS:
        for crag in (False, True):
            result = engine.search(question, mode=mode, crag_enabled=crag, explain=True, limit=50, **chosen)
            assert secrets_in(shown(result)) == [], (question, crag)
            chunks = [item for item in result.results if item.type.value == "chunk"]
            assert {Path(item.sources.file_name or "").name for item in chunks} <= set(OPEN)
            assert len(chunks) <= len(OPEN)


@pytest.mark.parametrize("kind", ["workspace", "files", "type", "date"])
def test_answers_hold_nothing_from_an_excluded_file(engine: Engine, kind: str) -> None:
    for question in QUESTIONS:
        answer = engine.answer(question, **filters(engine)[kind])
        assert secrets_in(answer.model_dump_json()) == [], question


def test_a_name_that_only_excluded_files_know_is_not_known(engine: Engine) -> None:
    chosen = filters(engine)["workspace"]
    for name in ("Brontide Quillfeather", "Who is Brontide Quillfeather?", "黒曜丸とは何ですか"):
        result = engine.search(name, explain=True, **chosen)
        assert all(item.type.value == "chunk" for item in result.results)
        texts = " ".join(item.model_dump_json() for item in result.results)
        assert secrets_in(texts) == []
        assert result.trace is not None
        graph = next(step for step in result.trace.steps if step.step.value == "graph")
        assert graph.details["named"] == []


def test_an_answer_kept_for_one_workspace_is_never_given_to_another(engine: Engine) -> None:
    question = "How much is the harbour fee for small boats?"
    everything = engine.search(question)
    assert "Zarquon" in shown(everything)
    assert secrets_in(shown(engine.search(question, workspace_ids=("default",)))) == []
    only = engine.search(question, workspace_ids=("secret",))
    assert {item.sources.workspace for item in only.results} <= {"secret"}
    assert "Zarquon" in shown(engine.search(question))


@pytest.mark.parametrize("kind", ["workspace", "files", "type", "date"])
def test_the_graph_shows_nothing_from_an_excluded_file(engine: Engine, kind: str) -> None:
    graph = engine.graph.under(SearchFilters.model_validate(filters(engine)[kind]))
    seen = [
        *(item.model_dump_json() for item in graph.communities(limit=100)),
        *(item.model_dump_json() for item in graph.neighbours("Elvira Quist", limit=100)),
        *(item.model_dump_json() for item in graph.find("Quill", limit=100)),
        graph.export("json"),
        graph.export("csv"),
        graph.export("graphml"),
    ]
    assert secrets_in(" ".join(seen)) == []
