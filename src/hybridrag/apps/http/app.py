"""The app: what the settings say, from the first request to the last."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from importlib.util import find_spec
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse
from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from hybridrag import Engine, RAGError, Settings, __version__, load_settings
from hybridrag.apps.http.docs_page import STYLE, docs_page
from hybridrag.apps.http.guard import TRACE_ID, Guard
from hybridrag.apps.http.problems import ProblemDetails, make_problem, problem_of, respond, sentence_of
from hybridrag.apps.http.routes import chat, documents, graph, jobs, search, system
from hybridrag.apps.http.state import ServerState

LOG = logging.getLogger("hybridrag.server")

ABOUT = (
    "Search your own documents by keyword, meaning and knowledge graph at once. Every error is problem+json "
    "(RFC 9457) with a stable code. Send a key as: Authorization: Bearer KEY."
)


def create_app(settings: Settings | None = None) -> FastAPI:
    """The server as an ASGI app, with the settings given or those of hybridrag.toml and the environment.

    `uvicorn --factory hybridrag.apps.http:create_app` -> what `hybridrag serve` runs
    """
    settings = settings or load_settings().settings
    app = FastAPI(
        title="HybridRAG",
        version=__version__,
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        lifespan=partial(_lifespan, settings=settings),
        separate_input_output_schemas=True,
    )
    app.state.server = app.state.agents = None
    for part in (search, chat, documents, jobs, graph, system):
        app.include_router(part.router)
    app.add_middleware(Guard, state=lambda: app.state.server, settings=settings)
    app.add_exception_handler(RAGError, _on_error)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http)
    app.router.routes.append(Route("/mcp", _Agents(app), methods=["GET", "POST", "DELETE"]))
    app.add_api_route("/docs", partial(_docs, app), include_in_schema=False)
    app.add_api_route("/docs/style.css", _style, include_in_schema=False)
    app.openapi = partial(_openapi, app)  # type: ignore[method-assign]
    return app


class _Agents:
    """MCP by streamable HTTP; nothing where it is switched off or not installed."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if self._app.state.agents is None:
            raise HTTPException(404)
        await self._app.state.agents(scope, receive, send)


@asynccontextmanager
async def _lifespan(app: FastAPI, *, settings: Settings) -> AsyncIterator[None]:
    engine = await asyncio.to_thread(partial(Engine.open, settings=settings))
    state = ServerState(settings, engine)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(asyncio.to_thread, state.close)
        for work in (_load_models(state), state.jobs.run()):
            stack.push_async_callback(_end, asyncio.create_task(_told(work)))
        if settings.server.mcp and find_spec("mcp") is not None:
            from hybridrag.apps.http.agents import serve_agents  # noqa: PLC0415 (the extra `mcp` is optional)

            app.state.agents = await stack.enter_async_context(serve_agents(state))
        app.state.server = state
        yield
        app.state.server = None


async def _load_models(state: ServerState) -> None:
    """Load the models before the first question needs them; until then the server is not ready."""
    try:
        await asyncio.to_thread(state.engine.embedder)
    except RAGError:
        LOG.exception("The embedding model cannot be loaded")
        state.not_ready = "The embedding model cannot be loaded; the server's log says why."
    else:
        state.not_ready = None


async def _told(work: Any) -> None:
    """Work of the server itself: what goes wrong in it is logged at once."""
    try:
        await work
    except Exception:
        LOG.exception("A part of the server failed")
        raise


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError, Exception):
        await task


async def _on_error(request: Request, error: Exception) -> Response:
    trace_id = request.scope.get(TRACE_ID, "")
    problem, headers = problem_of(error, trace_id=trace_id)
    if problem.status == 500:
        LOG.error("%s %s failed, trace %s", request.method, request.url.path, trace_id, exc_info=error)
    return respond(problem, headers)


async def _on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 (registered for nothing else)
    detail = sentence_of(error.errors())
    return respond(make_problem(422, "invalid_input", detail, trace_id=request.scope.get(TRACE_ID, "")))


_CODES = {404: "no_such_path", 405: "no_such_method", 408: "too_slow", 413: "too_large", 400: "broken_request"}


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 (registered for nothing else)
    code = _CODES.get(error.status_code, "http_error")
    trace_id = request.scope.get(TRACE_ID, "")
    return respond(make_problem(error.status_code, code, str(error.detail), trace_id=trace_id), error.headers)


async def _docs(app: FastAPI) -> Response:
    return HTMLResponse(docs_page(app.openapi()))


async def _style() -> Response:
    return Response(STYLE, media_type="text/css")


def _openapi(app: FastAPI) -> dict[str, Any]:
    """The description, with the problems that every operation may answer and the key that it wants."""
    if app.openapi_schema is None:
        api = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        components = api.setdefault("components", {})
        schema = ProblemDetails.model_json_schema(mode="serialization")
        components.setdefault("schemas", {})["ProblemDetails"] = schema
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        api["security"] = [{"key": []}, {}]
        app.openapi_schema = api
    return app.openapi_schema
