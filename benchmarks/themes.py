"""How much of what a question about the whole asks for the first results cover.

python -m benchmarks.themes [--sample sample] [--data DIR] [--meetings N] [--keep FOLDER]

- `sample`: the global questions of `sample/eval`. Each lists its themes and the documents that cover each of them.
- `DIR/qmsum_val`: "summarise the meeting", asked of one meeting at a time. Its themes are the passages that answer the
  specific questions about the same meeting: what people wanted to know of it.
- `DIR/ms_msft_earnings`: questions over quarterly calls, without labels. What is counted is how many of the calls the
  first results are out of.

A result covers a theme when it is, or as a community shows a sentence of, a passage of one of the theme's documents.
"semantic" are the nearest passages alone; "chunks" leaves the communities among the results uncounted. The thresholds
of `hybridrag.search.themes` were set on the sample and on twelve meetings, seven of them among the first twelve; the
meetings from the 13th on were looked at less, and `--skip 12` measures them alone but for five.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.report import Table
from hybridrag.config import load_settings
from hybridrag.engine import Engine
from hybridrag.graph.community_views import view_communities
from hybridrag.protocols import Embedder
from hybridrag.search.blend import base_scores
from hybridrag.search.keyword import search_keywords
from hybridrag.search.themes import SHOWN_SENTENCES, search_themes, theme_keys
from hybridrag.stores.embedded.store import EmbeddedStore
from hybridrag.types.queries import SearchFilters, SearchWeights
from hybridrag.types.sources import TextDocument

SAMPLE = Path("sample")
MEETINGS = 12
FIRST = (5, 10)
DEPTH = 100
"""Candidates of each search, as the engine takes."""
WEIGHTS = SearchWeights(keyword=0.4, semantic=0.6, graph=0.0)
"""What the weights of a global question leave when the graph is taken out."""


@dataclass(frozen=True, slots=True)
class Case:
    """A question about the whole, where it is asked, and what its answer should cover."""

    text: str
    themes: tuple[frozenset[str], ...]
    """The documents of each theme."""
    workspace: str


@dataclass(frozen=True, slots=True)
class Shown:
    """The documents behind each of the results that one way of searching gives, in their order."""

    semantic: tuple[frozenset[str], ...]
    covering: tuple[frozenset[str], ...]
    chunks: tuple[frozenset[str], ...]
    """As `covering`, with nothing behind a community."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; sets that are not there are left out."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.themes", description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=Path, default=SAMPLE, help="the sample documents (default: %(default)s)")
    parser.add_argument("--data", type=Path, help="a folder with qmsum_val and ms_msft_earnings")
    parser.add_argument("--meetings", type=int, default=MEETINGS, help="meetings of qmsum_val (default: %(default)s)")
    parser.add_argument("--skip", type=int, default=0, help="meetings to leave out first (default: %(default)s)")
    parser.add_argument("--keep", type=Path, help="where the indexes stay, to be used again")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as made:
        chosen = slice(options.skip, options.skip + options.meetings)
        run(options.keep or Path(made), sample=options.sample, data=options.data, meetings=chosen).print()
    return 0


def run(
    folder: Path,
    *,
    sample: Path = SAMPLE,
    data: Path | None = None,
    meetings: slice = slice(MEETINGS),
    embedder: Embedder | None = None,
) -> Table:
    """The share of themes covered, by set and number of results."""
    rows: list[list[object]] = []
    if (sample / "eval").is_dir():
        rows += _measure("sample", folder, embedder, sample_cases(sample), sample_documents(sample))
    if data is not None and (data / "qmsum_val").is_dir():
        qmsum = data / "qmsum_val"
        cases = meeting_cases(qmsum, meetings)
        wanted = {case.workspace for case in cases}
        rows += _measure("qmsum_val", folder, embedder, cases, meeting_documents(qmsum, wanted))
    if data is not None and (data / "ms_msft_earnings").is_dir():
        calls = data / "ms_msft_earnings"
        rows += _measure("ms_msft_earnings", folder, embedder, call_cases(calls), call_documents(calls))
    columns = ["set", "questions", "first", "semantic %", "covering %", "chunks %"]
    return Table("Themes covered by the first results", columns, rows)


# ---------------------------------------------------------------- sets


def sample_cases(sample: Path) -> list[Case]:
    """The global questions of the sample."""
    asked = [entry for entry in _lines(sample / "eval" / "queries.jsonl") if entry.get("type") == "global"]
    return [Case(it["text"], tuple(frozenset(theme) for theme in it["themes"]), "default") for it in asked]


def sample_documents(sample: Path) -> Callable[[Engine], None]:
    """Adds the sample."""

    def add(engine: Engine) -> None:
        for part in ("en", "ja"):
            engine.add(sample / part)

    return add


