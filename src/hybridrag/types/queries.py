"""What a caller asks: the query, its filters and options, and what the classifier makes of it."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import AfterValidator, AliasChoices, Field, field_validator, model_validator

from hybridrag.types.base import Float32Array, Model, Vector
from hybridrag.types.ids import FileId

MAX_QUERY_CHARACTERS = 1000
"""Counted in UTF-16 units, as JSON clients count: most characters are one, an emoji is two or more."""
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
    """Unclear or mixed; the default (BR-001)."""


class SearchStrategy(StrEnum):
    """One way to search; `hybrid` is all three, fused."""

    KEYWORD = "keyword"
    """By words: BM25."""
    SEMANTIC = "semantic"
    """By meaning: nearest vectors."""
    GRAPH = "graph"
    """By the entities, relations and communities of the knowledge graph."""
    HYBRID = "hybrid"
    """All three, fused."""


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


class Want(StrEnum):
    """The kind of thing that answers a question."""

    DATE = "date"
    NUMBER = "number"
    PERSON = "person"
    PLACE = "place"
    REASON = "reason"
    MANNER = "manner"
    THING = "thing"
    """Anything else: nothing in a text can be told to be of the right kind."""


def _in_utc(moment: datetime) -> datetime:
    """The moment in UTC, so that moments always compare and JSON holds one form; without a zone it is UTC."""
    try:
        return moment.replace(tzinfo=UTC) if moment.utcoffset() is None else moment.astimezone(UTC)
    except OverflowError as cause:
        msg = "must lie between the years 1 and 9999 in UTC"
        raise ValueError(msg) from cause


Moment = Annotated[datetime, AfterValidator(_in_utc)]
"""A point in time, kept in UTC."""

_BARE_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_LAST_MOMENT = "T23:59:59.999999"


class DateRange(Model):
    """From `start` to `end`, both included; either may be open (BR-009).

    {"from": "2024-01-01"} -> start 2024-01-01T00:00Z, no end
    """

    start: Moment | None = Field(default=None, validation_alias=AliasChoices("start", "from"))
    """The first moment that counts; None for no lower bound. `from` is accepted on input."""
    end: Moment | None = Field(default=None, validation_alias=AliasChoices("end", "to"))
    """The last moment that counts; None for no upper bound. A bare date means all of that day. `to` is accepted."""

    @field_validator("end", mode="before")
    @classmethod
    def _whole_last_day(cls, value: Any) -> Any:
        """A bare date as the end means that whole day: "both ends included" would else lose it."""
        if isinstance(value, date) and not isinstance(value, datetime):
            value = value.isoformat()
        if isinstance(value, str) and _BARE_DATE.fullmatch(value.strip()):
            return value.strip() + _LAST_MOMENT
        return value

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.start and self.end and self.start > self.end:
            msg = "start must be before or equal to end"
            raise ValueError(msg)
        return self

    def contains(self, moment: datetime) -> bool:
        """Whether the moment lies within, both ends included.

        2024-01-01 to 2024-12-31: 2024-12-31T18:00 -> True; 2025-01-01T00:00 -> False
        """
        moment = _in_utc(moment)
        return (self.start is None or self.start <= moment) and (self.end is None or moment <= self.end)


class SearchFilters(Model):
    """What a result must satisfy. None or an empty list means no filter on that field (BR-006)."""

    file_ids: tuple[FileId, ...] | None = None
    """Only results out of these files."""
    file_types: tuple[str, ...] | None = None
    """MIME types, for example `text/markdown`; `text/*` takes a whole family."""
    workspace_ids: tuple[str, ...] | None = None
    """Only results out of these workspaces."""
    entity_types: tuple[str, ...] | None = None
    """Only results that mention an entity of one of these types."""
    date_range: DateRange | None = None
    """Only results out of documents dated within it."""
    min_relevance: Score = 0.3
    """Results whose combined score is lower are left out (BR-007)."""

    @field_validator("entity_types")
    @classmethod
    def _types_in_any_case(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return tuple(kind.lower() for kind in value) if value else value

    @field_validator("file_ids", "file_types", "workspace_ids", "entity_types")
    @classmethod
    def _empty_means_no_filter(cls, value: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
        if any(re.search("[\ud800-\udfff]", text) for text in value or ()):
            msg = "holds half a character (a lone surrogate); give it as valid Unicode"
            raise ValueError(msg)
        return value or None

    @property
    def selects_all(self) -> bool:
        """Whether no file is excluded; relevance does not count."""
        return not (self.file_ids or self.file_types or self.workspace_ids or self.entity_types or self.date_range)


class SearchWeights(Model):
    """How much each search counts in the fusion; together 1 (BR-010). A search that is not used has 0 (BR-011)."""

    keyword: Score
    """The share of the keyword search."""
    semantic: Score
    """The share of the semantic search."""
    graph: Score
    """The share of the graph search."""

    @model_validator(mode="after")
    def _sums_to_one(self) -> Self:
        total = self.keyword + self.semantic + self.graph
        # Added and compared exactly as JSON clients do it, so that both sides accept the same weights.
        if not abs(total - 1.0) < WEIGHT_TOLERANCE:
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

    def among(self, strategies: Collection[SearchStrategy]) -> SearchWeights:
        """The weights when only these searches run: 0 for the others (BR-011), these scaled to 1 (BR-010).

        .35/.35/.30 among keyword and graph -> .54/.00/.46

        Searches that all weigh 0 count alike: asked for by name, they are wanted. `hybrid`, or none at all, means
        all three.
        """
        chosen = [single for single in SINGLE_STRATEGIES if single in strategies or SearchStrategy.HYBRID in strategies]
        shares = {single: self.of(single) for single in chosen or SINGLE_STRATEGIES}
        if not any(shares.values()):
            shares = dict.fromkeys(shares, 1.0)
        keyword, semantic, graph = (shares.get(single, 0.0) / sum(shares.values()) for single in SINGLE_STRATEGIES)
        return SearchWeights(keyword=keyword, semantic=semantic, graph=graph)


LOCAL_WEIGHTS = SearchWeights(keyword=0.35, semantic=0.35, graph=0.30)


class SearchOptions(Model):
    """How to search and what to return."""

    limit: int = Field(default=20, ge=1, le=100)
    """At most so many results."""
    offset: int = Field(default=0, ge=0)
    """How many of the best results to pass over: the next page begins at `offset + limit`."""
    include_metadata: bool = True
    """Whether results carry the metadata of their document."""
    include_highlights: bool = True
    """Whether results show where they match."""
    rerank_enabled: bool = True
    """Whether a reranker looks at the best results again."""
    crag_enabled: bool = False
    """Whether results are graded, and corrected where they do not answer."""
    strategies: tuple[SearchStrategy, ...] = Field(default=(SearchStrategy.HYBRID,), min_length=1)
    """The searches to run. `mode` is accepted on input as the short form."""
    weights: SearchWeights = LOCAL_WEIGHTS
    """How much each search counts."""

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
        return {**rest, "strategies": (_strategy_of(data["mode"]),)}

    @property
    def enabled(self) -> tuple[SearchStrategy, ...]:
        """The single searches that these strategies ask for, in table order."""
        if SearchStrategy.HYBRID in self.strategies:
            return SINGLE_STRATEGIES
        return tuple(strategy for strategy in SINGLE_STRATEGIES if strategy in self.strategies)

    @property
    def effective_weights(self) -> SearchWeights:
        """The weights over the enabled searches alone: a search that does not run weighs 0 (BR-011)."""
        return self.weights.among(self.enabled)


def _strategy_of(mode: Any) -> SearchStrategy:
    if mode not in list(SearchMode):
        msg = f"mode must be one of {', '.join(SearchMode)}, not {mode!r}"
        raise ValueError(msg)
    return SearchStrategy.HYBRID if mode == SearchMode.HYBRIDRAG else SearchStrategy(mode)


class SearchQuery(Model):
    """A question with everything that decides its answer."""

    text: str = Field(json_schema_extra={"minLength": 1, "maxLength": MAX_QUERY_CHARACTERS})
    """What to look for: 1-1000 characters after trimming (BR-003)."""
    type: QueryType = QueryType.HYBRID
    """What kind of answer is wanted."""
    embedding: Vector | None = None
    """The question as a vector of the index's embedding model (BR-005); computed at search time when None (BR-004)."""
    filters: SearchFilters = Field(default_factory=SearchFilters)
    """What results must satisfy."""
    options: SearchOptions = Field(default_factory=SearchOptions)
    """How to search and what to return."""

    @field_validator("text")
    @classmethod
    def _trimmed_and_bounded(cls, text: str) -> str:
        text = text.strip()
        if not text:
            msg = "the query is empty; give at least one character to search for"
            raise ValueError(msg)
        try:
            length = len(text.encode("utf-16-le")) // 2
        except UnicodeEncodeError as cause:
            msg = "the query holds half a character (a lone surrogate); give it as valid Unicode"
            raise ValueError(msg) from cause
        if length > MAX_QUERY_CHARACTERS:
            msg = f"the query has {length} characters; at most {MAX_QUERY_CHARACTERS} are searched"
            raise ValueError(msg)
        return text

    def __eq__(self, other: object) -> bool:
        """Equal by value; numpy arrays need their own comparison."""
        if not isinstance(other, SearchQuery):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """A copy whose embedding is as read-only as the original's; numpy would make it writeable."""
        copied = super().__deepcopy__(memo)
        _make_read_only(copied.embedding)
        return copied

    def __setstate__(self, state: dict[Any, Any]) -> None:
        """Unpickled as copied: with a read-only embedding."""
        super().__setstate__(state)
        _make_read_only(self.embedding)

    def _identity(self) -> tuple[object, ...]:
        vector = None if self.embedding is None else self.embedding.tobytes()
        return (self.text, self.type, vector, self.filters, self.options)


