"""What a judgement rests on: how far a question is covered by a passage, by its best sentence, by the whole set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hybridrag.protocols import Candidate, Question
from hybridrag.types.queries import QueryType
from hybridrag.verify.read import (
    Asked,
    Passage,
    is_negated,
    kind_flags,
    name_presence,
    plain,
    presence,
    read_heading,
    read_passage,
    read_question,
)
from hybridrag.verify.wants import Want
from hybridrag.verify.way import whole_way

Features = NDArray[np.float64]

PASSAGE_FEATURES = (
    "coverage",
    "best_sentence",
    "best_sentence_with_title",
    "best_pair",
    "missing_rarest",
    "names",
    "no_name",
    "title_named",
    "title_asked",
    "attribute",
    "attribute_with_names",
    "kind_in_best",
    "kind_with_coverage",
    "kind_none",
    "pairs_near",
    "numbers_missing",
    "negation_differs",
    "length",
    "bridge",
    "graph",
    "semantic",
)
"""For one passage, in order; the last two need the scores of the searches."""

SET_FEATURES = (
    "best",
    "second",
    "third",
    "coverage_of_best",
    "sentence_of_best",
    "attribute_of_best",
    "kind_in_best",
    "kind_with_coverage",
    "bridge",
    "numbers_missing",
    "coverage_of_all",
    "names_in_all",
    "names_in_titles",
    "names_unseen",
    "way",
    "count",
    "semantic",
    "semantic_margin",
)
"""For all passages together, in order; `best`, `second`, `third` are log-odds of the most relevant passages."""

NEED_SCORES = frozenset(("graph", "semantic", "semantic_margin"))
"""Left out where the candidates come without scores of a search."""

MODEL_PASSAGE_FEATURES = ("evidence", "coverage", "fit", "holds", "semantic", "read")
"""For one passage that a model may have read: the log-odds without the model, how much of the question it says, what
the model says, its cosine (not a number where cosines mean nothing), whether the model read it."""

_MODEL_LOCAL = ("evidence", "nearest", "fit", "holds_of_nearest", "most_covered")
MODEL_SET_FEATURES = (
    *("best", "second", "coverage_of_fittest", "mean_holds"),
    *_MODEL_LOCAL,
    "near",
    *(f"{name}_near" for name in _MODEL_LOCAL),
    "together",
)
"""For all passages that a model read: the log-odds without the model; `best` and `second` are those of the passages;
`near` is how near the whole set lies to the question, and what ends in it counts only as far as that; `together` is
the best that one passage has of everything: the model, nearness and evidence.

Among passages that are all near, as in an encyclopaedia, every one fits and only the nearest tells; in a folder of few
documents what the model makes of the best one tells most. One weight for both kinds was wrong for either."""

FIT_SCALE, HOLDS_SCALE = 5.0, 2.5
"""Half of the range of the model's two answers; past twice of it there is nothing more to know."""

BEST_HOLDING = 3
"""Passages read whose `holds` is averaged, the best ones."""

NEAR = 4
"""Words between which two terms of the question still belong together."""

NEAR_SET = 0.3
"""How far the mean cosine of a set, spread as below, is from the middle where `near` is .73."""

TOGETHER_NEAR, TOGETHER_EVIDENCE = 0.7, 0.3
"""What a passage's cosine and its log-odds without the model count beside `holds` of the model."""

USUAL_NEAREST = 0.9
"""The nearest passage of a folder of few documents: what is taken where cosines mean nothing."""

COSINE_MIDDLE, COSINE_SCALE = 0.84, 0.04
"""Cosines of the default embedding model lie close together; this spreads them to about -2 to 2."""


@dataclass(frozen=True, slots=True)
class Read:
    """A question and its candidates, read."""

    question: Question
    asked: Asked
    candidates: Sequence[Candidate]
    passages: Sequence[Passage]
    headings: Sequence[Passage]


def read_all(question: Question, candidates: Sequence[Candidate]) -> Read:
    """Read the question and every candidate."""
    return Read(
        question,
        read_question(question),
        candidates,
        [read_passage(candidate.text) for candidate in candidates],
        [read_heading(candidate) for candidate in candidates],
    )


