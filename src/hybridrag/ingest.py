"""The way of a document into the index: read, cut, embed what is new, write as a whole.

Files are prepared ahead by one thread while the model embeds; small files share the model's batches; each file is
written in one transaction, so that stopping at any moment leaves whole files only.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b

from hybridrag.documents.chunk import ChunkSize, chunk_document, passage_text
from hybridrag.errors import DocumentError
from hybridrag.models.token_vectors import pack_passages, packer_for
from hybridrag.protocols import Embedder, NewChunk, Store
from hybridrag.types.base import Float32Array
from hybridrag.types.documents import Chunk, Document, FileInfo
from hybridrag.types.extraction import NOTHING_SAID, ChunkGraph
from hybridrag.types.ids import ChunkId, FileId, file_id_for
from hybridrag.types.reports import FileOutcome, FileState, IngestReport, OnProgress, Progress

PIPELINE_VERSION = 3
"""Raised when readers or chunking change what they make of a file: files are then taken in anew."""

EMBED_BATCH = 64
"""Passages handed to the model at once: small files together fill it."""

PREPARE_AHEAD = 4
"""Files read ahead of the model. More would only hold memory: reading is faster than embedding."""


@dataclass(frozen=True, slots=True)
class Source:
    """A document to take in. `load` is called when its turn comes and returns its bytes."""

    name: str
    load: Callable[[], bytes]
    mime_type: str | None = None
    modified: datetime | None = None
    created: datetime | None = None
    title: str | None = None
    folder: str | None = None
    """The folder that was added, where people are shown the path below it."""
    kind: str | None = None
    """What it is, where its name says that it is no document: it is skipped without being loaded."""
    chosen: bool = True
    """Whether it was named itself: then it fails where one that a folder holds is skipped."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """What the model makes of a passage."""

    vector: Float32Array
    tokens: bytes | None
    """Its token vectors, packed; None where the model gives none."""


def embed_passages(embedder: Embedder, passages: Sequence[str]) -> list[Embedded]:
    """Passages as a store takes them."""
    done: list[Embedded] = []
    for first in range(0, len(passages), EMBED_BATCH):
        piece = passages[first : first + EMBED_BATCH]
        found = embedder.embed_passages(piece, tokens=True)
        packed: Sequence[bytes | None] = [None] * len(piece)
        if found.tokens is not None:
            packed = pack_passages(packer_for(embedder.info), embedder, piece, found.tokens)
        done.extend(Embedded(vector, tokens) for vector, tokens in zip(found.pooled, packed, strict=True))
    return done


@dataclass(slots=True)
class _Prepared:
    """A file on its way in: what it has, and which passages need the model."""

    file: FileInfo
    text: str
    chunks: list[Chunk]
    passages: list[str]
    known: dict[str, Embedded]
    existed: bool
    missing: list[str]
    said: dict[ChunkId, ChunkGraph]
    warnings: tuple[str, ...]


Read = Callable[[bytes, Source], Document]
"""Makes a document of bytes: the readers, in this process or isolated from it."""

Extract = Callable[[Sequence[Chunk], str | None], Sequence[ChunkGraph]]
"""What chunks of a document of that title say for the graph, one for each."""


class Ingest:
    """Takes documents into a store.

    One instance serves one call of add or sync.
    """

    def __init__(
        self,
        *,
        store: Store,
        embedder: Callable[[], Embedder],
        read: Read,
        workspace: str,
        size: ChunkSize,
        extract: Extract | None = None,
        on_progress: OnProgress | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._read = read
        self._workspace = workspace
        self._size = size
        self._extract = extract
        self._on_progress = on_progress
        self._stop = stop or threading.Event()
        self._files_done = self._files_total = 0
        self._chunks_done = self._chunks_total = 0

    def run(self, sources: Sequence[Source], failures: Iterable[DocumentError] = ()) -> IngestReport:
        """Take in every source; one outcome each. `failures` are paths that could not even be found.

        A file that cannot be read is an outcome. A store or model that fails would fail for every file: it is raised,
        and what was written stays.

        Raises:
            StoreError: the store cannot be written.
            StageError: the model cannot embed.
        """
        began = time.monotonic()
        outcomes = [_failed(error.name, error) for error in failures]
        self._files_total = len(sources)
        for outcome in self._outcomes(sources):
            outcomes.append(outcome)
            self._files_done += 1
            self._tell("write", outcome.name)
        return IngestReport(
            outcomes=tuple(outcomes),
            seconds=time.monotonic() - began,
            interrupted=self._stop.is_set() and self._files_done < self._files_total,
        )

    def _outcomes(self, sources: Sequence[Source]) -> Iterator[FileOutcome]:
        batch: list[_Prepared] = []
        waiting = 0
        for step in self._prepared(sources):
            if isinstance(step, FileOutcome):
                yield step
                continue
            batch.append(step)
            waiting += len(step.missing)
            self._chunks_total += len(step.chunks)
            if waiting >= EMBED_BATCH:
                yield from self._finish(batch)
                batch, waiting = [], 0
        yield from self._finish(batch)

    def _prepared(self, sources: Sequence[Source]) -> Iterator[_Prepared | FileOutcome]:
        """Each source prepared, in order, some ahead of time."""
        with ThreadPoolExecutor(1, thread_name_prefix="hybridrag-read") as pool:
            ahead: list[Future[_Prepared | FileOutcome]] = []
            remaining = iter(sources)
            try:
                while not self._stop.is_set():
                    while len(ahead) < PREPARE_AHEAD and (source := next(remaining, None)) is not None:
                        ahead.append(pool.submit(self._prepare, source))
                    if not ahead:
                        return
                    yield ahead.pop(0).result()
            finally:
                for future in ahead:
                    future.cancel()

    def _prepare(self, source: Source) -> _Prepared | FileOutcome:
        try:
            self._tell("read", source.name)
            if source.kind is not None:
                return _skipped(source.name, source.kind)
            return self._prepare_or_raise(source)
        except DocumentError as error:
            # What the index has of a file that broke stays, and is no longer what the file holds: that is a failure.
            known = self._store.file(file_id_for(self._workspace, source.name))
            if error.kind is not None and not source.chosen and known is None:
                return _skipped(source.name, error.kind)
            return _failed(source.name, error)
        except OSError as error:
            return _failed(source.name, DocumentError(source.name, error.strerror or str(error)))

    def _prepare_or_raise(self, source: Source) -> _Prepared | FileOutcome:
        data = source.load()
        file_id = file_id_for(self._workspace, source.name)
        content_hash = self._content_hash(data, source)
        known = self._store.file(file_id)
        if known is not None and known.content_hash == content_hash:
            return FileOutcome(name=source.name, state=FileState.UNCHANGED, file_id=file_id, chunks=known.chunk_count)
        document = self._read(data, source)
        embedder = self._embedder()
        chunks = chunk_document(document, file_id=file_id, token_spans=embedder.token_spans, size=self._size)
        title = source.title or document.title
        file = FileInfo(
            id=file_id,
            name=source.name,
            folder=source.folder,
            workspace=self._workspace,
            mime_type=document.mime_type,
            title=title,
            content_hash=content_hash,
            size=len(data),
            created=source.created or document.created,
            modified=source.modified or document.modified,
            added=datetime.now(tz=UTC),
            chunk_count=len(chunks),
            metadata=document.metadata,
        )
        passages = [passage_text(chunk, title) for chunk in chunks]
        embedded = self._known(passages)
        missing = [passage for passage in dict.fromkeys(passages) if passage not in embedded]
        return _Prepared(
            file,
            document.text,
            chunks,
            passages,
            embedded,
            known is not None,
            missing,
            self._said(file, chunks, passages),
            document.warnings,
        )

    def _known(self, passages: Sequence[str]) -> dict[str, Embedded]:
        """What the store has of these passages, under whatever file."""
        tokens = self._store.known_token_vectors(passages)
        vectors = self._store.known_vectors(passages)
        return {passage: Embedded(vector, tokens.get(passage)) for passage, vector in vectors.items()}

    def _said(self, file: FileInfo, chunks: Sequence[Chunk], passages: Sequence[str]) -> dict[ChunkId, ChunkGraph]:
        """What the chunks that are new or changed say; the store keeps what it has of the others."""
        if self._extract is None:
            return {}
        by_id = {chunk.id: passage for chunk, passage in zip(chunks, passages, strict=True)}
        kept = self._store.kept_chunks(file.id, by_id)
        new = [chunk for chunk in chunks if chunk.id not in kept]
        return {chunk.id: graph for chunk, graph in zip(new, self._extract(new, file.title), strict=True)}

    def _content_hash(self, data: bytes, source: Source) -> str:
        """What decides whether a file changed: its bytes, and how they would be read and cut."""
        how = (PIPELINE_VERSION, self._size.max_tokens, self._size.overlap_tokens, source.mime_type, source.title)
        return blake2b(data, digest_size=20, key=blake2b(repr(how).encode(), digest_size=20).digest()).hexdigest()

    def _finish(self, batch: Sequence[_Prepared]) -> Iterator[FileOutcome]:
        """Embed what is missing across the batch, then write its files one by one."""
        embedded = self._embed(list(dict.fromkeys(passage for item in batch for passage in item.missing)))
        for item in batch:
            if any(passage not in embedded for passage in item.missing):
                continue  # stopped half-way through the batch: this file was not finished
            yield self._write(item, embedded)

    def _embed(self, passages: Sequence[str]) -> dict[str, Embedded]:
        embedded: dict[str, Embedded] = {}
        for first in range(0, len(passages), EMBED_BATCH):
            if self._stop.is_set():
                break
            piece = passages[first : first + EMBED_BATCH]
            embedded.update(zip(piece, embed_passages(self._embedder(), piece), strict=True))
            self._chunks_done += len(piece)
            self._tell("embed", "")
        return embedded

    def _write(self, item: _Prepared, embedded: dict[str, Embedded]) -> FileOutcome:
        made = {**embedded, **item.known}
        new = [
            NewChunk(
                chunk=chunk,
                passage=passage,
                vector=made[passage].vector,
                tokens=made[passage].tokens,
                graph=item.said.get(chunk.id, NOTHING_SAID),
            )
            for chunk, passage in zip(item.chunks, item.passages, strict=True)
        ]
        self._store.put_file(item.file, item.text, new)
        self._chunks_done += len(item.passages) - len(item.missing)
        return FileOutcome(
            name=item.file.name,
            state=FileState.UPDATED if item.existed else FileState.ADDED,
            file_id=item.file.id,
            chunks=len(item.chunks),
            embedded=len(item.missing),
            warnings=item.warnings,
        )

    def _tell(self, stage: str, current: str) -> None:
        if self._on_progress is not None:
            self._on_progress(
                Progress(
                    stage=stage,
                    files_done=self._files_done,
                    files_total=self._files_total,
                    chunks_done=self._chunks_done,
                    chunks_total=max(self._chunks_total, self._chunks_done),
                    current=current,
                )
            )


def _failed(name: str, error: DocumentError) -> FileOutcome:
    return FileOutcome(name=name, state=FileState.FAILED, reason=str(error))


def _skipped(name: str, kind: str) -> FileOutcome:
    return FileOutcome(name=name, state=FileState.SKIPPED, kind=kind)


def removed(name: str, file_id: FileId) -> FileOutcome:
    """The outcome of a file that is gone."""
    return FileOutcome(name=name, state=FileState.REMOVED, file_id=file_id)
