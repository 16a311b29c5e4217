"""bm25s as its README starts: English stop words, the English Snowball stemmer, the default backend."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from benchmarks.peers.runners.common import Job, Search, main

# By name, because they are installed where this runs and not where it is checked.
bm25s: Any = importlib.import_module("bm25s")
Stemmer: Any = importlib.import_module("Stemmer")


def _tokens(texts: list[str]) -> Any:
    return bm25s.tokenize(texts, stopwords="en", stemmer=Stemmer.Stemmer("english"), show_progress=False)


def build(job: Job, index: Path) -> None:
    texts = job.texts()
    retriever = bm25s.BM25(corpus=texts)
    retriever.index(_tokens(texts), show_progress=False)
    retriever.save(str(index), corpus=texts)


def open_index(job: Job, index: Path) -> Search:
    retriever = bm25s.BM25.load(str(index), load_corpus=True)

    def search(number: int, limit: int) -> list[str]:
        tokens = _tokens([job.question(number)])
        found, scores = retriever.retrieve(tokens, k=min(limit, len(job.chunks)), show_progress=False)
        # Chunks with none of the words come last, with nothing to be said for them.
        said = zip(found[0], scores[0], strict=True)
        return job.documents(int(row["id"]) for row, score in said if score > 0)

    return search


if __name__ == "__main__":
    main("bm25s", build, open_index)
