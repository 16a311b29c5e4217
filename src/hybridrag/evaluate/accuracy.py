"""How often a label is right, what it is taken for, and what is gained by keeping silent when unsure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Confusion:
    """What each gold label was taken for."""

    counts: Mapping[tuple[str, str], int]
    """(gold, found) -> how often."""

    @property
    def labels(self) -> list[str]:
        """Every label that occurs, sorted."""
        return sorted({label for pair in self.counts for label in pair})

    @property
    def total(self) -> int:
        """How many were labelled."""
        return sum(self.counts.values())

    @property
    def accuracy(self) -> float:
        """The share that was labelled right; 0 without any."""
        return self._right() / self.total if self.total else 0.0

    @property
    def kappa(self) -> float:
        """Cohen's kappa: agreement beyond what the frequencies of the labels alone would give; 1 is full agreement."""
        if not self.total:
            return 0.0
        by_gold, by_found = Counter[str](), Counter[str]()
        for (gold, found), count in self.counts.items():
            by_gold[gold] += count
            by_found[found] += count
        chance = sum(by_gold[label] * by_found[label] for label in self.labels) / self.total**2
        return (self.accuracy - chance) / (1 - chance) if chance < 1 else 1.0

    def recall_of(self, label: str) -> float:
        """The share of this gold label that was found as such; 0 without any."""
        of_label = sum(count for (gold, _), count in self.counts.items() if gold == label)
        return self.counts.get((label, label), 0) / of_label if of_label else 0.0

    def _right(self) -> int:
        return sum(count for (gold, found), count in self.counts.items() if gold == found)


def confusion(gold: Sequence[str], found: Sequence[str]) -> Confusion:
    """Count what each gold label was taken for.

    ["local", "global"], ["local", "local"] -> accuracy 0.5, ("global", "local") once

    Raises:
        ValueError: the two are not of one length.
    """
    return Confusion(dict(Counter(zip(gold, found, strict=True))))


@dataclass(frozen=True, slots=True)
class CoveragePoint:
    """One way to be careful: answer only what is at least so sure."""

    threshold: float
    coverage: float
    """The share of the questions that are answered."""
    accuracy: float
    """The share of those answers that is right."""


def abstention_curve(right: Sequence[bool], confidence: Sequence[float]) -> list[CoveragePoint]:
    """Accuracy against coverage, from answering only the surest to answering everything.

    [True, False], [.9, .2] -> (.9: half, all right), (.2: all, half right)

    Questions of equal confidence are answered together: nothing tells them apart.

    Raises:
        ValueError: the two are not of one length.
    """
    ordered = sorted(zip(confidence, right, strict=True), key=lambda pair: -pair[0])
    points: list[CoveragePoint] = []
    correct = 0
    for answered, (sure, is_right) in enumerate(ordered, start=1):
        correct += is_right
        if answered == len(ordered) or ordered[answered][0] < sure:
            points.append(CoveragePoint(sure, answered / len(ordered), correct / answered))
    return points


def area_under_curve(labels: Sequence[bool], scores: Sequence[float]) -> float:
    """The probability that a true one scores above a false one, ties counting half; 0.5 where one kind is missing.

    [True, False], [.9, .2] -> 1.0

    Raises:
        ValueError: the two are not of one length.
    """
    ordered = sorted(zip(scores, labels, strict=True), key=lambda pair: pair[0])
    positives = sum(labels)
    negatives = len(labels) - positives
    if not positives or not negatives:
        return 0.5
    wins = 0.0
    below = first = 0
    while first < len(ordered):
        last = first
        while last < len(ordered) and ordered[last][0] == ordered[first][0]:
            last += 1
        true_here = sum(label for _, label in ordered[first:last])
        false_here = last - first - true_here
        wins += true_here * (below + false_here / 2)
        below += false_here
        first = last
    return wins / (positives * negatives)
