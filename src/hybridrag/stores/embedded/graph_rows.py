"""Write what chunks say into the graph, and keep names, entities and links exact through every change."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any
from uuid import UUID

import apsw

from hybridrag.graph.names import strip_legal_form
from hybridrag.graph.short_forms import NUMBERED, SHORT, fits, shorter_forms
from hybridrag.protocols import Linker, Resemblance
from hybridrag.stores.embedded.community_tables import count_pending, forget_texts_of
from hybridrag.stores.embedded.sql import batches, marks
from hybridrag.types.documents import Chunk, FileInfo
from hybridrag.types.extraction import ChunkGraph, Link, Mention, Source
from hybridrag.types.graph import EntityType
from hybridrag.types.ids import entity_id_for

SEPARATOR = "\x1f"
"""Between the probe terms of a chunk; no text holds it after normalisation."""


MAX_EQUATED = 8
"""A name that texts equate with more others than this is a label and no name of any: (n), (US), 同社. Few things have
so many names, and one label would make all that it stands behind one entity."""


MAX_COMPARED = 64
"""Names that a new one is compared with, the oldest first. Where more share all but one word, a letter or two tell
different people and parts apart, and comparing all with all would hold the write lock for minutes."""


FORM, SAID = 3, 2
SURENESS = {FORM: 1.0, SAID: 0.6}
"""How much a mention counts for its type, by what told the type: the name itself, or the sentence."""


HINT = 0.2
"""How much a mention counts for its type at most that only a preposition or the like tells it."""

UNTYPED = str(EntityType.OTHER)


def chosen_type(types: Mapping[str, tuple[float, float]]) -> str:
    """What an entity is, by the sum of what its mentions say of each type, and the surest of them.

    {"place": (0.4, 0.2), "other": (1.2, 0.2)} -> "other": two hints among many mentions say nothing
    """
    typed = {kind: total for kind, (total, _) in types.items() if kind != UNTYPED}
    best = min(typed, key=lambda kind: (-typed[kind], kind)) if typed else UNTYPED
    told = types[best][1] > HINT or typed[best] >= types.get(UNTYPED, (0.0, 0.0))[0] if typed else False
    return best if told else UNTYPED


def _sureness(mention: Mention) -> float:
    """How much a mention counts when it is decided what an entity is."""
    sure = mention.source in {Source.CODE, Source.DATE}
    return mention.confidence * (1.0 if sure else SURENESS.get(mention.type_strength, HINT))


def register_probe_tokenizer(connection: apsw.Connection) -> None:
    """Teach a connection the tokenizer of the probes table: terms come ready made."""
    connection.register_fts5_tokenizer("hybridrag_probe", lambda _connection, _arguments: _split)


def _split(utf8: bytes, _flags: int, _locale: str | None) -> list[str]:
    return [term for term in utf8.decode("utf-8", "replace").split(SEPARATOR) if term]


@dataclass(slots=True)
class GraphChange:
    """What a transaction touched, to be settled before it commits."""

    names: set[int] = field(default_factory=set)
    """Names whose mentions or aliases changed."""
    left: set[int] = field(default_factory=set)
    """Those of them that something no longer says: perhaps nothing does."""
    aliases: set[str] = field(default_factory=set)
    """Title aliases that nobody had before, or nobody has any more."""
    gone: int = 0
    """How many chunks say nothing any more."""
    said: int = 0
    """How many chunks are new."""
    chunks: dict[int, tuple[str, set[str]]] = field(default_factory=dict)
    """New chunks with their text and its probe terms, which have no links yet."""


class GraphWriter:
    """Applies changes to the graph inside the caller's transaction.

    Forget and insert as often as needed, then `settle()` once.
    """

    def __init__(
        self, connection: apsw.Connection, linker: Linker | None, resemblance: Resemblance | None = None
    ) -> None:
        self._connection = connection
        self._linker = linker
        self._resemblance = resemblance
        self._change = GraphChange()

    # What a chunk says

    def insert(self, chunk_key: int, text: str, graph: ChunkGraph) -> None:
        """Write what a new chunk says."""
        self._change.said += 1
        keys = self._name_keys(graph)
        self._change.names.update(keys.values())
        self._connection.executemany(
            'INSERT OR IGNORE INTO mentions (chunk_key, "start", "end", name_key, surface, type, confidence, source) '
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (chunk_key, it.start, it.end, keys[it.key], it.name, str(it.type), _sureness(it), str(it.source))
                for it in graph.mentions
            ],
        )
        self._connection.executemany(
            'INSERT OR IGNORE INTO aliases (chunk_key, "start", "end", name_key, alias_key, kind) '
            "VALUES (?, ?, ?, ?, ?, ?)",
            [
                (chunk_key, it.start, it.end, keys[it.name_key], keys[it.alias_key], str(it.kind))
                for it in graph.aliases
            ],
        )
        self._connection.executemany(
            'INSERT OR IGNORE INTO facts (chunk_key, "start", "end", subject_key, predicate, object_key, confidence, '
            "kind) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    chunk_key,
                    it.start,
                    it.end,
                    keys[it.subject_key],
                    it.predicate,
                    keys[it.object_key],
                    it.confidence,
                    str(it.kind),
                )
                for it in graph.facts
            ],
        )
        if self._linker is not None:
            terms = self._linker.probe_terms(text)
            values = (chunk_key, SEPARATOR.join(sorted(terms)))
            self._connection.execute("INSERT INTO probes (rowid, terms) VALUES (?, ?)", values)
            self._change.chunks[chunk_key] = (text, terms)

    def forget(self, chunk_keys: Sequence[int]) -> None:
        """Remove what chunks said."""
        self._change.gone += len(chunk_keys)
        forget_texts_of(self._connection, chunk_keys)
        for batch in batches(list(chunk_keys)):
            for column, table in (
                ("name_key", "mentions"),
                ("name_key", "aliases"),
                ("alias_key", "aliases"),
                ("subject_key", "facts"),
                ("object_key", "facts"),
            ):
                sql = f"SELECT DISTINCT {column} FROM {table} WHERE chunk_key IN ({marks(batch)})"  # noqa: S608
                self._change.left.update(key for (key,) in self._connection.execute(sql, batch))
            for table in ("mentions", "aliases", "facts", "links"):
                self._connection.execute(f"DELETE FROM {table} WHERE chunk_key IN ({marks(batch)})", batch)  # noqa: S608
            self._connection.executemany("DELETE FROM probes WHERE rowid = ?", [(key,) for key in batch])

    # What documents are called

    def set_titles(self, file_key: int, file: FileInfo | None, chunks: Sequence[Chunk]) -> None:
        """Write what a document and its sections are called; `file=None` forgets them."""
        if self._linker is None:
            return
        old = {
            (ordinal, alias): quality
            for ordinal, alias, quality in self._connection.execute(
                "SELECT ordinal, alias, quality FROM titles WHERE file_key = ?", (file_key,)
            )
        }
        new = _titles(file, chunks, self._linker) if file is not None else {}
        if new == old:
            return
        self._connection.execute("DELETE FROM titles WHERE file_key = ?", (file_key,))
        self._connection.executemany(
            "INSERT INTO titles (file_key, ordinal, alias, quality, head) VALUES (?, ?, ?, ?, ?)",
            [(file_key, ordinal, alias, quality, self._head(alias)) for (ordinal, alias), quality in new.items()],
        )
        changed = {alias for _, alias in old} ^ {alias for _, alias in new}
        # Where another document is called so too, the links are there and stay.
        others = "SELECT 1 FROM titles WHERE alias = ? AND file_key <> ? LIMIT 1"
        self._change.aliases.update(
            alias for alias in changed if not self._connection.execute(others, (alias, file_key)).get
        )

    # What people decide

    def decide(self, norm: str, other: str, kind: str | None) -> None:
        """Record that two names are one thing (`merge`), that a name stands alone (`split`), or neither (None)."""
        first, second = sorted((norm, other)) if other else (norm, "")
        self._connection.execute("DELETE FROM decisions WHERE norm = ? AND other = ?", (first, second))
        if kind is not None:
            self._connection.execute("INSERT INTO decisions VALUES (?, ?, ?)", (first, second, kind))
        for name in (norm, other):
            key = self._connection.execute("SELECT key FROM names WHERE norm = ?", (name,)).get
            if key is not None:
                self._change.names.add(int(key))

    # Before the commit

    def settle(self) -> None:
        """Make entities and links agree with what is there now, at a cost proportional to the change."""
        self._relink()
        self._shorten()
        self._resolve()
        if self._change.names or self._change.left:
            count_pending(self._connection, max(1, self._change.gone + self._change.said))
        self._change = GraphChange()

    def _name_keys(self, graph: ChunkGraph) -> dict[str, int]:
        norms = {
            *(it.key for it in graph.mentions),
            *(norm for it in graph.aliases for norm in (it.name_key, it.alias_key)),
            *(norm for it in graph.facts for norm in (it.subject_key, it.object_key)),
        }
        keys: dict[str, int] = dict(
            self._connection.execute(
                "SELECT norm, key FROM names WHERE norm IN (SELECT value FROM json_each(?))", (json.dumps(list(norms)),)
            )
        )
        new = sorted(norms - keys.keys())
        if new:
            last = self._connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'names'").get or 0
            # A new name is an entity of its own until `settle` finds what it is one with.
            keys.update((norm, key) for key, norm in enumerate(new, start=int(last) + 1))
            self._connection.executemany(
                "INSERT INTO names (key, norm, id, entity_key) VALUES (?1, ?2, ?3, ?1)",
                [(keys[norm], norm, UUID(entity_id_for(norm)).bytes) for norm in new],
            )
            for norm in new:
                self._compare(keys[norm], norm)
            self._connection.executemany(
                "INSERT OR IGNORE INTO name_blocks VALUES (?, ?)",
                [(SHORT + short, keys[norm]) for norm in new for short in shorter_forms(norm)],
            )
        return keys

    def _compare(self, key: int, norm: str) -> None:
        """Find the names that a new one is a spelling variant of."""
        if self._resemblance is None:
            return
        for block in sorted(self._resemblance.blocks(norm)):
            mates: list[tuple[Any, ...]] = self._connection.execute(
                "SELECT n.key, n.norm FROM name_blocks b JOIN names n ON n.key = b.name_key WHERE b.block = ? "
                "ORDER BY b.name_key LIMIT ?",
                (block, MAX_COMPARED),
            ).fetchall()
            self._connection.execute("INSERT OR IGNORE INTO name_blocks VALUES (?, ?)", (block, key))
            for mate, other in mates:
                if self._resemblance.alike(norm, other):
                    self._connection.executemany(
                        "INSERT OR IGNORE INTO alike VALUES (?, ?)", [(key, mate), (mate, key)]
                    )

    # Links

    def _relink(self) -> None:
        """Link new chunks to every title, and every chunk to new titles; each alias is found for itself."""
        if self._linker is None:
            return
        for key, (text, terms) in self._change.chunks.items():
            if aliases := self._aliases_for(terms):
                self._add_links(key, self._linker.find(text, aliases))
        for alias in sorted(self._change.aliases):
            if not self._connection.execute("SELECT 1 FROM titles WHERE alias = ? LIMIT 1", (alias,)).get:
                self._connection.execute("DELETE FROM links WHERE alias = ?", (alias,))
                continue
            for key, text in self._chunks_naming(alias).items():
                if key not in self._change.chunks:
                    self._add_links(key, self._linker.find(text, [alias]))

    def _add_links(self, chunk_key: int, links: Sequence[Link]) -> None:
        self._connection.executemany(
            'INSERT OR IGNORE INTO links (chunk_key, "start", "end", alias) VALUES (?, ?, ?, ?)',
            [(chunk_key, link.start, link.end, link.alias_key) for link in links],
        )

    def _chunks_naming(self, alias: str) -> dict[int, str]:
        """Chunks that may name an alias: they hold all of its probe terms."""
        if self._linker is None:
            return {}
        terms = sorted(self._linker.probe_terms(alias))
        if not terms:
            return {}
        expression = " AND ".join('"' + term.replace('"', '""') + '"' for term in terms)
        return dict(
            self._connection.execute(
                "SELECT chunks.key, chunks.text FROM probes JOIN chunks ON chunks.key = probes.rowid "
                "WHERE probes MATCH ?",
                (expression,),
            )
        )

    def _aliases_for(self, terms: set[str]) -> list[str]:
        """The aliases that a text with these probe terms may name, by the one term that each is filed under."""
        found = self._connection.execute(
            "SELECT DISTINCT alias FROM titles WHERE head IN (SELECT value FROM json_each(?))",
            (json.dumps(list(terms)),),
        )
        return sorted(alias for (alias,) in found)

    def _head(self, alias: str) -> str:
        """One of an alias's probe terms, the longest: by it the aliases that a text may name are looked up."""
        terms = self._linker.probe_terms(alias) if self._linker is not None else set()
        return max(sorted(terms), key=len, default="")

    # Short forms

    def _shorten(self) -> None:
        """Note which names are short for a whole one, as far as a touched name decides it."""
        connection = self._connection
        norms: dict[int, str] = dict(
            connection.execute(
                "SELECT key, norm FROM names WHERE key IN (SELECT value FROM json_each(?))",
                (json.dumps(sorted(self._change.names | self._change.left)),),
            )
        )
        parts = sorted({short for norm in norms.values() for short in shorter_forms(norm)})
        norms.update(
            connection.execute(
                "SELECT key, norm FROM names WHERE norm IN (SELECT value FROM json_each(?))", (json.dumps(parts),)
            )
        )
        for key, norm in sorted(norms.items()):
            known = connection.execute("SELECT whole_key FROM short_forms WHERE name_key = ?", (key,)).get
            whole = self._whole_of(key, norm)
            if whole == known:
                continue
            connection.execute("DELETE FROM short_forms WHERE name_key = ?", (key,))
            if whole is not None:
                connection.execute("INSERT INTO short_forms VALUES (?, ?)", (key, whole))
            self._change.names.update(it for it in (key, known, whole) if it is not None)

    def _whole_of(self, key: int, norm: str) -> int | None:
        """The one name that this one is short for; None where there is none, or several."""
        found: list[tuple[Any, ...]] = self._connection.execute(
            "SELECT n.key, n.norm FROM name_blocks b JOIN names n ON n.key = b.name_key WHERE b.block = ? LIMIT ?",
            (SHORT + norm, MAX_COMPARED + 1),
        ).fetchall()
        if not found or len(found) > MAX_COMPARED:
            return None
        sure_types = {kind: told for kind, told in self._types(key).items() if told[1] > HINT}
        own = EntityType(chosen_type(sure_types))
        fitting: dict[str, int] = {}
        sure: set[str] = set()
        for whole, whole_norm in found:
            types = self._types(whole)
            kind = EntityType(chosen_type(types))
            alike = own in {EntityType.OTHER, kind} or {own, kind} <= NUMBERED or strip_legal_form(whole_norm) == norm
            if types and alike and fits(norm, whole_norm, kind):
                fitting[whole_norm] = int(whole)
                sure |= {whole_norm} if types[kind][1] > HINT else set()
        # "Dear Ann" is no second Ann, nor is "Quillmere Systems" beside "Quillmere Systems Ltd" a second Quillmere.
        named = sure or fitting.keys()
        shortest = [it for it in named if not any(other != it and other in shorter_forms(it) for other in named)]
        return fitting[shortest[0]] if len(shortest) == 1 else None

    # Entities

    def _resolve(self) -> None:
        """Drop names that nobody uses, and give every group of names that are one thing its entity."""
        connection = self._connection
        waiting = self._with_mates(self._change.names | self._change.left)
        for key in sorted(self._change.left):
            if not self._is_used(key):
                connection.execute("DELETE FROM names WHERE key = ?", (key,))
                connection.execute("DELETE FROM alike WHERE name_key = ?1 OR other_key = ?1", (key,))
                connection.execute("DELETE FROM name_blocks WHERE name_key = ?", (key,))
                connection.execute("DELETE FROM short_forms WHERE name_key = ?1 OR whole_key = ?1", (key,))
                waiting.discard(key)
        joined = self._joined(waiting)
        alone = "UPDATE names SET entity_key = key WHERE key = ? AND entity_key <> key"
        connection.executemany(alone, [(key,) for key in sorted(waiting - joined)])
        while joined:
            group = self._group_of(joined.pop())
            joined -= group.keys()
            if group:
                entity = min(group, key=lambda key: group[key])
                connection.executemany(
                    "UPDATE names SET entity_key = ?1 WHERE key = ?2 AND entity_key <> ?1",
                    [(entity, key) for key in group],
                )

    def _with_mates(self, keys: set[int]) -> set[int]:
        """The names, and those that share an entity with them: a name that left may have held others together."""
        found = self._connection.execute(
            "SELECT n.key FROM names n WHERE n.entity_key IN (SELECT entity_key FROM names WHERE key IN "
            "(SELECT value FROM json_each(?)))",
            (json.dumps(sorted(keys)),),
        )
        return keys | {key for (key,) in found}

    def _joined(self, keys: set[int]) -> set[int]:
        """Those of the names that a text, a spelling or a person may make one with another."""
        found = self._connection.execute(
            "SELECT n.key FROM json_each(?) given JOIN names n ON n.key = given.value "
            "WHERE EXISTS (SELECT 1 FROM aliases WHERE name_key = n.key) "
            "OR EXISTS (SELECT 1 FROM aliases WHERE alias_key = n.key) "
            "OR EXISTS (SELECT 1 FROM alike WHERE name_key = n.key) "
            "OR EXISTS (SELECT 1 FROM short_forms WHERE name_key = n.key OR whole_key = n.key) "
            "OR EXISTS (SELECT 1 FROM decisions WHERE norm = n.norm) "
            "OR EXISTS (SELECT 1 FROM decisions WHERE other = n.norm)",
            (json.dumps(sorted(keys)),),
        )
        return {key for (key,) in found}

    def _is_used(self, key: int) -> bool:
        return any(
            self._connection.execute(f"SELECT 1 FROM {table} WHERE {column} = ? LIMIT 1", (key,)).get  # noqa: S608
            for table, column in (
                ("mentions", "name_key"),
                ("aliases", "name_key"),
                ("aliases", "alias_key"),
                ("facts", "subject_key"),
                ("facts", "object_key"),
            )
        )

    def _group_of(self, key: int) -> dict[int, str]:
        """The names that are one thing with this one, by key, with their norms; empty for a name that is gone."""
        group: dict[int, str] = {}
        waiting = [key]
        while waiting:
            current = waiting.pop()
            if current in group:
                continue
            norm = self._connection.execute("SELECT norm FROM names WHERE key = ?", (current,)).get
            if norm is None:
                continue
            group[current] = str(norm)
            waiting.extend(self._neighbours(current, str(norm)))
        return group

    def _neighbours(self, key: int, norm: str) -> set[int]:
        """Names that a text equates with this one, unless people set one apart; and those that people merged."""
        connection = self._connection
        merged = {
            found
            for (found,) in connection.execute(
                "SELECT names.key FROM decisions JOIN names ON names.norm = iif(decisions.norm = ?1, other, "
                "decisions.norm) WHERE kind = 'merge' AND (decisions.norm = ?1 OR other = ?1)",
                (norm,),
            )
        }
        if self._stands_alone(norm):
            return merged
        said = self._equated(key)
        if len(said) > MAX_EQUATED:
            said = []
        joined = {
            other for other, norm in said if not self._stands_alone(norm) and len(self._equated(other)) <= MAX_EQUATED
        }
        spelt = {other for other, norm in self._variants(key) if not self._stands_alone(norm)}
        return merged | joined | spelt | self._shortened(key)

    def _shortened(self, key: int) -> set[int]:
        """What a name is short for, and what is short for it."""
        found = self._connection.execute(
            "SELECT n.key, n.norm FROM names n WHERE n.key IN "
            "(SELECT whole_key FROM short_forms WHERE name_key = ?1 UNION "
            "SELECT name_key FROM short_forms WHERE whole_key = ?1)",
            (key,),
        )
        return {other for other, norm in found if not self._stands_alone(norm)}

    def _equated(self, key: int) -> list[tuple[Any, ...]]:
        """The names that texts equate with one, with their norms; of too many, only so many that it shows."""
        return self._connection.execute(
            "SELECT alias_key, names.norm FROM aliases JOIN names ON names.key = alias_key WHERE name_key = ?1 "
            "UNION SELECT name_key, names.norm FROM aliases JOIN names ON names.key = name_key WHERE alias_key = ?1 "
            "LIMIT ?2",
            (key, MAX_EQUATED + 1),
        ).fetchall()

    def _variants(self, key: int) -> list[tuple[Any, ...]]:
        """Names spelt like this one that are of its type, with their norms."""
        variants: list[tuple[Any, ...]] = self._connection.execute(
            "SELECT n.key, n.norm FROM alike a JOIN names n ON n.key = a.other_key WHERE a.name_key = ?", (key,)
        ).fetchall()
        return [row for row in variants if self._type_of(key) == self._type_of(row[0])]

    def _type_of(self, key: int) -> EntityType:
        """What the mentions of a name say that it is."""
        return EntityType(chosen_type(self._types(key)))

    def _types(self, key: int) -> dict[str, tuple[float, float]]:
        sql = "SELECT type, sum(confidence), max(confidence) FROM mentions WHERE name_key = ? GROUP BY type"
        return {kind: (total, surest) for kind, total, surest in self._connection.execute(sql, (key,))}

    def _stands_alone(self, norm: str) -> bool:
        return bool(
            self._connection.execute(
                "SELECT 1 FROM decisions WHERE norm = ? AND other = '' AND kind = 'split'", (norm,)
            ).get
        )


def _titles(file: FileInfo, chunks: Iterable[Chunk], linker: Linker) -> Mapping[tuple[int, str], float]:
    """Every alias of the document and its sections, by the first chunk that it leads to."""
    titles: dict[tuple[int, str], float] = {}
    whole = file.title or PurePath(file.name).name
    for alias, quality in linker.aliases(whole):
        titles[0, alias] = quality
    seen = {file.title}
    for chunk in chunks:
        for heading in chunk.headings:
            if heading in seen:
                continue
            seen.add(heading)
            for alias, quality in linker.aliases(heading):
                titles.setdefault((chunk.ordinal, alias), quality)
    return titles
