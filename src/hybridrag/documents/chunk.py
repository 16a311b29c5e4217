"""Cut a document into chunks along its structure.

Headings start chunks, paragraphs and sentences stay whole where they fit, tables break between rows and code between
lines. What only makes sense together stays together where it fits: a heading and what follows it, a question and its
answer, the sentence before a list, a table or code and its beginning, a block of code. A chunk is always one stretch of
the stored text, so its offsets, page and lines are exact.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from hybridrag.language.detect import detect
from hybridrag.language.graphemes import snap_to_grapheme
from hybridrag.language.sentences import sentences
from hybridrag.types.documents import Block, BlockKind, Chunk, Document
from hybridrag.types.ids import FileId, chunk_id_for

TokenSpans = Callable[[str], NDArray[np.int32]]
"""The embedding model's token offsets: what sizes are counted in."""

MAX_UNIT_CHARACTERS = 2_000
"""A "sentence" longer than this is no sentence (data, a minified file): it is cut before tokens are counted, so that
memory stays bounded on an endless line."""

TINY_SECTION = 0.25
"""A section shorter than this share of a chunk is joined with the next one: a heading with one line alone is too
little to be found by its meaning."""


MOST_NAMES = 6
"""Functions and the like that a chunk is said to hold: a chunk of a hundred constants would be all names."""


@dataclass(frozen=True, slots=True)
class ChunkSize:
    """How long chunks are, in tokens of the embedding model."""

    max_tokens: int = 200
    overlap_tokens: int = 20


@dataclass(frozen=True, slots=True)
class _Unit:
    """The smallest stretch that is never cut: a sentence, a table row, a line of code, a heading."""

    start: int
    end: int
    tokens: int
    kind: BlockKind
    block: Block
    headings: tuple[str, ...]
    opens_section: bool = False
    opens_block: bool = False
    keeps_next: bool = False
    """Whether it makes little sense without the unit after it."""


@dataclass(frozen=True, slots=True)
class _Bundle:
    """Units that stay in one chunk."""

    units: tuple[_Unit, ...]
    tokens: int

    @property
    def opens_block(self) -> bool:
        """Whether a block begins with it."""
        return self.units[0].opens_block


def chunk_document(
    document: Document, *, file_id: FileId, token_spans: TokenSpans, size: ChunkSize | None = None
) -> list[Chunk]:
    """The document's chunks in reading order; none for a document without words.

    A heading "Limits" with a sentence below it -> one chunk of both, headings ("Limits",), lines 1-3
    """
    size = size or ChunkSize()
    units = list(_units(document, token_spans, size.max_tokens))
    lines = document.lines
    seen: dict[str, int] = {}
    chunks: list[Chunk] = []
    for group in _groups(units, size):
        start, end = group[0].start, group[-1].end
        text = document.text[start:end]
        if not any(character.isalnum() for character in text):
            continue
        occurrence = seen.get(text, 0)
        seen[text] = occurrence + 1
        chunks.append(
            Chunk(
                id=chunk_id_for(file_id, text, occurrence),
                file_id=file_id,
                ordinal=len(chunks),
                text=text,
                start=start,
                end=end,
                headings=_headings_of(group),
                page=group[0].block.page,
                line_start=lines.at(start) if lines else None,
                line_end=lines.at(end - 1) if lines else None,
                anchor=_anchor(group),
                language=detect(text),
                tokens=sum(unit.tokens for unit in group),
            )
        )
    return chunks


def passage_text(chunk: Chunk, title: str | None) -> str:
    """What is embedded for a chunk: its place in the document, then its text.

    A paragraph that says "the limit is 5" is found by what its title and headings say it is about.
    """
    opening = chunk.text.lstrip("# ")
    # A title is often the first heading as well, and a heading the start of the chunk: said once is enough.
    path = [part for part in (title, *chunk.headings) if part and not opening.startswith(part)]
    return "\n".join([*dict.fromkeys(path), chunk.text])


def _anchor(group: Sequence[_Unit]) -> str | None:
    """What a viewer opens the chunk by: its rectangle on its first page, else the anchor that its text stands under."""
    page = group[0].block.page
    boxes = [unit.block.box for unit in group if unit.block.box is not None and unit.block.page == page]
    if boxes:
        left, top = min(box[0] for box in boxes), min(box[1] for box in boxes)
        width, height = max(box[2] for box in boxes) - left, max(box[3] for box in boxes) - top
        # RFC 8118: how an address names a place in a PDF.
        return f"page={page}&viewrect={left:.0f},{top:.0f},{width:.0f},{height:.0f}"
    return next((unit.block.anchor for unit in group if unit.block.anchor is not None), None)


