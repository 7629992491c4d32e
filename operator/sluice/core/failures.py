"""Why drivers end unasked, and what follows: the failure is counted, the next start waits, the stream is away."""

import hashlib
from dataclasses import replace
from datetime import datetime, timedelta

from sluice.core import executorfaults, hints
from sluice.core.application import RestartPolicy, StreamJob
from sluice.core.observations import (
    AgentReport,
    DriverPod,
    LostExecutor,
    Observed,
    QueryReport,
    awaits_node,
)
from sluice.core.proving import Rollback, has_worked
from sluice.core.record import ANOTHER_WRITER, PUT_OFF, Failure, Record
from sluice.core.recoveries import Cause

_HINDRANCES = frozenset({"DriverRefused", "CannotStart"})
"""Failures of what is around the driver, or of the spec: time tells."""

_LOG_UPDATED = "CONCURRENT_STREAM_LOG_UPDATE"
"""Spark's error class when it finds that somebody else has written its offset or commit log."""

_LAST_WORDS = (_LOG_UPDATED, "DRIVER_JVM_LOST")
"""After such a failure no other query is waited for: it must not start, or cannot."""

JITTER = 0.25
"""The share by which a pause is longer or shorter."""

SOONEST, LATEST = timedelta(seconds=1), timedelta(minutes=1)
"""The shortest and the longest pause before a start that was put off is tried again."""

MOST_LOST = 3
"""Executors that may fail before a driver is ended for it, however few it wants."""

AGENT_GRACE = timedelta(seconds=30)
"""How long a driver may show a failed query and no active one before it is replaced, since the last one ended: the
program may be about to start another.
"""


def counted(
    job: StreamJob, record: Record, failure: Failure, started: datetime | None, now: datetime
) -> Record:
    """One more failure: the next start waits longer, or there is none. What a drill did is none."""
    is_excused = record.recoveries.excuses(failure.incarnation, failure.at)
    if is_excused and failure.reason != ANOTHER_WRITER:
        return away(record, Cause.DRIVER_LOSS, failure.at, now)
    policy = job.restart
    if started is not None and failure.at - started >= policy.reset_after:
        record = replace(record, failures=0)
    pause = backoff(policy, record.failures + 1, job.uid)
    record = record.with_failure(failure, now + pause)
    cause = Cause.NODE_LOSS if failure.reason == "DriverLost" else Cause.DRIVER_LOSS
    record = away(record, cause, failure.at, now)
    has_given_up = policy.failures and record.failures >= policy.failures
    if failure.reason == ANOTHER_WRITER:
        return replace(record, gave_up=True)
    return _tried(job, replace(record, gave_up=record.gave_up or bool(has_given_up)), failure, now)


def _tried(job: StreamJob, record: Record, failure: Failure, now: datetime) -> Record:
    """What the failure means for the trial of a new spec; going back to the last good one waits for nothing."""
    before = record.proving
    rollback = Rollback(
        generation=job.generation,
        why=failure.message,
        incarnation=failure.incarnation,
        fingerprint=job.fingerprint,
    )
    if failure.reason in _HINDRANCES:
        after = before.hindered(job, rollback, now)
    else:
        after = before.failed(job, rollback, is_last=record.gave_up)
    if after.rollback != before.rollback:
        record = record.forgiven()
    return replace(record, proving=after)


def hindrance(job: StreamJob, driver: DriverPod, seen: Observed, now: datetime) -> Failure | None:
    """What keeps a driver from starting, or one that runs from having any executor; None if nothing is known to."""
    is_started = driver.started is not None
    what = _hindered_executors(job, seen, now) if is_started else _hindered_pod(driver, now)
    if not what:
        return None
    return Failure(
        incarnation=driver.incarnation,
        generation=job.generation,
        reason="CannotStart",
        message=what,
        at=now,
    )


def _hindered_pod(driver: DriverPod, now: datetime) -> str:
    if driver.obstacle is None or awaits_node(driver, now):
        return ""
    reason, message = driver.obstacle
    return f"its pod cannot start: {reason}: {message.rstrip('.')}"


