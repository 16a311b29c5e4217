"""Ingestion as jobs: told as it goes on, ended when asked, and safe against any death of the server."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import httpx
import pytest

from hybridrag import Engine
from server_home import RunningServer, events, plain_settings, serving, wait_for, wait_for_job

KILLS = 2
"""How often the test kills a server in the middle of a job; 100 of them take an hour: `CRASHES=100 pytest -k kill`."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with serving(plain_settings(tmp_path_factory.mktemp("jobs") / "index")) as running:
        yield running


@pytest.fixture
def client(server: RunningServer) -> Iterator[httpx.Client]:
    with server.client() as one:
        yield one


def many(count: int, words: int = 300) -> list[tuple[str, tuple[str, bytes]]]:
    """Files to upload, no two alike."""
    return [
        ("files", (f"notes/{number}.md", " ".join(f"w{number}x{word}." for word in range(words)).encode()))
        for number in range(count)
    ]


def test_an_upload_is_a_job_that_says_what_became_of_each_file(client: httpx.Client) -> None:
    files = [
        ("files", ("guide/fees.md", b"# Fees\n\nThe entrance fee is twelve crowns.")),
        ("files", ("broken.pdf", b"%PDF-1.7 this is none")),
        ("files", ("\u5165\u5834\u6599.txt", "入場料は十二クローネです。".encode())),
    ]
    response = client.post("/v1/documents", files=files, data={"workspace": "museum"})
    assert response.status_code == 202
    job = response.json()
    assert response.headers["location"] == f"/v1/jobs/{job['id']}"
    job = wait_for_job(client, job)
    assert job["state"] == "done"
    outcomes = {outcome["name"]: outcome for outcome in job["outcomes"]}
    assert outcomes["guide/fees.md"]["state"] == "added"
    assert outcomes["\u5165\u5834\u6599.txt"]["state"] == "added"
    assert outcomes["broken.pdf"]["state"] == "failed"
    assert "broken.pdf" in outcomes["broken.pdf"]["reason"]
    found = client.post("/v1/search", json={"text": "entrance fee", "filters": {"workspaceIds": ["museum"]}}).json()
    assert found["results"][0]["sources"]["fileName"] == "guide/fees.md"
    file_id = outcomes["guide/fees.md"]["fileId"]
    original = client.get(f"/v1/documents/{file_id}/original")
    assert original.content == files[0][1][1]
    assert original.headers["content-disposition"] == "attachment; filename*=UTF-8''fees.md"
    assert "sandbox" in original.headers["content-security-policy"]
    assert client.delete(f"/v1/documents/{file_id}").json() == {"removed": 1}
    assert client.get(f"/v1/documents/{file_id}").status_code == 404
    assert client.get(f"/v1/documents/{file_id}/original").status_code == 404


def test_a_text_is_taken_in_and_the_same_name_replaces_it(client: httpx.Client) -> None:
    for text in ("The mill opened in 1874.", "The mill opened in 1875."):
        body = {"name": "mill.md", "text": text, "workspace": "mill"}
        job = wait_for_job(client, client.post("/v1/documents/text", json=body).json())
        assert job["state"] == "done"
    documents = client.get("/v1/documents", params={"workspace": "mill"}).json()["documents"]
    assert len(documents) == 1
    assert client.get(f"/v1/documents/{documents[0]['id']}/text").json()["text"] == "The mill opened in 1875."


def test_a_name_that_cannot_be_one_is_refused_and_leaves_nothing(client: httpx.Client, server: RunningServer) -> None:
    before = client.get("/v1/jobs").json()["jobs"]
    refused = client.post("/v1/documents", files=[("files", ("x" * 1001, b"text"))])
    assert refused.status_code == 422
    assert client.get("/v1/jobs").json()["jobs"] == before
    folder = server.settings.index.path / "server" / "jobs"
    assert len([path for path in folder.iterdir() if path.name.isalnum()]) == len(before)


def test_a_job_that_is_followed_tells_of_itself_at_least_once_a_second_and_ends_soon_when_cancelled(
    client: httpx.Client, server: RunningServer
) -> None:
    job = client.post("/v1/documents", files=many(400), data={"workspace": "long"}).json()
    told: list[float] = []
    cancelled = 0.0
    with client.stream("GET", f"/v1/jobs/{job['id']}/events") as response, server.client() as other:
        for name, value in events(response):
            told.append(time.monotonic())
            if value["state"] == "running" and value["progress"]["filesDone"] and not cancelled:
                assert other.post(f"/v1/jobs/{job['id']}/cancel").status_code == 202
                cancelled = time.monotonic()
            if name == "ended":
                break
    assert value["state"] == "cancelled"
    # A promise of 2 s and of 1 s; a busy machine is given time.
    assert told[-1] - cancelled < 10
    assert max(later - sooner for sooner, later in pairwise(told)) < 5
    kept = client.get("/v1/documents", params={"workspace": "long", "limit": "1000"}).json()["documents"]
    assert 0 < len(kept) < 400, "what was in by then stays"
    assert all(document["chunkCount"] for document in kept)


