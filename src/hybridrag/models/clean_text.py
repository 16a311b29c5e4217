"""Text that can leave Python: no lone halves of surrogate pairs."""

from __future__ import annotations

import re

_HALVES = re.compile("[\ud800-\udfff]")


def replace_halves(text: str) -> str:
    r"""Each half of a surrogate pair, which no encoding can carry, becomes U+FFFD; lengths and offsets stay.

    "a\ud800b" -> "a\ufffdb"
    """
    return text if text.isascii() else _HALVES.sub("\ufffd", text)
