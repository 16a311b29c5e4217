"""The graph's part of a search: what the question names, what joins it, where that leads, what the whole is about."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hybridrag.config import WalkSettings
from hybridrag.graph.community_views import view_communities
from hybridrag.graph.names import name_key
from hybridrag.protocols import Linker, Question, StoreWithCommunities
from hybridrag.search.blend import own_scores, seed_weights
from hybridrag.search.entity_hits import search_entities
from hybridrag.search.hop import Seed, Trail, find_seeds, hop
from hybridrag.search.named import Named, find_named
from hybridrag.search.state import SearchState
from hybridrag.search.themes import search_themes, theme_keys
from hybridrag.types.base import Float32Array
from hybridrag.types.documents import Chunk, FileInfo
from hybridrag.types.queries import QueryType, SearchFilters
from hybridrag.types.results import Hit


@dataclass(frozen=True, slots=True)
class GraphStart:
    """What the graph knows of the question itself."""

    seeds: tuple[Seed, ...] = ()
    named: tuple[Named, ...] = ()
    entities: tuple[Hit, ...] = ()
    """What is named, as results of its own, where the question is about just that."""


NAMED_FOR_FACTS = 0.25
"""How much being named counts where one fact is asked for: the page with the name need not be the one that tells it."""

FURTHER = " > "
"""Between the names of a trail of several steps."""

FIRST_SHARE = 0.5
"""What a title adds to the first chunk of its document at least: it says what the whole is about."""


class GraphSearch:
    """Searches the graph of one store. Thread-safe."""

    def __init__(self, store: StoreWithCommunities, linker: Linker, walk: WalkSettings) -> None:
        self._store = store
        self._linker = linker
        self._walk = walk

    def start(self, state: SearchState) -> GraphStart:
        """What needs the question alone; runs beside the other searches."""
        graph, filters, text = self._store.graph, state.query.filters, state.question.text
        with self._store.snapshot():
            rarity = self._rarity(text)
            seeds = find_seeds(graph, self._linker, text, rarity=rarity, filters=filters)
            names = dict.fromkeys([name.text for name in state.question.names] + [name.text for name in state.names])
            named = find_named(graph, self._linker, list(names), name_key=name_key, filters=filters)
            about_it = state.question.asks_what_it_is
            entities = search_entities(self._store, named, filters=filters) if about_it else []
        return GraphStart(tuple(seeds), tuple(named), tuple(entities))

    def follow(self, state: SearchState, start: GraphStart) -> list[Hit]:
        """What starts from the chunks that words and meaning found: hits scored by `seed` and `trail`, or by `theme`.

        `seed` is what being named adds to a chunk's own score, `trail` how strongly the best chunks lead to it.
        """
        base, filters, plan = state.base, state.query.filters, state.plan
        share = plan.graph_share
        named_share = share * (NAMED_FOR_FACTS if plan.type is QueryType.LOCAL else 1.0)
        with self._store.snapshot():
            vector = state.question.pooled
            if plan.type is QueryType.GLOBAL and vector is not None:
                themes = self._themes(state.question, base, vector, filters)
                return _hits(base, start.seeds, {}, themes, share=share, named_share=named_share)
            asked = frozenset(name.entity_key for name in state.names)
            seeds = self._spread(start.seeds, base)
            own = own_scores(base, seeds)
            trails = self._hop(own, asked, filters)
            for _ in range(plan.hops - 1):
                trails = self._further(trails, own, asked, filters)
            hits = _hits(base, seeds, trails, (), share=share, named_share=named_share)
            return self._with_origins(hits, trails, start, filters)

    def _spread(self, seeds: Sequence[Seed], base: Mapping[int, float]) -> tuple[Seed, ...]:
        """The seeds, each on the chunks of its document that fit the question, the best fitting first.

        A title names a whole document, and its first chunk is rarely the one that answers.
        """
        keys = {*base, *(seed.chunk_key for seed in seeds)} if seeds else set()
        files = self._store.file_keys(sorted(keys))
        spread: list[Seed] = []
        for seed in seeds:
            here = files.get(seed.chunk_key)
            beside = [key for key in base if files.get(key) == here and key != seed.chunk_key]
            ranked = sorted([seed.chunk_key, *beside], key=lambda key: (-base.get(key, 0.0), key))
            best = max(base.get(ranked[0], 0.0), 1e-9)
            for place, key in enumerate(ranked, start=1):
                share = max(base.get(key, 0.0) / best, FIRST_SHARE if key == seed.chunk_key else 0.0)
                if share > 0:
                    spread.append(replace(seed, chunk_key=key, weight=seed.weight * share / math.sqrt(place)))
        return tuple(spread)

    def _hop(self, own: Mapping[int, float], asked: frozenset[int], filters: SearchFilters) -> dict[int, Trail]:
        graph, communities = self._store.graph, self._store.communities
        return hop(graph, own, communities=communities, asked=asked, filters=filters, walk=self._walk)

    def _further(
        self, trails: Mapping[int, Trail], own: Mapping[int, float], asked: frozenset[int], filters: SearchFilters
    ) -> dict[int, Trail]:
        """One step more, from where the last one led; each step is worth less by the strength of the one before."""
        reached = {key: max(own.get(key, 0.0), trail.strength) for key, trail in trails.items()}
        more = self._hop(reached, asked, filters)
        joined = dict(trails)
        for key, trail in more.items():
            before = trails.get(trail.source_key)
            via = FURTHER.join([before.via, trail.via]) if before else trail.via
            strength = trail.strength * (before.strength if before else 1.0)
            if key not in joined or strength > joined[key].strength:
                joined[key] = Trail(trail.source_key, via, strength)
        return joined

    def _with_origins(
        self, hits: list[Hit], trails: Mapping[int, Trail], start: GraphStart, filters: SearchFilters
    ) -> list[Hit]:
        """The hits with the entities that led to them, and the path of a trail with where it began."""
        led = {hit.key: trails[hit.key] for hit in hits if hit.key in trails}
        chunks = self._store.chunks_by_key(sorted({trail.source_key for trail in led.values()}), filters=filters)
        files = {file_id: self._store.file(file_id) for file_id in {chunk.file_id for chunk in chunks.values()}}
        begins = {key: _title(chunk, files[chunk.file_id]) for key, chunk in chunks.items()}
        begins |= {seed.chunk_key: seed.alias for seed in start.seeds}
        by = {key: [trail.entity_key] for key, trail in led.items() if trail.entity_key}
        for named in start.named:
            for key in dict.fromkeys([*named.titled, *named.mentioned]):
                by.setdefault(key, []).extend(named.entity_keys)
        ids = self._store.graph.entity_ids(sorted({entity for keys in by.values() for entity in keys}))
        return [
            replace(
                hit,
                path=tuple(dict.fromkeys(filter(None, (_begin(led.get(hit.key), begins), *hit.path)))),
                entity_ids=tuple(dict.fromkeys(ids[entity] for entity in by.get(hit.key, ()) if entity in ids)),
            )
            for hit in hits
        ]

    def _themes(
        self, question: Question, base: Mapping[int, float], vector: Float32Array, filters: SearchFilters
    ) -> list[Hit]:
        keys = theme_keys(self._store.communities, vector, filters=filters)
        views = view_communities(self._store, keys, filters=filters)
        return search_themes(self._store, list(views.values()), base, about=question.topic, filters=filters)

    def _rarity(self, text: str) -> dict[str, float]:
        total = max(1, self._store.chunk_count())
        counts = self._store.graph.probe_frequency(sorted(self._linker.probe_terms(text)))
        return {term: math.log((total + 1) / (count + 0.5)) for term, count in counts.items()}


def _begin(trail: Trail | None, begins: Mapping[int, str]) -> str:
    return begins.get(trail.source_key, "") if trail else ""


def _title(chunk: Chunk, file: FileInfo | None) -> str:
    """What a chunk is of, in a few words."""
    return ((file.title or Path(file.name).stem) if file else "") or (chunk.headings[-1] if chunk.headings else "")


def _hits(
    base: Mapping[int, float],
    seeds: Sequence[Seed],
    trails: Mapping[int, Trail],
    known: Sequence[Hit],
    *,
    share: float,
    named_share: float,
) -> list[Hit]:
    """One hit for each chunk that is named or led to, and for what covers a theme; evidence counts by its share."""
    names = {seed.chunk_key: seed.alias for seed in seeds}
    named = {key: named_share * weight for key, weight in seed_weights(base, seeds).items()}
    by_key = {hit.key: hit for hit in known if hit.key}
    hits = [hit for hit in known if not hit.key]
    for key in dict.fromkeys([*by_key, *named, *trails]):
        hit, trail = by_key.get(key), trails.get(key)
        theme = hit.scores.get("theme") if hit else None
        scores = {} if theme is None else {"theme": theme}
        if key in named:
            scores["seed"] = named[key]
        if trail is not None:
            scores["trail"] = share * trail.strength
        score = min(1.0, max(scores.values(), default=0.0))
        scores["graph"] = score
        path = hit.path if theme is not None and hit else (*trail.via.split(FURTHER),) if trail else (names[key],)
        details = {**(hit.details if hit else {}), "named": names.get(key, "")}
        made = replace(hit or Hit(""), id=str(key), key=key, score=score, scores=scores, path=path, details=details)
        hits.append(made)
    return hits
