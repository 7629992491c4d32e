"""A number that is learned: the best guess, and the range in which it lies four times in five.

`Learned` is for positive numbers that differ from one time to the next, such as downtimes: lognormal, because they
are products of causes and have a long tail. Until the first observation the prior speaks. From then on the level is
that of the observations alone; only the spread, which few observations cannot tell, still leans on the prior.

`conformal_error` is for models that have errors instead: how wrong they were tells how wrong they will be.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist, fmean

MEMORY = 32
"""Observations that are kept. More would be slower to notice that the world has changed."""

PRIOR_WEIGHT = 4
"""The prior of the spread counts as much as so many observations."""

COVERAGE = 0.8
"""The share of cases in which the truth should be between `low` and `high`."""

LEAST, MOST = 1e-3, 1e9
"""What is observed is taken to be in this range, so that it has a logarithm and powers of it stay finite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The best guess, its range, and the number of observations behind it; without any it is a prior."""

    value: float
    low: float
    high: float
    observations: int

    def __post_init__(self) -> None:
        if not self.low <= self.value <= self.high:
            raise ValueError(f"{self}: the value is between low and high")


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """A positive number that varies: its median and the spread of its logarithm before any was observed."""

    median: float
    spread: float
    observed: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not all(0 < number < math.inf for number in (self.median, self.spread)):
            raise ValueError(f"{self}: the median and the spread are positive and finite")
        if not all(LEAST <= number <= MOST for number in self.observed):
            raise ValueError(f"{self}: observations are between {LEAST} and {MOST}")

    def with_observation(self, number: float) -> "Learned":
        """One more observation; what is not finite, or negative, is none."""
        if not 0 <= number < math.inf:
            return self
        kept = min(max(number, LEAST), MOST)
        return replace(self, observed=(*self.observed, kept)[-MEMORY:])

    def with_history(self, numbers: Iterable[float]) -> "Learned":
        """What was observed before, in the place of what is known here."""
        return replace(self, observed=tuple(float(number) for number in numbers)[-MEMORY:])

    def quantile(self, share: float) -> float:
        """The number that the next one exceeds in 1 - share of the cases; share is in (0, 1)."""
        middle, spread = self._predictive()
        return math.exp(NormalDist().inv_cdf(share) * spread + middle)

    def estimate(self) -> Estimate:
        """The median and the range of the next number."""
        tail = (1 - COVERAGE) / 2
        return Estimate(
            value=self.quantile(0.5),
            low=self.quantile(tail),
            high=self.quantile(1 - tail),
            observations=len(self.observed),
        )

    def _predictive(self) -> tuple[float, float]:
        # The mean of n logarithms is itself uncertain by spread / sqrt(n).
        count = len(self.observed)
        if not count:
            return math.log(self.median), self.spread
        logs = [math.log(number) for number in self.observed]
        middle = fmean(logs)
        squares = sum((log - middle) ** 2 for log in logs) + PRIOR_WEIGHT * self.spread**2
        spread = math.sqrt(squares / (PRIOR_WEIGHT + count - 1))
        return middle, spread * math.sqrt(1 + 1 / count)


def conformal_error(errors: Sequence[float]) -> float:
    """The error that the next one exceeds in 1 - COVERAGE of the cases (split conformal; Lei et al., 2018).

    Of n errors that is the k-th smallest, k = ceil((n + 1) x COVERAGE). Of fewer than four even the largest is too
    small: half as much again.
    """
    place = math.ceil((len(errors) + 1) * COVERAGE)
    ordered = sorted(errors)
    return ordered[place - 1] if place <= len(ordered) else 1.5 * ordered[-1]
