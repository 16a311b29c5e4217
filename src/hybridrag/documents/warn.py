"""What looks wrong with a document that was read, so that its owner hears of it before searching in vain."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from hybridrag.types.documents import Document

_LOOKED_AT: Final = 200_000
_LONG_LINE: Final = 20_000
_FEWEST: Final = 40
"""Characters. Less is too little to judge."""
_FEWEST_LETTERS: Final = 0.1
_MOST_BROKEN: Final = 0.005
"""Of all characters. A page that shows a replacement character now and then is no mojibake."""

_BROKEN = re.compile(
    "\ufffd|[\ue000-\uf8e4]"  # not decoded; private use: a font without names for its characters
    "|\\(cid:\\d+\\)"
    "|[\u00c2\u00c3\u00e2][\u0080-\u00bf\u20ac\u2122]"  # UTF-8 read as Latin-1 or Windows-1252
)
_BROKEN_KANA = re.compile("[縺繧繝]")
"""Japanese UTF-8 read as Shift_JIS: these begin nearly every kana, and stand in ordinary text once in a while."""
_MOST_KANA: Final = 0.05


def doubts(document: Document) -> Iterator[str]:
    """Warnings in words: no letters, mojibake, one giant line.

    "縺薙ｓ縺ｫ縺｡縺ｯ..." -> "looks like mojibake: ..."
    """
    text = document.text[:_LOOKED_AT]
    said = len(text) - text.count(" ") - text.count("\n")
    if said < _FEWEST:
        return
    if sum(map(str.isalpha, text)) < _FEWEST_LETTERS * said:
        yield "holds hardly any letters: little in it can be found by words"
    kana = Counter(_BROKEN_KANA.findall(text))
    if len(_BROKEN.findall(text)) > _MOST_BROKEN * said or (len(kana) > 1 and kana.total() > _MOST_KANA * said):
        yield "looks like mojibake: its characters were not written down as what they show"
    if "\n" not in text and len(text) > _LONG_LINE:
        yield "is one giant line: it is cut into passages anywhere"
