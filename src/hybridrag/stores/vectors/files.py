"""How an index lies on disk: parts under names used once, and a manifest that is replaced last.

    vectors.json                          what belongs together; replacing it is the moment a save happens
    vectors-5f0c2a9be1d34c77.matrix       parts; never changed after they were written

A crash before the manifest is replaced leaves the old index, one after it the new index. A process that has the
old parts open goes on reading them: they are unlinked, never written over.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from hybridrag.errors import StoreCorrupt, StoreError
from hybridrag.types.base import Model

FORMAT = 1
"""Raised whenever an older version could misread what this one writes."""
MANIFEST = "vectors.json"
_PART_NAME = r"^vectors-[0-9a-f]{16}\.[a-z]+(\.[a-z]+)?$"
# Whatever a killed save may leave: parts, unfinished parts (leading dot) and their SQLite journals.
_OURS = re.compile(r"^\.?vectors-[0-9a-f]{16}\..*$")
T = TypeVar("T")
_READ_BYTES = 1 << 20  # per step, when a checksum is taken over a file of any size


class Part(Model):
    """One file of an index."""

    name: str = Field(pattern=_PART_NAME)
    size: int = Field(ge=0)
    crc32: int | None = None
    """None where the part is written by a library, in place."""


class Manifest(Model):
    """What `vectors.json` holds."""

    format: int = FORMAT
    kind: str
    dimension: int = Field(ge=1)
    stamp: str = ""
    """The caller's own mark: the store puts there which of its states the index was made from."""
    main_rows: int = Field(ge=0)
    tail_rows: int = Field(ge=0)
    dead_rows: int = Field(ge=0)
    parts: dict[str, Part]
    checksum: str = ""

    @property
    def count(self) -> int:
        """How many live keys."""
        return self.main_rows + self.tail_rows - self.dead_rows

    def signed(self) -> Manifest:
        """The same manifest with its own checksum filled in."""
        return self.model_copy(update={"checksum": self._digest()})

    def intact(self) -> bool:
        """Whether the checksum fits."""
        return self.checksum == self._digest()

    def _digest(self) -> str:
        body = json.dumps(self.model_dump(mode="json", exclude={"checksum"}), sort_keys=True)
        return hashlib.blake2b(body.encode(), digest_size=16).hexdigest()


def new_token() -> str:
    """A name no part had before: 16 hexadecimal digits."""
    return secrets.token_hex(8)


def part_name(token: str, suffix: str) -> str:
    """`5f0c2a9be1d34c77`, `matrix` -> `vectors-5f0c2a9be1d34c77.matrix`."""
    return f"vectors-{token}.{suffix}"


def write_part(folder: Path, name: str, blocks: Iterable[bytes | memoryview]) -> Part:
    """Write the blocks one after another under `name`; the name appears once everything is on disk.

    Raises:
        OSError: the disk is full or the folder is not writable.
    """
    unfinished = folder / f".{name}.tmp"
    size = checksum = 0
    with unfinished.open("wb") as file:
        for block in blocks:
            size += file.write(block)
            checksum = zlib.crc32(block, checksum)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(folder / name)
    return Part(name=name, size=size, crc32=checksum)


def adopt_part(folder: Path, name: str, unfinished: Path) -> Part:
    """Give a finished file that a library wrote its final name.

    Raises:
        OSError: the folder is not writable.
    """
    with unfinished.open("rb+") as file:
        os.fsync(file.fileno())
    size = unfinished.stat().st_size
    unfinished.replace(folder / name)
    return Part(name=name, size=size)


def commit(folder: Path, manifest: Manifest) -> None:
    """Make `manifest` what the folder holds, then delete parts that it does not name.

    Raises:
        OSError: the disk is full or the folder is not writable.
    """
    # Parts must be on disk under their names before anything names them.
    _sync_folder(folder)
    unfinished = folder / f".{part_name(new_token(), 'json')}.tmp"
    with unfinished.open("w", encoding="utf-8") as file:
        json.dump(manifest.signed().model_dump(mode="json"), file, indent=1, sort_keys=True)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(folder / MANIFEST)
    _sync_folder(folder)
    clean(folder, keep={part.name for part in manifest.parts.values()})


