"""The index for agents: a real MCP client over stdio and over HTTP, in both eras of the protocol."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from hybridrag import Settings
from hybridrag.apps.keys import Scope
from server_home import PLAIN, fill, make_key, plain_settings, serving

LONG = "\n\n".join(f"Paragraph {number} says nothing of note." for number in range(1500))

DOCUMENTS = {
    "red": {
        "fees.md": "# Fees\n\nThe entrance fee is twelve crowns.\n\nChildren pay half of it.",
        "history.md": "Orin Works was founded in 1987 by Ada Brandt in Malmö. Ada Brandt led Orin Works for ten years.",
        "long.md": f"# Long\n\n{LONG}\n\nThe zeppelin landed in Hakodate.\n\n{LONG}",
    },
    "blue": {"secret.md": "The blue password is heron. 青い合言葉はサギです。"},
}

MODES = ("auto", "legacy")
"""How a client of the present protocol begins, and one of the years before."""

MOST_CHARACTERS = 40_000
"""Of one result: English text of 20,000 tokens is twice as long."""


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    made = plain_settings(tmp_path_factory.mktemp("mcp") / "index")
    fill(made, DOCUMENTS)
    return made


@asynccontextmanager
async def over_stdio(settings: Settings, *more: str, mode: Any = "auto") -> AsyncIterator[Client]:
    plain = {f"HYBRIDRAG_{key.replace('.', '_').upper()}": str(value).lower() for key, value in PLAIN.items()}
    command = ["-m", "hybridrag.apps.cli", "mcp", "--index", str(settings.index.path), *more]
    parameters = StdioServerParameters(command=sys.executable, args=command, env={**os.environ, **plain})
    async with Client(parameters, mode=mode) as client:
        yield client


@asynccontextmanager
async def over_http(url: str, key: str | None = None, *, mode: Any = "auto") -> AsyncIterator[Client]:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=60))
        transport = streamable_http_client(f"{url}/mcp", http_client=http)
        yield await stack.enter_async_context(Client(transport, mode=mode))


def run(work: Callable[[], Awaitable[Any]]) -> Any:
    return asyncio.run(asyncio.wait_for(work(), 300))


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    """The structured content of a call, which is also its one text."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    (text,) = result.content
    assert json.loads(text.text) == result.structured_content  # type: ignore[union-attr]
    assert len(text.text) < MOST_CHARACTERS  # type: ignore[union-attr]
    return result.structured_content


async def ask_everything(client: Client) -> dict[str, Any]:
    """One call of every reading tool, and the resources."""
    found = (await call(client, "search", query="entrance fee"))["results"]
    assert all(set(one) == {"id", "title", "url"} and one["url"] for one in found)
    assert found[0]["title"].startswith("fees.md")
    fetched = await call(client, "fetch", id=found[0]["id"])
    assert set(fetched) == {"id", "title", "text", "url", "metadata"}
    assert "twelve crowns" in fetched["text"]
    passages = await call(client, "search_passages", query="entrance fee", limit=2)
    assert "twelve crowns" in passages["passages"][0]["text"]
    assert passages["passages"][0]["place"]
    more = await call(client, "search_passages", query="entrance fee", limit=2, cursor=passages["nextCursor"])
    known = {one["id"] for one in passages["passages"]}
    assert known.isdisjoint(one["id"] for one in more["passages"])
    listed = await call(client, "list_documents")
    (resource,) = [one for one in (await client.list_resources()).resources if one.name == "history.md"]
    (content,) = (await client.read_resource(resource.uri)).contents
    assert "founded in 1987" in content.text  # type: ignore[union-attr]
    return {
        "tools": sorted(tool.name for tool in (await client.list_tools()).tools),
        "found": found,
        "passages": [one["text"] for one in passages["passages"]],
        "answer": await call(client, "answer", question="What is the entrance fee?"),
        "documents": sorted(one["name"] for one in listed["documents"]),
        "neighbours": await call(client, "graph_neighbours", name="Orin Works"),
        "ways": await call(client, "graph_path", start="Ada Brandt", end="Orin Works"),
    }


def test_both_transports_and_both_eras_give_the_same(settings: Settings) -> None:
    async def work() -> None:
        told = []
        for mode in MODES:
            async with over_stdio(settings, mode=mode) as client:
                told.append(await ask_everything(client))
        with serving(settings) as server:
            for mode in MODES:
                async with over_http(server.url, mode=mode) as client:
                    told.append(await ask_everything(client))
        assert all(one == told[0] for one in told)
        assert told[0]["documents"] == ["fees.md", "history.md", "long.md", "secret.md"]
        assert "add_document" not in told[0]["tools"]
        assert told[0]["ways"]["paths"][0] == ["Ada Brandt", "Orin Works"]

    run(work)


