"""Make the replaceable parts that the settings name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path

from hybridrag.config import Settings
from hybridrag.documents.limits import ReadLimits
from hybridrag.errors import InvalidSettings
from hybridrag.evaluate.support import SupportByLlm, SupportByWords, SupportJudge
from hybridrag.graph.extract import Extractor, Passage, choose_extractor
from hybridrag.graph.extract_llm import LlmExtractor
from hybridrag.graph.llm_cache import FILE_NAME, FileCache
from hybridrag.graph.mentions import Context
from hybridrag.models.load import UNTAUGHT, load_embedder
from hybridrag.models.own_reranker import OwnReranker, Size
from hybridrag.models.progress import Progress as ModelProgress
from hybridrag.models.token_vectors import packer_for
from hybridrag.protocols import Embedder, Judge, Llm, ModelInfo, Question, Reranker, Store, WebSearch
from hybridrag.result import Err, Ok, Result
from hybridrag.search.judge import LocalJudge
from hybridrag.search.late import LateInteraction
from hybridrag.types.documents import Chunk
from hybridrag.types.results import Hit

EXTRACTORS = {"neural": "combined"}
"""What the settings call it -> what the graph calls it, where they differ."""


def make_embedder(
    settings: Settings, on_progress: ModelProgress | None = None, *, written: ModelInfo | None = None
) -> Embedder:
    """The embedder of `[embedding]`; nothing is loaded before it is used.

    An index that was written with the former default keeps to it while no model is set.
    """
    chosen = settings.embedding
    kept = written is not None and written.name == UNTAUGHT and "model" not in chosen.model_fields_set
    return load_embedder(
        model=UNTAUGHT if kept else chosen.model,
        provider=chosen.provider,
        cache_dir=chosen.cache_dir,
        threads=chosen.threads,
        base_url=chosen.base_url,
        api_key=chosen.api_key.get_secret_value() if chosen.api_key else None,
        dimensions=chosen.dimensions,
        batch_size=chosen.batch_size,
        timeout_seconds=chosen.timeout_seconds,
        max_retries=chosen.max_retries,
        requests_per_minute=chosen.requests_per_minute,
        on_progress=on_progress,
    )


def make_llm(settings: Settings) -> Llm | None:
    """The LLM of `[llm]`; None where no model is set."""
    chosen = settings.llm
    if chosen.model is None:
        return None
    from hybridrag.models.llm import load_llm  # noqa: PLC0415 (most runs have none)

    return load_llm(
        model=chosen.model,
        base_url=chosen.base_url,
        api_key=chosen.api_key.get_secret_value() if chosen.api_key else None,
        timeout_seconds=chosen.timeout_seconds,
        max_retries=chosen.max_retries,
        requests_per_minute=chosen.requests_per_minute,
        max_tokens_total=chosen.max_tokens_total,
        max_cost=chosen.max_cost,
        price_per_million_input=chosen.price_per_million_input,
        price_per_million_output=chosen.price_per_million_output,
    )


def make_extractor(settings: Settings, index: Path, *, written: str | None, llm: Llm | None = None) -> Extractor:
    """The extractor of `[graph]`; `auto` stays with the one that wrote the graph, where that is still there.

    Raises:
        InvalidSettings: `llm` without a model in `[llm]`.
        ModelUnavailable: a pipeline is not installed.
    """
    setting = settings.graph.extractor
    if setting == "llm":
        llm = llm or make_llm(settings)
        if llm is None:
            raise InvalidSettings(
                where="settings", key="graph.extractor", expected="is llm, which needs `llm.model` to be set"
            )
        local = choose_extractor("auto")
        return LlmExtractor(llm, local=local, cache=FileCache(index / FILE_NAME), concurrency=settings.llm.concurrency)
    light = choose_extractor("light")
    if setting == "auto" and written == light.name:
        return light
    return choose_extractor(EXTRACTORS.get(setting, setting))


def make_reranker(
    settings: Settings, store: Store, embedder: Callable[[], Embedder], on_progress: ModelProgress | None = None
) -> Callable[[], Reranker | None]:
    """What gives the reranker of `[rerank]`; nothing is loaded before it is used.

    Raises:
        InvalidSettings: an address or key is missing.
    """
    chosen = settings.rerank
    match chosen.provider:
        case "none":
            return lambda: None
        case "auto" | "late-interaction":
            return cache(lambda: LateInteraction(store.token_vectors, packer_for(embedder().info)))
        case "own":
            own = make_own_reranker(settings)
            return lambda: own
        case "cross-encoder":
            from hybridrag.models.cross_encoder import load_cross_encoder  # noqa: PLC0415 (onnxruntime)

            local = load_cross_encoder(
                chosen.model,
                cache_dir=settings.embedding.cache_dir,
                batch_size=chosen.batch_size,
                threads=settings.embedding.threads,
                on_progress=on_progress,
            )
            return lambda: local
        case _:
            from hybridrag.models.rerank_remote import load_reranker  # noqa: PLC0415 (most runs rerank locally)

            remote = load_reranker(
                chosen.provider,
                model=chosen.model,
                base_url=chosen.base_url,
                api_key=chosen.api_key.get_secret_value() if chosen.api_key else None,
                timeout_seconds=chosen.timeout_seconds,
                max_retries=chosen.max_retries,
                price_per_thousand=chosen.price_per_thousand,
                price_per_million_tokens=chosen.price_per_million_tokens,
            )
            return lambda: remote


def make_own_reranker(settings: Settings) -> OwnReranker:
    """The package's own model, in the size that `[rerank]` names; it is opened when it is first used.

    Raises:
        InvalidSettings: there is no such size.
    """
    return OwnReranker(reader_size(settings), threads=settings.embedding.threads)


def reader_size(settings: Settings) -> Size:
    """Which size of the package's own model reads; `base` where `[rerank]` names a model of another kind.

    Raises:
        InvalidSettings: there is no such size.
    """
    chosen = settings.rerank
    size = chosen.model if chosen.provider in {"auto", "own"} else None
    if size not in {None, "small", "base"}:
        expected = f"must be `small` or `base` for `{chosen.provider}`, found {size!r}"
        raise InvalidSettings(where="settings", key="rerank.model", expected=expected)
    return "small" if size == "small" else "base"


def make_judge(settings: Settings, llm: Llm | None) -> Judge | None:
    """The judge of `[verify]`; None for the local one.

    Raises:
        InvalidSettings: `llm` without a model in `[llm]`.
    """
    if settings.verify.judge != "llm":
        return None
    if llm is None:
        raise InvalidSettings(
            where="settings", key="verify.judge", expected="is llm, which needs `llm.model` to be set"
        )
    from hybridrag.models.judge_llm import LlmJudge  # noqa: PLC0415 (most runs judge locally)

    return LlmJudge(llm)


def load_judge(settings: Settings) -> Judge:
    """The judge of `[verify]` by itself: for passages that no search found.

    load_judge(load_settings().settings).judge(Question("..."), [Hit(...)]).unwrap().sufficient -> 0.8

    Raises:
        InvalidSettings: `llm` without a model in `[llm]`.
    """
    return make_judge(settings, make_llm(settings)) or LocalJudge(make_own_reranker(settings))


def load_support_judge(settings: Settings) -> SupportJudge:
    """Who says whether passages support an answer: the LLM where `verify.judge` names it, else the local judge.

    That one goes by words and, on whether a passage bears on a question, by the package's own model too.

    Raises:
        InvalidSettings: `llm` without a model in `[llm]`.
    """
    if make_judge(settings, llm := make_llm(settings)) is None or llm is None:
        return SupportByWords(reads=partial(_chances, make_own_reranker(settings)))
    return SupportByLlm(llm)


def _chances(reader: OwnReranker, question: str, texts: Sequence[str]) -> Result[list[float]]:
    """How likely each text bears on the question."""
    candidates = [Hit(id=str(place), text=text, score=0.0) for place, text in enumerate(texts)]
    read = reader.rerank(Question(question), candidates)
    return read if isinstance(read, Err) else Ok([score or 0.0 for score in read.value.scores])


def make_web_search(settings: Settings) -> WebSearch | None:
    """The web search of `[web]`; None where there is none.

    Raises:
        InvalidSettings: an address or key is missing.
    """
    chosen = settings.web
    if chosen.provider == "none":
        return None
    from hybridrag.models.web_search import load_web_search  # noqa: PLC0415 (most runs have none)

    return load_web_search(
        chosen.provider,
        base_url=chosen.base_url,
        api_key=chosen.api_key.get_secret_value() if chosen.api_key else None,
        timeout_seconds=chosen.timeout_seconds,
        max_retries=chosen.max_retries,
    )


def make_limits(settings: Settings) -> ReadLimits:
    """The limits of `[documents]`."""
    chosen = settings.documents
    return ReadLimits(
        max_file_bytes=chosen.max_file_bytes,
        max_text_chars=chosen.max_text_chars,
        max_pages=chosen.max_pages,
        max_unpacked_bytes=chosen.max_unpacked_bytes,
        max_unpack_ratio=chosen.max_unpack_ratio,
        max_rows=chosen.max_rows,
        max_seconds=chosen.max_seconds,
        max_memory_bytes=chosen.max_memory_bytes,
        ocr=chosen.ocr,
    )


def as_passages(chunks: Sequence[Chunk], title: str | None) -> list[Passage]:
    """Chunks of one document as an extractor reads them."""
    return [
        Passage(text=chunk.text, language=chunk.language, context=Context(title=title, headings=chunk.headings))
        for chunk in chunks
    ]
