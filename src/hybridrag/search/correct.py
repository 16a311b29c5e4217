"""Decide what to do about results that do not answer; the loop in search.py carries it out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from hybridrag.config import Settings
from hybridrag.protocols import Llm
from hybridrag.queries.question import read_question
from hybridrag.queries.rewrite import rewrite_query
from hybridrag.queries.rewrite_llm import rewrite_with_llm
from hybridrag.result import Err
from hybridrag.search.grade import grade, state_score
from hybridrag.search.parallel import Leg
from hybridrag.search.record import Note
from hybridrag.search.state import SearchState
from hybridrag.search.verify import GRACE
from hybridrag.types.queries import QueryClassification, QueryType, SearchWeights
from hybridrag.types.results import CorrectiveAction, CorrectiveActionKind, CRAGVerdict

WIDEN = 2
"""How many times as many candidates an ambiguous verdict asks for."""

DEEPER = 1
"""How many steps further the graph is walked."""

MAX_DEPTH = 3
"""Beyond three steps everything is connected with everything."""

ENOUGH = 0.02
"""By so much the grade must rise before another way of searching takes the place of the first: below it, which of two
sets of results is graded higher is chance, and the first one was ranked with the question as it was asked."""

BY_WORD = SearchWeights(keyword=0.6, semantic=0.25, graph=0.15)
BY_MEANING = SearchWeights(keyword=0.15, semantic=0.65, graph=0.2)
BY_LINKS = SearchWeights(keyword=0.2, semantic=0.2, graph=0.6)
"""Mixes that let one search lead."""


@dataclass(frozen=True, slots=True)
class Situation:
    """Where a search stands before it is corrected again."""

    verdict: CRAGVerdict
    question: str
    weights: SearchWeights
    """Those of the first search."""
    depth: int = 1
    """How many steps the graph was walked in the first search."""
    classification: QueryClassification | None = None
    rewrites: Sequence[str] = ()
    """Other ways to ask, the best first: an LLM's before those of `rewrite_query`."""
    web: bool = False
    """Whether there is a web search."""
    tried: Sequence[Correction] = ()
    """What was done already, in order."""


@dataclass(frozen=True, slots=True)
class Correction:
    """What to do next. What is None stays as it was."""

    kind: CorrectiveActionKind
    detail: str = ""
    """For the user: the rewritten query, the new weights."""
    query: str | None = None
    weights: SearchWeights | None = None
    depth: int | None = None
    widen: int = 1
    """How many times as many candidates to take in."""

    @property
    def searches(self) -> bool:
        """Whether carrying it out takes another search."""
        return self.kind not in {CorrectiveActionKind.NONE, CorrectiveActionKind.REFINE_KNOWLEDGE} or self.widen > 1


NOTHING = Correction(CorrectiveActionKind.NONE)
REFINE = Correction(CorrectiveActionKind.REFINE_KNOWLEDGE, "keep the sentences that bear on the question")


def next_correction(situation: Situation, *, max_rounds: int) -> Correction:
    """The next corrective step, or none.

    correct -> refine
    incorrect -> while rounds are left, rewrite, other weights, deeper walk; then the web, where there is a search of it
    ambiguous -> as incorrect, with more candidates as the last round; then refine

    Only searches of the documents count as rounds. Nothing is tried twice.
    """
    tried = situation.tried
    web = Correction(CorrectiveActionKind.WEB_SEARCH, "look outside the documents", query=situation.question)
    steps: list[Correction] = []
    if situation.verdict is not CRAGVerdict.CORRECT:
        left = max_rounds - sum(step.searches for step in tried if step != web)
        more = [_widened()] if situation.verdict is CRAGVerdict.AMBIGUOUS else []
        steps = [step for step in (*_searches(situation), *more) if step not in tried][: max(0, left)]
        # What is outside the documents is found by no other way of searching them.
        steps += [web] if situation.web else []
    if situation.verdict is not CRAGVerdict.INCORRECT:
        steps.append(REFINE)
    return next((step for step in steps if step not in tried), NOTHING)


def _widened() -> Correction:
    return Correction(
        CorrectiveActionKind.REFINE_KNOWLEDGE, f"{WIDEN} times as many candidates, cut into strips", widen=WIDEN
    )


def _searches(situation: Situation) -> list[Correction]:
    """Every way to search the documents again: one rewrite, other weights, a deeper walk, the other rewrites."""
    rewrites = [
        Correction(CorrectiveActionKind.REWRITE_QUERY, query, query=query)
        for query in dict.fromkeys(situation.rewrites)
    ]
    weights = other_weights(situation.weights, situation.classification)
    mixed = Correction(CorrectiveActionKind.CHANGE_WEIGHTS, _shown(weights), weights=weights)
    steps = [*rewrites[:1], mixed]
    if situation.depth < MAX_DEPTH:
        depth = situation.depth + DEEPER
        steps.append(Correction(CorrectiveActionKind.DEEPEN_WALK, f"{depth} steps", depth=depth, weights=BY_LINKS))
    return [*steps, *rewrites[1:]]


