"""Answer a question about the whole: results that cover its themes instead of repeating one.

A question with a topic ("the main risks in the safety reports") gets what is nearest to it, but of each document only
a part: the second chunk of a document counts less than the first of another. A question without one ("summarise the
meeting") is near to nothing in particular; it gets what covers the candidates, each of which stands for what resembles
it and for what is written around it. Which it is, its words tell, and how unequally near to the chunks it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hybridrag.protocols import CommunityStore, EntityRow, Store
from hybridrag.types.base import Float32Array
from hybridrag.types.documents import Chunk
from hybridrag.types.ids import CommunityId, EntityId, FileId
from hybridrag.types.queries import SearchFilters
from hybridrag.types.results import Hit, SearchResultType

ENOUGH_COMMUNITIES = 8
"""A level is fine enough when so many of its communities are visible: about as many themes as a page can show."""
WEIGHTY = 24
"""Communities taken for their weight."""
NEAR = 16
"""Communities taken for their nearness to the question."""
POOL = 100
"""Chunks that are weighed against each other, the best by words and meaning."""
CHUNKS_OF_EACH = 3
"""Chunks that a community brings in: those its first sentences stand in."""
COVERED = 20
"""Results that are chosen for coverage; what follows is in the order of its score."""
COMMUNITY_EVERY = 5
"""At most one result in so many is a community: a summary says what there is, the chunks are what was said."""
SUMMARY_BY = 5
"""The place by which one community is shown, even where chunks would add more: it names what belongs together."""
SHOWN_SENTENCES = 4
"""Sentences of a community that are looked at, as many as its summary shows."""
REPEATED_POWER = 4
"""How a candidate of a question with a topic loses what a chosen result has said: wholly where they are alike, by a
sixteenth where they are so by half."""
AROUND = 0.5
"""How much standing near each other in the reading order counts beside resembling each other: neighbours are mostly
about one thing."""
STRETCHES = 20
"""The reading order is as many stretches long; within one, chunks count as neighbours."""
NO_TOPIC, TOPIC = 0.45, 0.65
"""The spread of the question's cosines over that of the chunks among themselves: up to the first the question has no
topic, from the second on it has one. Set on fourteen questions with a topic (0.67-1.2) and twelve without (0.31-0.68).
"""
FEWEST_TO_COMPARE = 3
"""Chunks from which on it can be told how unequally near a question is to them."""


class Cited(Protocol):
    """A sentence of a community, by the chunk that it stands in."""

    @property
    def chunk_key(self) -> int:
        """The chunk."""
        ...


class CommunityShown(Protocol):
    """A community as the visible chunks show it."""

    @property
    def key(self) -> int:
        """Its key in the store."""
        ...

    @property
    def id(self) -> CommunityId:
        """Its public id."""
        ...

    @property
    def title(self) -> str:
        """What it is about, in a few words."""
        ...

    @property
    def summary(self) -> str:
        """What it is about, in sentences of visible chunks."""
        ...

    @property
    def key_entities(self) -> Sequence[EntityRow]:
        """The members that matter most."""
        ...

    @property
    def sentences(self) -> Sequence[Cited]:
        """What the summary rests on, the most telling first."""
        ...

    @property
    def rank(self) -> float:
        """How much it matters among its level."""
        ...


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question about the whole."""

    vector: NDArray[np.float32]
    has_topic: bool
    """By its words."""

    def focus(self, vectors: NDArray[np.float32]) -> float:
        """How far it has a topic among these, 0-1: without one it is about equally near to everything."""
        if not self.has_topic:
            return 0.0
        if len(vectors) < FEWEST_TO_COMPARE:
            return 1.0
        among = (vectors @ vectors.T)[np.triu_indices(len(vectors), 1)].std()
        spread = float((vectors @ self.vector).std() / among) if among > 0 else 1.0
        return min(1.0, max(0.0, (spread - NO_TOPIC) / (TOPIC - NO_TOPIC)))


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A chunk or a community that may be shown."""

    key: int
    """Of the chunk; 0 for a community."""
    community: CommunityShown | None
    """The community that it is, or that led to it."""
    places: tuple[int, ...]
    """Where the chunks that it shows stand among the candidates: for a chunk, its own place."""


@dataclass(frozen=True, slots=True)
class _Pool:
    """What is chosen from: the chunks in reading order, then the communities."""

    candidates: tuple[_Candidate, ...]
    chunks: Mapping[int, Chunk]
    vectors: NDArray[np.float32]
    """Of the chunks."""


def theme_keys(
    communities: CommunityStore, vector: Float32Array | None, *, filters: SearchFilters | None = None
) -> list[int]:
    """The communities to choose from: those nearest to the question, then the weightiest of a level fine enough.

    The level is the coarsest that shows a page of themes under the filter; a corpus of one theme has but few.
    """
    near = [key for key, _ in communities.search(vector, NEAR, filters=filters)] if vector is not None else []
    weighty: list[int] = []
    for level in range(len(communities.level_counts())):
        weighty = communities.at_level(level, WEIGHTY, filters=filters)
        if len(weighty) >= ENOUGH_COMMUNITIES:
            break
    return list(dict.fromkeys([*near, *weighty]))


def search_themes(
    store: Store,
    vector: Float32Array,
    views: Sequence[CommunityShown],
    base: Mapping[int, float],
    *,
    has_topic: bool = True,
    filters: SearchFilters | None = None,
    limit: int = COVERED,
) -> list[Hit]:
    """Chunks and communities that together cover what the question is about, the most covering first.

    A corpus on boats, bread and bees, "What is it all about?" -> a chunk or community of each, then the second ones

    `vector` is the question's, which may name a topic; `base` is the own score of the chunks
    that words and meaning found, `views` are the communities of `theme_keys`. A community's text is in `details`, made
    from visible chunks alone. Scores fall with the order. No candidates -> no hits.
    """
    with store.snapshot():
        asked = _Asked(np.asarray(vector, dtype=np.float32), has_topic)
        pool = _pool(store, views, base, filters)
        if not pool.candidates:
            return []
        order = _choose(pool, asked, min(limit, len(pool.candidates)))
        shown = [it.community for it in map(pool.candidates.__getitem__, order) if it.community and not it.key]
        ids = store.graph.entity_ids(sorted({row.key for view in shown for row in view.key_entities}))
        # Scores only say the order: what a result is worth depends on those before it.
        scores = [1.0 - 0.5 * rank / limit for rank in range(len(order))]
        return [_hit(pool, pool.candidates[at], score, ids) for at, score in zip(order, scores, strict=True)]


def _hit(pool: _Pool, one: _Candidate, score: float, ids: Mapping[int, EntityId]) -> Hit:
    view = one.community
    path = (view.title,) if view else ()
    scores = {"theme": score, "graph": score}
    if one.key or view is None:
        community = view.id if view else None
        return Hit(
            str(pool.chunks[one.key].id), score=score, key=one.key, path=path, community_id=community, scores=scores
        )
    return Hit(
        id=view.id,
        text=view.summary,
        score=score,
        title=view.title,
        type=SearchResultType.COMMUNITY,
        path=path,
        entity_ids=tuple(ids[row.key] for row in view.key_entities if row.key in ids),
        community_id=view.id,
        scores=scores,
    )


def _pool(
    store: Store,
    views: Sequence[CommunityShown],
    base: Mapping[int, float],
    filters: SearchFilters | None,
) -> _Pool:
    """The best chunks by words and meaning, those that communities rest on, and the communities."""
    rests_on = {view.key: _each_once(it.chunk_key for it in view.sentences[:SHOWN_SENTENCES]) for view in views}
    led: dict[int, CommunityShown] = {}
    for view in views:
        for key in rests_on[view.key][:CHUNKS_OF_EACH]:
            led.setdefault(key, view)
    best = sorted(base, key=lambda key: (-base[key], key))[:POOL]
    chunks = store.chunks_by_key(_each_once([*best, *led]), filters=filters)
    known = store.vectors(list(chunks))
    # Keys rise in the order of reading: within a document for certain, and mostly from one to the next.
    keys = sorted(key for key in chunks if key in known)
    at = {key: place for place, key in enumerate(keys)}
    candidates = [_Candidate(key, led.get(key), (at[key],)) for key in keys]
    for view in views:
        places = tuple(at[key] for key in rests_on[view.key] if key in at)
        if places and view.summary:
            candidates.append(_Candidate(0, view, places))
    vectors = _unit(np.stack([known[key] for key in keys])) if keys else np.zeros((0, 0), np.float32)
    return _Pool(tuple(candidates), chunks, vectors)


def _choose(pool: _Pool, asked: _Asked, limit: int) -> list[int]:
    """Places of the chosen candidates, greedily: each time the one that adds most."""
    shows = _shows(pool)
    is_chunk = np.array([bool(it.key) for it in pool.candidates])
    focus = asked.focus(pool.vectors)
    # A community is as near as the middle of what it shows.
    relevance = (shows / shows.sum(axis=1, keepdims=True)) @ _stretched(pool.vectors @ asked.vector)
    says, around = _alike(pool.vectors)
    mixed = (1 - AROUND) * says + AROUND * around
    stands_for = np.stack([mixed[list(it.places)].max(axis=0) for it in pool.candidates])
    covered = np.zeros(len(pool.vectors))
    said = np.zeros(len(pool.vectors))
    files = _files(pool)
    seen = np.zeros(files.max(initial=-1) + 1)
    order: list[int] = []
    free = np.ones(len(pool.candidates), dtype=bool)
    for place in range(limit):
        fresh = (shows @ (1.0 / (1.0 + seen[files]))) / shows.sum(axis=1)
        fresh *= (shows @ (1.0 - said**REPEATED_POWER)) / shows.sum(axis=1)
        gain = np.maximum(stands_for - covered, 0.0).sum(axis=1)
        worth = focus * relevance * fresh + (1 - focus) * gain / (gain.max() or 1.0)
        summaries = sum(not pool.candidates[at].key for at in order)
        allowed = free & (is_chunk | (summaries < place / COMMUNITY_EVERY))
        if place == SUMMARY_BY and not summaries and not is_chunk.all():
            allowed = ~is_chunk
        if not allowed.any():
            break
        best = int(np.argmax(np.where(allowed, worth, -np.inf)))
        order.append(best)
        free[best] = False
        covered = np.maximum(covered, stands_for[best])
        if is_chunk[best]:
            seen[files[best]] += 1
            said = np.maximum(said, says[best])
    return order


def _shows(pool: _Pool) -> NDArray[np.float64]:
    """(candidates, chunks): 1 where a candidate shows a chunk."""
    shows = np.zeros((len(pool.candidates), len(pool.vectors)))
    for row, one in enumerate(pool.candidates):
        shows[row, list(one.places)] = 1.0
    return shows


def _files(pool: _Pool) -> NDArray[np.int64]:
    """Which file each chunk is of, counted from 0."""
    numbers: dict[FileId, int] = {}
    chunks = (pool.chunks[it.key] for it in pool.candidates if it.key)
    return np.array([numbers.setdefault(chunk.file_id, len(numbers)) for chunk in chunks], dtype=np.int64)


def _alike(vectors: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How much each chunk stands for each other: by what it says, and by where it stands."""
    # Vectors of one model all point about the same way; what tells them apart is where they differ from the mean.
    centred = _unit(vectors - vectors.mean(axis=0))
    says = np.clip(centred @ centred.T, 0.0, 1.0).astype(float)
    places = np.arange(len(vectors))
    stretch = max(1.0, len(vectors) / STRETCHES)
    return says, np.exp(-np.abs(places[:, None] - places[None, :]) / stretch)


def _each_once(keys: Iterable[int]) -> list[int]:
    return list(dict.fromkeys(keys))


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)


def _stretched(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    low, high = float(scores.min()), float(scores.max())
    return (scores.astype(float) - low) / (high - low) if high > low else np.ones(len(scores))
