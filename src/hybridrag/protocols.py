"""The contract of every replaceable part, written once: what each promises and what empty means.

`hybridrag.testing` ships the suites that check an implementation against these promises.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hybridrag.result import Result
from hybridrag.types.base import Float32Array
from hybridrag.types.documents import Chunk, FileInfo
from hybridrag.types.extraction import NOTHING_SAID, ChunkGraph, Link
from hybridrag.types.graph import EntityType
from hybridrag.types.ids import ChunkId, CommunityId, EntityId, FileId
from hybridrag.types.queries import QueryClassification, QueryType, RelationHint, SearchFilters, Want
from hybridrag.types.results import Hit
from hybridrag.types.sources import WebPage
from hybridrag.types.terms import Name, Operators, QueryTerm, TermQuery

Keys = NDArray[np.int64]
"""Integer row keys of chunks inside one store; ascending keys were added later."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """Which model made a vector. Two infos are equal exactly when their vectors may be compared."""

    name: str
    """What the user sets, for example `multilingual-e5-small`."""
    fingerprint: str
    """Changes whenever the same text would get another vector: weights, prefix, pooling, quantisation."""
    dimension: int
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Passages:
    """Embedded passages: one pooled vector each and, where the model gives them, one per token."""

    pooled: Float32Array
    """(n, dimension), L2-normalised."""
    tokens: tuple[Float32Array, ...] | None = None
    """Per passage (its tokens, dimension), L2-normalised, special tokens and prefix left out."""


@runtime_checkable
class Embedder(Protocol):
    """Turns text into vectors whose dot product is their cosine.

    Calls are thread-safe. The same text gives the same vector, whatever else is in the batch (to 1e-3).
    An empty list of texts gives a (0, dimension) array. Text past `max_tokens` is cut, never an error.

    Raises:
        ModelUnavailable: weights cannot be loaded.
        ProviderError: a remote provider failed after its retries.
    """

    @property
    def info(self) -> ModelInfo:
        """Which model this is."""
        ...

    def embed_passages(self, texts: Sequence[str], *, tokens: bool = False) -> Passages:
        """Embed texts to be found; `tokens=True` asks for token vectors too (None where there are none)."""
        ...

    def embed_query(self, text: str, *, tokens: bool = False) -> Passages:
        """Embed one question: `pooled` has one row."""
        ...

    def token_spans(self, text: str) -> NDArray[np.int32]:
        """(n, 2) character offsets of the model's tokens in `text`, ascending; what chunk sizes are counted in."""
        ...


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation with an LLM. What documents say belongs into `user`, never into `system`."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class TokenPrices:
    """What a million tokens cost, in whatever currency the user counts; 0 where it is free or not known."""

    per_million_input: float = 0.0
    per_million_output: float = 0.0

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """(1_000_000, 500_000) at 2 and 8 a million -> 6.0."""
        return (input_tokens * self.per_million_input + output_tokens * self.per_million_output) / 1_000_000


@dataclass(frozen=True, slots=True)
class LlmInfo:
    """Which LLM answers, and what it costs."""

    name: str
    """What the user sets, for example `gpt-4o-mini`: what answers are cached by."""
    provider: str
    """Who runs it, for example `api.openai.com`."""
    prices: TokenPrices = TokenPrices()


@dataclass(frozen=True, slots=True)
class Completion:
    """What an LLM answered, and what it took."""

    text: str
    input_tokens: int
    output_tokens: int
    model: str
    """As the service names it."""
    truncated: bool = False
    """Whether `max_tokens` ended it."""


@runtime_checkable
class Llm(Protocol):
    """Answers messages. A call that fails is an `Err` with one sentence; nothing is raised, so callers degrade over it.

    Calls are thread-safe. With a `schema`, the text of an `Ok` is exactly one JSON object; whether its fields keep to
    the schema is for the caller to check, since a model may lie. An answer without text is an `Err`.
    """

    @property
    def info(self) -> LlmInfo:
        """Which LLM this is."""
        ...

    def count_tokens(self, text: str) -> int:
        """How many tokens a text is, or about; rather too many than too few."""
        ...

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int,
        temperature: float = 0.1,
        timeout: float | None = None,
    ) -> Result[Completion]:
        """The answer, at most `max_tokens` long; `timeout` seconds are for all of it, retries included."""
        ...


