"""HTML: what a reader of the page sees, without scripts, navigation and other furniture."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.entities import html5
from typing import TYPE_CHECKING, Final, NamedTuple

from hybridrag.documents.build import DocumentBuilder
from hybridrag.documents.dates import parse_date
from hybridrag.documents.decode import codec_of
from hybridrag.documents.lines import collapse
from hybridrag.documents.source import Source
from hybridrag.documents.tables import find_header, row_text
from hybridrag.errors import UnreadableDocument
from hybridrag.types.documents import BlockKind, Document

if TYPE_CHECKING:
    from lxml.etree import XMLParser, _Element

_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_XML_CHARSET = re.compile(rb"<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]+)", re.IGNORECASE)
_CHARSET_WITHIN: Final = 4096

_DROPPED: Final = frozenset(
    {
        *("script", "style", "template", "noscript", "svg", "iframe", "object", "embed", "canvas", "audio", "video"),
        *("map", "select", "button", "input", "textarea", "head", "rt", "rp"),
    }
)
"""Never text of the page. `rt` and `rp` spell out the reading of kanji, which the base text holds already."""
_FURNITURE: Final = frozenset({"nav", "menu", "dialog"})
_FURNITURE_ROLES: Final = frozenset({"navigation", "search", "menu", "menubar", "dialog"})
_FURNITURE_CLASSES = re.compile(
    r"(?:^|\s)(?:headerlink|mw-editsection|skip-link|sr-only-focusable|nav|navbar|navigation|navheader|navfooter|site-nav|"
    r"breadcrumbs?|sidebar|sphinxsidebar|toc|table-of-contents|pagination|pager|"
    r"cookies?(?:[_-](?:banner|bar|consent|notice|popup))?)(?:\s|$)",
    re.IGNORECASE,
)
"""Names that pages give to their frames: what Sphinx, DocBook, MediaWiki, Bootstrap and WordPress call theirs."""
_CONTENT: Final = ("h1", "main", "article", "{*}h1", "{*}main", "{*}article")
_LINKED: Final = 0.6
"""A block with more than this share of its text in links, at either end of a page, is navigation."""
_INVISIBLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)

_BLOCKS: Final = frozenset(
    {
        *("address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div"),
        *("dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6"),
        *("header", "hgroup", "hr", "html", "legend", "li", "main", "menu", "nav", "ol", "p", "pre", "section"),
        *("summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul"),
    }
)
_ITEMS: Final = frozenset({"li", "dt", "dd"})
_NO_CELL: Final = frozenset({"table", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "dl", "pre", "form"})
"""What stands in tables that lay out a page, and not in tables of data."""
_BREAK: Final = "\u2028"
"""A forced line break, kept apart from white space until that is collapsed."""
_AROUND_BREAK = re.compile(f" *{_BREAK} *")
_PARAGRAPH_BREAK = re.compile(f"{_BREAK}(?:\\s*{_BREAK})+")
_WIDEST_SPAN: Final = 100
_TALLEST_SPAN: Final = 1000
_MOST_COLUMNS: Final = 1000
"""Past these, spans are no longer believed: each may claim a hundred columns in a few bytes."""


def read_html(source: Source) -> Document:
    """The page's text in reading order, with its headings, lists, tables and preformatted text.

    "<title>T</title><h1>A</h1><p>b" -> title "T", heading "A", paragraph "b"

    Raises:
        UnreadableDocument: nested deeper than any page is.
    """
    text = source.text(declared=declared_charset(source.data))
    root = parse_html(text, name=source.name)
    builder = DocumentBuilder(source)
    if root is None:
        return builder.document()
    add_html(builder, root, lines=True)
    metadata = _metadata(root)
    return builder.document(
        title=page_title(root),
        created=parse_date(metadata.pop("article:published_time", None) or metadata.get("date")),
        modified=parse_date(metadata.pop("article:modified_time", None)),
        metadata=metadata,
    )


def declared_charset(data: bytes) -> str | None:
    """The encoding that a page or XML file names for itself.

    b'<meta charset="shift_jis">' -> "shift_jis"
    """
    head = data[:_CHARSET_WITHIN]
    match = _XML_CHARSET.search(head) or _META_CHARSET.search(head)
    charset = match[1].decode("ascii", "replace") if match else None
    # It could be read as ASCII, so it cannot be true; browsers take UTF-8 here.
    return "utf-8" if (codec_of(charset) or "").startswith(("utf-16", "utf-32")) else charset


def parse_html(text: str, *, name: str) -> _Element | None:
    """The tree of a page, however broken it is; None if there is nothing in it.

    Raises:
        UnreadableDocument: nested deeper than any page is.
    """
    from lxml import etree  # noqa: PLC0415 (keeps start-up fast)

    # Text arrives decoded: as UTF-8 it is right whatever the page says. `huge_tree` lifts limits on text
    # length; what remains is a depth of 2048.
    parser = etree.HTMLParser(
        encoding="utf-8", recover=True, remove_comments=True, remove_pis=True, no_network=True, huge_tree=True
    )
    data = text.replace("\x00", " ").encode("utf-8", "replace")
    root = etree.fromstring(data, parser) if data.strip() else None
    if any(entry.type_name == "ERR_RESOURCE_LIMIT" for entry in parser.error_log):
        raise UnreadableDocument(name, "is nested too deeply")
    return root


_ENTITY = re.compile(r"&([A-Za-z][A-Za-z0-9]{1,31};)")
_XML_ENTITIES: Final = frozenset({"lt;", "gt;", "amp;", "quot;", "apos;"})


def parse_xhtml(text: str, *, name: str) -> _Element | None:
    """The tree of an XHTML page, as XML where it is well-formed and as HTML where it is not.

    Only as XML is `<title/>` an empty title; HTML takes the rest of the page for its text.

    Raises:
        UnreadableDocument: nested deeper than any page is.
    """
    from lxml import etree  # noqa: PLC0415 (keeps start-up fast)

    named = _ENTITY.sub(lambda match: match[0] if match[1] in _XML_ENTITIES else html5.get(match[1], match[0]), text)
    try:
        root = etree.fromstring(named.encode("utf-8", "replace"), xml_parser())
    except etree.XMLSyntaxError:
        return parse_html(text, name=name)
    etree.strip_tags(root, etree.Entity)
    return root


def xml_parser() -> XMLParser:
    """A parser that loads nothing, expands nothing and gives up on absurd input."""
    from lxml import etree  # noqa: PLC0415 (keeps start-up fast)

    return etree.XMLParser(
        encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
    )


def add_html(builder: DocumentBuilder, root: _Element, *, page: int | None = None, lines: bool = False) -> None:
    """Add the page's blocks, with their lines if asked; a page of nothing but navigation keeps it."""
    found = _without_edges(_Flow(keep_furniture=False).run(root)) or _Flow(keep_furniture=True).run(root)
    for block in found:
        builder.add(
            block.kind,
            block.text,
            level=block.level,
            page=page,
            line=block.line if lines else None,
            anchor=block.anchor,
        )


