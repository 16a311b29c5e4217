"""Find settings that do better on a data set: tried on one half of its questions, reported on the other.

Knobs are turned one after the other, each from where the last one stands, until a round changes nothing; or every
combination is tried. What is tried twice is measured once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from hybridrag.evaluate.datasets import Dataset
from hybridrag.evaluate.resample import PairedDifference, paired_difference
from hybridrag.protocols import Embedder, ModelInfo, Passages

Value = str | int | float | bool
SettingsChoice = Mapping[str, Value]
"""Settings by key, as hybridrag.toml has them."""
TuneMeasure = Callable[[SettingsChoice], Mapping[str, float]]
"""The metric of each question, by its id, under these settings."""

ROUNDS = 3
"""Rounds of turning every knob; later ones seldom change anything."""
LEAST_GAIN = 0.0005
"""A better mean by less than this is noise, and no reason to leave a default."""


@dataclass(frozen=True, slots=True)
class TuneKnob:
    """One thing to try in several ways. An alternative may set several keys that belong together."""

    name: str
    alternatives: tuple[SettingsChoice, ...]
    around: Callable[[SettingsChoice], Sequence[SettingsChoice]] | None = None
    """What lies one step from a choice, for a knob that is turned step by step, as long as that helps; a grid takes
    the alternatives."""
    usual: bool = True
    """Whether it is turned unless knobs are named. Others change nothing that the usual metrics see."""


SEARCHES = ("keyword", "semantic", "graph")
STEP = 0.1
"""By which weight goes from one search to another: less is within the noise of a few hundred questions."""
GRID = 5
"""A grid over weights has steps of a fifth: 21 combinations for each kind of question."""


def _weight_knob(kind: str, *defaults: float) -> TuneKnob:
    """The weights of one kind of question, which always add up to 1."""
    keys = [f"search.weights.{kind}.{search}" for search in SEARCHES]
    grid = [(word / GRID, meaning / GRID) for word in range(GRID + 1) for meaning in range(GRID + 1 - word)]
    shares = [tuple(defaults), *((word, meaning, round(1 - word - meaning, 2)) for word, meaning in grid)]

    def around(choice: SettingsChoice) -> list[SettingsChoice]:
        """From each search to each other, a step or what is left of it."""
        found: list[SettingsChoice] = []
        for giver, taker in permutations(keys, 2):
            step = min(STEP, float(choice[giver]))
            if step > 0:
                moved = {giver: round(float(choice[giver]) - step, 2), taker: round(float(choice[taker]) + step, 2)}
                found.append({**{key: choice[key] for key in keys}, **moved})
        return found

    return TuneKnob(f"weights.{kind}", tuple(dict(zip(keys, some, strict=True)) for some in shares), around)


def _knob(key: str, *values: Value, usual: bool = True) -> TuneKnob:
    return TuneKnob(key, tuple({key: value} for value in values), usual=usual)


TUNE_KNOBS: tuple[TuneKnob, ...] = (
    TuneKnob(
        "fusion",
        ({"search.fusion": "score"}, *({"search.fusion": "rrf", "search.rrf_k": k} for k in (5, 20, 60, 120))),
    ),
    _knob("search.rrf_k", 5, 10, 20, 60, 120, usual=False),
    _weight_knob("local", 0.35, 0.35, 0.30),
    _weight_knob("relationship", 0.20, 0.20, 0.60),
    _weight_knob("global", 0.20, 0.30, 0.50),
    _weight_knob("hybrid", 0.33, 0.34, 0.33),
    _knob("search.candidates", 50, 100, 200, 400),
    _knob("search.walk.steps", 1, 2),
    _knob("search.walk.start_from", 4, 8, 16),
    _knob("search.walk.max_shared", 10, 30, 60),
    _knob("search.walk.in_passing", 0.25, 0.5, 1.0),
    _knob("search.walk.own_share", 0.0, 0.2, 0.5),
    _knob("rerank.blend", 0.0, 0.3, 0.5, 0.7, 0.9),
    _knob("rerank.top_k", 20, 50, 100),
    _knob("rerank.read_blend", 0.0, 0.2, 0.4, 0.6, 0.8),
    _knob("search.expand", True, False),
    _knob("search.min_confidence", 0.5, 0.6, 0.7),
    _knob("search.min_relevance", 0.0, 0.05, 0.1, 0.2, 0.3, 0.5, usual=False),
    TuneKnob(
        "verify.bounds",
        tuple(
            {"verify.correct_from": high, "verify.incorrect_until": low}
            for high, low in ((0.7, 0.3), (0.7, 0.4), (0.6, 0.3), (0.6, 0.4), (0.6, 0.5), (0.5, 0.3), (0.5, 0.4))
        ),
        usual=False,
    ),
)
"""What can be tuned. Not usual, for no other metric gains by them: `search.rrf_k` is for `search.fusion = "rrf"`,
`search.min_relevance` for the metric `F1@10`, `verify.bounds` for `verdict` with the recipe `corrective`."""


@dataclass(frozen=True, slots=True)
class TuneTrial:
    """Settings that were tried, and their mean on the training half."""

    choice: SettingsChoice
    mean: float


@dataclass(frozen=True, slots=True)
class Tuned:
    """What was found."""

    choice: SettingsChoice
    """What to set; empty where nothing did better than what is set."""
    trials: tuple[TuneTrial, ...]
    """Everything that was tried, in order; the first is what was set before."""
    training: PairedDifference
    """The gain on the half that it was chosen by, which flatters it."""
    held_out: PairedDifference
    """The gain on the other half, which does not."""

    @property
    def is_worth_it(self) -> bool:
        """Whether there is something to set, and it did not do worse on the half that it was not chosen by."""
        return bool(self.choice) and self.held_out.mean >= 0


class RememberingEmbedder:
    """An `Embedder` that embeds a question once, however often it is asked: trials differ in settings alone."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[tuple[str, bool], Passages] = {}

    @property
    def info(self) -> ModelInfo:
        """Which model this is."""
        return self._embedder.info

    def embed_passages(self, texts: Sequence[str], *, tokens: bool = False) -> Passages:
        """As the model does."""
        return self._embedder.embed_passages(texts, tokens=tokens)

    def embed_query(self, text: str, *, tokens: bool = False) -> Passages:
        """As the model does, or did."""
        key = (text, tokens)
        if key not in self._known:
            self._known[key] = self._embedder.embed_query(text, tokens=tokens)
        return self._known[key]

    def token_spans(self, text: str) -> NDArray[np.int32]:
        """As the model does."""
        return self._embedder.token_spans(text)


