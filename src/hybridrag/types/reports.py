"""What happened to the files that were given: one outcome each, and the sum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from pydantic import Field

from hybridrag.types.base import Model
from hybridrag.types.ids import FileId


class FileState(StrEnum):
    """What became of one file."""

    ADDED = "added"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    REMOVED = "removed"
    FAILED = "failed"
    SKIPPED = "skipped"
    """Found in a folder, and no document: a picture, a style sheet, an empty file."""


class FileOutcome(Model):
    """One file and what became of it."""

    name: str
    """The path, or the name given with a text."""
    state: FileState
    """What became of it."""
    file_id: FileId | None = None
    """None when it failed before it got one."""
    chunks: int = Field(default=0, ge=0)
    """How many chunks it has now."""
    embedded: int = Field(default=0, ge=0)
    """How many of them needed the model."""
    reason: str | None = None
    """Why it failed or was skipped, in one sentence."""
    kind: str | None = None
    """What a skipped file is: `picture`, `style sheet`, `empty file`."""
    warnings: tuple[str, ...] = ()
    """What looks wrong with what was read of it: no letters, mojibake, scanned pages."""


class IngestReport(Model):
    """What an add, a sync or a removal did. Files that failed do not stop the others."""

    outcomes: tuple[FileOutcome, ...] = ()
    """One for each file, in the order of work."""
    seconds: float = Field(default=0.0, ge=0.0)
    """How long it took."""
    interrupted: bool = False
    """Whether it was stopped early; what is listed is done and stays."""
    notes: tuple[str, ...] = ()
    """What could not be done now and is made good later."""

    def count(self, state: FileState) -> int:
        """How many files ended so."""
        return sum(outcome.state is state for outcome in self.outcomes)

    @property
    def failed(self) -> tuple[FileOutcome, ...]:
        """The files that failed."""
        return tuple(outcome for outcome in self.outcomes if outcome.state is FileState.FAILED)

    @property
    def skipped(self) -> dict[str, int]:
        """How many files were skipped, by what they are, the most first."""
        return dict(Counter(outcome.kind or "file" for outcome in self.outcomes if outcome.kind).most_common())

    @property
    def chunks(self) -> int:
        """Chunks of all files together."""
        return sum(outcome.chunks for outcome in self.outcomes)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far long work has come."""

    stage: str
    """`read`, `embed`, `write`, `model` or `reembed`."""
    files_done: int = 0
    files_total: int = 0
    chunks_done: int = 0
    chunks_total: int = 0
    """As far as known: files that are not read yet do not count."""
    current: str = ""
    """The file in work."""


OnProgress = Callable[[Progress], None]
"""Called often and from the thread that works; it should return fast."""
