"""Find communities as a whole, once enough documents came or went since the last time."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from hybridrag.errors import StageError
from hybridrag.graph.community_ties import make_graph, modularity, pairs
from hybridrag.graph.community_tree import Tree, grow
from hybridrag.graph.summarise import KEY_ENTITIES, Told, tell
from hybridrag.protocols import (
    CommunityChange,
    CommunityNode,
    CommunityProfile,
    CommunityState,
    CommunityText,
    Keys,
    MemberRow,
    StoreWithCommunities,
)
from hybridrag.types.base import Float32Array
from hybridrag.types.ids import EntityId, community_id_for

SEED = 20240229
"""Of Leiden's random choices: the same documents give the same communities."""

PENDING_SHARE = 0.02
"""Communities are found again when chunks came or went that make up this share of all. Finding them takes some 0.4 ms
for each chunk of the index, and the changed texts are embedded: so a chunk costs what its own embedding does, however
it comes in, and an index of up to fifty chunks has its communities after every change."""

ATTEMPTS = 3
"""Another process may find the communities at the same time; then it is looked again whether anything is to do."""

TOLD_AT_ONCE = 256
"""Communities whose chunks are read and sentences chosen in one go."""

EMBEDDED_AT_ONCE = 64
"""Texts embedded between two commits: what an interruption loses at most."""

LLM_FAILURES = 3
"""After so many in a row the language model is not asked again in this update."""

MIN_CHUNKS = 2
"""What fewer chunks tell needs no summary and no vector of its own: the chunk is there to be read, and has one."""

Embed = Callable[[Sequence[str]], Float32Array]
"""Texts to unit vectors, one row each."""

WriteSummary = Callable[[str, Sequence[str]], str | None]
"""A title and sentences to a summary; None where there is none to give."""


@dataclass(frozen=True, slots=True)
class CommunityReport:
    """What an update did."""

    levels: tuple[int, ...]
    """How many communities cover each level, from the coarsest down."""
    found: bool
    """Whether they were found again; else they fit, or too little changed."""
    embedded: int
    """How many had a new text from several chunks, and got a new vector for it."""
    written: int
    """How many summaries a language model wrote."""
    modularity: float
    seconds: float


def update_communities(
    store: StoreWithCommunities,
    *,
    embed: Embed,
    write_summary: WriteSummary | None = None,
    seed: int = SEED,
    rebuild: bool = False,
) -> CommunityReport:
    """Find the communities again if enough changed: call it after adding, changing or removing documents.

    A crash leaves the old communities, which never show anything that is gone, and the next call goes on.
    `rebuild=True` finds them whatever changed.

    after forty more files about cameras -> CommunityReport(levels=(12, 40), found=True, embedded=9, ...)

    Raises:
        StageError: a text cannot be embedded; the communities fit, and wait for their vectors.
        StoreBusy: another process is writing.
    """
    began = time.monotonic()
    told: dict[bytes, Told] = {}
    found = False
    for _ in range(ATTEMPTS):
        with store.snapshot():
            state = store.communities.state()
            waits = state.pending <= PENDING_SHARE * state.chunks and store.communities.level_counts()
            if not rebuild and (not state.pending or waits):
                break
            change, told = _found(store, state, seed)
        found = store.communities.write(change)
        if found:
            break
    embedded, written = _told_anew(store, embed, write_summary, told)
    return CommunityReport(
        levels=store.communities.level_counts(),
        found=found,
        embedded=embedded,
        written=written,
        modularity=store.communities.state().modularity,
        seconds=time.monotonic() - began,
    )


def rebuild_communities(
    store: StoreWithCommunities, *, embed: Embed, write_summary: WriteSummary | None = None, seed: int = SEED
) -> CommunityReport:
    """Find the communities whatever changed: the same documents, added in any order, give the same.

    Raises:
        StageError: a text cannot be embedded.
    """
    return update_communities(store, embed=embed, write_summary=write_summary, seed=seed, rebuild=True)


# Who belongs together