class _Found(NamedTuple):
    kind: BlockKind
    text: str
    level: int
    line: int | None
    anchor: str | None
    linked: float
    """The share of its text that is in links."""


def _without_edges(blocks: list[_Found]) -> list[_Found]:
    """The blocks without the links before the first heading and after the last text: where frames put navigation."""
    heading = next((index for index, block in enumerate(blocks) if block.kind is BlockKind.HEADING), 0)
    opening = [block for block in blocks[:heading] if block.linked <= _LINKED]
    last = len(blocks)
    while last > heading and blocks[last - 1].linked > _LINKED and blocks[last - 1].kind is not BlockKind.HEADING:
        last -= 1
    kept = [*opening, *blocks[heading:last]]
    return kept if any(block.kind is not BlockKind.HEADING for block in kept) else []


def page_title(root: _Element) -> str | None:
    """What `<title>` says, or else the title for sharing.

    <title> Plan </title> -> "Plan"
    """
    for element in root.iter("title", "{*}title"):
        if title := collapse(element.text or ""):
            return title
    return _metadata(root).get("og:title")


def line_of(element: _Element) -> int | None:
    """The line of the file that an element begins on."""
    line: object = element.sourceline
    return line if isinstance(line, int) and line > 0 else None


def local_name(element: _Element) -> str:
    """The tag without its namespace, in lower case."""
    return element.tag.rpartition("}")[2].lower()


_META_KEYS: Final = frozenset(
    {"author", "description", "keywords", "date", "og:title", "article:published_time", "article:modified_time"}
)


