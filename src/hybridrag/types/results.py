"""What the engine answers: results that explain themselves, and the verdict over them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, JsonValue, model_validator

from hybridrag.steps import Step, StepState
from hybridrag.types.base import Model
from hybridrag.types.ids import ChunkId, CommunityId, EntityId, FileId, RelationId
from hybridrag.types.queries import SINGLE_STRATEGIES, QueryClassification, Score, SearchQuery, SearchStrategy
from hybridrag.types.sources import WebPage

Milliseconds = Annotated[float, Field(ge=0.0)]
Count = Annotated[int, Field(ge=0)]

CORRECT_FROM = 0.7
INCORRECT_UP_TO = 0.3
"""BR-016: a score from 0.7 is correct, up to 0.3 incorrect, ambiguous between."""


class SearchResultType(StrEnum):
    """What a result is."""

    CHUNK = "chunk"
    """A piece of a document."""
    ENTITY = "entity"
    """A node of the knowledge graph."""
    COMMUNITY = "community"
    """A cluster of entities with its summary."""


class CRAGVerdict(StrEnum):
    """Whether what was found bears on the question."""

    CORRECT = "correct"
    """It does."""
    INCORRECT = "incorrect"
    """It does not."""
    AMBIGUOUS = "ambiguous"
    """It may in part."""


class HighlightOffset(Model):
    """Characters `start` to `end` (exclusive) of the fragment, never empty (BR-018).

    Counted in Unicode code points as Python does: `Array.from(fragment).slice(start, end)` in JavaScript, whose
    own `slice` counts an emoji as two.
    """

    start: int = Field(ge=0)
    """The first character of the match."""
    end: int = Field(ge=0)
    """The first character after the match."""

    @model_validator(mode="after")
    def _start_before_end(self) -> Self:
        if self.start >= self.end:
            msg = f"start ({self.start}) must be before end ({self.end})"
            raise ValueError(msg)
        return self


class Highlight(Model):
    """A readable cut of a field around its matches."""

    field: str
    """What matched: the name of a field of the content."""
    fragment: str
    """The cut, with an ellipsis where text was left out."""
    offsets: tuple[HighlightOffset, ...] = ()
    """Where the matches lie within `fragment`."""


class CRAGScore(Model):
    """The grade of one result (or of all of them together)."""

    relevance: CRAGVerdict
    """The verdict: BR-016 maps a score to it."""
    confidence: Score
    """How sure the verdict is."""
    needs_web_search: bool
    """Whether the documents alone do not answer: true for all but a correct verdict (BR-017)."""
    refined_query: str | None = None
    """A better question, where one was found."""


class RelevanceScore(Model):
    """Where a result's score comes from. A search that did not find it, or did not run, has 0 (BR-013)."""

    combined: Score
    """The fused score, calibrated: what `min_relevance` is compared with (BR-007)."""
    keyword: Score = 0.0
    """The keyword search's score: BM25 mapped to 0-1."""
    semantic: Score = 0.0
    """The semantic search's score: cosine similarity."""
    graph: Score = 0.0
    """The graph search's score."""
    rerank: Score | None = None
    """None until a reranker looked at it (BR-014)."""
    crag: CRAGScore | None = None
    """None unless grading ran (BR-015)."""


class SearchResultContent(Model):
    """The text of a result, and what stands around it."""

    text: str
    """The text itself."""
    summary: str | None = None
    """A shorter form, where there is one."""
    context_before: str | None = None
    """What stands before it in the document."""
    context_after: str | None = None
    """What stands after it in the document."""


class SearchResultSources(Model):
    """Where a result comes from, down to page and line."""

    chunk_id: ChunkId | None = None
    """The chunk; always there for a chunk result (BR-019)."""
    file_id: FileId | None = None
    """The document that it is part of."""
    entity_ids: tuple[EntityId, ...] = ()
    """The entities that led to it; at least one for an entity result (BR-020)."""
    community_id: CommunityId | None = None
    """The community; always there for a community result (BR-021)."""
    relation_ids: tuple[RelationId, ...] = ()
    """The relations that led to it."""
    file_name: str | None = None
    """The document's path or name as it was added."""
    workspace: str | None = None
    """The workspace that the document is in."""
    mime_type: str | None = None
    """The document's format."""
    page: int | None = Field(default=None, ge=1)
    """1-based, where the format has pages, slides or sheets."""
    line_start: int | None = Field(default=None, ge=1)
    """The chunk's first line in the file (or row of the sheet), 1-based; null where the format has no lines."""
    line_end: int | None = Field(default=None, ge=1)
    """The chunk's last line in the file (or row of the sheet), 1-based."""
    anchor: str | None = None
    """What a viewer opens the place by, as the fragment of an address: `install`, `page=3&viewrect=72,90,450,60`."""
    shown_name: str | None = None
    """The document's name as people are shown it: the path below the folder that was added."""
    place: str | None = None
    """Where in the document, in words: `page 3`, `line 12`, `sheet 2, row 4`, `message 5`."""
    headings: tuple[str, ...] = ()
    """The headings above it, outermost first."""
    external_url: str | None = None
    """Set when the text came from a web search; its chunk id then names the text, and is in no index."""


