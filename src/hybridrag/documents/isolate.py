"""Read risky formats in a process of their own, so that a hostile file costs itself and nothing else."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import weakref
from contextlib import suppress
from datetime import datetime
from types import TracebackType
from typing import Final, Self

from hybridrag.documents.formats import PLAIN, SOURCE_CODE, charset_of, find_format
from hybridrag.documents.limits import DEFAULT_LIMITS, ReadLimits
from hybridrag.documents.read import DEFAULT_FORMATS, READERS, Formats, read_document
from hybridrag.documents.source import took_too_long
from hybridrag.documents.unpack import is_packed
from hybridrag.documents.worker import Answer, Request, receive, send
from hybridrag.errors import DocumentError, UnreadableDocument
from hybridrag.types.documents import Document

_HARMLESS: Final = frozenset({PLAIN, *SOURCE_CODE.values()})
"""Types read line by line, by no library: they need no process of their own."""
_START_SECONDS: Final = 60
"""A process that has not said that it is ready by then never will."""


class IsolatedReader:
    """Reads documents, the risky ones in another process that is started when first needed and then kept.

    A file that runs past its time, its memory or into a crash ends that process; the next file gets a new one.
    Where no process can be started everything is read in this one. Thread-safe; files are read one at a time.

    with IsolatedReader() as reader: reader.read(data, name="report.pdf") -> Document
    """

    def __init__(self, *, formats: Formats = DEFAULT_FORMATS) -> None:
        self._formats = formats
        self._lock = threading.Lock()
        self._worker: _Worker | None = None
        self._can_start = True

    def read(
        self,
        data: bytes,
        *,
        name: str,
        mime_type: str | None = None,
        limits: ReadLimits = DEFAULT_LIMITS,
        modified: datetime | None = None,
    ) -> Document:
        """Read like `read_document`.

        Raises:
            UnknownFormat: no reader takes it.
            DocumentTooLarge: over a limit; says which setting raises it.
            UnreadableDocument: damaged, encrypted, without text, or past its time or memory.
        """
        # What a packed file holds is known only when it is unpacked, which is a risk by itself.
        fits = 0 < len(data) <= limits.max_file_bytes
        packed = fits and is_packed(data)
        risky = self._risky_type(data, name, mime_type) if fits and not packed else None
        if risky or packed:
            request = Request(data, name, risky or mime_type, limits, modified)
            with self._lock:
                if worker := self._ready():
                    return worker.ask(request)
        return read_document(
            data, name=name, mime_type=mime_type, limits=limits, modified=modified, formats=self._formats
        )

    def _risky_type(self, data: bytes, name: str, mime_type: str | None) -> str | None:
        """The type to read it as in the other process, or None if it is to be read here."""
        found = find_format(data, name=name, mime_type=mime_type, extensions=self._formats.extensions)
        reader = self._formats.readers.get(found)
        # A reader that the caller added may not exist in another process.
        if reader is None or found in _HARMLESS or reader is not READERS.get(found):
            return None
        charset = charset_of(mime_type)
        return f"{found}; charset={charset}" if charset else found

    def _ready(self) -> _Worker | None:
        """A live process; None where none can be started."""
        if self._worker is not None and not self._worker.is_alive():
            self._worker = None
        if self._worker is None and self._can_start:
            self._worker = _Worker.start()
            self._can_start = self._worker is not None
        return self._worker

    def close(self) -> None:
        """End the process, if there is one. Reading again starts another."""
        with self._lock:
            if self._worker is not None:
                self._worker.end()
                self._worker = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class _Worker:
    """One process and the pipes to it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        # Also when the interpreter ends, or when nobody closes the reader: no process stays behind.
        self._finalizer = weakref.finalize(self, _end, process)

    @classmethod
    def start(cls) -> _Worker | None:
        """A process that said that it is ready; None where that fails.

        Started by its own command and not through `multiprocessing`, which would run the caller's main module a
        second time: slow for a large program, and endless for a script without a main guard.
        """
        boot = f"import sys; sys.path[:] = {sys.path!r}; from hybridrag.documents.worker import main; main()"
        if not sys.executable:
            return None
        try:
            process = subprocess.Popen(  # noqa: S603 (our own interpreter, our own code)
                [sys.executable, "-c", boot],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError:
            return None
        worker = cls(process)
        answer, _ = worker._receive(_START_SECONDS)
        if answer is None:
            worker.end()
            return None
        return worker

    def is_alive(self) -> bool:
        return self._finalizer.alive and self._process.poll() is None

    def end(self) -> None:
        self._finalizer()

    def ask(self, request: Request) -> Document:
        """The document, within the request's time.

        Raises:
            DocumentError: the file cannot be read, or cost the process its life.
        """
        try:
            answer, late = self._receive(request.limits.max_seconds, request)
        except BaseException:
            # Interrupted half-way: the next answer would belong to this question.
            self.end()
            raise
        if answer is None or answer.outcome is None:
            code = self._process.wait()
            self.end()
            raise took_too_long(request.name, request.limits.max_seconds) if late else _crashed(request.name, code)
        if answer.leaving:
            self.end()
        if isinstance(answer.outcome, DocumentError):
            raise answer.outcome
        return answer.outcome

    def _receive(self, seconds: float, request: Request | None = None) -> tuple[Answer | None, bool]:
        """The answer, if one comes in time, and whether the time was over."""
        process = self._process
        alarm = _Alarm(process, seconds)
        try:
            answer = None
            with suppress(OSError, EOFError):
                if request is not None and process.stdin is not None:
                    send(process.stdin, request)
                answer = receive(process.stdout) if process.stdout is not None else None
        finally:
            late = alarm.off()
        if answer is None:
            process.kill()
        return (answer if isinstance(answer, Answer) else None), late


class _Alarm:
    """Kills a process when its time is over, and never after the alarm was switched off."""

    def __init__(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        self._process = process
        self._lock = threading.Lock()
        self._is_on = True
        self._rang = False
        self._timer = threading.Timer(seconds, self._ring)
        self._timer.daemon = True
        self._timer.start()

    def _ring(self) -> None:
        with self._lock:
            if self._is_on:
                self._rang = True
                self._process.kill()

    def off(self) -> bool:
        """Switch off; whether it rang before."""
        self._timer.cancel()
        with self._lock:
            self._is_on = False
            return self._rang


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill and reap; the process keeps nothing that could be lost."""
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):
                stream.close()


def _crashed(name: str, code: int) -> UnreadableDocument:
    try:
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    except ValueError:
        how = f"signal {-code}"
    return UnreadableDocument(name, f"is damaged: reading it crashed the reader ({how})")
