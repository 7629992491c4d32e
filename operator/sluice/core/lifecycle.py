"""Decide the one next step in the life of a job, from what is declared, remembered and seen.

    paused ------------------------------------> see and report, do nothing
    spec suspended ----------------------------> stop the driver, keep the checkpoint
    driver pod of a former owner, or deleting -> wait until it is gone from the API
    driver ended ------------------------------> record why, remove the pod, back off
    driver cannot start ------------------------> after a while, go back to the last good spec
    driver runs, its node is cordoned ---------> stop it; the next one starts elsewhere
    driver runs, spec changed: live -----------> the agent takes the new number of executors
                               restart --------> stop it; the next one starts on the same checkpoint
                               migration ------> refuse, keep it running
    no driver, nothing in the way -------------> incarnation + 1, start

There is never a second driver: its pod has a fixed name, and the next incarnation starts only when the
pod of the last one is gone. Each step carries the record that must be stored *before* it is taken.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from sluice.core import changes, checkpoints, failures
from sluice.core.application import JobKey, StreamJob
from sluice.core.changes import Change, ChangeClass
from sluice.core.checkpoints import CheckpointReport
from sluice.core.chosen import Chosen, newly_chosen, wanted_executors
from sluice.core.modelling.rescaling import Path
from sluice.core.observations import LOST_AFTER, AgentReport, DriverPod, Observed
from sluice.core.proving import has_worked
from sluice.core.record import Phase, Record
from sluice.core.recoveries import Cause
from sluice.core.steps import (
    WAIT,
    ReplaceExecutors,
    SetExecutors,
    StartDriver,
    StopDriver,
    Verdict,
    Wait,
)

AGENT_GRACE = timedelta(seconds=30)
"""How long a driver may show a failed query and no active one before it is replaced: the program
may be about to start another."""


def next_step(
    job: StreamJob, record: Record, seen: Observed, *, holder: JobKey | None, now: datetime
) -> Verdict:
    """Decide the one next step for a valid job; `holder` is another job that has its checkpoint."""
    record = remember_progress(record, seen)
    record = replace(
        record,
        incarnation=_newest_incarnation(job, record, seen),
        ended=max(record.ended, seen.ended),
        recoveries=record.recoveries.seen(seen, now),
        chosen=newly_chosen(job, record.chosen, seen.decided),
    )
    driver = seen.driver
    if job.paused_by is not None:
        return _left_alone(job, record, seen, now)
    if driver is None:
        return _without_driver(job, record, holder, now)
    if driver.owner_uid != job.uid or driver.deleting:
        return _leaving(job, record, driver, now)
    if driver.is_over:
        return _after_the_end(job, record, driver, now)
    if job.suspend:
        return _stop(record, driver, "spec.suspend is true")
    return _with_driver(job, record, driver, seen, now)


def _newest_incarnation(job: StreamJob, record: Record, seen: Observed) -> int:
    """The number of the last driver. A status that somebody has emptied must not make it be given twice."""
    driver = seen.driver
    if driver is None or driver.owner_uid != job.uid:
        return record.incarnation
    return max(record.incarnation, driver.incarnation)


def remember_progress(record: Record, seen: Observed) -> Record:
    """Keep the newest committed batch that the agent told of, and what the checkpoint fixes."""
    queries = seen.report.queries if seen.report else ()
    record = _with_pinned(record, [query.checkpoint for query in queries])
    commits = [
        (query.committed_at, query.batch_id)
        for query in queries
        if query.committed_at is not None and query.batch_id is not None
    ]
    if not commits:
        return record
    at, batch = max(commits)
    return replace(record, last_batch=batch, last_commit=at)


def _with_pinned(record: Record, told: list[CheckpointReport | None]) -> Record:
    read = [checkpoint for checkpoint in told if checkpoint is not None and checkpoint.settings]
    if not read:
        return record
    return replace(record, log_format=read[0].format_version, pinned=checkpoints.pinned_by(read))


def _without_driver(
    job: StreamJob, record: Record, holder: JobKey | None, now: datetime
) -> Verdict:
    if job.suspend:
        calm = replace(record.forgiven(), stopping=None, recoveries=record.recoveries.dropped())
        return Verdict(step=WAIT, record=calm, phase=Phase.SUSPENDED)
    if holder is not None:
        return Verdict(step=WAIT, record=record, phase=Phase.REFUSED)
    if record.last_failure is not None and record.last_failure.generation != job.generation:
        record = record.forgiven()
    if record.gave_up:
        return Verdict(step=WAIT, record=record, phase=Phase.FAILED)
    if moves_checkpoint(job, record):
        return Verdict(step=WAIT, record=record, phase=Phase.REFUSED)
    if record.next_start is not None and now < record.next_start:
        wait = Wait(until=record.next_start)
        return Verdict(step=wait, record=record, phase=Phase.BACKING_OFF)
    started = record.with_start(job.checkpoint_location)
    started = replace(started, proving=record.proving.started(job, now))
    inherits = record.inherits(job.checkpoint_location)
    step = StartDriver(incarnation=started.incarnation, inherits=inherits)
    return Verdict(step=step, record=started, phase=Phase.PENDING)


def moves_checkpoint(job: StreamJob, record: Record) -> bool:
    """Whether a start would leave the checkpoint that holds this job's progress behind, unasked."""
    return (
        record.last_batch is not None
        and record.checkpoint not in (None, job.checkpoint_location)
        and job.allowed_migration != job.checkpoint_location
    )


