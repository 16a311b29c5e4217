"""What an agent may ask, and what it gets: small answers that name their source and can be read on.

No answer is longer than 20,000 tokens: texts come in pages of `PAGE` characters, lists with a cursor.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from pydantic import Field

from hybridrag import FileInfo, InvalidInput, NotFound, SearchFilters, SearchQuery, SearchResultItem
from hybridrag.apps.access import Access
from hybridrag.apps.paging import pack_cursor, unpack_cursor
from hybridrag.apps.places import place_of
from hybridrag.types.base import Model
from hybridrag.types.ids import ChunkId, FileId
from hybridrag.types.queries import SearchOptions
from hybridrag.types.results import SearchResultSources, SearchResultType

PAGE = 12_000
"""Characters of a text at once; a Japanese character is about one token, an English one a quarter."""

PASSAGE = 2_000
"""Characters of a passage in a list."""

SEPARATOR = "/"
"""Between the document and the passage in the id of a search result."""

SCHEME = "hybridrag://documents/"


class Found(Model):
    """A search result as ChatGPT's connectors want it."""

    id: str
    """What `fetch` takes."""
    title: str
    url: str
    """Where a person can look it up; never empty."""


class FoundPage(Model):
    """What `search` gives."""

    results: tuple[Found, ...]


class Fetched(Model):
    """What `fetch` gives: the text of a document, or the part of a long one around the passage that was found."""

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, str]


class Passage(Model):
    """A passage that bears on a question."""

    id: str
    """What `fetch` takes."""
    document_id: str
    """What `read_document` takes."""
    title: str
    place: str
    """Where in the document it stands: page, lines, headings."""
    url: str
    text: str
    score: float
    """The probability that it bears on the question."""


class PassagePage(Model):
    """Passages best first, and whether they answer."""

    passages: tuple[Passage, ...]
    answers: bool | None = None
    """Whether the documents hold the answer, as far as the engine can tell; None where nobody could judge."""
    missing: tuple[str, ...] = ()
    """What was not found."""
    next_cursor: str | None = None


class Source(Model):
    """What a number in brackets stands for."""

    number: int
    id: str
    title: str
    place: str
    url: str
    quote: str


class AnswerPage(Model):
    """An answer with its sources, or a refusal that says what is missing."""

    text: str
    short: str | None = None
    """The stretch of a document that answers, word for word."""
    answered: bool
    missing: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()


class DocumentPart(Model):
    """A part of a document's text."""

    id: str
    title: str
    url: str
    text: str
    next_cursor: str | None = None
    """For the part that follows; None at the end."""


class ListedDocument(Model):
    """A document of the list."""

    id: str
    name: str
    title: str
    workspace: str
    type: str


class DocumentList(Model):
    """Documents by workspace and name."""

    documents: tuple[ListedDocument, ...]
    next_cursor: str | None = None


class Neighbour(Model):
    """A thing that has to do with another, and the sentences that say so."""

    name: str
    type: str
    says: tuple[str, ...] = Field(max_length=5)


class NeighbourList(Model):
    """What has to do with a thing, closest first."""

    name: str
    type: str
    neighbours: tuple[Neighbour, ...]


class Ways(Model):
    """Ways from one thing to another, the shortest first: names and titles on each."""

    paths: tuple[tuple[str, ...], ...]


class Removed(Model):
    """What is gone."""

    name: str


