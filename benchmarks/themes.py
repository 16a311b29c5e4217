"""How much of what a question about the whole asks for the first results cover.

python -m benchmarks.themes [--sample sample] [--data DIR] [--meetings N] [--keep FOLDER]

- `folders`: overviews written for the folders of `training/folders.jsonl.xz`, three of them taken as one folder of 36
  files; `overviews.jsonl` says which files each theme of a question is in, by how their names begin.
- `sample`: the global questions of `sample/eval`. Each lists its themes and the documents that cover each of them.
- `DIR/qmsum_val`: "summarise the meeting", asked of one meeting at a time. Its themes are the passages that answer the
  specific questions about the same meeting: what people wanted to know of it.
- `DIR/ms_msft_earnings`: questions over quarterly calls of eleven fiscal years, without labels of their own. SUBJECTS
  and ASKED_ABOUT say which subjects each question is about, written from what such a company does, after the figure by
  year was known and before any by subject was; the passages that name a subject are those of its theme. "by year"
  takes each fiscal year for a theme instead; ten passages show ten of the eleven at most.

Every question goes through `Engine.search`, once by meaning alone and once as a search does by default; the engine
finds out by itself that the whole is asked for. A result covers a theme when it is, or as a community shows a sentence
of, a passage of one of the theme's documents; "chunks" leaves the communities among the results uncounted. How
results are chosen was decided on `folders`; of the meetings those from the 13th on were looked at less: `--skip 12`
measures them alone.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from training.folders import file_name, read_folders

from benchmarks.report import Table
from hybridrag import HYBRID, SEMANTIC, Recipe
from hybridrag.config import load_settings
from hybridrag.engine import Engine
from hybridrag.graph.community_views import view_communities
from hybridrag.protocols import Embedder
from hybridrag.search.themes import SHOWN_SENTENCES
from hybridrag.stores.embedded.store import EmbeddedStore
from hybridrag.types.queries import SearchFilters
from hybridrag.types.results import SearchResult, SearchResultItem, SearchResultType
from hybridrag.types.sources import TextDocument

SAMPLE = Path("sample")
OVERVIEWS = Path(__file__).with_name("overviews.jsonl")
MEETINGS = 12
FIRST = (5, 10)
WAYS: Mapping[str, Recipe] = {"semantic": SEMANTIC, "hybrid": HYBRID}
CHUNKS = "hybrid, chunks alone"
_YEAR = re.compile(r"FY[0-9]{2}")
SUBJECTS = {
    "cloud": r"\bazure\b|intelligent cloud|commercial cloud",
    "office": r"office 365|microsoft 365|office commercial|\bteams\b|productivity and business",
    "windows": r"\bwindows\b",
    "gaming": r"\bxbox\b|\bgaming\b|\bminecraft\b",
    "linkedin": r"\blinkedin\b",
    "dynamics": r"\bdynamics\b",
    "devices": r"\bsurface\b|\bdevices\b",
    "search": r"\bbing\b|search advertising|search revenue|search and news",
    "margins": r"gross margin",
    "costs": r"operating expense|operating income",
    "building": r"capital expenditure|\bdata ?centers?\b",
    "learning": r"\bcopilot|artificial intelligence|\bai\b|machine learning",
    "security": r"\bsecurity\b",
    "currency": r"\bfx\b|foreign exchange|currency",
    "owners": r"\bdividend|repurchase",
    "developers": r"\bgithub\b|\bdevelopers?\b",
    "contracts": r"\bbookings\b|unearned revenue|\bannuity\b",
    "per share": r"earnings per share|\beps\b",
    "europe": r"\beurope|\bgermany\b|united kingdom|\bu\.k\.",
    "asia": r"\bchina\b|\bjapan\b|\bindia\b|\basia",
    "americas": r"\bu\.s\.|united states|latin america|\bbrazil\b",
}
"""What the calls are about -> how a passage names it."""
ASKED_ABOUT = {
    "g0": "margins, costs, building, currency, contracts, per share, owners",
    "g1": "cloud, office, windows, gaming, linkedin, currency",
    "g2": "cloud, learning, office, windows, gaming, linkedin, security",
    "g3": "cloud, office, windows, gaming, linkedin, dynamics, devices, search",
    "g4": "cloud, learning, security, windows, currency",
    "g5": "learning, office, windows, cloud, gaming, developers",
    "g6": "currency, costs, windows, devices, building",
    "g7": "margins, costs, cloud, building, currency, office",
    "g8": "cloud, margins, learning, office, building",
    "g9": "cloud, office, windows, gaming, linkedin, currency",
    "g10": "cloud, learning, office, linkedin, gaming, security",
    "g11": "europe, asia, americas, currency",
    "g12": "learning, cloud, costs, windows, gaming, developers",
    "g13": "cloud, office, learning, gaming, linkedin, margins",
    "g14": "owners, per share",
    "g15": "currency, costs, windows, devices, building",
    "g16": "cloud, office, learning, dynamics, security",
    "g17": "cloud, margins, building, learning, windows",
    "g18": "cloud, windows, learning, gaming, linkedin, devices",
    "g19": "margins, costs, owners, contracts, per share, building",
}
"""The subjects of each question over the calls, by its id."""
ANY = 0.0
"""Results are counted however low their score is: by meaning alone it says little about the whole."""


@dataclass(frozen=True, slots=True)
class Case:
    """A question about the whole, where it is asked, and what its answer should cover."""

    text: str
    themes: tuple[frozenset[str], ...]
    """The documents of each theme."""
    workspace: str


Found = Mapping[str, Sequence[Sequence[frozenset[str]]]]
"""Way of searching -> for each question the documents behind each of its results, in their order."""


@dataclass(frozen=True, slots=True)
class ThemeSet:
    """Questions about the whole, and how their documents come into an index."""

    name: str
    cases: Sequence[Case]
    add: Callable[[Engine], None]
    index: str = ""
    """The set whose index it shares; its own where that is empty."""


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
    for one in theme_sets(sample=sample, data=data, meetings=meetings):
        found = ask(one, folder / (one.index or one.name), embedder=embedder)
        for first in FIRST:
            shares = [covered(one.cases, way, first) for way in found.values()]
            rows.append([one.name, len(one.cases), first, *(round(100 * sum(it) / len(it), 1) for it in shares)])
    columns = ["set", "questions", "first", *(f"{way} %" for way in (*WAYS, CHUNKS))]
    return Table("Themes covered by the first results", columns, rows)


def theme_sets(*, sample: Path = SAMPLE, data: Path | None = None, meetings: slice = slice(None)) -> list[ThemeSet]:
    """The sets that are there."""
    found: list[ThemeSet] = [ThemeSet("folders", folder_cases(), add_folders)]
    if (sample / "eval").is_dir():
        found.append(ThemeSet("sample", sample_cases(sample), sample_documents(sample)))
    if data is not None and (data / "qmsum_val").is_dir():
        qmsum = data / "qmsum_val"
        cases = meeting_cases(qmsum, meetings)
        found.append(ThemeSet("qmsum_val", cases, meeting_documents(qmsum, {case.workspace for case in cases})))
    if data is not None and (data / "ms_msft_earnings").is_dir():
        calls = data / "ms_msft_earnings"
        add = call_documents(calls)
        found.append(ThemeSet("ms_msft_earnings", subject_cases(calls), add))
        found.append(ThemeSet("ms_msft_earnings by year", call_cases(calls), add, index="ms_msft_earnings"))
    return found


# ---------------------------------------------------------------- sets


def folder_cases() -> list[Case]:
    """The overviews of written folders; each three folders are a workspace."""
    written = _written()
    return [
        Case(
            entry["text"],
            tuple(
                frozenset(_short(name) for name in written[_group(entry)] if name.startswith(tuple(theme)))
                for theme in entry["themes"]
            ),
            _group(entry),
        )
        for entry in _lines(OVERVIEWS)
    ]


def add_folders(engine: Engine) -> None:
    """Adds the written folders that overviews are asked of."""
    for group, documents in _written().items():
        engine.add_documents((TextDocument(name, text) for name, text in documents.items()), workspace=group)


def _written() -> dict[str, dict[str, str]]:
    """The documents of each group of folders by name."""
    folders = read_folders()
    return {
        _group(entry): {
            f"{folder}/{file_name(row['file'])}": row["text"]
            for folder in entry["folders"]
            for row in folders[folder]
            if "file" in row
        }
        for entry in _lines(OVERVIEWS)
    }


def _group(entry: Mapping[str, Any]) -> str:
    return "-".join(entry["folders"])


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
    """The global questions over the calls; every fiscal year is a theme."""
    years: dict[str, set[str]] = {}
    for entry in _corpus(folder):
        year = _YEAR.search(entry["title"])
        years.setdefault(year[0] if year else entry["title"], set()).add(entry["_id"])
    themes = tuple(frozenset(parts) for parts in years.values())
    asked = [entry for entry in _lines(folder / "queries.jsonl") if entry["intent"] == "global"]
    return [Case(entry["text"], themes, "default") for entry in asked]


def subject_cases(folder: Path) -> list[Case]:
    """The global questions over the calls; what each is about are its themes."""
    patterns = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in SUBJECTS.items()}
    named: dict[str, set[str]] = {name: set() for name in SUBJECTS}
    for entry in _corpus(folder):
        for name, pattern in patterns.items():
            if pattern.search(entry["text"]):
                named[name].add(entry["_id"])
    cases = []
    for entry in _lines(folder / "queries.jsonl"):
        about = ASKED_ABOUT.get(entry["_id"], "")
        themes = tuple(frozenset(named[name]) for name in about.split(", ") if about)
        if themes:
            cases.append(Case(entry["text"], themes, "default"))
    return cases


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


def ask(one: ThemeSet, folder: Path, *, embedder: Embedder | None = None) -> Found:
    """What each way of searching finds for each question, on an index that is built where it is missing."""
    overrides = {"documents.isolate": False, "graph.extractor": "light", "search.cache_size": 0}
    settings = load_settings(env={}, overrides=overrides).settings
    with Engine.open(folder, settings=settings, embedder=embedder) as engine:
        if not engine.status().chunks:
            one.add(engine)
        store = EmbeddedStore.open(engine.path, create=False)
        try:
            asked = {way: [_search(engine, store, case, recipe) for case in one.cases] for way, recipe in WAYS.items()}
        finally:
            store.close()
    found = {way: [[behind for behind, _ in row] for row in rows] for way, rows in asked.items()}
    found[CHUNKS] = [[behind if chunk else frozenset() for behind, chunk in row] for row in asked["hybrid"]]
    return found


def covered(cases: Sequence[Case], results: Sequence[Sequence[frozenset[str]]], first: int) -> list[float]:
    """For each question the share of its themes of which a document is behind one of the first results.

    themes {a, b} and {c}, results {b} and {d} -> [0.5]
    """
    shares = []
    for case, found in zip(cases, results, strict=True):
        documents = frozenset().union(*found[:first])
        shares.append(sum(not theme.isdisjoint(documents) for theme in case.themes) / len(case.themes))
    return shares


def _search(engine: Engine, store: EmbeddedStore, case: Case, recipe: Recipe) -> list[tuple[frozenset[str], bool]]:
    """The documents behind each result, and whether it is a chunk."""
    filters = SearchFilters(workspace_ids=(case.workspace,))
    search: Callable[..., SearchResult] = engine.search
    options = {**recipe.options(), "min_relevance": ANY, "workspace_ids": filters.workspace_ids}
    found = search(case.text, limit=max(FIRST), include_highlights=False, **options).results
    return [(_behind(store, item, filters), item.type is SearchResultType.CHUNK) for item in found]


def _behind(store: EmbeddedStore, item: SearchResultItem, filters: SearchFilters) -> frozenset[str]:
    """The documents of a result; of a community, those of the sentences that it shows."""
    if item.type is SearchResultType.CHUNK:
        return frozenset({_short(item.sources.file_name or "")})
    community = item.sources.community_id
    if item.type is not SearchResultType.COMMUNITY or community is None:
        return frozenset()
    keys = store.communities.find([community], filters=filters)
    views = view_communities(store, list(keys.values()), filters=filters)
    told = [sentence.chunk_key for view in views.values() for sentence in view.sentences[:SHOWN_SENTENCES]]
    chunks = store.chunks_by_key(told, filters=filters)
    files = [store.file(chunk.file_id) for chunk in chunks.values()]
    return frozenset(_short(file.name) for file in files if file is not None)


def _short(name: str) -> str:
    """Of a file, the last folder and the name, as the sample's labels have it."""
    return "/".join(Path(name).parts[-2:])


if __name__ == "__main__":
    raise SystemExit(main())
