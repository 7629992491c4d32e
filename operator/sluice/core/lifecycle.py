"""Decide the one next step in the life of a job, from what is declared, remembered and seen.

    paused ------------------------------------> see and report, do nothing
    spec suspended ----------------------------> stop the driver, keep the checkpoint
    driver pod of a former owner, or deleting -> wait until it is gone from the API
    driver ended ------------------------------> record why, remove the pod, back off
    driver cannot start ------------------------> after a while, go back to the last good spec
    driver runs, its node is to be emptied ----> stop it; the next one starts elsewhere
    driver runs, executors come to no use -----> stop it; the next one gives tasks to all of them
    driver runs, spec changed: live -----------> the agent takes the new number of executors, their pods another CPU
                               restart --------> stop it; the next one starts on the same checkpoint
                               migration ------> refuse, keep it running
    no driver, nothing in the way -------------> incarnation + 1, start

There is never a second driver: its pod has a fixed name, and the next incarnation starts only when the
pod of the last one is gone. Each step carries the record that must be stored *before* it is taken.
"""

from dataclasses import replace
from datetime import datetime

from sluice.core import (
    changes,
    checkpoints,
    failures,
    resizing,
    restarting,
    staffing,
    succession,
)
from sluice.core.application import JobKey, StreamJob
from sluice.core.changes import Change, ChangeClass
from sluice.core.checkpoints import CheckpointReport
from sluice.core.chosen import newly_chosen, wanted_executors
from sluice.core.conditions import Condition, DriverThere
from sluice.core.drilling import answering
from sluice.core.observations import LOST_AFTER, AgentReport, DriverPod, Observed
from sluice.core.proving import has_worked
from sluice.core.record import ANOTHER_WRITER, Failure, Phase, Record
from sluice.core.recoveries import Cause
from sluice.core.resizing import Resize
from sluice.core.steps import (
    WAIT,
    ReplaceExecutors,
    ResizeExecutors,
    SetExecutors,
    StartDriver,
    StopDriver,
    Verdict,
    Wait,
)


def next_step(
    job: StreamJob, record: Record, seen: Observed, *, holder: JobKey | None, now: datetime
) -> Verdict:
    """Decide the one next step for a valid job; `holder` is another job that has its checkpoint."""
    record = succession.inherited(job, remember_progress(record, seen), seen, now)
    record = replace(
        record,
        incarnation=_newest_incarnation(job, record, seen),
        ended=max(record.ended, seen.ended),
        recoveries=record.recoveries.seen(seen, now),
        chosen=newly_chosen(job, record.chosen, seen.decided, now),
    )
    record = answering.noticed(job, answering.answered(job, record, seen, now), seen, now)
    driver = seen.driver
    if job.paused_by is not None:
        return _left_alone(job, record, seen, now)
    if driver is None:
        return _without_driver(job, record, holder, now)
    if driver.owner_uid != job.uid or driver.deleting:
        return _leaving(job, record, driver, now)
    if driver.is_over:
        return _after_the_end(job, record, driver, seen, now)
    if job.suspend:
        return _stop(record, driver, "spec.suspend is true")
    verdict = _with_driver(job, record, driver, seen, now)
    return verdict if isinstance(verdict.step, StopDriver) else _called_off(verdict, driver)


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
    commits = [commit for query in queries if (commit := query.last_commit) is not None]
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
    record = _with_loss(record, now)
    if holder is not None:
        return Verdict(step=WAIT, record=record, phase=Phase.REFUSED)
    if record.last_failure is not None and record.last_failure.is_answered_by(job):
        record = record.forgiven()
    if record.gave_up:
        return Verdict(step=WAIT, record=record, phase=Phase.FAILED)
    if restarting.moves_checkpoint(job, record):
        return Verdict(step=WAIT, record=record, phase=Phase.REFUSED)
    # Beyond the longest pause is no moment of ours: a clock was set back, or somebody has edited the status.
    latest = now + failures.longest_pause(job.restart)
    if record.next_start is not None and now < record.next_start <= latest:
        wait = Wait(until=record.next_start)
        return Verdict(step=wait, record=record, phase=Phase.BACKING_OFF)
    drained = restarting.drained(record)
    if drained is not None and now < drained <= now + restarting.DRAIN_ASKS:
        return Verdict(step=Wait(until=drained), record=record, phase=Phase.STOPPING)
    started = record.with_start(job.checkpoint_location)
    started = replace(started, proving=record.proving.started(job, now))
    inherits = record.inherits(job.checkpoint_location)
    step = StartDriver(incarnation=started.incarnation, inherits=inherits)
    return Verdict(step=step, record=started, phase=Phase.PENDING)


