"""Choose how a question is searched: its type, how much each search counts, how much each fetches, for how long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from hybridrag.steps import Step
from hybridrag.types.queries import (
    LOCAL_WEIGHTS,
    QueryClassification,
    QueryType,
    RelationHint,
    SearchQuery,
    SearchStrategy,
    SearchWeights,
)

MIN_CONFIDENCE = 0.6
"""Below it a question is searched as hybrid. Where wrong types cost more than mixed searches, 0.7 is recommended
(BR-012)."""

DEFAULT_WEIGHTS: dict[QueryType, SearchWeights] = {
    QueryType.LOCAL: LOCAL_WEIGHTS,
    QueryType.GLOBAL: SearchWeights(keyword=0.20, semantic=0.30, graph=0.50),
    QueryType.RELATIONSHIP: SearchWeights(keyword=0.20, semantic=0.20, graph=0.60),
    QueryType.HYBRID: SearchWeights(keyword=0.33, semantic=0.34, graph=0.33),
}
"""Facts lean on words and meaning, themes and relations on the graph (BR-002)."""

CANDIDATES_PER_RESULT = 2
"""Each search fetches so many times what is asked for: fusion and deduplication drop some."""

MIN_CANDIDATES = 20
"""Even for one result, so that the searches have something to agree on."""

MAX_CANDIDATES = 1000
"""Results beyond this depth are out of reach: every search would have to rank the whole index."""

DEADLINES: Mapping[Step, float] = MappingProxyType(
    {
        Step.CLASSIFY: 3.0,
        Step.KEYWORD: 2.0,
        Step.SEMANTIC: 2.0,
        Step.GRAPH: 2.0,
        Step.RERANK: 2.0,
        Step.GRADE: 2.0,
        Step.CORRECT: 5.0,
    }
)
"""Seconds. Far above what a step takes on a healthy machine: a deadline is for what hangs, not for what is slow."""


class GraphMode(StrEnum):
    """How the graph is searched."""

    ENTITY = "entity"
    """From the names in the question to what mentions them."""
    RELATION = "relation"
    """Between the names in the question."""
    COMMUNITY = "community"
    """Over what belongs together: themes of the corpus."""
    WALK = "walk"
    """From the names over what they are linked to, a bounded number of steps."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How one question is searched."""

    type: QueryType
    weights: SearchWeights
    """Over the searches that run; 0 for the others, together 1."""
    strategies: tuple[SearchStrategy, ...]
    """The searches that run, in table order."""
    candidates: int
    """What each of them fetches."""
    graph_mode: GraphMode
    deadlines: Mapping[Step, float]
    """Seconds for each step that can hang."""
    type_from: str
    """`query` where the caller named the type, else `classifier`."""
    weights_from: str
    """`query` where the caller gave the weights, else `type`."""


def default_weights(query_type: QueryType | None) -> SearchWeights:
    """The recommended weights for a type of question; an unknown type counts as hybrid (BR-001).

    QueryType.GLOBAL -> keyword 0.20, semantic 0.30, graph 0.50
    """
    return DEFAULT_WEIGHTS[query_type or QueryType.HYBRID]


def settle_type(query_type: QueryType, confidence: float, *, min_confidence: float = MIN_CONFIDENCE) -> QueryType:
    """The type to search by: an unsure classification is searched as hybrid (BR-012).

    (LOCAL, 0.5) -> HYBRID; (LOCAL, 0.8) -> LOCAL
    """
    return query_type if confidence >= min_confidence else QueryType.HYBRID


def make_plan(
    query: SearchQuery,
    classification: QueryClassification | None,
    *,
    weights_by_type: Mapping[QueryType, SearchWeights] | None = None,
    per_result: int = CANDIDATES_PER_RESULT,
    deadlines: Mapping[Step, float] = DEADLINES,
) -> Plan:
    """The plan for a query: what the caller says wins over what the classifier found.

    "compare N and N", limit 10, strategies keyword and graph -> relationship, .25/0/.75, 20 candidates, relations

    A type other than hybrid and weights that the caller set (and did not leave to their default) are taken as they
    are; a search that does not run weighs 0 and the rest is scaled to 1. Without a classification the type is hybrid.
    `weights_by_type` are those of the settings, in place of the recommended ones.
    """
    named = query.type is not QueryType.HYBRID
    found = classification.type if classification is not None else QueryType.HYBRID
    query_type = query.type if named else found
    given = "weights" in query.options.model_fields_set
    weights = query.options.weights if given else (weights_by_type or DEFAULT_WEIGHTS)[query_type]
    return Plan(
        type=query_type,
        weights=weights.among(query.options.enabled),
        strategies=query.options.enabled,
        candidates=candidates_for(query.options.offset + query.options.limit, per_result=per_result),
        graph_mode=_graph_mode(query_type, classification),
        deadlines=deadlines,
        type_from="query" if named else "classifier",
        weights_from="query" if given else "type",
    )


def candidates_for(results: int, *, per_result: int = CANDIDATES_PER_RESULT) -> int:
    """How many candidates each search fetches for so many results, earlier pages included.

    20 -> 40; 1 -> 20; 5000 -> 1000
    """
    return min(MAX_CANDIDATES, max(MIN_CANDIDATES, per_result * results))


def _graph_mode(query_type: QueryType, classification: QueryClassification | None) -> GraphMode:
    match query_type:
        case QueryType.LOCAL:
            return GraphMode.ENTITY
        case QueryType.GLOBAL:
            return GraphMode.COMMUNITY
        case QueryType.RELATIONSHIP:
            # "The mother of the director of X" names one end; what lies between has to be walked to.
            hint = classification.relation_hint if classification is not None else None
            return GraphMode.WALK if hint is RelationHint.GENERAL else GraphMode.RELATION
        case QueryType.HYBRID:
            return GraphMode.WALK
