"""Stage 2: three searches in parallel, and one ranking of what they found."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from pydantic import JsonValue

from hybridrag.config import SearchSettings
from hybridrag.language.tokenise import query_terms
from hybridrag.protocols import Embedder, Linker, Question, StoreWithCommunities, WebPage
from hybridrag.queries.plan import DEFAULT_WEIGHTS
from hybridrag.search.blend import LOWEST_SHOWN, Blended, base_scores, blend
from hybridrag.search.duplicates import find_duplicates
from hybridrag.search.fuse import Fused, fuse
from hybridrag.search.graph_search import NOWHERE, GraphEnd, GraphSearch, GraphStart, weakened
from hybridrag.search.keyword import KeywordSearch, bm25_score, search_keywords
from hybridrag.search.parallel import Leg, Timed
from hybridrag.search.record import Note, Recorder
from hybridrag.search.understand import Understood
from hybridrag.steps import Step, StepState
from hybridrag.types.base import Float32Array
from hybridrag.types.documents import Chunk, FileInfo
from hybridrag.types.ids import FileId
from hybridrag.types.queries import QueryType, SearchQuery, SearchStrategy, SearchWeights
from hybridrag.types.results import Hit, SearchResultType, StrategyMetric

DEDUPLICATED = 100
"""How many of the best are compared with one another."""

GRAPH_SHARE = min(weights.graph for weights in DEFAULT_WEIGHTS.values())
"""From this weight on the graph counts in full. A caller who gives it less lowers what it adds."""


NAMED_FOR_FACTS = 0.25
"""How much being named counts where one fact is asked for: the page with the name need not be the one that tells it."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One try at a question: what is searched, and how."""

    query: SearchQuery
    """As the caller asked it: filters and options always hold."""
    text: str
    """What is searched in this try."""
    understood: Understood
    weights: SearchWeights
    depth: int
    """Candidates of each search."""
    hops: int
    """How many steps the graph is followed."""
    known: Question | None = None
    """The question with its vectors, where an earlier try made them for the same text."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A result in the making, with what its place rests on."""

    key: int
    """The store's key of a chunk; 0 for what is not one."""
    score: float
    """What orders it."""
    combined: float
    """The same from 0 to 1, monotone with it."""
    graph: float = 0.0
    """The graph's own score of it."""
    path: tuple[str, ...] = ()
    arithmetic: Callable[[], dict[str, JsonValue]] = dict
    """How the score came about, for the trace; made for the few that are shown."""
    hit: Hit | None = None
    """What the graph knows of it."""
    page: WebPage | None = None
    """Where it was found, if outside the documents."""
    rerank: float | None = None
    shown: float | None = None
    """The score after reranking; None where no reranker changed it."""
    copies: int = 0
    """How many that say the same were left out."""

    @property
    def final(self) -> float:
        """What is reported as its score."""
        return self.combined if self.shown is None else self.shown


