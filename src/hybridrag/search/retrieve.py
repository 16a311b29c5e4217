"""Stage 2: search by words, by meaning and by the graph, in parallel."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from hybridrag.config import SearchSettings
from hybridrag.language.tokenise import query_terms
from hybridrag.protocols import Embedder, Linker, StoreWithCommunities
from hybridrag.queries.question import weighed
from hybridrag.search.blend import base_scores
from hybridrag.search.graph_search import GraphSearch, GraphStart
from hybridrag.search.keyword import KeywordSearch, bm25_score, search_keywords
from hybridrag.search.parallel import Leg, Timed
from hybridrag.search.record import Note
from hybridrag.search.state import SearchState
from hybridrag.steps import Step, StepState
from hybridrag.types.base import Float32Array
from hybridrag.types.queries import SearchStrategy, SearchWeights
from hybridrag.types.results import Hit, StrategyMetric


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What the semantic search found, and the question's vectors."""

    hits: list[Hit]
    pooled: Float32Array
    tokens: Float32Array | None


class Retriever:
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

    def retrieve(self, state: SearchState) -> None:
        """Search three ways; a search that fails or is late is named in the metrics, and the others answer.

        The graph starts from the best chunks by words and by meaning, so those two run in any case.
        """
        seconds = self._settings.deadline_seconds
        keyword = Leg("keyword", lambda: self._keyword(state), seconds=seconds)
        if state.question.operators is not None:
            # What they exclude, the other searches have to leave out.
            self._take_keyword(state, keyword.result())
        semantic = Leg("semantic", lambda: self._semantic(state), seconds=seconds)
        graph: Leg[GraphStart] | None = None
        if SearchStrategy.GRAPH in state.enabled:
            graph = Leg("graph", lambda: self._graph.start(state), seconds=seconds)
        if state.question.operators is None:
            self._take_keyword(state, keyword.result())
        self._take_semantic(state, semantic.result())
        state.question = weighed(state.question, rarity_of(self._store, state.question.text))
        state.base = _base(state, state.weights if graph is None else _own_weights(state.weights))
        if graph is None:
            state.recorder.skipped(Step.GRAPH, "Not asked for.")
            return
        started = graph.result()
        # What the others took is not the graph's fault: following has a deadline of its own.
        follow = partial(self._graph.follow, state, started.value or GraphStart())
        self._take_graph(state, started, Leg("graph", follow, seconds=seconds).result())

    # The searches by words and by meaning

    def _keyword(self, state: SearchState) -> KeywordSearch:
        """The question's own words, and below them what its other wordings find."""
        filters, depth = state.query.filters, state.plan.depth
        operators = state.question.operators
        own = search_keywords(self._store, state.question.text, depth, operators=operators, filters=filters)
        if operators is not None:
            return own
        raw = dict(own.hits)
        for expansion in state.expansions:
            other = search_keywords(self._store, expansion.text, depth, filters=filters)
            for key, score in other.hits:
                raw[key] = max(raw.get(key, 0.0), expansion.weight * score)
        best = sorted(raw, key=lambda key: (-raw[key], key))[:depth]
        return replace(own, hits=tuple((key, raw[key]) for key in best))

    def _semantic(self, state: SearchState) -> _Meaning:
        given, tokens = state.question.pooled, state.question.tokens
        if given is None and state.question.text == state.asked.text:
            given = state.query.embedding
        if given is None:
            embedded = self._embedder().embed_query(state.question.text, tokens=True)
            given = embedded.pooled[0]
            tokens = embedded.tokens[0] if embedded.tokens else None
        excluded = state.keyword.excluded if state.keyword else frozenset()
        near = self._store.search_vector(given, state.plan.depth + len(excluded), filters=state.query.filters)
        cosines = [(key, min(1.0, max(0.0, cosine))) for key, cosine in near if key not in excluded]
        return _Meaning(_hits(SearchStrategy.SEMANTIC, cosines[: state.plan.depth]), given, tokens)

    # What each gave

    def _take_keyword(self, state: SearchState, timed: Timed[KeywordSearch]) -> None:
        note = Note()
        hits: list[Hit] = []
        if timed.value is not None:
            state.keyword = timed.value
            raw = dict(timed.value.hits)
            hits = [
                replace(hit, scores={**hit.scores, "bm25": raw[hit.key]})
                for hit in _hits(SearchStrategy.KEYWORD, [(key, bm25_score(score)) for key, score in raw.items()])
            ]
            note.details |= {"relaxed": timed.value.relaxed, "dropped": list(timed.value.dropped)}
        _take(state, SearchStrategy.KEYWORD, hits, timed, note)

    def _take_semantic(self, state: SearchState, timed: Timed[_Meaning]) -> None:
        hits: list[Hit] = []
        if timed.value is not None:
            hits = timed.value.hits
            state.question = replace(state.question, pooled=timed.value.pooled, tokens=timed.value.tokens)
        _take(state, SearchStrategy.SEMANTIC, hits, timed, Note())

    def _take_graph(self, state: SearchState, started: Timed[GraphStart], followed: Timed[list[Hit]]) -> None:
        start = started.value or GraphStart()
        state.sides = start.named
        found = [*start.entities, *(followed.value or [])]
        if state.question.operators is not None and state.question.operators.unwanted is not None:
            # The text of entities and communities comes from chunks that may be excluded.
            excluded = state.keyword.excluded if state.keyword else frozenset()
            found = [hit for hit in found if hit.key and hit.key not in excluded]
        hits = _ranked(SearchStrategy.GRAPH, found)
        note = Note(details={"named": [named.name for named in start.named if named.about]})
        for name in ("seed", "trail", "theme"):
            note.details[f"{name}s"] = sum(name in hit.scores for hit in hits)
        result = started.result if started.error else followed.result
        both: Timed[Any] = Timed(result, started.seconds + followed.seconds)
        _take(state, SearchStrategy.GRAPH, hits, both, note)


