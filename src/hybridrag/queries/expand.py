"""Say the same question in other words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import chain, zip_longest

from hybridrag.language.normalise import normalise
from hybridrag.language.scripts import HAN

MAX_EXPANSIONS = 16
"""Each expansion is searched: a long synonym list must not multiply the cost without end."""

_KATAKANA = r"[ァ-ヺー-ヿㇰ-ㇿｦ-ﾟ]"
# Chinese characters and hiragana run on without a boundary between words; katakana words end where katakana ends.
_UNSPACED = r"[ぁ-ヿㇰ-ㇿｦ-ﾟ々〆㐀-䶿一-鿿豈-﫿\U00020000-\U0003FFFF]"
_LETTER = rf"(?:(?!{_UNSPACED})\w)"
_COMBINING = r"[\u0300-\u036f\u3099\u309a]"


class ExpansionSource(StrEnum):
    """Where an expansion comes from."""

    ORIGINAL = "original"
    """The question itself."""
    ALIAS = "alias"
    """Another name of the same thing, known to the graph."""
    SYNONYM = "synonym"
    """A word that means about the same, out of a synonym list."""


EXPANSION_WEIGHTS = {
    ExpansionSource.ORIGINAL: 1.0,
    ExpansionSource.ALIAS: 0.8,
    ExpansionSource.SYNONYM: 0.6,
}
"""What a match of the expansion counts, times its score: less than 1, so that at equal rank the user's own words win.
An alias names the same thing; a synonym only may."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """A question to search, and how it came about: what a trace shows."""

    text: str
    replaced: str
    """The words of the question that were replaced; empty for the question itself."""
    by: str
    """What stands in their place; empty for the question itself."""
    source: ExpansionSource

    @property
    def weight(self) -> float:
        """How much a match counts beside one of the question's own words."""
        return EXPANSION_WEIGHTS[self.source]


def expand(
    text: str,
    synonyms: Mapping[str, Sequence[str]],
    aliases: Mapping[str, Sequence[str]],
    *,
    limit: int = MAX_EXPANSIONS,
) -> list[Expansion]:
    """The question first, then with one word replaced at a time: by other names, then by synonyms; at most `limit`.

    ("car price", {"car": ["automobile"]}, {}) -> "car price" (1.0), "automobile price" (0.6, replaced car)

    Words match whole and without regard to case and width. Ideographs match only where no other ideograph stands
    beside them: 会議 is not replaced in 会議室.
    """
    plain = normalise(text)
    found = {fold_of(text): Expansion(text, "", "", ExpansionSource.ORIGINAL)}
    for expansion in chain(
        _in_turn(_replacements(plain, aliases, ExpansionSource.ALIAS)),
        _in_turn(_replacements(plain, synonyms, ExpansionSource.SYNONYM)),
    ):
        if len(found) >= limit:
            break
        found.setdefault(fold_of(expansion.text), expansion)
    return list(found.values())


def _in_turn(by_word: Iterable[Sequence[Expansion]]) -> Iterator[Expansion]:
    """The first of every word, then the second: a word with many synonyms must not crowd out the others."""
    for turn in zip_longest(*by_word):
        yield from filter(None, turn)


def fold_of(text: str) -> str:
    """The key under which two questions are the same search.

    "ＡＰＩ  Design" -> "api design"
    """
    return " ".join(normalise(text).casefold().split())


def _replacements(text: str, words: Mapping[str, Sequence[str]], source: ExpansionSource) -> Iterator[list[Expansion]]:
    """For every word of the question that is known, the question with it replaced."""
    folded = text.casefold()
    for word, alternatives in words.items():
        plain, key = _spelled(word)
        # A graph knows thousands of aliases, and nearly all of them are not in the question.
        if not plain or key not in folded:
            continue
        pattern = _whole_word(plain, apart=f"[{HAN}]")
        match = pattern.search(text)
        if match is not None:
            # A replacement string would interpret backslashes.
            yield [
                Expansion(pattern.sub(by.replace("\\", r"\\"), text), match[0], by, source)
                for by in alternatives
                if by.strip()
            ]


@lru_cache(maxsize=8192)
def _spelled(word: str) -> tuple[str, str]:
    """A word of a list in its normal form, and that in lower case: the list is the same for every question."""
    plain = normalise(word).strip()
    return plain, plain.casefold()


def _whole_word(word: str, *, apart: str | None = None) -> re.Pattern[str]:
    before = f"(?<!{run})" if (run := _run_of(word[0], apart)) else ""
    after = f"(?!{run})" if (run := _run_of(word[-1], apart)) else ""
    return re.compile(f"{before}{re.escape(word)}{after}(?!{_COMBINING})", re.IGNORECASE)


def _run_of(character: str, apart: str | None) -> str | None:
    """What must not stand beside that edge of a whole word: more of the same writing, or of `apart`."""
    if re.match(_KATAKANA, character):
        return _KATAKANA
    if apart is not None and re.match(apart, character):
        return apart
    return _LETTER if re.match(_LETTER, character) else None
