"""Find settings that do better on a data set: tried on one half of its questions, reported on the other.

Knobs are turned one after the other, each from where the last one stands, until a round changes nothing; or every
combination is tried. What is tried twice is measured once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import product

from hybridrag.evaluate.datasets import Dataset
from hybridrag.evaluate.resample import PairedDifference, paired_difference

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


TUNE_KNOBS: tuple[TuneKnob, ...] = (
    TuneKnob(
        "fusion",
        ({"search.fusion": "score"}, *({"search.fusion": "rrf", "search.rrf_k": k} for k in (5, 20, 60, 120))),
    ),
    TuneKnob("rerank.blend", tuple({"rerank.blend": share} for share in (0.0, 0.2, 0.4, 0.6, 0.8))),
    TuneKnob("rerank.top_k", tuple({"rerank.top_k": count} for count in (20, 50, 100))),
    TuneKnob("search.expand", ({"search.expand": True}, {"search.expand": False})),
    TuneKnob("search.min_confidence", tuple({"search.min_confidence": share} for share in (0.5, 0.6, 0.7))),
)
"""What the settings offer. The weights of a kind of question are no setting: give them with a query or a recipe."""


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
    changed = {key: value for key, value in best.items() if start.get(key) != value}
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
        section, _, name = key.partition(".")
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
            best, value = _better(best, value, ({**best, **one} for one in knob.alternatives), mean)
        if best == before:
            break
    return best


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