@dataclass(slots=True)
class Found:
    """What one try found."""

    ask: Ask
    question: Question
    by_score: bool = True
    """Whether scores were fused, and not ranks: only a score says how sure a result is."""
    keyword: KeywordSearch | None = None
    by_word: dict[int, float] = field(default_factory=dict)
    """Each chunk's keyword score, 0-1."""
    semantic: dict[int, float] = field(default_factory=dict)
    base: dict[int, float] = field(default_factory=dict)
    start: GraphStart = field(default_factory=GraphStart)
    end: GraphEnd = NOWHERE
    metrics: dict[SearchStrategy, StrategyMetric] = field(default_factory=dict)
    ranked: list[Ranked] = field(default_factory=list)
    chunks: dict[int, Chunk] = field(default_factory=dict)
    """Those that were read so far, by key: every later stage reads the same ones."""
    files: dict[FileId, FileInfo | None] = field(default_factory=dict)
    """The same for their files."""
    vectors: dict[int, Float32Array] = field(default_factory=dict)
    """Of the best chunks, by key: what compares results with one another reads them once."""

    def read(self, store: StoreWithCommunities, keys: Sequence[int]) -> dict[int, Chunk]:
        """The chunks of these keys that exist and pass the filter."""
        missing = [key for key in keys if key and key not in self.chunks]
        if missing:
            self.chunks |= store.chunks_by_key(missing, filters=self.ask.query.filters)
        return {key: self.chunks[key] for key in keys if key in self.chunks}

    def read_files(self, store: StoreWithCommunities, chunks: Iterable[Chunk]) -> dict[FileId, FileInfo | None]:
        """The files of these chunks."""
        for file_id in {chunk.file_id for chunk in chunks} - self.files.keys():
            self.files[file_id] = store.file(file_id)
        return self.files

    def ranks(self) -> dict[SearchStrategy, dict[int, int]]:
        """Each search's own order of chunks."""
        orders = {
            SearchStrategy.KEYWORD: _best_first(self.by_word),
            SearchStrategy.SEMANTIC: _best_first(self.semantic),
            SearchStrategy.GRAPH: _best_first(self.led()),
        }
        return {
            name: {key: rank for rank, key in enumerate(order, start=1)}
            for name, order in orders.items()
            if name in self.metrics
        }

    def led(self) -> dict[int, float]:
        """What the graph said of chunks, 0-1."""
        led = {hit.key: hit.score for hit in self.end.themes if hit.key}
        for seed in self.end.seeds:
            led[seed.chunk_key] = max(led.get(seed.chunk_key, 0.0), min(1.0, seed.weight))
        for key, trail in self.end.trails.items():
            led[key] = max(led.get(key, 0.0), min(1.0, trail.strength))
        return led

    def graph_hits(self) -> dict[int, Hit]:
        """What the graph knows of chunks, by key."""
        return {hit.key: hit for hit in (*self.start.related, *self.end.themes) if hit.key}


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What the semantic search found, and the question's vectors."""

    near: dict[int, float]
    pooled: Float32Array
    tokens: Float32Array | None


