"""Archives as folders: the files in a zip or tar by name, each unpacked when its turn comes."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import tempfile
import weakref
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Final

from hybridrag.documents.dates import moment
from hybridrag.documents.limits import MIB, ReadLimits, in_units, too_large
from hybridrag.errors import DocumentError, UnreadableDocument

_ENDINGS: Final = (".zip", ".tar", ".tgz", ".tbz2", ".txz", ".tar.gz", ".tar.bz2", ".tar.xz")
_MARKS: Final = (b"\x1f\x8b\x08", b"\xfd7zXZ\x00", *(b"BZh%d1AY&SY" % level for level in range(1, 10)))
_MOST_MEMBERS: Final = 100_000
_ENCRYPTED: Final = 0x1
_NAMES_ARE_UTF8: Final = 0x800


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive: the archive's name, "/", its path inside."""

    name: str
    load: Callable[[], bytes]
    modified: datetime | None = None


def is_archive(name: str) -> bool:
    """Whether a file of that name is read as a folder.

    "mail/2024.zip" -> True; "report.docx" -> False
    """
    return name.lower().endswith(_ENDINGS)


def is_packed(data: bytes) -> bool:
    """Whether these are the bytes of one file packed by gzip, bzip2 or xz."""
    return data.startswith(_MARKS)


def unpacked(data: bytes, *, name: str, limits: ReadLimits) -> bytes:
    """The file in a .gz, .bz2 or .xz.

    Raises:
        UnreadableDocument: damaged.
        DocumentTooLarge: unpacks to more than `max_file_bytes`.
    """
    with _unpacking(io.BytesIO(data), data[:16]) as stream:
        return _bounded(stream, name, limits)


def members(path: Path, *, name: str, limits: ReadLimits, problems: list[DocumentError]) -> Iterator[Member]:
    """The files in an archive, without hidden ones; those that cannot be read are added to `problems`.

    Raises:
        UnreadableDocument: it is damaged.
        DocumentTooLarge: it holds more than the limits allow.
    """
    try:
        if name.lower().endswith(".zip"):
            yield from _zipped(path, name, limits, problems)
        else:
            yield from _tarred(path, name, limits)
    except DocumentError:
        raise
    except Exception as cause:  # damaged archives raise anything
        raise UnreadableDocument(name, "is a damaged archive: its list of files cannot be read") from cause


def _zipped(path: Path, name: str, limits: ReadLimits, problems: list[DocumentError]) -> Iterator[Member]:
    with zipfile.ZipFile(path) as archive:
        infos = [info for info in archive.infolist() if not info.is_dir()]
    if len(infos) > _MOST_MEMBERS:
        raise too_large(name, f"holds more than {_MOST_MEMBERS:,} files", "max_pages")
    for info in infos:
        inner = _inner_name(_zip_name(info))
        if inner is None:
            continue
        member = f"{name}/{inner}"
        if info.flag_bits & _ENCRYPTED:
            problems.append(UnreadableDocument(member, "is encrypted with a password"))
            continue
        yield Member(member, partial(_load_zipped, path, info, member, limits), _zip_date(info))


