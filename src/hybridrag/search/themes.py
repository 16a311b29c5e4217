"""Answer a question about the whole: results that cover its themes instead of repeating one.

What is to be covered are the candidates themselves: the chunks nearest to the question and those that the weightiest
communities rest on. Each result covers what resembles it; the next one is whatever covers most of the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hybridrag.protocols import CommunityStore, EntityRow, Store
from hybridrag.types.base import Float32Array
from hybridrag.types.ids import CommunityId
from hybridrag.types.queries import SearchFilters
from hybridrag.types.results import Hit, SearchResultType

ENOUGH_COMMUNITIES = 8
"""A level is fine enough when so many of its communities are visible: about as many themes as a page can show."""
WEIGHTY = 24
"""Communities taken for their weight."""
NEAR = 16
"""Communities taken for their nearness to the question."""
POOL = 150
"""Chunks that are weighed against each other, the best by words and meaning."""
CHUNKS_OF_EACH = 3
"""Chunks that a community brings in: those its first sentences stand in."""
COVERED = 20
"""Results that are chosen for coverage; what follows is in the order of its score."""
COMMUNITY_EVERY = 3
"""At most one result in so many is a community: a summary says what there is, the chunks are what was said."""
RELEVANCE = 0.3
"""How much bearing on the question counts beside covering something new."""
BROAD = 0.25
"""What a candidate without any bearing on the question weighs in what is to be covered."""


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
    filters: SearchFilters | None = None,
    limit: int = COVERED,
) -> list[Hit]:
    """Chunks and communities that together cover what the question is about, the most covering first.

    A corpus on boats, bread and bees, "What is it all about?" -> a chunk or community of each, then the second ones

    `vector` is the question's, `base` the own score of the chunks that words and meaning found, `views` the
    communities of `theme_keys`. A community's text is in `details`, made from visible chunks alone. Scores fall with
    the order. No candidates -> no hits.
    """
    with store.snapshot():
        candidates, vectors = _candidates(store, views, base, filters)
        if not candidates:
            return []
        order, gains = _cover(candidates, vectors, vector, min(limit, len(candidates)))
        chunks = store.chunks_by_key([it.key for it in candidates if it.key], filters=filters)
        entities = sorted({row.key for view in views for row in view.key_entities})
        ids = store.graph.entity_ids(entities)
        hits = []
        for place, score in zip(order, gains, strict=True):
            one = candidates[place]
            view = one.community
            members = tuple(ids[row.key] for row in view.key_entities if row.key in ids) if view else ()
            if one.key:
                hits.append(
                    Hit(
                        id=chunks[one.key].id,
                        score=score,
                        key=one.key,
                        path=(view.title,) if view else (),
                        community_id=view.id if view else None,
                        details={"chosen": "cover"},
                    )
                )
            elif view is not None:
                hits.append(
                    Hit(
                        id=view.id,
                        score=score,
                        type=SearchResultType.COMMUNITY,
                        path=(view.title,),
                        entity_ids=members,
                        community_id=view.id,
                        details={"chosen": "cover", "title": view.title, "text": view.summary},
                    )
                )
        return hits


def _candidates(
    store: Store, views: Sequence[CommunityShown], base: Mapping[int, float], filters: SearchFilters | None
) -> tuple[list[_Candidate], NDArray[np.float32]]:
    """Chunks, then communities, with a unit vector each: that of a community is the mean of its chunks."""
    led: dict[int, CommunityShown] = {}
    rests_on: dict[int, list[int]] = {}
    for view in views:
        keys = list(dict.fromkeys(it.chunk_key for it in view.sentences))
        rests_on[view.key] = keys
        for key in keys[:CHUNKS_OF_EACH]:
            led.setdefault(key, view)
    best = sorted(base, key=lambda key: (-base[key], key))[:POOL]
    wanted = list(dict.fromkeys([*best, *(key for keys in rests_on.values() for key in keys)]))
    visible = store.chunks_by_key(wanted, filters=filters)
    known = {key: vector for key, vector in store.vectors(list(visible)).items() if key in visible}
    shown = [key for key in dict.fromkeys([*best, *led]) if key in known]
    candidates = [_Candidate(key, led.get(key)) for key in shown]
    vectors = [known[key] for key in shown]
    for view in views:
        parts = [known[key] for key in rests_on[view.key] if key in known]
        if parts and view.summary:
            candidates.append(_Candidate(0, view))
            vectors.append(np.mean(parts, axis=0))
    if not vectors:
        return [], np.zeros((0, 0), np.float32)
    return candidates, _unit(np.stack(vectors))


def _cover(
    candidates: Sequence[_Candidate], vectors: NDArray[np.float32], question: Float32Array, limit: int
) -> tuple[list[int], list[float]]:
    """Places of the chosen candidates and a falling score for each: facility location, greedily."""
    relevance = _stretched(vectors @ np.asarray(question, dtype=np.float32))
    is_chunk = np.array([it.key > 0 for it in candidates])
    # Vectors of one model all point about the same way; what tells them apart is where they differ from the mean.
    centred = _unit(vectors - vectors[is_chunk].mean(axis=0)) if is_chunk.any() else vectors
    alike = np.clip(centred @ centred.T, 0.0, 1.0)
    wanted = np.where(is_chunk, BROAD + (1 - BROAD) * relevance, 0.0)
    wanted /= wanted.sum() or 1.0
    covered = np.zeros(len(candidates))
    free = np.ones(len(candidates), dtype=bool)
    order: list[int] = []
    scores: list[float] = []
    shown = 0
    for place in range(limit):
        gains = np.maximum(alike - covered[:, None], 0.0).T @ wanted
        worth = gains / (gains.max() or 1.0) + RELEVANCE * relevance
        allowed = free & (is_chunk | (shown < (place + 1) / COMMUNITY_EVERY))
        if not allowed.any():
            break
        best = int(np.argmax(np.where(allowed, worth, -1.0)))
        order.append(best)
        scores.append(1.0 - 0.5 * place / max(1, limit))
        free[best] = False
        shown += int(not is_chunk[best])
        covered = np.maximum(covered, alike[:, best])
    return order, scores


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)


def _stretched(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    low, high = float(scores.min()), float(scores.max())
    return (scores.astype(float) - low) / (high - low) if high > low else np.ones(len(scores))
