"""Questions with marked documents, read from a folder in the BEIR layout.

    corpus.jsonl[.gz]    {"_id", "title", "text"} a line; or corpus/, a folder of files whose ids are their paths in it
    queries.jsonl[.gz]   {"_id", "text"} a line, and where there are some: answer, type, intent, language, answerable,
                         themes
    qrels.tsv            query, document, grade; or qrels/test.tsv, qrels/dev.tsv, ...

Without a corpus the documents are the files of the folder above (a `questions/` beside the documents), where the marked
ones are there. Anything wrong is one sentence that names the file and the line.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from hybridrag.errors import InvalidInput
from hybridrag.evaluate.read_lines import read_objects, read_rows
from hybridrag.evaluate.read_query import Query, read_query
from hybridrag.language.detect import detect
from hybridrag.types.sources import TextDocument

SPLITS = ("test", "dev", "train")
"""Which of several qrels is taken when none is named: the one that papers report first."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """Documents, questions over them, and which documents answer which."""

    name: str
    path: Path
    queries: tuple[Query, ...]
    """Those that can be scored, in the order of the file."""
    documents: tuple[TextDocument, ...] = ()
    """The corpus, where it is a file of texts."""
    files: tuple[Path, ...] = ()
    """The corpus, where it is a folder of files."""
    root: Path | None = None
    """The folder that the ids of `files` start from."""
    notes: tuple[str, ...] = ()
    """What was left out, and why."""

    @property
    def has_corpus(self) -> bool:
        """Whether it brings its documents; without, an index that holds them is asked."""
        return bool(self.documents or self.files)

    @property
    def ids(self) -> set[str]:
        """The ids of its documents."""
        named = {document.name for document in self.documents}
        return named | {file.relative_to(self.root).as_posix() for file in self.files if self.root is not None}

    def document_id(self, name: str) -> str:
        """The id of the document that an index knows by this name.

        "/data/corpus/en/a.md" of a folder of files -> "en/a.md"; the name itself where the corpus is texts
        """
        if self.root is None:
            return name
        root = Path(unicodedata.normalize("NFC", str(self.root)))  # as the index writes its names
        path = Path(name)
        return path.relative_to(root).as_posix() if path.is_relative_to(root) else name

    def first(self, count: int | None) -> Dataset:
        """The same with at most so many queries: always the same ones, spread over the whole file.

        By the hash of their ids, because files are often sorted by kind.
        """
        if count is None or count >= len(self.queries):
            return self
        chosen = set(sorted((query.id for query in self.queries), key=_lot)[:count])
        note = f"{count} of {len(self.queries)} queries were asked."
        return replace(
            self, queries=tuple(query for query in self.queries if query.id in chosen), notes=(*self.notes, note)
        )

    @property
    def fingerprint(self) -> str:
        """Changes whenever a question or what is marked for it does: runs compare where it is equal."""
        digest = blake2b(digest_size=8)
        for query in self.queries:
            digest.update(repr((query.id, query.text, sorted(query.gold.items()), query.themes)).encode())
        return digest.hexdigest()


def load_dataset(path: str | Path, *, split: str | None = None, files: str | Path | None = None) -> Dataset:
    """Read a folder in the BEIR layout.

    "scifact/" -> Dataset(name="scifact", 5183 documents, 300 queries)

    `split` names one of several qrels. `files` is a folder of documents to take in place of a corpus, its paths being
    the ids. Queries that nothing is marked for are left out, as BEIR means it.

    Raises:
        InvalidInput: a file is missing or a line of it is wrong, or no query can be scored.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise InvalidInput(f"There is no folder {folder}.", hint="Name a folder with queries.jsonl and qrels.tsv.")
    gold = _read_gold(folder, split)
    queries = _read_queries(folder, gold)
    documents = _read_documents(folder) if files is None else ()
    root = None if documents else _root(folder, files, gold)
    found = _files_below(root, without=folder) if root else ()
    scored = tuple(query for query in queries if query.is_scored)
    if not scored:
        raise InvalidInput(
            f"{folder}: no query can be scored, because nothing is marked for any of them.",
            hint="Add qrels.tsv with the lines query-id, corpus-id, score.",
        )
    dataset = Dataset(
        name=_name(folder, root), path=folder, queries=scored, documents=documents, files=found, root=root
    )
    return replace(dataset, notes=_notes(queries, gold, dataset.ids, split=split))


def _read_gold(folder: Path, split: str | None) -> dict[str, dict[str, int]]:
    file = _qrels_file(folder, split)
    gold: dict[str, dict[str, int]] = {}
    for query, document, grade in read_rows(file) if file else ():
        gold.setdefault(query, {})[document] = grade
    return gold


