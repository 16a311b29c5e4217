"""Every error as RFC 9457 problem+json: a status, a stable code, one sentence, what to do, and the trace id."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from pydantic import Field
from starlette.responses import Response

from hybridrag import (
    DeadlineExceeded,
    DocumentError,
    DocumentTooLarge,
    InvalidInput,
    InvalidSettings,
    ModelUnavailable,
    NotFound,
    ProviderError,
    RAGError,
    StageError,
    StoreBusy,
    StoreError,
    UnknownFormat,
)
from hybridrag.apps.access import NotAllowed
from hybridrag.types.base import Model

MEDIA_TYPE = "application/problem+json"

RETRY_SECONDS = 1
"""What `Retry-After` says where nothing better is known."""


class ProblemDetails(Model):
    """What went wrong (RFC 9457)."""

    type: str
    """A URI that stands for the kind of problem: `urn:hybridrag:problem:` and the code."""
    title: str
    """The HTTP status in words."""
    status: int = Field(ge=400, le=599)
    """The HTTP status."""
    detail: str
    """What went wrong, in one sentence."""
    code: str
    """The stable name of the problem, for programs."""
    hint: str | None = None
    """What helps."""
    trace_id: str = ""
    """What to look for in the server's log and traces."""


class Refused(RAGError):
    """A request that is refused before it reaches the engine."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        hint: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.status = status
        self.code = code
        self.headers = dict(headers or {})
        super().__init__(message, hint=hint)


_STATUS: tuple[tuple[type[RAGError], int], ...] = (
    (NotAllowed, 403),
    (NotFound, 404),
    (DocumentTooLarge, 413),
    (UnknownFormat, 415),
    (DocumentError, 422),
    (InvalidSettings, 500),
    (InvalidInput, 422),
    (StoreBusy, 503),
    (StoreError, 500),
    (ModelUnavailable, 503),
    (DeadlineExceeded, 504),
    (ProviderError, 502),
    (StageError, 500),
)

_INSIDE = "The server could not do this; its log says why."
"""For errors whose message names folders or settings of the server."""


def problem_of(error: Exception, *, trace_id: str = "") -> tuple[ProblemDetails, dict[str, str]]:
    """What a caller is told of an error, and with which headers.

    NotFound("document", "...") -> 404 not_found; what is not expected -> 500 internal_error, without its message
    """
    status, code, detail, hint = 500, "internal_error", _INSIDE, None
    headers: dict[str, str] = {}
    if isinstance(error, Refused):
        status, code, detail, hint, headers = error.status, error.code, error.message, error.hint, error.headers
    elif isinstance(error, RAGError):
        status = next((number for kind, number in _STATUS if isinstance(error, kind)), 500)
        code = error.code
        if isinstance(error, StoreBusy):
            detail, hint = "The index is being written; try again.", None
        elif status not in {500, 502}:
            detail, hint = error.message, error.hint
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers.setdefault("Retry-After", str(RETRY_SECONDS))
    return make_problem(status, code, detail, hint=hint, trace_id=trace_id), headers


def make_problem(status: int, code: str, detail: str, *, hint: str | None = None, trace_id: str = "") -> ProblemDetails:
    """A problem of that status and code."""
    return ProblemDetails(
        type=f"urn:hybridrag:problem:{code}",
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        code=code,
        hint=hint,
        trace_id=trace_id,
    )


def respond(problem: ProblemDetails, headers: Mapping[str, str] | None = None) -> Response:
    """The problem as a response."""
    body = problem.model_dump_json(exclude_none=True)
    return Response(body, status_code=problem.status, media_type=MEDIA_TYPE, headers=dict(headers or {}))


def sentence_of(errors: Sequence[Mapping[str, Any]]) -> str:
    """What is wrong with a request, from what FastAPI found.

    [{"loc": ("body", "options", "limit"), "msg": "Input should be less than or equal to 100"}]
    -> "`options.limit` should be less than or equal to 100."
    """
    lines = [_line(error) for error in errors[:5]]
    more = len(errors) - len(lines)
    return "; ".join([*lines, f"and {more} more"] if more else lines) + "."


def _line(error: Mapping[str, Any]) -> str:
    place = [str(part) for part in error.get("loc", ()) if not isinstance(part, int)]
    name = ".".join(place[1:]) or (place[0] if place else "request")
    message = str(error.get("msg", "is not valid")).removeprefix("Value error, ").removeprefix("Input ").rstrip(".")
    shown = re.sub(r"[\x00-\x1f\x7f]", "\ufffd", name)[:100]
    return f"`{shown}` {message[:1].lower()}{message[1:200]}"
