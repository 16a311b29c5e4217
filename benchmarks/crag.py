"""How often a correction finds what the documents do not hold: half of a corpus inside, the other half on "the web".

python -m benchmarks.crag --data DIR [--set NAME] [--limit N] [--keep FOLDER] [--out FILE]

`DIR/crag_split/NAME.external_docs.txt` names the documents of `DIR/NAME` that are held outside, and
`NAME.expected.jsonl` says what an honest grade of each question is: `incorrect` where all of its evidence is outside,
`ambiguous` where a part of it is, `correct` where none is. The inner half is indexed as usual. The outer half lies
behind a server on this machine that speaks the protocol of SearXNG and goes by words alone, and is reached as any other
web search is: over HTTP, through the adapter of `[web]`, with its checks.

- verdict: the grade before anything was corrected, against the expected one.
- turned: of the questions expected to be `incorrect`, in how many a document of the evidence is among the first ten
  results after the correction.
- and graded so: in how many of those the grade is then `correct` as well.
- seen: in how many the server returned such a document at all, so that what is lost before it and after it is apart.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote, urlsplit

from benchmarks.report import Table
from hybridrag import CORRECTIVE, KEYWORD, Embedder, Engine, SearchResult, load_settings
from hybridrag.evaluate import Dataset, load_dataset
from hybridrag.evaluate.read_query import Query
from hybridrag.models.web_search import load_web_search
from hybridrag.search.grade import verdict
from hybridrag.types.sources import TextDocument

SETS = ("2wikimultihopqa", "jsquad_valid")
SITE = "https://example.org/outside/"
"""Where the outer half pretends to be."""
FIRST = 10
PAGES = 20
"""What the server returns to one question."""


@dataclass(slots=True)
class Asked:
    """One question, and what became of it."""

    id: str
    language: str
    expected: str
    before: str
    """The grade before the first correction."""
    after: str
    turned: bool
    """Whether evidence from outside is among the first results."""
    whole: bool
    """Whether all evidence is, from inside and outside."""
    seen: bool
    """Whether the server returned evidence."""
    searched: bool
    """Whether the server was asked at all."""
    rounds: list[dict[str, object]] = field(default_factory=list)
    """What each correction was, and the grade before and after it."""


@dataclass(slots=True)
class Outside:
    """The outer half, and what it was asked."""

    engine: Engine
    url: str = ""
    returned: list[str] = field(default_factory=list)
    """Documents returned since the last question."""
    queries: list[str] = field(default_factory=list)

    def find(self, words: str) -> list[dict[str, str]]:
        """Pages by their words, best first, as SearXNG writes them."""
        self.queries.append(words)
        found = self.engine.search(words, explain=False, limit=PAGES, min_relevance=0.0, **KEYWORD.options())
        pages: dict[str, dict[str, str]] = {}
        for item in found.results:
            name = item.sources.file_name or ""
            title = str((item.metadata or {}).get("title") or "")
            pages.setdefault(name, {"url": SITE + quote(name), "title": title, "content": item.content.text})
        self.returned += list(pages)
        return list(pages.values())

    def forget(self) -> None:
        """Begin with the next question."""
        self.returned.clear()
        self.queries.clear()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crag", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of the data sets")
    parser.add_argument("--set", dest="sets", action="append", choices=SETS, help="only this one; may be repeated")
    parser.add_argument("--limit", type=int, help="questions of each set (default: all)")
    parser.add_argument("--keep", type=Path, help="where the indexes stay, to be used again")
    parser.add_argument("--out", type=Path, help="write what became of each question, a JSON object a line")
    options = parser.parse_args(arguments)
    asked: dict[str, list[Asked]] = {}
    with tempfile.TemporaryDirectory() as made:
        for name in options.sets or SETS:
            asked[name] = measure(options.data, name, options.keep or Path(made), limit=options.limit)
            for table in tables(name, asked[name]):
                table.print()
    if options.out is not None:
        lines = (json.dumps({"set": name, **asdict(one)}) for name, some in asked.items() for one in some)
        options.out.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return 0


def measure(
    data: Path, name: str, work: Path, *, limit: int | None = None, embedder: Embedder | None = None
) -> list[Asked]:
    """Ask the questions of one set, with the outer half on the web; `embedder` stands in for the model."""
    dataset = load_dataset(data / name)
    outer = set((data / "crag_split" / f"{name}.external_docs.txt").read_text(encoding="utf-8").split())
    lines = (data / "crag_split" / f"{name}.expected.jsonl").read_text(encoding="utf-8").splitlines()
    expected = {str(row["_id"]): str(row["expected"]) for row in map(json.loads, lines)}
    inside = [document for document in dataset.documents if document.name not in outer]
    outside = [document for document in dataset.documents if document.name in outer]
    questions = [query for query in dataset.first(limit).queries if query.id in expected]
    with ExitStack() as stack:
        web = stack.enter_context(serve(work / f"{name}-outside", outside))
        settings = load_settings(
            env={}, overrides={"documents.isolate": False, "graph.extractor": "light", "search.cache_size": 0}
        ).settings
        adapter = load_web_search("searxng", base_url=web.url)
        engine = Engine.open(work / f"{name}-inside", settings=settings, embedder=embedder, web=adapter)
        stack.enter_context(engine)
        engine.add_documents(inside)
        return [ask(engine, web, dataset, query, expected[query.id], outer) for query in questions]


def ask(engine: Engine, web: Outside, dataset: Dataset, query: Query, expected: str, outer: set[str]) -> Asked:
    """One question with correction."""
    web.forget()
    result = engine.search(query.text, explain=False, limit=FIRST, **CORRECTIVE.options())
    gold = {document for document, grade in query.gold.items() if grade >= 1}
    found = set(documents_of(result, dataset)[:FIRST])
    actions = result.crag.actions if result.crag else ()
    return Asked(
        id=query.id,
        language=query.language,
        expected=expected,
        before=verdict(actions[0].before).value if actions else "none",
        after=result.crag.relevance.value if result.crag else "none",
        turned=bool(gold & outer & found),
        whole=gold <= found,
        seen=bool(gold & outer & set(web.returned)),
        searched=bool(web.queries),
        rounds=[
            {"kind": step.kind.value, "detail": step.detail, "before": step.before, "after": step.after}
            for step in actions
        ],
    )


def documents_of(result: SearchResult, dataset: Dataset) -> list[str]:
    """The documents of the results, those from outside by the name that they have there."""
    names = (
        unquote(item.sources.external_url.removeprefix(SITE))
        if item.sources.external_url
        else dataset.document_id(item.sources.file_name or "")
        for item in result.results
    )
    return list(dict.fromkeys(name for name in names if name))


@contextmanager
def serve(index: Path, documents: Sequence[TextDocument]) -> Iterator[Outside]:
    """The outer half behind the protocol of SearXNG, on this machine."""
    settings = load_settings(
        env={},
        overrides={
            "documents.isolate": False,
            "embedding.provider": "fake",  # nothing is searched by meaning there
            "graph.extractor": "light",
            "rerank.provider": "none",
        },
    ).settings
    with Engine.open(index, settings=settings) as engine:
        engine.add_documents(documents)
        outside = Outside(engine)
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(outside))
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        outside.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield outside
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def _handler(outside: Outside) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16
        """Head and body leave together: apart, the second waits for the first to be acknowledged."""

        def do_GET(self) -> None:
            """Answer one question."""
            parts = urlsplit(self.path)
            words = " ".join(parse_qs(parts.query).get("q", []))
            found = outside.find(words) if parts.path == "/search" and words else []
            data = json.dumps({"query": words, "results": found}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name in the standard library)
            """Keep the output clean."""

    return Handler


def tables(name: str, asked: Sequence[Asked]) -> list[Table]:
    """Verdicts, corrections and rounds of one set, by language."""
    return [_verdicts(name, asked), _corrections(name, asked), _rounds(name, asked)]


def _verdicts(name: str, asked: Sequence[Asked]) -> Table:
    labels = ("correct", "ambiguous", "incorrect")
    rows: list[list[object]] = []
    for language, some in _by_language(asked).items():
        right = sum(one.before == one.expected for one in some)
        for expected in labels:
            of_it = [one for one in some if one.expected == expected]
            counts = Counter(one.before for one in of_it)
            if of_it:
                rows.append([language, expected, len(of_it), *(counts[label] for label in labels), ""])
        rows.append([language, "right", len(some), "", "", "", f"{100 * right / len(some):.1f} %"])
    return Table(f"{name}: the grade before correction", ["language", "expected", "questions", *labels, "share"], rows)


def _corrections(name: str, asked: Sequence[Asked]) -> Table:
    rows: list[list[object]] = []
    for language, some in _by_language(asked).items():
        for expected in ("incorrect", "ambiguous", "correct"):
            of_it = [one for one in some if one.expected == expected]
            if of_it:
                rows.append([language, expected, len(of_it), *_shares(of_it)])
    columns = ["language", "expected", "questions", "web asked", "seen", "turned", "and graded so", "all evidence"]
    return Table(f"{name}: after correction, %", columns, rows)


def _shares(some: Sequence[Asked]) -> list[str]:
    graded = [one.turned and one.after == "correct" for one in some]
    parts = (
        [one.searched for one in some],
        [one.seen for one in some],
        [one.turned for one in some],
        graded,
        [one.whole for one in some],
    )
    return [f"{100 * sum(part) / len(some):.1f}" for part in parts]


def _rounds(name: str, asked: Sequence[Asked]) -> Table:
    """What was done in which round, and how often the grade was better after it."""
    rows: Counter[tuple[str, int, str]] = Counter()
    better: Counter[tuple[str, int, str]] = Counter()
    for one in asked:
        for number, step in enumerate(one.rounds, start=1):
            key = (one.expected, number, str(step["kind"]))
            rows[key] += 1
            before, after = _number(step, "before"), _number(step, "after")
            better[key] += after > before
    body = [[*key, count, better[key]] for key, count in sorted(rows.items())]
    return Table(f"{name}: rounds", ["expected", "round", "what", "questions", "graded better"], body)


def _number(step: Mapping[str, object], key: str) -> float:
    value = step[key]
    return float(value) if isinstance(value, int | float) else 0.0


def _by_language(asked: Sequence[Asked]) -> dict[str, list[Asked]]:
    groups: dict[str, list[Asked]] = {}
    for one in asked:
        groups.setdefault(one.language, []).append(one)
    return groups


if __name__ == "__main__":
    raise SystemExit(main())
