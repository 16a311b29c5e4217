from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hybridrag.errors import StoreCorrupt
from hybridrag.models.hash_embedder import HashEmbedder
from hybridrag.models.token_vectors import pack_passages, packer_for
from hybridrag.protocols import Question, Reranker, Reranking
from hybridrag.result import Err
from hybridrag.search.late import LateInteraction, best_matches, weigh
from hybridrag.testing.promises import check_reranker
from hybridrag.types.results import Hit

TEXTS = {
    1: "The harbour of the town was built in 1871.",
    2: "Boil the rice for ten minutes and add a little salt.",
    3: "この町の港は一八七一年に造られ、今も漁船に使われています。",
    4: "The fishing boats are still used when the weather allows it.",
}
EMBEDDER = HashEmbedder()
PACKER = packer_for(EMBEDDER.info)


@pytest.fixture(scope="module")
def stored() -> dict[int, bytes]:
    tokens = EMBEDDER.embed_passages(list(TEXTS.values()), tokens=True).tokens
    assert tokens is not None
    return dict(zip(TEXTS, pack_passages(PACKER, EMBEDDER, list(TEXTS.values()), tokens), strict=True))


def reranker(stored: Mapping[int, bytes]) -> LateInteraction:
    return LateInteraction(lambda keys: {key: stored[key] for key in keys if key in stored}, PACKER)


def candidates(keys: Sequence[int]) -> list[Hit]:
    return [Hit(id=str(key), text=TEXTS.get(key, ""), score=0.5, key=key) for key in keys]


def ask(text: str) -> Question:
    tokens = EMBEDDER.embed_query(text, tokens=True).tokens
    assert tokens is not None
    return Question(text=text, tokens=tokens[0])


def scores(result: object) -> tuple[float | None, ...]:
    value = getattr(result, "value", None)
    assert isinstance(value, Reranking)
    return value.scores


def test_the_passage_that_holds_the_words_of_the_question_scores_highest(stored: dict[int, bytes]) -> None:
    late = reranker(stored)
    assert isinstance(late, Reranker)
    assert late.name == "late-interaction"
    for text, best in (("when was the harbour built?", 0), ("how long to boil rice", 1), ("港はいつ造られた", 2)):
        found = scores(late.rerank(ask(text), candidates([1, 2, 3, 4])))
        values = [score for score in found if score is not None]
        assert len(values) == 4
        assert int(np.argmax(values)) == best
        assert all(0 <= value <= 1 for value in values)


def test_it_keeps_the_contract(stored: dict[int, bytes]) -> None:
    check_reranker(reranker(stored))


def test_a_candidate_without_token_vectors_has_no_score(stored: dict[int, bytes]) -> None:
    foreign = packer_for(HashEmbedder(dimension=64).info).pack(np.eye(64, dtype=np.float32)[:2])
    damaged = {**stored, 2: b"damaged", 4: foreign}
    found = scores(reranker(damaged).rerank(ask("harbour"), candidates([2, 1, 99, 0, 4])))
    assert [score is not None for score in found] == [False, True, False, False, False]


def test_without_token_vectors_of_the_question_nothing_has_a_score(stored: dict[int, bytes]) -> None:
    late = reranker(stored)
    nothing = np.zeros((0, 256), dtype=np.float32)
    for question in (Question("harbour"), Question("harbour", tokens=nothing)):
        assert scores(late.rerank(question, candidates([1, 2]))) == (None, None)
    assert scores(late.rerank(ask("harbour"), candidates([99]))) == (None,)
    assert scores(late.rerank(ask("harbour"), [])) == ()


def test_scores_do_not_depend_on_the_order_of_candidates(stored: dict[int, bytes]) -> None:
    late = reranker(stored)
    forwards = scores(late.rerank(ask("harbour built"), candidates([1, 2, 3])))
    backwards = scores(late.rerank(ask("harbour built"), candidates([3, 2, 1])))
    assert np.allclose(np.array(forwards, dtype=float), np.array(backwards[::-1], dtype=float), atol=1e-5)


def test_a_store_that_cannot_be_read_is_an_error_and_no_exception(tmp_path: Path) -> None:
    def read(keys: Sequence[int]) -> Mapping[int, bytes]:
        raise StoreCorrupt(tmp_path, f"{len(keys)} rows")

    result = LateInteraction(read, PACKER).rerank(ask("harbour"), candidates([1]))
    assert isinstance(result, Err)
    assert isinstance(result.error, StoreCorrupt)


def test_each_token_of_the_question_finds_its_best_match_in_each_candidate() -> None:
    question = np.eye(2, dtype=np.float32)
    vectors = np.array([[0, 1], [1, 0], [0, 1]], dtype=np.float32)
    assert best_matches(question, vectors, [2, 1]).tolist() == [[1, 1], [0, 1]]


def test_a_token_that_matches_everywhere_alike_tells_nothing() -> None:
    assert np.allclose(weigh(np.array([[0.9, 0.8], [0.3, 0.8]], dtype=np.float32)), [0.9, 0.3])
    assert np.allclose(weigh(np.array([[0.9, 0.5]], dtype=np.float32)), [0.7])


def test_what_unrelated_passages_reach_is_nothing(stored: dict[int, bytes]) -> None:
    def read(keys: Sequence[int]) -> Mapping[int, bytes]:
        return {key: stored[key] for key in keys}

    plain = LateInteraction(read, PACKER).rerank(ask("harbour built"), candidates([1, 2]))
    stretched = LateInteraction(read, replace(PACKER, unrelated=0.2)).rerank(ask("harbour built"), candidates([1, 2]))
    for before, after in zip(scores(plain), scores(stretched), strict=True):
        assert before is not None
        assert after == pytest.approx(max(0.0, (before - 0.2) / 0.8), abs=1e-5)


def test_many_threads_get_the_same_scores(stored: dict[int, bytes]) -> None:
    late = reranker(stored)
    questions = [ask("harbour"), ask("rice and salt"), ask("漁船")] * 10
    alone = [scores(late.rerank(question, candidates([1, 2, 3, 4]))) for question in questions]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda one: scores(late.rerank(one, candidates([1, 2, 3, 4]))), questions))
    assert together == alone
