"""Text that is no file: a document that a program hands over, a page of the web."""

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


@dataclass(frozen=True, slots=True)
class WebPage:
    """Text from outside, with where it was found."""

    url: str
    title: str
    text: str
