"""The public API: exactly these names, each loaded only when it is used."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import hybridrag

PUBLIC = """
ALL_QUESTIONS ANSWER_METRICS CORRECTIVE GRAPH HYBRID HYBRID_NO_RERANK KEYWORD METRICS RECIPES SEMANTIC TUNE_KNOBS
Answer AnswerOutcome AnswerRow AnswerSentence Block BlockKind BootstrapInterval CRAGReport CRAGScore CRAGVerdict
Candidate Chunk ChunkId Citation Community CommunityId Confusion CorrectiveAction CorrectiveActionKind CoveragePoint
Dataset DateRange DeadlineExceeded Document DocumentError DocumentTooLarge Embedder Engine Entity EntityId EntityType
Err EvalAnswer EvalRun EvalSearch EvalSetting Evidence FileId FileInfo FileOutcome FileState Fitted FittedJudge
FittedLanguage FoundBy Fused GraphPath GraphStore Highlight HighlightOffset Hit IngestReport IntentMatch InvalidInput
InvalidQuery InvalidSettings Judge JudgeAgreement JudgeGain JudgeScore JudgedQuestion Judgement Judgements
KeywordSearch KnowledgeGraph LabelledCase Linker Llm LlmJudge LoadedSettings LocalJudge Merge ModelInfo ModelMismatch
ModelUnavailable Neighbour NewChunk NotFound Ok OnProgress Outline PairedDifference Passages PathStep Plan Problem
Progress ProviderError PutReport QueryClassification QueryOutcome QueryType Question RAGError RRFConfig Recipe
RecipeRun RecordingJudge Relation RelationHint RelationId RelevanceScore RememberingEmbedder RerankConfig Reranker
Reranking Result ScoreRow SearchFilters SearchMode SearchOptions SearchQuery SearchResult SearchResultContent
SearchResultItem SearchResultSources SearchResultType SearchStrategy SearchStrategyMetrics SearchWeights Section
SectionId Settings SettingsChoice ShownSetting StageError Step StepState Store StoreBusy StoreCorrupt StoreError
StoreNotFound StoreStatus StoreVersionMismatch StrategyMetric SufficiencyEvaluation SupportJudge TextDocument Trace
TraceStep TuneKnob TuneMeasure TuneTrial Tuned UnknownFormat UnreadableDocument VectorIndex Walk WalkLimits WebPage
WebSearch __version__ abstention_curve all_evidence_at answer_relevancy area_under_curve average_precision
bootstrap_interval check_json check_labelled choice_as_toml chunk_id_for classify community_id_for compare_runs
confusion context_precision context_recall cross_validate_fit dataset_halves deduplicate default_weights entity_id_for
expand_query faithfulness file_id_for filter_by_min_relevance find_recipes fit_judge fuse highlight_fragment
json_schema judge_agreement judge_questions judgements_of load_dataset load_judge load_search_judge load_settings
load_support_judge make_plan metric_values ndcg_at new_chunk_id new_community_id new_entity_id new_file_id
new_relation_id normalise_scores outcomes_of paired_difference parse_query precision_at read_fitted
read_labelled_cases recall_at reciprocal_rank_at relation_id_for rrf_score run_answers run_searches schema_names
score_answers score_run search_keywords section_id_for should_generate sort_by_score themes_covered_at tune verdict
web_chunk_id_for write_report
"""
"""Whoever changes this list changes what users may import: say so in CHANGELOG.md."""

HEAVY = ("apsw", "faiss", "httpx", "lxml", "numpy", "onnxruntime", "pydantic", "pypdf", "spacy", "sudachipy")
HEAVY_BEYOND_TYPES = tuple(name for name in HEAVY if name not in {"numpy", "pydantic"})


def loaded_after(code: str, names: tuple[str, ...]) -> list[str]:
    """Which of the modules a fresh interpreter has loaded after running the code."""
    script = f"{code}\nimport sys\nprint(*[name for name in {names!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.split()


def _constants_first(name: str) -> tuple[bool, str]:
    return (not name.isupper(), name)


def test_the_public_names_are_exactly_these() -> None:
    assert hybridrag.__all__ == PUBLIC.split()


def test_the_public_names_are_sorted() -> None:
    assert sorted(hybridrag.__all__, key=_constants_first) == hybridrag.__all__


def test_every_public_name_can_be_imported_and_is_explained() -> None:
    for name in hybridrag.__all__:
        value = getattr(hybridrag, name)
        assert name in dir(hybridrag)
        assert value.__doc__ or not (inspect.isclass(value) or inspect.isfunction(value)), name


def test_the_names_for_type_checkers_are_the_names_at_run_time() -> None:
    tree = ast.parse(Path(hybridrag.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    homes = {alias.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    at_run_time = {
        name: f"hybridrag.{module}" for module, names in hybridrag._NAMES_BY_MODULE.items() for name in names.split()
    }
    assert homes == at_run_time
    assert sorted([*homes, "__version__"], key=_constants_first) == hybridrag.__all__


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'serach'"):
        _ = hybridrag.serach  # type: ignore[attr-defined]


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert loaded_after("import hybridrag", HEAVY) == []


def test_importing_all_but_the_engine_loads_no_model_store_or_reader() -> None:
    names = ", ".join(name for name in hybridrag.__all__ if name != "Engine")
    assert loaded_after(f"from hybridrag import {names}", HEAVY_BEYOND_TYPES) == []
