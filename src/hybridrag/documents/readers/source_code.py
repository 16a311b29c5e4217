"""Source code and settings: the text as it is, cut where definitions begin, each under the names that it stands in.

One scanner for all languages: definitions are recognised by their keywords or their shape, and what is inside of what
by indentation. Broken files and languages without a grammar are read like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from hybridrag.documents.formats import INI, TOML, YAML
from hybridrag.documents.readers.text import Line, lines_of
from hybridrag.documents.source import Source
from hybridrag.types.documents import Block, BlockKind, Document, LineMap

_MODIFIERS: Final = (
    r"(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|override|virtual|const|declare|"
    r"pub(?:\([a-z]+\))?|unsafe|open|data|sealed|inline|extern|synchronized|partial|suspend|mutating)\s+)*"
)
_KEYWORDS: Final = (
    r"(?P<keyword>def|class|function\*?|func|fn|fun|sub|interface|struct|enum|trait|impl|module|namespace|protocol|object|"
    r"record|type|resource|message|service|extension|mixin|actor|package|defmodule|defp?|union|procedure)"
)
_DEFINITION = re.compile(
    # A receiver (Go), type parameters (Rust) may stand before the name.
    rf"\s*{_MODIFIERS}{_KEYWORDS}\b\s*(?:\([^)]{{0,80}}\)\s*)?(?:<[^>]{{0,80}}>\s*)?(?P<name>[\w$.:\"'~?!-]{{1,80}})"
)
_CREATED = re.compile(
    r"\s*CREATE\s+(?:OR\s+REPLACE\s+)?(?:\w+\s+){1,3}?(?:IF\s+NOT\s+EXISTS\s+)?(?P<name>[\w.\"`]+)", re.IGNORECASE
)
_BOUND = re.compile(
    r"\s*(?:export\s+)?(?:const|let|var)\s+(?P<name>[\w$]+)\s*=\s*(?:async\s*)?(?:function\b|\([^)]{0,200}\)\s*=>)"
)
_CALLABLE = re.compile(
    r"\s*(?!(?:if|for|while|switch|catch|return|else|do|new|throw|await|elif|with|match|when|until|unless)\b)"
    r"[\w$<>\[\],.*&:?~@ \t]{0,120}?(?P<name>[A-Za-z_$~][\w$]*)\s*\([^;{}]{0,300}\)?[^;{}=]{0,80}\{\s*$"
)
_HOLDERS: Final = frozenset(
    {
        *("class", "interface", "struct", "enum", "trait", "impl", "module", "namespace", "protocol", "object"),
        *("extension", "mixin", "actor", "record", "defmodule", "service"),
    }
)
"""What holds definitions worth a name of their own; a function inside of a function is part of it."""
_SECTION = re.compile(r"(?P<name>\[+[^\]\n]{1,120}\]+)\s*(?:[#;].*)?$")
_KEY = re.compile(r"(?P<name>[\"']?[\w./ -]{1,80}[\"']?)\s*:\s*(?:[&#|>].*)?$")
_ATTACHED = re.compile(r"\s*(?:@|#\[|//|/\*|\*|#|--|;|\"\"\"|template\b|\[)")
"""What stands directly above a definition and belongs to it: decorators, attributes, comments."""
_CLOSING = re.compile(r"\s*(?:[)}\]]|end\b|else\b|elif\b|except\b|finally\b|catch\b|fi\b|done\b|esac\b|\{)")
_LONGEST_LINE: Final = 400
"""A longer line defines nothing: it is data, or was made by a program."""


def read_source_code(source: Source) -> Document:
    r"""A CODE block per definition; the text is the file's own, so that line numbers hold.

    "import os\n\nclass A:\n    def f(self): ..." -> "import os", "class A:" in (A), "def f..." in (A, f)
    """
    text = source.text()
    blocks = tuple(_blocks(text, source.mime_type))
    return Document(text=text, blocks=blocks, mime_type=source.mime_type, lines=LineMap.of_text(text))


def _blocks(text: str, mime_type: str) -> Iterator[Block]:
    scanner = _Scanner(mime_type)
    for line in lines_of(text):
        if not line.text or line.text.isspace():
            scanner.skip()
        else:
            yield from scanner.take(line)
    yield from scanner.end()


class _Scanner:
    """Takes lines one by one and gives back the block that ends before each."""

    def __init__(self, mime_type: str) -> None:
        self._type = mime_type
        self._scope: list[tuple[int, str, bool]] = []
        """Indentation, name, and whether it holds definitions: what the current line is in."""
        self._within: tuple[str, ...] = ()
        self._first: Line | None = None
        self._last: Line | None = None
        self._run: tuple[Line, Line | None, bool] | None = None
        """The first of the comments and decorators directly above, the line before it, whether a gap lies between."""
        self._gap = False

    def skip(self) -> None:
        """Take an empty line."""
        self._gap, self._run = True, None

    def end(self) -> Iterator[Block]:
        """The last block."""
        if self._first and self._last:
            yield Block(BlockKind.CODE, self._first.start, self._last.end, within=self._within)

    def take(self, line: Line) -> Iterator[Block]:
        """The block that ends before this line, if one does."""
        run = self._run or (line, self._last, self._gap)
        self._gap, self._last = False, line
        if _ATTACHED.match(line.text) and not (self._type in {TOML, INI} and line.text.startswith("[")):
            self._run, self._first = run, self._first or line
            return
        self._run = None
        begin, before, after_gap = run
        indent = len(line.text) - len(line.text.lstrip())
        starts, closing = self._enter(line, indent)
        if before is not None and self._first and (starts or (after_gap and indent == 0 and not closing)):
            yield Block(BlockKind.CODE, self._first.start, before.end, within=self._within)
            self._first = None
        if self._first in {None, begin}:
            self._first, self._within = begin, tuple(name for _, name, _ in self._scope)

    def _enter(self, line: Line, indent: int) -> tuple[bool, bool]:
        """Whether a line begins a definition of its own, and whether it closes something."""
        name, holds = _defined(line, self._type)
        closing = bool(_CLOSING.match(line.text))
        while self._scope and self._scope[-1][0] >= indent and not closing:
            self._scope.pop()
        starts = name is not None and all(holder for _, _, holder in self._scope)
        if name is not None and starts:
            self._scope.append((indent, name, holds))
        return starts, closing


def _defined(line: Line, mime_type: str) -> tuple[str | None, bool]:
    """The name that a line defines, and whether definitions inside of it have names of their own."""
    text = line.text
    if len(text) > _LONGEST_LINE:
        return None, False
    if mime_type in {TOML, INI, YAML}:
        match = (_KEY if mime_type == YAML else _SECTION).match(text)
        return (match["name"].strip("[]\"' "), False) if match else (None, False)
    if match := _DEFINITION.match(text):
        return match["name"].strip(":\"'."), match["keyword"] in _HOLDERS
    # The marks are looked for first: most lines have none of them.
    match = _CREATED.match(text) if text.lstrip()[:6].upper() == "CREATE" else None
    if "=" in text and "(" in text:
        match = match or _BOUND.match(text)
    if "(" in text and text.rstrip().endswith("{"):
        match = match or _CALLABLE.match(text)
    return (match["name"].strip('"`'), False) if match else (None, False)
