"""PDF: printed lines put back together into headings, paragraphs and list items, each with its page."""

from __future__ import annotations

import io
import logging
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hybridrag.documents.build import DocumentBuilder
from hybridrag.documents.dates import aware
from hybridrag.documents.lines import close_gaps, join_lines
from hybridrag.documents.source import Source
from hybridrag.documents.tables import row_text
from hybridrag.errors import DocumentError, UnreadableDocument
from hybridrag.types.documents import BlockKind, Document

if TYPE_CHECKING:
    from pypdf import PdfReader

_HEADING_SCALE: Final = 1.15
"""A line this much larger than the body text is a heading."""
_LONGEST_HEADING: Final = 120
_PARAGRAPH_GAP: Final = 1.35
"""Lines further apart than this many usual distances begin a new paragraph."""
_SHORT_LINE: Final = 0.8
"""A sentence that ends before this share of the line's width ends its paragraph too."""
_SAME_BASELINE: Final = 0.3
"""Of the print size: as far apart as two pieces of one line may stand."""
_FEWEST_PAGES_TO_REPEAT: Final = 4
_REPEATED_ON: Final = 0.6
"""A first or last line on more than this share of the pages is a running title or a page number."""

_SENTENCE_END = re.compile(r"[.!?。！？:：」』)）]$")
_BULLET = re.compile(
    r"(?:[•‣▪●○■□◆◇★☆・※–—-]|\(?[0-9０-９]{1,2}[.)．）]|[(（][0-9０-９a-zァ-ン]{1,2}[)）]|[①-⑳]|[a-z]\))[\s　]*(?=\S)"
)
_JUNK_TITLE = re.compile(r"^(?:untitled|無題.*|.*\.(?:docx?|pptx?|xlsx?|indd|tex|dvi|pdf|html?))$", re.IGNORECASE)
_WORD_PREFIX = re.compile(r"^Microsoft (?:Word|PowerPoint|Excel) - ")
_DIGITS = re.compile(r"[0-9０-９]+")
_LEADERS = re.compile(r"(?:[.．・…‥]\s?){4,}")
"""The dots of a table of contents, whose lines repeat headings without being any."""


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    size: float
    height: float
    """Of its baseline above the page's lower edge."""
    cells: tuple[str, ...] = ()
    """The pieces of a line that was printed in several places: a row of a table."""


def read_pdf(source: Source) -> Document:
    """The text of every page; larger print and bookmarks become headings.

    A page with "Plan" in 18 pt and "An exam-" / "ple." in 10 pt -> heading "Plan", paragraph "An example."

    Raises:
        UnreadableDocument: damaged, encrypted, or without text (scanned).
        DocumentTooLarge: more pages than `max_pages`.
    """
    from pypdf.errors import DependencyError  # noqa: PLC0415 (keeps start-up fast)

    with _quiet():
        try:
            return _read(source)
        except DependencyError as cause:
            raise UnreadableDocument(
                source.name, "is encrypted with AES, which needs another package", hint="Run: pip install cryptography"
            ) from cause


def _read(source: Source) -> Document:
    reader = _open(source)
    source.check_pages(len(reader.pages))
    pages, failed = _pages(reader, source)
    builder = DocumentBuilder(source)
    largest = _add_pages(builder, pages, _outline(reader))
    if not len(builder):
        raise _no_text(source.name, pages=len(pages), failed=len(failed))
    metadata = _metadata(reader) | {"pages": str(len(pages))}
    if failed:
        metadata["unreadable_pages"] = ", ".join(map(str, failed))
    return builder.document(
        title=_title(metadata.pop("title", None)) or largest,
        created=_date(reader, "creation_date"),
        modified=_date(reader, "modification_date"),
        metadata=metadata,
    )


