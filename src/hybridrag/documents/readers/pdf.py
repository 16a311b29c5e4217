"""PDF: printed lines put back together into headings, paragraphs and list items, each with its page."""

from __future__ import annotations

import ctypes
import math
import re
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple
from unicodedata import normalize

from hybridrag.documents.build import DocumentBuilder
from hybridrag.documents.lines import close_gaps, join_lines
from hybridrag.documents.source import Source
from hybridrag.documents.tables import row_text
from hybridrag.errors import DocumentError, UnreadableDocument
from hybridrag.types.documents import BlockKind, Document

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage, PdfTextPage

_HEADING_SCALE: Final = 1.15
"""A line this much larger than the body text is a heading."""
_LONGEST_HEADING: Final = 120
_PARAGRAPH_GAP: Final = 1.35
"""Lines further apart than this many usual distances begin a new paragraph."""
_SHORT_LINE: Final = 0.8
"""A sentence that ends before this share of the line's width ends its paragraph too."""
_SAME_BASELINE: Final = 0.3
"""Of the print size: as far apart as two pieces of one line may stand."""
_CELL_GAP: Final = 1.5
"""Of the print size: a gap wider than this lies between cells; justified words stand closer."""
_CHECK_TIME_EVERY: Final = 1024
"""Characters between two looks at the clock."""
_HYPHEN: Final = 0x02
"""The library's mark for a hyphen at a line's end."""
_NO_CHARACTERS: Final = frozenset({0xFFFE, 0xFFFF, 0xFEFF})
_PRESENTATION_FORMS = re.compile("[\u2e80-\u2fdf\ufb00-\ufb06]")
"""Ligatures and radicals that fonts put in place of letters and kanji, which nobody types."""
_ONE_AT_A_TIME: Final = threading.Lock()
"""PDFium may be used by one thread only."""
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
_MARKER = re.compile(r"[^\w\s]{1,2}|\(?[0-9０-９A-Za-z]{1,3}(?:\.[0-9]{1,3}){0,4}[.)]?|第.{1,4}[章節条項編部]|[①-⑳]")
"""What stands before an item or a heading, often at some distance: no cell of its own."""
_DATE = re.compile(r"D?:?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:Z|(?P<sign>[+-])(?P<zh>\d\d)'?(?P<zm>\d\d)?)?")
_FIRST: Final = ("1", "1", "1", "0", "0", "0")
"""What a date that names only its year means for the rest."""
_LEADERS = re.compile(r"(?:[.．・…‥]\s?){4,}")
"""The dots of a table of contents, whose lines repeat headings without being any."""


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    size: float
    height: float
    """Of its baseline above the page's lower edge."""
    left: float = 0.0
    cells: tuple[str, ...] = ()
    """The pieces of a line that was printed in several places: a row of a table."""


def read_pdf(source: Source) -> Document:
    """The text of every page; larger print and bookmarks become headings.

    A page with "Plan" in 18 pt and "An exam-" / "ple." in 10 pt -> heading "Plan", paragraph "An example."

    Raises:
        UnreadableDocument: damaged, encrypted, or without text (scanned).
        DocumentTooLarge: more pages than `max_pages`.
    """
    with _ONE_AT_A_TIME, closing(_open(source)) as pdf:
        source.check_pages(len(pdf))
        pages = _pages(pdf, source)
        builder = DocumentBuilder(source)
        largest = _add_pages(builder, pages.lines, _outline(pdf))
        if not len(builder):
            raise _no_text(source.name, pages=len(pages.lines), failed=len(pages.failed))
        info = {key.lower(): value.strip() for key, value in pdf.get_metadata_dict(skip_empty=True).items()}
    metadata = {key: info[key] for key in ("author", "subject", "keywords") if key in info}
    metadata["pages"] = str(len(pages.lines))
    for key, numbers in (("unreadable_pages", pages.failed), ("scanned_pages", pages.scanned)):
        if numbers:
            metadata[key] = ", ".join(map(str, numbers))
    return builder.document(
        title=_title(info.get("title")) or largest,
        created=_date(info.get("creationdate")),
        modified=_date(info.get("moddate")),
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


def _open(source: Source) -> PdfDocument:
    import pypdfium2  # noqa: PLC0415 (keeps start-up fast)

    try:
        # Most encrypted files only forbid printing: they open with an empty password.
        return pypdfium2.PdfDocument(source.data, password="")
    except pypdfium2.PdfiumError as cause:
        if cause.err_code == pypdfium2.raw.FPDF_ERR_PASSWORD:
            raise UnreadableDocument(
                source.name, "is encrypted with a password", hint="Save a copy without the password and add that."
            ) from cause
        raise UnreadableDocument(source.name, "is damaged: it cannot be opened as a PDF") from cause


@dataclass(slots=True)
class _Pages:
    """What was found on the pages, and the numbers of those that gave nothing."""

    lines: list[list[_Line]] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)
    scanned: list[int] = field(default_factory=list)


def _pages(pdf: PdfDocument, source: Source) -> _Pages:
    import pypdfium2  # noqa: PLC0415 (keeps start-up fast)

    pages = _Pages()
    characters = 0
    for number in range(1, len(pdf) + 1):
        source.check_time()
        lines: list[_Line] = []
        try:
            with closing(pdf[number - 1]) as page:
                lines = _lines(page, source)
                if not lines and _has_image(page):
                    pages.scanned.append(number)
        except (pypdfium2.PdfiumError, ValueError):  # one broken page must not cost the others
            pages.failed.append(number)
        pages.lines.append(lines)
        characters += sum(len(line.text) for line in lines)
        source.check_length(characters)
    return pages


