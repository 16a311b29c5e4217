"""The tables of communities.

No name and no text of a document is stored here, only keys and places, so that nothing outlives its chunk. The one
exception is a summary that a language model wrote, which goes with the sentences it was written from.
"""

from __future__ import annotations

COMMUNITY_TABLES = """
CREATE TABLE communities (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL,
  level INTEGER NOT NULL,
  parent_key INTEGER NOT NULL,
  size INTEGER NOT NULL,
  inside REAL NOT NULL,
  text_hash BLOB NOT NULL
) STRICT;
CREATE INDEX communities_by_id ON communities (id);
CREATE INDEX communities_by_level ON communities (level, inside);
CREATE INDEX communities_by_parent ON communities (parent_key);
CREATE INDEX communities_by_text ON communities (text_hash);

CREATE TABLE community_members (
  entity_key INTEGER PRIMARY KEY,
  community_key INTEGER NOT NULL,
  entity_id TEXT NOT NULL,
  strength REAL NOT NULL
) STRICT;
CREATE INDEX members_by_community ON community_members (community_key);

CREATE TABLE community_key_entities (
  community_key INTEGER NOT NULL,
  place INTEGER NOT NULL,
  entity_key INTEGER NOT NULL,
  strength REAL NOT NULL,
  PRIMARY KEY (community_key, place)
) STRICT, WITHOUT ROWID;

CREATE TABLE community_sentences (
  community_key INTEGER NOT NULL,
  place INTEGER NOT NULL,
  chunk_key INTEGER NOT NULL,
  "start" INTEGER NOT NULL,
  "end" INTEGER NOT NULL,
  PRIMARY KEY (community_key, place)
) STRICT, WITHOUT ROWID;

CREATE INDEX sentences_by_chunk ON community_sentences (chunk_key);

-- Kept for as long as a community has this title and these sentences, so that the same text is told once.
CREATE TABLE community_texts (
  text_hash BLOB PRIMARY KEY,
  model TEXT NOT NULL,
  vector BLOB NOT NULL,
  written TEXT
) STRICT;

-- One row. `version` rises with every change of the communities, `texts` with every change of what is told of them;
-- `pending` counts the chunks that came and went since.
CREATE TABLE community_state (
  version INTEGER NOT NULL,
  texts INTEGER NOT NULL,
  pending INTEGER NOT NULL,
  modularity REAL NOT NULL
) STRICT;
INSERT INTO community_state VALUES (0, 0, 0, 0.0);
"""
