"""The embedded store: files, chunks, terms and vectors in one directory."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Self

import apsw

from hybridrag.errors import ModelMismatch, StoreError
from hybridrag.language.tokenise import analyser_fingerprint
from hybridrag.protocols import Linker, ModelInfo, NewChunk, Problem, PutReport, Resemblance, StoreStatus
from hybridrag.stores.embedded import check, rows, terms
from hybridrag.stores.embedded.community_store import EmbeddedCommunities
from hybridrag.stores.embedded.database import Database
from hybridrag.stores.embedded.filters import CompiledFilter, compile_filter, file_conditions
from hybridrag.stores.embedded.graph_rows import GraphWriter, register_probe_tokenizer
from hybridrag.stores.embedded.graph_store import EmbeddedGraph
from hybridrag.stores.embedded.live_vectors import LiveVectors, from_blob, to_blob
from hybridrag.stores.embedded.schema import FORMAT
from hybridrag.stores.embedded.sql import batches, marks
from hybridrag.stores.embedded.visible_names import regrouped
from hybridrag.types.base import Float32Array
from hybridrag.types.documents import Chunk, FileInfo
from hybridrag.types.extraction import NOTHING_SAID, ChunkGraph
from hybridrag.types.ids import ChunkId, FileId
from hybridrag.types.queries import SearchFilters
from hybridrag.types.terms import TermQuery

COUNTED_TERMS = 10_000
"""Frequencies of terms kept while nothing changes: counting a common one walks through all of its chunks."""

FILTER_CACHE = 64
"""Compiled filters kept per generation: an application asks with a few filters over and over."""


class EmbeddedStore:
    """The `Store` contract on one directory: `store.db` (SQLite, WAL) and `vectors/` (derived).

    EmbeddedStore.open(Path("docs.hybridrag")) -> an empty store, made if missing
    """

    def __init__(
        self,
        database: Database,
        vectors: LiveVectors,
        *,
        linker: Linker | None = None,
    ) -> None:
        self._database = database
        self._resemblance: Resemblance | None = None
        self._linker = linker
        self._vectors = vectors
        self._communities = EmbeddedCommunities(database, self._compile)
        self._filters: OrderedDict[tuple[int, str], CompiledFilter] = OrderedDict()
        self._filters_lock = Lock()
        self._counted: tuple[int, dict[str, int]] = (-1, {})

    @classmethod
    def open(
        cls,
        folder: Path,
        *,
        create: bool = True,
        busy_timeout: float = 30.0,
        vector_index: str = "auto",
        linker: Linker | None = None,
    ) -> Self:
        """Open the store, make it if missing, and bring stale derived data up to date.

        Without a `linker`, chunks are not linked to the titles that they name.

        Raises:
            StoreNotFound: there is none and `create` is off.
            StoreVersionMismatch: a newer version wrote it.
            StoreBusy: it has to be made or migrated, and another process is writing.
        """
        database = Database(folder, prepare=_prepare, busy_timeout=busy_timeout, create=create)
        store = cls(database, LiveVectors(folder, setting=vector_index), linker=linker)
        store._refresh_terms()
        return store

    @property
    def path(self) -> Path:
        """The directory."""
        return self._database.folder

    def compare_names_with(self, resemblance: Resemblance | None) -> None:
        """How to tell names spelt differently; without it they are one only where a text or a person says so."""
        self._resemblance = resemblance

    # Writing

    def bind_model(self, model: ModelInfo) -> None:
        """Remember the model of the first vectors; refuse another."""
        with self._database.read() as connection:
            known = rows.read_model(connection)
        if known is None:
            with self._database.write() as connection:
                known = rows.read_model(connection)
                if known is None:
                    rows.write_model(connection, model)
                    return
        if known.fingerprint != model.fingerprint:
            raise ModelMismatch(self.path, found=known.name, expected=model.name)

    def put_file(self, file: FileInfo, text: str, chunks: Sequence[NewChunk]) -> PutReport:
        """Write a file in one transaction, touching only the chunks that differ."""
        with self._database.write() as connection:
            generation = rows.next_generation(connection)
            file_key = rows.write_file(connection, file, text, len(chunks))
            old = {
                str(identity): (int(key), bytes(known))
                for identity, key, known in connection.execute(
                    "SELECT id, key, passage_hash FROM chunks WHERE file_key = ?", (file_key,)
                )
            }
            same = {
                new.chunk.id
                for new in chunks
                if new.chunk.id in old and old[new.chunk.id][1] == rows.passage_hash(new.passage)
            }
            gone = [key for identity, (key, _) in old.items() if identity not in same]
            graph = GraphWriter(connection, self._linker, self._resemblance)
            graph.forget(gone)
            rows.forget_chunks(connection, gone, generation)
            added = 0
            for new in chunks:
                if new.chunk.id in same:
                    rows.move_chunk(connection, old[new.chunk.id][0], new.chunk)
                else:
                    key = rows.insert_chunk(connection, file_key, new, title=file.title)
                    graph.insert(key, new.chunk.text, new.graph)
                    added += 1
            rows.count_chunks(connection, added - len(gone))
            graph.set_titles(file_key, file, [new.chunk for new in chunks])
            graph.settle()
        return PutReport(added=added, kept=len(same), removed=len(gone))

    def kept_chunks(self, file_id: FileId, passages: Mapping[ChunkId, str]) -> set[ChunkId]:
        """Which of a file's chunks would stay as they are when it is written with these passages."""
        with self._database.read() as connection:
            found = connection.execute(
                "SELECT c.id, c.passage_hash FROM chunks c JOIN files f ON f.key = c.file_key WHERE f.id = ?",
                (file_id,),
            )
            known = {str(identity): bytes(known) for identity, known in found}
        return {identity for identity, passage in passages.items() if known.get(identity) == rows.passage_hash(passage)}

    def replace_graph(self, file_id: FileId, graphs: Mapping[ChunkId, ChunkGraph]) -> None:
        """Put what another extractor found in a file's chunks in place of what is stored, in one transaction."""
        with self._database.write() as connection:
            file_key = connection.execute("SELECT key FROM files WHERE id = ?", (file_id,)).get
            if file_key is None:
                return
            rows.next_generation(connection)
            sql = f"SELECT {rows.FILE_COLUMNS} FROM files WHERE id = ?"  # noqa: S608 (constants)
            file = rows.to_file(connection.execute(sql, (file_id,)).fetchone() or ())
            chunks = self.chunks_of(file_id)
            keys: dict[str, int] = dict(
                connection.execute("SELECT id, key FROM chunks WHERE file_key = ?", (file_key,))
            )
            writer = GraphWriter(connection, self._linker, self._resemblance)
            writer.forget(list(keys.values()))
            for chunk in chunks:
                writer.insert(keys[chunk.id], chunk.text, graphs.get(chunk.id, NOTHING_SAID))
            writer.set_titles(int(file_key), file, chunks)
            writer.settle()

    def extractor(self) -> str | None:
        """What extracted the graph; None while nothing was."""
        with self._database.read() as connection:
            found = connection.execute("SELECT value FROM meta WHERE name = 'extractor'").get
        return None if found is None else str(found)

    def bind_extractor(self, name: str, *, replace: bool = False) -> None:
        """Remember what extracts the graph; another one is refused unless everything is extracted anew."""
        found = self.extractor()
        if found == name:
            return
        if found is not None and not replace:
            raise StoreError(
                self.path,
                f"The graph at {self.path} was extracted by {found}, and the settings name {name}.",
                hint=f"Run: hybridrag graph rebuild --index {self.path}, or set `graph.extractor` back.",
            )
        with self._database.write() as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('extractor', ?)", (name,))
            connection.execute("DELETE FROM meta WHERE name = 'graph_pending'")

    def remove_files(self, ids: Sequence[FileId]) -> int:
        """Forget files, each in a transaction of its own."""
        return sum(self._remove_file(identity) for identity in ids)

    def begin_reembedding(self, model: ModelInfo) -> None:
        """Make room for another model's vectors; an interrupted run with the same model goes on where it stopped."""
        with self._database.write() as connection:
            if connection.execute("SELECT value FROM meta WHERE name = 'staged_model'").get != model.fingerprint:
                connection.execute("DELETE FROM staged_vectors")
                connection.execute("DELETE FROM staged_token_vectors")
                connection.execute("INSERT OR REPLACE INTO meta VALUES ('staged_model', ?)", (model.fingerprint,))

    def unstaged_keys(self, limit: int) -> list[int]:
        """Chunks that have no vector of the new model yet."""
        with self._database.read() as connection:
            found = connection.execute(
                "SELECT key FROM chunks WHERE key NOT IN (SELECT chunk_key FROM staged_vectors) ORDER BY key LIMIT ?",
                (limit,),
            )
            return [key for (key,) in found]

    def stage_vectors(self, vectors: Mapping[int, Float32Array], tokens: Mapping[int, bytes] | None = None) -> None:
        """Keep vectors of the new model, and its packed token vectors where it gives them, until they are complete."""
        with self._database.write() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO staged_vectors (chunk_key, vector) VALUES (?, ?)",
                [(key, to_blob(vector)) for key, vector in vectors.items()],
            )
            connection.executemany(
                "INSERT OR REPLACE INTO staged_token_vectors (chunk_key, packed) VALUES (?, ?)",
                list((tokens or {}).items()),
            )

    def finish_reembedding(self, model: ModelInfo) -> bool:
        """Put the new vectors in place of the old in one transaction; False when chunks came in meanwhile."""
        with self._database.write() as connection:
            if connection.execute(
                "SELECT EXISTS (SELECT 1 FROM chunks WHERE key NOT IN (SELECT chunk_key FROM staged_vectors))"
            ).get:
                return False
            rows.next_generation(connection)
            connection.execute("DELETE FROM token_vectors")
            connection.execute(
                "INSERT INTO token_vectors SELECT chunk_key, packed FROM staged_token_vectors "
                "WHERE chunk_key IN (SELECT key FROM chunks)"
            )
            connection.execute("DELETE FROM staged_token_vectors")
            connection.execute("DELETE FROM vectors")
            connection.execute(
                "INSERT INTO vectors SELECT chunk_key, vector FROM staged_vectors "
                "WHERE chunk_key IN (SELECT key FROM chunks)"
            )
            connection.execute("DELETE FROM staged_vectors")
            connection.execute("DELETE FROM meta WHERE name = 'staged_model'")
            epoch = connection.execute("SELECT value FROM meta WHERE name = 'vector_epoch'").get or 0
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('vector_epoch', ?)", (int(epoch) + 1,))
            rows.write_model(connection, model)
        return True

    def flush(self, *, force: bool = False) -> None:
        """Save the vector index beside the database when enough has changed, for the next process to open fast."""
        with self._database.read() as connection:
            self._vectors.save(connection, force=force)

    # Reading

    @property
    def graph(self) -> EmbeddedGraph:
        """What the chunks say of names, facts and titles."""
        return EmbeddedGraph(self._database, self._compile, self._linker, self._resemblance)

    @property
    def communities(self) -> EmbeddedCommunities:
        """Which entities form communities, and what those are about."""
        return self._communities

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Within it, every read of this thread sees one and the same state, whatever is committed meanwhile."""
        with self._database.read():
            yield

    def known_vectors(self, passages: Sequence[str]) -> dict[str, Float32Array]:
        """Vectors already computed for these passages, under whatever file."""
        by_hash = {rows.passage_hash(passage): passage for passage in passages}
        found: dict[str, Float32Array] = {}
        with self._database.read() as connection:
            for batch in batches(list(by_hash)):
                found_rows = connection.execute(
                    "SELECT c.passage_hash, v.vector FROM chunks c JOIN vectors v ON v.chunk_key = c.key "  # noqa: S608
                    f"WHERE c.passage_hash IN ({marks(batch)})",
                    batch,
                )
                for known, vector in found_rows:
                    found[by_hash[bytes(known)]] = from_blob(bytes(vector))
        return found

    def known_token_vectors(self, passages: Sequence[str]) -> dict[str, bytes]:
        """Packed token vectors already computed for these passages, under whatever file."""
        by_hash = {rows.passage_hash(passage): passage for passage in passages}
        found: dict[str, bytes] = {}
        with self._database.read() as connection:
            for batch in batches(list(by_hash)):
                found_rows = connection.execute(
                    "SELECT c.passage_hash, t.packed FROM chunks c JOIN token_vectors t ON t.chunk_key = c.key "  # noqa: S608
                    f"WHERE c.passage_hash IN ({marks(batch)})",
                    batch,
                )
                found.update((by_hash[bytes(known)], bytes(packed)) for known, packed in found_rows)
        return found

    def file(self, file_id: FileId) -> FileInfo | None:
        """One file, or None."""
        with self._database.read() as connection:
            sql = f"SELECT {rows.FILE_COLUMNS} FROM files WHERE id = ?"  # noqa: S608 (constants)
            row = connection.execute(sql, (file_id,)).fetchone()
        return None if row is None else rows.to_file(row)

    def files(self, filters: SearchFilters | None = None) -> Iterator[FileInfo]:
        """Files that pass, by workspace and name."""
        where, values = file_conditions(filters) if filters else ("", [])
        condition = f"WHERE {where} " if where else ""
        with self._database.read() as connection:
            sql = f"SELECT {rows.FILE_COLUMNS} FROM files {condition}ORDER BY workspace, name"  # noqa: S608
            found_rows = connection.execute(sql, values).fetchall()
        return (rows.to_file(row) for row in found_rows)

    def text(self, file_id: FileId) -> str | None:
        """The stored text of a file."""
        with self._database.read() as connection:
            packed = connection.execute(
                "SELECT packed FROM texts JOIN files ON files.key = texts.file_key WHERE files.id = ?", (file_id,)
            ).get
        return None if packed is None else rows.unpack_text(bytes(packed))

    def chunks(self, ids: Sequence[ChunkId], *, filters: SearchFilters | None = None) -> dict[ChunkId, Chunk]:
        """Chunks by id."""
        found = self._read_chunks("c.id", list(ids), filters)
        return {chunk.id: chunk for _, chunk in found}

    def chunks_by_key(self, keys: Sequence[int], *, filters: SearchFilters | None = None) -> dict[int, Chunk]:
        """Chunks by row key."""
        return dict(self._read_chunks("c.key", list(keys), filters))

    def file_keys(self, keys: Sequence[int]) -> dict[int, int]:
        """Which file each chunk is of, by row key."""
        found: dict[int, int] = {}
        with self._database.read() as connection:
            for batch in batches(list(keys)):
                found.update(
                    connection.execute(
                        f"SELECT key, file_key FROM chunks WHERE key IN ({marks(batch)})",  # noqa: S608 (marks)
                        batch,
                    )
                )
        return found

    def chunks_of(self, file_id: FileId, *, start: int = 0, stop: int | None = None) -> list[Chunk]:
        """A file's chunks in reading order."""
        with self._database.read() as connection:
            found_rows = connection.execute(
                f"SELECT {rows.CHUNK_COLUMNS} FROM chunks c JOIN files f ON f.key = c.file_key "  # noqa: S608 (constants)
                "WHERE f.id = ? AND c.ordinal >= ? AND c.ordinal < ? ORDER BY c.ordinal",
                (file_id, start, 2**62 if stop is None else stop),
            ).fetchall()
        return [rows.to_chunk(row) for row in found_rows]

    def chunk_keys(self) -> list[int]:
        """Every chunk's key, in the order in which they were added."""
        with self._database.read() as connection:
            return [key for (key,) in connection.execute("SELECT key FROM chunks ORDER BY key")]

    def chunk_count(self) -> int:
        """How many chunks there are."""
        with self._database.read() as connection:
            return rows.read_chunk_count(connection)

    def document_frequency(self, words: Sequence[str]) -> dict[str, int]:
        """In how many chunks each term occurs."""
        with self._database.read() as connection:
            generation = rows.read_generation(connection)
            with self._filters_lock:
                if self._counted[0] != generation or len(self._counted[1]) > COUNTED_TERMS:
                    self._counted = (generation, {})
                counted = self._counted[1]
                found = {word: counted[word] for word in words if word in counted}
            new = terms.document_frequency(connection, [word for word in words if word not in found])
            with self._filters_lock:
                counted.update(new)
        return {word: new.get(word, found.get(word, 0)) for word in words}

    def search_terms(
        self, query: TermQuery, limit: int, *, filters: SearchFilters | None = None
    ) -> list[tuple[int, float]]:
        """The best `(key, BM25)`."""
        with self._database.read() as connection:
            return terms.search_terms(connection, query, limit, self._compile(connection, filters))

    def search_vector(
        self, vector: Float32Array, limit: int, *, filters: SearchFilters | None = None
    ) -> list[tuple[int, float]]:
        """The nearest `(key, cosine)`."""
        with self._database.read() as connection:
            return self._vectors.search(connection, vector, limit, self._compile(connection, filters))

    def vectors(self, keys: Sequence[int]) -> dict[int, Float32Array]:
        """Stored vectors by chunk key."""
        found: dict[int, Float32Array] = {}
        with self._database.read() as connection:
            for batch in batches(list(keys)):
                sql = f"SELECT chunk_key, vector FROM vectors WHERE chunk_key IN ({marks(batch)})"  # noqa: S608
                found.update((key, from_blob(bytes(blob))) for key, blob in connection.execute(sql, batch))
        return found

    def token_vectors(self, keys: Sequence[int]) -> dict[int, bytes]:
        """Packed token vectors by chunk key."""
        found: dict[int, bytes] = {}
        with self._database.read() as connection:
            for batch in batches(list(keys)):
                sql = f"SELECT chunk_key, packed FROM token_vectors WHERE chunk_key IN ({marks(batch)})"  # noqa: S608
                found.update((key, bytes(packed)) for key, packed in connection.execute(sql, batch))
        return found

    # The whole

    def model(self) -> ModelInfo | None:
        """The model whose vectors are stored; None while there are none."""
        with self._database.read() as connection:
            return rows.read_model(connection)

    def generation(self) -> int:
        """Rises with every committed change."""
        with self._database.read() as connection:
            return rows.read_generation(connection)

    def status(self) -> StoreStatus:
        """What is in the store."""
        with self._database.read() as connection:
            self._vectors.refresh(connection)
            workspaces = Counter(
                dict(connection.execute("SELECT workspace, count(*) FROM files GROUP BY workspace ORDER BY workspace"))
            )
            return StoreStatus(
                files=sum(workspaces.values()),
                chunks=rows.read_chunk_count(connection),
                generation=rows.read_generation(connection),
                format=FORMAT,
                model=rows.read_model(connection),
                vector_index=self._vectors.kind,
                bytes_on_disk=sum(path.stat().st_size for path in self.path.rglob("*") if path.is_file()),
                workspaces=dict(workspaces),
            )

    def check(self) -> list[Problem]:
        """Verify every invariant."""
        with self._database.read_anew() as connection:
            return check.find_problems(connection, self._vectors)

    def repair(self) -> list[Problem]:
        """Rebuild terms and vector index, drop orphans; what is still wrong."""
        with self._database.write() as connection:
            rows.next_generation(connection)
            check.drop_orphans(connection)
            check.rebuild_terms(connection)
        with self._database.read() as connection:
            self._vectors.rebuild(connection)
        return self.check()

    def close(self) -> None:
        """Save what is worth saving and release everything."""
        self._vectors.close()
        self._database.close()

    def _refresh_terms(self) -> None:
        """Rebuild the term index when another analyser wrote it: its terms would not be found."""
        fingerprint = analyser_fingerprint()
        with self._database.read() as connection:
            written = connection.execute("SELECT value FROM meta WHERE name = 'analyser'").get
        if written == fingerprint:
            return
        with self._database.write() as connection:
            if connection.execute("SELECT value FROM meta WHERE name = 'analyser'").get != fingerprint:
                check.rebuild_terms(connection)

    def _remove_file(self, identity: FileId) -> int:
        with self._database.write() as connection:
            file_key = connection.execute("SELECT key FROM files WHERE id = ?", (identity,)).get
            if file_key is None:
                return 0
            generation = rows.next_generation(connection)
            keys = [key for (key,) in connection.execute("SELECT key FROM chunks WHERE file_key = ?", (file_key,))]
            graph = GraphWriter(connection, self._linker, self._resemblance)
            graph.forget(keys)
            rows.forget_chunks(connection, keys, generation)
            rows.count_chunks(connection, -len(keys))
            graph.set_titles(int(file_key), None, [])
            graph.settle()
            connection.execute("DELETE FROM texts WHERE file_key = ?", (file_key,))
            connection.execute("DELETE FROM files WHERE key = ?", (file_key,))
        return 1

    def _read_chunks(
        self, column: str, values: Sequence[str | int], filters: SearchFilters | None
    ) -> list[tuple[int, Chunk]]:
        found: list[tuple[int, Chunk]] = []
        with self._database.read() as connection:
            compiled = self._compile(connection, filters)
            for batch in batches(values):
                found_rows = connection.execute(
                    f"SELECT {rows.CHUNK_COLUMNS} FROM chunks c JOIN files f ON f.key = c.file_key "  # noqa: S608
                    f"WHERE {column} IN ({marks(batch)})",
                    batch,
                )
                found.extend((row[0], rows.to_chunk(row)) for row in found_rows if compiled.passes(row[1], row[0]))
        return found

    def _compile(self, connection: apsw.Connection, filters: SearchFilters | None) -> CompiledFilter:
        """The filter for the connection's snapshot, compiled once per generation."""
        chosen = "" if filters is None or filters.selects_all else _text_of(filters)
        name = (rows.read_generation(connection), chosen)
        with self._filters_lock:
            if name in self._filters:
                self._filters.move_to_end(name)
                return self._filters[name]
        compiled = compile_filter(connection, filters)
        if compiled.file_keys is not None:
            compiled = replace(compiled, regrouped=regrouped(connection, compiled))
        with self._filters_lock:
            self._filters[name] = compiled
            while len(self._filters) > FILTER_CACHE:
                self._filters.popitem(last=False)
        return compiled


def _text_of(filters: SearchFilters) -> str:
    """The same for filters that select the same."""
    return filters.model_copy(update={"min_relevance": 0.0}).model_dump_json()


def _prepare(connection: apsw.Connection) -> None:
    """What every connection needs: the tokenizers of the tables."""
    terms.register_tokenizer(connection)
    register_probe_tokenizer(connection)