def _metadata(root: _Element) -> dict[str, str]:
    values: dict[str, str] = {}
    for meta in root.iter("meta", "{*}meta"):
        key = (meta.get("name") or meta.get("property") or "").lower()
        content = collapse(meta.get("content") or "")
        if key in _META_KEYS and content:
            values.setdefault(key, content)
    if language := root.get("lang"):
        values["language"] = language
    return values


class _Flow:
    """Walks the page once, gathers inline text and hands it on wherever a block begins or ends."""

    def __init__(self, *, keep_furniture: bool) -> None:
        self._found: list[_Found] = []
        self._keep_furniture = keep_furniture
        self._inline: list[str] = []
        self._line: int | None = None
        self._links = self._linked = 0
        self._anchor: str | None = None
        self._last_id: str | None = None
        """The last id since the last text: the heading that follows is opened by it."""
        self._open: list[str] = []
        """Tags around the current place that decide what its text is."""

    def run(self, root: _Element) -> list[_Found]:
        """The page's blocks."""
        from lxml import etree  # noqa: PLC0415 (keeps start-up fast)

        walker = etree.iterwalk(root, events=("start", "end"))
        for event, element in walker:
            tag = local_name(element)
            if event == "start":
                if self._start(element, tag):
                    walker.skip_subtree()
            else:
                self._end(tag)
                if element is not root:
                    self._say(element.tail or "", element)
        self._flush()
        return self._found

    def _say(self, text: str, element: _Element) -> None:
        self._inline.append(text)
        if text and not text.isspace():
            self._linked += len(text) if self._links else 0
            if self._line is None:
                self._line = line_of(element)

    def _start(self, element: _Element, tag: str) -> bool:
        """Enter an element; True if what is inside it is done with."""
        if tag in _BLOCKS:
            self._flush()
        if tag in _DROPPED or _is_hidden(element) or (not self._keep_furniture and _is_furniture(element, tag)):
            return True
        if tag == "table" and _is_data(element):
            self._add_table(element)
            return True
        self._last_id = element.get("id") or (element.get("name") if tag == "a" else None) or self._last_id
        if tag in _HEADING_LEVELS or tag in _ITEMS or tag == "pre":
            self._open.append(tag)
        self._links += tag == "a" and element.get("href") is not None
        self._say(_BREAK if tag == "br" else element.text or "", element)
        return False

    def _end(self, tag: str) -> None:
        if tag in _BLOCKS:
            self._flush()
        if tag == "a" and self._links:
            self._links -= 1
        if self._open and self._open[-1] == tag:
            self._open.pop()

    def _flush(self) -> None:
        if not self._inline:
            return
        text = "".join(self._inline)
        if text and not text.isspace():
            self._add(text, self._linked / len(text.strip()))
        self._inline.clear()
        self._line, self._linked = None, 0

    def _put(self, kind: BlockKind, text: str, linked: float, *, level: int = 0) -> None:
        if text and not text.isspace():
            self._found.append(_Found(kind, text, level, self._line, self._anchor, linked))

    def _add(self, text: str, linked: float) -> None:
        heading = next((tag for tag in reversed(self._open) if tag in _HEADING_LEVELS), None)
        if heading:
            self._anchor = self._last_id or self._anchor
            self._put(BlockKind.HEADING, collapse(text.replace(_BREAK, " ")), linked, level=_HEADING_LEVELS[heading])
        elif "pre" in self._open:
            self._put(BlockKind.CODE, text.replace(_BREAK, "\n"), linked)
        else:
            kind = BlockKind.LIST_ITEM if self._open else BlockKind.PARAGRAPH
            for part in _PARAGRAPH_BREAK.split(text):
                self._put(kind, _AROUND_BREAK.sub("\n", collapse(part)), linked)
        self._last_id = None

    def _add_table(self, table: _Element) -> None:
        links = sum(len(inline_text(link)) for link in table.iter("a", "{*}a"))
        linked = links / max(1, len(inline_text(table)))
        self._line = line_of(table)
        for caption in table.iter("caption", "{*}caption"):
            self._put(BlockKind.PARAGRAPH, inline_text(caption), linked)
        for line, text in _table_lines(table):
            self._line = line
            self._put(BlockKind.TABLE_ROW, text, linked)
        self._line = self._last_id = None


