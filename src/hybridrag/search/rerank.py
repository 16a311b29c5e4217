"""Stage 3: rerank the best results; where that fails, their order stays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from pydantic import JsonValue

from hybridrag.config import RerankSettings
from hybridrag.errors import RAGError
from hybridrag.protocols import Reranker, Reranking, StoreWithCommunities
from hybridrag.result import Err
from hybridrag.search.late import LateInteraction
from hybridrag.search.parallel import Leg
from hybridrag.search.record import Note
from hybridrag.search.rerank_scores import add_reading, blend_reranking, complement
from hybridrag.search.sides import show_both_sides
from hybridrag.search.state import SearchState
from hybridrag.steps import Step
from hybridrag.types.queries import QueryType
from hybridrag.types.results import Hit

READ = 10
"""Results that a model reads where they are to be corrected: what an answer is made from."""

RELATION_SHARE = 0.3
"""How much less a reranker counts where a relation is asked for: half of what answers it resembles another question."""

GRACE = 0.25
"""Seconds past its own timeout after which a reranker is not waited for: it should have given up by itself."""


class Order(Protocol):
    """What makes one order of the results' scores and of what a reranker says."""

    def __call__(self, scores: Sequence[float], reranked: Sequence[float | None], /, *, share: float) -> list[float]:
        """What orders each result."""
        ...


class RerankStage:
    """Reranks what was found. Thread-safe.

    `reader` reads the very first results once more, where there is one.
    """

    def __init__(
        self,
        store: StoreWithCommunities,
        reranker: Callable[[], Reranker | None],
        reader: Callable[[], Reranker] | None,
        settings: RerankSettings,
    ) -> None:
        self._store = store
        self._reranker = reranker
        self._reader = reader
        self._settings = settings

    def rerank(self, state: SearchState) -> None:
        """Put the best hits into a better order, or leave them as they are and say why.

        Either way a comparison then shows both of its sides.
        """
        settings = self._settings
        with state.recorder.step(Step.RERANK) as note:
            self._rerank(self._reranker, settings.top_k, settings.blend, blend_reranking, state, note, probable=False)
            if self._reader is not None and (read_k := self._read_k(state, note)):
                self._rerank(self._reader, read_k, settings.read_blend, add_reading, state, note, probable=True)
            moved = show_both_sides(state)
            if moved:
                note.details["sides"] = moved

    def _read_k(self, state: SearchState, note: Note) -> int:
        """How many results a model reads."""
        if state.question.is_statement:
            # The model that reads was taught by questions: in front of a claim it put the wrong one of two first.
            note.details["unread"] = "A statement asks for no answer."
            return 0
        # Whoever wants results corrected can wait for them to be read.
        return max(READ, self._settings.read_k) if state.query.options.crag_enabled else self._settings.read_k

    def _rerank(
        self,
        load: Callable[[], Reranker | None],
        top_k: int,
        blend: float,
        order: Order,
        state: SearchState,
        note: Note,
        *,
        probable: bool,
    ) -> None:
        """One pass over the first hits; with `probable` its scores are probabilities, and reported as they are."""
        reranker = self._usable(load, state, note)
        if reranker is None or not state.hits:
            return
        # Late interaction goes by stored vectors; reading fifty texts for it took longer than comparing them.
        by_vector = isinstance(reranker, LateInteraction)
        window = state.hits[:top_k] if by_vector else state.with_texts(self._store, state.hits[:top_k])
        reranking = self._ask(reranker, state, window, note)
        if reranking is None:
            return
        # A fact stands in the passage that answers; only a relation is answered by way of another passage.
        kind = state.plan.type
        share = blend * (RELATION_SHARE if kind is QueryType.RELATIONSHIP else 1.0)
        # Likeness of tokens orders well, and is no probability.
        shown = 0.0 if by_vector else 1.0 if probable else share
        ordered = _ordered(window, reranking, share, order, shown=shown)
        state.hits = ordered + state.hits[len(window) :]
        looks = note.details.setdefault("looks", [])
        assert isinstance(looks, list)  # noqa: S101 (made above)
        looks.append(_explained(reranking, share, len(window)))

    def _usable(self, load: Callable[[], Reranker | None], state: SearchState, note: Note) -> Reranker | None:
        if not state.query.options.rerank_enabled:
            note.skip("Switched off.")
            return None
        try:
            reranker = load()
        except RAGError as error:
            note.degrade(f"The order of the searches was kept: {error}")
            return None
        if reranker is None:
            note.skip("No reranker is set.")
        elif not state.hits:
            note.skip("Nothing to rerank.")
        elif any("theme" in hit.scores for hit in state.hits):
            # Each result is there for what the others lack; by likeness to the question they would repeat one theme.
            note.skip("The results cover themes; their order is that of what each adds.")
            return None
        return reranker

    def _ask(self, reranker: Reranker, state: SearchState, hits: Sequence[Hit], note: Note) -> Reranking | None:
        timeout = self._settings.timeout_seconds
        work = partial(reranker.rerank, state.question, hits, timeout=timeout)
        timed = Leg("rerank", work, seconds=timeout + GRACE).result()
        answer = timed.value
        error = timed.error or (str(answer.error) if isinstance(answer, Err) else None)
        if answer is None or isinstance(answer, Err):
            note.degrade(f"The order of the searches was kept: {error}")
            return None
        wrong = _wrong(answer.value, len(hits))
        if wrong:
            note.degrade(f"The order of the searches was kept: {reranker.name} {wrong}.")
            return None
        if all(score is None for score in answer.value.scores):
            note.skip(f"{reranker.name} could not look at any of the results.")
            return None
        return answer.value


def _explained(reranking: Reranking, share: float, looked: int) -> dict[str, JsonValue]:
    details: dict[str, JsonValue] = {"model": reranking.model, "share": round(share, 4), "looked": looked}
    if reranking.cost or reranking.tokens:
        details |= {"tokens": reranking.tokens, "cost": reranking.cost}
    return details


def _ordered(window: Sequence[Hit], reranking: Reranking, share: float, order: Order, *, shown: float) -> list[Hit]:
    """The hits in their new order, each with what the reranker said of it; that counts for its score by `shown`."""
    scores = reranking.scores
    blended = order([hit.order for hit in window], scores, share=share)
    places = _best_first(blended)
    if reranking.matches is not None:
        places = complement(places, blended, reranking.matches)
    seen = [
        hit
        if score is None
        else replace(hit, score=(1 - shown) * hit.score + shown * score, scores={**hit.scores, "rerank": score})
        for hit, score in zip(window, scores, strict=True)
    ]
    return [replace(seen[place], order=blended[place]) for place in places]


def _best_first(scores: Sequence[float]) -> list[int]:
    """The places of the scores, the best first; of equal ones, the earlier."""
    return sorted(range(len(scores)), key=lambda place: (-scores[place], place))


def _wrong(reranking: Reranking, expected: int) -> str | None:
    """What is wrong with an answer, for a reranker that does not keep its contract."""
    if len(reranking.scores) != expected:
        return f"gave {len(reranking.scores)} scores for {expected} results"
    if any(score is not None and not 0.0 <= score <= 1.0 for score in reranking.scores):
        return "gave a score outside 0 to 1"
    return None