def meeting_cases(folder: Path, chosen: slice) -> list[Case]:
    """One question for each of the chosen meetings, counted in the order of the questions."""
    asked = _lines(folder / "queries.jsonl")
    answers: dict[str, set[str]] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        question, document, grade = line.split("\t")
        if float(grade) > 0:
            answers.setdefault(question, set()).add(document)
    cases = []
    for one in (entry for entry in asked if entry["intent"] == "global"):
        specific = [it["_id"] for it in asked if it["meeting"] == one["meeting"] and it["_id"] in answers]
        themes = tuple(frozenset(answers[it]) for it in specific)
        cases.append(Case(one["text"], themes, one["meeting"]))
    return cases[chosen]


def meeting_documents(folder: Path, wanted: set[str]) -> Callable[[Engine], None]:
    """Adds the parts of the meetings, each meeting to a workspace of its own."""

    def add(engine: Engine) -> None:
        parts: dict[str, list[TextDocument]] = {}
        for entry in _corpus(folder):
            if entry["meeting"] in wanted:
                document = TextDocument(entry["_id"], entry["text"], title=entry["title"])
                parts.setdefault(entry["meeting"], []).append(document)
        for meeting, documents in parts.items():
            engine.add_documents(documents, workspace=meeting)

    return add


def call_cases(folder: Path) -> list[Case]:
    """The global questions over the calls; every call is a theme."""
    calls: dict[str, set[str]] = {}
    for entry in _corpus(folder):
        calls.setdefault(entry["title"], set()).add(entry["_id"])
    themes = tuple(frozenset(parts) for parts in calls.values())
    asked = [entry for entry in _lines(folder / "queries.jsonl") if entry["intent"] == "global"]
    return [Case(entry["text"], themes, "default") for entry in asked]


def call_documents(folder: Path) -> Callable[[Engine], None]:
    """Adds the parts of the calls."""

    def add(engine: Engine) -> None:
        engine.add_documents(
            TextDocument(entry["_id"], entry["text"], title=entry["title"]) for entry in _corpus(folder)
        )

    return add


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _corpus(folder: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


# ---------------------------------------------------------------- measuring


def _measure(
    name: str,
    folder: Path,
    embedder: Embedder | None,
    cases: Sequence[Case],
    documents: Callable[[Engine], None],
) -> list[list[object]]:
    overrides = {"documents.isolate": False, "graph.extractor": "light"}
    settings = load_settings(env={}, overrides=overrides).settings
    with Engine.open(folder / name, settings=settings, embedder=embedder) as engine:
        if not engine.status().chunks:
            documents(engine)
        store = EmbeddedStore.open(engine.path, create=False)
        try:
            shown = [_search(store, engine.embedder(), case) for case in cases]
        finally:
            store.close()
    rows: list[list[object]] = []
    for first in FIRST:
        ways = (
            [it.semantic[:first] for it in shown],
            [it.covering[:first] for it in shown],
            [it.chunks[:first] for it in shown],
        )
        shares = [round(100 * coverage(cases, way), 1) for way in ways]
        rows.append([name, len(cases), first, *shares])
    return rows


def coverage(cases: Sequence[Case], results: Sequence[Sequence[frozenset[str]]]) -> float:
    """The share of themes of which a document is behind some result, on average over the questions.

    themes {a, b} and {c}, results {b} and {d} -> 0.5
    """
    shares = []
    for case, found in zip(cases, results, strict=True):
        documents = frozenset().union(*found)
        shares.append(sum(not theme.isdisjoint(documents) for theme in case.themes) / len(case.themes))
    return sum(shares) / len(shares)


def _search(store: EmbeddedStore, embedder: Embedder, case: Case) -> Shown:
    filters = SearchFilters(workspace_ids=(case.workspace,))
    vector = embedder.embed_query(case.text).pooled[0]
    near = dict(store.search_vector(vector, DEPTH, filters=filters))
    words = dict(search_keywords(store, case.text, DEPTH, filters=filters).hits)
    views = view_communities(store, theme_keys(store.communities, vector, filters=filters), filters=filters)
    base = base_scores(words, near, WEIGHTS)
    hits = search_themes(store, vector, list(views.values()), base, question=case.text, filters=filters)
    told = {view.id: [sentence.chunk_key for sentence in view.sentences[:SHOWN_SENTENCES]] for view in views.values()}
    behind = [[hit.key] if hit.key or hit.community_id is None else told[hit.community_id] for hit in hits]
    keys = {key for found in behind for key in found} | set(near)
    names = _documents(store, sorted(keys))
    return Shown(
        semantic=tuple(frozenset({names[key]}) for key in near),
        covering=tuple(frozenset(names[key] for key in found) for found in behind),
        chunks=tuple(frozenset({names[hit.key]} if hit.key else ()) for hit in hits),
    )


def _documents(store: EmbeddedStore, keys: Sequence[int]) -> Mapping[int, str]:
    """The name of each chunk's document; of a file, the last folder and the name."""
    chunks = store.chunks_by_key(keys)
    files = {file.id: "/".join(Path(file.name).parts[-2:]) for file in store.files()}
    return {key: files[chunk.file_id] for key, chunk in chunks.items()}


if __name__ == "__main__":
    raise SystemExit(main())
