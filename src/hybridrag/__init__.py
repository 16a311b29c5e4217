"""HybridRAG: search your own documents by keyword, meaning and knowledge graph at once.

`from hybridrag import ...` is the whole public API. A name is loaded when it is first used, so that the command
line starts fast and nobody pays for what they do not call.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hybridrag.config import LoadedSettings, Settings, ShownSetting, load_settings
    from hybridrag.engine import Engine
    from hybridrag.errors import (
        DeadlineExceeded,
        DocumentError,
        DocumentTooLarge,
        InvalidInput,
        InvalidQuery,
        InvalidSettings,
        ModelMismatch,
        ModelUnavailable,
        NotFound,
        ProviderError,
        RAGError,
        StageError,
        StoreBusy,
        StoreCorrupt,
        StoreError,
        StoreNotFound,
        StoreVersionMismatch,
        UnknownFormat,
        UnreadableDocument,
    )
    from hybridrag.graph.knowledge import KnowledgeGraph
    from hybridrag.graph.walk import Walk, WalkLimits
    from hybridrag.protocols import (
        Candidate,
        Embedder,
        GraphStore,
        Judge,
        Judgement,
        Linker,
        Llm,
        ModelInfo,
        NewChunk,
        Passages,
        Problem,
        PutReport,
        Question,
        Reranker,
        Reranking,
        Store,
        StoreStatus,
        VectorIndex,
        WebPage,
        WebSearch,
    )
    from hybridrag.queries.classify import classify
    from hybridrag.queries.expand import expand_query
    from hybridrag.queries.plan import Plan, default_weights, make_plan
    from hybridrag.result import Err, Ok, Result
    from hybridrag.schema import check_json, json_schema, schema_names
    from hybridrag.search.fuse import Fused, fuse, rrf_score
    from hybridrag.search.highlight import highlight_fragment
    from hybridrag.search.keyword import KeywordSearch, search_keywords
    from hybridrag.search.select import Merge, deduplicate, filter_by_min_relevance, normalise_scores, sort_by_score
    from hybridrag.steps import Step, StepState
    from hybridrag.types.answers import Answer, AnswerSentence, Citation
    from hybridrag.types.documents import Block, BlockKind, Chunk, Document, FileInfo
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
    from hybridrag.types.ids import (
        ChunkId,
        CommunityId,
        EntityId,
        FileId,
        RelationId,
        SectionId,
        chunk_id_for,
        community_id_for,
        entity_id_for,
        file_id_for,
        new_chunk_id,
        new_community_id,
        new_entity_id,
        new_file_id,
        new_relation_id,
        relation_id_for,
        section_id_for,
        web_chunk_id_for,
    )
    from hybridrag.types.parse import parse_query
    from hybridrag.types.queries import (
        DateRange,
        QueryClassification,
        QueryType,
        RelationHint,
        RerankConfig,
        RRFConfig,
        SearchFilters,
        SearchMode,
        SearchOptions,
        SearchQuery,
        SearchStrategy,
        SearchWeights,
    )
    from hybridrag.types.reports import FileOutcome, FileState, IngestReport, OnProgress, Progress
    from hybridrag.types.results import (
        CorrectiveAction,
        CorrectiveActionKind,
        CRAGReport,
        CRAGScore,
        CRAGVerdict,
        FoundBy,
        Highlight,
        HighlightOffset,
        Hit,
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
        should_generate,
    )
    from hybridrag.verify.grade import verdict

    __version__: str

__all__ = [
    "Answer",
    "AnswerSentence",
    "Block",
    "BlockKind",
    "CRAGReport",
    "CRAGScore",
    "CRAGVerdict",
    "Candidate",
    "Chunk",
    "ChunkId",
    "Citation",
    "Community",
    "CommunityId",
    "CorrectiveAction",
    "CorrectiveActionKind",
    "DateRange",
    "DeadlineExceeded",
    "Document",
    "DocumentError",
    "DocumentTooLarge",
    "Embedder",
    "Engine",
    "Entity",
    "EntityId",
    "EntityType",
    "Err",
    "Evidence",
    "FileId",
    "FileInfo",
    "FileOutcome",
    "FileState",
    "FoundBy",
    "Fused",
    "GraphPath",
    "GraphStore",
    "Highlight",
    "HighlightOffset",
    "Hit",
    "IngestReport",
    "IntentMatch",
    "InvalidInput",
    "InvalidQuery",
    "InvalidSettings",
    "Judge",
    "Judgement",
    "KeywordSearch",
    "KnowledgeGraph",
    "Linker",
    "Llm",
    "LoadedSettings",
    "Merge",
    "ModelInfo",
    "ModelMismatch",
    "ModelUnavailable",
    "Neighbour",
    "NewChunk",
    "NotFound",
    "Ok",
    "OnProgress",
    "Outline",
    "Passages",
    "PathStep",
    "Plan",
    "Problem",
    "Progress",
    "ProviderError",
    "PutReport",
    "QueryClassification",
    "QueryType",
    "Question",
    "RAGError",
    "RRFConfig",
    "Relation",
    "RelationHint",
    "RelationId",
    "RelevanceScore",
    "RerankConfig",
    "Reranker",
    "Reranking",
    "Result",
    "SearchFilters",
    "SearchMode",
    "SearchOptions",
    "SearchQuery",
    "SearchResult",
    "SearchResultContent",
    "SearchResultItem",
    "SearchResultSources",
    "SearchResultType",
    "SearchStrategy",
    "SearchStrategyMetrics",
    "SearchWeights",
    "Section",
    "SectionId",
    "Settings",
    "ShownSetting",
    "StageError",
    "Step",
    "StepState",
    "Store",
    "StoreBusy",
    "StoreCorrupt",
    "StoreError",
    "StoreNotFound",
    "StoreStatus",
    "StoreVersionMismatch",
    "StrategyMetric",
    "SufficiencyEvaluation",
    "Trace",
    "TraceStep",
    "UnknownFormat",
    "UnreadableDocument",
    "VectorIndex",
    "Walk",
    "WalkLimits",
    "WebPage",
    "WebSearch",
    "__version__",
    "check_json",
    "chunk_id_for",
    "classify",
    "community_id_for",
    "deduplicate",
    "default_weights",
    "entity_id_for",
    "expand_query",
    "file_id_for",
    "filter_by_min_relevance",
    "fuse",
    "highlight_fragment",
    "json_schema",
    "load_settings",
    "make_plan",
    "new_chunk_id",
    "new_community_id",
    "new_entity_id",
    "new_file_id",
    "new_relation_id",
    "normalise_scores",
    "parse_query",
    "relation_id_for",
    "rrf_score",
    "schema_names",
    "search_keywords",
    "section_id_for",
    "should_generate",
    "sort_by_score",
    "verdict",
    "web_chunk_id_for",
]

_NAMES_BY_MODULE = {
    "config": "LoadedSettings Settings ShownSetting load_settings",
    "engine": "Engine",
    "errors": "DeadlineExceeded DocumentError DocumentTooLarge InvalidInput InvalidQuery InvalidSettings "
    "ModelMismatch ModelUnavailable NotFound ProviderError RAGError StageError StoreBusy StoreCorrupt StoreError "
    "StoreNotFound StoreVersionMismatch UnknownFormat UnreadableDocument",
    "graph.knowledge": "KnowledgeGraph",
    "graph.walk": "Walk WalkLimits",
    "protocols": "Candidate Embedder GraphStore Judge Judgement Linker Llm ModelInfo NewChunk Passages Problem "
    "PutReport Question Reranker Reranking Store StoreStatus VectorIndex WebPage WebSearch",
    "queries.classify": "classify",
    "queries.expand": "expand_query",
    "queries.plan": "Plan default_weights make_plan",
    "result": "Err Ok Result",
    "schema": "check_json json_schema schema_names",
    "search.fuse": "Fused fuse rrf_score",
    "search.highlight": "highlight_fragment",
    "search.keyword": "KeywordSearch search_keywords",
    "search.select": "Merge deduplicate filter_by_min_relevance normalise_scores sort_by_score",
    "steps": "Step StepState",
    "types.answers": "Answer AnswerSentence Citation",
    "types.documents": "Block BlockKind Chunk Document FileInfo",
    "types.graph": "Community Entity EntityType Evidence GraphPath Neighbour Outline PathStep Relation Section",
    "types.ids": "ChunkId CommunityId EntityId FileId RelationId SectionId chunk_id_for community_id_for "
    "entity_id_for file_id_for new_chunk_id new_community_id new_entity_id new_file_id new_relation_id "
    "relation_id_for section_id_for web_chunk_id_for",
    "types.parse": "parse_query",
    "types.queries": "DateRange QueryClassification QueryType RRFConfig RelationHint RerankConfig SearchFilters "
    "SearchMode SearchOptions SearchQuery SearchStrategy SearchWeights",
    "types.reports": "FileOutcome FileState IngestReport OnProgress Progress",
    "types.results": "CRAGReport CRAGScore CRAGVerdict CorrectiveAction CorrectiveActionKind FoundBy Highlight "
    "HighlightOffset Hit IntentMatch RelevanceScore SearchResult SearchResultContent SearchResultItem "
    "SearchResultSources SearchResultType SearchStrategyMetrics StrategyMetric SufficiencyEvaluation Trace "
    "TraceStep should_generate",
    "verify.grade": "verdict",
}
"""Where each public name lives. A new one is written here, in `__all__` and in the imports for type checkers; a test
keeps the three equal."""


if not TYPE_CHECKING:  # to a type checker, a module with `__getattr__` has every name, misspelt ones too

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            return import_module("importlib.metadata").version("hybridrag")
        for module, names in _NAMES_BY_MODULE.items():
            if name in names.split():
                value = getattr(import_module(f"hybridrag.{module}"), name)
                globals()[name] = value
                return value
        msg = f"module 'hybridrag' has no attribute {name!r}"
        raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
