"""Keep communities up to date: found from nothing once, then maintained where the documents changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from hybridrag.errors import StageError
from hybridrag.graph.community_ledger import StaleTies
from hybridrag.graph.community_ties import make_graph, modularity, pairs
from hybridrag.graph.community_tree import Tree, grow
from hybridrag.graph.community_upkeep import Upkeep
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

FRESH_SHARE = 0.1
"""When this share of the weight of all ties came or went, communities are found from nothing. Over an encyclopaedia,
maintained ones were within 0.5 % of the modularity of fresh ones up to here, and within 1 % up to twice as much."""

MAX_DRIFT = 0.01
"""...and when the modularity fell by this share; half of what is promised, because a fresh one may be higher."""

ATTEMPTS = 3
"""Another process may bring the communities up to date at the same time; then the work is looked at again."""

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
    recomputed: int
    """How many communities were looked at anew."""
    fresh: bool
    """Whether they were found from nothing."""
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
    """Make the communities fit the documents: call it after adding, changing or removing some.

    Costs what the change costs, and next to nothing when there is none. A crash leaves the old communities, which
    never show anything that is gone, and the next call goes on. `rebuild=True` finds all communities from nothing.

    after one more file about cameras -> CommunityReport(levels=(12, 40), recomputed=5, fresh=False, embedded=2, ...)

    Raises:
        StageError: a text cannot be embedded; the communities are up to date, and wait for their vectors.
        StoreBusy: another process is writing.
    """
    began = time.monotonic()
    change: CommunityChange | None = None
    told: dict[bytes, Told] = {}
    for _ in range(ATTEMPTS):
        with store.snapshot():
            change, told = _worked_out(store, seed=seed, rebuild=rebuild)
        if change is None or store.communities.write(change):
            break
    embedded, written = _told_anew(store, embed, write_summary, told)
    inside, squares = store.communities.quality()
    return CommunityReport(
        levels=store.communities.level_counts(),
        recomputed=len(change.profiles) if change is not None else 0,
        fresh=change is not None and change.whole,
        embedded=embedded,
        written=written,
        modularity=modularity(inside, squares, store.communities.state().weight),
        seconds=time.monotonic() - began,
    )


def rebuild_communities(
    store: StoreWithCommunities, *, embed: Embed, write_summary: WriteSummary | None = None, seed: int = SEED
) -> CommunityReport:
    """Find all communities from nothing: what the same documents, added in any order, give.

    Raises:
        StageError: a text cannot be embedded.
    """
    return update_communities(store, embed=embed, write_summary=write_summary, seed=seed, rebuild=True)


# Where they stand


Worked = tuple[CommunityChange | None, dict[bytes, Told]]
"""A change, and the texts that come with it, by their hash."""


def _worked_out(store: StoreWithCommunities, *, seed: int, rebuild: bool) -> Worked:
    """The change that makes the communities fit; None when they do."""
    state = store.communities.state()
    if rebuild or (state.pending and not state.weight):
        return _found_afresh(store, state, seed)
    if not state.pending:
        return None, {}
    changes = store.communities.changed_chunks()
    upkeep = Upkeep(store, state, changes, seed=seed)
    if upkeep.changed > FRESH_SHARE * upkeep.weight:
        return _found_afresh(store, state, seed)
    try:
        done = upkeep.run()
    except StaleTies:
        return _found_afresh(store, state, seed)
    if done.modularity < (1 - MAX_DRIFT) * state.best_modularity:
        return _found_afresh(store, state, seed)
    profiles, texts = _profiles(store, done.key_entities)
    change = CommunityChange(
        state=replace(state, weight=upkeep.weight, changed=upkeep.changed),
        whole=False,
        nodes=done.nodes,
        profiles=profiles,
        removed=done.removed,
        members=done.members,
        gone=done.gone,
        ties={key: now for key, (_, now) in changes.items()},
    )
    return change, texts


def _found_afresh(
    store: StoreWithCommunities, state: CommunityState, seed: int
) -> tuple[CommunityChange, dict[bytes, Told]]:
    """All communities, from every tie."""
    ties = store.communities.ties()
    none = np.empty(0, dtype=np.int64)
    keys: Keys = np.unique(np.concatenate([none, *(it.members for it in ties.values())]))
    ids = store.graph.entity_ids(keys.tolist())
    # By id, so that the same documents give the same graph whatever keys their entities got.
    ordered = np.array(sorted(keys.tolist(), key=lambda key: ids[key]), dtype=np.int64)
    by_key = np.argsort(ordered)
    first, second, weights = pairs(ties.values())
    graph = make_graph(
        by_key[np.searchsorted(keys, first)], by_key[np.searchsorted(keys, second)], weights, len(ordered)
    )
    nodes, members = _planted(store, grow(graph, seed=seed), ordered, ids)
    profiles, texts = _profiles(store, _strongest(nodes, members, store.communities.dates()))
    weight = float(weights.sum())
    tops = [node for node in nodes.values() if node.level == 0]
    best = modularity(sum(node.inside for node in tops), sum(node.total**2 for node in tops), weight)
    change = CommunityChange(
        state=replace(state, weight=weight, changed=0.0, best_modularity=best),
        whole=True,
        nodes=nodes,
        profiles=profiles,
        removed=(),
        members=members,
        gone=(),
        ties=ties,
    )
    return change, texts


def _planted(
    store: StoreWithCommunities, tree: Tree, entities: Keys, ids: Mapping[int, EntityId]
) -> tuple[dict[int, CommunityNode], list[MemberRow]]:
    """A tree as communities under new keys, with those of the entities that nothing ties to others."""
    nodes: dict[int, CommunityNode] = {}
    for place, branch in enumerate(tree.branches):
        nodes[-1 - place] = CommunityNode(
            key=-1 - place,
            id=community_id_for(branch.level, (ids[key] for key in entities[branch.members].tolist())),
            level=branch.level,
            parent_key=-1 - branch.parent if branch.parent >= 0 else 0,
            size=len(branch.members),
            total=branch.total,
            inside=branch.inside,
        )
    leaves = dict(zip(entities.tolist(), (-1 - tree.leaves).tolist(), strict=True))
    loose = entities[tree.leaves < 0].tolist()
    for file, group in _by_home(store, loose).items():
        key = -1 - len(nodes)
        identity = community_id_for(0, (ids[entity] for entity in group))
        nodes[key] = CommunityNode(key, identity, 0, 0, len(group), 0.0, 0.0, home_file=file)
        leaves.update(dict.fromkeys(group, key))
    rows = zip(entities.tolist(), tree.strengths.tolist(), tree.degrees.tolist(), strict=True)
    return nodes, [MemberRow(entity, leaves[entity], ids[entity], *weights) for entity, *weights in rows]


def _by_home(store: StoreWithCommunities, entities: Sequence[int]) -> dict[int, list[int]]:
    groups: dict[int, list[int]] = {}
    for entity, file in store.communities.home_files(entities).items():
        groups.setdefault(file, []).append(entity)
    return groups


def _strongest(
    nodes: Mapping[int, CommunityNode], members: Sequence[MemberRow], dates: Collection[int]
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
            found[node.parent_key].extend((member.degree, member) for _, member in found[key])
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
