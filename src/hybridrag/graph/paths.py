"""How one entity leads to another: breadth first over chunks that mention both, and over documents and sections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from hybridrag.graph.structure import GraphWithPlaces, SectionNode, Structure
from hybridrag.protocols import EntityRow
from hybridrag.types.queries import SearchFilters

PATH_DEGREE = 40
"""Chunks of an entity or section that a search for paths goes through."""

PATH_CHUNKS = 2_000
"""Chunks that are looked at for one more step, of all entities together."""

PATH_SECTIONS = 200
"""Documents and sections that are gone on from for one more step."""

PATH_NODES = 4_000
"""Entities and sections that a search for paths visits at most."""

TITLE_OF = "is the title of"
HAS_TITLE = "has the title"
IN = "mentioned in"
MENTIONS = "mentions"
NAMED_WITH = "named with"
NAMES = "names"
PART_OF = "is part of"
HAS_PART = "has the part"

Node = int | SectionNode
"""An entity by its key, or a document or section."""

Rows = Callable[[Sequence[int]], dict[int, EntityRow]]


@dataclass(frozen=True, slots=True)
class Reached:
    """How a search came to a node."""

    before: Node | None
    chunk_key: int
    predicate: str | None = None
    """None between two entities: what is said of them is looked up."""


@dataclass(slots=True)
class PathSearch:
    """Looks for the shortest way between two entities; of ways of one length, one over entities comes first."""

    graph: GraphWithPlaces
    structure: Structure
    rows: Rows
    """Entities that the caller may see."""
    filters: SearchFilters | None
    avoided: set[Node] = field(default_factory=set)
    """Nodes that the way must not lead over."""

    def find(self, first: int, last: int, max_hops: int) -> list[tuple[Node, Reached]] | None:
        """The nodes of a way with how each was reached, or None."""
        came: dict[Node, Reached] = {first: Reached(None, 0)}
        frontier: list[Node] = [first]
        for hop in range(1, max_hops + 1):
            reached: list[Node] = []
            for node, step in self._steps(frontier, is_last=hop == max_hops):
                if node in came or node in self.avoided or len(came) > PATH_NODES:
                    continue
                came[node] = step
                if node == last:
                    return _unwound(came, last)
                reached.append(node)
            frontier = reached
        return None

    def _steps(self, frontier: Sequence[Node], *, is_last: bool) -> Iterable[tuple[Node, Reached]]:
        """One more step from every node; the last one leads to entities only, for one of them is the end."""
        entities = [node for node in frontier if isinstance(node, int)]
        sections = [node for node in frontier if isinstance(node, SectionNode)][:PATH_SECTIONS]
        by_chunk = self._chunks_of(entities)
        yield from self._mentioned({chunk: (entity, None) for chunk, entity in by_chunk.items()})
        inside = {node: self.structure.inside(node, PATH_DEGREE) for node in sections}
        yield from self._mentioned({it.chunk_key: (node, MENTIONS) for node, places in inside.items() for it in places})
        for node in sections:
            keys = self.graph.entity_keys(self.structure.titles(node), filters=self.filters).values()
            yield from ((entity, Reached(node, node.chunk_key, HAS_TITLE)) for entity in self._visible(keys))
        naming = {chunk: node for node in sections for chunk in self.structure.naming(node, PATH_DEGREE)}
        yield from self._mentioned({chunk: (node, NAMED_WITH) for chunk, node in naming.items()})
        if is_last:
            return
        yield from self._titled(entities)
        yield from self._around(by_chunk)
        for node, places in inside.items():
            yield from self._beside(node, [it.chunk_key for it in places])
            for part in self.structure.parts(node, places):
                yield part, Reached(node, part.chunk_key, HAS_PART)

    def _chunks_of(self, entities: Sequence[int]) -> dict[int, int]:
        """Chunks that mention the entities, each with the first of them that led to it."""
        found: dict[int, int] = {}
        for entity in entities:
            if len(found) >= PATH_CHUNKS:
                break
            for chunk in self.graph.some_mentions([entity], PATH_DEGREE, filters=self.filters)[entity]:
                found.setdefault(chunk, entity)
        return found

    def _mentioned(self, chunks: dict[int, tuple[Node, str | None]]) -> Iterable[tuple[Node, Reached]]:
        """The entities that chunks mention."""
        rows = self.graph.mentions_in(sorted(chunks), filters=self.filters)
        visible = self._visible({row.entity_key for row in rows})
        for row in rows:
            if row.entity_key in visible:
                before, predicate = chunks[row.chunk_key]
                yield row.entity_key, Reached(before, row.chunk_key, predicate)

    def _visible(self, keys: Iterable[int]) -> set[int]:
        """Entities of the types that the filter names: the others are mentioned, and not there."""
        found = set(keys)
        if self.filters is None or not self.filters.entity_types:
            return found
        return found & self.rows(sorted(found)).keys()

    def _around(self, by_chunk: dict[int, int]) -> Iterable[tuple[Node, Reached]]:
        """The sections that mention entities, and those that are named beside them."""
        for chunk, node in self.structure.around(list(by_chunk)).items():
            yield node, Reached(by_chunk[chunk], chunk, IN)
        for chunk, node in self.structure.named_by(list(by_chunk)):
            yield node, Reached(by_chunk[chunk], chunk, NAMED_WITH)

    def _titled(self, entities: Sequence[int]) -> Iterable[tuple[Node, Reached]]:
        """The documents and sections that are called like entities."""
        owners = {norm: row.key for row in self.rows(entities[:PATH_SECTIONS]).values() for norm in row.norms}
        for norm, entity in owners.items():
            for node in self.structure.called([norm], PATH_DEGREE):
                yield node, Reached(entity, node.chunk_key, TITLE_OF)

    def _beside(self, node: SectionNode, chunks: Sequence[int]) -> Iterable[tuple[Node, Reached]]:
        """What a section is part of, and the documents and sections that it names."""
        if node.parent is not None:
            yield node.parent, Reached(node, node.chunk_key, PART_OF)
        for chunk, named in self.structure.named_by(chunks):
            yield named, Reached(node, chunk, NAMES)


def _unwound(came: dict[Node, Reached], last: Node) -> list[tuple[Node, Reached]]:
    steps: list[tuple[Node, Reached]] = []
    current: Node | None = last
    while current is not None:
        steps.append((current, came[current]))
        current = came[current].before
    return steps[::-1]