def test_tools_say_that_they_only_read_and_take_few_tokens(settings: Settings) -> None:
    async def work() -> None:
        async with over_stdio(settings) as client:
            tools = (await client.list_tools()).tools
            assert all(tool.annotations is not None and tool.annotations.read_only_hint for tool in tools)
            inputs = [tool.model_dump_json(include={"name", "description", "input_schema"}) for tool in tools]
            assert sum(map(len, inputs)) < 12_000

    run(work)


def test_a_long_document_is_read_to_its_end_part_by_part(settings: Settings) -> None:
    async def work() -> None:
        async with over_stdio(settings) as client:
            found = (await call(client, "search", query='"zeppelin landed"'))["results"]
            (first,) = [one for one in found if one["title"].startswith("long.md")]
            fetched = await call(client, "fetch", id=first["id"])
            assert "zeppelin landed in Hakodate" in fetched["text"]
            assert "read_document" in fetched["metadata"]["part"]
            text, cursor = "", None
            while True:
                part = await call(client, "read_document", id=first["id"], cursor=cursor)
                text += part["text"]
                cursor = part["nextCursor"]
                if cursor is None:
                    break
            assert text.count("says nothing of note") == 3000

    run(work)


def test_a_wrong_id_cursor_or_question_is_one_sentence(settings: Settings) -> None:
    async def work() -> None:
        async with over_stdio(settings) as client:
            for tool, arguments, said in (
                ("fetch", {"id": "nothing"}, "Use an id that a search or list_documents gave."),
                ("read_document", {"id": "nothing"}, "Use an id that a search or list_documents gave."),
                ("search_passages", {"query": "fee", "cursor": "xx"}, "Begin without one."),
                ("graph_neighbours", {"name": "Nobody At All"}, "Nobody At All"),
            ):
                result = await client.call_tool(tool, arguments)
                assert result.is_error
                (text,) = result.content
                assert said in text.text  # type: ignore[union-attr]
                assert "Traceback" not in text.text  # type: ignore[union-attr]

    run(work)


def test_a_key_reaches_its_workspace_alone(tmp_path: Path) -> None:
    own = plain_settings(tmp_path / "index", server_mcp_write=True)
    fill(own, DOCUMENTS)
    red, reader = (
        make_key(own, *scopes, workspaces=("red",)) for scopes in ((Scope.SEARCH, Scope.WRITE), (Scope.SEARCH,))
    )

    async def work() -> None:
        with serving(own) as server:
            everything = make_key(own, Scope.SEARCH)
            async with over_http(server.url, everything) as client:
                (secret,) = [
                    one for one in (await call(client, "list_documents"))["documents"] if one["name"] == "secret.md"
                ]
            async with over_http(server.url, red) as client:
                told = [
                    await call(client, "search", query="blue password heron"),
                    await call(client, "search_passages", query="blue password heron 合言葉"),
                    await call(client, "answer", question="What is the blue password?"),
                    await call(client, "list_documents"),
                    [one.model_dump_json() for one in (await client.list_resources()).resources],
                ]
                assert "heron" not in json.dumps(told[1:]).replace("blue password heron", "")
                assert "secret.md" not in json.dumps(told)
                for tool, arguments in (
                    ("fetch", {"id": secret["id"]}),
                    ("read_document", {"id": secret["id"]}),
                    ("remove_document", {"id": secret["id"]}),
                    ("search_passages", {"query": "heron", "workspace": "blue"}),
                    ("add_document", {"name": "x.md", "text": "Something.", "workspace": "blue"}),
                ):
                    result = await client.call_tool(tool, arguments)
                    assert result.is_error, tool
                added = await call(client, "add_document", name="new.md", text="The gate opens at nine.")
                assert added["workspace"] == "red"
                assert "opens at nine" in (await call(client, "answer", question="When does the gate open?"))["text"]
                assert (await call(client, "remove_document", id=added["id"])) == {"name": "new.md"}
            async with over_http(server.url, reader) as client:
                result = await client.call_tool("add_document", {"name": "x.md", "text": "Something."})
                assert result.is_error
            async with over_http(server.url, everything) as client:
                names = [one["name"] for one in (await call(client, "list_documents"))["documents"]]
                assert "secret.md" in names
                assert "x.md" not in names

    run(work)


def test_without_a_key_the_server_answers_no_agent(tmp_path: Path) -> None:
    own = plain_settings(tmp_path / "index")
    fill(own, DOCUMENTS)
    make_key(own, Scope.SEARCH)
    with serving(own) as server, server.client() as client:
        answer = client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        assert answer.status_code == 401
    closed = plain_settings(tmp_path / "index", server_mcp=False)
    key = make_key(closed, Scope.SEARCH)
    with serving(closed) as server, server.client(key) as client:
        assert client.post("/mcp", json={}).status_code == 404
