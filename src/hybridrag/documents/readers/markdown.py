"""Markdown: the source is the stored text, but for tables and cut words; the line of every place is known."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from functools import cache
from typing import TYPE_CHECKING, Final

from hybridrag.documents.dates import parse_date
from hybridrag.documents.readers.text import Line, indented
from hybridrag.documents.source import Source
from hybridrag.documents.tables import are_names, one_line, row_text
from hybridrag.documents.unwrap import Edit, cut_edits, edited
from hybridrag.types.documents import Block, BlockKind, Document, LineMap

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_FRONT_MATTER = re.compile(r"(---|\+\+\+)[ \t]*\n(.*?\n)?(?:\1|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)
_FRONT_MATTER_WITHIN: Final = 20_000
_YAML_LINE = re.compile(r"([A-Za-z_][\w -]{0,40}):[ \t]+(.+)$")
_YAML_ITEM = re.compile(r"[ \t]*-[ \t]+(.+)$")
_MAX_NESTING: Final = 100
"""Lists within lists: the default of 20 loses text from the tenth level on."""
_TAG = re.compile(r"<!--.*?(?:-->|$)|<[^>]*>", re.DOTALL)
_HTML_LOOKED_AT: Final = 100_000


def read_markdown(source: Source) -> Document:
    r"""Headings, paragraphs, list items, table rows and code as blocks.

    "# Plan\n\n- go\n" -> heading "Plan" (its marks left out), list item "- go"
    """
    text = source.text()
    matter = _front_matter(text)
    text, blocks, lines = mark(text, start=matter.end)
    metadata = dict(matter.values)
    title = metadata.pop("title", None) or _first_heading(text, blocks)
    when = parse_date(metadata.get("date") or metadata.get("created"))
    changed = parse_date(metadata.get("updated") or metadata.get("lastmod") or metadata.get("modified"))
    return Document(
        text=text,
        blocks=blocks,
        mime_type=source.mime_type,
        title=title,
        created=when,
        modified=changed,
        metadata=metadata,
        lines=lines,
    )


def mark(text: str, *, start: int = 0) -> tuple[str, tuple[Block, ...], LineMap]:
    """Markdown from `start` (the beginning of a line) on as text, blocks and lines.

    The text is the source but for the rows of tables, which name their columns, and for words that line ends cut.
    """
    lines = _Lines(text, start)
    tokens = _parser().parse(text[start:])
    found = [*_blocks(tokens, lines), *_forgotten(tokens, lines)]
    blocks: list[Block] = []
    for block in sorted(found, key=lambda block: block.start):
        if block.start < block.end and (not blocks or block.start >= blocks[-1].end):
            blocks.append(block)
    return edited(text, blocks, sorted([*_named_rows(tokens, lines, blocks), *cut_edits(text, blocks)]))


def _named_rows(tokens: Sequence[Token], lines: _Lines, blocks: Sequence[Block]) -> Iterator[Edit]:
    """Every row of a table as "name: value | name: value"; the rule below the names goes."""
    rows = {block.start: block for block in blocks if block.kind is BlockKind.TABLE_ROW}
    names: list[str] | None = None
    cells: list[str] = []
    line, above, header = 0, -2, True
    for token in tokens if rows else ():
        if token.type == "table_open":
            names, header = None, True
        elif token.type == "tr_open":
            cells, line = [], (token.map or (0, 0))[0]
        elif token.type == "inline":
            cells.append(one_line(token.content).replace("\\|", "|"))
        elif token.type == "tr_close":
            block = rows.get(indented(lines[line]))
            text = row_text(cells, names)
            if block is None or not text:
                continue
            if line == above + 2:
                yield (
                    lines[above].start + len(lines[above].text),
                    lines[above + 1].start + len(lines[above + 1].text),
                    "",
                )
            yield block.start, block.end, text
            if header:
                names, above, header = cells if are_names(cells) else None, line, False
            else:
                above = -2


class _Lines:
    """The lines of a text by number, kept as offsets alone."""

    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self._starts = [start, *(match.end() for match in re.finditer("\n", text[start:]))]
        self._starts[1:] = [at + start for at in self._starts[1:]]

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, number: int) -> Line:
        """Line `number`, from 0; past the end there are empty ones."""
        if number >= len(self._starts):
            return Line(len(self._text), "")
        start = self._starts[number]
        end = self._starts[number + 1] - 1 if number + 1 < len(self._starts) else len(self._text)
        return Line(start, self._text[start:end])


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 (keeps start-up fast)

    # Inline markup is never looked at: its rules cost most of the time and are where odd input turns quadratic.
    parser = MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING})
    return parser.enable("table").disable("inline")


def _blocks(tokens: Sequence[Token], lines: _Lines) -> Iterator[Block]:
    items = 0
    for index, token in enumerate(tokens):
        if token.type == "list_item_open":
            items += 1
        elif token.type == "list_item_close":
            items -= 1
        elif token.type == "heading_open":
            yield _heading(tokens[index + 1], int(token.tag[1]), lines)
        elif token.map is not None:
            kind = _kind(token, in_list=items > 0)
            if kind is not None:
                yield _span(kind, lines, *_line_range(token, lines))


def _forgotten(tokens: Sequence[Token], lines: _Lines) -> Iterator[Block]:
    """Lines that no token stands for and that say something all the same: those nested past any sense."""
    covered = bytearray(len(lines))
    for token in tokens:
        if token.map is not None and token.type in _LEAVES:
            covered[token.map[0] : token.map[1]] = b"\x01" * (min(token.map[1], len(lines)) - token.map[0])
    number = covered.find(0)
    while number >= 0:
        words = _LINK_TARGET.sub("", lines[number].text[:_HTML_LOOKED_AT])
        if any(map(str.isalnum, words)):
            yield _span(BlockKind.PARAGRAPH, lines, number, number + 1)
        number = covered.find(0, number + 1)


_LEAVES: Final = frozenset({"paragraph_open", "heading_open", "table_open", "fence", "code_block", "html_block", "hr"})
_LINK_TARGET = re.compile(r"^ {0,3}\[[^\]]*\]:.*")


def _kind(token: Token, *, in_list: bool) -> BlockKind | None:
    if token.type == "paragraph_open":
        return BlockKind.LIST_ITEM if in_list else BlockKind.PARAGRAPH
    if token.type == "tr_open":
        return BlockKind.TABLE_ROW
    if token.type in {"fence", "code_block"}:
        return BlockKind.CODE if token.content.strip() else None
    if token.type == "html_block":
        return BlockKind.PARAGRAPH if _TAG.sub("", token.content[:_HTML_LOOKED_AT]).strip() else None
    return None


def _line_range(token: Token, lines: _Lines) -> tuple[int, int]:
    first, last = token.map or (0, 0)
    if token.type == "fence":
        closed = lines[last - 1].text.lstrip("> \t").startswith(token.markup[:3])
        return first + 1, last - 1 if closed and last - 1 > first else last
    return first, last


def _span(kind: BlockKind, lines: _Lines, first: int, last: int) -> Block:
    """Whole lines, with the empty ones at either end left out."""
    while first < last and not lines[first].text.strip():
        first += 1
    while first < last and not lines[last - 1].text.strip():
        last -= 1
    if first >= last:
        return Block(kind, 0, 0)
    start = lines[first].start if kind is BlockKind.CODE else indented(lines[first])
    return Block(kind, start, lines[last - 1].end)


def _heading(inline: Token, level: int, lines: _Lines) -> Block:
    """The heading's words alone: the marks around them are not part of what it says."""
    first, last = inline.map or (0, 0)
    span = _span(BlockKind.HEADING, lines, first, last)
    line, content = lines[first].text, inline.content.split("\n", 1)[0]
    at = line.find(content)
    if not content or at < 0 or last - first != 1:
        return Block(BlockKind.HEADING, span.start, span.end if content else span.start, level)
    return Block(BlockKind.HEADING, lines[first].start + at, lines[first].start + at + len(content), level)


