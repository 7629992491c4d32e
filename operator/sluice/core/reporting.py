"""Say how a job is doing: conditions computed anew each time from what is declared, seen and decided.

One function gives all conditions, so none can be forgotten in some branch; `conditions.settle` then
keeps the times of those that did not change.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from sluice.core import checkpoints, hints, scalingclaims
from sluice.core.application import JobKey, StreamJob
from sluice.core.changes import ChangeClass
from sluice.core.conditions import Claim, Condition, Status, fails, holds, unknown
from sluice.core.lifecycle import moves_checkpoint
from sluice.core.measurement import NOT_CONFIGURED, Measurement, Unmeasured, attained
from sluice.core.news import told_of_rollback
from sluice.core.observations import DriverPod, Observed, QueryReport
from sluice.core.quantities import format_duration
from sluice.core.record import Phase, Record
from sluice.core.series import NoData
from sluice.core.steps import Verdict

SCRAPED_AFTER = timedelta(minutes=2)
"""The age of a driver's metrics beyond which they are stale, and how long a new driver may have none."""

RECENTLY_GOOD = 0.5
"""The share of good minutes of the last five below which a bound is told to be missed just now."""

UNKNOWN_WORTH_TELLING = 0.01
"""The share of unknown minutes from which it is told beside an attainment."""

CLOCKS_APART = timedelta(minutes=1)
"""Beyond this difference of the clocks, what Prometheus tells is not about now."""


