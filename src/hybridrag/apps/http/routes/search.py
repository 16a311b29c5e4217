"""Search, answer, classify."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from hybridrag import Answer, QueryClassification, SearchQuery, SearchResult
from hybridrag import classify as classify_text
from hybridrag.apps.http.depend import PROBLEMS, Searching, State
from hybridrag.apps.http.events import EventStream, respond_with_steps
from hybridrag.apps.http.guard import TRACE_ID
from hybridrag.apps.http.wire import ClassifyRequest

router = APIRouter(prefix="/v1", tags=["search"], responses=PROBLEMS)

Explain = Annotated[bool, Query(description="Whether the result carries its trace, step by step.")]


def as_json(text: str) -> Response:
    """JSON that a model wrote; it needs no second validation."""
    return Response(text, media_type="application/json")


@router.post("/search", response_model=SearchResult)
async def search(query: SearchQuery, state: State, access: Searching, *, explain: Explain = False) -> Response:
    """The best passages for a question, each with where it comes from and which search found it."""
    return as_json(
        await state.work(
            lambda: access.search(query, explain=explain, on_step=state.count_step).model_dump_json(by_alias=True)
        )
    )


@router.post("/search/stream", response_class=EventStream)
async def search_stream(query: SearchQuery, request: Request, state: State, access: Searching) -> EventStream:
    """The same as events: each `step` as it ends, then the `result`, or a `problem`."""
    query = access.scoped(query)
    return respond_with_steps(
        state,
        "result",
        lambda tell: access.search(query, explain=True, on_step=tell),
        trace_id=request.scope[TRACE_ID],
    )


@router.post("/answer", response_model=Answer)
async def answer(query: SearchQuery, state: State, access: Searching) -> Response:
    """An answer with citations, or a plain abstention that says what is missing."""
    return as_json(await state.work(lambda: access.answer(query, on_step=state.count_step).model_dump_json()))


@router.post("/answer/stream", response_class=EventStream)
async def answer_stream(query: SearchQuery, request: Request, state: State, access: Searching) -> EventStream:
    """The same as events: each `step` as it ends, then the `answer`, or a `problem`."""
    query = access.scoped(query)
    return respond_with_steps(
        state,
        "answer",
        lambda tell: access.answer(query, on_step=tell),
        trace_id=request.scope[TRACE_ID],
    )


@router.post("/classify", response_model=QueryClassification)
async def classify(question: ClassifyRequest, state: State, access: Searching) -> Response:
    """What kind of answer a question wants, and what it names."""
    del access
    return as_json(await state.work(lambda: classify_text(question.text).model_dump_json()))
