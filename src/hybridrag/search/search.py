"""A question's way through the index: understand, search three ways, rerank, verify, show."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from hybridrag.config import Settings
from hybridrag.errors import InvalidQuery
from hybridrag.protocols import Embedder, Judge, Linker, Llm, Reader, Reranker, StoreWithCommunities, WebSearch
from hybridrag.search.cache import QueryCache
from hybridrag.search.correct import Rounds
from hybridrag.search.duplicates import leave_out_copies
from hybridrag.search.fuse import matches_first, rank
from hybridrag.search.judge import READ, LocalJudge
from hybridrag.search.outside import Outside
from hybridrag.search.present import page_of, show
from hybridrag.search.record import Recorder, span
from hybridrag.search.relevance import estimate
from hybridrag.search.rerank import RerankStage
from hybridrag.search.retrieve import Retriever
from hybridrag.search.state import SearchState
from hybridrag.search.understand import Understander
from hybridrag.search.verify import Verifier
from hybridrag.steps import Step
from hybridrag.types.queries import SINGLE_STRATEGIES, SearchQuery, SearchStrategy
from hybridrag.types.results import CorrectiveActionKind, SearchResult, SearchStrategyMetrics, StrategyMetric


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
        self._settings = settings
        self._llm = parts.llm
        self._cache: QueryCache[SearchResult] = QueryCache(settings.search.cache_size)
        self._understander = Understander(store.graph, settings.search, parts.classifier)
        self._retriever = Retriever(store, parts.embedder, parts.linker, settings.search)
        self._reranker = RerankStage(store, parts.reranker, parts.second_reranker, settings.rerank)
        quick, thorough = (LocalJudge(parts.reader, first=first) for first in (settings.rerank.read_k, READ))
        self._verifier = Verifier(
            store, lambda corrected: parts.judge or (thorough if corrected else quick), LocalJudge(), settings
        )
        self._outside = Outside(store, parts.web, self._verifier, settings) if parts.web else None

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
            state = self._understander.understand(query, recorder)
            self._find(state)
            state = self._verified(state)
            result = self._present(state, began, explain=explain)
        if not recorder.troubled:
            self._cache.put((query, explain), result, generation=generation)
        return result

    def _find(self, state: SearchState) -> None:
        """One try: search, fuse, rerank."""
        self._retriever.retrieve(state)
        rank(state, self._settings.search)
        leave_out_copies(state, self._store)
        estimate(state)
        self._reranker.rerank(state)
        matches_first(state)

    def _verified(self, state: SearchState) -> SearchState:
        """The best of several tries, judged; without correction, of this one."""
        with state.recorder.step(Step.GRADE) as note:
            self._verifier.judge(state, note)
            if state.judgement is not None:
                note.details |= {"sufficient": round(state.judgement.sufficient, 4), "judged": len(state.judged)}
        if state.judgement is not None:
            state = self._corrected(state)
        self._verifier.conclude(state)
        return state

    def _corrected(self, state: SearchState) -> SearchState:
        """Where the query wants it, search again in other ways until the results answer or nothing is left to try."""
        if not state.query.options.crag_enabled:
            state.recorder.skipped(Step.CORRECT, "Switched off.")
            return state
        with state.recorder.step(Step.CORRECT) as note:
            rounds = Rounds(state, self._settings, note, llm=self._llm, web=self._outside is not None)
            while (correction := rounds.next()) is not None:
                other: SearchState | None = None
                if correction.kind is CorrectiveActionKind.WEB_SEARCH and self._outside is not None:
                    other = self._outside.search(str(correction.query), rounds.best, note, rounds.until)
                elif correction.searches:
                    other = rounds.another_try(correction)
                    self._find(other)
                    self._verifier.judge(other, note)
                rounds.take(correction, other)
            return rounds.best

    def _present(self, state: SearchState, began: float, *, explain: bool) -> SearchResult:
        query = _as_run(state)
        passing = [hit for hit in state.hits if hit.combined >= query.filters.min_relevance]
        with state.recorder.step(Step.HIGHLIGHT):
            items = show(self._store, state, page_of(passing, query.options.offset, query.options.limit))
        metrics = {name: state.metrics.get(name, StrategyMetric(enabled=False)) for name in SINGLE_STRATEGIES}
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
            classification=state.question.classification,
            search_sources=tuple(name for name, metric in state.metrics.items() if metric.result_count),
            crag=state.crag,
            intent_match=state.intent,
            sufficiency=state.sufficiency,
            relaxed=state.relaxed,
            trace=state.recorder.trace() if explain else None,
        )

    def close(self) -> None:
        """Forget what was kept."""
        self._cache.clear()

    def _bounded(self, query: SearchQuery) -> SearchQuery:
        """The query with the bound that holds: its own, else that of the settings."""
        filters, least = query.filters, self._settings.search.min_relevance
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


def _as_run(state: SearchState) -> SearchQuery:
    """The query with what was decided for it: its type, and how much each search counted."""
    options = state.query.options.model_copy(update={"weights": state.weights})
    return state.query.model_copy(update={"type": state.plan.type, "options": options})
