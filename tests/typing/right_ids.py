"""Accepted: ids where they belong, fresh ones and given ones."""

from typing import assert_type

from hybridrag.types.ids import (
    ChunkId,
    CommunityId,
    EntityId,
    FileId,
    RelationId,
    chunk_id_for,
    file_id_for,
    new_chunk_id,
    new_community_id,
    new_entity_id,
    new_relation_id,
)
from hybridrag.types.results import SearchResultSources

TEXT = "3f2504e0-4f89-11d3-9a0c-0305e82c3301"

sources = SearchResultSources(chunk_id=ChunkId(TEXT), file_id=FileId(TEXT))
SearchResultSources(entity_ids=(EntityId(TEXT), new_entity_id()))
SearchResultSources(chunk_id=new_chunk_id(), community_id=new_community_id(), relation_ids=(new_relation_id(),))
assert_type(chunk_id_for(file_id_for("default", "a.md"), "text"), ChunkId)
assert_type(sources.chunk_id, ChunkId | None)
assert_type(sources.entity_ids, tuple[EntityId, ...])
assert_type(CommunityId.new(), CommunityId)
assert_type(RelationId.derived("a"), RelationId)

# An id is a text everywhere that a text is wanted.
text: str = new_chunk_id()
