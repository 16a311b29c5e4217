"""What a reader is given and what it promises."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from hybridrag.documents.decode import decode
from hybridrag.documents.limits import DEFAULT_LIMITS, ReadLimits, too_large
from hybridrag.errors import UnreadableDocument
from hybridrag.types.documents import Document


@dataclass(frozen=True, slots=True)
class Source:
    """One file on its way in: its bytes, what it is, and how far a reader may go."""

    data: bytes
    name: str
    mime_type: str
    limits: ReadLimits = DEFAULT_LIMITS
    charset: str | None = None
    """Declared outside of the file (a Content-Type header), where it was."""
    started: float = field(default_factory=time.monotonic)

    def text(self, *, declared: str | None = None) -> str:
        r"""The bytes as text with \n line ends; `declared` is a charset that the file itself names.

        Raises:
            UnknownFormat: the bytes are no text.
            DocumentTooLarge: more text than `max_text_chars`.
        """
        text = decode(self.data, name=self.name, declared=self.charset or declared).text
        self.check_length(len(text))
        return text

    def check_length(self, characters: int) -> None:
        """Go on only while the text is within `max_text_chars`.

        Raises:
            DocumentTooLarge: it is not.
        """
        if characters > self.limits.max_text_chars:
            reason = f"holds more than {self.limits.max_text_chars:,} characters of text"
            raise too_large(self.name, reason, "max_text_chars")

    def check_pages(self, pages: int, *, what: str = "pages") -> None:
        """Go on only while there are at most `max_pages` pages.

        Raises:
            DocumentTooLarge: there are more.
        """
        if pages > self.limits.max_pages:
            raise too_large(self.name, f"has more than {self.limits.max_pages:,} {what}", "max_pages")

    def check_rows(self, rows: int) -> None:
        """Go on only while there are at most `max_rows` rows.

        Raises:
            DocumentTooLarge: there are more.
        """
        if rows > self.limits.max_rows:
            raise too_large(self.name, f"has more than {self.limits.max_rows:,} rows", "max_rows")

    def check_time(self) -> None:
        """Go on only within `max_seconds` from the start.

        Raises:
            UnreadableDocument: the time is over.
        """
        if time.monotonic() - self.started > self.limits.max_seconds:
            raise took_too_long(self.name, self.limits.max_seconds)


def took_too_long(name: str, seconds: float) -> UnreadableDocument:
    """The error for a file that ran past its time."""
    return UnreadableDocument(
        name,
        f"took longer than {seconds:g} s to read",
        hint="Raise `documents.max_seconds` in hybridrag.toml to wait longer.",
    )


def took_too_much_memory(name: str, allowed: str) -> UnreadableDocument:
    """The error for a file that needed more memory than allowed."""
    return UnreadableDocument(
        name,
        f"needed more than {allowed} of memory to read",
        hint="Raise `documents.max_memory_bytes` in hybridrag.toml to allow more.",
    )


Reader = Callable[[Source], Document]
"""Bytes in, document out. Blocks lie inside the text, in order, without overlap, and cover all that is worth finding.

A reader raises a `DocumentError` that says in one sentence what is wrong; any other exception means a broken file.
A document without blocks means that there was nothing to read.
"""
