"""Find the names in a question that the graph knows, however they are written there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hybridrag.graph.names import is_japanese, name_key
from hybridrag.language.morphemes import Morpheme, morphemes
from hybridrag.queries.words import english

MAX_WORDS = 6
"""Words of a name at most; longer ones are titles, which the linker finds."""

MAX_CANDIDATES = 400
"""Candidates looked up at most: a pasted page is no question."""

_OTHER = r"[^\W_ぁ-ヿㇰ-ㇿｦ-ﾟ々〆㐀-䶿一-鿿豈-﫿]"
_WORD = re.compile(rf"{_OTHER}+(?:[-'’.&/]{_OTHER}+)*")
"""A word of letters; in Japanese it ends where they do: UNTAGの正式名称."""
_SPACE = re.compile(r"[^\S\n]{0,2}")
_SMALL = english("name_edges")
"""Words that a name in running text does not begin or end with."""
_OPENING = english("openings")
"""Words that a question may open with, and so has in capitals: "Will it rain?" does not name Will."""

LookUp = Callable[[Sequence[str]], Mapping[str, int]]
"""Names as they are compared -> the entities that the caller may see, by name."""


@dataclass(frozen=True, slots=True)
class KnownName:
    """A name in a question, and the entity that it names."""

    text: str
    start: int
    end: int
    entity_key: int


def recognise(text: str, look_up: LookUp) -> list[KnownName]:
    """The names in the text that the graph knows, in its order; of names within one another the longest.

    "who designed the marten lighthouse?" -> [marten lighthouse]

    A single word counts only where it is written like a name: "may" and "first" are names of something in many
    corpora. Years and other numbers are no names to search by.
    """
    spans = list(_candidates(text))[:MAX_CANDIDATES]
    norms = {span: name_key(text[span[0] : span[1]]) for span in spans}
    wanted = sorted({norm for norm in norms.values() if len(norm) > 1})
    known = look_up(wanted) if wanted else {}
    found: list[KnownName] = []
    for start, end in sorted(spans, key=lambda span: (span[0] - span[1], span[0])):
        key = known.get(norms[start, end])
        if key is not None and all(end <= other.start or other.end <= start for other in found):
            found.append(KnownName(text[start:end], start, end, key))
    return sorted(found, key=lambda name: name.start)


def _candidates(text: str) -> Iterator[tuple[int, int]]:
    yield from _latin(text)
    if is_japanese(text):
        yield from _japanese(text)


def _latin(text: str) -> Iterator[tuple[int, int]]:
    """Every row of words with nothing but a space between them that neither begins nor ends with a small word.

    A single word counts only with a capital.
    """
    words = [match.span() for match in _WORD.finditer(text) if match[0].isascii() or not is_japanese(match[0])]
    for first, (start, end) in enumerate(words):
        if _is_small(text[start:end]):
            continue
        if _written_as_name(text[start:end], opens=not first):
            yield start, _without_possessive(text, start, end)
        for last in range(first + 1, min(first + MAX_WORDS, len(words))):
            begin, stop = words[last]
            if not _SPACE.fullmatch(text[words[last - 1][1] : begin]):
                break
            if not _is_small(text[begin:stop]):
                yield start, _without_possessive(text, begin, stop)


def _written_as_name(word: str, *, opens: bool) -> bool:
    """Whether a single word is: "Tate" and "WHO", but neither a number nor the "Who" of a question."""
    if word.islower() or word.isdigit():
        return False
    return word.isupper() or not (word.lower() in _SMALL or (opens and word.lower() in _OPENING))


def _is_small(word: str) -> bool:
    """Whether it is a lower-case article, preposition or the like: "the", not the "The" of a title."""
    return word in _SMALL


def _without_possessive(text: str, start: int, end: int) -> int:
    return end - 2 if end - start > 2 and text[end - 2 : end] in {"'s", "’s"} else end


def _japanese(text: str) -> Iterator[tuple[int, int]]:
    """Every row of nouns; a single one only if it is a proper noun, or unknown, and part of no longer row."""
    words = morphemes(text)
    for first, word in enumerate(words):
        if not _is_noun(word) or "数詞" in word.pos:
            continue
        alone = not (_joined(words, first - 1) or _joined(words, first))
        if alone and (word.unknown or "固有名詞" in word.pos):
            yield word.start, word.end
        for last in range(first + 1, min(first + MAX_WORDS, len(words))):
            if words[last].start != words[last - 1].end or not _may_join(words[last]):
                break
            if _is_noun(words[last]):
                yield word.start, words[last].end


def _joined(words: Sequence[Morpheme], at: int) -> bool:
    """Whether two words in a row are nouns with nothing between them."""
    if not 0 <= at < len(words) - 1:
        return False
    one, other = words[at], words[at + 1]
    return one.end == other.start and _is_noun(one) and _is_noun(other)


def _is_noun(word: Morpheme) -> bool:
    return word.pos[0] in {"名詞", "接頭辞", "接尾辞"} or word.unknown


def _may_join(word: Morpheme) -> bool:
    """Nouns, and the particle within names such as 風の谷."""
    return _is_noun(word) or word.surface in {"の", "・", "ヶ", "ノ"}
