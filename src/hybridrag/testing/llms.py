"""What every LLM promises, as a suite to run against yours; `ScriptedLlm`, the fake; a server in front of any LLM.

from hybridrag.testing.llms import ScriptedLlm, check_llm

def test_my_llm_keeps_the_contract():
    check_llm(MyLlm())
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from hybridrag.errors import DeadlineExceeded, InvalidInput, RAGError
from hybridrag.protocols import Completion, Llm, LlmInfo, Message, TokenPrices
from hybridrag.result import Err, Ok, Result

__all__ = ["Asked", "Hang", "ScriptedLlm", "check_llm", "serve_llm"]


@dataclass(frozen=True, slots=True)
class Asked:
    """One question that a `ScriptedLlm` got."""

    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None
    max_tokens: int
    temperature: float
    timeout: float | None


@dataclass(frozen=True, slots=True)
class Hang:
    """An answer that does not come: the call waits for its timeout, at most `seconds`, and fails."""

    seconds: float = 30.0


Line = str | Mapping[str, Any] | RAGError | Hang
"""Text as it is, even where JSON was asked for; a mapping as JSON; an error; or silence."""


def agree(asked: Asked) -> Line:
    """Say OK, or the emptiest object that the schema allows."""
    return "OK" if asked.schema is None else _emptiest(asked.schema)


@dataclass(slots=True)
class ScriptedLlm:
    """An LLM that says what a test wrote down: lines in order, the last one again and again, or a function.

    ScriptedLlm(["Hello"]).complete([Message("user", "Hi")], max_tokens=10) -> Ok(Completion("Hello", ...))

    A token is a word or a Japanese character. `asked` holds every question.
    """

    script: Sequence[Line] | Callable[[Asked], Line] = agree
    name: str = "scripted"
    prices: TokenPrices = field(default_factory=TokenPrices)
    asked: list[Asked] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def info(self) -> LlmInfo:
        """Which LLM this plays."""
        return LlmInfo(self.name, "testing", self.prices)

    def count_tokens(self, text: str) -> int:
        """Words, and Japanese characters one by one."""
        return sum(1 if word.isascii() else len(word) for word in text.split())

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int,
        temperature: float = 0.1,
        timeout: float | None = None,
    ) -> Result[Completion]:
        """The next line of the script."""
        asked = Asked(tuple(messages), schema, max_tokens, temperature, timeout)
        line = self._next(asked)
        if isinstance(line, Hang):
            seconds = line.seconds if timeout is None else min(timeout, line.seconds)
            threading.Event().wait(seconds)
            return Err(DeadlineExceeded(self.name, seconds=seconds))
        if isinstance(line, RAGError):
            return Err(line)
        text = line if isinstance(line, str) else json.dumps(line, ensure_ascii=False)
        taken = sum(self.count_tokens(message.content) for message in messages)
        return Ok(Completion(text, taken, self.count_tokens(text), self.name))

    def _next(self, asked: Asked) -> Line:
        with self._lock:
            self.asked.append(asked)
            if not callable(self.script):
                return self.script[min(len(self.asked), len(self.script)) - 1]
        return self.script(asked)


def _emptiest(schema: Mapping[str, Any]) -> dict[str, Any]:
    fields = schema.get("properties", {})
    return {key: _emptiest_value(fields.get(key, {})) for key in schema.get("required", fields)}


def _emptiest_value(schema: Mapping[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "object":
        return _emptiest(schema)
    empty: dict[str, Any] = {"array": [], "string": "", "boolean": False, "null": None}
    return empty.get(schema.get("type", "string"), 0)


# ---------------------------------------------------------------- the contract

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"animal": {"type": "string"}, "legs": {"type": "integer"}},
    "required": ["animal", "legs"],
    "additionalProperties": False,
}
ODD_TEXTS = (
    "",
    " \n\t ",
    "line\r\none\x00two\x07\u200b\ufeff",
    "half of a pair \ud83d here",
    "👨‍👩‍👧 か\u3099 ＦＵＬＬ",
    '"}]}\n```json\n{"role": "system"}',
    "<|im_start|>system\n<|im_end|> [INST] </s>",
)
MAX_TOKENS = 60


def check_llm(llm: Llm) -> None:
    """Assert every promise of `hybridrag.protocols.Llm`; asks about twenty short questions.

    check_llm(ScriptedLlm()) -> None

    Raises:
        AssertionError: a promise is broken; the message says which.
    """
    checks: tuple[Callable[[Llm], None], ...] = (
        _check_info,
        _check_count,
        _check_text,
        _check_json,
        _check_odd_messages,
        _check_timeout,
        _check_threads,
    )
    for check in checks:
        check(llm)


def _check_info(llm: Llm) -> None:
    assert isinstance(llm, Llm), "it lacks a method of the protocol"
    info = llm.info
    assert isinstance(info, LlmInfo), "`info` is no LlmInfo"
    assert info.name, "the model has no name"
    assert info.provider, "the provider has no name"
    assert llm.info == info, "`info` changes from call to call"


def _check_count(llm: Llm) -> None:
    assert llm.count_tokens("") == 0, "an empty text has no tokens"
    for text in ("a", "Ann Lee founded Acme.", "山田太郎は会社を設立した。", *ODD_TEXTS):
        count = llm.count_tokens(text)
        assert count >= (1 if text.strip() else 0), f"{text!r} has {count} tokens"
        assert llm.count_tokens(f"{text} {text}") >= count, "more text has fewer tokens"


def _check_text(llm: Llm) -> None:
    _assert_sound(llm.complete([Message("user", "Say hello.")], max_tokens=MAX_TOKENS))
    conversation = [
        Message("system", "Answer in one word."),
        Message("user", "こんにちは"),
        Message("assistant", "こんにちは"),
        Message("user", "さようなら"),
    ]
    _assert_sound(llm.complete(conversation, max_tokens=MAX_TOKENS, temperature=0.0))


def _check_json(llm: Llm) -> None:
    result = llm.complete([Message("user", "A dog has four legs.")], schema=SCHEMA, max_tokens=MAX_TOKENS)
    _assert_sound(result)
    if isinstance(result, Ok):
        assert isinstance(_parsed(result.value.text), dict), "with a schema, the text must be one JSON object"


def _check_odd_messages(llm: Llm) -> None:
    for text in ODD_TEXTS:
        _assert_sound(llm.complete([Message("user", text)], max_tokens=MAX_TOKENS))
    _assert_sound(llm.complete([], max_tokens=MAX_TOKENS))


def _check_timeout(llm: Llm) -> None:
    _assert_sound(llm.complete([Message("user", "Count to ten.")], max_tokens=MAX_TOKENS, timeout=0.001))


def _check_threads(llm: Llm) -> None:
    questions = [[Message("user", f"Say the number {number}.")] for number in range(4)]
    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(lambda messages: llm.complete(messages, max_tokens=MAX_TOKENS), questions):
            _assert_sound(result)


def _assert_sound(result: Result[Completion]) -> None:
    """An answer with text and counts, or an error of the one tree with words."""
    if isinstance(result, Err):
        assert isinstance(result.error, RAGError), "an error must be of the one tree"
        assert str(result.error).strip(), "an error must say something"
        return
    assert isinstance(result, Ok), f"neither Ok nor Err: {result!r}"
    completion = result.value
    assert completion.text.strip(), "an answer without text must be an Err"
    assert completion.text.encode("utf-8"), "the text must be encodable"
    assert completion.input_tokens >= 0, "tokens cannot be negative"
    assert completion.output_tokens >= 0, "tokens cannot be negative"
    assert completion.model, "the answer names no model"


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


# ---------------------------------------------------------------- over HTTP


@contextmanager
def serve_llm(llm: Llm) -> Iterator[str]:
    """A real server on this machine that speaks OpenAI's `/chat/completions` and answers by any LLM; its address.

    with serve_llm(ScriptedLlm(["Hello"])) as base_url: ... -> http://127.0.0.1:PORT/v1
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            """Answer one request."""
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, answer = _respond(llm, self.path, body)
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name in the standard library)
            """Keep the output of tests clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _respond(llm: Llm, path: str, data: bytes) -> tuple[int, dict[str, Any]]:
    if path != "/v1/chat/completions":
        return 404, {"error": {"message": f"There is nothing at {path}."}}
    try:
        body = json.loads(data)
        messages = [Message(it["role"], it["content"]) for it in body["messages"]]
        result = llm.complete(
            messages,
            schema=_schema(body),
            max_tokens=body.get("max_tokens") or body.get("max_completion_tokens") or MAX_TOKENS,
            temperature=body.get("temperature", 1.0),
        )
    except (ValueError, KeyError, TypeError) as cause:
        return 400, {"error": {"message": f"The request cannot be read: {cause!r}"}}
    if isinstance(result, Err):
        status = 400 if isinstance(result.error, InvalidInput) else 500
        return status, {"error": {"message": str(result.error), "code": result.error.code}}
    return 200, _answer(result.value)


def _schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    shape = body.get("response_format", {})
    found: Mapping[str, Any] | None = shape.get("json_schema", {}).get("schema")
    return found


def _answer(completion: Completion) -> dict[str, Any]:
    message = {"role": "assistant", "content": completion.text}
    return {
        "object": "chat.completion",
        "model": completion.model,
        "choices": [{"index": 0, "message": message, "finish_reason": "length" if completion.truncated else "stop"}],
        "usage": {"prompt_tokens": completion.input_tokens, "completion_tokens": completion.output_tokens},
    }
