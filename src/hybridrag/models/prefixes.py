"""What embedding models want before a question and before a passage; without it they find worse.

From the models' own cards.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prefixes:
    """The text that is put before a question and before a passage."""

    query: str = ""
    passage: str = ""


_BY_NAME: tuple[tuple[re.Pattern[str], Prefixes], ...] = (
    (
        re.compile(r"e5-(large|mistral-7b)-instruct|e5-.*-instruct"),
        Prefixes("Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "),
    ),
    (re.compile(r"(^|[/-])e5-"), Prefixes("query: ", "passage: ")),
    (re.compile(r"ruri-v3"), Prefixes("検索クエリ: ", "検索文書: ")),
    (re.compile(r"(^|/)ruri-"), Prefixes("クエリ: ", "文章: ")),
    (re.compile(r"bge-(small|base|large)-en"), Prefixes("Represent this sentence for searching relevant passages: ")),
    (re.compile(r"nomic-embed-text"), Prefixes("search_query: ", "search_document: ")),
    (
        re.compile(r"mxbai-embed-|snowflake-arctic-embed-(xs|s|m|l)$"),
        Prefixes("Represent this sentence for searching relevant passages: "),
    ),
)


def prefixes_of(model: str) -> Prefixes:
    """The prefixes of a model by its name; empty ones for a model that wants none or is not known.

    "intfloat/multilingual-e5-small" -> "query: ", "passage: "
    """
    name = model.lower()
    return next((prefixes for pattern, prefixes in _BY_NAME if pattern.search(name)), Prefixes())
