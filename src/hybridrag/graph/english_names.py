"""English words -> the runs of them that are names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hybridrag.graph.english_tokens import Token
from hybridrag.graph.marks import Span, is_inside
from hybridrag.graph.mentions import Context
from hybridrag.graph.words import (
    DAYS,
    DEMONYMS,
    EVENT_HEADS,
    GENERIC_CAPITALS,
    LEGAL_FORMS,
    MILITARY,
    MONTHS,
    OFFICES,
    ORGANISATION_HEADS,
    PARTICLES,
    PLACE_HEADS,
    SENTENCE_OPENERS,
    STYLES,
    word_set,
)

TITLE_CONNECTORS = word_set("of the a an and in on at to for with from by")
"""Small words of titles of works."""

_DOTTED_BEFORE = word_set("st mt ft dr mr mrs ms prof jr sr rev gen col lt capt sgt gov sen rep no vs")
_JOINS_WITH_FOR = ORGANISATION_HEADS | word_set("prize award war movement campaign fight")
_JOINS_WITH_AND = word_set(
    "ministry department office bureau institute college academy faculty school centre center society museum "
    "committee commission council zoo"
)
_POSSESSIVE_INSIDE = word_set("people men women children king queen world nation workers farmers winners")
_NICKNAME_GAPS = frozenset({' "', '" ', " “", "” ", " '", "' "})
_MAX_RUN = 12
_MAX_SMALL_WORDS = 2
_YEAR_DIGITS = 4
_WRAPPED = 40  # characters of a line that is wrapped; those of lists and addresses are shorter


def _joins(text: str, left: Token, right: Token) -> bool:
    """Whether two neighbouring words may belong to one name, by what stands between them."""
    if left.possessive and left.low not in _POSSESSIVE_INSIDE:
        return False
    gap = text[left.end : right.start]
    if left.possessive:
        gap = gap.lstrip("'’s")
    if "\n" in gap:
        # A name goes on over the end of a line only where running text was wrapped, not from one cell to the next.
        return gap.isspace() and "\n\n" not in gap and left.end - text.rfind("\n", 0, left.end) > _WRAPPED
    if gap in {" & ", "-", "–"} or gap.isspace():
        return True
    if gap.strip() == ".":
        return len(left.text) == 1 or left.low in _DOTTED_BEFORE
    return gap == ", " and (right.low in LEGAL_FORMS or right.low in {"jr", "sr"})


def runs(text: str, tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Index ranges of neighbouring words that may be one name.

    "the University of Tokyo hired Apple Inc." -> University of Tokyo, Apple Inc.
    """
    at = 0
    while at < len(tokens):
        if not tokens[at].is_name_like or _is_month(tokens, at):
            at += 1
            continue
        end = _run_end(text, tokens, at)
        yield _with_year(text, tokens, at, end), end
        at = end


def _with_year(text: str, tokens: Sequence[Token], start: int, end: int) -> int:
    """One word further left where a year belongs to an event: "2002 Winter Olympics"."""
    if not start or tokens[end - 1].low not in EVENT_HEADS:
        return start
    year = tokens[start - 1]
    digits = year.text.replace("–", "").replace("-", "")
    is_year = digits.isdecimal() and len(digits) >= _YEAR_DIGITS and text[year.end : tokens[start].start] == " "
    return start - 1 if is_year else start


def _run_end(text: str, tokens: Sequence[Token], start: int) -> int:
    end = start + 1
    while end < len(tokens) and end - start < _MAX_RUN:
        step = _step(text, tokens, start, end)
        if not step:
            break
        end += step
    return end


def _step(text: str, tokens: Sequence[Token], start: int, end: int) -> int:
    """How many words further the name goes: 0 where it ends."""
    left, token = tokens[end - 1], tokens[end]
    if not _joins(text, left, token):
        return 2 if _is_nickname(text, tokens, end) else 0
    if token.is_name_like:
        return int(not _is_month(tokens, end))
    if token.text.isdecimal():
        return int(len(token.text) < _YEAR_DIGITS and left.low not in DEMONYMS and left.low != "top")
    return _over_small_words(text, tokens, start, end)


