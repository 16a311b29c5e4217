"""Where to look next: the names that the best passages give for what a question asks by way of."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from hybridrag.language.words import keywords
from hybridrag.protocols import Question
from hybridrag.search.find_kinds import Find
from hybridrag.search.passages import Passage, plain, read_heading, read_passage
from hybridrag.search.refine import rate_sentences
from hybridrag.types.queries import QueryType, Want
from hybridrag.types.results import Hit

MAX_NAMES = 3
"""Names that are followed: each costs a search outside."""

LEADS_FROM = 0.3
"""A passage leads on when it bears on the question at least so probably."""

MAX_LEADING = 2
"""Passages that are read for names, those that bear most on the question."""

SEVERAL = 2
"""Names that make a question one about several things; words that make a title more than a family name."""

SENTENCES = 2
"""Sentences of each, those that say most of the question: "the director of X" is named where X is said to be
directed."""


class Lead(NamedTuple):
    """A name to look for, and which of the candidates gave it."""

    name: str
    place: int


def find_leads(question: Question, candidates: Sequence[Hit], relevance: Sequence[float]) -> list[Lead]:
    """The names to look for next: a side that is missing, then what the best passages name, one from each in turn.

    "Where was the director of The Long Tide born?", ["The Long Tide is a film directed by Ann Lee."] -> Ann Lee

    A name that a candidate is about already is no news. None for a question that is about one thing.
    """
    sides = [Lead(name, 0) for name in missing_names(question, candidates)] if candidates else []
    if not goes_by_way_of(question):
        return sides[:MAX_NAMES]
    places = [place for place, score in enumerate(relevance) if score >= LEADS_FROM]
    leading = sorted(places, key=lambda place: -relevance[place])[:MAX_LEADING]
    titles = [plain(candidate.title) for candidate in candidates if candidate.title]
    named: list[list[Lead]] = []
    for place in leading:
        candidate = candidates[place]
        names = _names(question, read_passage(candidate.text), read_heading(candidate))
        named.append([Lead(name, place) for name in names if not any(plain(name) in title for title in titles)])
    in_turn = [lead for some in zip_longest(*named) for lead in some if lead is not None]
    found: dict[str, Lead] = {}
    for lead in (*sides, *in_turn):
        found.setdefault(plain(lead.name), lead)
    return list(found.values())[:MAX_NAMES]


def missing_names(question: Question, candidates: Sequence[Hit]) -> list[str]:
    """The names of a question about several things that no candidate is about: a side that is missing.

    "Is The Long Tide older than Red Kite?", [a page titled "Red Kite"] -> The Long Tide
    """
    found = question.classification
    # What opens a question is taken for a name where it is written like one: "Are", "Who".
    names = [name for name in found.extracted_entities if keywords(name)] if found is not None else []
    if found is None or (found.type is not QueryType.RELATIONSHIP and len(names) < SEVERAL):
        return []
    titles = [candidate.title for candidate in candidates]
    return [name for name in names if not any(is_about(title, name) for title in titles)]


def is_about(title: str, name: str) -> bool:
    """Whether a page of this title is about the bearer of this name.

    ("Ann Lee (director)", "Ann Lee") -> True; ("Ann Lee", "Queen Ann Lee") -> True; ("Lee", "Ann Lee") -> False
    """
    whole, part = plain(title), plain(name)
    return part in whole or (len(whole.split()) >= SEVERAL and whole in part) if whole else False


def goes_by_way_of(question: Question) -> bool:
    """Whether the answer may lie with something that the question does not name."""
    return question.type is QueryType.RELATIONSHIP


def _names(asked: Question, passage: Passage, heading: Passage) -> list[str]:
    """The people in the sentences that say most of the question, those next to its words first.

    "directed by Ann Lee and starring Bob Stone" -> Ann Lee before Bob Stone, where the director is asked for
    """
    weights = rate_sentences(asked, passage, heading)
    best = sorted(range(len(weights)), key=lambda at: (-weights[at], at))[:SENTENCES]
    anchors = _anchors(asked, passage)
    found: list[tuple[int, int, str]] = []
    for at in best:
        sentence = passage.sentences[at]
        for start, end in _joined(passage.finds(Want.PERSON)):
            if sentence.start <= start < sentence.end:
                # What stands first in the next sentence looks like more of the name.
                name = passage.text[start : min(end, sentence.end)].rstrip(" .,;:")
                apart = [start - anchor for anchor in anchors if sentence.start <= anchor < start]
                found.append((min(apart, default=len(passage.text)), start, name))
    names = [name for _, _, name in sorted(found)]
    known = [*(name.plain for name in asked.names), plain(asked.text)]
    return [name for name in dict.fromkeys(names) if not any(plain(name) in one or one in plain(name) for one in known)]


def _anchors(asked: Question, passage: Passage) -> list[int]:
    """Where the words of the question stand that are no part of a name in it."""
    named = {spelling for name in asked.names for spelling in name.spellings}
    wanted = {term.term for term in asked.terms} - named
    normal, units, _ = passage.analysed
    return [normal.starts[at] for at, unit in units if any(part.term in wanted for part in unit.parts)]


def _joined(finds: Sequence[Find]) -> list[tuple[int, int]]:
    """Names whole: of a Japanese one the parts are found apart, and overlapping finds are one."""
    spans: list[tuple[int, int]] = []
    for find in finds:
        if spans and find.start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], find.end))
        else:
            spans.append((find.start, find.end))
    return spans
