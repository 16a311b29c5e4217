"""What every request passes before any route sees it: host, origin, key, rate, size; and what every answer carries.

Refuses by default: what is not plainly allowed gets a problem, and the reason never tells what exists.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import math
import re
import secrets
import time
from collections.abc import Callable, MutableMapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hybridrag import Settings
from hybridrag.apps.access import LOCAL, Caller
from hybridrag.apps.http.problems import Refused, problem_of, respond
from hybridrag.apps.http.state import ServerState

LOG = logging.getLogger("hybridrag.server")

OPEN_PATHS = frozenset({"/livez", "/readyz", "/docs", "/docs/style.css", "/openapi.json"})
"""What needs no key: it says nothing about the documents."""

UPLOADS = frozenset({"/v1/documents"})
"""Paths whose bodies are measured as uploads."""

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
"""On every answer: a page may load what this server gives, and nothing else; no other page may frame it."""

CALLER = "hybridrag.caller"
"""Where the caller of a request stands in its scope."""

TRACE_ID = "hybridrag.trace_id"
"""Where its trace id does."""

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")


def is_loopback(host: str) -> bool:
    """Whether that address is reached from this machine alone."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


class Guard:
    """ASGI middleware; `state` is asked for with each request, because it exists only while the server runs."""

    def __init__(self, app: ASGIApp, *, state: Callable[[], ServerState | None], settings: Settings) -> None:
        self._app = app
        self._state = state
        self._server = settings.server
        self._loopback = is_loopback(settings.server.host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = _headers(scope)
        began = time.perf_counter()
        state = self._state()
        with _span(scope, headers) as span:
            scope[TRACE_ID] = trace_id = _trace_id(span, headers)
            out = _Out(send, trace_id, self._allowed_origin(headers))
            try:
                state = _running(state)
                self._check_host(headers)
                self._check_origin(headers)
                if out.origin and scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
                    await _preflight(scope, receive, out)
                    return
                scope[CALLER] = caller = self._caller(scope, headers, state)
                if scope["path"] not in OPEN_PATHS:
                    _check_rate(caller, scope, state)
                body = self._measured(scope, headers, receive)
                await self._app(scope, body, out)
            except Exception as error:  # noqa: BLE001 (the last resort: whatever it is, the caller gets a problem)
                await self._fail(error, scope, receive, out)
            finally:
                if state is not None:
                    route = getattr(scope.get("route"), "path", "unmatched")
                    state.metrics.requests.labels(route, scope["method"], str(out.status or 499)).inc()
                    state.metrics.seconds.labels(route).observe(time.perf_counter() - began)

    async def _fail(self, error: Exception, scope: Scope, receive: Receive, out: _Out) -> None:
        problem, headers = problem_of(error, trace_id=scope[TRACE_ID])
        if problem.status == 500:
            LOG.error("%s %s failed, trace %s", scope["method"], scope["path"], problem.trace_id, exc_info=error)
        if out.status is None:
            await respond(problem, headers)(scope, receive, out)

    def _check_host(self, headers: MutableMapping[str, str]) -> None:
        """Names that an attacker's page resolved to this machine (DNS rebinding) are refused; addresses cannot be."""
        host = _host_name(headers.get("host", ""))
        public = urlsplit(self._server.public_url or "").hostname
        known = {"localhost", self._server.host, public, *(name.lower() for name in self._server.allowed_hosts)}
        if host in known or "*" in known or _is_address(host):
            return
        raise Refused(
            421,
            "unknown_host",
            "The server does not answer under this host name.",
            hint="Its owner can allow it: server.allowed_hosts.",
        )

    def _check_origin(self, headers: MutableMapping[str, str]) -> None:
        origin = headers.get("origin")
        if origin is None or self._allowed_origin(headers):
            return
        page = urlsplit(origin).netloc.lower()
        # "null", as a sandboxed page sends it, names no host.
        if page and page in {headers.get("host", "").lower(), self._public_netloc()}:
            return
        raise Refused(
            403,
            "unknown_origin",
            "Pages of this origin may not call the server.",
            hint="Its owner can allow it: server.allowed_origins.",
        )

    def _allowed_origin(self, headers: MutableMapping[str, str]) -> str | None:
        origin = headers.get("origin")
        return origin if origin is not None and origin.rstrip("/") in self._origins() else None

    def _origins(self) -> set[str]:
        return {origin.rstrip("/") for origin in self._server.allowed_origins}

    def _public_netloc(self) -> str:
        return urlsplit(self._server.public_url or "").netloc.lower()

    def _caller(self, scope: Scope, headers: MutableMapping[str, str], state: ServerState) -> Caller:
        if scope["path"] in OPEN_PATHS:
            return Caller("anyone", frozenset(), frozenset())
        kind, _, text = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and (key := state.keys.find(text.strip())) is not None:
            return Caller.of(key)
        forwarded = {"forwarded", "x-forwarded-for", "x-real-ip"} & headers.keys()
        if not state.keys.known() and self._loopback and not forwarded and not kind:
            return LOCAL
        raise Refused(
            401,
            "key_needed",
            "A valid key is needed.",
            hint="Send it as: Authorization: Bearer KEY. Make one with: hybridrag keys create",
            headers={"WWW-Authenticate": 'Bearer realm="hybridrag"'},
        )

    def _measured(self, scope: Scope, headers: MutableMapping[str, str], receive: Receive) -> Receive:
        """The body, as long as it is neither too large nor too slow."""
        upload = scope["path"] in UPLOADS
        largest = self._server.max_upload_bytes if upload else self._server.max_body_bytes
        setting = "server.max_upload_bytes" if upload else "server.max_body_bytes"
        deadline = time.monotonic() + self._server.request_seconds * (10 if upload else 1)
        declared = headers.get("content-length", "")
        if declared.isdigit() and int(declared) > largest:
            raise _too_large(largest, setting)
        seen = 0
        ended = False

        async def measured() -> Message:
            nonlocal seen, ended
            if ended:
                # What is waited for from here on is that the client goes away.
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), max(0.0, deadline - time.monotonic()))
            except TimeoutError:
                raise HTTPException(408, "The request took too long to arrive.") from None
            seen += len(message.get("body", b""))
            ended = not message.get("more_body", False)
            if seen > largest:
                raise HTTPException(413, _too_large(largest, setting).message)
            return message

        return measured


