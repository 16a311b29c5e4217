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
    from hybridrag.evaluate.accuracy import Confusion, CoveragePoint, abstention_curve, area_under_curve, confusion
    from hybridrag.evaluate.agreement import JudgeAgreement, LabelledCase, judge_agreement, read_labelled_cases
    from hybridrag.evaluate.answering import ANSWER_METRICS, AnswerRow, EvalAnswer, run_answers, score_answers
    from hybridrag.evaluate.datasets import Dataset, load_dataset
    from hybridrag.evaluate.fit_judge import (
        JudgedQuestion,
        JudgeGain,
        JudgeScore,
        RecordingJudge,
        check_labelled,
        cross_validate_fit,
        judge_questions,
    )
    from hybridrag.evaluate.generation import answer_relevancy, context_precision, context_recall, faithfulness
    from hybridrag.evaluate.judgements import Judgements, judgements_of
    from hybridrag.evaluate.metrics import (
        all_evidence_at,
        average_precision,
        ndcg_at,
        precision_at,
        recall_at,
        reciprocal_rank_at,
        themes_covered_at,
    )
    from hybridrag.evaluate.report import write_report
    from hybridrag.evaluate.resample import BootstrapInterval, PairedDifference, bootstrap_interval, paired_difference
    from hybridrag.evaluate.runs import (
        AnswerOutcome,
        EvalRun,
        EvalSearch,
        EvalSetting,
        QueryOutcome,
        RecipeRun,
        run_searches,
    )
    from hybridrag.evaluate.score import (
        ALL_QUESTIONS,
        METRICS,
        ScoreRow,
        compare_runs,
        metric_values,
        outcomes_of,
        score_run,
    )
    from hybridrag.evaluate.support import LlmJudge, LocalJudge, SupportJudge
    from hybridrag.evaluate.tune import (
        TUNE_KNOBS,
        RememberingEmbedder,
        SettingsChoice,
        Tuned,
        TuneKnob,
        TuneMeasure,
        TuneTrial,
        choice_as_toml,
        dataset_halves,
        tune,
    )
    from hybridrag.graph.knowledge import KnowledgeGraph
    from hybridrag.graph.walk import Walk, WalkLimits
    from hybridrag.parts import load_judge, load_search_judge, load_support_judge
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
    from hybridrag.recipes import (
        CORRECTIVE,
        GRAPH,
        HYBRID,
        HYBRID_NO_RERANK,
        KEYWORD,
        RECIPES,
        SEMANTIC,
        Recipe,
        find_recipes,
    )
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
    from hybridrag.types.sources import TextDocument
    from hybridrag.verify.fitted import Fitted, FittedJudge, FittedLanguage, fit_judge, read_fitted
    from hybridrag.verify.grade import verdict

    __version__: str

__all__ = [
    "ALL_QUESTIONS",
    "ANSWER_METRICS",
    "CORRECTIVE",
    "GRAPH",
    "HYBRID",
    "HYBRID_NO_RERANK",
    "KEYWORD",
    "METRICS",
    "RECIPES",
    "SEMANTIC",
    "TUNE_KNOBS",
    "Answer",
    "AnswerOutcome",
    "AnswerRow",
    "AnswerSentence",
    "Block",
    "BlockKind",
    "BootstrapInterval",
    "CRAGReport",
    "CRAGScore",
    "CRAGVerdict",
    "Candidate",
    "Chunk",
    "ChunkId",
    "Citation",
    "Community",
    "CommunityId",
    "Confusion",
    "CorrectiveAction",
    "CorrectiveActionKind",
    "CoveragePoint",
    "Dataset",
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
    "EvalAnswer",
    "EvalRun",
    "EvalSearch",
    "EvalSetting",
    "Evidence",
    "FileId",
    "FileInfo",
    "FileOutcome",
    "FileState",
    "Fitted",
    "FittedJudge",
    "FittedLanguage",
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
    "JudgeAgreement",
    "JudgeGain",
    "JudgeScore",
    "JudgedQuestion",
    "Judgement",
    "Judgements",
    "KeywordSearch",
    "KnowledgeGraph",
    "LabelledCase",
    "Linker",
    "Llm",
    "LlmJudge",
    "LoadedSettings",
    "LocalJudge",
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
    "PairedDifference",
    "Passages",
    "PathStep",
    "Plan",
    "Problem",
    "Progress",
    "ProviderError",
    "PutReport",
    "QueryClassification",
    "QueryOutcome",
    "QueryType",
    "Question",
    "RAGError",
    "RRFConfig",
    "Recipe",
    "RecipeRun",
    "RecordingJudge",
    "Relation",
    "RelationHint",
    "RelationId",
    "RelevanceScore",
    "RememberingEmbedder",
    "RerankConfig",
    "Reranker",
    "Reranking",
    "Result",
    "ScoreRow",
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
    "SettingsChoice",
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
    "SupportJudge",
    "TextDocument",
    "Trace",
    "TraceStep",
    "TuneKnob",
    "TuneMeasure",
    "TuneTrial",
    "Tuned",
    "UnknownFormat",
    "UnreadableDocument",
    "VectorIndex",
    "Walk",
    "WalkLimits",
    "WebPage",
    "WebSearch",
    "__version__",
    "abstention_curve",
    "all_evidence_at",
    "answer_relevancy",
    "area_under_curve",
    "average_precision",
    "bootstrap_interval",
    "check_json",
    "check_labelled",
    "choice_as_toml",
    "chunk_id_for",
    "classify",
    "community_id_for",
    "compare_runs",
    "confusion",
    "context_precision",
    "context_recall",
    "cross_validate_fit",
    "dataset_halves",
    "deduplicate",
    "default_weights",
    "entity_id_for",
    "expand_query",
    "faithfulness",
    "file_id_for",
    "filter_by_min_relevance",
    "find_recipes",
    "fit_judge",
    "fuse",
    "highlight_fragment",
    "json_schema",
    "judge_agreement",
    "judge_questions",
    "judgements_of",
    "load_dataset",
    "load_judge",
    "load_search_judge",
    "load_settings",
    "load_support_judge",
    "make_plan",
    "metric_values",
    "ndcg_at",
    "new_chunk_id",
    "new_community_id",
    "new_entity_id",
    "new_file_id",
    "new_relation_id",
    "normalise_scores",
    "outcomes_of",
    "paired_difference",
    "parse_query",
    "precision_at",
    "read_fitted",
    "read_labelled_cases",
    "recall_at",
    "reciprocal_rank_at",
    "relation_id_for",
    "rrf_score",
    "run_answers",
    "run_searches",
    "schema_names",
    "score_answers",
    "score_run",
    "search_keywords",
    "section_id_for",
    "should_generate",
    "sort_by_score",
    "themes_covered_at",
    "tune",
    "verdict",
    "web_chunk_id_for",
    "write_report",
]

