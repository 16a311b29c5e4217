"""What a document is on its way in: a file read into text and blocks, then cut into chunks."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from pydantic import Field

from hybridrag.types.base import Model
from hybridrag.types.ids import ChunkId, FileId

DEFAULT_WORKSPACE = "default"


class BlockKind(StrEnum):
    """What a stretch of a document's text is."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list_item"
    TABLE_ROW = "table_row"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch `text[start:end]` of a document. Blocks do not overlap and stand in reading order."""

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    """1-6 for a heading, 0 otherwise."""
    page: int | None = None
    """1-based, where the format has pages, slides or sheets."""


@dataclass(frozen=True, slots=True)
class Document:
    """What a reader makes of a file: its text, and where in it the structure lies."""

    text: str
    blocks: tuple[Block, ...]
    mime_type: str
    title: str | None = None
    """The document's own title (metadata or first heading), not its file name."""
    created: datetime | None = None
    modified: datetime | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    """Author, subject, sender and the like, as the format gives them."""


class Chunk(Model):
    """A piece of a file's stored text, with its exact place in it."""

    id: ChunkId
    file_id: FileId
    ordinal: int = Field(ge=0)
    """0-based position among the file's chunks."""
    text: str
    """Exactly `stored_text[start:end]`."""
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    headings: tuple[str, ...] = ()
    """The path of headings above it, outermost first."""
    page: int | None = None
    line_start: int = Field(default=1, ge=1)
    line_end: int = Field(default=1, ge=1)
    language: str = "en"
    tokens: int = Field(default=0, ge=0)
    """Length in tokens of the embedding model."""


class FileInfo(Model):
    """A document as the index holds it."""

    id: FileId
    name: str
    """The path as given, or the name passed with a text."""
    workspace: str = DEFAULT_WORKSPACE
    mime_type: str
    title: str | None = None
    content_hash: str
    size: int = Field(ge=0)
    """In bytes, of the source."""
    created: datetime | None = None
    modified: datetime | None = None
    added: datetime
    chunk_count: int = Field(default=0, ge=0)
    metadata: dict[str, str] = Field(default_factory=dict)
