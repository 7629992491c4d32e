"""What models learn from a profile: the capacity at its scale-outs, a batch's overhead, latencies under live load."""

from collections.abc import Iterable
from dataclasses import replace
from statistics import median
from typing import assert_never

from sluice.core.learning.experience import Experience
from sluice.core.modelling.latency import LatencyPoint
from sluice.core.profiling.records import LivePoint, Point


def taught(
    experience: Experience, points: Iterable[Point | LivePoint], percentile: float
) -> Experience:
    """The experience with what was measured exactly; of a mere bound nothing is learned.

    `percentile` is the share of the rows whose latency is decided by.
    """
    capacity, latency = experience.models.capacity, experience.models.latency
    overheads = []
    for point in points:
        if not point.is_exact:
            continue
        match point:
            case Point():
                capacity = capacity.with_profiled(point.executors, point.rate)
                overheads.append(point.overhead)
            case LivePoint():
                latency = latency.with_observation(_latency_point(point, percentile))
            case _:
                assert_never(point)
    models = replace(experience.models, capacity=capacity, latency=latency)
    overhead = experience.overhead
    if not overhead and overheads:
        # It is better known as soon as the job's own batches have told of it.
        overhead = median(overheads)
    return replace(experience, models=models, overhead=overhead)


def _latency_point(point: LivePoint, percentile: float) -> LatencyPoint:
    """The latency of a copy at the load of production, as one of production would be learned."""
    return LatencyPoint(
        executors=point.executors,
        rate=point.arriving,
        seconds=point.latency.at(percentile),
        profiled=True,
    )
