"""PDF: printed lines put back together into headings, paragraphs and list items, each with its page."""

from __future__ import annotations

import ctypes
import math
import re
import shutil
import subprocess
import tempfile
import threading
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple
from unicodedata import normalize

from hybridrag.documents.build import DocumentBuilder
from hybridrag.documents.lines import close_all_gaps, close_gaps, is_wide, join_lines, whole_words
from hybridrag.documents.source import Source, took_too_long
from hybridrag.documents.tables import find_header, names_numbers, row_text
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
_WORD_GAP: Final = 0.2
"""Of the print size: a gap wider than this between letters is a space, whether the library saw it or not."""
_NO_GAP: Final = 0.08
"""Of the print size: a space that the library put into a gap narrower than this is none: turned or tight print."""
_HYPHEN: Final = 0x02
"""The library's mark for a hyphen at a line's end."""
_NO_CHARACTERS: Final = frozenset({0xFFFE, 0xFFFF, 0xFEFF})
_PRESENTATION_FORMS = re.compile("[\u2e80-\u2fdf\ufb00-\ufb06]")
"""Ligatures and radicals that fonts put in place of letters and kanji, which nobody types."""
_ONE_AT_A_TIME: Final = threading.Lock()
"""PDFium may be used by one thread only."""
_FEWEST_PAGES_TO_REPEAT: Final = 4
_FEWEST_PAGES_OF_CHAPTER: Final = 3
_REPEATED_ON: Final = 0.6
"""A first or last line on more than this share of the pages is a running title or a page number."""

_SENTENCE_END = re.compile(r"[.!?。！？:：」』)）]$")
_BULLET = re.compile(
    r"(?:[•‣▪●○■□◆◇★☆・※–—-]|\(?[0-9０-９]{1,2}[.)．）]|[(（][0-9０-９a-zァ-ン]{1,2}[)）]|[①-⑳]|[a-z]\))[\s　]*(?=\S)"
)
_JUNK_TITLE = re.compile(r"^(?:untitled|無題.*|.*\.(?:docx?|pptx?|xlsx?|indd|tex|dvi|pdf|html?))$", re.IGNORECASE)
_WORD_PREFIX = re.compile(r"^Microsoft (?:Word|PowerPoint|Excel) - ")
_DIGITS = re.compile(r"[0-9０-９]+")
_MARKER = re.compile(
    r"[^\w\s]{1,2}|\(?(?:[0-9０-９]{1,3}|[A-Za-z]{1,2}|[ivxlc]{1,5})(?:\.[0-9]{1,3}){0,4}[.)]?|第.{1,4}[章節条項編部]|[①-⑳]"
)
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
    right: float = 0.0
    upright: bool = True
    """Neither turned nor written downwards."""
    cells: tuple[_Cell, ...] = ()
    """The pieces of a line that was printed in several places: a row of a table."""


class _Cell(NamedTuple):
    text: str
    left: float
    right: float


def read_pdf(source: Source) -> Document:
    """The text of every page; larger print and bookmarks become headings.

    A page with "Plan" in 18 pt and "An exam-" / "ple." in 10 pt -> heading "Plan", paragraph "An example."

    Raises:
        UnreadableDocument: damaged, encrypted, or without text (scanned).
        DocumentTooLarge: more pages than `max_pages`.
    """
    with _ONE_AT_A_TIME, closing(_open(source)) as pdf:
        source.check_pages(len(pdf))
        pages, outline = _pages(pdf, source), _outline(pdf)
        info = {key.lower(): value.strip() for key, value in pdf.get_metadata_dict(skip_empty=True).items()}
    if pages.scanned and source.limits.ocr and source.mime_type != _RECOGNISED:
        return replace(read_pdf(_recognised(source)), mime_type=source.mime_type)
    builder = DocumentBuilder(source)
    largest = _add_pages(builder, pages, outline)
    if not len(builder):
        raise _no_text(source.name, pages=len(pages.lines), failed=len(pages.failed))
    metadata = {key: info[key] for key in ("author", "subject", "keywords") if key in info}
    metadata["pages"] = str(len(pages.lines))
    warnings = []
    for key, numbers in (("unreadable_pages", pages.failed), ("scanned_pages", pages.scanned)):
        if numbers:
            metadata[key] = ", ".join(map(str, numbers))
            what = "without text, probably scanned: run OCR over the file" if key == "scanned_pages" else "unreadable"
            warnings.append(f"has {len(numbers)} of {len(pages.lines)} pages {what} ({metadata[key]})")
    return builder.document(
        title=_title(info.get("title")) or largest,
        created=_date(info.get("creationdate")),
        modified=_date(info.get("moddate")),
        metadata=metadata,
        warnings=tuple(warnings),
    )


