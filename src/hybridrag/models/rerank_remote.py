"""Rerankers behind a service: Cohere, Voyage, Jina, and any `/rerank` such as Text Embeddings Inference or vLLM.

A passage is sent as its title and text, cut to `MAX_TOKENS`. What leaves this machine is the question and the passages
that the searches found; nothing is asked until the first search.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hybridrag.errors import InvalidSettings, ProviderError, RAGError
from hybridrag.models.approximate_tokens import approximate_spans, cut_text
from hybridrag.models.clean_text import replace_halves
from hybridrag.models.remote_service import RemoteService
from hybridrag.models.rerank_answer import RerankAnswer, Scale, looks_raw, read_answer, to_unit
from hybridrag.models.unit_vectors import map_threads
from hybridrag.protocols import Question, Reranker, Reranking
from hybridrag.result import Err, Ok, Result
from hybridrag.types.results import Hit

MAX_TOKENS = 1000
"""Of a passage, estimated. The chunks of an index are shorter; every service's model takes at least half of it."""
MAX_QUESTION_TOKENS = 500
EMPTY_STANDS_FOR = "."
"""Services refuse an empty text."""
PARALLEL_REQUESTS = 4
REFUSES_SHAPE = frozenset({400, 422})
"""How services say that a field is missing or not known."""
NO_SUCH_PATH = frozenset({404, 405})
TOO_LARGE = 413

Body = Callable[[str | None, str, Sequence[str]], dict[str, Any]]
"""What is sent, from the model, the question and the passages."""


@dataclass(frozen=True, slots=True)
class Way:
    """How a service is asked."""

    path: str
    body: Body


@dataclass(frozen=True, slots=True)
class Provider:
    """What is known of a service."""

    name: str
    ways: tuple[Way, ...]
    """The usual one first; the next is tried where a service refuses it, and what worked is remembered."""
    base_url: str | None = None
    """None: the user's own."""
    model: str | None = None
    scale: Scale = Scale.UNIT
    max_passages: int = 1000
    """In one request."""


def _cohere(model: str | None, question: str, passages: Sequence[str]) -> dict[str, Any]:
    return {"model": model, "query": question, "documents": list(passages), "top_n": len(passages)}


def _voyage(model: str | None, question: str, passages: Sequence[str]) -> dict[str, Any]:
    asked = {"model": model, "query": question, "documents": list(passages), "top_k": len(passages)}
    return {**asked, "truncation": True, "return_documents": False}


def _jina(model: str | None, question: str, passages: Sequence[str]) -> dict[str, Any]:
    return {**_cohere(model, question, passages), "return_documents": False}


def _tei(_model: str | None, question: str, passages: Sequence[str]) -> dict[str, Any]:
    return {"query": question, "texts": list(passages), "raw_scores": False, "truncate": True}


def _plain(model: str | None, question: str, passages: Sequence[str]) -> dict[str, Any]:
    asked = {"query": question, "documents": list(passages), "top_n": len(passages)}
    return {"model": model, **asked} if model else asked


def _vllm(model: str | None, question: str, passages: Sequence[str]) -> dict[str, Any]:
    # -1 is the model's own limit; without it vLLM refuses a passage that is too long.
    return {**_plain(model, question, passages), "truncate_prompt_tokens": -1}


PROVIDERS = {
    it.name: it
    for it in (
        Provider("cohere", (Way("/v2/rerank", _cohere),), "https://api.cohere.com", "rerank-v4.0-fast"),
        Provider("voyage", (Way("/v1/rerank", _voyage),), "https://api.voyageai.com", "rerank-2.5"),
        Provider(
            "jina",
            (Way("/v1/rerank", _jina),),
            "https://api.jina.ai",
            "jina-reranker-v3",
            Scale.COSINE,
        ),
        Provider(
            "tei",
            (Way("/rerank", _tei), Way("/rerank", _vllm), Way("/rerank", _plain), Way("/v1/rerank", _plain)),
            scale=Scale.ANY,
            max_passages=32,  # what Text Embeddings Inference takes unless told otherwise
        ),
    )
}


