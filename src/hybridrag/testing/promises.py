"""What rerankers, web searches and judges promise, as suites to run against yours.

from hybridrag.testing.promises import check_reranker

def test_my_reranker_keeps_the_contract():
    check_reranker(MyReranker())
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from hybridrag.errors import RAGError
from hybridrag.protocols import Judge, Judgement, Question, Reranker, Reranking, WebSearch
from hybridrag.result import Err, Ok, Result
from hybridrag.types.results import Hit
from hybridrag.types.sources import WebPage

__all__ = ["check_judge", "check_reranker", "check_web_search"]

ODD_TEXTS = (
    "",
    " \n\t ",
    "line\r\none\x00two\x07\u200b\ufeff",
    "half of a pair \ud83d here",
    "👨‍👩‍👧 か\u3099 ＦＵＬＬ",
    '"}]}\n```json\n{"role": "system"}',
    "長い文。" * 1500,
)


def _candidates(texts: Sequence[str]) -> list[Hit]:
    return [Hit(str(place), text, 0.5, title="A title" if place % 2 else "") for place, text in enumerate(texts)]


def check_reranker(reranker: Reranker) -> None:
    """Assert every promise of `hybridrag.protocols.Reranker`; scores about sixty short passages.

    check_reranker(load_reranker("tei", base_url=url)) -> None

    Raises:
        AssertionError: a promise is broken; the message says which.
    """
    assert isinstance(reranker, Reranker), "it lacks a method of the protocol"
    assert reranker.name, "it has no name"
    empty = reranker.rerank(Question("Why?"), [])
    assert isinstance(empty, Ok), "no candidates are no failure"
    assert empty.value.scores == (), "no candidates give no scores"
    for question in ("When was the harbour built?", "港はいつ造られましたか", *ODD_TEXTS):
        _assert_reranking(reranker.rerank(Question(question), _candidates(["It was built in 1871."])), 1)
    _assert_reranking(reranker.rerank(Question("What?"), _candidates(ODD_TEXTS)), len(ODD_TEXTS))
    _assert_reranking(reranker.rerank(Question("What?"), _candidates(["A."] * 40)), 40)
    _assert_reranking(reranker.rerank(Question("What?"), _candidates(["A."]), timeout=0.0), 1)
    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(lambda text: reranker.rerank(Question(text), _candidates(["A.", "B."])), "abcd"):
            _assert_reranking(result, 2)


def _assert_reranking(result: Result[Reranking], count: int) -> None:
    if not _is_ok(result):
        return
    reranking = result.unwrap()
    assert len(reranking.scores) == count, f"{len(reranking.scores)} scores for {count} candidates"
    assert all(score is None or _is_share(score) for score in reranking.scores), "a score is outside 0 to 1"
    assert reranking.model, "it names no model"
    assert reranking.tokens >= 0, "tokens cannot be negative"
    assert reranking.cost >= 0, "a cost cannot be negative"


def check_web_search(web: WebSearch) -> None:
    """Assert every promise of `hybridrag.protocols.WebSearch` that shows from outside; asks about ten questions.

    check_web_search(load_web_search("searxng", base_url=url)) -> None

    Raises:
        AssertionError: a promise is broken; the message says which.
    """
    assert isinstance(web, WebSearch), "it lacks a method of the protocol"
    assert web.name, "it has no name"
    for query in ("green tea", "緑茶の効能", "x" * 1000, *ODD_TEXTS):
        _assert_pages(web.search(query, limit=3), 3)
    _assert_pages(web.search("green tea", limit=1), 1)
    _assert_pages(web.search("green tea", limit=0), 0)
    _assert_pages(web.search("green tea", limit=3, timeout=0.0), 3)


def _assert_pages(result: Result[Sequence[WebPage]], limit: int) -> None:
    if not _is_ok(result):
        return
    pages = result.unwrap()
    assert len(pages) <= limit, f"{len(pages)} pages where {limit} were asked for"
    assert len({page.url for page in pages}) == len(pages), "a page comes twice"
    for page in pages:
        assert re.match(r"https?://[^/@\s]+\.[^/@\s]+", page.url), f"{page.url!r} is no public address"
        assert page.title or page.text, "a page without any text"
        assert not re.search(r"[\x00-\x08\x0e-\x1f]", page.title + page.text), "a control character"
        assert (page.title + page.text).encode("utf-8"), "the text must be encodable"


def check_judge(judge: Judge) -> None:
    """Assert every promise of `hybridrag.protocols.Judge`; judges about ten short sets of passages.

    check_judge(LlmJudge(llm)) -> None

    Raises:
        AssertionError: a promise is broken; the message says which.
    """
    assert isinstance(judge, Judge), "it lacks a method of the protocol"
    assert judge.name, "it has no name"
    empty = judge.judge(Question("Why?"), [])
    assert isinstance(empty, Ok), "no candidates are no failure"
    assert empty.value.relevance == (), "no candidates have no relevance"
    assert empty.value.sufficient == 0.0, "no candidates are not sufficient"
    for question in ("When was the harbour built?", "港はいつ造られましたか", *ODD_TEXTS):
        _assert_judgement(judge.judge(Question(question), _candidates(["It was built in 1871.", "No."])), 2)
    _assert_judgement(judge.judge(Question("What?"), _candidates(ODD_TEXTS)), len(ODD_TEXTS))
    _assert_judgement(judge.judge(Question("What?"), _candidates(["A."]), timeout=0.001), 1)


def _assert_judgement(result: Result[Judgement], count: int) -> None:
    if not _is_ok(result):
        return
    judgement = result.unwrap()
    assert len(judgement.relevance) == count, f"{len(judgement.relevance)} probabilities for {count} candidates"
    assert all(_is_share(it) for it in judgement.relevance), "a probability is outside 0 to 1"
    assert _is_share(judgement.sufficient), "`sufficient` is outside 0 to 1"
    assert all(words.strip() for words in judgement.missing), "something missing is not said in words"


def _is_ok(result: Result[Any]) -> bool:
    """Whether there is something to look at; a failure must be one of the tree, in words."""
    if isinstance(result, Err):
        assert isinstance(result.error, RAGError), "an error must be of the one tree"
        assert str(result.error).strip(), "an error must say something"
        return False
    assert isinstance(result, Ok), f"neither Ok nor Err: {result!r}"
    return True


def _is_share(value: float) -> bool:
    return math.isfinite(value) and 0.0 <= value <= 1.0
