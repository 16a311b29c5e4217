"""The acceptance criteria, scenario by scenario: AC-TYPE-001 to 007, AC-SCHEMA-001 and 002."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from enum import StrEnum

import pytest
from pydantic import ValidationError
from pydantic.alias_generators import to_camel

import hybridrag
from hybridrag.search.grade import grade
from hybridrag.types.base import Model
from hybridrag.types.ids import EntityId, FileId, new_chunk_id, new_file_id
from hybridrag.types.queries import (
    DateRange,
    QueryClassification,
    QueryType,
    RerankConfig,
    RRFConfig,
    SearchFilters,
    SearchOptions,
    SearchQuery,
    SearchStrategy,
    SearchWeights,
)
from hybridrag.types.results import (
    CRAGScore,
    CRAGVerdict,
    Highlight,
    HighlightOffset,
    RelevanceScore,
    SearchResult,
    SearchResultContent,
    SearchResultItem,
    SearchResultSources,
    SearchResultType,
    SearchStrategyMetrics,
    StrategyMetric,
)
from type_checker import expected, found

# Every type of the requirements, with its fields as JSON names them.
CONTRACT: dict[type[Model], str] = {
    SearchQuery: "text type embedding filters options",
    SearchFilters: "fileIds entityTypes dateRange minRelevance",
    DateRange: "start end",
    SearchOptions: ("limit offset includeMetadata includeHighlights rerankEnabled cragEnabled strategies weights"),
    SearchWeights: "keyword semantic graph",
    QueryClassification: "originalQuery type confidence extractedEntities suggestedWeights expandedQueries",
    SearchResult: "query results totalCount processingTime strategies",
    SearchResultItem: "id type score relevance content highlights sources",
    RelevanceScore: "combined keyword semantic graph rerank crag",
    CRAGScore: "relevance confidence needsWebSearch refinedQuery",
    SearchResultContent: "text summary contextBefore contextAfter",
    Highlight: "field fragment offsets",
    HighlightOffset: "start end",
    SearchResultSources: "chunkId fileId entityIds communityId relationIds",
    SearchStrategyMetrics: "keyword semantic graph",
    StrategyMetric: "enabled resultCount processingTime topScore",
    RRFConfig: "k normalizeScores",
    RerankConfig: "enabled model topK batchSize",
}
ENUMS: dict[type[StrEnum], list[str]] = {
    QueryType: ["local", "global", "relationship", "hybrid"],
    SearchStrategy: ["keyword", "semantic", "graph", "hybrid"],
    SearchResultType: ["chunk", "entity", "community"],
}


# AC-TYPE-001: the query


@pytest.mark.heavy
def test_ac_type_001_1_every_property_of_a_query_has_its_inferred_type() -> None:
    assert found("inferred_types.py") == []


@pytest.mark.heavy
def test_ac_type_001_2_a_query_without_text_does_not_type_check() -> None:
    assert found("missing_field.py") == expected("missing_field.py")
    assert 'Missing named argument "text" for "SearchQuery"  [call-arg]' in dict(found("missing_field.py")).values()


def test_ac_type_001_2_a_query_without_text_is_refused_when_it_runs() -> None:
    with pytest.raises(ValidationError, match="text"):
        SearchQuery.model_validate({})


@pytest.mark.heavy
def test_ac_type_001_3_assigning_to_a_property_does_not_type_check() -> None:
    assert found("read_only.py") == expected("read_only.py")
    assert 'Property "text" defined in "SearchQuery" is read-only  [misc]' in dict(found("read_only.py")).values()


def test_ac_type_001_3_assigning_to_a_property_is_refused_when_it_runs() -> None:
    query = SearchQuery(text="old text")
    with pytest.raises(ValidationError, match="frozen"):
        query.text = "new text"  # type: ignore[misc] # what this is about
    assert query.text == "old text"


# AC-TYPE-002: the weights


def test_ac_type_002_1_weights_that_sum_to_one_are_accepted() -> None:
    assert SearchWeights.model_validate({"keyword": 0.35, "semantic": 0.35, "graph": 0.30}).graph == 0.30


def test_ac_type_002_2_weights_that_sum_to_more_are_refused_in_these_words() -> None:
    with pytest.raises(ValidationError, match=r"Weights must sum to 1\.0"):
        SearchWeights.model_validate({"keyword": 0.5, "semantic": 0.5, "graph": 0.5})


def test_ac_type_002_3_weights_a_thousandth_off_are_accepted() -> None:
    assert SearchWeights.model_validate({"keyword": 0.334, "semantic": 0.333, "graph": 0.333}).keyword == 0.334


# AC-TYPE-003: the date range


def test_ac_type_003_1_a_year_is_accepted() -> None:
    span = DateRange.model_validate({"start": "2024-01-01", "end": "2024-12-31"})
    assert span.start == datetime(2024, 1, 1, tzinfo=UTC)
    assert span.contains(datetime(2024, 6, 1, tzinfo=UTC))


def test_ac_type_003_2_a_year_backwards_is_refused_in_these_words() -> None:
    with pytest.raises(ValidationError, match="start must be before or equal to end"):
        DateRange.model_validate({"start": "2024-12-31", "end": "2024-01-01"})


def test_ac_type_003_3_a_range_without_an_end_is_accepted() -> None:
    assert DateRange.model_validate({"start": "2024-01-01", "end": None}).end is None


# AC-TYPE-004: the scores


def test_ac_type_004_1_scores_between_zero_and_one_are_accepted() -> None:
    data = {"combined": 0.85, "keyword": 0.7, "semantic": 0.9, "graph": 0.8, "rerank": 0.88, "crag": None}
    assert RelevanceScore.model_validate(data).model_dump() == data


def test_ac_type_004_2_a_score_above_one_is_refused_by_name() -> None:
    data = {"combined": 1.5, "keyword": 0.7, "semantic": 0.9, "graph": 0.8, "rerank": None, "crag": None}
    with pytest.raises(ValidationError) as refusal:
        RelevanceScore.model_validate(data)
    assert [error["loc"] for error in refusal.value.errors()] == [("combined",)]


# AC-TYPE-005: the verdict


def test_ac_type_005_1_a_correct_verdict_needs_no_web_search() -> None:
    graded = grade(0.8)
    assert graded.relevance is CRAGVerdict.CORRECT
    assert not graded.needs_web_search


def test_ac_type_005_2_an_incorrect_verdict_needs_one_and_may_carry_a_better_question() -> None:
    graded = grade(0.2, refined_query="limits of the free plan")
    assert graded.relevance is CRAGVerdict.INCORRECT
    assert graded.needs_web_search
    assert graded.refined_query == "limits of the free plan"


def test_ac_type_005_3_an_ambiguous_verdict_needs_one() -> None:
    graded = grade(0.5)
    assert graded.relevance is CRAGVerdict.AMBIGUOUS
    assert graded.needs_web_search


# AC-TYPE-006: the sources


@pytest.mark.heavy
def test_ac_type_006_1_a_chunk_id_fits_and_type_checks() -> None:
    assert found("right_ids.py") == []
    chunk_id = new_chunk_id()
    assert SearchResultSources(chunk_id=chunk_id).chunk_id is chunk_id


@pytest.mark.heavy
def test_ac_type_006_2_a_file_id_in_the_place_of_a_chunk_id_does_not_type_check() -> None:
    message = (
        'Argument "chunk_id" to "SearchResultSources" has incompatible type "FileId"; '
        'expected "ChunkId | None"  [arg-type]'
    )
    assert found("wrong_id.py") == expected("wrong_id.py")
    assert message in dict(found("wrong_id.py")).values()


def test_ac_type_006_2_a_file_id_in_the_place_of_a_chunk_id_is_refused_when_it_runs() -> None:
    with pytest.raises(ValidationError, match="FileId given where ChunkId belongs"):
        SearchResultSources.model_validate({"chunk_id": new_file_id()})


def test_ac_type_006_3_a_list_of_entity_ids_fits() -> None:
    one, two = EntityId.derived("id1"), EntityId.derived("id2")
    assert SearchResultSources(entity_ids=(one, two)).entity_ids == (one, two)
    assert SearchResultSources.model_validate({"entityIds": [one, two]}).entity_ids == (one, two)
    with pytest.raises(ValidationError, match="FileId given where EntityId belongs"):
        SearchResultSources.model_validate({"entityIds": [FileId.derived("id1")]})


# AC-TYPE-007: the offsets


def test_ac_type_007_1_an_offset_forwards_is_accepted() -> None:
    assert HighlightOffset.model_validate({"start": 10, "end": 25}).model_dump() == {"start": 10, "end": 25}


def test_ac_type_007_2_an_offset_backwards_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"start \(25\) must be before end \(10\)"):
        HighlightOffset.model_validate({"start": 25, "end": 10})


def test_ac_type_007_3_a_negative_offset_is_refused() -> None:
    with pytest.raises(ValidationError, match="start"):
        HighlightOffset.model_validate({"start": -5, "end": 10})


# AC-SCHEMA-001: a schema for every type


@pytest.mark.parametrize("kind", CONTRACT, ids=lambda kind: kind.__name__)
def test_ac_schema_001_1_every_type_validates_itself_and_has_a_public_schema(kind: type[Model]) -> None:
    schema = kind.model_json_schema()
    assert set(CONTRACT[kind].split()) <= set(schema["properties"])
    assert kind.__name__ in hybridrag.schema_names()


@pytest.mark.parametrize("kind", ENUMS, ids=lambda kind: kind.__name__)
def test_ac_schema_001_1_every_enumeration_has_exactly_its_values(kind: type[StrEnum]) -> None:
    assert [str(member) for member in kind] == ENUMS[kind]
    assert getattr(hybridrag, kind.__name__) is kind


@pytest.mark.parametrize("kind", CONTRACT, ids=lambda kind: kind.__name__)
def test_ac_schema_001_2_the_schema_and_the_type_have_the_same_fields(kind: type[Model]) -> None:
    assert set(kind.model_json_schema()["properties"]) == {to_camel(name) for name in kind.__annotations__}


# AC-SCHEMA-002: the defaults


def test_ac_schema_002_1_options_from_nothing_have_these_defaults() -> None:
    assert json.loads(SearchOptions.model_validate_json("{}").model_dump_json()) == {
        "limit": 20,
        "offset": 0,
        "includeMetadata": True,
        "includeHighlights": True,
        "rerankEnabled": True,
        "cragEnabled": False,
        "strategies": ["hybrid"],
        "weights": {"keyword": 0.35, "semantic": 0.35, "graph": 0.30},
    }


def test_ac_schema_002_2_rank_fusion_from_nothing_has_these_defaults() -> None:
    assert json.loads(RRFConfig.model_validate_json("{}").model_dump_json()) == {"k": 60, "normalizeScores": True}


def test_ac_schema_002_2_reranking_and_filters_from_nothing_have_their_defaults_too() -> None:
    assert json.loads(RerankConfig.model_validate_json("{}").model_dump_json()) == {
        "enabled": True,
        "model": "cross-encoder/ms-marco-MiniLM-L-6-v2",
        "topK": 50,
        "batchSize": 16,
    }
    assert SearchFilters.model_validate_json("{}").min_relevance == 0.3