class FoundBy(Model):
    """One search that found the result, at which rank and with which score."""

    strategy: SearchStrategy
    """Which search."""
    rank: int = Field(ge=1)
    """1-based place in that search's own ranking."""
    score: Score
    """That search's own score."""
    path: tuple[str, ...] = ()
    """For the graph: the names from the question to this result."""


class SearchResultItem(Model):
    """One result."""

    id: str
    """Unique within one search result."""
    type: SearchResultType
    """What it is."""
    score: Score
    """What results are ordered by: the last score that a stage gave."""
    relevance: RelevanceScore
    """Where the score comes from."""
    content: SearchResultContent
    """Its text."""
    highlights: tuple[Highlight, ...] = ()
    """Where it matches."""
    sources: SearchResultSources
    """Where it comes from."""
    found_by: tuple[FoundBy, ...] = ()
    """The searches that found it."""
    metadata: dict[str, JsonValue] | None = None
    """The metadata of its document; None unless asked for."""

    @model_validator(mode="after")
    def _sources_name_what_it_is(self) -> Self:
        """A result always leads back to what it is (BR-019, BR-020, BR-021)."""
        sources = self.sources
        if self.type is SearchResultType.CHUNK and sources.chunk_id is None:
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
    """Whether it was asked for."""
    result_count: Count = 0
    """How many results it returned."""
    processing_time: Milliseconds = 0.0
    """How long it took, in milliseconds."""
    top_score: Score = 0.0
    """The score of its best result; 0 without results."""
    error: str | None = None
    """Why it yielded nothing, when it failed or missed its deadline."""


class SearchStrategyMetrics(Model):
    """How the three searches went."""

    keyword: StrategyMetric
    """The keyword search."""
    semantic: StrategyMetric
    """The semantic search."""
    graph: StrategyMetric
    """The graph search."""


class CorrectiveActionKind(StrEnum):
    """What was done about results that do not answer."""

    NONE = "none"
    """Nothing was needed, or nothing could be done."""
    REFINE_KNOWLEDGE = "refine_knowledge"
    """Keep only the sentences that bear on the question."""
    REWRITE_QUERY = "rewrite_query"
    """Ask in other words."""
    CHANGE_WEIGHTS = "change_weights"
    """Search with another mix of strategies."""
    DEEPEN_WALK = "deepen_walk"
    """Follow the graph further."""
    WEB_SEARCH = "web_search"
    """Look outside the documents."""


class CorrectiveAction(Model):
    """One corrective step and whether it helped."""

    kind: CorrectiveActionKind
    """What was done."""
    detail: str = ""
    """With what: the rewritten query, the new weights."""
    before: Score
    """The grade without it."""
    after: Score
    """The grade with it."""

    @property
    def helped(self) -> bool:
        """Whether the grade rose."""
        return self.after > self.before


class CRAGReport(CRAGScore):
    """The verdict over the whole result, and what was done about it."""

    actions: tuple[CorrectiveAction, ...] = ()
    """What was done, in order."""


class IntentMatch(Model):
    """Whether the results answer the kind of question that was asked."""

    matched: bool
    """Whether they do."""
    confidence: Score
    """How sure that is."""
    expected: str = ""
    """What the question wants: a date, two sides, both entities, breadth."""
    missing: tuple[str, ...] = ()
    """What of it the results do not hold."""


class SufficiencyEvaluation(Model):
    """Whether the context holds enough to answer."""

    is_sufficient: bool
    """Whether it does."""
    confidence: Score
    """How sure that is."""
    missing_info: tuple[str, ...] = ()
    """What would have to be found to answer."""


def should_generate(evaluation: SufficiencyEvaluation, *, min_confidence: float = 0.5) -> bool:
    """Answer only from a context judged sufficient with enough confidence; else abstain.

    sufficient with confidence .8 -> True; sufficient with confidence .4 -> False
    """
    return evaluation.is_sufficient and evaluation.confidence >= min_confidence


class TraceStep(Model):
    """One step of the query as it happened."""

    step: Step
    """Which step."""
    state: StepState
    """How it ended."""
    processing_time: Milliseconds = 0.0
    """How long it took, in milliseconds."""
    reason: str | None = None
    """Why it was skipped, degraded or failed."""
    details: dict[str, JsonValue] = Field(default_factory=dict)
    """What it decided and counted, by name."""


OnStep = Callable[[TraceStep], None]
"""Told of every step of a search as it ends, from the thread that took it; it should return fast."""


