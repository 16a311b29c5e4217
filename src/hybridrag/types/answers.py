"""What `answer()` gives: sentences with citations, or a plain abstention that says what is missing."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from hybridrag.types.base import Model
from hybridrag.types.queries import Score
from hybridrag.types.results import SearchResultSources

EXTRACTIVE = "extractive"
"""`generated_by` of an answer that is made of the documents' own sentences."""


class Citation(Model):
    """Where a statement of the answer stands: characters `start` to `end` (exclusive) of a result's text."""

    number: int = Field(ge=1)
    """The number that stands in brackets in the answer."""
    result_id: str
    """The id of the result."""
    start: int = Field(ge=0)
    """The first character of the quotation within the result's text."""
    end: int = Field(ge=0)
    """The first character after it."""
    sources: SearchResultSources | None = None
    """The document, page and line of the result, where they are known."""

    @model_validator(mode="after")
    def _start_before_end(self) -> Self:
        if self.start >= self.end:
            msg = f"start ({self.start}) must be before end ({self.end})"
            raise ValueError(msg)
        return self


class AnswerSentence(Model):
    """One statement of the answer, and the citations that carry it."""

    text: str
    """The statement, without the numbers in brackets; code and lists keep their lines."""
    citations: tuple[int, ...] = ()
    """The numbers of its citations; at least one for every statement that is given as an answer."""
    about: str | None = None
    """The side of a comparison, the step of a relation or the document of an overview that it is given for."""


class ShortAnswer(Model):
    """The stretch of a result that answers: characters `start` to `end` (exclusive) of its text."""

    text: str
    """As it stands in the document, on one line."""
    citation: int = Field(ge=1)
    """The number of the citation that it is part of."""
    start: int = Field(ge=0)
    """The first character within the result's text."""
    end: int = Field(ge=0)
    """The first character after it."""


class NearestPassage(Model):
    """A passage near the question, shown whether or not it answers."""

    text: str
    """Its sentences that are nearest to the question."""
    result_id: str
    """The id of the result."""
    relevance: Score
    """The probability that it bears on the question."""
    sources: SearchResultSources | None = None
    """The document, page and line of the result, where they are known."""


class Answer(Model):
    """An answer with its citations, or an abstention."""

    text: str
    """The whole answer to show, with citation numbers in brackets: "Orin Works was founded in 1987. [1]"."""
    short: ShortAnswer | None = None
    """The stretch that answers, where one passage holds the answer; None for overviews and abstentions."""
    yes_no: Literal["yes", "no"] | None = None
    """The answer to a question that asks for yes or no, where the documents say it in so many words."""
    sentences: tuple[AnswerSentence, ...] = ()
    """The same, statement by statement; empty when nothing is answered."""
    citations: tuple[Citation, ...] = ()
    """What the numbers stand for, in their order."""
    abstained: bool = False
    """Whether the results do not suffice, so that no answer is given."""
    missing: tuple[str, ...] = ()
    """What would have to be found to answer; empty for an answer."""
    unsupported: tuple[str, ...] = ()
    """Sentences that an LLM wrote and that were left out: the passages that they cite do not say them."""
    nearest: tuple[NearestPassage, ...] = ()
    """The passages nearest to the question, best first."""
    language: str = "en"
    """The language that it speaks in, the question's: `en` or `ja`."""
    confidence: Score = 0.0
    """The probability that the documents hold the answer."""
    generated_by: str = EXTRACTIVE
    """`extractive` for sentences of the documents themselves, else the name of the LLM that wrote it."""

    @model_validator(mode="after")
    def _every_number_leads_somewhere(self) -> Self:
        """A number without a citation behind it would be a claim that nobody can check."""
        known = {citation.number for citation in self.citations}
        cited = {number for sentence in self.sentences for number in sentence.citations}
        if cited - known:
            msg = f"there is no citation {min(cited - known)}"
            raise ValueError(msg)
        if self.abstained and self.sentences:
            msg = "an abstention holds no statements"
            raise ValueError(msg)
        return self
