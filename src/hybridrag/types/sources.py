"""A document that a program hands over as text, instead of a file."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class TextDocument:
    """A text under a name of the caller's choice; the same name again replaces it."""

    name: str
    text: str
    title: str | None = None
    modified: datetime | None = None
    mime_type: str = "text/plain"
    """What the text is; `text/markdown` has its headings read."""
