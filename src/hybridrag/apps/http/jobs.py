"""Ingestion as jobs: taken at once, done one after the other in a process of their own, safe against any death.

    data_dir/jobs/ID/job.json        what is asked for and what became of it; written as a whole, last
    data_dir/jobs/ID/progress.json   how far it has come
    data_dir/jobs/ID/files/0, 1, ... what was uploaded, until it is in the index
    data_dir/jobs/ID/cancel          somebody wants it to end
    data_dir/originals/FILE_ID       uploaded files as they came

Every server process may take jobs and tell of them; the one that holds the lock runs them. Taking a file in again
changes nothing, so a job that was interrupted is simply begun again.
"""

from __future__ import annotations

import asyncio
import json
import logging
import pickle
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import Field, ValidationError

from hybridrag import Engine, IngestReport, InvalidInput, NotFound, Settings
from hybridrag.apps.keys import write_private
from hybridrag.types.base import Model
from hybridrag.types.ids import FileId
from hybridrag.types.queries import Moment
from hybridrag.types.reports import FileOutcome

LOG = logging.getLogger("hybridrag.server")

POLL_SECONDS = 0.2
"""How often the runner looks for new jobs and for wishes to cancel."""

STOP_SECONDS = 1.2
"""How long a cancelled job may take to end by itself before its process is ended; nothing is lost by that."""

MAX_ATTEMPTS = 5
"""A job whose process died this often is given up."""

KEPT_JOBS = 1000
"""Finished jobs that are remembered."""

MAX_NAME = 1000
"""Characters of a document's name."""


