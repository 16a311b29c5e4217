"""Remote rerankers against real servers on this machine: the protocol of each, and everything that goes wrong."""

from __future__ import annotations

import logging
import math
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridrag.errors import InvalidSettings, ProviderError, RAGError
from hybridrag.models.in_time import Failed, each_in_time, in_time
from hybridrag.models.remote_service import RemoteService
from hybridrag.models.rerank_answer import Scale, read_answer, to_unit
from hybridrag.models.rerank_remote import MAX_TOKENS, RemoteReranker, RerankPrices, load_reranker, passage_text
from hybridrag.protocols import Question, Reranker
from hybridrag.result import Err, Ok
from hybridrag.testing.promises import check_reranker
from hybridrag.testing.services import (
    Fault,
    Hang,
    HangUp,
    RerankProtocol,
    Says,
    Service,
    Status,
    Trickle,
    serve_reranker,
)
from hybridrag.types.results import Hit

KEY = "secret-key-0123456789"
QUESTION = Question("green tea")
CANDIDATES = [
    Hit("a", "Coffee is brown.", 0.9),
    Hit("b", "Tea is green.", 0.8, title="On drinks"),
    Hit("c", "A tea house.", 0.7),
]
PROTOCOLS: tuple[RerankProtocol, ...] = ("cohere", "voyage", "jina", "tei", "vllm")
EVERY_PROTOCOL = pytest.mark.parametrize("protocol", PROTOCOLS)


def provider_of(protocol: RerankProtocol) -> str:
    return "tei" if protocol == "vllm" else protocol


@contextmanager
def reranking(
    protocol: RerankProtocol,
    *script: Fault,
    timeout_seconds: float = 5.0,
    max_retries: int = 1,
    **options: Any,
) -> Iterator[tuple[Reranker, Service]]:
    """A reranker and the service that it asks."""
    with serve_reranker(protocol, script=script, key=KEY) as service:
        reranker = load_reranker(
            provider_of(protocol),
            base_url=service.url,
            api_key=KEY,
            timeout_seconds=timeout_seconds,
            max_retries=max_retries,
            **options,
        )
        assert isinstance(reranker, RemoteReranker)
        try:
            yield reranker, service
        finally:
            reranker.close()


def failure(reranker: Reranker, *, timeout: float | None = None) -> RAGError:
    result = reranker.rerank(QUESTION, CANDIDATES, timeout=timeout)
    assert isinstance(result, Err), result
    assert KEY not in repr(result) + str(result.error)
    assert "\n" not in str(result.error)
    return result.error


@EVERY_PROTOCOL
def test_each_service_scores_the_candidates_in_their_order(protocol: RerankProtocol) -> None:
    with reranking(protocol) as (reranker, service):
        result = reranker.rerank(QUESTION, CANDIDATES)
        assert isinstance(result, Ok)
        assert result.value.scores == (0.0, 1.0, 0.5)
        assert result.value.model
        assert service.asked[-1].headers["authorization"] == f"Bearer {KEY}"


@EVERY_PROTOCOL
def test_each_service_keeps_the_contract(protocol: RerankProtocol) -> None:
    with reranking(protocol) as (reranker, _):
        check_reranker(reranker)


def test_cohere_is_asked_as_it_documents() -> None:
    with reranking("cohere") as (reranker, service):
        reranker.rerank(QUESTION, CANDIDATES)
        assert service.asked[0].path == "/v2/rerank"
        assert service.asked[0].body == {
            "model": "rerank-v4.0-fast",
            "query": "green tea",
            "documents": ["Coffee is brown.", "On drinks\nTea is green.", "A tea house."],
            "top_n": 3,
        }


def test_voyage_is_asked_as_it_documents() -> None:
    with reranking("voyage") as (reranker, service):
        reranker.rerank(QUESTION, CANDIDATES[:1])
        assert service.asked[0].path == "/v1/rerank"
        assert service.asked[0].body == {
            "model": "rerank-2.5",
            "query": "green tea",
            "documents": ["Coffee is brown."],
            "top_k": 1,
            "truncation": True,
            "return_documents": False,
        }


