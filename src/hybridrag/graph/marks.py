"""What stands out in a text of either language without grammar: code, quotations, dates, addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hybridrag.graph.link import LinkDictionary, find_links, outermost, title_aliases
from hybridrag.graph.mentions import Context, Mention, Source
from hybridrag.graph.names import name_key
from hybridrag.types.graph import EntityType

Span = tuple[int, int]

_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>「」（）]+|(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w.-]+\w")
_FENCE = re.compile(r"^(```|~~~).*?(?:^\1|\Z)", re.MULTILINE | re.DOTALL)
_BACKTICKS = re.compile(r"(?<!`)`([^`\n]{1,80})`(?!`)")
_EXTENSIONS = (
    "py|pyi|js|jsx|ts|tsx|java|c|cc|cpp|h|hpp|rs|go|rb|php|sh|sql|html|css|json|yaml|yml|toml|xml|md|rst|txt|csv|tsv|"
    "pdf|docx?|xlsx?|pptx?|ini|cfg|conf|log|ipynb|db|sqlite|zip|gz|png|jpe?g|svg"
)
_FILE_NAME = re.compile(rf"(?<![\w/.@])(?:[\w.-]+/)*[\w-][\w.-]*\.(?:{_EXTENSIONS})(?![\w/])", re.ASCII)
_IDENTIFIER = re.compile(
    r"(?<![\w/.@-])(?:"
    r"_{0,2}[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+(?:\(\))?"  # snake_case, CONSTANT_CASE
    r"|[a-z]+(?:[A-Z][a-z0-9]+)+(?:\(\))?"  # camelCase
    r"|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\(\)"  # call()
    r"|--[a-z][a-z0-9]+(?:-[a-z0-9]+)*"  # --option
    r")(?![\w-])",
    re.ASCII,
)
_CELL_LABEL = re.compile(r"(?:^|(?<=\| ))(?P<label>[^|\n]{1,60}?)[:：](?=\s|$)", re.MULTILINE)
_LINE_LABEL = re.compile(
    r"^[ \t>*_#・■◆○●-]*(?P<label>[^\W\d_][^\n:：|。.!?！？(（]{0,30}?)[*_]*(?:[:：](?=[\s*_])|：)", re.MULTILINE
)
_TABLE_HEAD = re.compile(
    r"^[^\n]+\|[^\n]*(?=\n\|?[ \t]*:?-{3,})"  # Markdown: a line of dashes follows
    r"|^(?P<first>[^|\n]{1,60}) \|[^\n]+(?=\n(?P=first): )",  # a table written out: "a | b", then "a: 1 | b: 2"
    re.MULTILINE,
)
_LABEL_WORDS = 4
MIN_CODE = 2
CODE_CONFIDENCE = 0.8
DATE_CONFIDENCE = 0.9  # as a name: of a year and an event with that year, the longer wins

_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December|"
    r"(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.?)"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"(?:1\d{3}|20\d{2})"
_DATE = re.compile(
    rf"\b{_DAY}(?:\s+of)?\s+{_MONTH},?(?:\s+{_YEAR}\b)?"
    rf"|\b{_MONTH}\s+{_DAY}\b(?:,?\s+{_YEAR}\b)?"
    rf"|\b{_MONTH},?\s+{_YEAR}\b"
    rf"|(?<=[a-z,;(] ){_MONTH}\b(?! [A-Z])"
    rf"|\b{_YEAR}-\d{{2}}(?:-\d{{2}})?\b"
    rf"|\b\d{{1,2}}/\d{{1,2}}/(?:\d{{2}}|{_YEAR})\b"
    rf"|\b(?:the\s+)?(?:(?:early|mid|late)[- ])?(?:{_YEAR}s|\d{{1,2}}(?:st|nd|rd|th)(?:[- ]|\s+)century)\b"
    rf"|(?<![\d.,:$€£¥])(?:{_YEAR}(?<!1[0-4]\d\d)|(?<=[a-z,(] )1[0-4]\d\d\b)(?:[–-]\d{{2}}(?!\d))?(?![\d%]|[.,:]\d)"
    r"(?!\s?(?:km|kg|m|cm|mm|people|inhabitants|employees|students|copies|miles|feet|votes|dollars|yen|人|円|個|件|名|台|本|回|万|億)\b)"
)
_ERAS = (
    "令和|平成|昭和|大正|明治|慶応|文久|安政|嘉永|弘化|天保|文政|文化|享和|寛政|天明|安永|明和|宝暦|寛延|延享|元文|享保|"
    "正徳|宝永|元禄|貞享|天和|延宝|寛文|万治|明暦|承応|慶安|正保|寛永|元和|慶長|文禄|天正|元亀|永禄|弘治|天文|応仁|建武"
)
_JAPANESE_DATE = re.compile(
    rf"(?:(?:{_ERAS}|紀元前)(?:[0-9]+|元)年|[0-9]{{3,4}}年(?:[(（](?:{_ERAS})(?:[0-9]+|元)年[)）])?)"
    r"(?:[0-9]+月(?:[0-9]+日)?)?(?:代|頃|末|初頭)?"
    r"|[0-9]+月[0-9]+日|[0-9]+世紀(?:初頭|前半|後半|末|半ば)?"
)


def is_inside(start: int, end: int, spans: list[Span]) -> bool:
    """Whether any of the spans overlaps `start:end`."""
    return any(start < b and a < end for a, b in spans)


def addresses(text: str) -> list[Span]:
    """Where web addresses, mail addresses and fenced code stand: no names are looked for inside.

    "see https://example.org" -> [(4, 23)]
    """
    return [match.span() for pattern in (_FENCE, _ADDRESS) for match in pattern.finditer(text)]


def labels(text: str) -> list[Span]:
    """Where the columns of tables and the fields of forms are called, which name nothing that the text speaks of.

    "Part no.: QM-1 | Lead time: 5" -> "Part no.", "Lead time"; "From: Ann Lee" -> "From"
    """
    found = [match.span() for match in _TABLE_HEAD.finditer(text)]
    for match in _CELL_LABEL.finditer(text):
        end = text.find("\n", match.end())
        if " | " in text[text.rfind("\n", 0, match.start()) + 1 : len(text) if end < 0 else end]:
            found.append(match.span("label"))
    for match in _LINE_LABEL.finditer(text):
        words = match["label"].split()
        # What stands with a capital inside a sentence too is a name: "Kwame: I will do it."
        is_name = len(words) == 1 and re.search(rf"[a-z,;] {re.escape(words[0])}\b", text)
        if len(words) <= _LABEL_WORDS and not is_name and not any(word[0].isupper() for word in words[1:]):
            found.append(match.span("label"))
    return found


def code_terms(text: str, skip: list[Span]) -> Iterator[Mention]:
    """Identifiers, file names, and what is set in backticks.

    "Call `open` in read_file() of main.py" -> "open", "read_file()", "main.py"
    """
    for match in _BACKTICKS.finditer(text):
        yield from _code(match.group(1).strip(), match.start(1) + _leading(match.group(1)), skip)
    for pattern in (_FILE_NAME, _IDENTIFIER):
        for match in pattern.finditer(text):
            yield from _code(match.group(), match.start(), skip)


def _leading(text: str) -> int:
    return len(text) - len(text.lstrip())


def _code(name: str, start: int, skip: list[Span]) -> Iterator[Mention]:
    end = start + len(name)
    key = name_key(name)
    if len(key) >= MIN_CODE and not key.isdecimal() and not is_inside(start, end, skip):
        yield Mention(name, key, EntityType.CONCEPT, start, end, CODE_CONFIDENCE, Source.CODE)


def dates(text: str, skip: list[Span], *, japanese: bool) -> Iterator[Mention]:
    """Dates, years, decades and centuries.

    "born 13 March 1963" -> "13 March 1963"; "1950年に" -> "1950年"
    """
    pattern = _JAPANESE_DATE if japanese else _DATE
    for match in pattern.finditer(text):
        start, end = match.span()
        name = match.group().rstrip(" ,")
        if not is_inside(start, end, skip):
            yield Mention(name, name_key(name), EntityType.TIME, start, start + len(name), DATE_CONFIDENCE, Source.DATE)


TITLE_CONFIDENCE = 0.75  # less than a name as it is written: "The Matrix" wins over the title's "Matrix"


def context_mentions(text: str, context: Context) -> Iterator[Mention]:
    """Where the text names its own document's title or headings, in whatever case.

    title "Machine learning": "in machine learning, ..." -> "machine learning"
    """
    titles = [title for title in (context.title, *context.headings) if title]
    aliases = LinkDictionary(alias for title in titles for alias, _ in title_aliases(title))
    for link in outermost(find_links(text, aliases)) if len(aliases) else ():
        name = text[link.start : link.end]
        yield Mention(name, name_key(name), EntityType.OTHER, link.start, link.end, TITLE_CONFIDENCE, Source.TITLE)
