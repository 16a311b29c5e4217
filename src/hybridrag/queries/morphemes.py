"""Japanese text -> words with their part of speech and place, by Sudachi's longest units (mode C)."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from sudachipy import Dictionary, Tokenizer  # type: ignore[import-untyped] # stubs without the py.typed marker


class Morpheme(NamedTuple):
    """A word of the text: `text[start:end] == surface`."""

    surface: str
    pos: tuple[str, ...]
    """Sudachi's six: 名詞, 固有名詞, 人名, 姓, *, *."""
    start: int
    end: int
    unknown: bool
    """Not in the dictionary."""


_lock = threading.Lock()
_local = threading.local()
_shared: dict[str, Dictionary] = {}
_parts_of_speech: dict[int, tuple[str, ...]] = {}


def morphemes(text: str) -> list[Morpheme]:
    """The words of a normalised text in order; white space between them is left out.

    "東京都で" -> [東京都 (名詞, 固有名詞, 地名), で (助詞, 格助詞)]
    """
    return [
        Morpheme(text[found.begin() : found.end()], _part_of_speech(found), found.begin(), found.end(), found.is_oov())
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

    dictionary = _shared.get("dictionary") or _shared.setdefault("dictionary", Dictionary())
    # SudachiPy 0.7 renamed `create`; GiNZA asks for 0.6.
    make = getattr(dictionary, "tokenizer", None) or dictionary.create
    return make(mode=SplitMode.C)
