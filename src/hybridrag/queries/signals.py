"""What one rule says about a question, and how a name stands in it."""

from __future__ import annotations

from typing import NamedTuple

from hybridrag.types.queries import QueryType, RelationHint


class Signal(NamedTuple):
    """A rule that fits the question."""

    type: QueryType
    rule: str
    """The rule's name: what a trace shows and what its confidence is kept under."""
    hint: RelationHint | None = None


class Span(NamedTuple):
    """A name: `text[start:end]` of the normalised question, without particles and quotation marks."""

    start: int
    end: int
    marks: tuple[int, int] = (0, 0)
    """How many characters before and after belong to it: quotation marks, and punctuation inside them."""

    @property
    def left(self) -> int:
        """Where it begins, marks included."""
        return self.start - self.marks[0]

    @property
    def right(self) -> int:
        """Where it ends, marks included."""
        return self.end + self.marks[1]