def _no_text(name: str, *, pages: int, failed: int) -> DocumentError:
    if pages and failed == pages:
        return UnreadableDocument(name, "is damaged: none of its pages can be read")
    return UnreadableDocument(
        name,
        f"has no text on its {pages} page{'' if pages == 1 else 's'}, which are probably scanned images",
        hint="Run OCR over it (for example: ocrmypdf in.pdf out.pdf) and add the result.",
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """The library logs every irregularity of every file; what matters is raised or in the metadata."""
    logger = logging.getLogger("pypdf")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


def _open(source: Source) -> PdfReader:
    from pypdf import PdfReader  # noqa: PLC0415 (keeps start-up fast)

    reader = PdfReader(io.BytesIO(source.data), strict=False)
    # Most encrypted files only forbid printing: they open with an empty password.
    if reader.is_encrypted and not reader.decrypt(""):
        raise UnreadableDocument(
            source.name, "is encrypted with a password", hint="Save a copy without the password and add that."
        )
    return reader


def _pages(reader: PdfReader, source: Source) -> tuple[list[list[_Line]], list[int]]:
    """The lines of every page, and the numbers of those that could not be read."""
    from pypdf.errors import DependencyError  # noqa: PLC0415 (keeps start-up fast)

    pages: list[list[_Line]] = []
    failed: list[int] = []
    characters = 0
    for number, page in enumerate(reader.pages, start=1):
        source.check_time()
        collected = _Collector()
        try:
            page.extract_text(visitor_text=collected.visit)
        except (DocumentError, DependencyError, MemoryError):
            raise
        except Exception:  # noqa: BLE001 (one broken page must not cost the others; it is named in the metadata)
            failed.append(number)
        pages.append(collected.lines())
        characters += sum(len(line.text) for line in pages[-1])
        source.check_length(characters)
    return pages, failed


class _Collector:
    """Gathers the pieces of one page as the library meets them, with their size and height."""

    def __init__(self) -> None:
        self._pieces: list[tuple[str, float, float]] = []

    def visit(self, text: str, cm: Sequence[float], tm: Sequence[float], _font: object, size: float) -> None:
        if text:
            scale = math.hypot(tm[2] * cm[0] + tm[3] * cm[2], tm[2] * cm[1] + tm[3] * cm[3])
            height = tm[4] * cm[1] + tm[5] * cm[3] + cm[5]
            self._pieces.append((text, round(abs(size) * scale, 1), height))

    def lines(self) -> list[_Line]:
        lines: list[_Line] = []
        pieces: list[tuple[str, float, float]] = []
        for text, size, height in self._pieces:
            first, *more = text.split("\n")
            pieces.append((first, size, height))
            for part in more:
                lines.append(_line(pieces))
                pieces = [(part, size, height)]
        lines.append(_line(pieces))
        return list(_rows(lines))


def _rows(lines: list[_Line]) -> Iterator[_Line]:
    """Lines of one size on one baseline are cells of one row."""
    row: list[_Line] = []
    for line in lines:
        same = row and row[-1].size == line.size and abs(row[-1].height - line.height) < _SAME_BASELINE * line.size
        if row and not (same and line.text.strip() and row[-1].text.strip()):
            yield _merged(row)
            row = []
        row.append(line)
    if row:
        yield _merged(row)


def _merged(row: list[_Line]) -> _Line:
    if len(row) == 1:
        return row[0]
    cells = tuple(line.text.strip() for line in row)
    return replace(row[0], text=" ".join(cells), cells=cells)


def _line(pieces: list[tuple[str, float, float]]) -> _Line:
    sizes: Counter[float] = Counter()
    for text, size, _ in pieces:
        sizes[size] += len(text.strip())
    height = next((height for text, _, height in pieces if text.strip()), 0.0)
    text = close_gaps("".join(text for text, _, _ in pieces).rstrip())
    return _Line(text, sizes.most_common(1)[0][0] if sizes else 0.0, height)


def _add_pages(
    builder: DocumentBuilder, pages: list[list[_Line]], outline: Mapping[int, Mapping[str, int]]
) -> str | None:
    """Add every page's blocks; the largest heading of the first page with any is what the document is called."""
    repeated = _running_lines(pages)
    body = _body_size(pages)
    sizes = sorted({line.size for page in pages for line in page if line.size >= body * _HEADING_SCALE}, reverse=True)
    levels = {size: min(rank, 6) for rank, size in enumerate(sizes, start=1)}
    title: str | None = None
    for number, lines in enumerate(pages, start=1):
        blocks = list(_PageLayout(_without_furniture(lines, repeated), levels, outline.get(number, {})).blocks())
        for block in blocks:
            builder.add(block.kind, block.text, level=block.level, page=number)
        headings = [block for block in blocks if block.level]
        title = title or (max(headings, key=lambda block: block.size).text if headings else None)
    return title


def _body_size(pages: list[list[_Line]]) -> float:
    sizes: Counter[float] = Counter()
    for page in pages:
        for line in page:
            sizes[line.size] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def _fingerprint(line: _Line) -> tuple[str, float]:
    """What repeats from page to page; the title on the first page is the running title in larger print."""
    return _DIGITS.sub("#", "".join(line.text.split())), line.size


def _edges(page: list[_Line]) -> set[int]:
    """The lines of a page that may be furniture: one or two at its head and foot, never all that there is."""
    filled = [index for index, line in enumerate(page) if line.text.strip()]
    at_most = min(2, (len(filled) - 1) // 2)
    return {*filled[:at_most], *filled[len(filled) - at_most :]}


def _running_lines(pages: list[list[_Line]]) -> set[tuple[str, float]]:
    """Lines at the head or foot of most pages, whatever number they bear."""
    if len(pages) < _FEWEST_PAGES_TO_REPEAT:
        return set()
    counts: Counter[tuple[str, float]] = Counter()
    for page in pages:
        counts.update({_fingerprint(page[index]) for index in _edges(page)})
    return {line for line, count in counts.items() if count > _REPEATED_ON * len(pages)}


def _without_furniture(page: list[_Line], repeated: set[tuple[str, float]]) -> list[_Line]:
    """The page without its running title and its number."""
    dropped = {index for index in _edges(page) if _fingerprint(page[index]) in repeated}
    return [line for index, line in enumerate(page) if index not in dropped]


class _Found(NamedTuple):
    kind: BlockKind
    level: int
    text: str
    size: float


class _PageLayout:
    """Groups the lines of one page into blocks."""

    def __init__(self, lines: list[_Line], levels: Mapping[float, int], outline: Mapping[str, int]) -> None:
        self._lines = lines
        self._levels = levels
        self._outline = outline
        gaps = [abs(a.height - b.height) for a, b in pairwise(lines) if a.size == b.size]
        self._gap = median([gap for gap in gaps if gap > 0] or [0.0])
        self._width = max((len(line.text) for line in lines), default=0)

    def blocks(self) -> Iterator[_Found]:
        group: list[_Line] = []
        for line in self._lines:
            if group and (not line.text.strip() or self._breaks(group[-1], line)):
                yield self._block(group)
                group = []
            if line.text.strip():
                group.append(line)
        if group:
            yield self._block(group)

    def _block(self, group: list[_Line]) -> _Found:
        text = join_lines([line.text for line in group])
        level = self._level(group[0])
        if level and len(text) <= 2 * _LONGEST_HEADING:
            return _Found(BlockKind.HEADING, level, text, group[0].size)
        if group[0].cells:
            return _Found(BlockKind.TABLE_ROW, 0, row_text(group[0].cells), group[0].size)
        kind = BlockKind.LIST_ITEM if _BULLET.match(text) else BlockKind.PARAGRAPH
        return _Found(kind, 0, text, group[0].size)

    def _level(self, line: _Line) -> int:
        """1-6 for a line that is (the start of) a heading, 0 otherwise."""
        words = line.text.strip()
        if len(words) > _LONGEST_HEADING or not any(map(str.isalpha, words)) or _LEADERS.search(words):
            return 0
        listed = self._outline.get(outline_key(words))
        if listed is not None:
            return listed
        return 0 if words.endswith(("。", ".")) else self._levels.get(line.size, 0)

    def _breaks(self, last: _Line, line: _Line) -> bool:
        """Whether a new block begins at `line`."""
        last_level, level = self._level(last), self._level(line)
        if last_level or level:
            return last_level != level or last.size != line.size or self._is_far(last, line)
        if (
            last.cells
            or line.cells
            or self._is_far(last, line)
            or _BULLET.match(line.text.lstrip())
            or line.text.startswith("\u3000")
        ):
            return True
        ended = _SENTENCE_END.search(last.text.rstrip()) is not None
        return ended and len(last.text) < _SHORT_LINE * self._width

    def _is_far(self, last: _Line, line: _Line) -> bool:
        return (
            self._gap > 0
            and abs(last.height - line.height)
            > _PARAGRAPH_GAP * max(self._gap, 1.2 * min(last.size, line.size) if last.size != line.size else 0.0)
            and last.height > line.height
        )


def outline_key(text: str) -> str:
    """What a bookmark and the heading it points to have in common.

    "1.2  The Plan" and "1.2 The plan" -> "1.2theplan"
    """
    return "".join(text.split()).lower()


def _outline(reader: PdfReader) -> dict[int, dict[str, int]]:
    """Bookmarks by page: the key of each and its level."""
    found: dict[int, dict[str, int]] = {}
    try:
        pending: list[tuple[int, Any]] = [(1, item) for item in reversed(reader.outline)]
        while pending:
            level, item = pending.pop()
            if isinstance(item, list):
                pending += [(level + 1, inner) for inner in reversed(item)]
                continue
            number = reader.get_destination_page_number(item)
            if number is not None and number >= 0:
                found.setdefault(number + 1, {})[outline_key(str(item.title))] = min(level, 6)
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 (bookmarks are a help, not the text; broken ones are done without)
        return found
    return found


def _metadata(reader: PdfReader) -> dict[str, str]:
    values: dict[str, str] = {}
    for key in ("title", "author", "subject", "keywords"):
        try:
            value = getattr(reader.metadata, key, None)
        except Exception:  # noqa: BLE001, S112 (one broken entry must not cost the document)
            continue
        if isinstance(value, str) and value.strip():
            values[key] = value.strip()
    return values


def _title(value: str | None) -> str | None:
    """The title in the properties, unless a program filled it in with a file name."""
    title = _WORD_PREFIX.sub("", value or "").strip()
    return title if title and not _JUNK_TITLE.match(title) else None


def _date(reader: PdfReader, key: str) -> datetime | None:
    try:
        value = getattr(reader.metadata, key, None)
    except Exception:  # noqa: BLE001 (dates in PDF are often malformed)
        return None
    return aware(value) if isinstance(value, datetime) else None
