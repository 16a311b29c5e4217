"""Rerank by late interaction: each token of the question looks for its best match among a passage's tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from hybridrag.errors import RAGError
from hybridrag.protocols import Question, Reranking
from hybridrag.result import Err, Ok, Result
from hybridrag.types.base import Float32Array
from hybridrag.types.results import Hit

NAME = "late-interaction"

TINY = 1e-6
"""Below this, all candidates match a token of the question alike."""


class Packing(Protocol):
    """How stored token vectors are read; a model's packer is one."""

    @property
    def unrelated(self) -> float:
        """The mean best cosine that passages reach which have nothing to do with a question."""
        ...

    def project(self, vectors: Float32Array) -> Float32Array:
        """Token vectors as the model gives them, in the space that packed ones are read into, at length one."""
        ...

    def unpack_many(self, packed: Sequence[bytes | None]) -> tuple[Float32Array, list[int]]:
        """All vectors one after the other, and how many each passage has: 0 where there are none to read."""
        ...


class LateInteraction:
    """A `Reranker` over stored token vectors: no model runs, and the top 50 take a few milliseconds.

    LateInteraction(store.token_vectors, packing).rerank(question, candidates) -> Ok(Reranking(scores=(.71, None)))

    A candidate's score is the mean over the question's tokens of each one's best cosine among the candidate's tokens.
    A token counts by how far its best candidate stands out from the mean of all: "the" matches everywhere alike and
    says nothing. Scores are such means, stretched from what unrelated passages reach (0) to sameness (1) by a constant
    of the packing's model, not by the best and worst candidate of a question: 0.5 means the same for every question.

    A candidate without stored token vectors has no score; without those of the question, none has one. Nothing here
    waits, so that `timeout` is kept by itself.
    """

    def __init__(self, read: Callable[[Sequence[int]], Mapping[int, bytes]], packing: Packing) -> None:
        self._read = read
        self._packing = packing

    @property
    def name(self) -> str:
        """What the trace calls it."""
        return NAME

    def rerank(
        self, question: Question, candidates: Sequence[Hit], *, timeout: float | None = None
    ) -> Result[Reranking]:
        """A score for each candidate whose token vectors are stored."""
        del timeout
        nothing = Ok(Reranking(scores=(None,) * len(candidates), model=NAME))
        if question.tokens is None or len(question.tokens) == 0 or not candidates:
            return nothing
        try:
            stored = self._read([candidate.key for candidate in candidates if candidate.key > 0])
        except RAGError as error:
            return Err(error)
        vectors, counts = self._packing.unpack_many([stored.get(candidate.key) for candidate in candidates])
        if not any(counts):
            return nothing
        best = best_matches(self._packing.project(question.tokens), vectors, [count for count in counts if count])
        values = iter(self._stretched(weigh(best)).tolist())
        scores = tuple(next(values) if count else None for count in counts)
        # One without token vectors says of each token what the others say on average.
        matches = np.tile(best.mean(axis=0), (len(counts), 1))
        matches[np.flatnonzero(counts)] = best
        return Ok(Reranking(scores=scores, model=NAME, matches=matches))

    def _stretched(self, scores: Float32Array) -> Float32Array:
        floor = self._packing.unrelated
        return np.asarray(np.clip((scores - floor) / (1 - floor), 0.0, 1.0), dtype=np.float32)


def best_matches(question: Float32Array, vectors: Float32Array, counts: Sequence[int]) -> Float32Array:
    """(candidates, question tokens): the best cosine of each token of the question within each candidate.

    question [[1, 0]], vectors [[0, 1], [1, 0], [0, 1]], counts [2, 1] -> [[1], [0]]
    """
    similar = vectors @ question.T
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    return np.asarray(np.maximum.reduceat(similar, starts, axis=0), dtype=np.float32)


def weigh(best: Float32Array) -> Float32Array:
    """The weighted mean of each candidate's matches; a token counts by how far its best candidate stands out.

    [[.9, .8], [.3, .8]] -> [.9, .3]: the second token tells nothing apart
    """
    weights = best.max(axis=0) - best.mean(axis=0)
    if weights.sum() < TINY:
        weights = np.ones_like(weights)
    return np.asarray(best @ (weights / weights.sum()), dtype=np.float32)