class Trace(Model):
    """The whole way of a query, step by step; given when asked for."""

    steps: tuple[TraceStep, ...] = ()
    """Every step in the order of its end, also those that did not run."""

    def of(self, step: Step) -> TraceStep | None:
        """The first entry of that step."""
        return next((entry for entry in self.steps if entry.step is step), None)


class SearchResult(Model):
    """The answer to a query."""

    query: SearchQuery
    """The query as it was run."""
    results: tuple[SearchResultItem, ...]
    """Best first."""
    total_count: Count
    """How many matched, on all pages together."""
    processing_time: Milliseconds
    """How long the whole took, in milliseconds."""
    strategies: SearchStrategyMetrics
    """How each search went."""
    classification: QueryClassification | None = None
    """What the classifier made of the question."""
    search_sources: tuple[SearchStrategy, ...] = ()
    """The searches that contributed."""
    crag: CRAGReport | None = None
    """The verdict over all results together, and what was done about it; None unless grading ran."""
    intent_match: IntentMatch | None = None
    """Whether the results answer the kind of question that was asked; None unless it was checked."""
    sufficiency: SufficiencyEvaluation | None = None
    """Whether the results suffice to answer; None unless it was judged."""
    relaxed: bool = False
    """Whether results are among them that lack a word of the query, or do not match its operators."""
    trace: Trace | None = None
    """What happened, step by step; None unless asked for."""

    @model_validator(mode="after")
    def _scores_come_from_what_ran(self) -> Self:
        """A search that was off scores 0 (BR-013); rerank scores and grades are there only where asked for."""
        for item in self.results:
            for strategy in SINGLE_STRATEGIES:
                if getattr(item.relevance, strategy) and not getattr(self.strategies, strategy).enabled:
                    msg = f"the {strategy} search was off, so no result may have a {strategy} score"
                    raise ValueError(msg)
        self._refuse_scores_of_stages_that_were_off()
        return self

    def _refuse_scores_of_stages_that_were_off(self) -> None:
        """BR-014 and BR-015."""
        options = self.query.options
        if not options.rerank_enabled and any(item.relevance.rerank is not None for item in self.results):
            msg = "rerankEnabled is false, so no result may have a rerank score"
            raise ValueError(msg)
        graded = self.crag is not None or any(item.relevance.crag is not None for item in self.results)
        if graded and not options.crag_enabled:
            msg = "cragEnabled is false, so nothing may be graded"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class Hit:
    """The one value that flows from every search through fusion, reranking and grading to presentation.

    Steps never change a hit: each makes new ones with what it adds. Explanations are read off it.
    """

    id: str
    """The id of the chunk, entity, community or page; the store's key of a chunk that was not read yet."""
    text: str = ""
    """What it says; empty for a chunk that was not read yet."""
    score: float = 0.0
    """How good it is so far, 0-1: what is reported in the end."""
    title: str = ""
    """The title of its document."""
    headings: tuple[str, ...] = ()
    """The headings above it, outermost first."""
    language: str = ""
    """What its text is written in."""
    type: SearchResultType = SearchResultType.CHUNK
    """What it is."""
    key: int = 0
    """The store's row of a chunk; 0 for what is not a chunk of the index."""
    order: float = 0.0
    """What fusion and reranking sort by; not bounded."""
    combined: float = 0.0
    """The fused score, 0-1, without what a reranker said: what `min_relevance` is compared with."""
    scores: Mapping[str, float] = field(default_factory=dict, hash=False)
    """What each step said of it, by name: the searches 0-1, and what their scores and those of later steps rest on."""
    ranks: Mapping[SearchStrategy, int] = field(default_factory=dict, hash=False)
    """1-based places in the searches that found it."""
    path: tuple[str, ...] = ()
    """For the graph: the names from the question to this hit."""
    entity_ids: tuple[EntityId, ...] = ()
    """The entities that led to it."""
    relation_ids: tuple[RelationId, ...] = ()
    """The relations that led to it."""
    community_id: CommunityId | None = None
    """The community that it is, or that led to it."""
    copies: int = 0
    """How many that say the same were left out."""
    page: WebPage | None = None
    """Where it was found, if outside the documents."""
    grade: CRAGScore | None = None
    """The verdict on it, where it was judged."""
    summary: str | None = None
    """Its sentences that bear on the question, where others were left out."""
    details: Mapping[str, float | str] = field(default_factory=dict, compare=False)
    """What else explains it, by name; takes no part in equality."""

    def explained(self) -> dict[str, JsonValue]:
        """How its place came about, for a trace."""
        told: dict[str, JsonValue] = {"key": self.key or self.id, "score": round(self.order, 6)}
        told |= {name: round(score, 4) for name, score in self.scores.items()}
        return told | {"ranks": {name.value: rank for name, rank in self.ranks.items()}, "via": " > ".join(self.path)}
