"""Look into the knowledge graph: entities, what is said of them, and how they lead to one another.

Everything is read under one filter: what no visible chunk supports does not exist for that caller.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import islice
from pathlib import Path

from hybridrag.errors import InvalidInput, NotFound
from hybridrag.graph.community_views import (
    CommunityView,
    communities_at,
    communities_of,
    search_communities,
    view_communities,
)
from hybridrag.graph.export import GraphData, to_csv, to_graphml, to_json
from hybridrag.graph.gather import edges_among, gather_structure
from hybridrag.graph.names import name_key
from hybridrag.graph.paths import Node, PathSearch, Reached
from hybridrag.graph.plot import to_html, to_svg
from hybridrag.graph.structure import (
    GraphWithPlaces,
    SectionNode,
    StoreWithPlaces,
    Structure,
    make_outline,
)
from hybridrag.graph.walk import Walk, WalkLimits, walk
from hybridrag.protocols import EntityRow, FactRow
from hybridrag.types.base import Float32Array
from hybridrag.types.documents import Chunk
from hybridrag.types.graph import (
    Community,
    Entity,
    Evidence,
    GraphPath,
    Neighbour,
    Outline,
    PathStep,
    Relation,
    Section,
)
from hybridrag.types.ids import ChunkId, CommunityId, EntityId, FileId, file_id_for, relation_id_for
from hybridrag.types.queries import SearchFilters

FUZZY_FROM = 0.75
"""How alike two spellings must be: one typing error in a short name passes, another name does not."""

FUZZY_CANDIDATES = 400
"""Names that share a piece with the one looked for, and are compared letter by letter."""

MAX_EVIDENCE = 5
"""Sentences shown for one relation; the first ones are the surest."""

MAX_FACTS = 200
"""Facts read for one entity and side; a hub has thousands."""

MAX_SHARED = 200
"""Chunks of an entity that are read for its neighbours."""

MAX_TITLED = 5
"""Documents and sections that are called like an entity and are read for its neighbours."""

TITLED_CHUNKS = 20
"""Chunks of each of them that are read."""

SHOWN_SECTIONS = 20
"""Documents and sections that an entity is shown with at most."""

Embed = Callable[[Sequence[str]], Float32Array]


class KnowledgeGraph:
    """The graph of one index, seen through a filter.

    engine.graph.entity("国際標準化機構") -> Entity(name="国際標準化機構", aliases=("ISO",), ...)
    """

    def __init__(
        self, store: StoreWithPlaces, *, embed: Embed | None = None, filters: SearchFilters | None = None
    ) -> None:
        self._store = store
        self._embed = embed
        self._filters = filters

    def under(self, filters: SearchFilters | None) -> KnowledgeGraph:
        """The same graph as another filter leaves it."""
        return KnowledgeGraph(self._store, embed=self._embed, filters=filters)

    # Entities

    def entity(self, name: str | EntityId) -> Entity:
        """The entity of that name, alias or id.

        Raises:
            NotFound: there is none that this caller may see; names the closest where there is one.
        """
        with self._store.snapshot():
            key = self._key_of(name)
            row = self._rows([key]).get(key) if key is not None else None
            if row is None:
                close = [] if isinstance(name, EntityId) else self.find(name, limit=1, by_meaning=False)
                hint = f"Did you mean {close[0].name!r}?" if close else None
                raise NotFound("entity", str(name), hint=hint)
            return self._entity(row)

    def find(self, text: str, *, limit: int = 10, by_meaning: bool = True) -> list[Entity]:
        """Entities whose name is, holds or resembles the text, best first.

        Where nothing is spelt alike, and unless `by_meaning` is off, the entities of the passages nearest in meaning.
        """
        norm = name_key(text)
        if not norm:
            return []
        with self._store.snapshot():
            scores = self._fuzzy(norm)
            if not scores and by_meaning and self._embed is not None:
                scores = self._by_meaning(text)
            rows = self._rows(list(scores))
            ordered = sorted(rows.values(), key=lambda row: (-scores[row.key], -row.mentions, row.name))
            return [self._entity(row) for row in ordered[:limit]]

    def neighbours(self, name: str | EntityId, *, limit: int = 20) -> list[Neighbour]:
        """The entities that share most with this one, and what is said of the two.

        They share chunks, or one is what a document or section is called that speaks of the other.
        """
        with self._store.snapshot():
            key = self._required(name)
            structure = Structure(self._store, self._filters)
            near = self._near(key, structure)
            facts = self._graph.facts_of([key], MAX_FACTS, filters=self._filters)
            shared = {other: set(found) for other, found in near.items()}
            for fact in facts:
                shared.setdefault(fact.object_key if fact.subject_key == key else fact.subject_key, set())
            weights = self._association(key, {other: len(found) for other, found in shared.items()}, facts)
            best = sorted(weights, key=lambda other: (-weights[other], other))[:limit]
            rows = self._rows(best)
            places = self._graph.places(
                sorted({chunk for other in best for chunk in shared[other]}), filters=self._filters
            )
            return [
                Neighbour(
                    entity=self._entity(rows[other]),
                    weight=weights[other],
                    relations=tuple(self._relations(fact for fact in facts if other in _ends(fact))),
                    chunk_ids=tuple(places[chunk].chunk_id for chunk in sorted(shared[other]) if chunk in places),
                    sections=structure.sections(node for node in near.get(other, {}).values() if node is not None),
                )
                for other in best
                if other in rows
            ]

    # Documents

    def structure(self, file: str | FileId) -> Outline:
        """How a document is made up: its sections, and their chunks.

        "guide.md" -> Outline(section=guide.md, parts=(Outline(section=Install, chunk_ids=(...)), ...))

        Raises:
            NotFound: there is no file of that id, name or path that this caller may see.
        """
        with self._store.snapshot():
            for identity in self._file_ids(file):
                info = self._store.file(identity)
                places = self._graph.places_in(identity, filters=self._filters)
                if info is not None and places:
                    return make_outline(info, places)
            raise NotFound("file", str(file))

    def sections(self, name: str | EntityId, *, limit: int = SHOWN_SECTIONS) -> list[Section]:
        """The documents and sections that are called like an entity, then those that mention it.

        Raises:
            NotFound: there is no such entity that this caller may see.
        """
        with self._store.snapshot():
            key = self._required(name)
            structure = Structure(self._store, self._filters)
            called = structure.called(self._rows([key])[key].norms, limit)
            chunks = [row.chunk_key for row in self._graph.mentions_of([key], limit, filters=self._filters)]
            around = structure.around(chunks)
            nodes = dict.fromkeys([*called, *(around[chunk] for chunk in chunks if chunk in around)])
            return list(structure.sections(islice(nodes, limit)))

    # Relations and paths

    def relations(
        self, sources: Sequence[str | EntityId], targets: Sequence[str | EntityId] | None = None, *, limit: int = 50
    ) -> list[Relation]:
        """What is said of the sources or, with `targets`, of pairs with one end in each set; either direction."""
        with self._store.snapshot():
            first = self._known(sources)
            facts = self._graph.facts_of(sorted(first), MAX_FACTS, filters=self._filters)
            if targets is not None:
                second = self._known(targets)
                facts = [fact for fact in facts if _joins(fact, first, second)]
            return self._relations(facts)[:limit]

    def paths(
        self, start: str | EntityId, end: str | EntityId, *, max_hops: int = 3, limit: int = 3
    ) -> list[GraphPath]:
        """Ways from one entity to another, the shortest first.

        A step leads over a chunk that mentions both ends. It may lead to a document or section too: one that
        mentions an entity, that is named beside it or is called like it, or that another is part of.

        "Ada Lovelace", "Difference Engine" -> Ada Lovelace, the document Charles Babbage, Difference Engine
        """
        with self._store.snapshot():
            first, last = self._required(start), self._required(end)
            structure = Structure(self._store, self._filters)
            search = PathSearch(self._graph, structure, self._rows, self._filters)
            found: list[GraphPath] = []
            while len(found) < limit:
                steps = search.find(first, last, max_hops)
                if steps is None:
                    break
                found.append(self._path(steps, structure))
                between = [node for node, _ in steps[1:-1]]
                if not between:
                    break
                # The next way must not go through the same nodes.
                search.avoided.update(between)
            return found

    def walk(
        self,
        *,
        entities: Mapping[int, float] | None = None,
        chunks: Mapping[int, float] | None = None,
        limits: WalkLimits | None = None,
    ) -> Walk:
        """Personalised PageRank from weighted seeds, by the keys of the store."""
        with self._store.snapshot():
            return walk(self._graph, entities=entities or {}, chunks=chunks or {}, limits=limits, filters=self._filters)

    # Communities

    def communities(self, text: str | None = None, *, level: int | None = None, limit: int = 10) -> list[Community]:
        """The communities nearest in meaning to a text or, without one, the weightiest of a level (0 is the coarsest).

        Title, key entities and summary are made of what the filter leaves; a community of which nothing is left is
        not there.
        """
        with self._store.snapshot():
            if text is None:
                views = communities_at(self._store, level or 0, limit, filters=self._filters)
            elif self._embed is None:
                return []
            else:
                vector = self._embed([text])[0]
                views = search_communities(self._store, vector, limit, level=level, filters=self._filters)
            return [self._community(view) for view in views]

    def communities_of(self, name: str | EntityId) -> list[Community]:
        """The communities that an entity belongs to, from the coarsest down.

        Raises:
            NotFound: there is no such entity that this caller may see.
        """
        with self._store.snapshot():
            key = self._required(name)
            views = communities_of(self._store, [key], filters=self._filters)
            return [self._community(view) for view in views.get(key, ())]

    def community(self, community_id: CommunityId) -> Community:
        """One community.

        Raises:
            NotFound: there is none of that id that this caller may see.
        """
        with self._store.snapshot():
            key = self._store.communities.find([community_id], filters=self._filters).get(community_id)
            views = view_communities(self._store, [key], filters=self._filters) if key is not None else {}
            for view in views.values():
                return self._community(view)
            raise NotFound("community", community_id)

    # The whole

    @property
    def extractor(self) -> str | None:
        """What extracted the graph, with its models: `light 3`; None while nothing was."""
        return self._store.extractor()

    def statistics(self) -> dict[str, int]:
        """How many entities, names, mentions, facts, links, aliases, documents, sections and chunks are visible."""
        return self._graph.statistics(filters=self._filters)

    def data(self, *, around: str | EntityId | None = None, limit: int = 1_000) -> GraphData:
        """The most mentioned entities, or those around one, with everything that joins them: for export and plots."""
        return self._data(around, limit)[0]

    def _data(self, around: str | EntityId | None, limit: int) -> tuple[GraphData, dict[int, EntityId]]:
        """The same, with the ids of the entities by their keys."""
        with self._store.snapshot():
            if around is None:
                keys = self._graph.entity_list(limit, filters=self._filters)
            else:
                center = self._required(around)
                chunks = self._graph.some_mentions([center], MAX_SHARED, filters=self._filters)[center]
                near = Counter(row.entity_key for row in self._graph.mentions_in(chunks, filters=self._filters))
                keys = [center, *(key for key, _ in near.most_common(limit) if key != center)][:limit]
            rows = self._rows(keys)
            ids = self._graph.entity_ids(list(rows))
            facts = [
                fact
                for fact in self._graph.facts_of(list(rows), MAX_FACTS, filters=self._filters)
                if fact.subject_key in rows and fact.object_key in rows
            ]
            said = {frozenset(_ends(fact)) for fact in facts}
            # By id, so that the same documents give the same export whatever keys their entities got.
            together = tuple(
                sorted(
                    (min(ids[first], ids[second]), max(ids[first], ids[second]), weight)
                    for first, second, weight in edges_among(self._graph, list(rows), self._filters)
                    if frozenset((first, second)) not in said
                )
            )
            entities = tuple(self._entity(rows[key]) for key in keys if key in rows)
            return GraphData(entities, tuple(self._relations(dict.fromkeys(facts))), together), ids

    def export(self, style: str, *, limit: int = 100_000, structure: bool = True) -> str:
        """The graph as `graphml`, `json` or `csv`: entities, and unless `structure` is off documents and chunks too.

        `limit` bounds the entities, and the chunks.

        Raises:
            InvalidInput: another format.
        """
        writers = {"graphml": to_graphml, "json": to_json, "csv": to_csv}
        if style not in writers:
            raise InvalidInput(f"There is no format {style!r}.", hint=f"Use one of: {', '.join(writers)}.")
        with self._store.snapshot():
            data, ids = self._data(None, limit)
            if structure:
                data = replace(data, structure=gather_structure(self._store, ids, limit, self._filters))
        return writers[style](data)

    def plot(self, *, around: str | EntityId | None = None, limit: int = 60, html: bool = False) -> str:
        """A picture of the graph, or of what stands around an entity, as SVG or as a page."""
        data = self.data(around=around, limit=limit)
        heading = "Knowledge graph" if around is None else f"Around {data.entities[0].name}"
        return to_html(data, heading=heading) if html else to_svg(data)

    # Decisions of people

    def merge(self, name: str, other: str) -> None:
        """Say that two names are one thing; takes back a split of either. Survives re-indexing.

        Raises:
            NotFound: one of the names is not in the graph.
        """
        first, second = self._norm_of(name), self._norm_of(other)
        for norm in (first, second):
            self._graph.decide(norm, "", None)
        if first != second:
            self._graph.decide(first, second, "merge")

    def split(self, name: str) -> None:
        """Say that a name is a thing of its own, whatever the documents equate it with; takes back its merges.

        Raises:
            NotFound: the name is not in the graph.
        """
        norm = self._norm_of(name)
        for first, second, kind in self._graph.decisions():
            if kind == "merge" and norm in (first, second):
                self._graph.decide(first, second, None)
        self._graph.decide(norm, "", "split")

    def decisions(self) -> list[tuple[str, str, str]]:
        """What people merged and split: `(name, other, kind)`, of names that this caller may see."""
        decided = self._graph.decisions()
        norms = {norm for *pair, _ in decided for norm in pair if norm}
        seen = self._graph.entity_keys(sorted(norms), filters=self._filters) if self._filters else norms
        return [row for row in decided if all(not norm or norm in seen for norm in row[:2])]

    def merges(self, name: str | EntityId) -> list[tuple[str, str, str, ChunkId | None]]:
        """Why the names of an entity are one: `(name, other, why, chunk)`, each as names are compared.

        A text says it (`acronym`, `also_known_as`, `reading`, `script`, with the chunk), or the `spelling` does, or
        one is the `short_form` of the other, or people did (`decision`). `split` takes a name out of all of it.

        Raises:
            NotFound: there is no such entity that this caller may see.
        """
        with self._store.snapshot():
            return self._graph.merges(self._required(name), filters=self._filters)

    # Inside

    @property
    def _graph(self) -> GraphWithPlaces:
        return self._store.graph

    def _rows(self, keys: Sequence[int]) -> dict[int, EntityRow]:
        rows = self._graph.entities(keys, filters=self._filters)
        wanted = self._filters.entity_types if self._filters else None
        return {key: row for key, row in rows.items() if not wanted or row.type in wanted}

    def _entity(self, row: EntityRow) -> Entity:
        identity = self._graph.entity_ids([row.key])[row.key]
        return Entity(id=identity, name=row.name, type=row.type, aliases=row.aliases, mention_count=row.mentions)

    def _community(self, view: CommunityView) -> Community:
        members = self._store.communities.members(view.key, filters=self._filters)
        ids = self._graph.entity_ids([member.entity_key for member in members])
        shown = {row.key for row in view.key_entities}
        return Community(
            id=view.id,
            level=view.level,
            parent_id=view.parent_id,
            title=view.title,
            summary=view.summary,
            entity_ids=tuple(ids.values()),
            key_entities=tuple(ids[key] for key in ids if key in shown),
            rank=view.rank,
        )

    def _key_of(self, name: str | EntityId) -> int | None:
        if isinstance(name, EntityId):
            return self._graph.key_of_entity(name, filters=self._filters)
        norm = name_key(name)
        return self._graph.entity_keys([norm], filters=self._filters).get(norm)

    def _required(self, name: str | EntityId) -> int:
        key = self._key_of(name)
        if key is None or key not in self._rows([key]):
            self.entity(name)
        return key or 0

    def _known(self, names: Iterable[str | EntityId]) -> set[int]:
        return {key for name in names if (key := self._key_of(name)) is not None}

    def _norm_of(self, name: str) -> str:
        norm = name_key(name)
        if norm not in self._graph.entity_keys([norm], filters=self._filters):
            raise NotFound("entity", name)
        return norm

    def _fuzzy(self, norm: str) -> dict[int, float]:
        """Entities by how alike their names are: 1 for the same, more than half for a name that holds it."""
        scores: dict[int, float] = {}
        for piece in _pieces(norm):
            for row in self._graph.names_like(piece, FUZZY_CANDIDATES, filters=self._filters):
                alike = SequenceMatcher(None, norm, row.norm, autojunk=False).ratio()
                if norm in row.norm:
                    alike = max(alike, FUZZY_FROM)
                if alike >= FUZZY_FROM:
                    scores[row.entity_key] = max(alike, scores.get(row.entity_key, 0.0))
            if scores:
                break
        return scores

    def _by_meaning(self, text: str) -> dict[int, float]:
        """Entities of the chunks whose meaning is nearest to the text."""
        if self._embed is None:
            return {}
        vector = self._embed([text])[0]
        chunks = dict(self._store.search_vector(vector, 5, filters=self._filters))
        return {
            row.entity_key: chunks[row.chunk_key]
            for row in self._graph.mentions_in(list(chunks), filters=self._filters)
        }

    def _association(self, key: int, shared: Mapping[int, int], facts: Sequence[FactRow]) -> dict[int, float]:
        """Shared chunks over the geometric mean of how often each is mentioned; a stated relation adds its own."""
        counts = self._graph.chunk_frequency([key, *shared])
        own = counts.get(key, 1)
        weights = {
            other: together / math.sqrt(own * max(1, counts.get(other, 1))) for other, together in shared.items()
        }
        for fact in facts:
            other = fact.object_key if fact.subject_key == key else fact.subject_key
            if other != key:
                weights[other] = weights.get(other, 0.0) + fact.confidence
        return weights

    def _chunks(self, keys: Iterable[int]) -> dict[int, Chunk]:
        return self._store.chunks_by_key(sorted(keys), filters=self._filters)

    def _relations(self, facts: Iterable[FactRow]) -> list[Relation]:
        """Facts of one subject, predicate and object as one relation, the best supported first."""
        grouped: dict[tuple[int, str, int], list[FactRow]] = {}
        for fact in facts:
            grouped.setdefault((fact.subject_key, fact.predicate, fact.object_key), []).append(fact)
        ends = {key for subject, _, target in grouped for key in (subject, target)}
        visible = self._rows(sorted(ends))
        ids = self._graph.entity_ids(sorted(ends))
        texts = self._chunks({fact.chunk_key for found in grouped.values() for fact in found[:MAX_EVIDENCE]})
        relations = [
            Relation(
                id=relation_id_for(ids[subject], predicate, ids[target]),
                source_id=ids[subject],
                target_id=ids[target],
                predicate=predicate,
                weight=sum(fact.confidence for fact in found),
                evidence=_evidence(found[:MAX_EVIDENCE], texts),
            )
            for (subject, predicate, target), found in grouped.items()
            if subject in visible and target in visible
        ]
        return sorted(relations, key=lambda relation: (-relation.weight, relation.id))

    def _path(self, steps: Sequence[tuple[Node, Reached]], structure: Structure) -> GraphPath:
        rows = self._rows([node for node, _ in steps if isinstance(node, int)])
        nodes = [self._entity(rows[node]) if isinstance(node, int) else structure.section(node) for node, _ in steps]
        places = self._graph.places(sorted({step.chunk_key for _, step in steps[1:]}), filters=self._filters)
        path = [
            PathStep(
                source_id=nodes[place - 1].id,
                target_id=nodes[place].id,
                predicate=step.predicate or self._said(steps[place - 1][0], node),
                chunk_id=places[step.chunk_key].chunk_id,
            )
            for place, (node, step) in enumerate(steps[1:], start=1)
        ]
        return GraphPath(nodes=tuple(nodes), steps=tuple(path))

    def _said(self, before: Node, node: Node) -> str | None:
        """What is said of two entities."""
        if not isinstance(before, int) or not isinstance(node, int):
            return None
        facts = self._graph.facts_of([node], MAX_FACTS, filters=self._filters)
        return next((fact.predicate for fact in facts if set(_ends(fact)) == {before, node}), None)

    def _near(self, key: int, structure: Structure) -> dict[int, dict[int, SectionNode | None]]:
        """Entities by the chunks that join them to one, with the document or section over which they do."""
        near: dict[int, dict[int, SectionNode | None]] = {}
        chunks = self._graph.some_mentions([key], MAX_SHARED, filters=self._filters)[key]
        under: dict[int, SectionNode] = {}
        for node in structure.called(self._rows([key])[key].norms, MAX_TITLED):
            under.update((place.chunk_key, node) for place in structure.inside(node, TITLED_CHUNKS))
        mentioned = set(chunks)
        for row in self._graph.mentions_in(sorted({*chunks, *under}), filters=self._filters):
            over = None if row.chunk_key in mentioned else under[row.chunk_key]
            near.setdefault(row.entity_key, {})[row.chunk_key] = over
        for chunk, node in structure.around(chunks[:TITLED_CHUNKS]).items():
            for section in (node, SectionNode(node.file_id, (), node.chunk_key, node.ordinal)):
                titles = self._graph.entity_keys(structure.titles(section), filters=self._filters)
                for other in titles.values():
                    near.setdefault(other, {}).setdefault(chunk, section)
        near.pop(key, None)
        return near

    def _file_ids(self, file: str | FileId) -> list[FileId]:
        """The ids that a file of that id, name or path may have."""
        ids = []
        with suppress(ValueError):
            ids.append(FileId(str(file)))
        if not isinstance(file, FileId):
            names = (file, str(Path(file).absolute()))
            ids += [file_id_for(space, name) for space in sorted(self._store.status().workspaces) for name in names]
        return ids


def _evidence(facts: Sequence[FactRow], texts: Mapping[int, Chunk]) -> tuple[Evidence, ...]:
    """The sentences that state a relation, the surest first; no matter which file came in first."""
    # Keys grow as files come in; ids are the same in an index that was built in another order.
    known = sorted(
        (fact for fact in facts if fact.chunk_key in texts),
        key=lambda fact: (-fact.confidence, texts[fact.chunk_key].id, fact.start, fact.end),
    )
    said = [(texts[fact.chunk_key], fact) for fact in known]
    return tuple(
        Evidence(chunk_id=chunk.id, sentence=sentence)
        for chunk, fact in said
        if (sentence := chunk.text[fact.start : fact.end].strip())
    )


def _ends(fact: FactRow) -> tuple[int, int]:
    return fact.subject_key, fact.object_key


def _joins(fact: FactRow, first: set[int], second: set[int]) -> bool:
    subject, target = _ends(fact)
    return (subject in first and target in second) or (subject in second and target in first)


def _pieces(norm: str) -> list[str]:
    """What to look for: the whole, then each half, so that one typing error leaves a piece that is right."""
    half = len(norm) // 2
    halves = [norm[:half], norm[half:]] if len(norm) >= 6 else []
    return [norm, *halves]
