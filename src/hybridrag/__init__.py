"""HybridRAG: search your own documents by keyword, meaning and knowledge graph at once.

`from hybridrag import ...` is the public API of the engine, `from hybridrag.evaluate import ...` that of evaluation.
A name is loaded when it is first used, so that the command line starts fast and nobody pays for what they do not call.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hybridrag.lazy import load_name

if TYPE_CHECKING:
    from hybridrag.config import LoadedSettings, Settings, load_settings
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
    from hybridrag.protocols import Embedder, Llm, Problem, Reranker, WebSearch
    from hybridrag.queries.classify import classify
    from hybridrag.queries.plan import default_weights
    from hybridrag.recipes import (
        CORRECTIVE,
        GRAPH,
        HYBRID,
        KEYWORD,
        RECIPES,
        SEMANTIC,
        Recipe,
        find_recipes,
    )
    from hybridrag.result import Err, Ok, Result
    from hybridrag.schema import check_json, json_schema, schema_names
    from hybridrag.search.fuse import fuse
    from hybridrag.steps import StepState
    from hybridrag.types.answers import Answer, Citation
    from hybridrag.types.documents import Chunk, FileInfo
    from hybridrag.types.graph import Community, Entity, EntityType, GraphPath, Outline, Relation, Section
    from hybridrag.types.parse import parse_query
    from hybridrag.types.queries import (
        DateRange,
        QueryClassification,
        QueryType,
        SearchFilters,
        SearchMode,
        SearchOptions,
        SearchQuery,
        SearchStrategy,
        SearchWeights,
    )
    from hybridrag.types.reports import FileState, IngestReport, OnProgress, Progress
    from hybridrag.types.results import (
        CorrectiveActionKind,
        Highlight,
        Hit,
        SearchResult,
        SearchResultItem,
        SearchResultType,
    )
    from hybridrag.types.sources import TextDocument

    __version__: str

__all__ = [
    "CORRECTIVE",
    "GRAPH",
    "HYBRID",
    "KEYWORD",
    "RECIPES",
    "SEMANTIC",
    "Answer",
    "Chunk",
    "Citation",
    "Community",
    "CorrectiveActionKind",
    "DateRange",
    "DeadlineExceeded",
    "DocumentError",
    "DocumentTooLarge",
    "Embedder",
    "Engine",
    "Entity",
    "EntityType",
    "Err",
    "FileInfo",
    "FileState",
    "GraphPath",
    "Highlight",
    "Hit",
    "IngestReport",
    "InvalidInput",
    "InvalidQuery",
    "InvalidSettings",
    "KnowledgeGraph",
    "Llm",
    "LoadedSettings",
    "ModelMismatch",
    "ModelUnavailable",
    "NotFound",
    "Ok",
    "OnProgress",
    "Outline",
    "Problem",
    "Progress",
    "ProviderError",
    "QueryClassification",
    "QueryType",
    "RAGError",
    "Recipe",
    "Relation",
    "Reranker",
    "Result",
    "SearchFilters",
    "SearchMode",
    "SearchOptions",
    "SearchQuery",
    "SearchResult",
    "SearchResultItem",
    "SearchResultType",
    "SearchStrategy",
    "SearchWeights",
    "Section",
    "Settings",
    "StageError",
    "StepState",
    "StoreBusy",
    "StoreCorrupt",
    "StoreError",
    "StoreNotFound",
    "StoreVersionMismatch",
    "TextDocument",
    "UnknownFormat",
    "UnreadableDocument",
    "WebSearch",
    "__version__",
    "check_json",
    "classify",
    "default_weights",
    "find_recipes",
    "fuse",
    "json_schema",
    "load_settings",
    "parse_query",
    "schema_names",
]

_NAMES_BY_MODULE = {
    "config": "LoadedSettings Settings load_settings",
    "engine": "Engine",
    "errors": "DeadlineExceeded DocumentError DocumentTooLarge InvalidInput InvalidQuery InvalidSettings "
    "ModelMismatch ModelUnavailable NotFound ProviderError RAGError StageError StoreBusy "
    "StoreCorrupt StoreError StoreNotFound StoreVersionMismatch UnknownFormat "
    "UnreadableDocument",
    "graph.knowledge": "KnowledgeGraph",
    "protocols": "Embedder Llm Problem Reranker WebSearch",
    "queries.classify": "classify",
    "queries.plan": "default_weights",
    "recipes": "CORRECTIVE GRAPH HYBRID KEYWORD RECIPES Recipe SEMANTIC find_recipes",
    "result": "Err Ok Result",
    "schema": "check_json json_schema schema_names",
    "search.fuse": "fuse",
    "steps": "StepState",
    "types.answers": "Answer Citation",
    "types.documents": "Chunk FileInfo",
    "types.graph": "Community Entity EntityType GraphPath Outline Relation Section",
    "types.parse": "parse_query",
    "types.queries": "DateRange QueryClassification QueryType SearchFilters SearchMode SearchOptions SearchQuery "
    "SearchStrategy SearchWeights",
    "types.reports": "FileState IngestReport OnProgress Progress",
    "types.results": "CorrectiveActionKind Highlight Hit SearchResult SearchResultItem SearchResultType",
    "types.sources": "TextDocument",
}
"""Where each public name lives. A new one is written here, in `__all__` and in the imports for type checkers; a test
keeps the three equal."""


if not TYPE_CHECKING:  # to a type checker, a module with `__getattr__` has every name, misspelt ones too

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            return import_module("importlib.metadata").version("hybridrag")
        return load_name(name, _NAMES_BY_MODULE, globals())


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