_NAMES_BY_MODULE = {
    "config": "LoadedSettings Settings ShownSetting load_settings",
    "engine": "Engine",
    "errors": "DeadlineExceeded DocumentError DocumentTooLarge InvalidInput InvalidQuery InvalidSettings "
    "ModelMismatch ModelUnavailable NotFound ProviderError RAGError StageError StoreBusy "
    "StoreCorrupt StoreError StoreNotFound StoreVersionMismatch UnknownFormat UnreadableDocument",
    "evaluate.accuracy": "Confusion CoveragePoint abstention_curve area_under_curve confusion",
    "evaluate.agreement": "JudgeAgreement LabelledCase judge_agreement read_labelled_cases",
    "evaluate.answering": "ANSWER_METRICS AnswerRow EvalAnswer run_answers score_answers",
    "evaluate.datasets": "Dataset load_dataset",
    "evaluate.fit_judge": "JudgeGain JudgeScore JudgedQuestion RecordingJudge check_labelled cross_validate_fit "
    "judge_questions",
    "evaluate.generation": "answer_relevancy context_precision context_recall faithfulness",
    "evaluate.judgements": "Judgements judgements_of",
    "evaluate.metrics": "all_evidence_at average_precision ndcg_at precision_at recall_at reciprocal_rank_at "
    "themes_covered_at",
    "evaluate.report": "write_report",
    "evaluate.resample": "BootstrapInterval PairedDifference bootstrap_interval paired_difference",
    "evaluate.runs": "AnswerOutcome EvalRun EvalSearch EvalSetting QueryOutcome RecipeRun run_searches",
    "evaluate.score": "ALL_QUESTIONS METRICS ScoreRow compare_runs metric_values outcomes_of score_run",
    "evaluate.support": "LlmJudge LocalJudge SupportJudge",
    "evaluate.tune": "RememberingEmbedder SettingsChoice TUNE_KNOBS TuneKnob TuneMeasure TuneTrial Tuned "
    "choice_as_toml dataset_halves tune",
    "graph.knowledge": "KnowledgeGraph",
    "graph.walk": "Walk WalkLimits",
    "parts": "load_judge load_search_judge load_support_judge",
    "protocols": "Candidate Embedder GraphStore Judge Judgement Linker Llm ModelInfo NewChunk Passages "
    "Problem PutReport Question Reranker Reranking Store StoreStatus VectorIndex WebPage "
    "WebSearch",
    "queries.classify": "classify",
    "queries.expand": "expand_query",
    "queries.plan": "Plan default_weights make_plan",
    "recipes": "CORRECTIVE GRAPH HYBRID HYBRID_NO_RERANK KEYWORD RECIPES Recipe SEMANTIC find_recipes",
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
    "entity_id_for file_id_for new_chunk_id new_community_id new_entity_id new_file_id "
    "new_relation_id relation_id_for section_id_for web_chunk_id_for",
    "types.parse": "parse_query",
    "types.queries": "DateRange QueryClassification QueryType RRFConfig RelationHint RerankConfig "
    "SearchFilters SearchMode SearchOptions SearchQuery SearchStrategy SearchWeights",
    "types.reports": "FileOutcome FileState IngestReport OnProgress Progress",
    "types.results": "CRAGReport CRAGScore CRAGVerdict CorrectiveAction CorrectiveActionKind FoundBy "
    "Highlight HighlightOffset Hit IntentMatch RelevanceScore SearchResult "
    "SearchResultContent SearchResultItem SearchResultSources SearchResultType "
    "SearchStrategyMetrics StrategyMetric SufficiencyEvaluation Trace TraceStep "
    "should_generate",
    "types.sources": "TextDocument",
    "verify.fitted": "Fitted FittedJudge FittedLanguage fit_judge read_fitted",
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
