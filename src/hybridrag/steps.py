"""The one list of step names: traces, timings, metrics, `--explain` and the docs all use these words."""

from __future__ import annotations

from enum import StrEnum


class Step(StrEnum):
    """A step of a query, in the order in which a query travels."""

    CLASSIFY = "classify"
    EXPAND = "expand"
    PLAN = "plan"
    KEYWORD = "keyword"
    SEMANTIC = "semantic"
    GRAPH = "graph"
    FUSE = "fuse"
    DEDUPLICATE = "deduplicate"
    RERANK = "rerank"
    GRADE = "grade"
    CORRECT = "correct"
    INTENT = "intent"
    SUFFICIENCY = "sufficiency"
    HIGHLIGHT = "highlight"
    ANSWER = "answer"


class StepState(StrEnum):
    """How a step ended. A step that did not run says so; nothing is hidden."""

    DONE = "done"
    SKIPPED = "skipped"
    """Switched off, or nothing for it to do."""
    DEGRADED = "degraded"
    """It failed in part or took its fallback; the reason is given."""
    FAILED = "failed"
    """It failed or missed its deadline; the others answered without it."""
