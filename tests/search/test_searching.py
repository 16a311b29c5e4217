"""A question through the engine: three searches, one ranking, results that explain themselves."""

from __future__ import annotations

import asyncio
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybridrag.config import load_settings
from hybridrag.engine import Engine
from hybridrag.errors import InvalidQuery, ModelUnavailable
from hybridrag.protocols import Passages, Question
from hybridrag.queries.plan import make_plan
from hybridrag.search.blend import base_scores, blend, own_scores, stretched
from hybridrag.search.hop import Seed
from hybridrag.search.present import show
from hybridrag.search.record import Recorder
from hybridrag.search.search import Searcher, SearchParts
from hybridrag.search.state import SearchState
from hybridrag.steps import Step, StepState
from hybridrag.testing.embedders import HashEmbedder
from hybridrag.types.parse import make_query
from hybridrag.types.queries import QueryType, SearchStrategy, SearchWeights
from hybridrag.types.results import Hit, SearchResult, SearchResultType

DOCUMENTS = {
    "lighthouse.md": "# The Marten Lighthouse\n\nThe Marten Lighthouse was designed by Elvira Quist in 1874.\n",
    "quist.md": "# Elvira Quist\n\nElvira Quist grew up in Norrhamn and studied stone bridges there.\n",
    "harbour.md": "# Harbour fees\n\nThe harbour fee for small boats is twelve crowns a day.\n",
    "灯台.md": "# 犬吠埼灯台\n\n犬吠埼灯台は1874年に完成した。設計者はブラントンである。\n",
    "ferry.md": "# Ferry timetable\n\nThe first ferry leaves at six in the morning.\n",
}


def open_engine(path: Path) -> Engine:
    chosen = load_settings(env={}, overrides={"documents.isolate": False, "graph.extractor": "light"}).settings
    return Engine.open(path, settings=chosen, embedder=HashEmbedder())


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    folder = tmp_path_factory.mktemp("docs")
    for name, text in DOCUMENTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    engine = open_engine(tmp_path_factory.mktemp("index") / "i")
    engine.add(folder)
    engine.add(text="Secret harbour plans of the other team.", name="secret.txt", workspace="other")
    return engine


def names(engine: Engine, question: str, **options: Any) -> list[str]:
    return [Path(item.sources.file_name or "").name for item in engine.search(question, **options).results]


def test_a_fact_is_found_in_both_languages(engine: Engine) -> None:
    assert names(engine, "How much is the harbour fee?")[0] == "harbour.md"
    assert names(engine, "犬吠埼灯台の設計者は誰ですか")[0] == "灯台.md"


def test_a_second_hop_is_found_by_what_the_first_names(engine: Engine) -> None:
    question = "Where did the designer of the Marten Lighthouse grow up?"
    result = engine.search(question)
    found = {Path(item.sources.file_name or "").name: item for item in result.results}
    assert list(found)[:2] == ["lighthouse.md", "quist.md"]
    (by_graph,) = [found_by for found_by in found["quist.md"].found_by if found_by.strategy is SearchStrategy.GRAPH]
    assert by_graph.path == ("the marten lighthouse", "elvira quist")


def test_a_result_says_where_it_is_from_and_who_found_it(engine: Engine) -> None:
    item = engine.search("harbour fee for small boats").results[0]
    assert item.sources.line_start == 1
    assert item.sources.headings == ("Harbour fees",)
    assert item.sources.mime_type == "text/markdown"
    assert {found.strategy for found in item.found_by} >= {SearchStrategy.KEYWORD, SearchStrategy.SEMANTIC}
    (highlight,) = item.highlights
    marked = {highlight.fragment[offset.start : offset.end].lower() for offset in highlight.offsets}
    assert {"harbour", "fee"} <= marked
    assert engine.search("harbour", include_highlights=False).results[0].highlights == ()
    assert engine.search("harbour", include_metadata=False).results[0].metadata is None


def test_synonyms_and_parts_of_words_are_marked(tmp_path: Path) -> None:
    file = tmp_path / "synonyms.txt"
    file.write_text("vacation, annual leave\n", encoding="utf-8")
    overrides = {"documents.isolate": False, "graph.extractor": "light", "search.synonyms": str(file)}
    made = load_settings(env={}, overrides=overrides).settings
    with Engine.open(tmp_path / "i", settings=made, embedder=HashEmbedder()) as engine:
        engine.add(text="Everybody has twenty days of annual leave.", name="leave.txt")
        engine.add(text="受付期間は三日である。", name="期間.txt")
        for question, name, expected in (("vacation", "leave.txt", "annual"), ("申込受付期間", "期間.txt", "受付")):
            items = {item.sources.file_name: item for item in engine.search(question).results}
            (highlight,) = items[name].highlights
            assert expected in highlight.fragment[highlight.offsets[0].start : highlight.offsets[0].end]


