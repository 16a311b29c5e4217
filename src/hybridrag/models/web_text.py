"""Text from the web as plain text: no tags, no control characters, no more than asked for."""

from __future__ import annotations

import html
import re

from hybridrag.models.clean_text import replace_halves

LONGEST_RAW = 20_000
"""Looked at before cleaning: a snippet is a few hundred characters."""
ROUNDS = 4
"""Tags may hide in entities, and those in entities."""

_HIDDEN = re.compile(r"<(script|style|template|noscript|iframe)\b[^<>]*>.{0,5000}?</\1\s*>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<[A-Za-z/!?\[][^<>]*>")
_WITHIN_WORDS = re.compile(r"</?(?:a|b|code|em|font|i|mark|small|span|strong|sub|sup|u)(?:\s[^<>]*)?>", re.IGNORECASE)
"""Tags that do not part words: Japanese would get blanks where it has none."""
_UNCLOSED = re.compile(r"<+(?=[A-Za-z/!?\[])")
# Direction marks can make a line read backwards; the joiners of emoji and Indic scripts stay.
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\x80-\x84\x86-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]")


def clean_web_text(raw: str, limit: int) -> str:
    """One line of plain text, at most `limit` characters.

    "Caf&eacute; <strong>au</strong> lait<script>x()</script>", 50 -> "Café au lait"
    """
    text = replace_halves(raw[:LONGEST_RAW])
    for _ in range(ROUNDS):
        before = text
        # First what entities hide, or a tag written as `&lt;b&gt;` would come to life.
        text = _HIDDEN.sub(" ", html.unescape(_CONTROLS.sub("", text)))
        text = _TAG.sub(" ", _WITHIN_WORDS.sub("", text))
        if text == before:
            break
    else:
        text = text.replace("&", " ")
    text = " ".join(_UNCLOSED.sub("", _CONTROLS.sub("", text)).split())
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"
