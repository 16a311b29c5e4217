"""What the engine answers: results that explain themselves, and the verdict over them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from hybridrag.steps import Step, StepState
from hybridrag.types.base import Model
from hybridrag.types.ids import ChunkId, CommunityId, EntityId, FileId, RelationId
from hybridrag.types.queries import QueryClassification, Score, SearchQuery, SearchStrategy

Milliseconds = Annotated[float, Field(ge=0.0)]
Count = Annotated[int, Field(ge=0)]

CORRECT_FROM = 0.7
INCORRECT_UP_TO = 0.3
"""BR-016: a score from 0.7 is correct, up to 0.3 incorrect, ambiguous between."""


class SearchResultType(StrEnum):
    """What a result is."""

    CHUNK = "chunk"
    ENTITY = "entity"
    COMMUNITY = "community"


class CRAGVerdict(StrEnum):
    """Whether what was found bears on the question."""

    CORRECT = "correct"
    INCORRECT = "incorrect"
    AMBIGUOUS = "ambiguous"


class HighlightOffset(Model):
    """Characters `start` to `end` (exclusive) of the fragment."""

    start: int = Field(ge=0)
    end: int = Field(ge=0)

    @model_validator(mode="after")
    def _start_before_end(self) -> Self:
        if self.start >= self.end:
            msg = f"start ({self.start}) must be before end ({self.end})"
            raise ValueError(msg)
        return self


class Highlight(Model):
    """A readable cut of a field around its matches."""

    field: str
    fragment: str
    offsets: tuple[HighlightOffset, ...] = ()
    """Where the matches lie within `fragment`."""


class CRAGScore(Model):
    """The grade of one result (or of all of them together)."""

    relevance: CRAGVerdict
    confidence: Score
    needs_web_search: bool
    refined_query: str | None = None


class RelevanceScore(Model):
    """Where a result's score comes from. A search that did not find it, or did not run, has 0 (BR-013)."""

    combined: Score
    keyword: Score = 0.0
    semantic: Score = 0.0
    graph: Score = 0.0
    rerank: Score | None = None
    """None until a reranker looked at it (BR-014)."""
    crag: CRAGScore | None = None
    """None unless grading ran (BR-015)."""


class SearchResultContent(Model):
    """The text of a result, and what stands around it."""

    text: str
    summary: str | None = None
    context_before: str | None = None
    context_after: str | None = None


class SearchResultSources(Model):
    """Where a result comes from, down to page and line."""

    chunk_id: ChunkId | None = None
    file_id: FileId | None = None
    entity_ids: tuple[EntityId, ...] = ()
    community_id: CommunityId | None = None
    relation_ids: tuple[RelationId, ...] = ()
    file_name: str | None = None
    workspace: str | None = None
    mime_type: str | None = None
    page: int | None = Field(default=None, ge=1)
    line_start: int | None = Field(default=None, ge=1)
    line_end: int | None = Field(default=None, ge=1)
    headings: tuple[str, ...] = ()
    external_url: str | None = None
    """Set when the text came from a web search and from no document of the index."""


class FoundBy(Model):
    """One search that found the result, at which rank and with which score."""

    strategy: SearchStrategy
    rank: int = Field(ge=1)
    score: Score
    path: tuple[str, ...] = ()
    """For the graph: the names from the question to this result."""


class SearchResultItem(Model):
    """One result."""

    id: str
    type: SearchResultType
    score: Score
    relevance: RelevanceScore
    content: SearchResultContent
    highlights: tuple[Highlight, ...] = ()
    sources: SearchResultSources
    found_by: tuple[FoundBy, ...] = ()
    metadata: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _sources_name_what_it_is(self) -> Self:
        """A result always leads back to what it is (BR-019, BR-020, BR-021)."""
        sources = self.sources
        if self.type is SearchResultType.CHUNK and sources.chunk_id is None and sources.external_url is None:
            msg = "a chunk result needs sources.chunkId"
            raise ValueError(msg)
        if self.type is SearchResultType.ENTITY and not sources.entity_ids:
            msg = "an entity result needs at least one of sources.entityIds"
            raise ValueError(msg)
        if self.type is SearchResultType.COMMUNITY and sources.community_id is None:
            msg = "a community result needs sources.communityId"
            raise ValueError(msg)
        return self