def clean(folder: Path, *, keep: set[str]) -> None:
    """Delete what earlier or killed saves left; files of any other name are not touched."""
    for path in folder.iterdir():
        if _OURS.match(path.name) and path.name not in keep:
            # Windows refuses while another process has it open; the next save tries again.
            with contextlib.suppress(OSError):
                path.unlink()


def clean_unnamed(folder: Path) -> None:
    """Delete every part that the folder's manifest does not name."""
    try:
        keep = {part.name for part in read_manifest(folder).parts.values()}
    except StoreCorrupt:
        keep = set()
    clean(folder, keep=keep)


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a folder.

    Raises:
        StoreCorrupt: missing, damaged, or of another format.
    """
    try:
        text = (folder / MANIFEST).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise StoreCorrupt(folder, f"{MANIFEST} is missing") from None
    try:
        found = json.loads(text)
        version = found.get("format")
        if version != FORMAT:
            raise StoreCorrupt(folder, f"{MANIFEST} is of format {version}, and this version reads {FORMAT}")
        manifest = Manifest.model_validate(found)
    except (ValueError, AttributeError, ValidationError):
        raise StoreCorrupt(folder, f"{MANIFEST} cannot be read") from None
    if not manifest.intact():
        raise StoreCorrupt(folder, f"{MANIFEST} was changed after it was written")
    return manifest


def map_part(folder: Path, part: Part, *, verify: bool) -> NDArray[np.uint8]:
    """The bytes of a part, mapped and not read; `verify` reads them once for the checksum.

    Raises:
        StoreCorrupt: cut off, or not what was written.
        FileNotFoundError: it is not there; the caller knows whether another save may have replaced it.
    """
    path = folder / part.name
    size = path.stat().st_size
    if size != part.size:
        raise StoreCorrupt(folder, f"{part.name} has {size:,} bytes instead of {part.size:,}")
    if size == 0:
        return np.zeros(0, dtype=np.uint8)
    # A plain view: every slice of a memmap object would cost a Python-level call.
    content = np.memmap(path, dtype=np.uint8, mode="r").view(np.ndarray)
    if verify and part.crc32 is not None and zlib.crc32(content.data) != part.crc32:
        raise StoreCorrupt(folder, f"{part.name} is not what was written")
    return content


def verify_parts(folder: Path) -> None:
    """Read every byte of every part and compare; what `load` leaves out to be fast.

    Raises:
        StoreCorrupt: names the first part that is missing or differs.
    """
    for part in read_manifest(folder).parts.values():
        checksum = size = 0
        try:
            with (folder / part.name).open("rb") as file:
                while block := file.read(_READ_BYTES):
                    size += len(block)
                    checksum = zlib.crc32(block, checksum)
        except FileNotFoundError:
            raise StoreCorrupt(folder, f"{part.name} is missing") from None
        if size != part.size or part.crc32 not in {None, checksum}:
            raise StoreCorrupt(folder, f"{part.name} is not what was written")


def open_current(folder: Path, opener: Callable[[Manifest], T]) -> T:
    """Call `opener` with the manifest; again with the newer one when a save replaced the parts meanwhile.

    Raises:
        StoreCorrupt: a part is missing and no newer manifest explains it.
        StoreError: the folder cannot be read.
    """
    manifest = read_manifest(folder)
    while True:
        try:
            return opener(manifest)
        except FileNotFoundError as cause:
            newer = read_manifest(folder)
            if newer == manifest:
                name = Path(cause.filename or "a part").name
                raise StoreCorrupt(folder, f"{name} is missing") from None
            manifest = newer


@contextlib.contextmanager
def disk_errors(folder: Path, *, doing: str) -> Iterator[None]:
    """Turn what the operating system refuses into one sentence; `doing` is `read` or `written`.

    Raises:
        StoreError: instead of OSError.
    """
    try:
        yield
    except OSError as cause:
        reason = cause.strerror or str(cause)
        raise StoreError(
            folder,
            f"The vector index at {folder} cannot be {doing}: {reason}.",
            hint="Check the folder's permissions and the free space on its disk; the saved index is as it was.",
        ) from cause


def _sync_folder(folder: Path) -> None:
    # Windows cannot open a folder; there the rename itself is what can be had.
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
