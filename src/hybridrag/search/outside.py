"""Look outside the documents: pages of a web search, and what the best results name there."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from hybridrag.config import Settings
from hybridrag.protocols import StoreWithCommunities, WebSearch
from hybridrag.result import Err
from hybridrag.search.follow import find_leads, goes_by_way_of, is_about, missing_names
from hybridrag.search.grade import grade, state_score
from hybridrag.search.parallel import Leg
from hybridrag.search.record import Note
from hybridrag.search.state import SearchState, hit_of_page
from hybridrag.search.verify import GRACE, Verifier
from hybridrag.types.results import CRAGVerdict, Hit
from hybridrag.types.sources import WebPage

BEARS = 0.5
"""A text from outside is shown when it bears on the question at least so probably, or more than all inside does."""

LEAST_OUTSIDE = 0.1
"""And at least so probably even where nothing inside bears on it."""


class Outside:
    """Adds pages of the web to what was found. Thread-safe."""

    def __init__(self, store: StoreWithCommunities, web: WebSearch, verifier: Verifier, settings: Settings) -> None:
        self._store = store
        self._web = web
        self._verifier = verifier
        self._settings = settings

    def search(self, text: str, state: SearchState, note: Note, until: float) -> SearchState | None:
        """What was found, with what the question finds outside and what that leads to in turn; None for nothing new."""
        pages = self._pages(text, note, until)
        tried = self._with_pages(pages, state, note) if pages else None
        best = tried if tried is not None and state_score(tried) > state_score(state) else state
        bounds = self._settings.verify
        if grade(state_score(best), bounds).relevance is CRAGVerdict.CORRECT and not goes_by_way_of(state.asked):
            return tried
        # A chain whose first part alone was found may be judged well, and its second part is what was asked for.
        further = self._followed(best, note, until)
        least = min(state_score(best), bounds.correct_from)
        # Each page by itself may hold nothing of a chain: what follows it is kept unless it makes the whole worse.
        return further if further is not None and state_score(further) >= least else tried

    def _pages(self, text: str, note: Note, until: float) -> list[WebPage]:
        """The pages that a search of the web finds; none where it fails."""
        timeout = min(self._settings.web.timeout_seconds, until - time.monotonic())
        if timeout <= 0:
            return []
        work = partial(self._web.search, text, limit=self._settings.web.max_results, timeout=timeout)
        timed = Leg("web", work, seconds=timeout + GRACE).result()
        answer = timed.value
        if answer is None or isinstance(answer, Err):
            reason = timed.error or (str(answer.error) if isinstance(answer, Err) else "")
            note.degrade(f"The web was not searched: {reason}")
            return []
        return list(answer.value)

    def _followed(self, state: SearchState, note: Note, until: float) -> SearchState | None:
        """What was found, with the pages about what its best hits name, each after the hit that names it."""
        if state.judgement is None:
            return None
        hits = state.with_texts(self._store, state.hits[: len(state.judged)]) + state.hits[len(state.judged) :]
        before = len(hits)
        there = {hit.page.url for hit in hits if hit.page is not None}
        leads = find_leads(state.asked, state.judged, state.judgement.relevance)
        for lead in leads:
            leader = state.judged[lead.place].id
            place = next((at for at, hit in enumerate(hits) if hit.id == leader), len(hits))
            pages = [page for page in self._pages(lead.name, note, until) if is_about(page.title, lead.name)]
            for page in pages[:1]:
                if page.url not in there:
                    shown = hits[min(place, len(hits) - 1)].score
                    hits.insert(place + 1, replace(_page(page, shown), score=shown))
                    there.add(page.url)
        if len(hits) == before:
            return None
        note.details["followed"] = [lead.name for lead in leads]
        return self._judged(state.with_hits(hits), note)

    def _with_pages(self, pages: Sequence[WebPage], state: SearchState, note: Note) -> SearchState | None:
        """What was found, with those pages before it that bear on the question."""
        alone = self._verifier.judgement(state, [hit_of_page(page) for page in pages], note)
        if alone is None or state.judgement is None:
            return None
        least = min(BEARS, max(LEAST_OUTSIDE, max(state.judgement.relevance, default=0.0)))
        missing = missing_names(state.asked, state.judged)
        bearing = [
            (score, page)
            for score, page in zip(alone.relevance, pages, strict=True)
            if score >= least or any(is_about(page.title, name) for name in missing)
        ]
        if not bearing:
            return None
        outside = [_page(page, score) for score, page in sorted(bearing, key=lambda pair: -pair[0])]
        both = self._judged(state.with_hits(outside + state.hits), note)
        if both is not None and both.judgement is not None:
            # What the pages hold by themselves, they hold with the documents beside them.
            enough = max(alone.sufficient, both.judgement.sufficient)
            both.judgement = replace(both.judgement, sufficient=enough)
        return both

    def _judged(self, state: SearchState, note: Note) -> SearchState | None:
        self._verifier.judge(state, note)
        return None if state.judgement is None else state


def _page(page: WebPage, score: float) -> Hit:
    return hit_of_page(page, score)
