"""Ask every question of a data set in several ways, and keep what came back: a run that can be saved and compared."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import Field, JsonValue, ValidationError

from hybridrag.errors import InvalidInput, RAGError
from hybridrag.evaluate.answers import first_with_answer
from hybridrag.evaluate.datasets import Dataset
from hybridrag.evaluate.metrics import documents_in_order
from hybridrag.evaluate.read_query import Query
from hybridrag.types.base import Model
from hybridrag.types.queries import Score
from hybridrag.types.results import Count, CRAGVerdict, Milliseconds, SearchResult, should_generate

FORMAT = 1
"""Raised when a saved run can no longer be read as before."""
LIMIT = 20
"""Results asked for: what a search returns unless told otherwise, so that times are those of a user."""
ENOUGH_DOCUMENTS = 10
"""The deepest rank of the tables. Where the first results are chunks of fewer documents, more are asked for."""
MOST_RESULTS = 100
KEPT = 50
"""Documents of a ranking that are saved; no metric looks further."""

EvalSearch = Callable[[str, int], SearchResult]
"""Answers a question with at most so many results, and with its trace."""
OnQuery = Callable[[int, int], None]
"""Told how many questions are done, of how many."""


class StepTime(Model):
    """One step of a search: how it ended and how long it took."""

    step: str
    state: str
    milliseconds: Milliseconds
    reason: str | None = None


class FoundDocument(Model):
    """A document near the top, and why it is there."""

    document: str
    score: Score
    ranks: dict[str, int] = Field(default_factory=dict)
    """Search -> the rank that it gave the document's first chunk."""
    via: tuple[str, ...] = ()
    """The names that led the graph to it."""


class QueryOutcome(Model):
    """What one search made of one question."""

    query: str
    """The id of the question."""
    ranking: tuple[str, ...] = ()
    """Documents, best first, each once."""
    milliseconds: Milliseconds = 0.0
    first: tuple[FoundDocument, ...] = ()
    """The first of them with what explains their place."""
    steps: tuple[StepTime, ...] = ()
    classified: str | None = None
    """The type that the classifier gave the question."""
    sufficient: Score | None = None
    """The probability that the results hold the answer; None unless it was judged."""
    abstained: bool = False
    """Whether the search said that the documents do not answer: by its judgement, else its grade, else by silence."""
    verdict: str | None = None
    """The grade over all results; None unless grading ran."""
    grade_before: Score | None = None
    """The grade before the first corrective action; None where none was taken."""
    grade_after: Score | None = None
    """The grade of what was kept in the end."""
    answer_rank: int | None = None
    """The rank of the first result whose text holds a gold answer; None where none does or none is known."""
    error: str | None = None
    """Why there is no answer, where the search failed; it then counts as having found nothing."""


class AnswerOutcome(Model):
    """The answer to one question, and how good it is."""

    query: str
    """The id of the question."""
    text: str = ""
    """What was answered, or why nothing was."""
    abstained: bool = False
    generated_by: str = ""
    """`extractive`, or the LLM that wrote it."""
    milliseconds: Milliseconds = 0.0
    short: str = ""
    """The stretch that was given as the answer; all of it where none was."""
    matches: bool | None = None
    """Whether it is right, as a person would judge (`is_right`); None where no answer is known."""
    exact: bool | None = None
    """Whether the short answer is a known one."""
    f1: Score | None = None
    """The words that the short answer shares with a known one."""
    faithfulness: Score | None = None
    """The share of its sentences that the passages support; None where nothing was answered, or the judge failed."""
    answer_relevancy: Score | None = None
    """How far it bears on the question."""
    context_precision: Score | None = None
    """Whether the useful passages stand before the others."""
    context_recall: Score | None = None
    """The share of a known answer that the passages support."""
    error: str | None = None
    """Why there is no answer, or why a measure is missing."""


class AskedQuery(Model):
    """A question as it was asked, with what is marked for it: a saved run can be scored without its data set."""

    id: str
    text: str
    type: str = ""
    intent: str | None = None
    language: str = ""
    answerable: bool = True
    answers: tuple[str, ...] = ()
    gold: dict[str, int] = Field(default_factory=dict)
    themes: tuple[tuple[str, ...], ...] = ()

    @property
    def has_evidence(self) -> bool:
        """Whether documents are marked that an answer rests on."""
        return self.answerable and any(grade >= 1 for grade in self.gold.values())


