"""Every error that the public API raises, as one tree.

    RAGError
    ├── InvalidInput            the caller's value cannot be used
    │   ├── InvalidQuery        a query, filter or option
    │   └── InvalidSettings     a key or value in hybridrag.toml, the environment or an argument
    ├── DocumentError           one file cannot be read; the others go on
    │   ├── UnreadableDocument  broken, encrypted, empty
    │   ├── DocumentTooLarge    over a limit in the settings
    │   └── UnknownFormat       no reader for it
    ├── StoreError              the index directory
    │   ├── StoreNotFound       there is no index there
    │   ├── StoreVersionMismatch  written by another format
    │   ├── StoreBusy           another process is writing
    │   ├── StoreCorrupt        an invariant does not hold
    │   └── ModelMismatch       written with another embedding model
    ├── NotFound                a file, chunk, entity or community id that is not in the index
    └── StageError              a stage failed; a search degrades over it
        ├── ModelUnavailable    weights cannot be loaded (not installed, offline)
        ├── ProviderError       a remote service answered badly, or not at all
        └── DeadlineExceeded    a stage ran past its time

Each carries its data as attributes and says in one sentence what to do next.
"""

from __future__ import annotations

from pathlib import Path


class RAGError(Exception):
    """The root: `str(error)` is one clear sentence, with the next step where there is one.

    `code` is the stable name for machines; `hint` is the command or change that helps.
    """

    code: str = "rag_error"

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        self.message = message
        self.hint = hint
        super().__init__(message if hint is None else f"{message} {hint}")

    def __reduce__(self) -> tuple[object, ...]:
        """Errors cross process boundaries: rebuild without calling a subclass's own `__init__`."""
        return (_rebuild, (type(self), self.args, self.__dict__))


def _rebuild(kind: type[RAGError], args: tuple[object, ...], state: dict[str, object]) -> RAGError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return error


class InvalidInput(RAGError, ValueError):
    """The caller's value cannot be used; nothing was changed."""

    code = "invalid_input"


class InvalidQuery(InvalidInput):
    """A query, filter or option is wrong; no search ran."""

    code = "invalid_query"


class InvalidSettings(InvalidInput):
    """A setting is wrong: names where it stands, its key and what was expected."""

    code = "invalid_settings"

    def __init__(self, *, where: str, key: str, expected: str, hint: str | None = None) -> None:
        self.where = where
        self.key = key
        self.expected = expected
        super().__init__(f"{where}: `{key}` {expected}.", hint=hint)


class DocumentError(RAGError):
    """One document cannot be taken in; the others go on."""

    code = "document_error"

    kind: str | None = None
    """What the file is, where it is no document at all: "picture", "empty file". In a folder such files are skipped."""

    def __init__(self, name: str | Path, reason: str, *, hint: str | None = None, kind: str | None = None) -> None:
        self.name = str(name)
        self.reason = reason
        self.kind = kind
        # A name may hold a line break; a message may not.
        shown = " ".join(self.name.splitlines())
        super().__init__(f"{shown}: {reason}.", hint=hint)


class UnreadableDocument(DocumentError):
    """Broken, encrypted or empty."""

    code = "unreadable_document"


class DocumentTooLarge(DocumentError):
    """Over a limit that the settings name."""

    code = "document_too_large"

    def __init__(self, name: str | Path, reason: str, *, setting: str) -> None:
        self.setting = setting
        super().__init__(name, reason, hint=f"Raise `{setting}` in hybridrag.toml to accept it.")


class UnknownFormat(DocumentError):
    """No reader takes this kind of file."""

    code = "unknown_format"


class StoreError(RAGError):
    """Something about the index directory; carries its `path`."""

    code = "store_error"

    def __init__(self, path: str | Path, message: str, *, hint: str | None = None) -> None:
        self.path = Path(path)
        super().__init__(message, hint=hint)


class StoreNotFound(StoreError):
    """There is no index at the path."""

    code = "store_not_found"

    def __init__(self, path: str | Path) -> None:
        super().__init__(path, f"There is no index at {path}.", hint=f"Run: hybridrag add FILES --index {path}")


class StoreVersionMismatch(StoreError):
    """The index was written by another format version."""

    code = "store_version_mismatch"

    def __init__(self, path: str | Path, *, found: int, expected: int) -> None:
        self.found = found
        self.expected = expected
        hint = f"Run: hybridrag repair --index {path}" if found < expected else "Upgrade: pip install -U hybridrag"
        super().__init__(
            path,
            f"The index at {path} was written by format {found}; this version reads {expected}.",
            hint=hint,
        )


class StoreBusy(StoreError):
    """Another process holds the write lock."""

    code = "store_busy"

    def __init__(self, path: str | Path, *, waited_seconds: float) -> None:
        self.waited_seconds = waited_seconds
        super().__init__(
            path,
            f"Another process is writing to {path}; waited {waited_seconds:g} s.",
            hint="Try again when it is done, or raise `store.busy_timeout_seconds`.",
        )


class StoreCorrupt(StoreError):
    """An invariant of the index does not hold."""

    code = "store_corrupt"

    def __init__(self, path: str | Path, what: str) -> None:
        self.what = what
        super().__init__(path, f"The index at {path} is damaged: {what}.", hint=f"Run: hybridrag repair --index {path}")


class ModelMismatch(StoreError):
    """The index holds vectors of another embedding model."""

    code = "model_mismatch"

    def __init__(self, path: str | Path, *, found: str, expected: str) -> None:
        self.found = found
        self.expected = expected
        super().__init__(
            path,
            f"The index at {path} was embedded with {found}, and the settings name {expected}.",
            hint=f"Run: hybridrag reembed --index {path}, or set `embedding.model` back.",
        )


class NotFound(RAGError):
    """An id or name that the index does not hold."""

    code = "not_found"

    def __init__(self, kind: str, value: str, *, hint: str | None = None) -> None:
        self.kind = kind
        self.value = value
        super().__init__(f"There is no {kind} {value!r} in this index.", hint=hint)


class StageError(RAGError):
    """A stage failed; the search reports it and goes on without."""

    code = "stage_error"


class ModelUnavailable(StageError):
    """Model weights cannot be loaded."""

    code = "model_unavailable"

    def __init__(self, model: str, reason: str, *, hint: str | None = None) -> None:
        self.model = model
        self.reason = reason
        super().__init__(f"The model {model} cannot be loaded: {reason}.", hint=hint)


class ProviderError(StageError):
    """A remote service answered badly, or not at all."""

    code = "provider_error"

    def __init__(self, provider: str, reason: str, *, status: int | None = None, hint: str | None = None) -> None:
        self.provider = provider
        self.reason = reason
        self.status = status
        super().__init__(f"{provider}: {reason}.", hint=hint)


class DeadlineExceeded(StageError):
    """A stage ran past its time."""

    code = "deadline_exceeded"

    def __init__(self, stage: str, *, seconds: float) -> None:
        self.stage = stage
        self.seconds = seconds
        super().__init__(f"{stage} did not finish within {seconds:g} s.")