@dataclass(frozen=True, slots=True)
class Question:
    """A question as `hybridrag.queries` reads it: every stage asks this object, and none looks at the words again.

    A part that is handed a bare `Question("...")` works with the text alone.
    """

    text: str
    """What is searched, without operators."""
    classification: QueryClassification | None = None
    """Its type, how sure that is, the names and sides in it."""
    language: str = ""
    want: Want = Want.THING
    """The kind of thing that answers it."""
    names: tuple[Name, ...] = ()
    terms: tuple[QueryTerm, ...] = ()
    """What a passage has to say; of an overview question, its topic alone."""
    weights: tuple[float, ...] = ()
    """How much each term says."""
    rarity: Mapping[str, float] = field(default_factory=dict)
    """The idf of its terms in the corpus, as the language layer writes them; a term that no chunk has is there too."""
    is_statement: bool = False
    """Whether it states something instead of asking."""
    topic: tuple[str, ...] = ()
    """The words by which an overview question says what of the whole is wanted; none where it wants all of it."""
    asks_what_it_is: bool = False
    """Whether it is one bare name, or asks who or what one name is."""
    asks_yes_no: bool = False
    """Whether it can be answered by yes or no."""
    operators: Operators | None = None
    """How the query was written, where it uses operators."""
    pooled: Float32Array | None = None
    """Its vector, where the semantic search made one."""
    tokens: Float32Array | None = None
    """(tokens, dimension), L2-normalised, as the embedder gives them."""

    @property
    def type(self) -> QueryType:
        """What kind of answer it wants."""
        return self.classification.type if self.classification else QueryType.HYBRID

    @property
    def hint(self) -> RelationHint | None:
        """What a relationship question is after."""
        return self.classification.relation_hint if self.classification else None

    def coverage(self, there: Iterable[float]) -> float:
        """The share of what the question says, by weight, given how far each term is there."""
        total = sum(self.weights)
        if not total:
            return 0.0
        return sum(weight * share for weight, share in zip(self.weights, there, strict=True)) / total


@dataclass(frozen=True, slots=True)
class Reranking:
    """What a reranker said of candidates."""

    scores: tuple[float | None, ...]
    """0-1, one for each candidate in their order; None for one that it did not look at."""
    model: str
    tokens: int = 0
    """As the service counts them; 0 for a local model."""
    cost: float = 0.0
    matches: NDArray[np.float32] | None = field(default=None, compare=False)
    """(candidates, tokens of the question): how well each candidate matches each token; None where it cannot tell."""


@runtime_checkable
class Reranker(Protocol):
    """Scores how well passages answer a question. Calls are thread-safe.

    A call that fails is an `Err` with one sentence, and the order of the searches stays; nothing is raised. No
    candidates give no scores. `timeout` seconds are for all of it, retries included.
    """

    @property
    def name(self) -> str:
        """What the trace calls it, for example `late-interaction`."""
        ...

    def rerank(
        self, question: Question, candidates: Sequence[Hit], *, timeout: float | None = None
    ) -> Result[Reranking]:
        """A score for each candidate."""
        ...


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader makes of one passage."""

    relevance: float
    """The probability that it bears on the question."""
    holds: float
    """The probability that it holds the answer."""
    start: int = 0
    end: int = 0
    """The stretch of the passage's text that answers best; empty where nothing in it may be quoted."""


