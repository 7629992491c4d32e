"""Say how a job is doing: conditions computed anew each time from what is declared, seen and decided.

One function gives all conditions, so none can be forgotten in some branch; `conditions.settle` then
keeps the times of those that did not change. What the spec and the scaling have to tell is in `specclaims` and
`scalingclaims`.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from sluice.core import (
    checkpoints,
    executorfaults,
    hints,
    quietness,
    releases,
    scalingclaims,
    specclaims,
    succession,
)
from sluice.core.application import JobKey, StreamJob
from sluice.core.conditions import (
    TASKS_WAIT,
    Claim,
    Condition,
    DriverThere,
    Status,
    fails,
    holds,
    unknown,
)
from sluice.core.measurement import (
    NOT_CONFIGURED,
    NOT_YET_ASKED,
    Attained,
    Measurement,
    Unmeasured,
)
from sluice.core.observations import AgentReport, DriverPod, Observed, Processing, QueryReport
from sluice.core.quantities import format_duration
from sluice.core.record import Phase, Record
from sluice.core.running import executors_of
from sluice.core.series import NoData
from sluice.core.steps import Verdict

SCRAPED_AFTER = timedelta(minutes=2)
"""The age of a driver's metrics beyond which they are stale, and how long a new driver may have none."""

RECENTLY_GOOD = 0.5
"""The share of good minutes of the last five below which a bound is told to be missed just now."""

UNKNOWN_WORTH_TELLING = 0.01
"""The share of unknown minutes from which it is told beside an attainment."""

FAILING_FOR = timedelta(seconds=20)
"""How long a batch may run of which more tasks fail than are done, until that is told: some tasks fail now and then."""

ASKING_FOR = timedelta(seconds=20)
"""How long Kafka may be asked for its offsets, until that is told: brokers that can be reached answer at once."""

_KAFKA = "KafkaV2["
"""How Spark's words for such a source begin."""

CLOCKS_APART = timedelta(minutes=1)
"""Beyond this difference of the clocks, what Prometheus tells is not about now."""

_FIRST_BATCH = (
    "It is the driver's first, of all rows that wait, unless the program limits them: by maxOffsetsPerTrigger of a "
    "Kafka source, or maxFilesPerTrigger of files."
)


def conditions_of(
    job: StreamJob, verdict: Verdict, seen: Observed, *, holder: JobKey | None, now: datetime
) -> tuple[Claim, ...]:
    """All conditions of a job whose spec is valid."""
    others = (
        holds(Condition.SPEC_VALID, "Accepted", "The spec can be carried out."),
        specclaims.in_force(job),
        specclaims.applied(job, verdict, seen),
        _managed(job, verdict, seen),
        _checkpoint(job, verdict.record, seen, holder),
        _driver(job, verdict, seen, now),
        _progress(job, verdict, seen, now),
        _metrics(verdict.record, seen, now),
        _objectives(job, verdict.record, seen, now),
        scalingclaims.recovery(job, verdict.record),
        scalingclaims.scaling(job, verdict.record, seen, now),
    )
    return (*others, _ready(others, verdict.phase, executorfaults.told(job, seen, now)))


def _managed(job: StreamJob, verdict: Verdict, seen: Observed) -> Claim:
    kind = Condition.MANAGED
    if verdict.held_back is not None:
        message = (
            f"The driver is to be restarted: {verdict.held_back}. {specclaims.told_of_crowd(seen)}"
        )
        return holds(kind, "RestartWaits", message)
    if job.paused_by is None:
        return holds(kind, "Acting", "The operator starts, stops and rescales the job as declared.")
    message = (
        f"{job.paused_by} pauses the job: the operator looks on and reports, but starts, stops and rescales nothing. "
        "Take it away to resume"
    )
    if seen.why_leave and seen.driver is not None:
        message += f"; the node {seen.driver.node} {seen.why_leave}, and a drain of it waits for the driver until then"
    return fails(kind, "Paused", f"{message}.")


def _checkpoint(job: StreamJob, record: Record, seen: Observed, holder: JobKey | None) -> Claim:
    kind = Condition.CHECKPOINT_HELD
    if holder == job.key:
        message = (
            f"The driver of a deleted StreamJob of this name still uses {job.checkpoint_location}; this job's driver "
            "starts when that one is gone."
        )
        return fails(kind, "PredecessorStops", message)
    if holder is not None:
        message = (
            f"spec.checkpoint: {job.checkpoint_location!r} is used by StreamJob {holder}; "
            "two drivers on one checkpoint would deliver rows twice: use a place of its own"
        )
        return fails(kind, "CheckpointInUse", message)
    misplaced = _misplaced(job, seen) if record.checkpoint == job.checkpoint_location else ""
    if misplaced:
        return fails(kind, "CheckpointElsewhere", misplaced)
    return holds(kind, "Held", f"No other job uses {job.checkpoint_location}.")


