"""What every embedder promises, as a suite to run against yours; and `HashEmbedder`, the deterministic fake.

from hybridrag.testing.embedders import check_embedder

def test_my_embedder_keeps_the_contract():
    check_embedder(MyEmbedder())
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from hybridrag.models.hash_embedder import HashEmbedder
from hybridrag.protocols import Embedder, ModelInfo, Passages
from hybridrag.types.base import Float32Array

__all__ = ["HashEmbedder", "check_embedder"]

TOLERANCE = 1e-3
"""How far apart two vectors of the same text may be, in any number of theirs."""

ENGLISH = "The harbour of the town was built in 1871 and is still used by fishing boats."
JAPANESE = "この町の港は一八七一年に造られ、今も漁船に使われています。"
ODD_TEXTS = (
    "",
    " \n\t ",
    "a",
    "👨‍👩‍👧 家族 🎉",
    "ﾊﾝｶｸ ｶﾅ と ＦＵＬＬ　ＷＩＤＴＨ①",
    "か\u3099き\u3099 e\u0301",
    "line\r\none\x00two\x07\u200b\ufeff",
    "half of a pair \ud83d here",
    "<s> </s> <unk> [CLS] [SEP] <mask>",
    "x" * 3000,
    "長い文。" * 1500,
)
PAIRS = (
    ("When was the harbour of the town built?", ENGLISH, "Boil the rice for ten minutes and add a little salt."),
    ("この町の港はいつ造られましたか", JAPANESE, "ごはんに少し塩をふる。"),
)


def check_embedder(embedder: Embedder) -> None:
    """Assert every promise of `hybridrag.protocols.Embedder`.

    check_embedder(HashEmbedder()) -> None

    Raises:
        AssertionError: a promise is broken; the message says which.
    """
    checks: tuple[Callable[[Embedder], None], ...] = (
        _check_info,
        _check_empty_list,
        _check_shapes,
        _check_odd_texts,
        _check_batch_independence,
        _check_threads,
        _check_token_vectors,
        _check_token_spans,
        _check_nearness,
    )
    for check in checks:
        check(embedder)


def _check_info(embedder: Embedder) -> None:
    assert isinstance(embedder, Embedder), "it lacks a method of the protocol"
    info = embedder.info
    assert isinstance(info, ModelInfo), "`info` is no ModelInfo"
    assert info.name, "the model has no name"
    assert info.fingerprint, "the model has no fingerprint"
    assert info.dimension > 0, "the dimension is not positive"
    assert info.max_tokens > 0, "max_tokens is not positive"
    assert embedder.info == info, "`info` changes from call to call"


def _check_empty_list(embedder: Embedder) -> None:
    for tokens in (False, True):
        passages = embedder.embed_passages([], tokens=tokens)
        assert passages.pooled.shape == (0, embedder.info.dimension), "no texts must give a (0, dimension) array"
        assert passages.pooled.dtype == np.float32, "vectors must be float32"
        assert not passages.tokens, "no texts have no token vectors"


def _check_shapes(embedder: Embedder) -> None:
    passages = embedder.embed_passages([ENGLISH, JAPANESE])
    _assert_unit(passages.pooled, 2, embedder)
    assert passages.tokens is None, "token vectors were not asked for"
    _assert_unit(embedder.embed_query("港はどこですか").pooled, 1, embedder)


def _check_odd_texts(embedder: Embedder) -> None:
    _assert_unit(embedder.embed_passages(ODD_TEXTS).pooled, len(ODD_TEXTS), embedder)
    for text in ODD_TEXTS:
        _assert_unit(embedder.embed_query(text).pooled, 1, embedder)


def _check_batch_independence(embedder: Embedder) -> None:
    texts = [ENGLISH, "a", JAPANESE, ENGLISH * 10, ENGLISH]
    together = embedder.embed_passages(texts).pooled
    backwards = embedder.embed_passages(texts[::-1]).pooled[::-1]
    alone = np.concatenate([embedder.embed_passages([text]).pooled for text in texts])
    _assert_same(together, backwards, "the order of a batch changes a vector")
    _assert_same(together, alone, "the batch around a text changes its vector")
    _assert_same(together[0], together[-1], "the same text twice gives two vectors")


def _check_threads(embedder: Embedder) -> None:
    texts = [f"{ENGLISH} {number}" for number in range(8)]
    expected = embedder.embed_passages(texts).pooled
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: embedder.embed_passages([text]).pooled[0], texts))
    _assert_same(np.stack(found), expected, "calls from several threads disturb one another")


def _check_token_vectors(embedder: Embedder) -> None:
    texts = [ENGLISH, "", JAPANESE, "長い文。" * 1500]
    passages = embedder.embed_passages(texts, tokens=True)
    _assert_unit(passages.pooled, len(texts), embedder)
    _assert_same(passages.pooled, embedder.embed_passages(texts).pooled, "asking for tokens changes the vector")
    query = embedder.embed_query(ENGLISH, tokens=True)
    if passages.tokens is None:
        assert query.tokens is None, "a question has token vectors and a passage has none"
        return
    _assert_counts(embedder, texts, passages)
    _assert_counts(embedder, [ENGLISH], query)


def _assert_counts(embedder: Embedder, texts: list[str], passages: Passages) -> None:
    assert passages.tokens is not None, "token vectors are missing"
    assert len(passages.tokens) == len(texts), "every text must have its token vectors"
    for text, matrix in zip(texts, passages.tokens, strict=True):
        count = min(len(embedder.token_spans(text)), embedder.info.max_tokens)
        _assert_unit(matrix, count, embedder)


def _check_token_spans(embedder: Embedder) -> None:
    for text in (ENGLISH, JAPANESE, *ODD_TEXTS):
        spans = embedder.token_spans(text)
        assert spans.dtype == np.int32, "token_spans must be int32"
        assert spans.ndim == 2, "token_spans must be (n, 2)"
        assert spans.shape[1] == 2, "token_spans must be (n, 2)"
        assert (spans >= 0).all(), "a span starts before the text"
        assert (spans <= len(text)).all(), "a span ends after the text"
        assert (spans[:, 0] <= spans[:, 1]).all(), "a span ends before it starts"
        assert (np.diff(spans, axis=0) >= 0).all(), "spans must ascend"
    for text in (ENGLISH, JAPANESE):
        covered = {place for start, end in embedder.token_spans(text).tolist() for place in range(start, end)}
        missing = [char for place, char in enumerate(text) if place not in covered and not char.isspace()]
        assert not missing, f"no token covers {missing}"


def _check_nearness(embedder: Embedder) -> None:
    for question, answer, other in PAIRS:
        query = embedder.embed_query(question).pooled[0]
        near, far = embedder.embed_passages([answer, other]).pooled @ query
        assert near > far, f"{question!r} is nearer to {other!r} than to its answer"


def _assert_unit(vectors: Float32Array, rows: int, embedder: Embedder) -> None:
    assert vectors.shape == (rows, embedder.info.dimension), f"expected {rows} vectors, got shape {vectors.shape}"
    assert vectors.dtype == np.float32, "vectors must be float32"
    lengths = np.linalg.norm(vectors, axis=1)
    assert np.allclose(lengths, 1.0, atol=TOLERANCE), "vectors must have length one"


def _assert_same(left: Float32Array, right: Float32Array, message: str) -> None:
    assert np.abs(left - right).max() <= TOLERANCE, message
