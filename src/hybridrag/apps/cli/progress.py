"""Show how far long work has come: a bar on a terminal, nothing in a pipe."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import click

from hybridrag import OnProgress, Progress


@contextmanager
def progress_bar(*, quiet: bool) -> Iterator[OnProgress | None]:
    """A callback that draws files, chunks, rate and time left on stderr; None where nobody would see it."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 (only a terminal needs it; keeps start-up fast)
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn  # noqa: PLC0415
    from rich.progress import Progress as Bar  # noqa: PLC0415

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        files = bar.add_task("files", total=None, note="")
        chunks = bar.add_task("chunks", total=None, note="")

        def show(progress: Progress) -> None:
            if progress.files_total:
                note = Path(progress.current).name[:40] if progress.current else ""
                bar.update(files, completed=progress.files_done, total=progress.files_total, note=note)
            speed = bar.tasks[chunks].speed
            rate = f"{speed:.0f}/s" if speed else progress.stage
            bar.update(chunks, completed=progress.chunks_done, total=progress.chunks_total or None, note=rate)

        yield show


@contextmanager
def stop_on_interrupt() -> Iterator[threading.Event]:
    """Ctrl-C asks to stop after the file in work; a second Ctrl-C stops at once."""
    stop = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            signal.default_int_handler(number, frame)
        stop.set()
        click.echo("Stopping after the files in work; press Ctrl-C again to stop at once.", err=True)

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