def _misplaced(job: StreamJob, seen: Observed) -> str:
    """Point out the first query that does not have its checkpoint where the job has it."""
    for query in seen.report.queries if seen.report is not None else ():
        found = query.checkpoint.location if query.active and query.checkpoint is not None else ""
        why = checkpoints.misplaced(found, job.checkpoint.url) if found else None
        if why is not None:
            return (
                f"Query {query.name!r} {why}. Pass $(SLUICE_CHECKPOINT_LOCATION), or a directory in it, as "
                "checkpointLocation."
            )
    return ""


def _driver(job: StreamJob, verdict: Verdict, seen: Observed, now: datetime) -> Claim:
    kind, driver, record = Condition.DRIVER_RUNNING, seen.driver, verdict.record
    if verdict.phase is Phase.SUSPENDED:
        return fails(kind, "Suspended", "spec.suspend is true; the checkpoint is kept.")
    if driver is not None and driver.is_overdue(now):
        reason = DriverThere.POD_HELD if driver.is_proven_dead else DriverThere.NODE_LOST
        return fails(kind, reason, _told_of_overdue(job, driver))
    if driver is None or driver.is_over:
        return _no_driver(job, verdict, now)
    if record.stopping or driver.owner_uid != job.uid:
        return fails(kind, DriverThere.STOPPING, _told_of_stop(job, record, driver))
    if driver.deleting:
        return fails(kind, DriverThere.REMOVED, _told_of_removal(driver))
    if driver.started is None:
        return _not_started(job, driver)
    if seen.report is None:
        why = seen.silence or "it has just been asked"
        told = f"The driver runs; its agent does not answer: {why}."
        return unknown(kind, DriverThere.AGENT_SILENT, told)
    where = f"{driver.name} on {driver.node}, incarnation {driver.incarnation}"
    spark = seen.report.spark
    if spark is not None and not releases.is_tried(spark):
        tried = ", ".join(releases.TRIED)
        told = f"{where}, with Spark {spark}: the operator was tried with {tried}, and may not get on with this one."
        return holds(kind, DriverThere.UNTRIED_SPARK, told)
    return holds(kind, DriverThere.RUNNING, f"{where}.")


def _told_of_stop(job: StreamJob, record: Record, driver: DriverPod) -> str:
    if not (driver.owner_uid or driver.deleting):
        return (
            f"The pod {driver.name} belongs to no StreamJob, as after kubectl delete --cascade=orphan, and nobody "
            f"stops it; this job starts when it is gone: kubectl delete pod {driver.name} -n {job.key.namespace}."
        )
    return f"The driver stops: {record.stopping or 'a former job of this name had it'}."


def _told_of_removal(driver: DriverPod) -> str:
    why = driver.disruption or "somebody has deleted it"
    return f"The pod {driver.name} ends, and not because of the operator: {why.rstrip('.')}."


def _told_of_overdue(job: StreamJob, driver: DriverPod) -> str:
    by = f"by {driver.gone_by:%H:%M:%S} UTC"
    force = (
        f"delete the pod by force: kubectl delete pod {driver.name} -n {job.key.namespace} --force"
    )
    if driver.is_proven_dead:
        told = (
            f"The driver has ended, and its pod should have gone {by}: a volume that cannot be unmounted, a further "
            f"container or the node {driver.node} holds it."
        )
        advice, given_up = f"Mend that; or {force}", "It is removed by force."
    else:
        told = f"The driver should have ended {by}, and its node {driver.node} says nothing."
        advice = f"Bring the node back; or, if it is off for good, {force}"
        given_up = "It is given up when its Lease must have run out."
    if driver.owner_uid != job.uid:
        # That of a former job of this name is only ever removed by a person.
        return f"{told} {advice}."
    if job.restart.fences_lost_nodes:
        return f"{told} {given_up}"
    return f"{told} {advice}; or set spec.restart.lostNode to Fence."


def _not_started(job: StreamJob, driver: DriverPod) -> Claim:
    reason, message = driver.obstacle or ("Pending", "waiting for the driver's container")
    told = f"Incarnation {driver.incarnation}: {message.rstrip('.')}."
    remedy = hints.of_ordered_node(driver.ordered_node)
    advice = remedy or hints.remedy(job, f"{reason}: {message}")
    return fails(Condition.DRIVER_RUNNING, reason, told + advice)


