"""Stage 4: judge what was found, act where it does not answer, and say whether it does."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from hybridrag.config import Settings
from hybridrag.protocols import Candidate, Judge, Judgement, Llm, StoreWithCommunities, WebPage, WebSearch
from hybridrag.queries.rewrite_llm import rewrite_with_llm
from hybridrag.result import Err
from hybridrag.search.blend import LOWEST_SHOWN
from hybridrag.search.correct import Correction, Situation, next_correction
from hybridrag.search.follow import find_leads, goes_by_way_of, is_about, missing_names
from hybridrag.search.grade import grade, set_score
from hybridrag.search.intent import match_intent
from hybridrag.search.parallel import Leg
from hybridrag.search.present import Extra, web_id
from hybridrag.search.record import Note, Recorder
from hybridrag.search.refine import refine
from hybridrag.search.rerank import candidates_of
from hybridrag.search.retrieve import Ask, Found, Ranked, is_chunk, rarity_of
from hybridrag.search.rewrite import rewrite_query
from hybridrag.search.sufficiency import evaluate_sufficiency
from hybridrag.steps import Step
from hybridrag.types.results import (
    CorrectiveAction,
    CorrectiveActionKind,
    CRAGReport,
    CRAGVerdict,
    IntentMatch,
    SufficiencyEvaluation,
)

JUDGED = 10
"""Results that are judged together, whatever page is shown: what an answer would be made from."""

GRACE = 0.25
"""Seconds past its own timeout after which a judge or a web search is not waited for."""

BEARS = 0.5
"""A text from outside is shown when it bears on the question at least so probably, or more than all inside does."""

ENOUGH = 0.02
"""By so much the grade must rise before another way of searching takes the place of the first: below it, which of two
sets of results is graded higher is chance, and the first one was ranked with the question as it was asked."""

LEAST_OUTSIDE = 0.1
"""And at least so probably even where nothing inside bears on it."""


@dataclass(frozen=True, slots=True)
class Verified:
    """What was found in the end, and what is to be said of it."""

    found: Found
    intent: IntentMatch
    sufficiency: SufficiencyEvaluation | None = None
    """None where nobody could judge."""
    crag: CRAGReport | None = None
    extras: Mapping[str, Extra] = field(default_factory=dict)
    """By the id of the result."""


@dataclass(slots=True)
class _Standing:
    """The best try so far, and what was done to get there."""

    found: Found
    candidates: list[Candidate]
    judgement: Judgement
    tried: list[Correction] = field(default_factory=list)
    actions: list[CorrectiveAction] = field(default_factory=list)

    @property
    def score(self) -> float:
        return set_score(self.judgement)


class VerifyStage:
    """Verifies what was found. Thread-safe.

    `judge` gives the judge of a search that is corrected (True), or of one that has to be quick (False); `fallback`
    judges where that one fails.
    """

    def __init__(
        self,
        store: StoreWithCommunities,
        find: Callable[[Ask, Recorder], Found],
        judge: Callable[[bool], Judge],
        fallback: Judge,
        settings: Settings,
        *,
        llm: Llm | None = None,
        web: WebSearch | None = None,
    ) -> None:
        self._store = store
        self._find = find
        self._judge = judge
        self._fallback = fallback
        self._settings = settings
        self._llm = llm
        self._web = web

    def verify(self, found: Found, recorder: Recorder) -> Verified:
        """Judge the results; where the query wants it, correct them until they answer or nothing is left to try."""
        options = found.ask.query.options
        with recorder.step(Step.GRADE) as note:
            standing = self._judged(found, note)
            if standing is None:
                return Verified(found, match_intent(found.question, ()))
            note.details |= {"sufficient": round(standing.judgement.sufficient, 4), "judged": len(standing.candidates)}
        if options.crag_enabled:
            with recorder.step(Step.CORRECT) as note:
                self._correct(standing, recorder, note)
        else:
            recorder.skipped(Step.CORRECT, "Switched off.")
        question, candidates = standing.found.question, standing.candidates
        with recorder.step(Step.INTENT) as note:
            intent = match_intent(question, candidates)
            note.details |= {"expected": intent.expected, "matched": intent.matched}
        with recorder.step(Step.SUFFICIENCY) as note:
            sufficiency = evaluate_sufficiency(standing.judgement, caution=self._settings.verify.caution)
            note.details |= {"sufficient": sufficiency.is_sufficient, "confidence": round(sufficiency.confidence, 4)}
        crag = self._report(standing) if options.crag_enabled else None
        extras = self._extras(standing) if options.crag_enabled else {}
        return Verified(standing.found, intent, sufficiency, crag, extras)

    # Judging

    def _judged(self, found: Found, note: Note) -> _Standing | None:
        if not found.question.rarity:
            found.question = replace(found.question, rarity=rarity_of(self._store, found.ask.query.text))
        best = [item for item in found.ranked if is_chunk(item)][:JUDGED]
        # Communities are summaries of what is judged anyway.
        candidates = _with_pages(candidates_of(self._store, best, found), best)
        judgement = self._ask(found, candidates, note)
        return None if judgement is None else _Standing(found, candidates, judgement)

    def _ask(self, found: Found, candidates: Sequence[Candidate], note: Note) -> Judgement | None:
        query = found.ask.query
        question = replace(found.question, text=query.text)
        judge = self._judge(query.options.crag_enabled)
        timeout = self._settings.llm.timeout_seconds
        note.details["judge"] = judge.name
        work = partial(judge.judge, question, candidates, timeout=timeout)
        timed = Leg("judge", work, seconds=timeout + GRACE).result()
        answer = timed.value
        if answer is not None and not isinstance(answer, Err) and len(answer.value.relevance) == len(candidates):
            return answer.value
        reason = timed.error or (str(answer.error) if isinstance(answer, Err) else "it judged other results")
        local = Leg("judge", partial(self._fallback.judge, question, candidates), seconds=timeout).result().value
        if local is None or isinstance(local, Err):
            note.fail(f"{judge.name} did not judge: {reason} Nor did the local judge.")
            return None
        note.degrade(f"{judge.name} did not judge: {reason} The local judge did.")
        note.details["judge"] = self._fallback.name
        return local.value

    # Correcting

    def _correct(self, standing: _Standing, recorder: Recorder, note: Note) -> None:
        until = time.monotonic() + self._settings.verify.deadline_seconds
        rewrites: list[str] | None = None
        while True:
            rounds = self._settings.verify.max_rounds
            graded = grade(standing.score, self._settings.verify).relevance
            if rounds and graded is not CRAGVerdict.CORRECT and rewrites is None:
                rewrites = self._rewrites(standing.found, until)
            situation = self._situation(standing, rewrites or ())
            correction = next_correction(situation, max_rounds=rounds)
            if correction.kind is CorrectiveActionKind.NONE:
                return
            if time.monotonic() >= until:
                note.degrade(f"Correcting stopped after {self._settings.verify.deadline_seconds:g} s.")
                return
            self._carry_out(correction, standing, recorder, note, until)
            note.details["actions"] = [
                {"kind": action.kind.value, "detail": action.detail, "before": action.before, "after": action.after}
                for action in standing.actions
            ]

    def _situation(self, standing: _Standing, rewrites: Sequence[str]) -> Situation:
        first = standing.found.ask
        return Situation(
            verdict=grade(standing.score, self._settings.verify).relevance,
            question=first.query.text,
            weights=first.understood.plan.weights,
            depth=self._settings.search.walk.steps,
            classification=first.understood.classification,
            rewrites=rewrites,
            web=self._web is not None,
            tried=tuple(standing.tried),
        )

    def _rewrites(self, found: Found, until: float) -> list[str]:
        text = found.ask.query.text
        own = rewrite_query(text, found.ask.understood.classification, found.question.rarity)
        if self._llm is None:
            return own
        timeout = max(0.1, min(self._settings.llm.timeout_seconds, until - time.monotonic()))
        written = Leg("rewrite", partial(rewrite_with_llm, text, self._llm, timeout=timeout), seconds=timeout + GRACE)
        answer = written.result().value
        return own if answer is None or isinstance(answer, Err) else [*answer.value, *own]

    def _carry_out(
        self, correction: Correction, standing: _Standing, recorder: Recorder, note: Note, until: float
    ) -> None:
        before = standing.score
        standing.tried.append(correction)
        if correction.searches:
            tried = self._tried(correction, standing, recorder, note, until)
            after = tried.score if tried is not None else before
            # Pages from outside are added to what was found, and take no place from it.
            enough = 0.0 if correction.kind is CorrectiveActionKind.WEB_SEARCH else ENOUGH
            if tried is not None and after > before + enough:
                standing.found, standing.candidates = tried.found, tried.candidates
                standing.judgement = tried.judgement
            else:
                after = min(after, before)
        else:
            after = before
        standing.actions.append(
            CorrectiveAction(kind=correction.kind, detail=correction.detail, before=before, after=after)
        )

    def _tried(
        self, correction: Correction, standing: _Standing, recorder: Recorder, note: Note, until: float
    ) -> _Standing | None:
        if correction.kind is CorrectiveActionKind.WEB_SEARCH:
            return self._from_web(correction, standing, note, until)
        ask = standing.found.ask
        again = replace(
            ask,
            text=correction.query or ask.text,
            weights=(correction.weights or ask.weights).among(ask.query.options.enabled),
            hops=correction.depth or ask.hops,
            depth=ask.depth * correction.widen,
            known=standing.found.question if correction.query in (None, ask.text) else None,
        )
        return self._judged(self._find(again, recorder), note)

    def _from_web(self, correction: Correction, standing: _Standing, note: Note, until: float) -> _Standing | None:
        """The standing with what the question finds outside, and what that leads to in turn."""
        asked = self._outside(correction.query or standing.found.ask.query.text, note, until)
        tried = self._with_pages(asked, standing, note) if asked else None
        best = tried if tried is not None and tried.score > standing.score else standing
        if grade(best.score, self._settings.verify).relevance is CRAGVerdict.CORRECT and not goes_by_way_of(
            standing.found.question
        ):
            return tried
        # A chain whose first part alone was found may be judged well, and its second part is what was asked for.
        led = self._led_outside(best, note, until)
        return led if led is not None and led.score > min(best.score, self._settings.verify.correct_from) else tried

    def _outside(self, text: str, note: Note, until: float) -> list[WebPage]:
        """The pages that a search of the web finds; none where it fails."""
        timeout = min(self._settings.web.timeout_seconds, until - time.monotonic())
        if self._web is None or timeout <= 0:
            return []
        work = partial(self._web.search, text, limit=self._settings.web.max_results, timeout=timeout)
        timed = Leg("web", work, seconds=timeout + GRACE).result()
        answer = timed.value
        if answer is None or isinstance(answer, Err):
            reason = timed.error or (str(answer.error) if isinstance(answer, Err) else "")
            note.degrade(f"The web was not searched: {reason}")
            return []
        return list(answer.value)

    def _led_outside(self, standing: _Standing, note: Note, until: float) -> _Standing | None:
        """The standing with the pages about what its best results name, each after the result that names it."""
        found, ranked = standing.found, list(standing.found.ranked)
        there = {item.page.url for item in ranked if item.page is not None}
        leads = find_leads(found.question, standing.candidates, standing.judgement.relevance)
        for lead in leads:
            leader = standing.candidates[lead.place].id
            place = next((at for at, item in enumerate(ranked) if self._id_of(item, found) == leader), len(ranked))
            pages = [page for page in self._outside(lead.name, note, until) if is_about(page.title, lead.name)]
            for page in pages[:1]:
                if page.url not in there:
                    shown = ranked[min(place, len(ranked) - 1)].final
                    ranked.insert(place + 1, Ranked(0, 1.0, max(LOWEST_SHOWN, shown), page=page, shown=shown, led=True))
                    there.add(page.url)
        if len(ranked) == len(found.ranked):
            return None
        note.details["followed"] = [lead.name for lead in leads]
        return self._judged(replace(found, ranked=ranked), note)

    def _id_of(self, item: Ranked, found: Found) -> str:
        if item.page is not None:
            return web_id(item.page)
        chunk = found.read(self._store, [item.key]).get(item.key)
        return str(chunk.id) if chunk else ""

    def _with_pages(self, pages: list[WebPage], standing: _Standing, note: Note) -> _Standing | None:
        """The standing with those pages before it that bear on the question."""
        judged = self._ask(standing.found, [_of_page(page) for page in pages], note)
        if judged is None:
            return None
        least = min(BEARS, max(LEAST_OUTSIDE, max(standing.judgement.relevance, default=0.0)))
        missing = missing_names(standing.found.question, standing.candidates)
        bearing = sorted(
            (
                (score, place)
                for place, score in enumerate(judged.relevance)
                if score >= least or any(is_about(pages[place].title, name) for name in missing)
            ),
            key=lambda it: -it[0],
        )
        if not bearing:
            return None
        outside = [
            Ranked(0, 1.0, max(LOWEST_SHOWN, score), page=pages[place], shown=max(LOWEST_SHOWN, score))
            for score, place in bearing
        ]
        floor = min(item.final for item in outside)
        inside = [replace(item, shown=min(floor, item.final)) for item in standing.found.ranked]
        both = self._judged(replace(standing.found, ranked=outside + inside), note)
        if both is not None:
            # What the pages hold by themselves, they hold with the documents beside them.
            enough = max(judged.sufficient, both.judgement.sufficient)
            both.judgement = replace(both.judgement, sufficient=enough)
        return both

    # Saying it

    def _report(self, standing: _Standing) -> CRAGReport:
        verdict = grade(standing.score, self._settings.verify)
        helped = [action for action in standing.actions if action.helped]
        rewritten = [action.detail for action in helped if action.kind is CorrectiveActionKind.REWRITE_QUERY]
        return CRAGReport(
            relevance=verdict.relevance,
            confidence=verdict.confidence,
            needs_web_search=verdict.needs_web_search,
            refined_query=rewritten[-1] if rewritten else None,
            actions=tuple(standing.actions),
        )

    def _extras(self, standing: _Standing) -> dict[str, Extra]:
        """The grade and the sentences that bear on the question, of each result that was judged."""
        refined = refine(standing.found.question, standing.candidates)
        return {
            candidate.id: Extra(grade(score, self._settings.verify), strips.text if strips.kept < 1 else None)
            for candidate, score, strips in zip(standing.candidates, standing.judgement.relevance, refined, strict=True)
        }


def _with_pages(candidates: list[Candidate], ranked: Sequence[Ranked]) -> list[Candidate]:
    """The candidates with the texts of those that come from outside; all by their texts then.

    No search scored what is outside, and what has no score would be taken for what every search found unlike.
    """
    if all(item.page is None for item in ranked):
        return candidates
    return [
        replace(candidate, scores={}) if item.page is None else replace(_of_page(item.page), score=item.final)
        for candidate, item in zip(candidates, ranked, strict=True)
    ]


def _of_page(page: WebPage) -> Candidate:
    return Candidate(id=web_id(page), text=page.text, score=0.0, title=page.title)
