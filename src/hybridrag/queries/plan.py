"""Choose how a question is searched: its type, how much each search counts, how much each fetches."""

from __future__ import annotations

from dataclasses import dataclass

from hybridrag.config import SearchSettings
from hybridrag.types.queries import (
    SINGLE_STRATEGIES,
    QueryClassification,
    QueryType,
    SearchQuery,
    SearchStrategy,
    SearchWeights,
)

DEFAULTS = SearchSettings()

DEFAULT_WEIGHTS = {kind: DEFAULTS.weights.of(kind) for kind in QueryType}
"""Facts lean on words and meaning, themes and relations on the graph (BR-002)."""

MIN_CANDIDATES = 20
"""Even for one result, so that the searches have something to agree on."""

MAX_CANDIDATES = 1000
"""Results beyond this depth are out of reach: every search would have to rank the whole index."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How one question is searched."""

    type: QueryType
    weights: SearchWeights
    """Over the searches that run; 0 for the others, together 1."""
    candidates: int
    """What a page needs each of them to fetch."""
    type_from: str
    """`query` where the caller named the type, else `classifier`."""
    weights_from: str
    """`query` where the caller gave the weights, else `type`."""
    depth: int
    """What the searches by words and by meaning fetch."""
    hops: int
    """How many steps the graph is followed."""
    searches: tuple[SearchStrategy, ...] = SINGLE_STRATEGIES
    """Those that run for themselves: asked for, and of some weight."""

    @property
    def graph_share(self) -> float:
        """How much the graph counts against words and meaning, as a multiple of what it usually does for this type.

        local (.35/.35/.30): .35/.35/.30 -> 1; .25/.25/.50 -> 2.33; .45/.45/.10 -> .26; the graph alone -> 1
        """
        given, usual = self.weights.graph, DEFAULT_WEIGHTS[self.type].among(self.searches).graph
        if given >= 1.0 or not 0.0 < usual < 1.0:
            return 1.0
        return given / (1.0 - given) * (1.0 - usual) / usual


def default_weights(query_type: QueryType | None) -> SearchWeights:
    """The recommended weights for a type of question; an unknown type counts as hybrid (BR-001).

    QueryType.GLOBAL -> keyword 0.20, semantic 0.30, graph 0.50
    """
    return DEFAULT_WEIGHTS[query_type or QueryType.HYBRID]


def settle_type(
    query_type: QueryType, confidence: float, *, min_confidence: float = DEFAULTS.min_confidence
) -> QueryType:
    """The type to search by: an unsure classification is searched as hybrid (BR-012).

    (LOCAL, 0.5) -> HYBRID; (LOCAL, 0.8) -> LOCAL
    """
    return query_type if confidence >= min_confidence else QueryType.HYBRID


def make_plan(
    query: SearchQuery, classification: QueryClassification | None, settings: SearchSettings = DEFAULTS
) -> Plan:
    """The plan for a query: what the caller says wins over what the classifier found.

    "compare N and N", limit 10, strategies keyword and graph -> relationship, .25/0/.75, 20 candidates

    A type other than hybrid and weights that the caller set (and did not leave to their default) are taken as they
    are; a search that does not run weighs 0 and the rest is scaled to 1. Without a classification the type is hybrid.
    """
    named = query.type is not QueryType.HYBRID
    found = classification.type if classification is not None else QueryType.HYBRID
    query_type = query.type if named else found
    given = "weights" in query.options.model_fields_set
    weights = query.options.weights if given else settings.weights.of(query_type)
    weights = weights.among(query.options.enabled)
    candidates = candidates_for(query.options.offset + query.options.limit, settings.candidates_per_result)
    return Plan(
        type=query_type,
        weights=weights,
        candidates=candidates,
        type_from="query" if named else "classifier",
        weights_from="query" if given else "type",
        depth=max(settings.candidates, candidates),
        hops=settings.walk.steps,
        searches=tuple(search for search in query.options.enabled if weights.of(search) > 0),
    )


def candidates_for(results: int, per_result: int = DEFAULTS.candidates_per_result) -> int:
    """How many candidates each search fetches for so many results, earlier pages included.

    20 -> 40; 1 -> 20; 5000 -> 1000
    """
    return min(MAX_CANDIDATES, max(MIN_CANDIDATES, per_result * results))
