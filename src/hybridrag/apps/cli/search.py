"""`hybridrag search`: the best passages for a question, and why."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from hybridrag import (
    CorrectiveActionKind,
    Highlight,
    SearchResult,
    SearchResultItem,
    SearchResultType,
    StepState,
    parse_query,
)
from hybridrag.apps.cli.open import check_known, open_engine
from hybridrag.apps.cli.options import config_option, index_option, json_option
from hybridrag.apps.cli.output import print_json, printable
from hybridrag.apps.cli.query_options import query_fields, query_options

SHOWN = 10
"""Results printed unless --limit says otherwise: about a screen."""


@click.command()
@click.argument("text")
@query_options
@click.option("--explain", is_flag=True, help="Show how each result was found and scored.")
@index_option
@config_option
@json_option
def search(*, text: str, explain: bool, index: Path | None, config: Path | None, as_json: bool, **options: Any) -> None:
    """Find the passages that answer a question, by keyword, meaning and knowledge graph."""
    fields = query_fields(text, {**options, "limit": SHOWN if options["limit"] is None else options["limit"]})
    with open_engine(index, config, create=False) as engine:
        check_known(engine, workspaces=options["workspace"], types=options["file_type"])
        result = engine.search(parse_query(fields), explain=explain)
    if as_json:
        print_json(result.model_dump(mode="json"))
        return
    _print(result, explain=explain)


def _print(result: SearchResult, *, explain: bool) -> None:
    if not result.results:
        click.echo("Nothing was found.")
    for number, item in enumerate(result.results, start=1 + result.query.options.offset):
        click.echo(f"{number:>3}. {_place(item)}  {_dim(f'{item.score:.2f}')}")
        click.echo(f"     {_shown(item)}")
        if explain:
            _print_reasons(item)
    _print_verdict(result)
    for name in ("keyword", "semantic", "graph"):
        metric = getattr(result.strategies, name)
        if metric.error:
            click.echo(f"The {name} search did not answer: {metric.error}", err=True)
    if explain and result.trace:
        _print_trace(result)


def _print_reasons(item: SearchResultItem) -> None:
    """Which search found it, at what rank, by way of what; and what later stages made of it."""
    for found in item.found_by:
        via = f" by way of {' > '.join(found.path)}" if found.path else ""
        click.echo(_dim(f"     {found.strategy}: rank {found.rank}, score {found.score:.3f}{printable(via)}"))
    if item.relevance.rerank is not None:
        click.echo(_dim(f"     reranked: {item.relevance.rerank:.3f}"))
    if item.relevance.crag is not None:
        grade = item.relevance.crag
        click.echo(_dim(f"     graded: {grade.relevance} ({grade.confidence:.2f})"))


def _print_verdict(result: SearchResult) -> None:
    """What the verification says, where it says something that a reader should know."""
    for action in result.crag.actions if result.crag else ():
        if action.kind is not CorrectiveActionKind.REFINE_KNOWLEDGE:
            helped = "helped" if action.helped else "did not help"
            click.echo(_dim(f"Tried {action.kind.replace('_', ' ')} ({action.detail}): {helped}."))
    judged = result.sufficiency
    if result.results and judged is not None and not judged.is_sufficient:
        missing = " ".join(judged.missing_info)
        click.echo(printable(f"The results may not answer the question. {missing}").rstrip())


def _print_trace(result: SearchResult) -> None:
    """Every step on a line: how it ended, how long it took, what it decided."""
    for step in result.trace.steps if result.trace else ():
        state = "" if step.state is StepState.DONE else f" {step.state}: {step.reason}"
        details = {name: value for name, value in step.details.items() if name != "first" and value not in ([], "", 0)}
        told = json.dumps(details, ensure_ascii=False) if details else ""
        click.echo(_dim(f"{step.step:<12}{step.processing_time:>7.1f} ms{state}  {told}".rstrip()))
    click.echo(_dim(f"{result.processing_time:.0f} ms in all"))


def _place(item: SearchResultItem) -> str:
    sources = item.sources
    title = str((item.metadata or {}).get("title") or "")
    if item.type is not SearchResultType.CHUNK:
        return click.style(printable(title or item.id), bold=True) + f" ({item.type})"
    if sources.external_url:
        return click.style(printable(sources.external_url), bold=True) + " (from the web)"
    place = f", {sources.place}" if sources.place else ""
    headings = f" > {' > '.join(sources.headings)}" if sources.headings else ""
    newer = (item.metadata or {}).get("supersededBy")
    version = f" (older version of {newer})" if newer else ""
    return click.style(printable(f"{sources.shown_name}{place}"), bold=True) + printable(headings + version)


def _shown(item: SearchResultItem) -> str:
    """The fragment with its matches marked, on one line; the start of the text where nothing matched by word."""
    if not item.highlights:
        start = printable(" ".join(item.content.text.split()))
        return start[:200] + ("..." if len(start) > 200 else "")
    return " ".join(_marked(item.highlights[0]).split())


def _marked(highlight: Highlight) -> str:
    parts: list[str] = []
    fragment, place = printable(highlight.fragment), 0
    for offset in highlight.offsets:
        parts.append(fragment[place : offset.start])
        parts.append(click.style(fragment[offset.start : offset.end], fg="yellow", bold=True))
        place = offset.end
    return "".join([*parts, fragment[place:]])


def _dim(text: str) -> str:
    return click.style(text, dim=True) if sys.stdout.isatty() else text
