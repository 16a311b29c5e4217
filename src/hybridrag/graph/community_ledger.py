"""The communities in work: read as far as they are asked for, with sums that stay exact through every move.

Each tie between two entities counts in the sums of the communities on both their paths, from the top down to where
the paths part. Whatever changes a path or a tie takes its ties out of the sums, and puts them back in after: so the
sums stay exact, and with them the modularity, at the cost of the ties of what changed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hybridrag.graph.community_ties import modularity, neighbours, pairs
from hybridrag.graph.summarise import KEY_ENTITIES
from hybridrag.protocols import CommunityNode, MemberRow, StoreWithCommunities, Ties
from hybridrag.types.ids import CommunityId, EntityId, community_id_for

HUB_CHUNKS = 500
"""An entity that so many chunks mention stays where it is: a few more cannot move it, and its ties are many."""

NO_ID = CommunityId("00000000-0000-0000-0000-000000000000")
"""Until the members of a new community are known."""


class StaleTies(Exception):
    """The stored communities do not know an entity that a chunk mentions: they have to be found from nothing."""


@dataclass(slots=True)
class Node:
    """A community in work."""

    key: int
    level: int = 0
    parent: int = 0
    size: int = 0
    total: float = 0.0
    inside: float = 0.0
    home: int = 0
    id: CommunityId = NO_ID


class Ledger:
    """Who belongs where, and how strongly. New communities have keys below 0."""

    def __init__(self, store: StoreWithCommunities, ties: Mapping[int, Ties | None]) -> None:
        self._store = store
        self._communities = store.communities
        self._ties = dict(ties)
        self._strength: dict[int, float] = {}
        self._degree: dict[int, float] = {}
        self._paths: dict[int, tuple[int, ...]] = {}
        self._members: dict[int, set[int]] = {}
        self._children: dict[int, list[int]] = {}
        self._neighbours: dict[int, dict[int, float]] = {}
        self._chunk_counts: dict[int, int] = {}
        self._stored_tops: list[tuple[float, float]] = []
        """Inside and total of each top that was read, as stored."""
        self._new_keys = itertools.count(1)
        self._summed: set[int] = set()
        self._restrung: set[int] = set()
        self.leaf: dict[int, int] = {}
        """Of each entity, the community that is not divided further."""
        self.ids: dict[int, EntityId] = {}
        self.nodes: dict[int, Node] = {}
        self.removed: set[int] = set()
        self.shown_anew: set[int] = set()
        """Communities whose title or sentences may change."""
        self.reshaped: set[int] = set()
        """Those that have other members than before."""
        self.moved: set[int] = set()
        """Entities that belong elsewhere than before."""

    # What is stored

    def learn(self, entities: Iterable[int]) -> None:
        """Read where entities belong."""
        unknown = [entity for entity in entities if entity not in self.leaf]
        found = self._communities.places(unknown)
        for row in found.values():
            self._know(row)
        self._load({row.community_key for row in found.values()})

    def _know(self, row: MemberRow) -> None:
        self.leaf.setdefault(row.entity_key, row.community_key)
        self.ids.setdefault(row.entity_key, row.entity_id)
        self._strength.setdefault(row.entity_key, row.strength)
        self._degree.setdefault(row.entity_key, row.degree)

    def know_ids(self, entities: Iterable[int]) -> None:
        """Read the public ids of entities."""
        self.ids.update(self._store.graph.entity_ids([entity for entity in entities if entity not in self.ids]))

    def _load(self, keys: Iterable[int]) -> None:
        """Read communities and all above them."""
        waiting = sorted(key for key in keys if key not in self.nodes)
        while waiting:
            found = self._communities.nodes(waiting)
            for node in found.values():
                self.take(node)
            waiting = sorted({it.parent_key for it in found.values() if it.parent_key} - self.nodes.keys())

    def take(self, node: CommunityNode) -> None:
        """Work with a stored community."""
        if node.key in self.nodes:
            return
        self.nodes[node.key] = Node(
            key=node.key,
            level=node.level,
            parent=node.parent_key,
            size=node.size,
            total=node.total,
            inside=node.inside,
            home=node.home_file,
            id=node.id,
        )
        if node.level == 0:
            self._stored_tops.append((node.inside, node.total))

    def path(self, entity: int) -> tuple[int, ...]:
        """The communities of an entity, from the top down.

        Raises:
            StaleTies: it has none.
        """
        leaf = self.leaf.get(entity)
        if leaf is None:
            raise StaleTies
        return self._path(leaf)

    def _path(self, leaf: int) -> tuple[int, ...]:
        known = self._paths.get(leaf)
        if known is None:
            parent = self.nodes[leaf].parent
            known = (*(self._path(parent) if parent else ()), leaf)
            self._paths[leaf] = known
        return known

    def members(self, leaf: int) -> set[int]:
        """The members of a community that is not divided further."""
        if leaf not in self._members:
            stored = self._communities.below(leaf)
            for row in stored:
                self._know(row)
            self._members[leaf] = {row.entity_key for row in stored if self.leaf[row.entity_key] == leaf}
        return self._members[leaf]

    def children(self, key: int) -> list[int]:
        """The communities that one is divided into now."""
        if key not in self._children:
            stored = self._communities.children(key)
            for node in stored:
                self.take(node)
            self._children[key] = [node.key for node in stored]
        return [child for child in self._children[key] if child not in self.removed]

    def by_id(self, entities: Iterable[int]) -> list[int]:
        """Entities in an order that does not depend on when they were added.

        Raises:
            StaleTies: one of them belongs nowhere.
        """
        listed = list(entities)
        if not self.ids.keys() >= set(listed):
            raise StaleTies
        return sorted(listed, key=lambda entity: self.ids[entity])

    # Ties

    def prefetch(self, entities: Iterable[int], *, hubs: bool = True) -> None:
        """Read the ties of entities, and where those that they lead to belong, in a few statements."""
        wanted = [it for it in entities if it not in self._neighbours and (hubs or not self.is_hub(it))]
        if not wanted:
            return
        mentioned = self._communities.chunks_mentioning(wanted)
        self._chunk_counts.update((it, len(mentioned[it]) if it in mentioned else 0) for it in wanted)
        wanted = [it for it in wanted if hubs or not self.is_hub(it)]
        chunks = {chunk for it in wanted if it in mentioned for chunk in mentioned[it].tolist()}
        self._ties.update(self._communities.ties(sorted(chunks - self._ties.keys())))
        for entity in wanted:
            keys = mentioned[entity].tolist() if entity in mentioned else []
            listed = (self._ties.get(key) for key in keys)
            self._neighbours[entity] = neighbours(entity, (it for it in listed if it is not None))
        self.learn(sorted({other for entity in wanted for other in self._neighbours[entity]}))

    def neighbours(self, entity: int) -> dict[int, float]:
        """What an entity is tied to, and how strongly."""
        self.prefetch([entity])
        return self._neighbours[entity]

    def is_hub(self, entity: int) -> bool:
        """Whether so many chunks mention it that it stays where it is."""
        return self._chunk_counts.get(entity, 0) > HUB_CHUNKS

    def count_chunks(self, counts: Mapping[int, int]) -> None:
        """Say how many chunks mention entities."""
        self._chunk_counts.update(counts)

    def count(self, one: int, other: int, weight: float) -> None:
        """Add the weight of a tie to the communities on both paths, down to where they part."""
        for entity in (one, other):
            self._degree[entity] = self._degree.get(entity, 0.0) + weight
            self._restrung.add(entity)
        for left, right in zip(self.path(one), self.path(other), strict=False):
            self.nodes[left].total += weight
            self.nodes[right].total += weight
            self._summed.update((left, right))
            if left != right:
                return
            self.nodes[left].inside += weight
        for entity in (one, other):
            self._strength[entity] = self._strength.get(entity, 0.0) + weight

    def count_all(self, ties: Iterable[Ties], sign: int) -> None:
        """Add, or with -1 take out, everything that chunks tie."""
        first, second, weights = pairs(ties)
        for one, other, weight in zip(first.tolist(), second.tolist(), weights.tolist(), strict=True):
            self.count(one, other, sign * weight)

    # Moves

    def new_node(self, *, level: int = 0, parent: int = 0, home: int = 0) -> int:
        """A new community without members; its key."""
        key = -next(self._new_keys)
        self.nodes[key] = Node(key=key, level=level, parent=parent, home=home)
        self._members[key] = set()
        self._children[key] = []
        if parent:
            self.children(parent)
            self._children[parent].append(key)
        return key

    def seat(self, entity: int, leaf: int | None) -> None:
        """Move an entity into a community that is not divided, or out of all; its ties are not counted."""
        if entity in self.leaf:
            self.members(self.leaf[entity]).discard(entity)
            self._resize(self.leaf.pop(entity), -1)
        if leaf is not None:
            self.members(leaf).add(entity)
            self.leaf[entity] = leaf
            self._resize(leaf, 1)
        self.moved.add(entity)

    def _resize(self, leaf: int, difference: int) -> None:
        for key in self._path(leaf):
            self.nodes[key].size += difference
            self.reshaped.add(key)
            self.shown_anew.add(key)

    def move(self, entity: int, leaf: int) -> None:
        """Move an entity with its ties."""
        tied = self.neighbours(entity)
        for other, weight in tied.items():
            self.count(entity, other, -weight)
        self.seat(entity, leaf)
        for other, weight in tied.items():
            self.count(entity, other, weight)

    def fold(self, key: int, child: int) -> None:
        """Undo a division into one part."""
        self._members[key] = set()
        for entity in list(self.members(child)):
            self.seat(entity, key)
        self.removed.add(child)

    # What came of it

    def finished(self) -> dict[int, CommunityNode]:
        """The communities that differ from what is stored, as they are now."""
        return {key: self._finished(key) for key in sorted((self.shown_anew | self._summed) - self.removed)}

    def _finished(self, key: int) -> CommunityNode:
        node = self.nodes[key]
        return CommunityNode(
            key=key,
            id=community_id_for(node.level, self._ids_below(key)) if key in self.reshaped else node.id,
            level=node.level,
            parent_key=node.parent,
            size=node.size,
            total=node.total,
            inside=node.inside,
            home_file=node.home,
        )

    def _ids_below(self, key: int) -> list[EntityId]:
        """The ids of all members at any depth: those stored, less what moved away, with what moved in."""
        stored = self._communities.below(key) if key > 0 else []
        stayed = [row.entity_id for row in stored if row.entity_key not in self.moved]
        seated = (entity for entity in self.moved if entity in self.leaf)
        return [*stayed, *(self.ids[entity] for entity in seated if key in self.path(entity))]

    def rows(self) -> list[MemberRow]:
        """The entities whose place or strength differs from what is stored."""
        return [
            MemberRow(
                entity,
                self.leaf[entity],
                self.ids[entity],
                self._strength.get(entity, 0.0),
                self._degree.get(entity, 0.0),
            )
            for entity in sorted(self.moved | self._restrung)
            if entity in self.leaf
        ]

    def key_entities(self) -> dict[int, list[tuple[int, float]]]:
        """The members that matter most in whatever is shown anew.

        Those with the strongest ties within it; in one that is divided, of its parts' first those tied most overall.
        Dates come last: they tie everything, and tell little.
        """
        listed: dict[int, list[tuple[int, float]]] = {}
        for key in sorted(self.shown_anew - self.removed, key=lambda it: -self.nodes[it].level):
            parts = self.children(key)
            known = self._communities.profiles([part for part in parts if part not in listed])
            first = [entity for part in parts for entity, _ in listed.get(part) or known[part].key_entities]
            self.learn(first)
            found = [(entity, self._degree.get(entity, 0.0)) for entity in first]
            if not parts:
                found = [(entity, self._strength.get(entity, 0.0)) for entity in self.members(key)]
            dates = self._communities.dates([entity for entity, _ in found])
            self.know_ids(entity for entity, _ in found)
            found.sort(key=lambda pair: (pair[0] in dates, -pair[1], self.ids[pair[0]]))
            listed[key] = found[:KEY_ENTITIES]
        return listed

    def modularity(self, weight: float) -> float:
        """Of the communities at the top, from the stored sums and what changed in them."""
        inside, squares = self._communities.quality()
        tops = [node for node in self.nodes.values() if node.level == 0 and node.key not in self.removed]
        inside += sum(node.inside for node in tops) - sum(was for was, _ in self._stored_tops)
        squares += sum(node.total**2 for node in tops) - sum(was**2 for _, was in self._stored_tops)
        return modularity(inside, squares, weight)
