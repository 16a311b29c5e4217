"""Find the two sides of a comparison or relation where they are no names: sleep and memory, 日報と週報."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hybridrag.queries.read_english import NAME, OPENERS, Word
from hybridrag.queries.read_japanese import NAME as NAMED
from hybridrag.queries.read_japanese import NOUN, Phrase
from hybridrag.queries.rules_japanese import coordinated
from hybridrag.queries.signals import Span
from hybridrag.queries.words import any_of, english, japanese

MAX_SIDE = 7
"""Words in one side, articles included; what is longer is a clause."""

MAX_SIDES = 12
"""Words that a list of sides may take."""

_WORD = r"[^ ,?.;:]+"
_UP_TO = rf"(?:{_WORD} ){{0,{MAX_SIDE - 1}}}?{_WORD}"
_LIST = rf"(?:{_WORD} (?:, )?){{0,{MAX_SIDES - 1}}}{_WORD}"
_ENDING = "in|for|on|at|when|as|by|during|if|that|which|who|is|are|was|were|has|have|had|did|does|came|[,?.;:]"
_END = rf"(?= (?:{_ENDING})(?: |$)|$)"
_MANY = re.compile(
    rf"\b(?:between|compare|comparing|comparison of|which of|contrast) (?P<list>{_LIST}?){_END}"
    rf"|(?P<versus>{_UP_TO} (?:vs|versus) {_UP_TO}){_END}"
)
_MORE = rf"[a-z]{{3,}}er|{any_of(english('comparatives'))}"
_TWO = re.compile(
    rf"\bhow (?:do|does|did|has|have|will|would|can|could|is|are|was|were) (?P<a>{_UP_TO}) "
    r"(?:affect|impact|influence|differ from|relate to|compare (?:to|with)|related to|connected (?:to|with)|linked to)"
    rf" (?P<b>{_UP_TO}){_END}"
    rf"|\b(?:effects?|impacts?|influences?) of (?P<c>{_UP_TO}) (?:on|upon) (?P<d>{_UP_TO}){_END}"
    rf"|\bwhat (?:connects|links) (?P<e>{_UP_TO}) (?:with|and|to) (?P<f>{_UP_TO}){_END}"
    rf"|^(?:is|are|was|were) (?P<g>{_UP_TO}) (?:related to|connected to|linked to|(?:more \w+|less \w+|{_MORE}) than)"
    rf" (?P<h>{_UP_TO}){_END}"
)
_BREAKS = frozenset((",", "and", "or", "vs", "versus", "with", "to"))
_STOPS = english("prepositions", "auxiliaries")
_NO_SIDE = japanese("no_side")
_NOTHING = _NO_SIDE | japanese("gist", "transparent", "people", "counters")


def english_sides(words: Sequence[Word]) -> list[Span]:
    """The sides that a pattern of comparison or effect names, articles left out; those that hold a name are left to it.

    "relationship between sleep and memory" -> sleep, memory
    """
    line = " ".join(word.text for word in words)
    found: list[Span] = []
    for match in _MANY.finditer(line):
        group = "list" if match["list"] is not None else "versus"
        first, last = _indices(line, match, group)
        if group == "versus":
            first = _after_preposition(words, first, last)
        found += _split(words, first, last)
    for match in _TWO.finditer(line):
        for group, value in match.groupdict().items():
            if value is not None:
                found += filter(None, [_side(words, *_indices(line, match, group))])
    return found


def _indices(line: str, match: re.Match[str], group: str) -> tuple[int, int]:
    """The words that a group covers: spaces part them, so counting spaces counts words."""
    first = line.count(" ", 0, match.start(group))
    return first, first + 1 + match[group].count(" ")


def _after_preposition(words: Sequence[Word], first: int, last: int) -> int:
    """Where the first side begins: "pros and cons of kafka vs rabbitmq" has kafka on it."""
    middle = next(at for at in range(first, last) if words[at].text in {"vs", "versus"})
    for at in range(middle - 1, first - 1, -1):
        if words[at].text in _STOPS:
            return at + 1
    return first


def _split(words: Sequence[Word], first: int, last: int) -> Iterator[Span]:
    at = first
    sides = []
    for index in range(first, last + 1):
        if index == last or words[index].text in _BREAKS:
            sides.append(_side(words, at, index))
            at = index + 1
    if len(sides) > 1:
        yield from filter(None, sides)


def _side(words: Sequence[Word], first: int, last: int) -> Span | None:
    while first < last and words[first].text in OPENERS:
        first += 1
    while first < last and words[last - 1].text in OPENERS:
        last -= 1
    texts = [word.text for word in words[first:last]]
    if not texts or len(texts) > MAX_SIDE or NAME in texts or not texts[0][0].isalnum():
        return None
    return Span(words[first].start, words[last - 1].end)


def japanese_sides(row: Sequence[Phrase]) -> list[Span]:
    """The two things that と joins, or that stand before は and より, が and に.

    "日報と週報はどう使い分けますか" -> 日報, 週報; "気温が売上に与える影響" -> 気温, 売上
    """
    pairs = [_whole_pair(row, left, right) for left, right in coordinated(row)]
    sides = [side for pair in pairs for side in pair] or list(_before_particles(row))
    return [Span(side.start, side.end) for side in sides if _can_be_side(side)]


def _whole_pair(row: Sequence[Phrase], left: Phrase, right: Phrase) -> tuple[Phrase, Phrase]:
    """関ヶ原の戦いと赤壁の戦い: with the same noun behind both, each is the whole."""
    first, second = row.index(left), row.index(right)
    owned = (
        row[second + 2]
        if row[second + 1 : second + 2] and row[second + 1].text == "の" and second + 2 < len(row)
        else None
    )
    if owned is None or first < 2 or row[first - 1].text != "の" or left.head != owned.head:
        return left, right
    return row[first]._replace(start=row[first - 2].start, kind=NOUN), right._replace(end=owned.end, kind=NOUN)


def _before_particles(row: Sequence[Phrase]) -> Iterator[Phrase]:
    subject = next((at for at in range(len(row) - 1) if row[at].is_noun and row[at + 1].text in {"は", "が"}), None)
    if subject is None:
        return
    for at in range(subject + 2, len(row) - 1):
        if row[at].is_noun and row[at + 1].text in {"より", "に", "と", "との"}:
            yield row[subject]
            yield row[at]
            return


def _can_be_side(phrase: Phrase) -> bool:
    return phrase.kind != NAMED and phrase.text not in _NOTHING and phrase.head not in _NO_SIDE