def test_jina_is_asked_as_it_documents() -> None:
    with reranking("jina") as (reranker, service):
        reranker.rerank(QUESTION, CANDIDATES[:1])
        assert service.asked[0].body == {
            "model": "jina-reranker-v3",
            "query": "green tea",
            "documents": ["Coffee is brown."],
            "top_n": 1,
            "return_documents": False,
        }


def test_text_embeddings_inference_is_asked_as_it_documents() -> None:
    with reranking("tei") as (reranker, service):
        reranker.rerank(QUESTION, CANDIDATES[:1])
        assert service.asked[0].body == {
            "query": "green tea",
            "texts": ["Coffee is brown."],
            "raw_scores": False,
            "truncate": True,
        }


def test_a_service_that_wants_documents_is_found_out_once_and_remembered() -> None:
    with reranking("vllm", model="bge-reranker") as (reranker, service):
        assert isinstance(reranker.rerank(QUESTION, CANDIDATES), Ok)
        assert isinstance(reranker.rerank(QUESTION, CANDIDATES), Ok)
        assert ["texts" in it.body for it in service.asked] == [True, False, False]
        assert service.asked[-1].body["model"] == "bge-reranker"


def test_a_service_that_is_found_only_under_its_version_is_found() -> None:
    with serve_reranker("jina") as service:
        reranker = load_reranker("tei", base_url=service.url, model="m")
        result = reranker.rerank(QUESTION, CANDIDATES)
        assert isinstance(result, Ok)
        assert [it.path for it in service.asked] == ["/rerank", "/v1/rerank"]
        assert isinstance(reranker, RemoteReranker)
        reranker.close()


@pytest.mark.parametrize("address", ["{url}/v2/rerank", "{url}/v2", "{url}/", "{url}/v2/rerank/"])
def test_the_address_may_be_given_with_the_path(address: str) -> None:
    with serve_reranker("cohere") as service:
        reranker = load_reranker("cohere", base_url=address.format(url=service.url))
        assert isinstance(reranker.rerank(QUESTION, CANDIDATES), Ok)
        assert isinstance(reranker, RemoteReranker)
        reranker.close()


def test_more_passages_than_a_service_takes_at_once_go_in_several_requests() -> None:
    with serve_reranker("tei", max_passages=32) as service:
        reranker = load_reranker("tei", base_url=service.url)
        many = [Hit(str(it), "green" if it % 2 else "grey", 0.5) for it in range(70)]
        result = reranker.rerank(QUESTION, many)
        assert isinstance(result, Ok)
        assert result.value.scores == (0.0, 0.5) * 35
        assert sorted(len(it.body["texts"]) for it in service.asked) == [6, 32, 32]
        assert isinstance(reranker, RemoteReranker)
        reranker.close()


def test_a_batch_that_the_service_calls_too_large_is_halved() -> None:
    with serve_reranker("tei", max_passages=8) as service:
        reranker = load_reranker("tei", base_url=service.url)
        many = [Hit(str(it), f"green {it}", 0.5) for it in range(20)]
        result = reranker.rerank(QUESTION, many)
        assert isinstance(result, Ok)
        assert result.value.scores == (0.5,) * 20
        assert isinstance(reranker, RemoteReranker)
        reranker.close()


def test_a_passage_that_alone_is_too_large_is_an_error() -> None:
    with reranking("cohere", Status(413, "too large")) as (reranker, _):
        result = reranker.rerank(QUESTION, CANDIDATES[:1])
        assert isinstance(result, Err)
        assert "HTTP 413: too large" in str(result.error)


def test_requests_cost_what_the_service_bills() -> None:
    with reranking("cohere", price_per_thousand=2.0) as (reranker, _):
        assert reranker.rerank(QUESTION, CANDIDATES).unwrap().cost == pytest.approx(0.002)


def test_tokens_cost_what_the_service_counts() -> None:
    with reranking("voyage", price_per_million_tokens=50.0) as (reranker, _):
        reranking_ = reranker.rerank(QUESTION, CANDIDATES).unwrap()
        assert reranking_.tokens == 2 + 3 + 5 + 3
        assert reranking_.cost == pytest.approx(13 * 50 / 1_000_000)


