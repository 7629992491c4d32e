"""Say what has happened to a profile: each news is one Event, found by comparing two states of its run."""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import assert_never

from sluice.core.news import News
from sluice.core.profiling.records import Copy, CopyPhase, LivePoint, Point, Run, Start
from sluice.core.quantities import format_count, format_duration, format_executors

_MEASURED = {Start.EARLIEST: "Rows per second", Start.LATEST: "Latency of live rows"}


def news(before: Run, after: Run) -> Iterator[News]:
    """What has happened between two states of a run."""
    known = {(copy.namespace, copy.began): copy for copy in before.copies}
    for copy in after.copies:
        yield from _of_copy(known.get((copy.namespace, copy.began)), copy, after)
    if after.ended is None or before.ended is not None:
        return
    if after.problem is not None:
        reason, message = str(after.problem.reason), after.problem.message
        yield News(reason=reason, message=message, is_warning=True)
    else:
        yield News(reason="Profiled", message=_measured(after, after.points))


def _of_copy(before: Copy | None, after: Copy, run: Run) -> Iterator[News]:
    if before is None:
        told = f"A copy with {format_executors(after.executors)} starts in {after.namespace}"
        yield News(reason="CopyStarting", message=told)
    if before is not None and before.phase is after.phase:
        return
    if after.phase is CopyPhase.MEASURED:
        points = [point for point in run.points if point.executors == after.executors]
        yield News(reason="CopyMeasured", message=_measured(run, points))
    if after.phase is CopyPhase.FAILED and after.problem is not None:
        told = (
            f"The copy with {format_executors(after.executors)} has ended: {after.problem.message}"
        )
        yield News(reason="CopyEnded", message=told, is_warning=True)


def _measured(run: Run, points: Iterable[Point | LivePoint]) -> str:
    start = run.key.start if run.key is not None else Start.EARLIEST
    told = ", ".join(f"{point.executors}: {_told(point)}" for point in points)
    return f"{_MEASURED[start]} by executors: {told}"


def _told(point: Point | LivePoint) -> str:
    match point:
        case Point():
            share = 100 * point.error / point.rate if point.rate else 0.0
            return f"{format_count(point.rate)} (standard error {share:.1f} %)"
        case LivePoint(keeps_up=True):
            p95 = format_duration(timedelta(seconds=point.latency.p95))
            return f"p95 {p95} at {format_count(point.arriving)} rows/s"
        case LivePoint():
            return f"does not keep up with {format_count(point.arriving)} rows/s"
        case _:
            assert_never(point)