class Tools:
    """The tools of one index; every call says who asks."""

    def __init__(self, public_url: str | None) -> None:
        self._public_url = (public_url or "").rstrip("/")

    def search(self, access: Access, query: str) -> FoundPage:
        """The best passages, one for each document."""
        items = self._items(access, query, workspace=None, limit=10, offset=0)[0]
        first = {item.sources.file_id: item for item in reversed(items)}
        kept = [item for item in items if first[item.sources.file_id] is item]
        return FoundPage(
            results=tuple(Found(id=_id(item), title=_title(item), url=self._url(item.sources)) for item in kept)
        )

    def fetch(self, access: Access, id: str) -> Fetched:  # noqa: A002 (the connectors' name for it)
        """The document of a search result, the passage that was found in it if it is long."""
        document, _, passage = id.partition(SEPARATOR)
        file = access.file(_file_id(document))
        text = access.text(file.id)
        start = 0
        if passage and len(text) > PAGE:
            chunk = access.chunk(file.id, ChunkId(passage))
            start = min(max(0, (chunk.start + chunk.end - PAGE) // 2), len(text) - PAGE)
        part = text[start : start + PAGE]
        metadata = {"document_id": str(file.id), "name": file.name, "workspace": file.workspace}
        if len(part) < len(text):
            metadata["part"] = f"characters {start} to {start + len(part)} of {len(text)}; read_document gives the rest"
        return Fetched(
            id=id, title=file.title or _last(file.name), text=part, url=self._file_url(file), metadata=metadata
        )

    def search_passages(
        self, access: Access, query: str, workspace: str | None, limit: int, cursor: str | None
    ) -> PassagePage:
        """Passages with their text and place, and whether they answer."""
        offset = _offset(cursor)
        items, judged, total = self._items(access, query, workspace=workspace, limit=limit, offset=offset)
        found = [
            Passage(
                id=_id(item),
                document_id=str(item.sources.file_id or ""),
                title=_title(item),
                place=place_of(item.sources),
                url=self._url(item.sources),
                text=item.content.text[:PASSAGE],
                score=round(item.score, 3),
            )
            for item in items
        ]
        more = offset + limit < total
        return PassagePage(
            passages=tuple(found),
            answers=None if judged is None else judged.is_sufficient,
            missing=() if judged is None else judged.missing_info,
            next_cursor=pack_cursor(("offset", str(offset + limit))) if more else None,
        )

    def answer(self, access: Access, question: str, workspace: str | None) -> AnswerPage:
        """An answer out of the documents, or a refusal."""
        answer = access.answer(_query(question, workspace))
        sources = [
            Source(
                number=citation.number,
                id=_join(citation.sources.file_id, citation.sources.chunk_id),
                title=_last(citation.sources.file_name or ""),
                place=place_of(citation.sources),
                url=self._url(citation.sources),
                quote=next((one.text for one in answer.sentences if citation.number in one.citations), ""),
            )
            for citation in answer.citations
            if citation.sources is not None
        ]
        return AnswerPage(
            text=answer.text,
            short=None if answer.short is None else answer.short.text,
            answered=not answer.abstained,
            missing=answer.missing,
            sources=tuple(sources),
        )

    def read_document(self, access: Access, id: str, cursor: str | None) -> DocumentPart:  # noqa: A002
        """The text of a document, from the beginning or from where the last part ended."""
        file = access.file(_file_id(id.partition(SEPARATOR)[0]))
        text, start = access.text(file.id), _offset(cursor)
        end = start + PAGE
        return DocumentPart(
            id=str(file.id),
            title=file.title or _last(file.name),
            url=self._file_url(file),
            text=text[start:end],
            next_cursor=pack_cursor(("offset", str(end))) if end < len(text) else None,
        )

    def list_documents(self, access: Access, workspace: str | None, cursor: str | None) -> DocumentList:
        """Documents by workspace and name, a hundred at once."""
        filters = SearchFilters(workspace_ids=None if workspace is None else (workspace,))
        files, place = access.files(filters=filters, after=unpack_cursor(cursor), limit=100)
        listed = [
            ListedDocument(
                id=str(file.id), name=file.name, title=file.title or "", workspace=file.workspace, type=file.mime_type
            )
            for file in files
        ]
        return DocumentList(documents=tuple(listed), next_cursor=pack_cursor(place))

    def graph_neighbours(self, access: Access, name: str, limit: int) -> NeighbourList:
        """What has to do with a thing, and the sentences that say so."""
        graph = access.graph()
        entity = graph.entity(name)
        near = [
            Neighbour(
                name=one.entity.name,
                type=str(one.entity.type),
                says=tuple(dict.fromkeys(said.sentence for relation in one.relations for said in relation.evidence))[
                    :5
                ],
            )
            for one in graph.neighbours(entity.id, limit=limit)
        ]
        return NeighbourList(name=entity.name, type=str(entity.type), neighbours=tuple(near))

    def graph_path(self, access: Access, start: str, end: str) -> Ways:
        """How one thing leads to another."""
        return Ways(paths=tuple(path.names for path in access.graph().paths(start, end)))

    def add_document(self, access: Access, name: str, text: str, workspace: str | None) -> ListedDocument:
        """Take a text in, in place of what had the same name."""
        space = access.writable(workspace)
        access.engine.add(text=text, name=name, workspace=space)
        filters = SearchFilters(workspace_ids=(space,))
        file = next((one for one in access.engine.files(filters=filters) if one.name == name), None)
        if file is None:
            raise InvalidInput("The text could not be taken in.", hint="Give a text with words in it.")
        return ListedDocument(
            id=str(file.id), name=file.name, title=file.title or "", workspace=space, type=file.mime_type
        )

    def remove_document(self, access: Access, id: str) -> Removed:  # noqa: A002
        """Forget a document with everything that came from it."""
        return Removed(name=access.remove(_file_id(id)).name)

    def _items(
        self, access: Access, query: str, *, workspace: str | None, limit: int, offset: int
    ) -> tuple[list[SearchResultItem], Any, int]:
        options = SearchOptions(limit=limit, offset=offset)
        result = access.search(_query(query, workspace).model_copy(update={"options": options}))
        items = [one for one in result.results if one.type is SearchResultType.CHUNK and one.sources.file_id]
        return items, result.sufficiency, result.total_count

    def _url(self, sources: SearchResultSources) -> str:
        if sources.external_url:
            return sources.external_url
        if self._public_url and sources.file_id:
            passage = f"/passages/{sources.chunk_id}" if sources.chunk_id else ""
            return f"{self._public_url}/v1/documents/{sources.file_id}{passage}"
        return _address(sources.file_name or "", sources.file_id)

    def _file_url(self, file: FileInfo) -> str:
        return f"{self._public_url}/v1/documents/{file.id}" if self._public_url else _address(file.name, file.id)


def _query(text: str, workspace: str | None) -> SearchQuery:
    return SearchQuery(text=text, filters=SearchFilters(workspace_ids=None if workspace is None else (workspace,)))


def _id(item: SearchResultItem) -> str:
    return _join(item.sources.file_id, item.sources.chunk_id)


def _join(document: FileId | None, passage: ChunkId | None) -> str:
    return f"{document}{SEPARATOR}{passage}" if passage else str(document or "")


def _title(item: SearchResultItem) -> str:
    return " > ".join([_last(item.sources.file_name or ""), *item.sources.headings])


def _last(name: str) -> str:
    return PurePath(name).name or name


def _address(name: str, file_id: FileId | None) -> str:
    path = PurePath(name)
    return path.as_uri() if path.is_absolute() else f"{SCHEME}{file_id}"


def _file_id(text: str) -> FileId:
    try:
        return FileId(text.removeprefix(SCHEME))
    except ValueError:
        raise NotFound("document", text, hint="Use an id that a search or list_documents gave.") from None


def _offset(cursor: str | None) -> int:
    kind, number = unpack_cursor(cursor) or ("offset", "0")
    if kind != "offset" or not number.isdigit():
        raise InvalidInput("The cursor belongs to another list.", hint="Begin without one.")
    return int(number)
