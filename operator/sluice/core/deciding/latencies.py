"""The latencies that load explains, without those that an outage has left behind.

Latency never falls with the utilisation. So a latency that is well above most of those at the same utilisation and
more has another cause: a failure or a rescale in the minutes before. Left in, a few of them at a low load would make a
monotone curve look bad from there on.
"""

from bisect import insort

from sluice.core.modelling.capacity import Capacity
from sluice.core.modelling.latency import LatencyCurve, LatencyModel, LatencyPoint, utilisation
from sluice.core.series import NoData

UNEXPLAINED = 2.0
"""So many times the median is well above it; less than that may be noise (overload means twice, too)."""


def explained_curve(model: LatencyModel, capacity: Capacity) -> LatencyCurve | NoData:
    """The latency at any utilisation, from what load explains."""
    return LatencyModel(observed=explained(model, capacity)).fitted(capacity)


def explained(model: LatencyModel, capacity: Capacity) -> tuple[LatencyPoint, ...]:
    """The latencies that load explains, from the highest utilisation to the lowest."""
    above: list[float] = []
    kept: list[LatencyPoint] = []
    points = (*model.profiled, *model.observed)
    for point in sorted(points, key=lambda point: -_used(point, capacity)):
        insort(above, point.seconds)
        if point.seconds <= UNEXPLAINED * above[len(above) // 2]:
            kept.append(point)
    return tuple(kept)


def _used(point: LatencyPoint, capacity: Capacity) -> float:
    return utilisation(point.rate, capacity.rate(point.executors))
