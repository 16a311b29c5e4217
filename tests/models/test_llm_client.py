from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from hybridrag.errors import InvalidSettings, ProviderError, RAGError, StageError
from hybridrag.models.budget import Budget
from hybridrag.models.json_service import Patience
from hybridrag.models.llm import JsonMode, OpenAILlm, load_llm
from hybridrag.protocols import Completion, Llm, Message, TokenPrices
from hybridrag.result import Err, Ok
from hybridrag.testing.llms import ScriptedLlm, check_llm, serve_llm
from model_server import Answer, Server, hang_up, reply, serving, stall, trickle

KEY = "sk-very-secret-0123456789"
QUICK = Patience(timeout_seconds=5, deadline_seconds=10, max_retries=1, pause_seconds=0.01)
HASTY = Patience(timeout_seconds=0.2, deadline_seconds=5, max_retries=1, pause_seconds=0.01)
ASK = [Message("system", "Be brief."), Message("user", "Hi")]
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "integer"}},
    "required": ["a"],
    "additionalProperties": False,
}


def said(content: object, **more: Any) -> dict[str, Any]:
    """A whole answer of a service; `finish` and `usage` may be given, anything else goes into the message."""
    finish, usage = more.pop("finish", "stop"), more.pop("usage", {"prompt_tokens": 7, "completion_tokens": 3})
    message = {"role": "assistant", "content": content, **more}
    return {"model": "tiny-1", "choices": [{"message": message, "finish_reason": finish}], "usage": usage}


@contextmanager
def asking(
    *answers: Answer, patience: Patience = QUICK, budget: Budget | None = None
) -> Iterator[tuple[OpenAILlm, Server]]:
    with serving(*answers) as server:
        llm = OpenAILlm("tiny", base_url=server.url, api_key=KEY, patience=patience, budget=budget)
        try:
            yield llm, server
        finally:
            llm.close()


def answer_of(result: Ok[Completion] | Err[RAGError]) -> Completion:
    assert isinstance(result, Ok), str(result)
    return result.value


def error_of(result: Ok[Completion] | Err[RAGError]) -> RAGError:
    assert isinstance(result, Err), str(result)
    for shown in (str(result.error), repr(result.error), repr(result.error.__dict__), repr(result.error.__cause__)):
        assert KEY not in shown
    assert "\n" not in str(result.error)
    return result.error


class TestAnAnswer:
    def test_has_text_tokens_and_the_model_as_the_service_names_it(self) -> None:
        with asking(reply(200, said(" Hello! \n"))) as (llm, server):
            found = answer_of(llm.complete(ASK, max_tokens=50))
            assert found == Completion("Hello!", 7, 3, "tiny-1")
            assert server.paths == ["/v1/chat/completions"]
            assert server.headers[0]["authorization"] == f"Bearer {KEY}"
            assert server.bodies == [
                {
                    "model": "tiny",
                    "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
                    "max_tokens": 50,
                    "temperature": 0.1,
                }
            ]

    def test_may_come_in_parts(self) -> None:
        parts = [{"type": "text", "text": "Hel"}, {"type": "image"}, "?", {"type": "text", "text": "lo"}]
        with asking(reply(200, said(parts))) as (llm, _):
            assert answer_of(llm.complete(ASK, max_tokens=50)).text == "Hello"

    def test_comes_without_the_thoughts_before_it(self) -> None:
        with asking(reply(200, said("<think>\nHm, a greeting.\n</think>\n\nHello"))) as (llm, _):
            assert answer_of(llm.complete(ASK, max_tokens=50)).text == "Hello"

    def test_that_broke_off_says_so(self) -> None:
        with asking(reply(200, said("Once upon a", finish="length"))) as (llm, _):
            assert answer_of(llm.complete(ASK, max_tokens=3)).truncated

    def test_holds_no_half_of_a_surrogate_pair(self) -> None:
        with asking(reply(200, b'{"choices": [{"message": {"content": "a\\ud83db"}}]}')) as (llm, server):
            assert answer_of(llm.complete([Message("user", "x\ud83dy")], max_tokens=9)).text == "a\ufffdb"
            assert server.bodies[0]["messages"][0]["content"] == "x\ufffdy"

    @pytest.mark.parametrize(
        "usage", [None, [], {}, {"prompt_tokens": "7"}, {"prompt_tokens": -1, "completion_tokens": True}]
    )
    def test_without_sound_counts_is_counted_here(self, usage: object) -> None:
        with asking(reply(200, said("one two three", usage=usage))) as (llm, _):
            found = answer_of(llm.complete(ASK, max_tokens=50))
            assert found.output_tokens == 3
            assert found.input_tokens > 3
            assert llm.used.tokens == found.input_tokens + 3

    def test_without_a_model_has_the_one_that_was_asked_for(self) -> None:
        with asking(reply(200, {**said("Hi"), "model": None})) as (llm, _):
            assert answer_of(llm.complete(ASK, max_tokens=50)).model == "tiny"

    def test_comes_after_a_passing_failure(self) -> None:
        with asking(reply(429, {}, Retry_After="0"), reply(200, said("Hi"))) as (llm, _):
            assert answer_of(llm.complete(ASK, max_tokens=50)).text == "Hi"

    def test_is_taken_whatever_the_content_type_says(self) -> None:
        with asking(reply(200, said("Hi"), Content_Type="text/html; charset=latin-1")) as (llm, _):
            assert answer_of(llm.complete(ASK, max_tokens=50)).text == "Hi"


