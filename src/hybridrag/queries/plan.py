"""Choose how much each search counts for a question."""

from __future__ import annotations

from hybridrag.types.queries import LOCAL_WEIGHTS, QueryType, SearchWeights

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
