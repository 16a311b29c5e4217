"""One question on its way: what is searched, and what each step found. Every step takes it and adds its part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hybridrag.protocols import Judgement, Question, StoreWithCommunities
from hybridrag.queries.expand import Expansion
from hybridrag.queries.plan import Plan
from hybridrag.queries.recognise import KnownName
from hybridrag.search.keyword import KeywordSearch
from hybridrag.search.named import Named
from hybridrag.search.record import Recorder
from hybridrag.types.base import Float32Array
from hybridrag.types.documents import Chunk, FileInfo
from hybridrag.types.ids import FileId, web_chunk_id_for
from hybridrag.types.queries import SearchQuery, SearchStrategy, SearchWeights
from hybridrag.types.results import (
    CorrectiveAction,
    CRAGReport,
    Hit,
    IntentMatch,
    StrategyMetric,
    SufficiencyEvaluation,
)
from hybridrag.types.sources import WebPage


@dataclass(slots=True)
class SearchState:
    """One try at a question. A correction makes another one, and the better of the two goes on."""

    query: SearchQuery
    """As the caller asked it: filters and options always hold."""
    question: Question
    """What is searched in this try, and its vectors once they are known."""
    plan: Plan
    recorder: Recorder
    original: Question | None = None
    """The question of the first try, where this one asks in other words."""

    names: tuple[KnownName, ...] = ()
    """Those in the question that the graph knows."""
    expansions: tuple[Expansion, ...] = ()
    """The question in other words; without the question itself."""

    rankings: dict[SearchStrategy, list[Hit]] = field(default_factory=dict)
    """What each search found, best first."""
    keyword: KeywordSearch | None = None
    """How the keyword search asked in the end."""
    base: Mapping[int, float] = field(default_factory=dict)
    """Each chunk's own score by words and meaning, which the graph starts from."""
    sides: tuple[Named, ...] = ()
    """What the question names, with the chunks about it."""
    metrics: dict[SearchStrategy, StrategyMetric] = field(default_factory=dict)

    hits: list[Hit] = field(default_factory=list)
    """The one ranking, best first."""
    vectors: dict[int, Float32Array] = field(default_factory=dict)
    """Of the best chunks, by key: what compares hits with one another reads them once."""
    chunks: dict[int, Chunk] = field(default_factory=dict)
    """Those that were read so far, by key: every later step reads the same ones."""
    files: dict[FileId, FileInfo | None] = field(default_factory=dict)
    """The same for their files."""

    judged: list[Hit] = field(default_factory=list)
    """The first hits, which were judged together."""
    judgement: Judgement | None = None
    """None where nobody could judge."""
    actions: list[CorrectiveAction] = field(default_factory=list)
    """What was done about results that do not answer."""
    intent: IntentMatch | None = None
    sufficiency: SufficiencyEvaluation | None = None
    crag: CRAGReport | None = None

    @property
    def weights(self) -> SearchWeights:
        """How much each search counts in this try."""
        return self.plan.weights

    @property
    def enabled(self) -> tuple[SearchStrategy, ...]:
        """The searches that run for themselves: asked for, and of some weight."""
        return self.plan.searches

    @property
    def asked(self) -> Question:
        """The question as it was asked: what results are judged by."""
        return self.original or self.question

    @property
    def relaxed(self) -> bool:
        """Whether hits are here that lack a word of the question, or do not match its operators."""
        if self.keyword is None or SearchStrategy.KEYWORD not in self.enabled:
            return False
        matching = self.keyword.matching
        return self.keyword.relaxed if matching is None else any(hit.key not in matching for hit in self.hits)

    def again(self, *, plan: Plan, question: Question | None = None) -> SearchState:
        """Another try at the same query."""
        return SearchState(
            self.query,
            question or self.question,
            plan,
            self.recorder,
            original=self.asked,
            names=self.names,
            expansions=self.expansions,
            actions=self.actions,
        )

    def with_hits(self, hits: list[Hit]) -> SearchState:
        """The same with other hits, not judged yet."""
        return replace(self, hits=hits, judged=[], judgement=None)

    def read(self, store: StoreWithCommunities, keys: Sequence[int]) -> dict[int, Chunk]:
        """The chunks of these keys that exist and pass the filter."""
        missing = [key for key in keys if key and key not in self.chunks]
        if missing:
            self.chunks |= store.chunks_by_key(missing, filters=self.query.filters)
        return {key: self.chunks[key] for key in keys if key in self.chunks}

    def read_files(self, store: StoreWithCommunities, chunks: Iterable[Chunk]) -> dict[FileId, FileInfo | None]:
        """The files of these chunks."""
        for file_id in {chunk.file_id for chunk in chunks} - self.files.keys():
            self.files[file_id] = store.file(file_id)
        return self.files

    def with_texts(self, store: StoreWithCommunities, hits: Sequence[Hit]) -> list[Hit]:
        """The hits with their ids, texts and titles; one whose chunk is gone meanwhile has no text."""
        with store.snapshot():
            chunks = self.read(store, [hit.key for hit in hits if not hit.text])
            files = self.read_files(store, chunks.values())
        return [_with_text(hit, chunks[hit.key], files) if hit.key in chunks else hit for hit in hits]


def _with_text(hit: Hit, chunk: Chunk, files: Mapping[FileId, FileInfo | None]) -> Hit:
    file = files.get(chunk.file_id)
    title = (file.title or "") if file else ""
    return replace(
        hit, id=str(chunk.id), text=chunk.text, title=title, headings=chunk.headings, language=chunk.language
    )


def hit_of_page(page: WebPage, score: float = 0.0) -> Hit:
    """A text from outside: its id is the same for the same address and text."""
    return Hit(web_chunk_id_for(page.url, page.text), page.text, score, page.title, combined=score, page=page)
