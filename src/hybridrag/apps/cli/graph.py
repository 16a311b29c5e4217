"""`hybridrag graph`: look into the knowledge graph, mend its names, take it elsewhere."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

import click

from hybridrag import KnowledgeGraph, Outline, SearchFilters, Section
from hybridrag.apps.cli.open import open_engine, tell_llm
from hybridrag.apps.cli.options import config_option, index_option, json_option, quiet_option, workspace_option
from hybridrag.apps.cli.output import print_json, print_rows
from hybridrag.apps.cli.progress import progress_bar, stop_on_interrupt

FORMATS = ("graphml", "json", "csv")
INTERRUPTED = 130
SECTIONS = 5
"""Documents and sections that an entity is shown with."""


@click.group()
def graph() -> None:
    """Look into the knowledge graph, mend its names, take it elsewhere."""


@graph.command()
@click.argument("entity")
@click.option("--limit", default=15, show_default=True, help="How many neighbours to show.")
@workspace_option
@index_option
@config_option
@json_option
def show(
    *, entity: str, limit: int, workspace: str | None, index: Path | None, config: Path | None, as_json: bool
) -> None:
    """Print an entity and what stands around it."""
    with open_engine(index, config, create=False) as engine:
        view = engine.graph.under(_only(workspace))
        found = view.entity(entity)
        near = view.neighbours(found.id, limit=limit)
        sections = view.sections(found.id, limit=SECTIONS)
        communities = view.communities_of(found.id)
    if as_json:
        print_json(
            {
                "entity": found.model_dump(mode="json"),
                "sections": [section.model_dump(mode="json") for section in sections],
                "communities": [{"id": it.id, "level": it.level, "title": it.title} for it in communities],
                "neighbours": [neighbour.model_dump(mode="json") for neighbour in near],
            }
        )
        return
    click.echo(f"{found.name} ({found.type}), mentioned {found.mention_count} times")
    if found.aliases:
        click.echo(f"also written: {', '.join(found.aliases)}")
    click.echo(f"stands in: {'; '.join(map(_place, sections))}")
    click.echo(f"belongs to: {' > '.join(community.title for community in communities)}")
    for neighbour in near:
        over = "".join(f", over {_place(section)}" for section in neighbour.sections[:1])
        click.echo(f"\n  {neighbour.entity.name} ({neighbour.entity.type}), {neighbour.weight:.2f}{over}")
        for relation in neighbour.relations[:3]:
            arrow = "->" if relation.source_id == found.id else "<-"
            sentence = relation.evidence[0].sentence.replace("\n", " ") if relation.evidence else ""
            click.echo(f"    {arrow} {relation.predicate}: {sentence}")


@graph.command()
@click.argument("file")
@workspace_option
@index_option
@config_option
@json_option
def structure(*, file: str, workspace: str | None, index: Path | None, config: Path | None, as_json: bool) -> None:
    """Print the sections of a document, and how many chunks each has."""
    with open_engine(index, config, create=False) as engine:
        found = engine.graph.under(_only(workspace)).structure(file)
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    _print_outline(found)


@graph.command()
@click.argument("text")
@click.option("--limit", default=10, show_default=True, help="How many entities to show.")
@workspace_option
@index_option
@config_option
@json_option
def find(
    *, text: str, limit: int, workspace: str | None, index: Path | None, config: Path | None, as_json: bool
) -> None:
    """Find entities whose name is, holds or resembles a text."""
    with open_engine(index, config, create=False) as engine:
        found = engine.graph.under(_only(workspace)).find(text, limit=limit)
    if as_json:
        print_json([entity.model_dump(mode="json") for entity in found])
        return
    print_rows(
        ("entity", "type", "mentions", "also written"),
        [(entity.name, entity.type, str(entity.mention_count), ", ".join(entity.aliases)) for entity in found],
    )


@graph.command()
@click.argument("start")
@click.argument("end")
@click.option("--hops", default=3, show_default=True, type=click.IntRange(1, 6), help="How long a path may be.")
@workspace_option
@index_option
@config_option
@json_option
def paths(
    *, start: str, end: str, hops: int, workspace: str | None, index: Path | None, config: Path | None, as_json: bool
) -> None:
    """Show how one entity leads to another."""
    with open_engine(index, config, create=False) as engine:
        found = engine.graph.under(_only(workspace)).paths(start, end, max_hops=hops)
    if as_json:
        print_json([path.model_dump(mode="json") for path in found])
        return
    if not found:
        click.echo(f"No path of up to {hops} steps leads from {start} to {end}.")
    for path in found:
        words = [path.names[0]]
        for step, node, name in zip(path.steps, path.nodes[1:], path.names[1:], strict=True):
            shown = f"[{_place(node)}]" if isinstance(node, Section) else name
            words.append(f"--{step.predicate or 'mentioned with'}--> {shown}")
        click.echo(" ".join(words))


@graph.command()
@workspace_option
@index_option
@config_option
@json_option
def stats(*, workspace: str | None, index: Path | None, config: Path | None, as_json: bool) -> None:
    """Count entities, names, mentions, facts, links, aliases, documents, sections and chunks."""
    with open_engine(index, config, create=False) as engine:
        counts = engine.graph.under(_only(workspace)).statistics()
        extractor = engine.graph.extractor
    if as_json:
        print_json({**counts, "extractor": extractor})
        return
    print_rows(("what", "count"), [(name, f"{count:,}") for name, count in counts.items()])
    click.echo(f"\nextracted by {extractor or 'nothing yet'}")


@graph.command()
@click.argument("text", required=False)
@click.option("--level", type=click.IntRange(0), help="Only this level; 0 is the coarsest.")
@click.option("--limit", default=10, show_default=True, help="How many communities to show.")
@workspace_option
@index_option
@config_option
@json_option
def communities(
    *,
    text: str | None,
    level: int | None,
    limit: int,
    workspace: str | None,
    index: Path | None,
    config: Path | None,
    as_json: bool,
) -> None:
    """Show what the documents are about: the weightiest communities, or those nearest to a text."""
    with open_engine(index, config, create=False) as engine:
        found = engine.graph.under(_only(workspace)).communities(text, level=level, limit=limit)
    if as_json:
        print_json([community.model_dump(mode="json") for community in found])
        return
    for community in found:
        click.echo(f"{community.title} (level {community.level}, {len(community.entity_ids)} entities)")
        click.echo(f"  {' '.join(community.summary.split())}\n")


@graph.command()
@click.argument("name")
@click.argument("other")
@index_option
@config_option
def merge(*, name: str, other: str, index: Path | None, config: Path | None) -> None:
    """Say that two names are one thing; it stays so over re-indexing."""
    with open_engine(index, config, create=False) as engine:
        engine.graph.merge(name, other)
    click.echo(f"{name} and {other} are one. To undo: hybridrag graph split {json.dumps(name, ensure_ascii=False)}")


@graph.command()
@click.argument("name")
@index_option
@config_option
def split(*, name: str, index: Path | None, config: Path | None) -> None:
    """Say that a name is a thing of its own, whatever it was merged with."""
    with open_engine(index, config, create=False) as engine:
        engine.graph.split(name)
    click.echo(f"{name} stands alone. To undo: hybridrag graph merge {json.dumps(name, ensure_ascii=False)} OTHER")


@graph.command()
@click.argument("entity", required=False)
@index_option
@config_option
@json_option
def aliases(*, entity: str | None, index: Path | None, config: Path | None, as_json: bool) -> None:
    """List the names of an entity and why they are one, or every merge and split that people made."""
    with open_engine(index, config, create=False) as engine:
        if entity is None:
            rows = engine.graph.decisions()
            names: tuple[str, ...] = ()
            reasons = []
        else:
            rows, names = [], engine.graph.entity(entity).names
            reasons = engine.graph.merges(entity)
    if as_json:
        decided = [{"name": name, "other": other or None, "kind": kind} for name, other, kind in rows]
        print_json(list(names) if entity is not None else decided)
    elif entity is not None:
        click.echo("\n".join(names))
        for name, other, why in dict.fromkeys(reason[:3] for reason in reasons):
            click.echo(f"  {name} = {other}: {why.replace('_', ' ')}")
    else:
        print_rows(("decision", "name", "other"), [(kind, name, other or "-") for name, other, kind in rows])


@graph.command()
@click.option("--format", "style", type=click.Choice(FORMATS), default="graphml", show_default=True, help="As what.")
@click.option("--output", "-o", type=click.Path(path_type=Path, dir_okay=False), help="Write here; else to stdout.")
@click.option("--limit", default=100_000, show_default=True, help="How many entities, and chunks, at most.")
@click.option("--entities-only", is_flag=True, help="Leave out documents, sections and chunks.")
@workspace_option
@index_option
@config_option
def export(
    *,
    style: str,
    output: Path | None,
    limit: int,
    entities_only: bool,
    workspace: str | None,
    index: Path | None,
    config: Path | None,
) -> None:
    """Write the graph as GraphML, JSON or CSV."""
    with open_engine(index, config, create=False) as engine:
        text = engine.graph.under(_only(workspace)).export(style, limit=limit, structure=not entities_only)
    _write(text, output)


@graph.command()
@click.argument("entity", required=False)
@click.option("--output", "-o", type=click.Path(path_type=Path, dir_okay=False), required=True, help=".svg or .html")
@click.option("--limit", default=60, show_default=True, type=click.IntRange(1, 300), help="How many entities at most.")
@workspace_option
@index_option
@config_option
def plot(
    *,
    entity: str | None,
    output: Path,
    limit: int,
    workspace: str | None,
    index: Path | None,
    config: Path | None,
) -> None:
    """Draw the graph, or what stands around one entity, as SVG or HTML."""
    if output.suffix not in {".svg", ".html"}:
        raise click.UsageError("The output must end in .svg or .html.")
    with open_engine(index, config, create=False) as engine:
        view: KnowledgeGraph = engine.graph.under(_only(workspace))
        text = view.plot(around=entity, limit=limit, html=output.suffix == ".html")
    _write(text, output)


@graph.command()
@click.option("--yes", is_flag=True, help="Do not ask before an LLM is asked.")
@index_option
@config_option
@quiet_option
@click.pass_context
def rebuild(ctx: click.Context, *, yes: bool, index: Path | None, config: Path | None, quiet: bool) -> None:
    """Extract everything anew with the extractor that the settings name; merges and splits stay.

    Where that is an LLM, prints what it would take and asks first.
    """
    with ExitStack() as stack:
        engine = stack.enter_context(open_engine(index, config, create=False))
        estimate = engine.estimate_graph()
        if estimate is not None and not yes:
            click.confirm(f"{estimate}. Go on?", abort=True, err=True)
        stop = stack.enter_context(stop_on_interrupt())
        show_progress = stack.enter_context(progress_bar(quiet=quiet))
        done = engine.rebuild_graph(on_progress=show_progress, stop=stop)
        tell_llm(engine)
        extractor = engine.graph.extractor
    if not quiet:
        click.echo(f"{done} chunks read anew by {extractor or 'nothing'}.")
    if stop.is_set():
        ctx.exit(INTERRUPTED)


def _only(workspace: str | None) -> SearchFilters | None:
    return SearchFilters(workspace_ids=(workspace,)) if workspace else None


def _place(section: Section) -> str:
    """A document by its title, a section by the headings that lead to it."""
    return " > ".join(section.headings) or section.title


def _print_outline(outline: Outline, depth: int = 0) -> None:
    count = len(outline.chunk_ids)
    chunks = f" ({count} {'chunk' if count == 1 else 'chunks'})" if count else ""
    click.echo(f"{'  ' * depth}{outline.section.title}{chunks}")
    for part in outline.parts:
        _print_outline(part, depth + 1)


def _write(text: str, output: Path | None) -> None:
    if output is None:
        click.echo(text, nl=False)
        return
    output.write_text(text, encoding="utf-8")
    click.echo(f"Written to {output}.", err=True)
