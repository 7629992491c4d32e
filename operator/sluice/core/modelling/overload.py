"""From which latency on a job is overloaded: the boundary between two clusters of latencies, if there are two.

Phoebe's clusterer with exact one-dimensional 2-means in the place of BIRCH, whose answer depends on the order of its
input (phoebe.md 2.3, 5.12). Latencies are measured from their median, in units of the distance from the least to the
first percentile, and then on a logarithmic scale: so everything near the median is one heap, and the split is robust.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean, median

RATIO = 2.0
"""Two clusters are always found. Overload means latencies of at least twice the normal ones on average."""

LEAST_OVERLOADED = 2
"""One latency alone is an accident, such as a batch that lost its executor; an overload is measured again."""

LEAST_UNIT = 0.02
"""The unit is never smaller than 2 % of the median. Where the fastest batches are alike, the percentile alone would
make a large distance of each little one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clusters:
    """Two groups of numbers: their centres, and how many belong to the lower one."""

    lower: float
    upper: float
    count: int

    @property
    def middle(self) -> float:
        """What is above belongs to the upper one."""
        return (self.lower + self.upper) / 2


def two_means(values: Sequence[float]) -> Clusters | None:
    """The split of ascending numbers with the least sum of squares within groups; None if all are equal.

    That is the split with the greatest sum between them, n1 n2 (m1 - m2)^2, which needs no difference of sums.
    """
    total, count = math.fsum(values), len(values)
    best, most = None, 0.0
    for first, below in enumerate(accumulate(values[:-1]), start=1):
        if values[first - 1] == values[first]:
            continue
        lower, upper = below / first, (total - below) / (count - first)
        between = first * (count - first) * (upper - lower) ** 2
        if between > most:
            best, most = Clusters(lower=lower, upper=upper, count=first), between
    return best


def overload_boundary(latencies: Sequence[float]) -> float:
    """The latency above which a job is overloaded, in the unit of the latencies; infinite if all are normal."""
    ordered = sorted(latencies)
    if len(ordered) < 2 or ordered[-1] <= 0:
        return math.inf
    centre = median(ordered)
    unit = max(_first_percentile(ordered) - ordered[0], LEAST_UNIT * centre)
    clusters = two_means(scaled(ordered, centre, unit))
    if clusters is None or len(ordered) - clusters.count < LEAST_OVERLOADED:
        return math.inf
    if fmean(ordered[clusters.count :]) < RATIO * fmean(ordered[: clusters.count]):
        return math.inf
    return centre + unit * math.exp(clusters.middle)


def scaled(latencies: Sequence[float], centre: float, unit: float) -> tuple[float, ...]:
    """The logarithms of the distances above the centre; 0 below one unit."""
    return tuple(math.log(max(1.0, (latency - centre) / unit)) for latency in latencies)


def _first_percentile(ordered: Sequence[float]) -> float:
    place = 0.01 * (len(ordered) - 1)
    before = int(place)
    part = place - before
    return ordered[before] * (1 - part) + ordered[before + 1] * part
