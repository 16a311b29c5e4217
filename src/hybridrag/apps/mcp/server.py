"""The MCP server: the tools, a resource for each document, and the rule that every call acts for its caller."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from itertools import islice
from typing import Annotated, Any, TypeVar

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.types import Resource, ToolAnnotations
from pydantic import Field

from hybridrag import RAGError, __version__
from hybridrag.apps.access import Access
from hybridrag.apps.mcp import tools as told
from hybridrag.apps.mcp.tools import SCHEME, Tools

T = TypeVar("T")
Work = Callable[[Callable[[], Any]], Awaitable[Any]]

ABOUT = (
    "The user's own documents, in English and Japanese. Use `answer` for a question (it says when the documents do not "
    "hold the answer), `search_passages` to see the evidence, `read_document` to read on. Cite the title and place."
)

LISTED = 200
"""Documents that are listed as resources; `list_documents` goes through all of them."""

READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)

Question = Annotated[str, Field(min_length=1, max_length=1000, description="A question or words, in any language.")]
Workspace = Annotated[str | None, Field(description="Only this workspace; leave it out for all.")]
Id = Annotated[str, Field(min_length=1, max_length=200, description="An id from a search or a list.")]
Cursor = Annotated[str | None, Field(description="`nextCursor` of the part before.")]
Name = Annotated[str, Field(min_length=1, max_length=500, description="The name of a person, thing or idea.")]


class Calls:
    """Carries who calls from the request to the tool, and the tool's work off the event loop."""

    def __init__(self, access_for: Callable[[Any], Access], work: Work) -> None:
        self._access_for = access_for
        self._work = work
        self._calling: ContextVar[Access] = ContextVar("calling")

    async def act_for_caller(self, ctx: Any, call_next: Any) -> Any:
        """Middleware: whatever the request asks for is asked by its caller."""
        token = self._calling.set(self._access_for(ctx.request))
        try:
            return await call_next(ctx)
        finally:
            self._calling.reset(token)

    async def ask(self, call: Callable[[Access], T]) -> T:
        """What the call finds; an error becomes one sentence for the agent."""
        access = self._calling.get()
        try:
            found: T = await self._work(lambda: call(access))
        except RAGError as error:
            raise ToolError(str(error)) from error
        return found


class Documents(MCPServer):
    """A server with a resource for each document that the caller may see."""

    def __init__(self, calls: Calls) -> None:
        super().__init__(
            "hybridrag", title="HybridRAG", instructions=ABOUT, version=__version__, middleware=[calls.act_for_caller]
        )
        self._calls = calls

    async def list_resources(self) -> list[Resource]:
        """The first of the caller's documents."""
        files = await self._calls.ask(
            lambda access: list(islice(access.engine.files(filters=access.filters()), LISTED))
        )
        return [
            Resource(uri=f"{SCHEME}{file.id}", name=file.name, title=file.title, mime_type="text/plain")
            for file in files
        ]


def make_server(
    access_for: Callable[[Any], Access], work: Work, *, public_url: str | None = None, write: bool = False
) -> MCPServer:
    """A server whose calls act for whom `access_for` finds behind a request (None over stdio).

    `work` does the engine's work off the event loop.
    """
    calls, tools = Calls(access_for, work), Tools(public_url)
    server = Documents(calls)
    _add_reading(server, tools, calls)
    if write:
        _add_writing(server, tools, calls)

    @server.resource(SCHEME + "{document_id}", mime_type="text/plain")
    async def document(document_id: str) -> str:
        """The beginning of a document's text; `read_document` reads on."""
        try:
            return (await calls.ask(lambda access: tools.read_document(access, document_id, None))).text
        except ToolError as error:
            raise ResourceError(str(error)) from error

    return server


def _add_reading(server: MCPServer, tools: Tools, calls: Calls) -> None:
    @server.tool(annotations=READS)
    async def search(query: Question) -> told.FoundPage:
        """Find documents: id, title and address of the best ones. `fetch` gives the text of one."""
        return await calls.ask(lambda access: tools.search(access, query))

    @server.tool(annotations=READS)
    async def fetch(id: Id) -> told.Fetched:  # noqa: A002 (the connectors' name for it)
        """Get the text of a search result; of a long document the part around what was found."""
        return await calls.ask(lambda access: tools.fetch(access, id))

    @server.tool(annotations=READS)
    async def search_passages(
        query: Question,
        workspace: Workspace = None,
        limit: Annotated[int, Field(ge=1, le=20, description="At most so many.")] = 8,
        cursor: Cursor = None,
    ) -> told.PassagePage:
        """Find passages with text, page or lines, and whether they hold the answer or what is missing."""
        return await calls.ask(lambda access: tools.search_passages(access, query, workspace, limit, cursor))

    @server.tool(annotations=READS)
    async def answer(question: Question, workspace: Workspace = None) -> told.AnswerPage:
        """Answer a question from the documents with numbered sources, or say that they do not hold the answer."""
        return await calls.ask(lambda access: tools.answer(access, question, workspace))

    @server.tool(annotations=READS)
    async def read_document(id: Id, cursor: Cursor = None) -> told.DocumentPart:  # noqa: A002
        """Read the text of a document, part by part."""
        return await calls.ask(lambda access: tools.read_document(access, id, cursor))

    @server.tool(annotations=READS)
    async def list_documents(workspace: Workspace = None, cursor: Cursor = None) -> told.DocumentList:
        """List the documents by workspace and name."""
        return await calls.ask(lambda access: tools.list_documents(access, workspace, cursor))

    @server.tool(annotations=READS)
    async def graph_neighbours(
        name: Name, limit: Annotated[int, Field(ge=1, le=50, description="At most so many.")] = 15
    ) -> told.NeighbourList:
        """List what has to do with a person, thing or idea, with the sentences that say so."""
        return await calls.ask(lambda access: tools.graph_neighbours(access, name, limit))

    @server.tool(annotations=READS)
    async def graph_path(start: Name, end: Name) -> told.Ways:
        """Show how one person, thing or idea leads to another through the documents."""
        return await calls.ask(lambda access: tools.graph_path(access, start, end))


def _add_writing(server: MCPServer, tools: Tools, calls: Calls) -> None:
    @server.tool(annotations=WRITES)
    async def add_document(
        name: Annotated[str, Field(min_length=1, max_length=500, description="Such as notes/today.md.")],
        text: Annotated[str, Field(min_length=1, description="Plain text or Markdown.")],
        workspace: Workspace = None,
    ) -> told.ListedDocument:
        """Add a text, in place of what had the same name."""
        return await calls.ask(lambda access: tools.add_document(access, name, text, workspace))

    @server.tool(annotations=WRITES)
    async def remove_document(id: Id) -> told.Removed:  # noqa: A002
        """Forget a document and everything that came from it."""
        return await calls.ask(lambda access: tools.remove_document(access, id))
