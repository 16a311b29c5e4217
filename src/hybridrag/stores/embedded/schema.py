"""The tables of the embedded store, and how an older format becomes the current one."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

import apsw

from hybridrag.errors import StoreCorrupt, StoreVersionMismatch
from hybridrag.graph.short_forms import SHORT, shorter_forms
from hybridrag.stores.embedded.community_schema import COMMUNITY_TABLES
from hybridrag.stores.embedded.graph_schema import GRAPH_TABLES, SHORT_FORMS_TABLE

APPLICATION_ID = 0x48524147
"""Marks the file as ours: "HRAG"."""

FORMAT = 5

BM25_CONTEXT_WEIGHT = 1.0
BM25_BODY_WEIGHT = 1.0

TABLES = """
CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value ANY
) STRICT, WITHOUT ROWID;

-- AUTOINCREMENT everywhere: a key is never used twice, so that a reader holding a stale key finds nothing
-- instead of something else.
CREATE TABLE files (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  folder TEXT,
  workspace TEXT NOT NULL,
  name TEXT NOT NULL,
  mime_type TEXT NOT NULL,
  title TEXT,
  content_hash TEXT NOT NULL,
  size INTEGER NOT NULL,
  created REAL,
  modified REAL,
  added REAL NOT NULL,
  dated REAL NOT NULL,
  chunk_count INTEGER NOT NULL,
  metadata TEXT NOT NULL,
  UNIQUE (workspace, name)
) STRICT;
CREATE INDEX files_by_type ON files (mime_type);
CREATE INDEX files_by_date ON files (dated);

CREATE TABLE texts (
  file_key INTEGER PRIMARY KEY REFERENCES files (key),
  packed BLOB NOT NULL
) STRICT;

CREATE TABLE chunks (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  file_key INTEGER NOT NULL REFERENCES files (key),
  ordinal INTEGER NOT NULL,
  text TEXT NOT NULL,
  "start" INTEGER NOT NULL,
  "end" INTEGER NOT NULL,
  headings TEXT NOT NULL,
  page INTEGER,
  line_start INTEGER NOT NULL,
  line_end INTEGER NOT NULL,
  anchor TEXT,
  language TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  passage_hash BLOB NOT NULL
) STRICT;
CREATE INDEX chunks_by_file ON chunks (file_key, ordinal);
CREATE INDEX chunks_by_passage ON chunks (passage_hash);

CREATE TABLE vectors (
  chunk_key INTEGER PRIMARY KEY REFERENCES chunks (key),
  vector BLOB NOT NULL
) STRICT;

-- Another model's vectors on their way in; they replace the others at once when complete.
CREATE TABLE staged_vectors (
  chunk_key INTEGER PRIMARY KEY,
  vector BLOB NOT NULL
) STRICT;