@dataclass(frozen=True, slots=True)
class RerankPrices:
    """What a service costs, in whatever currency the user counts; 0 where it is free or not known."""

    per_thousand: float = 0.0
    """Requests, or what the service bills as one."""
    per_million_tokens: float = 0.0

    def cost(self, requests: int, tokens: int) -> float:
        """(2, 1_000_000) at 2 a thousand and 0.05 a million -> 0.054."""
        return requests * self.per_thousand / 1000 + tokens * self.per_million_tokens / 1_000_000


class RemoteReranker:
    """A reranker behind a service; a call raises nothing, as `hybridrag.protocols.Reranker` promises.

    RemoteReranker(PROVIDERS["cohere"], api_key=key).rerank(Question("Who?"), candidates) -> Ok(Reranking(...))
    """

    def __init__(
        self,
        provider: Provider,
        *,
        model: str | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout_seconds: float = 2.0,
        max_retries: int = 1,
        prices: RerankPrices | None = None,
    ) -> None:
        self._provider = provider
        self._model = model or provider.model
        self._timeout_seconds = timeout_seconds
        self._prices = prices or RerankPrices()
        self._service = RemoteService(
            _trimmed(base_url or provider.base_url or "", provider.ways),
            api_key=api_key,
            key_setting="rerank.api_key",
            timeout_seconds=timeout_seconds,
            max_retries=max_retries,
        )
        self._lock = threading.Lock()
        self._way = provider.ways[0]
        self._raw = False

    def __repr__(self) -> str:
        return f"RemoteReranker({self.name!r}, {self._service.name!r})"

    @property
    def name(self) -> str:
        """The provider, as the settings spell it."""
        return self._provider.name

    def rerank(
        self, question: Question, candidates: Sequence[Hit], *, timeout: float | None = None
    ) -> Result[Reranking]:
        """A score for each candidate, or one sentence that says why there is none."""
        if not candidates:
            return Ok(Reranking((), self._model or self._service.name))
        until = time.monotonic() + (self._timeout_seconds if timeout is None else timeout)
        asked = cut_text(replace_halves(question.text).strip(), MAX_QUESTION_TOKENS) or EMPTY_STANDS_FOR
        passages = [passage_text(candidate) for candidate in candidates]
        try:
            return Ok(self._rerank(asked, passages, until))
        except RAGError as error:
            return Err(error)

    def close(self) -> None:
        """Drop open connections; a later call opens them again."""
        self._service.close()

    def _rerank(self, question: str, passages: list[str], until: float) -> Reranking:
        size = self._provider.max_passages
        batches = [passages[start : start + size] for start in range(0, len(passages), size)]
        parts = map_threads(lambda it: self._in_halves(question, it, until), batches, threads=PARALLEL_REQUESTS)
        answers = [answer for part in parts for answer in part]
        scores = [score for answer in answers for score in answer.scores]
        tokens = self._tokens(question, passages, answers)
        requests = sum(1 if answer.units is None else answer.units for answer in answers)
        return Reranking(
            self._to_unit(scores),
            model=self._model or answers[0].model or self._service.name,
            tokens=tokens,
            cost=self._prices.cost(requests, tokens),
        )

    def _in_halves(self, question: str, batch: list[str], until: float) -> list[RerankAnswer]:
        """A batch that the service calls too large is asked for in halves."""
        try:
            return [self._ask(question, batch, until)]
        except ProviderError as error:
            if not _is_too_large(error) or len(batch) == 1:
                raise
        half = len(batch) // 2
        return [*self._in_halves(question, batch[:half], until), *self._in_halves(question, batch[half:], until)]

    def _ask(self, question: str, batch: list[str], until: float) -> RerankAnswer:
        """Ask in the way that is known to work, and in others while the service refuses its shape."""
        with self._lock:
            known = self._way
        first: ProviderError | None = None
        missing: set[str] = set()
        for way in (known, *(it for it in self._provider.ways if it is not known)):
            if way.path in missing:
                continue
            body = way.body(self._model, question, batch)
            try:
                answer = self._service.post(way.path, body, within=until - time.monotonic())
            except ProviderError as error:
                if error.status not in REFUSES_SHAPE | NO_SUCH_PATH or _is_too_large(error):
                    raise
                first = first or error
                missing |= {way.path} if error.status in NO_SUCH_PATH else set()
                continue
            with self._lock:
                self._way = way
            return self._read(answer, len(batch))
        raise self._explained(first)

    def _read(self, answer: Any, count: int) -> RerankAnswer:
        try:
            return read_answer(answer, count)
        except ValueError as cause:
            raise self._service.error(str(cause), status=200, hint="Check `rerank.base_url`.") from cause

    def _to_unit(self, scores: Sequence[float]) -> tuple[float, ...]:
        # A service whose model gives raw numbers may give some that look like shares by chance.
        self._raw = self._raw or looks_raw(scores)
        try:
            return to_unit(scores, self._provider.scale, raw=self._raw)
        except ValueError as cause:
            raise self._service.error(str(cause), status=200, hint="Check `rerank.model`.") from cause

    def _tokens(self, question: str, passages: Sequence[str], answers: Sequence[RerankAnswer]) -> int:
        """As the service counts them; estimated where it does not and they cost."""
        counts = [answer.tokens for answer in answers]
        if None not in counts or not self._prices.per_million_tokens:
            return sum(count or 0 for count in counts)
        # The question is read with every passage, and services count it that often.
        return len(approximate_spans(question)) * len(passages) + sum(len(approximate_spans(it)) for it in passages)

    def _explained(self, error: ProviderError | None) -> ProviderError:
        """The same error with what to do about it, where that is known."""
        if error is None:
            msg = "a provider has a way"
            raise AssertionError(msg)
        if error.status in NO_SUCH_PATH:
            hint = "Check `rerank.base_url` and `rerank.model`."
            return self._service.error(error.reason, status=error.status, hint=hint)
        return error