def _is_month(tokens: Sequence[Token], at: int) -> bool:
    """Whether a word is the month of a date, by the number beside it: "5 Aug Seahouses"."""
    beside = [*tokens[max(0, at - 1) : at], *tokens[at + 1 : at + 2]]
    return tokens[at].low in MONTHS and any(token.text[0].isdigit() for token in beside)


def _is_nickname(text: str, tokens: Sequence[Token], at: int) -> bool:
    """Wilfried "Willi" Schneider."""
    if at + 1 >= len(tokens):
        return False
    left, token, right = tokens[at - 1 : at + 2]
    gaps = {text[left.end : token.start], text[token.end : right.start]}
    return gaps <= _NICKNAME_GAPS and token.is_name_like and right.is_name_like


def _over_small_words(text: str, tokens: Sequence[Token], start: int, end: int) -> int:
    """To the next capital over one or two small words: "University of the Arts"."""
    for size in range(1, _MAX_SMALL_WORDS + 1):
        if end + size >= len(tokens):
            return 0
        small, after = tokens[end + size - 1], tokens[end + size]
        if not (small.low in TITLE_CONNECTORS or small.low in PARTICLES) or not _joins(text, small, after):
            return 0
        if after.is_name_like:
            return size + 1 if _connects(text, tokens, start, end, size) else 0
    return 0


def _connects(text: str, tokens: Sequence[Token], start: int, end: int, size: int) -> bool:
    words = [token.low for token in tokens[end : end + size]]
    first, last = tokens[start], tokens[end - 1]
    # A capital article inside a sentence opens a title: "watched The Man in the Funny Suit".
    if first.low in {"the", "a", "an"} and not first.opens:
        return tokens[end + size].low not in {"the", "a", "an"}
    if all(word in PARTICLES for word in words):
        return last.low not in SENTENCE_OPENERS
    if words[0] == "of":
        return last.low not in DEMONYMS and tokens[end + size].low not in DEMONYMS
    before = {token.low for token in tokens[start:end]}
    if words[0] == "for":
        return bool(before & _JOINS_WITH_FOR)
    return words == ["and"] and (bool(before & _JOINS_WITH_AND) or _shares_head(text, tokens, start, end))


def _shares_head(text: str, tokens: Sequence[Token], start: int, end: int) -> bool:
    """As in "the Delaware and Hudson Railroad": an article before, and a head that only the end has."""
    if not start or tokens[start - 1].low != "the" or tokens[end - 1].low in ORGANISATION_HEADS:
        return False
    after = _run_end(text, tokens, end + 1)
    return after - end > 2 and tokens[after - 1].low in ORGANISATION_HEADS


# ---------------------------------------------------------------- names out of runs

_NOT_ALONE = word_set("i a an the mr mrs ms dr st no jr sr ii iii iv vi vii viii ix xi xii xiii xiv") | GENERIC_CAPITALS
_OPENS_NAMES = STYLES | word_set("mount lake fort cape port north south east west new old saint mr mrs ms dr")
SURE, LIKELY, UNSURE = 0.9, 0.7, 0.35
"""How sure a name is: written like one inside a sentence; at its beginning, with a verb after it; without."""
_UNLIKELY_ENDING = re.compile(r"(?:ing|ed|ly|tion|tions|ness|ment|ments|ity|ities|ism|ists|ers|ors)$")
_NAME_FOLLOWS = re.compile(
    r"(?:[’']s?\b|,\s+(?:an?|the|who|which)\b|\s*\((?!s\))|\s+(?:is|was|has|had|are|were|will|became|began|said|played|won|led|served|died|received|"
    r"wrote|moved|joined|appeared|stars|plays|returned|made|took|lies|lived|grew|released|went|also|later|and\s+[A-Z])\b)"
)


class Surroundings(NamedTuple):
    """What the rest of the chunk says about a word."""

    small: frozenset[str]
    """Words that stand somewhere without a capital."""
    inside: frozenset[str]
    """Words that stand inside a sentence, or in a title, with a capital."""


def survey(rows: Sequence[Sequence[Token]], context: Context, skip: list[Span]) -> Surroundings:
    """Look once over all words of the chunk and its titles; in addresses everything is small."""
    small = {
        token.text
        for tokens in rows
        for token in tokens
        if token.text.islower() and not is_inside(token.start, token.end, skip)
    }
    inside = {token.low for tokens in rows for token in tokens if token.is_name_like and not token.opens}
    known = " ".join([context.title or "", *context.headings]).lower()
    return Surroundings(frozenset(small), frozenset(inside | set(re.findall(r"[^\W_]+", known))))


