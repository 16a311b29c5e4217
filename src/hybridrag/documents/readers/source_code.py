"""Source code and settings files: the text as it is, cut where top-level definitions begin."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hybridrag.documents.readers.text import Line, lines_of
from hybridrag.documents.source import Source
from hybridrag.types.documents import Block, BlockKind, Document

_DEFINITION = re.compile(
    r"(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|pub(?:\([a-z]+\))?|unsafe|"
    r"open|data|sealed|inline|extern)\s+)*"
    r"(?:def|class|function|func|fn|interface|struct|enum|trait|impl|module|namespace|protocol|object|record|type|"
    r"CREATE|create|resource|message|service)\b"
)
_ATTACHED = re.compile(r"@|#\[|//|/\*|\*|#|--|;|\"\"\"|template\b|\[")
"""What stands directly above a definition and belongs to it: decorators, attributes, comments."""
_CLOSING = re.compile(r"[)}\]]|end\b|else\b|elif\b|except\b|finally\b|catch\b|fi\b|done\b|esac\b")


def read_source_code(source: Source) -> Document:
    r"""A CODE block per top-level unit; the text is the file's own, so that line numbers hold.

    "import os\n\ndef f():\n    return 1\n" -> "import os", "def f():\n    return 1"
    """
    text = source.text()
    return Document(text=text, blocks=tuple(_blocks(text)), mime_type=source.mime_type)


def _blocks(text: str) -> Iterator[Block]:
    first = last = None
    for line in lines_of(text):
        if not line.text or line.text.isspace():
            continue
        if first and last and _begins_unit(line, last):
            yield Block(BlockKind.CODE, first.start, last.end)
            first = None
        first, last = first or line, line
    if first and last:
        yield Block(BlockKind.CODE, first.start, last.end)


def _begins_unit(line: Line, last: Line) -> bool:
    if line.text[0].isspace() or _CLOSING.match(line.text):
        return False
    if line.start > last.start + len(last.text) + 1:
        return True  # an empty line lies between
    if not _DEFINITION.match(line.text):
        return False
    return last.text[0].isspace() or not _ATTACHED.match(last.text)
