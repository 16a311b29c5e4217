"""Gather what an export or a picture shows besides the entities: what joins them, and the documents around them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations

from hybridrag.graph.export import StructureData
from hybridrag.graph.structure import GraphWithPlaces, StoreWithPlaces, Structure, make_section
from hybridrag.types.graph import Section
from hybridrag.types.ids import EntityId, SectionId, section_id_for
from hybridrag.types.queries import SearchFilters

EXACT_EDGES = 5_000
"""With more entities than this, every pair of the graph is reckoned; with fewer, only the pairs among them."""

MAX_SHARED = 200
"""Chunks of each of a few entities that are looked through for pairs: a picture of a hub needs no more."""

MAX_ENTITIES_PER_CHUNK = 30
"""A chunk that names more is a register or an index, and says little of any pair."""


def edges_among(
    graph: GraphWithPlaces, keys: Sequence[int], filters: SearchFilters | None
) -> list[tuple[int, int, float]]:
    """Pairs of these entities that share chunks, with how strongly; of a hub, a part of its chunks counts."""
    wanted = set(keys)
    if len(wanted) > EXACT_EDGES:
        return [edge for edge in graph.edges(filters=filters) if edge[0] in wanted and edge[1] in wanted]
    mentioned = graph.some_mentions(keys, MAX_SHARED, filters=filters)
    members: dict[int, list[int]] = {}
    for row in graph.mentions_in(sorted({it for found in mentioned.values() for it in found}), filters=filters):
        members.setdefault(row.chunk_key, []).append(row.entity_key)
    return weigh_pairs(members.values(), wanted)


def weigh_pairs(chunks: Iterable[Sequence[int]], wanted: Collection[int]) -> list[tuple[int, int, float]]:
    """Pairs of wanted entities that share chunks, with how strongly.

    Each chunk counts one over the number of other entities in it: [[1, 2], [1, 2, 3]] -> (1, 2, 1.5), (1, 3, 0.5), ...
    """
    weights: dict[tuple[int, int], float] = {}
    for members in chunks:
        if 1 < len(members) <= MAX_ENTITIES_PER_CHUNK:
            for pair in combinations(sorted(set(members) & set(wanted)), 2):
                weights[pair] = weights.get(pair, 0.0) + 1.0 / (len(members) - 1)
    return [(first, second, weight) for (first, second), weight in sorted(weights.items())]


def gather_structure(
    store: StoreWithPlaces, entities: Mapping[int, EntityId], limit: int, filters: SearchFilters | None
) -> StructureData:
    """Visible documents, sections and up to `limit` chunks, and which of the entities each chunk mentions."""
    places = store.graph.all_places(limit, filters=filters)
    files = {file.id: file for file in store.files(filters)}
    chunks = {place.chunk_key: place.chunk_id for place in places}
    sections: dict[SectionId, Section] = {}
    for file_id, headings in dict.fromkeys((place.file_id, place.headings) for place in places):
        for depth in range(len(headings) + 1):
            section = make_section(files[file_id], headings[:depth])
            sections.setdefault(section.id, section)
    mentions = tuple(
        (chunks[row.chunk_key], entities[row.entity_key], row.count)
        for row in store.graph.mentions_in(list(chunks), filters=filters)
        if row.entity_key in entities
    )
    named = (
        (chunks[chunk], section_id_for(node.file_id, node.headings))
        for chunk, node in Structure(store, filters).named_by(list(chunks))
    )
    return StructureData(
        tuple(sections.values()), tuple(places), mentions, tuple(dict.fromkeys(it for it in named if it[1] in sections))
    )
