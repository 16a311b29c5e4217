"""What of a passage is quoted around the stretch that answers: its sentence, row, list or command, never a heading."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from hybridrag.language.sentences import sentences

SHORTEST, LONGEST = 8, 600
"""Characters of one quotation: "No." is none, and a list without full stops is one sentence as long as its page."""

AROUND, STEPS = 2, 3
"""Sentences of a paragraph that are quoted, and as many where a reason or a way to do it is asked for."""

Span = tuple[int, int]

_JAPANESE = re.compile("[\u3041-\u30ff\u4e00-\u9fff]")
_DELIMITER = re.compile(r"\|?\s*:?-+:?\s*(?:\|\s*:?-*:?\s*)*")
_ITEM = re.compile(r"\s*(?:[-*+•・]\s|\(?\d{1,2}[.)．、)]\s?(?!\d))")
_NUMBERED = re.compile(r"\s*\(?\d{1,2}[.)．、)]\s?(?!\d)")
_BLOCK_END = re.compile(rf"\n[^\S\n]*\n|\n(?={_ITEM.pattern})")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_INDENTED = re.compile(r"(?: {4}|\t)\s*\S|\s*\$ \S")
_POINTS_BACK = re.compile(
    r"\W*(?:it|its|this|that|these|those|they|their|he|his|she|her|there|such|so|then)\b|[これそあ][れのこ]|同[社氏校店所]",
    re.IGNORECASE,
)
_ASKS = re.compile(r"[?？]\W*$")
_SAYS = re.compile(r"[.!。！][\"'”’»」』）)*_]*$")
_BOLD = re.compile(r"(\*\*|__)(?=\S)([^*_]+)\1")
_EDGE = " \t\r\n\u3000|*_`#>,.;:、。，．；：・"
_NUMBER_GOES_ON = re.compile(r"\d[.,:]\d")
_PHRASE_END = re.compile(r"[;、。，；：!?！？\n|]|[,.:](?=\s|$)|\s[-–—]\s|——?")


@dataclass(frozen=True, slots=True)
class Quoted:
    """Characters `start` to `end` of a text, and how they are shown."""

    start: int
    end: int
    shown: str
    verbatim: bool = False
    """Whether lines of code or of a list follow the first."""


def quote(text: str, stretch: Span, *, silent: Sequence[Span] = (), goes_on: bool = False) -> Quoted | None:
    """The sentence around a stretch, with what belongs to it; None where nothing but headings is left.

    "Founded in 1987. It makes clocks.", the place of "1987" -> "Founded in 1987."

    A row of a table comes with the names of its columns, a command with the line that announces it, a list with its
    first line. `goes_on` asks for the sentences or steps that follow in the same paragraph too. `silent` lines are
    headings and the question itself.
    """
    line = _line(text, stretch)
    block = next((one for one in _blocks_of_code(text) if one[0] <= stretch[0] < one[1]), None)
    if not block and _is_row(text[slice(*line)]):
        # One cell over and over is how a heading across the columns comes out.
        cells = _cells(text[slice(*line)])
        return Quoted(*line, _row(text, line)) if len(set(cells)) > 1 or len(cells) == 1 else None
    whole = _announced(text, block, silent) if block else _sentence(text, stretch, silent, goes_on=goes_on)
    if whole is None:
        return None
    payload = _payload(text, whole[1]) if not block else None
    start, end = whole[0], payload[1] if payload else whole[1]
    if end - start > LONGEST:
        cut = max(start, min(stretch[0], end - LONGEST))
        start = cut if cut == start else _next_word(text, cut, stretch[0])
        end = max(stretch[1], min(end, start + LONGEST))
    return Quoted(start, end, shown(text[start:end]), bool(block or payload))


def _next_word(text: str, at: int, latest: int) -> int:
    """Where the next line or word begins, so that nothing is cut in two."""
    gap = next((place for sign in "\n " if 0 <= (place := text.find(sign, at, latest)) < latest), latest - 1)
    return gap + 1


def shown(text: str) -> str:
    """A quotation as it is read: wrapped lines joined; lists, logs and code by lines, without fences and bold marks.

    "It opened", line break, "in 1874." -> "It opened in 1874."
    """
    text = text.strip("\n")
    code = _blocks_of_code(text)
    out: list[str] = []
    wrapped = False
    at = 0
    records = not code and _are_records(text.splitlines())
    for line in text.splitlines(keepends=True):
        verbatim = any(start <= at < end for start, end in code)
        at += len(line)
        if not line.strip() or _FENCE.match(line):
            wrapped = False
        elif verbatim or records:
            out.append(line.rstrip() if verbatim else line.strip())
            wrapped = False
        elif wrapped and not _ITEM.match(line):
            glue = "" if _JAPANESE.match(out[-1][-1]) and _JAPANESE.match(line.strip()) else " "
            out[-1] += glue + " ".join(line.split())
        else:
            out.append(" ".join(line.split()))
            wrapped = True
    return "\n".join(line if line[:1].isspace() else _BOLD.sub(r"\2", line) for line in out)


def prose(text: str, silent: Sequence[Span] = ()) -> list[Span]:
    """The sentences of a text that end as sentences do: no headings, rows, questions or labels.

    "# Fees", blank line, "Fees rose by a tenth." -> the place of the sentence
    """
    spans = [_past(text, one, [*silent, *_blocks_of_code(text)]) for one in sentences(text)]
    return [
        one
        for one in spans
        if _SAYS.search(text[slice(*one)]) and SHORTEST <= one[1] - one[0] <= LONGEST and not _is_row(text[slice(*one)])
    ]


def within_block(text: str, stretch: Span, silent: Sequence[Span] = ()) -> Span:
    """The longest part of a stretch that runs over no heading, blank line, item of a list or line of code.

    "Closed. ## Visiting Open from May", each on its line -> "Open from May"
    """
    start, end = stretch
    code = _blocks_of_code(text)
    edges = [start, end, *(place for one in (*silent, *code) for place in one)]
    edges += [match.end() for match in _BLOCK_END.finditer(text, start, end)]
    edges += [at + 1 for one in code for at in range(*one) if text[at] == "\n"]
    inside = sorted({min(max(edge, start), end) for edge in edges})
    parts = [one for one in pairwise(inside) if not any(a <= one[0] < b for a, b in silent)]
    return max(parts, key=lambda one: one[1] - one[0], default=stretch)


def complete(text: str, stretch: Span, *, clause: bool = False) -> Span:
    """The stretch grown to whole words, to the whole cell of a row or, where a reason is asked for, to its clause.

    "fee: 5.5 mm | due: May", the place of "5.5" -> that of "5.5 mm"
    """
    start, end = stretch
    while 0 < start < end and _joined(text, start):
        start -= 1
    while end < len(text) and _joined(text, end):
        end += 1
    line = _line(text, (start, end))
    if _is_row(text[slice(*line)]):
        start, end = _cell(text, line, (max(start, line[0]), min(end, line[1])))
    elif clause:
        edges = [match.end() for match in _PHRASE_END.finditer(text, line[0], start)]
        start = edges[-1] if edges else line[0]
        after = _PHRASE_END.search(text, max(end - 1, start))
        end = after.start() if after and after.start() >= end - 1 else len(text)
    while start < end and text[start] in _EDGE:
        start += 1
    while end > start and text[end - 1] in _EDGE:
        end -= 1
    return (start, end) if start < end else stretch


def _joined(text: str, at: int) -> bool:
    """Whether a word goes on over this place; Japanese does not say where its words end."""
    before, after = text[at - 1], text[at]
    if before in "£$€¥" or after in "%℃°":
        return True
    if _NUMBER_GOES_ON.match(text, max(0, at - 2)) or _NUMBER_GOES_ON.match(text, at - 1):
        return True
    if not (before.isalnum() and after.isalnum()):
        return False
    return not (_JAPANESE.match(before) or _JAPANESE.match(after))


def _line(text: str, stretch: Span) -> Span:
    """The line that most of a stretch stands in."""
    pieces = re.finditer(r"[^\n]+", text[slice(*stretch)])
    longest = max(pieces, key=lambda piece: piece.end() - piece.start(), default=None)
    at = stretch[0] + (longest.start() if longest else 0)
    return _line_start(text, at), (text + "\n").find("\n", at)


# Tables


def _is_row(line: str) -> bool:
    return "\n" not in line and (" | " in line or line.strip().startswith("|"))


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _row(text: str, line: Span) -> str:
    """A row with the names of its columns: those that it carries, else those of its table's first line."""
    row = text[slice(*line)]
    above = text[: line[0]].splitlines()
    table: list[str] = []
    while above and _is_row(above[-1]):
        table.insert(0, above.pop())
    if len(table) < 2 or not _DELIMITER.fullmatch(table[1].strip()) or "-" not in table[1]:
        return " | ".join(cell for cell in _cells(row) if cell)
    names, cells = _cells(table[0]), _cells(row)
    named = [f"{name}: {cell}" if name else cell for name, cell in zip(names, cells, strict=False) if cell]
    return " | ".join([*named, *cells[len(names) :]])


