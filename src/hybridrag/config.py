"""Settings: one typed tree, read once from hybridrag.toml, the environment and arguments.

    defaults < hybridrag.toml < HYBRIDRAG_* < arguments

To add a setting, add a field with a docstring to a section; to add a section, add a class and a field of `Settings`.
Its key, its environment variable, its error messages and its line in docs/settings.md follow from that.
No other module of the package reads the environment.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from keyword import iskeyword
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import platformdirs
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from hybridrag.errors import InvalidSettings
from hybridrag.types.queries import WEIGHT_TOLERANCE, QueryType, SearchWeights

FILE_NAME = "hybridrag.toml"
PREFIX = "HYBRIDRAG_"
FILE_VARIABLE = "HYBRIDRAG_CONFIG"
"""Names the settings file itself, so it is no setting."""
NOT_SETTINGS = frozenset({FILE_VARIABLE})
"""Variables under the prefix that are not settings; every other unknown one is an error."""

DEFAULT = "default"
ARGUMENT = "argument"
MASK = "********"

MIB = 1024 * 1024
MAX_SHOWN = 60
"""A wrong value is quoted in its error up to this many characters."""


def _not_empty(value: Any) -> Any:
    if value == "":
        msg = "must not be empty"
        raise ValueError(msg)
    return value


def _http(value: str) -> str:
    if not re.match(r"https?://[^/\s]", value):
        msg = "must start with http:// or https://"
        raise ValueError(msg)
    return value


Folder = Annotated[Path, BeforeValidator(_not_empty)]
Address = Annotated[str, AfterValidator(_http), WithJsonSchema({"type": "string", "format": "uri"})]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Positive = Annotated[int, Field(ge=1)]
Name = Annotated[str, Field(min_length=1)]


class Section(BaseModel):
    """A frozen group of settings; an unknown key is an error."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


class IndexSettings(Section):
    """Where the index lies, and which part of it is meant."""

    path: Folder = Path(".hybridrag")
    """The folder of the index. In a file, a relative path starts at the folder of that file."""
    workspace: str = Field(default="default", min_length=1)
    """The workspace that documents are added to. Any other than `default` also binds search, listing and removal."""


class DocumentSettings(Section):
    """Which files are taken in, and the limits that keep one file from harming the rest."""

    max_file_bytes: Positive = 100 * MIB
    """A larger file is refused."""
    max_text_chars: Positive = 20_000_000
    """A file that yields more text is refused."""
    max_pages: Positive = 5000
    """A document with more pages, slides or sheets is refused."""
    max_unpacked_bytes: Positive = 500 * MIB
    """The most that a compressed format (docx, pptx, xlsx, epub) may unpack to."""
    max_unpack_ratio: float = Field(default=200.0, ge=1.0)
    """The most times its packed size that a compressed format may unpack to; stops zip bombs."""
    max_rows: Positive = 1_000_000
    """The most rows of a table or spreadsheet."""
    max_seconds: float = Field(default=120.0, gt=0.0)
    """How long reading one file may take."""
    max_memory_bytes: Positive = 1024 * MIB
    """How much memory reading one file may take, where the platform can limit it."""
    exclude: tuple[str, ...] = ()
    """Files to leave out, as patterns of .gitignore."""
    include_hidden: bool = False
    """Whether files and folders whose name starts with a dot are taken in."""
    isolate: bool = True
    """Whether files are read in a process of their own, so that a broken one cannot take the program with it."""
    ocr: bool = False
    """Whether scanned pages of a PDF are read by `ocrmypdf`, which must be installed; it takes seconds a page."""


class ChunkingSettings(Section):
    """How text is cut into the pieces that are found."""

    max_tokens: int = Field(default=200, ge=16, le=8192)
    """The most tokens of the embedding model in one chunk."""
    overlap_tokens: int = Field(default=20, ge=0)
    """How many tokens a chunk repeats of the one before it; less than `max_tokens`."""

    @model_validator(mode="after")
    def _overlap_is_smaller(self) -> Self:
        if self.overlap_tokens >= self.max_tokens:
            raise PydanticCustomError(
                "chunking",
                "must be less than `chunking.max_tokens` ({limit}), found {found}",
                {
                    "limit": self.max_tokens,
                    "found": self.overlap_tokens,
                    "keys": ("chunking.overlap_tokens", "chunking.max_tokens"),
                },
            )
        return self


