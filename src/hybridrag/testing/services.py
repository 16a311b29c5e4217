"""Remote rerankers and web searches to try a search on, as real servers on this machine.

from hybridrag.testing.services import HangUp, Status, serve_reranker

def test_my_search_survives_a_broken_reranker():
    with serve_reranker("cohere", script=[Status(429, retry_after=0), None, HangUp()]) as service:
        reranker = load_reranker("cohere", base_url=service.url)

Each speaks the protocol of its provider, refuses what that refuses, and misbehaves as a script says.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

from hybridrag.testing.llms import Hang
from hybridrag.types.sources import WebPage

__all__ = [
    "Fault",
    "Hang",
    "HangUp",
    "Request",
    "RerankProtocol",
    "Says",
    "Service",
    "Status",
    "Trickle",
    "WebProtocol",
    "serve_reranker",
    "serve_web_search",
]

RerankProtocol = Literal["cohere", "voyage", "jina", "tei", "vllm"]
WebProtocol = Literal["searxng", "brave", "tavily"]


# ---------------------------------------------------------------- what goes wrong


@dataclass(frozen=True, slots=True)
class Status:
    """An answer with this status instead of 200."""

    code: int
    words: str = "scripted"
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Says:
    """These bytes as they are, or this value as JSON, with status 200: a lie, a login page, a flood."""

    content: object
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class HangUp:
    """The connection ends without a word."""


@dataclass(frozen=True, slots=True)
class Trickle:
    """A byte now and then, without end: of the body, or of the headers already."""

    headers: bool = False
    pause_seconds: float = 0.02


Fault = Status | Says | Hang | HangUp | Trickle | None
"""What happens to one request; None is an honest answer."""


# ---------------------------------------------------------------- the servers


@dataclass(frozen=True, slots=True)
class Request:
    """One request that a service got."""

    method: str
    path: str
    params: Mapping[str, str]
    headers: Mapping[str, str]
    """Names in lower case."""
    body: Any
    """As JSON; None where there was none."""


Honest = Callable[[Request], tuple[int, Any]]
"""The status and JSON that a well-behaved service answers with."""


@dataclass(slots=True)
class Service:
    """A running service: where it is, and what it was asked."""

    script: Sequence[Fault]
    honest: Honest
    url: str = ""
    asked: list[Request] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event, repr=False)
    """Set when it stops, so that nothing that hangs outlives it."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def take(self, request: Request) -> Fault:
        """Note a request, and say what happens to it."""
        with self._lock:
            self.asked.append(request)
            if not self.script:
                return None
            return self.script[min(len(self.asked), len(self.script)) - 1]


@contextmanager
def serve_reranker(
    protocol: RerankProtocol,
    *,
    script: Sequence[Fault] = (),
    score: Callable[[str, str], float] | None = None,
    key: str | None = None,
    max_passages: int = 1000,
) -> Iterator[Service]:
    """A reranker on this machine that scores by shared words, or by `score(question, passage)`.

    with serve_reranker("tei") as service: load_reranker("tei", base_url=service.url)

    The script says what happens to each request in turn, the last line again and again; without one all goes well.
    With a `key`, a request without it is refused.
    """
    rules = _RERANKERS[protocol]

    def honest(request: Request) -> tuple[int, Any]:
        refused = _refused(request, "POST", rules.path, f"Bearer {key}" if key else None, "authorization")
        return refused or _rank(request.body, rules, score or shared_words, max_passages)

    with _serve(script, honest) as service:
        yield service


@contextmanager
def serve_web_search(
    protocol: WebProtocol,
    pages: Sequence[WebPage],
    *,
    script: Sequence[Fault] = (),
    key: str | None = None,
) -> Iterator[Service]:
    """A web search on this machine that finds these pages, whatever it is asked.

    with serve_web_search("searxng", [WebPage("https://example.com/", "Tea", "Green or black.")]) as service: ...
    """

    def honest(request: Request) -> tuple[int, Any]:
        return _WEB_SEARCHES[protocol](request, pages, key)

    with _serve(script, honest) as service:
        yield service


