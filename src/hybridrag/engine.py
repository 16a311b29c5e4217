"""The public face: each method joins the parts that do the work, and does none of its own."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

from hybridrag.answers.answer import Answerer
from hybridrag.config import Settings, load_settings
from hybridrag.documents.chunk import ChunkSize, chunk_document, passage_text
from hybridrag.documents.formats import no_document
from hybridrag.documents.isolate import IsolatedReader
from hybridrag.documents.limits import ReadLimits
from hybridrag.documents.read import load_file, read_document
from hybridrag.documents.unpack import is_archive, members
from hybridrag.documents.walk import FoundFile, file_name, find_files
from hybridrag.errors import DocumentError, InvalidInput, InvalidSettings, StageError
from hybridrag.graph.communities import WriteSummary, rebuild_communities, update_communities
from hybridrag.graph.extract import Extractor
from hybridrag.graph.extract_llm import Estimate, LlmExtractor, LlmReport
from hybridrag.graph.knowledge import KnowledgeGraph
from hybridrag.graph.linker import TitleLinker
from hybridrag.graph.llm_cache import FILE_NAME, FileCache
from hybridrag.graph.resemble import NameComparer
from hybridrag.graph.summarise_llm import summarise_by_llm
from hybridrag.ingest import Ingest, Read, Source, embed_passages, removed
from hybridrag.models.own_reranker import OwnReranker
from hybridrag.parts import (
    as_passages,
    make_embedder,
    make_extractor,
    make_judge,
    make_limits,
    make_llm,
    make_own_reranker,
    make_reranker,
    make_web_search,
)
from hybridrag.protocols import Embedder, Judge, Llm, Problem, Reranker, StoreStatus, WebSearch
from hybridrag.search.record import telling
from hybridrag.search.search import Searcher, SearchParts
from hybridrag.stores.embedded.store import EmbeddedStore
from hybridrag.types.answers import Answer
from hybridrag.types.base import Float32Array
from hybridrag.types.documents import Chunk, Document, FileInfo
from hybridrag.types.extraction import ChunkGraph
from hybridrag.types.ids import FileId, file_id_for
from hybridrag.types.parse import make_query
from hybridrag.types.queries import SearchFilters, SearchQuery
from hybridrag.types.reports import FileOutcome, FileState, IngestReport, OnProgress, Progress
from hybridrag.types.results import OnStep, SearchResult
from hybridrag.types.sources import TextDocument

REEMBED_BATCH = 256
"""Chunks embedded between two commits of a re-embedding: what an interruption loses at most."""

NEVER_DOCUMENTS = (".git/", ".hg/", ".svn/", ".hybridrag/", ".venv/", ".DS_Store")
"""Hidden folders that hold no documents, even where hidden files are wanted."""

EVERY_WORKSPACE = "default"
"""Settings that leave `index.workspace` at this search and list all workspaces, and add to this one."""

P = ParamSpec("P")
T = TypeVar("T")


class Engine:
    """A search index over documents, kept in one directory.

    with Engine.open("docs.hybridrag") as engine:
        engine.add("reports/")

    Safe to share between threads. Several processes may read while one writes.
    """

    def __init__(
        self,
        store: EmbeddedStore,
        settings: Settings,
        *,
        embedder: Embedder | None = None,
        llm: Llm | None = None,
        reranker: Reranker | None = None,
        judge: Judge | None = None,
        web: WebSearch | None = None,
        reader: OwnReranker | None = None,
    ) -> None:
        self.settings = settings
        self._llm = llm
        self._given = (reranker, judge, web)
        self._reader_model = reader or make_own_reranker(settings)
        self._store = store
        self._embedder = embedder
        self._lock = threading.RLock()
        self._bound = False
        self._extractor: Extractor | None = None
        self._on_progress: OnProgress | None = None
        store.compare_names_with(NameComparer(self._embed_names))
        self._searcher, self._answerer = self._make_searcher(reranker, judge, web)

    @classmethod
    def open(
        cls,
        path: str | Path | None = None,
        *,
        settings: Settings | None = None,
        embedder: Embedder | None = None,
        llm: Llm | None = None,
        reranker: Reranker | None = None,
        judge: Judge | None = None,
        web: WebSearch | None = None,
        create: bool = True,
    ) -> Self:
        """Open the index at `path`, or where the settings say; make it if missing.

        Settings come from hybridrag.toml and the environment unless given. The model is loaded when first needed.
        Parts that are given are used instead of those that the settings name.

        Raises:
            StoreNotFound: there is none and `create` is off.
            StoreError: it cannot be opened, read or made.
            InvalidSettings: a setting is wrong.
        """
        settings = settings or load_settings().settings
        store = EmbeddedStore.open(
            Path(path) if path is not None else settings.index.path,
            create=create,
            busy_timeout=settings.store.busy_timeout_seconds,
            vector_index=settings.store.vector_index,
            linker=TitleLinker(),
        )
        return cls(store, settings, embedder=embedder, llm=llm, reranker=reranker, judge=judge, web=web)

    # Documents in

    def add(
        self,
        source: str | Path | Sequence[str | Path] | bytes | None = None,
        *,
        text: str | None = None,
        name: str | None = None,
        title: str | None = None,
        mime_type: str | None = None,
        modified: datetime | None = None,
        workspace: str | None = None,
        on_progress: OnProgress | None = None,
        stop: threading.Event | None = None,
    ) -> IngestReport:
        """Take in files and folders, or one document given as `bytes` or as `text`.

        Unchanged files cost nothing, changed ones are replaced. A file that cannot be read is reported in its outcome,
        and the rest goes on. Bytes and text are kept under `name`, and the same name again replaces them; without one
        they get a name from their content, so that adding them twice changes nothing.

        Raises:
            InvalidInput: neither, or both, of `source` and `text` are given.
            StoreError: the index cannot be written.
            StageError: the embedding model cannot be used.
        """
        if (source is None) == (text is None):
            raise InvalidInput("Give either paths or bytes, or text=...")
        if isinstance(source, bytes) or text is not None:
            data = source if isinstance(source, bytes) else _as_bytes(str(text))
            given = Source(
                name=name or f"text:{blake2b(data, digest_size=8).hexdigest()}",
                load=lambda: data,
                # A text without a name has no ending to tell its format by.
                mime_type=mime_type or ("text/plain" if text is not None and name is None else None),
                modified=modified,
                title=title,
            )
            return self._ingest([given], [], workspace, on_progress, stop)
        paths = [source] if isinstance(source, str | Path) else list(source or ())
        sources, failures = self._found(paths)
        return self._ingest(sources, failures, workspace, on_progress, stop)

    def add_documents(
        self,
        documents: Iterable[TextDocument],
        *,
        workspace: str | None = None,
        on_progress: OnProgress | None = None,
        stop: threading.Event | None = None,
    ) -> IngestReport:
        """Take in many texts at once, each under its own name; as `add`, and much faster than one call for each.

        [TextDocument("1", "The fee is twelve crowns.", title="Fees")] -> one file named "1"

        Raises:
            StoreError: the index cannot be written.
            StageError: the embedding model cannot be used.
        """
        sources = [
            Source(
                name=document.name,
                load=partial(_as_bytes, document.text),
                mime_type=document.mime_type,
                modified=document.modified,
                title=document.title,
            )
            for document in documents
        ]
        return self._ingest(sources, [], workspace, on_progress, stop)

    def add_files(
        self,
        files: Mapping[str, Path],
        *,
        workspace: str | None = None,
        on_progress: OnProgress | None = None,
        stop: threading.Event | None = None,
    ) -> IngestReport:
        """Take in files under names of their own, wherever they lie; as `add`, which names files by their paths.

        {"guide.md": Path("/tmp/upload-1")} -> one file named "guide.md"

        Raises:
            StoreError: the index cannot be written.
            StageError: the embedding model cannot be used.
        """
        limits = make_limits(self.settings)
        failures: list[DocumentError] = []
        sources = [source for name, path in files.items() for source in _sources(path, name, limits, failures)]
        return self._ingest(sources, failures, workspace, on_progress, stop)

    def sync(
        self,
        folder: str | Path,
        *,
        workspace: str | None = None,
        on_progress: OnProgress | None = None,
        stop: threading.Event | None = None,
    ) -> IngestReport:
        """Make the index hold exactly what the folder holds: new files in, changed ones replaced, missing ones removed.

        A file that is there but cannot be read keeps what the index has of it. Files from elsewhere are not touched.

        Raises:
            InvalidInput: the folder does not exist; nothing is removed.
        """
        root = Path(file_name(Path(folder)))
        if not os.path.isdir(folder):  # noqa: PTH112 (a folder that may not be looked at raises there)
            raise InvalidInput(f"There is no folder {root}; nothing was changed.", hint="Check the path.")
        began = time.monotonic()
        sources, failures = self._found([folder])
        report = self._ingest(sources, failures, workspace, on_progress, stop)
        if report.interrupted:
            return report
        there = {source.name for source in sources}
        unseen = {error.name for error in failures}
        gone = [
            file
            for file in self.files(workspace=workspace or self.settings.index.workspace)
            if _is_below(file.name, root)
            and file.name not in there
            # Of what could not be listed nobody knows whether it is gone.
            and unseen.isdisjoint((file.name, *(parent.as_posix() for parent in Path(file.name).parents)))
        ]
        self._store.remove_files([file.id for file in gone])
        notes = self._settle() if gone else report.notes
        outcomes = (*report.outcomes, *(removed(file.name, file.id) for file in gone))
        return IngestReport(outcomes=outcomes, seconds=time.monotonic() - began, notes=notes)

    def watch(
        self,
        folder: str | Path,
        *,
        stop: threading.Event,
        seconds: float = 2.0,
        workspace: str | None = None,
        on_progress: OnProgress | None = None,
    ) -> Iterator[IngestReport]:
        """Keep the index in step with a folder until `stop` is set: a report for each `sync` that was needed.

        Looks every `seconds` at the names, sizes and times of its files, and takes a change in once it stands still.

        Raises:
            InvalidInput: the folder does not exist.
        """
        taken: set[tuple[str, int, datetime | None]] | None = None
        before = None
        while not stop.is_set():
            now = {(found.name, found.size, found.modified) for found in self._files_in([folder], [])}
            # While a file is still being written, its size or time changes from one look to the next.
            if taken is None or (now != taken and now == before):
                yield self.sync(folder, workspace=workspace, on_progress=on_progress, stop=stop)
                taken = now
            before = now
            stop.wait(seconds)

    def preview(self, path: str | Path) -> tuple[Document, list[Chunk]]:
        """What would be read of a file, and the chunks that would be made of it; the index stays as it is.

        Raises:
            DocumentError: it cannot be read.
            StageError: the embedding model, whose tokens chunks are measured in, cannot be used.
        """
        name = file_name(Path(path))
        data, modified = load_file(path, name=name, limits=make_limits(self.settings))
        with self._reader() as read:
            document = read(data, Source(name=name, load=lambda: data, modified=modified))
        file_id = file_id_for(self.settings.index.workspace, name)
        spans = self._load_embedder().token_spans
        return document, chunk_document(document, file_id=file_id, token_spans=spans, size=self._chunk_size())

    def find_files(self, target: str | Path) -> list[FileInfo]:
        """The files in the index that a path, name, id or the end of a path stands for."""
        workspace = self._own_workspace()
        return self._named(target, workspace) or self._ending(target, workspace)

    def remove(
        self, *targets: str | Path | FileId, workspace: str | None = None, everything: bool = False
    ) -> IngestReport:
        """Forget files: by id, by name or path, or everything below a folder.

        Works in `workspace`, or in the one that the settings name; where they name none (`default`), in the only one
        that has the target. `everything=True` empties the workspace, or the whole index where none is named. A target
        that names nothing, or files of several workspaces, is reported as failed.
        """
        workspace = workspace or self._own_workspace()
        if everything == bool(targets):
            raise InvalidInput("Say either which files to remove, or everything=True.")
        began = time.monotonic()
        outcomes: list[FileOutcome] = []
        chosen = {file.id: file for file in self.files(workspace=workspace)} if everything else {}
        for target in targets:
            matching = (
                self._named(target, workspace) or self._below(target, workspace) or self._ending(target, workspace)
            )
            if unclear := _why_unclear(target, matching):
                outcomes.append(FileOutcome(name=str(target), state=FileState.FAILED, reason=f"{target}: {unclear}"))
            else:
                chosen.update((file.id, file) for file in matching)
        self._store.remove_files(list(chosen))
        notes = self._settle()
        outcomes.extend(removed(file.name, file.id) for file in chosen.values())
        return IngestReport(outcomes=tuple(outcomes), seconds=time.monotonic() - began, notes=notes)

    # Search

    def search(self, query: str | SearchQuery, *, explain: bool = False, **options: object) -> SearchResult:
        """The best passages for a question, each with where it comes from and which search found it.

        `engine.search("upload limit", limit=5, workspace_ids=["team"])`: options are those of `SearchOptions` and
        `SearchFilters`, `type` and `embedding`. `explain=True` adds the trace.

        Raises:
            InvalidQuery: the question is empty or too long, or an option is wrong; no search ran.
        """
        return self._searcher.search(self._scoped(make_query(query, options)), explain=explain)

    async def asearch(self, query: str | SearchQuery, *, explain: bool = False, **options: object) -> SearchResult:
        """`search` without blocking the event loop."""
        return await _in_thread(lambda: self.search(query, explain=explain, **options))

    def answer(self, query: str | SearchQuery, **options: object) -> Answer:
        """An answer with citations, or a plain abstention that says what is missing.

        `engine.answer("When did the lighthouse open?").text` -> "It opened in 1874. [1]". Options are those of
        `search`; results are graded and corrected in any case.

        Raises:
            InvalidQuery: the question is empty or too long, or an option is wrong; no search ran.
        """
        return self._answerer.answer(self._scoped(make_query(query, options))).answer

    async def aanswer(self, query: str | SearchQuery, **options: object) -> Answer:
        """`answer` without blocking the event loop."""
        return await _in_thread(lambda: self.answer(query, **options))

    @contextmanager
    def telling(self, on_step: OnStep) -> Iterator[None]:
        """Searches and answers of this thread, while the context lasts, tell of each step as it ends.

        `with engine.telling(lambda step: print(step.step)): engine.search("upload limit")`
        """
        with telling(on_step):
            yield

    def with_settings(self, settings: Settings, *, embedder: Embedder | None = None) -> Engine:
        """The same open index, searched as other settings say; what is loaded stays loaded. Closing one closes both.

        `engine.with_settings(load_settings(overrides={"search.rrf_k": 20}).settings).search("upload limit")`

        For settings of a search alone: how documents are cut and embedded is as they were taken in. `embedder` stands
        in for the model, which must be the same.

        Raises:
            InvalidSettings: a setting is wrong.
        """
        reranker, judge, web = self._given
        wanted, own = make_own_reranker(settings), self._reader_model
        reader = own if (wanted.size, wanted.threads) == (own.size, own.threads) else wanted
        return Engine(
            self._store,
            settings,
            embedder=embedder or self.embedder(),
            llm=self._llm,
            reranker=reranker,
            judge=judge,
            web=web,
            reader=reader,
        )

    # Looking

    def files(self, *, workspace: str | None = None, filters: SearchFilters | None = None) -> Iterator[FileInfo]:
        """The files of a workspace, by name; without one, of the one that the settings name, else of all."""
        filters = filters or SearchFilters()
        space = workspace or (None if filters.workspace_ids else self._own_workspace())
        if space is not None:
            filters = filters.model_copy(update={"workspace_ids": (space,)})
        return self._store.files(filters)

    def file(self, file_id: FileId) -> FileInfo | None:
        """The file of that id."""
        return self._store.file(file_id)

    def text(self, file_id: FileId) -> str | None:
        """The stored text of a file, which offsets point into."""
        return self._store.text(file_id)

    def chunks(self, file_id: FileId) -> list[Chunk]:
        """The pieces of a file that a search finds, in reading order."""
        return self._store.chunks_of(file_id)

    @property
    def graph(self) -> KnowledgeGraph:
        """The knowledge graph: entities, what is said of them, and how they lead to one another."""
        return KnowledgeGraph(self._store, embed=lambda texts: self.embedder().embed_query(texts[0]).pooled)

    def status(self) -> StoreStatus:
        """What the index holds, with which model, on how many bytes."""
        return self._store.status()

    @property
    def path(self) -> Path:
        """The directory of the index."""
        return self._store.path

    # Upkeep

    def check(self) -> list[Problem]:
        """Verify that everything in the index agrees; an empty list means that it does."""
        return self._store.check()

    def repair(self, *, on_progress: OnProgress | None = None) -> list[Problem]:
        """Rebuild everything that is derived; what is still wrong afterwards needs its files added again."""
        del on_progress
        left = self._store.repair()
        if self._store.communities.state().pending:
            self._settle()
            left = self._store.check()
        return left

    def reembed(self, *, on_progress: OnProgress | None = None, stop: threading.Event | None = None) -> int:
        """Embed every chunk anew with the model that the settings name; searches use the old vectors until the end.

        How many chunks were embedded. An interrupted run goes on where it stopped.
        """
        embedder = self._load_embedder()
        store = self._store
        total = store.status().chunks
        store.begin_reembedding(embedder.info)
        done = 0
        while True:
            while keys := store.unstaged_keys(REEMBED_BATCH):
                if stop is not None and stop.is_set():
                    return done
                passages = self._passages(keys)
                embedded = dict(zip(passages, embed_passages(embedder, list(passages.values())), strict=True))
                store.stage_vectors(
                    {key: made.vector for key, made in embedded.items()},
                    {key: made.tokens for key, made in embedded.items() if made.tokens is not None},
                )
                done += len(passages)
                if on_progress is not None:
                    on_progress(Progress(stage="reembed", chunks_done=done, chunks_total=max(total, done)))
            if store.finish_reembedding(embedder.info):
                store.flush(force=True)
                return done

    def estimate_graph(self) -> Estimate | None:
        """What extracting everything anew would take of the LLM; None where the settings ask none for it."""
        extractor = self._load_extractor(bound=False)
        if not isinstance(extractor, LlmExtractor):
            return None
        passages = [
            passage
            for file in self._store.files()
            for passage in as_passages(self._store.chunks_of(file.id), file.title)
        ]
        return extractor.estimate(passages)

    def llm_report(self) -> LlmReport | None:
        """What extraction asked of the LLM since the last call, and which chunks fell back to the local extractor."""
        return self._extractor.take_report() if isinstance(self._extractor, LlmExtractor) else None

    def rebuild_graph(self, *, on_progress: OnProgress | None = None, stop: threading.Event | None = None) -> int:
        """Extract every chunk anew with the extractor that the settings name; what people merged and split stays.

        How many chunks were read. An interrupted run leaves whole files of either kind; run it again to finish.
        """
        extractor = self._load_extractor(bound=False)
        files = list(self._store.files())
        done = 0
        for number, file in enumerate(files):
            if stop is not None and stop.is_set():
                return done
            chunks = self._store.chunks_of(file.id)
            graphs = extractor.extract(as_passages(chunks, file.title))
            self._store.replace_graph(file.id, {chunk.id: said for chunk, said in zip(chunks, graphs, strict=True)})
            done += len(chunks)
            if on_progress is not None:
                on_progress(Progress(stage="graph", files_done=number + 1, files_total=len(files), chunks_done=done))
        self._store.bind_extractor(extractor.name, replace=True)
        rebuild_communities(self._store, embed=self._embed_names, write_summary=self._write_summary())
        return done

    def close(self) -> None:
        """Release the index; what was added stays."""
        self._searcher.close()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # The same for callers in an event loop

    async def aadd(
        self,
        source: str | Path | Sequence[str | Path] | bytes | None = None,
        *,
        text: str | None = None,
        name: str | None = None,
        title: str | None = None,
        mime_type: str | None = None,
        modified: datetime | None = None,
        workspace: str | None = None,
        on_progress: OnProgress | None = None,
    ) -> IngestReport:
        """`add` without blocking the event loop; cancelling stops after the file in work."""

        def work(stop: threading.Event) -> IngestReport:
            return self.add(
                source,
                text=text,
                name=name,
                title=title,
                mime_type=mime_type,
                modified=modified,
                workspace=workspace,
                on_progress=on_progress,
                stop=stop,
            )

        return await self._in_thread_until_cancelled(work)

    async def async_sync(
        self, folder: str | Path, *, workspace: str | None = None, on_progress: OnProgress | None = None
    ) -> IngestReport:
        """`sync` without blocking the event loop; cancelling stops after the file in work."""
        return await self._in_thread_until_cancelled(
            lambda stop: self.sync(folder, workspace=workspace, on_progress=on_progress, stop=stop)
        )

    async def aremove(
        self, *targets: str | Path | FileId, workspace: str | None = None, everything: bool = False
    ) -> IngestReport:
        """`remove` without blocking the event loop."""
        return await _in_thread(self.remove, *targets, workspace=workspace, everything=everything)

    async def afiles(self, *, workspace: str | None = None, filters: SearchFilters | None = None) -> list[FileInfo]:
        """`files` without blocking the event loop."""
        return await _in_thread(lambda: list(self.files(workspace=workspace, filters=filters)))

    async def astatus(self) -> StoreStatus:
        """`status` without blocking the event loop."""
        return await _in_thread(self.status)

    async def aclose(self) -> None:
        """`close` without blocking the event loop."""
        await _in_thread(self.close)

    # Parts

    def _make_searcher(
        self, reranker: Reranker | None, judge: Judge | None, web: WebSearch | None
    ) -> tuple[Searcher, Answerer]:
        settings = self.settings
        llm = self._llm or make_llm(settings)
        if settings.search.classifier == "llm" and llm is None:
            raise InvalidSettings(
                where="settings", key="search.classifier", expected="is llm, which needs `llm.model` to be set"
            )
        reader = self._reader_model
        parts = SearchParts(
            embedder=self.embedder,
            linker=TitleLinker(),
            reranker=(lambda: reranker) if reranker else make_reranker(settings, self._store, self.embedder),
            second_reranker=(lambda: reader) if settings.rerank.provider == "auto" and reranker is None else None,
            reader=reader,
            classifier=None if settings.search.classifier == "rules" else llm,
            judge=judge or make_judge(settings, llm),
            llm=llm,
            web=web or make_web_search(settings),
        )
        searcher = Searcher(self._store, parts, settings)
        answerer = Answerer(searcher.search, reader, llm=llm, timeout=settings.llm.timeout_seconds)
        return searcher, answerer

    def embedder(self) -> Embedder:
        """The model, loaded on first use and checked against the one that wrote the index.

        Raises:
            ModelMismatch: the index was written with another model.
            ModelUnavailable: its weights cannot be loaded.
        """
        with self._lock:
            embedder = self._load_embedder()
            if not self._bound:
                self._store.bind_model(embedder.info)
                self._bound = True
            return embedder

    def _embed_names(self, names: Sequence[str]) -> Float32Array:
        """For comparing names; called while a file is written, so it must not open a transaction of its own."""
        return self._load_embedder().embed_passages(names).pooled

    def _load_extractor(self, *, bound: bool = True) -> Extractor:
        """What reads names and facts from chunks; with `bound`, the one that wrote the graph so far.

        Raises:
            StoreError: the graph was extracted by another one.
        """
        with self._lock:
            if self._extractor is None:
                written = self._store.extractor() if bound else None
                self._extractor = make_extractor(self.settings, self.path, written=written, llm=self._llm)
            if bound:
                self._store.bind_extractor(self._extractor.name)
            return self._extractor

    def _extract(self, chunks: Sequence[Chunk], title: str | None) -> list[ChunkGraph]:
        return self._load_extractor().extract(as_passages(chunks, title))

    def _load_embedder(self) -> Embedder:
        with self._lock:
            if self._embedder is None:
                self._embedder = make_embedder(self.settings, self._tell_model, written=self._store.model())
            return self._embedder

    def _tell_model(self, what: str, share: float) -> None:
        """Preparing the model takes a while the first time: whoever waits for it is told."""
        if self._on_progress is not None:
            done = round(100 * share)
            self._on_progress(Progress(stage="model", chunks_done=done, chunks_total=100, current=what))

    def _ingest(
        self,
        sources: Sequence[Source],
        failures: Sequence[DocumentError],
        workspace: str | None,
        on_progress: OnProgress | None,
        stop: threading.Event | None,
    ) -> IngestReport:
        self._on_progress = on_progress
        with self._reader() as read:
            ingest = Ingest(
                store=self._store,
                embedder=self.embedder,
                read=read,
                workspace=workspace or self.settings.index.workspace,
                size=self._chunk_size(),
                extract=self._extract,
                on_progress=on_progress,
                stop=stop,
            )
            try:
                report = ingest.run(sources, failures)
            finally:
                self._on_progress = None
                self._store.flush()
        return report.model_copy(update={"notes": self._settle()})

    def _chunk_size(self) -> ChunkSize:
        chosen = self.settings.chunking
        return ChunkSize(max_tokens=chosen.max_tokens, overlap_tokens=chosen.overlap_tokens)

    def _settle(self) -> tuple[str, ...]:
        """After a change: communities up to date, fast opening next time; what could not be done now."""
        notes: tuple[str, ...] = ()
        try:
            update_communities(self._store, embed=self._embed_names, write_summary=self._write_summary())
        except StageError as error:
            notes = (f"Communities wait for their vectors until the next change: {error}",)
        self._store.flush()
        self._forget_llm_answers()
        return notes

    def _write_summary(self) -> WriteSummary | None:
        """How an LLM words a community, where the settings let it extract; else sentences stand for themselves."""
        llm = self._extractor.llm if isinstance(self._extractor, LlmExtractor) else None
        return None if llm is None else partial(summarise_by_llm, llm)

    def _forget_llm_answers(self) -> None:
        """Nothing that an LLM said of a text outlives the text."""
        answers = self.path / FILE_NAME
        if not answers.exists():
            return
        if not isinstance(self._extractor, LlmExtractor):
            # Another extractor has no use for them, and cannot tell which belong to what is left.
            answers.unlink()
            return
        living = (chunk.text for file in self._store.files() for chunk in self._store.chunks_of(file.id))
        FileCache(answers).keep({key for text in living for key in self._extractor.keys(text)})

    @contextmanager
    def _reader(self) -> Iterator[Read]:
        """Reads bytes with the limits of the settings, in a process of its own where the settings say so."""
        limits = make_limits(self.settings)
        if not self.settings.documents.isolate:
            yield partial(_read_here, limits=limits)
            return
        with IsolatedReader() as isolated:

            def read(data: bytes, source: Source) -> Document:
                return isolated.read(
                    data, name=source.name, mime_type=source.mime_type, limits=limits, modified=source.modified
                )

            yield read

    def _found(self, paths: Sequence[str | Path]) -> tuple[list[Source], list[DocumentError]]:
        """The files that the paths name, without those that the index itself is made of."""
        sources: dict[str, Source] = {}
        failures: list[DocumentError] = []
        limits = make_limits(self.settings)
        for found in self._files_in(paths, failures):
            for source in _sources(found.path, found.name, limits, failures):
                kind = None if found.chosen else no_document(source.name)
                sources[source.name] = replace(
                    source,
                    modified=source.modified or found.modified,
                    folder=found.folder,
                    kind=kind,
                    chosen=found.chosen and source.name == found.name,
                )
        return list(sources.values()), failures

    def _files_in(self, paths: Sequence[str | Path], problems: list[DocumentError]) -> Iterator[FoundFile]:
        """The files below the paths, without those that the index itself is made of."""
        own = self.path.absolute()
        chosen = self.settings.documents
        # Later patterns decide: hidden files come in again, but not what programs keep for themselves.
        hidden = ("!.*", *NEVER_DOCUMENTS) if chosen.include_hidden else ()
        for found in find_files(paths, problems=problems, excludes=(*hidden, *chosen.exclude)):
            if own != found.path and own not in found.path.parents:
                yield found

    def _passages(self, keys: Sequence[int]) -> dict[int, str]:
        chunks = self._store.chunks_by_key(keys)
        titles = {
            file_id: file.title if (file := self._store.file(file_id)) else None
            for file_id in {chunk.file_id for chunk in chunks.values()}
        }
        return {key: passage_text(chunk, titles[chunk.file_id]) for key, chunk in chunks.items()}

    def _named(self, target: str | Path | FileId, workspace: str | None) -> list[FileInfo]:
        """The files of that id, name or path: looked up, for listing all files takes long where there are many."""
        ids: list[FileId] = []
        with suppress(ValueError):
            ids.append(FileId(str(target)))
        if not isinstance(target, FileId):
            names = (str(target), file_name(Path(target)))
            spaces = self._store.status().workspaces if workspace is None else (workspace,)
            ids += [file_id_for(space, name) for space in spaces for name in names]
        found = (self._store.file(file_id) for file_id in dict.fromkeys(ids))
        return [file for file in found if file is not None and workspace in {None, file.workspace}]

    def _own_workspace(self) -> str | None:
        """The workspace that the settings name; None where they leave it at `default`, which sees all."""
        space = self.settings.index.workspace
        return None if space == EVERY_WORKSPACE else space

    def _scoped(self, query: SearchQuery) -> SearchQuery:
        """The query, kept to the workspace of the settings unless it names others."""
        space = self._own_workspace()
        if space is None or query.filters.workspace_ids:
            return query
        filters = query.filters.model_copy(update={"workspace_ids": (space,)})
        return query.model_copy(update={"filters": filters})

    def _ending(self, target: str | Path | FileId, workspace: str | None) -> list[FileInfo]:
        """The files whose path ends so: `guide.md`, wherever it was added from."""
        return [file for file in self.files(workspace=workspace) if _ends_with(file.name, target)]

    def _below(self, target: str | Path | FileId, workspace: str | None) -> list[FileInfo]:
        """The files below a folder."""
        root = Path(file_name(Path(target)))
        return [file for file in self.files(workspace=workspace) if _is_below(file.name, root)]

    async def _in_thread_until_cancelled(self, work: Callable[[threading.Event], T]) -> T:
        stop = threading.Event()
        future = asyncio.ensure_future(_in_thread(work, stop))
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            stop.set()
            await asyncio.wait([future])
            raise


async def _in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    return await asyncio.to_thread(function, *args, **kwargs)


def _read_here(data: bytes, source: Source, *, limits: ReadLimits) -> Document:
    return read_document(data, name=source.name, mime_type=source.mime_type, limits=limits, modified=source.modified)


def _sources(path: Path, name: str, limits: ReadLimits, failures: list[DocumentError]) -> Iterator[Source]:
    """A file, or the files in it where it is an archive."""
    if not is_archive(name):
        yield Source(name=name, load=partial(_load_file, path, name, limits))
        return
    try:
        for member in members(path, name=name, limits=limits, problems=failures):
            yield Source(
                name=member.name,
                load=member.load,
                modified=member.modified,
                kind=no_document(member.name),
                chosen=False,
            )
    except DocumentError as error:
        failures.append(error)


def _load_file(path: Path, name: str, limits: ReadLimits) -> bytes:
    data, _ = load_file(path, name=name, limits=limits)
    return data


def _as_bytes(text: str) -> bytes:
    """A text that its caller vouches for; NUL would make it look like binary data, and surrogates cannot be stored."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace")


def _why_unclear(target: str | Path | FileId, matching: Sequence[FileInfo]) -> str | None:
    """Why these files are not removed for that target; None where it is clear what was meant."""
    if not matching:
        return "it is not in the index."
    spaces = sorted({file.workspace for file in matching})
    if len(spaces) > 1:
        return f"it is in the workspaces {', '.join(spaces)}; say in which to remove it (--workspace)."
    paths = sorted(file.name for file in matching if _ends_with(file.name, target))
    if len(paths) > 1:
        return f"{len(paths)} files are called so, {paths[0]} and {paths[1]} among them; give the path."
    return None


def _ends_with(name: str, target: str | Path | FileId) -> bool:
    """Whether the last parts of a path are those: "/home/me/docs/guide.md" ends with "docs/guide.md"."""
    wanted = Path(target).parts
    return bool(wanted) and Path(name).parts[-len(wanted) :] == wanted


def _is_below(name: str, root: Path) -> bool:
    return root in Path(name).parents
