"""Which numbers of executors a job should be measured at now, and why: those of which nothing valid is known.

A measurement is valid for the image and configuration that it was made with, until it is too old, or until production
shows something else: the rows per second of its own batches, where they differ by more than both errors and a fifth.
Within a day of the measurement such a difference is no drift but how a copy differs from production; to measure once
more would find it again.
"""

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median, stdev

from sluice.core.application import StreamJob
from sluice.core.deciding.situation import Bounds
from sluice.core.modelling.shapes import Slots
from sluice.core.profiling import budget, planning
from sluice.core.profiling.records import Point
from sluice.core.quantities import format_count, format_duration, format_executors

DRIFTED = 0.2
"""Production has drifted away if its capacity differs from the measured one by more than this share."""

DRIFTS_AFTER = timedelta(days=1)

ENOUGH = 4
"""Observations of production that can speak against a measurement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Numbers of executors, those first that tell most, and the reason in words.

    `is_open`: nothing is known, so that a profile may choose better from measurement to measurement.
    """

    executors: tuple[int, ...]
    why: str
    is_open: bool = False


def need(
    job: StreamJob,
    points: Sequence[Point],
    *,
    bounds: Sequence[Point],
    production: planning.Measured,
    tasks: int | None,
    now: datetime,
) -> Need | None:
    """What should be measured, whatever else it may have to wait for; None if enough is known.

    `points` are exact, and of the job as it is; `bounds` are those of other numbers of executors that are mere bounds,
    which are left at that until they are too old: another copy would tell no more. `production` are the rows per
    second that were learned of the job, with those of profiles among them; `tasks` are those of a stateful stage.
    """
    drift = drifted(points, production, now)
    fresh = [point for point in points if _is_fresh(job, point, now, has_drifted=bool(drift))]
    tried = {point.executors for point in bounds if _is_fresh(job, point, now, has_drifted=False)}
    missing = _missing(job, fresh, tried, tasks)
    if not missing:
        return None
    is_open = (
        not (points or bounds)
        and not job.profiling.executors
        and _largest(job) == job.executors.maximum
    )
    return Need(executors=missing, why=drift or _why(job, points, bounds, fresh), is_open=is_open)


def outdated(job: StreamJob, points: Sequence[Point]) -> datetime | None:
    """When the first of these measurements will be too old."""
    return min((point.at + job.profiling.max_age for point in points), default=None)


def drifted(points: Sequence[Point], production: planning.Measured, now: datetime) -> str | None:
    """How production contradicts a measurement; None if it does not."""
    for point in points:
        rates = [
            rate
            for executors, rate in production
            if executors == point.executors and not _is_of_profile(rate, point)
        ]
        if now - point.at < DRIFTS_AFTER or len(rates) < ENOUGH:
            continue
        seen, error = median(rates), stdev(rates) / math.sqrt(len(rates))
        apart = abs(seen - point.rate)
        if apart > point.error + error and apart > DRIFTED * point.rate:
            return (
                f"production processes {format_count(seen)} rows/s with {format_executors(point.executors)}, where "
                f"{format_count(point.rate)} were measured"
            )
    return None


def _is_of_profile(rate: float, point: Point) -> bool:
    """Whether a learned rate is the measurement itself, which is stored with three digits."""
    return math.isclose(rate, point.rate, abs_tol=0.002)


def _is_fresh(job: StreamJob, point: Point, now: datetime, *, has_drifted: bool) -> bool:
    age = now - point.at
    return age < job.profiling.max_age and not (has_drifted and age >= DRIFTS_AFTER)


def _missing(
    job: StreamJob, fresh: Sequence[Point], tried: Set[int], tasks: int | None
) -> tuple[int, ...]:
    if job.profiling.executors:
        known = {point.executors for point in fresh} | tried
        return tuple(one for one in job.profiling.executors if one not in known)
    bounds = Bounds(smallest=job.executors.minimum, largest=_largest(job))
    slots = Slots(cores=job.executors.slots, tasks=tasks)
    if not fresh:
        return tuple(one for one in planning.first_scale_outs(bounds, slots) if one not in tried)
    measured = [(point.executors, point.rate) for point in fresh]
    one = planning.next_scale_out(bounds, slots, measured, failed=tried)
    return () if one is None else (one,)


def _largest(job: StreamJob) -> int:
    """The most executors of which one profile can pay a copy; where it can pay none, the fewest."""
    each = budget.expected(job, 1) - budget.expected(job, 0)
    most = int((job.profiling.core_seconds / budget.RESERVE - budget.expected(job, 0)) / each)
    return max(job.executors.minimum, min(job.executors.maximum, most))


def _why(
    job: StreamJob, points: Sequence[Point], bounds: Sequence[Point], fresh: Sequence[Point]
) -> str:
    if fresh:
        return "what was measured leaves open what lies between"
    if points or bounds:
        return f"measurements are older than {format_duration(job.profiling.max_age)}"
    return "nothing was measured of this image and configuration"
