"""The process that takes in the files of one job. It ends with the server: its input closes, and so it dies."""

from __future__ import annotations

import json
import os
import pickle
import sys
import threading
import time
from pathlib import Path
from typing import BinaryIO

from hybridrag import Engine, Progress, RAGError, Settings, StoreError
from hybridrag.apps.http.jobs import Job, JobProgress, upload_places
from hybridrag.apps.keys import write_private

TELL_SECONDS = 0.2
"""How often progress is written down."""


def main() -> None:
    """Read the settings and the folder of a job from standard input, and do the job."""
    settings, folder = pickle.load(sys.stdin.buffer)  # noqa: S301 (from our own parent process)
    stop = threading.Event()
    threading.Thread(target=_watch, args=(sys.stdin.buffer, stop), daemon=True).start()
    ingest(settings, folder, stop)


def ingest(settings: Settings, folder: Path, stop: threading.Event) -> None:
    """Take in the files of a job; leaves `result.json` with the report, or with the error that stopped it."""
    job = Job.model_validate_json((folder / "job.json").read_bytes())
    places = {name: place for name, place in upload_places(folder, job.names).items() if place.exists()}
    try:
        with Engine.open(settings=settings) as engine:
            report = engine.add_files(places, workspace=job.workspace, on_progress=_Teller(folder), stop=stop)
        result: dict[str, object] = {"report": report.model_dump(mode="json")}
    except StoreError as error:
        # Its message names folders of the server; that is for the log alone.
        print(f"The job {job.id} failed: {error}", file=sys.stderr)  # noqa: T201 (the server's log)
        result = {"error": f"The index could not be written ({error.code}); the server's log says why."}
    except RAGError as error:
        result = {"error": str(error)}
    write_private(folder / "result.json", json.dumps(result).encode())


class _Teller:
    """Writes progress down, not more often than anybody looks."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "progress.json"
        self._next = 0.0

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        last = progress.files_done == progress.files_total and progress.stage == "write"
        if now < self._next and not last:
            return
        self._next = now + TELL_SECONDS
        told = JobProgress(
            stage=progress.stage,
            files_done=progress.files_done,
            files_total=progress.files_total,
            chunks_done=progress.chunks_done,
            chunks_total=progress.chunks_total,
            current=progress.current,
        )
        partial = self._file.with_suffix(".part")
        partial.write_text(told.model_dump_json(), encoding="utf-8")
        partial.replace(self._file)


def _watch(stream: BinaryIO, stop: threading.Event) -> None:
    """`stop` asks to end after the files in work; the end of the stream means that nobody waits any more."""
    for line in stream:
        if line.strip() == b"stop":
            stop.set()
    os._exit(1)