class JobState(StrEnum):
    """What has become of a job."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    """Every file was tried; those that failed say why."""
    CANCELLED = "cancelled"
    """Somebody ended it; what was in the index by then stays."""
    FAILED = "failed"
    """It could not be done, for the reason that is given."""


ENDED = frozenset({JobState.DONE, JobState.CANCELLED, JobState.FAILED})


class JobProgress(Model):
    """How far a job has come."""

    stage: str = "queued"
    """`queued`, `start`, `model`, `read`, `embed` or `write`."""
    files_done: int = Field(default=0, ge=0)
    """Files that are in the index, or failed."""
    files_total: int = Field(default=0, ge=0)
    """Files of the job."""
    chunks_done: int = Field(default=0, ge=0)
    """Chunks that are embedded."""
    chunks_total: int = Field(default=0, ge=0)
    """Chunks of the files that are read so far."""
    current: str = ""
    """The file in work."""


class Job(Model):
    """Documents on their way into the index."""

    id: str
    """Later jobs have greater ids."""
    workspace: str
    """Where the documents go."""
    state: JobState = JobState.QUEUED
    """What has become of it."""
    created: Moment
    """When it was taken."""
    started: Moment | None = None
    """When work on it began."""
    ended: Moment | None = None
    """When it was done, cancelled or given up."""
    attempts: int = Field(default=0, ge=0)
    """How often work on it began: more than once where the server was stopped meanwhile."""
    names: tuple[str, ...] = ()
    """The names of its documents."""
    progress: JobProgress = JobProgress()
    """How far it has come."""
    outcomes: tuple[FileOutcome, ...] = ()
    """What became of each file, with the reason of each failure; once it is done."""
    error: str | None = None
    """Why it failed."""


class Jobs:
    """The jobs of one server. Safe to share between threads and processes."""

    def __init__(self, folder: Path, settings: Settings, engine: Engine) -> None:
        self._folder = folder / "jobs"
        self._originals = folder / "originals"
        self._settings = settings
        self._engine = engine
        self._process: subprocess.Popen[bytes] | None = None

    # Taking and telling

    def new_folder(self) -> Path:
        """A folder to put uploaded files into, for a job that `take` then takes."""
        identity = f"{time.time_ns():016x}{secrets.token_hex(4)}"
        folder = self._folder / identity
        (folder / "files").mkdir(parents=True, mode=0o700)
        return folder

    def take(self, folder: Path, names: Sequence[str], workspace: str) -> Job:
        """A job for the files `files/0`, `files/1`, ... of that folder, under these names.

        Raises:
            InvalidInput: a name cannot be one.
        """
        try:
            for name in names:
                check_name(name)
        except InvalidInput:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        progress = JobProgress(files_total=len(set(names)))
        job = Job(id=folder.name, workspace=workspace, created=datetime.now(UTC), names=tuple(names), progress=progress)
        self._write(job)
        return job

    def get(self, identity: str) -> Job:
        """The job of that id, as it is now.

        Raises:
            NotFound: there is none.
        """
        job = self._read(identity) if identity.isalnum() else None
        if job is None:
            raise NotFound("job", identity)
        if job.state is JobState.RUNNING:
            job = job.model_copy(update={"progress": self._progress(identity) or job.progress})
        return job

    def known(self) -> Iterator[Job]:
        """Every job, the newest first."""
        for identity in sorted(self._ids(), reverse=True):
            with suppress(NotFound):
                yield self.get(identity)

    def cancel(self, identity: str) -> Job:
        """Ask a job to end; one that has ended stays as it is.

        Raises:
            NotFound: there is none.
        """
        job = self.get(identity)
        if job.state not in ENDED:
            with suppress(FileNotFoundError):
                (self._folder / identity / "cancel").touch()
        return job

    # Originals

    def original(self, file_id: FileId) -> Path | None:
        """An uploaded file as it came; None where it did not come by upload, or none are kept."""
        path = self._originals / file_id
        return path if path.is_file() else None

    def forget_originals(self, file_ids: Sequence[FileId] | None = None) -> None:
        """Remove the originals of these documents; without any, of all that are in the index no more."""
        if file_ids is None:
            stored = [path.name for path in self._originals.iterdir()] if self._originals.is_dir() else []
            file_ids = [FileId(name) for name in stored if self._engine.file(FileId(name)) is None]
        for file_id in file_ids:
            (self._originals / file_id).unlink(missing_ok=True)

    # Running

    async def run(self) -> None:
        """Do what there is to do, for as long as the server runs, where no other process does."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = FileLock(self._folder / ".runner.lock", thread_local=False)
        while True:
            with suppress(Timeout):
                lock.acquire(timeout=0)
                break
            await asyncio.sleep(1)
        try:
            await asyncio.to_thread(self.forget_originals)
            while True:
                job = await asyncio.to_thread(self._next)
                if job is None:
                    await asyncio.sleep(POLL_SECONDS)
                else:
                    await self._run(job)
        finally:
            self._kill()
            lock.release()

    def _next(self) -> Job | None:
        """The oldest job that is not done; one that was running when a server ended comes first, being older."""
        for identity in sorted(self._ids()):
            job = self._read(identity)
            if job is not None and job.state not in ENDED:
                return job
        self._tidy()
        return None

    async def _run(self, job: Job) -> None:
        """Work on a job until it has ended."""
        folder = self._folder / job.id
        if (folder / "cancel").exists():
            await asyncio.to_thread(self._end, job, JobState.CANCELLED)
            return
        if job.attempts >= MAX_ATTEMPTS:
            error = f"Its process ended unexpectedly {job.attempts} times."
            await asyncio.to_thread(self._end, job, JobState.FAILED, error)
            return
        job = job.model_copy(
            update={
                "state": JobState.RUNNING,
                "started": job.started or datetime.now(UTC),
                "attempts": job.attempts + 1,
                "progress": job.progress.model_copy(update={"stage": "start"}),
            }
        )
        await asyncio.to_thread(self._write, job)
        process = self._process = await asyncio.to_thread(start_process, self._settings, folder)
        asked: float | None = None
        while process.poll() is None:
            await asyncio.sleep(POLL_SECONDS)
            await asyncio.to_thread(self._end_cancelled, job.id)
            if asked is None and (folder / "cancel").exists():
                asked = time.monotonic()
                _ask_to_stop(process)
            elif asked is not None and time.monotonic() - asked > STOP_SECONDS:
                process.kill()
        self._kill()
        await asyncio.to_thread(self._finish, job)

    def _end_cancelled(self, running: str) -> None:
        """Jobs that were cancelled while they waited need not wait for their turn."""
        for identity in self._ids():
            if identity != running and (self._folder / identity / "cancel").exists():
                job = self._read(identity)
                if job is not None and job.state not in ENDED:
                    self._end(job, JobState.CANCELLED)

    def _finish(self, job: Job) -> None:
        """Say what became of a job whose process has ended; a process that said nothing is started again."""
        folder = self._folder / job.id
        result = _read_json(folder / "result.json")
        cancelled = (folder / "cancel").exists()
        if "report" in result:
            report = IngestReport.model_validate(result["report"])
            self._keep_originals(job, report)
            state = JobState.CANCELLED if cancelled and report.interrupted else JobState.DONE
            self._end(job, state, outcomes=report.outcomes)
        elif cancelled:
            self._end(job, JobState.CANCELLED)
        elif "error" in result:
            self._end(job, JobState.FAILED, str(result["error"]))

    def _end(self, job: Job, state: JobState, error: str | None = None, outcomes: Sequence[FileOutcome] = ()) -> None:
        folder = self._folder / job.id
        progress = self._progress(job.id) or job.progress
        ended = {"state": state, "ended": datetime.now(UTC), "error": error, "outcomes": tuple(outcomes)}
        self._write(job.model_copy(update={**ended, "progress": progress}))
        shutil.rmtree(folder / "files", ignore_errors=True)
        (folder / "cancel").unlink(missing_ok=True)

    def _keep_originals(self, job: Job, report: IngestReport) -> None:
        """Keep what was taken in, before the job is written down as done: a death in between repeats it."""
        if not self._settings.server.keep_originals:
            return
        self._originals.mkdir(parents=True, exist_ok=True, mode=0o700)
        places = upload_places(self._folder / job.id, job.names)
        for outcome in report.outcomes:
            place = places.get(outcome.name)
            if outcome.file_id is not None and place is not None and place.exists():
                place.replace(self._originals / outcome.file_id)

    def _tidy(self) -> None:
        """Forget the oldest ended jobs, and uploads that were broken off."""
        ids = sorted(self._ids())
        for identity in ids[:-KEPT_JOBS]:
            shutil.rmtree(self._folder / identity, ignore_errors=True)
        day_ago = time.time_ns() - 24 * 3600 * 10**9
        for identity in ids:
            if int(identity[:16], 16) < day_ago and not (self._folder / identity / "job.json").exists():
                shutil.rmtree(self._folder / identity, ignore_errors=True)

    def _kill(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        if process.stdin is not None:
            with suppress(OSError):
                process.stdin.close()

    # Files

    def _ids(self) -> list[str]:
        with suppress(FileNotFoundError):
            return [path.name for path in self._folder.iterdir() if path.name.isalnum()]
        return []

    def _read(self, identity: str) -> Job | None:
        try:
            return Job.model_validate_json((self._folder / identity / "job.json").read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (ValidationError, OSError) as error:
            LOG.warning("The job %s cannot be read: %s", identity, error)
            return None

    def _write(self, job: Job) -> None:
        write_private(self._folder / job.id / "job.json", job.model_dump_json().encode())

    def _progress(self, identity: str) -> JobProgress | None:
        found = _read_json(self._folder / identity / "progress.json")
        return JobProgress.model_validate(found) if found else None


def check_name(name: str) -> str:
    """A name that a document may have.

    Raises:
        InvalidInput: it is empty, too long, or holds control characters.
    """
    if (
        not name.strip()
        or len(name) > MAX_NAME
        or any(ord(character) < 32 or ord(character) == 127 for character in name)
    ):
        raise InvalidInput(
            "A document needs a name of 1 to 1000 characters, without control characters.",
            hint="Send it as the file name.",
        )
    return name


def upload_places(folder: Path, names: Sequence[str]) -> dict[str, Path]:
    """Where the files of a job lie, by name; the later of equal names counts."""
    return {name: folder / "files" / str(number) for number, name in enumerate(names)}


def start_process(settings: Settings, folder: Path) -> subprocess.Popen[bytes]:
    """A process that takes in the files of a job, and ends when this one does.

    Started by its own command and not through `multiprocessing`, which would run the caller's main module again.
    """
    for name in ("result.json", "progress.json"):
        (folder / name).unlink(missing_ok=True)
    boot = f"import sys; sys.path[:] = {sys.path!r}; from hybridrag.apps.http.ingest import main; main()"
    process = subprocess.Popen([sys.executable, "-c", boot], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)  # noqa: S603 (our own code)
    with suppress(BrokenPipeError):
        if process.stdin is not None:
            pickle.dump((settings, folder), process.stdin)
            process.stdin.flush()
    return process


def _ask_to_stop(process: subprocess.Popen[bytes]) -> None:
    with suppress(OSError):
        if process.stdin is not None:
            process.stdin.write(b"stop\n")
            process.stdin.flush()


def _read_json(file: Path) -> Mapping[str, object]:
    try:
        found = json.loads(file.read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