def test_tokens_that_cost_are_estimated_where_the_service_does_not_count_them() -> None:
    with reranking("tei", price_per_million_tokens=50.0) as (reranker, _):
        assert reranker.rerank(QUESTION, CANDIDATES).unwrap().tokens > 13
    with reranking("tei") as (reranker, _):
        assert reranker.rerank(QUESTION, CANDIDATES).unwrap().tokens == 0


@pytest.mark.parametrize("count", [-5, True, 1.5, "many", None])
def test_a_count_of_tokens_that_is_none_is_not_believed(count: object) -> None:
    answer = {"data": [{"index": 0, "relevance_score": 0.5}], "usage": {"total_tokens": count}}
    assert read_answer(answer, 1).tokens is None


def test_costs_add_up() -> None:
    assert RerankPrices(2.0, 0.05).cost(2, 1_000_000) == pytest.approx(0.054)


def test_no_candidates_are_answered_without_asking() -> None:
    with reranking("cohere") as (reranker, service):
        assert reranker.rerank(QUESTION, []).unwrap().scores == ()
        assert service.asked == []


def test_a_passage_is_its_title_and_text_up_to_a_limit() -> None:
    assert passage_text(Hit("1", "Text.", 0.1, title="Title")) == "Title\nText."
    assert passage_text(Hit("1", "Title: text.", 0.1, title="Title")) == "Title: text."
    assert passage_text(Hit("1", " ", 0.1)) == "."
    assert passage_text(Hit("1", "語" * 5000, 0.1)) == "語" * MAX_TOKENS


# ---------------------------------------------------------------- what goes wrong


@EVERY_PROTOCOL
def test_a_service_that_is_busy_once_is_asked_again(protocol: RerankProtocol) -> None:
    with reranking(protocol, Status(429, retry_after=0), None) as (reranker, service):
        assert isinstance(reranker.rerank(QUESTION, CANDIDATES), Ok)
        assert len(service.asked) >= 2


def test_a_wait_past_the_timeout_is_not_begun() -> None:
    with reranking("cohere", Status(429, "slow down", retry_after=60), None, timeout_seconds=1) as (reranker, service):
        assert "HTTP 429: slow down; trying again in 60 s would pass the limit of 1 s" in str(failure(reranker))
        assert len(service.asked) == 1


@EVERY_PROTOCOL
def test_a_service_that_fails_again_and_again_is_an_error(protocol: RerankProtocol) -> None:
    with reranking(protocol, Status(500)) as (reranker, service):
        assert "HTTP 500: scripted, after 2 tries" in str(failure(reranker))
        assert len(service.asked) == 2


