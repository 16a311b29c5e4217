"""Each part of a search failing, hanging and lying, one at a time and together: the search answers and says so."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybridrag.config import load_settings
from hybridrag.engine import Engine
from hybridrag.errors import ModelUnavailable, ProviderError, StoreCorrupt
from hybridrag.graph.linker import TitleLinker
from hybridrag.protocols import Judgement, Passages, Question, Reranking
from hybridrag.result import Err, Ok, Result
from hybridrag.search.search import Searcher, SearchParts
from hybridrag.steps import Step, StepState
from hybridrag.testing.embedders import HashEmbedder
from hybridrag.testing.llms import ScriptedLlm
from hybridrag.types.parse import make_query
from hybridrag.types.results import Hit, SearchResult
from hybridrag.types.sources import WebPage

QUESTION = "How much is the harbour fee for small boats?"
DOCUMENTS = {
    "fees.md": "# Harbour fees\n\nThe harbour fee for small boats is twelve crowns a day.\n",
    "lighthouse.md": "# The Marten Lighthouse\n\nElvira Quist designed the Marten Lighthouse in 1874.\n",
    "quist.md": "# Elvira Quist\n\nElvira Quist grew up in Norrhamn.\n",
    "ferry.md": "# Ferry\n\nThe first ferry leaves at six in the morning.\n",
}
LATE = 0.3
"""Seconds that a part has here."""
MUCH_LATER = 20.0
"""Seconds that a hanging part hangs: far more than any search may take."""
ON_TIME = 12.0
"""No search may take so long, on however busy a machine, with every part hanging."""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    chosen = load_settings(env={}, overrides={"documents.isolate": False, "graph.extractor": "light"}).settings
    with Engine.open(tmp_path_factory.mktemp("i") / "i", settings=chosen, embedder=HashEmbedder()) as engine:
        for name, text in DOCUMENTS.items():
            engine.add(text=text, name=name)
        yield engine


class Instead:
    """Another object with some of its methods replaced: a fault at a protocol."""

    def __init__(self, real: object, **replaced: Any) -> None:
        self._real = real
        self._replaced = replaced

    def __getattr__(self, name: str) -> Any:
        return self._replaced[name] if name in self._replaced else getattr(self._real, name)


def fails(*_: object, **__: object) -> Any:
    raise StoreCorrupt(Path("index"), "a page is damaged")


def breaks(*_: object, **__: object) -> Any:
    msg = "a bug in somebody's part"
    raise ValueError(msg)


def hangs(*_: object, **__: object) -> Any:
    time.sleep(MUCH_LATER)


class Part:
    """A reranker, judge or web search that does what it is told."""

    name = "part"

    def __init__(self, act: Callable[..., Any]) -> None:
        self._act = act

    def rerank(self, question: Question, candidates: Sequence[Hit], *, timeout: float | None = None) -> Any:
        return self._act(question, candidates, timeout)

    judge = rerank

    def search(self, query: str, *, limit: int, timeout: float | None = None) -> Any:
        return self._act(query, limit, timeout)


def refuses(*_: object, **__: object) -> Result[Any]:
    return Err(ProviderError("service", "it is down"))


IMPATIENT = load_settings(
    env={},
    overrides={
        "search.deadline_seconds": LATE,
        "rerank.timeout_seconds": LATE,
        "verify.deadline_seconds": 2.0,
        "llm.timeout_seconds": LATE,
        "web.timeout_seconds": LATE,
    },
).settings


def run(engine: Engine, *, store: Any = None, embedder: Any = None, crag: bool = True, **parts: Any) -> SearchResult:
    chosen = SearchParts(embedder=lambda: embedder or HashEmbedder(), linker=TitleLinker(), **parts)
    searcher = Searcher(store or engine._store, chosen, IMPATIENT)
    began = time.monotonic()
    result = searcher.search(make_query(QUESTION, {"crag_enabled": crag}), explain=True)
    assert time.monotonic() - began < ON_TIME
    return result


def first(result: SearchResult) -> str:
    return result.results[0].sources.file_name or ""


def state(result: SearchResult, step: Step) -> tuple[StepState, str]:
    assert result.trace is not None
    entry = result.trace.of(step)
    assert entry is not None
    return entry.state, entry.reason or ""


# The three searches


@pytest.mark.parametrize("fault", [fails, breaks, hangs])
def test_a_keyword_search_with_a_fault_is_named_and_the_others_answer(engine: Engine, fault: Any) -> None:
    result = run(engine, store=Instead(engine._store, search_terms=fault), crag=False)
    assert result.strategies.keyword.error
    assert result.strategies.keyword.result_count == 0
    assert first(result) == "fees.md"
    assert all(item.relevance.keyword == 0 for item in result.results)


def test_keys_that_do_not_exist_are_no_results(engine: Engine) -> None:
    def lies(*_: object, **__: object) -> list[tuple[int, float]]:
        return [(987_654, 30.0), (1, 2.0)]

    result = run(engine, store=Instead(engine._store, search_terms=lies), crag=False)
    assert {item.sources.file_name for item in result.results} <= set(DOCUMENTS)


class BadEmbedder(HashEmbedder):
    """Embeds questions as it is told."""

    def __init__(self, act: Callable[..., Any]) -> None:
        super().__init__()
        self._act = act

    def embed_query(self, text: str, *, tokens: bool = False) -> Passages:
        found: Passages = self._act(text, tokens)
        return found


def unavailable(*_: object) -> Passages:
    raise ModelUnavailable("m", "its file is gone")


def of_another_size(*_: object) -> Passages:
    return Passages(np.ones((1, 3), dtype=np.float32))


def not_a_number(*_: object) -> Passages:
    return Passages(np.full((1, HashEmbedder().info.dimension), np.nan, dtype=np.float32))


@pytest.mark.parametrize("fault", [unavailable, breaks, hangs, of_another_size, not_a_number])
def test_a_semantic_search_with_a_fault_is_named_and_the_others_answer(engine: Engine, fault: Any) -> None:
    result = run(engine, embedder=BadEmbedder(fault), crag=False)
    assert result.strategies.semantic.error
    assert first(result) == "fees.md"
    assert all(item.relevance.semantic == 0 for item in result.results)


@pytest.mark.parametrize("fault", [fails, breaks, hangs])
@pytest.mark.parametrize("call", ["titles_of", "links_from", "mentions_in"])
def test_a_graph_search_with_a_fault_is_named_and_the_others_answer(engine: Engine, fault: Any, call: str) -> None:
    store = Instead(engine._store)
    store._replaced["graph"] = Instead(engine._store.graph, **{call: fault})
    result = run(engine, store=store, crag=False)
    assert first(result) == "fees.md"
    if call != "titles_of":
        assert result.strategies.graph.error
    assert result.strategies.keyword.error is None


def test_with_all_three_searches_failing_the_answer_is_empty_and_says_why(engine: Engine) -> None:
    store = Instead(engine._store, search_terms=fails, search_vector=fails)
    store._replaced["graph"] = Instead(engine._store.graph, titles_of=fails, aliases_with=fails, probe_frequency=fails)
    result = run(engine, store=store)
    assert result.results == ()
    assert result.total_count == 0
    assert result.strategies.keyword.error
    assert result.strategies.semantic.error
    assert result.sufficiency is not None
    assert not result.sufficiency.is_sufficient


# The reranker


def too_few(_: Question, candidates: Sequence[Hit], __: object) -> Result[Reranking]:
    return Ok(Reranking(scores=(0.5,) * (len(candidates) - 1), model="m"))


def out_of_bounds(_: Question, candidates: Sequence[Hit], __: object) -> Result[Reranking]:
    return Ok(Reranking(scores=(7.0,) * len(candidates), model="m"))


def nan_scores(_: Question, candidates: Sequence[Hit], __: object) -> Result[Reranking]:
    return Ok(Reranking(scores=(float("nan"),) * len(candidates), model="m"))


@pytest.mark.parametrize("fault", [refuses, breaks, hangs, too_few, out_of_bounds, nan_scores])
def test_a_reranker_with_a_fault_leaves_the_order_of_the_searches(engine: Engine, fault: Any) -> None:
    sound = run(engine, crag=False)
    result = run(engine, reranker=lambda: Part(fault), crag=False)
    assert [item.id for item in result.results] == [item.id for item in sound.results]
    assert state(result, Step.RERANK)[0] is StepState.DEGRADED
    assert "The order of the searches was kept" in state(result, Step.RERANK)[1]
    assert all(item.relevance.rerank is None for item in result.results)


def test_a_reranker_that_cannot_be_loaded_leaves_the_order_of_the_searches(engine: Engine) -> None:
    def missing() -> Any:
        raise ModelUnavailable("cross-encoder", "it is not downloaded")

    result = run(engine, reranker=missing, crag=False)
    assert first(result) == "fees.md"
    assert "it is not downloaded" in state(result, Step.RERANK)[1]


# The LLM


@pytest.mark.parametrize("line", ["no JSON at all", '{"type": "banana"}', '{"queries": 7}', ""])
def test_an_llm_that_lies_leaves_the_rules(engine: Engine, line: str) -> None:
    llm = ScriptedLlm([line] * 20)
    result = run(engine, classifier=llm, llm=llm)
    assert first(result) == "fees.md"
    assert state(result, Step.CLASSIFY)[0] is StepState.DEGRADED


class HangingLlm(ScriptedLlm):
    """Takes its time whatever it is told."""

    def complete(self, *_: Any, **__: Any) -> Any:
        hangs()


@pytest.mark.heavy
def test_an_llm_that_hangs_is_not_waited_for(engine: Engine) -> None:
    result = run(engine, llm=HangingLlm([]))
    assert first(result) == "fees.md"


# The judge and the web


def judges_others(_: Question, candidates: Sequence[Hit], __: object) -> Result[Judgement]:
    return Ok(Judgement(relevance=(1.0,) * (len(candidates) + 3), sufficient=1.0))


@pytest.mark.parametrize("fault", [refuses, breaks, hangs, judges_others])
def test_a_judge_with_a_fault_is_replaced_by_the_local_one(engine: Engine, fault: Any) -> None:
    sound = run(engine)
    result = run(engine, judge=Part(fault))
    assert result.sufficiency == sound.sufficiency
    assert state(result, Step.GRADE)[0] is StepState.DEGRADED
    assert "The local judge did" in state(result, Step.GRADE)[1]


def nonsense(*_: object) -> Result[list[WebPage]]:
    return Ok([WebPage("https://example.org", "", "")])


@pytest.mark.parametrize("fault", [refuses, breaks, hangs, nonsense])
def test_a_web_search_with_a_fault_adds_nothing(engine: Engine, fault: Any) -> None:
    chosen = SearchParts(embedder=HashEmbedder, linker=TitleLinker(), web=Part(fault))
    searcher = Searcher(engine._store, chosen, IMPATIENT)
    asked = make_query("Who won the chess championship of Atlantis?", {"crag_enabled": True})
    result = searcher.search(asked, explain=True)
    assert all(item.sources.external_url is None for item in result.results)
    assert result.crag is not None
    assert result.crag.needs_web_search


# Everything at once


@pytest.mark.heavy
def test_everything_failing_at_once_still_answers_on_time(engine: Engine) -> None:
    store = Instead(engine._store, search_vector=hangs)
    store._replaced["graph"] = Instead(engine._store.graph, mentions_in=fails)
    result = run(
        engine,
        store=store,
        reranker=lambda: Part(hangs),
        judge=Part(breaks),
        web=Part(refuses),
        classifier=ScriptedLlm(["?"] * 9),
        llm=ScriptedLlm(["?"] * 9),
    )
    assert first(result) == "fees.md"
    assert result.strategies.keyword.error is None
    assert "did not finish" in (result.strategies.semantic.error or "")
    assert result.strategies.graph.error


def test_an_answer_in_which_something_failed_is_not_kept(engine: Engine) -> None:
    calls = []

    def sometimes(_: Question, candidates: Sequence[Hit], __: object) -> Any:
        calls.append(1)
        return refuses() if len(calls) == 1 else Ok(Reranking((0.5,) * len(candidates), "m"))

    chosen = SearchParts(embedder=HashEmbedder, linker=TitleLinker(), reranker=lambda: Part(sometimes))
    searcher = Searcher(engine._store, chosen, IMPATIENT)
    asked = make_query(QUESTION, {})
    assert searcher.search(asked).results[0].relevance.rerank is None
    assert searcher.search(asked).results[0].relevance.rerank == 0.5
    searcher.search(asked)
    assert len(calls) == 2
