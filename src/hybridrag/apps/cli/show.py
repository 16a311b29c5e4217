"""`hybridrag show`: what was read of a file, so that its owner can see why something is not found."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from hybridrag import Chunk, Engine, NotFound, StoreNotFound
from hybridrag.apps.cli.open import open_engine
from hybridrag.apps.cli.options import config_option, index_option, json_option
from hybridrag.apps.cli.output import print_json, printable
from hybridrag.types.documents import place_of


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@index_option
@config_option
@json_option
def show(*, file: Path, index: Path | None, config: Path | None, as_json: bool) -> None:
    """Show what was read of a file: its passages with their places, and what looks wrong.

    A file on disk is read now, whether it is in the index or not; any other name is looked up in the index.
    """
    with _engine(index, config) as engine:
        known = engine.find_files(file)
        if file.exists():
            document, chunks = engine.preview(file)
            mime_type, title, metadata = document.mime_type, document.title, document.metadata
            warnings = document.warnings
        elif known:
            chunks, warnings = engine.chunks(known[0].id), ()
            mime_type, title, metadata = known[0].mime_type, known[0].title, known[0].metadata
        else:
            raise NotFound("file", str(file), hint="Give a path, or a name as `hybridrag files` lists it.")
    about = {"mimeType": mime_type, "title": title, "metadata": metadata, "warnings": list(warnings)}
    if as_json:
        print_json(
            {"file": str(file), "inIndex": bool(known), **about, "chunks": [c.model_dump(mode="json") for c in chunks]}
        )
        return
    click.echo(click.style(printable(str(file)), bold=True) + f"  {mime_type}")
    for name, value in {"title": title or "", **metadata}.items():
        if value:
            click.echo(printable(f"{name}: {value}"))
    click.echo("in the index" if known else "not in the index")
    for warning in warnings:
        click.echo(printable(f"warning: {warning}."))
    _print(chunks, mime_type)


def _print(chunks: Sequence[Chunk], mime_type: str) -> None:
    for number, chunk in enumerate(chunks, start=1):
        place = place_of(chunk, mime_type)
        headings = f"  > {' > '.join(chunk.headings)}" if chunk.headings else ""
        details = ", ".join(filter(None, (place, f"{chunk.tokens} tokens", chunk.language)))
        click.echo(click.style(printable(f"\n--- {number} of {len(chunks)}: {details}{headings}"), dim=True))
        click.echo("\n".join(printable(line) for line in chunk.text.split("\n")))


@contextmanager
def _engine(index: Path | None, config: Path | None) -> Iterator[Engine]:
    """The engine of the index; where there is none yet, one that is thrown away."""
    try:
        engine = open_engine(index, config, create=False)
    except StoreNotFound:
        with tempfile.TemporaryDirectory() as temporary, open_engine(Path(temporary), config) as engine:
            yield engine
        return
    with engine:
        yield engine
