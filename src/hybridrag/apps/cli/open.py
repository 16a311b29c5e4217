"""Open the index that a command is about."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from hybridrag import Engine, InvalidInput, NotFound, SearchFilters, StoreNotFound, load_settings


def open_engine(index: Path | None, config: Path | None, *, create: bool = True) -> Engine:
    """The engine on `--index`, or on the index that the settings name (`.hybridrag` by default)."""
    overrides: dict[str, object] = {} if index is None else {"index.path": str(index)}
    settings = load_settings(config, overrides=overrides).settings
    return Engine.open(settings=settings, create=create)


def open_for(paths: Sequence[str | Path], index: Path | None, config: Path | None) -> Engine:
    """The engine to take these paths in; made if missing, but not for paths of which none exists.

    Raises:
        InvalidInput: there is no index yet, and none of the paths.
    """
    exists = any(os.path.lexists(path) for path in paths)
    try:
        return open_engine(index, config, create=exists)
    except StoreNotFound as cause:
        raise InvalidInput(
            f"There is no file or folder {paths[0]}; no index was made.", hint="Check the path."
        ) from cause


def check_known(engine: Engine, *, workspaces: Iterable[str] = (), types: Iterable[str] = ()) -> None:
    """Say so where nothing can be found because a name is not in the index, instead of finding nothing.

    Raises:
        NotFound: no such workspace, or no file of such a type.
    """
    for space in workspaces:
        known = engine.status().workspaces
        if space not in known:
            raise NotFound("workspace", space, hint=f"There are: {', '.join(known) or 'none'}.")
    for kind in types:
        if next(iter(engine.files(filters=SearchFilters(file_types=(kind,)))), None) is None:
            raise NotFound("file of type", kind, hint="Types look like text/markdown or text/*; see: hybridrag files")


def tell_llm(engine: Engine) -> None:
    """Say on stderr what extraction asked of an LLM, and which passages it could not read; nothing without one."""
    report = engine.llm_report()
    if report is None or not report.passages:
        return
    cost = f", {report.cost:.2f} in cost" if report.cost else ""
    tokens = report.input_tokens + report.output_tokens
    click.echo(f"LLM: {report.calls} calls, {tokens:,} tokens{cost}; {report.from_cache} answers known", err=True)
    for passage in report.fell_back:
        start = " ".join(passage.passage.text.split())[:60]
        click.echo(f"read without the LLM: {start!r}: {passage.reason}", err=True)