def _found(store: StoreWithCommunities, state: CommunityState, seed: int) -> tuple[CommunityChange, dict[bytes, Told]]:
    """All communities, from every tie, and the texts that come with them by their hash."""
    ties = store.communities.ties()
    none = np.empty(0, dtype=np.int64)
    keys: Keys = np.unique(np.concatenate([none, *(it.members for it in ties)]))
    ids = store.graph.entity_ids(keys.tolist())
    # By id, so that the same documents give the same graph whatever keys their entities got.
    ordered = np.array(sorted(keys.tolist(), key=lambda key: ids[key]), dtype=np.int64)
    by_key = np.argsort(ordered)
    first, second, weights = pairs(ties)
    graph = make_graph(
        by_key[np.searchsorted(keys, first)], by_key[np.searchsorted(keys, second)], weights, len(ordered)
    )
    tree = grow(graph, seed=seed)
    nodes, members = _planted(store, tree, ordered, ids)
    degrees = dict(zip(ordered.tolist(), tree.degrees.tolist(), strict=True))
    profiles, texts = _profiles(store, _strongest(nodes, members, degrees, store.communities.dates()))
    tops = [branch for branch in tree.branches if branch.level == 0]
    change = CommunityChange(
        state=state,
        nodes=list(nodes.values()),
        profiles=profiles,
        members=members,
        modularity=modularity(
            sum(branch.inside for branch in tops),
            sum(float(tree.degrees[branch.members].sum()) ** 2 for branch in tops),
            float(weights.sum()),
        ),
    )
    return change, texts


def _planted(
    store: StoreWithCommunities, tree: Tree, entities: Keys, ids: Mapping[int, EntityId]
) -> tuple[dict[int, CommunityNode], list[MemberRow]]:
    """A tree as communities under keys of their own, with those of the entities that nothing ties to others."""
    nodes: dict[int, CommunityNode] = {}
    for key, branch in enumerate(tree.branches, start=1):
        identity = community_id_for(branch.level, (ids[entity] for entity in entities[branch.members].tolist()))
        nodes[key] = CommunityNode(key, identity, branch.level, branch.parent + 1, len(branch.members), branch.inside)
    leaves = dict(zip(entities.tolist(), (tree.leaves + 1).tolist(), strict=True))
    for group in _by_home(store, entities[tree.leaves < 0].tolist()).values():
        key = len(nodes) + 1
        nodes[key] = CommunityNode(key, community_id_for(0, (ids[entity] for entity in group)), 0, 0, len(group), 0.0)
        leaves.update(dict.fromkeys(group, key))
    rows = zip(entities.tolist(), tree.strengths.tolist(), strict=True)
    return nodes, [MemberRow(entity, leaves[entity], ids[entity], strength) for entity, strength in rows]


def _by_home(store: StoreWithCommunities, entities: Sequence[int]) -> dict[int, list[int]]:
    """Entities by the file that mentions them most."""
    groups: dict[int, list[int]] = {}
    for entity, file in store.communities.home_files(entities).items():
        groups.setdefault(file, []).append(entity)
    return groups


def _strongest(
    nodes: Mapping[int, CommunityNode],
    members: Sequence[MemberRow],
    degrees: Mapping[int, float],
    dates: Collection[int],
) -> dict[int, list[tuple[int, float]]]:
    """The members that matter most in each community.

    Those with the strongest ties within it; in one that is divided, of its parts' first those tied most overall.
    Dates come last: they tie everything, and tell little.
    """
    found: dict[int, list[tuple[float, MemberRow]]] = {key: [] for key in nodes}
    for member in members:
        found[member.community_key].append((member.strength, member))
    for key, node in sorted(nodes.items(), key=lambda item: -item[1].level):
        found[key].sort(key=lambda it: (it[1].entity_key in dates, -it[0], it[1].entity_id))
        del found[key][KEY_ENTITIES:]
        if node.parent_key:
            found[node.parent_key].extend((degrees[member.entity_key], member) for _, member in found[key])
    return {key: [(member.entity_key, weight) for weight, member in listed] for key, listed in found.items()}


# What they are about