class EmbeddingSettings(Section):
    """Which model turns text into vectors."""

    provider: Literal["auto", "package", "huggingface", "sentence-transformers", "openai", "fake"] = "auto"
    """Where the model comes from. `auto` takes the weights that need no download, else Hugging Face; `openai` is any
    service that speaks its API; `fake` is for tests."""
    model: str = Field(default="hybridrag-e5-small", min_length=1)
    """The name of the model. `hybridrag-e5-small` is multilingual-e5-small taught to find other words and the other
    language; `multilingual-e5-small` is the untaught one. An index keeps to the model that it was written with."""
    cache_dir: Folder = Field(
        default_factory=lambda: platformdirs.user_cache_path("hybridrag"),
        json_schema_extra={"shown_default": "the cache folder of the platform"},
    )
    """Where prepared models are kept."""
    threads: int = Field(default=0, ge=0, le=1024)
    """Processor threads of a local model; 0 means all cores."""
    base_url: Address | None = None
    """The address of an OpenAI-compatible service; not set means OpenAI's own."""
    api_key: SecretStr | None = None
    """The key of that service. Better set as an environment variable than in a file."""
    dimensions: Positive | None = None
    """The length of vectors to ask a service for; not set means the model's own."""
    batch_size: int = Field(default=32, ge=1, le=2048)
    """How many texts are embedded at once."""
    timeout_seconds: float = Field(default=30.0, gt=0.0)
    """How long one request to a service may take."""
    max_retries: int = Field(default=3, ge=0, le=20)
    """How often a failed request is repeated."""
    requests_per_minute: int = Field(default=0, ge=0)
    """The most requests a minute to a service; 0 means no limit."""


class LlmSettings(Section):
    """A language model that writes; everything works without one. Set `llm.model` to have one."""

    model: Name | None = None
    """The name of the model as its service spells it; not set means that no LLM is asked for anything."""
    base_url: Address | None = None
    """The address of an OpenAI-compatible service, such as http://localhost:11434/v1; not set means OpenAI's own."""
    api_key: SecretStr | None = None
    """The key of that service. Better set as an environment variable than in a file."""
    timeout_seconds: float = Field(default=30.0, gt=0.0)
    """How long one request may take."""
    max_retries: int = Field(default=3, ge=0, le=20)
    """How often a failed request is repeated."""
    requests_per_minute: int = Field(default=0, ge=0)
    """The most requests a minute; 0 means no limit."""
    concurrency: int = Field(default=4, ge=1, le=256)
    """How many requests are under way at once while documents are taken in."""
    max_tokens_total: int = Field(default=0, ge=0)
    """The most tokens, sent and received, that one run may use; 0 means no limit."""
    max_cost: float = Field(default=0.0, ge=0.0)
    """The most that one run may cost, in the currency of the prices below; 0 means no limit."""
    price_per_million_input: float = Field(default=0.0, ge=0.0)
    """What a million tokens sent to the model cost."""
    price_per_million_output: float = Field(default=0.0, ge=0.0)
    """What a million tokens written by the model cost."""

    @model_validator(mode="after")
    def _cost_needs_prices(self) -> Self:
        if self.max_cost > 0 and not self.price_per_million_input + self.price_per_million_output:
            keys = ("llm.max_cost", "llm.price_per_million_input")
            message = "limits nothing until `llm.price_per_million_input` and `llm.price_per_million_output` are set"
            raise PydanticCustomError("llm", message, {"keys": keys})
        return self

    @model_validator(mode="after")
    def _service_needs_model(self) -> Self:
        if self.base_url is not None and self.model is None:
            keys = ("llm.model", "llm.base_url")
            raise PydanticCustomError("llm", "must be set where `llm.base_url` is", {"keys": keys})
        return self


class GraphSettings(Section):
    """How the knowledge graph is built."""

    extractor: Literal["auto", "light", "neural", "llm"] = "auto"
    """What finds names and relations. `light` goes by how names are written and needs no model; `neural` uses spaCy;
    `llm` asks the LLM, with `light` or `neural` where it fails. `auto` takes the best that is installed, and never
    the LLM, which costs."""


class StoreSettings(Section):
    """How the index is kept."""

    busy_timeout_seconds: float = Field(default=30.0, ge=0.0)
    """How long to wait while another process writes."""
    vector_index: Literal["auto", "exact", "quantised", "diskann"] = "auto"
    """How vectors are searched. `auto` chooses by their number."""


class LocalWeights(Section):
    """For a fact."""

    keyword: Share = 0.35
    """How much words count for a question about one fact. The three weights of a kind of question add up to 1."""
    semantic: Share = 0.35
    """How much meaning counts for it."""
    graph: Share = 0.30
    """How much the graph counts for it. With `search.fusion = "score"` it counts in full from 0.3 on."""


