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
    """The same for the same text at the same repetition in the same file."""
    file_id: FileId
    """The file that it is a piece of."""
    ordinal: int = Field(ge=0)
    """0-based position among the file's chunks."""
    text: str
    """Exactly `stored_text[start:end]`."""
    start: int = Field(ge=0)
    """Where it begins in the stored text, in characters."""
    end: int = Field(ge=0)
    """Where it ends in the stored text, exclusive."""
    headings: tuple[str, ...] = ()
    """The path of headings above it, outermost first."""
    page: int | None = None
    """1-based, where the format has pages, slides or sheets."""
    line_start: int = Field(default=1, ge=1)
    """Its first line in the stored text, 1-based."""
    line_end: int = Field(default=1, ge=1)
    """Its last line in the stored text, 1-based."""
    language: str = "en"
    """`ja`, `en`, `zh`, `ko` or `other`."""
    tokens: int = Field(default=0, ge=0)
    """Length in tokens of the embedding model."""


class FileInfo(Model):
    """A document as the index holds it."""

    id: FileId
    """The same for the same name in the same workspace."""
    name: str
    """The path as given, or the name passed with a text."""
    workspace: str = DEFAULT_WORKSPACE
    """The workspace that it belongs to."""
    mime_type: str
    """What it is, such as `text/markdown`."""
    title: str | None = None
    """Its own title, where it has one."""
    content_hash: str
    """Changes whenever the file would be taken in anew: its bytes, and how they are read and cut."""
    size: int = Field(ge=0)
    """In bytes, of the source."""
    created: datetime | None = None
    """When it was made, where that is known."""
    modified: datetime | None = None
    """When it was last changed, where that is known; what date filters go by first."""
    added: datetime
    """When it came into the index."""
    chunk_count: int = Field(default=0, ge=0)
    """How many chunks it has."""
    metadata: dict[str, str] = Field(default_factory=dict)
    """Author, subject, sender and the like, as the format gives them."""
