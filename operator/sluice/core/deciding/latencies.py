"""The latencies that load explains, without those that an outage has left behind, and as of one number of executors.

Latency never falls with the utilisation. So a latency that is well above most of those at the same utilisation and
more has another cause: a failure or a rescale in the minutes before. Left in, a few of them at a low load would make a
monotone curve look bad from there on.

The utilisation tells all of them where batches take the same on top of their rows with any number of executors. Where
executors share a part of that, a latency is as much longer with few of them as batches are, at the same utilisation.
So it is where tasks wait for rows: the fewer come, the longer.
"""

import math
from bisect import insort
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

from sluice.core.deciding.situation import Batching
from sluice.core.modelling.capacity import Capacity
from sluice.core.modelling.latency import LatencyCurve, LatencyModel, LatencyPoint, utilisation
from sluice.core.series import NoData

MOST_USED = 0.95
"""At a higher utilisation batches have no ordinary length."""

SHORTEST = 0.1
"""Seconds that no batch is shorter than, though nothing may be known yet of what it takes without rows."""

ALONE = 3
"""Of fewer points nobody knows which is the accident."""

UNEXPLAINED = 2.0
"""So many times the median is well above it; less than that may be noise (overload means twice, too)."""


def explained_curve(
    model: LatencyModel, capacity: Capacity, batching: Batching
) -> LatencyCurve | NoData:
    """The latency at any utilisation of one executor whose tasks wait for no rows, from what load explains; `as_of` has
    that of others.
    """
    alike = LatencyModel(
        observed=tuple(
            _as_of_one(point, capacity, batching) for point in (*model.profiled, *model.observed)
        )
    )
    return LatencyModel(observed=explained(alike, capacity)).fitted(capacity)


def as_of(curve: LatencyCurve, batching: Batching, executors: int, rate: float) -> LatencyCurve:
    """That of so many executors to which so many rows per second come.

    The more is used, the more of a batch they may share: then what noise made too long at a low utilisation would seem
    to fall. It does not.
    """
    if not batching.is_shared:
        return curve
    these, one = batching.on(executors, rate), _of_one(batching)
    logs: list[float] = []
    for log, step in groupby(zip(curve.logs, curve.utilisations, strict=True), key=itemgetter(0)):
        uses = [used for _, used in step]
        # As long as the curve is level, its first latency is the longest of these executors.
        longest = log + math.log(by_batches(these, uses[0]) / by_batches(one, uses[0]))
        logs += [max((*logs[-1:], longest))] * len(uses)
    return replace(curve, logs=tuple(logs))


def by_batches(batching: Batching, used: float) -> float:
    """The longest that a record waits: for the batch that runs, or for the trigger, and then for its own batch."""
    batch = max(SHORTEST, batching.overhead) / (1 - min(used, MOST_USED))
    return max(batching.period, batch) + batch


def _as_of_one(point: LatencyPoint, capacity: Capacity, batching: Batching) -> LatencyPoint:
    if not batching.is_shared:
        return point
    used = _used(point, capacity)
    these = batching.on(point.executors, point.rate)
    factor = by_batches(these, used) / by_batches(_of_one(batching), used)
    return replace(point, seconds=point.seconds / factor)


def _of_one(batching: Batching) -> Batching:
    return batching.on(1, math.inf)


def explained(model: LatencyModel, capacity: Capacity) -> tuple[LatencyPoint, ...]:
    """The latencies that load explains, from the highest utilisation to the lowest."""
    above: list[float] = []
    kept: list[LatencyPoint] = []
    points = sorted((*model.profiled, *model.observed), key=lambda point: -_used(point, capacity))
    # One alone is an accident, also where nobody has seen more load.
    first = sorted(point.seconds for point in points[:ALONE])
    for point in points:
        insort(above, point.seconds)
        usual = above if len(above) >= ALONE else first
        if point.seconds <= UNEXPLAINED * usual[len(usual) // 2]:
            kept.append(point)
    return tuple(kept)


def _used(point: LatencyPoint, capacity: Capacity) -> float:
    return utilisation(point.rate, capacity.rate(point.executors))