class TestAServiceThatMisbehaves:
    @pytest.mark.parametrize(
        ("answer", "sentence"),
        [
            (reply(200, b"<!DOCTYPE html><h1>Welcome</h1>"), "its answer is not JSON. Check its address."),
            (reply(200, b""), "its answer is not JSON"),
            (reply(200, b'{"choices": [{"message": {"content": "\xff\xfe"}}]}'), "its answer is not JSON"),
            (reply(200, b"data: {}\n\ndata: [DONE]\n\n", Content_Type="text/event-stream"), "its answer is not JSON"),
            (reply(200, b"[" * 100_000), "its answer is not JSON"),
            (reply(200, [1, 2]), "its answer holds no `choices`"),
            (reply(200, {}), "its answer holds no `choices`"),
            (reply(200, {"choices": []}), "its answer holds no `choices`"),
            (reply(200, {"choices": ["Hi"]}), "its answer holds no `choices`"),
            (reply(200, {"choices": {"0": 1}}), "its answer holds no `choices`"),
            (
                reply(200, {"error": {"message": f"No credits\nleft for {KEY}."}}),
                "holds no `choices` (No credits left for ***).",
            ),
            (reply(200, {"error": "overloaded"}), "its answer holds no `choices` (overloaded)."),
            (reply(200, {"choices": [{"message": "Hi"}]}), "the model answered nothing"),
            (reply(200, said(None)), "the model answered nothing"),
            (reply(200, said(" \n ")), "the model answered nothing"),
            (reply(200, said(17)), "the model answered nothing"),
            (reply(200, said(None, tool_calls=[{"function": {}}])), "the model answered nothing"),
            (reply(200, said(None, refusal="I can't help with that.")), "the model refused to answer"),
            (reply(200, said("", finish="content_filter")), "the service's content filter stopped the answer"),
            (reply(200, said("", finish="length")), "the model used up its tokens before it answered"),
            (reply(302, b"", Location="http://127.0.0.1:1/"), "HTTP 302"),
            (reply(401, {"error": {"message": f"Wrong key {KEY}"}}), "it refused the key"),
            (reply(404, {"error": "model `tiny` not found"}), "not found. Check `llm.base_url` and `llm.model`."),
            (reply(500, b"<html><body>Internal Server Error</body></html>"), "HTTP 500, after 2 tries"),
            (reply(503, {"error": {"message": "loading model"}}), "HTTP 503: loading model, after 2 tries"),
            (hang_up, "the connection broke off, after 2 tries"),
        ],
    )
    def test_is_an_error_of_one_sentence(self, answer: Answer, sentence: str) -> None:
        with asking(answer) as (llm, server):
            error = error_of(llm.complete(ASK, max_tokens=50))
            assert isinstance(error, ProviderError)
            assert error.provider == server.url.split("/")[2]
            assert sentence in str(error)

    def test_by_sending_less_than_it_announced_is_an_error(self) -> None:
        with asking(reply(200, b'{"choices"', Content_Length="1000")) as (llm, _):
            assert "after 2 tries" in str(error_of(llm.complete(ASK, max_tokens=50)))

    @pytest.mark.parametrize(("answer", "words"), [(stall(1.0), "no answer within 0.2 s"), (trickle, "too slowly")])
    def test_by_hanging_is_given_up(self, answer: Answer, words: str) -> None:
        with asking(answer, patience=HASTY) as (llm, _):
            assert words in str(error_of(llm.complete(ASK, max_tokens=50)))

    def test_by_stopping_in_the_middle_is_given_up(self) -> None:
        def half(handler: BaseHTTPRequestHandler, _body: dict[str, Any]) -> None:
            handler.send_response(200)
            handler.send_header("Content-Length", "1000")
            handler.end_headers()
            handler.wfile.write(b'{"choices"')
            handler.wfile.flush()
            threading.Event().wait(1.0)
            handler.close_connection = True

        with asking(half, patience=HASTY) as (llm, _):
            assert "no answer within 0.2 s" in str(error_of(llm.complete(ASK, max_tokens=50)))

    def test_and_one_that_does_not_run_is_said_at_once(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        llm = OpenAILlm("tiny", base_url=f"http://127.0.0.1:{port}/v1", api_key=KEY)
        assert "nothing answers there. Start the service" in str(error_of(llm.complete(ASK, max_tokens=50)))
        llm.close()

    @pytest.mark.parametrize(
        ("status", "words"),
        [
            (400, "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens."),
            (400, "request (3031 tokens) exceeds the available context size (2048 tokens), try increasing it"),
            (413, "prompt is too long: 210000 tokens > 200000 maximum"),
            (422, "Input validation error: too many tokens"),
        ],
    )
    @pytest.mark.parametrize("schema", [None, SCHEMA])
    def test_with_a_text_that_is_too_long_says_so_and_is_asked_once(
        self, status: int, words: str, schema: dict[str, Any] | None
    ) -> None:
        with asking(reply(status, {"error": {"message": words}})) as (llm, server):
            error = error_of(llm.complete(ASK, schema=schema, max_tokens=50))
            assert "the text is too long for the model's context" in str(error)
            assert "set `llm.model` to a model with a longer context" in str(error)
            assert isinstance(error, ProviderError)
            assert error.status == status
            assert len(server.bodies) == 1


class TestATimeout:
    def test_is_for_the_whole_call_with_its_retries(self) -> None:
        patience = Patience(timeout_seconds=5, deadline_seconds=60, max_retries=20, pause_seconds=0.01)
        with asking(stall(0.5), patience=patience) as (llm, server):
            assert "would pass the limit of 0." in str(error_of(llm.complete(ASK, max_tokens=5, timeout=0.1)))
            assert len(server.bodies) == 1

    def test_holds_over_a_wish_to_be_asked_much_later(self) -> None:
        with asking(reply(429, {}, Retry_After="60")) as (llm, _):
            error = error_of(llm.complete(ASK, max_tokens=5, timeout=2))
            assert "trying again in 60 s would pass the limit of 2 s" in str(error)

    def test_holds_over_the_limit_of_requests_and_takes_no_turn(self) -> None:
        with serving(reply(200, said("Hi"))) as server:
            llm = OpenAILlm("tiny", base_url=server.url, requests_per_minute=1)
            assert answer_of(llm.complete(ASK, max_tokens=5, timeout=5)).text == "Hi"
            for _ in range(3):
                error = error_of(llm.complete(ASK, max_tokens=5, timeout=0.5))
                assert "`requests_per_minute` allows no call within" in str(error)
            assert len(server.bodies) == 1
            llm.close()


def takes(*modes: str | None, content: str = '{"a": 1}', refusal: str = "unknown field response_format") -> Answer:
    """A service that takes only these kinds of `response_format`; None is none."""

    def answer(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        if body.get("response_format", {}).get("type") in modes:
            reply(200, said(content))(handler, body)
        else:
            reply(400, {"error": {"message": refusal}})(handler, body)

    return answer


def formats(server: Server) -> list[str | None]:
    return [body.get("response_format", {}).get("type") for body in server.bodies]


class TestJson:
    def test_is_asked_for_by_schema(self) -> None:
        with asking(takes("json_schema")) as (llm, server):
            assert answer_of(llm.complete(ASK, schema=SCHEMA, max_tokens=50)).text == '{"a": 1}'
            shape = server.bodies[0]["response_format"]["json_schema"]
            assert shape == {"name": "answer", "strict": True, "schema": SCHEMA}

    def test_is_asked_for_as_any_object_where_schemas_are_refused_and_that_is_remembered(self) -> None:
        with asking(takes("json_object")) as (llm, server):
            for _ in range(2):
                assert answer_of(llm.complete(ASK, schema=SCHEMA, max_tokens=50)).text == '{"a": 1}'
            assert formats(server) == ["json_schema", "json_object", "json_object"]
            assert json.dumps(SCHEMA) in server.bodies[1]["messages"][0]["content"]
            assert server.bodies[1]["messages"][0]["content"].startswith("Be brief.")

    def test_is_asked_for_in_words_where_both_are_refused(self) -> None:
        with asking(takes(None)) as (llm, server):
            for _ in range(2):
                assert answer_of(llm.complete(ASK[1:], schema=SCHEMA, max_tokens=50)).text == '{"a": 1}'
            assert formats(server) == ["json_schema", "json_object", None, None]
            assert server.bodies[-1]["messages"][0]["role"] == "system"
            assert json.dumps(SCHEMA) in server.bodies[-1]["messages"][0]["content"]

    def test_is_asked_for_in_words_where_the_schema_was_ignored(self) -> None:
        prose, data = reply(200, said("It is one.")), reply(200, said('Sure!\n```json\n{"a": 1}\n```'))
        with asking(prose, data) as (llm, server):
            assert answer_of(llm.complete(ASK, schema=SCHEMA, max_tokens=50)).text == '{"a": 1}'
            assert formats(server) == ["json_schema", None]
            assert answer_of(llm.complete(ASK, schema=SCHEMA, max_tokens=50)).text == '{"a": 1}'
            assert formats(server)[2:] == [None]

    def test_of_a_service_that_honoured_the_schema_before_is_not_asked_for_twice(self) -> None:
        with asking(reply(200, said('{"a": 1}')), reply(200, said("It is one."))) as (llm, server):
            llm.complete(ASK, schema=SCHEMA, max_tokens=50)
            error = error_of(llm.complete(ASK, schema=SCHEMA, max_tokens=50))
            assert "the model's answer is not JSON" in str(error)
            assert formats(server) == ["json_schema", "json_schema"]

    def test_one_schema_that_is_refused_does_not_unlearn_the_way(self) -> None:
        fine, refused = reply(200, said('{"a": 1}')), reply(400, {"error": {"message": "schema too deep"}})
        with asking(fine, refused, fine, fine) as (llm, server):
            for _ in range(3):
                assert answer_of(llm.complete(ASK, schema=SCHEMA, max_tokens=50)).text == '{"a": 1}'
            assert formats(server) == ["json_schema", "json_schema", "json_object", "json_schema"]

    def test_of_a_service_that_fails_over_the_schema_is_asked_for_more_simply(self) -> None:
        broken = reply(500, {"error": {"message": "failed to parse grammar"}})
        with asking(broken, broken, reply(200, said('{"a": 1}'))) as (llm, server):
            assert answer_of(llm.complete(ASK, schema=SCHEMA, max_tokens=50)).text == '{"a": 1}'
            assert formats(server) == ["json_schema", "json_schema", "json_object"]

    def test_where_every_way_is_refused_the_first_refusal_is_the_reason(self) -> None:
        refusals = [reply(400, {"error": {"message": words}}) for words in ("first", "second", "third")]
        with asking(*refusals) as (llm, server):
            assert "HTTP 400: first" in str(error_of(llm.complete(ASK, schema=SCHEMA, max_tokens=50)))
            assert len(server.bodies) == 3

    def test_that_broke_off_is_an_error(self) -> None:
        with asking(reply(200, said('{"a": 1, "b": [{"a": 2}, {"a"', finish="length"))) as (llm, server):
            error = error_of(llm.complete(ASK, schema=SCHEMA, max_tokens=50))
            assert "its answer broke off after 50 tokens. Ask for less at once." in str(error)
            assert len(server.bodies) == 1

    def test_that_is_whole_counts_though_the_tokens_ran_out_behind_it(self) -> None:
        with asking(reply(200, said('{"a": 1}\n\n\n', finish="length"))) as (llm, _):
            assert not answer_of(llm.complete(ASK, schema=SCHEMA, max_tokens=50)).truncated

    def test_of_another_shape_is_an_error(self) -> None:
        with asking(reply(200, said('[{"a": 1}]'))) as (llm, _):
            error = error_of(llm.complete(ASK, schema=SCHEMA, max_tokens=50))
            assert "the model's answer is JSON of another shape than asked for" in str(error)

    def test_holds_no_half_of_a_surrogate_pair_either(self) -> None:
        with asking(reply(200, said('{"a": "\\ud83d"}'))) as (llm, _):
            assert answer_of(llm.complete(ASK, schema=SCHEMA, max_tokens=50)).text == '{"a": "\ufffd"}'

    def test_without_its_required_keys_is_an_error(self) -> None:
        with asking(reply(200, said('{"b": 1}'))) as (llm, _):
            assert "another shape" in str(error_of(llm.complete(ASK, schema=SCHEMA, max_tokens=50)))


class TestParametersThatAModelDoesNotTake:
    def test_the_newer_name_of_the_token_limit_is_learnt(self) -> None:
        words = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'."
        with asking(reply(400, {"error": {"message": words}}), reply(200, said("Hi"))) as (llm, server):
            for _ in range(2):
                assert answer_of(llm.complete(ASK, max_tokens=50)).text == "Hi"
            assert [body.get("max_completion_tokens") for body in server.bodies] == [None, 50, 50]
            assert "max_tokens" not in server.bodies[-1]

    def test_the_temperature_is_left_out_where_it_is_refused(self) -> None:
        words = "Unsupported value: 'temperature' does not support 0.1 with this model."
        with asking(reply(400, {"error": {"message": words}}), reply(200, said("Hi"))) as (llm, server):
            for _ in range(2):
                assert answer_of(llm.complete(ASK, max_tokens=50)).text == "Hi"
            assert ["temperature" in body for body in server.bodies] == [True, False, False]

    def test_a_plain_refusal_is_not_asked_again(self) -> None:
        with asking(reply(400, {"error": {"message": "no such model"}})) as (llm, server):
            assert "HTTP 400: no such model" in str(error_of(llm.complete(ASK, max_tokens=50)))
            assert len(server.bodies) == 1

    def test_many_threads_learn_together(self) -> None:
        with asking(takes("json_object")) as (llm, _), ThreadPoolExecutor(6) as pool:
            results = pool.map(lambda _: llm.complete(ASK, schema=SCHEMA, max_tokens=50), range(24))
            assert {answer_of(result).text for result in results} == {'{"a": 1}'}
            assert llm._dialect.json_mode is JsonMode.OBJECT


class TestTheBudget:
    def test_counts_every_answer_even_one_that_cannot_be_used(self) -> None:
        prices = TokenPrices(per_million_input=1_000_000, per_million_output=2_000_000)
        with asking(reply(200, said("Hi")), reply(200, said(None, refusal="No.")), budget=Budget(prices=prices)) as (
            llm,
            _,
        ):
            answer_of(llm.complete(ASK, max_tokens=50))
            error_of(llm.complete(ASK, max_tokens=50))
            used = llm.used
            assert (used.calls, used.input_tokens, used.output_tokens, used.cost) == (2, 14, 6, 26.0)
            assert llm.info.prices == prices

    def test_used_up_asks_no_more_and_says_what_to_raise(self) -> None:
        with asking(reply(200, said("Hi")), budget=Budget(max_tokens_total=120)) as (llm, server):
            answer_of(llm.complete(ASK, max_tokens=50))
            error = error_of(llm.complete(ASK, max_tokens=110))
            assert isinstance(error, StageError)
            assert "has used 10 of 120 tokens" in str(error)
            assert "Raise `llm.max_tokens_total`" in str(error)
            assert len(server.bodies) == 1

    def test_is_not_touched_by_calls_that_failed(self) -> None:
        with asking(reply(400, {}), budget=Budget(max_tokens_total=200)) as (llm, _):
            for _ in range(5):
                error_of(llm.complete(ASK, max_tokens=100))
            assert llm.used.calls == 0
            assert isinstance(llm._budget.reserve(100, 100), Ok)


class TestSettings:
    def test_an_llm_is_made_from_them(self) -> None:
        with serving(reply(200, said("Hi"))) as server:
            llm = load_llm(model="tiny", base_url=f"{server.url}/chat/completions/", price_per_million_output=4.0)
            assert answer_of(llm.complete(ASK, max_tokens=50)).text == "Hi"
            assert server.paths == ["/v1/chat/completions"]
            assert "authorization" not in server.headers[0]
            assert llm.info.name == "tiny"
            assert llm.info.provider == server.url.split("/")[2]
            assert llm.used.cost == pytest.approx(3 * 4 / 1e6)
            llm.close()

    def test_the_own_service_of_openai_needs_a_key(self) -> None:
        with pytest.raises(InvalidSettings, match=r"`llm.api_key` is needed .* HYBRIDRAG_LLM_API_KEY"):
            load_llm(model="gpt-4o-mini")
        assert load_llm(model="gpt-4o-mini", api_key=KEY).info.provider == "api.openai.com"

    def test_the_key_is_in_no_description(self) -> None:
        llm = load_llm(model="gpt-4o-mini", api_key=KEY)
        assert KEY not in repr(llm) + repr(llm.info) + repr(llm._service)


def test_the_client_keeps_the_contract_of_an_llm() -> None:
    with serve_llm(ScriptedLlm()) as url:
        llm = OpenAILlm("tiny", base_url=url, patience=QUICK)
        assert isinstance(llm, Llm)
        check_llm(llm)
        llm.close()


def test_the_client_keeps_the_contract_when_everything_fails() -> None:
    with asking(reply(500, b"<html>")) as (llm, _):
        check_llm(llm)