def _first_heading(text: str, blocks: Sequence[Block]) -> str | None:
    for block in blocks:
        if block.kind is BlockKind.HEADING:
            return plain(text[block.start : block.end])
    return None


_LINK = re.compile(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_EMPHASIS = re.compile(r"(\*\*|__|\*|`+|~~)(.+?)\1")


def plain(inline: str) -> str:
    """A line of Markdown without its marks.

    "**Plan** for [2024](x.md)" -> "Plan for 2024"
    """
    return _TAG.sub("", _EMPHASIS.sub(r"\2", _LINK.sub(r"\1", inline))).strip()


@dataclass(frozen=True, slots=True)
class _FrontMatter:
    end: int
    values: dict[str, str]


def _front_matter(text: str) -> _FrontMatter:
    """The `key: value` lines that many tools put before the text, between `---` or `+++` lines."""
    match = _FRONT_MATTER.match(text[:_FRONT_MATTER_WITHIN])
    if match is None:
        return _FrontMatter(0, {})
    body = match[2] or ""
    values = _toml(body) if match[1] == "+++" else _yaml(body)
    # A rule followed by prose and another rule looks the same; it names no keys.
    return _FrontMatter(match.end(), values) if values or not body.strip() else _FrontMatter(0, {})


def _toml(body: str) -> dict[str, str]:
    try:
        table = tomllib.loads(body)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}
    return {key.lower(): _as_text(value) for key, value in table.items() if not isinstance(value, dict)}


def _as_text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return value.isoformat() if isinstance(value, date | datetime | time) else str(value)


def _yaml(body: str) -> dict[str, str]:
    """The scalar and list values of the top level: what titles, dates, authors and tags are written as."""
    values: dict[str, str] = {}
    key = ""
    for line in body.splitlines():
        if match := _YAML_LINE.match(line):
            key = match[1].strip().lower()
            values[key] = match[2].strip().strip("[]").strip("\"'")
        elif re.fullmatch(r"[A-Za-z_][\w -]{0,40}:\s*", line):
            key = line.strip().rstrip(":").lower()
        elif key and (item := _YAML_ITEM.match(line)):
            values[key] = ", ".join(filter(None, [values.get(key), item[1].strip().strip("\"'")]))
    return values
