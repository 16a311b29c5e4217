"""`make demo`: index the sample documents, ask them eight labelled questions, and say whether each came out right."""

from __future__ import annotations

import io
import sys
import tempfile
import time
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from hybridrag import Answer, Engine, RAGError, SearchResult, SearchResultItem, StepState, load_settings
from hybridrag.evaluate.datasets import Dataset, load_dataset
from hybridrag.evaluate.metrics import all_evidence_at, documents_in_order, themes_covered_at
from hybridrag.evaluate.read_query import Query
from hybridrag.types.results import SearchResultSources, should_generate

SAMPLE: Final = Path(__file__).parent.parent / "sample"
DOCUMENTS: Final = (SAMPLE / "en", SAMPLE / "ja")
LABELS: Final = SAMPLE / "eval"
ASKED: Final = (
    "en-local-01",
    "ja-local-09",
    "en-relationship-02",
    "ja-relationship-02",
    "en-global-02",
    "ja-global-06",
    "en-unanswerable-01",
    "ja-unanswerable-05",
)
"""One of each kind in each language."""
LANGUAGES: Final = {"en": "English", "ja": "Japanese"}
SHOWN: Final = 3
"""Results that are printed; the next ones count for the outcome all the same."""
LIMIT: Final = 20
NEAR_TOP: Final = 5
"""The evidence must be among so many documents."""
THEMES_WITHIN: Final = 10
ENOUGH_THEMES: Final = 0.5
"""The share of a global question's themes that its first documents must cover."""
BROKEN: Final = (StepState.DEGRADED, StepState.FAILED)
"""A judge that did not work declares nothing: its silence is no abstention."""
WIDTH: Final = 100
INDENT: Final = 6


def main() -> int:
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that cannot write Japanese shows question marks instead of ending the demo.
        sys.stdout.reconfigure(errors="replace")
    labels = load_dataset(LABELS)
    queries = {query.id: query for query in labels.queries}
    outcomes: list[tuple[Query, bool, str]] = []
    with tempfile.TemporaryDirectory() as folder, open_sample(Path(folder) / "index") as engine:
        for number, name in enumerate(ASKED, start=1):
            query = queries[name]
            result = engine.search(query.text, limit=LIMIT, crag_enabled=True, explain=True)
            print_question(number, query)
            print_results(labels, result)
            print_verdict(result)
            print_answer(labels, engine.answer(query.text, limit=LIMIT))
            outcomes.append((query, *judge(labels, query, result)))
    return print_outcomes(outcomes)


def open_sample(path: Path) -> Engine:
    """An index of the sample documents, without their labels."""
    print("Preparing the model, if this is the first time, and taking in the sample documents ...")
    # The environment is left out, so that the demo shows the same to everybody.
    engine = Engine.open(path, settings=load_settings(env={}).settings)
    began = time.perf_counter()
    report = engine.add(list(DOCUMENTS))
    print(f"{len(report.outcomes)} documents, {report.chunks} chunks in {time.perf_counter() - began:.1f} s")
    counts = engine.graph.statistics()
    print(f"The graph holds {counts['entities']} entities, {counts['facts']} facts, {counts['links']} links.")
    return engine


# What a search found, and how


def print_question(number: int, query: Query) -> None:
    heading = f"{number}/{len(ASKED)} {query.type}, {LANGUAGES[query.language]}"
    print(f"\n{strong(heading)} {'-' * (WIDTH - len(heading) - 1)}")
    print(f"? {strong(query.text)}")


def print_results(labels: Dataset, result: SearchResult) -> None:
    read = result.classification
    if read is not None:
        names = f"; names: {', '.join(read.extracted_entities)}" if read.extracted_entities else ""
        print(f"  taken as {read.type} (confidence {read.confidence:.2f}){names}")
    for rank, item in enumerate(result.results[:SHOWN], start=1):
        print_item(rank, item, labels)
    if not result.results:
        print("  nothing found")
    print(f"  {result.total_count} found in {result.processing_time:.0f} ms")


def print_item(rank: int, item: SearchResultItem, labels: Dataset) -> None:
    print(f"  {rank}. {item.score:.2f}  {strong(place(item, labels))}")
    for by in item.found_by:
        way = f", by way of {' > '.join(by.path)}" if by.path else ""
        print(f"{'':{INDENT}}{by.strategy}: rank {by.rank}, score {by.score:.2f}{way}")
    if item.relevance.rerank is not None:
        print(f"{'':{INDENT}}rerank: score {item.relevance.rerank:.2f}")
    if item.relevance.crag is not None:
        print(f"{'':{INDENT}}grade: {item.relevance.crag.relevance} ({item.relevance.crag.confidence:.2f})")
    for line in wrap(excerpt(item), WIDTH - INDENT - 2)[:2]:
        print(f"{'':{INDENT}}| {line}")


def place(item: SearchResultItem, labels: Dataset) -> str:
    """File, page or lines, and headings; for what is of no single file, what it is.

    "en/ferry.md, line 8-9, Ferry timetable > The boat"; "community Tern, Skarv Island"
    """
    if item.sources.file_name is None:
        return f"{item.type} {(item.metadata or {}).get('title', '')}".rstrip()
    return place_of(item.sources, labels)


