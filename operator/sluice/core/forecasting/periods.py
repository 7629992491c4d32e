"""The period of a load that repeats itself, found in as little as one and a half repetitions.

YIN (de Cheveigné and Kawahara, 2002), made for the pitch of speech: where the load and its copy, shifted by a lag,
differ least, is the period. That is autocorrelation with two corrections: each lag is compared with the mean of the
shorter ones, so that a smooth load does not repeat itself at once; and the shortest lag that is good enough counts, so
that the period is not found twice over. Variances are taken of the differences, which a steady drift leaves alone.
"""

from dataclasses import dataclass
from math import inf

import numpy as np

from sluice.core.forecasting import sampling
from sluice.core.forecasting.model import Values
from sluice.core.series import NoData

LONGEST = 720
"""Points that are looked at; a longer history is made coarser."""

LEAST_REPETITIONS = 1.4
"""Less of a period can be anything."""

GOOD = 0.35
"""A lag whose differences are so small, compared with those of shorter lags, is a period."""

LOOKED_AT = 2
"""Repetitions of the longest period that are looked at: older ones would only make the points coarser."""

SMOOTHED = 5
"""Points of the running mean that takes noise out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Season:
    """A known period, or None to discover one up to the longest; and the history that it takes, all in steps."""

    period: float | None = None
    longest: float = inf
    least: int = 0

    def found(self, values: Values) -> float | NoData:
        """The period of a load."""
        if len(values) < self.least:
            return NoData(f"{len(values)} steps are known: {self.least} are needed")
        recent = values[-int(min(LOOKED_AT * self.longest, len(values))) :]
        period = self.period or discovered_period(recent)
        if period is None or period > self.longest:
            return NoData("the load does not repeat itself")
        return period


def discovered_period(values: Values) -> float | None:
    """The period in steps, None if the load does not repeat itself."""
    points, size = sampling.at_most(values, LONGEST)
    if len(points) < 4 * SMOOTHED or np.ptp(points) == 0:
        return None
    smooth = np.convolve(points, np.full(SMOOTHED, 1 / SMOOTHED), mode="valid")
    lag = _first_dip(_differences(smooth))
    return None if lag is None else lag * size


def _differences(values: Values) -> Values:
    """For each lag the variance of the differences, by the mean of those of shorter lags."""
    longest = int(len(values) / LEAST_REPETITIONS)
    variances = np.array([np.var(values[lag:] - values[:-lag]) for lag in range(1, longest + 1)])
    means = np.cumsum(variances) / np.arange(1, longest + 1)
    return np.concatenate([[1.0], variances / np.maximum(means, 1e-300)])


def _first_dip(differences: Values) -> float | None:
    """The shortest lag at a minimum that is good enough, between the points by a parabola."""
    middle = differences[1:-1]
    dips = (middle <= differences[:-2]) & (middle < differences[2:]) & (middle < GOOD)
    if not dips.any():
        return None
    # Of the points of one dip that noise has split, the lowest.
    start = int(np.argmax(dips)) + 1
    lag = start + int(np.argmin(differences[start : start + start // 4 + 1]))
    if lag + 1 >= len(differences):
        return float(lag)
    before, here, after = differences[lag - 1 : lag + 2]
    curvature = before - 2 * here + after
    return lag + (0.5 * (before - after) / curvature if curvature > 0 else 0.0)
