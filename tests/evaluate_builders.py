"""A small data set in the BEIR layout, and results made by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from hybridrag.queries.plan import default_weights
from hybridrag.steps import Step, StepState
from hybridrag.types.ids import new_chunk_id
from hybridrag.types.queries import QueryClassification, QueryType, SearchOptions, SearchQuery, SearchStrategy
from hybridrag.types.results import (
    CRAGReport,
    FoundBy,
    RelevanceScore,
    SearchResult,
    SearchResultContent,
    SearchResultItem,
    SearchResultSources,
    SearchResultType,
    SearchStrategyMetrics,
    StrategyMetric,
    SufficiencyEvaluation,
    Trace,
    TraceStep,
)

CORPUS: list[dict[str, object]] = [
    {"_id": "fees", "title": "Harbour fees", "text": "The fee for small boats is twelve crowns a day."},
    {"_id": "light", "title": "Marten Lighthouse", "text": "The Marten Lighthouse was designed by Elvira Quist."},
    {"_id": "quist", "title": "Elvira Quist", "text": "Elvira Quist grew up in Norrhamn and studied in Uppsala."},
    {"_id": "birds", "title": "Birds", "text": "Gulls and terns nest on the outer skerries in spring."},
    {"_id": "灯台", "title": "犬吠埼灯台", "text": "犬吠埼灯台の設計者はブラントンである。"},
]
QUERIES: list[dict[str, object]] = [
    {"_id": "q1", "text": "What is the fee for small boats?", "type": "local", "answer": "twelve crowns"},
    {"_id": "q2", "text": "Where did the designer of the Marten Lighthouse grow up?", "type": "relationship"},
    {"_id": "q3", "text": "犬吠埼灯台の設計者は誰ですか", "type": "local", "answer": ["ブラントン"]},
    {"_id": "q4", "text": "What are these notes about?", "type": "global", "themes": [["fees"], ["light", "quist"]]},
    {"_id": "q5", "text": "Who won the chess cup of 1999?", "type": "unanswerable"},
]
QRELS = "query-id\tcorpus-id\tscore\nq1\tfees\t1\nq2\tlight\t2\nq2\tquist\t2\nq2\tbirds\t0\nq3\t灯台\t1\n"


def write_lines(file: Path, entries: Sequence[Mapping[str, object]]) -> None:
    file.write_text("".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries), encoding="utf-8")


def write_dataset(folder: Path) -> Path:
    folder.mkdir()
    write_lines(folder / "corpus.jsonl", CORPUS)
    write_lines(folder / "queries.jsonl", QUERIES)
    (folder / "qrels.tsv").write_text(QRELS, encoding="utf-8")
    return folder


def item(document: str | None, *, score: float = 0.5, text: str = "", url: str | None = None) -> SearchResultItem:
    chunk = new_chunk_id()
    return SearchResultItem(
        id=chunk,
        type=SearchResultType.CHUNK,
        score=score,
        relevance=RelevanceScore(combined=score),
        content=SearchResultContent(text=text),
        sources=SearchResultSources(chunk_id=chunk, file_name=document, external_url=url),
        found_by=(FoundBy(strategy=SearchStrategy.GRAPH, rank=1, score=score, path=("quist",)),),
    )


def result(
    text: str,
    documents: Sequence[str],
    *,
    total: int | None = None,
    crag: CRAGReport | None = None,
    sufficiency: SufficiencyEvaluation | None = None,
) -> SearchResult:
    """What a search would return for these documents, best first."""
    metric = StrategyMetric(enabled=True)
    return SearchResult(
        query=SearchQuery(text=text, options=SearchOptions(crag_enabled=crag is not None)),
        results=tuple(
            item(document, score=1 / rank, text=f"about {document}") for rank, document in enumerate(documents, start=1)
        ),
        total_count=len(documents) if total is None else total,
        processing_time=1.0,
        strategies=SearchStrategyMetrics(keyword=metric, semantic=metric, graph=metric),
        classification=QueryClassification(
            original_query=text,
            type=QueryType.LOCAL,
            confidence=0.9,
            suggested_weights=default_weights(QueryType.LOCAL),
        ),
        crag=crag,
        sufficiency=sufficiency,
        trace=Trace(
            steps=(
                TraceStep(step=Step.KEYWORD, state=StepState.DONE, processing_time=2.0),
                TraceStep(step=Step.RERANK, state=StepState.SKIPPED, reason="switched <off>"),
            )
        ),
    )