def _cell(text: str, line: Span, stretch: Span) -> Span:
    """The whole value that a stretch is part of, without the name of its column."""
    start = max(text.rfind("|", line[0], stretch[0]) + 1, line[0])
    end = text.find("|", max(stretch[1] - 1, start), line[1])
    cell = text[start : line[1] if end < 0 else end]
    name = re.match(r"\s*[^:|]{1,60}: ", cell)
    inside = name is not None and start + name.end() <= stretch[0] + len(cell) - len(cell.lstrip())
    return start + (name.end() if name and inside else 0), start + len(cell)


# Code


def _blocks_of_code(text: str) -> list[Span]:
    """Fenced blocks, and runs of indented lines or of lines with a prompt."""
    found: list[Span] = []
    at, opened = 0, -1
    for line in text.splitlines(keepends=True):
        if _FENCE.match(line):
            if opened >= 0:
                found.append((opened, at + len(line)))
            opened = -1 if opened >= 0 else at
        elif opened < 0 and _INDENTED.match(line) and not _ITEM.match(line):
            if found and found[-1][1] == at:
                found[-1] = (found[-1][0], at + len(line))
            else:
                found.append((at, at + len(line)))
        at += len(line)
    return [*found, (opened, at)] if opened >= 0 else found


def _announced(text: str, block: Span, silent: Sequence[Span]) -> Span:
    """A block of code with the last sentence before it, if that stands directly above and is no heading."""
    before = [one for one in sentences(text[: block[0]]) if not text[one[1] : block[0]].strip()]
    if not before or any(start <= before[-1][0] < end for start, end in silent):
        return block
    return max(before[-1][0], block[0] - LONGEST // 2), block[1]


def _line_start(text: str, at: int) -> int:
    """Where the line of a place begins."""
    return text.rfind("\n", 0, at) + 1


def _payload(text: str, end: int) -> Span | None:
    """The command, list or paragraph that the sentence ending here announces."""
    gap = len(text[end:]) - len(text[end:].lstrip("\n \t"))
    start = _line_start(text, end + gap)
    if start >= len(text) or start < end:
        return None
    block = next((one for one in _blocks_of_code(text) if one[0] == start), None)
    if block:
        return block
    stop = text.find("\n\n", start)
    paragraph = start, len(text) if stop < 0 else stop
    foreign = _JAPANESE.search(text[max(0, end - 40) : end]) and not _JAPANESE.search(text[slice(*paragraph)])
    announces = text[:end].rstrip("*_ ").endswith((":", "："))
    return paragraph if announces or foreign else None


# Sentences


def _sentence(text: str, stretch: Span, silent: Sequence[Span], *, goes_on: bool) -> Span | None:
    spans = [one for one in (_past(text, it, silent) for it in _pieces(text)) if one[0] < one[1]]
    at = next((place for place, (_, end) in enumerate(spans) if end > stretch[0]), None)
    if at is None:
        return None
    if _asks(text, spans[at]) and stretch[1] <= spans[at][1] and at + 1 < len(spans):
        at += 1  # under a question stands its answer
    last = max([at, *(place for place, (start, _) in enumerate(spans) if start < stretch[1])])
    start, end = spans[at][0], max(spans[last][1], stretch[1])
    most = STEPS if goes_on else AROUND
    item = next((one for one, _ in reversed(spans[: at + 1]) if _opens_item(text, one)), start)
    if item < start and start - item < LONGEST // 2 and "\n\n" not in text[item:start]:
        start = item  # the beginning of an item says what it is about
    elif at and _POINTS_BACK.match(text[start:end]) and _adjoin(text, spans[at - 1], spans[at]):
        start = spans[at - 1][0]
        most -= 1
    numbered = goes_on and _NUMBERED.match(text, _line_start(text, start))
    for number, (before, one) in enumerate(pairwise(spans[last:]), start=1):
        same = not _opens_item(text, one[0]) and (goes_on or not _is_line(text, one))
        more = _NUMBERED.match(text, one[0]) if numbered else same and number < most
        if not more or not _adjoin(text, before, one) or one[1] - start > LONGEST:
            break
        end = one[1]
    return start, end


def _is_line(text: str, span: Span) -> bool:
    """Whether a sentence is a whole line that ends without a stop, as in a log."""
    alone = _line_start(text, span[0]) == span[0] and text[span[1] : span[1] + 1] in {"", "\n"}
    return alone and not _SAYS.search(text[slice(*span)])


def _opens_item(text: str, at: int) -> bool:
    line = _line_start(text, at)
    return not text[line:at].strip() and _ITEM.match(text, line) is not None


def _past(text: str, span: Span, silent: Sequence[Span]) -> Span:
    """The span without the headings that it opens with."""
    start, end = span
    for first, after in silent:
        if first <= start < after:
            start = after
    body = text[start:end]
    return start + len(body) - len(body.lstrip()), end


def _asks(text: str, span: Span) -> bool:
    return _ASKS.search(text[slice(*span)]) is not None


def _adjoin(text: str, before: Span, after: Span) -> bool:
    """Whether nothing but white space within a paragraph stands between two."""
    return text[before[1] : after[0]].count("\n") < 2 and not _asks(text, before)


def _pieces(text: str) -> list[Span]:
    """The sentences, and where lines are records of their own, such as those of a log, the lines."""
    found: list[Span] = []
    for start, end in sentences(text):
        lines = text[start:end].splitlines(keepends=True)
        if not _are_records([line.strip() for line in lines]):
            found.append((start, end))
            continue
        at = start
        for line in lines:
            if line.strip():
                found.append((at, at + len(line.rstrip())))
            at += len(line)
    return found


def _are_records(lines: Sequence[str]) -> bool:
    """Whether lines end where something ends, as those of a log do, and not at a margin."""
    if len(lines) < 2:
        return False
    if any(map(_JAPANESE.search, lines)):
        longest = max(map(len, lines))
        return sum(len(line) < 0.8 * longest for line in lines[:-1]) * 2 >= len(lines) - 1
    return sum(line[:1].islower() for line in lines[1:]) * 3 < len(lines) - 1