def _hindered_executors(job: StreamJob, seen: Observed, now: datetime) -> str:
    if seen.report is None or seen.report.phase != "running" or seen.report.registered != 0:
        return ""
    if any(awaits_node(executor, now) for executor in seen.waiting):
        return ""
    faults = executorfaults.told(job, seen, now).strip()
    return f"it has no executor: {faults.rstrip('.')}" if faults else ""


def refused(job: StreamJob, record: Record, why: str, now: datetime) -> Record:
    """The cluster did not take the driver pod of this incarnation, or what it needs: quota, admission, security."""
    failure = Failure(
        incarnation=record.incarnation,
        generation=job.generation,
        reason="DriverRefused",
        message=f"the cluster refused its pod, or what that needs: {why}",
        at=now,
    )
    return counted(job, record, failure, None, now)


def put_off(job: StreamJob, record: Record, why: str, now: datetime) -> Record:
    """The cluster could not make the driver pod of this incarnation, or what it needs, by no fault of the spec's: a
    webhook of admission is away, a right is missing, a quota is just being written.

    Nothing is counted, given up or gone back from. The pause is as long as starts have been put off already: the next
    try is soon where that passes at once, and tries are rare where it lasts.
    """
    since = _put_off_since(record) or now
    failure = Failure(
        incarnation=record.incarnation,
        generation=job.generation,
        reason=PUT_OFF,
        message=f"the cluster could not make its pod, or what that needs: {why}",
        at=since,
    )
    pause = min(max(now - since, SOONEST), LATEST, job.restart.maximum)
    next_start = now + _jittered(pause, f"{job.uid}/{record.incarnation}")
    proving = record.proving.put_off(now)
    return replace(record, last_failure=failure, next_start=next_start, proving=proving)


def _put_off_since(record: Record) -> datetime | None:
    """Since when starts are put off, up to the last one; None if that one was not."""
    last = record.last_failure
    if last is None or not last.is_put_off or last.incarnation != record.incarnation - 1:
        return None
    return last.at


def why_it_ended(
    job: StreamJob, driver: DriverPod, lost: LostExecutor | None, now: datetime
) -> Failure:
    """What the pod of an ended driver tells, and that of an executor which had just ended."""
    ended = driver.ended
    at = ended.at if ended is not None and ended.at is not None else now
    if ended is None:
        reason, text, code = "DriverLost", "its pod ended without an exit code", None
    elif ended.exit_code == 0 and not ended.outside:
        reason, code = "FinishedUnasked", 0
        text = "the program returned (exit code 0); a streaming job has no end of its own"
    elif ended.reason == "OOMKilled":
        reason, code = "OutOfMemory", ended.exit_code
        text = "it needed more memory than its limit; raise spec.application.driver.memory"
    elif _LOG_UPDATED in ended.message:
        reason, code, text = ANOTHER_WRITER, ended.exit_code, _told_of_another_writer(job)
    else:
        reason, code = "DriverFailed", ended.exit_code
        text = ": ".join(
            filter(None, (ended.outside.rstrip("."), f"exit code {code}", ended.message))
        )
        text = _explained(job, text, lost, at)
    return Failure(
        incarnation=driver.incarnation,
        generation=job.generation,
        reason=reason,
        message=text,
        at=at,
        exit_code=code,
        fingerprint=job.fingerprint,
    )


def _explained(job: StreamJob, text: str, lost: LostExecutor | None, at: datetime) -> str:
    """With the remedy, and with what may be behind it."""
    advice, behind = hints.remedy(job, text), executorfaults.behind(job, text, at, lost)
    more = behind if advice in behind else advice + behind
    return f"{text.rstrip('.')}.{more}" if more else text


def has_died_inside(report: AgentReport, driver: DriverPod, now: datetime) -> bool:
    """Whether queries failed and none is left, while the program goes on as if nothing had happened."""
    failed = _failed(report)
    if report.phase != "running" or report.running or not failed or driver.started is None:
        return False
    is_over = any(word in _told(query) for query in failed for word in _LAST_WORDS)
    since = None if is_over else _idle_since(report)
    return now - (since or driver.started) > AGENT_GRACE


