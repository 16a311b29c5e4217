"""The options that make a query, for every command that takes one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import click

from hybridrag import InvalidQuery, QueryType, SearchMode, SearchStrategy

F = TypeVar("F", bound=Callable[..., Any])


def _choice(kind: type[QueryType | SearchMode | SearchStrategy]) -> click.Choice[str]:
    return click.Choice([member.value for member in kind])


_OPTIONS = (
    click.option("--type", type=_choice(QueryType), help="The kind of question."),
    click.option("--limit", type=int, metavar="N", help="How many results, 1 to 100."),
    click.option("--offset", type=int, metavar="N", help="How many results to pass over."),
    click.option("--mode", type=_choice(SearchMode), help="Search one way only, or all three."),
    click.option("--strategy", type=_choice(SearchStrategy), multiple=True, help="A search to run; may be repeated."),
    click.option("--weights", metavar="K,S,G", help="Shares of keyword, semantic and graph; together 1."),
    click.option("--min-relevance", type=float, metavar="SHARE", help="Leave out results below this, 0 to 1."),
    click.option("--file-id", multiple=True, metavar="UUID", help="Only this file; may be repeated."),
    click.option("--file-type", multiple=True, metavar="MIME", help="Only files such as text/markdown or text/*."),
    click.option("--workspace", multiple=True, metavar="NAME", help="Only this workspace; may be repeated."),
    click.option("--entity-type", multiple=True, metavar="NAME", help="Only what mentions an entity of this type."),
    click.option(
        "--since",
        "--from",
        "start",
        metavar="DATE",
        callback=lambda _context, _option, value: _day(value),
        help="Only documents from this day on: 2024-06-30, or 7d, 2w, 3m, 1y ago.",
    ),
    click.option("--to", "end", metavar="DATE", help="Only documents up to the end of this day."),
    click.option("--rerank/--no-rerank", default=None, help="Whether to rerank the first results."),
    click.option("--crag/--no-crag", default=None, help="Whether to grade the results and act on the grade."),
    click.option("--highlights/--no-highlights", default=None, help="Whether to mark the matches."),
    click.option("--metadata/--no-metadata", default=None, help="Whether to return the metadata of files."),
)


def _day(text: str | None) -> str | None:
    """`2w` -> the day two weeks ago; anything else stays, for the query to check."""
    match = re.fullmatch(r"(\d{1,4})([dwmy])", text or "")
    if match is None:
        return text
    days = int(match[1]) * {"d": 1, "w": 7, "m": 30, "y": 365}[match[2]]
    return (datetime.now(tz=UTC).date() - timedelta(days=days)).isoformat()


def query_options(function: F) -> F:
    """Give a command every option of a query; `query_fields` turns them into the query."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def query_fields(text: str, options: Mapping[str, Any]) -> dict[str, object]:
    """The fields of a query from what the command line gave; what was not given is left to the defaults.

    ("BM25", {"limit": 5}) -> {"text": "BM25", "options": {"limit": 5}}
    """
    filters = {
        "minRelevance": options.get("min_relevance"),
        "fileIds": list(options.get("file_id", ())),
        "fileTypes": list(options.get("file_type", ())),
        "workspaceIds": list(options.get("workspace", ())),
        "entityTypes": list(options.get("entity_type", ())),
        "dateRange": _given({"start": options.get("start"), "end": options.get("end")}),
    }
    search = {
        "limit": options.get("limit"),
        "offset": options.get("offset"),
        "mode": options.get("mode"),
        "strategies": list(options.get("strategy", ())),
        "weights": _weights(options.get("weights")),
        "rerankEnabled": options.get("rerank"),
        "cragEnabled": options.get("crag"),
        "includeHighlights": options.get("highlights"),
        "includeMetadata": options.get("metadata"),
    }
    return {
        "text": text,
        **_given({"type": options.get("type"), "filters": _given(filters), "options": _given(search)}),
    }


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in (None, [], {})}


def _weights(text: str | None) -> dict[str, float] | None:
    """`0.5,0.3,0.2` -> {"keyword": 0.5, "semantic": 0.3, "graph": 0.2}."""
    if text is None:
        return None
    names = ("keyword", "semantic", "graph")
    try:
        shares = [float(part) for part in text.split(",")]
        return dict(zip(names, shares, strict=True))
    except ValueError:
        raise InvalidQuery(f"--weights must be three numbers such as 0.35,0.35,0.3, found {text!r}.") from None