def best_sentence(asked: Asked, passage: Passage, heading: Passage) -> int:
    """The place of the sentence that says most of the question, its title counted in; of equal ones the first."""
    alone = [asked.coverage(presence(asked.terms, sentence.terms)) for sentence in passage.sentences]
    titled = [asked.coverage(presence(asked.terms, sentence.terms, heading.terms)) for sentence in passage.sentences]
    return _best(alone, titled, kind_flags(asked, passage))


def _best(alone: Sequence[float], titled: Sequence[float], kinds: Sequence[bool]) -> int:
    """The place of the best sentence by its coverage, that with the title counted in, and what kind of thing it has."""
    rated = [own + 0.5 * all_of_it + 0.15 * kind for own, all_of_it, kind in zip(alone, titled, kinds, strict=True)]
    return rated.index(max(rated)) if rated else 0


def passage_features(read: Read) -> Features:
    """A row of `PASSAGE_FEATURES` for each candidate."""
    bridges = _bridges(read)
    cosines = _cosines(read.candidates)
    names = frozenset(term for name in read.asked.names for term in name.terms_alone)
    attributes = [float(term.term not in names) for term in read.asked.terms]
    rows = [_row(read, at, bridges[at], cosines, attributes) for at in range(len(read.candidates))]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(PASSAGE_FEATURES))


def _cosines(candidates: Sequence[Candidate]) -> list[float]:
    """The cosine of each; one that the semantic search did not find is no nearer than the farthest that it did."""
    given = [candidate.scores.get("semantic", 0.0) for candidate in candidates]
    least = min((cosine for cosine in given if cosine > 0.0), default=0.0)
    return [cosine if cosine > 0.0 else least for cosine in given]


def has_scores(candidates: Sequence[Candidate]) -> bool:
    """Whether the semantic search scored any of the candidates."""
    return any(candidate.scores.get("semantic", 0.0) > 0.0 for candidate in candidates)


def _row(read: Read, at: int, bridge: float, cosines: Sequence[float], attributes: Sequence[float]) -> list[float]:
    asked, candidate, passage, heading = read.asked, read.candidates[at], read.passages[at], read.headings[at]
    whole = presence(asked.terms, passage.terms, heading.terms)
    alone = [presence(asked.terms, sentence.terms) for sentence in passage.sentences]
    titled = [presence(asked.terms, sentence.terms, heading.terms) for sentence in passage.sentences]
    places = [
        name_presence(name, f"{passage.plain}\n{heading.plain}", passage.terms, heading.terms) for name in asked.names
    ]
    named = sum(places) / len(places) if places else 0.0
    covered, covered_titled = [*map(asked.coverage, alone)], [*map(asked.coverage, titled)]
    asked_for = [asked.partial(there, attributes) for there in alone]
    kinds = kind_flags(asked, passage)
    best = _best(covered, covered_titled, kinds)
    untold = asked.want in {Want.THING, Want.MANNER}
    return [
        asked.coverage(whole),
        max(covered, default=0.0),
        max(covered_titled, default=0.0),
        _best_pair(asked, passage, heading),
        _missing_rarest(asked, whole),
        named,
        float(not places),
        _title_named(asked, candidate),
        _title_asked(asked, heading),
        max(asked_for, default=0.0),
        max(asked_for, default=0.0) * (named if places else 1.0),
        0.0 if untold or not kinds else float(kinds[best]),
        0.0 if untold else max((there for there, kind in zip(covered_titled, kinds, strict=True) if kind), default=0.0),
        float(untold),
        _pairs_near(asked, passage),
        _numbers_missing(asked, passage.plain),
        float(asked.negated and not is_negated(passage.text)),
        float(np.log1p(len(passage.text)) - 6.0),
        bridge,
        candidate.scores.get("graph", 0.0),
        _spread_cosine(cosines[at]),
    ]


def _spread_cosine(cosine: float) -> float:
    return float(np.clip((cosine - COSINE_MIDDLE) / COSINE_SCALE, -3.0, 3.0)) if cosine > 0.0 else 0.0


def _best_pair(asked: Asked, passage: Passage, heading: Passage) -> float:
    """The coverage by two sentences that follow each other: the second often says `it`."""
    pairs = [(one.terms, two.terms, heading.terms) for one, two in pairwise(passage.sentences)]
    pairs = pairs or [(passage.terms, passage.terms, heading.terms)]
    return max(asked.coverage(presence(asked.terms, *places)) for places in pairs)


