"""Read communities as a caller may see them: titles, key entities and sentences from visible chunks alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hybridrag.graph.summarise import KEY_ENTITIES, Told, tell, title_of
from hybridrag.protocols import CommunityRow, EntityRow, SentenceRow, StoreWithCommunities
from hybridrag.types.base import Float32Array
from hybridrag.types.ids import CommunityId
from hybridrag.types.queries import SearchFilters


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence and where it stands: `text == chunk.text[start:end]`."""

    chunk_key: int
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class CommunityView:
    """A community as the visible chunks show it."""

    key: int
    id: CommunityId
    level: int
    parent_id: CommunityId | None
    title: str
    summary: str
    """Written by a language model, or the sentences themselves."""
    key_entities: tuple[EntityRow, ...]
    sentences: tuple[CitedSentence, ...]
    """What the summary rests on, the most telling first."""
    rank: float
    score: float = 0.0
    """How near it is to what was searched for."""


def view_communities(
    store: StoreWithCommunities, keys: Sequence[int], *, filters: SearchFilters | None = None
) -> dict[int, CommunityView]:
    """Communities by key, in that order; one without a visible member is left out.

    [7] -> {7: CommunityView(title="Sony, Nikon", summary="Sony and Nikon make cameras.", ...)}
    """
    with store.snapshot():
        communities = store.communities
        rows = communities.rows(keys, filters=filters)
        listed = communities.key_entities(list(rows), KEY_ENTITIES, filters=filters)
        if not listed:
            return {}
        entities = store.graph.entities(
            sorted({entity for pairs in listed.values() for entity, _ in pairs}), filters=filters
        )
        told = _told(store, listed, entities, filters)
        written = communities.written(list(listed), filters=filters)
        return {
            key: _view(rows[key], told[key], [entities[it] for it, _ in listed[key] if it in entities], written)
            for key in keys
            if key in listed
        }


def _told(
    store: StoreWithCommunities,
    listed: Mapping[int, Sequence[tuple[int, float]]],
    entities: Mapping[int, EntityRow],
    filters: SearchFilters | None,
) -> dict[int, Told]:
    """Title and sentences: the stored ones that are visible, or where none is, others from visible chunks."""
    stored = store.communities.sentences(list(listed), filters=filters)
    chunks = store.chunks_by_key(sorted({it.chunk_key for found in stored.values() for it in found}), filters=filters)
    told = tell(store, {key: pairs for key, pairs in listed.items() if key not in stored}, filters=filters)
    for key, found in stored.items():
        texts: list[tuple[SentenceRow, str]] = [
            (it, chunks[it.chunk_key].text[it.start : it.end]) for it in found if it.chunk_key in chunks
        ]
        told[key] = Told(title_of([entities[it] for it, _ in listed[key] if it in entities]), tuple(texts))
    return told


def _view(
    row: CommunityRow, told: Told, key_entities: list[EntityRow], written: Mapping[int, tuple[bytes, str]]
) -> CommunityView:
    text_hash, summary = written.get(row.key, (b"", ""))
    return CommunityView(
        key=row.key,
        id=row.id,
        level=row.level,
        parent_id=row.parent_id,
        title=told.title,
        # A summary may use any word of the title and the sentences that it was written from: all must be shown.
        summary=summary if text_hash == told.text_hash else told.summary,
        key_entities=tuple(key_entities),
        sentences=tuple(CitedSentence(it.chunk_key, it.start, it.end, text) for it, text in told.sentences),
        rank=row.weight,
    )


def search_communities(
    store: StoreWithCommunities,
    vector: Float32Array,
    limit: int,
    *,
    level: int | None = None,
    filters: SearchFilters | None = None,
) -> list[CommunityView]:
    """The communities whose title and summary are nearest to a vector, best first; of one level, or of all.

    Where a filter hides part of what a community was embedded from, its visible chunks stand in for it.
    """
    with store.snapshot():
        found = dict(store.communities.search(vector, limit, level=level, filters=filters))
        views = view_communities(store, list(found), filters=filters)
        return [_scored(view, found[key]) for key, view in views.items()]


def _scored(view: CommunityView, score: float) -> CommunityView:
    return CommunityView(
        view.key,
        view.id,
        view.level,
        view.parent_id,
        view.title,
        view.summary,
        view.key_entities,
        view.sentences,
        view.rank,
        score,
    )


def communities_at(
    store: StoreWithCommunities, level: int, limit: int, *, filters: SearchFilters | None = None
) -> list[CommunityView]:
    """The communities that cover a level, the weightiest first; 0 is the coarsest, past the deepest there are none.

    One that is small enough not to be divided stands for itself on the levels below its own.
    """
    with store.snapshot():
        keys = store.communities.at_level(level, limit, filters=filters)
        return list(view_communities(store, keys, filters=filters).values())


def communities_of(
    store: StoreWithCommunities, entity_keys: Sequence[int], *, filters: SearchFilters | None = None
) -> dict[int, list[CommunityView]]:
    """The communities that each entity belongs to, from the coarsest down."""
    with store.snapshot():
        paths = store.communities.of_entities(entity_keys, filters=filters)
        views = view_communities(store, sorted({key for path in paths.values() for key in path}), filters=filters)
        return {entity: [views[key] for key in path if key in views] for entity, path in paths.items()}