def load_reranker(
    provider: str,
    *,
    model: str | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    timeout_seconds: float = 2.0,
    max_retries: int = 1,
    price_per_thousand: float = 0.0,
    price_per_million_tokens: float = 0.0,
) -> Reranker:
    """The remote reranker that the settings name; nothing is asked before it is used.

    load_reranker("tei", base_url="http://localhost:8080") -> Text Embeddings Inference on this machine

    Raises:
        InvalidSettings: not the name of a service, no key where one is needed, or no address.
    """
    known = PROVIDERS.get(provider)
    if known is None:
        names = ", ".join(PROVIDERS)
        raise InvalidSettings(
            where="settings", key="rerank.provider", expected=f"must be one of {names}, found {provider!r}"
        )
    if known.base_url is None and not base_url:
        raise InvalidSettings(
            where="settings",
            key="rerank.base_url",
            expected=f"is needed for `{provider}`",
            hint="Set it to the address of the service, such as http://localhost:8080.",
        )
    if not base_url and not (api_key or "").strip():
        raise InvalidSettings(
            where="settings",
            key="rerank.api_key",
            expected=f"is needed for `{provider}`",
            hint="Set HYBRIDRAG_RERANK_API_KEY, or `rerank.base_url` for a service without a key.",
        )
    return RemoteReranker(
        known,
        model=model,
        base_url=base_url,
        api_key=api_key,
        timeout_seconds=timeout_seconds,
        max_retries=max_retries,
        prices=RerankPrices(price_per_thousand, price_per_million_tokens),
    )


def passage_text(candidate: Hit) -> str:
    """What a service reads of a candidate.

    Hit("1", "It opened in 1871.", 0.5, title="The harbour") -> "The harbour", a line break, "It opened in 1871."
    """
    title, text = candidate.title.strip(), candidate.text.strip()
    whole = text if not title or text.startswith(title) else f"{title}\n{text}"
    return cut_text(replace_halves(whole), MAX_TOKENS).strip() or EMPTY_STANDS_FOR


def _is_too_large(error: ProviderError) -> bool:
    return error.status == TOO_LARGE or (error.status in REFUSES_SHAPE and "batch size" in error.reason.lower())


def _trimmed(base_url: str, ways: Sequence[Way]) -> str:
    """The address without the path, for users who give all of it: `https://host/v2/rerank` -> `https://host`."""
    path = ways[0].path
    trimmed = base_url.rstrip("/").removesuffix(path)
    return trimmed.removesuffix(path.removesuffix("/rerank")) if path != "/rerank" else trimmed