def loses_its_executors(
    job: StreamJob, driver: DriverPod, seen: Observed, now: datetime
) -> Failure | None:
    """What ends a driver that has committed nothing, and whose executors fail one after the other; None if it has, or
    if one of them stays.

    Others would follow for ever, a new pod every few seconds. More than `MOST_LOST` have failed, and than twice as many
    as are wanted: there Spark would give up by default.
    """
    report, lost = seen.report, seen.lost
    if report is None or lost is None or report.registered != 0 or has_worked(report):
        return None
    if lost.so_far <= max(MOST_LOST, 2 * (report.target or 0)):
        return None
    told = executorfaults.of_lost(job, lost).strip()
    return Failure(
        incarnation=driver.incarnation,
        generation=job.generation,
        reason="ExecutorsFail",
        message=f"{lost.so_far} of its executors have failed and none stays; the last: {told.rstrip('.')}",
        at=now,
    )


def _failed(report: AgentReport) -> list[QueryReport]:
    """The queries whose newest run has failed: of several runs under one name the agent tells the newest last."""
    newest = {query.name: query for query in report.queries}
    return [query for query in newest.values() if query.failure is not None]


def _idle_since(report: AgentReport) -> datetime | None:
    """When the last query of a driver ended in which none is left; an older agent does not tell."""
    ends = [query.ended_at for query in report.queries if query.ended_at is not None]
    return max(ends) if len(ends) == len(report.queries) else None


def _told(query: QueryReport) -> str:
    assert query.failure is not None
    return f"query {query.name!r}: {query.failure.error_class}: {query.failure.message}"


def why_queries_ended(
    job: StreamJob, report: AgentReport, driver: DriverPod, lost: LostExecutor | None
) -> Failure:
    """What the agent tells of the first query that failed, or that met another writer, and the pod of an executor which
    had just ended.
    """
    texts = [_told(query) for query in _failed(report)]
    text = next((text for text in texts if _LOG_UPDATED in text), texts[0])
    at = _idle_since(report) or report.at
    has_rival = _LOG_UPDATED in text
    text = _told_of_another_writer(job) if has_rival else _explained(job, text, lost, at)
    return Failure(
        incarnation=driver.incarnation,
        generation=job.generation,
        reason=ANOTHER_WRITER if has_rival else "QueryFailed",
        message=text,
        at=at,
        fingerprint=job.fingerprint,
    )


def away(
    record: Record, cause: Cause, began: datetime, now: datetime, *, drilled: int = 0
) -> Record:
    """The driver is gone or goes; a job that never ran has nothing to recover."""
    if record.last_batch is None:
        return record
    incarnation = record.incarnation + 1
    begun = record.recoveries.begun(cause, incarnation, began, now, drilled=drilled)
    return replace(record, recoveries=begun)


def backoff(policy: RestartPolicy, failures: int, seed: str) -> timedelta:
    """The pause after the n-th failure in a row, with a jitter of a quarter that `seed` decides.

    The jitter keeps many jobs that failed together from starting together; being drawn from the
    seed, it is the same whenever it is computed again.
    """
    exponent = min(failures - 1, 60)
    seconds = policy.initial.total_seconds() * policy.factor**exponent
    pause = timedelta(seconds=min(seconds, policy.maximum.total_seconds()))
    return _jittered(pause, f"{seed}/{failures}")


def _jittered(pause: timedelta, seed: str) -> timedelta:
    digest = hashlib.sha256(seed.encode()).digest()
    return pause * (1 - JITTER + 2 * JITTER * digest[0] / 255)


def longest_pause(policy: RestartPolicy) -> timedelta:
    """No failure is followed by a longer pause."""
    return policy.maximum * (1 + JITTER)


def _told_of_another_writer(job: StreamJob) -> str:
    return (
        f"somebody else writes the checkpoint {job.checkpoint_location} ({_LOG_UPDATED}): rows may be delivered "
        "twice. Find and stop it; then set spec.suspend to true, and to false again, to start the job"
    )
