"""Verify that the parts of the store agree, and mend what is derived."""

from __future__ import annotations

import json
import zlib

import apsw
import numpy as np

from hybridrag.language.tokenise import analyser_fingerprint
from hybridrag.protocols import Problem
from hybridrag.stores.embedded import rows, terms
from hybridrag.stores.embedded.community_check import community_problems, forget_communities
from hybridrag.stores.embedded.live_vectors import LiveVectors
from hybridrag.stores.embedded.schema import DROP_TERMS_TABLE, TERMS_TABLE

GRAPH_ROWS = ("mentions", "aliases", "facts", "links")

NAME_ROWS = (
    ("mentions", "name_key"),
    ("aliases", "name_key"),
    ("aliases", "alias_key"),
    ("facts", "subject_key"),
    ("facts", "object_key"),
)
"""What says something of a name, and where it holds the name's key."""

UNUSED_NAME = (
    "key NOT IN (SELECT name_key FROM mentions UNION SELECT name_key FROM aliases UNION SELECT alias_key FROM aliases "
    "UNION SELECT subject_key FROM facts UNION SELECT object_key FROM facts)"
)

_STORED = {
    "chunks without their file": "SELECT count(*) FROM chunks WHERE file_key NOT IN (SELECT key FROM files)",
    "texts without their file": "SELECT count(*) FROM texts WHERE file_key NOT IN (SELECT key FROM files)",
    "files without their text": "SELECT count(*) FROM files WHERE key NOT IN (SELECT file_key FROM texts)",
    "chunks without a vector": "SELECT count(*) FROM chunks WHERE key NOT IN (SELECT chunk_key FROM vectors)",
    "files whose chunk count is wrong": (
        "SELECT count(*) FROM files f WHERE chunk_count <> (SELECT count(*) FROM chunks c WHERE c.file_key = f.key)"
    ),
    "files whose chunks are not numbered in order": (
        "SELECT count(*) FROM files f WHERE chunk_count > 0 AND (SELECT max(ordinal) + 1 FROM chunks c "
        "WHERE c.file_key = f.key) <> chunk_count"
    ),
}
_DERIVED = {
    "vectors without their chunk": "SELECT count(*) FROM vectors WHERE chunk_key NOT IN (SELECT key FROM chunks)",
    "token vectors without their chunk": (
        "SELECT count(*) FROM token_vectors WHERE chunk_key NOT IN (SELECT key FROM chunks)"
    ),
    "chunks that are not in the term index": (
        "SELECT count(*) FROM chunks WHERE key NOT IN (SELECT id FROM terms_docsize)"
    ),
    "rows of the term index without their chunk": (
        "SELECT count(*) FROM terms_docsize WHERE id NOT IN (SELECT key FROM chunks)"
    ),
    "postings without their chunk": (
        "SELECT count(*) FROM (SELECT DISTINCT doc FROM term_places) WHERE doc NOT IN (SELECT key FROM chunks)"
    ),
    **{
        f"{table} of a chunk that is gone": (
            f"SELECT count(*) FROM {table} WHERE chunk_key NOT IN (SELECT key FROM chunks)"  # noqa: S608 (constants)
        )
        for table in GRAPH_ROWS
    },
    "titles of a file that is gone": "SELECT count(*) FROM titles WHERE file_key NOT IN (SELECT key FROM files)",
    "links to a title that nothing has": "SELECT count(*) FROM links WHERE alias NOT IN (SELECT alias FROM titles)",
    "names that nothing uses": f"SELECT count(*) FROM names WHERE {UNUSED_NAME}",  # noqa: S608 (constants)
    "aliases or facts of a name that is gone": (
        "SELECT (SELECT count(*) FROM aliases WHERE name_key NOT IN (SELECT key FROM names) "
        "OR alias_key NOT IN (SELECT key FROM names)) + (SELECT count(*) FROM facts "
        "WHERE subject_key NOT IN (SELECT key FROM names) OR object_key NOT IN (SELECT key FROM names))"
    ),
    "spellings of a name that is gone": (
        "SELECT (SELECT count(*) FROM name_blocks WHERE name_key NOT IN (SELECT key FROM names)) "
        "+ (SELECT count(*) FROM short_forms WHERE name_key NOT IN (SELECT key FROM names) "
        "OR whole_key NOT IN (SELECT key FROM names)) "
        "+ (SELECT count(*) FROM alike WHERE name_key NOT IN (SELECT key FROM names) "
        "OR other_key NOT IN (SELECT key FROM names))"
    ),
    "names whose entity is gone": "SELECT count(*) FROM names WHERE entity_key NOT IN (SELECT key FROM names)",
    "mentions of a name that is gone": "SELECT count(*) FROM mentions WHERE name_key NOT IN (SELECT key FROM names)",
    "rows of the probe index without their chunk": (
        "SELECT count(*) FROM probes_docsize WHERE id NOT IN (SELECT key FROM chunks)"
    ),
    "wrong total of chunks": (
        "SELECT abs((SELECT count(*) FROM chunks) - (SELECT value FROM meta WHERE name = 'chunk_count'))"
    ),
}