@runtime_checkable
class Reader(Protocol):
    """Reads question and passage together. A call that fails is an `Err` with one sentence; nothing is raised."""

    def read(
        self, question: Question, candidates: Sequence[Hit], *, timeout: float | None = None
    ) -> Result[Sequence[Reading | None]]:
        """What it makes of each candidate; None for one that there was no time for."""
        ...


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether candidates bear on a question, and whether they hold its answer."""

    relevance: tuple[float, ...]
    """For each candidate in their order, the probability that it bears on the question."""
    sufficient: float
    """The probability that they together hold the answer."""
    missing: tuple[str, ...] = ()
    """What would have to be found, in words a user reads."""
    reasons: Mapping[str, float] = field(default_factory=dict)
    """What the judgement rests on, by name."""
    stretches: tuple[tuple[int, int], ...] = ()
    """For each candidate, where in its text it answers best; (0, 0) where nobody can tell. None at all is as good."""


@runtime_checkable
class Judge(Protocol):
    """Judges results. A call that fails is an `Err` with one sentence; nothing is raised.

    No candidates are not sufficient.
    """

    @property
    def name(self) -> str:
        """What the trace calls it."""
        ...

    def judge(
        self, question: Question, candidates: Sequence[Hit], *, timeout: float | None = None
    ) -> Result[Judgement]:
        """What it makes of them."""
        ...


@runtime_checkable
class WebSearch(Protocol):
    """Searches outside the documents. A call that fails is an `Err` with one sentence; nothing is raised.

    An empty list is an answer. No page is on a private address.
    """

    @property
    def name(self) -> str:
        """What the trace calls it."""
        ...

    def search(self, query: str, *, limit: int, timeout: float | None = None) -> Result[Sequence[WebPage]]:
        """The best pages for a query, best first."""
        ...


class VectorIndex(Protocol):
    """Nearest neighbours by cosine over L2-normalised float32 vectors, each under an int64 key.

    A derived structure: everything in it can be rebuilt from the store, so damage is answered by `StoreCorrupt`
    and a rebuild. Reads are thread-safe with one another; a caller serialises writes against reads.
    """

    kind: ClassVar[str]
    """`exact`, `quantised` or `diskann`: what settings and status call it."""

    @property
    def stamp(self) -> str:
        """What the last `save` or `load` was stamped with: how a store knows what state an index is of."""
        ...

    def __len__(self) -> int:
        """How many live keys."""
        ...

    def keys(self) -> Keys:
        """Every live key, ascending."""
        ...

    def add(self, keys: Keys, vectors: Float32Array) -> None:
        """Add or replace."""
        ...

    def remove(self, keys: Keys) -> None:
        """Forget; unknown keys are ignored."""
        ...

    def search(self, query: Float32Array, k: int, *, allowed: Keys | None = None) -> list[tuple[int, float]]:
        """The k best `(key, cosine)`, best first, ties by key.

        With `allowed` (ascending keys) only those count, and the result is the true top k among them, however
        few they are; an empty `allowed` gives an empty list.
        """
        ...

    def save(self, folder: Path, *, stamp: str = "") -> None:
        """Write into `folder` (made if missing) so that a crash leaves the old or the new index, never a mix."""
        ...

    @classmethod
    def load(cls, folder: Path, *, dimension: int) -> Self:
        """Open what `save` wrote, without reading the whole of it where the kind allows.

        Raises:
            StoreCorrupt: missing, damaged, or of another dimension.
        """
        ...

    def close(self) -> None:
        """Release files; the index is not used afterwards."""
        ...


@dataclass(frozen=True, slots=True)
class NewChunk:
    """A chunk on its way into a store."""

    chunk: Chunk
    passage: str
    """What was embedded for it; equal passages have equal vectors, so a store may keep the vector it has."""
    vector: Float32Array
    tokens: bytes | None = None
    """Its token vectors, packed; None where the model gives none."""
    graph: ChunkGraph = NOTHING_SAID
    """What it says for the knowledge graph."""


@dataclass(frozen=True, slots=True)
class NameRow:
    """A name as it is compared, and the entity that it names."""

    norm: str
    entity_key: int
    mentions: int


@dataclass(frozen=True, slots=True)
class EntityRow:
    """An entity as the visible chunks speak of it."""

    key: int
    """Its key inside the store; the id is derived from its first norm."""
    name: str
    """As it is written most often."""
    type: EntityType
    aliases: tuple[str, ...]
    """Other spellings, most frequent first."""
    norms: tuple[str, ...]
    mentions: int


@dataclass(frozen=True, slots=True)
class MentionRow:
    """That a chunk mentions an entity so many times."""

    entity_key: int
    chunk_key: int
    count: int


@dataclass(frozen=True, slots=True)
class FactRow:
    """That the sentence `start:end` of a chunk states a relation."""

    subject_key: int
    predicate: str
    object_key: int
    chunk_key: int
    start: int
    end: int
    confidence: float


@dataclass(frozen=True, slots=True)
class LinkRow:
    """That a chunk names a document or section by an alias of its title."""

    source_key: int
    """The chunk that names it."""
    alias: str
    file_key: int
    ordinal: int
    quality: float
    target_key: int
    """The first chunk of what is named."""


class Linker(Protocol):
    """Finds where texts name titles. Pure: the same text and aliases give the same links."""

    def aliases(self, title: str) -> list[tuple[str, float]]:
        """What a document or section of that title may be called, with how well each alias names it (0-1)."""
        ...

    def find(self, text: str, aliases: Iterable[str]) -> list[Link]:
        """Where the text names them, each alias for itself: another alias changes nothing."""
        ...

    def probe_terms(self, text: str) -> set[str]:
        """Terms of a text or an alias. A text can name an alias only if it has all of the alias's terms."""
        ...


