"""Bring communities up to date with a few changed chunks, without reading the rest of the graph."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from hybridrag.graph.community_ledger import HUB_CHUNKS, Ledger, Node
from hybridrag.graph.community_ties import among, divide, weight_of
from hybridrag.graph.community_tree import MAX_LEVELS, MAX_MEMBERS
from hybridrag.protocols import CommunityNode, CommunityState, MemberRow, StoreWithCommunities, Ties

MAX_LOCAL = MAX_MEMBERS * 3 // 2
"""A community may grow to this before it is divided, so that one at the limit is not divided and joined by turns."""

VISITS_PER_ENTITY = 10
"""How many moves each changed entity may set off, on average, before the rest is left as it is."""

LEAST_VISITS = 1_000

Changes = Mapping[int, tuple[Ties | None, Ties | None]]


@dataclass(frozen=True, slots=True)
class Upkept:
    """What came of an update: the communities that differ, and whatever is to be written with them."""

    nodes: dict[int, CommunityNode]
    key_entities: dict[int, list[tuple[int, float]]]
    removed: list[int]
    members: list[MemberRow]
    gone: list[int]
    modularity: float


class Upkeep:
    """One update: `Upkeep(store, state, changes, seed=1).run()`."""

    def __init__(self, store: StoreWithCommunities, state: CommunityState, changes: Changes, *, seed: int) -> None:
        self._communities = store.communities
        self._seed = seed
        self._ledger = Ledger(store, {key: now for key, (_, now) in changes.items()})
        differing = [pair for pair in changes.values() if not _same(*pair)]
        self._old = [before for before, _ in differing if before is not None]
        self._new = [now for _, now in differing if now is not None]
        self._touched = sorted(
            {entity for pair in changes.values() for it in pair if it is not None for entity in it.members.tolist()}
        )
        self._gone: list[int] = []
        removed, added = (sum(weight_of(it) for it in ties) for ties in (self._old, self._new))
        self.weight = state.weight - removed + added
        """Of all ties together, after the update."""
        self.changed = state.changed + removed + added
        """How much weight came and went since the communities were last found from nothing."""

    def run(self) -> Upkept:
        """Settle what came and went, let entities move to where they are tied most, and divide what grew too large.

        Raises:
            StaleTies: the stored communities do not fit the chunks.
        """
        ledger = self._ledger
        ledger.learn(self._touched)
        for entity in self._touched:
            if entity in ledger.leaf:
                ledger.shown_anew.update(ledger.path(entity))
        ledger.count_all(self._old, -1)
        self._settle()
        ledger.count_all(self._new, 1)
        self._move_at_the_top()
        self._divide_small_tops()
        self._join_small_tops()
        self._move_below()
        self._divide_large_leaves()
        self._prune()
        return Upkept(
            nodes=ledger.finished(),
            key_entities=ledger.key_entities(),
            removed=sorted(key for key in ledger.removed if key > 0),
            members=ledger.rows(),
            gone=self._gone,
            modularity=ledger.modularity(self.weight),
        )

    # What came and went

    def _settle(self) -> None:
        """Let go of entities that are gone, seat new ones, and keep apart those that nothing ties to others."""
        ledger = self._ledger
        here = self._communities.chunks_mentioning(self._touched)
        self._gone = [entity for entity in self._touched if entity not in here]
        for entity in self._gone:
            ledger.seat(entity, None)
        self._touched = [entity for entity in self._touched if entity in here]
        ledger.count_chunks({entity: len(here[entity]) for entity in self._touched})
        ledger.know_ids(self._touched)
        # A hub keeps its seat whatever happens to a few of its ties: those need not be read.
        looked_at = [it for it in self._touched if len(here[it]) <= HUB_CHUNKS or not self._is_tied(it)]
        ledger.prefetch(looked_at)
        self._seat_loose([entity for entity in looked_at if not ledger.neighbours(entity)])
        for entity in looked_at:
            if ledger.neighbours(entity) and not self._is_tied(entity):
                ledger.seat(entity, ledger.new_node())

    def _is_tied(self, entity: int) -> bool:
        """Whether it belongs to a community by its ties, and not to none, or to those without."""
        leaf = self._ledger.leaf.get(entity)
        return leaf is not None and not self._ledger.nodes[leaf].home

    def _seat_loose(self, entities: list[int]) -> None:
        """Entities without ties belong with the others of the file that mentions them most."""
        files = self._communities.home_files(entities)
        leaves: dict[int, int] = {}
        for file, node in self._communities.homes(sorted(set(files.values()))).items():
            self._ledger.take(node)
            leaves[file] = node.key
        for entity in entities:
            file = files[entity]
            if file not in leaves:
                leaves[file] = self._ledger.new_node(home=file)
            if self._ledger.leaf.get(entity) != leaves[file]:
                self._ledger.seat(entity, leaves[file])

    # Moving to where the ties are

    def _move_at_the_top(self) -> None:
        """Let what changed, and then what is around it, choose the community that modularity gains most by."""
        ledger = self._ledger
        waiting = deque(ledger.by_id(self._touched))
        queued = set(waiting)
        new = {entity for entity in self._touched if ledger.leaf[entity] < 0}
        visits = max(LEAST_VISITS, VISITS_PER_ENTITY * len(waiting))
        while waiting and visits:
            visits -= 1
            entity = waiting.popleft()
            queued.discard(entity)
            leaf = None if self._stays(entity) else self._better_top(entity)
            if leaf is None:
                continue
            ledger.move(entity, leaf)
            # That something new found its place moves nothing that stood firm before.
            around = [it for it in self._around(entity) if it not in queued and (it in new or entity not in new)]
            ledger.prefetch(around, hubs=False)
            waiting.extend(around)
            queued.update(around)

    def _around(self, entity: int) -> list[int]:
        """What an entity is tied to under another top."""
        ledger = self._ledger
        top = ledger.path(entity)[0]
        return [other for other in ledger.by_id(ledger.neighbours(entity)) if ledger.path(other)[0] != top]

    def _stays(self, entity: int) -> bool:
        """Whether an entity has too many ties to be moved, or none."""
        self._ledger.prefetch([entity], hubs=False)
        return self._ledger.is_hub(entity) or not self._ledger.neighbours(entity)

    def _better_top(self, entity: int) -> int | None:
        """The leaf to move to under a better top, a new one where being alone is best; None to stay."""
        ledger = self._ledger
        own = ledger.path(entity)[0]
        to = self._ties_to_tops([entity])
        best, gain = self._best_seat(to, own, sum(to.values()), self.weight)
        if gain <= 0.0:
            return None if ledger.nodes[own].size == 1 else ledger.new_node()
        return None if best == own else self._descend(entity, best)

    def _ties_to_tops(self, entities: Iterable[int]) -> dict[int, float]:
        """How strongly entities are tied to each community at the top."""
        to: dict[int, float] = {}
        for entity in entities:
            for other, weight in self._ledger.neighbours(entity).items():
                top = self._ledger.path(other)[0]
                to[top] = to.get(top, 0.0) + weight
        return to

    def _best_seat(self, to: Mapping[int, float], own: int, degree: float, weight: float) -> tuple[int, float]:
        """The community that an entity gains most by, and how much against being alone; its own at a draw."""
        nodes = self._ledger.nodes
        gains = {
            key: tied - degree * (nodes[key].total - (degree if key == own else 0.0)) / (2 * weight)
            for key, tied in {own: 0.0, **to}.items()
        }
        best = min(gains, key=lambda key: (-gains[key], key != own, key))
        return best, gains[best]

    def _descend(self, entity: int, top: int) -> int:
        """From a community down to one that is not divided, along the strongest ties."""
        key = top
        while to := self._ties_to_parts(entity, key):
            key = min(to, key=lambda part: (-to[part], part))
        return key

    def _ties_to_parts(self, entity: int, key: int) -> dict[int, float]:
        """How strongly an entity is tied to each part of a community; nothing where it is not divided."""
        below = self._ledger.nodes[key].level + 1
        to: dict[int, float] = {}
        for other, weight in self._ledger.neighbours(entity).items():
            path = self._ledger.path(other)
            if len(path) > below and path[below - 1] == key:
                to[path[below]] = to.get(path[below], 0.0) + weight
        return to

    # Small communities at the top

    def _small_tops(self, limit: int) -> list[int]:
        """Communities at the top that changed, are tied, small and not divided."""
        return sorted(key for key in self._ledger.shown_anew if self._is_small_top(key, limit))

    def _is_small_top(self, key: int, limit: int) -> bool:
        node = self._ledger.nodes[key]
        return node.level == 0 and not node.home and 0 < node.size <= limit and not self._ledger.children(key)

    def _divide_small_tops(self) -> None:
        """Divide a small community by Leiden where it no longer holds together as well as its parts would."""
        ledger = self._ledger
        for key in self._small_tops(MAX_LOCAL):
            node = ledger.nodes[key]
            members = ledger.by_id(ledger.members(key))
            if len(members) < 2 or node.inside <= 0.0:
                continue
            ledger.prefetch(members)
            ties = {entity: ledger.neighbours(entity) for entity in members}
            # The whole graph's measure, within the part: chance is as large there as the part is of the whole.
            labels = divide(among(members, ties), seed=self._seed, resolution=node.inside / self.weight).tolist()
            if max(labels) == 0 or self._gain_of_parts(ties, labels, node) <= 0.0:
                continue
            seats = {label: key if label == 0 else ledger.new_node() for label in sorted(set(labels))}
            for entity, label in zip(members, labels, strict=True):
                if label:
                    ledger.move(entity, seats[label])

    def _gain_of_parts(self, ties: Mapping[int, Mapping[int, float]], labels: list[int], node: Node) -> float:
        """How much more modularity the parts of a community have than the whole, times the weight of all ties."""
        label_of = dict(zip(ties, labels, strict=True))
        totals: dict[int, float] = {}
        cut = 0.0
        for entity, label in label_of.items():
            totals[label] = totals.get(label, 0.0) + sum(ties[entity].values())
            cut += sum(weight for other, weight in ties[entity].items() if label_of.get(other, label) != label) / 2
        chance = node.total**2 - sum(total**2 for total in totals.values())
        return chance / (4 * self.weight) - cut

    def _join_small_tops(self) -> None:
        """Join a small community to the one that it is tied to most, where modularity gains by it."""
        ledger = self._ledger
        waiting = deque(self._small_tops(MAX_MEMBERS))
        while waiting:
            key = waiting.popleft()
            members = ledger.by_id(ledger.members(key))
            ledger.prefetch(members)
            to = self._ties_to_tops(members)
            to.pop(key, None)
            total = ledger.nodes[key].total
            gains = {top: tied - total * ledger.nodes[top].total / (2 * self.weight) for top, tied in to.items()}
            best = min(gains, key=lambda top: (-gains[top], top), default=None)
            if best is None or gains[best] <= 0.0:
                continue
            self._join(members, best)
            if self._is_small_top(best, MAX_MEMBERS) and best not in waiting:
                waiting.append(best)

    def _join(self, members: list[int], top: int) -> None:
        """Move a group to where the one most tied to the new place goes: its members belong together."""
        ledger = self._ledger
        ties = {entity: self._ties_to_tops([entity]).get(top, 0.0) for entity in members}
        leaf = self._descend(min(members, key=lambda entity: (-ties[entity], ledger.ids[entity])), top)
        for entity in members:
            ledger.move(entity, leaf)

    # Below the top

    def _move_below(self) -> None:
        """Let what changed choose anew among the parts of its community, level by level."""
        ledger = self._ledger
        for entity in ledger.by_id(ledger.moved.union(self._touched).difference(self._gone)):
            if self._stays(entity):
                continue
            level = 1
            while level < len(ledger.path(entity)):
                leaf = self._better_part(entity, level)
                if leaf is not None:
                    ledger.move(entity, leaf)
                level += 1

    def _better_part(self, entity: int, level: int) -> int | None:
        """The leaf to move to under a better part of the same community; None to stay."""
        path = self._ledger.path(entity)
        to = self._ties_to_parts(entity, path[level - 1])
        inside = self._ledger.nodes[path[level - 1]].inside
        if not to or inside <= 0.0:
            return None
        best, _ = self._best_seat(to, path[level], sum(to.values()), inside)
        return None if best == path[level] else self._descend(entity, best)

    def _divide_large_leaves(self) -> None:
        """Divide what grew too large by Leiden on the ties within it."""
        ledger = self._ledger
        for key in sorted(ledger.reshaped):
            node = ledger.nodes[key]
            if node.size <= MAX_LOCAL or node.home or node.level + 1 >= MAX_LEVELS or ledger.children(key):
                continue
            members = ledger.by_id(ledger.members(key))
            ledger.prefetch(members)
            ties = {entity: ledger.neighbours(entity) for entity in members}
            labels = divide(among(members, ties), seed=self._seed).tolist()
            if max(labels) == 0:
                continue
            for one, other, weight in _within(ties):
                ledger.count(one, other, -weight)
            seats = {label: ledger.new_node(level=node.level + 1, parent=key) for label in sorted(set(labels))}
            for entity, label in zip(members, labels, strict=True):
                ledger.seat(entity, seats[label])
            for one, other, weight in _within(ties):
                ledger.count(one, other, weight)

    def _prune(self) -> None:
        """Forget communities that are empty, and divisions into one part."""
        ledger = self._ledger
        ledger.removed.update(key for key in ledger.reshaped if ledger.nodes[key].size == 0)
        for key in sorted(ledger.reshaped - ledger.removed, key=lambda it: -ledger.nodes[it].level):
            parts = ledger.children(key)
            if len(parts) == 1 and not ledger.children(parts[0]):
                ledger.fold(key, parts[0])


def _within(ties: Mapping[int, Mapping[int, float]]) -> Iterator[tuple[int, int, float]]:
    """The ties between members of a group, each once."""
    for one, tied in ties.items():
        for other, weight in tied.items():
            if other in ties and one < other:
                yield one, other, weight


def _same(before: Ties | None, now: Ties | None) -> bool:
    """Whether a chunk adds what it added before."""
    if before is None or now is None:
        return before is now
    return np.array_equal(before.members, now.members) and np.array_equal(before.facts, now.facts)