def conditions_of(
    job: StreamJob, verdict: Verdict, seen: Observed, *, holder: JobKey | None, now: datetime
) -> tuple[Claim, ...]:
    """All conditions of a job whose spec is valid."""
    others = (
        holds(Condition.SPEC_VALID, "Accepted", "The spec can be carried out."),
        _in_force(job),
        _applied(job, verdict, seen),
        _managed(job, verdict, seen),
        _checkpoint(job, holder),
        _driver(job, verdict, seen, now),
        _progress(job, verdict, seen, now),
        _metrics(seen, now),
        _objectives(job, seen),
        scalingclaims.recovery(job, seen),
        scalingclaims.scaling(job, seen),
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


def without_spec(claims: Iterable[Claim], message: str, verdict: Verdict) -> tuple[Claim, ...]:
    """The conditions of a job whose spec cannot be carried out, and whose last good one is in its place."""
    good = verdict.record.proving.good
    last = f"generation {good.generation}, the last that worked" if good else "the last valid one"
    replaced = (
        fails(Condition.SPEC_VALID, "InvalidSpec", message),
        fails(Condition.SPEC_APPLIED, "InvalidSpec", f"The spec is not valid; in force is {last}."),
        fails(Condition.READY, "InvalidSpec", message),
    )
    told = {claim.type: claim for claim in (*claims, *replaced)}
    return tuple(told.values())


def _in_force(job: StreamJob) -> Claim:
    if not job.not_in_force:
        return holds(Condition.SPEC_IN_FORCE, "AllInForce", "Every declared field is acted upon.")
    named = ", ".join(f"spec.{name}" for name in job.not_in_force)
    message = f"Checked and stored, but not acted upon by this version: {named}."
    return fails(Condition.SPEC_IN_FORCE, "NotYetInForce", message)


def _applied(job: StreamJob, verdict: Verdict, seen: Observed) -> Claim:
    kind, record, change = Condition.SPEC_APPLIED, verdict.record, verdict.record.change
    if record.proving.is_rolled_back(job.generation):
        return fails(kind, "RolledBack", told_of_rollback(record))
    if record.proving.refuses(job):
        return fails(kind, "RollbackRefused", _told_of_refusal(job, record))
    if moves_checkpoint(job, record):
        message = (
            f"spec.checkpoint: {job.checkpoint_location!r}: the job's progress (batch "
            f"{record.last_batch}) is in {record.checkpoint!r}; to leave it behind, annotate the job "
            f"with sluice.dev/allow-migration={job.checkpoint_location}"
        )
        return fails(kind, "MigrationRefused", message)
    if seen.driver is None:
        return unknown(kind, "NoDriver", "The spec applies when the next driver starts.")
    ignored = _ignored(job, record)
    match change.kind:
        case ChangeClass.NONE | ChangeClass.MIGRATION if ignored:
            return fails(kind, "IgnoredByCheckpoint", ignored)
        case ChangeClass.NONE:
            return holds(kind, "UpToDate", "The driver was started with this spec.")
        case ChangeClass.LIVE:
            return holds(kind, "Live", f"Taken by the running driver: {change}.")
        case ChangeClass.RESTART:
            waits = f" {_told_of_crowd(seen)}" if verdict.held_back else ""
            message = f"A new driver is needed: {change} changed.{waits}"
            return fails(kind, "RestartNeeded", message)
        case ChangeClass.MIGRATION:
            message = (
                f"{change} changed, which the state in the checkpoint fixes: Spark would ignore it or "
                "fail. The driver goes on as it was; change it back, or use a new checkpoint"
            )
            return fails(kind, "MigrationRefused", f"{message}.")


def _told_of_refusal(job: StreamJob, record: Record) -> str:
    good = record.proving.good
    assert good is not None
    return (
        f"Generation {job.generation} never worked. Generation {good.generation}, the last that did, had its "
        f"checkpoint in {good.checkpoint!r}: going back there would leave {job.checkpoint_location!r} behind, so it is "
        "not done unasked. Mend the spec, or change it back and allow the move as before."
    )


def _ignored(job: StreamJob, record: Record) -> str:
    """What of the spec Spark leaves aside for the checkpoint's sake, and the way out; empty if nothing."""
    if record.checkpoint != job.checkpoint_location:
        return ""
    found = checkpoints.ignored(job.application.spark_conf, record.pinned)
    told = "; ".join(str(one) for one in found)
    remedy = "The driver goes on as it was. Write what the checkpoint has, or begin anew: another spec.checkpoint"
    return f"{told}. {remedy}." if told else ""


def _managed(job: StreamJob, verdict: Verdict, seen: Observed) -> Claim:
    kind = Condition.MANAGED
    if verdict.held_back is not None:
        message = f"The driver is to be restarted: {verdict.held_back}. {_told_of_crowd(seen)}"
        return holds(kind, "RestartWaits", message)
    if job.paused_by is None:
        return holds(kind, "Acting", "The operator starts, stops and rescales the job as declared.")
    message = (
        f"{job.paused_by} pauses the job: the operator looks on and reports, but starts, stops and rescales nothing. "
        "Take it away to resume"
    )
    if seen.is_cordoned and seen.driver is not None:
        message += f"; the node {seen.driver.node} is cordoned, and a drain of it waits for the driver until then"
    return fails(kind, "Paused", f"{message}.")


def _told_of_crowd(seen: Observed) -> str:
    return (
        f"That waits for the restarts of {seen.crowd} other jobs, and no more are made at once "
        "(SLUICE_OPERATOR_CONCURRENT_RESTARTS)."
    )


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
        return _no_driver(job, verdict, now)
    if driver.is_overdue(now):
        return fails(kind, "NodeLost", _told_of_lost_node(job, driver))
    if driver.deleting or record.stopping:
        return fails(kind, "Stopping", f"The driver stops: {record.stopping or 'asked to'}.")
    if driver.started is None:
        return _not_started(job, driver)
    if seen.report is None:
        why = seen.silence or "it has not been asked yet"
        return unknown(kind, "AgentSilent", f"The driver runs; its agent does not answer: {why}.")
    where = f"{driver.name} on {driver.node}, incarnation {driver.incarnation}"
    return holds(kind, "Running", f"{where}.")


def _told_of_lost_node(job: StreamJob, driver: DriverPod) -> str:
    told = f"The driver should have ended by {driver.gone_by:%H:%M:%S} UTC, and its node {driver.node} says nothing."
    if job.restart.fences_lost_nodes:
        return f"{told} It is given up when its Lease must have run out."
    return (
        f"{told} Bring the node back; or, if it is off for good, delete the pod by force: kubectl delete pod "
        f"{driver.name} -n {job.key.namespace} --force; or set spec.restart.lostNode to Fence."
    )


def _not_started(job: StreamJob, driver: DriverPod) -> Claim:
    reason, message = driver.obstacle or ("Pending", "waiting for the driver's container")
    told = f"Incarnation {driver.incarnation}: {message.rstrip('.')}."
    advice = hints.remedy(job, f"{reason}: {message}")
    return fails(Condition.DRIVER_RUNNING, reason, told + advice)


def _no_driver(job: StreamJob, verdict: Verdict, now: datetime) -> Claim:
    kind, record, failure = Condition.DRIVER_RUNNING, verdict.record, verdict.record.last_failure
    if verdict.phase is Phase.PAUSED:
        return fails(kind, "Paused", _told_of_pause(job, record))
    if failure is None:
        return fails(kind, str(verdict.phase), "No driver has been started yet.")
    told = f"Incarnation {failure.incarnation} ended: {failure.message.rstrip('.')}"
    if record.gave_up:
        text = f"{told}. Failed {record.failures} times in a row; change the spec to try again."
        return fails(kind, failure.reason, text)
    if record.next_start is not None and record.next_start > now:
        pause = format_duration(record.next_start - now)
        return fails(kind, failure.reason, f"{told}. Failure {record.failures}, next in {pause}.")
    return fails(kind, failure.reason, f"{told}.")


def _told_of_pause(job: StreamJob, record: Record) -> str:
    why = f"No driver runs, and none is started while {job.paused_by} pauses the job."
    failure = record.last_failure
    if failure is None or not record.has_counted(record.incarnation):
        return why
    return f"Incarnation {failure.incarnation} ended: {failure.message.rstrip('.')}. {why}"


def _progress(job: StreamJob, verdict: Verdict, seen: Observed, now: datetime) -> Claim:
    kind, report = Condition.PROGRESSING, seen.report
    away = _away_for_too_long(job, verdict.record, now)
    if away is not None:
        return fails(kind, "NoBatch", away)
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
        stall = _stall(query, job.progress_deadline, now)
        if stall is not None:
            return fails(kind, *stall)
    newest = verdict.record.last_batch
    told = f"The last committed batch is {newest}." if newest is not None else "No rows yet."
    return holds(kind, "Batches", told)


def _away_for_too_long(job: StreamJob, record: Record, now: datetime) -> str | None:
    """Why nothing is committed while drivers come and go: each of them alone is too young to be judged."""
    away = record.recoveries.present
    if away is None or away.committed is not None or now - away.began <= job.progress_deadline:
        return None
    since, deadline = format_duration(now - away.began), format_duration(job.progress_deadline)
    return (
        f"No batch for {since}, since the driver was taken away ({away.cause}); spec.progressDeadline is {deadline}. "
        f"The last committed batch is {record.last_batch}."
    )


def _stall(query: QueryReport, deadline: timedelta, now: datetime) -> tuple[str, str] | None:
    """Why a query makes no progress, as reason and message; None if it does, or has nothing to do."""
    if query.in_batch_since is not None and now - query.in_batch_since > deadline:
        took = format_duration(now - query.in_batch_since)
        text = (
            f"Query {query.name!r}: the batch in flight has run for {took}, longer than "
            f"spec.progressDeadline {format_duration(deadline)}"
        )
        return "BatchStuck", f"{text}."
    if query.committed_at is None or not query.backlog_rows:
        return None
    age = now - query.committed_at
    if age <= deadline:
        return None
    rows = f"{query.backlog_rows:.0f} rows waiting"
    return "NoBatch", f"Query {query.name!r}: last batch {format_duration(age)} ago with {rows}."


def _metrics(seen: Observed, now: datetime) -> Claim:
    kind, told = Condition.METRICS_AVAILABLE, seen.measured
    if isinstance(told, Unmeasured):
        make = unknown if told == NOT_CONFIGURED else fails
        return make(kind, told.reason, told.message)
    if abs(told.ahead) > CLOCKS_APART:
        where = "ahead of" if told.ahead > timedelta(0) else "behind"
        apart = format_duration(abs(told.ahead))
        text = f"The clock of Prometheus is {apart} {where} the operator's; set both by NTP."
        return fails(kind, "ClockSkew", text)
    driver = seen.driver
    if driver is None or driver.started is None or driver.is_over:
        return unknown(kind, "NoDriver", "No driver runs that could be scraped.")
    if told.scraped is None and now - driver.started > SCRAPED_AFTER:
        text = (
            f"Prometheus has no metrics of {driver.name}: let it scrape pods by their annotations "
            "with honor_labels, or set podMonitor.enabled of the chart."
        )
        return fails(kind, "NotScraped", text)
    if told.scraped is None:
        return unknown(kind, "NotYetScraped", "The driver is too young to have been scraped.")
    age = told.at - told.scraped
    text = f"The driver was scraped {format_duration(max(age, timedelta(0)))} ago."
    if age > SCRAPED_AFTER:
        return fails(kind, "Stale", text)
    return holds(kind, "Scraped", text)


def _objectives(job: StreamJob, seen: Observed) -> Claim:
    kind, objective = Condition.OBJECTIVES_MET, job.objective
    if objective is None:
        return unknown(kind, "NoObjective", "spec.slo declares nothing.")
    account = attained(objective, seen.measured, job.created)
    if isinstance(account, NoData):
        return unknown(kind, "NotMeasured", f"Nothing is known of the objective: {account.reason}")
    window, share = format_duration(objective.window), account.share
    reached = "nothing" if isinstance(share, NoData) else f"{share:.3%}"
    told = (
        f"{reached} attained of {100 * objective.share:.6g}% declared over {window}; "
        f"{account.budget.left:.0%} of the error budget left"
    )
    if account.unknown >= UNKNOWN_WORTH_TELLING:
        told += f"; {account.unknown:.0%} unknown"
    if account.budget.left < 0:
        return fails(kind, "BudgetSpent", f"{told}.")
    assert isinstance(seen.measured, Measurement)
    recent = {} if job.suspend else seen.measured.recent
    broken = [name for name, good in recent.items() if good < RECENTLY_GOOD]
    if broken:
        return fails(kind, "BoundBroken", f"{', '.join(sorted(broken))} missed just now; {told}.")
    return holds(kind, "Met", f"{told}.")


def _ready(others: tuple[Claim, ...], phase: Phase) -> Claim:
    needed = (Condition.CHECKPOINT_HELD, Condition.DRIVER_RUNNING, Condition.PROGRESSING)
    for claim in others:
        if claim.type in needed and claim.status is not Status.TRUE:
            return fails(Condition.READY, claim.reason, claim.message)
    if phase is Phase.RUNNING and _is_rolled_back(others):
        return holds(Condition.READY, "Running", "The job runs, by the last spec that worked.")
    if phase is Phase.RUNNING:
        return holds(Condition.READY, "Running", "The job runs as declared.")
    return fails(Condition.READY, str(phase), "No batch has been committed yet.")


def _is_rolled_back(claims: Iterable[Claim]) -> bool:
    applied = (claim for claim in claims if claim.type is Condition.SPEC_APPLIED)
    return any(claim.reason == "RolledBack" for claim in applied)
