"""The server itself: whether it lives, what it counts, what is set."""

from __future__ import annotations

from fastapi import APIRouter, Response
from starlette.concurrency import run_in_threadpool

from hybridrag import LoadedSettings, __version__
from hybridrag.apps.http.depend import PROBLEMS, Administering, Searching, State
from hybridrag.apps.http.routes.search import as_json
from hybridrag.apps.http.wire import Health, ServerStatus, SettingsPage, SettingValue

router = APIRouter(tags=["server"])


@router.get("/livez", response_model=Health)
async def livez() -> Health:
    """Whether the process answers."""
    return Health(status="ok")


@router.get("/readyz", response_model=Health, responses={503: {"model": Health, "description": "Not yet."}})
async def readyz(state: State) -> Response:
    """Whether searches can be answered: the index is open and the model is loaded."""
    health = Health(status=state.not_ready or "ok")
    return Response(
        health.model_dump_json(), status_code=503 if state.not_ready else 200, media_type="application/json"
    )


@router.get("/metrics", response_class=Response, responses=PROBLEMS)
async def metrics(state: State, access: Administering) -> Response:
    """Counters of this server process, as Prometheus reads them."""
    del access
    text = await run_in_threadpool(_counted, state)
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get("/v1/status", response_model=ServerStatus, responses=PROBLEMS)
async def status(state: State, access: Searching) -> Response:
    """What the server is, and what of it the caller may see."""

    def page() -> str:
        model = state.engine.status().model
        spaces = access.workspaces()
        return ServerStatus(
            version=__version__,
            files=sum(spaces.values()),
            workspaces=len(spaces),
            model=model.name if model else None,
            graph=access.graph().statistics(),
            scopes=tuple(sorted(scope.value for scope in access.caller.scopes)),
            answers_by=state.settings.llm.model or "extractive",
        ).model_dump_json()

    return as_json(await state.work(page))


@router.get("/v1/settings", response_model=SettingsPage, responses=PROBLEMS)
async def settings(state: State, access: Administering) -> Response:
    """The settings in effect; secrets are masked."""
    del access
    shown = LoadedSettings(state.settings, _Origins()).shown()
    return as_json(
        SettingsPage(
            settings=tuple(SettingValue(key=setting.key, value=setting.value) for setting in shown)
        ).model_dump_json()
    )


class _Origins(dict[str, str]):
    """Where settings came from matters on the server's own machine alone."""

    def __missing__(self, key: str) -> str:
        return "server"


def _counted(state: State) -> bytes:
    now = state.engine.status()
    state.metrics.files.set(now.files)
    state.metrics.chunks.set(now.chunks)
    counts: dict[str, int] = {}
    for job in state.jobs.known():
        counts[job.state.value] = counts.get(job.state.value, 0) + 1
    for name, count in counts.items():
        state.metrics.jobs.labels(name).set(count)
    return state.metrics.text()