class Resemblance(Protocol):
    """Tells names that are one name spelt differently. Pure: the same two names give the same answer."""

    def blocks(self, norm: str) -> set[str]:
        """Two names can be alike only if they share one of these."""
        ...

    def alike(self, norm: str, other: str) -> bool:
        """Whether both name one thing, if they are of one type."""
        ...


@dataclass(frozen=True, slots=True)
class PutReport:
    """What a write changed."""

    added: int
    kept: int
    removed: int


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """What a store holds."""

    files: int
    chunks: int
    generation: int
    format: int
    model: ModelInfo | None
    vector_index: str
    bytes_on_disk: int
    workspaces: Mapping[str, int]
    """Files by workspace."""


@dataclass(frozen=True, slots=True)
class Problem:
    """An invariant that does not hold."""

    what: str
    derived: bool
    """Whether `repair` can rebuild it from what is stored."""


class Store(Protocol):
    """Keeps files, chunks, terms and vectors, and finds chunks by term, vector and filter.

    A file is written or removed as a whole: no reader ever sees half of one. Once a call returned, its effect
    survives the death of the process. Every read honours its filter; None means everything. Reads are thread-safe,
    and see what other processes committed without reopening. Keys are never used twice.

    Raises:
        StoreBusy: another process kept the write lock for longer than the settings allow.
        StoreCorrupt: stored data is damaged.
    """

    def bind_model(self, model: ModelInfo) -> None:
        """Say which model's vectors come in; the first call decides, a later other model is `ModelMismatch`."""
        ...

    def put_file(self, file: FileInfo, text: str, chunks: Sequence[NewChunk]) -> PutReport:
        """Write a file in place of any file of that id; chunks whose text and passage are the same stay untouched."""
        ...

    def kept_chunks(self, file_id: FileId, passages: Mapping[ChunkId, str]) -> set[ChunkId]:
        """Which of a file's chunks would stay as they are when it is written with these passages."""
        ...

    def remove_files(self, ids: Sequence[FileId]) -> int:
        """Forget files with everything that came from them; how many there were. Unknown ids are ignored."""
        ...

    @property
    def graph(self) -> GraphStore:
        """What the chunks say of names, facts and titles."""
        ...

    def snapshot(self) -> AbstractContextManager[None]:
        """Within it, every read of this thread sees one and the same state, whatever is committed meanwhile."""
        ...

    def known_vectors(self, passages: Sequence[str]) -> dict[str, Float32Array]:
        """The vectors of those passages that are already stored, under any file: they need no model."""
        ...

    def known_token_vectors(self, passages: Sequence[str]) -> dict[str, bytes]:
        """The same for their packed token vectors, where they have some."""
        ...

    def file(self, file_id: FileId) -> FileInfo | None:
        """One file, or None."""
        ...

    def files(self, filters: SearchFilters | None = None) -> Iterator[FileInfo]:
        """Files by workspace and name."""
        ...

    def text(self, file_id: FileId) -> str | None:
        """The stored text that chunk offsets point into."""
        ...

    def chunks(self, ids: Sequence[ChunkId], *, filters: SearchFilters | None = None) -> dict[ChunkId, Chunk]:
        """The chunks that exist and pass the filter."""
        ...

    def chunks_by_key(self, keys: Sequence[int], *, filters: SearchFilters | None = None) -> dict[int, Chunk]:
        """The same by row key, as searches return them."""
        ...

    def file_keys(self, keys: Sequence[int]) -> dict[int, int]:
        """Which file each chunk is of: equal numbers are one file. Much cheaper than reading the chunks."""
        ...

    def chunks_of(self, file_id: FileId, *, start: int = 0, stop: int | None = None) -> list[Chunk]:
        """A file's chunks with `start <= ordinal < stop`, in reading order: what stands around a result."""
        ...

    def chunk_count(self) -> int:
        """How many chunks there are; cheap."""
        ...

    def document_frequency(self, terms: Sequence[str]) -> dict[str, int]:
        """In how many chunks each term occurs (counted up to a bound that makes it "very common")."""
        ...

    def search_terms(
        self, query: TermQuery, limit: int, *, filters: SearchFilters | None = None
    ) -> list[tuple[int, float]]:
        """The best `(key, BM25 score)` by BM25, higher is better, ties by key."""
        ...

    def search_vector(
        self, vector: Float32Array, limit: int, *, filters: SearchFilters | None = None
    ) -> list[tuple[int, float]]:
        """The nearest `(key, cosine)`, best first, ties by key."""
        ...

    def vectors(self, keys: Sequence[int]) -> dict[int, Float32Array]:
        """The stored vectors of chunks."""
        ...

    def token_vectors(self, keys: Sequence[int]) -> dict[int, bytes]:
        """The packed token vectors of those chunks that have some, as `NewChunk.tokens` brought them."""
        ...

    def model(self) -> ModelInfo | None:
        """The model whose vectors are stored; None while there are none."""
        ...

    def generation(self) -> int:
        """Rises with every committed change, in any process: what caches are keyed on."""
        ...

    def status(self) -> StoreStatus:
        """What is in it."""
        ...

    def check(self) -> list[Problem]:
        """Verify every invariant; an empty list is a clean bill."""
        ...

    def repair(self) -> list[Problem]:
        """Rebuild derived data; what is still wrong afterwards."""
        ...

    def close(self) -> None:
        """Release everything; the store is not used afterwards."""
        ...


