"""JSON Schema of the public types, and the check of a JSON document against one of them."""

from __future__ import annotations

import difflib
from typing import Any, Literal

from pydantic import ValidationError

from hybridrag.errors import InvalidInput
from hybridrag.types.answers import Answer, AnswerSentence, Citation, NearestPassage, ShortAnswer
from hybridrag.types.base import Model
from hybridrag.types.documents import Chunk, FileInfo
from hybridrag.types.graph import (
    Community,
    Entity,
    Evidence,
    GraphPath,
    Neighbour,
    Outline,
    PathStep,
    Relation,
    Section,
)
from hybridrag.types.parse import problems
from hybridrag.types.queries import (
    DateRange,
    QueryClassification,
    RerankConfig,
    RRFConfig,
    SearchFilters,
    SearchMode,
    SearchOptions,
    SearchQuery,
    SearchWeights,
)
from hybridrag.types.reports import FileOutcome, IngestReport
from hybridrag.types.results import (
    CorrectiveAction,
    CRAGReport,
    CRAGScore,
    FoundBy,
    Highlight,
    HighlightOffset,
    IntentMatch,
    RelevanceScore,
    SearchResult,
    SearchResultContent,
    SearchResultItem,
    SearchResultSources,
    SearchStrategyMetrics,
    StrategyMetric,
    SufficiencyEvaluation,
    Trace,
    TraceStep,
)

DRAFT = "https://json-schema.org/draft/2020-12/schema"

SENT: tuple[type[Model], ...] = (
    DateRange,
    RRFConfig,
    RerankConfig,
    SearchFilters,
    SearchOptions,
    SearchQuery,
    SearchWeights,
)
"""What a client sends: a field with a default may be left out."""

RETURNED: tuple[type[Model], ...] = (
    Answer,
    AnswerSentence,
    CRAGReport,
    CRAGScore,
    Chunk,
    Citation,
    NearestPassage,
    ShortAnswer,
    Community,
    CorrectiveAction,
    Entity,
    Evidence,
    FileInfo,
    FileOutcome,
    FoundBy,
    GraphPath,
    Highlight,
    HighlightOffset,
    IngestReport,
    IntentMatch,
    Neighbour,
    Outline,
    PathStep,
    QueryClassification,
    Relation,
    RelevanceScore,
    SearchResult,
    SearchResultContent,
    SearchResultItem,
    SearchResultSources,
    SearchStrategyMetrics,
    Section,
    StrategyMetric,
    SufficiencyEvaluation,
    Trace,
    TraceStep,
)
"""What a client receives: every field is always there."""

_A_DAY_OR_MOMENT = [
    {"format": "date-time", "type": "string"},
    {"format": "date", "type": "string"},
    {"type": "null"},
]

_ALSO_ACCEPTED: dict[str, dict[str, dict[str, Any]]] = {
    "DateRange": {
        "start": {"anyOf": _A_DAY_OR_MOMENT},
        "end": {"anyOf": _A_DAY_OR_MOMENT},
        "from": {"anyOf": _A_DAY_OR_MOMENT, "description": "The same as `start`."},
        "to": {"anyOf": _A_DAY_OR_MOMENT, "description": "The same as `end`."},
    },
    "SearchOptions": {
        "mode": {
            "enum": [mode.value for mode in SearchMode],
            "type": "string",
            "description": "Short for `strategies` with one entry; not together with it.",
        }
    },
}
"""Short forms that validators take on input: pydantic cannot know of them."""


def schema_names() -> list[str]:
    """The names of every public type, sorted.

    -> ["CRAGReport", ..., "SearchQuery", ...]
    """
    return sorted(kind.__name__ for kind in (*SENT, *RETURNED))


def json_schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a public type, with camelCase fields.

    "DateRange" -> {"title": "DateRange", "type": "object", "properties": {"start": ...}, ...}

    Raises:
        InvalidInput: there is no public type of that name.
    """
    kind = _public_type(name)
    mode: Literal["validation", "serialization"] = "validation" if kind in SENT else "serialization"
    schema = kind.model_json_schema(mode=mode)
    if "$ref" in schema:
        # A type that holds itself is only named at the top, and told among the definitions.
        schema = {**schema["$defs"][name], "$defs": schema["$defs"]}
    for title, model in [(name, schema), *schema.get("$defs", {}).items()]:
        properties = model.get("properties", {})
        for field in properties.values():
            # "Fileids" for fileIds: made from the alias, and noise in every generated client.
            field.pop("title", None)
        if properties and mode == "serialization":
            # What has a default is written all the same; pydantic lists only what has none.
            model["required"] = list(properties)
        for field, form in _ALSO_ACCEPTED.get(title, {}).items() if mode == "validation" else ():
            properties[field] = {**properties.get(field, {}), **form}
    return {"$schema": DRAFT, **schema}


def check_json(text: str | bytes, name: str = "SearchQuery") -> list[str]:
    """What is wrong with a JSON document as a value of that type, one line each; nothing when it is right.

    '{"text": "", "limit": 5}' -> ["`text`: the query is empty; ...", "`limit` is not a known field"]

    Raises:
        InvalidInput: there is no public type of that name.
    """
    kind = _public_type(name)
    try:
        kind.model_validate_json(text)
    except ValidationError as error:
        return problems(error, kind)
    return []


def _public_type(name: str) -> type[Model]:
    for kind in (*SENT, *RETURNED):
        if kind.__name__ == name:
            return kind
    near = difflib.get_close_matches(name, schema_names(), n=1, cutoff=0.5)
    hint = f"Did you mean {near[0]}?" if near else "Run: hybridrag schema, which lists them."
    raise InvalidInput(f"There is no public type {name!r}.", hint=hint)
