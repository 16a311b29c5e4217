"""Decide what to do about results that do not answer: pure decisions, carried out by the caller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hybridrag.types.queries import QueryClassification, QueryType, SearchWeights
from hybridrag.types.results import CorrectiveActionKind, CRAGVerdict

WIDEN = 2
"""How many times as many candidates an ambiguous verdict asks for."""

DEEPER = 1
"""How many steps further the graph is walked."""

MAX_DEPTH = 3
"""Beyond three steps everything is connected with everything."""

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
    """A mix that is led by another search: links for a relation that words led, else words and meaning in turn.

    keyword .35, semantic .35, graph .30 -> by word; keyword .6 -> by meaning
    """
    relational = classification is not None and classification.type is QueryType.RELATIONSHIP
    if relational and weights.graph < BY_LINKS.graph:
        return BY_LINKS
    return BY_MEANING if weights.keyword > weights.semantic else BY_WORD


def _shown(weights: SearchWeights) -> str:
    return f"keyword {weights.keyword:.2f}, semantic {weights.semantic:.2f}, graph {weights.graph:.2f}"