@EVERY_PROTOCOL
def test_a_refused_key_names_the_setting_and_never_the_key(
    protocol: RerankProtocol, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with serve_reranker(protocol, key="another") as service:
        reranker = load_reranker(provider_of(protocol), base_url=service.url, api_key=KEY)
        error = failure(reranker)
        assert isinstance(error, ProviderError)
        assert error.status == 401
        assert "it refused the key" in str(error)
        assert "Check `rerank.api_key`." in str(error)
        assert KEY not in repr(reranker) + repr(vars(error))
        assert isinstance(reranker, RemoteReranker)
        reranker.close()
    assert KEY not in caplog.text


def test_a_broken_connection_is_tried_again() -> None:
    with reranking("jina", HangUp(), None) as (reranker, _):
        assert isinstance(reranker.rerank(QUESTION, CANDIDATES), Ok)


@pytest.mark.parametrize("protocol", ["cohere", "tei"])
@pytest.mark.parametrize(
    "fault",
    [Hang(5), Trickle(), Trickle(headers=True)],
    ids=["hangs", "trickles", "trickles headers"],
)
def test_a_service_that_does_not_finish_is_given_up_in_time(protocol: RerankProtocol, fault: Fault) -> None:
    with reranking(protocol, fault, timeout_seconds=600) as (reranker, _):
        error = failure(reranker, timeout=0.2)
        assert "no answer within" in str(error) or "too slowly" in str(error)
        assert "try" not in str(error)


def test_nobody_who_answers_is_said_at_once() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    reranker = load_reranker("tei", base_url=f"http://127.0.0.1:{port}")
    assert "nothing answers there. Start the service, or check its address." in str(failure(reranker))


def test_an_address_that_is_none_is_an_error() -> None:
    assert isinstance(failure(load_reranker("tei", base_url="http://[bad")), ProviderError)


def test_a_path_that_is_not_there_names_the_settings() -> None:
    with serve_reranker("cohere") as service:
        reranker = load_reranker("voyage", base_url=service.url, api_key=KEY)
        error = failure(reranker)
        assert "HTTP 404" in str(error)
        assert "Check `rerank.base_url` and `rerank.model`." in str(error)
        assert isinstance(reranker, RemoteReranker)
        reranker.close()


def test_a_redirect_is_not_followed() -> None:
    with reranking("cohere", Status(302)) as (reranker, service):
        assert "HTTP 302" in str(failure(reranker))
        assert len(service.asked) == 1


@EVERY_PROTOCOL
def test_an_answer_that_is_not_json_is_an_error(protocol: RerankProtocol) -> None:
    contents = [b"", b"<html>Log in</html>", b"{", b"\xff\xfe", b"[" * 100_000]
    with reranking(protocol, *(Says(content, "text/html") for content in contents)) as (reranker, _):
        for _content in contents:
            assert "its answer is not JSON" in str(failure(reranker))


def test_a_flood_is_stopped() -> None:
    with reranking("cohere", Says(b"[" + b" " * (9 << 20) + b"]")) as (reranker, _):
        assert "it answered with more than 8,388,608 bytes" in str(failure(reranker))


LIES: list[tuple[str, object, str]] = [
    ("a text", "fine", "holds no list of scores"),
    ("nothing", None, "holds no list of scores"),
    ("another shape", {"answer": 1}, "holds no list of scores"),
    ("no objects", {"results": [1, 2, 3]}, "holds no list of scores"),
    ("nothing scored", {"results": []}, "scored 0 of 3 passages"),
    ("one short", [{"index": 0, "score": 0.1}, {"index": 1, "score": 0.1}], "scored 2 of 3 passages"),
    ("twice", [{"index": 0, "score": 0.1}] * 3, "scored passage 1 twice"),
    ("outside", [{"index": 3, "score": 0.1}], "scored passage 4, and there are 3"),
    ("negative place", [{"index": -1, "score": 0.1}], "scored passage 0, and there are 3"),
    ("no place", [{"score": 0.1}], "does not say for which passage"),
    ("place as text", [{"index": "0", "score": 0.1}], "does not say for which passage"),
    ("place as truth", [{"index": True, "score": 0.1}], "does not say for which passage"),
    ("no score", [{"index": 0}], "the score of passage 1 is not a number"),
    ("score as text", [{"index": 0, "relevance_score": "0.9"}], "the score of passage 1 is not a number"),
    ("score as truth", [{"index": 0, "relevance_score": True}], "the score of passage 1 is not a number"),
    ("no number", b'[{"index": 0, "score": NaN}]', "the score of passage 1 is not a number"),
    ("endless", b'[{"index": 0, "score": -Infinity}]', "the score of passage 1 is not a number"),
    ("a giant", b'[{"index": 0, "score": 1' + b"0" * 400 + b"}]", "the score of passage 1 is not a number"),
]


@EVERY_PROTOCOL
def test_a_service_that_lies_is_an_error(protocol: RerankProtocol) -> None:
    with reranking(protocol, *(Says(lie) for _, lie, _ in LIES)) as (reranker, _):
        for name, _, reason in LIES:
            assert reason in str(failure(reranker)), name


def scored(*scores: float) -> Says:
    return Says({"results": [{"index": place, "relevance_score": score} for place, score in enumerate(scores)]})


@pytest.mark.parametrize("provider", ["cohere", "voyage", "jina"])
def test_a_score_outside_its_range_is_an_error(provider: RerankProtocol) -> None:
    wrong = (-1.5, 1.5, 97.0)
    with reranking(provider, *(scored(0.2, score, 0.3) for score in wrong)) as (reranker, _):
        for score in wrong:
            assert f"the score of passage 2 is {score:g}, outside" in str(failure(reranker))


def test_rounding_over_the_edge_is_cut() -> None:
    with reranking("cohere", scored(1.0002, 0.5, -0.0001)) as (reranker, _):
        assert reranker.rerank(QUESTION, CANDIDATES).unwrap().scores == (1.0, 0.5, 0.0)


def test_a_cosine_below_zero_is_zero() -> None:
    with reranking("jina", scored(-0.2, 0.5, 0.7)) as (reranker, _):
        assert reranker.rerank(QUESTION, CANDIDATES).unwrap().scores == (0.0, 0.5, 0.7)


def test_raw_numbers_of_a_service_of_ones_own_become_shares_in_the_same_order() -> None:
    with reranking("tei", scored(-4.0, 8.0, 0.0), scored(0.1, 0.2, 0.3)) as (reranker, _):
        first = reranker.rerank(QUESTION, CANDIDATES).unwrap().scores
        assert first == pytest.approx((1 / (1 + math.exp(4)), 1 / (1 + math.exp(-8)), 0.5))
        # A model that gives raw numbers goes on giving them.
        second = reranker.rerank(QUESTION, CANDIDATES).unwrap().scores
        assert second == pytest.approx(tuple(1 / (1 + math.exp(-it)) for it in (0.1, 0.2, 0.3)))


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=20))
def test_any_scores_become_shares_without_a_change_of_order(scores: list[float]) -> None:
    shares = to_unit(scores, Scale.ANY)
    assert all(0.0 <= share <= 1.0 for share in shares)
    pairs = sorted(zip(scores, shares, strict=True))
    assert [share for _, share in pairs] == sorted(shares)