def test_the_context_of_a_result_does_not_repeat_its_text(tmp_path: Path) -> None:
    overrides = {"documents.isolate": False, "graph.extractor": "light", "chunking.max_tokens": 64}
    made = load_settings(env={}, overrides=overrides).settings
    text = " ".join(f"The keeper of lamp number {number} rows to the island every morning." for number in range(40))
    with Engine.open(tmp_path / "i", settings=made, embedder=HashEmbedder()) as engine:
        engine.add(text=text, name="lamps.txt")
        items = engine.search("keeper of lamp number 17", limit=5).results
    shown = [
        " ".join((it.content.context_before or "", it.content.text, it.content.context_after or "")) for it in items
    ]
    assert any(item.content.context_after for item in items)
    assert all(" ".join(one.split()) in text for one in shown)


def test_scores_are_in_order_and_within_bounds(engine: Engine) -> None:
    for question in ("lighthouse 1874", "灯台", "ferry OR harbour"):
        scores = [item.score for item in engine.search(question).results]
        assert scores == sorted(scores, reverse=True)
        assert all(0.0 <= score <= 1.0 for score in scores)


def test_page_two_continues_page_one(engine: Engine) -> None:
    whole = engine.search("the harbour lighthouse ferry", limit=6)
    first = engine.search("the harbour lighthouse ferry", limit=2)
    second = engine.search("the harbour lighthouse ferry", limit=2, offset=2)
    assert [item.id for item in (*first.results, *second.results)] == [item.id for item in whole.results[:4]]
    assert first.total_count == second.total_count == whole.total_count


def test_each_way_of_searching_runs_alone(engine: Engine) -> None:
    for mode in ("keyword", "semantic", "graph"):
        result = engine.search("Elvira Quist", mode=mode)
        assert result.results, mode
        assert [name for name in SearchStrategy if name != "hybrid" and getattr(result.strategies, name).enabled] == [
            mode
        ]
        assert all({found.strategy for found in item.found_by} <= {mode} for item in result.results)


def test_what_only_meaning_finds_is_shown_by_default(engine: Engine) -> None:
    # It was once scored below the default bound, and the page stayed empty.
    by_meaning = names(engine, "zzyzx qwortle", mode="semantic")
    assert by_meaning
    assert set(names(engine, "zzyzx qwortle")) >= set(by_meaning)


def test_an_entity_without_metadata_has_none(engine: Engine) -> None:
    with_it = engine.search("Elvira Quist").results
    assert any(item.type is SearchResultType.ENTITY and item.metadata for item in with_it)
    assert all(item.metadata is None for item in engine.search("Elvira Quist", include_metadata=False).results)


def test_a_chunk_that_is_removed_during_a_search_is_left_out() -> None:
    # A chunk that the graph knew was once taken for an entity, and the search raised.
    class Emptied:
        """The store, whose chunks are gone when the results are shown."""

        def snapshot(self) -> Any:
            return nullcontext()

        def chunks_by_key(self, *_: Any, **__: Any) -> dict[int, Any]:
            return {}

        def text(self, _: Any) -> None:
            return None

    query = make_query("harbour", {})
    state = SearchState(query, Question(query.text), make_plan(query, None), Recorder())
    store: Any = Emptied()
    assert show(store, state, [Hit("c", key=7, score=1.0)]) == []


def test_filters_bind_every_search(engine: Engine) -> None:
    assert "secret.txt" in names(engine, "harbour plans")
    for question in ("secret harbour plans of the other team", "Elvira Quist"):
        assert "secret.txt" not in names(engine, question, workspace_ids=("default",))
    assert names(engine, "lighthouse", workspace_ids=("other",)) in ([], ["secret.txt"])
    assert set(names(engine, "harbour", file_types=("text/plain",))) == {"secret.txt"}


def test_a_query_may_bring_its_own_embedding(engine: Engine) -> None:
    vector = HashEmbedder().embed_query("harbour fee").pooled[0]
    assert names(engine, "anything", mode="semantic", embedding=vector, rerank_enabled=False)[0] == "harbour.md"
    with pytest.raises(InvalidQuery, match="has 3 numbers"):
        engine.search("anything", embedding=[0.1, 0.2, 0.3])


def test_a_wrong_query_is_refused_before_any_search(engine: Engine) -> None:
    for wrong in ({"limit": 0}, {"limit": 1000}, {"nonsense": 1}, {"mode": "magic"}):
        with pytest.raises(InvalidQuery):
            engine.search("harbour", **wrong)
    with pytest.raises(InvalidQuery, match="empty"):
        engine.search("   ")


def test_the_kind_of_question_decides_the_weights_unless_the_caller_does(engine: Engine) -> None:
    compared = engine.search("Compare the Marten Lighthouse and 犬吠埼灯台", explain=True)
    assert compared.classification is not None
    assert compared.classification.type is QueryType.RELATIONSHIP
    assert _planned(compared) == {"keyword": 0.2, "semantic": 0.2, "graph": 0.6}
    own = {"keyword": 0.5, "semantic": 0.5, "graph": 0.0}
    assert _planned(engine.search("Compare A and B", explain=True, weights=own)) == own
    assert _planned(engine.search("Compare A and B", explain=True, type="local"))["graph"] == 0.3


def _planned(result: SearchResult) -> Any:
    step = result.trace.of(Step.PLAN) if result.trace else None
    assert step is not None
    return step.details["weights"]


