"""Read the passages found for a question once, for every check that follows."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from hybridrag.language.analyse import Text, analyse
from hybridrag.language.normalise import normalise
from hybridrag.language.sentences import sentences
from hybridrag.protocols import Question
from hybridrag.search.find_kinds import Find, find_kind
from hybridrag.types.queries import Want
from hybridrag.types.results import Hit
from hybridrag.types.terms import Name, QueryTerm

MAX_CHARACTERS = 6_000
"""How much of a passage is read; a chunk is far shorter, and what a caller hands in may be a whole book."""

_REMEMBERED = 256
"""Passages kept: the same ones are judged, refined and quoted one after the other."""


def plain(text: str) -> str:
    """A text as names are looked for in it: normalised, in lower case."""
    return normalise(text).casefold()


class Sentence(NamedTuple):
    """A sentence `text[start:end]` of a passage, with the terms in it."""

    start: int
    end: int
    terms: frozenset[str]


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage, read."""

    text: str
    plain: str
    terms: frozenset[str]
    sentences: tuple[Sentence, ...]
    analysed: Text
    """As the language layer sees it."""
    found: dict[Want, tuple[Find, ...]] = field(default_factory=dict, compare=False)
    """What `finds` has found so far: only what is asked for is looked for."""

    def finds(self, want: Want) -> tuple[Find, ...]:
        """The dates, numbers, names or the like in the text, in its order."""
        known = self.found.get(want)
        if known is None:
            normal, units, _ = self.analysed
            places = {normal.span(find.start, find.end) for find in find_kind(want, normal.text, units)}
            known = self.found[want] = tuple(Find(want, start, end) for start, end in sorted(places))
        return known


@lru_cache(maxsize=_REMEMBERED)
def read_passage(text: str) -> Passage:
    """The terms, sentences and finds of a passage; offsets count in the text as given.

    "Orin Works was founded in 1987." -> one sentence; terms orin, work, found, 1987; a date
    """
    text = text[:MAX_CHARACTERS]
    analysed = analyse(text)
    normal, units, extras = analysed
    spans = sentences(text)
    starts = [start for start, _ in spans]
    grouped: list[set[str]] = [set() for _ in spans]
    for at, unit in units:
        sentence = _place(starts, normal.starts[at])
        for part in unit.parts:
            grouped[sentence].add(part.term)
    for extra in extras:
        grouped[_place(starts, normal.starts[extra.start])].add(extra.term)
    return Passage(
        text=text,
        plain=normal.text.casefold(),
        terms=frozenset().union(*grouped),
        sentences=tuple(
            Sentence(start, end, frozenset(terms)) for (start, end), terms in zip(spans, grouped, strict=True)
        ),
        analysed=analysed,
    )


def _place(starts: list[int], at: int) -> int:
    return max(0, bisect_right(starts, at) - 1)


def read_heading(candidate: Hit) -> Passage:
    """The title and headings above a candidate, read as one passage."""
    return read_passage(" \n".join(filter(None, (candidate.title, *candidate.headings))))


def presence(terms: Iterable[QueryTerm], *places: frozenset[str]) -> list[float]:
    """How far each term is in the places taken together: 1 as such, a share by its parts, 0 not at all.

    [国際標準化機構] in {国際, 機構} -> [0.5 × PARTS_SHARE]
    """
    return [_present(term, places) for term in terms]


@dataclass(frozen=True, slots=True)
class Read:
    """A question, and the hits found for it with their texts read."""

    question: Question
    candidates: Sequence[Hit]
    passages: Sequence[Passage]
    headings: Sequence[Passage]


def read_all(question: Question, candidates: Sequence[Hit]) -> Read:
    """Read every candidate."""
    return Read(
        question,
        candidates,
        [read_passage(candidate.text) for candidate in candidates],
        [read_heading(candidate) for candidate in candidates],
    )


def best_sentence(asked: Question, passage: Passage, heading: Passage) -> int:
    """The place of the sentence that says most of the question, its title counted in; of equal ones the first."""
    rated = [asked.coverage(presence(asked.terms, one.terms, heading.terms)) for one in passage.sentences]
    return rated.index(max(rated)) if rated else 0


NAME_THERE = 0.5
"""From this share of its words on, a name counts as found: a person by the family name alone."""


def mentions(read: Read, at: int, name: Name) -> bool:
    """Whether a candidate or what stands above it holds a name."""
    passage, heading = read.passages[at], read.headings[at]
    return name_presence(name, f"{passage.plain}\n{heading.plain}", passage.terms, heading.terms) >= NAME_THERE


PARTS_SHARE = 0.8
"""What all parts of a compound count without the compound itself: they may stand apart."""


def _present(term: QueryTerm, places: tuple[frozenset[str], ...]) -> float:
    # Plain loops: a judgement asks this some seven hundred times.
    for place in places:
        if term.term in place:
            return 1.0
    for spelling in term.others:
        for place in places:
            if spelling in place:
                return 1.0
    if not term.parts:
        return 0.0
    there = sum(any(part in place for place in places) for part in term.parts)
    return PARTS_SHARE * there / len(term.parts)


def name_presence(name: Name, within: str, *places: frozenset[str]) -> float:
    """How far a name is in a text: 1 as written, else the share of its words."""
    if name.plain in within:
        return 1.0
    there = presence(name.terms, *places)
    return sum(there) / len(there) if there else 0.0


def new_finds(asked: Question, passage: Passage, want: Want | None = None) -> list[Find]:
    """What a passage holds of the wanted kind and the question does not hold itself; of another kind, all of it."""
    if want not in {None, asked.want}:
        return list(passage.finds(want))
    finds = passage.finds(asked.want)
    return [find for find in finds if passage.text[find.start : find.end].casefold() not in plain(asked.text)]


def kind_flags(asked: Question, passage: Passage) -> list[bool]:
    """For each sentence, whether it holds something new of the wanted kind."""
    starts = [find.start for find in new_finds(asked, passage)]
    return [any(sentence.start <= start < sentence.end for start in starts) for sentence in passage.sentences]
