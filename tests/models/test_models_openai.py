from __future__ import annotations

import base64
from http.server import BaseHTTPRequestHandler
from typing import Any

import numpy as np
import pytest

from hybridrag.errors import ProviderError
from hybridrag.models.json_service import Patience
from hybridrag.models.openai_embedder import OpenAIEmbedder
from hybridrag.testing.embedders import HashEmbedder, check_embedder
from model_server import Answer, reply, serving

QUICK = Patience(timeout_seconds=5, deadline_seconds=10, max_retries=1, pause_seconds=0.01)
FAKE = HashEmbedder(dimension=48)


def vectors_of(texts: list[str]) -> list[list[float]]:
    """Three times too long, as a service that does not normalise."""
    return [[3 * number for number in row] for row in FAKE.embed_passages(texts).pooled.tolist()]


def embeddings(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
    """A service that does its work, last text first."""
    data = [{"index": place, "embedding": row} for place, row in enumerate(vectors_of(body["input"]))]
    reply(200, {"object": "list", "data": data[::-1]})(handler, body)


def in_base64(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
    blobs = [base64.b64encode(np.array(row, dtype="<f4").tobytes()).decode() for row in vectors_of(body["input"])]
    reply(200, {"data": [{"embedding": blob} for blob in blobs]})(handler, body)


def at_most(count: int) -> Answer:
    """A service that calls larger batches too large."""

    def answer(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        if len(body["input"]) > count:
            reply(413, {"error": "batch too large"})(handler, body)
        else:
            embeddings(handler, body)

    return answer


def embedder(url: str, **options: Any) -> OpenAIEmbedder:
    return OpenAIEmbedder("test-model", base_url=url, patience=QUICK, **options)


def test_a_service_keeps_the_contract() -> None:
    with serving(embeddings) as server:
        remote = embedder(server.url)
        check_embedder(remote)
        remote.close()


def test_vectors_come_in_the_order_of_the_texts_at_length_one() -> None:
    texts = ["apple", "sky", "river", "stone"]
    with serving(embeddings) as server:
        remote = embedder(server.url)
        found = remote.embed_passages(texts).pooled
        remote.close()
    assert np.allclose(found, FAKE.embed_passages(texts).pooled, atol=1e-5)


def test_an_answer_in_base64_is_understood() -> None:
    with serving(in_base64) as server:
        remote = embedder(server.url)
        found = remote.embed_query("apple").pooled
        remote.close()
    assert np.allclose(found, FAKE.embed_query("apple").pooled, atol=1e-5)


def test_the_request_names_model_input_and_dimensions() -> None:
    with serving(embeddings) as server:
        remote = embedder(f"{server.url}/embeddings/", dimensions=48, api_key="k")
        remote.embed_query("apple")
        remote.close()
        assert server.bodies == [{"model": "test-model", "input": ["apple"], "dimensions": 48}]
        assert server.paths == ["/v1/embeddings"]
        assert server.headers[0]["authorization"] == "Bearer k"


def test_without_a_key_none_is_sent() -> None:
    with serving(embeddings) as server:
        remote = embedder(server.url, dimensions=48)
        remote.embed_query("apple")
        remote.close()
        assert "authorization" not in server.headers[0]


def test_texts_are_sent_in_batches_of_items_and_of_characters() -> None:
    with serving(embeddings) as server:
        remote = embedder(server.url, dimensions=48, batch_size=3, max_batch_chars=50)
        remote.embed_passages(["a"] * 7 + ["b" * 40, "c" * 40, "d" * 90])
        remote.close()
        sizes = sorted(len(body["input"]) for body in server.bodies)
    assert sizes == [1, 1, 2, 3, 3]


def test_a_batch_that_is_too_large_is_sent_in_halves() -> None:
    texts = [f"text {number}" for number in range(5)]
    with serving(at_most(2)) as server:
        remote = embedder(server.url, dimensions=48)
        found = remote.embed_passages(texts).pooled
        remote.close()
    assert np.allclose(found, FAKE.embed_passages(texts).pooled, atol=1e-5)


def test_a_single_text_that_is_too_large_is_an_error() -> None:
    with serving(at_most(0)) as server:
        remote = embedder(server.url, dimensions=48)
        with pytest.raises(ProviderError, match="batch too large"):
            remote.embed_passages(["a", "b"])
        remote.close()


def test_an_empty_text_is_sent_as_something_that_services_accept() -> None:
    with serving(embeddings) as server:
        remote = embedder(server.url, dimensions=48)
        remote.embed_passages(["", "  \n"])
        remote.close()
        assert all(text.strip() for text in server.bodies[0]["input"])


def test_a_text_past_the_limit_is_cut() -> None:
    with serving(embeddings) as server:
        remote = embedder(server.url, dimensions=48, max_tokens=4)
        remote.embed_query("one two three four five six")
        remote.close()
        assert server.bodies[0]["input"] == ["one two three four"]


def test_a_model_that_wants_prefixes_gets_them() -> None:
    with serving(embeddings) as server:
        remote = OpenAIEmbedder("intfloat/multilingual-e5-large", base_url=server.url, dimensions=48, patience=QUICK)
        remote.embed_query("apple")
        remote.embed_passages(["pear"])
        remote.close()
        assert [body["input"] for body in server.bodies] == [["query: apple"], ["passage: pear"]]


def test_info_asks_once_for_a_length_that_nothing_else_tells() -> None:
    with serving(embeddings) as server:
        remote = embedder(server.url)
        assert remote.info.dimension == 48
        assert remote.info is remote.info
        remote.close()
        assert len(server.bodies) == 1
    assert OpenAIEmbedder("text-embedding-3-small", api_key="k").info.dimension == 1536


def test_infos_differ_where_vectors_do() -> None:
    infos = {
        OpenAIEmbedder("a", dimensions=8, api_key="k").info,
        OpenAIEmbedder("b", dimensions=8, api_key="k").info,
        OpenAIEmbedder("a", dimensions=16, api_key="k").info,
    }
    assert len(infos) == 3
    # A service that moves keeps its vectors.
    assert OpenAIEmbedder("a", dimensions=8, base_url="http://x").info in infos


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ([], "no list `data`"),
        ({"data": "x"}, "no list `data`"),
        ({"data": [1]}, "no list `data`"),
        ({"data": []}, "0 vectors for 1 texts"),
        ({"data": [{"index": 5, "embedding": [1.0]}]}, "not numbered"),
        ({"data": [{"index": True, "embedding": [1.0]}]}, "not numbered"),
        ({"data": [{"index": 0}]}, "not a list of numbers"),
        ({"data": [{"index": 0, "embedding": ["a"]}]}, "not a list of numbers"),
        ({"data": [{"index": 0, "embedding": "%%%"}]}, "not a list of numbers"),
        ({"data": [{"index": 0, "embedding": [[1.0], [2.0, 3.0]]}]}, "not a list of numbers"),
        ({"data": [{"index": 0, "embedding": []}]}, "empty, zero or not finite"),
        ({"data": [{"index": 0, "embedding": [[1.0]]}]}, "empty, zero or not finite"),
        ({"data": [{"index": 0, "embedding": [0.0, 0.0]}]}, "empty, zero or not finite"),
        ({"data": [{"index": 0, "embedding": [1.0, float("nan")]}]}, "empty, zero or not finite"),
        ({"data": [{"index": 0, "embedding": [1.0, 2.0]}]}, "length 2 where 48 was expected"),
    ],
)
def test_a_wrong_answer_is_an_error_that_says_what_is_wrong(answer: object, reason: str) -> None:
    with serving(reply(200, answer)) as server:
        remote = embedder(server.url, dimensions=48)
        with pytest.raises(ProviderError, match=reason):
            remote.embed_query("apple")
        remote.close()


def test_vectors_of_different_length_are_an_error() -> None:
    data = [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}]
    with serving(reply(200, {"data": data})) as server:
        remote = embedder(server.url)
        with pytest.raises(ProviderError, match="differ in length"):
            remote.embed_passages(["a", "b"])
        remote.close()