class GraphStore(Protocol):
    """What a store knows of names, facts and links. Part of a `Store`; the same promises hold.

    Every read honours its filter: an entity, fact or link that no visible chunk supports is not there.
    """

    def entity_keys(self, norms: Sequence[str], *, filters: SearchFilters | None = None) -> dict[str, int]:
        """The entities of names, by norm."""
        ...

    def names_like(self, piece: str, limit: int, *, filters: SearchFilters | None = None) -> list[NameRow]:
        """Names whose norm holds the piece, the most mentioned first."""
        ...

    def entities(self, keys: Sequence[int], *, filters: SearchFilters | None = None) -> dict[int, EntityRow]:
        """Entities by key, as the visible chunks speak of them."""
        ...

    def entity_ids(self, keys: Sequence[int]) -> dict[int, EntityId]:
        """The public ids of entities."""
        ...

    def key_of_entity(self, entity_id: EntityId, *, filters: SearchFilters | None = None) -> int | None:
        """The entity of a public id; that of a name that was merged into another leads to the other."""
        ...

    def mentions_of(self, keys: Sequence[int], limit: int, *, filters: SearchFilters | None = None) -> list[MentionRow]:
        """Which chunks mention entities, those that do so most first; at most `limit` for each entity."""
        ...

    def some_mentions(
        self, keys: Sequence[int], limit: int, *, filters: SearchFilters | None = None
    ) -> dict[int, list[int]]:
        """Up to `limit` chunks of each entity, at a cost that does not grow with how many there are."""
        ...

    def mentions_in(self, chunk_keys: Sequence[int], *, filters: SearchFilters | None = None) -> list[MentionRow]:
        """Which entities chunks mention."""
        ...

    def chunk_frequency(self, keys: Sequence[int]) -> dict[int, int]:
        """In how many chunks each entity is mentioned: how rare it is."""
        ...

    def facts_of(self, keys: Sequence[int], limit: int, *, filters: SearchFilters | None = None) -> list[FactRow]:
        """What is said of entities, the surest first; at most `limit` on each side for each entity."""
        ...

    def links_from(self, chunk_keys: Sequence[int], *, filters: SearchFilters | None = None) -> list[LinkRow]:
        """Which other documents and sections chunks name."""
        ...

    def links_to(self, chunk_keys: Sequence[int], limit: int, *, filters: SearchFilters | None = None) -> list[LinkRow]:
        """Which chunks of other documents name what begins with these chunks; at most `limit` for each."""
        ...

    def titles_of(self, aliases: Sequence[str], *, filters: SearchFilters | None = None) -> list[LinkRow]:
        """The documents and sections of these aliases; `source_key` is 0."""
        ...

    def aliases_with(self, probe_terms: Sequence[str]) -> list[str]:
        """The title aliases that a text with these probe terms may name: what to hand to `Linker.find`."""
        ...

    def probe_frequency(self, terms: Sequence[str]) -> dict[str, int]:
        """In how many chunks each probe term stands, counted up to a bound."""
        ...

    def entity_list(self, limit: int, *, filters: SearchFilters | None = None) -> list[int]:
        """The entities with the most mentions, those first."""
        ...

    def edges(self, *, filters: SearchFilters | None = None) -> Iterator[tuple[int, int, float]]:
        """Every pair of entities `(lower key, higher key, weight)` that share a chunk: what communities are made of."""
        ...

    def statistics(self, *, filters: SearchFilters | None = None) -> dict[str, int]:
        """How many entities, names, mentions, facts, links and aliases there are."""
        ...

    def decide(self, norm: str, other: str, kind: Literal["merge", "split"] | None) -> None:
        """Record that two names are one thing (`merge`), that a name stands apart (`split`, other ""), or neither."""
        ...

    def decisions(self) -> list[tuple[str, str, str]]:
        """What people decided: `(norm, other, kind)`."""
        ...


