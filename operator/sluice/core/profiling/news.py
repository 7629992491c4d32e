"""Say what has happened to a profile: each news is one Event, found by comparing two states of its run."""

from collections.abc import Iterator

from sluice.core.news import News
from sluice.core.profiling.records import Copy, CopyPhase, Run
from sluice.core.quantities import format_count


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
        measured = ", ".join(_told(after, point.executors) for point in after.points)
        yield News(reason="Profiled", message=f"Rows per second by executors: {measured}")


def _of_copy(before: Copy | None, after: Copy, run: Run) -> Iterator[News]:
    if before is None:
        told = f"A copy with {after.executors} executors starts in {after.namespace}"
        yield News(reason="CopyStarting", message=told)
    if before is not None and before.phase is after.phase:
        return
    if after.phase is CopyPhase.MEASURED:
        told = f"Rows per second by executors: {_told(run, after.executors)}"
        yield News(reason="CopyMeasured", message=told)
    if after.phase is CopyPhase.FAILED and after.problem is not None:
        told = f"The copy with {after.executors} executors has ended: {after.problem.message}"
        yield News(reason="CopyEnded", message=told, is_warning=True)


def _told(run: Run, executors: int) -> str:
    point = next(point for point in run.points if point.executors == executors)
    share = 100 * point.error / point.rate if point.rate else 0.0
    return f"{executors}: {format_count(point.rate)} (standard error {share:.1f} %)"
