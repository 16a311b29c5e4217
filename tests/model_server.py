"""A real HTTP server in a thread whose answers a test writes down beforehand."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]
"""Writes a response to a request with that JSON body."""


@dataclass
class Server:
    """Answers in order, the last one again and again; remembers what it was asked."""

    answers: list[Answer]
    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> Answer:
        """The answer to this request."""
        with self.lock:
            self.bodies.append(body)
            self.headers.append({name.lower(): value for name, value in handler.headers.items()})
            self.paths.append(handler.path)
            return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@contextmanager
def serving(*answers: Answer) -> Iterator[Server]:
    """A server on a free port of this machine."""
    server = Server(list(answers))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            body = json.loads(self.rfile.read(length) or b"{}")
            server.take(self, body)(self, body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name in the standard library)
            """Keep the test's output clean."""

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    server.url = f"http://127.0.0.1:{httpd.server_address[1]}/v1"
    try:
        yield server
    finally:
        httpd.shutdown()
        httpd.server_close()
        thread.join()


def reply(status: int, content: bytes | object, **headers: str) -> Answer:
    """A whole answer: bytes as they are, anything else as JSON."""

    def answer(handler: BaseHTTPRequestHandler, _body: dict[str, Any]) -> None:
        blob = content if isinstance(content, bytes) else json.dumps(content).encode()
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(blob)))
        handler.end_headers()
        handler.wfile.write(blob)

    return answer


def hang_up(handler: BaseHTTPRequestHandler, _body: dict[str, Any]) -> None:
    """Close the connection without a word."""
    handler.close_connection = True
    handler.connection.close()


def stall(seconds: float) -> Answer:
    """Say nothing for a while, then nothing at all."""
    pause = threading.Event()

    def answer(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        pause.wait(seconds)
        hang_up(handler, body)

    return answer


def trickle(handler: BaseHTTPRequestHandler, _body: dict[str, Any]) -> None:
    """Send a byte at a time, for ever."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    pause = threading.Event()
    try:
        while not pause.wait(0.02):
            handler.wfile.write(b" ")
            handler.wfile.flush()
    except OSError:
        handler.close_connection = True