class GlobalWeights(Section):
    """For the whole."""

    keyword: Share = 0.20
    """How much words count for a question about the whole."""
    semantic: Share = 0.30
    """How much meaning counts for it."""
    graph: Share = 0.50
    """How much the graph counts for it."""


class RelationshipWeights(Section):
    """For how things relate."""

    keyword: Share = 0.20
    """How much words count for a question about how things relate."""
    semantic: Share = 0.20
    """How much meaning counts for it."""
    graph: Share = 0.60
    """How much the graph counts for it."""


class HybridWeights(Section):
    """For several kinds at once, or an unclear one."""

    keyword: Share = 0.33
    """How much words count for a question of several kinds or of an unclear one."""
    semantic: Share = 0.34
    """How much meaning counts for it."""
    graph: Share = 0.33
    """How much the graph counts for it."""


Weights = LocalWeights | GlobalWeights | RelationshipWeights | HybridWeights


class WeightSettings(Section):
    """How much each search counts, by the kind of question."""

    # `global` is no name that Python allows for a field.
    model_config = ConfigDict(populate_by_name=True)

    local: LocalWeights = LocalWeights()
    global_: GlobalWeights = Field(default=GlobalWeights(), alias="global")
    relationship: RelationshipWeights = RelationshipWeights()
    hybrid: HybridWeights = HybridWeights()

    def of(self, kind: QueryType) -> SearchWeights:
        """The weights for a kind of question.

        QueryType.GLOBAL -> keyword .20, semantic .30, graph .50
        """
        weights = self._by_kind()[kind]
        return SearchWeights(keyword=weights.keyword, semantic=weights.semantic, graph=weights.graph)

    def _by_kind(self) -> dict[QueryType, Weights]:
        return {
            QueryType.LOCAL: self.local,
            QueryType.GLOBAL: self.global_,
            QueryType.RELATIONSHIP: self.relationship,
            QueryType.HYBRID: self.hybrid,
        }

    @model_validator(mode="after")
    def _each_sums_to_one(self) -> Self:
        for kind, weights in self._by_kind().items():
            total = weights.keyword + weights.semantic + weights.graph
            if abs(total - 1.0) >= WEIGHT_TOLERANCE:
                key = f"search.weights.{kind}"
                keys = (key, f"{key}.keyword", f"{key}.semantic", f"{key}.graph")
                message = "must add up to 1 over `keyword`, `semantic` and `graph`, found {total}"
                raise PydanticCustomError("weights", message, {"keys": keys, "total": f"{total:g}"})
        return self


class WalkSettings(Section):
    """How far and how boldly the graph is followed from the best results."""

    steps: int = Field(default=1, ge=1, le=3)
    """How many steps are taken from the best results. A second one pays only where answers lie two documents away;
    correction takes one more by itself."""
    start_from: int = Field(default=8, ge=1, le=100)
    """How many of the best results a step starts from. More reach further, and lead astray more often."""
    max_shared: int = Field(default=30, ge=2, le=1000)
    """A name that more chunks than this mention leads nowhere: it joins everything with everything."""
    in_passing: Share = 0.5
    """What a shared name counts in a chunk that names something else first, against one that begins with it."""
    # Little: the second passage of a chain often has no word of the question. Between 0.1 and 0.35 five sets of
    # multi-hop questions, in English and Japanese and with and without titles, move by two points at most.
    own_share: Share = 0.2
    """How much of a step's worth depends on whether the place that it leads to bears on the question by itself. Raise
    it where results come in that have nothing to do with the question."""


class SearchSettings(Section):
    """How a search is planned and fused."""

    min_confidence: Share = 0.6
    """A question classified with less confidence is searched as `hybrid`. Raise it to 0.7 where wrong
    classifications cost more than mixed results."""
    classifier: Literal["auto", "rules", "llm"] = "auto"
    """Who says what kind of question it is. `auto` asks the LLM where one is set, with the rules where it fails;
    `rules` never asks it."""
    fusion: Literal["score", "rrf"] = "score"
    """How the three searches become one ranking: `score` adds up what each of them found, so that a search counts
    where its evidence is strong; `rrf` adds up ranks."""
    rrf_k: int = Field(default=60, ge=1, le=1000)
    """The constant of reciprocal rank fusion: the larger, the less the first ranks stand out."""
    candidates: int = Field(default=100, ge=10, le=1000)
    """How many chunks the searches by words and by meaning hand in at least. More find what both rank low, and take
    longer."""
    candidates_per_result: int = Field(default=2, ge=1, le=20)
    """How many times what is asked for they hand in at least, which counts where a page lies beyond `candidates`."""
    min_relevance: Share = 0.0
    """Results that bear on the question with less probability are left out, unless a query says otherwise. At 0 weak
    ones come last and none is lost; from 0.3 on, most of what remains bears on the question."""
    weights: WeightSettings = WeightSettings()
    walk: WalkSettings = WalkSettings()
    expand: bool = True
    """Whether a question is searched under synonyms and under other names that the documents use as well."""
    synonyms: Folder | None = None
    """A file of synonyms, one group a line, in place of the small list that comes along."""
    deadline_seconds: float = Field(default=5.0, gt=0.0)
    """How long each of the three searches may take before the others answer without it."""
    cache_size: int = Field(default=256, ge=0)
    """How many answers are kept for the same question asked again; 0 means none. Any change of the index empties it."""


