"""How long work tells its caller where it stands."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float], None]
"""Told what is being done and which share of it, 0 to 1, is behind."""


def no_progress(what: str, share: float) -> None:
    """For callers that did not ask."""
