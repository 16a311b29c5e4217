"""Ask for answers, and say how good they are: against known answers, and by the four measures of RAGAS."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hybridrag.errors import RAGError
from hybridrag.evaluate.answers import exact_match, is_right, token_f1
from hybridrag.evaluate.datasets import Dataset
from hybridrag.evaluate.generation import answer_relevancy, context_precision, context_recall, faithfulness
from hybridrag.evaluate.read_query import Query
from hybridrag.evaluate.resample import BootstrapInterval, bootstrap_interval
from hybridrag.evaluate.runs import AnswerOutcome, AskedQuery, EvalRun, OnQuery
from hybridrag.evaluate.score import groups_of
from hybridrag.evaluate.support import SupportJudge
from hybridrag.result import Ok, Result
from hybridrag.types.answers import Answer

EvalAnswer = Callable[[str], tuple[Answer, Sequence[str]]]
"""Answers a question, and says which passages the answer was made from, best first."""

AnswerMetric = Callable[[AskedQuery, AnswerOutcome], float | None]
"""The value of one question; None where the metric says nothing about it."""


def _known(query: AskedQuery, outcome: AnswerOutcome, value: float | bool | None) -> float | None:
    """The value where an answer is known; keeping silent then counts 0."""
    if not query.answerable or outcome.matches is None:
        return None
    return 0.0 if outcome.abstained or value is None else float(value)


ANSWER_METRICS: dict[str, AnswerMetric] = {
    "right": lambda query, outcome: _known(query, outcome, outcome.matches),
    "wrong": lambda query, outcome: _known(query, outcome, not outcome.matches),
    "refused": lambda query, outcome: float(outcome.abstained) if query.answerable else None,
    "exact match": lambda query, outcome: _known(query, outcome, outcome.exact),
    "F1": lambda query, outcome: _known(query, outcome, outcome.f1),
    "abstains": lambda query, outcome: None if query.answerable else float(outcome.abstained),
    "faithfulness": lambda _, outcome: outcome.faithfulness,
    "answer relevancy": lambda _, outcome: outcome.answer_relevancy,
    "context precision": lambda _, outcome: outcome.context_precision,
    "context recall": lambda _, outcome: outcome.context_recall,
}
"""`right`, `wrong`, `refused`: of the answerable questions, as a person would judge (`is_right`). `exact match` and
`F1` hold the short answer against the known one; keeping silent counts 0. `abstains`: of the unanswerable."""


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """The answers to one group of questions."""

    group: str
    queries: int
    values: Mapping[str, BootstrapInterval]
    """Metric -> its mean; without those that say nothing about these questions."""


def run_answers(
    dataset: Dataset, answer: EvalAnswer, judge: SupportJudge, *, on_query: OnQuery | None = None
) -> tuple[AnswerOutcome, ...]:
    """Answer every question, and have each answer judged.

    A measure that the judge fails at is left out of that answer, with the reason; a question that fails counts as
    not answered.
    """
    outcomes: list[AnswerOutcome] = []
    for number, query in enumerate(dataset.queries, start=1):
        outcomes.append(_outcome(query, answer, judge))
        if on_query is not None:
            on_query(number, len(dataset.queries))
    return tuple(outcomes)


def score_answers(run: EvalRun) -> list[AnswerRow]:
    """The answers of a run by group of questions, all of them first; empty where it asked for none."""
    by_query = {outcome.query: outcome for outcome in run.answers}
    asked = [query for query in run.queries if query.id in by_query]
    rows: list[AnswerRow] = []
    for group, ids in groups_of(asked).items() if asked else ():
        pairs = [(query, by_query[query.id]) for query in asked if query.id in ids]
        found = {
            name: [value for value in (metric(*pair) for pair in pairs) if value is not None]
            for name, metric in ANSWER_METRICS.items()
        }
        values = {name: bootstrap_interval(some) for name, some in found.items() if some}
        rows.append(AnswerRow(group, len(pairs), values))
    return rows


def _outcome(query: Query, answer: EvalAnswer, judge: SupportJudge) -> AnswerOutcome:
    began = time.perf_counter()
    try:
        given, passages = answer(query.text)
    except RAGError as error:
        spent = (time.perf_counter() - began) * 1000
        unanswered = False if query.answers else None
        return AnswerOutcome(query=query.id, abstained=True, milliseconds=spent, matches=unanswered, error=str(error))
    spent = (time.perf_counter() - began) * 1000
    said = " ".join(sentence.text for sentence in given.sentences)
    short = given.short.text if given.short else said
    measures: dict[str, Result[float]] = {}
    if said:
        measures["faithfulness"] = faithfulness(said, passages, judge)
        measures["answer_relevancy"] = answer_relevancy(query.text, said, judge)
    if query.answerable:
        measures["context_precision"] = context_precision(query.text, passages, judge)
    if query.answerable and query.answers:
        measures["context_recall"] = _recall(query, passages, judge)
    failed = [str(found.error) for found in measures.values() if not isinstance(found, Ok)]
    return AnswerOutcome(
        query=query.id,
        text=given.text,
        abstained=given.abstained,
        generated_by=given.generated_by,
        milliseconds=spent,
        short=short,
        matches=not given.abstained and is_right(said, short, query.answers, yes_no=given.yes_no)
        if query.answers
        else None,
        exact=exact_match(short, query.answers) if query.answers else None,
        f1=token_f1(short, query.answers) if query.answers else None,
        error=failed[0] if failed else None,
        **{name: found.value for name, found in measures.items() if isinstance(found, Ok)},
    )


def _recall(query: Query, passages: Sequence[str], judge: SupportJudge) -> Result[float]:
    """Of several known answers, any of which is right, that which the passages support best."""
    best = 0.0
    for reference in query.answers:
        found = context_recall(reference, passages, judge)
        if not isinstance(found, Ok):
            return found
        best = max(best, found.value)
    return Ok(best)