def _missing_rarest(asked: Asked, there: Sequence[float]) -> float:
    """How much of the weightiest term is missing, as its share of the question."""
    total = sum(asked.weights)
    gaps = [weight * (1.0 - share) for weight, share in zip(asked.weights, there, strict=True)]
    return max(gaps, default=0.0) / total if total else 0.0


def _title_named(asked: Asked, candidate: Candidate) -> float:
    """Whether the title is a name in the question, without what stands in brackets after it."""
    title = plain_title(candidate.title)
    if len(title) < 2:
        return 0.0
    if any(title == name.plain for name in asked.names):
        return 1.0
    return 0.7 if title in asked.plain else 0.0


def plain_title(title: str) -> str:
    """A title as it is looked for in texts: without what stands in brackets after it."""
    return plain(title).split("(")[0].strip()


def _title_asked(asked: Asked, heading: Passage) -> float:
    """How much of the title stands in the question."""
    if not heading.terms:
        return 0.0
    said = {spelling for term in asked.terms for spelling in (term.term, *term.others, *term.parts)}
    return len(heading.terms & said) / len(heading.terms)


def _pairs_near(asked: Asked, passage: Passage) -> float:
    """The share of neighbouring terms of the question that stand near each other in the passage."""
    pairs = list(pairwise(asked.terms))
    if not pairs:
        return float(bool(asked.terms) and asked.terms[0].term in passage.terms)
    near = 0
    for one, two in pairs:
        here, there = passage.positions.get(one.words()[-1], ()), passage.positions.get(two.words()[0], ())
        near += any(abs(left - right) <= NEAR for left in here for right in there)
    return near / len(pairs)


def _numbers_missing(asked: Asked, text: str) -> float:
    if not asked.numbers:
        return 0.0
    return sum(number not in text for number in asked.numbers) / len(asked.numbers)


def _bridges(read: Read) -> list[float]:
    """For each candidate, how far it is named by another that the question names: "the director of X"."""
    titles = [plain_title(candidate.title) for candidate in read.candidates]
    named = [_title_named(read.asked, candidate) for candidate in read.candidates]
    return [
        max(
            (
                named[other]
                for other, passage in enumerate(read.passages)
                if other != at and named[other] and not named[at] and len(title) > 2 and title in passage.plain
            ),
            default=0.0,
        )
        for at, title in enumerate(titles)
    ]


def set_evidence(read: Read) -> Features:
    """What the candidates hold together, whichever of them is the best: see `set_features`."""
    asked = read.asked
    everything = frozenset().union(*(passage.terms for passage in (*read.passages, *read.headings)))
    text = "\n".join(passage.plain for passage in (*read.passages, *read.headings))
    named = [name_presence(name, text, everything) for name in asked.names]
    titles = {plain_title(candidate.title) for candidate in read.candidates}
    titled = [any(name.plain == title for title in titles) for name in asked.names]
    values = [
        asked.coverage(presence(asked.terms, everything)),
        sum(named) / len(named) if named else 0.0,
        sum(titled) / len(titled) if titled else 0.0,
        float(any(share < 0.5 for share in named)),
        whole_way(asked, [plain_title(candidate.title) for candidate in read.candidates], read.passages),
        float(np.log1p(len(read.candidates)) - 1.5),
    ]
    return np.array(values, dtype=np.float64)


def set_features(rows: Features, evidence: Features, logits: Features) -> Features:
    """`SET_FEATURES` for the set.

    `rows` are the `passage_features`, `evidence` the `set_evidence` of the same candidates, `logits` the log-odds of
    each one's relevance.
    """
    order = np.argsort(-logits, kind="stable")
    best = rows[order[0]]
    column = {name: rows[:, at] for at, name in enumerate(PASSAGE_FEATURES)}
    of_best = {name: float(value) for name, value in zip(PASSAGE_FEATURES, best, strict=True)}
    ranked = [float(logits[at]) for at in order[:3]] + [-6.0] * 3
    coverage, named, titled, unseen, way, count = map(float, evidence)
    cosines = np.sort(column["semantic"])[::-1]
    values = [
        *ranked[:3],
        of_best["coverage"],
        of_best["best_sentence_with_title"],
        of_best["attribute_with_names"],
        of_best["kind_in_best"],
        float(column["kind_with_coverage"].max()),
        float(column["bridge"].max()),
        float(column["numbers_missing"].min()),
        coverage,
        named,
        titled,
        unseen,
        way,
        count,
        float(cosines[0]),
        float(cosines[0] - cosines[min(4, len(cosines) - 1)]),
    ]
    return np.array(values, dtype=np.float64)


