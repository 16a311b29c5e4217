"""Connections to the one database file: many readers with snapshots, one writer at a time."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from hybridrag.errors import StoreBusy, StoreCorrupt, StoreError, StoreNotFound
from hybridrag.stores.embedded.schema import create_or_migrate, is_current

DATABASE_NAME = "store.db"

MAPPED_BYTES = 1 << 30
"""How much of the database is read through the page cache without copying; costs address space, not memory."""

CACHE_KIBIBYTES = 16 * 1024
"""Page cache per connection."""

Prepare = Callable[[apsw.Connection], None]
"""What every new connection needs: the tokenizer."""


class Database:
    """The SQLite file of one store, opened for as long as the store is.

    `with database.read() as connection` sees one state of the database from beginning to end;
    `with database.write() as connection` is one transaction, rolled back by any exception.
    """

    def __init__(self, folder: Path, *, prepare: Prepare, busy_timeout: float, create: bool) -> None:
        self.folder = folder
        self.path = folder / DATABASE_NAME
        self._prepare = prepare
        self._busy_timeout = busy_timeout
        self._idle: list[apsw.Connection] = []
        self._lock = threading.Lock()
        self._write_lock = threading.Lock()
        self._closed = False
        self._reading = threading.local()
        self._process = os.getpid()
        if not create and not self.path.exists():
            raise StoreNotFound(folder)
        try:
            # Whoever may read the documents is not known here: nobody else gets to read the index.
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as cause:
            raise StoreError(
                folder,
                f"The index directory {folder} cannot be made: {cause.strerror}.",
                hint="Choose another --index.",
            ) from cause
        if self.path.exists():
            # A reader never waits for a writer: the write lock is taken only to make or migrate the tables.
            with self.read() as connection:
                if is_current(connection):
                    return
        with self.write() as connection:
            create_or_migrate(connection, folder)

    @contextmanager
    def read(self) -> Iterator[apsw.Connection]:
        """A connection inside a read transaction: one unchanging state, whatever others commit meanwhile.

        Inside another `read()` of the same thread it is the same state, so that several reads make one picture.
        """
        outer: apsw.Connection | None = getattr(self._reading, "connection", None)
        if outer is not None:
            with self._translated():
                yield outer
            return
        with self._connection() as connection, self._translated():
            connection.execute("BEGIN")
            self._reading.connection = connection
            try:
                yield connection
            finally:
                self._reading.connection = None
                connection.execute("ROLLBACK")

    @contextmanager
    def read_anew(self) -> Iterator[apsw.Connection]:
        """Like `read()`, on a connection that has seen nothing before.

        FTS5 keeps the layout of its index per connection, and its integrity check trusts what it kept: on a connection
        that read before another process merged the index, it reports damage that is not there.
        """
        self._check_process()
        with self._translated():
            connection = self._connect()
            try:
                connection.execute("BEGIN")
                yield connection
            finally:
                connection.close()

    @contextmanager
    def write(self) -> Iterator[apsw.Connection]:
        """A connection inside a write transaction; committed at the end, rolled back by an exception.

        Raises:
            StoreBusy: another thread or process kept the write lock for longer than the timeout.
        """
        if not self._write_lock.acquire(timeout=self._busy_timeout):
            raise StoreBusy(self.folder, waited_seconds=self._busy_timeout)
        try:
            with self._connection() as connection, self._translated():
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                except BaseException:
                    # SQLite has already rolled back after some errors (a full disk): nothing is left to undo.
                    with suppress(apsw.SQLError):
                        connection.execute("ROLLBACK")
                    raise
                connection.execute("COMMIT")
        finally:
            self._write_lock.release()

    def close(self) -> None:
        """Close every idle connection; the last one folds the write-ahead log back into the file."""
        if os.getpid() != self._process:
            return  # the connections belong to the process that opened them
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def bytes_on_disk(self) -> int:
        """The database with its log."""
        return sum(path.stat().st_size for path in self.folder.glob(f"{DATABASE_NAME}*") if path.is_file())

    def _check_process(self) -> None:
        """SQLite's connections do not survive a fork: what is written through them afterwards may be lost."""
        if os.getpid() != self._process:
            raise StoreError(
                self.folder,
                f"The index at {self.folder} was opened by another process, before a fork.",
                hint="Open it again in this process with Engine.open().",
            )

    @contextmanager
    def _connection(self) -> Iterator[apsw.Connection]:
        self._check_process()
        with self._lock:
            if self._closed:
                raise StoreError(self.folder, "This index was closed.", hint="Open it again with Engine.open().")
            connection = self._idle.pop() if self._idle else None
        if connection is None:
            with self._translated():
                connection = self._connect()
        try:
            yield connection
        finally:
            with self._lock:
                keep = not self._closed
                if keep:
                    self._idle.append(connection)
            if not keep:
                connection.close()

    def _connect(self) -> apsw.Connection:
        if self._is_read_only():
            # Without a log there is nothing to share with writers, and none can come.
            address = f"{self.path.absolute().as_uri()}?immutable=1"
            connection = apsw.Connection(address, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        else:
            connection = apsw.Connection(str(self.path))
            connection.set_busy_timeout(int(self._busy_timeout * 1000))
            connection.pragma("journal_mode", "wal")
            # Removed text is overwritten, not only marked as free.
            connection.pragma("secure_delete", "ON")
        # FULL: what was acknowledged survives a power cut too, for under a millisecond per file.
        connection.pragma("synchronous", "FULL")
        connection.pragma("foreign_keys", "ON")
        connection.pragma("mmap_size", MAPPED_BYTES)
        connection.pragma("cache_size", -CACHE_KIBIBYTES)
        connection.pragma("temp_store", "MEMORY")
        self._prepare(connection)
        return connection

    def _is_read_only(self) -> bool:
        """Whether it lies where this process cannot write, such as a read-only medium, with nothing left in its log."""
        log = self.path.with_name(f"{DATABASE_NAME}-wal")
        if not self.path.exists() or (log.exists() and log.stat().st_size):
            return False
        effective = os.access in os.supports_effective_ids
        return not all(os.access(path, os.W_OK, effective_ids=effective) for path in (self.path, self.folder))

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """SQLite's errors as ours."""
        try:
            yield
        except (apsw.BusyError, apsw.LockedError) as cause:
            raise StoreBusy(self.folder, waited_seconds=self._busy_timeout) from cause
        except (apsw.CorruptError, apsw.NotADBError) as cause:
            raise StoreCorrupt(self.folder, str(cause)) from cause
        except apsw.FullError as cause:
            raise StoreError(
                self.folder,
                f"The disk with {self.folder} is full; what was being written was undone, what was there before stays.",
                hint="Free some space and retry.",
            ) from cause
        except apsw.ReadOnlyError as cause:
            raise StoreError(
                self.folder,
                f"The index at {self.folder} can be read but not written.",
                hint="Check its permissions, or copy it to where you may write.",
            ) from cause
        except apsw.IOError as cause:
            raise StoreError(
                self.folder,
                f"Reading or writing the index at {self.folder} failed: {cause}.",
                hint="Check the disk and its limits.",
            ) from cause
        except (apsw.CantOpenError, apsw.PermissionsError) as cause:
            raise StoreError(
                self.folder, f"The index at {self.folder} cannot be opened: {cause}.", hint="Check its permissions."
            ) from cause