def find_problems(connection: apsw.Connection, vectors: LiveVectors) -> list[Problem]:
    """Every invariant that does not hold, in the state that the connection sees."""
    problems = [
        Problem(what=f"the database file: {line}", derived=False)
        for (line,) in connection.execute("PRAGMA integrity_check")
        if line != "ok"
    ]
    try:
        for queries, derived in ((_STORED, False), (_DERIVED, True)):
            for what, sql in queries.items():
                count = connection.execute(sql).get
                if count:
                    problems.append(Problem(what=f"{count} {what}", derived=derived))
        problems.extend(_wrong_texts(connection))
        problems.extend(Problem(what=f"communities: {what}", derived=True) for what in community_problems(connection))
    except (apsw.CorruptError, apsw.SQLError, zlib.error) as cause:
        problems.append(Problem(what=f"reading the tables: {cause}", derived=isinstance(cause, apsw.SQLError)))
        return problems
    problems.extend(_wrong_dimensions(connection))
    if connection.execute("SELECT value FROM meta WHERE name = 'analyser'").get != analyser_fingerprint():
        problems.append(Problem(what="the term index was written by another analyser", derived=True))
    stored = np.array(
        [key for (key,) in connection.execute("SELECT chunk_key FROM vectors ORDER BY 1")], dtype=np.int64
    )
    if not np.array_equal(vectors.keys(connection), stored):
        problems.append(Problem(what="the vector index does not hold the stored vectors", derived=True))
    return problems


def drop_orphans(connection: apsw.Connection) -> None:
    """Remove what belongs to nothing, count anew, and let communities that do not fit be found from nothing."""
    unfit = bool(community_problems(connection))
    connection.execute("DELETE FROM vectors WHERE chunk_key NOT IN (SELECT key FROM chunks)")
    connection.execute("DELETE FROM texts WHERE file_key NOT IN (SELECT key FROM files)")
    connection.execute(
        "DELETE FROM token_vectors WHERE chunk_key NOT IN "
        "(SELECT key FROM chunks WHERE file_key IN (SELECT key FROM files))"
    )
    connection.execute(
        "DELETE FROM vectors WHERE chunk_key IN (SELECT key FROM chunks WHERE file_key NOT IN (SELECT key FROM files))"
    )
    connection.execute("DELETE FROM chunks WHERE file_key NOT IN (SELECT key FROM files)")
    for table in GRAPH_ROWS:
        connection.execute(f"DELETE FROM {table} WHERE chunk_key NOT IN (SELECT key FROM chunks)")  # noqa: S608
    connection.execute("DELETE FROM probes WHERE rowid NOT IN (SELECT key FROM chunks)")
    connection.execute("DELETE FROM titles WHERE file_key NOT IN (SELECT key FROM files)")
    connection.execute("DELETE FROM links WHERE alias NOT IN (SELECT alias FROM titles)")
    for table, column in NAME_ROWS:
        connection.execute(f"DELETE FROM {table} WHERE {column} NOT IN (SELECT key FROM names)")  # noqa: S608
    connection.execute(f"DELETE FROM names WHERE {UNUSED_NAME}")  # noqa: S608 (constants)
    for column in ("name_key", "other_key"):
        connection.execute(f"DELETE FROM alike WHERE {column} NOT IN (SELECT key FROM names)")  # noqa: S608
    connection.execute("DELETE FROM name_blocks WHERE name_key NOT IN (SELECT key FROM names)")
    for column in ("name_key", "whole_key"):
        connection.execute(f"DELETE FROM short_forms WHERE {column} NOT IN (SELECT key FROM names)")  # noqa: S608
    connection.execute("UPDATE names SET entity_key = key WHERE entity_key NOT IN (SELECT key FROM names)")
    if unfit:
        forget_communities(connection)
    connection.execute("UPDATE files SET chunk_count = (SELECT count(*) FROM chunks WHERE file_key = files.key)")
    connection.execute("UPDATE meta SET value = (SELECT count(*) FROM chunks) WHERE name = 'chunk_count'")


def rebuild_terms(connection: apsw.Connection) -> None:
    """Write the term index anew from the chunks, with the analyser of this version."""
    connection.execute(DROP_TERMS_TABLE)
    connection.execute(TERMS_TABLE)
    chunks: list[rows.Row] = connection.execute(
        "SELECT c.key, f.title, c.headings, c.text FROM chunks c JOIN files f ON f.key = c.file_key ORDER BY c.key"
    ).fetchall()
    for key, title, headings, text in chunks:
        terms.index_chunk(connection, key, rows.context_of(title, json.loads(headings)), text)
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('analyser', ?)", (analyser_fingerprint(),))


def _wrong_texts(connection: apsw.Connection) -> list[Problem]:
    """Chunks whose text is not what stands at their offsets in the stored text."""
    wrong = 0
    for file_key, packed in connection.execute("SELECT file_key, packed FROM texts"):
        text = zlib.decompress(packed).decode("utf-8")
        found = connection.execute('SELECT text, "start", "end" FROM chunks WHERE file_key = ?', (file_key,))
        wrong += sum(chunk != text[start:end] for chunk, start, end in found)
    return [Problem(what=f"{wrong} chunks whose text is not at their offsets", derived=False)] if wrong else []


def _wrong_dimensions(connection: apsw.Connection) -> list[Problem]:
    wrong = connection.execute(
        "SELECT count(*) FROM vectors WHERE length(vector) <> "
        "2 * (SELECT value FROM meta WHERE name = 'model_dimension')"
    ).get
    return [Problem(what=f"{wrong} vectors of a wrong dimension", derived=False)] if wrong else []