def test_calls_of_many_threads_do_not_mix() -> None:
    with reranking("vllm") as (reranker, _):
        results: dict[int, Sequence[float | None]] = {}

        def ask(number: int) -> None:
            passages = [Hit("x", f"word{number} more", 0.5), Hit("y", "nothing", 0.5)]
            results[number] = reranker.rerank(Question(f"word{number}"), passages).unwrap().scores

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == dict.fromkeys(range(8), (1.0, 0.0))


# ---------------------------------------------------------------- settings


@pytest.mark.parametrize("provider", ["cohere", "voyage", "jina"])
@pytest.mark.parametrize("key", [None, "", "  "])
def test_a_service_of_others_needs_a_key(provider: str, key: str | None) -> None:
    with pytest.raises(InvalidSettings, match=rf"`rerank\.api_key` is needed for `{provider}`\. Set HYBRIDRAG_RERANK_"):
        load_reranker(provider, api_key=key)


def test_a_service_of_ones_own_needs_an_address() -> None:
    with pytest.raises(InvalidSettings, match=r"`rerank\.base_url` is needed for `tei`\. Set it to"):
        load_reranker("tei")


def test_an_unknown_service_is_refused() -> None:
    with pytest.raises(InvalidSettings, match=r"must be one of cohere, voyage, jina, tei, found 'cohear'"):
        load_reranker("cohear")


def test_a_reranker_says_who_it_is() -> None:
    assert load_reranker("cohere", api_key=KEY).name == "cohere"
    assert repr(load_reranker("cohere", api_key=KEY)) == "RemoteReranker('cohere', 'api.cohere.com')"


# ---------------------------------------------------------------- in time


def test_what_is_late_is_not_waited_for() -> None:
    hold = threading.Event()
    try:
        outcomes = each_in_time([lambda: True, lambda: hold.wait(30)], 0.05)
    finally:
        hold.set()
    assert outcomes[0] == Ok(value=True)
    assert isinstance(outcomes[1], Failed)
    assert isinstance(outcomes[1].error, TimeoutError)


def test_what_an_action_raises_is_raised_where_it_was_asked_for() -> None:
    with pytest.raises(ZeroDivisionError):
        in_time(lambda: 1 // 0, 5)


def test_a_call_by_address_fails_in_the_same_words() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for address, reason in [(f"http://127.0.0.1:{port}", "nothing answers there"), ("http://h:port", "InvalidURL")]:
        service = RemoteService(address, key_setting="web.api_key")
        with pytest.raises(ProviderError, match=reason):
            service.get("/search", {"q": "tea"})
        service.close()
