"""Stage 3: a closer look at the best results, blended into their order; without it where it fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from pydantic import JsonValue

from hybridrag.config import RerankSettings
from hybridrag.errors import RAGError
from hybridrag.protocols import Candidate, Reranker, Reranking, StoreWithCommunities
from hybridrag.result import Err
from hybridrag.search.both_sides import show_both_sides
from hybridrag.search.late import LateInteraction
from hybridrag.search.parallel import Leg
from hybridrag.search.record import Note, Recorder
from hybridrag.search.rerank_scores import add_reading, blend_reranking, complement
from hybridrag.search.retrieve import Found, Ranked
from hybridrag.search.statement import is_statement
from hybridrag.steps import Step
from hybridrag.types.documents import Chunk, FileInfo
from hybridrag.types.ids import FileId
from hybridrag.types.queries import QueryType

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
    """Reranks what was found. Thread-safe."""

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

    def rerank(self, found: Found, recorder: Recorder) -> None:
        """Put the best of `found` into a better order, or leave it as it is and say why.

        Either way a comparison then shows both of its sides.
        """
        settings = self._settings
        with recorder.step(Step.RERANK) as note:
            self._rerank(self._reranker, settings.top_k, settings.blend, blend_reranking, found, note)
            if self._reader is not None and not found.end.themes and (read_k := self._read_k(found, note)):
                self._rerank(self._reader, read_k, settings.read_blend, add_reading, found, note)
            moved = show_both_sides(found)
            if moved:
                note.details["sides"] = moved

    def _read_k(self, found: Found, note: Note) -> int:
        """How many results a model reads."""
        if is_statement(found.ask.text):
            # The model that reads was taught by questions: in front of a claim it put the wrong one of two first.
            note.details["unread"] = "A statement asks for no answer."
            return 0
        # Whoever wants results corrected can wait for them to be read.
        return max(READ, self._settings.read_k) if found.ask.query.options.crag_enabled else self._settings.read_k

    def _rerank(
        self, load: Callable[[], Reranker | None], top_k: int, blend: float, order: Order, found: Found, note: Note
    ) -> None:
        reranker = self._usable(load, found, note)
        window = found.ranked[:top_k]
        if reranker is None or not window:
            return
        # Late interaction goes by stored vectors; reading fifty texts for it took longer than comparing them.
        by_vector = isinstance(reranker, LateInteraction)
        candidates = [_unread(item) for item in window] if by_vector else candidates_of(self._store, window, found)
        reranking = self._ask(reranker, found, candidates, note)
        if reranking is None:
            return
        # A fact stands in the passage that answers; only a relation is answered by way of another passage.
        kind = found.ask.understood.plan.type
        share = blend * (RELATION_SHARE if kind is QueryType.RELATIONSHIP else 1.0)
        # A theme stands where it does for what those before it lack; only its score says how far it bears on the topic.
        ordered = _order(window, reranking, share, order, keep=bool(found.end.themes))
        found.ranked = ordered + found.ranked[len(window) :]
        looks = note.details.setdefault("looks", [])
        assert isinstance(looks, list)  # noqa: S101 (made above)
        looks.append(_told(reranking, share, len(candidates)))

    def _usable(self, load: Callable[[], Reranker | None], found: Found, note: Note) -> Reranker | None:
        if not found.ask.query.options.rerank_enabled:
            note.skip("Switched off.")
            return None
        try:
            reranker = load()
        except RAGError as error:
            note.degrade(f"The order of the searches was kept: {error}")
            return None
        if reranker is None:
            note.skip("No reranker is set.")
        elif not found.ranked:
            note.skip("Nothing to rerank.")
        elif found.end.themes and not found.end.topic:
            note.skip("The question has no topic; the order is that of what each result adds.")
            return None
        return reranker

    def _ask(self, reranker: Reranker, found: Found, candidates: Sequence[Candidate], note: Note) -> Reranking | None:
        timeout = self._settings.timeout_seconds
        work = partial(reranker.rerank, found.question, candidates, timeout=timeout)
        timed = Leg("rerank", work, seconds=timeout + GRACE).result()
        answer = timed.value
        error = timed.error or (str(answer.error) if isinstance(answer, Err) else None)
        if answer is None or isinstance(answer, Err):
            note.degrade(f"The order of the searches was kept: {error}")
            return None
        wrong = _wrong(answer.value, len(candidates))
        if wrong:
            note.degrade(f"The order of the searches was kept: {reranker.name} {wrong}.")
            return None
        if all(score is None for score in answer.value.scores):
            note.skip(f"{reranker.name} could not look at any of the results.")
            return None
        return answer.value


def _told(reranking: Reranking, share: float, looked: int) -> dict[str, JsonValue]:
    told: dict[str, JsonValue] = {"model": reranking.model, "share": round(share, 4), "looked": looked}
    if reranking.cost or reranking.tokens:
        told |= {"tokens": reranking.tokens, "cost": reranking.cost}
    return told


def _order(window: Sequence[Ranked], reranking: Reranking, share: float, order: Order, *, keep: bool) -> list[Ranked]:
    """The results in their new order, or in the old one; each is shown with no more than the one before it."""
    scores = reranking.scores
    blended = order([item.score for item in window], scores, share=share)
    places = list(range(len(window))) if keep else _best_first(blended)
    if reranking.matches is not None and not keep:
        places = complement(places, blended, reranking.matches)
    seen = [item.rerank if score is None else score for item, score in zip(window, scores, strict=True)]
    shown = [
        item.final if score is None else (1 - share) * item.final + share * score
        for item, score in zip(window, scores, strict=True)
    ]
    return _put(window, places, blended, seen, shown)


def _best_first(scores: Sequence[float]) -> list[int]:
    """The places of the scores, the best first; of equal ones, the earlier."""
    return sorted(range(len(scores)), key=lambda place: (-scores[place], place))


def _put(
    window: Sequence[Ranked],
    places: Sequence[int],
    scores: Sequence[float],
    seen: Sequence[float | None],
    shown: Sequence[float],
) -> list[Ranked]:
    """The results in the order of their places; each is shown with no more than the one before it."""
    ordered: list[Ranked] = []
    ceiling = 1.0
    for place in places:
        ceiling = min(ceiling, shown[place])
        ordered.append(replace(window[place], score=scores[place], rerank=seen[place], shown=ceiling))
    return ordered


def candidates_of(store: StoreWithCommunities, ranked: Sequence[Ranked], found: Found) -> list[Candidate]:
    """Results as later stages read them; one whose chunk is gone meanwhile has no text."""
    with store.snapshot():
        chunks = found.read(store, [item.key for item in ranked if item.key])
        files = found.read_files(store, chunks.values())
    return [_candidate(item, chunks.get(item.key), files, found) for item in ranked]


def _unread(item: Ranked) -> Candidate:
    return Candidate(id=str(item.key), text="", score=item.final, key=item.key)


def _candidate(item: Ranked, chunk: Chunk | None, files: Mapping[FileId, FileInfo | None], found: Found) -> Candidate:
    file = files.get(chunk.file_id) if chunk else None
    scores = {
        "keyword": found.by_word.get(item.key, 0.0),
        "semantic": found.semantic.get(item.key, 0.0),
        "graph": item.graph,
    }
    if item.rerank is not None:
        scores["rerank"] = item.rerank
    return Candidate(
        id=str(chunk.id) if chunk else (item.hit.id if item.hit else ""),
        text=chunk.text if chunk else str(item.hit.details.get("text", "")) if item.hit else "",
        score=item.final,
        title=(file.title or "") if file else "",
        headings=chunk.headings if chunk else (),
        key=item.key,
        language=chunk.language if chunk else "",
        scores=scores,
    )


def _wrong(reranking: Reranking, expected: int) -> str | None:
    """What is wrong with an answer, for a reranker that does not keep its contract."""
    if len(reranking.scores) != expected:
        return f"gave {len(reranking.scores)} scores for {expected} results"
    if any(score is not None and not 0.0 <= score <= 1.0 for score in reranking.scores):
        return "gave a score outside 0 to 1"
    return None
