"""Search by what a question names and by what its best passages lead to: titles, then one bounded hop.

A question about "the director of X" is answered by the passage on X and by the passage on the person that it names.
The second shares no word with the question; it is found because the first one names its title, or a rare entity.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hybridrag.config import WalkSettings
from hybridrag.protocols import CommunityStore, GraphStore, Linker
from hybridrag.search.named import named_first
from hybridrag.types.extraction import Link
from hybridrag.types.queries import SearchFilters

ENOUGH_IDF = 6.0
"""A name whose words' idf sum to this is as good as unique: one passage in 400."""

WALK = WalkSettings()

ASKED_ALREADY = 0.5
"""What sharing an entity counts for when the question names it: the question leads there by itself."""

LOOKED_INTO = 80
"""Chunks that are looked into for what they name first, those of the strongest trails. The rest count as in passing."""


@dataclass(frozen=True, slots=True)
class Seed:
    """A chunk whose document or section the question names."""

    chunk_key: int
    alias: str
    weight: float
    ambiguous: bool
    """Whether others bear the same title: then it counts as far as the chunk itself fits the question."""


@dataclass(frozen=True, slots=True)
class Trail:
    """How a hop came to a chunk."""

    source_key: int
    via: str
    """The title alias that was named, or the name of the shared entity."""
    strength: float
    entity_key: int = 0
    """The shared entity; 0 where a title was named."""


def find_seeds(
    graph: GraphStore,
    linker: Linker,
    question: str,
    *,
    rarity: Mapping[str, float],
    filters: SearchFilters | None = None,
) -> list[Seed]:
    """The chunks that begin what the question names, with how surely it names them.

    "Who directed God of War (film)?" -> the first chunk of the document of that title
    `rarity` is the idf of the question's probe terms.
    """
    links = linker.find(question.lower() if question.isupper() else question, graph.aliases_with(sorted(rarity)))
    aliases = _outermost(links)
    rows = graph.titles_of(sorted(aliases), filters=filters)
    places: dict[str, set[int]] = {}
    for row in rows:
        places.setdefault(row.alias, set()).add(row.target_key)
    seeds: dict[int, Seed] = {}
    for row in rows:
        idf = sum(rarity.get(term, ENOUGH_IDF) for term in linker.probe_terms(row.alias))
        weight = row.quality * min(1.0, idf / ENOUGH_IDF)
        known = seeds.get(row.target_key)
        if known is None or weight > known.weight:
            seeds[row.target_key] = Seed(row.target_key, row.alias, weight, ambiguous=len(places[row.alias]) > 1)
    return sorted(seeds.values(), key=lambda seed: (-seed.weight, seed.chunk_key))


def _outermost(links: Sequence[Link]) -> set[str]:
    """Aliases that the question names and that lie within no longer one."""
    kept: set[str] = set()
    reached = -1
    for link in sorted(links, key=lambda link: (link.start, -link.end)):
        if link.end >= reached:
            kept.add(link.alias_key)
            reached = link.end
    return kept


def hop(
    graph: GraphStore,
    own: Mapping[int, float],
    *,
    communities: CommunityStore | None = None,
    asked: frozenset[int] = frozenset(),
    filters: SearchFilters | None = None,
    walk: WalkSettings = WALK,
) -> dict[int, Trail]:
    """Where the best passages lead in one step: the strongest trail to each chunk, from 0 to 1.

    `own` is each chunk's own score; `asked` are the entities that the question names. `communities` knows what a
    chunk names first; without it, every shared name counts as named in passing.
    """
    best = sorted(own, key=lambda key: (-own[key], key))[: walk.start_from]
    if not best or own[best[0]] <= 0:
        return {}
    share = {key: own[key] / own[best[0]] for key in best}
    trails: dict[int, Trail] = {}
    _follow_links(graph, best, share, trails, filters)
    shared = _shared_names(graph, best, share, asked, filters, most=walk.max_shared)
    _follow_names(graph, communities, shared, trails, filters, in_passing=walk.in_passing)
    return trails


def _follow_links(
    graph: GraphStore,
    best: Sequence[int],
    share: Mapping[int, float],
    trails: dict[int, Trail],
    filters: SearchFilters | None,
) -> None:
    links = graph.links_from(best, filters=filters)
    fan_out: dict[tuple[int, str], int] = {}
    for link in links:
        fan_out[link.source_key, link.alias] = fan_out.get((link.source_key, link.alias), 0) + 1
    for link in links:
        strength = share[link.source_key] * link.quality / math.sqrt(fan_out[link.source_key, link.alias])
        _keep(trails, link.target_key, Trail(link.source_key, link.alias, strength))


@dataclass(frozen=True, slots=True)
class _Shared:
    """That a chunk shares an entity with one of the best."""

    target_key: int
    entity_key: int
    source_key: int
    strength: float


def _shared_names(
    graph: GraphStore,
    best: Sequence[int],
    share: Mapping[int, float],
    asked: frozenset[int],
    filters: SearchFilters | None,
    *,
    most: int,
) -> list[_Shared]:
    """The chunks that share a rare entity with the best ones, the strongest first."""
    mentions = graph.mentions_in(best, filters=filters)
    chunks = graph.some_mentions(sorted({row.entity_key for row in mentions}), most + 1, filters=filters)
    strongest: dict[tuple[int, int], _Shared] = {}
    for row in mentions:
        found = chunks[row.entity_key]
        if not 1 < len(found) <= most:
            continue
        known = ASKED_ALREADY if row.entity_key in asked else 1.0
        strength = share[row.chunk_key] * known / math.log2(len(found))
        for key in found:
            before = strongest.get((key, row.entity_key))
            if key != row.chunk_key and (before is None or strength > before.strength):
                strongest[key, row.entity_key] = _Shared(key, row.entity_key, row.chunk_key, strength)
    return sorted(strongest.values(), key=lambda it: (-it.strength, it.target_key, it.entity_key))


def _follow_names(
    graph: GraphStore,
    communities: CommunityStore | None,
    shared: Sequence[_Shared],
    trails: dict[int, Trail],
    filters: SearchFilters | None,
    *,
    in_passing: float,
) -> None:
    targets = list(dict.fromkeys(it.target_key for it in shared))[:LOOKED_INTO]
    first = named_first(communities, targets, filters=filters) if communities is not None else {}
    names = graph.entities(sorted({it.entity_key for it in shared}), filters=filters)
    for it in shared:
        if it.entity_key in names:
            weight = 1.0 if it.entity_key in first.get(it.target_key, ()) else in_passing
            trail = Trail(it.source_key, names[it.entity_key].name, it.strength * weight, it.entity_key)
            _keep(trails, it.target_key, trail)


def _keep(trails: dict[int, Trail], key: int, trail: Trail) -> None:
    if key not in trails or trail.strength > trails[key].strength:
        trails[key] = trail