def test_the_trace_shows_steps_and_arithmetic(engine: Engine) -> None:
    assert engine.search("harbour").trace is None
    trace = engine.search("harbour", explain=True).trace
    assert trace is not None
    assert [step.step for step in trace.steps] == [
        Step.CLASSIFY,
        Step.EXPAND,
        Step.PLAN,
        Step.KEYWORD,
        Step.SEMANTIC,
        Step.GRAPH,
        Step.FUSE,
        Step.DEDUPLICATE,
        Step.RERANK,
        Step.GRADE,
        Step.CORRECT,
        Step.INTENT,
        Step.SUFFICIENCY,
        Step.HIGHLIGHT,
    ]
    fused = trace.of(Step.FUSE)
    assert fused is not None
    assert "weights" in fused.details


class BrokenEmbedder(HashEmbedder):
    """Embeds passages and fails on questions."""

    def embed_query(self, text: str, *, tokens: bool = False) -> Passages:
        del text, tokens
        raise ModelUnavailable("broken", "it is broken")


class SlowEmbedder(HashEmbedder):
    """Takes too long over questions."""

    def embed_query(self, text: str, *, tokens: bool = False) -> Passages:
        time.sleep(1.0)
        return super().embed_query(text, tokens=tokens)


@pytest.mark.parametrize(("embedder", "reason"), [(BrokenEmbedder(), "it is broken"), (SlowEmbedder(), "within 0.2 s")])
def test_a_search_that_fails_or_is_late_is_named_and_the_others_answer(
    engine: Engine, embedder: HashEmbedder, reason: str
) -> None:
    from hybridrag.graph.linker import TitleLinker
    from hybridrag.types.parse import parse_query

    chosen = load_settings(env={}, overrides={"search.deadline_seconds": 0.2}).settings
    searcher = Searcher(engine._store, SearchParts(lambda: embedder, TitleLinker()), chosen)
    result = searcher.search(parse_query("harbour fee"), explain=True)
    searcher.close()
    assert reason in (result.strategies.semantic.error or "")
    assert result.strategies.semantic.result_count == 0
    assert result.results[0].sources.headings == ("Harbour fees",)
    assert result.results[0].relevance.semantic == 0.0
    assert result.trace is not None
    failed = result.trace.of(Step.SEMANTIC)
    assert failed is not None
    assert failed.state is StepState.FAILED


def test_an_empty_index_answers_with_nothing(tmp_path: Path) -> None:
    empty = open_engine(tmp_path / "empty")
    result = empty.search("anything at all")
    assert result.results == ()
    assert result.total_count == 0


def test_callers_in_an_event_loop_can_search(engine: Engine) -> None:
    async def use() -> int:
        results = await asyncio.gather(*(engine.asearch(question) for question in ("ferry", "harbour", "灯台")))
        return sum(bool(result.results) for result in results)

    assert asyncio.run(use()) == 3


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(text=st.text(min_size=1, max_size=400))
def test_no_text_breaks_a_search(engine: Engine, text: str) -> None:
    try:
        engine.search(text, limit=3)
    except InvalidQuery:
        assert not text.strip() or len(text.encode("utf-16-le", "surrogatepass")) > 2000


@pytest.mark.parametrize(
    "hostile",
    ["'; DROP TABLE chunks; --", '"unclosed OR (', "NEAR(a b, 99999)", "a\x00b", "\u202eabc", "😀" * 400, "(" * 300],
)
def test_hostile_questions_get_a_clean_result(engine: Engine, hostile: str) -> None:
    engine.search(hostile)
    assert engine.check() == []


def test_blending_is_arithmetic() -> None:
    even = SearchWeights(keyword=0.5, semantic=0.5, graph=0.0)
    assert stretched({1: 3.0, 2: 1.0, 3: 2.0}) == {1: 1.0, 2: 0.0, 3: 0.5}
    assert stretched({1: 2.0}) == {1: 1.0}
    assert stretched({}) == {}
    base = base_scores({1: 3.0, 2: 1.0}, {2: 0.9, 3: 0.8}, even)
    assert base == {1: 0.5, 2: 0.5, 3: 0.0}
    assert base_scores({1: 1.0}, {}, SearchWeights(keyword=0, semantic=0, graph=1)) == {}
    seeds = [Seed(3, "x", 0.8, ambiguous=False), Seed(2, "y", 1.0, ambiguous=True)]
    assert own_scores(base, seeds) == {1: 0.5, 2: 1.0, 3: 0.8}
    led = Hit("9", key=9, scores={"trail": 4.0}, path=("z",))
    first, *_ = blend([*(Hit(str(key), key=key) for key in base), led], base)
    assert (first.key, first.path) == (9, ("z",))
    assert first.order == pytest.approx(0.5 * 4.0 * 0.8)
    # Being led to never lowers a chunk.
    [named] = blend([Hit("2", key=2, scores={"seed": 0.5, "trail": 0.1})], base)
    assert named.order == 1.0
    combined = [hit.combined for hit in blend([Hit(str(key), key=key) for key in base], base)]
    assert combined == sorted(combined, reverse=True)
    assert np.all(np.array(combined) <= 1.0)