def _leaving(job: StreamJob, record: Record, driver: DriverPod, now: datetime) -> Verdict:
    """Wait until the pod is gone; from a node that is lost it only goes by force."""
    wait = Verdict(step=WAIT, record=record, phase=Phase.STOPPING)
    if driver.gone_by is None or driver.is_proven_dead:
        return wait
    overdue = driver.gone_by + LOST_AFTER
    if now < overdue:
        return replace(wait, step=Wait(until=overdue))
    # Until then its agent may not even have noticed that it cannot renew the Lease.
    fenced = overdue + job.checkpoint.lease
    if not job.restart.fences_lost_nodes or driver.owner_uid != job.uid:
        return wait
    if now < fenced:
        return replace(wait, step=Wait(until=fenced))
    record = replace(record, stopping=f"its node {driver.node} is lost")
    record = failures.away(record, Cause.NODE_LOSS, driver.gone_by, now)
    step = StopDriver(uid=driver.uid, by_force=True)
    return Verdict(step=step, record=record, phase=Phase.STOPPING)


def _after_the_end(job: StreamJob, record: Record, driver: DriverPod, now: datetime) -> Verdict:
    """Remember why the driver ended; then remove its pod, so that the next one can have its name."""
    record = _with_its_end(job, record, driver, now)
    phase = Phase.STOPPING if record.stopping else Phase.BACKING_OFF
    return Verdict(step=StopDriver(uid=driver.uid), record=record, phase=phase)


def _with_its_end(job: StreamJob, record: Record, driver: DriverPod, now: datetime) -> Record:
    """Count the end of a driver once, unless it was asked for."""
    if record.stopping is not None or record.has_counted(driver.incarnation):
        return record
    failure = failures.why_it_ended(job, driver, now)
    return failures.counted(job, record, failure, driver.started, now)


def _left_alone(job: StreamJob, record: Record, seen: Observed, now: datetime) -> Verdict:
    """Take in what has happened to a paused job; whoever resumes it finds nothing forgotten."""
    driver = seen.driver
    if driver is None or driver.is_over:
        if driver is not None and driver.owner_uid == job.uid:
            record = _with_its_end(job, record, driver, now)
        phase = Phase.SUSPENDED if job.suspend else Phase.PAUSED
        return Verdict(step=WAIT, record=record, phase=phase)
    if driver.owner_uid != job.uid or driver.deleting:
        return Verdict(step=WAIT, record=record, phase=Phase.STOPPING)
    record, _ = _with_change(job, record, driver)
    return Verdict(step=WAIT, record=record, phase=_phase_of(driver, seen.report))


def _with_change(job: StreamJob, record: Record, driver: DriverPod) -> tuple[Record, Change]:
    """What of the spec has changed since the driver was made from it."""
    before = driver.document
    change = changes.NO_CHANGE
    if before is not None:
        change = changes.classify(before, job.document, record.pinned)
    if change.kind is not record.change.kind or change.fields != record.change.fields:
        record = replace(record, change=change)
    return record, change


def _with_driver(
    job: StreamJob, record: Record, driver: DriverPod, seen: Observed, now: datetime
) -> Verdict:
    record, change = _with_change(job, record, driver)
    due = _restart_due(job, record, driver, seen, now)
    # A job that never ran has nothing that a restart would interrupt.
    is_held_back = due is not None and seen.crowd > 0 and record.last_batch is not None
    if due is not None and not is_held_back:
        cause, why = due
        return _stop(failures.away(record, cause, now, now), driver, why)
    has_the_spec = change.kind in (ChangeClass.LIVE, ChangeClass.NONE)
    go_on = _on_trial if has_the_spec and driver.document is not None else _running
    verdict = go_on(job, record, driver, seen, now)
    if due is None or isinstance(verdict.step, StopDriver):
        return verdict
    return replace(verdict, step=WAIT, held_back=due[1])


