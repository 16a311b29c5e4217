"""What Python writes as JSON, the TypeScript clients' own Zod schemas accept, run in Node."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs
import pytest
from filelock import FileLock
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybridrag.queries.plan import DEFAULT_WEIGHTS
from hybridrag.search.highlight import highlight_fragment
from hybridrag.types.base import Model
from hybridrag.types.ids import ChunkId, CommunityId, EntityId, FileId, RelationId, web_chunk_id_for
from hybridrag.types.queries import (
    DateRange,
    QueryClassification,
    QueryType,
    RerankConfig,
    RRFConfig,
    SearchFilters,
    SearchOptions,
    SearchQuery,
    SearchStrategy,
    SearchWeights,
)
from hybridrag.types.results import (
    CRAGReport,
    CRAGScore,
    CRAGVerdict,
    Highlight,
    HighlightOffset,
    RelevanceScore,
    SearchResult,
    SearchResultContent,
    SearchResultItem,
    SearchResultSources,
    SearchResultType,
    SearchStrategyMetrics,
    StrategyMetric,
)
from model_strategies import MODELS

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(
        shutil.which("node") is None or shutil.which("npm") is None,
        reason="Node and npm are not installed; the schemas of TypeScript clients run nowhere else",
    ),
]

FOLDER = Path(__file__).parent / "zod"
FILES = ("package.json", "schemas.mjs", "check.mjs")

# Every type of the contract that is an object, and the schema that a client has for it.
SCHEMAS: dict[type[Model], str] = {
    CRAGScore: "cragScoreSchema",
    DateRange: "dateRangeSchema",
    Highlight: "highlightSchema",
    HighlightOffset: "highlightOffsetSchema",
    QueryClassification: "queryClassificationSchema",
    RelevanceScore: "relevanceScoreSchema",
    RerankConfig: "rerankConfigSchema",
    RRFConfig: "rrfConfigSchema",
    SearchFilters: "searchFiltersSchema",
    SearchOptions: "searchOptionsSchema",
    SearchQuery: "searchQuerySchema",
    SearchResult: "searchResultSchema",
    SearchResultContent: "searchResultContentSchema",
    SearchResultItem: "searchResultItemSchema",
    SearchResultSources: "searchResultSourcesSchema",
    SearchStrategyMetrics: "searchStrategyMetricsSchema",
    SearchWeights: "searchWeightsSchema",
    StrategyMetric: "strategyMetricSchema",
}
EVERY_TYPE = pytest.mark.parametrize("kind", SCHEMAS, ids=lambda kind: kind.__name__)


@cache
def _installed() -> Path:
    """A folder with Zod in it, outside of the repository; filled once for all runs."""
    home = Path(platformdirs.user_cache_dir("hybridrag-tests")) / "zod-3"
    home.mkdir(parents=True, exist_ok=True)
    with FileLock(home / ".lock"):
        for name in FILES:
            text = (FOLDER / name).read_bytes()
            # Another process may be reading it right now.
            if not (home / name).exists() or (home / name).read_bytes() != text:
                (home / name).write_bytes(text)
        if not (home / "node_modules" / "zod" / "package.json").exists():
            command = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund"]
            done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"npm could not install zod: {done.stderr}"
    return home


def parse_in_node(pairs: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """What the named schemas make of the JSON texts."""
    lines = "".join(json.dumps({"schema": schema, "json": text}) + "\n" for schema, text in pairs)
    done = subprocess.run(
        ["node", "check.mjs"], cwd=_installed(), input=lines, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.split("\n") if line]


def assert_accepted(*models: Model) -> list[dict[str, Any]]:
    answers = parse_in_node([(SCHEMAS[type(model)], model.model_dump_json()) for model in models])
    assert [answer for answer in answers if not answer["ok"]] == []
    return answers


# Examples

FULL_QUERY = SearchQuery(
    text="無料プランの上限は 😀 何件ですか",
    type=QueryType.LOCAL,
    embedding=np.array([0.1, -1e-30, 3e38], dtype=np.float32),
    filters=SearchFilters(
        file_ids=(FileId.derived("a"),),
        file_types=("text/*",),
        workspace_ids=("default",),
        entity_types=("product",),
        date_range=DateRange.model_validate({"from": "2024-01-01", "to": "2024-12-31"}),
    ),
    options=SearchOptions(strategies=(SearchStrategy.KEYWORD, SearchStrategy.GRAPH), crag_enabled=True),
)
SOURCES = {
    "a chunk": (
        SearchResultType.CHUNK,
        SearchResultSources(chunk_id=ChunkId.derived("a"), file_id=FileId.derived("a"), page=3, headings=("Plans",)),
    ),
    "an entity": (
        SearchResultType.ENTITY,
        SearchResultSources(entity_ids=(EntityId.derived("a"),), relation_ids=(RelationId.derived("a"),)),
    ),
    "a community": (SearchResultType.COMMUNITY, SearchResultSources(community_id=CommunityId.derived("a"))),
    "a page of the web": (
        SearchResultType.CHUNK,
        SearchResultSources(chunk_id=web_chunk_id_for("https://a.example", "x"), external_url="https://a.example"),
    ),
}
GRADE = CRAGScore(relevance=CRAGVerdict.AMBIGUOUS, confidence=0.6, needs_web_search=True, refined_query="plan limits")
ITEMS = tuple(
    SearchResultItem(
        id=name,
        type=kind,
        score=0.9,
        relevance=RelevanceScore(combined=0.9, keyword=1.0, rerank=0.8, crag=GRADE),
        content=SearchResultContent(text="無料プランは五百件まで", context_before="前"),
        highlights=(highlight_fragment("😀 無料プランは五百件まで", [(2, 7)]),),
        sources=sources,
        metadata={"author": "Support", "pages": 3},
    )
    for name, (kind, sources) in SOURCES.items()
)
RESULT = SearchResult(
    query=FULL_QUERY,
    results=ITEMS,
    total_count=40,
    processing_time=12.5,
    strategies=SearchStrategyMetrics(
        keyword=StrategyMetric(enabled=True, result_count=3, processing_time=1.5, top_score=1.0),
        semantic=StrategyMetric(enabled=False),
        graph=StrategyMetric(enabled=True, error="graph did not finish within 1 s."),
    ),
    classification=QueryClassification(
        original_query=FULL_QUERY.text,
        type=QueryType.LOCAL,
        confidence=0.9,
        extracted_entities=("無料プラン",),
        suggested_weights=DEFAULT_WEIGHTS[QueryType.LOCAL],
    ),
    crag=CRAGReport(relevance=CRAGVerdict.CORRECT, confidence=0.9, needs_web_search=False),
)


def test_a_query_with_everything_in_it_is_accepted_with_its_dates() -> None:
    [answer] = assert_accepted(FULL_QUERY)
    assert answer["value"]["filters"]["dateRange"] == {
        "start": "2024-01-01T00:00:00.000Z",
        "end": "2024-12-31T23:59:59.999Z",
    }
    assert np.array(answer["value"]["embedding"], dtype=np.float32).tobytes() == FULL_QUERY.embedding.tobytes()  # type: ignore[union-attr] # it has one, above


def test_the_smallest_query_is_accepted() -> None:
    assert_accepted(SearchQuery(text="x"))


def test_a_result_with_every_kind_of_item_is_accepted() -> None:
    [answer] = assert_accepted(RESULT)
    assert [item["type"] for item in answer["value"]["results"]] == ["chunk", "entity", "community", "chunk"]


def test_configurations_and_classifications_are_accepted() -> None:
    classified = RESULT.classification
    assert classified is not None
    assert_accepted(RRFConfig(), RerankConfig(), classified, *DEFAULT_WEIGHTS.values(), DateRange(), SearchFilters())


def test_the_longest_query_that_python_takes_is_not_too_long_for_a_client() -> None:
    assert_accepted(SearchQuery(text="検" * 1000), SearchQuery(text="😀" * 500))


def test_offsets_mark_the_match_when_counted_in_characters() -> None:
    # JavaScript's own slice counts the emoji as two, and would mark one character too early.
    [answer] = assert_accepted(ITEMS[0].highlights[0])
    assert answer["marked"] == ["無料プラン"]


# Any model


@EVERY_TYPE
@settings(deadline=None, max_examples=4, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_whatever_python_writes_a_client_accepts(kind: type[Model], data: st.DataObject) -> None:
    # Several at once, because starting Node takes longer than all of them; few where one holds hundreds of values.
    assert_accepted(*data.draw(st.lists(MODELS[kind], min_size=1, max_size=1 if kind is SearchResult else 10)))


@EVERY_TYPE
def test_a_type_has_every_field_of_its_schema(kind: type[Model]) -> None:
    example = {SearchQuery: FULL_QUERY, SearchResult: RESULT}.get(kind) or _part_of(RESULT, kind)
    [answer] = assert_accepted(example)
    written = json.loads(example.model_dump_json())
    assert answer["keys"]
    assert set(answer["keys"]) <= set(written)
    assert set(answer["value"]) == set(answer["keys"])


def _part_of(value: object, kind: type[Model]) -> Model:
    """The first value of that type inside of a result, or the type's defaults."""
    pending = [value]
    for part in pending:
        if type(part) is kind:
            return part
        if isinstance(part, tuple):
            pending += part
        elif isinstance(part, Model):
            pending += [getattr(part, name) for name in type(part).model_fields]
    return kind()


