"""The lists of `words.toml`, by language and name, and patterns out of them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources


@cache
def _lists() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads(resources.files("hybridrag.queries").joinpath("words.toml").read_text(encoding="utf-8"))


def english(*names: str) -> frozenset[str]:
    """The words of English lists, taken together.

    "times", "places" -> {"birthday", "century", ..., "area", ...}
    """
    return frozenset(word for name in names for word in _lists()["english"][name].split())


def japanese(*names: str) -> frozenset[str]:
    """The words of Japanese lists, taken together.

    "counters" -> {"年", "月", ...}
    """
    return frozenset(word for name in names for word in _lists()["japanese"][name].split())


def any_of(words: Iterable[str]) -> str:
    """A group that takes any of the words, the longest first.

    {"問題", "問題点"} -> "(?:問題点|問題)"
    """
    return "(?:" + "|".join(map(re.escape, sorted(words, key=lambda word: (-len(word), word)))) + ")"