def _restart_due(
    job: StreamJob, record: Record, driver: DriverPod, seen: Observed, now: datetime
) -> tuple[Cause, str] | None:
    """A restart of the operator's own choice, and why; None if the driver may go on, or has failed."""
    change, chosen, report = record.change, record.chosen, seen.report
    moves = change.kind is ChangeClass.MIGRATION and _may_restart(job, record)
    if change.kind is ChangeClass.RESTART or moves:
        return Cause.SPEC_CHANGE, f"{change} changed"
    if report is not None and _has_died_inside(report, driver, now):
        return None
    if seen.is_cordoned:
        return Cause.PLANNED_MOVE, f"its node {driver.node} is cordoned"
    wanted = wanted_executors(job, chosen)
    if chosen is not None and _is_by_restart(chosen, driver, report, wanted):
        return Cause.RESCALE, f"decision {chosen.decision}: {wanted} executors"
    return None


def _may_restart(job: StreamJob, record: Record) -> bool:
    """A checkpoint without a batch has nothing to migrate; else the new place must be named."""
    place = job.checkpoint_location
    return record.last_batch is None or job.allowed_migration == place != record.checkpoint


def _on_trial(
    job: StreamJob, record: Record, driver: DriverPod, seen: Observed, now: datetime
) -> Verdict:
    """The driver has the present spec, which it may prove, or which may keep it from starting."""
    if has_worked(seen.report):
        record = replace(record, proving=record.proving.worked(job))
    due = record.proving.due(job)
    if due is None or driver.started is not None or driver.obstacle is None:
        return _running(job, record, driver, seen, now)
    if now < due:
        return Verdict(step=Wait(until=due), record=record, phase=Phase.PENDING)
    if not record.has_counted(driver.incarnation):
        failure = failures.cannot_start(job, driver, now)
        record = failures.counted(job, record, failure, None, now)
    return _stop(record, driver, "its pod cannot start")


def _running(
    job: StreamJob, record: Record, driver: DriverPod, seen: Observed, now: datetime
) -> Verdict:
    report = seen.report
    if report is not None and _has_died_inside(report, driver, now):
        if not record.has_counted(driver.incarnation):
            failure = failures.why_queries_ended(job, report, driver)
            record = failures.counted(job, record, failure, driver.started, now)
        return _stop(record, driver, "its queries have ended")
    if driver.started is not None and now - driver.started >= job.restart.reset_after:
        record = replace(record, failures=0)
    phase = _phase_of(driver, report)
    wanted = wanted_executors(job, record.chosen)
    if report is not None and _has_other_executors(report, wanted):
        return Verdict(step=SetExecutors(target=wanted), record=record, phase=phase)
    if seen.leaving and report is not None and report.phase == "running":
        return Verdict(step=ReplaceExecutors(ids=seen.leaving), record=record, phase=phase)
    return Verdict(step=WAIT, record=record, phase=phase)


def _is_by_restart(
    chosen: Chosen, driver: DriverPod, report: AgentReport | None, wanted: int
) -> bool:
    """Whether the executors are to come with another driver, and this one has others yet."""
    if chosen.path is not Path.RESTART or driver.incarnation > chosen.incarnation:
        return False
    return report is not None and report.target != wanted


def _has_other_executors(report: AgentReport, wanted: int) -> bool:
    """Whether the driver aims at another number, or has more: one that was still starting when the number
    was lowered registers afterwards, and Spark keeps it.
    """
    if report.phase != "running" or report.target is None:
        return False
    return report.target != wanted or (report.registered or 0) > wanted


def _has_died_inside(report: AgentReport, driver: DriverPod, now: datetime) -> bool:
    """Whether queries failed and none is left, while the program goes on as if nothing had happened."""
    if report.phase != "running" or any(query.active for query in report.queries):
        return False
    failed = any(query.failure is not None for query in report.queries)
    return failed and driver.started is not None and now - driver.started > AGENT_GRACE


def _phase_of(driver: DriverPod, report: AgentReport | None) -> Phase:
    if driver.started is None:
        return Phase.PENDING
    if report is None or not any(query.is_under_way for query in report.queries):
        return Phase.STARTING
    return Phase.RUNNING


def _stop(record: Record, driver: DriverPod, why: str) -> Verdict:
    record = replace(record, stopping=why)
    return Verdict(step=StopDriver(uid=driver.uid), record=record, phase=Phase.STOPPING)
