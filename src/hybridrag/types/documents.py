"""What a document is on its way in: a file read into text and blocks, then cut into chunks."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
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
    """1-based, where the format has pages, slides, sheets, messages or cells."""
    within: tuple[str, ...] = ()
    """What it stands in below the headings of the text: the class and function of code, the key of settings."""
    anchor: str | None = None
    """What a viewer opens this place by: the id of a heading in HTML, a time in subtitles and logs."""
    box: tuple[float, float, float, float] | None = None
    """Left, top, right and bottom on its page, in points from the upper left corner."""


@dataclass(frozen=True, slots=True)
class LineMap:
    """Which line of the file (or row of the sheet) a place in a document's text comes from."""

    starts: array[int]
    """Ascending offsets in the text..."""
    numbers: array[int]
    """... and the 1-based line that each begins with."""

    @classmethod
    def of_text(cls, text: str) -> LineMap:
        """The lines of a text that is the file itself."""
        starts = array("I", [0])
        starts.extend(match.end() for match in re.finditer("\n", text))
        return cls(starts, array("I", range(1, len(starts) + 1)))

    def at(self, offset: int) -> int | None:
        """The line that the character at `offset` comes from; None before the first that is known."""
        index = bisect_right(self.starts, offset)
        return self.numbers[index - 1] if index else None


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
    lines: LineMap | None = None
    """None where lines of the file mean nothing: PDF, slides, word processors."""
    warnings: tuple[str, ...] = ()
    """What looks wrong with it, in words for its owner: no letters, mojibake, scanned pages."""


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
    """1-based, where the format has pages, slides, sheets, messages or cells."""
    line_start: int | None = Field(default=None, ge=1)
    """Its first line in the file (or row of the sheet), 1-based; None where the format has no lines."""
    line_end: int | None = Field(default=None, ge=1)
    """Its last line in the file (or row of the sheet), 1-based."""
    anchor: str | None = None
    """What a viewer opens the place by, as the fragment of an address: `install`, `page=3&viewrect=72,90,450,60`."""
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
    folder: str | None = None
    """The folder that was added, where it was found in one; people are shown the path below it."""
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

    @property
    def shown_name(self) -> str:
        """The name as people are shown it: below the folder that was added.

        /home/me/docs/a/b.md, added with /home/me/docs -> "a/b.md"
        """
        return self.name.removeprefix(self.folder.rstrip("/") + "/") if self.folder else self.name


_PAGES = {
    "presentation": "slide",
    "ms-powerpoint": "slide",
    "spreadsheet": "sheet",
    "ms-excel": "sheet",
    "mbox": "message",
    "ipynb": "cell",
    "epub": "chapter",
}
"""What a page is called, by a part of the type that has it."""
_ROWS = ("spreadsheet", "ms-excel", "csv", "tab-separated")
_TIMED = ("subrip", "vtt", "x-log")


def place_of(chunk: Chunk, mime_type: str) -> str | None:
    """Where in its file a chunk stands, in words.

    page 3 of a PDF -> "page 3"; lines 4 to 9 of Markdown -> "line 4"; of a spreadsheet -> "sheet 2, row 4"
    """
    parts = []
    if chunk.page is not None:
        parts.append(f"{next((word for part, word in _PAGES.items() if part in mime_type), 'page')} {chunk.page}")
    if chunk.anchor is not None and any(part in mime_type for part in _TIMED):
        parts.append(chunk.anchor)
    if chunk.line_start is not None:
        parts.append(f"{'row' if any(part in mime_type for part in _ROWS) else 'line'} {chunk.line_start}")
    return ", ".join(parts) or None
