"""Refused: a value changed after it was made, from the query down to the offset of a highlight."""

from hybridrag.types.graph import Entity
from hybridrag.types.queries import SearchQuery
from hybridrag.types.results import HighlightOffset, SearchResult

query = SearchQuery(text="limits")
# E: Property "text" defined in "SearchQuery" is read-only  [misc]
query.text = "new text"
# E: Property "limit" defined in "SearchOptions" is read-only  [misc]
query.options.limit = 5
# E: Property "end" defined in "HighlightOffset" is read-only  [misc]
HighlightOffset(start=1, end=2).end = 3


def rename(entity: Entity, result: SearchResult) -> None:
    # E: Property "name" defined in "Entity" is read-only  [misc]
    entity.name = "x"
    # E: Property "min_relevance" defined in "SearchFilters" is read-only  [misc]
    result.query.filters.min_relevance = 0.0
