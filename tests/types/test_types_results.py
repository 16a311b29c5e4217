"""Results: scores stay within 0-1, offsets point forwards, and a result leads back to what it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from hybridrag.steps import Step, StepState
from hybridrag.types.ids import ChunkId, CommunityId, EntityId
from hybridrag.types.results import (
    CorrectiveAction,
    CorrectiveActionKind,
    FoundBy,
    HighlightOffset,
    Hit,
    RelevanceScore,
    SearchResultItem,
    SearchResultSources,
    SearchResultType,
    StrategyMetric,
    SufficiencyEvaluation,
    Trace,
    TraceStep,
    should_generate,
)
from model_strategies import SETTINGS, scores

# Fixed, because a test is named by its parameters.
CHUNK, ENTITY, COMMUNITY = ChunkId.derived("a"), EntityId.derived("a"), CommunityId.derived("a")
any_number = st.floats(allow_nan=True, allow_infinity=True)


@SETTINGS
@given(start=st.integers(-5, 50), end=st.integers(-5, 50))
def test_an_offset_points_forwards_from_zero(start: int, end: int) -> None:
    try:
        offset = HighlightOffset(start=start, end=end)
    except ValidationError:
        assert not 0 <= start < end
    else:
        assert 0 <= start < end
        assert (offset.start, offset.end) == (start, end)


@SETTINGS
@given(name=st.sampled_from(["combined", "keyword", "semantic", "graph", "rerank"]), value=any_number)
def test_every_score_lies_between_zero_and_one(name: str, value: float) -> None:
    data = {"combined": 0.5, name: value}
    if 0 <= value <= 1:
        assert getattr(RelevanceScore.model_validate(data), name) == value
    else:
        with pytest.raises(ValidationError, match=name):
            RelevanceScore.model_validate(data)


@SETTINGS
@given(value=any_number)
def test_times_are_finite_and_not_negative(value: float) -> None:
    try:
        StrategyMetric(enabled=True, processing_time=value)
    except ValidationError:
        assert not 0 <= value < float("inf")
    else:
        assert 0 <= value < float("inf")


def test_ranks_begin_at_one() -> None:
    with pytest.raises(ValidationError):
        FoundBy.model_validate({"strategy": "keyword", "rank": 0, "score": 0.5})


@pytest.mark.parametrize("kind", SearchResultType)
@pytest.mark.parametrize("chunk_id", [None, CHUNK])
@pytest.mark.parametrize("entity_ids", [(), (ENTITY,)])
@pytest.mark.parametrize("community_id", [None, COMMUNITY])
def test_a_result_is_accepted_exactly_when_its_sources_name_what_it_is(
    kind: SearchResultType,
    chunk_id: ChunkId | None,
    entity_ids: tuple[EntityId, ...],
    community_id: CommunityId | None,
) -> None:
    named = {
        SearchResultType.CHUNK: chunk_id is not None,
        SearchResultType.ENTITY: bool(entity_ids),
        SearchResultType.COMMUNITY: community_id is not None,
    }
    sources = SearchResultSources(chunk_id=chunk_id, entity_ids=entity_ids, community_id=community_id)
    data = {"id": "x", "type": kind, "score": 0.5, "relevance": {"combined": 0.5}, "content": {"text": "t"}}
    if named[kind]:
        assert SearchResultItem.model_validate({**data, "sources": sources}).sources == sources
    else:
        with pytest.raises(ValidationError, match=f"{kind.value} result needs"):
            SearchResultItem.model_validate({**data, "sources": sources})


@SETTINGS
@given(sufficient=st.booleans(), confidence=scores, least=scores)
def test_an_answer_needs_a_context_judged_sufficient_with_enough_confidence(
    sufficient: bool, confidence: float, least: float
) -> None:
    evaluation = SufficiencyEvaluation(is_sufficient=sufficient, confidence=confidence)
    assert should_generate(evaluation, min_confidence=least) is (sufficient and confidence >= least)


@SETTINGS
@given(before=scores, after=scores)
def test_a_corrective_action_helped_when_the_grade_rose(before: float, after: float) -> None:
    action = CorrectiveAction(kind=CorrectiveActionKind.REWRITE_QUERY, before=before, after=after)
    assert action.helped is (after > before)


def test_a_trace_gives_the_first_entry_of_a_step_or_none() -> None:
    first = TraceStep(step=Step.GRADE, state=StepState.DONE)
    second = TraceStep(step=Step.GRADE, state=StepState.DEGRADED, reason="after the correction")
    trace = Trace(steps=(first, second))
    assert trace.of(Step.GRADE) is first
    assert trace.of(Step.ANSWER) is None


def test_details_that_json_cannot_hold_are_refused_where_they_are_written() -> None:
    with pytest.raises(ValidationError, match="details"):
        TraceStep.model_validate({"step": "fuse", "state": "done", "details": {"when": object()}})


def test_two_hits_of_one_item_are_equal_whatever_explains_their_score() -> None:
    assert Hit(id="a", score=0.5, details={"bm25": 3.1}) == Hit(id="a", score=0.5)
    assert hash(Hit(id="a", score=0.5, details={"bm25": 3.1})) == hash(Hit(id="a", score=0.5))
