"""A real server on a free port of this machine, and what tests ask of it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
import uvicorn

from hybridrag import Engine, Settings, load_settings
from hybridrag.apps.http import create_app
from hybridrag.apps.keys import Keys, Scope, data_dir

PLAIN = {
    "embedding.provider": "fake",
    "rerank.provider": "none",
    "graph.extractor": "light",
    "documents.isolate": False,
    "server.requests_per_minute": 0,
}
"""Settings under which no model is loaded."""


def plain_settings(index: Path, **overrides: object) -> Settings:
    """Those settings for an index; `server_port=1` sets `server.port`."""
    given = {key.replace("_", ".", 1): value for key, value in overrides.items()}
    return load_settings(env={}, overrides={**PLAIN, "index.path": str(index), **given}).settings


def make_key(settings: Settings, *scopes: Scope, workspaces: tuple[str, ...] | None = None) -> str:
    return Keys(data_dir(settings)).create(scopes=scopes, workspaces=workspaces)[1]


def fill(settings: Settings, documents: dict[str, dict[str, str]]) -> None:
    """{"team": {"fees.md": "The fee is twelve crowns."}} -> that file in that workspace."""
    with Engine.open(settings=settings) as engine:
        for workspace, files in documents.items():
            for name, text in files.items():
                engine.add(text=text, name=name, workspace=workspace)


class RunningServer:
    """uvicorn in a thread of this process, on a real socket."""

    def __init__(self, settings: Settings, *, ready: bool = True) -> None:
        self.settings = settings
        self._ready = 200 if ready else 503
        self.app = create_app(settings)
        self._server = uvicorn.Server(
            uvicorn.Config(self.app, port=0, log_level="warning", timeout_graceful_shutdown=2)
        )
        self._thread = threading.Thread(target=self._server.run, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.servers[0].sockets[0].getsockname()[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        wait_for(lambda: self._server.started, seconds=60)
        wait_for(lambda: httpx.get(f"{self.url}/readyz").status_code == self._ready, seconds=60)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._thread.join(30)

    def client(self, key: str | None = None, **headers: str) -> httpx.Client:
        auth = {} if key is None else {"Authorization": f"Bearer {key}"}
        return httpx.Client(base_url=self.url, headers={**auth, **headers}, timeout=60)


@contextmanager
def serving(settings: Settings) -> Iterator[RunningServer]:
    with RunningServer(settings) as server:
        yield server


def wait_for(condition: Any, *, seconds: float) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.02)


def wait_for_job(client: httpx.Client, job: dict[str, Any], *, seconds: float = 120) -> dict[str, Any]:
    """The job when it has ended."""
    until = time.monotonic() + seconds
    while job["state"] not in {"done", "cancelled", "failed"}:
        assert time.monotonic() < until, f"the job did not end in time: {job}"
        time.sleep(0.1)
        job = client.get(f"/v1/jobs/{job['id']}").raise_for_status().json()
    return job


def events(response: httpx.Response) -> Iterator[tuple[str, Any]]:
    """The events of a stream: (name, value)."""
    name = ""
    for line in response.iter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))
