"""Look up what a question names: its entities, and the chunks that are about each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hybridrag.protocols import CommunityStore, GraphStore, Linker
from hybridrag.types.queries import SearchFilters

NameKey = Callable[[str], str]
"""Writes a name as the graph compares names: "The Matrix" -> "matrix"."""

ABOUT_SHARE = 0.6
"""How much of a name a title must cover to be about it: "Alpha Dawn" is, in "the film Alpha Dawn"; "Alpha" is not."""

MENTIONS = 20
"""Chunks of an entity that are read; those that mention it most come first."""


@dataclass(frozen=True, slots=True)
class Named:
    """Something that a question names, as the visible chunks know it."""

    name: str
    """As the question writes it."""
    entity_keys: tuple[int, ...] = ()
    """The entities of that name; none where the graph does not know it."""
    titled: tuple[int, ...] = ()
    """Chunks that begin a document or section of that name."""
    mentioned: tuple[int, ...] = ()
    """Chunks that mention it, those that do so most first."""

    @property
    def about(self) -> tuple[int, ...]:
        """The chunks that are about it: those of its title or, where there is none, those that mention it."""
        return self.titled or self.mentioned


def find_named(
    graph: GraphStore,
    linker: Linker,
    names: Sequence[str],
    *,
    name_key: NameKey,
    filters: SearchFilters | None = None,
) -> list[Named]:
    """The names in their order, each with its entities and chunks; one that nothing visible bears has neither.

    ["Elvira Quist"] -> [Named("Elvira Quist", entity_keys=(3,), titled=(12,), mentioned=(12, 4))]
    """
    norms = {name: name_key(name) for name in names if name.strip()}
    known = graph.entity_keys(sorted({norm for norm in norms.values() if norm}), filters=filters)
    rows = graph.mentions_of(sorted(set(known.values())), MENTIONS, filters=filters)
    chunks: dict[int, list[int]] = {}
    for row in rows:
        chunks.setdefault(row.entity_key, []).append(row.chunk_key)
    found = []
    for name, norm in norms.items():
        entity = known.get(norm)
        found.append(
            Named(
                name=name,
                entity_keys=() if entity is None else (entity,),
                titled=_titled(graph, linker, name, filters),
                mentioned=tuple(chunks.get(entity, ())) if entity is not None else (),
            )
        )
    return found


def _titled(graph: GraphStore, linker: Linker, name: str, filters: SearchFilters | None) -> tuple[int, ...]:
    """The first chunks of what bears a title that makes up most of the name, the best alias first."""
    links = linker.find(name, graph.aliases_with(sorted(linker.probe_terms(name))))
    whole = {link.alias_key for link in links if link.end - link.start >= ABOUT_SHARE * len(name.strip())}
    if not whole:
        return ()
    rows = graph.titles_of(sorted(whole), filters=filters)
    rows.sort(key=lambda row: (-row.quality, -len(row.alias), row.target_key))
    return tuple(dict.fromkeys(row.target_key for row in rows))


def named_first(
    communities: CommunityStore, chunk_keys: Sequence[int], *, filters: SearchFilters | None = None
) -> dict[int, frozenset[int]]:
    """The entities that each chunk names before any other: what a chunk without a title is most likely about.

    "Elvira Quist grew up in Norrhamn." -> {its key: {Elvira Quist}}
    """
    starts: dict[int, int] = {}
    found: dict[int, set[int]] = {}
    for chunk, entity, start, _ in communities.mention_places(chunk_keys, filters=filters):
        earliest = starts.setdefault(chunk, start)
        if start < earliest:
            starts[chunk] = start
            found[chunk] = set()
        if start <= earliest:
            found.setdefault(chunk, set()).add(entity)
    return {chunk: frozenset(entities) for chunk, entities in found.items()}
