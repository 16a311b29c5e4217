"""Where commands that evaluate are tested: an empty folder, a fake embedder, settings of nobody else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def settle_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make `folder` the current one, with an embedder that needs no model and a cache of its own."""
    monkeypatch.chdir(folder)
    for variable in [name for name in os.environ if name.startswith("HYBRIDRAG_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("HYBRIDRAG_EMBEDDING_PROVIDER", "fake")
    monkeypatch.setenv("HYBRIDRAG_EMBEDDING_CACHE_DIR", str(folder / "cache"))
    monkeypatch.setenv("HYBRIDRAG_GRAPH_EXTRACTOR", "light")
    monkeypatch.setenv("HYBRIDRAG_DOCUMENTS_ISOLATE", "false")
    return folder