class RerankSettings(Section):
    """What looks at the best results again, and puts them into a better order."""

    provider: Literal["auto", "late-interaction", "own", "cross-encoder", "cohere", "voyage", "jina", "tei", "none"] = (
        "auto"
    )
    """What reranks. `auto` compares stored token vectors and then lets the package's own small model read the first
    results; `late-interaction` does the former alone, `own` the latter alone; `cross-encoder` is a local model of your
    choice; `tei` is any service with a `/rerank` address such as Text Embeddings Inference or vLLM; `none` keeps the
    order of the searches."""
    model: Name | None = None
    """The name of the model, or the folder of one; not set means the provider's usual one. `auto` and `own` have
    `base` and `small`, which takes a third of the time and only orders: it neither judges well nor says where an
    answer stands."""
    base_url: Address | None = None
    """The address of the service; not set means the provider's own. `tei` needs it."""
    api_key: SecretStr | None = None
    """The key of that service. Better set as an environment variable than in a file."""
    top_k: int = Field(default=50, ge=1, le=100)
    """How many of the best results are looked at again."""
    batch_size: int = Field(default=16, ge=1, le=32)
    """How many passages a local model reads at once; less needs less memory."""
    read_k: int = Field(default=2, ge=0, le=100)
    """How many of the first results the package's own model reads, for their order under `auto` and for the judge. Each
    takes about 10 ms of a processor. Searches that are corrected, and answers, read ten."""
    blend: Share = 0.7
    """How much the reranker's score counts against that of the searches. At 1 it alone decides, which loses results
    that answer by way of another one."""
    read_blend: Share = 0.4
    """How much what that model reads counts against the order so far, under `auto`. More helps questions for one fact,
    and harms those that take two passages."""
    timeout_seconds: float = Field(default=2.0, gt=0.0)
    """How long reranking may take, retries included, before the order of the searches is kept."""
    max_retries: int = Field(default=1, ge=0, le=20)
    """How often a failed request to a service is repeated."""
    price_per_thousand: float = Field(default=0.0, ge=0.0)
    """What a thousand requests cost, where the service counts requests."""
    price_per_million_tokens: float = Field(default=0.0, ge=0.0)
    """What a million tokens cost, where the service counts tokens."""


class VerifySettings(Section):
    """How results are checked against the question."""

    judge: Literal["auto", "local", "llm"] = "auto"
    """Who judges whether the results hold the answer. `auto` is the local judge; `llm` asks the LLM, with the local
    judge where it fails."""
    # Refuses 13 % of held-out English questions wrongly, 8 % of Japanese ones (`python -m training.calibrate_reader`).
    # On a mix in which three of four questions can be answered, errors are as many at any cut from .5 to .7.
    caution: Share = 0.6
    """An answer is given from this probability on that the documents hold it. Less answers more often and is wrong more
    often; 0 always answers, 1 hardly ever."""
    # On held-out folders of `training.folders` no answer became right by it, some refusals became wrong answers, and
    # such questions took twice as long (`benchmarks.everyday --ask --settings verify.max_rounds=2`).
    max_rounds: int = Field(default=0, ge=0, le=5)
    """How often documents whose first results do not answer are searched again, in other words or with other weights. A
    search of the web, where `[web]` names one, comes after these and is not counted."""
    deadline_seconds: float = Field(default=10.0, gt=0.0)
    """How long correcting may take in all."""
    correct_from: Share = 0.7
    """Results are graded `correct` from this score on (BR-016)."""
    incorrect_until: Share = 0.3
    """Results are graded `incorrect` up to this score, and `ambiguous` between the two; less than `correct_from`."""

    @model_validator(mode="after")
    def _bounds_are_in_order(self) -> Self:
        if self.incorrect_until >= self.correct_from:
            raise PydanticCustomError(
                "verify",
                "must be less than `verify.correct_from` ({limit}), found {found}",
                {
                    "limit": self.correct_from,
                    "found": self.incorrect_until,
                    "keys": ("verify.incorrect_until", "verify.correct_from"),
                },
            )
        return self