# Both sides refuse alike


@settings(deadline=None, max_examples=6, suppress_health_check=list(HealthCheck))
@given(
    candidates=st.lists(
        st.tuples(st.integers(0, 70), st.integers(0, 70), st.integers(-120, 120)), min_size=60, max_size=120
    )
)
def test_both_sides_accept_the_same_weights(candidates: list[tuple[int, int, int]]) -> None:
    pairs = [(first / 100, second / 100, off / 10_000) for first, second, off in candidates]
    triples = [(a, b, round(1 - a - b + off, 4)) for a, b, off in pairs]
    texts = [json.dumps(dict(zip(("keyword", "semantic", "graph"), triple, strict=True))) for triple in triples]
    answers = parse_in_node([("searchWeightsSchema", text) for text in texts])
    assert [answer["ok"] for answer in answers] == [_is_valid(SearchWeights, text) for text in texts]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (SearchWeights, '{"keyword": 0.5, "semantic": 0.5, "graph": 0.5}'),
        (DateRange, '{"start": "2024-12-31T00:00:00Z", "end": "2024-01-01T00:00:00Z"}'),
        (RelevanceScore, '{"combined": 1.5, "keyword": 0, "semantic": 0, "graph": 0, "rerank": null, "crag": null}'),
        (HighlightOffset, '{"start": -5, "end": 10}'),
        (RRFConfig, '{"k": 0}'),
        (RerankConfig, '{"topK": 101}'),
        (SearchOptions, '{"limit": 0}'),
        (SearchOptions, '{"strategies": []}'),
    ],
)
def test_what_the_schemas_refuse_python_refuses_too(kind: type[Model], text: str) -> None:
    [answer] = parse_in_node([(SCHEMAS[kind], text)])
    assert not answer["ok"]
    assert not _is_valid(kind, text)


def _is_valid(kind: type[Model], text: str) -> bool:
    try:
        kind.model_validate_json(text)
    except ValueError:
        return False
    return True
