"""Where to look next: the names that the best passages give for what a question asks by way of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hybridrag.protocols import Candidate, Question
from hybridrag.types.queries import QueryType, RelationHint
from hybridrag.verify.read import Asked, Passage, plain, read_heading, read_passage, read_question
from hybridrag.verify.refine import rate_sentences
from hybridrag.verify.wants import Find, Want

MAX_NAMES = 2
"""Names that are followed: each costs a search outside."""

LEADS_FROM = 0.3
"""A passage leads on when it bears on the question at least so probably."""

MAX_LEADING = 2
"""Passages that are read for names, those that bear most on the question."""

SENTENCES = 2
"""Sentences of each, those that say most of the question: "the director of X" is named where X is said to be
directed."""


class Lead(NamedTuple):
    """A name to look for, and which of the candidates gave it."""

    name: str
    place: int


def find_leads(question: Question, candidates: Sequence[Candidate], relevance: Sequence[float]) -> list[Lead]:
    """The names to look for next, the most promising first; none unless the question goes by way of another thing.

    "Where was the director of The Long Tide born?", ["The Long Tide is a film directed by Ann Lee."] -> Ann Lee

    A name of the question, and one that a candidate is about already, is no news.
    """
    if not _goes_by_way_of(question):
        return []
    asked = read_question(question)
    places = [place for place, score in enumerate(relevance) if score >= LEADS_FROM]
    leading = sorted(places, key=lambda place: -relevance[place])[:MAX_LEADING]
    titles = [plain(candidate.title) for candidate in candidates if candidate.title]
    found: dict[str, Lead] = {}
    for place in leading:
        candidate = candidates[place]
        passage = read_passage(candidate.text)
        for name in _names(asked, passage, read_heading(candidate)):
            if not any(plain(name) in title for title in titles):
                found.setdefault(plain(name), Lead(name, place))
    return list(found.values())[:MAX_NAMES]


def missing_names(question: Question, candidates: Sequence[Candidate]) -> list[str]:
    """The names of a question about how things relate that no candidate is about: a side that is missing.

    "Is The Long Tide older than Red Kite?", [a page titled "Red Kite"] -> The Long Tide
    """
    found = question.classification
    if found is None or found.type is not QueryType.RELATIONSHIP:
        return []
    titles = [candidate.title for candidate in candidates]
    return [name for name in found.extracted_entities if not any(is_about(title, name) for title in titles)]


def is_about(title: str, name: str) -> bool:
    """Whether a page of this title is about the bearer of this name.

    ("Ann Lee (director)", "Ann Lee") -> True; ("Lee", "Ann Lee") -> False
    """
    return bool(title) and plain(name) in plain(title)


def _goes_by_way_of(question: Question) -> bool:
    found = question.classification
    return (
        found is not None
        and found.type is QueryType.RELATIONSHIP
        and found.relation_hint is not RelationHint.COMPARISON  # its two sides are named
    )


def _names(asked: Asked, passage: Passage, heading: Passage) -> list[str]:
    """The people in the sentences that say most of the question, in reading order, without those in the question."""
    weights = rate_sentences(asked, passage, heading)
    best = sorted(range(len(weights)), key=lambda at: (-weights[at], at))[:SENTENCES]
    names = [
        # What stands first in the next sentence looks like more of the name.
        passage.text[start : min(end, passage.sentences[at].end)].rstrip(" .,;:")
        for at in best
        for start, end in _joined(passage.finds(Want.PERSON))
        if passage.sentences[at].start <= start < passage.sentences[at].end
    ]
    known = [*(name.plain for name in asked.names), asked.plain]
    return [name for name in dict.fromkeys(names) if not any(plain(name) in one or one in plain(name) for one in known)]


def _joined(finds: Sequence[Find]) -> list[tuple[int, int]]:
    """Names whole: of a Japanese one the parts are found apart, and overlapping finds are one."""
    spans: list[tuple[int, int]] = []
    for find in finds:
        if spans and find.start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], find.end))
        else:
            spans.append((find.start, find.end))
    return spans