def model_answers(candidates: Sequence[Candidate]) -> Features | None:
    """`fit` and `holds` of each candidate, spread to -2 to 2, and 1 where it was read; None where no model read any.

    A candidate that it did not read counts as the worst that it read.
    """
    read = [float("fit" in candidate.scores) for candidate in candidates]
    if not any(read):
        return None
    answers = np.array([_given(candidates, name) for name in ("fit", "holds")], dtype=np.float64).T
    return np.column_stack((spread_answers(answers), read))


def spread_answers(answers: Features) -> Features:
    """`fit` and `holds` of each passage as a model says them, spread to -2 to 2."""
    spread: Features = np.clip(answers / np.array([FIT_SCALE, HOLDS_SCALE]), -2.0, 2.0)
    return spread


def _given(candidates: Sequence[Candidate], name: str) -> list[float]:
    given = [candidate.scores.get(name) for candidate in candidates]
    least = min((value for value in given if value is not None), default=0.0)
    return [least if value is None else value for value in given]


def model_passage_features(answers: Features, rows: Features, logits: Features, *, scored: bool) -> Features:
    """A row of `MODEL_PASSAGE_FEATURES` for each candidate.

    `answers` are the `model_answers`, `rows` the `passage_features`, `logits` the relevance without the model; `scored`
    says whether cosines may be trusted.
    """
    coverage, cosines = (rows[:, PASSAGE_FEATURES.index(name)] for name in ("coverage", "semantic"))
    cosines = cosines if scored else np.full(len(rows), np.nan)
    return np.column_stack((logits, coverage, answers[:, :2], cosines, answers[:, 2]))


def model_set_features(rows: Features, logits: Features, odds: float) -> Features:
    """`MODEL_SET_FEATURES` for the set.

    `rows` are the `model_passage_features`, `logits` the relevance of each with the model, `odds` the sufficiency
    without the model.
    """
    ranked = np.sort(logits)[::-1]
    coverage = rows[:, MODEL_PASSAGE_FEATURES.index("coverage")]
    read = rows[rows[:, MODEL_PASSAGE_FEATURES.index("read")] > 0.0]
    fit, holds, said = (read[:, MODEL_PASSAGE_FEATURES.index(name)] for name in ("fit", "holds", "coverage"))
    fittest = int(np.argmax(fit))
    nearest, near, closest = _nearness(rows, read, fittest)
    mean_holds = np.sort(holds)[::-1][:BEST_HOLDING].mean()
    values = np.array([odds, nearest, fit[fittest], holds[closest], coverage.max()], dtype=np.float64)
    first = [ranked[0], ranked[min(1, len(rows) - 1)], said[fittest], mean_holds]
    return np.concatenate([first, values, [near], near * values, [_together(read)]])


def _together(read: Features) -> float:
    """The most that one of the passages read has of `holds`, nearness and evidence."""
    evidence, holds, cosines = (
        read[:, MODEL_PASSAGE_FEATURES.index(name)] for name in ("evidence", "holds", "semantic")
    )
    near = np.where(np.isnan(cosines), USUAL_NEAREST, cosines)
    return float((holds + TOGETHER_NEAR * near + TOGETHER_EVIDENCE * evidence).max())


def _nearness(rows: Features, read: Features, fittest: int) -> tuple[float, float, int]:
    """The cosine of the nearest, how near all lie from 0 to 1, and which of those that were read is the nearest."""
    column = MODEL_PASSAGE_FEATURES.index("semantic")
    cosines = rows[:, column]
    if np.isnan(cosines).any():
        return USUAL_NEAREST, 0.0, fittest
    near = 1.0 / (1.0 + np.exp(-cosines.mean() / NEAR_SET))
    return float(cosines.max()), float(near), int(np.argmax(read[:, column]))


def is_relational(question: Question) -> bool:
    """Whether the answer may hang on several passages: how things compare, relate or follow from each other."""
    return question.classification is not None and question.classification.type is QueryType.RELATIONSHIP