class WebSettings(Section):
    """A web search for questions that the documents do not answer. Without one, nothing leaves this machine."""

    provider: Literal["none", "searxng", "brave", "tavily"] = "none"
    """Which service is asked."""
    base_url: Address | None = None
    """The address of the service; not set means the provider's own. `searxng` needs it."""
    api_key: SecretStr | None = None
    """The key of that service. Better set as an environment variable than in a file."""
    max_results: int = Field(default=5, ge=1, le=20)
    """How many pages are taken from one search."""
    timeout_seconds: float = Field(default=5.0, gt=0.0)
    """How long one search of the web may take, retries included."""
    max_retries: int = Field(default=1, ge=0, le=20)
    """How often a failed request is repeated."""


class ServerSettings(Section):
    """The HTTP server that `hybridrag serve` starts."""

    host: str = Field(default="127.0.0.1", min_length=1)
    """The address to listen on. Any other than this machine's own needs a key: see `hybridrag keys create`."""
    port: int = Field(default=8421, ge=0, le=65535)
    """The port to listen on; 0 takes a free one."""
    workers: int = Field(default=1, ge=1, le=256)
    """How many processes answer requests. Each loads the models."""
    data_dir: Folder | None = None
    """Where keys, jobs and uploaded files are kept; not set means `server` in the folder of the index."""
    public_url: Address | None = None
    """The address that users reach the server under, where a proxy stands before it. Links in results begin with it."""
    allowed_hosts: tuple[str, ...] = ()
    """Names that requests may be addressed to (the `Host` header), besides numeric addresses, `localhost` and that of
    `server.public_url`. `*` allows every name."""
    allowed_origins: tuple[str, ...] = ()
    """Origins of web pages elsewhere that may call the server, such as https://intranet.example."""
    requests_per_minute: int = Field(default=600, ge=0)
    """The most requests a minute for each key, or each address where no key is needed; 0 means no limit."""
    max_body_bytes: Positive = 1 * MIB
    """The largest request that is no upload."""
    max_upload_bytes: Positive = 1024 * MIB
    """The largest upload, all its files together. A single file may have `documents.max_file_bytes`."""
    max_upload_files: Positive = 1000
    """The most files in one upload."""
    request_seconds: float = Field(default=60.0, gt=0.0)
    """How long one request may take; an upload may take ten times as long to arrive."""
    threads: int = Field(default=8, ge=1, le=256)
    """How many requests a worker process works on at once; more wait."""
    max_waiting: int = Field(default=64, ge=0)
    """How many requests may wait in a worker process before further ones are told to come again later."""
    keep_originals: bool = True
    """Whether uploaded files are kept as they came, so that they can be fetched again."""
    mcp: bool = True
    """Whether agents may reach the index under /mcp, where the `mcp` extra is installed."""
    mcp_write: bool = False
    """Whether agents may add and remove documents by MCP; their key needs the scope `write` too."""


class Settings(Section):
    """Everything that can be set, by section."""

    index: IndexSettings = IndexSettings()
    documents: DocumentSettings = DocumentSettings()
    chunking: ChunkingSettings = ChunkingSettings()
    embedding: EmbeddingSettings = Field(default_factory=EmbeddingSettings)
    llm: LlmSettings = LlmSettings()
    graph: GraphSettings = GraphSettings()
    store: StoreSettings = StoreSettings()
    search: SearchSettings = SearchSettings()
    rerank: RerankSettings = RerankSettings()
    verify: VerifySettings = VerifySettings()
    web: WebSettings = WebSettings()
    server: ServerSettings = ServerSettings()


@dataclass(frozen=True, slots=True)
class Leaf:
    """One setting: its key, and what the tree says about it."""

    key: str
    field: FieldInfo

    @property
    def variable(self) -> str:
        """`embedding.api_key` -> `HYBRIDRAG_EMBEDDING_API_KEY`."""
        return PREFIX + self.key.replace(".", "_").upper()

    @property
    def secret(self) -> bool:
        """Whether its value may never be shown."""
        return "SecretStr" in str(self.field.annotation)

    @property
    def adapter(self) -> TypeAdapter[Any]:
        """Validates a value of this setting alone, so that an error can name where that value came from."""
        kind: Any = self.field.annotation
        for constraint in self.field.metadata:
            kind = Annotated[kind, constraint]
        return TypeAdapter(kind, config=ConfigDict(allow_inf_nan=False))

    @property
    def expected(self) -> str:
        """`a whole number from 1 to 1000`, as errors and docs/settings.md say it."""
        return _in_words(self.adapter.json_schema())

    @property
    def default(self) -> Any:
        """The default as it is shown: for one that depends on the machine, words."""
        extra = self.field.json_schema_extra
        if isinstance(extra, dict) and "shown_default" in extra:
            return extra["shown_default"]
        return _plain(self.field.get_default(call_default_factory=True))