def test_a_job_that_waits_is_cancelled_without_its_turn(client: httpx.Client) -> None:
    first = client.post("/v1/documents", files=many(300), data={"workspace": "first"}).json()
    second = client.post("/v1/documents", files=many(2), data={"workspace": "second"}).json()
    client.post(f"/v1/jobs/{second['id']}/cancel")
    assert wait_for_job(client, second)["state"] == "cancelled"
    assert client.get(f"/v1/jobs/{first['id']}").json()["state"] in {"queued", "running"}
    client.post(f"/v1/jobs/{first['id']}/cancel")
    assert wait_for_job(client, first)["state"] == "cancelled"
    listed = client.get("/v1/jobs", params={"limit": "1"}).json()
    assert [job["id"] for job in listed["jobs"]] == [second["id"]]
    after = client.get("/v1/jobs", params={"limit": "1", "cursor": listed["nextCursor"]}).json()
    assert [job["id"] for job in after["jobs"]] == [first["id"]]


def test_a_job_whose_settings_cannot_work_says_why(tmp_path: Path) -> None:
    settings = plain_settings(tmp_path / "index")
    with Engine.open(settings=settings) as engine:
        engine.add(text="The mill opened in 1874.", name="mill.md")
    other = plain_settings(tmp_path / "index", embedding_provider="openai")
    with RunningServer(other, ready=False) as server, server.client() as client:
        assert client.get("/readyz").status_code == 503
        job = wait_for_job(client, client.post("/v1/documents/text", json={"name": "a.md", "text": "a b c"}).json())
    assert job["state"] == "failed"
    assert "embedding.api_key" in job["error"]


@contextmanager
def served(index: Path, *more: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`hybridrag serve` as its own process group, as a user starts it."""
    env = {**os.environ, "HYBRIDRAG_EMBEDDING_PROVIDER": "fake", "HYBRIDRAG_RERANK_PROVIDER": "none"}
    process = subprocess.Popen(
        [sys.executable, "-m", "hybridrag.apps.cli", "serve", "--port", "0", "--index", str(index), *more],
        stderr=subprocess.PIPE,
        text=True,
        cwd=index.parent,
        env={**env, "HYBRIDRAG_GRAPH_EXTRACTOR": "light", "HYBRIDRAG_DOCUMENTS_ISOLATE": "false"},
    )
    try:
        assert process.stderr is not None
        found = re.search(r"http://\S+", process.stderr.readline())
        assert found
        wait_for(lambda: _alive(found[0]), seconds=60)
        yield process, found[0]
    finally:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def _alive(url: str) -> bool:
    try:
        return httpx.get(f"{url}/livez").status_code == 200
    except httpx.TransportError:
        return False


def test_no_kill_of_the_server_in_the_middle_of_a_job_loses_or_sticks_a_document(tmp_path: Path) -> None:
    index = tmp_path / "index"
    count = 60
    with served(index) as (process, url):
        job = httpx.post(f"{url}/v1/documents", files=many(count), timeout=60).json()
        process.send_signal(signal.SIGKILL)
        process.wait()
    kills = int(os.environ.get("CRASHES", KILLS))
    for _ in range(kills - 1):
        with served(index) as (process, url), httpx.Client(base_url=url) as client:
            # Killed while the job is at work, as far as it is not done by then.
            wait_for(lambda: client.get(f"/v1/jobs/{job['id']}").json()["state"] != "queued", seconds=60)
            process.send_signal(signal.SIGKILL)
            process.wait()
    with served(index, "--workers", "2") as (process, url), httpx.Client(base_url=url, timeout=60) as client:
        ended = wait_for_job(client, job)
        assert ended["state"] == "done"
        assert ended["attempts"] >= 1
        documents = client.get("/v1/documents", params={"limit": "1000"}).json()["documents"]
        assert sorted(document["name"] for document in documents) == sorted(name for _, (name, _) in many(count))
        originals = [client.get(f"/v1/documents/{document['id']}/original").status_code for document in documents]
        assert originals == [200] * count
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) in {0, -signal.SIGTERM}, "told to end, it ends in order"
    with Engine.open(settings=plain_settings(index)) as engine:
        assert engine.check() == []
