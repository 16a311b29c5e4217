"""JSON and JSONL: every record as text that reads by itself, titles as headings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from hybridrag.documents.build import DocumentBuilder
from hybridrag.documents.formats import JSONL, PLAIN
from hybridrag.documents.readers.source_code import read_source_code
from hybridrag.documents.source import Source
from hybridrag.documents.tables import CELL_SEPARATOR, one_line
from hybridrag.errors import UnreadableDocument
from hybridrag.types.documents import BlockKind, Document

_TITLES: Final = ("title", "headline", "subject", "question", "name", "タイトル", "題名", "見出し", "件名", "質問")
_TEXTS: Final = (
    *("text", "body", "content", "contents", "passage", "abstract", "answer", "description", "message"),
    *("本文", "内容", "回答", "説明"),
)
"""Keys under which records keep their title and their text, best first."""
_MOST_BAD_LINES: Final = 0.1
"""A JSONL file with more broken lines than this is not JSONL."""


def read_json(source: Source) -> Document:
    """One block per record or top-level item; a file that is no JSON after all is read as text.

    '[{"title": "Plan", "text": "Go."}]' -> heading "Plan", paragraph "Go."

    Raises:
        UnreadableDocument: nested too deeply.
        DocumentTooLarge: more records than `max_rows`.
    """
    text = source.text()
    if source.mime_type == JSONL:
        return _lines(source, text)
    try:
        value = _loads(text)
    except ValueError:
        return _lines(source, text)
    writer = _Writer(source)
    title = writer.add_top(value)
    return writer.builder.document(title=title, title_from_heading=False)


def _loads(text: str) -> Any:
    # Numbers stay as they are written: they are to be found, not calculated with.
    return json.loads(text, parse_int=str, parse_float=str, parse_constant=str, strict=False)


def _lines(source: Source, text: str) -> Document:
    """One record a line; where lines are mostly no JSON the file is text."""
    writer = _Writer(source)
    good = bad = 0
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = _loads(line)
        except ValueError:
            bad += 1
            continue
        good += 1
        writer.add_record(value, level=1, line=number)
    if bad > _MOST_BAD_LINES * (good + bad) or not good:
        return replace(read_source_code(source), mime_type=source.mime_type if source.mime_type == JSONL else PLAIN)
    document = writer.builder.document(title_from_heading=False)
    return replace(document, mime_type=JSONL, metadata={"unreadable_lines": str(bad)} if bad else {})


class _Writer:
    """Turns values into blocks, counting records."""

    def __init__(self, source: Source) -> None:
        self.builder = DocumentBuilder(source)
        self._source = source
        self._records = 0
        self._line: int | None = None

    def add_top(self, value: Any) -> str | None:
        """Add the whole of a JSON file; a single record's title is the document's."""
        if isinstance(value, list):
            self._add_list(value, level=1)
        elif isinstance(value, dict) and _pick(value, _TEXTS):
            self.add_record(value, level=1)
            return _pick(value, _TITLES)
        elif isinstance(value, dict):
            for key, item in value.items():
                self._add_member(key, item)
            return _pick(value, ("title", "タイトル"))
        else:
            self._add(BlockKind.PARAGRAPH, str(value))
        return None

    def _add_member(self, key: str, value: Any) -> None:
        if isinstance(value, list) and any(isinstance(item, dict) for item in value):
            self.builder.add(BlockKind.HEADING, one_line(key), level=1)
            self._add_list(value, level=2)
        else:
            self._add(BlockKind.TABLE_ROW, _flat({key: value}))

    def _add_list(self, values: list[Any], *, level: int) -> None:
        for value in values:
            self.add_record(value, level=level)

    def add_record(self, value: Any, *, level: int, line: int | None = None) -> None:
        """Add one record: its title as a heading, its text as paragraphs, the rest as one row."""
        self._line = line
        text = _pick(value, _TEXTS) if isinstance(value, dict) else None
        if text is None:
            self._add(BlockKind.TABLE_ROW if isinstance(value, dict | list) else BlockKind.LIST_ITEM, _flat(value))
            return
        title = _pick(value, _TITLES)
        if title is not None or self.builder.first_heading:
            # Without one of its own, a record would seem to stand under the title of the one before.
            label = title or str(value.get("id") or f"#{self._records + 1}")
            self.builder.add(BlockKind.HEADING, one_line(label), level=level, line=line)
        for paragraph in text.split("\n\n"):
            self.builder.add(BlockKind.PARAGRAPH, paragraph, line=line)
        self._add(BlockKind.TABLE_ROW, _flat({key: item for key, item in value.items() if item not in (title, text)}))

    def _add(self, kind: BlockKind, text: str) -> None:
        self._records += 1
        self._source.check_rows(self._records)
        self.builder.add(kind, text, line=self._line)


def _pick(record: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    """The first text under one of the keys, whatever their case."""
    by_key = {key.lower(): value for key, value in record.items()}
    for key in keys:
        value = by_key.get(key)
        if isinstance(value, str) and value.strip():
            return value
    return None


def _flat(value: Any) -> str:
    """Every value with the path to it, on one line.

    {"a": {"b": 1}, "c": ["x", "y"]} -> "a.b: 1 | c: x, y"
    """
    return CELL_SEPARATOR.join(f"{path}: {text}" if path else text for path, text in _leaves("", value))


def _leaves(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(f"{path}.{one_line(key)}" if path else one_line(key), item)
    elif isinstance(value, list) and not any(isinstance(item, dict | list) for item in value):
        yield from _leaf(path, ", ".join(str(item) for item in value if item is not None))
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(path, item)
    elif value is not None:
        yield from _leaf(path, str(value).lower() if isinstance(value, bool) else str(value))


def _leaf(path: str, text: str) -> Iterator[tuple[str, str]]:
    if text := one_line(text):
        yield path, text


def read_notebook(source: Source) -> Document:
    """A Jupyter notebook: its Markdown cells as text, its code cells as code; outputs are left out.

    Raises:
        UnreadableDocument: not a notebook.
    """
    from hybridrag.documents.readers.markdown import mark, plain  # noqa: PLC0415 (needed here only)

    book = _notebook(source)
    builder = DocumentBuilder(source)
    for number, cell in enumerate(book, start=1):
        text = _cell_source(cell)
        if cell.get("cell_type") == "markdown":
            text, blocks, _ = mark(text)
            for block in blocks:
                words = text[block.start : block.end]
                heading = block.kind is BlockKind.HEADING
                builder.add(block.kind, plain(words) if heading else words, level=block.level, page=number)
        else:
            kind = BlockKind.CODE if cell.get("cell_type") == "code" else BlockKind.PARAGRAPH
            builder.add(kind, text, page=number)
    return builder.document()


def _notebook(source: Source) -> list[dict[str, Any]]:
    try:
        book = _loads(source.text())
    except ValueError as cause:
        raise UnreadableDocument(source.name, "is not a valid notebook: its JSON is broken") from cause
    cells = book.get("cells") if isinstance(book, dict) else None
    if not isinstance(cells, list):
        raise UnreadableDocument(source.name, "is not a notebook of format 4", hint="Open and save it in Jupyter.")
    return [cell for cell in cells if isinstance(cell, dict)]


def _cell_source(cell: dict[str, Any]) -> str:
    text = cell.get("source", "")
    return "".join(map(str, text)) if isinstance(text, list) else str(text)
