"""Read the operators of a keyword query: OR, AND, NOT, "phrase", word*, NEAR(a b, 5) and parentheses.

They are honoured exactly as they are written. A query that is not well-formed with them has none: its words are
searched as words, so that no text of a user is ever an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hybridrag.language.tokenise import phrase_terms, prefix_form
from hybridrag.types.terms import AllOf, AnyOf, Near, Operators, Phrase, Prefix, Term, TermQuery, Without

NEAR_DISTANCE = 10
"""FTS5's own default, for NEAR(a b) without a number."""

MAX_DEPTH = 20
"""Parentheses nested deeper than any person writes; bounds the recursion."""

_LEXEMES = re.compile(
    r"""
      (?P<phrase>"[^"]*")(?P<phrase_star>\*)?
    | (?P<near>NEAR\s*\()
    | (?P<open>\()
    | (?P<close>\))
    | (?P<operator>(?:OR|AND|NOT)(?=[\s(")]|$))
    | (?P<word>[^\s()"]+)
    """,
    re.VERBOSE,
)
_NEAR_BODY = re.compile(r"(?P<body>[^()]*?)(?:,\s*(?P<distance>\d{1,4})\s*)?\)")
_NEAR_PART = re.compile(r'"[^"]*"|[^\s",]+')


@dataclass(frozen=True, slots=True)
class _Lexeme:
    kind: str
    text: str
    shown: str
    """As the query has it."""
    distance: int = NEAR_DISTANCE


class _Malformed(Exception):
    """Not an expression: search its words."""


def read_operators(query: str) -> Operators | None:
    """The operators of a query; None when it has none or they do not add up.

    'tax OR "rate limit" NOT draft' -> AnyOf(tax, Without("rate limit", draft)); NOT binds tighter than AND, AND than OR
    'what is the limit' -> None
    """
    lexemes = _lex(query)
    if lexemes is None or not any(_is_explicit(lexeme) for lexeme in lexemes):
        return None
    parser = _Parser(lexemes)
    try:
        tree = parser.expression(depth=0)
    except _Malformed:
        return None
    return Operators(tree, " ".join(_wanted(lexemes)) or query) if parser.at_end() else None


def _wanted(lexemes: list[_Lexeme]) -> Iterator[str]:
    """The words and phrases of a well-formed query, without what a NOT excludes."""
    excluded = False
    depth = 0
    for lexeme in lexemes:
        if lexeme.kind == "operator":
            excluded = excluded or lexeme.text == "NOT"
            continue
        if not excluded and lexeme.kind not in {"open", "close"}:
            yield lexeme.shown
        depth += (lexeme.kind == "open") - (lexeme.kind == "close") if excluded else 0
        # What a NOT excludes ends with its operand: a word, or everything in its parentheses.
        excluded = excluded and depth > 0


def _is_explicit(lexeme: _Lexeme) -> bool:
    return lexeme.kind in {"phrase", "near", "operator", "prefix"}


def _lex(query: str) -> list[_Lexeme] | None:
    """The query's parts; None when a quotation mark or a NEAR is left open."""
    lexemes: list[_Lexeme] = []
    place = 0
    while place < len(query):
        if query[place].isspace():
            place += 1
            continue
        match = _LEXEMES.match(query, place)
        if match is None:
            return None
        place = match.end()
        kind = str(match.lastgroup)
        if kind == "near":
            body = _NEAR_BODY.match(query, place)
            if body is None:
                return None
            place = body.end()
            distance = int(body["distance"]) if body["distance"] else NEAR_DISTANCE
            lexemes.append(_Lexeme("near", body["body"], body["body"].strip(), distance))
        elif kind in {"phrase", "phrase_star"}:
            lexemes.append(_Lexeme("phrase", match["phrase"].strip('"'), match["phrase"]))
        elif kind == "word" and _is_prefix(match["word"]):
            lexemes.append(_Lexeme("prefix", match["word"].rstrip("*"), match["word"].rstrip("*")))
        else:
            lexemes.append(_Lexeme(kind, match[kind], match[kind]))
    return lexemes


def _is_prefix(word: str) -> bool:
    """`type*` is a prefix; `*`, `**bold**` and `a*b` are not."""
    return len(word) > 1 and word.endswith("*") and "*" not in word[:-1] and any(map(str.isalnum, word))


class _Parser:
    """Precedence as in FTS5: NOT, then AND (or nothing between two words), then OR."""

    def __init__(self, lexemes: list[_Lexeme]) -> None:
        self._lexemes = lexemes
        self._place = 0

    def at_end(self) -> bool:
        return self._place == len(self._lexemes)

    def expression(self, *, depth: int) -> TermQuery:
        if depth > MAX_DEPTH:
            raise _Malformed
        parts = [self._conjunction(depth)]
        while self._take_operator("OR"):
            parts.append(self._conjunction(depth))
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def _conjunction(self, depth: int) -> TermQuery:
        parts = [self._exclusion(depth)]
        while self._take_operator("AND") or self._starts_operand():
            parts.append(self._exclusion(depth))
        return parts[0] if len(parts) == 1 else AllOf(tuple(parts))

    def _exclusion(self, depth: int) -> TermQuery:
        tree = self._operand(depth)
        while self._take_operator("NOT"):
            tree = Without(tree, self._operand(depth))
        return tree

    def _operand(self, depth: int) -> TermQuery:
        if self.at_end():
            raise _Malformed
        lexeme = self._lexemes[self._place]
        self._place += 1
        if lexeme.kind == "open":
            tree = self.expression(depth=depth + 1)
            if self.at_end() or self._lexemes[self._place].kind != "close":
                raise _Malformed
            self._place += 1
            return tree
        leaf = self._leaf(lexeme)
        if leaf is None:
            raise _Malformed
        return leaf

    def _leaf(self, lexeme: _Lexeme) -> TermQuery | None:
        match lexeme.kind:
            case "prefix":
                form = prefix_form(lexeme.text)
                return Prefix(form) if form else None
            case "near":
                phrases = [tuple(phrase_terms(part.strip('"'))) for part in _NEAR_PART.findall(lexeme.text)]
                found = tuple(Phrase(terms) for terms in phrases if terms)
                return Near(found, lexeme.distance) if found else None
            case "phrase" | "word":
                terms = tuple(phrase_terms(lexeme.text))
                if not terms:
                    return None
                return Term(terms[0]) if len(terms) == 1 else Phrase(terms)
            case _:
                return None

    def _take_operator(self, name: str) -> bool:
        if self.at_end():
            return False
        lexeme = self._lexemes[self._place]
        if lexeme.kind != "operator" or lexeme.text != name:
            return False
        self._place += 1
        return True

    def _starts_operand(self) -> bool:
        return not self.at_end() and self._lexemes[self._place].kind in {"phrase", "word", "prefix", "near", "open"}