@dataclass(frozen=True, slots=True)
class Ties:
    """What one chunk adds to the graph that communities are made of."""

    members: Keys
    """The entities that it mentions, ascending."""
    facts: NDArray[np.int64]
    """(n, 3): of two entities that it states something of, the lower key, the higher key, and the confidence in
    units of 2^-20: whole numbers, so that sums do not depend on their order."""


@dataclass(frozen=True, slots=True)
class CommunityNode:
    """A community in the tree that they form."""

    key: int
    id: CommunityId
    level: int
    """0 at the top."""
    parent_key: int
    """0 at the top."""
    size: int
    """How many entities it holds, those of the communities below it included."""
    inside: float
    """The weight of the ties within it."""


@dataclass(frozen=True, slots=True)
class MemberRow:
    """That an entity belongs to a community that is not divided further."""

    entity_key: int
    community_key: int
    entity_id: EntityId
    strength: float
    """The weight of its ties within that community."""


@dataclass(frozen=True, slots=True)
class SentenceRow:
    """A sentence `start:end` of a chunk that tells what a community is about."""

    chunk_key: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class CommunityProfile:
    """What a community is shown by: keys and places only, so that nothing outlives the chunks it came from."""

    key_entities: tuple[tuple[int, float], ...]
    """The entities that matter most with how much, the first of all first."""
    sentences: tuple[SentenceRow, ...]
    text_hash: bytes
    """Of its title and sentences: what its embedding and written summary are kept under."""


@dataclass(frozen=True, slots=True)
class CommunityState:
    """Where the communities of a store stand."""

    version: int
    """Rises with every change of them."""
    pending: int
    """How many chunks came and went since they were found; 0 means that they fit the documents."""
    chunks: int
    """How many chunks the store holds now."""
    modularity: float
    """How much better than chance they hold together."""


@dataclass(frozen=True, slots=True)
class CommunityChange:
    """All communities, which replace the former ones at once or not at all."""

    state: CommunityState
    """That they were found in."""
    nodes: Sequence[CommunityNode]
    """Parents before their children."""
    profiles: Mapping[int, CommunityProfile]
    """What each is shown by, by its key."""
    members: Sequence[MemberRow]
    modularity: float


@dataclass(frozen=True, slots=True)
class CommunityRow:
    """A community as a filter leaves it."""

    key: int
    id: CommunityId
    level: int
    parent_id: CommunityId | None
    weight: float
    """Of the ties within it: how much it matters among its level."""


@dataclass(frozen=True, slots=True)
class CommunityText:
    """What is kept under the hash of a community's title and sentences."""

    text_hash: bytes
    vector: Float32Array
    written: str | None
    """A summary written by a language model; "" when it was asked and gave none, None when it was not asked."""