def _has_image(page: PdfPage) -> bool:
    from pypdfium2 import raw  # noqa: PLC0415 (keeps start-up fast)

    return any(True for _ in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=3))


class _Glyph(NamedTuple):
    text: str
    x: float
    y: float
    right: float
    size: float


def _lines(page: PdfPage, source: Source) -> list[_Line]:
    """The lines of a page in reading order, with those that the library breaks at a gap put side by side."""
    lines: list[_Line] = []
    glyphs: list[_Glyph] = []
    with closing(page.get_textpage()) as textpage:
        for glyph in _glyphs(textpage, source):
            if glyphs and not _continues(glyphs[-1], glyph):
                lines.append(_line(glyphs))
                glyphs = []
            glyphs.append(glyph)
    if glyphs:
        lines.append(_line(glyphs))
    return [line for line in lines if line.text]


def _glyphs(textpage: PdfTextPage, source: Source) -> Iterator[_Glyph]:
    """The page's characters; white space goes with the character before it, and line ends tell nothing new."""
    from pypdfium2 import raw  # noqa: PLC0415 (keeps start-up fast)

    x, y = ctypes.c_double(), ctypes.c_double()
    box, matrix = raw.FS_RECTF(), raw.FS_MATRIX()
    last: _Glyph | None = None
    high = 0
    for index in range(textpage.count_chars()):
        if index % _CHECK_TIME_EVERY == 0:
            source.check_time()
        code = raw.FPDFText_GetUnicode(textpage, index)
        if 0xD800 <= code < 0xDC00:
            high = code
            continue
        if 0xDC00 <= code < 0xE000 and high:
            code = 0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00)
        high = 0
        if not code or code in _NO_CHARACTERS or 0xD800 <= code < 0xE000:
            continue
        text = _PRESENTATION_FORMS.sub(lambda match: normalize("NFKC", match[0]), "-" if code == _HYPHEN else chr(code))
        if text.isspace():
            if last is not None and not last.text.endswith(" "):
                last = last._replace(text=last.text + ("\u3000" if text == "\u3000" else " "))
            continue
        if last is not None:
            yield last
        raw.FPDFText_GetCharOrigin(textpage, index, x, y)
        raw.FPDFText_GetLooseCharBox(textpage, index, box)
        raw.FPDFText_GetMatrix(textpage, index, matrix)
        size = raw.FPDFText_GetFontSize(textpage, index) * math.hypot(matrix.c, matrix.d)
        last = _Glyph(text, x.value, y.value, box.right, round(size, 1))
    if last is not None:
        yield last


def _continues(last: _Glyph, glyph: _Glyph) -> bool:
    """Whether a character stands on the line of the one before it, to its right."""
    size = max(last.size, glyph.size)
    # Raised and lowered print (a note's number, an exponent) is smaller and stays in its line.
    reach = 0.6 * size if last.size != glyph.size else _SAME_BASELINE * size
    return abs(last.y - glyph.y) <= reach and glyph.x > last.x - 0.5 * size


def _line(glyphs: list[_Glyph]) -> _Line:
    sizes: Counter[float] = Counter()
    heights: Counter[float] = Counter()
    cells = [""]
    for before, glyph in pairwise([glyphs[0], *glyphs]):
        sizes[glyph.size] += 1
        heights[glyph.y] += 1
        if glyph.x - before.right > _CELL_GAP * max(glyph.size, before.size):
            cells.append("")
        cells[-1] += glyph.text
    parts = tuple(stripped for cell in cells if (stripped := close_gaps(cell.rstrip(" "))))
    text = " ".join(parts)
    is_row = len(parts) > 1 and not _LEADERS.search(text) and not _MARKER.fullmatch(parts[0])
    size, height = sizes.most_common(1)[0][0], heights.most_common(1)[0][0]
    return _Line(text, size, height, glyphs[0].x, parts if is_row else ())


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


def _outline(pdf: PdfDocument) -> dict[int, dict[str, int]]:
    """Bookmarks by page: the key of each and its level."""
    import pypdfium2  # noqa: PLC0415 (keeps start-up fast)

    found: dict[int, dict[str, int]] = {}
    try:
        for bookmark in pdf.get_toc(max_depth=6):
            destination = bookmark.get_dest()
            number = destination.get_index() if destination else None
            if number is not None:
                found.setdefault(number + 1, {})[outline_key(bookmark.get_title())] = bookmark.level + 1
    except (pypdfium2.PdfiumError, ValueError):  # bookmarks are a help, not the text; broken ones are done without
        return found
    return found


def _title(value: str | None) -> str | None:
    """The title in the properties, unless a program filled it in with a file name."""
    title = _WORD_PREFIX.sub("", value or "").strip()
    return title if title and not _JUNK_TITLE.match(title) else None


def _date(value: str | None) -> datetime | None:
    """A date as PDF writes it.

    "D:20240501093000+09'00'" -> 2024-05-01 09:30 at UTC+9
    """
    match = _DATE.match(value or "")
    if match is None:
        return None
    year, month, day, hour, minute, second = (
        int(part or default) for part, default in zip(match.groups()[:6], _FIRST, strict=True)
    )
    try:
        sign = -1 if match["sign"] == "-" else 1
        zone = timezone(sign * timedelta(hours=int(match["zh"] or 0), minutes=int(match["zm"] or 0)))
        return datetime(year, month, day, hour, minute, second, tzinfo=zone)
    except ValueError:  # dates in PDF are often malformed
        return None
