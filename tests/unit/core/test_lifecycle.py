"""The life of a job, one look after the other."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.core import failures, lifecycle
from sluice.core.application import JobKey, RestartPolicy, StreamJob
from sluice.core.checkpoints import CheckpointReport
from sluice.core.failures import JITTER, backoff
from sluice.core.news import news
from sluice.core.observations import AgentReport, Observed, PodPhase, QueryFailure, Termination
from sluice.core.record import Phase, Record
from sluice.core.recoveries import Cause
from sluice.core.steps import ReplaceExecutors, SetExecutors, StartDriver, StopDriver, Verdict, Wait
from tests.support.jobs import NOW, application, driver, job, query, report

RAN = Record(incarnation=1, checkpoint="claim://shop/checkpoints/clicks", last_batch=7)
STARTED = Record(incarnation=1, checkpoint="claim://shop/checkpoints/clicks")
SOONER = NOW - timedelta(seconds=5)


def look(
    of: StreamJob, record: Record, seen: Observed, *, holder: JobKey | None = None, after: float = 0
) -> Verdict:
    """Decide so many seconds after NOW."""
    now = NOW + timedelta(seconds=after)
    return lifecycle.next_step(of, record, seen, holder=holder, now=now)


def ended(**changes: Any) -> Termination:
    """A driver that died with exit code 1 just now."""
    return replace(Termination(exit_code=1, message="boom", at=NOW), **changes)


RIVALLED = driver(
    job(),
    phase=PodPhase.FAILED,
    ended=ended(message="[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log."),
)
"""One that has met another writer."""


def test_a_new_job_starts_its_first_incarnation() -> None:
    verdict = look(job(), Record(), Observed())
    assert verdict.step == StartDriver(incarnation=1)
    assert verdict.record.incarnation == 1
    assert verdict.record.checkpoint == "claim://shop/checkpoints/clicks"
    assert verdict.phase is Phase.PENDING


def test_a_start_that_was_recorded_and_never_happened_is_followed_by_the_next_number() -> None:
    verdict = look(job(), STARTED, Observed())
    assert verdict.step == StartDriver(incarnation=2)


def test_the_lease_passes_on_from_a_driver_that_is_known_to_be_dead() -> None:
    dead = driver(job(), phase=PodPhase.FAILED, ended=ended())
    record = look(job(), STARTED, Observed(driver=dead, ended=1)).record
    verdict = look(job(), record, Observed(), after=60)
    assert verdict.step == StartDriver(incarnation=2, inherits=True)


def test_the_lease_of_a_driver_of_which_nobody_knows_is_waited_for() -> None:
    assert look(job(), STARTED, Observed(ended=0)).step == StartDriver(incarnation=2)
    proven = replace(STARTED, incarnation=3, ended=2)
    assert look(job(), proven, Observed()).step == StartDriver(incarnation=4)


def test_the_lease_of_another_place_does_not_pass_on() -> None:
    moved = replace(STARTED, checkpoint="claim://shop/checkpoints/elsewhere", ended=1)
    assert look(job(), moved, Observed()).step == StartDriver(incarnation=2)


def test_a_driver_that_met_another_writer_is_not_started_again_before_the_spec_changes() -> None:
    of = job()
    told = "[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. Multiple streaming jobs detected for 8."
    dead = driver(of, phase=PodPhase.FAILED, ended=ended(message=told))
    record = look(of, STARTED, Observed(driver=dead)).record
    assert record.last_failure is not None
    assert record.last_failure.reason == "AnotherWriter"
    assert "claim://shop/checkpoints/clicks" in record.last_failure.message
    assert look(of, record, Observed(), after=86_400).step == Wait()
    changed = job(generation=2, application=application(image="shop/clicks:2"))
    assert isinstance(look(changed, record, Observed(), after=86_400).step, StartDriver)


def test_an_autoscaler_does_not_start_a_job_again_that_met_another_writer() -> None:
    record = look(job(), STARTED, Observed(driver=RIVALLED)).record
    scaled = job(generation=2, executors={"min": 1, "max": 8, "initial": 5})
    assert look(scaled, record, Observed(), after=3600).step == Wait()
    suspended = look(job(generation=3, suspend=True), record, Observed(), after=3700)
    resumed = look(job(generation=4), suspended.record, Observed(), after=3800)
    assert isinstance(resumed.step, StartDriver)


def test_a_job_that_has_failed_otherwise_is_tried_again_with_other_executors() -> None:
    gave_up = replace(
        look(
            job(), STARTED, Observed(driver=driver(job(), phase=PodPhase.FAILED, ended=ended()))
        ).record,
        gave_up=True,
    )
    scaled = job(generation=2, executors={"min": 1, "max": 8, "initial": 5})
    assert isinstance(look(scaled, gave_up, Observed(), after=3600).step, StartDriver)


def test_of_a_release_that_took_any_change_for_another_try_the_failure_is_answered_by_any() -> None:
    record = look(job(), STARTED, Observed(driver=RIVALLED)).record
    assert record.last_failure is not None
    old = replace(record, last_failure=replace(record.last_failure, fingerprint=""))
    assert look(job(), old, Observed(), after=3600).step == Wait()
    scaled = job(generation=2, executors={"min": 1, "max": 8, "initial": 5})
    assert isinstance(look(scaled, old, Observed(), after=3600).step, StartDriver)


def test_another_writer_is_noticed_also_by_a_driver_that_is_being_stopped() -> None:
    stopping = replace(STARTED, stopping="spec.application.image changed")
    record = look(job(), stopping, Observed(driver=RIVALLED)).record
    assert record.gave_up
    calm = driver(job(), phase=PodPhase.FAILED, ended=ended())
    assert look(job(), stopping, Observed(driver=calm)).record.last_failure is None


def test_the_progress_of_a_checkpoint_that_was_left_is_none_of_the_next() -> None:
    place = {"claim": "elsewhere", "path": "clicks"}
    allowed = {"sluice.dev/allow-migration": "claim://shop/elsewhere/clicks"}
    moved = look(job(generation=2, checkpoint=place, annotations=allowed), RAN, Observed()).record
    assert (moved.last_batch, moved.last_commit) == (None, None)
    back = look(job(generation=3), moved, Observed(), after=3600)
    assert isinstance(back.step, StartDriver), (
        "there is nothing in the new place that it would leave behind"
    )
    assert look(job(), RAN, Observed()).record.last_batch == 7


def test_a_query_that_met_another_writer_stops_the_job_for_good() -> None:
    of = job()
    failed = query(active=False, failure=QueryFailure("CONCURRENT_STREAM_LOG_UPDATE", "batch 8"))
    record = look(of, STARTED, Observed(driver=driver(of), report=report(failed))).record
    assert record.gave_up
    assert record.last_failure is not None
    assert record.last_failure.reason == "AnotherWriter"


def test_a_running_driver_with_the_present_spec_is_left_alone() -> None:
    of = job()
    verdict = look(of, STARTED, Observed(driver=driver(of), report=report()))
    assert verdict.step == Wait()
    assert verdict.phase is Phase.RUNNING
    assert verdict.record.last_batch == 7


@pytest.mark.parametrize(
    ("waiting", "is_idle", "phase"),
    [
        (0, True, Phase.RUNNING),
        (5, True, Phase.STARTING),
        (None, False, Phase.STARTING),
        (None, True, Phase.RUNNING),
    ],
    ids=["nothing to do", "rows have come", "not known", "nothing found"],
)
def test_a_query_that_resumed_without_new_rows_runs_although_it_commits_nothing(
    waiting: int | None, is_idle: bool, phase: Phase
) -> None:
    of = job()
    idle = query(batch_id=None, committed_at=None, backlog_rows=waiting, is_idle=is_idle)
    seen = Observed(driver=driver(of), report=report(idle))
    assert look(of, STARTED, seen).phase is phase


def test_nothing_starts_while_a_driver_pod_is_still_there() -> None:
    of = job()
    leaving = driver(of, deleting=True)
    assert look(of, STARTED, Observed(driver=leaving)).step == Wait()
    foreign = driver(of, owner_uid="uid-of-the-job-that-had-this-name-before")
    assert look(of, Record(), Observed(driver=foreign)).step == Wait()


LOST = driver(job(), deleting=True, gone_by=NOW, node="node-1")
FENCING = job(restart={"lostNode": "Fence"})


def test_a_driver_on_a_lost_node_is_waited_for() -> None:
    assert look(job(), STARTED, Observed(driver=LOST), after=86_400).step == Wait()


def test_a_driver_on_a_lost_node_is_given_up_when_its_lease_must_have_run_out() -> None:
    for seconds, until in ((0, 30), (29, 30), (30, 90), (89, 90)):
        early = look(FENCING, RAN, Observed(driver=LOST), after=seconds)
        assert early.step == Wait(until=NOW + timedelta(seconds=until))
    late = look(FENCING, RAN, Observed(driver=LOST), after=90)
    assert late.step == StopDriver(uid="pod-1", by_force=True)
    assert late.record.recoveries.present is not None
    assert late.record.recoveries.present.cause is Cause.NODE_LOSS
    after = look(FENCING, late.record, Observed(), after=91)
    assert after.step == StartDriver(incarnation=2, inherits=False), "its end is not proven"


def test_a_driver_that_is_known_to_have_ended_has_time_to_let_go_of_its_volumes() -> None:
    seen = Observed(driver=replace(LOST, ended=ended()))
    assert look(FENCING, RAN, seen, after=299).step == Wait(until=NOW + timedelta(seconds=300))
    late = look(FENCING, RAN, seen, after=300)
    assert late.step == StopDriver(uid="pod-1", by_force=True)
    assert late.record.recoveries.present is None, "no node was lost"
    assert look(job(), RAN, seen, after=86_400).step == Wait(), "nobody has allowed force"


def test_a_failed_driver_is_recorded_before_its_pod_is_removed() -> None:
    of = job()
    dead = driver(of, phase=PodPhase.FAILED, ended=ended())
    verdict = look(of, STARTED, Observed(driver=dead))
    assert verdict.step == StopDriver(uid="pod-1")
    assert verdict.record.failures == 1
    assert verdict.record.last_failure is not None
    assert verdict.record.last_failure.reason == "DriverFailed"
    assert "exit code 1: boom" in verdict.record.last_failure.message


def test_the_end_of_an_incarnation_is_counted_once() -> None:
    of = job()
    seen = Observed(driver=driver(of, phase=PodPhase.FAILED, ended=ended()))
    once = look(of, STARTED, seen).record
    assert look(of, once, seen).record.failures == 1


def test_after_a_failure_the_next_start_waits_for_the_backoff() -> None:
    of = job()
    dead = driver(of, phase=PodPhase.FAILED, ended=ended())
    record = look(of, STARTED, Observed(driver=dead)).record
    waiting = look(of, record, Observed(), after=5)
    assert isinstance(waiting.step, Wait)
    assert waiting.step.until == record.next_start
    assert waiting.phase is Phase.BACKING_OFF
    assert look(of, record, Observed(), after=13).step == StartDriver(incarnation=2)


def test_a_pause_longer_than_any_that_is_made_is_not_waited_for() -> None:
    """A clock was set back, or somebody has edited the status."""
    record = replace(STARTED, failures=1, next_start=NOW + timedelta(days=400))
    assert look(job(), record, Observed()).step == StartDriver(incarnation=2)


def put_off(of: StreamJob, record: Record, *seconds: float) -> Record:
    """The record once as many starts in a row were put off, so long after NOW."""
    for after in seconds:
        record = look(of, replace(record, next_start=None), Observed()).record
        now = NOW + timedelta(seconds=after)
        record = failures.put_off(of, record, "500: failed calling webhook", now)
    return record


def pause(record: Record, after: float) -> float:
    """Seconds to the next start, as seen so long after NOW."""
    assert record.next_start is not None
    return (record.next_start - NOW).total_seconds() - after


def test_no_job_gives_up_because_its_starts_are_put_off() -> None:
    of = job(restart={"maximumFailures": 2})
    record = put_off(of, replace(STARTED, failures=1), *range(0, 600, 60))
    assert not record.gave_up
    assert record.failures == 1
    assert not any(item.reason == "GaveUp" for item in news(STARTED, record))
    (told,) = [item for item in news(STARTED, record) if item.reason == "StartBackOff"]
    assert told.is_warning
    assert told.message.endswith("failed calling webhook"), "it is no failure with a number"


def test_a_start_waits_as_long_as_starts_are_put_off_and_no_longer_than_the_policy_allows() -> None:
    patient, hasty = job(), job(restart={"maximumBackoff": "5s"})
    for of, tries, expected in [
        (patient, (0,), 1),
        (patient, (0, 20), 20),
        (patient, (0, 20, 3600), 60),
        (hasty, (0, 20), 5),
    ]:
        waits = pause(put_off(of, STARTED, *tries), tries[-1])
        assert waits == pytest.approx(expected, rel=JITTER)


def test_where_a_driver_was_made_in_between_starts_are_put_off_anew() -> None:
    record = replace(put_off(job(), STARTED, 0), incarnation=3)
    assert pause(put_off(job(), record, 3600), 3600) == pytest.approx(1, rel=JITTER)


def test_a_start_that_was_put_off_waits_for_its_moment() -> None:
    record = put_off(job(), STARTED, 0)
    waiting = look(job(), record, Observed(), after=0.5)
    assert waiting.step == Wait(until=record.next_start)
    assert waiting.phase is Phase.BACKING_OFF
    assert look(job(), record, Observed(), after=2).step == StartDriver(incarnation=3)


def test_a_changed_spec_starts_at_once_after_a_failure() -> None:
    of = job()
    dead = driver(of, phase=PodPhase.FAILED, ended=ended())
    record = look(of, STARTED, Observed(driver=dead)).record
    mended = job(generation=2)
    assert look(mended, record, Observed(), after=1).step == StartDriver(incarnation=2)


def test_returning_with_exit_code_zero_is_a_failure() -> None:
    of = job()
    done = driver(of, phase=PodPhase.SUCCEEDED, ended=ended(exit_code=0, message=""))
    failure = look(of, STARTED, Observed(driver=done)).record.last_failure
    assert failure is not None
    assert failure.reason == "FinishedUnasked"


def test_a_driver_without_memory_says_which_field_to_raise() -> None:
    of = job()
    killed = driver(of, phase=PodPhase.FAILED, ended=ended(exit_code=137, reason="OOMKilled"))
    failure = look(of, STARTED, Observed(driver=killed)).record.last_failure
    assert failure is not None
    assert failure.reason == "OutOfMemory"
    assert "spec.application.driver.memory" in failure.message


def test_a_driver_that_was_asked_to_stop_has_not_failed() -> None:
    of = job(suspend=True)
    record = look(of, STARTED, Observed(driver=driver(of))).record
    gone = driver(of, phase=PodPhase.FAILED, ended=ended(exit_code=143))
    assert look(of, record, Observed(driver=gone)).record.failures == 0


def test_after_so_many_failures_in_a_row_the_job_stays_down_until_its_spec_changes() -> None:
    of = job(restart={"maximumFailures": 2})
    record = replace(STARTED, incarnation=4, failures=1)
    dead = driver(of, incarnation=4, phase=PodPhase.FAILED, ended=ended())
    record = look(of, record, Observed(driver=dead)).record
    down = look(of, record, Observed(), after=3600)
    assert down.step == Wait()
    assert down.phase is Phase.FAILED
    mended = job(restart={"maximumFailures": 2}, generation=2)
    assert look(mended, record, Observed(), after=3600).step == StartDriver(incarnation=5)


def test_a_driver_that_ran_long_enough_clears_the_failures() -> None:
    of = job()
    old = driver(of, started=NOW - timedelta(minutes=11))
    record = replace(STARTED, failures=5)
    assert look(of, record, Observed(driver=old, report=report())).record.failures == 0


def test_suspending_stops_the_driver_and_keeps_what_is_remembered_of_the_checkpoint() -> None:
    of = job(suspend=True)
    verdict = look(of, STARTED, Observed(driver=driver(of), report=report()))
    assert verdict.step == StopDriver(uid="pod-1")
    resting = look(of, verdict.record, Observed())
    assert resting.phase is Phase.SUSPENDED
    assert resting.step == Wait()
    assert resting.record.last_batch == 7
    assert look(job(), resting.record, Observed()).step == StartDriver(incarnation=2)


def test_a_restart_change_stops_the_driver_and_says_why() -> None:
    of = job()
    image = {"image": "shop/clicks:2", "mainFile": "/opt/clicks.py"}
    verdict = look(job(application=image), STARTED, Observed(driver=driver(of), report=report()))
    assert verdict.step == StopDriver(uid="pod-1")
    assert verdict.record.stopping == "spec.application.image changed"
    assert verdict.record.change.kind == "Restart"


def test_a_pinned_setting_never_stops_a_driver_that_has_committed() -> None:
    of = job()
    application = {
        "image": "shop/clicks:1",
        "mainFile": "/opt/clicks.py",
        "sparkConf": {"spark.sql.shuffle.partitions": "64"},
    }
    verdict = look(
        job(application=application), STARTED, Observed(driver=driver(of), report=report())
    )
    assert verdict.step == Wait()
    assert verdict.record.change.kind == "Migration"


def test_a_moved_checkpoint_is_refused_unless_the_new_place_is_named() -> None:
    moved = {"claim": "checkpoints", "path": "elsewhere"}
    record = replace(STARTED, last_batch=7)
    assert look(job(checkpoint=moved), record, Observed()).phase is Phase.REFUSED
    asked = {"sluice.dev/allow-migration": "claim://shop/checkpoints/elsewhere"}
    verdict = look(job(checkpoint=moved, annotations=asked), record, Observed())
    assert verdict.step == StartDriver(incarnation=2)


@pytest.mark.parametrize(
    ("annotations", "seen"),
    [
        ({}, {"why_leave": "is cordoned"}),
        ({"sluice.dev/restart": "now"}, {}),
    ],
    ids=["a cordoned node", "a person"],
)
def test_a_driver_is_not_stopped_by_choice_where_no_other_one_would_be_started(
    annotations: dict[str, str], seen: dict[str, Any]
) -> None:
    runs = Observed(driver=driver(job()), report=report(), **seen)
    record = replace(STARTED, last_batch=7)
    moved = {"claim": "checkpoints", "path": "elsewhere"}
    assert look(job(checkpoint=moved, annotations=annotations), record, runs).step == Wait()
    assert isinstance(look(job(annotations=annotations), record, runs).step, StopDriver)


def with_partitions(number: str, **changes: Any) -> StreamJob:
    """The job with its partitions of the state declared."""
    application = {
        "image": "shop/clicks:1",
        "mainFile": "/opt/clicks.py",
        "sparkConf": {"spark.sql.shuffle.partitions": number},
    }
    return job(application=application, **changes)


def found(**settings: str) -> AgentReport:
    """A report whose query goes on from a checkpoint of such settings."""
    named = {f"spark.sql.{name.replace('_', '.')}": value for name, value in settings.items()}
    return report(query(checkpoint=CheckpointReport(format_version="v1", settings=named)))


def test_what_the_checkpoint_fixes_is_remembered_until_the_job_moves() -> None:
    seen = Observed(driver=driver(job()), report=found(shuffle_partitions="4"))
    record = look(job(), RAN, seen).record
    assert (record.log_format, record.pinned) == ("v1", {"spark.sql.shuffle.partitions": "4"})
    silent = look(job(), record, Observed(driver=driver(job()), report=report())).record
    assert silent.pinned == record.pinned
    assert record.with_start(RAN.checkpoint or "").pinned == record.pinned
    assert record.with_start("claim://shop/checkpoints/elsewhere").pinned == {}


def had(batch: int, **changes: Any) -> AgentReport:
    """A report whose query goes on from a checkpoint that has such a batch."""
    kept = CheckpointReport(last_batch=batch, committed_at=NOW)
    unknown = {"batch_id": None, "committed_at": None}
    return report(query(**{**unknown, "checkpoint": kept, **changes}))


def test_what_a_driver_committed_at_its_end_is_told_as_soon_as_the_next_has_read_the_checkpoint() -> (
    None
):
    seen = Observed(driver=driver(job()), report=had(8))
    record = look(job(), RAN, seen).record
    assert (record.last_batch, record.last_commit) == (8, NOW)
    newer = Observed(driver=driver(job()), report=had(8, batch_id=9, committed_at=SOONER))
    record = look(job(), record, newer).record
    assert (record.last_batch, record.last_commit) == (9, SOONER), "clocks of stores may differ"


def test_a_job_on_a_checkpoint_that_it_found_does_not_leave_its_progress_behind_unasked() -> None:
    record = look(job(), STARTED, Observed(driver=driver(job()), report=had(8))).record
    moved = look(job(checkpoint={"claim": "checkpoints", "path": "elsewhere"}), record, Observed())
    assert moved.phase is Phase.REFUSED


@pytest.mark.parametrize("annotations", [{}, {"sluice.dev/allow-migration": RAN.checkpoint or ""}])
def test_a_setting_that_spark_would_ignore_is_refused_before_anything_is_stopped(
    annotations: dict[str, str],
) -> None:
    seen = Observed(driver=driver(job()), report=found(shuffle_partitions="4"))
    verdict = look(with_partitions("8", annotations=annotations), RAN, seen)
    assert verdict.step == Wait()
    assert verdict.record.change.kind == "Migration"


def test_a_setting_that_agrees_with_the_checkpoint_is_taken_by_a_restart() -> None:
    seen = Observed(driver=driver(job()), report=found(shuffle_partitions="4"))
    assert isinstance(look(with_partitions("4"), RAN, seen).step, StopDriver)


def test_a_new_number_of_executors_is_given_to_the_running_driver() -> None:
    of = job()
    more = job(executors={"min": 1, "max": 8, "initial": 5})
    verdict = look(more, STARTED, Observed(driver=driver(of), report=report()))
    assert verdict.step == SetExecutors(target=5)
    assert verdict.record.change.kind == "Live"
    settled = look(more, verdict.record, Observed(driver=driver(of), report=report(target=5)))
    assert settled.step == Wait()


def test_an_executor_that_registers_after_the_number_was_lowered_is_removed() -> None:
    of = job()
    late = report(target=2, registered=3)
    verdict = look(of, STARTED, Observed(driver=driver(of), report=late))
    assert verdict.step == SetExecutors(target=2)


def test_executors_are_replaced_only_once_their_number_is_right_and_spark_is_there() -> None:
    of = job()
    for told, step in (
        (report(), ReplaceExecutors(ids=("1",))),
        (report(target=5), SetExecutors(target=2)),
        (report(phase="starting"), Wait()),
        (None, Wait()),
    ):
        seen = Observed(driver=driver(of), report=told, leaving=("1",))
        assert look(of, STARTED, seen).step == step


def test_a_driver_whose_restart_waits_is_replaced_when_it_fails_and_rescaled_no_more() -> None:
    image = {"image": "shop/clicks:2", "mainFile": "/opt/clicks.py"}
    of, before = job(application=image, executors={"min": 1, "initial": 5}), driver(job())
    waits = look(of, RAN, Observed(driver=before, report=report(), crowd=1))
    assert waits.step == Wait()
    assert waits.held_back == "spec.application.image changed"
    dead = query(active=False, failure=QueryFailure("OFFSET_OUT_OF_RANGE", "gone"))
    failed = look(of, RAN, Observed(driver=before, report=report(dead), crowd=1))
    assert failed.step == StopDriver(uid="pod-1")
    assert failed.record.failures == 1


def test_a_checkpoint_that_another_job_has_keeps_the_driver_from_starting() -> None:
    verdict = look(job(), Record(), Observed(), holder=JobKey("shop", "first"))
    assert verdict.step == Wait()
    assert verdict.phase is Phase.REFUSED
    assert verdict.record.incarnation == 0


def test_a_program_that_goes_on_after_its_queries_failed_is_replaced() -> None:
    of = job()
    dead = query(active=False, failure=QueryFailure("OFFSET_OUT_OF_RANGE", "gone"))
    verdict = look(of, STARTED, Observed(driver=driver(of), report=report(dead)))
    assert verdict.step == StopDriver(uid="pod-1")
    assert verdict.record.last_failure is not None
    assert verdict.record.last_failure.reason == "QueryFailed"
    assert "OFFSET_OUT_OF_RANGE" in verdict.record.last_failure.message


def test_a_program_has_half_a_minute_to_start_its_failed_query_again() -> None:
    of, old = job(), timedelta(hours=5)
    for ago, step in ((29, Wait()), (31, StopDriver(uid="pod-1"))):
        ended = NOW - timedelta(seconds=ago)
        dead = query(active=False, failure=QueryFailure("X", "sink away"), ended_at=ended)
        verdict = look(
            of, STARTED, Observed(driver=driver(of, started=NOW - old), report=report(dead))
        )
        assert verdict.step == step
    assert verdict.record.last_failure is not None
    assert verdict.record.last_failure.at == ended


def test_a_program_that_lives_with_a_failed_query_may_start_its_other_one_again() -> None:
    of = job()
    dead = query(
        name="a", active=False, failure=QueryFailure("X", "y"), ended_at=NOW - timedelta(hours=1)
    )
    stopped = query(name="b", active=False, ended_at=NOW - timedelta(seconds=5))
    verdict = look(of, STARTED, Observed(driver=driver(of), report=report(dead, stopped)))
    assert verdict.step == Wait()
    later = replace(stopped, ended_at=NOW - timedelta(seconds=31))
    verdict = look(of, STARTED, Observed(driver=driver(of), report=report(dead, later)))
    assert verdict.step == StopDriver(uid="pod-1")


def test_a_failure_under_a_name_that_has_run_since_is_none() -> None:
    of, ended = job(), NOW - timedelta(minutes=5)
    dead = query(active=False, failure=QueryFailure("X", "y"), ended_at=ended)
    stopped = query(active=False, ended_at=ended)
    verdict = look(of, STARTED, Observed(driver=driver(of), report=report(dead, stopped)))
    assert verdict.step == Wait()


@pytest.mark.parametrize("what", ["CONCURRENT_STREAM_LOG_UPDATE", "DRIVER_JVM_LOST"])
def test_a_driver_that_cannot_go_on_is_replaced_without_waiting_for_its_program(what: str) -> None:
    of = job()
    other = query(name="a", active=False, failure=QueryFailure("X", "y"), ended_at=NOW)
    dead = query(name="b", active=False, failure=QueryFailure(what, "z"), ended_at=NOW)
    verdict = look(of, STARTED, Observed(driver=driver(of), report=report(other, dead)))
    assert verdict.step == StopDriver(uid="pod-1")
    assert verdict.record.gave_up == (what == "CONCURRENT_STREAM_LOG_UPDATE")


def test_a_failed_query_beside_an_active_one_does_not_end_the_driver() -> None:
    of = job()
    dead = query(name="side", active=False, failure=QueryFailure("X", "y"))
    assert (
        look(of, STARTED, Observed(driver=driver(of), report=report(query(), dead))).step == Wait()
    )


@given(failures=st.integers(1, 10_000), seed=st.text())
def test_the_backoff_never_exceeds_its_maximum_by_more_than_the_jitter(
    failures: int, seed: str
) -> None:
    policy = RestartPolicy()
    pause = backoff(policy, failures, seed)
    assert policy.initial * 0.75 <= pause <= policy.maximum * 1.25
    assert pause == backoff(policy, failures, seed)
