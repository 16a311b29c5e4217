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
    reader = _Rst()
    for line in lines_of(text):
        yield from reader.take(line)
    yield from reader.end()


class _Rst:
    """Takes lines one by one and gives back the blocks that end with them."""

    def __init__(self) -> None:
        self._levels: list[str] = []
        """Marks that underline headings, in the order in which they came."""
        self._group = _Group()
        self._literal: int | None = None
        """While a literal block or a comment is read: the indentation that it lies deeper than."""
        self._silent = False
        self._announced: int | None = None
        """The indentation of a line that ended with "::", until the literal block begins."""

    def end(self, kind: BlockKind = BlockKind.PARAGRAPH) -> Iterator[Block]:
        """The block in work; the next one is of `kind`."""
        block, self._group = self._group.block(), _Group(kind)
        if block:
            yield block

    def take(self, line: Line) -> Iterator[Block]:
        """The blocks that end with this line."""
        blank = not line.text.strip()
        if self._literal is not None and not blank and _indent(line.text) <= self._literal:
            yield from self.end()
            self._literal, self._silent = None, False
        if self._literal is not None:
            if not blank and not self._silent:
                self._group.add(line)
        elif blank:
            self._literal, self._announced = self._announced, None
            yield from self.end(BlockKind.PARAGRAPH if self._literal is None else BlockKind.CODE)
        else:
            self._announced = None
            yield from self._say(line)

    def _say(self, line: Line) -> Iterator[Block]:
        group = self._group
        mark = _UNDERLINE.match(line.text.rstrip())
        if mark and group.first is not None and group.first is group.last and group.kind is BlockKind.PARAGRAPH:
            heading, self._group = group.block(), _Group()
            if mark[1] not in self._levels:
                self._levels.append(mark[1])
            if heading:
                level = min(self._levels.index(mark[1]) + 1, 6)
                yield Block(BlockKind.HEADING, heading.start, heading.end, level)
        elif mark or _BORDER.match(line.text):
            yield from self.end(BlockKind.PARAGRAPH if mark else BlockKind.TABLE_ROW)
        elif _EXPLICIT.match(line.text):
            yield from self.end()
            self._explicit(line)
        elif group.first is not None or not _OPTION.match(line.text):
            if _ITEM.match(line.text):
                yield from self.end(BlockKind.LIST_ITEM)
            elif group.kind is BlockKind.TABLE_ROW:
                yield from self.end(BlockKind.TABLE_ROW)
            self._group.add(line)
            self._announced = _indent(line.text) if line.text.rstrip().endswith("::") else None

    def _explicit(self, line: Line) -> None:
        """A directive, a target or a comment."""
        name, colons, _ = line.text.strip()[2:].strip().partition("::")
        if _CODE_DIRECTIVE.match(line.text):
            self._group, self._literal = _Group(BlockKind.CODE), _indent(line.text)
        elif not colons or name in _TOLD or name.startswith("_"):
            self._literal, self._silent = _indent(line.text), True
        elif spoken := _SPOKEN_DIRECTIVE.match(line.text):
            self._group.add(Line(line.start + spoken.end(), line.text[spoken.end() :]))


_OPTION = re.compile(r"\s+:[\w-]+:")
"""An option of a directive, where no text stands above it."""

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
        if verbatim and not _ORG_END.match(line.text):
            if line.text.strip():
                group.add(line)
            continue
        begin = _ORG_BEGIN.match(line.text)
        verbatim = begin is not None and begin[1].upper() in {"SRC", "EXAMPLE"}
        if _ORG_DRAWER.match(line.text):
            drawer = line.text.strip().upper() != ":END:"
        kind = None if drawer else _org_kind(line.text)
        # A paragraph goes on, and so does the text of an item.
        if kind is BlockKind.PARAGRAPH and group.first is not None and group.kind in {kind, BlockKind.LIST_ITEM}:
            group.add(line)
            continue
        if block := group.block():
            yield block
        group = _Group(BlockKind.CODE if verbatim else kind or BlockKind.PARAGRAPH)
        heading = _ORG_HEADING.match(line.text)
        if heading and kind is BlockKind.HEADING:
            start, end = heading.span("words")
            yield Block(BlockKind.HEADING, line.start + start, line.start + end, min(len(heading[1]), 6))
        elif kind is not None:
            group.add(line)
    if block := group.block():
        yield block