def _with_loss(record: Record, now: datetime) -> Record:
    """Begin to measure when the driver of the last look is gone, and nobody here has asked it to go: somebody has
    deleted its pod, or evicted it.
    """
    was_there = any(
        claim.type is Condition.DRIVER_RUNNING and claim.reason in frozenset(DriverThere)
        for claim in record.conditions
    )
    if not was_there or record.stopping is not None:
        return record
    return failures.away(record, Cause.DRIVER_LOSS, now, now)


def _leaving(job: StreamJob, record: Record, driver: DriverPod, now: datetime) -> Verdict:
    """Wait until the pod is gone; from a node that is lost, or does not let go of a volume, it only goes by force."""
    wait = Verdict(step=WAIT, record=record, phase=Phase.STOPPING)
    overdue = driver.overdue_from
    if overdue is None:
        return wait
    if now < overdue:
        return replace(wait, step=Wait(until=overdue))
    # Until then the agent of one that may live may not even have noticed that it cannot renew the Lease.
    fenced = overdue if driver.is_proven_dead else overdue + job.checkpoint.lease
    if not job.restart.fences_lost_nodes or driver.owner_uid != job.uid:
        return wait
    if now < fenced:
        return replace(wait, step=Wait(until=fenced))
    if not driver.is_proven_dead:
        record = replace(record, stopping=f"its node {driver.node} is lost")
        record = failures.away(record, Cause.NODE_LOSS, overdue - LOST_AFTER, now)
    step = StopDriver(uid=driver.uid, by_force=True)
    return Verdict(step=step, record=record, phase=Phase.STOPPING)


def _after_the_end(
    job: StreamJob, record: Record, driver: DriverPod, seen: Observed, now: datetime
) -> Verdict:
    """Remember why the driver ended; then remove its pod, so that the next one can have its name."""
    record = _with_its_end(job, record, driver, seen, now)
    phase = Phase.STOPPING if record.stopping else Phase.BACKING_OFF
    return Verdict(step=StopDriver(uid=driver.uid), record=record, phase=phase)


def _with_its_end(
    job: StreamJob, record: Record, driver: DriverPod, seen: Observed, now: datetime
) -> Record:
    """Count the end of a driver once, unless it was asked for; another writer counts in any case."""
    if record.has_counted(driver.incarnation):
        return record
    failure = failures.why_it_ended(job, driver, seen.lost, now)
    if record.stopping is not None and failure.reason != ANOTHER_WRITER:
        return record
    return failures.counted(job, record, failure, driver.started, now)


def _left_alone(job: StreamJob, record: Record, seen: Observed, now: datetime) -> Verdict:
    """Take in what has happened to a paused job; whoever resumes it finds nothing forgotten."""
    driver = seen.driver
    if driver is None or driver.is_over:
        if driver is not None and driver.owner_uid == job.uid:
            record = _with_its_end(job, record, driver, seen, now)
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
    record = _with_staffing(job, record, driver, seen, now)
    resize = resizing.followed(record.resize, job, change, driver, seen, now=now)
    record = replace(record, resize=resize)
    due = restarting.due(job, record, driver, seen, now)
    # A job that never ran has nothing that a restart would interrupt.
    is_held_back = due is not None and seen.crowd > 0 and record.last_batch is not None
    if due is not None and not is_held_back:
        if due.fallback is not None and record.staffing is not None:
            record = replace(record, staffing=replace(record.staffing, fallback=due.fallback))
        return _stop(failures.away(record, due.cause, now, now), driver, due.why)
    has_the_spec = change.kind in (ChangeClass.LIVE, ChangeClass.NONE)
    go_on = _on_trial if has_the_spec and driver.document is not None else _running
    verdict = go_on(job, record, driver, seen, now)
    if due is None or isinstance(verdict.step, StopDriver):
        return verdict
    return replace(verdict, step=WAIT, held_back=due.why)


