"""Jobs: what has become of what was sent, as it goes on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from starlette.concurrency import run_in_threadpool

from hybridrag import NotFound
from hybridrag.apps.access import Access
from hybridrag.apps.http.depend import MISSING, PROBLEMS, State, Writing
from hybridrag.apps.http.events import ALIVE_SECONDS, EventStream, event
from hybridrag.apps.http.jobs import ENDED, Job, Jobs
from hybridrag.apps.http.routes.search import as_json
from hybridrag.apps.http.wire import JobPage

router = APIRouter(prefix="/v1", tags=["jobs"], responses=PROBLEMS)

LOOK_SECONDS = 0.2
"""How often a job that is followed is looked at."""

JobId = Annotated[str, Path(min_length=1, max_length=64)]


def visible(jobs: Jobs, access: Access, job_id: str) -> Job:
    """The job of that id.

    Raises:
        NotFound: there is none in a workspace of the caller.
    """
    job = jobs.get(job_id)
    if not access.caller.sees(job.workspace):
        raise NotFound("job", job_id)
    return job


@router.get("/jobs", response_model=JobPage)
async def list_jobs(
    state: State,
    access: Writing,
    *,
    cursor: Annotated[str | None, Query(max_length=64, description="`nextCursor` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=100, description="At most so many.")] = 20,
) -> Response:
    """Jobs, the newest first."""

    def page() -> str:
        own = (job for job in state.jobs.known() if access.caller.sees(job.workspace))
        found = list(islice((job for job in own if cursor is None or job.id < cursor), limit + 1))
        return JobPage(
            jobs=tuple(found[:limit]), next_cursor=found[limit - 1].id if len(found) > limit else None
        ).model_dump_json()

    return as_json(await run_in_threadpool(page))


@router.get("/jobs/{job_id}", response_model=Job, responses=MISSING)
async def get_job(job_id: JobId, state: State, access: Writing) -> Response:
    """One job, as it is now."""
    return as_json((await run_in_threadpool(visible, state.jobs, access, job_id)).model_dump_json())


@router.get("/jobs/{job_id}/events", response_class=EventStream, responses=MISSING)
async def follow_job(job_id: JobId, state: State, access: Writing) -> EventStream:
    """A job as events: `progress` at least once a second, then `ended`."""
    job = await run_in_threadpool(visible, state.jobs, access, job_id)
    return EventStream(_events(state.jobs, job))


@router.post("/jobs/{job_id}/cancel", response_model=Job, status_code=202, responses=MISSING)
async def cancel_job(job_id: JobId, state: State, access: Writing) -> Response:
    """End a job; what is in the index by then stays. One that has ended stays as it is."""

    def cancel() -> Job:
        visible(state.jobs, access, job_id)
        return state.jobs.cancel(job_id)

    job = await run_in_threadpool(cancel)
    return Response(job.model_dump_json(), status_code=202, media_type="application/json")


async def _events(jobs: Jobs, job: Job) -> AsyncIterator[bytes]:
    told: Job | None = None
    due = 0.0
    while job.state not in ENDED:
        now = time.monotonic()
        if job != told or now >= due:
            told, due = job, now + ALIVE_SECONDS - LOOK_SECONDS
            yield event("progress", job)
        await asyncio.sleep(LOOK_SECONDS)
        try:
            job = await run_in_threadpool(jobs.get, job.id)
        except NotFound:
            return
    yield event("ended", job)
