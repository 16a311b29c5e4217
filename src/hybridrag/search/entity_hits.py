"""Show what a question names as results of their own: the entity, and what visible sentences say of it."""

from __future__ import annotations

from collections.abc import Sequence

from hybridrag.language.sentences import sentences
from hybridrag.protocols import EntityRow, FactRow, Store
from hybridrag.search.named import Named
from hybridrag.types.documents import Chunk
from hybridrag.types.ids import relation_id_for
from hybridrag.types.queries import SearchFilters
from hybridrag.types.results import Hit, SearchResultType

MAX_ENTITIES = 2
"""Entities shown beside the chunks: a name and, where it is ambiguous, one more."""
SENTENCES = 3
"""Sentences that tell what an entity is."""
MAX_FACTS = 30
"""Facts read for them, the surest first."""
CHUNKS = 5
"""Chunks read for sentences where too few facts are stated."""
LONGEST = 300
"""Characters of a sentence that is shown: a table without stops has no other end."""


def search_entities(
    store: Store, named: Sequence[Named], *, filters: SearchFilters | None = None, limit: int = MAX_ENTITIES
) -> list[Hit]:
    """The entities that a question names as hits, each with the text to show.

    "Elvira Quist" -> Hit(type=ENTITY, title="Elvira Quist", text="Elvira Quist (person) ...")

    Everything in it is read from visible chunks. An entity of a type that the filter leaves out is not there.
    """
    with store.snapshot():
        keys = list(dict.fromkeys(key for one in named for key in one.entity_keys))
        rows = store.graph.entities(keys, filters=filters)
        types = filters.entity_types if filters else None
        shown = [rows[key] for key in keys if key in rows and (not types or rows[key].type in types)]
        return [_hit(store, row, filters) for row in shown[:limit]]


def _hit(store: Store, row: EntityRow, filters: SearchFilters | None) -> Hit:
    facts = [fact for fact in store.graph.facts_of([row.key], MAX_FACTS, filters=filters) if fact.start < fact.end]
    mentions = store.graph.mentions_of([row.key], CHUNKS, filters=filters)
    keys = [*(fact.chunk_key for fact in facts), *(mention.chunk_key for mention in mentions)]
    chunks = store.chunks_by_key(list(dict.fromkeys(keys)), filters=filters)
    said = _sentences(row, facts, [mention.chunk_key for mention in mentions], chunks)
    used = [fact for fact in facts if any(fact.chunk_key == key for key, _ in said)]
    ids = store.graph.entity_ids([row.key, *(key for fact in used for key in (fact.subject_key, fact.object_key))])
    return Hit(
        id=ids[row.key],
        text=_text(row, [text for _, text in said]),
        score=1.0,
        title=row.name,
        type=SearchResultType.ENTITY,
        path=(row.name,),
        entity_ids=(ids[row.key],),
        relation_ids=tuple(
            dict.fromkeys(
                relation_id_for(ids[fact.subject_key], fact.predicate, ids[fact.object_key])
                for fact in used
                if fact.subject_key in ids and fact.object_key in ids
            )
        ),
        scores={"graph": 1.0},
        details={"mentions": float(row.mentions)},
    )


def _sentences(
    row: EntityRow, facts: Sequence[FactRow], mentioned: Sequence[int], chunks: dict[int, Chunk]
) -> list[tuple[int, str]]:
    """The sentences of the surest facts, those that it is the subject of first; then the first that name it."""
    found: dict[str, int] = {}
    for fact in sorted(facts, key=lambda fact: (fact.subject_key != row.key, -fact.confidence)):
        if fact.chunk_key in chunks:
            text = _line(chunks[fact.chunk_key].text[fact.start : fact.end])
            found.setdefault(text, fact.chunk_key)
    names = [name.casefold() for name in (row.name, *row.aliases)]
    for key in mentioned:
        if len(found) >= SENTENCES:
            break
        text = chunks[key].text if key in chunks else ""
        lines = (_line(text[start:end]) for start, end in sentences(text))
        line = next((line for line in lines if any(name in line.casefold() for name in names)), "")
        if line:
            found.setdefault(line, key)
    return [(key, text) for text, key in found.items() if text][:SENTENCES]


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[:LONGEST].rstrip() + "…"


def _text(row: EntityRow, said: Sequence[str]) -> str:
    """Name, type, other names and sentences, as one text."""
    head = f"{row.name} ({row.type.value})"
    others = [alias for alias in row.aliases if alias.casefold() != row.name.casefold()]
    if others:
        head += ": " + ", ".join(others)
    return "\n".join([head, *said])