def _make_read_only(vector: Float32Array | None) -> None:
    if vector is not None:
        vector.flags.writeable = False


class QueryClassification(Model):
    """What the classifier found in a question."""

    original_query: str
    """The question as it was asked."""
    type: QueryType
    """What kind of answer it wants."""
    confidence: Score
    """How sure that is; an unsure type is searched as hybrid (BR-012)."""
    extracted_entities: tuple[str, ...] = ()
    """The names in the question, in its order."""
    suggested_weights: SearchWeights
    """How much each search should count."""
    expanded_queries: tuple[str, ...] = ()
    """The same question in other words."""
    relation_hint: RelationHint | None = None
    """What a relationship question is after; None for other questions."""
    keywords: tuple[str, ...] = ()
    """The words that carry the question."""
    intent: str = ""
    """The intention in one sentence."""


class RRFConfig(Model):
    """Reciprocal rank fusion: a larger `k` makes ranks count for less (BR-023)."""

    k: int = Field(default=60, ge=1, le=1000)
    """Added to every rank, so that the first of one list does not outweigh everything."""
    normalize_scores: bool = True
    """Whether scores are reported from 0 to 1 instead of as the raw sum."""


class RerankConfig(Model):
    """How many results the reranker looks at, with which model."""

    enabled: bool = True
    """Whether it runs at all."""
    model: str = "cross-encoder/ms-marco-MiniLM-L-6-v2"
    """The name of the reranking model."""
    top_k: int = Field(default=50, ge=1, le=100)
    """How many of the best results it reads."""
    batch_size: int = Field(default=16, ge=1, le=32)
    """How many it reads at once; less needs less memory (BR-025)."""

    def bounded_by(self, results: int) -> RerankConfig:
        """The same with `top_k` no larger than the number of results (BR-024), and at least 1.

        top_k 50, 7 results -> top_k 7
        """
        return self.model_copy(update={"top_k": max(1, min(self.top_k, results))})
