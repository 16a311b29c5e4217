"""The engine as one caller may use it: every face (HTTP, MCP, chat) goes through here, and nothing goes past it.

What a caller may not see does not exist for them: a document of another workspace is as unknown as one that was never
added.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice

from hybridrag import (
    Answer,
    Chunk,
    Engine,
    FileInfo,
    KnowledgeGraph,
    NotFound,
    RAGError,
    SearchFilters,
    SearchQuery,
    SearchResult,
)
from hybridrag.apps.keys import Key, Scope
from hybridrag.types.ids import ChunkId, FileId
from hybridrag.types.results import OnStep


class NotAllowed(RAGError):
    """The caller is known, and may not do this; says nothing about whether the thing exists."""

    code = "not_allowed"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: what they may do, and in which workspaces (None: all)."""

    name: str
    scopes: frozenset[Scope]
    workspaces: frozenset[str] | None = None

    @classmethod
    def of(cls, key: Key) -> Caller:
        """The caller that a key stands for."""
        return cls(key.id, frozenset(key.scopes), None if key.workspaces is None else frozenset(key.workspaces))

    def may(self, scope: Scope) -> bool:
        """Whether that is among what they may do."""
        return scope in self.scopes or Scope.ADMIN in self.scopes

    def require(self, scope: Scope) -> None:
        """Go on only with that scope.

        Raises:
            NotAllowed: the caller's key lacks it.
        """
        if not self.may(scope):
            raise NotAllowed(f"This key lacks the scope {scope.value!r}.", hint="Use a key that was created with it.")

    def sees(self, workspace: str) -> bool:
        """Whether that workspace is theirs."""
        return self.workspaces is None or workspace in self.workspaces

    def require_workspace(self, workspace: str) -> str:
        """That workspace, where it is theirs.

        Raises:
            NotAllowed: it is not; the same whether or not it exists.
        """
        if not self.sees(workspace):
            raise NotAllowed(
                f"This key does not reach the workspace {workspace!r}.", hint="Leave it out to use those of the key."
            )
        return workspace


LOCAL = Caller("local", frozenset(Scope))
"""Whoever works on this machine, where no key was made."""


@dataclass(frozen=True, slots=True)
class Access:
    """The engine, as that caller may use it."""

    engine: Engine
    caller: Caller

    # Reading

    def search(self, query: SearchQuery, *, explain: bool = False, on_step: OnStep | None = None) -> SearchResult:
        """`Engine.search` within the caller's workspaces."""
        with self._telling(on_step):
            return self.engine.search(self.scoped(query), explain=explain)

    def answer(self, query: SearchQuery, *, on_step: OnStep | None = None) -> Answer:
        """`Engine.answer` within the caller's workspaces."""
        with self._telling(on_step):
            return self.engine.answer(self.scoped(query))

    def _telling(self, on_step: OnStep | None) -> AbstractContextManager[None]:
        return nullcontext() if on_step is None else self.engine.telling(on_step)

    def scoped(self, query: SearchQuery) -> SearchQuery:
        """The query, kept to what the caller may see.

        Raises:
            NotAllowed: the caller may not search, or names a workspace that is not theirs.
        """
        return query.model_copy(update={"filters": self.filters(query.filters)})

    def filters(self, filters: SearchFilters | None = None) -> SearchFilters:
        """The filters, kept to what the caller may see."""
        self.caller.require(Scope.SEARCH)
        filters = filters or SearchFilters()
        for space in filters.workspace_ids or ():
            self.caller.require_workspace(space)
        if filters.workspace_ids or self.caller.workspaces is None:
            return filters
        return filters.model_copy(update={"workspace_ids": tuple(sorted(self.caller.workspaces))})

    def files(
        self, *, filters: SearchFilters, after: tuple[str, str] | None, limit: int
    ) -> tuple[list[FileInfo], tuple[str, str] | None]:
        """Files by workspace and name that come after `after`, and where the next page begins, if there is one.

        The place is a name, not a number: files that come and go meanwhile make no other file appear twice or never.
        """
        rest = (
            file
            for file in self.engine.files(filters=self.filters(filters))
            if after is None or (file.workspace, file.name) > after
        )
        page = list(islice(rest, limit + 1))
        last = page[limit - 1] if len(page) > limit else None
        return page[:limit], None if last is None else (last.workspace, last.name)

    def file(self, file_id: FileId, *, scope: Scope = Scope.SEARCH) -> FileInfo:
        """The file of that id.

        Raises:
            NotFound: there is none that the caller may see.
        """
        self.caller.require(scope)
        file = self.engine.file(file_id)
        if file is None or not self.caller.sees(file.workspace):
            raise NotFound("document", file_id)
        return file

    def text(self, file_id: FileId) -> str:
        """The stored text of a file.

        Raises:
            NotFound: there is none that the caller may see.
        """
        self.file(file_id)
        return self.engine.text(file_id) or ""

    def chunks(self, file_id: FileId) -> list[Chunk]:
        """The pieces of a file.

        Raises:
            NotFound: there is no such file that the caller may see.
        """
        self.file(file_id)
        return self.engine.chunks(file_id)

    def chunk(self, file_id: FileId, chunk_id: ChunkId) -> Chunk:
        """One piece of a file.

        Raises:
            NotFound: there is none that the caller may see.
        """
        for chunk in self.chunks(file_id):
            if chunk.id == chunk_id:
                return chunk
        raise NotFound("passage", chunk_id)

    def graph(self, filters: SearchFilters | None = None) -> KnowledgeGraph:
        """The graph, as far as the caller's documents state it."""
        return self.engine.graph.under(self.filters(filters))

    def workspaces(self) -> dict[str, int]:
        """The caller's workspaces that hold files, with how many."""
        known = self.engine.status().workspaces
        return {space: known[space] for space in sorted(known) if self.caller.sees(space)}

    # Writing

    def writable(self, workspace: str | None) -> str:
        """The workspace to write to: the one that is named, else that of the settings or the caller's only one.

        Raises:
            NotAllowed: the caller may not write, or not there; or has several workspaces and names none.
        """
        self.caller.require(Scope.WRITE)
        if workspace is not None:
            return self.caller.require_workspace(workspace)
        default = self.engine.settings.index.workspace
        if self.caller.sees(default):
            return default
        own = sorted(self.caller.workspaces or ())
        if len(own) == 1:
            return own[0]
        raise NotAllowed("This key reaches several workspaces.", hint="Say which one to write to.")

    def remove(self, file_id: FileId) -> FileInfo:
        """Forget a file with everything that came from it.

        Raises:
            NotFound: there is none that the caller may see.
        """
        file = self.file(file_id, scope=Scope.WRITE)
        self.engine.remove(file_id, workspace=file.workspace)
        return file

    def clear(self, workspace: str) -> int:
        """Forget every file of a workspace; how many there were.

        Raises:
            NotFound: the workspace holds nothing.
        """
        self.caller.require(Scope.ADMIN)
        self.caller.require_workspace(workspace)
        if workspace not in self.engine.status().workspaces:
            raise NotFound("workspace", workspace)
        return len(self.engine.remove(everything=True, workspace=workspace).outcomes)
