"""Open the index that a command is about."""

from __future__ import annotations

from pathlib import Path

import click

from hybridrag import Engine, load_settings


def open_engine(index: Path | None, config: Path | None, *, create: bool = True) -> Engine:
    """The engine on `--index`, or on the index that the settings name (`.hybridrag` by default)."""
    overrides: dict[str, object] = {} if index is None else {"index.path": str(index)}
    settings = load_settings(config, overrides=overrides).settings
    return Engine.open(settings=settings, create=create)


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
