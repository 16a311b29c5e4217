"""Refused: an id of one type where another belongs, and a plain text where an id belongs."""

from hybridrag.types.graph import Entity
from hybridrag.types.ids import ChunkId, chunk_id_for, new_chunk_id, new_file_id
from hybridrag.types.results import SearchResultSources

file_id = new_file_id()
# E: Incompatible types in assignment (expression has type "FileId", variable has type "ChunkId")  [assignment]
chunk: ChunkId = file_id
# E: Argument "chunk_id" to "SearchResultSources" has incompatible type "FileId"; expected "ChunkId | None"  [arg-type]
SearchResultSources(chunk_id=file_id)
# E: Argument "file_id" to "SearchResultSources" has incompatible type "ChunkId"; expected "FileId | None"  [arg-type]
SearchResultSources(file_id=new_chunk_id())
# E: Argument "entity_ids" to "SearchResultSources" has incompatible type "tuple[FileId]";
#    expected "tuple[EntityId, ...]"  [arg-type]
SearchResultSources(entity_ids=(file_id,))
# E: Argument "chunk_id" to "SearchResultSources" has incompatible type "str"; expected "ChunkId | None"  [arg-type]
SearchResultSources(chunk_id="3f2504e0-4f89-11d3-9a0c-0305e82c3301")
# E: Argument "id" to "Entity" has incompatible type "ChunkId"; expected "EntityId"  [arg-type]
Entity(id=new_chunk_id(), name="x")
# E: Argument 1 to "chunk_id_for" has incompatible type "ChunkId"; expected "FileId"  [arg-type]
chunk_id_for(new_chunk_id(), "text")
