"""Turn text into the terms of the keyword index, and a query into the terms that find them.

Both sides run the same analysis, so what is written alike is found. A token has a position; tokens at one position
are colocated: spellings of one word, or wholes that begin there. The first token at a position is the one that
phrases are made of, and positions follow one another without gaps, as FTS5 counts them: Japanese particles and
punctuation take no position, so 「機構の規格」 is a phrase on both sides. English stop words take theirs.

    "Running the API"   0: run, running      1: the            2: api
    "max_tokens=5"      0: max, max_tokens   1: token, tokens  2: 5
    "標準化の規格"       0: 標準, 標準化       1: 化             2: 規格

What each script gives: Latin letters and digits `latin.py`, kana and ideographs (Chinese too) `japanese.py`; Korean
words and scripts without spaces (Thai, Khmer) pairs of neighbouring characters and the whole; other alphabets
case-folded words; a picture (emoji) itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hybridrag.language import japanese, latin
from hybridrag.language.analyse import Text, analyse, analyse_normalised, is_latin, latin_units
from hybridrag.language.japanese import JAPANESE_TEXT, Extra
from hybridrag.language.normalise import fold, fold_normalised, normalise_with_offsets
from hybridrag.language.units import MAX_TERM, Part, Role, Unit, remember
from hybridrag.types.terms import QueryTerm

ANALYSER_VERSION = 1
"""Raised whenever the same text gives other terms than before."""

_GAPS = str.maketrans("\t\n\r", "   ")
_NOUN_LIKE = frozenset((Role.NOUN, Role.NUMBER, Role.COUNTER, Role.SUFFIX, Role.FAMILY_NAME, Role.GIVEN_NAME))
_BEFORE_NUMBER = frozenset("年月日時分")
"""Counters after which the next number goes on: 2024年3月."""


class Token(NamedTuple):
    """A term of the index and where it stands: `text[start:end]` in the original; never empty."""

    term: str
    start: int
    end: int
    position: int


def tokenise(text: str) -> list[Token]:
    """The tokens of a text to be found, ascending by position.

    "標準化" -> [標準 0:2 @0, 標準化 0:3 @0, 化 2:3 @1]
    """
    normal = normalise_with_offsets(text)
    if is_latin(normal.text):
        tokens = _latin_tokens(normal.text)
    else:
        analysed = analyse(text)
        normal, tokens = analysed.normal, _tokens(analysed)
    if isinstance(normal.starts, range):
        return tokens
    _, starts, ends = normal
    return [Token(term, starts[start], ends[end - 1], position) for term, start, end, position in tokens]


def index_terms(text: str) -> list[tuple[str, ...]]:
    """The terms at each position, the one for phrases first: `tokenise` without offsets, and faster.

    "Running the API" -> [("run", "running"), ("the",), ("api",)]
    """
    normal = normalise_with_offsets(text)
    if is_latin(normal.text):
        return [here for piece in normal.text.split() for here in _piece(piece).positions]
    _, units, extras = analyse_normalised(normal)
    positions: list[tuple[str, ...]] = []
    begins: dict[int, int] = {}
    for at, unit in units:
        begins[at] = len(positions)
        positions.extend(unit.positions)
    for extra in extras:
        at = begins.get(extra.start, -1)
        if at >= 0 and extra.term not in positions[at]:
            positions[at] = (*positions[at], extra.term)
    return positions


def query_terms(text: str) -> list[QueryTerm]:
    """What a query asks for, in order; words that say little are left out unless nothing else remains.

    "TypeScriptとReactの違いは何ですか" -> typescript, react, 違い
    """
    return [_query_term(group) for group in query_groups(text)]


def phrase_terms(text: str) -> list[str]:
    """The terms of a quoted phrase, one for each position in order.

    "国際標準化機構の規格" -> ["国際", "標準", "化", "機構", "規格"]
    """
    return [term for _, unit in analyse(text).units for term in unit.sequence]


def prefix_form(text: str) -> str:
    """The form in which the beginning of a word is looked up: never stemmed, as whole words are indexed too.

    "Runn" -> "runn", which finds `running`; "ｺﾝﾋﾟｭ" -> "コンピュ"
    """
    return fold(text).strip()[:MAX_TERM].strip()


def analyser_fingerprint() -> str:
    """Changes whenever the same text may give other terms: an index made under another one is stale.

    -> "hybridrag 1, sudachipy 0.7, sudachidict-core 20261015, snowball 3.1.0"
    """
    return f"hybridrag {ANALYSER_VERSION}, {japanese.dictionary_version()}, snowball {latin.stemmer_version()}"


class _Piece(NamedTuple):
    """What stands between two gaps in Latin text, punctuation included: looked up whole, it costs one step."""

    width: int
    parts: tuple[Part, ...]
    positions: tuple[tuple[str, ...], ...]


_pieces: dict[str, _Piece] = {}


def _piece(text: str) -> _Piece:
    known = _pieces.get(text)
    if known is not None:
        return known
    parts: list[Part] = []
    positions: list[tuple[str, ...]] = []
    for at, unit in latin_units(text):
        base = len(positions)
        parts.extend(Part(term, at + start, at + end, base + position) for term, start, end, position in unit.parts)
        positions.extend(unit.positions)
    piece = _Piece(len(positions), tuple(parts), tuple(positions))
    return remember(_pieces, text, piece) if len(text) <= MAX_TERM else piece


def _latin_tokens(text: str) -> list[Token]:
    tokens: list[Token] = []
    # NamedTuple's own constructor takes twice the time, and this loop runs once for every term of every document.
    append, make = tokens.append, tuple.__new__
    at = base = 0
    for piece in text.translate(_GAPS).split(" "):
        width, parts, _ = _piece(piece)
        for term, start, end, position in parts:
            append(make(Token, (term, at + start, at + end, base + position)))
        at += len(piece) + 1
        base += width
    return tokens


def _tokens(analysed: Text) -> list[Token]:
    """The tokens of a text with their offsets in the normalised text."""
    _, units, extras = analysed
    tokens: list[Token] = []
    append, make = tokens.append, tuple.__new__
    by_start: dict[int, list[Extra]] = {}
    for extra in extras:
        by_start.setdefault(extra.start, []).append(extra)
    base = 0
    for at, unit in units:
        for term, start, end, position in unit.parts:
            append(make(Token, (term, at + start, at + end, base + position)))
        if at in by_start:
            _insert_extras(tokens, by_start[at], base)
        base += unit.width
    return tokens


def _insert_extras(tokens: list[Token], extras: list[Extra], base: int) -> None:
    """Put terms that span units after the last token of the position they begin at."""
    after = len(tokens)
    while tokens[after - 1].position > base:
        after -= 1
    first = after
    while first and tokens[first - 1].position == base:
        first -= 1
    taken = {token.term for token in tokens[first:after]}
    tokens[after:after] = [
        Token(extra.term, extra.start, extra.end, base) for extra in extras if extra.term not in taken
    ]


class QueryGroup(NamedTuple):
    """The units of a query that make one term, and the stretch of the original text that they stand for."""

    units: tuple[tuple[int, Unit], ...]
    term: str
    start: int
    end: int


def query_groups(text: str) -> list[QueryGroup]:
    """The units of a query joined into terms, without those that say little unless nothing else remains.

    "第3四半期の売上" -> 第 + 3 + 四半期, 売り上げ
    """
    analysed = analyse(text)
    groups = [_group(analysed, units, term) for units, term in _grouped(analysed)]
    normal = analysed.normal.text
    shouting = normal.isupper() and not JAPANESE_TEXT.search(normal)
    telling = [group for group in groups if not _says_little(group, text, shouting=shouting)]
    return telling or groups


def _grouped(analysed: Text) -> Iterator[tuple[list[tuple[int, Unit]], str]]:
    """Runs of units that make one term, with the term where the analysis names one."""
    units = analysed.units
    spans = {extra.start: extra for extra in analysed.extras if extra.merges}
    first = 0
    while first < len(units):
        span = spans.get(units[first][0])
        last = _end_under(units, first, span.end) if span is not None else 0
        if span is not None and last:
            yield units[first:last], span.term
        else:
            last = _end_of_group(units, first, spans)
            yield units[first:last], ""
        first = last


def _end_under(units: list[tuple[int, Unit]], first: int, end: int) -> int:
    """The index after the units that fill the stretch up to `end`; 0 when one of them reaches over it."""
    last = first
    while last < len(units) and units[last][0] < end:
        last += 1
    return last if _end(units[last - 1]) <= end else 0


def _end_of_group(units: list[tuple[int, Unit]], first: int, spans: dict[int, Extra]) -> int:
    is_ordinal = units[first][1].role is Role.PREFIX
    last = first + 1
    while last < len(units) and units[last][0] not in spans:
        if not _belong(units[last - 1], units[last], is_ordinal=is_ordinal):
            break
        last += 1
    return last


def _belong(left: tuple[int, Unit], right: tuple[int, Unit], *, is_ordinal: bool) -> bool:
    """Whether a unit goes on with what stands before it: 第|3|四半期, 3|月|15|日, 附属|書, 山田|太郎."""
    (_, before), (at, after) = left, right
    if _end(left) != at or before.stop or after.stop:
        return False
    if before.role is Role.PREFIX:
        return after.role in _NOUN_LIKE
    if after.role is Role.SUFFIX:
        return before.role in _NOUN_LIKE
    if after.role is Role.GIVEN_NAME:
        return before.role is Role.FAMILY_NAME
    if after.role in (Role.COUNTER, Role.NOUN):
        return before.role is Role.NUMBER and (is_ordinal or after.role is Role.COUNTER)
    return after.role is Role.NUMBER and before.whole in _BEFORE_NUMBER


def _end(item: tuple[int, Unit]) -> int:
    at, unit = item
    return at + max(part.end for part in unit.parts)


def _group(analysed: Text, units: list[tuple[int, Unit]], term: str) -> QueryGroup:
    start = units[0][0] + min(part.start for part in units[0][1].parts)
    end = max(map(_end, units))
    if not term:
        term = units[0][1].whole if len(units) == 1 else ""
    written = fold_normalised(analysed.normal.text[start:end])
    return QueryGroup(tuple(units), (term or written)[:MAX_TERM], *analysed.normal.span(start, end))


def _says_little(group: QueryGroup, text: str, *, shouting: bool) -> bool:
    if not all(unit.stop for _, unit in group.units):
        return False
    written = text[group.start : group.end]
    # "IT department" and 附属書A mean something else than "it" and "a".
    return shouting or not (written.isupper() and (len(written) > 1 or JAPANESE_TEXT.search(text)))


def _query_term(group: QueryGroup) -> QueryTerm:
    sequence = tuple(term for _, unit in group.units for term in unit.sequence)
    others = group.units[0][1].others if len(group.units) == 1 else ()
    return QueryTerm(group.term, group.start, group.end, sequence if len(sequence) > 1 else (), others)
