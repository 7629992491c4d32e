"""What models learn from a profile: the capacity at its scale-outs, a batch's overhead, latencies under live load."""

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from sluice.core.learning.experience import Experience
from sluice.core.learning.overheads import measured_overheads
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
                overheads.append((point.executors, point.overhead))
            case LivePoint():
                latency = latency.with_observation(_latency_point(point, percentile))
            case _:
                assert_never(point)
    models = replace(experience.models, capacity=capacity, latency=latency)
    found = replace(experience, models=models)
    if found.overhead or found.shared or not overheads:
        # The job's own batches have told it better.
        return found
    measured = measured_overheads(overheads, is_shared=capacity.slots.tasks is not None)
    return replace(found, overhead=measured.fixed, shared=measured.shared)


def _latency_point(point: LivePoint, percentile: float) -> LatencyPoint:
    """The latency of a copy at the load of production, as one of production would be learned."""
    return LatencyPoint(
        executors=point.executors,
        rate=point.arriving,
        seconds=point.latency.at(percentile),
        profiled=True,
    )