def _qrels_file(folder: Path, split: str | None) -> Path | None:
    """The marks: what `split` names, else qrels.tsv, else the first of qrels/; None where there are none."""
    there = {file.name.split(".")[0]: file for file in sorted((folder / "qrels").glob("*.tsv*"))}
    if split is not None:
        if split not in there:
            known = f"there are {', '.join(there)}" if there else "there is no qrels folder"
            raise InvalidInput(f"{folder}: there are no qrels named {split!r}; {known}.")
        return there[split]
    whole = _either(folder, "qrels.tsv")
    return whole or next((there[name] for name in (*SPLITS, *there) if name in there), None)


def _read_queries(folder: Path, gold: Mapping[str, Mapping[str, int]]) -> list[Query]:
    file = _either(folder, "queries.jsonl")
    if file is None:
        raise InvalidInput(f"{folder} holds no queries.jsonl.", hint='Write {"_id": ..., "text": ...} a line into it.')
    # Public sets hold lines whose question was lost; there is nothing to ask there.
    asked = (row for row in _each_once(read_objects(file)) if row[1].get("text") != "")
    queries = [read_query(where, fields, gold) for where, fields in asked]
    return [query if query.language else replace(query, language=detect(query.text)) for query in queries]


def _read_documents(folder: Path) -> tuple[TextDocument, ...]:
    file = _either(folder, "corpus.jsonl")
    if file is None:
        return ()
    return tuple(_document(where, fields) for where, fields in _each_once(read_objects(file)))


def _document(where: str, fields: Mapping[str, Any]) -> TextDocument:
    text, title = fields.get("text"), fields.get("title") or None
    if not isinstance(text, str):
        raise InvalidInput(f"{where}: `text` must be a text.")
    if title is not None and not isinstance(title, str):
        raise InvalidInput(f"{where}: `title` must be a text.")
    return TextDocument(name=str(fields["_id"]), text=text, title=title)


def _name(folder: Path, root: Path | None) -> str:
    """That of the folder; of questions beside their documents, with the folder that both are in."""
    here = folder.resolve()
    return f"{here.parent.name}/{here.name}" if root == folder.absolute().parent else here.name


def _root(folder: Path, files: str | Path | None, gold: Mapping[str, Mapping[str, int]]) -> Path | None:
    """The folder of the documents; None where the data set brings none."""
    if files is not None:
        if not Path(files).is_dir():
            raise InvalidInput(f"There is no folder {files} to take documents from.")
        return Path(files).absolute()
    if (folder / "corpus").is_dir():
        return (folder / "corpus").absolute()
    above = folder.absolute().parent
    marked = {document for grades in gold.values() for document in grades}
    return above if any((above / document).is_file() for document in marked) else None


def _files_below(root: Path, *, without: Path) -> tuple[Path, ...]:
    """Every file, sorted, without hidden ones and without the data set itself."""
    own = without.absolute()
    return tuple(
        file
        for file in sorted(root.rglob("*"))
        if file.is_file()
        and not any(part.startswith(".") for part in file.relative_to(root).parts)
        and (own not in file.parents or own in root.parents)
    )


def _notes(
    queries: Sequence[Query], gold: Mapping[str, Mapping[str, int]], known: set[str], *, split: str | None
) -> tuple[str, ...]:
    notes: list[str] = []
    silent = sum(not query.is_scored for query in queries)
    if silent:
        of_split = f" in {split}" if split else ""
        notes.append(f"{silent} of {len(queries)} queries have nothing marked{of_split} and were left out.")
    strange = len(gold.keys() - {query.id for query in queries})
    if strange:
        notes.append(f"{strange} marked queries are not in queries.jsonl and were left out.")
    marked = {document for query in queries for document in query.marked}
    missing = sorted(marked - known)
    if known and len(missing) == len(marked) and marked:
        raise InvalidInput(
            f"None of the {len(marked)} marked documents is in the corpus; the first is {missing[0]!r}.",
            hint="Check that qrels and corpus use the same ids.",
        )
    if known and missing:
        notes.append(f"{len(missing)} marked documents are not in the corpus and count as missed: {missing[0]!r}, ...")
    return tuple(notes)


def _either(folder: Path, name: str) -> Path | None:
    """The file of that name, plain or compressed."""
    return next((file for file in (folder / name, folder / f"{name}.gz") if file.is_file()), None)


def _each_once(lines: Iterable[tuple[str, dict[str, Any]]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The lines as they come; an id that was given before is an error."""
    seen: dict[str, str] = {}
    for where, fields in lines:
        identity = str(fields["_id"])
        if identity in seen:
            raise InvalidInput(f"{where}: the id {identity!r} was given before, on {seen[identity]}.")
        seen[identity] = where.rpartition(", ")[2]
        yield where, fields


def _lot(identity: str) -> bytes:
    return blake2b(identity.encode("utf-8", "backslashreplace"), digest_size=8).digest()