def _zip_name(info: zipfile.ZipInfo) -> str:
    """The name of a member; where zip does not say how it is encoded, Japanese systems wrote Shift_JIS."""
    if info.flag_bits & _NAMES_ARE_UTF8:
        return info.filename
    try:
        raw = info.filename.encode("cp437")
    except UnicodeEncodeError:
        return info.filename
    for encoding in ("utf-8", "cp932"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return info.filename


def _zip_date(info: zipfile.ZipInfo) -> datetime | None:
    try:
        return datetime(*info.date_time, tzinfo=UTC)
    except ValueError:
        return None


def _inner_name(name: str) -> str | None:
    """A member's path, cleaned; None for hidden files and what systems add."""
    parts = [part for part in PurePosixPath(name.replace("\\", "/")).parts if part not in {"/", "..", "."}]
    if not parts or any(part.startswith((".", "~$")) or part in {"__MACOSX", "__pycache__"} for part in parts):
        return None
    return "/".join(parts).encode("utf-8", "replace").decode()


def _load_zipped(path: Path, info: zipfile.ZipInfo, name: str, limits: ReadLimits) -> bytes:
    try:
        with zipfile.ZipFile(path) as archive, archive.open(info) as stream:
            return _bounded(stream, name, limits)
    except DocumentError:
        raise
    except Exception as cause:  # zipfile believes offsets and sizes, and raises anything where they lie
        raise UnreadableDocument(name, "is damaged inside its archive") from cause


def _tarred(path: Path, name: str, limits: ReadLimits) -> Iterator[Member]:
    with path.open("rb") as stream:
        mark = stream.read(16)
    if not is_packed(mark):
        with tarfile.open(path) as archive:
            yield from _listed(archive, name, lambda: path.open("rb"), limits)
        return
    # Unpacked once: a packed tar can only be read from its beginning.
    unpacked_once = _Temporary()
    temporary = unpacked_once.file
    with path.open("rb") as packed, _unpacking(packed, mark) as stream:
        size = 0
        while piece := stream.read(MIB):
            size += len(piece)
            if size > limits.max_unpacked_bytes:
                reason = f"unpacks to more than {in_units(limits.max_unpacked_bytes)}"
                raise too_large(name, reason, "max_unpacked_bytes")
            temporary.write(piece)
    temporary.seek(0)
    with tarfile.open(fileobj=temporary) as archive:
        yield from _listed(archive, name, unpacked_once.opened, limits)


class _Temporary:
    """A file that is gone when nobody refers to it any more: the members read from it when their turn comes."""

    def __init__(self) -> None:
        self.file = tempfile.TemporaryFile()  # noqa: SIM115 (closed by the finalizer)
        weakref.finalize(self, self.file.close)

    def opened(self) -> AbstractContextManager[IO[bytes]]:
        """The file, to read from and not to close."""
        return nullcontext(self.file)


def _listed(
    archive: tarfile.TarFile, name: str, opened: Callable[[], AbstractContextManager[IO[bytes]]], limits: ReadLimits
) -> Iterator[Member]:
    for count, info in enumerate(archive):
        if count > _MOST_MEMBERS:
            raise too_large(name, f"holds more than {_MOST_MEMBERS:,} files", "max_pages")
        inner = _inner_name(info.name)
        if not info.isreg() or inner is None:
            continue
        load = partial(_load_tarred, opened, info.offset_data, info.size, f"{name}/{inner}", limits)
        yield Member(f"{name}/{inner}", load, moment(info.mtime))


def _load_tarred(
    opened: Callable[[], AbstractContextManager[IO[bytes]]], offset: int, size: int, name: str, limits: ReadLimits
) -> bytes:
    if size > limits.max_file_bytes:
        raise _too_large(name, limits)
    with opened() as stream:
        stream.seek(offset)
        return stream.read(size)


def _unpacking(stream: IO[bytes], mark: bytes) -> gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile:
    if mark.startswith(b"BZh"):
        return bz2.BZ2File(stream)
    return lzma.LZMAFile(stream) if mark.startswith(b"\xfd") else gzip.GzipFile(fileobj=stream)


def _bounded(stream: IO[bytes] | gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile, name: str, limits: ReadLimits) -> bytes:
    try:
        data = stream.read(limits.max_file_bytes + 1)
    except (OSError, EOFError, ValueError, lzma.LZMAError) as cause:
        raise UnreadableDocument(name, "is damaged: it cannot be unpacked") from cause
    if len(data) > limits.max_file_bytes:
        raise _too_large(name, limits)
    return data


def _too_large(name: str, limits: ReadLimits) -> DocumentError:
    return too_large(name, f"unpacks to more than {in_units(limits.max_file_bytes)}", "max_file_bytes")
