"""Cut passages into strips and keep those that bear on the question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hybridrag.protocols import Question
from hybridrag.search.passages import Passage, kind_flags, presence, read_heading, read_passage
from hybridrag.types.results import Hit

KEEP_FROM = 0.5
"""A sentence stays when it says at least this share of what the best sentence of all candidates says."""

TITLE_SHARE = 0.3
"""How much the title, and what a sentence refers back to, count: "He was born in 1960" is about the one named there."""

KIND_BONUS = 0.2
"""What a date adds to a sentence when the question asks for one; likewise a number, a person, a place."""

_REFERS_BACK = re.compile(
    r"(?:(?:he|she|it|they|this|that|these|those|his|her|its|their|such|both|there|here)\b"
    "|これ|それ|この|その|あの|ここ|そこ|彼|彼女|同社|同氏|同店|同作|同書|同年|同校|同市|両者|前者|後者|当時)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Strip:
    """The characters `start` to `end` of a candidate's text: one sentence, or several that follow each other."""

    start: int
    end: int
    weight: float
    """How much of the question it says, 0-1."""


@dataclass(frozen=True, slots=True)
class Refined:
    """What of a candidate bears on the question."""

    candidate: Hit
    strips: tuple[Strip, ...]
    """In reading order; never none for a text that is not empty."""

    @property
    def text(self) -> str:
        """The strips, with an ellipsis where something was left out."""
        return " … ".join(self.candidate.text[strip.start : strip.end] for strip in self.strips)

    @property
    def kept(self) -> float:
        """The share of the text that stayed."""
        length = len(self.candidate.text)
        return sum(strip.end - strip.start for strip in self.strips) / length if length else 1.0


def refine(question: Question, candidates: Sequence[Hit]) -> list[Refined]:
    """The candidates, each cut down to the sentences that bear on the question.

    "When was Orin Works founded?", "Orin makes clocks. It was founded in 1987. Its logo is a bird." ->
    "Orin makes clocks. It was founded in 1987."

    A sentence that refers back (`it`, この) keeps the one before. A candidate of which nothing bears on the question
    keeps its best sentence: what is left out is decided by grades, not here. Offsets count in the candidate's text.
    """
    read = [(read_passage(candidate.text), read_heading(candidate)) for candidate in candidates]
    rated = [rate_sentences(question, passage, heading) for passage, heading in read]
    best = max((weight for weights in rated for weight in weights), default=0.0)
    return [
        Refined(candidate, _strips(candidate.text, passage, weights, least=best * KEEP_FROM))
        for candidate, (passage, _), weights in zip(candidates, read, rated, strict=True)
    ]


def rate_sentences(asked: Question, passage: Passage, heading: Passage) -> list[float]:
    """How much of the question each sentence says, 0-1; by itself, and with its title and what it refers back to."""
    kinds = kind_flags(asked, passage)
    return [
        min(
            1.0,
            (1.0 - TITLE_SHARE) * asked.coverage(presence(asked.terms, sentence.terms))
            + TITLE_SHARE * asked.coverage(presence(asked.terms, *_around(passage, heading, at)))
            + KIND_BONUS * kinds[at],
        )
        for at, sentence in enumerate(passage.sentences)
    ]


def _around(passage: Passage, heading: Passage, at: int) -> list[frozenset[str]]:
    before = [passage.sentences[place].terms for place in context_of(passage, at)]
    return [passage.sentences[at].terms, heading.terms, *before]


def _strips(text: str, passage: Passage, weights: Sequence[float], *, least: float) -> tuple[Strip, ...]:
    if not weights:
        return (Strip(0, len(text), 0.0),) if text else ()
    best = max(range(len(weights)), key=lambda at: weights[at])
    kept = {at for at, weight in enumerate(weights) if weight >= least and weight > 0.0} | {best}
    for at in sorted(kept):
        kept.update(context_of(passage, at))
    strips: list[Strip] = []
    for at in sorted(kept):
        sentence = passage.sentences[at]
        if strips and at - 1 in kept:
            strips[-1] = Strip(strips[-1].start, sentence.end, max(strips[-1].weight, weights[at]))
        else:
            strips.append(Strip(sentence.start, sentence.end, weights[at]))
    return tuple(strips)


def context_of(passage: Passage, at: int) -> range:
    """The sentences before one that it cannot be understood without: at most two."""
    first = at
    while first > max(0, at - 2) and refers_back(passage, first):
        first -= 1
    return range(first, at)


def refers_back(passage: Passage, at: int) -> bool:
    """Whether a sentence begins with a word that stands for something said before."""
    return _REFERS_BACK.match(passage.text, passage.sentences[at].start) is not None
