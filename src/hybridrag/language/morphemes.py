"""Japanese text -> words with their part of speech and place, by Sudachi's longest units (mode C)."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from hybridrag.language.sentences import sentences

if TYPE_CHECKING:
    from sudachipy import Dictionary, Tokenizer  # type: ignore[import-untyped] # stubs without the py.typed marker

MAX_TEXT = 8_000
"""Characters given to Sudachi at once; it refuses more than 49,149 bytes, and a character takes up to four."""


_REMEMBERED = 32
"""Texts whose words are kept: names and relations of one chunk are read one after the other."""


class Morpheme(NamedTuple):
    """A word of the text: `text[start:end] == surface`."""

    surface: str
    pos: tuple[str, ...]
    """Sudachi's six: 名詞, 固有名詞, 人名, 姓, *, *."""
    start: int
    end: int
    unknown: bool
    """Not in the dictionary."""
    lemma: str
    """As a dictionary lists it: 生まれる."""


_lock = threading.Lock()
_local = threading.local()
_shared: dict[str, Dictionary] = {}
_parts_of_speech: dict[int, tuple[str, ...]] = {}


@lru_cache(maxsize=_REMEMBERED)
def morphemes(text: str) -> tuple[Morpheme, ...]:
    """The words of a text in order; white space between them is left out.

    "東京都で" -> [東京都 (名詞, 固有名詞, 地名), で (助詞, 格助詞)]
    """
    if len(text) <= MAX_TEXT:
        return tuple(_segment(text, 0))
    return tuple(
        found
        for start, end in sentences(text)
        for at in range(start, end, MAX_TEXT)
        for found in _segment(text[at : min(at + MAX_TEXT, end)], at)
    )


def _segment(text: str, offset: int) -> list[Morpheme]:
    return [
        Morpheme(
            text[found.begin() : found.end()],
            _part_of_speech(found),
            offset + found.begin(),
            offset + found.end(),
            found.is_oov(),
            found.dictionary_form(),
        )
        for found in _tokenizer().tokenize(text)
        if not text[found.begin() : found.end()].isspace()
    ]


def _part_of_speech(found: Any) -> tuple[str, ...]:
    """Read once for each kind: Sudachi builds six strings at every call."""
    number = found.part_of_speech_id()
    known = _parts_of_speech.get(number)
    if known is None:
        known = _parts_of_speech[number] = tuple(found.part_of_speech())
    return known


def _tokenizer() -> Tokenizer:
    # A tokenizer works in buffers of its own, so every thread has one; the dictionary is shared.
    found: Tokenizer | None = getattr(_local, "tokenizer", None)
    if found is None:
        with _lock:
            found = _local.tokenizer = _new_tokenizer()
    return found


def _new_tokenizer() -> Tokenizer:
    from sudachipy import Dictionary, SplitMode  # noqa: PLC0415 (keeps start-up fast)

    dictionary = _shared.setdefault("dictionary", _shared.get("dictionary") or Dictionary())
    return dictionary.tokenizer(mode=SplitMode.C)