@dataclass(frozen=True, slots=True)
class ShownSetting:
    """One line of `hybridrag config show`; a secret is masked."""

    key: str
    value: Any
    """As JSON would hold it."""
    origin: str


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The effective settings, and where each came from."""

    settings: Settings
    origins: dict[str, str]
    """Per key: `default`, the path of the file, the name of the variable, or `argument`."""
    file: Path | None = None
    """The file that was read."""

    def shown(self) -> list[ShownSetting]:
        """Every setting in the order of the tree, with secrets masked."""
        return [ShownSetting(key, _plain(_value_at(self.settings, key)), self.origins[key]) for key in setting_leaves()]


def setting_leaves(section: type[BaseModel] = Settings, prefix: str = "") -> dict[str, Leaf]:
    """Every setting by its key, in the order of the tree.

    -> {"index.path": Leaf(...), "index.workspace": Leaf(...), ...}
    """
    leaves: dict[str, Leaf] = {}
    for name, field in section.model_fields.items():
        kind = field.annotation
        key = f"{prefix}{field.alias or name}"
        if isinstance(kind, type) and issubclass(kind, Section):
            leaves |= setting_leaves(kind, f"{key}.")
        else:
            leaves[key] = Leaf(key, field)
    return leaves


def load_settings(
    path: Path | None = None,
    *,
    env: Mapping[str, str] | None = None,
    overrides: Mapping[str, object] | None = None,
) -> LoadedSettings:
    """The effective settings: defaults, then the file, then the environment, then `overrides`; the last one counts.

    load_settings(overrides={"search.rrf_k": 10}).settings.search.rrf_k -> 10

    The file is `path`, else the one that HYBRIDRAG_CONFIG names, else the first hybridrag.toml in the current folder
    or above it, else none. `env` stands in for the process environment. An empty variable and an override of None
    count as not given. Overrides are dotted keys or nested mappings. A file that was only found may not name the
    address that a key from elsewhere would be sent to.

    Raises:
        InvalidSettings: a key or value is wrong; names where it stands, and what was expected.
    """
    environment = os.environ if env is None else env
    file, found = _settings_file(path, environment)
    leaves = setting_leaves()
    values: dict[str, Any] = {}
    origins = dict.fromkeys(leaves, DEFAULT)
    given = [
        *(_from_file(file, leaves) if file else ()),
        *_from_environment(environment, leaves),
        *_from_arguments(overrides or {}, leaves),
    ]
    for key, value, origin in given:
        values[key] = value
        origins[key] = origin
    if file and found:
        _keep_keys_apart(origins, file)
    for key, leaf in leaves.items():
        if file and leaf.field.annotation is Path:
            _anchor(key, values, leaf, origin=origins[key], file=file, found=found)
    return LoadedSettings(_assemble(values, origins), origins, file)


def _keep_keys_apart(origins: Mapping[str, str], file: Path) -> None:
    """A file that only lay in the folder, perhaps somebody else's, never decides where the user's own key is sent."""
    for key, origin in origins.items():
        secret = key.removesuffix("base_url") + "api_key"
        if key.endswith(".base_url") and origin == str(file) and origins[secret] not in {DEFAULT, origin}:
            variable = PREFIX + key.replace(".", "_").upper()
            raise InvalidSettings(
                where=origin,
                key=key,
                expected=f"would be sent the key of {origins[secret]}, which this file does not hold",
                hint=f"Set {variable} too, or name the file with --config if you trust it.",
            )


def _anchor(key: str, values: dict[str, Any], leaf: Leaf, *, origin: str, file: Path, found: bool) -> None:
    """Make a relative path start at the file's folder.

    A default moves along only with a file that was found by searching: that folder is then the project's root, and
    the same index must be met from every folder below it.
    """
    if origin == str(file) or (origin == DEFAULT and found):
        values[key] = file.parent / values.get(key, leaf.field.get_default(call_default_factory=True))


def _settings_file(path: Path | None, env: Mapping[str, str]) -> tuple[Path | None, bool]:
    """The file to read, and whether searching found it."""
    named = path or (Path(env[FILE_VARIABLE]) if env.get(FILE_VARIABLE) else None)
    if named is None:
        here = Path.cwd()
        found = next((folder / FILE_NAME for folder in (here, *here.parents) if (folder / FILE_NAME).is_file()), None)
        return found, found is not None
    file = named.expanduser().absolute()
    if not file.is_file():
        raise InvalidSettings(
            where=ARGUMENT if path else FILE_VARIABLE,
            key="config",
            expected=f"must name a settings file, and {file} is {'a folder' if file.is_dir() else 'not there'}",
        )
    return file, False


Given = tuple[str, Any, str]
"""A key, its validated value and where it came from."""


def _from_file(file: Path, leaves: Mapping[str, Leaf]) -> Iterator[Given]:
    for key, value in _flat(_parsed(file), leaves, where=str(file)):
        yield key, _strict(leaves[key], value, where=str(file)), str(file)


def _from_environment(env: Mapping[str, str], leaves: Mapping[str, Leaf]) -> Iterator[Given]:
    by_variable = {leaf.variable: leaf for leaf in leaves.values()}
    for variable in sorted(env):
        if not variable.startswith(PREFIX) or variable in NOT_SETTINGS or not env[variable]:
            continue
        leaf = by_variable.get(variable)
        if leaf is None:
            raise InvalidSettings(
                where="environment",
                key=variable,
                expected="is not a setting",
                hint=_suggestion(variable, [*by_variable, *NOT_SETTINGS]),
            )
        yield leaf.key, _lax(leaf, env[variable]), variable


def _from_arguments(overrides: Mapping[str, object], leaves: Mapping[str, Leaf]) -> Iterator[Given]:
    for key, value in _flat(overrides, leaves, where=ARGUMENT):
        if value is not None:
            yield key, _strict(leaves[key], value, where=ARGUMENT), ARGUMENT


def _parsed(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidSettings(where=str(file), key=FILE_NAME, expected="must be UTF-8 text") from None
    except OSError as cause:
        raise InvalidSettings(where=str(file), key=FILE_NAME, expected=f"cannot be read ({cause.strerror})") from cause
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as cause:
        raise _broken_toml(file, text, str(cause)) from None


def _broken_toml(file: Path, text: str, message: str) -> InvalidSettings:
    """Names the line and the key on it; never the value, which may be a secret."""
    at = re.search(r"\(at line (\d+), column \d+\)", message)
    # An unclosed string or table is noticed at the end of the document only: the last line is where to look.
    number = int(at[1]) if at else max(1, len(text.rstrip().splitlines()))
    lines = text.splitlines()
    line = lines[number - 1] if number <= len(lines) else ""
    key = re.match(r"\s*(\[+[\w.\-]+\]*|[\w.\-]+(?=\s*=))", line)
    reason = message.split(" (at ", maxsplit=1)[0]
    return InvalidSettings(
        where=f"{file}, line {number}",
        key=key[1] if key else FILE_NAME,
        expected=f"is not valid TOML ({reason[:1].lower()}{reason[1:]})",
        hint='Texts need quotes: model = "hybridrag-e5-small".' if reason == "Invalid value" else None,
    )


def _flat(
    given: Mapping[str, Any], leaves: Mapping[str, Leaf], *, where: str, prefix: str = ""
) -> Iterator[tuple[str, Any]]:
    """Nested tables as dotted keys, each known to be a setting."""
    for name, value in given.items():
        key = f"{prefix}{name}"
        if key in leaves:
            yield key, value
        elif not any(known.startswith(f"{key}.") for known in leaves):
            raise InvalidSettings(
                where=where, key=key, expected="is not a setting", hint=_suggestion(key, list(leaves))
            )
        elif not isinstance(value, Mapping):
            raise InvalidSettings(
                where=where, key=key, expected=f"must be a section of settings, found {_quoted(value)}"
            )
        else:
            yield from _flat(value, leaves, where=where, prefix=f"{key}.")


def _suggestion(key: str, known: list[str]) -> str:
    """`embedding.modle` -> "Did you mean `embedding.model`?"."""
    same_name = [other for other in known if other.rsplit(".", 1)[-1] == key.rsplit(".", 1)[-1]]
    sections = list(dict.fromkeys(other.split(".")[0] for other in known if "." in other))
    candidates = known if "." in key or not sections else [*sections, *known]
    near = same_name or difflib.get_close_matches(key, candidates, n=1)
    return f"Did you mean `{near[0]}`?" if near else "Run: hybridrag config show, which lists every setting."


def _strict(leaf: Leaf, value: object, *, where: str) -> Any:
    """A value of a file or an argument, of exactly the right type: "5" is no number.

    JSON is the detour because its strict mode takes a list for a tuple and text for a path, and nothing else.
    """
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    try:
        text = json.dumps(str(value) if isinstance(value, Path) else value)
        return _expanded(leaf.adapter.validate_json(text, strict=True))
    except (TypeError, ValueError):
        raise _wrong_value(leaf, value, where=where) from None


def _lax(leaf: Leaf, text: str) -> Any:
    """A value of the environment, which knows text only; a list is JSON or has commas between its parts."""
    value: Any = text
    if str(leaf.field.annotation).startswith("tuple"):
        value = _listed(text)
    try:
        return _expanded(leaf.adapter.validate_python(value))
    except ValidationError:
        raise _wrong_value(leaf, text, where=leaf.variable) from None


def _listed(text: str) -> Any:
    if not text.lstrip().startswith("["):
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        return json.loads(text)
    except ValueError:
        return text


def _expanded(value: Any) -> Any:
    return value.expanduser() if isinstance(value, Path) else value


def _wrong_value(leaf: Leaf, value: object, *, where: str) -> InvalidSettings:
    # A secret's value must not reach a log; its type is enough to see the mistake.
    found = f"a value of type {type(value).__name__}" if leaf.secret else _quoted(value)
    return InvalidSettings(where=where, key=leaf.key, expected=f"must be {leaf.expected}, found {found}")


def _assemble(values: Mapping[str, Any], origins: Mapping[str, str]) -> Settings:
    """The tree, with the rules that join several settings checked."""
    tree: dict[str, Any] = {}
    for key, value in values.items():
        *sections, name = key.split(".")
        table = tree
        for section in sections:
            table = table.setdefault(section, {})
        table[name] = value
    try:
        return Settings.model_validate(tree)
    except ValidationError as cause:
        problem = cause.errors(include_url=False, include_input=False)[0]
        keys = problem.get("ctx", {}).get("keys") or (".".join(str(part) for part in problem["loc"]),)
        # The rule names its own key first; blame the one that somebody really set.
        where = next((origins[key] for key in keys if origins.get(key, DEFAULT) != DEFAULT), DEFAULT)
        raise InvalidSettings(where=where, key=keys[0], expected=problem["msg"]) from None


def _value_at(settings: Settings, key: str) -> Any:
    value: Any = settings
    for name in key.split("."):
        value = getattr(value, f"{name}_" if iskeyword(name) else name)
    return value


def _plain(value: Any) -> Any:
    """A value as JSON would hold it, a secret masked."""
    if isinstance(value, SecretStr):
        return MASK
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, str):
        return _without_password(value)
    return list(value) if isinstance(value, tuple) else value


def _without_password(text: str) -> str:
    """`https://me:secret@host/?key=token` -> `https://me:********@host/?key=********`."""
    text = re.sub(r"(://[^/@:\s]*):[^/@\s]*@", rf"\1:{MASK}@", text)
    text = re.sub(r"(://)[^/@:\s]+@", rf"\1{MASK}@", text)
    return re.sub(r"(://[^\s?]*\?|(?<=&))([^=&\s]+=)[^&\s\"]+", rf"\1\2{MASK}", text) if "://" in text else text


def _quoted(value: object) -> str:
    try:
        text = json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = str(value)
    text = _without_password(text)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def _in_words(schema: Mapping[str, Any]) -> str:
    """A JSON Schema as the end of the sentence "must be ..."."""
    kinds = [kind for kind in schema.get("anyOf", []) if kind.get("type") != "null"]
    if kinds:
        return _in_words(kinds[0])
    if "enum" in schema:
        return "one of " + ", ".join(str(value) for value in schema["enum"])
    if schema.get("type") in {"integer", "number"}:
        return ("a whole number" if schema["type"] == "integer" else "a number") + _range(schema)
    words = {"boolean": "true or false", "array": "a list of texts"}
    formats = {"path": "a path", "uri": "an address that starts with http:// or https://"}
    text = formats.get(schema.get("format", ""), "a text that is not empty" if schema.get("minLength") else "a text")
    return words.get(schema.get("type", ""), text)


def _range(schema: Mapping[str, Any]) -> str:
    low, high, above = schema.get("minimum"), schema.get("maximum"), schema.get("exclusiveMinimum")
    if above is not None:
        return f" greater than {above:g}"
    if low is not None and high is not None:
        return f" from {low:g} to {high:g}"
    return f" of at least {low:g}" if low is not None else ""