def _profiles(
    store: StoreWithCommunities, listed: Mapping[int, Sequence[tuple[int, float]]]
) -> tuple[dict[int, CommunityProfile], dict[bytes, Told]]:
    """What communities are shown by, and the texts of that by their hash; some at a time, for the chunks are many."""
    profiles: dict[int, CommunityProfile] = {}
    texts: dict[bytes, Told] = {}
    waiting = iter(listed.items())
    while batch := dict(islice(waiting, TOLD_AT_ONCE)):
        for key, told in tell(store, batch).items():
            rows = tuple(row for row, _ in told.sentences)
            profiles[key] = CommunityProfile(tuple(batch[key]), rows, told.text_hash)
            texts[told.text_hash] = told
    return profiles, texts


def _told_anew(
    store: StoreWithCommunities, embed: Embed, write_summary: WriteSummary | None, known: Mapping[bytes, Told]
) -> tuple[int, int]:
    """Give every text that has none its vector, and a written summary; how many of each were made."""
    pen = _Pen(write_summary)
    without_vector = set(store.communities.untold(ask=False).values())
    waiting = iter(store.communities.untold(ask=pen.is_there).items())
    embedded = 0
    while batch := dict(islice(waiting, EMBEDDED_AT_ONCE)):
        summaries = [(told, pen.write(told)) for told in _texts(store, batch, known)]
        new = [(told, it) for told, it in summaries if it is not None or told.text_hash in without_vector]
        vectors = _chunk_vectors(store, [told for told, _ in new])
        apart = [(told, it) for told, it in new if told.text_hash not in vectors]
        if apart:
            made = embed([text_for_vector(told.title, it or told.summary) for told, it in apart])
            vectors.update((told.text_hash, vector) for (told, _), vector in zip(apart, made, strict=True))
        store.communities.write_texts([CommunityText(told.text_hash, vectors[told.text_hash], it) for told, it in new])
        embedded += len(apart)
    return embedded, pen.written


def _chunk_vectors(store: StoreWithCommunities, texts: Sequence[Told]) -> dict[bytes, Float32Array]:
    """The vectors of what a single chunk tells: its own, which costs nothing."""
    single = {told.text_hash: told.chunk_keys[0] for told in texts if 0 < len(told.chunk_keys) < MIN_CHUNKS}
    vectors = store.vectors(sorted(set(single.values())))
    return {text: vectors[chunk] for text, chunk in single.items() if chunk in vectors}


def _texts(store: StoreWithCommunities, wanted: Mapping[int, bytes], known: Mapping[bytes, Told]) -> list[Told]:
    """The texts of communities, told again where they are not known: after an interruption, or for another model."""
    unknown = [key for key, text in wanted.items() if text not in known]
    with store.snapshot():
        listed = {key: it.key_entities for key, it in store.communities.profiles(unknown).items()}
        told = tell(store, listed)
    # What changed in the meantime has another text by now; the next update will tell it.
    again = [it for key, it in told.items() if it.text_hash == wanted[key]]
    return [*(known[text] for text in wanted.values() if text in known), *again]


def text_for_vector(title: str, summary: str) -> str:
    """What is embedded of a community: the title on a line of its own, then the summary."""
    return f"{title}\n{summary}" if summary else title


class _Pen:
    """Asks the language model for summaries, until it fails too often."""

    def __init__(self, write_summary: WriteSummary | None) -> None:
        self._write = write_summary
        self._failures = 0
        self.written = 0

    @property
    def is_there(self) -> bool:
        """Whether there is one to ask."""
        return self._write is not None and self._failures < LLM_FAILURES

    def write(self, told: Told) -> str | None:
        """A summary; "" where the model has none to give, None where it was not or could not be asked."""
        if self._write is None or not self.is_there:
            return None
        if len(told.chunk_keys) < MIN_CHUNKS:
            return ""
        try:
            summary = self._write(told.title, [text for _, text in told.sentences])
        except StageError:
            self._failures += 1
            return None
        self._failures = 0
        summary = (summary or "").strip()
        self.written += bool(summary)
        return summary
