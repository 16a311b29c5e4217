"""A question's way through the index: understand, search three ways, rerank, verify, show."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from hybridrag.config import Settings
from hybridrag.errors import InvalidQuery
from hybridrag.protocols import Embedder, Judge, Linker, Llm, Reader, Reranker, StoreWithCommunities, WebSearch
from hybridrag.search.cache import QueryCache
from hybridrag.search.judge import READ, LocalJudge
from hybridrag.search.present import page_of, show
from hybridrag.search.record import Recorder, span
from hybridrag.search.rerank import RerankStage
from hybridrag.search.retrieve import Ask, Finder, Found
from hybridrag.search.understand import Understander
from hybridrag.search.verify import Verified, VerifyStage
from hybridrag.steps import Step
from hybridrag.types.queries import SearchQuery, SearchStrategy
from hybridrag.types.results import SearchResult, SearchStrategyMetrics, StrategyMetric


@dataclass(frozen=True, slots=True)
class SearchParts:
    """What a search is made of besides the store. Each part that is missing is left out of the search."""

    embedder: Callable[[], Embedder]
    linker: Linker
    reranker: Callable[[], Reranker | None] = lambda: None
    second_reranker: Callable[[], Reranker] | None = None
    """Reads the very first results once more."""
    classifier: Llm | None = None
    """Classifies, where there is one; else the rules do."""
    judge: Judge | None = None
    """Judges, where there is one; else the local judge does."""
    reader: Reader | None = None
    """Reads passages for the local judge; it goes by the scores of the searches without."""
    llm: Llm | None = None
    """Puts questions in other words when nothing was found."""
    web: WebSearch | None = None


class Searcher:
    """Searches one index. Thread-safe."""

    def __init__(self, store: StoreWithCommunities, parts: SearchParts, settings: Settings) -> None:
        self._store = store
        self._settings = settings.search
        self._cache: QueryCache[SearchResult] = QueryCache(settings.search.cache_size)
        self._understander = Understander(store.graph, settings.search, parts.classifier)
        self._finder = Finder(store, parts.embedder, parts.linker, settings.search)
        self._reranker = RerankStage(store, parts.reranker, parts.second_reranker, settings.rerank)
        read_k = settings.rerank.read_k
        self._verifier = VerifyStage(
            store,
            self._find,
            lambda corrected: parts.judge or LocalJudge(parts.reader, first=READ if corrected else read_k),
            LocalJudge(),
            settings,
            llm=parts.llm,
            web=parts.web,
        )

    def search(self, query: SearchQuery, *, explain: bool = False) -> SearchResult:
        """Answer a query; a stage that fails or is late is named, and the others answer.

        The same question again, while nothing changed, gets the same answer without a search. An answer in which a
        stage failed is not kept.

        Raises:
            InvalidQuery: the given embedding has another dimension than the index.
        """
        began = time.perf_counter()
        self._check_embedding(query)
        query = self._bounded(query)
        generation = self._store.generation()
        kept = self._cache.get((query, explain), generation=generation)
        if kept is not None:
            return kept.model_copy(update={"processing_time": (time.perf_counter() - began) * 1000})
        recorder = Recorder()
        with span("search"):
            result = self._search(query, recorder, began, explain=explain)
        if not recorder.troubled:
            self._cache.put((query, explain), result, generation=generation)
        return result

    def _search(self, query: SearchQuery, recorder: Recorder, began: float, *, explain: bool) -> SearchResult:
        understood = self._understander.understand(query, recorder)
        plan = understood.plan
        depth = max(self._settings.candidates, plan.candidates)
        ask = Ask(query, query.text, understood, plan.weights, depth=depth, hops=self._settings.walk.steps)
        verified = self._verifier.verify(self._find(ask, recorder), recorder)
        return self._result(query, verified, recorder, began, explain=explain)

    def _find(self, ask: Ask, recorder: Recorder) -> Found:
        found = self._finder.find(ask, recorder)
        self._reranker.rerank(found, recorder)
        return found

    def _result(
        self,
        query: SearchQuery,
        verified: Verified,
        recorder: Recorder,
        began: float,
        *,
        explain: bool,
    ) -> SearchResult:
        found = verified.found
        passing = [item for item in found.ranked if item.combined >= query.filters.min_relevance]
        first = query.options.offset
        with recorder.step(Step.HIGHLIGHT):
            page = page_of(passing, first, query.options.limit)
            items = show(self._store, found, page, verified.extras)
        metrics = {name: found.metrics.get(name, StrategyMetric(enabled=False)) for name in SearchStrategy}
        return SearchResult(
            query=query,
            results=tuple(items),
            total_count=len(passing),
            processing_time=(time.perf_counter() - began) * 1000,
            strategies=SearchStrategyMetrics(
                keyword=metrics[SearchStrategy.KEYWORD],
                semantic=metrics[SearchStrategy.SEMANTIC],
                graph=metrics[SearchStrategy.GRAPH],
            ),
            classification=found.ask.understood.classification,
            search_sources=tuple(name for name, metric in found.metrics.items() if metric.result_count),
            crag=verified.crag,
            intent_match=verified.intent,
            sufficiency=verified.sufficiency,
            trace=recorder.trace() if explain else None,
        )

    def close(self) -> None:
        """Forget what was kept."""
        self._cache.clear()

    def _bounded(self, query: SearchQuery) -> SearchQuery:
        """The query with the bound that holds: its own, else that of the settings."""
        filters, least = query.filters, self._settings.min_relevance
        if "min_relevance" in filters.model_fields_set or filters.min_relevance == least:
            return query
        return query.model_copy(update={"filters": filters.model_copy(update={"min_relevance": least})})

    def _check_embedding(self, query: SearchQuery) -> None:
        model = self._store.model()
        if query.embedding is None or model is None or len(query.embedding) == model.dimension:
            return
        raise InvalidQuery(
            f"The query's embedding has {len(query.embedding)} numbers; this index has {model.dimension}.",
            hint="Leave it out to have it computed.",
        )
