"""Find the files in folders: in a fixed order, without what is excluded, and never outside."""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hybridrag.documents.dates import moment
from hybridrag.errors import DocumentError, InvalidInput, UnreadableDocument

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

DEFAULT_EXCLUDES: Final = (
    ".*",  # hidden files and folders: .git, .hybridrag, .venv and the like
    "node_modules/",
    "__pycache__/",
    "*.pyc",
    "venv/",
    "Thumbs.db",
    "desktop.ini",
    "~$*",  # locks that Office leaves beside open files
    "*~",
)
"""Excluded unless an ignore file takes them back in with `!pattern`."""

IGNORE_FILES: Final = (".gitignore", ".hybridragignore")
"""Read in every folder on the way, in this order: the later decides."""

_LARGEST_IGNORE_FILE: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file to read."""

    path: Path
    """Absolute."""
    name: str
    """Under which the index knows it; see `find_files`."""
    size: int
    modified: datetime | None
    """None where the file system names a time that no calendar has."""
    folder: str
    """The name of the folder that was given, or that the given file is in."""
    chosen: bool
    """Whether it was given itself."""


def find_files(
    roots: Iterable[str | Path],
    *,
    problems: list[DocumentError],
    excludes: Sequence[str] = (),
    base: str | Path | None = None,
    use_ignore_files: bool = True,
) -> Iterator[FoundFile]:
    """The files under the roots, sorted by path within each root; each file once.

    A file given itself is always taken. In folders, `excludes` (as in .gitignore, relative to the root) decide
    over .hybridragignore, that over .gitignore, and that over the defaults; nested ignore files hold for their
    folder and go before those above. Links to folders are not followed. Links to files are, inside the root.

    A file's name is its absolute path, or its path relative to `base` where one is given and it lies below it, with
    `/` between the parts and in Unicode NFC. So it does not depend on how the root was written, and a file keeps its
    name whether it is found in a folder or given itself.

    ["docs"], base="/home/me" -> "docs/a.md", "docs/b/c.pdf"

    Args:
        roots: Files and folders.
        problems: Missing paths, unreadable folders and links that lead outside are added here, not raised.
        excludes: Patterns to leave out, or with `!` to take in.
        base: What names are relative to.
        use_ignore_files: Whether to honour .gitignore and .hybridragignore.

    Raises:
        InvalidInput: a pattern in `excludes` is malformed.
    """
    anchor = None if base is None else Path(os.path.abspath(base))  # noqa: PTH100 (links stay as the user wrote them)
    spec = _spec(excludes, where="excludes")
    seen: set[str] = set()
    for root in roots:
        walk = _Walk(Path(os.path.abspath(root)), anchor, spec, problems, seen, use_ignore_files=use_ignore_files)  # noqa: PTH100 (same)
        yield from walk.files()


def _spec(lines: Iterable[str], *, where: str) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 (keeps start-up fast)

    try:
        return GitIgnoreSpec.from_lines(list(lines))
    except ValueError as cause:
        raise InvalidInput(f"{where}: {cause}.", hint="Patterns are written as in .gitignore.") from cause


@dataclass(slots=True)
class _Rules:
    """Patterns that hold below one folder."""

    folder: Path
    spec: GitIgnoreSpec

    def decide(self, path: Path, *, is_folder: bool) -> bool | None:
        """True to leave out, False to take in, None if no pattern speaks of it."""
        relative = path.relative_to(self.folder).as_posix()
        return self.spec.check_file(relative + "/" if is_folder else relative).include


@dataclass(slots=True)
class _Walk:
    root: Path
    anchor: Path | None
    excludes: GitIgnoreSpec
    problems: list[DocumentError]
    seen: set[str]
    use_ignore_files: bool = field(kw_only=True)

    def files(self) -> Iterator[FoundFile]:
        try:
            status = self.root.stat()
        except (OSError, ValueError) as cause:
            self._report(self.root, _why(cause))
            return
        if stat.S_ISDIR(status.st_mode):
            yield from self._folder()
        elif stat.S_ISREG(status.st_mode):
            yield from self._once(self.root, status, chosen=True)
        else:
            self._report(self.root, "is neither a file nor a folder")

    def _folder(self) -> Iterator[FoundFile]:
        first = _Rules(self.root, _spec(DEFAULT_EXCLUDES, where="defaults"))
        last = _Rules(self.root, self.excludes)
        pending: list[tuple[Path, tuple[_Rules, ...]] | os.DirEntry[str]] = [(self.root, (first,))]
        while pending:
            item = pending.pop()
            if isinstance(item, os.DirEntry):
                yield from self._file(item)
                continue
            folder, rules = item
            entries = self._entries(folder)
            rules = (*rules, *self._ignore_files(folder))
            kept = [entry for entry in entries if not _is_excluded(entry, (*rules, last))]
            # The stack gives back the last first; files and folders stay in one order by name.
            pending += [
                (Path(entry.path), rules) if _leads_to_folder(entry, follow=False) else entry
                for entry in reversed(kept)
            ]

    def _entries(self, folder: Path) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError as cause:
            self._report(folder, _why(cause))
            return []

    def _ignore_files(self, folder: Path) -> Iterator[_Rules]:
        for name in IGNORE_FILES if self.use_ignore_files else ():
            path = folder / name
            try:
                # Asking whether it is there fails like opening it: in a folder that may not be searched, or too deep.
                if not path.is_file():
                    continue
                with path.open(encoding="utf-8", errors="replace") as stream:
                    lines = stream.read(_LARGEST_IGNORE_FILE).lstrip("\ufeff").splitlines()
                yield _Rules(folder, _spec(lines, where=str(path)))
            except OSError as cause:
                self._report(path, _why(cause))
            except InvalidInput as cause:
                self._report(path, f"has a malformed pattern ({cause.__cause__}) and is not honoured")

    def _file(self, entry: os.DirEntry[str]) -> Iterator[FoundFile]:
        path = Path(entry.path)
        try:
            if entry.is_symlink() and not self._leads_inside(path):
                return
            status = entry.stat()
        except (OSError, RuntimeError) as cause:  # RuntimeError: a link in a circle, before Python 3.13
            self._report(path, _why(cause))
            return
        if stat.S_ISREG(status.st_mode):
            yield from self._once(path, status)

    def _leads_inside(self, link: Path) -> bool:
        """Whether a link leads to a file inside the root; one that leads out is reported."""
        target = link.resolve(strict=True)
        if target.is_relative_to(self.root.resolve()):
            return not target.is_dir()
        self._report(link, "is a link that leads out of the folder and is not followed")
        return False

    def _once(self, path: Path, status: os.stat_result, *, chosen: bool = False) -> Iterator[FoundFile]:
        real = os.path.realpath(path)
        if real not in self.seen:
            self.seen.add(real)
            yield FoundFile(
                path=path,
                name=file_name(path, self.anchor),
                size=status.st_size,
                modified=moment(status.st_mtime),
                folder=file_name(self.root.parent if chosen else self.root, self.anchor),
                chosen=chosen,
            )

    def _report(self, path: Path, reason: str) -> None:
        self.problems.append(UnreadableDocument(file_name(path, self.anchor), reason))


def _is_excluded(entry: os.DirEntry[str], rules: Sequence[_Rules]) -> bool:
    """The last set of rules that speaks of it decides."""
    path, is_folder = Path(entry.path), _leads_to_folder(entry)
    for rule in reversed(rules):
        decided = rule.decide(path, is_folder=is_folder)
        if decided is not None:
            return decided
    return False


def _leads_to_folder(entry: os.DirEntry[str], *, follow: bool = True) -> bool:
    try:
        return entry.is_dir(follow_symlinks=follow)
    except OSError:
        return False  # a link in a circle


def file_name(path: Path, base: Path | None = None) -> str:
    r"""The name of a file in the index: relative to `base` where it lies below it, absolute where not.

    /home/me/docs/a.md, base=/home/me -> "docs/a.md"; /mnt/b.md -> "/mnt/b.md"
    """
    path = Path(os.path.abspath(path))  # noqa: PTH100 (links stay as the user wrote them)
    if base is not None:
        for candidate, anchor in ((path, base), (path.parent.resolve() / path.name, base.resolve())):
            if candidate.is_relative_to(anchor) and candidate != anchor:
                path = candidate.relative_to(anchor)
                break
    # Names in another encoding than UTF-8 hold bytes that no store takes; spelt out, two of them stay two names.
    name = os.fsencode(path.as_posix()).decode("utf-8", "backslashreplace")
    # macOS hands out decomposed names (か + ゛), which no one types.
    return unicodedata.normalize("NFC", name)


def _why(cause: Exception) -> str:
    if isinstance(cause, FileNotFoundError):
        return "does not exist"
    return f"cannot be opened: {getattr(cause, 'strerror', None) or cause}"
