"""Decide the one next step in the life of a job, from what is declared, remembered and seen.

    spec suspended ----------------------------> stop the driver, keep the checkpoint
    driver pod of a former owner, or deleting -> wait until it is gone from the API
    driver ended ------------------------------> record why, remove the pod, back off
    driver runs, spec changed: live -----------> the agent takes the new number of executors
                               restart --------> stop it; the next one starts on the same checkpoint
                               migration ------> refuse, keep it running
    no driver, nothing in the way -------------> incarnation + 1, start

There is never a second driver: its pod has a fixed name, and the next incarnation starts only when the
pod of the last one is gone. Each step carries the record that must be stored *before* it is taken.
"""

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import assert_never

from sluice.core import changes, hints
from sluice.core.application import JobKey, RestartPolicy, StreamJob
from sluice.core.changes import ChangeClass
from sluice.core.observations import LOST_AFTER, AgentReport, DriverPod, Observed
from sluice.core.record import Failure, Phase, Record
from sluice.core.recoveries import Cause

_ANOTHER_WRITER = "CONCURRENT_STREAM_LOG_UPDATE"
"""Spark's error class when it finds that somebody else has written its offset or commit log."""

AGENT_GRACE = timedelta(seconds=30)
"""How long a driver may show a failed query and no active one before it is replaced: the program
may be about to start another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartDriver:
    """Create the children of this incarnation and its driver pod.

    `inherits` says that the former driver is proven dead: its Lease of the checkpoint passes on. Else the new driver
    waits until it is given back or has run out.
    """

    incarnation: int
    inherits: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StopDriver:
    """Delete the driver pod; its agent stops the queries within the grace period.

    `by_force` takes it out of the API at once, whatever its node says.
    """

    uid: str
    by_force: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SetExecutors:
    """Ask the driver's agent for this many executors."""

    target: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Do nothing before `until`, or until something happens if that is None."""

    until: datetime | None = None


Step = StartDriver | StopDriver | SetExecutors | Wait
WAIT = Wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The next step, what to remember before it is taken, and the job's phase in a word."""

    step: Step
    record: Record
    phase: Phase


def next_step(
    job: StreamJob, record: Record, seen: Observed, *, holder: JobKey | None, now: datetime
) -> Verdict:
    """Decide the one next step for a valid job; `holder` is another job that has its checkpoint."""
    record = remember_progress(record, seen)
    record = replace(
        record,
        ended=max(record.ended, seen.ended),
        recoveries=record.recoveries.seen(seen, now),
    )
    driver = seen.driver
    if driver is None:
        return _without_driver(job, record, holder, now)
    if driver.owner_uid != job.uid or driver.deleting:
        return _leaving(job, record, driver, now)
    if driver.is_over:
        return _after_the_end(job, record, driver, now)
    if job.suspend:
        return _stop(record, driver, "spec.suspend is true")
    return _with_driver(job, record, driver, seen, now)


def remember_progress(record: Record, seen: Observed) -> Record:
    """Keep the newest committed batch that the agent told of."""
    commits = [
        (query.committed_at, query.batch_id)
        for query in (seen.report.queries if seen.report else ())
        if query.committed_at is not None and query.batch_id is not None
    ]
    if not commits:
        return record
    at, batch = max(commits)
    return replace(record, last_batch=batch, last_commit=at)


def backoff(policy: RestartPolicy, failures: int, seed: str) -> timedelta:
    """The pause after the n-th failure in a row, with a jitter of a quarter that `seed` decides.

    The jitter keeps many jobs that failed together from starting together; being drawn from the
    seed, it is the same whenever it is computed again.
    """
    exponent = min(failures - 1, 60)
    seconds = policy.initial.total_seconds() * policy.factor**exponent
    pause = timedelta(seconds=min(seconds, policy.maximum.total_seconds()))
    digest = hashlib.sha256(f"{seed}/{failures}".encode()).digest()
    return pause * (0.75 + 0.5 * digest[0] / 255)


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
    inherits = record.inherits(job.checkpoint_location)
    step = StartDriver(incarnation=started.incarnation, inherits=inherits)
    return Verdict(step=step, record=started, phase=Phase.PENDING)


def refused(job: StreamJob, record: Record, why: str, now: datetime) -> Record:
    """The cluster did not take the driver pod of this incarnation: quota, admission, security."""
    failure = Failure(
        incarnation=record.incarnation,
        generation=job.generation,
        reason="DriverRefused",
        message=f"the cluster refused its pod: {why}",
        at=now,
    )
    return _count(job, record, failure, None, now)


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
    record = _away(record, Cause.NODE_LOSS, driver.gone_by, now)
    step = StopDriver(uid=driver.uid, by_force=True)
    return Verdict(step=step, record=record, phase=Phase.STOPPING)


def _after_the_end(job: StreamJob, record: Record, driver: DriverPod, now: datetime) -> Verdict:
    """Remember why the driver ended; then remove its pod, so that the next one can have its name."""
    if record.stopping is None and not record.has_counted(driver.incarnation):
        record = _count(job, record, _why_it_ended(job, driver, now), driver.started, now)
    phase = Phase.STOPPING if record.stopping else Phase.BACKING_OFF
    return Verdict(step=StopDriver(uid=driver.uid), record=record, phase=phase)


