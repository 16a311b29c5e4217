"""Ids that neither mypy nor the runtime lets one mistake for another.

Every id is a UUID in canonical lower-case text. `new_*_id()` makes a fresh one; `*_id_for(...)` derives one
from content, so that the same content gets the same id on every machine.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable
from typing import Any, Self

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

_NAMESPACE = uuid.UUID("6f1d3a52-6c0b-5b5e-9c51-0f6f2f0a7c11")
"""Root of every derived id. Changing it changes every id in every index."""

_HEX = "[0-9a-f]"
# `uuid.UUID` also takes braces, `urn:`, underscores and digits of other scripts: many spellings of one id.
_UUID = re.compile(f"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}", re.ASCII | re.IGNORECASE)


class Id(str):
    """A UUID as text; the base of the distinct id types, never used itself.

    ChunkId("3F2504E0-4F89-11D3-9A0C-0305E82C3301") -> "3f2504e0-4f89-11d3-9a0c-0305e82c3301"

    Raises:
        ValueError: the text is no UUID.
        TypeError: the value is an id of another type.
    """

    __slots__ = ()

    def __new__(cls, value: str) -> Self:
        """Validate and put into canonical form."""
        if isinstance(value, Id):
            if type(value) is not cls:
                msg = f"{type(value).__name__} given where {cls.__name__} belongs"
                raise TypeError(msg)
            return value
        text = str(value)  # a `uuid.UUID` is welcome too
        if not _UUID.fullmatch(text):
            msg = f"{cls.__name__} must be a UUID, not {value!r}"
            raise ValueError(msg)
        return super().__new__(cls, text.lower())

    @classmethod
    def new(cls) -> Self:
        """A fresh random id."""
        return cls(str(uuid.uuid4()))

    @classmethod
    def derived(cls, *parts: str) -> Self:
        """The same id for the same parts, always; parts are kept apart (`"a", "bc"` is not `"ab", "c"`)."""
        name = "\x1f".join([cls.__name__, *(f"{len(part)}:{part}" for part in parts)])
        # A file name that is no valid UTF-8 reaches Python with lone surrogates, which UTF-8 cannot encode.
        return cls(str(uuid.uuid5(_NAMESPACE, name.encode("utf-8", "backslashreplace").decode("utf-8"))))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Validate at the boundary; serialise as plain text."""
        return core_schema.no_info_plain_validator_function(
            cls._validate, serialization=core_schema.plain_serializer_function_ser_schema(str)
        )

    @classmethod
    def _validate(cls, value: Any) -> Self:
        try:
            return cls(value)
        except TypeError as cause:
            raise ValueError(str(cause)) from cause

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """UUIDs are strings with that format."""
        return {"type": "string", "format": "uuid"}


class ChunkId(Id):
    """A piece of a file's text."""

    __slots__ = ()


class FileId(Id):
    """A document in one workspace."""

    __slots__ = ()


class SectionId(Id):
    """A document as a node of the knowledge graph, or the part of it under a heading."""

    __slots__ = ()


class EntityId(Id):
    """A node of the knowledge graph."""

    __slots__ = ()


class RelationId(Id):
    """An edge of the knowledge graph."""

    __slots__ = ()


class CommunityId(Id):
    """A cluster of entities."""

    __slots__ = ()


def new_chunk_id() -> ChunkId:
    """A fresh chunk id."""
    return ChunkId.new()


def new_file_id() -> FileId:
    """A fresh file id."""
    return FileId.new()


def new_entity_id() -> EntityId:
    """A fresh entity id."""
    return EntityId.new()


def new_relation_id() -> RelationId:
    """A fresh relation id."""
    return RelationId.new()


def new_community_id() -> CommunityId:
    """A fresh community id."""
    return CommunityId.new()


def file_id_for(workspace: str, name: str) -> FileId:
    """The id of the document of that name in that workspace: an update keeps its id."""
    return FileId.derived(workspace, name)


def chunk_id_for(file_id: FileId, text: str, occurrence: int = 0) -> ChunkId:
    """The id of that text within a file; `occurrence` tells equal texts of one file apart.

    Position is not part of it, so text that only moved keeps its id and its embedding.
    """
    return ChunkId.derived(file_id, text, str(occurrence))


def web_chunk_id_for(url: str, text: str) -> ChunkId:
    """The id of a text that a web search found: it is in no index, and still leads back to what it is (BR-019)."""
    return ChunkId.derived("web", url, text)


def section_id_for(file_id: FileId, headings: Iterable[str] = ()) -> SectionId:
    """The id of what stands under these headings in a file; without any, of the whole document."""
    return SectionId.derived(file_id, *headings)


def entity_id_for(key: str) -> EntityId:
    """The id of the entity with that normalised key."""
    return EntityId.derived(key)


def relation_id_for(subject: EntityId, predicate: str, target: EntityId) -> RelationId:
    """The id of the relation from subject to target under that predicate."""
    return RelationId.derived(subject, predicate, target)


def community_id_for(level: int, members: Iterable[EntityId]) -> CommunityId:
    """The id of the community of exactly these entities on that level, in whatever order they come."""
    return CommunityId.derived(str(level), *sorted(set(members)))
