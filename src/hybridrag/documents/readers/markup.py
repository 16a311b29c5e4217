"""Light markup besides Markdown: reStructuredText and Org as their source, LaTeX without its commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from hybridrag.documents.build import DocumentBuilder
from hybridrag.documents.lines import join_lines
from hybridrag.documents.readers.text import Line, indented, lines_of
from hybridrag.documents.source import Source
from hybridrag.documents.tables import find_header, row_text
from hybridrag.documents.unwrap import unwrapped
from hybridrag.types.documents import Block, BlockKind, Document

_UNDERLINE = re.compile(r"([=\-`:.'\"~^_*+#<>])\1{2,}$")
_ITEM = re.compile(r"\s*(?:[-*+•]|\(?(?:\d{1,3}|[a-zA-Z#])[.)])\s+\S")
_BORDER = re.compile(r"\s*[=+|-][=+|\s-]{4,}$")
_CODE_DIRECTIVE = re.compile(r"\s*\.\. (?:code-block|code|sourcecode|highlight|prompt|parsed-literal|literalinclude)::")
_EXPLICIT = re.compile(r"\s*\.\.(?:\s|$)")
_SPOKEN_DIRECTIVE = re.compile(r"\s*\.\. [\w:-]+::\s*(?=\S)")
_TOLD: Final = frozenset(
    {"image", "figure", "include", "toctree", "contents", "index", "only", "raw", "role", "default-role"}
)


def read_rst(source: Source) -> Document:
    r"""Headings by the order in which their underlines appear; literal blocks as code; comments left out.

    "Plan\n====\n\nRun::\n\n    make\n" -> heading "Plan", paragraph "Run::", code "make"
    """
    text = source.text()
    blocks = tuple(_rst_blocks(text))
    title = next((text[block.start : block.end] for block in blocks if block.kind is BlockKind.HEADING), None)
    return unwrapped(text, blocks, source.mime_type, title)


class _Group:
    """Lines in a row that become one block."""

    def __init__(self, kind: BlockKind = BlockKind.PARAGRAPH) -> None:
        self.kind = kind
        self.first: Line | None = None
        self.last: Line | None = None

    def add(self, line: Line) -> None:
        self.first = self.first or line
        self.last = line

    def block(self) -> Block | None:
        if self.first is None or self.last is None:
            return None
        start = self.first.start if self.kind is BlockKind.CODE else indented(self.first)
        return Block(self.kind, start, self.last.end) if start < self.last.end else None


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _rst_blocks(text: str) -> Iterator[Block]:
    levels: list[str] = []
    group = _Group()
    literal: int | None = None
    """While a literal block or a comment is read: the indentation that it lies deeper than."""
    silent = announced = False
    previous: Line | None = None
    for line in lines_of(text):
        blank = not line.text.strip()
        if literal is not None and not blank and _indent(line.text) <= literal:
            if block := group.block():
                yield block
            group, literal, silent = _Group(), None, False
        if literal is not None:
            if not blank and not silent:
                group.add(line)
            continue
        if blank:
            if announced and previous is not None:
                literal, announced = _indent(previous.text), False
            if block := group.block():
                yield block
            group = _Group(BlockKind.CODE if literal is not None else BlockKind.PARAGRAPH)
            continue
        announced = False
        mark = _UNDERLINE.match(line.text.rstrip())
        if mark and group.first is not None and group.first is group.last and group.kind is BlockKind.PARAGRAPH:
            heading, group = group.block(), _Group()
            style = mark[1]
            if style not in levels:
                levels.append(style)
            if heading:
                yield Block(BlockKind.HEADING, heading.start, heading.end, min(levels.index(style) + 1, 6))
        elif mark or _BORDER.match(line.text):
            if block := group.block():
                yield block
            group = _Group(BlockKind.TABLE_ROW if not mark else BlockKind.PARAGRAPH)
        elif _EXPLICIT.match(line.text):
            if block := group.block():
                yield block
            group, spoken = _Group(), _SPOKEN_DIRECTIVE.match(line.text)
            name = line.text.strip()[2:].strip().partition("::")
            if _CODE_DIRECTIVE.match(line.text):
                group, literal = _Group(BlockKind.CODE), _indent(line.text)
            elif not name[1] or name[0] in _TOLD or line.text.lstrip().startswith(".. _"):
                literal, silent = _indent(line.text), True
            elif spoken:
                group.add(Line(line.start + spoken.end(), line.text[spoken.end() :]))
        elif re.match(r"\s+:[\w-]+:", line.text) and group.first is None:
            continue  # an option of a directive
        else:
            is_item = bool(_ITEM.match(line.text))
            if (is_item or group.kind is BlockKind.TABLE_ROW) and (block := group.block()):
                yield block
                group = _Group(group.kind)
            if is_item:
                group = _Group(BlockKind.LIST_ITEM)
            group.add(line)
            announced = line.text.rstrip().endswith("::")
        previous = line
    if block := group.block():
        yield block


_ORG_HEADING = re.compile(
    r"(\*{1,8})\s+(?:(?:TODO|DONE|NEXT|WAITING)\s+)?(?:\[#[A-Z]\]\s+)?(?P<words>.*?)(?:\s+:[\w@:]+:)?\s*$"
)
_ORG_BEGIN = re.compile(r"\s*#\+BEGIN_(\w+)", re.IGNORECASE)
_ORG_END = re.compile(r"\s*#\+END_(\w+)", re.IGNORECASE)
_ORG_TITLE = re.compile(r"^#\+TITLE:[ \t]*(.+)$", re.IGNORECASE | re.MULTILINE)


def read_org(source: Source) -> Document:
    r"""Headings by their stars, lists, code; keywords and drawers left out.

    "* Plan\n- go\n" -> heading "Plan", list item "- go"
    """
    text = source.text()
    blocks = tuple(_org_blocks(text))
    found = _ORG_TITLE.search(text)
    first = next((text[block.start : block.end] for block in blocks if block.kind is BlockKind.HEADING), None)
    return unwrapped(text, blocks, source.mime_type, found[1].strip() if found else first)


def _org_blocks(text: str) -> Iterator[Block]:
    group = _Group()
    verbatim = drawer = False
    for line in lines_of(text):
        stripped = line.text.strip()
        kind: BlockKind | None = BlockKind.PARAGRAPH
        heading = None
        if verbatim and not _ORG_END.match(line.text):
            if stripped:
                group.add(line)
            continue
        if begin := _ORG_BEGIN.match(line.text):
            verbatim, kind = begin[1].upper() in {"SRC", "EXAMPLE"}, None
        elif _ORG_END.match(line.text):
            verbatim, kind = False, None
        elif re.fullmatch(r":[\w-]+:", stripped):
            drawer, kind = stripped.upper() != ":END:", None
        elif drawer or not stripped or stripped.startswith(("#+", "# ")) or re.fullmatch(r"\|[-+|]+", stripped):
            kind = None
        elif heading := _ORG_HEADING.match(line.text):
            kind = BlockKind.HEADING
        elif stripped.startswith("|"):
            kind = BlockKind.TABLE_ROW
        elif _ITEM.match(line.text):
            kind = BlockKind.LIST_ITEM
        # A paragraph goes on, and so does the text of an item.
        goes_on = kind is BlockKind.PARAGRAPH and group.first is not None and group.kind in {kind, BlockKind.LIST_ITEM}
        if not goes_on:
            if block := group.block():
                yield block
            group = _Group(BlockKind.CODE if verbatim else kind or BlockKind.PARAGRAPH)
        if heading and heading["words"]:
            level = min(len(heading[1]), 6)
            yield Block(
                BlockKind.HEADING, line.start + heading.start("words"), line.start + heading.end("words"), level
            )
        elif kind is not None and heading is None:
            group.add(line)
    if block := group.block():
        yield block


_TEX_LEVELS: Final = {
    "part": 1,
    "chapter": 1,
    "section": 2,
    "subsection": 3,
    "subsubsection": 4,
    "paragraph": 5,
    "frametitle": 2,
}
_TEX_HEADING = re.compile(
    r"\\(part|chapter|section|subsection|subsubsection|paragraph|frametitle)\*?\s*(?:\[[^\]]*\])?\s*\{"
)
_TEX_VERBATIM = re.compile(r"\s*\\begin\{(verbatim|lstlisting|minted|Verbatim|alltt)\*?\}")
_TEX_ENVIRONMENT = re.compile(
    r"\\begin\{(?:tabular[x*]?|longtable|array|minipage|multicols|thebibliography)\*?\}(?:\[[^\]]*\]|\{[^{}]*\})*"
    r"|\\(?:begin|end)\{[^}]*\}(?:\[[^\]]*\])?"
)
_TEX_COMMENT = re.compile(r"(?<!\\)%.*")
_TEX_SILENT = re.compile(
    r"\\(?:label|ref|eqref|pageref|cite[a-z]*|bibliography|bibliographystyle|includegraphics|input|include|usepackage|"
    r"documentclass|newcommand|renewcommand|def|vspace|hspace|setlength|index|pagestyle|thispagestyle|hypersetup|"
    r"newtheorem|setcounter|addtocounter|geometry|date|author|graphicspath)\*?(?:\[[^\]]*\]|\{[^{}]*\})*"
)
_TEX_ACCENT = re.compile(r"\\([`'^\"~=.uvHck])\{?(\w)\}?")
_ACCENTS: Final = {
    "`": "\u0300",
    "'": "\u0301",
    "^": "\u0302",
    "~": "\u0303",
    '"': "\u0308",
    "=": "\u0304",
    ".": "\u0307",
}
_TEX_COMMAND = re.compile(r"\\(?:[A-Za-z]+\*?(?:\[[^\]\n]*\])?|(?P<sign>[^A-Za-z\s]))")


def read_tex(source: Source) -> Document:
    r"""Sections as headings, items, tables as rows, verbatim text as code; formulas as they are written.

    "\section{Plan}\nGo \emph{now}." -> heading "Plan", paragraph "Go now."
    """
    text = source.text()
    builder = DocumentBuilder(source)
    begin = text.find("\\begin{document}")
    opening = text.count("\n", 0, begin) + 1 if begin >= 0 else 1
    title = re.search(r"\\title\*?(?:\[[^\]]*\])?\{((?:[^{}]|\{[^{}]*\})*)\}", text)
    _add_tex(builder, text[max(begin, 0) :], opening)
    return builder.document(title=_tex_plain(title[1]) if title else None)


def _add_tex(builder: DocumentBuilder, text: str, number: int) -> None:
    said: list[str] = []
    kind, began, verbatim = BlockKind.PARAGRAPH, number, ""
    rows: list[tuple[int, list[str]]] = []
    table = False

    def flush(next_kind: BlockKind = BlockKind.PARAGRAPH) -> None:
        nonlocal said, kind, began
        words = "\n".join(said) if kind is BlockKind.CODE else join_lines(said)
        builder.add(kind, words, line=began)
        said, kind, began = [], next_kind, number

    for number, line in enumerate(text.split("\n"), start=number):  # noqa: B020 (goes on from the given line)
        if verbatim:
            if f"\\end{{{verbatim}" in line:
                flush()
                verbatim = ""
            else:
                said.append(line)
            continue
        if match := _TEX_VERBATIM.match(line):
            flush(BlockKind.CODE)
            verbatim, began = match[1], number + 1
            continue
        source = _TEX_COMMENT.sub("", line)
        table = (
            table or bool(re.search(r"\\begin\{(?:tabular|longtable|tabularx)", source))
        ) and "\\end{" not in source
        if table and "&" in source:
            cells = [_tex_plain(cell) for cell in re.split(r"(?<!\\)&", source.replace("\\\\", ""))]
            rows.append((number, cells))
            continue
        if rows and not table:
            _add_tex_rows(builder, rows)
            rows = []
        if match := _TEX_HEADING.search(source):
            flush()
            words = _in_braces(source, match.end())
            builder.add(BlockKind.HEADING, _tex_plain(words), level=_TEX_LEVELS[match[1]], line=number)
        elif re.match(r"\s*\\(?:item|bibitem)\b", source):
            flush(BlockKind.LIST_ITEM)
            item = re.sub(
                r"^\s*\\(?:item|bibitem)\s*(?:\[([^\]]*)\])?(?:\{[^}]*\})?", lambda m: f"{m[1] or ''} ", source
            )
            said.append(_tex_plain(item))
        elif not source.strip():
            # A comment alone on its line ends no paragraph.
            if not line.strip():
                flush()
        else:
            if "\\begin{" in source or "\\end{" in source:
                flush()
            said.append(_tex_plain(source))
            began = began if len(said) > 1 else number
    _add_tex_rows(builder, rows)
    flush()


def _in_braces(source: str, start: int) -> str:
    """What stands from there to the brace that closes."""
    depth = 1
    for index in range(start, len(source)):
        depth += (source[index] == "{") - (source[index] == "}")
        if not depth:
            return source[start:index]
    return source[start:]


def _add_tex_rows(builder: DocumentBuilder, rows: list[tuple[int, list[str]]]) -> None:
    header = find_header([cells for _, cells in rows])
    for index, (number, cells) in enumerate(rows):
        names = rows[header][1] if header is not None and index > header else None
        builder.add(BlockKind.TABLE_ROW, row_text(cells, names), line=number)


def _tex_plain(text: str) -> str:
    """A line of LaTeX without its commands, their arguments kept; formulas stay as they are."""
    pieces = re.split(r"(\$[^$]*\$)", text)
    return "".join(piece if index % 2 else _tex_words(piece) for index, piece in enumerate(pieces)).strip()


def _tex_words(text: str) -> str:
    if "\\" in text:
        text = _TEX_SILENT.sub("", _TEX_ENVIRONMENT.sub(" ", text))
        text = re.sub(r"\\(?:href|textcolor|color)\{[^}]*\}", "", text)
        text = _TEX_ACCENT.sub(lambda match: match[2] + _ACCENTS.get(match[1], ""), text)
        text = text.replace("\\\\", " ")
        text = _TEX_COMMAND.sub(lambda match: match["sign"] or "", text)
    text = text.replace("{", "").replace("}", "").replace("~", " ")
    return text.replace("``", "“").replace("''", "”").replace("---", "—").replace("--", "–")