_ORG_DRAWER = re.compile(r"\s*:[\w-]+:\s*$")
_ORG_SILENT = re.compile(r"\s*(?:#\+|# |:[\w-]+:\s*$|\|[-+|]+\s*$|$)")


def _org_kind(text: str) -> BlockKind | None:
    """What a line is outside of code; None for one that says nothing."""
    if _ORG_SILENT.match(text):
        return None
    if heading := _ORG_HEADING.match(text):
        return BlockKind.HEADING if heading["words"] else None
    if text.lstrip().startswith("|"):
        return BlockKind.TABLE_ROW
    return BlockKind.LIST_ITEM if _ITEM.match(text) else BlockKind.PARAGRAPH


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
    reader = _Tex(builder)
    for count, line in enumerate(text.split("\n"), start=number):
        reader.take(line, count)
    reader.end()


class _Tex:
    """Takes lines one by one and adds the blocks that they make."""

    def __init__(self, builder: DocumentBuilder) -> None:
        self._builder = builder
        self._said: list[str] = []
        self._kind = BlockKind.PARAGRAPH
        self._line = 1
        self._verbatim = ""
        self._rows: list[tuple[int, list[str]]] = []
        self._table = False

    def end(self, kind: BlockKind = BlockKind.PARAGRAPH) -> None:
        """Add the block in work; the next one is of `kind`."""
        words = "\n".join(self._said) if self._kind is BlockKind.CODE else join_lines(self._said)
        self._builder.add(self._kind, words, line=self._line)
        self._said, self._kind = [], kind
        header = find_header([cells for _, cells in self._rows])
        for index, (number, cells) in enumerate(self._rows):
            names = self._rows[header][1] if header is not None and index > header else None
            self._builder.add(BlockKind.TABLE_ROW, row_text(cells, names), line=number)
        self._rows = []

    def take(self, line: str, number: int) -> None:
        """Read one line."""
        if self._verbatim:
            if f"\\end{{{self._verbatim}" in line:
                self.end()
                self._verbatim = ""
            else:
                self._say(line, number)
            return
        if match := _TEX_VERBATIM.match(line):
            self.end(BlockKind.CODE)
            self._verbatim = match[1]
            return
        source = _TEX_COMMENT.sub("", line)
        if source.strip():
            self._read(source, number)
        elif not line.strip():  # a comment alone on its line ends no paragraph
            self.end()

    def _say(self, words: str, number: int) -> None:
        if not self._said:
            self._line = number
        self._said.append(words)

    def _read(self, source: str, number: int) -> None:
        self._table = (self._table or bool(_TEX_TABLE.search(source))) and "\\end{" not in source
        if self._table and "&" in source:
            cells = re.split(r"(?<!\\)&", source.replace("\\\\", ""))
            self._rows.append((number, [_tex_plain(cell) for cell in cells]))
        elif match := _TEX_HEADING.search(source):
            self.end()
            words = _in_braces(source, match.end())
            self._builder.add(BlockKind.HEADING, _tex_plain(words), level=_TEX_LEVELS[match[1]], line=number)
        elif match := _TEX_ITEM.match(source):
            self.end(BlockKind.LIST_ITEM)
            self._say(_tex_plain(f"{match[1] or ''} {source[match.end() :]}"), number)
        else:
            if "\\begin{" in source or "\\end{" in source:
                self.end()
            self._say(_tex_plain(source), number)


_TEX_TABLE = re.compile(r"\\begin\{(?:tabular|longtable|tabularx)")
_TEX_ITEM = re.compile(r"\s*\\(?:item|bibitem)\b\s*(?:\[([^\]]*)\])?(?:\{[^}]*\})?")


def _in_braces(source: str, start: int) -> str:
    """What stands from there to the brace that closes."""
    depth = 1
    for index in range(start, len(source)):
        depth += (source[index] == "{") - (source[index] == "}")
        if not depth:
            return source[start:index]
    return source[start:]


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
