"""What a caller asks: the query, its filters and options, and what the classifier makes of it."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Self

import numpy as np
from pydantic import AfterValidator, AliasChoices, Field, field_validator, model_validator

from hybridrag.types.base import Model, Vector
from hybridrag.types.ids import FileId

MAX_QUERY_CHARACTERS = 1000
WEIGHT_TOLERANCE = 0.01
"""How far the three weights may be from a sum of 1 (BR-010)."""

Score = Annotated[float, Field(ge=0.0, le=1.0)]
"""A calibrated value from 0 to 1."""


class QueryType(StrEnum):
    """What kind of answer a question wants."""

    LOCAL = "local"
    """A fact or detail."""
    GLOBAL = "global"
    """The whole: themes, trends, an overview."""
    RELATIONSHIP = "relationship"
    """How things relate, compare or follow from each other."""
    HYBRID = "hybrid"
    """Unclear or mixed; the default."""


class SearchStrategy(StrEnum):
    """One way to search; `hybrid` is all three, fused."""

    KEYWORD = "keyword"
    SEMANTIC = "semantic"
    GRAPH = "graph"
    HYBRID = "hybrid"


SINGLE_STRATEGIES = (SearchStrategy.KEYWORD, SearchStrategy.SEMANTIC, SearchStrategy.GRAPH)
"""The searches that `hybrid` runs, in the order of every table and trace."""


class SearchMode(StrEnum):
    """The short form of `strategies` on input."""

    KEYWORD = "keyword"
    SEMANTIC = "semantic"
    GRAPH = "graph"
    HYBRIDRAG = "hybridrag"


class RelationHint(StrEnum):
    """What a relationship question is after."""

    COMPARISON = "comparison"
    RELATIONSHIP = "relationship"
    CAUSATION = "causation"
    REASON = "reason"
    GENERAL = "general"


def _aware(moment: datetime) -> datetime:
    """A moment without a time zone is taken as UTC, so that moments always compare."""
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


Moment = Annotated[datetime, AfterValidator(_aware)]
"""A point in time with its zone."""


class DateRange(Model):
    """From `start` to `end`, both included; either may be open.

    {"from": "2024-01-01"} -> start 2024-01-01T00:00Z, no end
    """

    start: Moment | None = Field(default=None, validation_alias=AliasChoices("start", "from"))
    end: Moment | None = Field(default=None, validation_alias=AliasChoices("end", "to"))

    @field_validator("end", mode="before")
    @classmethod
    def _whole_last_day(cls, value: Any) -> Any:
        """A bare date as the end means that whole day: "both ends included" would else lose it."""
        if isinstance(value, str) and len(value.strip()) == len("2024-12-31"):
            return f"{value.strip()}T23:59:59.999999"
        return value

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.start and self.end and self.start > self.end:
            msg = "start must be before or equal to end"
            raise ValueError(msg)
        return self

    def contains(self, moment: datetime) -> bool:
        """Whether the moment lies within, both ends included."""
        moment = _aware(moment)
        return (self.start is None or self.start <= moment) and (self.end is None or moment <= self.end)


class SearchFilters(Model):
    """What a result must satisfy. None or an empty list means no filter on that field (BR-006)."""

    file_ids: tuple[FileId, ...] | None = None
    file_types: tuple[str, ...] | None = None
    """MIME types, for example `text/markdown`; `text/*` takes a whole family."""
    workspace_ids: tuple[str, ...] | None = None
    entity_types: tuple[str, ...] | None = None
    date_range: DateRange | None = None
    min_relevance: Score = 0.3
    """Results whose combined score is lower are left out (BR-007)."""

    @field_validator("file_ids", "file_types", "workspace_ids", "entity_types")
    @classmethod
    def _empty_means_no_filter(cls, value: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
        return value or None

    @property
    def selects_all(self) -> bool:
        """Whether no file is excluded; relevance does not count."""
        return not (self.file_ids or self.file_types or self.workspace_ids or self.entity_types or self.date_range)


class SearchWeights(Model):
    """How much each search counts in the fusion; together 1 (BR-010). A search that is not used has 0 (BR-011)."""

    keyword: Score
    semantic: Score
    graph: Score

    @model_validator(mode="after")
    def _sums_to_one(self) -> Self:
        total = self.keyword + self.semantic + self.graph
        # The tolerance is open: 0.01 off is already wrong, whatever the rounding of the sum.
        if abs(total - 1.0) >= WEIGHT_TOLERANCE - 1e-12:
            msg = f"Weights must sum to 1.0, not {total:g}"
            raise ValueError(msg)
        return self

    def of(self, strategy: SearchStrategy) -> float:
        """The weight of one of the three searches."""
        match strategy:
            case SearchStrategy.KEYWORD:
                return self.keyword
            case SearchStrategy.SEMANTIC:
                return self.semantic
            case SearchStrategy.GRAPH:
                return self.graph
            case SearchStrategy.HYBRID:
                return 1.0


LOCAL_WEIGHTS = SearchWeights(keyword=0.35, semantic=0.35, graph=0.30)


class SearchOptions(Model):
    """How to search and what to return."""

    limit: int = Field(default=20, ge=1, le=100)
    offset: int = Field(default=0, ge=0)
    include_metadata: bool = True
    include_highlights: bool = True
    rerank_enabled: bool = True
    crag_enabled: bool = False
    strategies: tuple[SearchStrategy, ...] = Field(default=(SearchStrategy.HYBRID,), min_length=1)
    weights: SearchWeights = LOCAL_WEIGHTS

    @model_validator(mode="before")
    @classmethod
    def _mode_is_short_for_strategies(cls, data: Any) -> Any:
        """`mode="keyword"` -> `strategies=["keyword"]`; both at once contradict each other."""
        if not isinstance(data, dict) or "mode" not in data:
            return data
        if "strategies" in data:
            msg = "give either mode or strategies, not both"
            raise ValueError(msg)
        rest = {key: value for key, value in data.items() if key != "mode"}
        mode = SearchMode(data["mode"])
        strategy = SearchStrategy.HYBRID if mode is SearchMode.HYBRIDRAG else SearchStrategy(mode.value)
        return {**rest, "strategies": (strategy,)}

    @property
    def enabled(self) -> tuple[SearchStrategy, ...]:
        """The single searches that these strategies ask for, in table order."""
        if SearchStrategy.HYBRID in self.strategies:
            return SINGLE_STRATEGIES
        return tuple(strategy for strategy in SINGLE_STRATEGIES if strategy in self.strategies)


class SearchQuery(Model):
    """A question with everything that decides its answer."""

    text: str
    """1-1000 characters after trimming."""
    type: QueryType = QueryType.HYBRID
    embedding: Vector | None = None
    """Computed at search time when None (BR-004)."""
    filters: SearchFilters = Field(default_factory=SearchFilters)
    options: SearchOptions = Field(default_factory=SearchOptions)

    @field_validator("text")
    @classmethod
    def _trimmed_and_bounded(cls, text: str) -> str:
        text = text.strip()
        if not text:
            msg = "the query is empty; give at least one character to search for"
            raise ValueError(msg)
        if len(text) > MAX_QUERY_CHARACTERS:
            msg = f"the query has {len(text)} characters; at most {MAX_QUERY_CHARACTERS} are searched"
            raise ValueError(msg)
        return text

    def __eq__(self, other: object) -> bool:
        """Equal by value; numpy arrays need their own comparison."""
        if not isinstance(other, SearchQuery):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[object, ...]:
        vector = None if self.embedding is None else np.asarray(self.embedding).tobytes()
        return (self.text, self.type, vector, self.filters, self.options)


class QueryClassification(Model):
    """What the classifier found in a question."""

    original_query: str
    type: QueryType
    confidence: Score
    extracted_entities: tuple[str, ...] = ()
    suggested_weights: SearchWeights
    expanded_queries: tuple[str, ...] = ()
    relation_hint: RelationHint | None = None
    keywords: tuple[str, ...] = ()
    intent: str = ""
    """The intention in one sentence."""


class RRFConfig(Model):
    """Reciprocal rank fusion: a larger `k` makes ranks count for less (BR-023)."""

    k: int = Field(default=60, ge=1, le=1000)
    normalize_scores: bool = True


class RerankConfig(Model):
    """How many results the reranker looks at, with which model."""

    enabled: bool = True
    model: str = "cross-encoder/ms-marco-MiniLM-L-6-v2"
    top_k: int = Field(default=50, ge=1, le=100)
    batch_size: int = Field(default=16, ge=1, le=32)

    def bounded_by(self, results: int) -> RerankConfig:
        """The same with `top_k` no larger than the number of results (BR-024)."""
        return self.model_copy(update={"top_k": max(1, min(self.top_k, results))})
