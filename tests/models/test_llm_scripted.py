from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from hybridrag.errors import DeadlineExceeded, InvalidInput, ProviderError
from hybridrag.models.json_service import Patience
from hybridrag.models.llm import OpenAILlm
from hybridrag.protocols import Completion, LlmInfo, Message, TokenPrices
from hybridrag.result import Err, Ok, Result
from hybridrag.testing.llms import SCHEMA, Asked, Hang, ScriptedLlm, check_llm, serve_llm

ASK = [Message("user", "Hi")]


def test_the_scripted_llm_keeps_the_contract() -> None:
    check_llm(ScriptedLlm())
    check_llm(ScriptedLlm([ProviderError("service", "it is down")]))


def test_lines_come_in_order_and_the_last_one_again_and_again() -> None:
    llm = ScriptedLlm(["one", {"二": 2}])
    texts = [llm.complete(ASK, max_tokens=5).unwrap().text for _ in range(3)]
    assert texts == ["one", '{"二": 2}', '{"二": 2}']
    assert llm.asked == [Asked((ASK[0],), None, 5, 0.1, None)] * 3


def test_a_function_answers_by_the_question() -> None:
    llm = ScriptedLlm(lambda asked: asked.messages[-1].content.upper(), prices=TokenPrices(1.0, 2.0))
    assert llm.complete(ASK, max_tokens=5).unwrap() == Completion("HI", 1, 1, "scripted")
    assert llm.info == LlmInfo("scripted", "testing", TokenPrices(1.0, 2.0))


def test_it_can_fail_and_hang() -> None:
    llm = ScriptedLlm([ProviderError("service", "it is down"), Hang(), Hang(seconds=0.01)])
    failed = llm.complete(ASK, max_tokens=5)
    assert isinstance(failed, Err)
    assert str(failed.error) == "service: it is down."
    for timeout in (0.01, None):
        hung = llm.complete(ASK, max_tokens=5, timeout=timeout)
        assert isinstance(hung, Err)
        assert isinstance(hung.error, DeadlineExceeded)


@dataclass
class _Liar(ScriptedLlm):
    """Breaks one promise."""

    result: Any = None

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int,
        temperature: float = 0.1,
        timeout: float | None = None,
    ) -> Result[Completion]:
        if schema is None:
            return super().complete(messages, max_tokens=max_tokens, temperature=temperature, timeout=timeout)
        found: Result[Completion] = self.result
        return found


@pytest.mark.parametrize(
    ("result", "broken"),
    [
        (None, "neither Ok nor Err"),
        (Err(ValueError("x")), "an error must be of the one tree"),  # type: ignore[type-var] # broken on purpose
        (Err(ProviderError("", " ")), None),
        (Ok(Completion(" ", 1, 1, "m")), "an answer without text must be an Err"),
        (Ok(Completion("{}", -1, 1, "m")), "tokens cannot be negative"),
        (Ok(Completion("{}", 1, -1, "m")), "tokens cannot be negative"),
        (Ok(Completion("{}", 1, 1, "")), "the answer names no model"),
        (Ok(Completion("Sure! {}", 1, 1, "m")), "must be one JSON object"),
        (Ok(Completion("[]", 1, 1, "m")), "must be one JSON object"),
    ],
)
def test_the_suite_names_the_promise_that_is_broken(result: object, broken: str | None) -> None:
    llm = _Liar(result=result)
    if broken is None:
        check_llm(llm)
        return
    with pytest.raises(AssertionError, match=broken):
        check_llm(llm)


def test_the_emptiest_answer_keeps_to_the_schema() -> None:
    schema = {
        "type": "object",
        "properties": {
            "kind": {"type": "string", "enum": ["x", "y"]},
            "inner": SCHEMA,
            "list": {"type": "array"},
            "flag": {"type": "boolean"},
            "left_out": {"type": "string"},
        },
        "required": ["kind", "inner", "list", "flag"],
    }
    answer = ScriptedLlm().complete(ASK, schema=schema, max_tokens=9).unwrap().text
    assert answer == '{"kind": "x", "inner": {"animal": "", "legs": 0}, "list": [], "flag": false}'


def test_any_llm_can_be_served_over_http() -> None:
    llm = ScriptedLlm(["Hello", ProviderError("inner", "it is down"), InvalidInput("Too odd.")])
    patience = Patience(max_retries=0)
    with serve_llm(llm) as url:
        client = OpenAILlm("any", base_url=url, patience=patience)
        assert client.complete(ASK, max_tokens=5).unwrap() == Completion("Hello", 1, 1, "scripted")
        for words in ("HTTP 500: inner: it is down, after 1 try", "HTTP 400: Too odd"):
            failed = client.complete(ASK, max_tokens=5)
            assert isinstance(failed, Err)
            assert words in str(failed.error)
        lost = OpenAILlm("any", base_url=url + "/elsewhere", patience=patience).complete(ASK, max_tokens=5)
        assert isinstance(lost, Err)
        assert "HTTP 404" in str(lost.error)
        client.close()