def shared_words(question: str, passage: str) -> float:
    """The share of the question's words that a passage has.

    ("green tea", "Tea is green.") -> 1.0
    """
    asked, said = (set(re.findall(r"\w+", text.lower())) for text in (question, passage))
    return len(asked & said) / len(asked) if asked else 0.0


@contextmanager
def _serve(script: Sequence[Fault], honest: Honest) -> Iterator[Service]:
    service = Service(script, honest)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16
        """Head and body leave together: apart, the second waits for the first to be acknowledged."""

        def do_GET(self) -> None:
            """Answer one request."""
            self._answer()

        def do_POST(self) -> None:
            """Answer one request."""
            self._answer()

        def _answer(self) -> None:
            request = _request(self)
            try:
                _misbehave(self, service, service.take(request), request)
            except OSError:
                self.close_connection = True  # the other side has given up

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name in the standard library)
            """Keep the output of tests clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    service.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield service
    finally:
        service.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _request(handler: BaseHTTPRequestHandler) -> Request:
    data = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
    parts = urlsplit(handler.path)
    headers = {name.lower(): value for name, value in handler.headers.items()}
    body = json.loads(data) if data else None
    return Request(handler.command, parts.path, dict(parse_qsl(parts.query)), headers, body)


def _misbehave(handler: BaseHTTPRequestHandler, service: Service, fault: Fault, request: Request) -> None:
    if fault is None:
        status, answer = service.honest(request)
        _send(handler, status, answer)
    elif isinstance(fault, Status):
        wait = {} if fault.retry_after is None else {"Retry-After": f"{fault.retry_after:g}"}
        _send(handler, fault.code, {"message": fault.words}, headers=wait)
    elif isinstance(fault, Says):
        _send(handler, 200, fault.content, content_type=fault.content_type)
    elif isinstance(fault, Trickle):
        _trickle(handler, fault, service.over)
    else:
        service.over.wait(fault.seconds if isinstance(fault, Hang) else 0)
        handler.close_connection = True


def _send(
    handler: BaseHTTPRequestHandler,
    status: int,
    content: object,
    *,
    content_type: str = "application/json",
    headers: Mapping[str, str] | None = None,
) -> None:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    handler.send_response(status)
    for name, value in {"Content-Type": content_type, "Content-Length": str(len(data)), **(headers or {})}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(data)


def _trickle(handler: BaseHTTPRequestHandler, fault: Trickle, over: threading.Event) -> None:
    handler.close_connection = True
    if fault.headers:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    else:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000000")
        handler.end_headers()
    while not over.wait(fault.pause_seconds):
        handler.wfile.write(b" ")
        handler.wfile.flush()


def _refused(request: Request, method: str, path: str, key: str | None, header: str) -> tuple[int, Any] | None:
    if request.path != path:
        return 404, {"message": f"There is nothing at {request.path}."}
    if request.method != method:
        return 405, {"message": f"{request.method} is not allowed."}
    if key is not None and request.headers.get(header) != key:
        return 401, {"message": f"{request.headers.get(header, 'no key')} is not a valid key."}
    return None


# ---------------------------------------------------------------- rerankers


@dataclass(frozen=True, slots=True)
class _Rerank:
    """How a provider's reranker is asked, and how it answers."""

    path: str
    needs: tuple[str, ...]
    passages: str
    answer: Callable[[list[dict[str, Any]], int], Any]
    """From the results, best first, and the tokens that were read."""
    score: str = "relevance_score"


def _cohere(results: list[dict[str, Any]], _tokens: int) -> Any:
    billed = {"billed_units": {"search_units": 1}, "api_version": {"version": "2"}}
    return {"id": "scripted", "results": results, "meta": billed}


def _voyage(results: list[dict[str, Any]], tokens: int) -> Any:
    return {"object": "list", "data": results, "model": "rerank-2.5", "usage": {"total_tokens": tokens}}


