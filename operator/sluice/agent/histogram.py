"""A classic Prometheus histogram as a value, with rows spread evenly over a range of seconds."""

from __future__ import annotations

import operator
from bisect import bisect_left
from dataclasses import dataclass, replace

BOUNDS = (0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.5, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0)
LONG_BOUNDS = (
    *BOUNDS,
    90.0,
    120.0,
    180.0,
    300.0,
    600.0,
    1800.0,
    3600.0,
    7200.0,
    14400.0,
    43200.0,
    86400.0,
)


@dataclass(frozen=True)
class Histogram:
    """Counts per bucket (not cumulative; the last is unbounded), and their sum."""

    bounds: tuple[float, ...] = LONG_BOUNDS
    counts: tuple[float, ...] = (0.0,) * (len(LONG_BOUNDS) + 1)
    sum: float = 0.0

    @property
    def count(self) -> float:
        """Return how much was observed."""
        return sum(self.counts)

    def observed(self, low: float, high: float, weight: float = 1.0) -> Histogram:
        """Add a weight spread evenly from low to high, or at one point where they are equal."""
        counts = list(self.counts)
        # Only the buckets that the range touches: this runs for each batch of each query.
        for index in range(bisect_left(self.bounds, low), bisect_left(self.bounds, high) + 1):
            floor = self.bounds[index - 1] if index else float("-inf")
            bound = self.bounds[index] if index < len(self.bounds) else float("inf")
            counts[index] += weight * _share(low, high, floor, bound)
        return replace(self, counts=tuple(counts), sum=self.sum + weight * (low + high) / 2)

    def plus(self, other: Histogram) -> Histogram:
        """Add what another histogram of the same bounds has observed."""
        counts = tuple(map(operator.add, self.counts, other.counts))
        return replace(self, counts=counts, sum=self.sum + other.sum)

    def scaled(self, factor: float) -> Histogram:
        """Weigh all that was observed by a factor."""
        counts = tuple([count * factor for count in self.counts])
        return replace(self, counts=counts, sum=self.sum * factor)

    def since(self, earlier: Histogram) -> Histogram:
        """Return what was observed after an earlier state of this histogram."""
        counts = tuple(
            max(0.0, count - earlier.counts[index]) for index, count in enumerate(self.counts)
        )
        return replace(self, counts=counts, sum=self.sum - earlier.sum)

    def quantile(self, fraction: float) -> float | None:
        """Interpolate within the bucket, as Prometheus' histogram_quantile does."""
        wanted = fraction * self.count
        below = 0.0
        for index, bound in enumerate(self.bounds):
            count = self.counts[index]
            if count > 0 and below + count >= wanted:
                floor = self.bounds[index - 1] if index else 0.0
                return floor + (bound - floor) * (wanted - below) / count
            below += count
        return self.bounds[-1] if self.count > 0 else None


def _share(low: float, high: float, floor: float, bound: float) -> float:
    """Return the part of the range from low to high that lies in (floor, bound]."""
    if high <= low:
        return 1.0 if floor < low <= bound else 0.0
    return max(0.0, min(high, bound) - max(low, floor)) / (high - low)
