"""Read lists of words that mean the same.

A synonym file is plain text in UTF-8, one group of words a line, parted by commas (`,` or `、`). Every word of a group
stands for the others. A line that begins with `#` is a comment; empty lines are passed over.

    # people
    customer, client, 顧客, お客様
    meeting, ミーティング, 会議
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType

from hybridrag.errors import InvalidSettings
from hybridrag.language.normalise import fold

MAX_BYTES = 1_000_000
"""A file that is larger is no list that a person keeps by hand."""

MAX_WORD = 80
"""Characters in one word or phrase; what is longer is a sentence in the wrong file."""

KEY = "search.synonyms"
"""The setting that names the file."""

_COMMA = re.compile("[,、，]")
_DEFAULT = "synonyms.txt"


def load_synonyms(path: str | Path) -> dict[str, tuple[str, ...]]:
    """Every word of the file with the words that stand for it, as `expand` takes them.

    a line "car, automobile" -> {"car": ("automobile",), "automobile": ("car",)}

    Raises:
        InvalidSettings: the file cannot be read, is no UTF-8 text, or a line is no group of words.
    """
    where = str(path)
    try:
        raw = Path(path).read_bytes()
    except (OSError, ValueError) as cause:
        reason = cause.strerror if isinstance(cause, OSError) and cause.strerror else str(cause)
        raise InvalidSettings(where=where, key=KEY, expected=f"names a file that cannot be read ({reason})") from cause
    if len(raw) > MAX_BYTES:
        raise InvalidSettings(where=where, key=KEY, expected=f"names a file of more than {MAX_BYTES:,} bytes")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as cause:
        raise InvalidSettings(
            where=where, key=KEY, expected="must name a text file in UTF-8", hint="Save the file as UTF-8."
        ) from cause
    return _from_lines(text.splitlines(), where)


@cache
def default_synonyms() -> Mapping[str, tuple[str, ...]]:
    """The list that ships with the package: general words of office and software in English and Japanese.

    "会議" -> ("meeting", "ミーティング", "打ち合わせ", "打合せ")
    """
    text = resources.files("hybridrag.queries").joinpath(_DEFAULT).read_text(encoding="utf-8")
    return MappingProxyType(_from_lines(text.splitlines(), _DEFAULT))


def _from_lines(lines: Iterable[str], where: str) -> dict[str, tuple[str, ...]]:
    spelled: dict[str, str] = {}
    others: dict[str, dict[str, str]] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        group = _group(line, f"{where}, line {number}")
        for key, word in group.items():
            spelled.setdefault(key, word)
            # A word may stand in two groups; it then stands for the words of both.
            others.setdefault(key, {}).update({other: it for other, it in group.items() if other != key})
    return {spelled[key]: tuple(known.values()) for key, known in others.items()}


def _group(line: str, where: str) -> dict[str, str]:
    """The words of a line by their folded form, each once."""
    words = {fold(word): word for piece in _COMMA.split(line) if (word := piece.strip())}
    if len(words) < 2:
        raise InvalidSettings(
            where=where,
            key=KEY,
            expected="needs at least two different words on a line, parted by commas",
            hint="Begin a comment with #.",
        )
    long = next((word for word in words.values() if len(word) > MAX_WORD), None)
    if long is not None:
        raise InvalidSettings(
            where=where, key=KEY, expected=f"has a word of {len(long)} characters (at most {MAX_WORD})"
        )
    return words
