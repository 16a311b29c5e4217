"""The process that reads risky files: one request in, one answer out, over its standard streams."""

from __future__ import annotations

import os
import pickle
import signal
import struct
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Final

from hybridrag.documents.limits import ReadLimits
from hybridrag.documents.read import read_document
from hybridrag.errors import DocumentError
from hybridrag.types.documents import Document

_LENGTH = struct.Struct("<Q")
_STATM = Path("/proc/self/statm")
_GROWN: Final = 0.5
"""A process that still holds this share of the memory allowed for one file makes room by ending."""


@dataclass(frozen=True, slots=True)
class Request:
    """One file to read."""

    data: bytes
    name: str
    mime_type: str | None
    limits: ReadLimits
    modified: datetime | None


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of it, and whether the process ends now."""

    outcome: Document | DocumentError | None
    """None in the first answer of all, which says that the process is ready."""
    leaving: bool = False


def send(stream: IO[bytes], message: Request | Answer) -> None:
    """Write one message.

    Raises:
        OSError: nobody listens any more.
    """
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: IO[bytes]) -> Request | Answer | None:
    """Read one message; None at the end of the stream."""
    header = stream.read(_LENGTH.size)
    if len(header) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(header)
    data = stream.read(length)
    if len(data) < length:
        return None
    message = pickle.loads(data)  # noqa: S301 (from the process that we started, or that started us)
    return message if isinstance(message, Request | Answer) else None


def main() -> None:
    """Serve the parent process until it closes our input."""
    # Ctrl-C reaches every process of the terminal; the parent decides what becomes of this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # Whatever a library prints must not end up between two answers.
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, sys.stdout.fileno())
    serve(sys.stdin.buffer, answers, limit_memory=True)


def serve(requests: IO[bytes], answers: IO[bytes], *, limit_memory: bool) -> None:
    """Answer requests until there are no more, or until too much memory is held."""
    base = _memory()
    send(answers, Answer(None))
    while isinstance(request := receive(requests), Request):
        if limit_memory and base:
            _limit(base + request.limits.max_memory_bytes)
        outcome = _read(request)
        leaving = _memory() - base > _GROWN * request.limits.max_memory_bytes
        send(answers, Answer(outcome, leaving))
        if leaving:
            return


def _read(request: Request) -> Document | DocumentError:
    try:
        return read_document(
            request.data,
            name=request.name,
            mime_type=request.mime_type,
            limits=request.limits,
            modified=request.modified,
        )
    except DocumentError as error:
        # The traceback holds on to everything that was read.
        return error.with_traceback(None)


def _memory() -> int:
    """Address space of this process in bytes; 0 where the platform does not say."""
    try:
        return int(_STATM.read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 0


def _limit(size: int) -> None:
    """Let allocations past `size` fail, where the platform can."""
    try:
        import resource  # noqa: PLC0415 (not on Windows)

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (size, hard))
    except (ImportError, ValueError, OSError):
        return
