"""The public API: exactly these names, each loaded only when it is used."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import hybridrag
from hybridrag import evaluate

PUBLIC = """
CORRECTIVE GRAPH HYBRID KEYWORD RECIPES SEMANTIC Answer Chunk Citation Community CorrectiveActionKind DateRange
DeadlineExceeded DocumentError DocumentTooLarge Embedder Engine Entity EntityType Err FileInfo FileState GraphPath
Highlight Hit IngestReport InvalidInput InvalidQuery InvalidSettings KnowledgeGraph Llm LoadedSettings ModelMismatch
ModelUnavailable NotFound Ok OnProgress Outline Problem Progress ProviderError QueryClassification QueryType RAGError
Recipe Relation Reranker Result SearchFilters SearchMode SearchOptions SearchQuery SearchResult SearchResultItem
SearchResultType SearchStrategy SearchWeights Section Settings StageError StepState StoreBusy StoreCorrupt StoreError
StoreNotFound StoreVersionMismatch TextDocument UnknownFormat UnreadableDocument WebSearch __version__ check_json
classify default_weights find_recipes fuse json_schema load_settings parse_query schema_names
"""
"""Whoever changes this list changes what users may import: say so in CHANGELOG.md. At most eighty."""

EVALUATION = """
ALL_QUESTIONS ANSWER_METRICS METRICS TUNE_KNOBS AnswerOutcome AnswerRow BootstrapInterval Confusion CoveragePoint
Dataset EvalAnswer EvalRun EvalSearch EvalSetting JudgeAgreement Judgements LabelledCase PairedDifference QueryOutcome
RecipeRun RememberingEmbedder ScoreRow SettingsChoice SupportByLlm SupportByWords SupportJudge TuneKnob TuneMeasure
TuneTrial Tuned abstention_curve all_evidence_at answer_relevancy area_under_curve average_precision
bootstrap_interval choice_as_toml compare_runs confusion context_precision context_recall dataset_halves faithfulness
judge_agreement judgements_of load_dataset load_judge load_support_judge metric_values ndcg_at outcomes_of
paired_difference precision_at read_labelled_cases recall_at reciprocal_rank_at run_answers run_searches score_answers
score_run themes_covered_at tune write_report
"""
"""What `from hybridrag.evaluate import ...` offers."""

BOTH = pytest.mark.parametrize("package", [hybridrag, evaluate], ids=["engine", "evaluation"])

HEAVY = ("apsw", "faiss", "httpx", "lxml", "numpy", "onnxruntime", "pydantic", "pypdfium2", "spacy", "sudachipy")
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
    assert evaluate.__all__ == EVALUATION.split()
    assert len(hybridrag.__all__) <= 80


@BOTH
def test_the_public_names_are_sorted(package: ModuleType) -> None:
    assert sorted(package.__all__, key=_constants_first) == package.__all__


@BOTH
def test_every_public_name_can_be_imported_and_is_explained(package: ModuleType) -> None:
    for name in package.__all__:
        value = getattr(package, name)
        assert name in dir(package)
        assert not inspect.ismodule(value), name
        assert value.__doc__ or not (inspect.isclass(value) or inspect.isfunction(value)), name


@BOTH
def test_the_names_for_type_checkers_are_the_names_at_run_time(package: ModuleType) -> None:
    tree = ast.parse(Path(str(package.__file__)).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    homes = {alias.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    at_run_time = {
        name: f"hybridrag.{module}" for module, names in package._NAMES_BY_MODULE.items() for name in names.split()
    }
    assert homes == at_run_time
    assert set(package.__all__) - {"__version__"} == set(homes)


def test_no_public_name_is_hidden_by_a_module_of_its_package() -> None:
    for package in (hybridrag, evaluate):
        modules = {file.stem for file in Path(str(package.__file__)).parent.iterdir()}
        assert modules & set(package.__all__) == set()


@BOTH
def test_a_name_that_does_not_exist_is_an_attribute_error(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'serach'"):
        _ = package.serach


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert loaded_after("import hybridrag", HEAVY) == []


def test_importing_all_but_the_engine_loads_no_model_store_or_reader() -> None:
    names = ", ".join(name for name in hybridrag.__all__ if name != "Engine")
    assert loaded_after(f"from hybridrag import {names}", HEAVY_BEYOND_TYPES) == []
    names = ", ".join(evaluate.__all__)
    assert loaded_after(f"from hybridrag.evaluate import {names}", HEAVY_BEYOND_TYPES) == []