def other_weights(weights: SearchWeights, classification: QueryClassification | None = None) -> SearchWeights:
    """A mix in which another search counts most: the graph for a relation, else words and meaning in turn.

    keyword .35, semantic .35, graph .30 -> by word; keyword .6 -> by meaning
    """
    relational = classification is not None and classification.type is QueryType.RELATIONSHIP
    if relational and weights.graph < BY_LINKS.graph:
        return BY_LINKS
    return BY_MEANING if weights.keyword > weights.semantic else BY_WORD


def _shown(weights: SearchWeights) -> str:
    return f"keyword {weights.keyword:.2f}, semantic {weights.semantic:.2f}, graph {weights.graph:.2f}"


def _japanese(correction: Correction) -> str:
    """The detail of a correction for a question in Japanese."""
    weights = correction.weights or BY_WORD
    mix = f"キーワード {weights.keyword:.2f}、意味 {weights.semantic:.2f}、グラフ {weights.graph:.2f}"
    widened = f"候補を{correction.widen}倍に広げ、文に分ける"
    return {
        CorrectiveActionKind.REFINE_KNOWLEDGE: widened if correction.widen > 1 else "質問に関わる文だけを残す",
        CorrectiveActionKind.CHANGE_WEIGHTS: mix,
        CorrectiveActionKind.DEEPEN_WALK: f"グラフを{correction.depth}歩たどる",
        CorrectiveActionKind.WEB_SEARCH: "文書の外を探す",
    }.get(correction.kind, correction.detail)


# The rounds of one search


class Rounds:
    """The corrections of one search: what comes next, and the best try so far."""

    def __init__(self, state: SearchState, settings: Settings, note: Note, *, llm: Llm | None, web: bool) -> None:
        self.best = state
        self.until = time.monotonic() + settings.verify.deadline_seconds
        self._first = state
        self._settings = settings
        self._note = note
        self._llm = llm
        self._web = web
        self._tried: list[Correction] = []
        self._rewrites: list[str] | None = None

    def next(self) -> Correction | None:
        """The next correction; None where the results answer, or nothing is left to try in the time that is left."""
        verdict = grade(state_score(self.best), self._settings.verify).relevance
        rounds = self._settings.verify.max_rounds
        if rounds and verdict is not CRAGVerdict.CORRECT and self._rewrites is None:
            self._rewrites = self._ways_to_ask()
        situation = Situation(
            verdict=verdict,
            question=self._first.question.text,
            weights=self._first.weights,
            depth=self._first.plan.hops,
            classification=self._first.question.classification,
            rewrites=self._rewrites or (),
            web=self._web,
            tried=tuple(self._tried),
        )
        correction = next_correction(situation, max_rounds=rounds)
        if correction.kind is CorrectiveActionKind.NONE:
            return None
        if time.monotonic() >= self.until:
            self._note.degrade(f"Correcting stopped after {self._settings.verify.deadline_seconds:g} s.")
            return None
        self._tried.append(correction)
        return correction

    def another_try(self, correction: Correction) -> SearchState:
        """What to search next, from the best try so far."""
        best = self.best
        plan = replace(
            best.plan,
            weights=(correction.weights or best.weights).among(best.enabled),
            hops=correction.depth or best.plan.hops,
            depth=best.plan.depth * correction.widen,
        )
        question = best.question
        if correction.query not in (None, question.text):
            question = read_question(str(correction.query), question.classification, operators=question.operators)
        return best.again(plan=plan, question=question)

    def take(self, correction: Correction, other: SearchState | None) -> None:
        """Go on with the better of the two, and record what the correction did."""
        before = after = state_score(self.best)
        if other is not None and other.judgement is not None:
            after = state_score(other)
            # Pages from outside are added to what was found, and take no place from it.
            enough = 0.0 if correction.kind is CorrectiveActionKind.WEB_SEARCH else ENOUGH
            if after > before + enough:
                self.best = other
            else:
                after = min(after, before)
        detail = _japanese(correction) if self._first.asked.language == "ja" else correction.detail
        action = CorrectiveAction(kind=correction.kind, detail=detail, before=before, after=after)
        self.best.actions = self._first.actions = [*self._first.actions, action]
        self._note.details["actions"] = [
            {"kind": action.kind.value, "detail": action.detail, "before": action.before, "after": action.after}
            for action in self.best.actions
        ]

    def _ways_to_ask(self) -> list[str]:
        """The question in other words: those of the LLM before our own."""
        state, text = self._first, self._first.question.text
        own = rewrite_query(text, state.question.classification, state.question.rarity)
        if self._llm is None:
            return own
        timeout = max(0.1, min(self._settings.llm.timeout_seconds, self.until - time.monotonic()))
        written = Leg("rewrite", partial(rewrite_with_llm, text, self._llm, timeout=timeout), seconds=timeout + GRACE)
        answer = written.result().value
        return own if answer is None or isinstance(answer, Err) else [*answer.value, *own]