def _headings_of(group: Sequence[_Unit]) -> tuple[str, ...]:
    """The path of the first unit that is no heading itself: that is what the chunk's text stands under.

    Below it come the class and function of code; of several that share a chunk, what they share, then their names.
    """
    first = next((unit for unit in group if unit.kind is not BlockKind.HEADING), group[-1])
    return (*first.headings, *_shared([unit.block.within for unit in group]))


def _shared(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """[("A", "f"), ("A", "g")] -> ("A", "f, g"); [("f",), ("g",)] -> ("f, g",)."""
    shared: list[str] = []
    for depth in range(max(map(len, paths))):
        names = list(dict.fromkeys(path[depth] for path in paths if len(path) > depth))
        shared.append(", ".join(names[:MOST_NAMES]))
        if len(names) > 1:
            break
    return tuple(shared)


def _units(document: Document, token_spans: TokenSpans, max_tokens: int) -> Iterator[_Unit]:
    path: list[tuple[int, str]] = []
    for block, following in zip_longest(document.blocks, document.blocks[1:]):
        opens_section = block.kind is BlockKind.HEADING
        body = document.text[block.start : block.end]
        if opens_section:
            level = max(1, block.level)
            path = [entry for entry in path if entry[0] < level]
            path.append((level, _heading_text(body)))
        headings = tuple(text for _, text in path)
        units = [
            _Unit(
                start=start,
                end=end,
                tokens=tokens,
                kind=block.kind,
                block=block,
                headings=headings,
                opens_section=opens_section and index == 0,
                opens_block=index == 0,
                keeps_next=block.kind is BlockKind.CODE,
            )
            for index, (start, end, tokens) in enumerate(_pieces(document.text, block, token_spans, max_tokens))
        ]
        if units:
            units[-1] = replace(units[-1], keeps_next=_leads(body, block.kind, following))
        yield from units


_PROSE = frozenset({BlockKind.PARAGRAPH, BlockKind.LIST_ITEM})
_LEAD_END = re.compile(r"[:：?？]\W*$")
_QUESTION = re.compile(r"\W{0,3}(?:Q|Ｑ|問|質問)\s?[0-9０-９]{0,3}\s?[.．:：)）、 　]")


def _leads(body: str, kind: BlockKind, following: Block | None) -> bool:
    """Whether the last words of a block announce the block after it."""
    if following is None or following.kind is BlockKind.HEADING:
        return False
    if kind is BlockKind.HEADING:
        return True
    # What stands before a list, a table or code says what it is, in whatever words.
    if kind is BlockKind.PARAGRAPH and following.kind is not BlockKind.PARAGRAPH:
        return True
    return kind in _PROSE and bool(_LEAD_END.search(body[-20:]) or _QUESTION.match(body))


def _heading_text(source: str) -> str:
    """A heading without its mark-up: "## Limits ##" -> "Limits"."""
    return re.sub(r"^\s*#{1,6}\s+|\s+#+\s*$|\n[=-]+\s*$", "", source).strip()


def _pieces(text: str, block: Block, token_spans: TokenSpans, max_tokens: int) -> Iterator[tuple[int, int, int]]:
    """The block's `(start, end, tokens)`, each within `max_tokens`."""
    for start, end in _stretches(text, block):
        spans = token_spans(text[start:end])
        if len(spans) <= max_tokens:
            yield start, end, len(spans)
            continue
        yield from _cut_by_tokens(text, start, end, spans, max_tokens)


def _stretches(text: str, block: Block) -> Iterator[tuple[int, int]]:
    """Sentences of prose, lines of code, the whole of a row or heading; long ones cut to a bounded length."""
    body = text[block.start : block.end]
    if block.kind is BlockKind.CODE:
        spans = [(match.start(), match.end()) for match in re.finditer(r"[^\n]*\S[^\n]*", body)]
    elif block.kind in {BlockKind.HEADING, BlockKind.TABLE_ROW}:
        spans = [_stripped(body, 0, len(body))]
    else:
        spans = sentences(body)
    for start, end in spans:
        for first, last in _bounded(text, block.start + start, block.start + end):
            if first < last:
                yield first, last


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    stretch = text[start:end]
    return start + len(stretch) - len(stretch.lstrip()), end - len(stretch) + len(stretch.rstrip())


def _bounded(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > MAX_UNIT_CHARACTERS:
        cut = _good_cut(text, start, start + MAX_UNIT_CHARACTERS)
        yield _stripped(text, start, cut)
        start = cut
    yield _stripped(text, start, end)


def _good_cut(text: str, start: int, limit: int) -> int:
    """The last place up to `limit` where a reader would pause: after a mark, else a space, else any character."""
    window = text[start:limit]
    # Only the second half: an early comma would leave a splinter.
    half = len(window) // 2
    for marks in ("、，；：,;:|\t", " \u3000\n"):
        best = max(window.rfind(mark, half) for mark in marks)
        if best >= 0:
            return start + best + 1
    cut = snap_to_grapheme(text, limit, -1)
    return cut if cut > start else limit


def _cut_by_tokens(
    text: str, start: int, end: int, spans: NDArray[np.int32], max_tokens: int
) -> Iterator[tuple[int, int, int]]:
    """Cut a sentence that is longer than a chunk."""
    first = 0
    while first < len(spans):
        last = min(first + max_tokens, len(spans))
        begin = start if first == 0 else start + int(spans[first][0])
        stop = end if last == len(spans) else start + int(spans[last][0])
        if last < len(spans):
            cut = _good_cut(text, begin, stop)
            # Back to the token border at or before the cut, so that counts stay true.
            shorter = int(np.searchsorted(spans[:, 0], cut - start, side="left"))
            if first < shorter < last:
                last, stop = shorter, start + int(spans[shorter][0])
        piece = _stripped(text, begin, stop)
        if piece[0] < piece[1]:
            yield *piece, last - first
        first = last


def _groups(units: Sequence[_Unit], size: ChunkSize) -> Iterator[list[_Unit]]:
    """Pack units into chunks, breaking at sections first, then blocks, then sentences."""
    for section in _sections(units, size.max_tokens):
        yield from _pack(section, size)


def _sections(units: Sequence[_Unit], max_tokens: int) -> Iterator[list[_Unit]]:
    """Runs of units under one heading; tiny ones are joined with what follows."""
    section: list[_Unit] = []
    tokens = 0
    for unit in units:
        if unit.opens_section and section and tokens >= TINY_SECTION * max_tokens:
            yield section
            section, tokens = [], 0
        section.append(unit)
        tokens += unit.tokens
    if section:
        yield section


def _bundles(section: Sequence[_Unit], max_tokens: int) -> Iterator[_Bundle]:
    """Units by what stays together; what would be larger than a chunk is taken apart again, but for its first two."""
    first = 0
    while first < len(section):
        last, tokens = first, section[first].tokens
        while section[last].keeps_next and last + 1 < len(section) and tokens <= max_tokens:
            last += 1
            tokens += section[last].tokens
        if tokens > max_tokens:
            last = first + _together(section, first, max_tokens) - 1
        units = tuple(section[first : last + 1])
        yield _Bundle(units, sum(unit.tokens for unit in units))
        first = last + 1


def _together(section: Sequence[_Unit], first: int, max_tokens: int) -> int:
    """How many units of a bundle that is too large stay together: one, or two where that cuts no code that fits."""
    pair = section[first : first + 2]
    if pair[0].kind is BlockKind.CODE or sum(unit.tokens for unit in pair) > max_tokens:
        return 1
    if pair[1].kind is not BlockKind.CODE:
        return 2
    tokens = 0
    for unit in section[first + 1 :]:
        if unit.block is not pair[1].block or tokens > max_tokens:
            break
        tokens += unit.tokens
    return 1 if tokens <= max_tokens else 2


def _pack(section: Sequence[_Unit], size: ChunkSize) -> Iterator[list[_Unit]]:
    current: list[_Unit] = []
    tokens = 0
    bundles = list(_bundles(section, size.max_tokens))
    for index, bundle in enumerate(bundles):
        if current and _breaks_before(bundles, index, tokens, size.max_tokens):
            yield current
            current = _overlap(current, bundle, size)
            tokens = sum(kept.tokens for kept in current)
        current.extend(bundle.units)
        tokens += bundle.tokens
    if current:
        yield current


def _breaks_before(bundles: Sequence[_Bundle], index: int, tokens: int, max_tokens: int) -> bool:
    bundle = bundles[index]
    if tokens + bundle.tokens > max_tokens:
        return True
    if not bundle.opens_block or tokens < max_tokens / 2:
        return False
    # More than half full and a new block begins: take it only if it fits whole.
    block_tokens = bundle.tokens
    for later in bundles[index + 1 :]:
        if later.opens_block or tokens + block_tokens > max_tokens:
            break
        block_tokens += later.tokens
    return tokens + block_tokens > max_tokens


def _overlap(previous: Sequence[_Unit], following: _Bundle, size: ChunkSize) -> list[_Unit]:
    """The last sentences of the chunk before, as far as the overlap allows; rows and code do not repeat."""
    kept: list[_Unit] = []
    room = min(size.overlap_tokens, size.max_tokens - following.tokens)
    for unit in reversed(previous):
        if unit.kind not in {BlockKind.PARAGRAPH, BlockKind.LIST_ITEM} or unit.tokens > room or len(previous) == 1:
            break
        kept.insert(0, unit)
        room -= unit.tokens
    # Repeating the whole chunk would never end.
    return kept if len(kept) < len(previous) else []