def dataset_halves(dataset: Dataset) -> tuple[Dataset, Dataset]:
    """The questions in two halves, by the hash of their ids within each type: always the same two.

    Raises:
        ValueError: there are fewer than two questions.
    """
    if len(dataset.queries) < 2:
        msg = "two halves need at least two questions"
        raise ValueError(msg)
    by_lot = sorted(dataset.queries, key=lambda query: (query.type, blake2b(query.id.encode()).digest()))
    first = {query.id for query in by_lot[::2]}
    return (
        replace(dataset, queries=tuple(query for query in dataset.queries if query.id in first)),
        replace(dataset, queries=tuple(query for query in dataset.queries if query.id not in first)),
    )


def tune(
    train: TuneMeasure,
    held_out: TuneMeasure,
    *,
    knobs: Sequence[TuneKnob] = TUNE_KNOBS,
    current: SettingsChoice | None = None,
    grid: bool = False,
    on_trial: Callable[[TuneTrial], None] | None = None,
) -> Tuned:
    """The best settings by the training half, with what they are worth on the other.

    `current` are the settings that the knobs start from; `grid` tries every combination instead of one knob at a time.
    """
    start = dict(current or {})
    known: dict[tuple[tuple[str, Value], ...], Mapping[str, float]] = {}
    trials: list[TuneTrial] = []

    def mean(choice: SettingsChoice) -> float:
        key = tuple(sorted(choice.items()))
        if key not in known:
            known[key] = train(choice)
            trials.append(TuneTrial(dict(choice), _mean(known[key])))
            if on_trial is not None:
                on_trial(trials[-1])
        return _mean(known[key])

    best = _best_of_grid(start, knobs, mean) if grid else _best_by_turns(start, knobs, mean)
    changed = _changed(start, best)
    before, after = known[tuple(sorted(start.items()))], known[tuple(sorted(best.items()))]
    return Tuned(
        choice=changed,
        trials=tuple(trials),
        training=_gain(before, after),
        held_out=_gain(held_out(start), held_out(best)) if changed else _gain({}, {}),
    )