def _no_driver(job: StreamJob, verdict: Verdict, now: datetime) -> Claim:
    kind, record, failure = Condition.DRIVER_RUNNING, verdict.record, verdict.record.last_failure
    if verdict.phase is Phase.PAUSED:
        return fails(kind, "Paused", _told_of_pause(job, record))
    if verdict.phase is Phase.STOPPING:
        told = f"The driver has stopped: {record.stopping or 'asked to'}."
        return fails(kind, DriverThere.STOPPING, told)
    if failure is None:
        return fails(kind, str(verdict.phase), "No driver has been started yet.")
    what = "was not started" if failure.is_put_off else "ended"
    told = f"Incarnation {failure.incarnation} {what}: {failure.message.rstrip('.')}"
    if record.gave_up:
        text = f"{told}. Failed {record.failures} times in a row; change the spec to try again."
        return fails(kind, failure.reason, text)
    if record.next_start is not None and record.next_start > now:
        pause = format_duration(record.next_start - now)
        again = "Tried again" if failure.is_put_off else f"Failure {record.failures}, next"
        return fails(kind, failure.reason, f"{told}. {again} in {pause}.")
    return fails(kind, failure.reason, f"{told}.")


def _told_of_pause(job: StreamJob, record: Record) -> str:
    why = f"No driver runs, and none is started while {job.paused_by} pauses the job."
    failure = record.last_failure
    if failure is None or not record.has_counted(record.incarnation):
        return why
    return f"Incarnation {failure.incarnation} ended: {failure.message.rstrip('.')}. {why}"


def _progress_without_query(job: StreamJob, report: AgentReport) -> Claim:
    if report.phase == "waiting":
        most = format_duration(job.checkpoint.lease)
        text = f"The driver waits for the Lease of its checkpoint: the one before may still live, for {most} at most."
        return unknown(Condition.PROGRESSING, "WaitingForLease", text)
    text = "The program has not started a query yet."
    if report.queries:
        last = report.queries[-1].name
        text = f"No query runs: {last!r} has ended without an error, and the program has started no other since."
    return unknown(Condition.PROGRESSING, "NoQuery", text)


def _progress(job: StreamJob, verdict: Verdict, seen: Observed, now: datetime) -> Claim:
    kind, report = Condition.PROGRESSING, seen.report
    away = _away_for_too_long(job, verdict.record, report, now)
    if away is not None:
        return fails(kind, "NoBatch", away)
    if seen.driver is None or seen.driver.is_over or report is None:
        return unknown(kind, "NoReport", "Nothing is known of the queries.")
    failed = [query for query in report.queries if query.failure is not None and not query.active]
    for query in failed:
        assert query.failure is not None
        told = f"{query.failure.error_class}: {query.failure.message.rstrip('.')}."
        text = f"Query {query.name!r} failed: {told}{hints.remedy(job, told)}"
        return fails(kind, "QueryFailed", text)
    if not report.running:
        return _progress_without_query(job, report)
    failing = _failing(job, report, now)
    if failing is not None:
        return fails(kind, "TasksFail", failing)
    for query in report.counting:
        halt = _silence(job, query, now) or _stall(query, job.progress_deadline, now)
        if halt is not None:
            return fails(kind, *halt)
    for query in report.counting:
        if query.processing is Processing.CONTINUOUS:
            return holds(kind, "Continuous", f"Query {query.name!r} {query.arrivals_untold}.")
    told = _told_of_batches(verdict.record, report)
    waiting = quietness.told(report, executors_of(job, seen.driver).slots)
    return holds(kind, TASKS_WAIT if waiting else "Batches", told + waiting)


def _told_of_batches(record: Record, report: AgentReport) -> str:
    if record.last_batch is not None:
        return f"The last committed batch is {record.last_batch}."
    if any(query.in_batch_since is not None for query in report.counting):
        return "The first batch is in flight."
    return "No rows yet."


def _away_for_too_long(
    job: StreamJob, record: Record, report: AgentReport | None, now: datetime
) -> str | None:
    """Why nothing is committed while drivers come and go: each of them alone is too young to be judged."""
    away = record.recoveries.present
    # A driver that goes on without an executor is judged by its queries.
    if away is None or away.keeps_driver or away.committed is not None:
        return None
    queries = report.counting if report is not None else ()
    lasts = max((query.shortest_batch for query in queries), default=timedelta(0))
    if now - away.began <= job.progress_deadline + lasts:
        return None
    since, deadline = format_duration(now - away.began), format_duration(job.progress_deadline)
    return (
        f"No batch for {since}, since the driver was taken away ({away.cause}); spec.progressDeadline is {deadline}. "
        f"The last committed batch is {record.last_batch}."
    )


