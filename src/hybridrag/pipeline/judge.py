"""The local judge with what the package's own cross-encoder reads in each passage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from hybridrag.protocols import Candidate, Judge, Judgement, Question
from hybridrag.result import Err, Result

Read = Callable[[Question, Sequence[Candidate], float | None], Result[Sequence[tuple[float, float] | None]]]
"""Question, candidates, timeout -> for each candidate how well it fits and whether it holds the answer, as log-odds;
None for one that was not read."""

FIT, HOLDS = "fit", "holds"
"""The names that the judge knows them by."""


class ReadingJudge:
    """A `Judge` that lets a model read the first candidates, and judges without it where that fails."""

    def __init__(self, judge: Judge, read: Read, *, first: int) -> None:
        self._judge = judge
        self._read = read
        self._first = first

    @property
    def name(self) -> str:
        """What the trace calls it."""
        return self._judge.name

    def judge(
        self, question: Question, candidates: Sequence[Candidate], *, timeout: float | None = None
    ) -> Result[Judgement]:
        """What the judge makes of the candidates and of what the model read in them."""
        first = candidates[: self._first]
        found = self._read(question, first, timeout)
        if not isinstance(found, Err) and len(found.value) == len(first):
            read = [_with(candidate, numbers) for candidate, numbers in zip(first, found.value, strict=True)]
            candidates = [*read, *candidates[self._first :]]
        return self._judge.judge(question, candidates, timeout=timeout)


def _with(candidate: Candidate, read: tuple[float, float] | None) -> Candidate:
    if read is None:
        return candidate
    return replace(candidate, scores={**candidate.scores, FIT: read[0], HOLDS: read[1]})