class RecipeRun(Model):
    """Every question, asked in one way."""

    name: str
    options: dict[str, JsonValue] = Field(default_factory=dict)
    """How it was asked."""
    outcomes: tuple[QueryOutcome, ...]
    """One for each question, in their order."""


class EvalRun(Model):
    """A whole evaluation: what was asked of what, on which machine, and what came back."""

    format: int = FORMAT
    dataset: str
    """Its name."""
    fingerprint: str
    """Of the questions and what is marked for them."""
    notes: tuple[str, ...] = ()
    documents: Count = 0
    chunks: Count = 0
    made: datetime
    version: str = ""
    """Of hybridrag."""
    model: str = ""
    """The embedding model."""
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    machine: dict[str, JsonValue] = Field(default_factory=dict)
    queries: tuple[AskedQuery, ...]
    recipes: tuple[RecipeRun, ...]
    answers: tuple[AnswerOutcome, ...] = ()
    """One for each question, where answers were asked for."""
    answers_judged_by: str = ""

    def recipe(self, name: str) -> RecipeRun:
        """The part of that name.

        Raises:
            InvalidInput: it was not run.
        """
        found = next((one for one in self.recipes if one.name == name), None)
        if found is None:
            raise InvalidInput(f"The run has no recipe {name!r}; it has {', '.join(one.name for one in self.recipes)}.")
        return found

    def save(self, file: str | Path) -> None:
        """Write it as JSON.

        Raises:
            InvalidInput: the file cannot be written.
        """
        try:
            Path(file).write_text(json.dumps(self.model_dump(mode="json"), ensure_ascii=False) + "\n", encoding="utf-8")
        except OSError as cause:
            raise InvalidInput(f"{file} cannot be written ({cause.strerror or cause}).") from None

    @classmethod
    def load(cls, file: str | Path) -> EvalRun:
        """Read what `save` wrote.

        Raises:
            InvalidInput: there is no such file, or it is no run.
        """
        try:
            text = Path(file).read_text(encoding="utf-8")
            return cls.model_validate_json(text)
        except OSError as cause:
            raise InvalidInput(f"{file} cannot be read ({cause.strerror or cause}).") from None
        except (ValidationError, UnicodeDecodeError):
            raise InvalidInput(
                f"{file} is no saved run.", hint="Make one: hybridrag eval DATASET --save FILE"
            ) from None


@dataclass(frozen=True, slots=True)
class EvalSetting:
    """What a run was made with."""

    documents: int = 0
    chunks: int = 0
    version: str = ""
    model: str = ""
    settings: Mapping[str, JsonValue] | None = None
    machine: Mapping[str, JsonValue] | None = None


def run_searches(
    dataset: Dataset,
    searches: Mapping[str, EvalSearch],
    *,
    options: Mapping[str, Mapping[str, JsonValue]] | None = None,
    setting: EvalSetting | None = None,
    on_query: OnQuery | None = None,
) -> EvalRun:
    """Ask every question with every search.

    A question goes to all searches before the next one, each time starting with another of them: what one of them
    leaves warm helps all alike. A search that fails for a question is kept as having found nothing, with the reason.
    """
    setting = setting or EvalSetting()
    names = list(searches)
    outcomes: dict[str, list[QueryOutcome]] = {name: [] for name in names}
    _warm_up(dataset, searches)
    for number, query in enumerate(dataset.queries):
        turn = number % max(1, len(names))
        for name in (*names[turn:], *names[:turn]):
            outcomes[name].append(ask(dataset, query, searches[name]))
        if on_query is not None:
            on_query(number + 1, len(dataset.queries))
    return EvalRun(
        dataset=dataset.name,
        fingerprint=dataset.fingerprint,
        notes=dataset.notes,
        documents=setting.documents,
        chunks=setting.chunks,
        made=datetime.now(tz=UTC),
        version=setting.version,
        model=setting.model,
        settings=dict(setting.settings or {}),
        machine=dict(setting.machine or {}),
        queries=tuple(_asked(query) for query in dataset.queries),
        recipes=tuple(
            RecipeRun(name=name, options=dict((options or {}).get(name, {})), outcomes=tuple(outcomes[name]))
            for name in names
        ),
    )