class _Out:
    """Sends an answer with the headers that every answer carries."""

    def __init__(self, send: Send, trace_id: str, origin: str | None) -> None:
        self._send = send
        self._trace_id = trace_id
        self.origin = origin
        self.status: int | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            present = {name.lower() for name, _ in message.get("headers", ())}
            extra = {**HEADERS, "cache-control": "no-store", "x-trace-id": self._trace_id}
            if self.origin:
                extra |= {
                    "access-control-allow-origin": self.origin,
                    "access-control-expose-headers": "X-Trace-Id, Retry-After",
                    "vary": "Origin",
                }
            more = [(name.encode(), value.encode()) for name, value in extra.items() if name.encode() not in present]
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        await self._send(message)


async def _preflight(scope: Scope, receive: Receive, out: _Out) -> None:
    from starlette.responses import Response  # noqa: PLC0415 (only pages of other origins ask)

    headers = {
        "Access-Control-Allow-Methods": "GET, POST, DELETE",
        "Access-Control-Allow-Headers": "Authorization, Content-Type, Last-Event-ID, Mcp-Protocol-Version",
        "Access-Control-Max-Age": "600",
    }
    await Response(status_code=204, headers=headers)(scope, receive, out)


def _running(state: ServerState | None) -> ServerState:
    if state is None:
        raise Refused(503, "starting", "The server is starting or ending.")
    return state


def _check_rate(caller: Caller, scope: Scope, state: ServerState) -> None:
    name = caller.name if caller is not LOCAL else f"local {(scope.get('client') or ('',))[0]}"
    if seconds := state.rate.wait(name):
        raise Refused(
            429,
            "too_many_requests",
            "Too many requests.",
            hint=f"Wait {math.ceil(seconds)} s.",
            headers={"Retry-After": str(math.ceil(seconds))},
        )


def _too_large(largest: int, setting: str) -> Refused:
    return Refused(
        413, "too_large", f"The request is larger than {largest:,} bytes.", hint=f"The limit is `{setting}`."
    )


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


def _host_name(host: str) -> str:
    """`Example.com:8421` -> `example.com`; `[::1]:8421` -> `::1`."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _trace_id(span: Any, headers: MutableMapping[str, str]) -> str:
    """That of the span, or of the caller's trace where it sent one (W3C Trace Context)."""
    if span is not None and (number := span.get_span_context().trace_id):
        return f"{number:032x}"
    found = _TRACEPARENT.fullmatch(headers.get("traceparent", ""))
    return found[1] if found else secrets.token_hex(16)


def _span(scope: Scope, headers: MutableMapping[str, str]) -> AbstractContextManager[Any]:
    """The span of the request, which those of the stages stand in; nothing where OpenTelemetry is not installed."""
    try:
        from opentelemetry import propagate, trace  # noqa: PLC0415 (optional)
    except ImportError:
        return nullcontext()
    span: AbstractContextManager[Any] = trace.get_tracer("hybridrag").start_as_current_span(
        "hybridrag.request",
        context=propagate.extract(headers),
        kind=trace.SpanKind.SERVER,
        attributes={"http.request.method": scope["method"], "url.path": scope["path"]},
    )
    return span
