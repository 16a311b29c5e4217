"""Open zipped formats without trusting anything that they say about themselves."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from typing import Final

from hybridrag.documents.limits import MIB, in_units, too_large
from hybridrag.documents.source import Source
from hybridrag.errors import DocumentError, UnreadableDocument

_RATIO_COUNTS_FROM: Final = 10 * MIB
"""Small documents of repeated XML pack very well and harm nobody."""
_MAX_DIRECTORY_BYTES: Final = 16 * MIB
"""About 150,000 entries. The largest real documents have a few thousand; each costs memory before any is read."""
_ENCRYPTED: Final = 0x1
_STEP: Final = MIB
_PIECE: Final = 64 * 1024

_END = b"PK\x05\x06"
_END_64 = b"PK\x06\x06"
_END_SIZE: Final = 22
_LOCAL_HEADER: Final = 30


def open_archive(source: Source) -> zipfile.ZipFile:
    """The archive, after every member was unpacked once and counted; nothing is kept and nothing touches the disk.

    Sizes in a zip are claims. Members are unpacked in steps here, so that a lie is found before a library
    believes it.

    Raises:
        UnreadableDocument: damaged, encrypted, or of a compression that documents do not use.
        DocumentTooLarge: unpacks to more than `max_unpacked_bytes`, or by more than `max_unpack_ratio`.
    """
    archive = peek_archive(source.data, name=source.name)
    counter = _Counter(source)
    for info in archive.infolist():
        if info.flag_bits & _ENCRYPTED:
            raise UnreadableDocument(source.name, "is encrypted with a password")
        counter.count(info)
    return archive


def peek_archive(data: bytes, *, name: str) -> zipfile.ZipFile:
    """The archive with its list of members only; use it for a look at small members.

    Raises:
        UnreadableDocument: it is no zip, or lists absurdly many members.
    """
    if _directory_size(data) > _MAX_DIRECTORY_BYTES:
        raise UnreadableDocument(name, "lists absurdly many files inside")
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except Exception as cause:  # zipfile raises anything on a damaged directory
        raise UnreadableDocument(name, "is cut off or damaged: its zip directory cannot be read") from cause


def _directory_size(data: bytes) -> int:
    """What the archive says its directory takes; 0 where it does not say, which the opening will report."""
    position = data.rfind(_END, max(0, len(data) - 65_536 - _END_SIZE))
    if position < 0 or len(data) - position < _END_SIZE:
        return 0
    size = int(struct.unpack_from("<L", data, position + 12)[0])
    wide = data.rfind(_END_64, 0, position)
    if size == 0xFFFFFFFF and 0 <= wide <= len(data) - 48:
        return int(struct.unpack_from("<Q", data, wide + 40)[0])
    return size


def read_member(archive: zipfile.ZipFile, member: str, *, name: str, at_most: int | None = None) -> bytes:
    """The bytes of one member, or the first `at_most` of them.

    Raises:
        UnreadableDocument: there is no such member, or it is damaged.
    """
    try:
        with archive.open(member) as stream:
            return stream.read(-1 if at_most is None else at_most)
    except KeyError as cause:
        raise UnreadableDocument(name, f"is incomplete: {member} is missing inside") from cause
    except Exception as cause:  # zipfile believes offsets and sizes, and raises anything where they lie
        raise UnreadableDocument(name, f"is damaged: {member} inside cannot be unpacked") from cause


def with_content_type(archive: zipfile.ZipFile, found: bytes, wanted: bytes) -> io.BytesIO:
    """A copy of the archive whose list of content types says `wanted` for `found`.

    Libraries refuse templates and macro-enabled files, which are the same format under another name.
    """
    copy = io.BytesIO()
    with zipfile.ZipFile(copy, "w") as out:
        for info in archive.infolist():
            data = archive.read(info)
            out.writestr(info.filename, data.replace(found, wanted) if info.filename == CONTENT_TYPES else data)
    copy.seek(0)
    return copy


CONTENT_TYPES: Final = "[Content_Types].xml"


class _Counter:
    """Unpacks members in steps, against the limits over all of them."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._total = 0

    def count(self, info: zipfile.ZipInfo) -> None:
        """Add one member."""
        if info.compress_type == zipfile.ZIP_STORED:
            self._add(info.file_size)
        elif info.compress_type == zipfile.ZIP_DEFLATED:
            self._inflate(info)
        else:
            raise UnreadableDocument(self._source.name, "is packed in a way that documents do not use")

    def _inflate(self, info: zipfile.ZipInfo) -> None:
        packed = self._packed(info)
        inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        size = 0
        try:
            for start in range(0, len(packed), _PIECE):
                piece = bytes(packed[start : start + _PIECE])
                while piece and not inflater.eof:
                    step = len(inflater.decompress(piece, _STEP))
                    piece = inflater.unconsumed_tail
                    size += step
                    self._add(step)
        except zlib.error as cause:
            raise self._damaged(info) from cause
        if size != info.file_size:
            raise self._damaged(info)

    def _packed(self, info: zipfile.ZipInfo) -> memoryview:
        data = memoryview(self._source.data)
        offset = info.header_offset
        header = data[offset : offset + _LOCAL_HEADER]
        if len(header) < _LOCAL_HEADER:
            raise self._damaged(info)
        name_length, extra_length = struct.unpack_from("<HH", header, 26)
        start = offset + _LOCAL_HEADER + int(name_length) + int(extra_length)
        return data[start : start + info.compress_size]

    def _damaged(self, info: zipfile.ZipInfo) -> DocumentError:
        return UnreadableDocument(self._source.name, f"is damaged: {info.filename} inside cannot be unpacked")

    def _add(self, size: int) -> None:
        source, limits = self._source, self._source.limits
        self._total += size
        if self._total > limits.max_unpacked_bytes:
            reason = f"unpacks to more than {in_units(limits.max_unpacked_bytes)}"
            raise too_large(source.name, reason, "max_unpacked_bytes")
        if self._total > max(_RATIO_COUNTS_FROM, limits.max_unpack_ratio * len(source.data)):
            reason = f"unpacks to more than {limits.max_unpack_ratio:g} times its size"
            raise too_large(source.name, reason, "max_unpack_ratio")
        source.check_time()
