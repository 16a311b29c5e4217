"""Documents: list, upload, read, remove; and the workspaces that hold them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, File, Form, Query, Response, UploadFile
from fastapi.responses import FileResponse
from starlette.concurrency import run_in_threadpool

from hybridrag import FileInfo, NotFound, SearchFilters
from hybridrag.apps.access import Access
from hybridrag.apps.http.depend import MISSING, PROBLEMS, Administering, Searching, State, Writing
from hybridrag.apps.http.jobs import Job
from hybridrag.apps.http.problems import Refused
from hybridrag.apps.http.routes.search import as_json
from hybridrag.apps.http.state import ServerState
from hybridrag.apps.http.wire import (
    DocumentPage,
    DocumentText,
    MarkedPassage,
    PassagePage,
    Removed,
    TextUpload,
    WorkspaceInfo,
    WorkspacePage,
)
from hybridrag.apps.paging import pack_cursor, unpack_cursor
from hybridrag.types.ids import ChunkId, FileId

router = APIRouter(prefix="/v1", tags=["documents"], responses=PROBLEMS)

COPIED_AT_ONCE = 1024 * 1024

Workspace = Annotated[str | None, Query(min_length=1, max_length=200, description="Only this workspace.")]
Limit = Annotated[int, Query(ge=1, le=1000, description="At most so many.")]
Cursor = Annotated[str | None, Query(max_length=8000, description="`nextCursor` of the page before.")]


@router.get("/documents", response_model=DocumentPage)
async def list_documents(
    state: State,
    access: Searching,
    *,
    workspace: Workspace = None,
    kind: Annotated[
        str | None, Query(alias="type", max_length=200, description="Only this type, such as text/markdown or text/*.")
    ] = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Response:
    """Documents by workspace and name. Files that come and go meanwhile make no other appear twice or never."""
    after = unpack_cursor(cursor)
    filters = SearchFilters(
        workspace_ids=None if workspace is None else (workspace,), file_types=None if kind is None else (kind,)
    )

    def page() -> str:
        files, place = access.files(filters=filters, after=after, limit=limit)
        return DocumentPage(documents=tuple(files), next_cursor=pack_cursor(place)).model_dump_json()

    return as_json(await state.work(page))


@router.post("/documents", response_model=Job, status_code=202)
async def upload(
    state: State,
    access: Writing,
    files: Annotated[list[UploadFile], File(description="The files; a file name may be a path, such as notes/a.md.")],
    workspace: Annotated[str | None, Form(min_length=1, max_length=200, description="Where they go.")] = None,
) -> Response:
    """Take in files, as a job: the answer tells its id, and `/v1/jobs/ID/events` how it goes on."""
    space = access.writable(workspace)
    if len(files) > state.settings.server.max_upload_files:
        raise Refused(413, "too_many_files", "The upload holds too many files.", hint="Send them in several uploads.")
    folder = await run_in_threadpool(state.jobs.new_folder)
    try:
        for number, file in enumerate(files):
            await run_in_threadpool(_save, file, folder / "files" / str(number))
        job = await run_in_threadpool(state.jobs.take, folder, [file.filename or "" for file in files], space)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return _accepted(job)


@router.post("/documents/text", response_model=Job, status_code=202)
async def upload_text(document: TextUpload, state: State, access: Writing) -> Response:
    """Take in a text, as a job."""
    space = access.writable(document.workspace)

    def take() -> Job:
        folder = state.jobs.new_folder()
        data = document.text.replace("\x00", "\ufffd").encode("utf-8", "replace")
        (folder / "files" / "0").write_bytes(data)
        return state.jobs.take(folder, [document.name], space)

    return _accepted(await run_in_threadpool(take))


@router.get("/documents/{document_id}", response_model=FileInfo, responses=MISSING)
async def get_document(document_id: FileId, state: State, access: Searching) -> Response:
    """One document."""
    return as_json(await state.work(lambda: access.file(document_id).model_dump_json()))


@router.get("/documents/{document_id}/text", response_model=DocumentText, responses=MISSING)
async def get_text(document_id: FileId, state: State, access: Searching) -> Response:
    """The text of a document, which all offsets point into."""
    return as_json(
        await state.work(lambda: DocumentText(id=document_id, text=access.text(document_id)).model_dump_json())
    )


@router.get(
    "/documents/{document_id}/original",
    response_class=FileResponse,
    responses={**MISSING, 200: {"content": {"application/octet-stream": {}}, "description": "The file."}},
)
async def get_original(document_id: FileId, state: State, access: Searching) -> Response:
    """A file as it was uploaded."""

    def find() -> tuple[FileInfo, Path]:
        file = access.file(document_id)
        path = state.jobs.original(file.id)
        if path is None:
            raise NotFound("original of document", document_id, hint="Only uploaded files are kept as they came.")
        return file, path

    file, path = await state.work(find)
    # Never shown as a page of this server: an HTML file of somebody else must not act in its name.
    name = quote(file.name.rsplit("/", 1)[-1])
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{name}",
        "Content-Security-Policy": "sandbox; default-src 'none'",
    }
    kind = file.mime_type if file.mime_type == "application/pdf" else "application/octet-stream"
    return FileResponse(path, media_type=kind, headers=headers)


@router.get("/documents/{document_id}/passages", response_model=PassagePage, responses=MISSING)
async def list_passages(document_id: FileId, state: State, access: Searching) -> Response:
    """The passages of a document, as searches find them."""
    return as_json(await state.work(lambda: PassagePage(passages=tuple(access.chunks(document_id))).model_dump_json()))


@router.get("/documents/{document_id}/passages/{passage_id}", response_model=MarkedPassage, responses=MISSING)
async def get_passage(document_id: FileId, passage_id: ChunkId, state: State, access: Searching) -> Response:
    """A document at one of its passages: what stands before it, the passage, what follows."""
    return as_json(await state.work(lambda: _marked(state, access, document_id, passage_id).model_dump_json()))


@router.delete("/documents/{document_id}", response_model=Removed, responses=MISSING)
async def remove_document(document_id: FileId, state: State, access: Writing) -> Response:
    """Forget a document with everything that came from it."""

    def remove() -> str:
        access.remove(document_id)
        state.jobs.forget_originals([document_id])
        return Removed(removed=1).model_dump_json()

    return as_json(await state.work(remove))


@router.get("/workspaces", response_model=WorkspacePage)
async def list_workspaces(state: State, access: Searching) -> Response:
    """The workspaces that hold documents."""

    def page() -> str:
        spaces = access.workspaces()
        return WorkspacePage(
            workspaces=tuple(WorkspaceInfo(name=name, files=count) for name, count in spaces.items())
        ).model_dump_json()

    return as_json(await state.work(page))


@router.delete("/workspaces/{workspace}", response_model=Removed, responses=MISSING)
async def clear_workspace(workspace: str, state: State, access: Administering) -> Response:
    """Forget every document of a workspace."""

    def clear() -> str:
        count = access.clear(workspace)
        state.jobs.forget_originals()
        return Removed(removed=count).model_dump_json()

    return as_json(await state.work(clear))


def _save(file: UploadFile, place: Path) -> None:
    with place.open("wb") as out:
        shutil.copyfileobj(file.file, out, COPIED_AT_ONCE)


def _accepted(job: Job) -> Response:
    return Response(
        job.model_dump_json(),
        status_code=202,
        media_type="application/json",
        headers={"Location": f"/v1/jobs/{job.id}"},
    )


def _marked(state: ServerState, access: Access, document_id: FileId, passage_id: ChunkId) -> MarkedPassage:
    file = access.file(document_id)
    chunk = access.chunk(document_id, passage_id)
    text = access.text(document_id)
    return MarkedPassage(
        document=file,
        passage=chunk,
        before=text[: chunk.start],
        after=text[chunk.end :],
        has_original=state.jobs.original(file.id) is not None,
    )
