"""Questions with candidates and labels, for measuring and fitting the judge; read from public data sets, never kept.

    DATA/sufficiency/{nomiracl_en,nomiracl_ja,squad2_1000}.jsonl.gz   question, passages, sufficient
    DATA/crag_split/NAME.{external_docs.txt,expected.jsonl}           documents held outside, and the verdict then
    TRAIN/{judge,passages}.jsonl.xz                                   question, one passage, whether it answers

For the split sets, and for those of SPLIT_MORE, half of the documents are indexed and searched with the engine itself.
For those of CORRECTED the searches are corrected as well, with the other half on "the web", as in `benchmarks.crag`.
"""

from __future__ import annotations

import gzip
import json
import lzma
import math
import pickle
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.crag import documents_of, serve
from hybridrag import CORRECTIVE, Engine, SearchFilters, SearchOptions, SearchQuery
from hybridrag.config import Settings, load_settings
from hybridrag.evaluate import load_dataset
from hybridrag.language.tokenise import index_terms, query_terms
from hybridrag.models.web_search import load_web_search
from hybridrag.protocols import Candidate, Embedder, Question
from hybridrag.queries.classify import classify
from hybridrag.testing.services import public_names
from hybridrag.types.sources import TextDocument
from hybridrag.verify.features import is_relational

LABELLED = {"nomiracl_en": "en", "nomiracl_ja": "ja", "squad2_1000": "en"}
"""Sets of questions with passages -> language."""

SPLIT = {"2wikimultihopqa": ("en", True), "jsquad_valid": ("ja", False)}
"""Sets with a given split -> language, and whether every relevant document is needed."""

SPLIT_MORE = {
    "squad2_dev": ("en", False),
    "niilc_dev": ("ja", False),
    "hotpotqa_train100": ("en", True),
    "jemhopqa_train": ("ja", True),
    "musique_train200": ("en", True),
}
"""Sets that are split here: for fitting only."""

CORRECTED = ("hotpotqa_train100", "jemhopqa_train", "musique_train200")
"""Of these, for fitting only; 2wikimultihopqa and jsquad_valid are what corrections are measured on."""

MOST_CORRECTED = 200
"""Questions of each that are corrected: each takes most of a second."""

JUDGE_SOURCES = ("ja_jaquad_sufficiency", "ja_jsquad_sufficiency")
"""Of the training rows. The English ones made every English figure worse: their zeros are of other kinds."""

FOUND = 10
"""Candidates that the engine hands to the judge."""

QUESTIONS = 600
"""At most so many of a set: more change no figure by a point."""

JUDGE_ROWS = 1200
"""Rows of each training source; the first half with scores of the semantic search, the second without."""


@dataclass(slots=True)
class Case:
    """A question with its candidates."""

    source: str
    language: str
    question: Question
    candidates: list[Candidate]
    sufficient: int
    relevant: list[int] | None
    """For each candidate, where that is known."""
    expected: str = ""
    """The verdict that a split set expects."""
    group: str = ""
    """Cases of one group stay together in cross-validation."""


def read_cases(data: Path, train: Path | None, *, embedder: Embedder | None = None) -> Iterator[Case]:
    """Every case that the folders hold; `embedder` in place of the engine's own."""
    settings = load_settings(env={}, overrides={"documents.isolate": False, "graph.extractor": "light"}).settings
    with tempfile.TemporaryDirectory() as folder:
        with Engine.open(Path(folder) / "model", settings=settings, embedder=embedder) as engine:
            model = engine.embedder()
            for name, language in LABELLED.items():
                yield from _labelled(data, name, language, model)
            if train is not None:
                yield from _judge_rows(train, model)
        for name, (language, every) in {**SPLIT, **SPLIT_MORE}.items():
            if (data / name).is_dir():
                yield from _split(data, name, language, settings, model, Path(folder) / name, every=every)
        for name in CORRECTED:
            if (data / name).is_dir():
                yield from _corrected(data, name, SPLIT_MORE[name][0], settings, model, Path(folder) / name)


def kept_cases(file: Path | None, data: Path, train: Path | None) -> list[Case]:
    """The cases out of `file`, or read anew and kept there: finding and embedding them takes a while."""
    if file is not None and file.is_file():
        return list(pickle.loads(file.read_bytes()))  # noqa: S301 (written by the line below, on this machine)
    cases = list(read_cases(data, train))
    if file is not None:
        file.write_bytes(pickle.dumps(cases))
    return cases


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    data = file.read_bytes()
    data = gzip.decompress(data) if file.suffix == ".gz" else lzma.decompress(data) if file.suffix == ".xz" else data
    # A line may hold a sign that `splitlines` takes for its end.
    yield from (json.loads(line) for line in data.decode("utf-8").split("\n") if line)


