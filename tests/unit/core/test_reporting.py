"""What the conditions say of a job, in every state that it can be in."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from sluice.core import lifecycle, reporting, specclaims, steps
from sluice.core.application import CHECKPOINT_MOUNT, JobKey, StreamJob
from sluice.core.changes import Change, ChangeClass
from sluice.core.checkpoints import CheckpointReport
from sluice.core.chosen import Chosen
from sluice.core.conditions import Claim, Condition, Status, fails, holds, settle
from sluice.core.learning.batches import BatchReport
from sluice.core.modelling.fetching import Fetching
from sluice.core.news import News, news
from sluice.core.observations import (
    AgentReport,
    Asking,
    FailingTasks,
    Observed,
    PodPhase,
    Processing,
    QueryFailure,
    QueryReport,
    Termination,
)
from sluice.core.record import PUT_OFF, Failure, Phase, Record
from sluice.core.recoveries import Cause as RecoveryCause
from sluice.core.recoveries import Recoveries
from tests.support.jobs import NOW, application, driver, job, query, report, work

JOB = job()
STARTED = Record(incarnation=1, checkpoint=JOB.checkpoint_location)
CONTINUOUS = query(
    processing=Processing.CONTINUOUS, batch_id=None, committed_at=None, backlog_rows=None
)


def real_time(in_flight: timedelta) -> QueryReport:
    """A query that commits every five minutes, and whose batch has run for so long."""
    return query(
        processing=Processing.REAL_TIME, trigger_seconds=300.0, in_batch_since=NOW - in_flight
    )


def flying(seconds: float, failing: FailingTasks) -> Observed:
    """A job whose batch has run for so long, and whose tasks have ended like that so far."""
    query_ = query(in_batch_since=NOW - timedelta(seconds=seconds))
    return Observed(driver=driver(JOB), report=report(query_, failing=failing))


def asking(source: str, seconds: float) -> Observed:
    """A job whose query has waited for so long for an answer of its source."""
    query_ = query(asking=Asking(source, NOW - timedelta(seconds=seconds)))
    return Observed(driver=driver(JOB), report=report(query_))


FAILURE = Failure(
    incarnation=1, generation=1, reason="DriverFailed", message="exit code 1", at=NOW, exit_code=1
)

AWAY = Failure(incarnation=1, generation=1, reason=PUT_OFF, message="no webhook answers.", at=NOW)


def claims(
    seen: Observed,
    record: Record = STARTED,
    *,
    of: StreamJob = JOB,
    holder: JobKey | None = None,
) -> dict[Condition, Claim]:
    verdict = lifecycle.next_step(of, record, seen, holder=holder, now=NOW)
    told = reporting.conditions_of(of, verdict, seen, holder=holder, now=NOW)
    return {claim.type: claim for claim in told}


def running(**changes: Any) -> Observed:
    return Observed(driver=driver(JOB, **changes), report=report())


def quiet_report(seconds: float) -> AgentReport:
    """Batches of so many seconds on two executors: six tasks a slot, which wait for a quarter of a second each."""
    batch = BatchReport(start=NOW.timestamp(), seconds=seconds, rows=96, executors=2)
    source = Fetching(partitions=12, longest=0.5)
    return report(query(batches=(batch,) * 5, fetching=source, arrival_rate=24.0))


def lost(seconds: float) -> Record:
    """A job that had committed batch 7 when its driver was lost, so long ago."""
    began = NOW - timedelta(seconds=seconds)
    recoveries = Recoveries().begun(RecoveryCause.DRIVER_LOSS, 2, began, began)
    return replace(STARTED, incarnation=2, last_batch=7, recoveries=recoveries)


NOT_YET = Observed(
    driver=driver(JOB, incarnation=2, started=NOW - timedelta(seconds=20)),
    report=report(query(batch_id=None, committed_at=None), incarnation=2),
)

STATES: dict[str, tuple[Observed, Record, Condition, Status, str, str]] = {
    "a lost driver is followed by one that has committed nothing for too long": (
        *(NOT_YET, lost(301)),
        *(Condition.PROGRESSING, Status.FALSE, "NoBatch", "No batch for 5m"),
    ),
    "a lost driver's successor in real-time mode commits no sooner than its trigger says": (
        replace(NOT_YET, report=report(real_time(timedelta(minutes=4)), incarnation=2)),
        lost(301),
        *(Condition.PROGRESSING, Status.TRUE, "Batches", "last committed batch is 7"),
    ),
    "a job without a driver for too long makes no progress": (
        *(Observed(), lost(301)),
        *(Condition.PROGRESSING, Status.FALSE, "NoBatch", "(DriverLoss)"),
    ),
    "a job that works is told that half of its work is waiting, and how to avoid it": (
        *(Observed(driver=driver(JOB), report=quiet_report(2.0)), replace(STARTED, last_batch=7)),
        *(Condition.PROGRESSING, Status.TRUE, "TasksWait"),
        "Of the 2.0 s of a batch of query 'clicks', tasks wait for about 1.5 s for the next row of a quiet partition: "
        'give its Kafka source .option("kafka.fetch.max.wait.ms", "10")',
    ),
    "waiting that is a small part of the batches is not worth a word": (
        *(Observed(driver=driver(JOB), report=quiet_report(4.6)), replace(STARTED, last_batch=7)),
        *(Condition.PROGRESSING, Status.TRUE, "Batches", "The last committed batch is 7."),
    ),
    "a new driver has its time": (
        *(NOT_YET, lost(299)),
        *(Condition.PROGRESSING, Status.TRUE, "Batches", "batch is 7"),
    ),
    "a healthy job is ready": (
        *(running(), STARTED),
        *(Condition.READY, Status.TRUE, "Running", "runs as declared"),
    ),
    "a job without a pod has no driver": (
        *(Observed(), Record()),
        *(Condition.DRIVER_RUNNING, Status.FALSE, "Pending", "No driver has been started yet"),
    ),
    "a pod that cannot be placed says why": (
        running(
            started=None,
            phase=PodPhase.PENDING,
            obstacle=("Unschedulable", "0/3 nodes are available"),
        ),
        STARTED,
        *(Condition.DRIVER_RUNNING, Status.FALSE, "Unschedulable", "0/3 nodes are available"),
    ),
    "a driver whose agent is silent is not known to run": (
        Observed(driver=driver(JOB), silence="GET /v1/state: no answer in time"),
        STARTED,
        *(Condition.DRIVER_RUNNING, Status.UNKNOWN, "AgentSilent", "no answer in time"),
    ),
    "a driver that is being deleted stops": (
        running(deleting=True),
        replace(STARTED, stopping="spec.application.image changed"),
        *(Condition.DRIVER_RUNNING, Status.FALSE, "Stopping", "spec.application.image changed"),
    ),
    "a driver that somebody has deleted is told of": (
        running(deleting=True),
        STARTED,
        *(Condition.DRIVER_RUNNING, Status.FALSE, "Removed", "somebody has deleted it"),
    ),
    "a driver that Kubernetes removes says why": (
        running(deleting=True, disruption="PreemptionByScheduler: for the pod urgent."),
        STARTED,
        *(Condition.DRIVER_RUNNING, Status.FALSE, "Removed"),
        "not because of the operator: PreemptionByScheduler: for the pod urgent.",
    ),
    "the driver of a former job of the name stops": (
        running(deleting=True, owner_uid="former"),
        STARTED,
        *(Condition.DRIVER_RUNNING, Status.FALSE, "Stopping", "a former job of this name had it"),
    ),
    "after a failure the pause is told": (
        Observed(),
        replace(STARTED, failures=2, last_failure=FAILURE, next_start=NOW + timedelta(seconds=42)),
        *(Condition.DRIVER_RUNNING, Status.FALSE, "DriverFailed", "Failure 2, next in 42s"),
    ),
    "a start that is put off says why, and when it is tried again": (
        Observed(),
        replace(STARTED, last_failure=AWAY, next_start=NOW + timedelta(seconds=42)),
        *(Condition.DRIVER_RUNNING, Status.FALSE, "StartBackOff"),
        "Incarnation 1 was not started: no webhook answers. Tried again in 42s.",
    ),
    "a job that gave up says how to go on": (
        Observed(),
        replace(STARTED, failures=5, last_failure=FAILURE, gave_up=True),
        *(Condition.READY, Status.FALSE, "DriverFailed", "change the spec to try again"),
    ),
    "a failed query is told with Spark's error class": (
        Observed(
            driver=driver(JOB),
            report=report(
                query(active=False, failure=QueryFailure("STREAM_FAILED", "no such topic"))
            ),
        ),
        STARTED,
        *(Condition.PROGRESSING, Status.FALSE, "QueryFailed", "STREAM_FAILED: no such topic"),
    ),
    "a query that has ended beside one that runs is judged no more": (
        Observed(
            driver=driver(JOB),
            report=report(
                query(),
                query(
                    name="backfill",
                    active=False,
                    committed_at=NOW - timedelta(minutes=30),
                    backlog_rows=9.0,
                ),
                replace(CONTINUOUS, name="old", active=False),
            ),
        ),
        replace(STARTED, last_batch=7),
        *(Condition.PROGRESSING, Status.TRUE, "Batches", "last committed batch is 7"),
    ),
    "a failed query is told with what to do": (
        Observed(
            driver=driver(JOB),
            report=report(
                query(
                    active=False, failure=QueryFailure("SaslAuthenticationException", "No entry.")
                )
            ),
        ),
        STARTED,
        *(
            Condition.PROGRESSING,
            Status.FALSE,
            "QueryFailed",
            "SaslAuthenticationException: No entry. The brokers refuse the program's login; correct",
        ),
    ),
    "a query that has failed is told also beside one that runs": (
        Observed(
            driver=driver(JOB),
            report=report(
                query(), query(name="side", active=False, failure=QueryFailure("Boom", "it broke"))
            ),
        ),
        STARTED,
        *(Condition.PROGRESSING, Status.FALSE, "QueryFailed", "Query 'side' failed"),
    ),
    "a program without a query is not known to progress": (
        Observed(driver=driver(JOB), report=replace(report(), queries=())),
        STARTED,
        *(Condition.PROGRESSING, Status.UNKNOWN, "NoQuery", "has not started a query"),
    ),
    "a program between two runs of its query is not said to have started none": (
        Observed(driver=driver(JOB), report=report(query(name="hourly", active=False))),
        STARTED,
        *(Condition.PROGRESSING, Status.UNKNOWN, "NoQuery", "No query runs: 'hourly' has ended"),
    ),
    "a driver that waits until the one before is surely dead is told to": (
        Observed(driver=driver(JOB), report=replace(report(), phase="waiting", queries=())),
        STARTED,
        *(Condition.PROGRESSING, Status.UNKNOWN, "WaitingForLease", "may still live, for 60s at"),
    ),
    "a query that stands while rows wait does not progress": (
        Observed(
            driver=driver(JOB),
            report=report(query(committed_at=NOW - timedelta(minutes=6), backlog_rows=120.0)),
        ),
        STARTED,
        *(Condition.PROGRESSING, Status.FALSE, "NoBatch", "6m ago with 120 rows waiting"),
    ),
    "a query with a batch in flight is judged by that": (
        Observed(
            driver=driver(JOB),
            report=report(
                query(
                    committed_at=NOW - timedelta(minutes=6),
                    backlog_rows=120.0,
                    in_batch_since=NOW - timedelta(minutes=4),
                )
            ),
        ),
        STARTED,
        *(Condition.PROGRESSING, Status.TRUE, "Batches", "The last committed batch"),
    ),
    "a driver whose first batch runs for too long is told how to limit it": (
        Observed(
            driver=driver(JOB),
            report=report(query(committed_at=None, in_batch_since=NOW - timedelta(minutes=6))),
        ),
        STARTED,
        *(Condition.PROGRESSING, Status.FALSE, "BatchStuck", "maxOffsetsPerTrigger"),
    ),
    "a job whose very first batch runs has had rows": (
        Observed(
            driver=driver(JOB),
            report=report(query(committed_at=None, in_batch_since=NOW - timedelta(minutes=4))),
        ),
        replace(STARTED, last_batch=None),
        *(Condition.PROGRESSING, Status.TRUE, "Batches", "The first batch is in flight"),
    ),
    "a batch whose tasks fail is told with their error and what to do": (
        flying(
            30,
            FailingTasks(
                failed=2, completed=1, error="NoSuchTopic: does not host this topic-partition."
            ),
        ),
        STARTED,
        *(
            Condition.PROGRESSING,
            Status.FALSE,
            "TasksFail",
            "2 have failed, 1 were done. The last error: NoSuchTopic: "
            "does not host this topic-partition. A topic that the program reads or writes does not exist",
        ),
    ),
    "brokers that do not answer are told with what may keep the driver from them": (
        asking("KafkaV2[Subscribe[clicks]]", seconds=20),
        STARTED,
        *(
            Condition.PROGRESSING,
            Status.FALSE,
            "SourceSilent",
            "waited for 20s for the offsets of KafkaV2[Subscribe[clicks]]; Spark ends it after some tries of a minute "
            "each. spec.sources: no broker of the program answers. If they did before, bring them back; else correct",
        ),
    ),
    "a job whose brokers do not answer is not ready for that": (
        asking("KafkaV2[Subscribe[clicks]]", seconds=20),
        replace(STARTED, last_batch=None),
        *(Condition.READY, Status.FALSE, "SourceSilent", "no broker of the program answers"),
    ),
    "brokers may take a while": (
        asking("KafkaV2[Subscribe[clicks]]", seconds=19),
        STARTED,
        *(Condition.PROGRESSING, Status.TRUE, "Batches", "last committed batch is 7"),
    ),
    "many files may take a while to list": (
        asking("FileStreamSource[s3a://clicks]", seconds=200),
        STARTED,
        *(Condition.PROGRESSING, Status.TRUE, "Batches", "last committed batch is 7"),
    ),
    "a job whose tasks fail is not ready for that": (
        flying(30, FailingTasks(failed=2, completed=1)),
        STARTED,
        *(Condition.READY, Status.FALSE, "TasksFail", "The driver's log tells why"),
    ),
    "tasks that fail now and then are done again, and that is all": (
        flying(30, FailingTasks(failed=2, completed=2, error="Boom")),
        STARTED,
        *(Condition.PROGRESSING, Status.TRUE, "Batches", "last committed batch is 7"),
    ),
    "tasks that have just failed may be done the next time": (
        flying(19, FailingTasks(failed=2, completed=1, error="Boom")),
        STARTED,
        *(Condition.PROGRESSING, Status.TRUE, "Batches", "last committed batch is 7"),
    ),
    "tasks that went with their executor are no fault of theirs": (
        flying(
            30, FailingTasks(failed=2, completed=1, error="ExecutorLostFailure (executor 1 exited)")
        ),
        STARTED,
        *(Condition.PROGRESSING, Status.TRUE, "Batches", "last committed batch is 7"),
    ),
    "a query to which rows have come just now is fine": (
        Observed(
            driver=driver(JOB),
            report=report(
                query(
                    committed_at=NOW - timedelta(hours=6),
                    backlog_rows=120.0,
                    backlog=timedelta(seconds=2),
                )
            ),
        ),
        STARTED,
        *(Condition.PROGRESSING, Status.TRUE, "Batches", "last committed batch is 7"),
    ),
    "a query whose rows wait for its trigger is fine": (
        Observed(
            driver=driver(JOB),
            report=report(
                query(
                    committed_at=NOW - timedelta(minutes=9),
                    backlog_rows=120.0,
                    backlog=timedelta(minutes=9),
                    trigger_seconds=600.0,
                )
            ),
        ),
        STARTED,
        *(Condition.PROGRESSING, Status.TRUE, "Batches", "last committed batch is 7"),
    ),
    "a batch in real-time mode lasts as long as its trigger says, and no deadline is about that": (
        Observed(driver=driver(JOB), report=report(real_time(timedelta(minutes=9)))),
        STARTED,
        *(Condition.PROGRESSING, Status.TRUE, "Batches", "last committed batch is 7"),
    ),
    "a release of Spark that was not tried is told, though all goes well": (
        Observed(driver=driver(JOB), report=report(spark="4.10.0")),
        STARTED,
        *(Condition.DRIVER_RUNNING, Status.TRUE, "UntriedSpark", "was tried with 3.5, 4.1, 4.2,"),
    ),
    "one that was tried is as ordinary as one that is not known yet": (
        Observed(driver=driver(JOB), report=report(spark="4.1.9")),
        STARTED,
        *(Condition.DRIVER_RUNNING, Status.TRUE, "Running", "incarnation 1."),
    ),
    "a batch in real-time mode that lasts longer than trigger and deadline is stuck": (
        Observed(driver=driver(JOB), report=report(real_time(timedelta(minutes=11)))),
        STARTED,
        *(Condition.PROGRESSING, Status.FALSE, "BatchStuck", "has run for 11m"),
    ),
    "of a continuous query no more is known than that it has not ended": (
        Observed(driver=driver(JOB), report=report(CONTINUOUS)),
        replace(STARTED, last_batch=None),
        *(Condition.PROGRESSING, Status.TRUE, "Continuous", "tells neither its batches nor"),
    ),
    "a continuous query that ended by an error has failed": (
        Observed(
            driver=driver(JOB),
            report=report(
                replace(CONTINUOUS, active=False, failure=QueryFailure("Boom", "it broke"))
            ),
        ),
        STARTED,
        *(Condition.PROGRESSING, Status.FALSE, "QueryFailed", "it broke"),
    ),
    "a query that stands because nothing comes is fine": (
        Observed(
            driver=driver(JOB),
            report=report(query(committed_at=NOW - timedelta(hours=6), backlog_rows=0.0)),
        ),
        STARTED,
        *(Condition.PROGRESSING, Status.TRUE, "Batches", "last committed batch is 7"),
    ),
    "a job that has not committed yet is not ready": (
        Observed(driver=driver(JOB), report=report(query(batch_id=None, committed_at=None))),
        STARTED,
        *(Condition.READY, Status.FALSE, "Starting", "No batch has been committed yet"),
    ),
    "an idle pod that ended tells its failure": (
        Observed(
            driver=driver(
                JOB, phase=PodPhase.FAILED, ended=Termination(exit_code=3, message="boom", at=NOW)
            )
        ),
        STARTED,
        *(Condition.DRIVER_RUNNING, Status.FALSE, "DriverFailed", "exit code 3: boom"),
    ),
}


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
def test_each_state_has_its_condition(
    state: tuple[Observed, Record, Condition, Status, str, str],
) -> None:
    seen, record, kind, status, reason, part = state
    claim = claims(seen, record)[kind]
    assert (claim.status, claim.reason) == (status, reason)
    assert part in claim.message


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
def test_every_condition_is_always_told_with_a_reason_and_a_sentence(
    state: tuple[Observed, Record, Condition, Status, str, str],
) -> None:
    told = claims(state[0], state[1])
    assert list(told) == list(Condition)
    assert all(claim.reason.isalnum() and claim.message for claim in told.values())


def test_a_suspended_job_keeps_its_checkpoint() -> None:
    told = claims(Observed(), of=job(suspend=True))[Condition.DRIVER_RUNNING]
    assert (told.reason, told.status) == ("Suspended", Status.FALSE)
    assert "the checkpoint is kept" in told.message


def test_a_taken_checkpoint_names_the_job_that_has_it() -> None:
    told = claims(Observed(), Record(), holder=JobKey("shop", "views"))
    assert "used by StreamJob shop/views" in told[Condition.CHECKPOINT_HELD].message
    assert told[Condition.READY].reason == "CheckpointInUse"


def test_a_job_that_was_deleted_and_made_again_waits_for_its_predecessor_and_warns_of_nothing() -> (
    None
):
    told = claims(Observed(driver=driver(JOB, owner_uid="former")), Record(), holder=JOB.key)
    assert told[Condition.CHECKPOINT_HELD].reason == "PredecessorStops"
    assert "starts when that one is gone" in told[Condition.CHECKPOINT_HELD].message


def test_what_a_program_sets_of_what_the_operator_decides_is_told_with_the_field_to_use() -> None:
    of = job(application=application())
    told = report(overridden={"spark.executor.memory": "700m"})
    claim = claims(Observed(driver=driver(of), report=told), of=of)[Condition.SPEC_APPLIED]
    assert (claim.status, claim.reason) == (Status.FALSE, "OverriddenByProgram")
    assert "spark.executor.memory to '700m': use spec.executors.memory" in claim.message
    assert (
        claims(Observed(driver=driver(of), report=report()), of=of)[Condition.SPEC_APPLIED].reason
        == "UpToDate"
    )


def at(location: str, **changes: Any) -> Observed:
    checkpoint = CheckpointReport(location=location)
    return Observed(driver=driver(JOB), report=report(query(checkpoint=checkpoint, **changes)))


def test_a_query_with_a_checkpoint_elsewhere_is_told_with_its_remedy_and_is_not_ready() -> None:
    told = claims(at("file:/tmp/checkpoint"))
    claim = told[Condition.CHECKPOINT_HELD]
    assert (claim.status, claim.reason) == (Status.FALSE, "CheckpointElsewhere")
    for part in ("'clicks'", "file:/tmp/checkpoint", "$(SLUICE_CHECKPOINT_LOCATION)"):
        assert part in claim.message
    assert told[Condition.READY].reason == "CheckpointElsewhere"


@pytest.mark.parametrize(
    "seen",
    [
        at(f"file:{CHECKPOINT_MOUNT}/clicks/views"),
        at("file:/tmp/checkpoint", active=False),
        at(""),
    ],
    ids=["in its place", "it has ended", "an agent that does not tell"],
)
def test_a_query_of_which_nothing_else_is_known_has_its_checkpoint_where_it_belongs(
    seen: Observed,
) -> None:
    assert claims(seen)[Condition.CHECKPOINT_HELD].reason == "Held"


def test_a_driver_that_goes_on_in_its_former_place_is_not_told_to_be_elsewhere() -> None:
    record = replace(STARTED, checkpoint="claim://shop/checkpoints/old", last_batch=7)
    seen = at(f"file:{CHECKPOINT_MOUNT}/old")
    assert claims(seen, record)[Condition.CHECKPOINT_HELD].reason == "Held"


def test_leaving_progress_behind_is_refused_with_the_annotation_that_allows_it() -> None:
    record = replace(STARTED, checkpoint="claim://shop/checkpoints/old", last_batch=7)
    told = claims(Observed(), record)[Condition.SPEC_APPLIED]
    assert (told.status, told.reason) == (Status.FALSE, "MigrationRefused")
    assert f"sluice.dev/allow-migration={JOB.checkpoint_location}" in told.message


@pytest.mark.parametrize(
    ("kind", "status", "reason"),
    [
        (ChangeClass.NONE, Status.TRUE, "UpToDate"),
        (ChangeClass.LIVE, Status.TRUE, "Live"),
        (ChangeClass.RESTART, Status.FALSE, "RestartNeeded"),
        (ChangeClass.MIGRATION, Status.FALSE, "MigrationRefused"),
    ],
)
def test_a_pending_change_says_what_it_takes(
    kind: ChangeClass, status: Status, reason: str
) -> None:
    record = replace(STARTED, change=Change(kind=kind, fields=("executors.cores",)))
    verdict = steps.Verdict(step=steps.WAIT, record=record, phase=Phase.RUNNING)
    told = reporting.conditions_of(JOB, verdict, running(), holder=None, now=NOW)
    claim = next(claim for claim in told if claim.type is Condition.SPEC_APPLIED)
    assert (claim.status, claim.reason) == (status, reason)


@pytest.mark.parametrize(
    ("mode", "fields", "message"),
    [
        ("Off", ("initial",), "Taken by the running driver: spec.executors.initial."),
        (
            "Auto",
            ("initial", "max"),
            "Taken by the running driver: spec.executors.max. spec.executors.initial: 3 is not followed in mode Auto, "
            "where decisions choose the executors, at present 5; spec.executors.min and max are followed at once, and "
            "in mode Observe this field is, too.",
        ),
    ],
)
def test_a_number_of_executors_that_is_not_followed_is_not_called_taken(
    mode: str, fields: tuple[str, ...], message: str
) -> None:
    scaled = job(scaling={"mode": mode}, executors={"min": 1, "max": 8, "initial": 3})
    chosen = Chosen(executors=5, decision="20260301T120000Z", at=NOW, reason="load")
    change = Change(kind=ChangeClass.LIVE, fields=tuple(f"executors.{field}" for field in fields))
    verdict = steps.Verdict(
        step=steps.WAIT,
        record=replace(STARTED, change=change, chosen=chosen),
        phase=Phase.RUNNING,
    )
    assert specclaims.applied(scaled, verdict, running()).message == message


PARTITIONS = "spark.sql.shuffle.partitions"
WITH_PARTITIONS = job(
    application={
        "image": "shop/clicks:1",
        "mainFile": "/opt/clicks.py",
        "sparkConf": {PARTITIONS: "8"},
    }
)


@pytest.mark.parametrize("before", [JOB, WITH_PARTITIONS], ids=["a change", "from the beginning"])
def test_a_setting_that_spark_ignores_is_told_with_both_values_and_the_ways_out(
    before: StreamJob,
) -> None:
    record = replace(STARTED, last_batch=7, pinned={PARTITIONS: "4"})
    seen = Observed(driver=driver(before), report=report())
    told = claims(seen, record, of=WITH_PARTITIONS)
    applied = told[Condition.SPEC_APPLIED]
    assert (applied.status, applied.reason) == (Status.FALSE, "IgnoredByCheckpoint")
    for part in (f"sparkConf: {PARTITIONS}: '8'", "has '4'", "another spec.checkpoint"):
        assert part in applied.message
    assert told[Condition.READY].status is Status.TRUE


def test_another_place_is_not_ruled_by_what_the_old_one_has() -> None:
    old = "claim://shop/checkpoints/old"
    record = replace(STARTED, checkpoint=old, pinned={PARTITIONS: "4"})
    told = claims(running(), record, of=WITH_PARTITIONS)[Condition.SPEC_APPLIED]
    assert told.reason != "IgnoredByCheckpoint"


@pytest.mark.parametrize(
    ("partitions", "target", "is_told"),
    [((4,), 5, True), ((4,), 4, False), ((4, 4), 8, False), ((4, None), 9, False), ((), 9, False)],
)
def test_executors_beyond_the_partitions_of_the_state_are_pointed_out(
    partitions: tuple[int | None, ...], target: int, is_told: bool
) -> None:
    queries = tuple(query(state_partitions=number) for number in partitions)
    seen = Observed(driver=driver(JOB), report=replace(report(target=target), queries=queries))
    told = claims(seen)[Condition.SCALING_ACTIVE].message
    assert ("more than 4 find no work" in told) == is_told


def test_executors_beyond_the_partitions_of_the_topics_are_pointed_out() -> None:
    reads = query(fetching=Fetching(partitions=4, longest=0.5))
    told = report(reads, target=5, work=(work("1", batches=20, of_all=80),))
    message = claims(Observed(driver=driver(JOB), report=told))[Condition.SCALING_ACTIVE].message
    assert "but what it reads has 4 partitions: more than 4 find no work on it" in message


def test_executors_find_work_on_as_many_partitions_as_they_have_slots() -> None:
    conf = {"spark.task.cpus": "2"}
    pairs = job(executors={"cores": 4}, application=application(sparkConf=conf))
    queries = (query(state_partitions=8),)
    seen = Observed(driver=driver(pairs), report=replace(report(target=5), queries=queries))
    told = claims(seen, of=pairs)[Condition.SCALING_ACTIVE].message
    assert "5 executors of 2 task slots are wanted" in told
    assert "more than 4 find no work" in told


def test_executors_have_the_slots_of_their_driver_until_that_of_a_changed_spec_runs() -> None:
    large, small = (job(executors={"cores": cores}) for cores in (4, 1))
    queries = (query(state_partitions=8),)
    seen = Observed(driver=driver(small), report=replace(report(target=4), queries=queries))
    assert "find no work" not in claims(seen, of=large)[Condition.SCALING_ACTIVE].message


def test_fields_that_are_only_stored_are_named() -> None:
    told = claims(Observed(), of=job(utility={"maximum": 3}))[Condition.SPEC_IN_FORCE]
    assert told.status is Status.FALSE
    assert "spec.utility" in told.message


def test_an_invalid_spec_is_not_ready_and_leaves_the_driver_alone() -> None:
    told = {claim.type: claim for claim in specclaims.invalid("spec.a: wrong", running())}
    assert told[Condition.SPEC_VALID].message == "spec.a: wrong"
    assert told[Condition.READY].status is Status.FALSE
    assert "goes on with the last valid spec" in told[Condition.SPEC_APPLIED].message


def test_the_time_of_a_condition_moves_with_its_status_only() -> None:
    before = settle([holds(Condition.READY, "Running", "a")], (), 1, NOW)
    later = NOW + timedelta(minutes=1)
    same = settle([holds(Condition.READY, "Running", "b")], before, 2, later)
    other = settle([fails(Condition.READY, "Stopping", "c")], before, 2, later)
    assert (same[0].since, same[0].generation) == (NOW, 2)
    assert other[0].since == later


def reasons(items: Iterable[News]) -> list[str]:
    return [item.reason for item in items]


def test_news_are_told_once() -> None:
    started = Record().with_start("s3a://b")
    failed = started.with_failure(FAILURE, NOW)
    assert reasons(news(Record(), started)) == ["DriverStarting"]
    assert reasons(news(started, failed)) == ["DriverFailed"]
    assert reasons(news(failed, replace(failed, gave_up=True))) == ["GaveUp"]
    assert reasons(news(failed, failed)) == []


def test_a_start_after_progress_says_where_it_goes_on() -> None:
    before = replace(STARTED, last_batch=41)
    (item,) = news(before, before.with_start(JOB.checkpoint_location))
    assert item.message == "Incarnation 2 starts, after batch 41"
    (item,) = news(before, before.with_start("s3a://b"))
    assert item.message == "Incarnation 2 starts", "in another place it goes on from nothing"


def test_a_refused_spec_is_news_until_it_is_valid_again() -> None:
    refused = settle(specclaims.invalid("spec.a: wrong", Observed()), (), 1, NOW)
    before, after = Record(), replace(Record(), conditions=refused)
    assert reasons(news(before, after)) == ["InvalidSpec"]
    assert reasons(news(after, after)) == []


def test_a_driver_that_is_removed_is_news_but_not_if_the_operator_has_asked() -> None:
    running_claims = tuple(claims(running()).values())
    before = replace(STARTED, conditions=settle(running_claims, (), 1, NOW))
    leaving = Observed(
        driver=driver(JOB, deleting=True, disruption="EvictionByEvictionAPI: drained")
    )

    def after(record: Record) -> Record:
        now = tuple(claims(leaving, record).values())
        return replace(record, conditions=settle(now, record.conditions, 1, NOW))

    (item,) = news(before, after(before))
    assert item.is_warning
    assert "EvictionByEvictionAPI: drained" in item.message
    asked = replace(before, stopping="its node is cordoned")
    assert reasons(news(asked, after(asked))) == []


def test_a_dead_driver_whose_pod_does_not_go_is_told_with_what_to_do() -> None:
    dead = driver(JOB, deleting=True, gone_by=NOW - timedelta(minutes=6), node="node-7")
    dead = replace(dead, ended=Termination(exit_code=143, at=NOW))
    told = claims(Observed(driver=dead))[Condition.DRIVER_RUNNING]
    assert (told.status, told.reason) == (Status.FALSE, "PodHeld")
    for part in ("a volume", "node-7", "kubectl delete pod clicks-driver -n shop --force"):
        assert part in told.message
    told = claims(Observed(driver=dead), of=job(restart={"lostNode": "Fence"}))[
        Condition.DRIVER_RUNNING
    ]
    assert told.message.endswith("It is removed by force.")
    soon = replace(dead, gone_by=NOW - timedelta(minutes=4))
    assert claims(Observed(driver=soon))[Condition.DRIVER_RUNNING].reason != "PodHeld"


def test_a_driver_on_a_lost_node_is_told_with_what_to_do() -> None:
    lost = driver(JOB, deleting=True, gone_by=NOW - timedelta(minutes=1), node="node-7")
    told = claims(Observed(driver=lost))[Condition.DRIVER_RUNNING]
    assert (told.status, told.reason) == (Status.FALSE, "NodeLost")
    for part in (
        "node-7",
        "kubectl delete pod clicks-driver -n shop --force",
        "spec.restart.lostNode",
    ):
        assert part in told.message
    fencing = job(restart={"lostNode": "Fence"})
    told = claims(Observed(driver=lost), of=fencing)[Condition.DRIVER_RUNNING]
    assert "given up when its Lease must have run out" in told.message
    formers = replace(lost, owner_uid="uid of a deleted job")
    told = claims(Observed(driver=formers), of=fencing)[Condition.DRIVER_RUNNING]
    assert told.message.endswith("kubectl delete pod clicks-driver -n shop --force."), "no fence"
