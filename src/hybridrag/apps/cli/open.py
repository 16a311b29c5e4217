"""Open the index that a command is about."""

from __future__ import annotations

from pathlib import Path

from hybridrag import Engine, load_settings


def open_engine(index: Path | None, config: Path | None, *, create: bool = True) -> Engine:
    """The engine on `--index`, or on the index that the settings name (`.hybridrag` by default)."""
    overrides: dict[str, object] = {} if index is None else {"index.path": str(index)}
    settings = load_settings(config, overrides=overrides).settings
    return Engine.open(settings=settings, create=create)
