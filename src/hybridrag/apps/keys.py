"""Keys for the server: made once, kept as a hash, bound to scopes and workspaces, revocable at once.

The file is read again whenever it changes, so that a key that was revoked in one process is refused by all.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import threading
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from tempfile import NamedTemporaryFile

from filelock import FileLock
from pydantic import Field, ValidationError

from hybridrag import InvalidInput, NotFound, Settings
from hybridrag.types.base import Model
from hybridrag.types.queries import Moment

FILE_NAME = "keys.json"
PREFIX = "hr"
"""Keys begin with it, so that scanners for leaked secrets can know them."""


def data_dir(settings: Settings) -> Path:
    """Where the server keeps keys, jobs and uploaded files."""
    return settings.server.data_dir or settings.index.path / "server"


class Scope(StrEnum):
    """What a key may do."""

    SEARCH = "search"
    """Search, ask, read documents and the graph."""
    WRITE = "write"
    """Add and remove documents, and follow the jobs that do so."""
    ADMIN = "admin"
    """Everything, in the workspaces of the key."""


class Key(Model):
    """A key as the server knows it: without the secret."""

    id: str
    """The part of the key that is no secret; what `keys list` shows and `keys revoke` takes."""
    label: str = ""
    """What it is for, in its maker's words."""
    scopes: tuple[Scope, ...] = Field(min_length=1)
    """What it may do."""
    workspaces: tuple[str, ...] | None = None
    """Where it may do so; None means everywhere."""
    created: Moment
    """When it was made."""
    hash: str
    """SHA-256 of the secret, which is long and random: a slow hash would protect nothing more."""


class _KeyList(Model):
    keys: tuple[Key, ...] = ()


class Keys:
    """The keys of one server, in one file. Safe to share between threads and processes."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / FILE_NAME
        self._lock = threading.Lock()
        self._stamp: tuple[int, int, int] | None = None
        self._keys: dict[str, Key] = {}

    def create(self, *, scopes: Iterable[Scope], workspaces: Iterable[str] | None, label: str = "") -> tuple[Key, str]:
        """A new key, and the secret text that its user sends; the text is kept nowhere.

        Raises:
            InvalidInput: no scope, or an empty list of workspaces, which would mean nobody knows what.
        """
        chosen = tuple(dict.fromkeys(scopes))
        spaces = None if workspaces is None else tuple(dict.fromkeys(workspaces))
        if not chosen:
            raise InvalidInput("A key needs at least one scope.", hint=f"Choose of: {', '.join(Scope)}.")
        if spaces is not None and (not spaces or not all(space.strip() for space in spaces)):
            raise InvalidInput("A key needs the names of its workspaces.", hint="Name them, or allow all of them.")
        identity, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
        key = Key(
            id=identity,
            label=label,
            scopes=chosen,
            workspaces=spaces,
            created=datetime.now(UTC),
            hash=_hash(secret),
        )
        self._change(lambda keys: {**keys, identity: key})
        return key, f"{PREFIX}_{identity}_{secret}"

    def revoke(self, identity: str) -> Key:
        """Make a key worthless.

        Raises:
            NotFound: there is none of that id.
        """
        gone = self.known().get(identity)
        if gone is None:
            raise NotFound("key", identity, hint="Run: hybridrag keys list")
        self._change(lambda keys: {name: key for name, key in keys.items() if name != identity})
        return gone

    def known(self) -> dict[str, Key]:
        """Every key by its id."""
        with self._lock:
            stamp = self._stamp_now()
            if stamp != self._stamp:
                self._keys, self._stamp = self._read(), stamp
            return dict(self._keys)

    def find(self, text: str) -> Key | None:
        """The key that was sent; None where it is none, or was revoked."""
        parts = text.split("_", 2)
        if len(parts) != 3 or parts[0] != PREFIX:
            return None
        key = self.known().get(parts[1])
        # Compared in constant time, also where the id is unknown.
        right = hmac.compare_digest(_hash(parts[2]), key.hash if key else _hash(""))
        return key if key is not None and right else None

    def _stamp_now(self) -> tuple[int, int, int] | None:
        try:
            state = self._file.stat()
        except FileNotFoundError:
            return None
        return state.st_mtime_ns, state.st_size, state.st_ino

    def _read(self) -> dict[str, Key]:
        try:
            found = _KeyList.model_validate_json(self._file.read_bytes())
        except FileNotFoundError:
            return {}
        except ValidationError as cause:
            raise InvalidInput(
                f"The key file {self._file} is damaged.",
                hint="Restore it from a backup, or remove it and make new keys.",
            ) from cause
        return {key.id: key for key in found.keys}

    def _change(self, change: Callable[[dict[str, Key]], dict[str, Key]]) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with FileLock(self._file.with_suffix(".lock")):
            keys = change(self._read())
            write_private(self._file, _KeyList(keys=tuple(keys.values())).model_dump_json(indent=2).encode())


def write_private(file: Path, data: bytes) -> None:
    """Replace a file as a whole, readable by its owner alone."""
    with NamedTemporaryFile(dir=file.parent, prefix=f".{file.name}.", delete=False) as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())
    Path(out.name).replace(file)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