class Finder:
    """Runs the three searches over one store. Thread-safe."""

    def __init__(
        self,
        store: StoreWithCommunities,
        embedder: Callable[[], Embedder],
        linker: Linker,
        settings: SearchSettings,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._graph = GraphSearch(store, linker, settings.walk)
        self._settings = settings

    def find(self, ask: Ask, recorder: Recorder) -> Found:
        """Search three ways and rank; a search that fails or is late is named in the metrics, and the others answer."""
        question = Question(ask.text, ask.understood.classification)
        found = Found(ask, question, by_score=self._settings.fusion != "rrf")
        self._search(found, recorder)
        self._rank(found, recorder)
        self._deduplicate(found, recorder)
        return found

    # The three searches

    def _search(self, found: Found, recorder: Recorder) -> None:
        ask = found.ask
        enabled = ask.query.options.enabled
        seconds = self._settings.deadline_seconds
        # The graph starts from the best chunks by word and meaning, so those two run in any case.
        keyword = Leg("keyword", lambda: self._keyword(ask), seconds=seconds)
        semantic = Leg("semantic", lambda: self._semantic(ask), seconds=seconds)
        filters, understood = ask.query.filters, ask.understood
        graph: Leg[GraphStart] | None = None
        if SearchStrategy.GRAPH in enabled:
            graph = Leg("graph", lambda: self._graph.start(ask.text, understood, filters), seconds=seconds)
        self._take_keyword(found, keyword.result(), recorder)
        self._take_semantic(found, semantic.result(), recorder)
        weights = ask.weights if graph is None else _own_weights(ask.weights)
        found.question = replace(found.question, rarity=rarity_of(self._store, ask.text))
        found.base = _base(found, weights)
        if graph is None:
            recorder.skipped(Step.GRAPH, "Not asked for.")
            return
        started = graph.result()
        # What the others took is not the graph's fault: following has a deadline of its own.
        follow = partial(
            self._graph.follow,
            ask.text,
            started.value or GraphStart(),
            found.base,
            understood,
            filters,
            vector=found.question.pooled,
            hops=ask.hops,
        )
        self._take_graph(found, started, Leg("graph", follow, seconds=seconds).result(), recorder)

    def _keyword(self, ask: Ask) -> KeywordSearch:
        """The question's own words, and below them what its other wordings find."""
        filters = ask.query.filters
        own = search_keywords(self._store, ask.text, ask.depth, filters=filters)
        if own.explicit:
            return own
        raw = {key: _logit(score) for key, score in own.hits}
        for expansion in ask.understood.expansions:
            other = search_keywords(self._store, expansion.text, ask.depth, filters=filters)
            for key, score in other.hits:
                raw[key] = max(raw.get(key, 0.0), expansion.weight * _logit(score))
        best = sorted(raw, key=lambda key: (-raw[key], key))[: ask.depth]
        return replace(own, hits=tuple((key, bm25_score(raw[key])) for key in best))

    def _semantic(self, ask: Ask) -> _Meaning:
        given: Float32Array | None = ask.query.embedding
        tokens: Float32Array | None = None
        if ask.known is not None and ask.known.pooled is not None:
            given, tokens = ask.known.pooled, ask.known.tokens
        elif given is None or ask.text != ask.query.text:
            embedded = self._embedder().embed_query(ask.text, tokens=True)
            given = embedded.pooled[0]
            tokens = embedded.tokens[0] if embedded.tokens else None
        near = self._store.search_vector(given, ask.depth, filters=ask.query.filters)
        return _Meaning({key: min(1.0, max(0.0, cosine)) for key, cosine in near}, given, tokens)

    # What each gave

    def _take_keyword(self, found: Found, timed: Timed[KeywordSearch], recorder: Recorder) -> None:
        note = Note()
        if timed.value is not None:
            found.keyword = timed.value
            found.by_word = dict(timed.value.hits)
            note.details |= {"relaxed": timed.value.relaxed, "dropped": list(timed.value.dropped)}
        _measure(found, SearchStrategy.KEYWORD, timed, found.by_word, note, recorder)

    def _take_semantic(self, found: Found, timed: Timed[_Meaning], recorder: Recorder) -> None:
        note = Note()
        if timed.value is not None:
            found.semantic = timed.value.near
            found.question = replace(found.question, pooled=timed.value.pooled, tokens=timed.value.tokens)
        _measure(found, SearchStrategy.SEMANTIC, timed, found.semantic, note, recorder)

    def _take_graph(
        self, found: Found, started: Timed[GraphStart], followed: Timed[GraphEnd], recorder: Recorder
    ) -> None:
        # A caller who gives the graph little weight gets little of it.
        share = min(1.0, found.ask.weights.graph / GRAPH_SHARE)
        seeds = NAMED_FOR_FACTS if found.ask.understood.plan.type is QueryType.LOCAL else 1.0
        found.start, found.end = weakened(started.value or GraphStart(), followed.value or NOWHERE, share, seeds=seeds)
        note = Note(
            details={
                "named": [named.name for named in found.start.named if named.about],
                "seeds": len(found.start.seeds),
                "related": len(found.start.related),
                "trails": len(found.end.trails),
                "themes": len(found.end.themes),
            }
        )
        seconds = started.seconds + followed.seconds
        both: Timed[Any] = Timed(started.result if started.error else followed.result, seconds)
        _measure(found, SearchStrategy.GRAPH, both, found.led(), note, recorder)

    # One ranking

    def _rank(self, found: Found, recorder: Recorder) -> None:
        with recorder.step(Step.FUSE) as note:
            walk, k = self._settings.walk, self._settings.rrf_k
            ranked = _by_score(found, walk.own_share) if found.by_score else _by_rank(found, k)
            hits = found.graph_hits()
            if hits:
                ranked = [replace(item, hit=hits[item.key]) if item.key in hits else item for item in ranked]
            found.ranked = _with_nodes(found, _covering(found, ranked))
            note.details |= {
                "method": self._settings.fusion,
                "weights": found.ask.weights.model_dump(mode="json"),
                "first": [item.arithmetic() for item in found.ranked[: found.ask.query.options.limit]],
            }

    def _deduplicate(self, found: Found, recorder: Recorder) -> None:
        with recorder.step(Step.DEDUPLICATE) as note:
            keys = [item.key for item in found.ranked[:DEDUPLICATED] if item.key]
            found.vectors = self._store.vectors(keys)
            copies = find_duplicates(keys, partial(_texts, self._store, found), found.vectors)
            note.details["leftOut"] = len(copies)
            if not copies:
                return
            counts: dict[int, int] = {}
            for better in copies.values():
                counts[better] = counts.get(better, 0) + 1
            found.ranked = [
                replace(item, copies=counts[item.key]) if item.key in counts else item
                for item in found.ranked
                if not item.key or item.key not in copies
            ]


def _texts(store: StoreWithCommunities, found: Found, keys: Sequence[int]) -> dict[int, str]:
    return {key: chunk.text for key, chunk in found.read(store, keys).items()}


def rarity_of(store: StoreWithCommunities, text: str) -> dict[str, float]:
    """The idf of a question's terms in the corpus; of one that no chunk has, the highest."""
    terms = [term.term for term in query_terms(text)]
    total = max(1, store.chunk_count())
    counts = store.document_frequency(terms)
    return {term: math.log((total + 1) / (counts.get(term, 0) + 0.5)) for term in terms}


def _by_rank(found: Found, k: int) -> list[Ranked]:
    led = found.led()
    scores = {
        SearchStrategy.KEYWORD: found.by_word,
        SearchStrategy.SEMANTIC: found.semantic,
        SearchStrategy.GRAPH: led,
    }
    rankings = {
        name: [Hit(str(key), scores[name][key], key=key) for key in _best_first(scores[name])] for name in found.metrics
    }
    return [_of_fused(item, led, found, k) for item in fuse(rankings, found.ask.weights, k)]


def _by_score(found: Found, own_share: float) -> list[Ranked]:
    base = found.base
    enabled = found.ask.query.options.enabled
    if set(enabled) == {SearchStrategy.GRAPH}:
        # Words and meaning only showed where to start.
        led = found.led()
        base = {key: score for key, score in base.items() if key in led}
    return [_of_blended(item) for item in blend(base, found.end.seeds, found.end.trails, own_share=own_share)]


def _covering(found: Found, ranked: list[Ranked]) -> list[Ranked]:
    """For a question about the whole, first what covers its themes, then the rest below."""
    if not found.end.themes:
        return ranked
    known = {item.key: item for item in ranked}
    first = [
        replace(
            known.get(hit.key) or Ranked(hit.key, 0.0, 0.0) if hit.key else Ranked(0, 0.0, 0.0),
            score=1.0 + hit.score,
            combined=LOWEST_SHOWN + (1 - LOWEST_SHOWN) * hit.score,
            graph=hit.score,
            path=hit.path,
            hit=hit,
            arithmetic=partial(_theme_arithmetic, hit),
        )
        for hit in found.end.themes
    ]
    chosen = {item.key for item in first if item.key}
    below = min(item.combined for item in first) - LOWEST_SHOWN
    rest = [
        replace(item, combined=LOWEST_SHOWN + below * (item.combined - LOWEST_SHOWN))
        for item in ranked
        if item.key not in chosen
    ]
    return first + rest


def _with_nodes(found: Found, ranked: list[Ranked]) -> list[Ranked]:
    """With what is named beside the best chunk about it, where the question is about just that."""
    first = ranked[0] if ranked else Ranked(0, 1.0, 1.0)
    nodes = [
        Ranked(0, first.score, first.combined, graph=hit.score, path=hit.path, hit=hit) for hit in found.start.entities
    ]
    return ranked[:1] + nodes + ranked[1:]


def _of_blended(item: Blended) -> Ranked:
    return Ranked(
        key=item.key,
        score=item.score,
        combined=item.combined,
        graph=item.graph,
        path=(item.via,) if item.via else (),
        arithmetic=partial(_blend_arithmetic, item),
    )


def _blend_arithmetic(item: Blended) -> dict[str, JsonValue]:
    return {
        "key": item.key,
        "score": round(item.score, 4),
        "base": round(item.base, 4),
        "seed": round(item.seed, 4),
        "path": round(item.path, 4),
        "via": item.via,
    }


def _theme_arithmetic(hit: Hit) -> dict[str, JsonValue]:
    return {"theme": hit.path[0] if hit.path else "", "score": round(hit.score, 4), "key": hit.key}


def _rank_arithmetic(item: Fused, via: str, k: int) -> dict[str, JsonValue]:
    ranks: dict[str, JsonValue] = {name.value: rank for name, rank in item.ranks.items()}
    return {"key": item.hit.key, "score": round(item.rrf, 6), "k": k, "ranks": ranks, "via": via}


def _of_fused(item: Fused, led: Mapping[int, float], found: Found, k: int) -> Ranked:
    key = item.hit.key
    trail = found.end.trails.get(key)
    named = next((seed.alias for seed in found.end.seeds if seed.chunk_key == key), "")
    via = trail.via if trail is not None else named
    return Ranked(
        key=key,
        score=item.rrf,
        combined=item.combined,
        graph=led.get(key, 0.0),
        path=(via,) if via else (),
        arithmetic=partial(_rank_arithmetic, item, via, k),
    )


def _measure(
    found: Found,
    name: SearchStrategy,
    timed: Timed[Any],
    scores: Mapping[int, float],
    note: Note,
    recorder: Recorder,
) -> None:
    """How a search went, for the metrics and the trace."""
    if timed.error is not None:
        note.state, note.reason = StepState.FAILED, timed.error
    elif name not in found.ask.query.options.enabled:
        note.details["shown"] = False
    milliseconds = timed.seconds * 1000
    note.details["results"] = len(scores)
    recorder.add(Step(name), note, milliseconds=milliseconds)
    if name in found.ask.query.options.enabled:
        found.metrics[name] = StrategyMetric(
            enabled=True,
            result_count=len(scores),
            processing_time=milliseconds,
            top_score=max(scores.values(), default=0.0),
            error=timed.error,
        )


def _best_first(scores: Mapping[int, float]) -> list[int]:
    return sorted(scores, key=lambda key: (-scores[key], key))


def _base(found: Found, weights: SearchWeights) -> dict[int, float]:
    """Words and meaning together; what a search found that weighs nothing is no result."""
    by_word = {key: _logit(score) for key, score in found.by_word.items()} if weights.keyword > 0 else {}
    semantic = found.semantic if weights.semantic > 0 else {}
    explicit = found.keyword is not None and found.keyword.explicit
    share = 1.0 if explicit or not by_word else coverage(max(by_word.values()), found.question.rarity)
    return base_scores(by_word, semantic, weights, covered=share)


def coverage(best: float, rarity: Mapping[str, float]) -> float:
    """How much of the question the best match by words covers: its BM25 over that of a chunk with every word once.

    A question in other words shares one common word with many chunks, and the best of those is no evidence.
    """
    whole = sum(rarity.values())
    return min(1.0, best / whole) if whole > 0 else 1.0


def _own_weights(weights: SearchWeights) -> SearchWeights:
    """Words and meaning in even parts where a query's weights leave both out, as a search by the graph alone does."""
    if weights.keyword + weights.semantic > 0:
        return weights
    return SearchWeights(keyword=0.5, semantic=0.5, graph=0.0)


def _logit(score: float) -> float:
    """BM25 back from its score: differences among good matches must not vanish near 1."""
    return math.log(score / (1 - score)) if score < 1 else 40.0


def is_chunk(item: Ranked) -> bool:
    """Whether it is a piece of a document, and not of the graph."""
    return item.hit is None or item.hit.type is SearchResultType.CHUNK