def _why_it_ended(job: StreamJob, driver: DriverPod, now: datetime) -> Failure:
    ended = driver.ended
    if ended is None:
        reason, text, code = "DriverLost", "its pod ended without an exit code", None
    elif ended.exit_code == 0:
        reason, code = "FinishedUnasked", 0
        text = "the program returned (exit code 0); a streaming job has no end of its own"
    elif ended.reason == "OOMKilled":
        reason, code = "OutOfMemory", ended.exit_code
        text = "it needed more memory than its limit; raise spec.application.driver.memory"
    elif _ANOTHER_WRITER in ended.message:
        reason, code, text = "AnotherWriter", ended.exit_code, _told_of_another_writer(job)
    else:
        reason, code = "DriverFailed", ended.exit_code
        text = f"exit code {code}" + (f": {ended.message}" if ended.message else "")
        text += hints.remedy(job, ended.message)
    at = ended.at if ended is not None and ended.at is not None else now
    return Failure(
        incarnation=driver.incarnation,
        generation=job.generation,
        reason=reason,
        message=text,
        at=at,
        exit_code=code,
    )


def _told_of_another_writer(job: StreamJob) -> str:
    return (
        f"somebody else writes the checkpoint {job.checkpoint_location} ({_ANOTHER_WRITER}): rows may be delivered "
        "twice. Find and stop it; then change the spec, for example spec.suspend, to start the job again"
    )


def _count(
    job: StreamJob, record: Record, failure: Failure, started: datetime | None, now: datetime
) -> Record:
    policy = job.restart
    if started is not None and failure.at - started >= policy.reset_after:
        record = replace(record, failures=0)
    pause = backoff(policy, record.failures + 1, job.uid)
    record = record.with_failure(failure, now + pause)
    cause = Cause.NODE_LOSS if failure.reason == "DriverLost" else Cause.DRIVER_LOSS
    record = _away(record, cause, failure.at, now)
    has_given_up = policy.failures and record.failures >= policy.failures
    if has_given_up or failure.reason == "AnotherWriter":
        record = replace(record, gave_up=True)
    return record


def _with_driver(
    job: StreamJob, record: Record, driver: DriverPod, seen: Observed, now: datetime
) -> Verdict:
    before = driver.document
    change = changes.classify(before, job.document) if before is not None else changes.NO_CHANGE
    if change.kind is not record.change.kind or change.fields != record.change.fields:
        record = replace(record, change=change)
    match change.kind:
        case ChangeClass.RESTART:
            return _restart(record, driver, f"{change} changed", now)
        case ChangeClass.MIGRATION if _may_restart(job, record):
            return _restart(record, driver, f"{change} changed", now)
        case ChangeClass.MIGRATION | ChangeClass.LIVE | ChangeClass.NONE:
            return _running(job, record, driver, seen, now)
        case _:
            assert_never(change.kind)


def _may_restart(job: StreamJob, record: Record) -> bool:
    """A checkpoint without a batch has nothing to migrate; else the new place must be named."""
    return record.last_batch is None or job.allowed_migration == job.checkpoint_location


def _running(
    job: StreamJob, record: Record, driver: DriverPod, seen: Observed, now: datetime
) -> Verdict:
    report = seen.report
    if report is not None and _has_died_inside(report, driver, now):
        if not record.has_counted(driver.incarnation):
            failure = _why_queries_ended(job, report, driver)
            record = _count(job, record, failure, driver.started, now)
        return _stop(record, driver, "its queries have ended")
    if driver.started is not None and now - driver.started >= job.restart.reset_after:
        record = replace(record, failures=0)
    phase = _phase_of(driver, report)
    wanted = job.executors.initial
    if report is not None and _has_other_executors(report, wanted):
        return Verdict(step=SetExecutors(target=wanted), record=record, phase=phase)
    return Verdict(step=WAIT, record=record, phase=phase)


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


def _why_queries_ended(job: StreamJob, report: AgentReport, driver: DriverPod) -> Failure:
    query = next(query for query in report.queries if query.failure is not None)
    assert query.failure is not None
    text = f"query {query.name!r}: {query.failure.error_class}: {query.failure.message}"
    has_rival = _ANOTHER_WRITER in text
    text = _told_of_another_writer(job) if has_rival else text + hints.remedy(job, text)
    return Failure(
        incarnation=driver.incarnation,
        generation=job.generation,
        reason="AnotherWriter" if has_rival else "QueryFailed",
        message=text,
        at=report.at,
    )


def _phase_of(driver: DriverPod, report: AgentReport | None) -> Phase:
    if driver.started is None:
        return Phase.PENDING
    if report is None or not any(query.is_under_way for query in report.queries):
        return Phase.STARTING
    return Phase.RUNNING


def _away(record: Record, cause: Cause, began: datetime, now: datetime) -> Record:
    """The driver is gone or goes; a job that never ran has nothing to recover."""
    if record.last_batch is None:
        return record
    begun = record.recoveries.begun(cause, record.incarnation + 1, began, now)
    return replace(record, recoveries=begun)


def _restart(record: Record, driver: DriverPod, why: str, now: datetime) -> Verdict:
    return _stop(_away(record, Cause.SPEC_CHANGE, now, now), driver, why)


def _stop(record: Record, driver: DriverPod, why: str) -> Verdict:
    record = replace(record, stopping=why)
    return Verdict(step=StopDriver(uid=driver.uid), record=record, phase=Phase.STOPPING)
