"""A question's way through the index: three searches in parallel, one ranking, results that explain themselves."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as LateError
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import JsonValue

from hybridrag.errors import DeadlineExceeded, InvalidQuery, RAGError
from hybridrag.protocols import Embedder, Linker
from hybridrag.queries.classify import classify
from hybridrag.queries.plan import MIN_CONFIDENCE, Plan, make_plan
from hybridrag.result import Err, Ok, Result
from hybridrag.search.blend import Blended, base_scores, blend, own_scores
from hybridrag.search.highlight import highlight_fragment
from hybridrag.search.hop import Seed, Trail, find_seeds, hop
from hybridrag.search.keyword import KeywordSearch, search_keywords
from hybridrag.search.match import find_matches
from hybridrag.steps import Step, StepState
from hybridrag.stores.embedded.store import EmbeddedStore
from hybridrag.types.base import Float32Array
from hybridrag.types.documents import Chunk, FileInfo
from hybridrag.types.ids import FileId
from hybridrag.types.queries import QueryClassification, SearchQuery, SearchStrategy, SearchWeights
from hybridrag.types.results import (
    FoundBy,
    Highlight,
    RelevanceScore,
    SearchResult,
    SearchResultContent,
    SearchResultItem,
    SearchResultSources,
    SearchResultType,
    SearchStrategyMetrics,
    StrategyMetric,
    Trace,
    TraceStep,
)

CANDIDATES = 100
"""Chunks that each search hands in, so that the order of a page does not depend on which page it is."""

DEADLINE_SECONDS = 5.0
"""How long a search may take before the others answer without it."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Timed:
    """What a search gave, and how long it took."""

    result: Result[object]
    seconds: float


@dataclass(slots=True)
class _Run:
    """One query on its way."""

    query: SearchQuery
    depth: int
    weights: SearchWeights
    keyword: KeywordSearch | None = None
    semantic: dict[int, float] = field(default_factory=dict)
    base: dict[int, float] = field(default_factory=dict)
    seeds: Sequence[Seed] = ()
    trails: Mapping[int, Trail] = field(default_factory=dict)
    metrics: dict[SearchStrategy, StrategyMetric] = field(default_factory=dict)
    steps: list[TraceStep] = field(default_factory=list)


