"""Turn what was found into results that explain themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from hybridrag.protocols import StoreWithCommunities, WebPage
from hybridrag.search.highlight import highlight_fragment
from hybridrag.search.match import find_matches
from hybridrag.search.retrieve import Found, Ranked
from hybridrag.types.documents import Chunk, FileInfo, place_of
from hybridrag.types.ids import ChunkId, web_chunk_id_for
from hybridrag.types.queries import SearchStrategy
from hybridrag.types.results import (
    CRAGScore,
    FoundBy,
    Highlight,
    RelevanceScore,
    SearchResultContent,
    SearchResultItem,
    SearchResultSources,
    SearchResultType,
)


@dataclass(frozen=True, slots=True)
class Extra:
    """What verification adds to a result."""

    grade: CRAGScore | None = None
    summary: str | None = None
    """The sentences that bear on the question."""


NOTHING_MORE = Extra()


def show(
    store: StoreWithCommunities, found: Found, page: Sequence[Ranked], extras: Mapping[str, Extra] | None = None
) -> list[SearchResultItem]:
    """The results of one page. What is gone from the index since it was found is left out.

    `extras` are by the id of the result.
    """
    extras = extras or {}
    with store.snapshot():
        filters = found.ask.query.filters
        chunks = store.chunks_by_key([item.key for item in page if item.key], filters=filters)
        files = found.read_files(store, chunks.values())
        ranks = found.ranks()
        items: list[SearchResultItem] = []
        for item in page:
            if item.page is not None:
                items.append(_outside(item, item.page, extras.get(web_id(item.page), NOTHING_MORE)))
            elif item.key in chunks:
                chunk = chunks[item.key]
                extra = extras.get(chunk.id, NOTHING_MORE)
                items.append(_chunk(store, found, item, chunk, files[chunk.file_id], ranks, extra))
            elif item.hit is not None and not item.key:
                extra = extras.get(item.hit.id, NOTHING_MORE)
                items.append(_node(item, extra, metadata=found.ask.query.options.include_metadata))
        return items


def page_of(ranked: Sequence[Ranked], first: int, limit: int) -> list[Ranked]:
    """So many results from place `first` on, each scored no higher than any before it.

    A reranker scores the first fifty on a scale of its own; the order must not contradict the scores.
    """
    ceiling = min((item.final for item in ranked[:first]), default=1.0)
    page: list[Ranked] = []
    for item in ranked[first : first + limit]:
        ceiling = min(ceiling, item.final)
        page.append(item if item.final <= ceiling else replace(item, shown=ceiling))
    return page


def web_id(page: WebPage) -> ChunkId:
    """The id of a text from outside: the same for the same address and text."""
    return web_chunk_id_for(page.url, page.text)


def _chunk(
    store: StoreWithCommunities,
    found: Found,
    item: Ranked,
    chunk: Chunk,
    file: FileInfo | None,
    ranks: Mapping[SearchStrategy, Mapping[int, int]],
    extra: Extra,
) -> SearchResultItem:
    options = found.ask.query.options
    around = store.chunks_of(chunk.file_id, start=max(0, chunk.ordinal - 1), stop=chunk.ordinal + 2)
    beside = {other.ordinal: other.text for other in around}
    metadata: dict[str, JsonValue] | None = None
    if file and options.include_metadata:
        metadata = {"title": file.title, "language": chunk.language, **file.metadata}
        if item.copies:
            metadata["copiesLeftOut"] = item.copies
    hit = item.hit
    return SearchResultItem(
        id=chunk.id,
        type=SearchResultType.CHUNK,
        score=item.final,
        relevance=_relevance(item, _scores(found, item), extra),
        content=SearchResultContent(
            text=chunk.text,
            summary=extra.summary,
            context_before=beside.get(chunk.ordinal - 1),
            context_after=beside.get(chunk.ordinal + 1),
        ),
        highlights=_highlights(found, chunk),
        sources=SearchResultSources(
            chunk_id=chunk.id,
            file_id=chunk.file_id,
            entity_ids=hit.entity_ids if hit else (),
            relation_ids=hit.relation_ids if hit else (),
            community_id=hit.community_id if hit else None,
            file_name=file.name if file else None,
            workspace=file.workspace if file else None,
            mime_type=file.mime_type if file else None,
            page=chunk.page,
            line_start=chunk.line_start,
            line_end=chunk.line_end,
            anchor=chunk.anchor,
            shown_name=file.shown_name if file else None,
            place=place_of(chunk, file.mime_type) if file else None,
            headings=chunk.headings,
        ),
        found_by=_found_by(found, item, ranks),
        metadata=metadata,
    )


def _node(item: Ranked, extra: Extra, *, metadata: bool) -> SearchResultItem:
    """An entity or a community of the graph."""
    hit = item.hit
    assert hit is not None  # noqa: S101 (the caller looked)
    return SearchResultItem(
        id=hit.id,
        type=hit.type,
        score=item.final,
        relevance=_relevance(item, {SearchStrategy.GRAPH: item.graph}, extra),
        content=SearchResultContent(text=str(hit.details.get("text", "")), summary=extra.summary),
        sources=SearchResultSources(
            entity_ids=hit.entity_ids, relation_ids=hit.relation_ids, community_id=hit.community_id
        ),
        found_by=(FoundBy(strategy=SearchStrategy.GRAPH, rank=1, score=item.graph, path=item.path),),
        metadata={"title": str(hit.details.get("title", ""))} if metadata else None,
    )


def _outside(item: Ranked, page: WebPage, extra: Extra) -> SearchResultItem:
    """A text from the web."""
    return SearchResultItem(
        id=web_id(page),
        type=SearchResultType.CHUNK,
        score=item.final,
        relevance=_relevance(item, {}, extra),
        content=SearchResultContent(text=page.text, summary=extra.summary),
        sources=SearchResultSources(chunk_id=web_id(page), external_url=page.url),
        metadata={"title": page.title},
    )


def _relevance(item: Ranked, scores: Mapping[SearchStrategy, float], extra: Extra) -> RelevanceScore:
    return RelevanceScore(
        combined=item.combined,
        keyword=scores.get(SearchStrategy.KEYWORD, 0.0),
        semantic=scores.get(SearchStrategy.SEMANTIC, 0.0),
        graph=scores.get(SearchStrategy.GRAPH, 0.0),
        rerank=item.rerank,
        crag=extra.grade,
    )


def _scores(found: Found, item: Ranked) -> dict[SearchStrategy, float]:
    scores = {
        SearchStrategy.KEYWORD: found.by_word.get(item.key, 0.0),
        SearchStrategy.SEMANTIC: found.semantic.get(item.key, 0.0),
        SearchStrategy.GRAPH: item.graph,
    }
    return {name: score for name, score in scores.items() if name in found.metrics}


def _found_by(found: Found, item: Ranked, ranks: Mapping[SearchStrategy, Mapping[int, int]]) -> tuple[FoundBy, ...]:
    scores = _scores(found, item)
    return tuple(
        FoundBy(
            strategy=name,
            rank=places[item.key],
            score=scores[name],
            path=item.path if name is SearchStrategy.GRAPH else (),
        )
        for name, places in ranks.items()
        if item.key in places
    )


def _highlights(found: Found, chunk: Chunk) -> tuple[Highlight, ...]:
    if not found.ask.query.options.include_highlights or found.keyword is None:
        return ()
    matches = find_matches(found.keyword.query, chunk.text)
    return (highlight_fragment(chunk.text, matches),) if matches else ()
