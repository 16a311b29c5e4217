"""Answer a question about the whole: results that cover its themes instead of repeating one.

A question with a topic ("the main risks in the safety reports") gets what bears on it by words and meaning, the best
chunk of every document before the second one of any. A question without one ("summarise the meeting") is near to
nothing in particular; it gets the chunks that together resemble most of what there is, every document counting alike.
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
"""The place by which one community is shown where no topic is asked for, even where chunks would add more: it names
what belongs together."""
SHOWN_SENTENCES = 4
"""Sentences of a community that are looked at, as many as its summary shows."""
REPEATED = 2.0
"""With a topic a chunk is worth 1 / (1 + this for each chunk chosen of its file) of what it says: a third, a fifth."""
COMMON = 0.5
"""A word that more than this share of the chunks hold is what the collection is about, and no topic in it."""
TIE = 1e-6
"""What of two results worth the same the later one is worth less: their order is that of their scores."""
TOPIC, COVER = "topic", "cover"
"""What a result was chosen for."""


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
    base: NDArray[np.float64]
    """How far each chunk bears on the question by words and meaning, 0-1."""


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
    views: Sequence[CommunityShown],
    base: Mapping[int, float],
    *,
    about: Sequence[str] = (),
    filters: SearchFilters | None = None,
    limit: int = COVERED,
) -> list[Hit]:
    """Chunks and communities that together cover what the question is about, the most covering first.

    A corpus on boats, bread and bees, "What is it all about?" -> a chunk or community of each, then the second ones

    `base` is the own score of the chunks that words and meaning found, `views` are the communities of `theme_keys`, and
    `about` are the words of the question's topic; words that most chunks hold are no topic. A community's text is in
    `details`, made from visible chunks alone. A score is how far the result bears on the topic; without one, the share
    of the collection that it adds to what those before it stand for. No candidates -> no hits.
    """
    with store.snapshot():
        pool = _pool(store, views, base, filters)
        if not pool.candidates:
            return []
        topic = any(_is_rare(word, pool) for word in about)
        order = _choose(pool, topic=topic, limit=min(limit, len(pool.candidates)))
        shown = [it.community for it, _ in order if it.community and not it.key]
        ids = store.graph.entity_ids(sorted({row.key for view in shown for row in view.key_entities}))
        # A community stands where it does whatever its worth; what follows is worth no more than what stands before.
        worth = np.minimum.accumulate([score for _, score in order]) - TIE * np.arange(len(order))
        return [
            _hit(pool, one, max(0.0, float(score)), ids, topic=topic)
            for (one, _), score in zip(order, worth, strict=True)
        ]


def _is_rare(word: str, pool: _Pool) -> bool:
    """Whether a word stands in so few chunks that it tells some from the others."""
    return sum(word in chunk.text.casefold() for chunk in pool.chunks.values()) <= COMMON * len(pool.chunks)


def _hit(pool: _Pool, one: _Candidate, score: float, ids: Mapping[int, EntityId], *, topic: bool) -> Hit:
    view = one.community
    path = (view.title,) if view else ()
    scores = {"theme": score, "graph": score}
    details = {"chosen": TOPIC if topic else COVER}
    if one.key or view is None:
        chunk, community = str(pool.chunks[one.key].id), view.id if view else None
        return Hit(chunk, score=score, key=one.key, path=path, community_id=community, scores=scores, details=details)
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
        details=details,
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
    return _Pool(tuple(candidates), chunks, vectors, np.array([base.get(key, 0.0) for key in keys]))


def _choose(pool: _Pool, *, topic: bool, limit: int) -> list[tuple[_Candidate, float]]:
    """The chosen candidates with their scores, greedily: each time the one that adds most."""
    shows = _shows(pool)
    shows /= shows.sum(axis=1, keepdims=True)
    is_chunk = np.array([bool(it.key) for it in pool.candidates])
    alike = _alike(pool.vectors)
    stands_for = np.stack([alike[list(it.places)].max(axis=0) for it in pool.candidates])
    covered = np.zeros(len(pool.vectors))
    files = _files(pool)
    counts = np.bincount(files)
    seen = np.zeros(len(counts))
    chosen: list[tuple[_Candidate, float]] = []
    free = np.ones(len(pool.candidates), dtype=bool)
    for place in range(limit):
        if topic:
            worth = shows @ (pool.base / (1.0 + REPEATED * seen[files]))
        else:
            worth = np.maximum(stands_for - covered, 0.0) @ (1.0 / counts[files]) / len(counts)
        summaries = sum(not one.key for one, _ in chosen)
        allowed = free & (is_chunk | (summaries < place / COMMUNITY_EVERY))
        if place == SUMMARY_BY and not topic and not summaries and not is_chunk.all():
            allowed = ~is_chunk
        if not allowed.any():
            break
        best = int(np.argmax(np.where(allowed, worth, -np.inf)))
        bears = float(shows[best] @ pool.base)
        chosen.append((pool.candidates[best], bears / (1.0 + bears) if topic else float(worth[best])))
        free[best] = False
        covered = np.maximum(covered, stands_for[best])
        if is_chunk[best]:
            seen[files[best]] += 1
    return chosen


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


def _alike(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """How much each chunk stands for each other, 0-1."""
    # Vectors of one model all point about the same way; what tells them apart is where they differ from the mean.
    centred = _unit(vectors - vectors.mean(axis=0)) if len(vectors) > 1 else vectors
    # Squared: three chunks that are a little alike do not stand for a fourth.
    return np.asarray(np.clip(centred @ centred.T, 0.0, 1.0).astype(float) ** 2)


def _each_once(keys: Iterable[int]) -> list[int]:
    return list(dict.fromkeys(keys))


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)