_HEADING_LEVELS: Final = {f"h{level}": level for level in range(1, 7)}


def _is_hidden(element: _Element) -> bool:
    style = element.get("style")
    return element.get("hidden") is not None or bool(style and _INVISIBLE.search(style))


def _is_furniture(element: _Element, tag: str) -> bool:
    return (
        tag in _FURNITURE
        or element.get("role") in _FURNITURE_ROLES
        or (_is_named_furniture(element) and next(element.iter(*_CONTENT), None) is None)
    )


def _is_named_furniture(element: _Element) -> bool:
    return any(_FURNITURE_CLASSES.search(element.get(name) or "") for name in ("class", "id"))


def inline_text(element: _Element) -> str:
    """Everything visible inside an element, on one line.

    <td>a<br>b <ruby>漢<rt>かん</rt></ruby></td> -> "a b 漢"
    """
    from lxml import etree  # noqa: PLC0415 (keeps start-up fast)

    parts: list[str] = []
    walker = etree.iterwalk(element, events=("start", "end"))
    for event, inner in walker:
        tag = local_name(inner)
        if event == "start":
            if tag in _DROPPED or _is_hidden(inner):
                walker.skip_subtree()
            else:
                parts += (" " if tag in _BLOCKS or tag == "br" else "", inner.text or "")
        elif inner is not element:
            parts += (" " if tag in _BLOCKS else "", inner.tail or "")
    return collapse("".join(parts))


def _is_data(table: _Element) -> bool:
    """Whether a table holds data: at least two cells beside each other, and nothing that only layout puts in."""
    widest = cells = 0
    for element in table.iterdescendants():
        tag = local_name(element)
        if tag in _NO_CELL:
            return False
        if tag == "tr":
            cells = 0
        elif tag in {"td", "th"}:
            cells += 1
            widest = max(widest, cells)
    return widest >= 2


def _table_lines(table: _Element) -> Iterator[tuple[int | None, str]]:
    rows = list(_grid(table))
    names = next((index for index, (_, _, marked) in enumerate(rows) if marked), None)
    texts = [cells for _, cells, _ in rows]
    if names is None and not any(marked is None for _, _, marked in rows):
        names = find_header(texts, fewest_columns=3)
    for index, (line, cells, marked) in enumerate(rows):
        if names is not None and index > names:
            yield line, row_text(cells, texts[names])
        elif marked is None:
            yield line, row_text(cells[1:], None) and f"{cells[0]}: {row_text(cells[1:])}"
        else:
            yield line, row_text(cells)


def _grid(table: _Element) -> Iterator[tuple[int | None, list[str], bool | None]]:
    """Each row's line and cells, spans filled in; True for a row of column names, None for one that names itself."""
    hanging: dict[int, tuple[int, str]] = {}
    for row in table.iter("tr", "{*}tr"):
        cells: list[str] = []
        tags: list[str] = []
        for element in row.iterchildren("td", "th", "{*}td", "{*}th"):
            _fill(cells, hanging)
            text = inline_text(element)
            tags.append(local_name(element))
            wide = _span(element, "colspan", _WIDEST_SPAN) if len(cells) < _MOST_COLUMNS else 1
            for offset in range(wide):
                # A value that spans columns is said once, a name that does is said over each of them.
                shown = text if offset == 0 or tags[-1] == "th" else ""
                hanging[len(cells)] = (_span(element, "rowspan", _TALLEST_SPAN) - 1, shown)
                cells.append(shown)
        _fill(cells, hanging)
        if any(cells):
            yield line_of(row), cells, _names(tags)


def _fill(cells: list[str], hanging: dict[int, tuple[int, str]]) -> None:
    """Put in the cells that hang down from rows above."""
    while (left := hanging.get(len(cells), (0, "")))[0] > 0:
        hanging[len(cells)] = (left[0] - 1, left[1])
        cells.append(left[1])


def _names(tags: list[str]) -> bool | None:
    if len(tags) > 1 and all(tag == "th" for tag in tags):
        return True
    return None if len(tags) == 2 and tags[0] == "th" else False


def _span(element: _Element, attribute: str, most: int) -> int:
    value = element.get(attribute) or ""
    return min(max(int(value), 1), most) if value.isdecimal() and len(value) < 9 else 1
