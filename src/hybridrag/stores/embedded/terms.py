"""Keyword search on SQLite FTS5, with the language layer as its tokenizer."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from hybridrag.language.tokenise import index_terms
from hybridrag.stores.embedded.filters import CompiledFilter
from hybridrag.stores.embedded.schema import BM25_BODY_WEIGHT, BM25_CONTEXT_WEIGHT
from hybridrag.types.terms import AllOf, AnyOf, Near, Phrase, Prefix, Term, TermQuery, Without

_QUERY_FLAGS = apsw.FTS5_TOKENIZE_QUERY | apsw.FTS5_TOKENIZE_AUX


def register_tokenizer(connection: apsw.Connection) -> None:
    """Teach a connection the tokenizer that the terms table names."""
    connection.register_fts5_tokenizer("hybridrag", _make_tokenizer)


def _make_tokenizer(connection: apsw.Connection, arguments: list[str]) -> apsw.Tokenizer:
    del connection, arguments
    return _tokenize


def _tokenize(utf8: bytes, flags: int, locale: str | None) -> list[tuple[str, ...]]:
    """Terms by position for FTS5. A query's terms were made by the language layer before and pass as they are."""
    del locale
    text = utf8.decode("utf-8", "replace")
    if flags & _QUERY_FLAGS:
        return [(text,)] if text else []
    return index_terms(text)


def index_chunk(connection: apsw.Connection, key: int, context: str, body: str) -> None:
    """Make a chunk findable by its words."""
    connection.execute("INSERT INTO terms (rowid, context, body) VALUES (?, ?, ?)", (key, context, body))


def forget_chunks(connection: apsw.Connection, keys: Sequence[int]) -> None:
    """Take chunks out of the term index."""
    connection.executemany("DELETE FROM terms WHERE rowid = ?", [(key,) for key in keys])


def document_frequency(connection: apsw.Connection, terms: Sequence[str]) -> dict[str, int]:
    """In how many chunks each term occurs; 0 for a term that nobody wrote."""
    counts = dict.fromkeys(terms, 0)
    for term in counts:
        for (count,) in connection.execute("SELECT doc FROM term_counts WHERE term = ?", (term,)):
            counts[term] = count
    return counts


def search_terms(
    connection: apsw.Connection, query: TermQuery, limit: int, compiled: CompiledFilter
) -> list[tuple[int, float]]:
    """The best `(chunk key, BM25)`, higher is better, ties by key."""
    expression = to_fts5(query)
    if expression is None or limit <= 0 or compiled.excludes_all:
        return []
    rank = f"bm25(terms, {BM25_CONTEXT_WEIGHT}, {BM25_BODY_WEIGHT})"
    visible, values = compiled.condition("terms.rowid")
    sql = (
        f"SELECT terms.rowid, {rank} AS score FROM terms WHERE terms MATCH ?{visible} "  # noqa: S608 (constants)
        "ORDER BY score, terms.rowid LIMIT ?"
    )
    rows = connection.execute(sql, (expression, *values, limit))
    # FTS5's bm25() is negative, the better the lower.
    return [(key, -score) for key, score in rows]


def to_fts5(query: TermQuery) -> str | None:  # noqa: PLR0911 (one return per kind of node)
    """The query in FTS5's language; None when it can match nothing.

    AllOf(Term("tax"), Prefix("lim")) -> ("tax" AND "lim" *)

    Every term is quoted, so that no text of a user is ever read as an operator.
    """
    match query:
        case Term(text):
            return _quoted(text) if text else None
        case Prefix(text):
            return f"{_quoted(text)} *" if text else None
        case Phrase(terms):
            return " + ".join(_quoted(term) for term in terms if term) or None
        case Near(phrases, distance):
            inner = " ".join(filter(None, (to_fts5(phrase) for phrase in phrases)))
            return f"NEAR({inner}, {max(0, distance)})" if inner else None
        case AllOf(parts):
            return _joined(" AND ", [to_fts5(part) for part in parts])
        case AnyOf(parts):
            return _joined(" OR ", [expression for part in parts if (expression := to_fts5(part))])
        case Without(wanted, unwanted):
            left, right = to_fts5(wanted), to_fts5(unwanted)
            if left is None or right is None:
                return left
            return f"({left} NOT {right})"


def _joined(operator: str, parts: Sequence[str | None]) -> str | None:
    found = [part for part in parts if part]
    return f"({operator.join(found)})" if found else None


def _quoted(term: str) -> str:
    # FTS5 ends a string at NUL whatever the quotes say.
    return '"' + term.replace("\x00", " ").replace('"', '""') + '"'
