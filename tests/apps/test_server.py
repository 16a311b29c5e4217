"""The HTTP server: what it answers, how it refuses, and that it does so safely by default."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from hybridrag import Answer, Engine, FileInfo, SearchResult
from hybridrag.apps.http.limits import RateLimit
from hybridrag.apps.http.problems import ProblemDetails
from hybridrag.apps.keys import Scope
from hybridrag.types.ids import new_chunk_id, new_file_id
from server_home import RunningServer, events, fill, make_key, plain_settings, serving

DOCUMENTS = {
    "default": {
        "fees.md": "# Fees\n\nThe entrance fee is twelve crowns.\n\nChildren pay half of it.",
        "history.md": "Orin Works was founded in 1987 by Ada Brandt in Malmö. Ada Brandt led Orin Works for ten years.",
        "ja.md": "入場料は十二クローネです。子どもは半額です。",
    }
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    settings = plain_settings(tmp_path_factory.mktemp("server") / "index")
    fill(settings, DOCUMENTS)
    with serving(settings) as running:
        yield running


@pytest.fixture
def client(server: RunningServer) -> Iterator[httpx.Client]:
    with server.client() as one:
        yield one


def problem(response: httpx.Response) -> ProblemDetails:
    assert response.headers["content-type"] == "application/problem+json"
    found = ProblemDetails.model_validate_json(response.content)
    assert found.status == response.status_code
    assert found.trace_id == response.headers["x-trace-id"]
    assert found.type == f"urn:hybridrag:problem:{found.code}"
    return found


class TestSearch:
    def test_a_search_answers_what_the_engine_answers(self, client: httpx.Client, server: RunningServer) -> None:
        response = client.post("/v1/search", json={"text": "entrance fee", "options": {"limit": 2}})
        found = SearchResult.model_validate_json(response.content)
        with Engine.open(settings=server.settings) as engine:
            own = engine.search("entrance fee", limit=2)
        assert [item.id for item in found.results] == [item.id for item in own.results]
        assert found.trace is None
        assert response.json()["query"]["options"]["cragEnabled"] is False

    def test_the_trace_comes_when_it_is_asked_for(self, client: httpx.Client) -> None:
        found = client.post("/v1/search?explain=true", json={"text": "entrance fee"}).json()
        assert "fuse" in [step["step"] for step in found["trace"]["steps"]]

    def test_a_stream_tells_of_the_steps_and_then_of_the_result(self, client: httpx.Client) -> None:
        query = {"text": "who founded Orin Works"}
        with client.stream("POST", "/v1/search/stream", json=query) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            told = list(events(response))
        assert [name for name, _ in told[:-1]] == ["step"] * (len(told) - 1)
        assert len(told) > 5
        name, value = told[-1]
        assert name == "result"
        assert [step["step"] for step in value["trace"]["steps"]] == [step["step"] for _, step in told[:-1]]

    def test_an_answer_has_citations(self, client: httpx.Client) -> None:
        response = client.post("/v1/answer", json={"text": "When was Orin Works founded?"})
        assert response.status_code == 200
        answer = Answer.model_validate_json(response.content)
        assert answer.nearest

    def test_a_streamed_answer_ends_with_the_same_answer(self, client: httpx.Client) -> None:
        query = {"text": "When was Orin Works founded?"}
        with client.stream("POST", "/v1/answer/stream", json=query) as response:
            *_, (name, value) = events(response)
        assert name == "answer"
        assert value == client.post("/v1/answer", json=query).json()

    def test_a_question_is_classified(self, client: httpx.Client) -> None:
        found = client.post("/v1/classify", json={"text": "compare A and B"}).json()
        assert found["type"] == "relationship"


class TestDocuments:
    def test_documents_are_listed_page_by_page(self, client: httpx.Client) -> None:
        names, cursor = [], None
        while True:
            params = {"limit": "2"} if cursor is None else {"limit": "2", "cursor": cursor}
            page = client.get("/v1/documents", params=params).json()
            names += [document["name"] for document in page["documents"]]
            cursor = page["nextCursor"]
            if cursor is None:
                break
        assert names == ["fees.md", "history.md", "ja.md"]

    def test_a_document_its_text_and_its_passages_agree(self, client: httpx.Client) -> None:
        document = FileInfo.model_validate(client.get("/v1/documents").json()["documents"][0])
        assert client.get(f"/v1/documents/{document.id}").json()["name"] == document.name
        text = client.get(f"/v1/documents/{document.id}/text").json()["text"]
        passages = client.get(f"/v1/documents/{document.id}/passages").json()["passages"]
        assert len(passages) == document.chunk_count
        for passage in passages:
            marked = client.get(f"/v1/documents/{document.id}/passages/{passage['id']}").json()
            assert marked["before"] + marked["passage"]["text"] + marked["after"] == text
            assert marked["hasOriginal"] is False

    def test_what_is_not_there_is_a_404_that_says_what(self, client: httpx.Client) -> None:
        known = client.get("/v1/documents").json()["documents"][0]["id"]
        for path in (
            f"/v1/documents/{new_file_id()}",
            f"/v1/documents/{new_file_id()}/text",
            f"/v1/documents/{known}/passages/{new_chunk_id()}",
            f"/v1/documents/{known}/original",
            "/v1/jobs/00",
        ):
            assert problem(client.get(path)).code == "not_found"
        assert problem(client.get("/v1/nothing")).code == "no_such_path"
        assert problem(client.put("/v1/search")).code == "no_such_method"

    def test_workspaces_are_listed_with_their_documents(self, client: httpx.Client) -> None:
        assert client.get("/v1/workspaces").json() == {"workspaces": [{"name": "default", "files": 3}]}


class TestGraph:
    def test_entities_neighbours_relations_and_paths(self, client: httpx.Client) -> None:
        entity = client.get("/v1/graph/entities", params={"q": "Ada Brandt"}).json()["entities"][0]
        assert entity["name"] == "Ada Brandt"
        assert client.get(f"/v1/graph/entities/{entity['id']}").json() == entity
        near = client.get(f"/v1/graph/entities/{entity['id']}/neighbours").json()["neighbours"]
        assert "Orin Works" in {one["entity"]["name"] for one in near}
        said = client.get(f"/v1/graph/entities/{entity['id']}/relations").json()["relations"]
        assert all(relation["evidence"] for relation in said)
        paths = client.get("/v1/graph/paths", params={"from": "Ada Brandt", "to": "Orin Works"}).json()["paths"]
        assert [paths[0]["nodes"][place]["name"] for place in (0, -1)] == ["Ada Brandt", "Orin Works"]

    def test_a_subgraph_can_be_drawn(self, client: httpx.Client) -> None:
        found = client.get("/v1/graph/subgraph", params={"around": "Orin Works"}).json()
        ids = {node["id"] for node in found["nodes"]}
        assert len(ids) == len(found["nodes"]) >= 2
        assert all(edge["source"] in ids and edge["target"] in ids for edge in found["edges"])
        assert all(0 <= node["x"] <= 1 and 0 <= node["y"] <= 1 for node in found["nodes"])
        places = {(node["x"], node["y"]) for node in found["nodes"]}
        assert len(places) == len(ids)

    def test_communities(self, client: httpx.Client) -> None:
        found = client.get("/v1/graph/communities").json()["communities"]
        for community in found:
            assert client.get(f"/v1/graph/communities/{community['id']}").json()["title"] == community["title"]

    def test_an_unknown_entity_is_a_404(self, client: httpx.Client) -> None:
        assert problem(client.get("/v1/graph/paths", params={"from": "Nobody", "to": "Ada Brandt"})).status == 404


class TestServer:
    def test_it_lives_is_ready_and_counts(self, client: httpx.Client) -> None:
        assert client.get("/livez").json() == {"status": "ok"}
        assert client.get("/readyz").json() == {"status": "ok"}
        client.post("/v1/search", json={"text": "fee"})
        text = client.get("/metrics").text
        assert 'hybridrag_http_requests_total{method="POST",route="/v1/search",status="200"}' in text
        assert "hybridrag_files 3.0" in text
        assert 'hybridrag_step_seconds_count{state="done",step="keyword"}' in text

    def test_the_status_and_the_settings_tell_no_secret(self, tmp_path: Path) -> None:
        settings = plain_settings(tmp_path / "index", web_api_key="not-to-be-seen")
        with serving(settings) as own, own.client() as client:
            assert client.get("/v1/status").json()["files"] == 0
            shown = client.get("/v1/settings")
            assert "not-to-be-seen" not in shown.text
            values = {one["key"]: one["value"] for one in shown.json()["settings"]}
            assert values["web.api_key"] == "********"
            assert values["embedding.provider"] == "fake"

    def test_the_documentation_page_asks_no_other_host(self, client: httpx.Client) -> None:
        page = client.get("/docs").text
        assert "/v1/search" in page
        assert "http://" not in page
        assert "https://" not in page
        assert "<script" not in page
        assert client.get("/docs/style.css").headers["content-type"].startswith("text/css")

    def test_every_answer_carries_the_headers_that_protect_a_page(self, client: httpx.Client) -> None:
        for path in ("/livez", "/docs", "/v1/status", "/v1/nothing", "/v1/documents/x"):
            headers = client.get(path).headers
            assert "default-src 'none'" in headers["content-security-policy"]
            assert "unsafe" not in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["x-frame-options"] == "DENY"

    def test_a_trace_that_the_caller_began_goes_on(self, client: httpx.Client) -> None:
        trace = "0af7651916cd43dd8448eb211c80319c"
        response = client.get("/v1/status", headers={"traceparent": f"00-{trace}-b7ad6b7169203331-01"})
        assert response.headers["x-trace-id"] == trace


class TestWrongRequests:
    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            ({"text": ""}, "`text` the query is empty; give at least one character to search for."),
            ({"text": "x", "options": {"limit": 500}}, "`options.limit` should be less than or equal to 100."),
            ({"text": "x", "limit": 5}, "`limit` extra inputs are not permitted."),
            ({}, "`text` field required."),
        ],
    )
    def test_a_wrong_value_is_named_with_what_is_expected(
        self, client: httpx.Client, body: dict[str, object], expected: str
    ) -> None:
        found = problem(client.post("/v1/search", json=body))
        assert (found.status, found.detail) == (422, expected)

    def test_broken_json_and_cursors_and_ids_are_said(self, client: httpx.Client) -> None:
        broken = client.post("/v1/search", content=b"{", headers={"content-type": "application/json"})
        assert problem(broken).status == 422
        assert problem(client.get("/v1/documents", params={"cursor": "nonsense"})).code == "invalid_input"
        assert problem(client.get("/v1/documents/not-an-id")).status == 422

    def test_an_embedding_of_the_wrong_size_is_refused(self, client: httpx.Client) -> None:
        found = problem(client.post("/v1/search", json={"text": "fee", "embedding": [0.5, 0.5]}))
        assert found.code == "invalid_query"

    def test_a_body_that_is_too_large_is_refused_with_and_without_its_length(self, tmp_path: Path) -> None:
        settings = plain_settings(tmp_path / "index", server_max_body_bytes=1000)
        with serving(settings) as own, own.client() as client:
            body = json.dumps({"text": "x" * 2000}).encode()
            assert problem(client.post("/v1/search", content=body)).status == 413
            chunked = client.post(
                "/v1/search", content=iter([body[:500], body[500:]]), headers={"content-type": "application/json"}
            )
            assert problem(chunked).code == "too_large"

    def test_too_many_requests_are_told_when_to_come_again(self, tmp_path: Path) -> None:
        settings = plain_settings(tmp_path / "index", server_requests_per_minute=5)
        with serving(settings) as own, own.client() as client:
            answers = [client.get("/v1/workspaces") for _ in range(7)]
            assert [answer.status_code for answer in answers[:5]] == [200] * 5
            assert problem(answers[6]).code == "too_many_requests"
            assert 1 <= int(answers[6].headers["retry-after"]) <= 12
            assert client.get("/livez").status_code == 200, "health is asked often, and is free"


def test_a_rate_limit_fills_again_with_time_and_knows_callers_apart() -> None:
    now = [0.0]
    limit = RateLimit(60, clock=lambda: now[0])
    assert [limit.wait("a") for _ in range(60)] == [0.0] * 60
    assert limit.wait("a") == pytest.approx(1.0)
    assert limit.wait("b") == 0.0
    now[0] = 1.5
    assert limit.wait("a") == 0.0
    assert limit.wait("a") == pytest.approx(0.5)


class TestSafeByDefault:
    def test_other_hosts_are_refused_and_addresses_are_not(self, client: httpx.Client) -> None:
        assert problem(client.get("/v1/status", headers={"host": "attacker.example"})).status == 421
        for host in ("localhost:1", "127.0.0.1:99", "[::1]:8421", "192.168.0.7"):
            assert client.get("/v1/status", headers={"host": host}).status_code == 200

    def test_pages_of_other_origins_are_refused_and_the_own_one_is_not(self, client: httpx.Client) -> None:
        assert problem(client.get("/v1/status", headers={"origin": "https://evil.example"})).code == "unknown_origin"
        assert problem(client.get("/v1/status", headers={"origin": "null"})).status == 403
        own = str(client.base_url).rstrip("/")
        assert client.get("/v1/status", headers={"origin": own}).status_code == 200

    def test_an_allowed_origin_may_call_and_is_told_so(self, tmp_path: Path) -> None:
        settings = plain_settings(tmp_path / "index", server_allowed_origins=("https://intranet.example",))
        with serving(settings) as own, own.client(origin="https://intranet.example") as client:
            asked = client.options("/v1/search", headers={"access-control-request-method": "POST"})
            assert asked.status_code == 204
            assert "POST" in asked.headers["access-control-allow-methods"]
            answer = client.get("/v1/status")
            assert answer.headers["access-control-allow-origin"] == "https://intranet.example"

    def test_requests_from_a_proxy_need_a_key_even_without_one_made(self, client: httpx.Client) -> None:
        for name in ("x-forwarded-for", "forwarded", "x-real-ip"):
            assert problem(client.get("/v1/status", headers={name: "203.0.113.9"})).code == "key_needed"

    def test_once_a_key_exists_it_is_needed_and_a_revoked_one_is_none(self, tmp_path: Path) -> None:
        settings = plain_settings(tmp_path / "index")
        with serving(settings) as own:
            with own.client() as anyone:
                assert anyone.get("/v1/status").status_code == 200
            key = make_key(settings, Scope.SEARCH)
            with own.client() as anyone, own.client(key) as known, own.client(f"{key}x") as wrong:
                refused = anyone.get("/v1/status")
                assert problem(refused).code == "key_needed"
                assert refused.headers["www-authenticate"].startswith("Bearer")
                assert problem(wrong.get("/v1/status")).status == 401
                assert known.get("/v1/status").json()["scopes"] == ["search"]
                assert anyone.get("/livez").status_code == 200
                other = make_key(settings, Scope.ADMIN)
                own.app.state.server.keys.revoke(key.split("_")[1])
                assert problem(known.get("/v1/status")).status == 401
                with own.client(other) as admin:
                    assert admin.get("/metrics").status_code == 200

    def test_the_key_file_holds_no_key_and_is_its_owners_alone(self, tmp_path: Path) -> None:
        settings = plain_settings(tmp_path / "index")
        key = make_key(settings, Scope.SEARCH)
        file = tmp_path / "index" / "server" / "keys.json"
        assert key.split("_", 2)[2] not in file.read_text(encoding="utf-8")
        assert file.stat().st_mode & 0o077 == 0

    def test_the_command_refuses_other_addresses_without_a_key(self, tmp_path: Path) -> None:
        command = [
            sys.executable,
            "-m",
            "hybridrag.apps.cli",
            "serve",
            "--host",
            "::",
            "--index",
            str(tmp_path / "i"),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
        assert done.returncode == 2
        assert "there is no key yet. Make one first: hybridrag keys create" in done.stderr

    def test_the_command_says_in_one_sentence_what_to_install(self, tmp_path: Path) -> None:
        code = (
            "import importlib.util as u, sys\n"
            "real = u.find_spec\n"
            "u.find_spec = lambda name, *rest: None if name == 'fastapi' else real(name, *rest)\n"
            "from hybridrag.apps.cli import main\n"
            "sys.exit(main(['serve']))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path
        )
        assert done.stderr == "error: The server is not installed. Run: pip install 'hybridrag[server]'\n"
        assert done.returncode == 2
