"""Lines of a text that say nothing by themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable

_HEADING = re.compile(r"#{1,6}\s|(\*\*|__)[^*_\n]{1,80}\1:?\s*$|[=-]{3,}\s*$")
"""Of Markdown: marked, underlined, or a line in bold."""


def silent_lines(text: str, known: Iterable[str]) -> list[tuple[int, int]]:
    """Where the lines stand that answer nothing: headings, and what is known already, such as the question itself.

    "## Reset?", line break, "Hold the button." -> [(0, 10)]
    """
    said = {bare(one) for one in known} - {""}
    found, at = [], 0
    for line in text.splitlines(keepends=True):
        if _HEADING.match(line) or bare(line) in said:
            found.append((at, at + len(line)))
        at += len(line)
    return found


def bare(text: str) -> str:
    """A line by its letters and digits alone: "## Reset the pump?" -> "resetthepump"."""
    return "".join(filter(str.isalnum, text)).casefold()
