"""LLMs of any service that speaks OpenAI's `/chat/completions`: OpenAI, Ollama, vLLM, LM Studio, llama.cpp, OpenRouter.

Services differ in what they take. A parameter that one refuses is left out or replaced, and that is remembered: JSON
by schema, else any JSON object, else the schema in words; `max_tokens` or its newer name; a temperature or none.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

from hybridrag.errors import InvalidSettings, ProviderError, RAGError
from hybridrag.models.approximate_tokens import approximate_spans
from hybridrag.models.budget import Budget, Usage
from hybridrag.models.clean_text import replace_halves
from hybridrag.models.json_service import JsonService, Patience
from hybridrag.models.read_json import read_json_object, without_thoughts
from hybridrag.protocols import Completion, LlmInfo, Message, TokenPrices
from hybridrag.result import Err, Ok, Result

OPENAI = "https://api.openai.com/v1"
PATH = "/chat/completions"
TOKENS_PER_MESSAGE = 4
"""What marks the role and the borders of a message takes, by OpenAI's own account."""
REFUSES_PARAMETER = frozenset({400, 422})
"""How services say that they do not take a parameter."""
FAILS_OVER_PARAMETER = frozenset({500, 501})
"""How some say it instead, if their words speak of it."""
NOT_FOUND = 404

_ABOUT_JSON = re.compile(r"response_format|schema|grammar|structured", re.IGNORECASE)
_TOO_LONG = re.compile(
    r"context[ _-]?(?:length|size|window|limit)|maximum context|too many (?:input )?tokens|(?:prompt|input) is too long"
    r"|reduce the length|max_model_len",
    re.IGNORECASE,
)


