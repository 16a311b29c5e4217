"""Turn hits into results that explain themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pydantic import JsonValue

from hybridrag.language.tokenise import query_terms
from hybridrag.protocols import StoreWithCommunities
from hybridrag.search.highlight import best_stretch, highlight_fragment
from hybridrag.search.match import find_matches
from hybridrag.search.state import SearchState
from hybridrag.search.versions import asks_for, find_superseded, newer_first
from hybridrag.types.documents import Chunk, FileInfo, place_of
from hybridrag.types.ids import ChunkId, FileId
from hybridrag.types.queries import SearchStrategy
from hybridrag.types.results import (
    FoundBy,
    Highlight,
    Hit,
    RelevanceScore,
    SearchResultContent,
    SearchResultItem,
    SearchResultSources,
    SearchResultType,
)
from hybridrag.types.terms import AnyOf, Term, TermQuery


def show(store: StoreWithCommunities, state: SearchState, page: Sequence[Hit]) -> list[SearchResultItem]:
    """The results of one page. What is gone from the index since it was found is left out."""
    with store.snapshot():
        chunks = store.chunks_by_key([hit.key for hit in page if hit.key], filters=state.query.filters)
        files = state.read_files(store, chunks.values())
        items: list[SearchResultItem] = []
        for hit in page:
            if hit.key in chunks:
                chunk = chunks[hit.key]
                items.append(_chunk(store, state, hit, chunk, files[chunk.file_id]))
            elif not hit.key:
                items.append(_outside(state, hit) if hit.page is not None else _node(state, hit))
        if len(files) < 2:
            return items
        superseded = find_superseded([file for file in files.values() if file is not None], store.text)
        return _with_versions(items, superseded, files, state.query.text) if superseded else items


def _with_versions(
    items: Sequence[SearchResultItem],
    superseded: Mapping[FileId, FileInfo],
    files: Mapping[FileId, FileInfo | None],
    question: str,
) -> list[SearchResultItem]:
    """The results with what replaced them named, and the newer before the older unless the question names that."""
    moved = {
        older: newer for older, newer in superseded.items() if (file := files[older]) and not asks_for(question, file)
    }
    places = newer_first([item.sources.file_id for item in items], moved)
    ordered: list[SearchResultItem] = []
    for place, item in zip(places, items, strict=True):
        shown, metadata = items[place], items[place].metadata
        newer = superseded.get(shown.sources.file_id) if shown.sources.file_id else None
        if newer and metadata is not None:
            metadata = metadata | {"supersededBy": newer.shown_name}
        ordered.append(shown.model_copy(update={"score": item.score, "metadata": metadata}))
    return ordered


def page_of(hits: Sequence[Hit], first: int, limit: int) -> list[Hit]:
    """So many hits from place `first` on, each scored no lower than any after it.

    Order knows more than the probability of a single hit: what another one leads to stands before what is only like
    the question.
    """
    page: list[Hit] = []
    floor = max((hit.score for hit in hits[first + limit :]), default=0.0)
    for hit in reversed(hits[first : first + limit]):
        floor = max(floor, hit.score)
        page.append(hit if hit.score >= floor else replace(hit, score=floor))
    return page[::-1]


def _chunk(
    store: StoreWithCommunities, state: SearchState, hit: Hit, chunk: Chunk, file: FileInfo | None
) -> SearchResultItem:
    around = store.chunks_of(chunk.file_id, start=max(0, chunk.ordinal - 1), stop=chunk.ordinal + 2)
    beside = {other.ordinal: other for other in around}
    before, after = beside.get(chunk.ordinal - 1), beside.get(chunk.ordinal + 1)
    metadata: dict[str, JsonValue] | None = None
    if file and state.query.options.include_metadata:
        metadata = {"title": file.title, "language": chunk.language, **file.metadata}
        if hit.copies:
            metadata["copiesLeftOut"] = hit.copies
    return SearchResultItem(
        id=chunk.id,
        type=SearchResultType.CHUNK,
        score=hit.score,
        relevance=_relevance(state, hit),
        content=SearchResultContent(
            text=chunk.text,
            summary=hit.summary,
            # Neighbours overlap; what the text itself says is not said again.
            context_before=(before.text[: max(0, chunk.start - before.start)] or None) if before else None,
            context_after=(after.text[max(0, chunk.end - after.start) :] or None) if after else None,
        ),
        highlights=_highlights(state, hit, chunk),
        sources=SearchResultSources(
            chunk_id=chunk.id,
            file_id=chunk.file_id,
            entity_ids=hit.entity_ids,
            relation_ids=hit.relation_ids,
            community_id=hit.community_id,
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
        found_by=tuple(
            FoundBy(
                strategy=name,
                rank=hit.ranks[name],
                score=hit.scores[name],
                path=hit.path if name is SearchStrategy.GRAPH else (),
            )
            for name in state.metrics
            if name in hit.ranks
        ),
        metadata=metadata,
    )


def _node(state: SearchState, hit: Hit) -> SearchResultItem:
    """An entity or a community of the graph."""
    score = hit.scores[SearchStrategy.GRAPH]
    return SearchResultItem(
        id=hit.id,
        type=hit.type,
        score=hit.score,
        relevance=_relevance(state, hit),
        content=SearchResultContent(text=hit.text, summary=hit.summary),
        sources=SearchResultSources(
            entity_ids=hit.entity_ids, relation_ids=hit.relation_ids, community_id=hit.community_id
        ),
        found_by=(FoundBy(strategy=SearchStrategy.GRAPH, rank=1, score=score, path=hit.path),),
        metadata={"title": hit.title} if state.query.options.include_metadata else None,
    )


def _outside(state: SearchState, hit: Hit) -> SearchResultItem:
    """A text from the web."""
    return SearchResultItem(
        id=hit.id,
        type=SearchResultType.CHUNK,
        score=hit.score,
        relevance=_relevance(state, hit),
        content=SearchResultContent(text=hit.text, summary=hit.summary),
        sources=SearchResultSources(chunk_id=ChunkId(hit.id), external_url=hit.page.url if hit.page else None),
        metadata={"title": hit.title} if state.query.options.include_metadata else None,
    )


def _relevance(state: SearchState, hit: Hit) -> RelevanceScore:
    shown = {name.value: hit.scores.get(name, 0.0) for name in state.metrics}
    return RelevanceScore(combined=hit.combined, **shown, rerank=hit.scores.get("rerank"), crag=hit.grade)


def _highlights(state: SearchState, hit: Hit, chunk: Chunk) -> tuple[Highlight, ...]:
    """A fragment where most of the question's words stand, or else where the reader found the answer."""
    if not state.query.options.include_highlights or state.keyword is None:
        return ()
    matches = find_matches(_marked(state), chunk.text)
    around = best_stretch(chunk.text, matches) or _read_stretch(state, hit)
    return (highlight_fragment(chunk.text, matches, around=around),) if around else ()


def _marked(state: SearchState) -> TermQuery | None:
    """What was asked for and, where no operators say that exactly, the parts of its words and their synonyms."""
    query = state.keyword.query if state.keyword else None
    if query is None or state.question.operators is not None:
        return query
    terms = [*state.question.terms, *(term for it in state.expansions for term in query_terms(it.by))]
    words = dict.fromkeys(word for term in terms for word in (term.term, *term.parts) if len(word) > 1)
    return AnyOf((query, *map(Term, words)))


def _read_stretch(state: SearchState, hit: Hit) -> tuple[int, int] | None:
    """Where the reader found the answer in a hit that it read."""
    stretches = state.judgement.stretches if state.judgement else ()
    found = (stretch for judged, stretch in zip(state.judged, stretches, strict=False) if judged.key == hit.key)
    return next((stretch for stretch in found if stretch[0] < stretch[1]), None)