def choice_as_toml(choice: SettingsChoice) -> str:
    r"""Settings as a fragment of hybridrag.toml.

    {"search.fusion": "rrf", "rerank.blend": 0.5} -> "[rerank]\nblend = 0.5\n\n[search]\nfusion = \"rrf\"\n"
    """
    sections: dict[str, list[str]] = {}
    for key, value in sorted(choice.items()):
        section, _, name = key.rpartition(".")
        written = str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else value
        sections.setdefault(section, []).append(f"{name} = {written}")
    return "\n".join(f"[{section}]\n" + "".join(f"{line}\n" for line in lines) for section, lines in sections.items())


def _best_by_turns(
    start: SettingsChoice, knobs: Sequence[TuneKnob], mean: Callable[[SettingsChoice], float]
) -> SettingsChoice:
    best, value = dict(start), mean(start)
    for _ in range(ROUNDS):
        before = best
        for knob in knobs:
            best, value = _turned(knob, best, value, mean)
        if best == before:
            break
    return best


def _turned(
    knob: TuneKnob, best: dict[str, Value], value: float, mean: Callable[[SettingsChoice], float]
) -> tuple[dict[str, Value], float]:
    """The best that one knob gives: of its alternatives, or step by step for as long as steps help."""
    if knob.around is None:
        return _better(best, value, ({**best, **one} for one in knob.alternatives), mean)
    while True:
        before = best
        best, value = _better(best, value, ({**before, **one} for one in knob.around(before)), mean)
        if best == before:
            return best, value


def _changed(start: SettingsChoice, best: SettingsChoice) -> dict[str, Value]:
    """What differs; of weights all three, for in a file they must add up by themselves."""
    keys = {key for key, value in best.items() if start.get(key) != value}
    kinds = {key.rpartition(".")[0] for key in keys if key.startswith("search.weights.")}
    return {key: value for key, value in best.items() if key in keys or key.rpartition(".")[0] in kinds}


def _best_of_grid(
    start: SettingsChoice, knobs: Sequence[TuneKnob], mean: Callable[[SettingsChoice], float]
) -> SettingsChoice:
    combinations = product(*(knob.alternatives for knob in knobs))
    choices = ({**start, **{key: value for one in parts for key, value in one.items()}} for parts in combinations)
    return _better(dict(start), mean(start), choices, mean)[0]


def _better(
    best: dict[str, Value], value: float, choices: Iterator[dict[str, Value]], mean: Callable[[SettingsChoice], float]
) -> tuple[dict[str, Value], float]:
    """The choice with the highest mean; the one that stands unless another is better by more than noise."""
    for choice in choices:
        reached = mean(choice)
        if reached > value + LEAST_GAIN:
            best, value = choice, reached
    return best, value


def _mean(values: Mapping[str, float]) -> float:
    return sum(values.values()) / len(values) if values else 0.0


def _gain(before: Mapping[str, float], after: Mapping[str, float]) -> PairedDifference:
    both = [one for one in before if one in after]
    return paired_difference([before[one] for one in both], [after[one] for one in both])