def ask(dataset: Dataset, query: Query, search: EvalSearch) -> QueryOutcome:
    """One question with one search."""
    began = time.perf_counter()
    try:
        result = search(query.text, LIMIT)
        spent = (time.perf_counter() - began) * 1000
        ranking = _ranking(dataset, result)
        if len(ranking) < ENOUGH_DOCUMENTS and result.total_count > LIMIT:
            # Apart from the time that is reported: a user sees one page.
            ranking = documents_in_order([*ranking, *_ranking(dataset, search(query.text, MOST_RESULTS))])
    except RAGError as error:
        return QueryOutcome(query=query.id, milliseconds=(time.perf_counter() - began) * 1000, error=str(error))
    crag = result.crag
    actions = crag.actions if crag else ()
    return QueryOutcome(
        query=query.id,
        ranking=tuple(ranking[:KEPT]),
        milliseconds=spent,
        first=_first(dataset, result),
        steps=_steps(result),
        classified=result.classification.type.value if result.classification else None,
        sufficient=_sufficient(result),
        abstained=_abstained(result),
        verdict=crag.relevance.value if crag else None,
        grade_before=actions[0].before if actions else None,
        # What made it worse was not kept.
        grade_after=max((max(action.before, action.after) for action in actions), default=None),
        answer_rank=first_with_answer([item.content.text for item in result.results], query.answers),
    )


def _warm_up(dataset: Dataset, searches: Mapping[str, EvalSearch]) -> None:
    """Load models and files outside of what is timed; whatever is wrong shows again when it counts."""
    for search in searches.values():
        try:
            search(dataset.queries[0].text, 1)
        except RAGError:
            continue


def _ranking(dataset: Dataset, result: SearchResult) -> list[str]:
    """The documents of the results; what is out of no document has no place among them."""
    names = [item.sources.external_url or item.sources.file_name for item in result.results]
    return documents_in_order(dataset.document_id(name) for name in names if name)


def _first(dataset: Dataset, result: SearchResult) -> tuple[FoundDocument, ...]:
    found: dict[str, FoundDocument] = {}
    for item in result.results:
        name = item.sources.external_url or item.sources.file_name
        if name is None or len(found) >= ENOUGH_DOCUMENTS:
            continue
        document = dataset.document_id(name)
        ranks = {by.strategy.value: by.rank for by in item.found_by}
        via = next((by.path for by in item.found_by if by.path), ())
        found.setdefault(document, FoundDocument(document=document, score=item.score, ranks=ranks, via=via))
    return tuple(found.values())


def _steps(result: SearchResult) -> tuple[StepTime, ...]:
    return tuple(
        StepTime(
            step=step.step.value,
            state=step.state.value,
            milliseconds=round(step.processing_time, 3),
            reason=step.reason,
        )
        for step in (result.trace.steps if result.trace else ())
    )


def _sufficient(result: SearchResult) -> float | None:
    """As a probability: an unsure "no" is nearly a "yes"."""
    judged = result.sufficiency
    if judged is None:
        return None
    return judged.confidence if judged.is_sufficient else 1 - judged.confidence


def _abstained(result: SearchResult) -> bool:
    if result.sufficiency is not None:
        return not should_generate(result.sufficiency)
    if result.crag is not None:
        return result.crag.relevance is CRAGVerdict.INCORRECT
    return not result.results


def _asked(query: Query) -> AskedQuery:
    return AskedQuery(
        id=query.id,
        text=query.text,
        type=query.type,
        intent=query.intent.value if query.intent else None,
        language=query.language,
        answerable=query.answerable,
        answers=query.answers,
        gold=dict(query.gold),
        themes=query.themes,
    )


def common_queries(runs: Sequence[EvalRun]) -> list[str]:
    """The ids of the questions that all runs asked with the same marks, in the order of the first.

    Raises:
        InvalidInput: they have none in common.
    """
    others = [{query.id: query for query in run.queries} for run in runs[1:]]
    shared = [query.id for query in runs[0].queries if all(other.get(query.id) == query for other in others)]
    if not shared:
        raise InvalidInput(f"The runs on {' and '.join(run.dataset for run in runs)} have no question in common.")
    return shared