class StrategyMetric(Model):
    """How one search went."""

    enabled: bool
    result_count: Count = 0
    processing_time: Milliseconds = 0.0
    top_score: Score = 0.0
    error: str | None = None
    """Why it yielded nothing, when it failed or missed its deadline."""


class SearchStrategyMetrics(Model):
    """How the three searches went."""

    keyword: StrategyMetric
    semantic: StrategyMetric
    graph: StrategyMetric


class CorrectiveActionKind(StrEnum):
    """What was done about results that do not answer."""

    NONE = "none"
    REFINE_KNOWLEDGE = "refine_knowledge"
    """Keep only the sentences that bear on the question."""
    REWRITE_QUERY = "rewrite_query"
    CHANGE_WEIGHTS = "change_weights"
    DEEPEN_WALK = "deepen_walk"
    WEB_SEARCH = "web_search"


class CorrectiveAction(Model):
    """One corrective step and whether it helped."""

    kind: CorrectiveActionKind
    detail: str = ""
    before: Score
    after: Score

    @property
    def helped(self) -> bool:
        """Whether the grade rose."""
        return self.after > self.before


class CRAGReport(CRAGScore):
    """The verdict over the whole result, and what was done about it."""

    actions: tuple[CorrectiveAction, ...] = ()


class IntentMatch(Model):
    """Whether the results answer the kind of question that was asked."""

    matched: bool
    confidence: Score
    expected: str = ""
    """What the question wants: a date, two sides, both entities, breadth."""
    missing: tuple[str, ...] = ()


class SufficiencyEvaluation(Model):
    """Whether the context holds enough to answer."""

    is_sufficient: bool
    confidence: Score
    missing_info: tuple[str, ...] = ()


def should_generate(evaluation: SufficiencyEvaluation, *, min_confidence: float = 0.5) -> bool:
    """Answer only from a context judged sufficient with enough confidence; else abstain."""
    return evaluation.is_sufficient and evaluation.confidence >= min_confidence


class TraceStep(Model):
    """One step of the query as it happened."""

    step: Step
    state: StepState
    processing_time: Milliseconds = 0.0
    reason: str | None = None
    """Why it was skipped, degraded or failed."""
    details: dict[str, Any] = Field(default_factory=dict)


class Trace(Model):
    """The whole way of a query, step by step; given when asked for."""

    steps: tuple[TraceStep, ...] = ()

    def of(self, step: Step) -> TraceStep | None:
        """The first entry of that step."""
        return next((entry for entry in self.steps if entry.step is step), None)


class SearchResult(Model):
    """The answer to a query."""

    query: SearchQuery
    results: tuple[SearchResultItem, ...]
    total_count: Count
    processing_time: Milliseconds
    strategies: SearchStrategyMetrics
    classification: QueryClassification | None = None
    search_sources: tuple[SearchStrategy, ...] = ()
    """The searches that contributed."""
    crag: CRAGReport | None = None
    intent_match: IntentMatch | None = None
    sufficiency: SufficiencyEvaluation | None = None
    trace: Trace | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """The one value that flows from every search to fusion, reranking and grading."""

    id: str
    score: float
    """The search's own score, mapped to 0-1, higher is better."""
    type: SearchResultType = SearchResultType.CHUNK
    key: int = 0
    """The store's row of a chunk; 0 for what is not a chunk."""
    path: tuple[str, ...] = ()
    entity_ids: tuple[EntityId, ...] = ()
    relation_ids: tuple[RelationId, ...] = ()
    community_id: CommunityId | None = None
    details: dict[str, float | str] = field(default_factory=dict, compare=False)
