"""Answer a drill, and notice its kill: the loss that follows is measured as any other, and counted as none.

asked for      the annotation is new: answered once, and the answer is kept
accepted       the loss of what it names is the drill's, for as long as the drill is valid
done           the loss was seen; the next one is a real one
"""

from dataclasses import replace
from datetime import datetime
from typing import assert_never

from sluice.core import failures
from sluice.core.application import StreamJob
from sluice.core.drilling.records import (
    ANNOTATION,
    CLOCKS_APART,
    VALID,
    Answer,
    Drill,
    Victim,
    read_drill,
)
from sluice.core.observations import DriverPod, Observed
from sluice.core.record import Record
from sluice.core.recoveries import Cause


def answered(job: StreamJob, record: Record, seen: Observed, now: datetime) -> Record:
    """The record with the answer to what is asked for now."""
    if job.drill is None:
        return record if record.drill is None else replace(record, drill=None)
    if record.drill is not None and record.drill.asked == job.drill:
        return record
    refusal = _refusal(job, job.drill, record, seen, now)
    return replace(record, drill=Answer(asked=job.drill, refusal=refusal))


def noticed(job: StreamJob, record: Record, seen: Observed, now: datetime) -> Record:
    """The record with the recovery that a drill has begun, if what it was to kill is gone by now."""
    answer = record.drill
    if answer is None or answer.refusal or answer.done or record.recoveries.present is not None:
        return record
    try:
        drill = read_drill(answer.asked)
    except ValueError:
        # Nobody has accepted that: somebody has edited the status. What is asked for is answered anew.
        return replace(record, drill=None)
    hit = record.incarnation
    if now - drill.at > VALID or not _is_lost(drill, job, record, seen):
        return record
    record = replace(record, drill=replace(answer, done=True))
    match drill.victim:
        case Victim.DRIVER:
            return failures.away(record, Cause.DRIVER_LOSS, now, now, drilled=hit)
        case Victim.EXECUTOR:
            begun = record.recoveries.begun(Cause.EXECUTOR_LOSS, hit, now, now, drilled=hit)
            return replace(record, recoveries=begun)
        case _:
            assert_never(drill.victim)


def _refusal(job: StreamJob, asked: str, record: Record, seen: Observed, now: datetime) -> str:
    """Why nothing may be killed; empty if it may."""
    try:
        drill = read_drill(asked)
    except ValueError as error:
        return str(error)
    if not -CLOCKS_APART <= now - drill.at <= VALID:
        return f"{ANNOTATION}: {asked!r} is not of the last ten minutes; ask again"
    return (
        job.drills.why_not(drill.victim, now)
        or _not_in_a_state(job, record, seen)
        or _not_there(drill, seen)
    )


def _not_in_a_state(job: StreamJob, record: Record, seen: Observed) -> str:
    driver, report = seen.driver, seen.report
    if job.paused_by is not None:
        return f"{job.paused_by} pauses the job: nobody would start what is killed"
    if job.suspend:
        return "spec.suspend is true: nothing runs"
    if driver is None or not _goes_on(driver, job, record) or report is None:
        return "no driver runs whose agent answers"
    if record.recoveries.present is not None:
        return f"the job recovers already ({record.recoveries.present.cause})"
    if record.last_batch is None:
        return "the job has not committed a batch yet: there is nothing to recover"
    if report.target is not None and report.target != seen.executors_running:
        return f"{seen.executors_running} of {report.target} executors run"
    return ""


def _not_there(drill: Drill, seen: Observed) -> str:
    if drill.victim is Victim.EXECUTOR and not _runs(drill.pod, seen):
        return f"the job has no running executor {drill.pod!r}"
    return ""


def _is_lost(drill: Drill, job: StreamJob, record: Record, seen: Observed) -> bool:
    """Whether what it was to kill is gone, and nobody else has asked the driver to stop."""
    if record.stopping is not None or record.has_counted(record.incarnation):
        return False
    driver = seen.driver
    if drill.victim is Victim.DRIVER:
        return driver is None or (driver.owner_uid == job.uid and driver.deleting)
    if driver is None or not _goes_on(driver, job, record):
        return False
    return not _runs(drill.pod, seen)


def _runs(pod: str, seen: Observed) -> bool:
    return any(one.name == pod for one in seen.executors)


def _goes_on(driver: DriverPod, job: StreamJob, record: Record) -> bool:
    is_present = driver.owner_uid == job.uid and driver.incarnation == record.incarnation
    runs = driver.started is not None and not driver.deleting and not driver.is_over
    return is_present and runs
