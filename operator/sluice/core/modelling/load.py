"""Rows per second over time: history joined with the forecast, in seconds from now.

Between its points a load is straight, outside them it is constant: beyond the forecast its last value holds
(Phoebe's artefact stopped there, and gave hopeless scale-outs finite recovery times; phoebe.md 2.1 and 5.14).
"""

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, pairwise

from sluice.core.series import NoData

BINS = 5
"""The parts of the horizon by whose mean Phoebe judges the load to come (phoebe.md 2.3)."""

FASTEST = 1e15
"""Rows per second beyond anything: rates are cut here, so that sums of them stay finite."""

FURTHEST = 1e9
"""Seconds from now, 31 years: no point is further away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Rates at moments in ascending order, and the rows that have arrived from the first moment to each."""

    times: tuple[float, ...]
    rates: tuple[float, ...]
    rows: tuple[float, ...]

    @property
    def end(self) -> float:
        """The moment from which the load is constant."""
        return self.times[-1]

    @property
    def last(self) -> float:
        """The rate that holds for ever after."""
        return self.rates[-1]

    def rate(self, at: float) -> float:
        """The rate at a moment, in rows per second."""
        place = bisect_right(self.times, at)
        if place == 0:
            return self.rates[0]
        if place == len(self.times):
            return self.last
        before, after = self.times[place - 1], self.times[place]
        part = (at - before) / (after - before)
        return self.rates[place - 1] * (1 - part) + self.rates[place] * part

    def between(self, start: float, end: float) -> float:
        """The rows that arrive from one moment to another: the integral of the rate."""
        if start >= self.end:
            # Not a difference of sums: those grow, and the difference of two large numbers is rounded.
            return (end - start) * self.last
        return max(0.0, self._until(end) - self._until(start))

    def peak(self, span: float, bins: int = BINS) -> float:
        """The largest mean rate of the equal parts of a span that begins now (phoebe.md 2.3, 5.8).

        Of a rising load it is the furthest part, of a falling one the nearest: up early, down late.
        """
        edges = [span * index / bins for index in range(bins + 1)]
        return max(self.between(start, end) / (end - start) for start, end in pairwise(edges))

    def scaled(self, factor: float) -> "Load":
        """The same shape with so many times the rows."""
        return _joined((at, rate * factor) for at, rate in zip(self.times, self.rates, strict=True))

    def _until(self, at: float) -> float:
        place = bisect_right(self.times, at)
        if place == 0:
            return (at - self.times[0]) * self.rates[0]
        since = at - self.times[place - 1]
        return self.rows[place - 1] + since * (self.rates[place - 1] + self.rate(at)) / 2


def load(points: Iterable[tuple[float, float]]) -> Load | NoData:
    """Order points of (seconds from now, rows per second); of several at one moment the last counts.

    What is not finite is no measurement, and a negative rate, as forecasts have them, is none at all: zero.
    """
    known = {at: rate for at, rate in points if abs(at) <= FURTHEST and math.isfinite(rate)}
    return _joined(known.items()) if known else NoData("nothing is known of the load")


def constant_load(rate: float) -> Load:
    """The same rate for ever."""
    return _joined([(0.0, rate)])


def _joined(points: Iterable[tuple[float, float]]) -> Load:
    ordered = sorted((at, min(max(rate, 0.0), FASTEST)) for at, rate in points)
    pieces = [
        (after[0] - before[0]) * (before[1] + after[1]) / 2 for before, after in pairwise(ordered)
    ]
    return Load(
        times=tuple(at for at, _ in ordered),
        rates=tuple(rate for _, rate in ordered),
        rows=tuple(accumulate(pieces, initial=0.0)),
    )