_RECOGNISED: Final = "application/pdf; ocr"
"""Marks a file that went through OCR already: what has no text now has none."""


def _recognised(source: Source) -> Source:
    """The file with the text of its scanned pages.

    Raises:
        UnreadableDocument: ocrmypdf is not installed, or fails.
    """
    program = shutil.which("ocrmypdf")
    if program is None:
        raise UnreadableDocument(
            source.name,
            "has scanned pages, and ocrmypdf is not installed",
            hint="Install it, or set `documents.ocr` to false to take in the pages that have text.",
        )
    # Pages that have text keep it. The languages are those of this package; tesseract needs the data of both.
    options = ["--skip-text", "--quiet", "--output-type", "pdf", "--jobs", "1", "-l", "jpn+eng"]
    with tempfile.TemporaryDirectory(prefix="hybridrag-") as folder:
        given, made = Path(folder) / "given.pdf", Path(folder) / "made.pdf"
        given.write_bytes(source.data)
        try:
            done = subprocess.run(  # noqa: S603 (a program of this name on the path, without a shell)
                [program, *options, str(given), str(made)],
                capture_output=True,
                check=False,
                stdin=subprocess.DEVNULL,
                timeout=source.limits.max_seconds,
            )
        except subprocess.TimeoutExpired as cause:
            raise took_too_long(source.name, source.limits.max_seconds) from cause
        if not made.exists():
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise UnreadableDocument(source.name, f"has scanned pages that ocrmypdf cannot read ({said[-1:]})")
        return replace(source, data=made.read_bytes(), mime_type=_RECOGNISED)


