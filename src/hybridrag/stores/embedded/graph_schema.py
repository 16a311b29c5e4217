"""The tables of the knowledge graph.

Everything that a chunk says is a row that names the chunk, so that it lives exactly as long as the chunk does.
Entities, relations and their counts are read from those rows, never stored beside them: nothing can go stale.
"""

from __future__ import annotations

from hybridrag.stores.embedded.community_schema import COMMUNITY_TABLES

SHORT_FORMS_TABLE = """
-- Names that are short for the one whole name that they fit.
CREATE TABLE short_forms (
  name_key INTEGER PRIMARY KEY,
  whole_key INTEGER NOT NULL
) STRICT;
CREATE INDEX short_forms_by_whole ON short_forms (whole_key);
"""

NAME_TABLES = """
-- A name as it is compared (`norm`). It lives while a mention or an alias uses it. Names that are one thing share an
-- entity: the key of the one whose norm sorts first.
CREATE TABLE names (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  norm TEXT NOT NULL UNIQUE,
  id BLOB NOT NULL UNIQUE,
  entity_key INTEGER NOT NULL
) STRICT;
CREATE INDEX names_by_entity ON names (entity_key);

-- Names that are spelt alike, by what they share and by what was found when the later of the two came.
CREATE TABLE name_blocks (
  block TEXT NOT NULL,
  name_key INTEGER NOT NULL,
  PRIMARY KEY (block, name_key)
) STRICT, WITHOUT ROWID;
CREATE TABLE alike (
  name_key INTEGER NOT NULL,
  other_key INTEGER NOT NULL,
  PRIMARY KEY (name_key, other_key)
) STRICT, WITHOUT ROWID;

CREATE TABLE mentions (
  chunk_key INTEGER NOT NULL,
  "start" INTEGER NOT NULL,
  "end" INTEGER NOT NULL,
  name_key INTEGER NOT NULL,
  surface TEXT NOT NULL,
  type TEXT NOT NULL,
  confidence REAL NOT NULL,
  source TEXT NOT NULL,
  PRIMARY KEY (chunk_key, "start", "end", name_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX mentions_by_name ON mentions (name_key, chunk_key);

CREATE TABLE aliases (
  chunk_key INTEGER NOT NULL,
  "start" INTEGER NOT NULL,
  "end" INTEGER NOT NULL,
  name_key INTEGER NOT NULL,
  alias_key INTEGER NOT NULL,
  kind TEXT NOT NULL,
  PRIMARY KEY (chunk_key, "start", "end", name_key, alias_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX aliases_by_name ON aliases (name_key);
CREATE INDEX aliases_by_alias ON aliases (alias_key);

CREATE TABLE facts (
  chunk_key INTEGER NOT NULL,
  "start" INTEGER NOT NULL,
  "end" INTEGER NOT NULL,
  subject_key INTEGER NOT NULL,
  predicate TEXT NOT NULL,
  object_key INTEGER NOT NULL,
  confidence REAL NOT NULL,
  kind TEXT NOT NULL,
  PRIMARY KEY (chunk_key, "start", "end", subject_key, predicate, object_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX facts_by_subject ON facts (subject_key, chunk_key);
CREATE INDEX facts_by_object ON facts (object_key, chunk_key);

-- What documents and sections are called. `ordinal` is the section's first chunk; 0 for the document itself.
-- `head` is one term that every text naming the alias holds.
CREATE TABLE titles (
  file_key INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  alias TEXT NOT NULL,
  quality REAL NOT NULL,
  head TEXT NOT NULL,
  PRIMARY KEY (file_key, ordinal, alias)
) STRICT, WITHOUT ROWID;
CREATE INDEX titles_by_alias ON titles (alias);
CREATE INDEX titles_by_head ON titles (head);

CREATE TABLE links (
  chunk_key INTEGER NOT NULL,
  "start" INTEGER NOT NULL,
  "end" INTEGER NOT NULL,
  alias TEXT NOT NULL,
  PRIMARY KEY (chunk_key, "start", "end", alias)
) STRICT, WITHOUT ROWID;
CREATE INDEX links_by_alias ON links (alias, chunk_key);

-- By which terms a chunk that names a new title is found without reading every chunk.
CREATE VIRTUAL TABLE probes USING fts5 (
  terms, content = '', contentless_delete = 1, detail = none, tokenize = 'hybridrag_probe'
);

-- What people decided about names; kept whatever the documents say.
CREATE TABLE decisions (
  norm TEXT NOT NULL,
  other TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('merge', 'split')),
  PRIMARY KEY (norm, other)
) STRICT, WITHOUT ROWID;
CREATE INDEX decisions_by_other ON decisions (other);
"""

GRAPH_TABLES = NAME_TABLES + COMMUNITY_TABLES
