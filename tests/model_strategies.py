"""Hypothesis strategies that build every public model, from nothing but its own rules."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, TypeVar

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from hybridrag.steps import Step, StepState
from hybridrag.types.answers import Answer, AnswerSentence, Citation, NearestPassage, ShortAnswer
from hybridrag.types.base import Float32Array, Model
from hybridrag.types.documents import Chunk, FileInfo
from hybridrag.types.graph import (
    Community,
    Entity,
    EntityType,
    Evidence,
    GraphPath,
    Neighbour,
    Outline,
    PathStep,
    Relation,
    Section,
)
from hybridrag.types.ids import ChunkId, CommunityId, EntityId, FileId, Id, RelationId, SectionId
from hybridrag.types.queries import (
    SINGLE_STRATEGIES,
    DateRange,
    QueryClassification,
    QueryType,
    RelationHint,
    RerankConfig,
    RRFConfig,
    SearchFilters,
    SearchOptions,
    SearchQuery,
    SearchStrategy,
    SearchWeights,
)
from hybridrag.types.reports import FileOutcome, FileState, IngestReport
from hybridrag.types.results import (
    CorrectiveAction,
    CorrectiveActionKind,
    CRAGReport,
    CRAGScore,
    CRAGVerdict,
    FoundBy,
    Highlight,
    HighlightOffset,
    IntentMatch,
    RelevanceScore,
    SearchResult,
    SearchResultContent,
    SearchResultItem,
    SearchResultSources,
    SearchResultType,
    SearchStrategyMetrics,
    StrategyMetric,
    SufficiencyEvaluation,
    Trace,
    TraceStep,
)

I = TypeVar("I", bound=Id)  # noqa: E741 (I for id)
M = TypeVar("M", bound=Model)
T = TypeVar("T")

SETTINGS = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
"""A busy machine is no failure: nothing here is about time."""

# Small, because a model holds dozens of texts and hypothesis has to shrink them all.
texts = st.text(max_size=12)
words = st.text(min_size=1, max_size=12)
scores = st.floats(min_value=0, max_value=1)
durations = st.floats(min_value=0, max_value=1e6)
counts = st.integers(min_value=0, max_value=10**6)
json_values: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
json_objects = st.dictionaries(texts, json_values, max_size=2)
# Any zone, also those whose historical offset has seconds in it, which no JSON date can hold.
moments = st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 12, 31), timezones=st.timezones())  # noqa: DTZ001 (the strategy adds the zone)

# Python compares two moments of one zone by their clocks, and those of an hour that clocks skip or repeat as unequal.
utc_moments = moments.map(lambda moment: moment.astimezone(UTC))


def tuples_of(items: st.SearchStrategy[T], *, min_size: int = 0, max_size: int = 2) -> st.SearchStrategy[tuple[T, ...]]:
    return st.lists(items, min_size=min_size, max_size=max_size).map(tuple)


def build(kind: type[M], /, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[M]:
    """Like `st.builds`, which would ask for the camelCase names of the runtime signature too."""
    return st.fixed_dictionaries(fields).map(lambda drawn: kind(**drawn))


def ids_of(kind: type[I]) -> st.SearchStrategy[I]:
    return st.uuids().map(lambda value: kind(str(value)))


@st.composite
def weights(draw: st.DrawFn) -> SearchWeights:
    keyword = draw(scores)
    semantic = draw(st.floats(min_value=0, max_value=1 - keyword))
    return SearchWeights(keyword=keyword, semantic=semantic, graph=max(0.0, 1 - keyword - semantic))


@st.composite
def vectors(draw: st.DrawFn) -> Float32Array:
    numbers = draw(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=8))
    return np.array(numbers, dtype=np.float32)


@st.composite
def date_ranges(draw: st.DrawFn) -> DateRange:
    start, end = sorted([draw(utc_moments), draw(utc_moments)])
    return DateRange(start=draw(st.sampled_from([start, None])), end=draw(st.sampled_from([end, None])))


@st.composite
def offsets(draw: st.DrawFn) -> HighlightOffset:
    start = draw(counts)
    return HighlightOffset(start=start, end=start + draw(st.integers(min_value=1, max_value=1000)))


filters = build(
    SearchFilters,
    file_ids=st.none() | tuples_of(ids_of(FileId)),
    file_types=st.none() | tuples_of(texts),
    workspace_ids=st.none() | tuples_of(texts),
    entity_types=st.none() | tuples_of(texts),
    date_range=st.none() | date_ranges(),
    min_relevance=scores,
)
options = build(
    SearchOptions,
    limit=st.integers(min_value=1, max_value=100),
    offset=counts,
    include_metadata=st.booleans(),
    include_highlights=st.booleans(),
    rerank_enabled=st.booleans(),
    crag_enabled=st.booleans(),
    strategies=tuples_of(st.sampled_from(SearchStrategy), min_size=1, max_size=4),
    weights=weights(),
)
queries = build(
    SearchQuery,
    text=st.text(min_size=1, max_size=40).filter(str.strip),
    type=st.sampled_from(QueryType),
    embedding=st.none() | vectors(),
    filters=filters,
    options=options,
)
classifications = build(
    QueryClassification,
    original_query=texts,
    type=st.sampled_from(QueryType),
    confidence=scores,
    extracted_entities=tuples_of(texts),
    suggested_weights=weights(),
    expanded_queries=tuples_of(texts),
    relation_hint=st.none() | st.sampled_from(RelationHint),
    keywords=tuples_of(texts),
    intent=texts,
)
rrf_configs = build(RRFConfig, k=st.integers(min_value=1, max_value=1000), normalize_scores=st.booleans())
rerank_configs = build(
    RerankConfig,
    enabled=st.booleans(),
    model=texts,
    top_k=st.integers(min_value=1, max_value=100),
    batch_size=st.integers(min_value=1, max_value=32),
)

highlights = build(Highlight, field=texts, fragment=texts, offsets=tuples_of(offsets()))
crag_scores = build(
    CRAGScore,
    relevance=st.sampled_from(CRAGVerdict),
    confidence=scores,
    needs_web_search=st.booleans(),
    refined_query=st.none() | texts,
)
relevances = build(
    RelevanceScore,
    combined=scores,
    keyword=scores,
    semantic=scores,
    graph=scores,
    rerank=st.none() | scores,
    crag=st.none() | crag_scores,
)
contents = build(
    SearchResultContent,
    text=texts,
    summary=st.none() | texts,
    context_before=st.none() | texts,
    context_after=st.none() | texts,
)
sources = build(
    SearchResultSources,
    chunk_id=ids_of(ChunkId),
    file_id=st.none() | ids_of(FileId),
    entity_ids=tuples_of(ids_of(EntityId), min_size=1),
    community_id=ids_of(CommunityId),
    relation_ids=tuples_of(ids_of(RelationId)),
    file_name=st.none() | texts,
    workspace=st.none() | texts,
    mime_type=st.none() | texts,
    page=st.none() | st.integers(min_value=1, max_value=999),
    line_start=st.none() | st.integers(min_value=1, max_value=999),
    line_end=st.none() | st.integers(min_value=1, max_value=999),
    headings=tuples_of(texts),
    external_url=st.none() | texts,
)
found_bys = build(
    FoundBy,
    strategy=st.sampled_from(SearchStrategy),
    rank=st.integers(min_value=1, max_value=200),
    score=scores,
    path=tuples_of(texts),
)
items = build(
    SearchResultItem,
    id=texts,
    type=st.sampled_from(SearchResultType),
    score=scores,
    relevance=relevances,
    content=contents,
    highlights=tuples_of(highlights),
    sources=sources,
    found_by=tuples_of(found_bys),
    metadata=st.none() | json_objects,
)
metrics = build(
    StrategyMetric,
    enabled=st.booleans(),
    result_count=counts,
    processing_time=durations,
    top_score=scores,
    error=st.none() | texts,
)
strategy_metrics = build(SearchStrategyMetrics, keyword=metrics, semantic=metrics, graph=metrics)
actions = build(CorrectiveAction, kind=st.sampled_from(CorrectiveActionKind), detail=texts, before=scores, after=scores)
crag_reports = build(
    CRAGReport,
    relevance=st.sampled_from(CRAGVerdict),
    confidence=scores,
    needs_web_search=st.booleans(),
    refined_query=st.none() | texts,
    actions=tuples_of(actions),
)
intent_matches = build(IntentMatch, matched=st.booleans(), confidence=scores, expected=texts, missing=tuples_of(texts))
sufficiencies = build(
    SufficiencyEvaluation, is_sufficient=st.booleans(), confidence=scores, missing_info=tuples_of(texts)
)
trace_steps = build(
    TraceStep,
    step=st.sampled_from(Step),
    state=st.sampled_from(StepState),
    processing_time=durations,
    reason=st.none() | texts,
    details=json_objects,
)
traces = build(Trace, steps=tuples_of(trace_steps))


@st.composite
def results(draw: st.DrawFn) -> SearchResult:
    query, searches = draw(queries), draw(strategy_metrics)
    return SearchResult(
        query=query,
        results=tuple(_as_run(item, query, searches) for item in draw(tuples_of(items))),
        total_count=draw(counts),
        processing_time=draw(durations),
        strategies=searches,
        classification=draw(st.none() | classifications),
        search_sources=draw(tuples_of(st.sampled_from(SearchStrategy))),
        crag=draw(st.none() | crag_reports) if query.options.crag_enabled else None,
        intent_match=draw(st.none() | intent_matches),
        sufficiency=draw(st.none() | sufficiencies),
        trace=draw(st.none() | traces),
    )


def _as_run(item: SearchResultItem, query: SearchQuery, searches: SearchStrategyMetrics) -> SearchResultItem:
    """The item without the scores of what was off."""
    off: dict[str, float | None] = {
        single.value: 0.0 for single in SINGLE_STRATEGIES if not getattr(searches, single).enabled
    }
    if not query.options.rerank_enabled:
        off["rerank"] = None
    if not query.options.crag_enabled:
        off["crag"] = None
    return item.model_copy(update={"relevance": item.relevance.model_copy(update=off)})


entities = build(
    Entity,
    id=ids_of(EntityId),
    name=words,
    type=st.sampled_from(EntityType),
    aliases=tuples_of(texts),
    description=st.none() | texts,
    mention_count=counts,
)
evidences = build(Evidence, chunk_id=ids_of(ChunkId), sentence=words)
relations = build(
    Relation,
    id=ids_of(RelationId),
    source_id=ids_of(EntityId),
    target_id=ids_of(EntityId),
    predicate=words,
    weight=durations,
    evidence=tuples_of(evidences),
)

sections = build(Section, id=ids_of(SectionId), file_id=ids_of(FileId), title=words, headings=tuples_of(texts))
leaves = build(Outline, section=sections, chunk_ids=tuples_of(ids_of(ChunkId)))
outlines = build(Outline, section=sections, chunk_ids=tuples_of(ids_of(ChunkId)), parts=tuples_of(leaves))
neighbours = build(
    Neighbour,
    entity=entities,
    weight=durations,
    relations=tuples_of(relations),
    chunk_ids=tuples_of(ids_of(ChunkId)),
    sections=tuples_of(sections),
)
path_steps = build(
    PathStep,
    source_id=ids_of(EntityId) | ids_of(SectionId),
    target_id=ids_of(EntityId) | ids_of(SectionId),
    predicate=st.none() | texts,
    chunk_id=ids_of(ChunkId),
)
paths = build(GraphPath, nodes=tuples_of(entities | sections, min_size=1), steps=tuples_of(path_steps))


@st.composite
def communities(draw: st.DrawFn) -> Community:
    level = draw(st.integers(min_value=0, max_value=3))
    members = draw(tuples_of(ids_of(EntityId), min_size=1, max_size=3))
    return Community(
        id=draw(ids_of(CommunityId)),
        level=level,
        parent_id=draw(ids_of(CommunityId)) if level else None,
        title=draw(texts),
        summary=draw(texts),
        entity_ids=members,
        key_entities=draw(tuples_of(st.sampled_from(members))),
        rank=draw(durations),
    )


chunks = build(
    Chunk,
    id=ids_of(ChunkId),
    file_id=ids_of(FileId),
    ordinal=counts,
    text=texts,
    start=counts,
    end=counts,
    headings=tuples_of(texts),
    page=st.none() | st.integers(min_value=1, max_value=999),
    line_start=st.integers(min_value=1, max_value=999),
    line_end=st.integers(min_value=1, max_value=999),
    language=st.sampled_from(["en", "ja"]),
    tokens=counts,
)
files = build(
    FileInfo,
    id=ids_of(FileId),
    name=texts,
    workspace=texts,
    mime_type=texts,
    title=st.none() | texts,
    content_hash=texts,
    size=counts,
    created=st.none() | utc_moments,
    modified=st.none() | utc_moments,
    added=utc_moments,
    chunk_count=counts,
    metadata=st.dictionaries(texts, texts, max_size=2),
)

outcomes = build(
    FileOutcome,
    name=texts,
    state=st.sampled_from(FileState),
    file_id=st.none() | ids_of(FileId),
    chunks=counts,
    embedded=counts,
    reason=st.none() | texts,
)
reports = build(IngestReport, outcomes=tuples_of(outcomes), seconds=durations, interrupted=st.booleans())


@st.composite
def citations(draw: st.DrawFn, number: int = 1) -> Citation:
    start = draw(st.integers(0, 100))
    return Citation(
        number=number,
        result_id=draw(texts),
        start=start,
        end=start + draw(st.integers(1, 100)),
        sources=draw(st.none() | sources),
    )


@st.composite
def answers(draw: st.DrawFn) -> Answer:
    if draw(st.booleans()):
        return Answer(text=draw(texts), abstained=True, missing=draw(tuples_of(texts)))
    known = [draw(citations(number)) for number in range(1, draw(st.integers(1, 3)) + 1)]
    said = [AnswerSentence(text=draw(texts), citations=(one.number,)) for one in known]
    return Answer(text=draw(texts), sentences=tuple(said), citations=tuple(known), generated_by=draw(texts))


nearest = build(NearestPassage, text=texts, result_id=texts, relevance=scores, sources=st.none() | sources)


@st.composite
def shorts(draw: st.DrawFn) -> ShortAnswer:
    start = draw(st.integers(0, 100))
    return ShortAnswer(text=draw(texts), citation=draw(st.integers(1, 9)), start=start, end=start + 1)


answer_sentences = build(AnswerSentence, text=texts, citations=tuples_of(st.integers(1, 9)))

MODELS: dict[type[Model], st.SearchStrategy[Model]] = {
    Answer: answers(),
    AnswerSentence: answer_sentences,
    Chunk: chunks,
    Citation: citations(),
    Community: communities(),
    CorrectiveAction: actions,
    CRAGReport: crag_reports,
    CRAGScore: crag_scores,
    DateRange: date_ranges(),
    Entity: entities,
    Evidence: evidences,
    FileInfo: files,
    FileOutcome: outcomes,
    FoundBy: found_bys,
    NearestPassage: nearest,
    ShortAnswer: shorts(),
    GraphPath: paths,
    Highlight: highlights,
    HighlightOffset: offsets(),
    IngestReport: reports,
    IntentMatch: intent_matches,
    Neighbour: neighbours,
    Outline: outlines,
    PathStep: path_steps,
    QueryClassification: classifications,
    Relation: relations,
    RelevanceScore: relevances,
    RerankConfig: rerank_configs,
    RRFConfig: rrf_configs,
    SearchFilters: filters,
    SearchOptions: options,
    SearchQuery: queries,
    SearchResult: results(),
    SearchResultContent: contents,
    SearchResultItem: items,
    SearchResultSources: sources,
    SearchStrategyMetrics: strategy_metrics,
    SearchWeights: weights(),
    Section: sections,
    StrategyMetric: metrics,
    SufficiencyEvaluation: sufficiencies,
    Trace: traces,
    TraceStep: trace_steps,
}
"""How to build each public model; a test fails when one is missing."""