def _hits(name: SearchStrategy, scored: Sequence[tuple[int, float]]) -> list[Hit]:
    return [
        Hit(str(key), score=score, key=key, scores={name.value: score}, ranks={name: rank})
        for rank, (key, score) in enumerate(scored, start=1)
    ]


def _ranked(name: SearchStrategy, hits: Sequence[Hit]) -> list[Hit]:
    """The hits with their places; what is no chunk stands in no ranking of chunks."""
    chunks = sorted((hit for hit in hits if hit.key), key=lambda hit: (-hit.score, hit.key))
    return [
        *(hit for hit in hits if not hit.key),
        *(replace(hit, ranks={name: rank}) for rank, hit in enumerate(chunks, start=1)),
    ]


def _take(state: SearchState, name: SearchStrategy, hits: list[Hit], timed: Timed[Any], note: Note) -> None:
    """What a search found, and how it went."""
    state.rankings[name] = hits
    enabled = name in state.enabled
    if timed.error is not None:
        note.state, note.reason = StepState.FAILED, timed.error
    elif not enabled:
        note.details["shown"] = False
    milliseconds = timed.seconds * 1000
    note.details["results"] = len(hits)
    state.recorder.add(Step(name), note, milliseconds=milliseconds)
    if enabled:
        state.metrics[name] = StrategyMetric(
            enabled=True,
            result_count=len(hits),
            processing_time=milliseconds,
            top_score=max((hit.score for hit in hits), default=0.0),
            error=timed.error,
        )


def rarity_of(store: StoreWithCommunities, text: str) -> dict[str, float]:
    """The idf of a question's terms in the corpus; of one that no chunk has, the highest."""
    terms = [term.term for term in query_terms(text)]
    total = max(1, store.chunk_count())
    counts = store.document_frequency(terms)
    return {term: math.log((total + 1) / (counts.get(term, 0) + 0.5)) for term in terms}


def _base(state: SearchState, weights: SearchWeights) -> dict[int, float]:
    """Words and meaning together; what a search found that weighs nothing is no result."""
    by_word = {hit.key: hit.scores["bm25"] for hit in state.rankings[SearchStrategy.KEYWORD]}
    by_meaning = {hit.key: hit.score for hit in state.rankings[SearchStrategy.SEMANTIC]}
    by_word = by_word if weights.keyword > 0 else {}
    by_meaning = by_meaning if weights.semantic > 0 else {}
    share = (
        1.0
        if state.question.operators is not None or not by_word
        else coverage(max(by_word.values()), state.question.rarity)
    )
    return base_scores(by_word, by_meaning, weights, covered=share)


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