class JsonMode(IntEnum):
    """How a service is asked for JSON, the surest way first."""

    SCHEMA = 0
    OBJECT = 1
    WORDS = 2


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a service takes."""

    json_mode: JsonMode = JsonMode.SCHEMA
    limit_key: str = "max_tokens"
    """Newer models of OpenAI take `max_completion_tokens` instead."""
    temperature: bool = True
    """Models that reason take none."""

    def easier(self, refusal: str, *, structured: bool) -> Dialect | None:
        """What to try next after a refusal in these words; None where nothing is left to leave out."""
        if "max_completion_tokens" in refusal and self.limit_key == "max_tokens":
            return replace(self, limit_key="max_completion_tokens")
        if "temperature" in refusal and self.temperature:
            return replace(self, temperature=False)
        if structured and self.json_mode is not JsonMode.WORDS:
            return replace(self, json_mode=JsonMode(self.json_mode + 1))
        return None


@dataclass(frozen=True, slots=True)
class _Question:
    messages: Sequence[Message]
    schema: Mapping[str, Any] | None
    max_tokens: int
    temperature: float
    deadline: float | None

    @property
    def seconds_left(self) -> float | None:
        return None if self.deadline is None else max(0.001, self.deadline - time.monotonic())


class _NoJson(Exception):
    """The answer is not the JSON that was asked for."""


class OpenAILlm:
    """A model behind an OpenAI-compatible service; a call raises nothing, as `hybridrag.protocols.Llm` promises.

    OpenAILlm("llama3.2", base_url="http://localhost:11434/v1").complete([Message("user", "Hi")], max_tokens=50)
    -> Ok(Completion("Hello!", ...))
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        patience: Patience | None = None,
        requests_per_minute: int = 0,
        budget: Budget | None = None,
    ) -> None:
        self._model = model
        self._budget = budget or Budget()
        self._service = JsonService(
            (base_url or OPENAI).rstrip("/").removesuffix(PATH),
            api_key=api_key,
            key_setting="llm.api_key",
            patience=patience,
            requests_per_minute=requests_per_minute,
        )
        self._lock = threading.Lock()
        self._dialect = Dialect()
        self._json_mode_known = False

    @property
    def info(self) -> LlmInfo:
        """Which LLM this is, and what it costs."""
        return LlmInfo(self._model, self._service.name, self._budget.prices)

    @property
    def used(self) -> Usage:
        """What the calls so far took."""
        return self._budget.used

    def count_tokens(self, text: str) -> int:
        """About how many tokens a text is: services keep their tokenizer to themselves."""
        return len(approximate_spans(text))

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int,
        temperature: float = 0.1,
        timeout: float | None = None,
    ) -> Result[Completion]:
        """The answer, or one sentence that says why there is none."""
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            return Ok(self._negotiate(_Question(messages, schema, max_tokens, temperature, deadline)))
        except RAGError as error:
            return Err(error)

    def close(self) -> None:
        """Drop open connections; a later call opens them again."""
        self._service.close()

    def _negotiate(self, question: _Question) -> Completion:
        """Ask in the dialect that is known to work, and in easier ones while the service refuses it."""
        structured = question.schema is not None
        with self._lock:
            dialect, settled = self._dialect, self._json_mode_known
        first: ProviderError | None = None
        while True:
            try:
                completion = self._ask(question, dialect)
            except ProviderError as error:
                if not _is_about_parameters(error, structured=structured):
                    raise
                problem, easier = error, dialect.easier(error.reason, structured=structured)
            except _NoJson as cause:
                # A service that ignores the parameter answers in prose; one that is known to honour it has no excuse.
                easier = None if settled or dialect.json_mode is JsonMode.WORDS else _in_words(dialect)
                problem = self._service.error(f"the model's answer {cause}")
            else:
                self._learn(dialect, structured=structured)
                return completion
            first = first or problem
            if easier is None:
                raise first
            dialect = easier

    def _learn(self, dialect: Dialect, *, structured: bool) -> None:
        """Keep what worked; a way that worked before is not unlearnt, since the one schema may be at fault."""
        with self._lock:
            keep_mode = self._json_mode_known or not structured
            self._dialect = replace(dialect, json_mode=self._dialect.json_mode) if keep_mode else dialect
            self._json_mode_known = self._json_mode_known or structured

    def _ask(self, question: _Question, dialect: Dialect) -> Completion:
        body = _body(self._model, question, dialect)
        estimate = self._estimate(body)
        reservation = self._budget.reserve(estimate, question.max_tokens).unwrap()
        try:
            answer = self._service.post(PATH, body, within=question.seconds_left)
        except ProviderError as error:
            self._budget.release(reservation)
            raise self._explained(error) from error.__cause__
        except BaseException:
            self._budget.release(reservation)
            raise
        completion = self._completion(answer, estimate)
        self._budget.settle(reservation, input_tokens=completion.input_tokens, output_tokens=completion.output_tokens)
        return self._checked(completion, answer, question)

    def _estimate(self, body: Mapping[str, Any]) -> int:
        """About how many tokens a request is."""
        messages = sum(TOKENS_PER_MESSAGE + self.count_tokens(it["content"]) for it in body["messages"])
        shape = body.get("response_format", {}).get("json_schema")
        return messages + (self.count_tokens(json.dumps(shape)) if shape else 0)

    def _explained(self, error: ProviderError) -> ProviderError:
        """The same error with what to do about it, where that is known."""
        if _is_too_long(error):
            reason = f"the text is too long for the model's context ({error.reason})"
            hint = "Send less, or set `llm.model` to a model with a longer context."
            return self._service.error(reason, status=error.status, hint=hint)
        if error.status == NOT_FOUND:
            return self._service.error(error.reason, status=NOT_FOUND, hint="Check `llm.base_url` and `llm.model`.")
        return error

    def _completion(self, answer: Any, estimate: int) -> Completion:
        """What the service says that it made, whatever it is worth."""
        choice = _first_choice(answer)
        text = without_thoughts(_text(choice)).strip()
        usage = answer.get("usage") if isinstance(answer, dict) else None
        model = answer.get("model") if isinstance(answer, dict) else None
        return Completion(
            text=replace_halves(text),
            input_tokens=_count(usage, "prompt_tokens", estimate),
            output_tokens=_count(usage, "completion_tokens", self.count_tokens(text)),
            model=model if isinstance(model, str) and model else self._model,
            truncated=choice.get("finish_reason") == "length",
        )

    def _checked(self, completion: Completion, answer: Any, question: _Question) -> Completion:
        """The completion if it can be used."""
        if not completion.text:
            raise self._service.error(_why_empty(answer), status=200)
        if question.schema is None:
            return completion
        try:
            value = read_json_object(completion.text, required=question.schema.get("required", ()))
        except ValueError as cause:
            if completion.truncated:
                limit = f"its answer broke off after {question.max_tokens} tokens"
                raise self._service.error(limit, status=200, hint="Ask for less at once.") from cause
            raise _NoJson(str(cause)) from cause
        text = replace_halves(json.dumps(value, ensure_ascii=False))
        return replace(completion, text=text, truncated=False)


