"""Build a document's text and blocks side by side, so that offsets are right by construction."""

from __future__ import annotations

import re
from array import array
from datetime import datetime
from typing import Final

from hybridrag.documents.source import Source
from hybridrag.types.documents import Block, BlockKind, Document, LineMap

_TIGHT: Final = frozenset({BlockKind.LIST_ITEM, BlockKind.TABLE_ROW})
"""Neighbours of these kinds stand on lines of their own; everything else is set apart by an empty line."""

_CHECK_TIME_EVERY: Final = 256
"""Blocks between two looks at the clock: seldom enough to cost nothing."""

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    r"""Text that every store can hold: NUL and lone surrogates replaced, the length unchanged.

    "a\x00b\ud800" -> "a b\ufffd"
    """
    return _UNSTORABLE.sub(lambda match: " " if match[0] == "\x00" else "\ufffd", text)


class DocumentBuilder:
    r"""Collects blocks of extracted text in reading order and hands out the finished document.

    add(HEADING, "Plan", level=1); add(PARAGRAPH, "Go.") -> text "Plan\n\nGo.", blocks (0, 4) and (6, 9)
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._parts: list[str] = []
        self._blocks: list[Block] = []
        self._length = 0
        self._line_starts = array("I")
        self._line_numbers = array("I")
        self.first_heading: str | None = None
        """The text of the first heading, once there is one."""

    def __len__(self) -> int:
        """How many blocks there are so far."""
        return len(self._blocks)

    def add(
        self,
        kind: BlockKind,
        text: str,
        *,
        level: int = 0,
        page: int | None = None,
        line: int | None = None,
        within: tuple[str, ...] = (),
        anchor: str | None = None,
        box: tuple[float, float, float, float] | None = None,
    ) -> None:
        """Append a block; text that is only white space adds nothing.

        `line` is where it begins in the file; the lines of code follow each other from there.

        Raises:
            DocumentTooLarge: more text than `max_text_chars`.
            UnreadableDocument: reading ran past `max_seconds`.
        """
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        if kind is BlockKind.CODE:
            opening = len(text) - len(text.lstrip("\n"))
            line = None if line is None else line + opening
            text = text.strip("\n")
        else:
            text = text.strip()
        if not text or text.isspace():
            return
        gap = self._gap(kind, page)
        start = self._length + len(gap)
        end = start + len(text)
        self._source.check_length(end)
        if len(self._blocks) % _CHECK_TIME_EVERY == 0:
            self._source.check_time()
        self._parts += (gap, storable(text))
        if kind is BlockKind.HEADING and self.first_heading is None:
            self.first_heading = text
        self._blocks.append(Block(kind, start, end, level, page, within, anchor, box))
        self._length = end
        if line is not None:
            self._mark_lines(start, line, text if kind is BlockKind.CODE else "")

    def _mark_lines(self, start: int, line: int, code: str) -> None:
        self._line_starts.append(start)
        self._line_numbers.append(line)
        for count, match in enumerate(re.finditer("\n", code), start=1):
            self._line_starts.append(start + match.end())
            self._line_numbers.append(line + count)

    def _gap(self, kind: BlockKind, page: int | None) -> str:
        if not self._blocks:
            return ""
        last = self._blocks[-1]
        return "\n" if last.kind is kind and kind in _TIGHT and last.page == page else "\n\n"

    def document(
        self,
        *,
        title: str | None = None,
        title_from_heading: bool = True,
        created: datetime | None = None,
        modified: datetime | None = None,
        metadata: dict[str, str] | None = None,
        warnings: tuple[str, ...] = (),
    ) -> Document:
        """The finished document; without a `title` the first heading is it, unless headings only name its records."""
        return Document(
            text="".join(self._parts),
            blocks=tuple(self._blocks),
            mime_type=self._source.mime_type,
            title=title or (self.first_heading if title_from_heading else None),
            created=created,
            modified=modified,
            metadata=metadata or {},
            lines=LineMap(self._line_starts, self._line_numbers) if self._line_starts else None,
            warnings=warnings,
        )
