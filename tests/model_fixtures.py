"""Fixtures of real models: prepared once per machine, in the user's cache, whichever worker comes first."""

from __future__ import annotations

from pathlib import Path

import platformdirs
import pytest

from hybridrag.models.e5_embedder import E5Embedder


@pytest.fixture(scope="session")
def model_cache() -> Path:
    """The cache folder that the program itself uses, so that preparing happens once per machine."""
    return platformdirs.user_cache_path("hybridrag")


@pytest.fixture(scope="session")
def e5(model_cache: Path) -> E5Embedder:
    """The default model."""
    return E5Embedder(model_cache, threads=2)