def load_llm(
    *,
    model: str,
    base_url: str | None = None,
    api_key: str | None = None,
    timeout_seconds: float = 30.0,
    max_retries: int = 3,
    requests_per_minute: int = 0,
    max_tokens_total: int = 0,
    max_cost: float = 0.0,
    price_per_million_input: float = 0.0,
    price_per_million_output: float = 0.0,
) -> OpenAILlm:
    """The LLM that the settings name; nothing is asked before it is used.

    load_llm(model="llama3.2", base_url="http://localhost:11434/v1") -> Ollama's

    Raises:
        InvalidSettings: OpenAI's own service without a key.
    """
    if base_url is None and not api_key:
        raise InvalidSettings(
            where="settings",
            key="llm.api_key",
            expected="is needed for OpenAI's own service",
            hint="Set HYBRIDRAG_LLM_API_KEY, or `llm.base_url` for a service without a key.",
        )
    prices = TokenPrices(price_per_million_input, price_per_million_output)
    return OpenAILlm(
        model,
        base_url=base_url,
        api_key=api_key,
        patience=Patience(
            timeout_seconds=timeout_seconds,
            deadline_seconds=timeout_seconds * (max_retries + 1),
            max_retries=max_retries,
        ),
        requests_per_minute=requests_per_minute,
        budget=Budget(max_tokens_total=max_tokens_total, max_cost=max_cost, prices=prices),
    )


def _body(model: str, question: _Question, dialect: Dialect) -> dict[str, Any]:
    messages = [{"role": it.role, "content": replace_halves(it.content)} for it in question.messages]
    body: dict[str, Any] = {"model": model, "messages": messages, dialect.limit_key: question.max_tokens}
    if dialect.temperature:
        body["temperature"] = question.temperature
    if question.schema is None:
        return body
    if dialect.json_mode is JsonMode.SCHEMA:
        shape = {"name": "answer", "strict": True, "schema": question.schema}
        return {**body, "response_format": {"type": "json_schema", "json_schema": shape}}
    body["messages"] = _with_schema(messages, question.schema)
    return body if dialect.json_mode is JsonMode.WORDS else {**body, "response_format": {"type": "json_object"}}


def _with_schema(messages: list[dict[str, str]], schema: Mapping[str, Any]) -> list[dict[str, str]]:
    """The schema in the system message, which a document in a later message cannot change."""
    words = f"Answer with one JSON object and nothing else. It must keep to this JSON Schema:\n{json.dumps(schema)}"
    if messages and messages[0]["role"] == "system":
        return [{"role": "system", "content": f"{messages[0]['content']}\n\n{words}"}, *messages[1:]]
    return [{"role": "system", "content": words}, *messages]


def _is_too_long(error: ProviderError) -> bool:
    return error.status in {*REFUSES_PARAMETER, 413} and _TOO_LONG.search(error.reason) is not None


def _is_about_parameters(error: ProviderError, *, structured: bool) -> bool:
    """Whether leaving out a parameter may help."""
    if error.status in REFUSES_PARAMETER:
        return not _is_too_long(error)
    return structured and error.status in FAILS_OVER_PARAMETER and _ABOUT_JSON.search(error.reason) is not None


def _in_words(dialect: Dialect) -> Dialect:
    return replace(dialect, json_mode=JsonMode.WORDS)


def _first_choice(answer: Any) -> dict[str, Any]:
    choices = answer.get("choices") if isinstance(answer, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else {}


def _text(choice: dict[str, Any]) -> str:
    message = choice.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):  # parts, as newer services give them
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _why_empty(answer: Any) -> str:
    choice = _first_choice(answer)
    message = choice.get("message")
    if not choice:
        return f"its answer holds no `choices`{_said(answer)}"
    if isinstance(message, dict) and message.get("refusal"):
        return "the model refused to answer"
    if choice.get("finish_reason") == "content_filter":
        return "the service's content filter stopped the answer"
    if choice.get("finish_reason") == "length":
        return "the model used up its tokens before it answered"
    return "the model answered nothing"


def _said(answer: Any) -> str:
    """The error that some services send with status 200."""
    error = answer.get("error") if isinstance(answer, dict) else None
    words = error.get("message") if isinstance(error, dict) else error
    return f" ({' '.join(words.split())[:200].rstrip('.')})" if isinstance(words, str) and words.strip() else ""


def _count(usage: Any, key: str, estimate: int) -> int:
    """The service's own count where it is one."""
    value = usage.get(key) if isinstance(usage, dict) else None
    return value if type(value) is int and value >= 0 else estimate