def _called_off(verdict: Verdict, driver: DriverPod) -> Verdict:
    """The driver goes on. It may have been told to stop before, in vain, for a reason that holds no longer."""
    record = verdict.record
    if record.stopping is None:
        return verdict
    recoveries = record.recoveries.called_off(driver.incarnation)
    return replace(verdict, record=replace(record, stopping=None, recoveries=recoveries))


def _with_staffing(
    job: StreamJob, record: Record, driver: DriverPod, seen: Observed, now: datetime
) -> Record:
    """Follow what becomes of the last rescale; a choice for which there is no room is taken back."""
    wanted = wanted_executors(job, record.chosen)
    known = staffing.followed(record.staffing, wanted, driver, seen.report, now)
    record = replace(record, staffing=known)
    returned = staffing.taken_back(known, job, record.chosen, driver, seen, now)
    if returned is None:
        return record
    room = staffing.Room(executors=returned.executors, until=now + staffing.ROOM_AGAIN)
    return replace(record, chosen=returned, room=room, staffing=None)


def _on_trial(
    job: StreamJob, record: Record, driver: DriverPod, seen: Observed, now: datetime
) -> Verdict:
    """The driver has the present spec, which it may prove, or which may keep it or its executors from starting."""
    if has_worked(seen.report):
        record = replace(record, proving=record.proving.worked(job))
    if seen.report is not None and seen.report.registered:
        record = replace(record, proving=record.proving.staffed())
    due = record.proving.due(job)
    hindrance = failures.hindrance(job, driver, seen, now)
    if due is None or hindrance is None:
        return _running(job, record, driver, seen, now)
    if now < due:
        verdict = _running(job, record, driver, seen, now)
        return replace(verdict, step=Wait(until=due)) if verdict.step == WAIT else verdict
    return _failed(job, record, driver, hindrance, "it cannot start, or its executors cannot", now)


def _running(
    job: StreamJob, record: Record, driver: DriverPod, seen: Observed, now: datetime
) -> Verdict:
    report = seen.report
    if report is not None and failures.has_died_inside(report, driver, now):
        failure = failures.why_queries_ended(job, report, driver, seen.lost)
        return _failed(job, record, driver, failure, "its queries have ended", now)
    losing = failures.loses_its_executors(job, driver, seen, now)
    if losing is not None:
        return _failed(job, record, driver, losing, "its executors fail one after the other", now)
    if driver.started is not None and now - driver.started >= job.restart.reset_after:
        record = replace(record, failures=0, proving=record.proving.forgiven())
    phase = _phase_of(driver, report)
    wanted = wanted_executors(job, record.chosen)
    if report is not None and _has_other_executors(report, wanted):
        return Verdict(step=SetExecutors(target=wanted), record=record, phase=phase)
    if seen.leaving and report is not None and report.phase == "running":
        return Verdict(step=ReplaceExecutors(ids=seen.leaving), record=record, phase=phase)
    return Verdict(step=_resize(record.resize, seen) or WAIT, record=record, phase=phase)


def _failed(
    job: StreamJob, record: Record, driver: DriverPod, failure: Failure, why: str, now: datetime
) -> Verdict:
    """Stop a driver that has not ended and is no use any more; its failure counts once."""
    if not record.has_counted(driver.incarnation):
        record = failures.counted(job, record, failure, driver.started, now)
    return _stop(record, driver, why)


def _resize(resize: Resize | None, seen: Observed) -> ResizeExecutors | None:
    """The executors that are to be given other CPU now."""
    if resize is None or resize.refusal:
        return None
    pods = tuple(sorted(one.name for one in resizing.lacking(resize, seen.executors)))
    return ResizeExecutors(pods=pods, share=resize.share) if pods else None


def _has_other_executors(report: AgentReport, wanted: int) -> bool:
    """Whether the driver aims at another number, or has more: one that was still starting when the number
    was lowered registers afterwards, and Spark keeps it.
    """
    if report.phase != "running" or report.target is None:
        return False
    return report.target != wanted or (report.registered or 0) > wanted


def _phase_of(driver: DriverPod, report: AgentReport | None) -> Phase:
    if driver.started is None:
        return Phase.PENDING
    if report is None or not any(query.is_under_way for query in report.queries):
        return Phase.STARTING
    return Phase.RUNNING


def _stop(record: Record, driver: DriverPod, why: str) -> Verdict:
    record = replace(record, stopping=why)
    return Verdict(step=StopDriver(uid=driver.uid), record=record, phase=Phase.STOPPING)