class Searcher:
    """Searches one index. Thread-safe."""

    def __init__(
        self,
        store: EmbeddedStore,
        embedder: Callable[[], Embedder],
        linker: Linker,
        *,
        min_confidence: float = MIN_CONFIDENCE,
        deadline: float = DEADLINE_SECONDS,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._linker = linker
        self._min_confidence = min_confidence
        self._deadline = deadline
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None

    def search(self, query: SearchQuery, *, explain: bool = False) -> SearchResult:
        """Answer a query; a search that fails or is late is named in the metrics, and the others answer.

        Raises:
            InvalidQuery: the given embedding has another dimension than the index.
        """
        began = time.perf_counter()
        self._check_embedding(query)
        classification, step = self._classify(query)
        plan = make_plan(query, classification)
        run = _Run(query, max(CANDIDATES, plan.candidates), plan.weights, steps=[step, _planned(plan)])
        self._search_three_ways(run)
        ranked = self._fuse(run)
        passing = [item for item in ranked if item.combined >= query.filters.min_relevance]
        first = query.options.offset
        items = self._items(run, passing[first : first + query.options.limit])
        strategies = {name: run.metrics.get(name, StrategyMetric(enabled=False)) for name in SearchStrategy}
        return SearchResult(
            query=query,
            results=tuple(items),
            total_count=len(passing),
            processing_time=(time.perf_counter() - began) * 1000,
            strategies=SearchStrategyMetrics(
                keyword=strategies[SearchStrategy.KEYWORD],
                semantic=strategies[SearchStrategy.SEMANTIC],
                graph=strategies[SearchStrategy.GRAPH],
            ),
            classification=classification,
            search_sources=tuple(name for name, metric in run.metrics.items() if metric.result_count),
            trace=Trace(steps=tuple(run.steps)) if explain else None,
        )

    def close(self) -> None:
        """End the threads."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)

    # What the question wants

    def _classify(self, query: SearchQuery) -> tuple[QueryClassification, TraceStep]:
        began = time.perf_counter()
        found = classify(query.text, min_confidence=self._min_confidence)
        step = TraceStep(
            step=Step.CLASSIFY,
            state=StepState.DONE,
            processing_time=(time.perf_counter() - began) * 1000,
            details={"type": found.type.value, "confidence": found.confidence, "intent": found.intent},
        )
        return found, step

    # The three searches

    def _search_three_ways(self, run: _Run) -> None:
        enabled = run.query.options.enabled
        pool = self._threads()
        until = time.monotonic() + self._deadline
        # The graph starts from the best chunks by word and meaning, so those two run in any case.
        keyword = pool.submit(_timed, lambda: self._keyword(run))
        semantic = pool.submit(_timed, lambda: self._semantic(run))
        found = self._await(run, SearchStrategy.KEYWORD, keyword, until, shown=SearchStrategy.KEYWORD in enabled)
        if isinstance(found, KeywordSearch):
            run.keyword = found
        near = self._await(run, SearchStrategy.SEMANTIC, semantic, until, shown=SearchStrategy.SEMANTIC in enabled)
        if isinstance(near, dict):
            run.semantic = near
        by_word = dict(run.keyword.hits) if run.keyword else {}
        weights = run.weights if SearchStrategy.GRAPH not in enabled else _own_weights(run.weights)
        run.base = base_scores({key: _logit(score) for key, score in by_word.items()}, run.semantic, weights)
        if SearchStrategy.GRAPH in enabled:
            graph = pool.submit(_timed, lambda: self._graph(run))
            led = self._await(run, SearchStrategy.GRAPH, graph, until, shown=True)
            if isinstance(led, tuple):
                run.seeds, run.trails = led

    def _keyword(self, run: _Run) -> KeywordSearch:
        return search_keywords(self._store, run.query.text, run.depth, filters=run.query.filters)

    def _semantic(self, run: _Run) -> dict[int, float]:
        vector: Float32Array | None = run.query.embedding
        if vector is None:
            vector = self._embedder().embed_query(run.query.text).pooled[0]
        found = self._store.search_vector(vector, run.depth, filters=run.query.filters)
        return {key: min(1.0, max(0.0, cosine)) for key, cosine in found}

    def _graph(self, run: _Run) -> tuple[list[Seed], dict[int, Trail]]:
        graph, filters = self._store.graph, run.query.filters
        with self._store.snapshot():
            terms = self._linker.probe_terms(run.query.text)
            total = max(1, self._store.chunk_count())
            counts = graph.probe_frequency(sorted(terms))
            rarity = {term: math.log((total + 1) / (count + 0.5)) for term, count in counts.items()}
            seeds = find_seeds(graph, self._linker, run.query.text, rarity=rarity, filters=filters)
            return seeds, hop(graph, own_scores(run.base, seeds), filters=filters)

    def _await(
        self, run: _Run, name: SearchStrategy, future: Future[_Timed], until: float, *, shown: bool
    ) -> object | None:
        """What a search gave, or None; the metrics and the trace say which."""
        try:
            timed = future.result(timeout=max(0.0, until - time.monotonic()))
        except LateError:
            timed = _Timed(Err(DeadlineExceeded(str(name), seconds=self._deadline)), self._deadline)
        value = timed.result.value if isinstance(timed.result, Ok) else None
        error = str(timed.result.error) if isinstance(timed.result, Err) else None
        count, top = _measure(value)
        state = StepState.FAILED if error else StepState.DONE
        details: dict[str, JsonValue] = {}
        if isinstance(value, KeywordSearch):
            details = {"relaxed": value.relaxed, "dropped": list(value.dropped)}
        run.steps.append(
            TraceStep(step=Step(name), state=state, processing_time=timed.seconds * 1000, reason=error, details=details)
        )
        if shown:
            run.metrics[name] = StrategyMetric(
                enabled=True, result_count=count, processing_time=timed.seconds * 1000, top_score=top, error=error
            )
        return value

    # One ranking

    def _fuse(self, run: _Run) -> list[Blended]:
        began = time.perf_counter()
        enabled = run.query.options.enabled
        base = run.base
        if set(enabled) == {SearchStrategy.GRAPH}:
            # Words and meaning only showed where to start.
            led = {*run.trails, *(seed.chunk_key for seed in run.seeds)}
            base = {key: score for key, score in base.items() if key in led}
        ranked = blend(base, run.seeds, run.trails)
        run.steps.append(
            TraceStep(
                step=Step.FUSE,
                state=StepState.DONE,
                processing_time=(time.perf_counter() - began) * 1000,
                details={
                    "weights": run.weights.model_dump(),
                    "first": [_arithmetic(item) for item in ranked[: run.query.options.limit]],
                },
            )
        )
        return ranked

    # Results

    def _items(self, run: _Run, page: Sequence[Blended]) -> list[SearchResultItem]:
        with self._store.snapshot():
            chunks = self._store.chunks_by_key([item.key for item in page], filters=run.query.filters)
            files: dict[FileId, FileInfo | None] = {
                file_id: self._store.file(file_id) for file_id in {chunk.file_id for chunk in chunks.values()}
            }
            ranks = _ranks(run)
            return [self._item(run, item, chunks[item.key], files, ranks) for item in page if item.key in chunks]

    def _item(
        self,
        run: _Run,
        item: Blended,
        chunk: Chunk,
        files: Mapping[FileId, FileInfo | None],
        ranks: Mapping[SearchStrategy, Mapping[int, int]],
    ) -> SearchResultItem:
        file = files[chunk.file_id]
        scores = {
            SearchStrategy.KEYWORD: dict(run.keyword.hits).get(item.key, 0.0) if run.keyword else 0.0,
            SearchStrategy.SEMANTIC: run.semantic.get(item.key, 0.0),
            SearchStrategy.GRAPH: item.graph,
        }
        scores = {name: score if name in run.metrics else 0.0 for name, score in scores.items()}
        around = self._store.chunks_of(chunk.file_id, start=max(0, chunk.ordinal - 1), stop=chunk.ordinal + 2)
        beside = {other.ordinal: other.text for other in around}
        metadata: dict[str, JsonValue] | None = None
        if file and run.query.options.include_metadata:
            metadata = {"title": file.title, "language": chunk.language, **file.metadata}
        return SearchResultItem(
            id=chunk.id,
            type=SearchResultType.CHUNK,
            score=item.combined,
            relevance=RelevanceScore(
                combined=item.combined,
                keyword=scores[SearchStrategy.KEYWORD],
                semantic=scores[SearchStrategy.SEMANTIC],
                graph=scores[SearchStrategy.GRAPH],
            ),
            content=SearchResultContent(
                text=chunk.text,
                context_before=beside.get(chunk.ordinal - 1),
                context_after=beside.get(chunk.ordinal + 1),
            ),
            highlights=self._highlights(run, chunk),
            sources=SearchResultSources(
                chunk_id=chunk.id,
                file_id=chunk.file_id,
                file_name=file.name if file else None,
                workspace=file.workspace if file else None,
                mime_type=file.mime_type if file else None,
                page=chunk.page,
                line_start=chunk.line_start,
                line_end=chunk.line_end,
                headings=chunk.headings,
            ),
            found_by=tuple(
                FoundBy(
                    strategy=name,
                    rank=found[item.key],
                    score=scores[name],
                    path=(item.via,) if name is SearchStrategy.GRAPH and item.via else (),
                )
                for name, found in ranks.items()
                if item.key in found and name in run.metrics
            ),
            metadata=metadata,
        )

    def _highlights(self, run: _Run, chunk: Chunk) -> tuple[Highlight, ...]:
        if not run.query.options.include_highlights or run.keyword is None:
            return ()
        matches = find_matches(run.keyword.query, chunk.text)
        return (highlight_fragment(chunk.text, matches),) if matches else ()

    # Parts

    def _check_embedding(self, query: SearchQuery) -> None:
        model = self._store.model()
        if query.embedding is None or model is None or len(query.embedding) == model.dimension:
            return
        raise InvalidQuery(
            f"The query's embedding has {len(query.embedding)} numbers; this index has {model.dimension}.",
            hint="Leave it out to have it computed.",
        )

    def _threads(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(6, thread_name_prefix="hybridrag-search")
            return self._pool


def _planned(plan: Plan) -> TraceStep:
    """The plan, for the trace."""
    return TraceStep(
        step=Step.PLAN,
        state=StepState.DONE,
        details={
            "type": plan.type.value,
            "typeFrom": plan.type_from,
            "weights": plan.weights.model_dump(mode="json"),
            "weightsFrom": plan.weights_from,
        },
    )


def _arithmetic(item: Blended) -> JsonValue:
    """How a score came about, for the trace."""
    return {
        "key": item.key,
        "score": round(item.score, 4),
        "base": round(item.base, 4),
        "seed": round(item.seed, 4),
        "path": round(item.path, 4),
        "via": item.via,
    }


def _timed(work: Callable[[], object]) -> _Timed:
    began = time.perf_counter()
    try:
        result: Result[object] = Ok(work())
    except RAGError as error:
        result = Err(error)
    return _Timed(result, time.perf_counter() - began)


def _measure(value: object) -> tuple[int, float]:
    """How many results a search gave, and its best score."""
    if isinstance(value, KeywordSearch):
        return len(value.hits), max((score for _, score in value.hits), default=0.0)
    if isinstance(value, dict):
        return len(value), max(value.values(), default=0.0)
    if isinstance(value, tuple):
        seeds, trails = value
        strengths = [*(seed.weight for seed in seeds), *(trail.strength for trail in trails.values())]
        return len({*(seed.chunk_key for seed in seeds), *trails}), min(1.0, max(strengths, default=0.0))
    return 0, 0.0


def _ranks(run: _Run) -> dict[SearchStrategy, dict[int, int]]:
    """Each search's own order."""
    led = {seed.chunk_key: seed.weight for seed in run.seeds}
    for key, trail in run.trails.items():
        led[key] = max(led.get(key, 0.0), trail.strength)
    by_word = [key for key, _ in run.keyword.hits] if run.keyword else []
    orders = {
        SearchStrategy.KEYWORD: by_word,
        SearchStrategy.SEMANTIC: sorted(run.semantic, key=lambda key: (-run.semantic[key], key)),
        SearchStrategy.GRAPH: sorted(led, key=lambda key: (-led[key], key)),
    }
    return {name: {key: rank for rank, key in enumerate(order, start=1)} for name, order in orders.items()}


def _own_weights(weights: SearchWeights) -> SearchWeights:
    """Words and meaning in even parts where a query's weights leave both out, as a search by the graph alone does."""
    if weights.keyword + weights.semantic > 0:
        return weights
    return SearchWeights(keyword=0.5, semantic=0.5, graph=0.0)


def _logit(score: float) -> float:
    """BM25 back from its score: differences among good matches must not vanish near 1."""
    return math.log(score / (1 - score)) if score < 1 else 40.0