def place_of(source: SearchResultSources, labels: Dataset) -> str:
    where = labels.document_id(source.file_name or "")
    if source.page is not None:
        where += f", page {source.page}"
    elif source.line_start is not None:
        where += f", line {source.line_start}" + (f"-{source.line_end}" if source.line_end else "")
    return where + (f", {' > '.join(source.headings)}" if source.headings else "")


def excerpt(item: SearchResultItem) -> str:
    """The part that matched, else the beginning; on one line."""
    fragment = item.highlights[0].fragment if item.highlights else item.content.summary or item.content.text
    return " ".join(fragment.split())


# Whether it answers


def print_verdict(result: SearchResult) -> None:
    for line in verdict_lines(result):
        print(f"  {line}")


def verdict_lines(result: SearchResult) -> Iterator[str]:
    """What verification said; nothing where it did not run."""
    if result.crag is not None:
        yield f"verdict: {result.crag.relevance} ({result.crag.confidence:.2f})"
        for action in result.crag.actions:
            change = f"grade {action.before:.2f} -> {action.after:.2f}"
            yield f"corrected: {action.kind}{f' ({action.detail})' if action.detail else ''}, {change}"
    if result.intent_match is not None:
        missing = f"; not there: {', '.join(result.intent_match.missing)}" if result.intent_match.missing else ""
        yield f"wanted: {result.intent_match.expected or 'any passage'}{missing}"
    if result.sufficiency is not None:
        enough = "enough to answer" if should_generate(result.sufficiency) else "not enough to answer"
        yield f"sufficiency: {enough} (confidence {result.sufficiency.confidence:.2f})"
        if result.sufficiency.missing_info:
            yield f"missing: {'; '.join(result.sufficiency.missing_info)}"


def print_answer(labels: Dataset, answer: Answer) -> None:
    for number, line in enumerate(wrap(" ".join(answer.text.split()), WIDTH - 10)):
        print(f"  {'answer: ' if number == 0 else '        '}{line}")
    for citation in answer.citations:
        if citation.sources is not None and citation.sources.file_name is not None:
            print(f"        [{citation.number}] {place_of(citation.sources, labels)}")


# Whether it came out right


def judge(labels: Dataset, query: Query, result: SearchResult) -> tuple[bool, str]:
    """Whether the result is what the labels ask for, and why it is or is not."""
    if not query.answerable:
        return judge_silence(result)
    names = [item.sources.file_name for item in result.results]
    found = documents_in_order(labels.document_id(name) for name in names if name)
    if query.themes:
        share = themes_covered_at(found, query.themes, THEMES_WITHIN)
        return share >= ENOUGH_THEMES, f"{share:.0%} of its themes are among the first {THEMES_WITHIN} documents"
    evidence = sorted(document for document, grade in query.gold.items() if grade == max(query.gold.values()))
    ranks = ", ".join(f"{document} is {rank_of(document, found)}" for document in evidence)
    return bool(all_evidence_at(found, query.gold, NEAR_TOP)), ranks


def judge_silence(result: SearchResult) -> tuple[bool, str]:
    """An unanswerable question comes out right when the engine says itself that it cannot answer."""
    if not result.results:
        return True, "nothing found"
    failed = [step.reason for step in (result.trace.steps if result.trace else ()) if step.state in BROKEN]
    if result.sufficiency is None or failed:
        return False, f"whether the results suffice was not judged{f': {failed[0]}' if failed else ''}"
    if should_generate(result.sufficiency):
        return False, "taken for answerable"
    return True, "declared not answered"


def rank_of(document: str, found: Sequence[str]) -> str:
    return f"document {found.index(document) + 1}" if document in found else "not found"


def print_outcomes(outcomes: Sequence[tuple[Query, bool, str]]) -> int:
    """One line each; the exit code says whether all are right."""
    print(f"\n{strong('Held against the labels')}")
    for query, right, why in outcomes:
        print(f"  {'right' if right else 'WRONG'}  {query.id}: {why}")
    wrong = sum(not right for _, right, _ in outcomes)
    print(f"{len(outcomes) - wrong} of {len(outcomes)} came out right.")
    print("\nYour own documents: .venv/bin/hybridrag add FOLDER, then .venv/bin/hybridrag search QUESTION --explain")
    return 1 if wrong else 0


# The terminal


def strong(text: str) -> str:
    """Bold in a terminal, plain in a file or pipe."""
    return f"\033[1m{text}\033[0m" if sys.stdout.isatty() else text


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most so many columns; a Japanese character takes two and may end a line anywhere.

    ("灯台は高い", 6) -> ["灯台は", "高い"]
    """
    lines, line = [], ""
    for piece in pieces(text):
        if columns(line + piece.rstrip()) > width:
            lines.append(line.rstrip())
            line = ""
        line += piece
    return [*lines, line.rstrip()] if line.strip() else lines


def pieces(text: str) -> Iterator[str]:
    """Latin words with their space, and wide characters one by one."""
    word = ""
    for character in text:
        word += character
        if character == " " or columns(character) > 1:
            yield word
            word = ""
    if word:
        yield word


def columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RAGError as error:
        sys.exit(str(error))
