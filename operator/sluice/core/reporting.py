"""Say how a job is doing: conditions computed anew each time from what is declared, seen and decided.

One function gives all conditions, so none can be forgotten in some branch; `conditions.settle` then
keeps the times of those that did not change.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from sluice.core import hints
from sluice.core.application import JobKey, StreamJob
from sluice.core.changes import ChangeClass
from sluice.core.conditions import Claim, Condition, Status, fails, holds, unknown
from sluice.core.lifecycle import Verdict, moves_checkpoint
from sluice.core.observations import DriverPod, Observed
from sluice.core.quantities import format_duration
from sluice.core.record import Phase, Record

STALLED_AFTER = timedelta(minutes=5)
"""The age of the last committed batch beyond which a query with a backlog is not progressing."""


def conditions_of(
    job: StreamJob, verdict: Verdict, seen: Observed, *, holder: JobKey | None, now: datetime
) -> tuple[Claim, ...]:
    """All conditions of a job whose spec is valid."""
    others = (
        holds(Condition.SPEC_VALID, "Accepted", "The spec can be carried out."),
        _in_force(job),
        _applied(job, verdict.record, seen),
        _checkpoint(job, holder),
        _driver(job, verdict, seen, now),
        _progress(verdict, seen, now),
    )
    return (*others, _ready(others, verdict.phase))


def invalid(message: str, seen: Observed) -> tuple[Claim, ...]:
    """The conditions of a job whose spec cannot be carried out."""
    kept = "; the driver goes on with the last valid spec" if seen.driver is not None else ""
    return (
        fails(Condition.SPEC_VALID, "InvalidSpec", message),
        fails(Condition.SPEC_APPLIED, "InvalidSpec", f"The spec is not valid{kept}."),
        fails(Condition.READY, "InvalidSpec", message),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """Something that people want to hear of once: it becomes an Event of the job."""

    reason: str
    message: str
    is_warning: bool = False


def news(before: Record, after: Record) -> Iterator[News]:
    """What has happened between two records of a job."""
    failure = after.last_failure
    if failure is not None and failure != before.last_failure:
        told = f"Incarnation {failure.incarnation}: {failure.message} (failure {after.failures})"
        yield News(reason=failure.reason, message=told, is_warning=True)
    if after.gave_up and not before.gave_up:
        told = f"Failed {after.failures} times in a row; change the spec to try again"
        yield News(reason="GaveUp", message=told, is_warning=True)
    if after.stopping and after.stopping != before.stopping:
        told = f"Incarnation {after.incarnation} stops: {after.stopping}"
        yield News(reason="DriverStopping", message=told)
    if after.incarnation > before.incarnation:
        resumed = "" if after.last_batch is None else f", after batch {after.last_batch}"
        told = f"Incarnation {after.incarnation} starts{resumed}"
        yield News(reason="DriverStarting", message=told)
    yield from _newly_failed(before, after)


def _newly_failed(before: Record, after: Record) -> Iterator[News]:
    known = {(claim.type, claim.status, claim.reason) for claim in before.conditions}
    for claim in after.conditions:
        is_new = (claim.type, claim.status, claim.reason) not in known
        if is_new and claim.status is Status.FALSE and (claim.type, claim.reason) in _WORTH_TELLING:
            yield News(reason=claim.reason, message=claim.message, is_warning=True)


_WORTH_TELLING = frozenset(
    {
        (Condition.SPEC_VALID, "InvalidSpec"),
        (Condition.SPEC_APPLIED, "MigrationRefused"),
        (Condition.CHECKPOINT_HELD, "CheckpointInUse"),
    }
)


def _in_force(job: StreamJob) -> Claim:
    if not job.not_in_force:
        return holds(Condition.SPEC_IN_FORCE, "AllInForce", "Every declared field is acted upon.")
    named = ", ".join(f"spec.{name}" for name in job.not_in_force)
    message = f"Checked and stored, but not acted upon by this version: {named}."
    return fails(Condition.SPEC_IN_FORCE, "NotYetInForce", message)


def _applied(job: StreamJob, record: Record, seen: Observed) -> Claim:
    kind, change = Condition.SPEC_APPLIED, record.change
    if moves_checkpoint(job, record):
        message = (
            f"spec.checkpoint: {job.checkpoint_location!r}: the job's progress (batch "
            f"{record.last_batch}) is in {record.checkpoint!r}; to leave it behind, annotate the job "
            f"with sluice.dev/allow-migration={job.checkpoint_location}"
        )
        return fails(kind, "MigrationRefused", message)
    if seen.driver is None:
        return unknown(kind, "NoDriver", "The spec applies when the next driver starts.")
    match change.kind:
        case ChangeClass.NONE:
            return holds(kind, "UpToDate", "The driver was started with this spec.")
        case ChangeClass.LIVE:
            return holds(kind, "Live", f"Taken by the running driver: {change}.")
        case ChangeClass.RESTART:
            return fails(kind, "RestartNeeded", f"A new driver is needed: {change} changed.")
        case ChangeClass.MIGRATION:
            message = (
                f"{change} changed, which the state in the checkpoint fixes: Spark would ignore it or "
                "fail. The driver goes on as it was; change it back, or use a new checkpoint"
            )
            return fails(kind, "MigrationRefused", f"{message}.")


def _checkpoint(job: StreamJob, holder: JobKey | None) -> Claim:
    if holder is not None:
        message = (
            f"spec.checkpoint: {job.checkpoint_location!r} is used by StreamJob {holder}; "
            "two drivers on one checkpoint would deliver rows twice: use a place of its own"
        )
        return fails(Condition.CHECKPOINT_HELD, "CheckpointInUse", message)
    message = f"No other job uses {job.checkpoint_location}."
    return holds(Condition.CHECKPOINT_HELD, "Held", message)


def _driver(job: StreamJob, verdict: Verdict, seen: Observed, now: datetime) -> Claim:
    kind, driver, record = Condition.DRIVER_RUNNING, seen.driver, verdict.record
    if verdict.phase is Phase.SUSPENDED:
        return fails(kind, "Suspended", "spec.suspend is true; the checkpoint is kept.")
    if driver is None or driver.is_over:
        return _no_driver(verdict, now)
    if driver.deleting or record.stopping:
        return fails(kind, "Stopping", f"The driver stops: {record.stopping or 'asked to'}.")
    if driver.started is None:
        return _not_started(job, driver)
    if seen.report is None:
        why = seen.silence or "it has not been asked yet"
        return unknown(kind, "AgentSilent", f"The driver runs; its agent does not answer: {why}.")
    where = f"{driver.name} on {driver.node}, incarnation {driver.incarnation}"
    return holds(kind, "Running", f"{where}.")


def _not_started(job: StreamJob, driver: DriverPod) -> Claim:
    reason, message = driver.obstacle or ("Pending", "waiting for the driver's container")
    told = f"Incarnation {driver.incarnation}: {message.rstrip('.')}."
    advice = hints.remedy(job, f"{reason}: {message}")
    return fails(Condition.DRIVER_RUNNING, reason, told + advice)


def _no_driver(verdict: Verdict, now: datetime) -> Claim:
    kind, record, failure = Condition.DRIVER_RUNNING, verdict.record, verdict.record.last_failure
    if failure is None:
        return fails(kind, str(verdict.phase), "No driver has been started yet.")
    told = f"Incarnation {failure.incarnation} ended: {failure.message}"
    if record.gave_up:
        text = f"{told}. Failed {record.failures} times in a row; change the spec to try again."
        return fails(kind, failure.reason, text)
    if record.next_start is not None and record.next_start > now:
        pause = format_duration(record.next_start - now)
        return fails(kind, failure.reason, f"{told}. Failure {record.failures}, next in {pause}.")
    return fails(kind, failure.reason, f"{told}.")


def _progress(verdict: Verdict, seen: Observed, now: datetime) -> Claim:
    kind, report = Condition.PROGRESSING, seen.report
    if seen.driver is None or seen.driver.is_over or report is None:
        return unknown(kind, "NoReport", "Nothing is known of the queries.")
    failed = [query for query in report.queries if query.failure is not None and not query.active]
    for query in failed:
        assert query.failure is not None
        text = f"Query {query.name!r} failed: {query.failure.error_class}: {query.failure.message}"
        return fails(kind, "QueryFailed", text)
    if not any(query.active for query in report.queries):
        return unknown(kind, "NoQuery", "The program has not started a query yet.")
    for query in report.queries:
        age = now - query.committed_at if query.committed_at is not None else timedelta(0)
        if age > STALLED_AFTER and (query.backlog_rows or 0) > 0:
            waiting = f"with {query.backlog_rows:.0f} rows waiting"
            text = f"Query {query.name!r}: last batch {format_duration(age)} ago {waiting}."
            return fails(kind, "NoBatch", text)
    newest = verdict.record.last_batch
    told = f"The last committed batch is {newest}." if newest is not None else "No rows yet."
    return holds(kind, "Batches", told)


def _ready(others: tuple[Claim, ...], phase: Phase) -> Claim:
    needed = (Condition.CHECKPOINT_HELD, Condition.DRIVER_RUNNING, Condition.PROGRESSING)
    for claim in others:
        if claim.type in needed and claim.status is not Status.TRUE:
            return fails(Condition.READY, claim.reason, claim.message)
    if phase is Phase.RUNNING:
        return holds(Condition.READY, "Running", "The job runs as declared.")
    return fails(Condition.READY, str(phase), "No batch has been committed yet.")
