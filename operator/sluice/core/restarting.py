"""The restarts that the operator chooses: which one is due, and why.

    spec changed, which needs a new driver -------> at once
    executors cannot be given other CPU live -----> as for such a change
    a person asks --------------------------------> once for each value of the annotation
    node to be emptied ---------------------------> before it is drained
    decided: other executors, by another driver --> as soon as it was decided
    executors do not come or are not used --------> once for each number

A driver whose queries have failed is another matter: `failures`. Whether it must wait is for the lifecycle to say.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sluice.core import failures, staffing
from sluice.core.application import StreamJob
from sluice.core.asking import LONGEST_TOLD, RESTART
from sluice.core.changes import ChangeClass
from sluice.core.chosen import Chosen, wanted_executors
from sluice.core.modelling.rescaling import Path
from sluice.core.observations import AgentReport, DriverPod, Observed
from sluice.core.quantities import format_executors
from sluice.core.record import Record
from sluice.core.recoveries import Cause
from sluice.core.staffing import Fallback

DRAIN_ASKS = timedelta(seconds=6)
"""`kubectl drain` asks every five seconds whether it may evict a pod of this name. Once it must find one that goes, or
none: the next driver has the same name and may not be evicted either, and the drain would ask for ever.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A restart of the operator's own choice, and why; `fallback` if it is for the sake of executors that there are."""

    cause: Cause
    why: str
    fallback: Fallback | None = None


def due(
    job: StreamJob, record: Record, driver: DriverPod, seen: Observed, now: datetime
) -> Due | None:
    """The restart that is due; None if the driver may go on, or has failed."""
    change, chosen, report = record.change, record.chosen, seen.report
    moves = change.kind is ChangeClass.MIGRATION and _may_restart(job, record)
    if change.kind is ChangeClass.RESTART or moves:
        return Due(cause=Cause.SPEC_CHANGE, why=f"{change} changed")
    if moves_checkpoint(job, record):
        # No other driver would be started: this one is left alone, on whatever node it is.
        return None
    if record.resize is not None and record.resize.refusal:
        why = f"the executors' CPU changed, and {record.resize.refusal}"
        return Due(cause=Cause.SPEC_CHANGE, why=why)
    if job.restart_asked is not None and job.restart_asked != driver.restart_asked:
        asked = job.restart_asked[:LONGEST_TOLD]
        return Due(cause=Cause.SPEC_CHANGE, why=f"{RESTART} asks for it: {asked}")
    if report is not None and failures.has_died_inside(report, driver, now):
        return None
    if seen.why_leave:
        return Due(cause=Cause.PLANNED_MOVE, why=f"its node {driver.node} {seen.why_leave}")
    wanted = wanted_executors(job, chosen)
    if chosen is not None and _is_by_restart(chosen, driver, report, wanted):
        why = f"decision {chosen.decision}: {format_executors(wanted)}"
        return Due(cause=Cause.RESCALE, why=why)
    fallback = _under_way(record) or staffing.fallback(record.staffing, job, driver, report, now)
    if fallback is None:
        return None
    return Due(cause=Cause.RESCALE, why=fallback.message, fallback=fallback)


def moves_checkpoint(job: StreamJob, record: Record) -> bool:
    """Whether a start would leave the checkpoint that holds this job's progress behind, unasked."""
    return (
        record.last_batch is not None
        and record.checkpoint not in (None, job.checkpoint_location)
        and job.allowed_migration != job.checkpoint_location
    )


def drained(record: Record) -> datetime | None:
    """When a drain has seen that the driver leaves its node; None if it does not leave one for a drain."""
    away = record.recoveries.present
    if away is None or away.cause is not Cause.PLANNED_MOVE:
        return None
    return away.began + DRAIN_ASKS


def _under_way(record: Record) -> Fallback | None:
    """The restart for executors that was decided upon, while the driver that it was to stop is there yet."""
    made = record.staffing.fallback if record.staffing is not None else None
    return made if made is not None and made.message == record.stopping else None


def _may_restart(job: StreamJob, record: Record) -> bool:
    """A checkpoint without a batch has nothing to migrate; else the new place must be named."""
    place = job.checkpoint_location
    return record.last_batch is None or job.allowed_migration == place != record.checkpoint


def _is_by_restart(
    chosen: Chosen, driver: DriverPod, report: AgentReport | None, wanted: int
) -> bool:
    """Whether the executors are to come with another driver, and this one has others yet."""
    if chosen.path is not Path.RESTART or driver.incarnation > chosen.incarnation:
        return False
    return report is not None and report.target != wanted