def _failing(job: StreamJob, report: AgentReport, now: datetime) -> str | None:
    """What the batch in flight meets, if its tasks fail for a while already; Spark does each of them four times."""
    tasks = report.failing
    begun = [query.in_batch_since for query in report.counting if query.in_batch_since is not None]
    if tasks is None or not tasks.is_by_the_work or not begun or now - min(begun) < FAILING_FOR:
        return None
    told = (
        "Tasks of the batch in flight fail, and Spark does them again until it gives up: "
        f"{tasks.failed} have failed, {tasks.completed} were done."
    )
    if not tasks.error:
        return f"{told} The driver's log tells why."
    return f"{told} The last error: {tasks.error.rstrip('.')}.{hints.remedy(job, tasks.error)}"


def _silence(job: StreamJob, query: QueryReport, now: datetime) -> tuple[str, str] | None:
    """Which brokers leave a query without an answer. Of files there may be many to list, which takes its time."""
    asking = query.asking
    if asking is None or not asking.source.startswith(_KAFKA) or now - asking.since < ASKING_FOR:
        return None
    text = (
        f"Query {query.name!r} has waited for {format_duration(now - asking.since)} for the offsets of "
        f"{asking.source}; Spark ends it after some tries of a minute each. {hints.silent_brokers(job)}"
    )
    return "SourceSilent", text


def _stall(query: QueryReport, deadline: timedelta, now: datetime) -> tuple[str, str] | None:
    """Why a query makes no progress, as reason and message; None if it does, or has nothing to do."""
    if query.in_batch_since is not None:
        return _stuck(query, now - query.in_batch_since, deadline)
    if query.committed_at is None or not query.backlog_rows:
        return None
    age = now - query.committed_at
    # Rows that came just now, or that wait for the trigger, hold up nothing.
    waited = age if query.backlog is None else min(age, query.backlog)
    if waited <= deadline + query.longest_wait:
        return None
    rows = f"{query.backlog_rows:.0f} rows waiting"
    return "NoBatch", f"Query {query.name!r}: last batch {format_duration(age)} ago with {rows}."


def _stuck(query: QueryReport, took: timedelta, deadline: timedelta) -> tuple[str, str] | None:
    if took <= deadline + query.shortest_batch:
        return None
    text = (
        f"Query {query.name!r}: the batch in flight has run for {format_duration(took)}, longer than "
        f"spec.progressDeadline {format_duration(deadline)}."
    )
    return "BatchStuck", text if query.committed_at is not None else f"{text} {_FIRST_BATCH}"


def _metrics(record: Record, seen: Observed, now: datetime) -> Claim:
    former = succession.claim(Condition.METRICS_AVAILABLE, record, seen, now)
    # That nothing runs which could be scraped is known without asking.
    if former is None or (former.status is Status.TRUE and not _can_be_scraped(seen.driver)):
        return _scraped(seen, now)
    return former


def _can_be_scraped(driver: DriverPod | None) -> bool:
    return driver is not None and driver.started is not None and not driver.is_over


def _scraped(seen: Observed, now: datetime) -> Claim:
    kind, told = Condition.METRICS_AVAILABLE, seen.measured
    if isinstance(told, Unmeasured):
        make = unknown if told in (NOT_CONFIGURED, NOT_YET_ASKED) else fails
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


def _objectives(job: StreamJob, record: Record, seen: Observed, now: datetime) -> Claim:
    kind, objective, account = Condition.OBJECTIVES_MET, job.objective, record.attained
    if objective is None:
        return unknown(kind, "NoObjective", "spec.slo declares nothing.")
    if not isinstance(account, Attained):
        why = NOT_YET_ASKED.message if account is None else account.reason
        if seen.report is not None and seen.report.arrivals_untold is not None:
            why = seen.report.arrivals_untold
        return unknown(
            kind, "NotMeasured", f"Nothing is known of the objective: {why.rstrip('.')}."
        )
    former = succession.claim(kind, record, seen, now)
    if former is not None:
        return former
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


def _ready(others: tuple[Claim, ...], phase: Phase, faults: str) -> Claim:
    needed = (Condition.CHECKPOINT_HELD, Condition.DRIVER_RUNNING, Condition.PROGRESSING)
    for claim in others:
        if claim.type in needed and claim.status is not Status.TRUE:
            cause = faults if claim.type is Condition.PROGRESSING else ""
            return fails(Condition.READY, claim.reason, claim.message + cause)
    if phase is Phase.RUNNING and _is_rolled_back(others):
        return holds(Condition.READY, "Running", "The job runs, by the last spec that worked.")
    if phase is Phase.RUNNING:
        return holds(Condition.READY, "Running", "The job runs as declared.")
    return fails(Condition.READY, str(phase), f"No batch has been committed yet.{faults}")


def _is_rolled_back(claims: Iterable[Claim]) -> bool:
    applied = (claim for claim in claims if claim.type is Condition.SPEC_APPLIED)
    return any(claim.reason == "RolledBack" for claim in applied)
