"""A search from question to verified results, by stage and by size of the index; no cache, one question at a time.

python -m benchmarks.search --sizes 1000 10000 [--corpus FILE.jsonl.gz] [--keep FOLDER]

Questions go through the real model. Passages get made-up vectors of the same shape and spread, nearer to each other
the more words they share: embedding 100,000 passages would take half an hour. Questions are then compared by such
vectors too, so that some passages are near to them as they would be. The corpus has one JSON object with `title` and
`text` a line, each taken as a document of its own; without one, texts that name each other are generated. With
`--keep`, indexes stay in the folder and are not built again.
"""

from __future__ import annotations

import argparse
import gc
import re
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.graph import documents_of
from benchmarks.report import Table
from hybridrag.config import load_settings
from hybridrag.engine import Engine
from hybridrag.parts import make_embedder
from hybridrag.protocols import Embedder, ModelInfo, Passages
from hybridrag.types.sources import TextDocument

SIZES = (1_000, 10_000)
QUESTIONS = 200
WARM = 20
"""Questions asked before the measuring: dictionaries, model and pages are loaded by then."""
CHARACTERS_PER_TOKEN = 4
WORDS = 65_536
"""Rows of the table that words are looked up in; two words may share one."""
SUBJECTS = 32
"""Directions that most of a word lies in. Real vectors have few: the nearest hundred of 100,000 stand out by .07, and
one bit a number tells them apart. With every direction alike none would be near to anything, which no model does."""
_WORD = re.compile(r"\w+")
COMMON = 2.4
"""What all made-up vectors have in common, in units of what each has for itself: cosines of about .85."""

ENGLISH = (
    "What is {a}?",
    "When did {a} meet {b}?",
    "How is {a} related to {b}?",
    "Which came first, {a} or {b}?",
    "Who was the founder of {a}?",
    "What are the main themes of these documents?",
    "{a} 1897 visit",
    "Why did {a} leave?",
)
JAPANESE = (
    "{a}とは何ですか",
    "{a}はいつ設立されましたか",
    "{a}と{b}の違いは何ですか",
    "{a}と{b}の関係を教えてください",
    "全体の傾向をまとめてください",
)


class MadeUpPassages:
    """The real model for questions, made-up vectors for passages."""

    def __init__(self, real: Embedder) -> None:
        self._real = real

    @property
    def info(self) -> ModelInfo:
        """As the real one's, so that questions may be compared with passages."""
        return self._real.info

    def embed_passages(self, texts: Sequence[str], *, tokens: bool = False) -> Passages:
        """Vectors made of the text's words, all about as near to one another as those of the real model are."""
        rows = [_of_words(text, self.info.dimension) for text in texts]
        pooled = np.stack(rows) if rows else np.zeros((0, self.info.dimension), np.float32)
        if not tokens:
            return Passages(pooled)
        counts = [1 + len(text) // CHARACTERS_PER_TOKEN for text in texts]
        made = zip(counts, texts, strict=True)
        return Passages(pooled, tuple(_made_up(count, self.info.dimension, text) for count, text in made))

    def embed_query(self, text: str, *, tokens: bool = False) -> Passages:
        """The real model's, which is part of what a search takes, with a made-up vector in place of the pooled one."""
        real = self._real.embed_query(text, tokens=tokens)
        return Passages(_of_words(text, self.info.dimension)[None, :], real.tokens)

    def token_spans(self, text: str) -> NDArray[np.int32]:
        """The real tokenizer's."""
        return self._real.token_spans(text)


def _of_words(text: str, dimension: int) -> NDArray[np.float32]:
    """A vector of length one that is the nearer to another's the more words both texts have."""
    table = _word_vectors(dimension)
    words = {word for run in _WORD.findall(text.casefold()) for word in _pieces(run)}
    places = [zlib.crc32(word.encode()) % len(table) for word in words] or [0]
    # A word in nearly every text says little; here the long ones stand for the rare ones.
    weights = np.array([min(8, len(word)) for word in words] or [1], dtype=np.float32)
    made = weights @ table[places]
    made /= max(float(np.linalg.norm(made)), 1e-6)
    made += COMMON / np.sqrt(dimension)
    return np.asarray(made / np.linalg.norm(made), dtype=np.float32)


def _pieces(run: str) -> list[str]:
    """A word; of writing without spaces, pairs of characters."""
    return [run] if run.isascii() else [run[at : at + 2] for at in range(max(1, len(run) - 1))]


@cache
def _word_vectors(dimension: int) -> NDArray[np.float32]:
    rng = np.random.default_rng(7)
    subjects = rng.standard_normal((WORDS, SUBJECTS), dtype=np.float32)
    directions = rng.standard_normal((SUBJECTS, dimension), dtype=np.float32) / np.float32(np.sqrt(SUBJECTS))
    alone = rng.standard_normal((WORDS, dimension), dtype=np.float32)
    return np.asarray(subjects @ directions + alone / 2, dtype=np.float32)


def _made_up(rows: int, dimension: int, text: str) -> NDArray[np.float32]:
    drawn = np.random.default_rng(zlib.crc32(text.encode())).standard_normal((rows, dimension), dtype=np.float32)
    drawn += COMMON
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True), dtype=np.float32)


