"""Manual pages (roff): sections as headings, options with what they do, examples as code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from hybridrag.documents.build import DocumentBuilder
from hybridrag.documents.readers.text import lines_of, read_text
from hybridrag.documents.source import Source
from hybridrag.types.documents import BlockKind, Document

_SECTIONS: Final = {"SH": 1, "Sh": 1, "SS": 2, "Ss": 2}
_BREAKS: Final = frozenset({"PP", "P", "LP", "Pp", "sp", "br", "RS", "RE", "Bl", "El", "HP", "in", "ti", "Bk", "Ek"})
_CODE_BEGINS: Final = frozenset({"nf", "EX", "Bd", "DS", "Vb", "CS"})
_CODE_ENDS: Final = frozenset({"fi", "EE", "Ed", "DE", "Ve", "CE"})
_FONTS: Final = frozenset({"B", "I", "R", "SM", "SB", "CW"})
_MIXED_FONTS: Final = frozenset({"BI", "BR", "IB", "IR", "RB", "RI"})
_ITEMS: Final = frozenset({"TP", "TQ", "IP", "It"})
_DROPPED: Final = re.compile(
    r"TH|Dd|Dt|Os|\\\"|if|ie|el|de\d?|ds|nr|ad|hy|nh|na|ne|rm|rr|tr|so|ig|ft|ta|tm|pc|ps|vs|ll|pl|UC|PD|AT|UE|ME|mso|"
    r"cc|ev|fam|hc|hla|hpf|lf|ss|wh|while|IX|de1|am|als|do|warn|tm|ab|ex|nx|bp|cs|fp|it|mk|rt|sv|os"
)
_SIGNS: Final = {
    "aq": "'",
    "dq": '"',
    "lq": "“",
    "rq": "”",
    "oq": "‘",
    "cq": "’",
    "bu": "•",
    "em": "—",
    "en": "–",
    "co": "©",
    "rs": "\\",
    "ti": "~",
    "ha": "^",
    "ga": "`",
    "tm": "™",
    "mu": "×",
    "+-": "±",
    "->": "→",
    "<-": "←",
    "<=": "≤",
    ">=": "≥",
    "sl": "/",
    "ba": "|",
    "lB": "[",
    "rB": "]",
    "lC": "{",
    "rC": "}",
    "at": "@",
    "sh": "#",
    "Do": "$",
    "mi": "-",
    "hy": "-",
    "Fo": "«",
    "Fc": "»",
    "ss": "ß",
    "de": "°",
    "==": "≡",
    "!=": "≠",
    "la": "<",
    "ra": ">",
}
_ESCAPE = re.compile(
    r"\\(?:f(?:\(..|\[[^\]]*\]|.)|s[-+]?(?:\d|\(..|\[[^\]]*\])|\((?P<two>..)|\[(?P<name>[^\]]*)\]|\*(?:\(..|\[[^\]]*\]|.)"
    r"|[mMFn](?:\(..|\[[^\]]*\]|.)|[hvwlLDoxXZbNS]'[^']*'|(?P<one>.))"
)
_COMMENT = re.compile(r"\\[\"#].*")


def read_manual(source: Source) -> Document:
    r"""The page as a reader sees it; a file without roff requests is read as text.

    ".SH OPTIONS\n.TP\n.B \-v\nSay more." -> heading "OPTIONS", list item "-v\nSay more."
    """
    text = source.text()
    if not re.search(r"^[.'](?:TH|SH|Sh|Dd|so) ", text, re.MULTILINE):
        return read_text(source)
    page = _Page(DocumentBuilder(source))
    skipping = ""
    for number, line in enumerate(lines_of(text), start=1):
        if skipping:
            skipping = "" if line.text.startswith(skipping) else skipping
        elif match := re.match(r"[.']\s*(?:de|am|ig)\w*(?:\s+\S+(?:\s+(\S+))?)?", line.text):
            skipping = f".{match[1] or '.'}"
        else:
            page.read(line.text, number)
    page.flush()
    title = re.search(r"^\.(?:TH|Dt)\s+\"?([^\s\"]+)\"?\s+\"?(\w+)", text, re.MULTILINE)
    return page.builder.document(title=f"{_plain(title[1]).lower()}({title[2]})" if title else None)


class _Page:
    """Gathers lines into blocks."""

    def __init__(self, builder: DocumentBuilder) -> None:
        self.builder = builder
        self._words: list[str] = []
        self._line = 0
        self._tags: list[str] = []
        self._wants_tag = False
        self._level = 0
        self._code = False
        self._name = ""

    def read(self, line: str, number: int) -> None:
        """Take one line of the source."""
        if line.startswith((".", "'")):
            self._request(line, number)
        elif not line.strip() and not self._code:
            self.flush()
        else:
            self._say(_plain(line), number)

    def flush(self) -> None:
        """End the block in work."""
        words = "\n".join(self._words) if self._code else " ".join(self._words)
        tag = ", ".join(self._tags)
        if self._level:
            self.builder.add(BlockKind.HEADING, words, level=self._level, line=self._line)
        elif self._code:
            self.builder.add(BlockKind.CODE, words, line=self._line)
        elif tag:
            self.builder.add(BlockKind.LIST_ITEM, f"{tag}\n{words}", line=self._line)
        else:
            self.builder.add(BlockKind.PARAGRAPH, words, line=self._line)
        self._words, self._tags, self._wants_tag, self._level = [], [], False, 0

    def _say(self, words: str, number: int) -> None:
        if not self._words and not self._tags:
            self._line = number
        if self._wants_tag and words.strip():
            self._tags.append(words.strip())
            self._wants_tag = False
        elif self._code or words.strip():
            self._words.append(words if self._code else words.strip())
        if self._level:
            self.flush()

    def _request(self, line: str, number: int) -> None:
        name, _, rest = line[1:].strip().partition(" ")
        name, rest = name.partition("\t")[0], _COMMENT.sub("", rest).strip().replace("\\ ", "\u00a0")
        if name in _SECTIONS:
            self._end_code()
            self.flush()
            self._level = _SECTIONS[name]
            if rest:
                self._say(" ".join(_arguments(rest)), number)
        elif name in _CODE_BEGINS:
            self.flush()
            self._code = True
        elif name in _CODE_ENDS:
            self._end_code()
        elif name in _ITEMS:
            self._item(name, rest, number)
        elif name in _BREAKS:
            if not self._code:
                self.flush()
        else:
            self._say(self._inline(name, rest), number)

    def _inline(self, name: str, rest: str) -> str:
        """What a request that stands in running text puts there."""
        if name in _FONTS:
            return " ".join(_arguments(rest))
        if name in _MIXED_FONTS:
            return "".join(_arguments(rest))
        if name in {"UR", "MT"}:
            return f"<{rest}>"
        if not name or _DROPPED.fullmatch(name) or name.startswith(("\\", '"')):
            return ""
        return " ".join(self._mdoc([name, *_arguments(rest)]))

    def _item(self, name: str, rest: str, number: int) -> None:
        # Several tags may share what is said of them (.TQ, or .TP right after .TP's tag).
        tags = self._tags if name == "TQ" and not self._words else []
        self._end_code()
        if not tags:
            self.flush()
        arguments = list(_arguments(rest))
        self._line = number
        if name == "It" and arguments:
            self._tags.append(" ".join(self._mdoc(arguments)))
        elif name == "IP" and arguments:
            self._tags.append(arguments[0])
        else:
            self._wants_tag = name != "IP"

    def _end_code(self) -> None:
        if self._code:
            self.flush()
            self._code = False

    def _mdoc(self, words: list[str]) -> Iterator[str]:
        """Words of BSD's manuals, in which macros stand between them."""
        flag = False
        for index, word in enumerate(words):
            if word == "Nm":
                if index + 1 < len(words) and not self._name:
                    self._name = words[index + 1]
                if index + 1 >= len(words) or len(words[index + 1]) == 1:
                    yield self._name
            elif word == "Fl":
                flag = True
            elif len(word) == 2 and word[0].isupper() and word[1].islower():
                continue
            else:
                yield f"-{word}" if flag else word
                flag = False
        if flag:
            yield "-"


def _arguments(rest: str) -> Iterator[str]:
    """The arguments of a request: separated by spaces, with double quotes around those that hold any."""
    for match in re.finditer(r'"((?:[^"]|"")*)"?|(\S+)', rest):
        yield _plain((match[1] or "").replace('""', '"') if match[2] is None else match[2])


def _plain(text: str) -> str:
    r"""Text without roff's escapes: "\fB\-v\fR" -> "-v"."""
    return _ESCAPE.sub(_unescaped, _COMMENT.sub("", text)) if "\\" in text else text


def _unescaped(match: re.Match[str]) -> str:
    sign = match["two"] or match["name"]
    if sign:
        if match["name"] and (code := re.fullmatch(r"u([0-9A-Fa-f]{4,6})", sign)):
            return chr(int(code[1], 16)) if int(code[1], 16) < 0x110000 else ""
        return _SIGNS.get(sign, "")
    one = match["one"]
    if one is None:
        return ""
    return {"-": "-", "e": "\\", "E": "\\", " ": " ", "~": " ", "0": " ", "'": "'", "`": "`", "t": "\t", ".": "."}.get(
        one, "" if one in "&/,|^%:cdupz{}" else one
    )
