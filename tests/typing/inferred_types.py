"""Accepted: every field of a query has its own type, and completes in an editor."""

from typing import assert_type

import numpy as np

from hybridrag.types.base import Float32Array
from hybridrag.types.ids import FileId
from hybridrag.types.queries import (
    DateRange,
    QueryType,
    SearchFilters,
    SearchOptions,
    SearchQuery,
    SearchStrategy,
    SearchWeights,
)
from hybridrag.types.results import SearchResult, SearchResultItem

query = SearchQuery(text="limits", embedding=np.zeros(3, dtype=np.float32))
assert_type(query.text, str)
assert_type(query.type, QueryType)
assert_type(query.filters, SearchFilters)
assert_type(query.filters.file_ids, tuple[FileId, ...] | None)
assert_type(query.filters.date_range, DateRange | None)
assert_type(query.options, SearchOptions)
assert_type(query.options.limit, int)
assert_type(query.options.strategies, tuple[SearchStrategy, ...])
assert_type(query.options.weights, SearchWeights)

embedding: Float32Array | None = query.embedding
if query.embedding is not None:
    first: np.float32 = query.embedding[0]


def best(result: SearchResult) -> SearchResultItem | None:
    assert_type(result.results, tuple[SearchResultItem, ...])
    return result.results[0] if result.results else None