def _corpus(data: Path, name: str) -> dict[str, dict[str, Any]]:
    return {str(row["_id"]): row for row in _rows(data / name / "corpus.jsonl.gz")}


class Rarity:
    """The idf of terms over texts."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.counts: Counter[str] = Counter()
        self.total = 0
        for text in texts:
            self.total += 1
            self.counts.update({term for here in index_terms(text) for term in here})

    def question(self, text: str) -> Question:
        """The question as the engine hands it to the judge."""
        terms = {term for found in query_terms(text) for term in (found.term, *found.parts)}
        rarity = {term: math.log((self.total + 1) / (self.counts[term] + 0.5)) for term in terms}
        return Question(text, classification=classify(text), rarity=rarity)


def _full_text(row: dict[str, Any]) -> str:
    return f"{row.get('title') or ''}\n{row['text']}"


def _labelled(data: Path, name: str, language: str, model: Embedder) -> Iterator[Case]:
    corpus = _corpus(data, "squad2_dev" if name.startswith("squad2") else name)
    by_text = {row["text"]: row for row in corpus.values()}
    queries = data / name / "queries.jsonl"
    listed = {row["_id"]: row["docids"] for row in _rows(queries)} if queries.is_file() else {}
    rarity = Rarity(map(_full_text, corpus.values()))
    for row in _rows(data / "sufficiency" / f"{name}.jsonl.gz"):
        known = [corpus[key] for key in listed.get(row["_id"], ())]
        found = known or [by_text.get(text, {"text": text}) for text in row["passages"]]
        candidates = _candidates(row["question"], found, model)
        sufficient = int(row["sufficient"])
        yield Case(
            source=name,
            language=language,
            question=rarity.question(row["question"]),
            candidates=candidates,
            sufficient=sufficient,
            relevant=[sufficient] if len(candidates) == 1 else None,
            group=found[0]["text"] if len(found) == 1 else row["_id"],
        )


def _candidates(question: str, rows: Sequence[dict[str, Any]], model: Embedder | None) -> list[Candidate]:
    cosines = np.zeros(len(rows))
    if model is not None:
        vectors = model.embed_passages([_full_text(row).strip() for row in rows]).pooled
        cosines = vectors @ model.embed_query(question).pooled[0]
    return [
        Candidate(
            id=str(row.get("_id", at)),
            text=row["text"],
            title=row.get("title") or "",
            score=1.0 / (1.0 + at),
            scores={"semantic": float(cosine)} if model is not None else {},
        )
        for at, (row, cosine) in enumerate(zip(rows, cosines, strict=True))
    ]


def _judge_rows(train: Path, model: Embedder) -> Iterator[Case]:
    passages = {row["i"]: (row["l"], row["t"]) for row in _rows(train / "passages.jsonl.xz")}
    rows = [row for row in _rows(train / "judge.jsonl.xz") if row["src"] in JUDGE_SOURCES]
    random.Random(3).shuffle(rows)
    rarity = {}
    for language in ("en", "ja"):
        texts = [text for of, text in passages.values() if of == language]
        rarity[language] = Rarity(random.Random(3).sample(texts, min(4000, len(texts))))
    taken: Counter[str] = Counter()
    for row in rows:
        taken[row["src"]] += 1
        if taken[row["src"]] > JUDGE_ROWS:
            continue
        scored = taken[row["src"]] * 2 <= JUDGE_ROWS
        passage = {"_id": row["p"], "text": passages[row["p"]][1]}
        yield Case(
            source=row["src"],
            language=row["lang"],
            question=rarity[row["lang"]].question(row["q"]),
            candidates=_candidates(row["q"], [passage], model if scored else None),
            sufficient=row["y"],
            relevant=[row["y"]],
            group=str(row["p"]),
        )


def _outside(data: Path, name: str, ids: Sequence[str]) -> tuple[set[str], dict[str, str]]:
    """The documents held outside, and the verdicts expected then."""
    folder = data / "crag_split"
    given = folder / f"{name}.external_docs.txt"
    if not given.is_file():
        return set(random.Random(5).sample(sorted(ids), len(ids) // 2)), {}
    expected = {row["_id"]: row["expected"] for row in _rows(folder / f"{name}.expected.jsonl")}
    return set(given.read_text(encoding="utf-8").split()), expected


def _split(
    data: Path, name: str, language: str, settings: Settings, model: Embedder, index: Path, *, every: bool
) -> Iterator[Case]:
    corpus = _corpus(data, name)
    outside, expected = _outside(data, name, list(corpus))
    gold: dict[str, set[str]] = defaultdict(set)
    for line in (data / name / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, score = line.split("\t")
        if int(score) > 0:
            gold[query].add(document)
    kept = {key: row for key, row in corpus.items() if key not in outside}
    rarity = Rarity(map(_full_text, kept.values()))
    questions = list(_rows(data / name / "queries.jsonl"))[:1500]
    questions = random.Random(1).sample(questions, min(QUESTIONS, len(questions)))
    with Engine.open(index, settings=settings, embedder=model) as engine:
        engine.add_documents(
            [TextDocument(key, row["text"], title=row.get("title") or None) for key, row in kept.items()]
        )
        for row in questions:
            relevant = gold[row["_id"]]
            verdict = expected.get(row["_id"]) or _verdict(relevant, relevant - outside, every=every)
            yield _searched(
                engine,
                row["text"],
                Case(
                    source=f"split_{name}",
                    language=language,
                    question=rarity.question(row["text"]),
                    candidates=[],
                    sufficient=0,
                    relevant=None,
                    expected=verdict,
                    group=min(relevant, default=row["_id"]),
                ),
                relevant,
                every=every,
            )


def _corrected(
    data: Path, name: str, language: str, settings: Settings, model: Embedder, index: Path
) -> Iterator[Case]:
    """What the judge sees after a correction: questions about relations, with pages from outside among the results.

    No search scores such pages, so these cases come without scores.
    """
    dataset = load_dataset(data / name)
    outer, _ = _outside(data, name, [document.name for document in dataset.documents])
    rarity = Rarity(
        _full_text({"title": it.title, "text": it.text}) for it in dataset.documents if it.name not in outer
    )
    questions = random.Random(1).sample(dataset.queries, min(MOST_CORRECTED, len(dataset.queries)))
    with ExitStack() as stack:
        web = stack.enter_context(
            serve(index.with_name(f"{name}-outside"), [it for it in dataset.documents if it.name in outer])
        )
        adapter = load_web_search("searxng", base_url=web.url, resolve=public_names)
        engine = stack.enter_context(Engine.open(index, settings=settings, embedder=model, web=adapter))
        for query in questions:
            question = rarity.question(query.text)
            if not is_relational(question):
                continue
            result = engine.search(query.text, explain=False, limit=FOUND, **CORRECTIVE.options())
            items = [item for item in result.results if item.sources.file_name or item.sources.external_url]
            if all(item.sources.external_url is None for item in items):
                continue
            gold = {document for document, grade in query.gold.items() if grade >= 1}
            names = [documents_of(result.model_copy(update={"results": (item,)}), dataset) for item in items]
            found = {document for some in names for document in some}
            yield Case(
                source=f"corrected_{name}",
                language=language,
                question=question,
                candidates=[
                    Candidate(
                        id=item.id,
                        text=item.content.text,
                        title=str((item.metadata or {}).get("title") or ""),
                        headings=item.sources.headings,
                        score=item.score,
                    )
                    for item in items
                ],
                sufficient=int(gold <= found),
                relevant=[int(not gold.isdisjoint(some)) for some in names],
                group=min(gold),
            )


def _verdict(relevant: set[str], inside: set[str], *, every: bool) -> str:
    if not inside:
        return "incorrect"
    return "correct" if inside == relevant or not every else "ambiguous"


def _searched(engine: Engine, text: str, case: Case, relevant: set[str], *, every: bool) -> Case:
    """The case with what the engine finds, and whether that is enough."""
    options = SearchOptions(limit=FOUND, rerank_enabled=False)
    result = engine.search(SearchQuery(text=text, filters=SearchFilters(min_relevance=0.0), options=options))
    candidates = [
        Candidate(
            id=str(item.sources.file_name),
            text=item.content.text,
            title=str((item.metadata or {}).get("title") or ""),
            headings=item.sources.headings,
            score=item.score,
            scores={search: getattr(item.relevance, search) for search in ("keyword", "semantic", "graph")},
        )
        for item in result.results
        if item.sources.file_name
    ]
    found = {candidate.id for candidate in candidates}
    case.candidates = candidates
    case.relevant = [int(candidate.id in relevant) for candidate in candidates]
    case.sufficient = int(bool(relevant) and (relevant <= found if every else bool(relevant & found)))
    return case
