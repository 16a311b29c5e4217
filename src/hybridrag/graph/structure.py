"""Documents in the graph: from a file to its sections to its chunks, and who is called like one of them.

Nothing of it is stored for itself. Sections are read from the headings of the chunks that a filter leaves, so they
come and go with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePath
from typing import Protocol

from hybridrag.errors import NotFound
from hybridrag.graph.link import title_aliases
from hybridrag.protocols import GraphStore, StoreWithCommunities
from hybridrag.types.documents import FileInfo
from hybridrag.types.graph import ChunkPlace, Outline, Section
from hybridrag.types.ids import ChunkId, FileId, section_id_for
from hybridrag.types.queries import SearchFilters

KEPT_TITLES = 4_096
"""Headings whose aliases are kept at hand: the same few stand over all chunks of a document."""


class GraphWithPlaces(GraphStore, Protocol):
    """A graph that knows where chunks stand in their documents. Every read honours its filter."""

    def places(self, chunk_keys: Sequence[int], *, filters: SearchFilters | None = None) -> dict[int, ChunkPlace]:
        """Where chunks stand."""
        ...

    def places_in(
        self, file_id: FileId, *, start: int = 0, stop: int | None = None, filters: SearchFilters | None = None
    ) -> list[ChunkPlace]:
        """Where the chunks of a file stand, in reading order."""
        ...

    def all_places(self, limit: int, *, filters: SearchFilters | None = None) -> list[ChunkPlace]:
        """Where chunks stand, file by file; at most `limit` of them."""
        ...

    def merges(
        self, entity_key: int, *, filters: SearchFilters | None = None
    ) -> list[tuple[str, str, str, ChunkId | None]]:
        """Why names are one entity: `(norm, other norm, why, the chunk that says so)`."""
        ...


class StoreWithPlaces(StoreWithCommunities, Protocol):
    """A store that knows where chunks stand in their documents."""

    def extractor(self) -> str | None:
        """What extracted the graph; None while nothing was."""
        ...

    @property
    def graph(self) -> GraphWithPlaces:
        """What the chunks say, and where they stand."""
        ...


@dataclass(frozen=True, slots=True)
class SectionNode:
    """A document (no headings) or a section, and one of its visible chunks: the one that led to it."""

    file_id: FileId
    headings: tuple[str, ...]
    chunk_key: int = field(compare=False)
    ordinal: int = field(compare=False)

    @property
    def parent(self) -> SectionNode | None:
        """What it is part of; None for a document."""
        if not self.headings:
            return None
        return SectionNode(self.file_id, self.headings[:-1], self.chunk_key, self.ordinal)


class Structure:
    """Documents and sections as a filter leaves them, for reads within one snapshot."""

    def __init__(self, store: StoreWithPlaces, filters: SearchFilters | None) -> None:
        self._store = store
        self._filters = filters
        self._files: dict[FileId, FileInfo] = {}

    def called(self, norms: Sequence[str], limit: int) -> list[SectionNode]:
        """The documents and sections that have one of these names, those named best first."""
        rows = self._store.graph.titles_of(norms, filters=self._filters)
        rows.sort(key=lambda row: (-row.quality, row.target_key))
        places = self._store.graph.places([row.target_key for row in rows[:limit]], filters=self._filters)
        found = [self._named(places[row.target_key], row.alias) for row in rows[:limit] if row.target_key in places]
        return list(dict.fromkeys(found))

    def around(self, chunk_keys: Sequence[int]) -> dict[int, SectionNode]:
        """The innermost section that each chunk stands in."""
        places = self._store.graph.places(chunk_keys, filters=self._filters)
        return {key: _at(place, place.headings) for key, place in places.items()}

    def named_by(self, chunk_keys: Sequence[int]) -> list[tuple[int, SectionNode]]:
        """The documents and sections that chunks of other documents name, each with the chunk that does."""
        links = self._store.graph.links_from(chunk_keys, filters=self._filters)
        places = self._store.graph.places(sorted({link.target_key for link in links}), filters=self._filters)
        return [
            (link.source_key, self._named(places[link.target_key], link.alias))
            for link in links
            if link.target_key in places
        ]

    def naming(self, node: SectionNode, limit: int) -> list[int]:
        """Chunks of other documents that name a document or section, where the node is known by its first chunk."""
        links = self._store.graph.links_to([node.chunk_key], limit, filters=self._filters)
        place = self._store.graph.places([node.chunk_key], filters=self._filters).get(node.chunk_key)
        return [link.source_key for link in links if place is not None and self._named(place, link.alias) == node]

    def inside(self, node: SectionNode, limit: int) -> list[ChunkPlace]:
        """Chunks of a document or section, in reading order: those nearest to where the node was found."""
        start = max(0, node.ordinal - limit // 2)
        places = self._store.graph.places_in(node.file_id, start=start, stop=start + limit, filters=self._filters)
        return [place for place in places if place.headings[: len(node.headings)] == node.headings]

    def parts(self, node: SectionNode, places: Iterable[ChunkPlace]) -> list[SectionNode]:
        """The sections right below a document or section that these chunks stand in."""
        depth = len(node.headings) + 1
        return list(dict.fromkeys(_at(it, it.headings[:depth]) for it in places if len(it.headings) >= depth))

    def titles(self, node: SectionNode) -> list[str]:
        """What a document or section may be called, as names are compared."""
        return list(_aliases(self.section(node).title))

    def section(self, node: SectionNode) -> Section:
        """The node as it is shown."""
        return make_section(self._file(node.file_id), node.headings)

    def sections(self, nodes: Iterable[SectionNode]) -> tuple[Section, ...]:
        """The same for several, each once."""
        return tuple(self.section(node) for node in dict.fromkeys(nodes))

    def _named(self, place: ChunkPlace, alias: str) -> SectionNode:
        """What an alias means where a document or section of that name begins with this chunk."""
        document = _at(place, ())
        if place.ordinal > 0 or alias not in self.titles(document):
            for depth, heading in enumerate(place.headings, start=1):
                if alias in _aliases(heading):
                    return _at(place, place.headings[:depth])
        return document

    def _file(self, file_id: FileId) -> FileInfo:
        """The file of a chunk, read once: within a snapshot it is there, and does not change."""
        known = self._files.get(file_id) or self._store.file(file_id)
        if known is None:
            raise NotFound("file", file_id)
        self._files[file_id] = known
        return known


def make_section(file: FileInfo, headings: Sequence[str]) -> Section:
    """What stands under these headings in a file; without any, the document itself."""
    own = headings[-1].strip() if headings else file.title
    return Section(
        id=section_id_for(file.id, headings),
        file_id=file.id,
        title=own or PurePath(file.name).name or file.name or file.id,
        headings=tuple(headings),
    )


@dataclass(slots=True)
class _Branch:
    chunk_ids: list[ChunkId] = field(default_factory=list)
    parts: dict[str, _Branch] = field(default_factory=dict)


def make_outline(file: FileInfo, places: Iterable[ChunkPlace]) -> Outline:
    """Chunks in reading order as the tree of the sections that they stand in.

    one chunk under "Life", one under "Life", "Youth" -> file: [Life (chunk 1): [Youth (chunk 2)]]
    """
    root = _Branch()
    for place in places:
        branch = root
        for heading in place.headings:
            branch = branch.parts.setdefault(heading, _Branch())
        branch.chunk_ids.append(place.chunk_id)
    return _grown(file, (), root)


def _grown(file: FileInfo, headings: tuple[str, ...], branch: _Branch) -> Outline:
    return Outline(
        section=make_section(file, headings),
        chunk_ids=tuple(branch.chunk_ids),
        parts=tuple(_grown(file, (*headings, heading), below) for heading, below in branch.parts.items()),
    )


def _at(place: ChunkPlace, headings: tuple[str, ...]) -> SectionNode:
    return SectionNode(place.file_id, headings, place.chunk_key, place.ordinal)


@lru_cache(maxsize=KEPT_TITLES)
def _aliases(title: str) -> tuple[str, ...]:
    return tuple(alias for alias, _ in title_aliases(title))