def run(
    sizes: Sequence[int] = SIZES,
    *,
    corpus: Path | None = None,
    keep: Path | None = None,
    overrides: dict[str, object] | None = None,
) -> list[Table]:
    """One table per size: a row for each step, and one for the whole."""
    return [_measure(size, corpus, keep, overrides or {}) for size in sizes]


def _measure(size: int, corpus: Path | None, keep: Path | None, overrides: dict[str, object]) -> Table:
    documents = list(islice(documents_of(corpus, size), size))
    chosen = {"documents.isolate": False, "graph.extractor": "light", "search.cache_size": 0, **overrides}
    settings = load_settings(env={}, overrides=chosen).settings
    with ExitStack() as stack:
        folder = keep / str(size) if keep else Path(stack.enter_context(tempfile.TemporaryDirectory()))
        embedder = MadeUpPassages(make_embedder(settings))
        engine = stack.enter_context(Engine.open(folder / "index", settings=settings, embedder=embedder))
        if engine.status().chunks == 0:
            engine.add_documents(
                TextDocument(f"{number}.txt", text, title=title) for number, (title, text) in enumerate(documents)
            )
        asked = _questions([title for title, _ in documents])
        # Python looks through all objects now and then; those of the benchmark are none of the engine's.
        documents.clear()
        gc.collect()
        rows = []
        for name, options in (("", {}), ("corrective: ", {"crag_enabled": True})):
            rows += _rows(name, engine, asked, options)
        return Table(
            f"A search of {engine.status().chunks:,} chunks, {len(asked) - WARM} questions",
            ["step", "p50 ms", "p95 ms", "max ms"],
            rows,
        )


def _questions(titles: Sequence[str]) -> list[str]:
    rng = np.random.default_rng(5)
    asked = []
    for number in range(QUESTIONS + WARM):
        a, b = (titles[int(place)] for place in rng.integers(len(titles), size=2))
        japanese = any("\u3040" <= letter <= "\u9fff" for letter in a)
        forms = JAPANESE if japanese else ENGLISH
        asked.append(forms[number % len(forms)].format(a=a[:60], b=b[:60]))
    return asked


def _rows(name: str, engine: Engine, asked: Sequence[str], options: Mapping[str, object]) -> list[list[object]]:
    whole: list[float] = []
    by_step: dict[str, list[float]] = {}
    for number, question in enumerate(asked):
        result = engine.search(question, limit=10, explain=True, **options)
        if number < WARM:
            continue
        whole.append(result.processing_time)
        taken: dict[str, float] = {}
        for step in result.trace.steps if result.trace else ():
            taken[step.step.value] = taken.get(step.step.value, 0.0) + step.processing_time
        for step_name, milliseconds in taken.items():
            by_step.setdefault(step_name, []).append(milliseconds)
    steps = [] if name else [[step, *_spread(times)] for step, times in by_step.items()]
    return [*steps, [f"{name}the whole", *_spread(whole)]]


def _spread(times: Sequence[float]) -> list[float]:
    return [round(float(np.percentile(times, share)), 1) for share in (50, 95, 100)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    for table in run(arguments.sizes, corpus=arguments.corpus, keep=arguments.keep):
        table.print()
