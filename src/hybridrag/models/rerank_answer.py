"""Read what a `/rerank` service answered: every passage scored once, each score a number, or a reason why not.

{"results": [{"index": 1, "relevance_score": 0.9}, ...]}  Cohere, Jina, vLLM
{"data": [{"index": 1, "relevance_score": 0.9}, ...]}     Voyage
[{"index": 1, "score": 0.9}, ...]                         Text Embeddings Inference
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

ROUNDING = 1e-3
"""How far outside its range a score of half-precision arithmetic may lie."""


class Scale(StrEnum):
    """What the scores of a service are."""

    UNIT = "unit"
    """0-1; anything else is wrong."""
    COSINE = "cosine"
    """Late interaction gives -1 to 1; below 0 is as good as 0."""
    ANY = "any"
    """0-1, or the model's raw numbers, which the logistic function brings there without changing their order."""


@dataclass(frozen=True, slots=True)
class RerankAnswer:
    """What one request gave."""

    scores: tuple[float, ...]
    """As the service gave them, in the order of the passages."""
    tokens: int | None = None
    """Where the service counts them."""
    units: int | None = None
    """What it bills, where it says so."""
    model: str | None = None


def read_answer(answer: Any, count: int) -> RerankAnswer:
    """The scores of `count` passages in their order.

    [{"index": 1, "score": 0.9}, {"index": 0, "score": 0.2}], 2 -> (0.2, 0.9)

    Raises:
        ValueError: the answer is of another shape, or lies; says how in one clause.
    """
    scores: list[float | None] = [None] * count
    for item in _items(answer):
        place = _place(item, count)
        if scores[place] is not None:
            msg = f"it scored passage {place + 1} twice"
            raise ValueError(msg)
        scores[place] = _score(item, place)
    found = [score for score in scores if score is not None]
    if len(found) != count:
        msg = f"it scored {len(found)} of {count} passages"
        raise ValueError(msg)
    return RerankAnswer(
        tuple(found),
        tokens=_count(answer, "usage", "total_tokens"),
        units=_count(answer, "meta", "billed_units", "search_units"),
        model=_model(answer),
    )


def to_unit(scores: Sequence[float], scale: Scale, *, raw: bool = False) -> tuple[float, ...]:
    """Scores within 0-1.

    (-2.0, 3.0), ANY -> (0.12, 0.95); (-0.2, 0.7), COSINE -> (0.0, 0.7)

    Raises:
        ValueError: a score is outside what the scale allows.
    """
    if scale is Scale.ANY and (raw or looks_raw(scores)):
        return tuple(0.5 * (1.0 + math.tanh(score / 2.0)) for score in scores)
    lowest = -1.0 if scale is Scale.COSINE else 0.0
    for place, score in enumerate(scores):
        if not lowest - ROUNDING <= score <= 1.0 + ROUNDING:
            msg = f"the score of passage {place + 1} is {score:.4g}, outside {lowest:g} to 1"
            raise ValueError(msg)
    return tuple(min(1.0, max(0.0, score)) for score in scores)


def looks_raw(scores: Sequence[float]) -> bool:
    """Whether some score is outside 0-1."""
    return any(not -ROUNDING <= score <= 1.0 + ROUNDING for score in scores)


def _items(answer: Any) -> list[dict[str, Any]]:
    items = answer
    if isinstance(answer, dict):
        items = answer.get("results", answer.get("data"))
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        msg = "its answer holds no list of scores"
        raise ValueError(msg)
    return items


def _place(item: dict[str, Any], count: int) -> int:
    place = item.get("index")
    if type(place) is not int:
        msg = "one of its scores does not say for which passage"
        raise ValueError(msg)
    if not 0 <= place < count:
        msg = f"it scored passage {place + 1}, and there are {count}"
        raise ValueError(msg)
    return place


def _score(item: dict[str, Any], place: int) -> float:
    value: Any = item.get("relevance_score", item.get("score"))
    try:
        score = float(value) if type(value) in {int, float} else math.nan
    except OverflowError:
        score = math.nan
    if not math.isfinite(score):
        msg = f"the score of passage {place + 1} is not a number"
        raise ValueError(msg)
    return score


def _count(answer: Any, *path: str) -> int | None:
    """A count from inside the answer, where it is one."""
    value = answer
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    return whole if type(whole) is int and whole >= 0 else None


def _model(answer: Any) -> str | None:
    model = answer.get("model") if isinstance(answer, dict) else None
    return model if isinstance(model, str) and model else None