-- What readers that hold an index in memory must forget; trimmed from the front.
CREATE TABLE removed_chunks (
  key INTEGER PRIMARY KEY,
  generation INTEGER NOT NULL
) STRICT;
CREATE INDEX removed_by_generation ON removed_chunks (generation);
"""

TOKENS_TABLE = """
-- Beside the vectors, not in their rows: those are read one after the other, and must lie close together.
CREATE TABLE token_vectors (
  chunk_key INTEGER PRIMARY KEY REFERENCES chunks (key),
  packed BLOB NOT NULL
) STRICT;
CREATE TABLE staged_token_vectors (
  chunk_key INTEGER PRIMARY KEY,
  packed BLOB NOT NULL
) STRICT;
"""

TERMS_TABLE = """
-- Without its own copy of the text: deleting a row needs no tokens, so that a newer dictionary cannot damage it.
CREATE VIRTUAL TABLE terms USING fts5 (
  context, body, content = '', contentless_delete = 1, tokenize = 'hybridrag'
);
CREATE VIRTUAL TABLE term_counts USING fts5vocab ('terms', 'row');
CREATE VIRTUAL TABLE term_places USING fts5vocab ('terms', 'instance');
"""

DROP_COMMUNITY_TABLES = """
DROP TRIGGER IF EXISTS mention_written;
DROP TRIGGER IF EXISTS mention_removed;
DROP TRIGGER IF EXISTS fact_written;
DROP TRIGGER IF EXISTS fact_removed;
DROP TRIGGER IF EXISTS name_resolved;
DROP TABLE IF EXISTS touched_chunks;
DROP TABLE IF EXISTS counted_chunks;
DROP TABLE communities;
DROP TABLE community_members;
DROP TABLE community_key_entities;
DROP TABLE community_sentences;
DROP TABLE community_texts;
DROP TABLE community_state;
"""

DROP_TERMS_TABLE = """
DROP TABLE IF EXISTS term_places;
DROP TABLE IF EXISTS term_counts;
DROP TABLE IF EXISTS terms;
"""

Migration = Callable[[apsw.Connection], None]


def _add_graph(connection: apsw.Connection) -> None:
    """Format 2 brings the knowledge graph; what is already indexed waits for `hybridrag graph rebuild`."""
    connection.execute(GRAPH_TABLES)
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('graph_pending', 1)")


def _add_token_vectors(connection: apsw.Connection) -> None:
    """Format 3 brings token vectors; what is already indexed has none until `hybridrag reembed`."""
    connection.execute(TOKENS_TABLE)


def _add_short_forms(connection: apsw.Connection) -> None:
    """Format 4 knows short forms of names, which `hybridrag graph rebuild` finds, and finds communities as a whole."""
    connection.execute(DROP_COMMUNITY_TABLES)
    connection.execute(COMMUNITY_TABLES)
    connection.execute("UPDATE community_state SET pending = 1")
    # From format 1 the graph's tables were made a moment ago, as they are now.
    connection.execute("DROP TABLE IF EXISTS short_forms")
    connection.execute(SHORT_FORMS_TABLE)
    names = connection.execute("SELECT key, norm FROM names").fetchall()
    connection.executemany(
        "INSERT OR IGNORE INTO name_blocks VALUES (?, ?)",
        [(SHORT + short, key) for key, norm in names for short in shorter_forms(str(norm))],
    )


def _add_places(connection: apsw.Connection) -> None:
    """Format 5 brings the folder that was added and the anchors of chunks; files get theirs when they are read anew."""
    connection.execute("ALTER TABLE files ADD COLUMN folder TEXT")
    connection.execute("ALTER TABLE chunks ADD COLUMN anchor TEXT")


MIGRATIONS: Mapping[int, Migration] = {
    1: _add_graph,
    2: _add_token_vectors,
    3: _add_short_forms,
    4: _add_places,
}
"""From that format to the next."""


def is_current(connection: apsw.Connection) -> bool:
    """Whether the database is one of ours in the current format: nothing has to be made or migrated."""
    return (connection.pragma("application_id"), connection.pragma("user_version")) == (APPLICATION_ID, FORMAT)


def create_or_migrate(
    connection: apsw.Connection,
    path: Path,
    *,
    target: int = FORMAT,
    migrations: Mapping[int, Migration] = MIGRATIONS,
) -> None:
    """Bring a new or older database to the current format, inside the caller's transaction.

    Raises:
        StoreVersionMismatch: it was written by a newer version, or too old to migrate.
        StoreCorrupt: it is a database, but not one of ours.
    """
    found = int(connection.pragma("user_version"))
    if found == 0:
        if connection.execute("SELECT count(*) FROM sqlite_schema").get:
            raise StoreCorrupt(path, "it is a database of another program")
        connection.execute(TABLES)
        connection.execute(TOKENS_TABLE)
        connection.execute(TERMS_TABLE)
        connection.execute(GRAPH_TABLES)
        connection.execute(SHORT_FORMS_TABLE)
        connection.execute(
            "INSERT INTO meta VALUES ('store_id', ?), ('generation', 0), ('chunk_count', 0)", (uuid.uuid4().hex,)
        )
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", target)
        return
    if int(connection.pragma("application_id")) != APPLICATION_ID:
        raise StoreCorrupt(path, "it is a database of another program")
    while found < target:
        if found not in migrations:
            raise StoreVersionMismatch(path, found=found, expected=target)
        migrations[found](connection)
        found += 1
        connection.pragma("user_version", found)
    if found > target:
        raise StoreVersionMismatch(path, found=found, expected=target)
