"""Turn what a caller sends into a type of the contract, or say in one sentence why it cannot be."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_camel

from hybridrag.errors import InvalidInput, InvalidQuery
from hybridrag.types.queries import SearchFilters, SearchOptions, SearchQuery

M = TypeVar("M", bound=BaseModel)

MAX_SHOWN = 60
"""A wrong value is quoted up to this many characters."""
MAX_PROBLEMS = 5
"""A sentence that names more problems than this is not read."""


def parse_query(data: SearchQuery | str | Mapping[str, object]) -> SearchQuery:
    """A valid query from its text, or from its fields in camelCase or snake_case.

    "what is BM25?" -> SearchQuery(text="what is BM25?")
    {"text": "BM25", "options": {"limit": 5}} -> SearchQuery(text="BM25", options=SearchOptions(limit=5))

    Raises:
        InvalidQuery: a field is wrong; names each by its camelCase path, with what was expected and found.
    """
    if isinstance(data, SearchQuery):
        return data
    try:
        return SearchQuery.model_validate({"text": data} if isinstance(data, str) else data)
    except ValidationError as cause:
        raise InvalidQuery(f"The query is not valid: {_joined(problems(cause, SearchQuery))}.") from None


def make_query(query: SearchQuery | str, fields: Mapping[str, object]) -> SearchQuery:
    """A query with some of its fields set, whichever part they belong to.

    ("BM25", {"limit": 5, "workspace_ids": ["team"]}) -> options.limit 5, filters.workspaceIds ["team"]

    Raises:
        InvalidQuery: a field is wrong or belongs nowhere.
    """
    base: dict[str, object] = dict(query) if isinstance(query, SearchQuery) else {"text": query}
    parts: dict[str, dict[str, object]] = {"filters": {}, "options": {}}
    for name, value in fields.items():
        if name in SearchFilters.model_fields:
            parts["filters"][name] = value
        elif name in SearchOptions.model_fields or name == "mode":
            parts["options"][name] = value
        else:
            base[name] = value
    for part, chosen in parts.items():
        if chosen:
            known = base.get(part)
            before = known.model_dump(exclude_unset=True, by_alias=False) if isinstance(known, BaseModel) else {}
            base[part] = {**before, **chosen}
    return parse_query(base)


def parse_json(kind: type[M], text: str | bytes) -> M:
    """The value of that type which the JSON holds.

    (DateRange, '{"from": "2024-01-01"}') -> DateRange(start=2024-01-01T00:00Z)

    Raises:
        InvalidInput: the JSON is broken or not of that type; an `InvalidQuery` when a query was asked for.
    """
    try:
        return kind.model_validate_json(text)
    except ValidationError as cause:
        error = InvalidQuery if kind is SearchQuery else InvalidInput
        raise error(f"The {kind.__name__} is not valid: {_joined(problems(cause, kind))}.") from None


def problems(error: ValidationError, kind: type[BaseModel]) -> list[str]:
    """Everything that is wrong, one readable line each, in the order of the input.

    -> ["`options.limit` must be less than or equal to 100, found 500"]
    """
    found = error.errors(include_url=False)
    places = [problem["loc"] for problem in found]
    return [_sentence(dict(problem), kind) for problem in found if not _follows_from_another(dict(problem), places)]


def _joined(lines: list[str]) -> str:
    shown = lines[:MAX_PROBLEMS]
    more = len(lines) - len(shown)
    return "; ".join([*shown, f"and {more} more"] if more else shown)


def _follows_from_another(problem: dict[str, Any], places: list[tuple[int | str, ...]]) -> bool:
    """A list is "too short" when its only item is wrong: the item's own problem says it all."""
    place = problem["loc"]
    return problem["type"] == "too_short" and any(len(o) > len(place) and o[: len(place)] == place for o in places)


def _sentence(problem: dict[str, Any], kind: type[BaseModel]) -> str:
    name = f"`{_path(problem['loc']) or kind.__name__}`"
    match problem["type"]:
        case "missing":
            return f"{name} is missing"
        case "extra_forbidden":
            return _unknown_field(problem["loc"], kind)
        case "json_invalid":
            return f"the JSON is broken: {problem['ctx']['error']}"
        case "value_error" | "assertion_error":
            reason = str(problem["ctx"]["error"])
            return f"{name} {reason}" if reason.startswith("must ") else f"{name}: {reason}"
        case "model_type" | "model_attributes_type" | "dict_type" | "is_instance_of":
            return f"{name} must be an object, found {_quoted(problem['input'])}"
    # "Input should be a valid integer, unable to parse string as an integer": the second half repeats the first.
    message = problem["msg"].removeprefix("Input should be ").split(", unable to")[0]
    verb = "must be " if problem["msg"].startswith("Input should be ") else ""
    return f"{name} {verb}{message}, found {_quoted(problem['input'])}"


def _unknown_field(place: tuple[int | str, ...], kind: type[BaseModel]) -> str:
    name = _on_one_line(str(place[-1]))
    known = [field.alias or key for key, field in _model_at(kind, place[:-1]).model_fields.items()]
    prefix = _path(place[:-1])
    path = f"{prefix}.{name}" if prefix else name
    if to_camel(name) in known:
        return f"`{path}` is given twice, as {name} and as {to_camel(name)}"
    near = difflib.get_close_matches(to_camel(name), known, n=1)
    better = f"{prefix}.{near[0]}" if near and prefix else "".join(near)
    return f"`{path}` is not a known field" + (f" (did you mean `{better}`?)" if better else "")


def _path(place: tuple[int | str, ...]) -> str:
    """("filters", "file_ids", 0) -> "filters.fileIds[0]"."""
    path = ""
    for part in place:
        path += f"[{part}]" if isinstance(part, int) else f".{to_camel(_on_one_line(part))}"
    return path.removeprefix(".")


def _on_one_line(name: str) -> str:
    """A name that somebody sent, with line breaks and other control characters spelt out."""
    return json.dumps(name, ensure_ascii=False)[1:-1]


def _model_at(kind: type[BaseModel], place: tuple[int | str, ...]) -> type[BaseModel]:
    """The model whose fields stand at that place."""
    for part in place:
        for key, field in kind.model_fields.items():
            if part in {key, field.alias}:
                kind = next(_models_in(field.annotation), kind)
    return kind


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


def _quoted(value: object) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = str(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."
