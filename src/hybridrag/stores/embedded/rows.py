"""Rows of the tables to values and back: the statements that reading and writing share."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, TypeVar

import apsw

from hybridrag.protocols import ModelInfo, NewChunk
from hybridrag.stores.embedded import terms
from hybridrag.stores.embedded.live_vectors import to_blob
from hybridrag.types.documents import Chunk, FileInfo
from hybridrag.types.ids import ChunkId, FileId

IdType = TypeVar("IdType", bound=str)
Row = tuple[Any, ...]
"""What SQLite gives back: its types are the table's business."""

REMOVED_LOG_ROWS = 100_000
"""How many removals are remembered for indexes held in memory; one that fell further behind reads all keys anew."""

TEXT_LEVEL = 1
"""Texts are packed fast rather than small: they are read back for one file at a time."""

FILE_COLUMNS = (
    "id, folder, workspace, name, mime_type, title, content_hash, size, created, modified, added, chunk_count, metadata"
)
_FILE_NAMES = FILE_COLUMNS.split(", ")
CHUNK_COLUMNS = (
    'c.key, c.file_key, c.id, f.id, c.ordinal, c.text, c."start", c."end", c.headings, c.page, c.line_start, '
    "c.line_end, c.anchor, c.language, c.tokens"
)


def passage_hash(passage: str) -> bytes:
    """Equal passages have equal vectors: what a stored vector is recognised by."""
    return blake2b(passage.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def unpack_text(packed: bytes) -> str:
    """A stored text."""
    return zlib.decompress(packed).decode("utf-8")


def read_generation(connection: apsw.Connection) -> int:
    """The number of the last committed change."""
    return int(connection.execute("SELECT value FROM meta WHERE name = 'generation'").get)


def next_generation(connection: apsw.Connection) -> int:
    """Number the change that this transaction makes."""
    return int(connection.execute("UPDATE meta SET value = value + 1 WHERE name = 'generation' RETURNING value").get)


def read_chunk_count(connection: apsw.Connection) -> int:
    """The total of chunks, without counting them."""
    return int(connection.execute("SELECT value FROM meta WHERE name = 'chunk_count'").get)


def count_chunks(connection: apsw.Connection, difference: int) -> None:
    """Keep the total of chunks."""
    connection.execute("UPDATE meta SET value = value + ? WHERE name = 'chunk_count'", (difference,))


def read_model(connection: apsw.Connection) -> ModelInfo | None:
    """The model whose vectors are stored, or None."""
    known = dict(connection.execute("SELECT name, value FROM meta WHERE name LIKE 'model_%'"))
    if "model_fingerprint" not in known:
        return None
    return ModelInfo(
        name=str(known["model_name"]),
        fingerprint=str(known["model_fingerprint"]),
        dimension=int(known["model_dimension"]),
        max_tokens=int(known["model_max_tokens"]),
    )


def write_model(connection: apsw.Connection, model: ModelInfo) -> None:
    """Remember the model whose vectors are stored."""
    connection.executemany(
        "INSERT OR REPLACE INTO meta VALUES (?, ?)",
        [
            ("model_name", model.name),
            ("model_fingerprint", model.fingerprint),
            ("model_dimension", model.dimension),
            ("model_max_tokens", model.max_tokens),
        ],
    )


def write_file(connection: apsw.Connection, file: FileInfo, text: str, chunk_count: int) -> int:
    """Insert or update the file's own row and its text; its key stays the same over updates."""
    dated = file.modified or file.created or file.added
    values = (
        file.id,
        file.folder,
        file.workspace,
        file.name,
        file.mime_type,
        file.title,
        file.content_hash,
        file.size,
        _seconds(file.created),
        _seconds(file.modified),
        _seconds(file.added),
        _seconds(dated),
        chunk_count,
        json.dumps(file.metadata, ensure_ascii=False),
    )
    key = connection.execute(
        "INSERT INTO files (id, folder, workspace, name, mime_type, title, content_hash, size, created, modified, "
        "added, dated, chunk_count, metadata) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (id) DO UPDATE SET folder = excluded.folder, workspace = excluded.workspace, "
        "name = excluded.name, "
        "mime_type = excluded.mime_type, title = excluded.title, content_hash = excluded.content_hash, "
        "size = excluded.size, created = excluded.created, modified = excluded.modified, added = excluded.added, "
        "dated = excluded.dated, chunk_count = excluded.chunk_count, metadata = excluded.metadata RETURNING key",
        values,
    ).get
    connection.execute(
        "INSERT OR REPLACE INTO texts (file_key, packed) VALUES (?, ?)",
        (key, zlib.compress(text.encode("utf-8"), TEXT_LEVEL)),
    )
    return int(key)


def context_of(title: str | None, headings: Sequence[str]) -> str:
    """What a chunk's words are found under besides its own text: its title and headings, each once."""
    return "\n".join(dict.fromkeys(part for part in (title, *headings) if part))


def insert_chunk(connection: apsw.Connection, file_key: int, new: NewChunk, *, title: str | None) -> int:
    """Write a new chunk with its terms and its vectors; its key."""
    chunk = new.chunk
    connection.execute(
        'INSERT INTO chunks (id, file_key, ordinal, text, "start", "end", headings, page, line_start, line_end, '
        "anchor, language, tokens, passage_hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (chunk.id, file_key, chunk.ordinal, chunk.text, *_place(chunk), passage_hash(new.passage)),
    )
    key = connection.last_insert_rowid()
    terms.index_chunk(connection, key, context_of(title, chunk.headings), chunk.text)
    connection.execute("INSERT INTO vectors (chunk_key, vector) VALUES (?, ?)", (key, to_blob(new.vector)))
    if new.tokens is not None:
        connection.execute("INSERT INTO token_vectors (chunk_key, packed) VALUES (?, ?)", (key, new.tokens))
    return int(key)


def move_chunk(connection: apsw.Connection, key: int, chunk: Chunk) -> None:
    """The same text in another place: nothing to index, nothing to embed."""
    connection.execute(
        'UPDATE chunks SET ordinal = ?, "start" = ?, "end" = ?, headings = ?, page = ?, line_start = ?, '
        "line_end = ?, anchor = ?, language = ?, tokens = ? WHERE key = ?",
        (chunk.ordinal, *_place(chunk), key),
    )


def _place(chunk: Chunk) -> tuple[int | str | None, ...]:
    return (
        chunk.start,
        chunk.end,
        json.dumps(chunk.headings, ensure_ascii=False),
        chunk.page,
        chunk.line_start or 0,
        chunk.line_end or 0,
        chunk.anchor,
        chunk.language,
        chunk.tokens,
    )


def forget_chunks(connection: apsw.Connection, keys: Sequence[int], generation: int) -> None:
    """Remove chunks with their terms and vectors, and tell the indexes that other processes hold in memory."""
    if not keys:
        return
    rows = [(key,) for key in keys]
    terms.forget_chunks(connection, keys)
    for table in ("token_vectors", "vectors", "staged_token_vectors", "staged_vectors"):
        connection.executemany(f"DELETE FROM {table} WHERE chunk_key = ?", rows)  # noqa: S608 (constants)
    connection.executemany("DELETE FROM chunks WHERE key = ?", rows)
    connection.executemany(
        "INSERT INTO removed_chunks (key, generation) VALUES (?, ?)", [(key, generation) for key in keys]
    )
    # Keys only rise, so that the oldest removals are found by count without sorting.
    limit = connection.execute(
        "SELECT generation FROM removed_chunks ORDER BY generation DESC LIMIT 1 OFFSET ?", (REMOVED_LOG_ROWS,)
    ).get
    if limit is not None:
        connection.execute("DELETE FROM removed_chunks WHERE generation <= ?", (limit,))
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('removed_floor', ?)", (limit,))


def _seconds(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, tz=UTC)


def to_file(row: Row) -> FileInfo:
    """A row of `FILE_COLUMNS` as a value."""
    values = dict(zip(_FILE_NAMES, row, strict=True))
    for name in ("created", "modified", "added"):
        seconds = values[name]
        values[name] = _moment(seconds if isinstance(seconds, float) else None)
    values["metadata"] = json.loads(str(values["metadata"]))
    return FileInfo.model_validate(values)


def to_chunk(row: Row) -> Chunk:
    """A row of `CHUNK_COLUMNS` as a value."""
    (_, _, identity, file_id, ordinal, text, start, end, headings, page, first, last, anchor, language, tokens) = row
    # Rows were validated on their way in. A search reads hundreds: even pydantic's own way around validation, which
    # goes through every field, took half of the time.
    chunk = Chunk.__new__(Chunk)
    values = {
        "id": _trusted(ChunkId, identity),
        "file_id": _trusted(FileId, file_id),
        "ordinal": ordinal,
        "text": text,
        "start": start,
        "end": end,
        "headings": tuple(json.loads(str(headings))) if headings != "[]" else (),
        "page": page,
        "line_start": first or None,
        "line_end": last or None,
        "anchor": anchor,
        "language": language,
        "tokens": tokens,
    }
    for name, value in (
        ("__dict__", values),
        ("__pydantic_fields_set__", set(values)),
        ("__pydantic_extra__", None),
        ("__pydantic_private__", None),
    ):
        object.__setattr__(chunk, name, value)
    return chunk


def _trusted(kind: type[IdType], value: object) -> IdType:
    return str.__new__(kind, value)