def _jina(results: list[dict[str, Any]], tokens: int) -> Any:
    return {"model": "scripted", "results": results, "usage": {"total_tokens": tokens}}


def _tei(results: list[dict[str, Any]], _tokens: int) -> Any:
    return results


_RERANKERS = {
    "cohere": _Rerank("/v2/rerank", ("model", "query", "documents"), "documents", _cohere),
    "voyage": _Rerank("/v1/rerank", ("model", "query", "documents"), "documents", _voyage),
    "jina": _Rerank("/v1/rerank", ("model", "query", "documents"), "documents", _jina),
    "tei": _Rerank("/rerank", ("query", "texts"), "texts", _tei, score="score"),
    "vllm": _Rerank("/rerank", ("query", "documents"), "documents", _jina),
}


def _rank(body: Any, rules: _Rerank, score: Callable[[str, str], float], most: int) -> tuple[int, Any]:
    missing = [key for key in rules.needs if not isinstance(body, dict) or not body.get(key)]
    if missing:
        return 422, {"message": f"Field required: {', '.join(missing)}"}
    question, passages = body["query"], body[rules.passages]
    if not all(isinstance(it, str) and it.strip() for it in (question, *passages)):
        return 400, {"message": "The query and every passage must be a text that is not empty."}
    if len(passages) > most:
        return 422, {"error": f"batch size {len(passages)} > maximum allowed batch size {most}"}
    scored = [{"index": place, rules.score: score(question, it)} for place, it in enumerate(passages)]
    best_first = sorted(scored, key=lambda it: -it[rules.score])
    wanted = best_first[: body.get("top_n", body.get("top_k", len(passages)))]
    return 200, rules.answer(wanted, sum(len(it.split()) for it in (question, *passages)))


# ---------------------------------------------------------------- web searches


def _searxng(request: Request, pages: Sequence[WebPage], _key: str | None) -> tuple[int, Any]:
    refused = _refused(request, "GET", "/search", None, "")
    if refused or not request.params.get("q"):
        return refused or (400, {"message": "No query."})
    if request.params.get("format") != "json":
        return 403, {"message": "Forbidden"}
    found = [{"url": it.url, "title": it.title, "content": it.text, "engine": "scripted"} for it in pages]
    return 200, {"query": request.params["q"], "number_of_results": 0, "results": found, "answers": []}


def _brave(request: Request, pages: Sequence[WebPage], key: str | None) -> tuple[int, Any]:
    refused = _refused(request, "GET", "/res/v1/web/search", key, "x-subscription-token")
    if refused or not request.params.get("q"):
        return refused or (422, {"error": {"detail": "Unable to validate request parameter(s)"}})
    count = int(request.params.get("count", "20"))
    if count > 20 or len(request.params["q"]) > 400:
        return 422, {"error": {"detail": "Unable to validate request parameter(s)"}}
    found = [{"url": it.url, "title": it.title, "description": it.text} for it in pages[:count]]
    answer = {"type": "search", "query": {"original": request.params["q"]}}
    return 200, {**answer, "web": {"type": "search", "results": found}} if found else answer


def _tavily(request: Request, pages: Sequence[WebPage], key: str | None) -> tuple[int, Any]:
    refused = _refused(request, "POST", "/search", f"Bearer {key}" if key else None, "authorization")
    if refused or not request.body.get("query"):
        return refused or (400, {"detail": {"error": "Query is missing."}})
    if len(request.body["query"]) > 400:
        return 400, {"detail": {"error": "Query is too long. Max query length is 400 characters."}}
    wanted = pages[: request.body.get("max_results", 5)]
    found = [{"url": it.url, "title": it.title, "content": it.text, "score": 0.5} for it in wanted]
    return 200, {"query": request.body["query"], "results": found, "response_time": 0.1}


_WEB_SEARCHES: Mapping[str, Callable[[Request, Sequence[WebPage], str | None], tuple[int, Any]]] = {
    "searxng": _searxng,
    "brave": _brave,
    "tavily": _tavily,
}
