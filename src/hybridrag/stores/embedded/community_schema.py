"""The tables of communities.

No name and no text of a document is stored here, only keys and places, so that nothing outlives its chunk. The one
exception is a summary that a language model wrote, which goes with the sentences it was written from.
"""

from __future__ import annotations

COMMUNITY_TABLES = """
-- Chunks whose mentions, facts or entities changed, and in which generation: what communities have not seen yet.
-- Triggers note it with the change itself, so that no writer can forget it and no crash can lose it.
CREATE TABLE touched_chunks (
  chunk_key INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  PRIMARY KEY (chunk_key, generation)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER mention_written AFTER INSERT ON mentions BEGIN
  INSERT OR IGNORE INTO touched_chunks SELECT NEW.chunk_key, value FROM meta WHERE name = 'generation';
END;
CREATE TRIGGER mention_removed AFTER DELETE ON mentions BEGIN
  INSERT OR IGNORE INTO touched_chunks SELECT OLD.chunk_key, value FROM meta WHERE name = 'generation';
END;
CREATE TRIGGER fact_written AFTER INSERT ON facts BEGIN
  INSERT OR IGNORE INTO touched_chunks SELECT NEW.chunk_key, value FROM meta WHERE name = 'generation';
END;
CREATE TRIGGER fact_removed AFTER DELETE ON facts BEGIN
  INSERT OR IGNORE INTO touched_chunks SELECT OLD.chunk_key, value FROM meta WHERE name = 'generation';
END;
CREATE TRIGGER name_resolved AFTER UPDATE OF entity_key ON names WHEN OLD.entity_key <> NEW.entity_key BEGIN
  INSERT OR IGNORE INTO touched_chunks
    SELECT said.chunk_key, meta.value FROM meta, (
      SELECT chunk_key FROM mentions WHERE name_key = NEW.key
      UNION SELECT chunk_key FROM facts WHERE subject_key = NEW.key
      UNION SELECT chunk_key FROM facts WHERE object_key = NEW.key
    ) said WHERE meta.name = 'generation';
END;

-- What each chunk added when the communities were last brought up to date: entity keys, and facts between two.
CREATE TABLE counted_chunks (
  chunk_key INTEGER PRIMARY KEY,
  members BLOB NOT NULL,
  facts BLOB NOT NULL
) STRICT;

CREATE TABLE communities (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL,
  level INTEGER NOT NULL,
  parent_key INTEGER NOT NULL,
  size INTEGER NOT NULL,
  total REAL NOT NULL,
  inside REAL NOT NULL,
  home_file INTEGER NOT NULL,
  text_hash BLOB NOT NULL
) STRICT;
CREATE INDEX communities_by_id ON communities (id);
CREATE INDEX communities_by_level ON communities (level, inside);
CREATE INDEX communities_by_parent ON communities (parent_key);
CREATE INDEX communities_by_home ON communities (home_file) WHERE home_file > 0;
CREATE INDEX communities_by_text ON communities (text_hash);

CREATE TABLE community_members (
  entity_key INTEGER PRIMARY KEY,
  community_key INTEGER NOT NULL,
  entity_id TEXT NOT NULL,
  strength REAL NOT NULL,
  degree REAL NOT NULL
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

-- Kept for as long as a community has this title and these sentences, so that the same text is told once.
CREATE TABLE community_texts (
  text_hash BLOB PRIMARY KEY,
  model TEXT NOT NULL,
  vector BLOB NOT NULL,
  written TEXT
) STRICT;

-- One row. `version` rises with every change of the communities, `texts` with every change of what is told of them.
CREATE TABLE community_state (
  version INTEGER NOT NULL,
  texts INTEGER NOT NULL,
  weight REAL NOT NULL,
  changed REAL NOT NULL,
  best_modularity REAL NOT NULL
) STRICT;
INSERT INTO community_state VALUES (0, 0, 0.0, 0.0, 0.0);
"""