def names(text: str, tokens: Sequence[Token], around: Surroundings) -> Iterator[tuple[Sequence[Token], float]]:
    """The names of one sentence, and how sure each is one.

    "British Prime Minister Tony Blair met Ann." -> British, Tony Blair, Ann
    """
    for start, end in runs(text, tokens):
        run, confidence = _without_opener(tokens[start:end], around)
        for part in _parts(run):
            name = _without_loose_ends(part)
            if not name or (len(name) == 1 and _names_nothing(name[0].low)):
                continue
            yield name, _confidence(text, name, around) if confidence == UNSURE else confidence


def _names_nothing(low: str) -> bool:
    """Words that are no name by themselves, the days of the week, and "I've" and the like."""
    contracted = re.split("['’]", low)
    pronoun = len(contracted) > 1 and len(contracted[0]) > 1 and contracted[0] in SENTENCE_OPENERS
    return low in _NOT_ALONE or low.removesuffix("s") in DAYS or low in MONTHS or pronoun or contracted[0] == "i"


def _without_opener(tokens: Sequence[Token], around: Surroundings) -> tuple[Sequence[Token], float]:
    """The run without an ordinary word that only opens its sentence."""
    first = tokens[0]
    low = first.low
    if not first.opens or not first.is_name_like:
        return tokens, SURE
    known = low in around.inside or (len(tokens) > 1 and low in _OPENS_NAMES) or _is_of_title(tokens, around)
    if low in SENTENCE_OPENERS or (not known and low in around.small):
        return tokens[1:], SURE
    return tokens, SURE if known or len(tokens) > 1 else UNSURE


def _is_of_title(tokens: Sequence[Token], around: Surroundings) -> bool:
    """As in "Song of Freedom": a common noun and "of" before a capital; not "Members of Parliament"."""
    low = tokens[0].low
    return len(tokens) > 2 and tokens[1].low == "of" and not low.endswith("s") and low not in around.small


def _confidence(text: str, name: Sequence[Token], around: Surroundings) -> float:
    """Of a single word that opens a sentence."""
    token = name[0]
    if token.text.isupper() and len(token.text) > 1:
        return LIKELY
    likely = _NAME_FOLLOWS.match(text, token.end) and not _UNLIKELY_ENDING.search(token.low)
    return LIKELY if likely and token.low + "s" not in around.small else UNSURE


def _without_loose_ends(tokens: Sequence[Token]) -> Sequence[Token]:
    while tokens and not (tokens[0].is_name_like or tokens[0].text[0].isdigit()):
        tokens = tokens[1:]
    while tokens and tokens[-1].low in {"the", "of", "and", "in", "for"}:
        tokens = tokens[:-1]
    if tokens and tokens[0].low in {"the", "a", "an"} and tokens[0].opens:
        tokens = tokens[1:]
    return tokens


def _parts(run: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """A run cut at offices and adjectives of origin: "British Prime Minister Tony Blair" -> "British", "Tony Blair"."""
    last = max((at for at in range(len(run) - 1) if _is_office(run, at)), default=None)
    if last is None:
        yield from _without_origin(run)
        return
    first = last
    while first and run[first - 1].low in OFFICES:
        first -= 1
    yield from _without_origin(run[:first])
    yield run[last + 1 :]


def _is_office(run: Sequence[Token], at: int) -> bool:
    if run[at].low in OFFICES:
        # "Minister of Justice" is an office, and only what it is the office of may be a name.
        return True
    rest = {token.low for token in run[at + 1 :]}
    return run[at].low in MILITARY and len(rest) > 1 and not rest & (ORGANISATION_HEADS | PLACE_HEADS | {"of"})


def _without_origin(run: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Cut "Soviet Armenian Grandmaster" into three; "American Idol" and "British Columbia" stay whole."""
    origins = 0
    while origins < len(run) and run[origins].low in DEMONYMS:
        origins += 1
    styled = origins < len(run) - 1 and run[origins].low in STYLES
    if origins > 1 or (origins and styled):
        for token in run[:origins]:
            yield [token]
        run = run[origins:]
    if run:
        yield run
