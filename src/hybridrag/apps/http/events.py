"""Server-sent events: what happens, as it happens, and a sign of life in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from fastapi.sse import format_sse_event
from pydantic import BaseModel
from starlette.responses import StreamingResponse

from hybridrag.apps.http.problems import problem_of
from hybridrag.apps.http.state import ServerState
from hybridrag.types.results import OnStep, TraceStep

ALIVE_SECONDS = 1.0
"""A line is sent at least this often, so that proxies keep the connection and callers know that it lives."""

ALIVE = b": alive\n\n"


class EventStream(StreamingResponse):
    """Server-sent events.

    FastAPI's own class wants the route itself to be the generator, which begins its answer before anything could be
    refused.
    """

    media_type = "text/event-stream"


def event(name: str, value: BaseModel) -> bytes:
    """One event, with its value as JSON."""
    return format_sse_event(event=name, data_str=value.model_dump_json())


def respond_with_steps(
    state: ServerState, name: str, call: Callable[[OnStep], BaseModel], *, trace_id: str
) -> EventStream:
    """Each step of a search as an event `step`, then its result as an event of that name, or a `problem`."""
    return EventStream(_steps(state, name, call, trace_id))


async def _steps(
    state: ServerState, name: str, call: Callable[[OnStep], BaseModel], trace_id: str
) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    steps: asyncio.Queue[TraceStep] = asyncio.Queue()

    def tell(step: TraceStep) -> None:
        state.count_step(step)
        loop.call_soon_threadsafe(steps.put_nowait, step)

    work: asyncio.Task[Any] = asyncio.ensure_future(state.work(lambda: call(tell)))
    try:
        while not (work.done() and steps.empty()):
            getting = asyncio.ensure_future(steps.get())
            await asyncio.wait({getting, work}, timeout=ALIVE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if getting.done():
                yield event("step", getting.result())
                continue
            getting.cancel()
            if not work.done():
                yield ALIVE
        try:
            yield event(name, work.result())
        except Exception as error:  # noqa: BLE001 (the answer has begun: what went wrong can only be told in it)
            yield event("problem", problem_of(error, trace_id=trace_id)[0])
    finally:
        work.cancel()