def _no_text(name: str, *, pages: int, failed: int) -> DocumentError:
    if pages and failed == pages:
        return UnreadableDocument(name, "is damaged: none of its pages can be read")
    return UnreadableDocument(
        name,
        f"has no text on its {pages} page{'' if pages == 1 else 's'}, which are probably scanned images",
        hint="Set `documents.ocr` to true where ocrmypdf is installed, or run OCR over it and add the result.",
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
    tops: list[float] = field(default_factory=list)
    """The upper edge of each page."""
    failed: list[int] = field(default_factory=list)
    scanned: list[int] = field(default_factory=list)


def _pages(pdf: PdfDocument, source: Source) -> _Pages:
    import pypdfium2  # noqa: PLC0415 (keeps start-up fast)

    pages = _Pages()
    characters = 0
    for number in range(1, len(pdf) + 1):
        source.check_time()
        lines: list[_Line] = []
        top = 0.0
        try:
            with closing(pdf[number - 1]) as page:
                top = page.get_cropbox()[3]
                lines = _lines(page, source)
                if source.mime_type == _RECOGNISED:
                    lines = [replace(line, text=close_all_gaps(line.text)) for line in lines]
                if not lines and _has_image(page):
                    pages.scanned.append(number)
        except (pypdfium2.PdfiumError, ValueError):  # one broken page must not cost the others
            pages.failed.append(number)
        pages.lines.append(lines)
        pages.tops.append(top)
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
    turned: bool
    spaced: int = 0
    """Whether a space follows: 1 if the library only supposes so."""


def _lines(page: PdfPage, source: Source) -> list[_Line]:
    """The lines of a page in reading order, with those that the library breaks at a gap put side by side."""
    lines: list[_Line] = []
    glyphs: list[_Glyph] = []
    with closing(page.get_textpage()) as textpage:
        for glyph in _glyphs(textpage, source):
            if glyphs and not _continues(glyphs, glyph):
                lines.append(_line(glyphs))
                glyphs = []
            glyphs.append(glyph)
    if glyphs:
        lines.append(_line(glyphs))
    return [line for line in lines if line.text]


def _glyphs(textpage: PdfTextPage, source: Source) -> Iterator[_Glyph]:
    """The page's characters; white space goes with the character before it, and line ends tell nothing new."""
    from pypdfium2 import raw  # noqa: PLC0415 (keeps start-up fast)

    origin_x, origin_y = ctypes.c_double(), ctypes.c_double()
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
            supposed = raw.FPDFText_IsGenerated(textpage, index) == 1
            last = None if last is None else _spaced(last, text, supposed=supposed)
            continue
        if last is not None:
            yield last
        raw.FPDFText_GetCharOrigin(textpage, index, origin_x, origin_y)
        raw.FPDFText_GetLooseCharBox(textpage, index, box)
        raw.FPDFText_GetMatrix(textpage, index, matrix)
        size = raw.FPDFText_GetFontSize(textpage, index) * math.hypot(matrix.c, matrix.d)
        x, y, right = origin_x.value, origin_y.value, box.right
        turned = abs(matrix.b) > abs(matrix.a)
        if turned:  # as it reads when the page is turned
            x, y, right = (y, -x, box.top) if matrix.b > 0 else (-y, x, -box.bottom)
        last = _Glyph(text, x, y, right, round(size, 1), turned)
    if last is not None:
        yield last


def _spaced(glyph: _Glyph, space: str, *, supposed: bool) -> _Glyph:
    """A character with the white space behind it."""
    if space == "\u3000":
        return glyph._replace(text=glyph.text + space)
    return glyph if glyph.spaced else glyph._replace(spaced=1 if supposed else 2)


def _continues(line: list[_Glyph], glyph: _Glyph) -> bool:
    """Whether a character goes on a line: to the right of its last one, or below it in Japanese written downwards."""
    last, size = line[-1], max(line[-1].size, glyph.size)
    below = abs(last.x - glyph.x) <= _SAME_BASELINE * size and _DOWN[0] * size <= last.y - glyph.y <= _DOWN[1] * size
    if last.turned != glyph.turned or _runs_down(line):
        return below and last.turned == glyph.turned
    if below and len(line) == 1 and is_wide(last.text[0]) and is_wide(glyph.text[0]) and not last.turned:
        return True
    # Raised and lowered print (a note's number, an exponent) is smaller and stays in its line.
    reach = 0.6 * size if last.size != glyph.size else _SAME_BASELINE * size
    return abs(last.y - glyph.y) <= reach and glyph.x > last.x - 0.5 * size


_DOWN: Final = (0.5, 1.5)
"""Of the print size: how far below each other characters of a line stand that is written downwards."""


def _runs_down(line: list[_Glyph]) -> bool:
    return len(line) > 1 and line[0].y - line[1].y >= _DOWN[0] * line[1].size and not line[0].turned


def _line(glyphs: list[_Glyph]) -> _Line:
    sizes: Counter[float] = Counter()
    heights: Counter[float] = Counter()
    down = _runs_down(glyphs)
    cells: list[tuple[list[str], float, float]] = [([], glyphs[0].x, glyphs[0].right)]
    for before, glyph in pairwise([glyphs[0], *glyphs]):
        sizes[glyph.size] += 1
        heights[glyph.y] += 1
        gap = 0.0 if down else glyph.x - before.right
        size = max(glyph.size, before.size)
        if gap > _CELL_GAP * size:
            cells.append(([], glyph.x, glyph.right))
        elif glyph is not before and _is_spaced(before, glyph, gap / size if size else 0.0, down=down):
            cells[-1][0].append(" ")
        cells[-1] = (cells[-1][0], cells[-1][1], glyph.right)
        cells[-1][0].append(glyph.text)
    parts = [_Cell(close_gaps("".join(pieces)), left, right) for pieces, left, right in cells]
    parts = [part for part in parts if part.text]
    text = " ".join(part.text for part in parts)
    is_row = len(parts) > (2 if _MARKER.fullmatch(parts[0].text) else 1) and not _LEADERS.search(text)
    size, height = sizes.most_common(1)[0][0], heights.most_common(1)[0][0]
    upright = not down and not glyphs[0].turned
    right = max(part.right for part in parts) if parts else glyphs[-1].right
    return _Line(text, size, height, glyphs[0].x, right, upright, tuple(parts) if is_row else ())


def _is_spaced(before: _Glyph, glyph: _Glyph, gap: float, *, down: bool) -> bool:
    """Whether a space stands between two characters, by the file and by the gap (of the print size) between them."""
    if before.spaced == 2 or down:
        return before.spaced > 0 and not down
    if before.spaced:
        return gap >= _NO_GAP
    return (
        gap > _WORD_GAP
        and before.text[-1].isalnum()
        and glyph.text[0].isalnum()
        and (before.text.isascii() and glyph.text.isascii())
    )


def _add_pages(builder: DocumentBuilder, read: _Pages, outline: Mapping[int, Mapping[str, int]]) -> str | None:
    """Add every page's blocks; the largest heading of the first page with any is what the document is called."""
    pages = read.lines
    repeated = _running_lines(pages)
    words = whole_words("\n".join(line.text for page in pages for line in page))
    body = _body_size(pages)
    sizes = sorted({line.size for page in pages for line in page if line.size >= body * _HEADING_SCALE}, reverse=True)
    levels = {size: min(rank, 6) for rank, size in enumerate(sizes, start=1)}
    title: str | None = None
    for number, lines in enumerate(pages, start=1):
        blocks = list(_PageLayout(_without_furniture(lines, repeated), levels, outline.get(number, {}), words).blocks())
        for block in blocks:
            box = _box(block.lines, read.tops[number - 1])
            builder.add(block.kind, block.text, level=block.level, page=number, box=box)
        headings = [block for block in blocks if block.level]
        title = title or (max(headings, key=lambda block: block.size).text if headings else None)
    return title


def _box(lines: Sequence[_Line], top: float) -> tuple[float, float, float, float] | None:
    """The rectangle of lines, from the page's upper left corner; None for print that is turned."""
    if not top or not all(line.upright for line in lines):
        return None
    return (
        min(line.left for line in lines),
        top - max(line.height + 0.8 * line.size for line in lines),
        max(line.right for line in lines),
        top - min(line.height - 0.2 * line.size for line in lines),
    )


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
    """Lines at the head or foot of most pages, whatever number they bear, and those of a chapter at one height."""
    if len(pages) < _FEWEST_PAGES_TO_REPEAT:
        return set()
    counts: Counter[tuple[str, float]] = Counter()
    heights: Counter[tuple[tuple[str, float], int]] = Counter()
    for page in pages:
        edges = [page[index] for index in _edges(page)]
        counts.update({_fingerprint(line) for line in edges})
        # The head of a table that goes on overleaf names its columns: it is a row of several words.
        titles = [line for line in edges if len([cell for cell in line.cells if not _is_number(cell.text)]) < 2]
        heights.update({(_fingerprint(line), round(line.height)) for line in titles})
    often = {line for line, count in counts.items() if count > _REPEATED_ON * len(pages)}
    return often | {line for (line, _), count in heights.items() if count >= _FEWEST_PAGES_OF_CHAPTER}


def _is_number(text: str) -> bool:
    return not any(map(str.isalpha, text)) or bool(re.fullmatch(r"[ivxlc]+", text))


def _without_furniture(page: list[_Line], repeated: set[tuple[str, float]]) -> list[_Line]:
    """The page without its running title and its number."""
    dropped = {index for index in _edges(page) if _fingerprint(page[index]) in repeated}
    return [line for index, line in enumerate(page) if index not in dropped]


class _Found(NamedTuple):
    kind: BlockKind
    level: int
    text: str
    size: float
    lines: tuple[_Line, ...]


class _PageLayout:
    """Groups the lines of one page into blocks."""

    def __init__(
        self, lines: list[_Line], levels: Mapping[float, int], outline: Mapping[str, int], words: Container[str]
    ) -> None:
        self._words = words
        self._lines = lines
        self._levels = levels
        self._outline = outline
        gaps = [abs(a.height - b.height) for a, b in pairwise(lines) if a.size == b.size]
        self._gap = median([gap for gap in gaps if gap > 0] or [0.0])
        self._width = max((len(line.text) for line in lines), default=0)

    def blocks(self) -> Iterator[_Found]:
        group: list[_Line] = []
        rows: list[_Line] = []
        for line in self._lines:
            if group and (not line.text.strip() or self._breaks(group[-1], line)):
                if group[0].cells and not self._level(group[0]):
                    rows += group
                else:
                    yield from _table(rows)
                    rows = []
                    yield self._block(group)
                group = []
            if line.text.strip():
                group.append(line)
        if group and group[0].cells and not self._level(group[0]):
            rows += group
            group = []
        yield from _table(rows)
        if group:
            yield self._block(group)

    def _block(self, group: list[_Line]) -> _Found:
        text = join_lines([line.text for line in group], self._words)
        level = self._level(group[0])
        if level and len(text) <= 2 * _LONGEST_HEADING:
            return _Found(BlockKind.HEADING, level, text, group[0].size, tuple(group))
        kind = BlockKind.LIST_ITEM if _BULLET.match(text) else BlockKind.PARAGRAPH
        return _Found(kind, 0, text, group[0].size, tuple(group))

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


def _table(rows: Sequence[_Line]) -> Iterator[_Found]:
    """Rows in a row: each with the names of its columns, where one of the first names them."""
    header = find_header([[cell.text for cell in row.cells] for row in rows], fewest_columns=3)
    if header is not None and not names_numbers([[cell.text for cell in row.cells] for row in rows[header:]]):
        header = None  # a list of people or words, or a table that goes on from the page before
    columns = rows[header].cells if header is not None else ()
    for index, row in enumerate(rows):
        if header is None or index <= header:
            text = row_text([cell.text for cell in row.cells])
        else:
            texts = [""] * len(columns)
            for cell in row.cells:
                at = _column(cell, columns) if len(row.cells) != len(columns) else row.cells.index(cell)
                texts[at] = f"{texts[at]} {cell.text}".strip()
            text = row_text(texts, [column.text for column in columns])
        yield _Found(BlockKind.TABLE_ROW, 0, text, row.size, (row,))


def _column(cell: _Cell, columns: Sequence[_Cell]) -> int:
    """The column that a cell of a row with gaps stands in: the one that it overlaps most, else the nearest."""
    overlaps = [min(cell.right, column.right) - max(cell.left, column.left) for column in columns]
    return max(range(len(columns)), key=overlaps.__getitem__)


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
