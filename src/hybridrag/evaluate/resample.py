"""How sure a mean is: bootstrap intervals over queries, and over the differences between two runs.

Seeded, so that the same values give the same interval. Where every query scores the same the interval is a point:
the bootstrap knows no queries but those it was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 1000
"""Enough that the ends of an interval move by less than its tenth between seeds."""
SEED = 20240229
"""Any number does; fixed, so that a table can be made again."""
CELLS_AT_ONCE = 2_000_000
"""Resamples are drawn in blocks of so many indices, which is 16 MB."""


@dataclass(frozen=True, slots=True)
class BootstrapInterval:
    """A mean and the range that it probably lies in."""

    mean: float
    low: float
    high: float
    count: int
    """How many queries it is over."""


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """How much the second of two runs is above the first, on the same queries."""

    mean: float
    low: float
    high: float
    p_value: float
    """How probable a difference of this sign would be if there were none, two-sided."""
    better: int
    worse: int
    same: int

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0


def bootstrap_interval(
    values: Sequence[float], *, confidence: float = 0.95, resamples: int = RESAMPLES, seed: int = SEED
) -> BootstrapInterval:
    """The mean with its percentile bootstrap interval; no values have the mean 0 and the interval 0-0.

    [1, 1, 0, 1] -> mean 0.75, from 0.25 to 1.0
    """
    if not values:
        return BootstrapInterval(0.0, 0.0, 0.0, 0)
    means = _resampled_means(np.asarray(values, dtype=np.float64), resamples, seed)
    low, high = _percentiles(means, confidence)
    return BootstrapInterval(float(np.mean(values)), low, high, len(values))


def paired_difference(
    before: Sequence[float],
    after: Sequence[float],
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> PairedDifference:
    """The mean of `after - before`, query by query, with its interval.

    [0, 0, 1], [1, 0, 1] -> mean 0.33, 1 better, 0 worse, 2 the same

    Raises:
        ValueError: the two are not of one length.
    """
    changes = np.asarray([b - a for a, b in zip(before, after, strict=True)], dtype=np.float64)
    if not len(changes):
        return PairedDifference(0.0, 0.0, 0.0, 1.0, 0, 0, 0)
    means = _resampled_means(changes, resamples, seed)
    low, high = _percentiles(means, confidence)
    # One is added to both, since a probability of 0 cannot be known from so many draws.
    below, above = ((int(np.sum(means <= 0)) + 1), (int(np.sum(means >= 0)) + 1))
    return PairedDifference(
        mean=float(changes.mean()),
        low=low,
        high=high,
        p_value=min(1.0, 2 * min(below, above) / (resamples + 1)),
        better=int(np.sum(changes > 0)),
        worse=int(np.sum(changes < 0)),
        same=int(np.sum(changes == 0)),
    )


def _resampled_means(values: NDArray[np.float64], resamples: int, seed: int) -> NDArray[np.float64]:
    generator = np.random.default_rng(seed)
    block = max(1, CELLS_AT_ONCE // len(values))
    means = [
        values[generator.integers(0, len(values), (min(block, resamples - done), len(values)))].mean(axis=1)
        for done in range(0, resamples, block)
    ]
    return np.concatenate(means)


def _percentiles(means: NDArray[np.float64], confidence: float) -> tuple[float, float]:
    rest = (1 - confidence) / 2
    low, high = np.quantile(means, [rest, 1 - rest])
    return float(low), float(high)