class CommunityStore(Protocol):
    """Keeps which entities form communities, what shows what they are about, and finds them by vector.

    How many chunks came and went is counted with the change itself, so that a crash before the communities are found
    again is made good the next time. Reads honour their filter: a community without a visible member is not there,
    and nothing is read from a chunk that is not visible. While the communities wait to be found again, reads leave out
    whatever is gone. Part of a `Store`; the same promises hold.
    """

    # Keeping them up to date

    def state(self) -> CommunityState:
        """Where they stand."""
        ...

    def ties(self) -> list[Ties]:
        """What the chunks add now."""
        ...

    def chunks_mentioning(self, entity_keys: Sequence[int], *, filters: SearchFilters | None = None) -> dict[int, Keys]:
        """The chunks that mention each entity, ascending; an entity that none mentions is left out."""
        ...

    def home_files(self, entity_keys: Sequence[int]) -> dict[int, int]:
        """The file that mentions each entity most, of several the one whose id sorts first."""
        ...

    def dates(self) -> set[int]:
        """The entities that are dates wherever they are mentioned."""
        ...

    def chunk_ids(self, chunk_keys: Sequence[int]) -> dict[int, ChunkId]:
        """The public ids of chunks: an order that does not depend on when they were added."""
        ...

    def profiles(self, keys: Sequence[int]) -> dict[int, CommunityProfile]:
        """What communities are shown by."""
        ...

    def write(self, change: CommunityChange) -> bool:
        """Put a change in place; False, and nothing changed, when another one came first."""
        ...

    def untold(self, *, ask: bool) -> dict[int, bytes]:
        """Communities whose text waits for a vector of the store's model (`ask`: or for an LLM), with its hash."""
        ...

    def write_texts(self, texts: Sequence[CommunityText]) -> None:
        """Keep vectors and written summaries for as long as a community has that text."""
        ...

    # Reading them

    def level_counts(self) -> tuple[int, ...]:
        """How many communities cover each level; one that is not divided further stands for itself below."""
        ...

    def find(self, ids: Sequence[CommunityId], *, filters: SearchFilters | None = None) -> dict[CommunityId, int]:
        """The keys of communities."""
        ...

    def at_level(self, level: int, limit: int, *, filters: SearchFilters | None = None) -> list[int]:
        """The communities that cover a level, the weightiest first."""
        ...

    def of_entities(
        self, entity_keys: Sequence[int], *, filters: SearchFilters | None = None
    ) -> dict[int, tuple[int, ...]]:
        """The communities that each entity belongs to, from the top down."""
        ...

    def rows(self, keys: Sequence[int], *, filters: SearchFilters | None = None) -> dict[int, CommunityRow]:
        """Communities by key."""
        ...

    def members(self, key: int, *, filters: SearchFilters | None = None) -> list[MemberRow]:
        """The visible members of a community, the strongest first."""
        ...

    def key_entities(
        self, keys: Sequence[int], limit: int, *, filters: SearchFilters | None = None
    ) -> dict[int, list[tuple[int, float]]]:
        """The visible members that matter most in each community, with how much."""
        ...

    def sentences(
        self, keys: Sequence[int], *, filters: SearchFilters | None = None
    ) -> dict[int, tuple[SentenceRow, ...]]:
        """The visible sentences that tell what each community is about, the most telling first."""
        ...

    def written(self, keys: Sequence[int], *, filters: SearchFilters | None = None) -> dict[int, tuple[bytes, str]]:
        """The written summaries of those communities whose every sentence and key entity is visible.

        Each with the hash of the text that it was written from, for the caller to see that it is the one at hand.
        """
        ...

    def mention_places(
        self, chunk_keys: Sequence[int], *, filters: SearchFilters | None = None
    ) -> list[tuple[int, int, int, int]]:
        """Where visible chunks mention entities: chunk, entity, start, end; in reading order."""
        ...

    def search(
        self, vector: Float32Array, limit: int, *, level: int | None = None, filters: SearchFilters | None = None
    ) -> list[tuple[int, float]]:
        """The communities whose text is nearest `(key, cosine)`, best first; of one level, or of all."""
        ...


class StoreWithCommunities(Store, Protocol):
    """A store that keeps communities too."""

    @property
    def communities(self) -> CommunityStore:
        """Which entities form communities, and what those are about."""
        ...
