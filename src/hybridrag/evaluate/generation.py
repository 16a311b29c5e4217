"""How good an answer is and what it was written from: the four measures of RAGAS, by whatever judge is given.

With `SupportByWords` they need no LLM; with `SupportByLlm` they ask one. A judge that fails gives an `Err`.
"""

from __future__ import annotations

from collections.abc import Sequence

from hybridrag.evaluate.metrics import average_precision
from hybridrag.evaluate.support import SupportJudge
from hybridrag.language.sentences import sentences
from hybridrag.queries.question import read_question
from hybridrag.result import Ok, Result

SUPPORTED_FROM = 0.5
"""A statement counts as supported, and a passage as useful, from here on."""


def faithfulness(answer: str, passages: Sequence[str], judge: SupportJudge) -> Result[float]:
    """The share of the answer's sentences that the passages support; an answer that says nothing is faithful.

    ("The fee is 12 crowns. It is paid in gold.", ["The fee is 12 crowns."]) -> Ok(0.5)
    """
    return _supported_share(answer, passages, judge, empty=1.0)


def context_recall(reference: str, passages: Sequence[str], judge: SupportJudge) -> Result[float]:
    """The share of the reference answer's sentences that the passages support: whether all of it could be found.

    ("The fee is 12 crowns.", ["Boats pay a fee of 12 crowns."]) -> Ok(1.0)
    """
    return _supported_share(reference, passages, judge, empty=0.0)


def context_precision(question: str, passages: Sequence[str], judge: SupportJudge) -> Result[float]:
    """The mean precision at the rank of each useful passage: 1 when all useful ones stand before all others.

    ("What is the fee?", ["About birds.", "The fee is 12 crowns."]) -> Ok(0.5)
    """
    judged = judge.bears(question, passages)
    if not isinstance(judged, Ok):
        return judged
    names = [str(place) for place in range(len(passages))]
    useful = {name: 1 for name, score in zip(names, judged.value, strict=True) if score >= SUPPORTED_FROM}
    return Ok(average_precision(names, useful))


def answer_relevancy(question: str, answer: str, judge: SupportJudge) -> Result[float]:
    """How far the answer bears on the question, whether or not it is true.

    ("What is the fee?", "The fee is 12 crowns.") -> Ok(about 1)

    ("When was Orin Works founded?", "It was founded in 2011.") -> Ok(about 1): an answer need not repeat the names of
    its question. It is read under them, and counts by what it adds to them.
    """
    names = " ".join(name.text for name in read_question(question).names)
    judged = judge.bears(question, [f"{names}\n{answer}", names] if names else [answer])
    if not isinstance(judged, Ok):
        return judged
    bears, without = judged.value if names else (judged.value[0], 0.0)
    return Ok(max(0.0, bears - without) / (1.0 - without) if without < 1.0 else 0.0)


def _supported_share(text: str, passages: Sequence[str], judge: SupportJudge, *, empty: float) -> Result[float]:
    statements = [text[start:end].strip() for start, end in sentences(text)]
    if not statements:
        return Ok(empty)
    judged = judge.supports(statements, passages)
    if not isinstance(judged, Ok):
        return judged
    return Ok(sum(score >= SUPPORTED_FROM for score in judged.value) / len(statements))
