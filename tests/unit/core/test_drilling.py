"""A drill is answered once; the loss that follows is measured, and is no failure of the job."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from sluice.core.application import StreamJob
from sluice.core.conditions import Condition, Status
from sluice.core.drilling.records import (
    ANNOTATION,
    LONGEST,
    VALID,
    Answer,
    Drill,
    Victim,
    read_drill,
)
from sluice.core.news import news
from sluice.core.observations import ExecutorPod, Observed, PodPhase, QueryFailure, Termination
from sluice.core.record import Record
from sluice.core.recoveries import CALM, Cause
from sluice.core.reporting import conditions_of
from sluice.core.steps import StartDriver, StopDriver
from tests.support.jobs import NOW, driver, job, query, report
from tests.unit.core.test_lifecycle import look

PODS = frozenset({"clicks-1-exec-1", "clicks-1-exec-2"})
LEFT = frozenset({"clicks-1-exec-2"})
DRIVER = str(Drill(victim=Victim.DRIVER, at=NOW))
EXECUTOR = str(Drill(victim=Victim.EXECUTOR, at=NOW, pod="clicks-1-exec-1"))
RAN = Record(incarnation=1, checkpoint="claim://shop/checkpoints/clicks", last_batch=7)


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def drilled(
    asked: str | None, *, allowed: tuple[str, ...] = ("Executor", "Driver"), **of: Any
) -> StreamJob:
    """A job of which this is asked."""
    windows = of.pop("windows", [])
    recovery = {"target": "2m", "drills": {"allowed": list(allowed), "windows": windows}}
    annotations = {ANNOTATION: asked} if asked else {}
    return job(recovery=recovery, annotations={**annotations, **of.pop("annotations", {})}, **of)


def running(of: StreamJob, executors: frozenset[str] = PODS, **changes: Any) -> Observed:
    """A driver with as many executors as it wants, and a usual lag."""
    told = report(
        query(backlog_rows=40.0, arrival_rate=10.0, **changes.pop("query", {})), **changes
    )
    return Observed(
        driver=driver(of),
        executors=tuple(ExecutorPod(name=name, created=NOW) for name in sorted(executors)),
        executors_running=len(executors),
        report=told,
    )


def accepted(of: StreamJob) -> Record:
    """The record when the operator has agreed."""
    record = look(of, RAN, running(of)).record
    assert record.drill is not None
    assert not record.drill.refusal
    return record


def refusal(of: StreamJob, seen: Observed | None = None, record: Record = RAN) -> str:
    answer = look(of, record, seen or running(of)).record.drill
    assert answer is not None
    return answer.refusal


@pytest.mark.parametrize("asked", [DRIVER, EXECUTOR])
def test_what_is_asked_for_is_read_as_it_was_written(asked: str) -> None:
    assert str(read_drill(asked)) == asked


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("please", "'please' is no drill; write driver@MOMENT"),
        (
            "executor@2026-03-01T12:00:00Z",
            "is no drill; write driver@MOMENT or executor/POD@MOMENT",
        ),
        ("driver/clicks-driver@2026-03-01T12:00:00Z", "is no drill"),
        ("driver@noon", "has no moment"),
        ("driver@2026-03-01T12:00:00", "without a time zone; add Z"),
        ("driver@2026-03-01T11:49:00Z", "is not of the last ten minutes; ask again"),
        ("driver@2026-03-01T12:02:00Z", "is not of the last ten minutes"),
        ("executor/strange@2026-03-01T12:00:00Z", "no running executor 'strange'"),
    ],
)
def test_what_is_no_drill_is_refused_with_the_remedy(asked: str, says: str) -> None:
    assert says in refusal(drilled(asked))


def test_of_what_is_too_long_for_a_drill_only_the_beginning_is_kept() -> None:
    asked = drilled("driver@" + "x" * 200_000)
    record = look(asked, RAN, running(asked)).record
    assert record.drill is not None
    assert len(record.drill.asked) == LONGEST
    assert "is no drill" in record.drill.refusal


def test_nothing_is_killed_that_the_owner_has_not_allowed() -> None:
    assert "Add Driver to allow it" in refusal(drilled(DRIVER, allowed=("Executor",)))
    without = job(annotations={ANNOTATION: DRIVER})
    assert "spec.recovery.drills.allowed does not name Driver" in refusal(without)


def test_nothing_is_killed_outside_the_windows_and_the_next_one_is_told() -> None:
    windows = [
        {"start": "08:00", "end": "09:00"},
        {"start": "14:00", "end": "15:00", "days": ["Sun"]},
    ]
    told = refusal(drilled(DRIVER, windows=windows))
    assert "12:00 UTC is in no window" in told
    assert "the next begins at Sun 2026-03-01 14:00 UTC" in told
    open_now = drilled(DRIVER, windows=[{"start": "11:00", "end": "13:00"}])
    assert refusal(open_now) == ""


def test_only_a_job_that_is_well_is_drilled() -> None:
    of = drilled(DRIVER)
    assert "pauses the job" in refusal(drilled(DRIVER, annotations={"sluice.dev/paused": "true"}))
    assert "spec.suspend is true" in refusal(drilled(DRIVER, suspend=True))
    assert "no driver runs" in refusal(of, Observed())
    assert "1 of 2 executors run" in refusal(of, running(of, LEFT))
    recovering = replace(RAN, recoveries=RAN.recoveries.begun(Cause.NODE_LOSS, 1, NOW, NOW))
    assert "recovers already (NodeLoss)" in refusal(of, running(of), recovering)


def test_an_answer_is_kept_as_long_as_the_same_is_asked_and_no_longer() -> None:
    of = drilled(DRIVER, windows=[{"start": "11:00", "end": "12:01"}])
    record = accepted(of)
    later = look(of, record, running(of), after=120).record
    assert later.drill == record.drill, "the window has closed, but it was allowed"
    assert look(drilled(None), record, running(of)).record.drill is None


def test_an_answer_that_somebody_has_edited_is_given_anew() -> None:
    edited = replace(RAN, drill=Answer(asked="driver@noon"))
    asked = drilled("driver@noon")
    forgotten = look(asked, edited, running(asked)).record
    assert forgotten.drill is None
    assert "has no moment" in refusal(asked, record=forgotten)


def test_a_killed_driver_of_a_drill_is_measured_and_not_counted() -> None:
    of = drilled(DRIVER)
    verdict = look(of, accepted(of), Observed(), after=3)
    assert verdict.step == StartDriver(incarnation=2), "without a pause"
    record, present = verdict.record, verdict.record.recoveries.present
    assert present is not None
    assert (present.cause, present.drilled, present.incarnation) == (Cause.DRIVER_LOSS, 1, 2)
    assert present.began == present.detected == at(3)
    assert record.failures == 0
    assert record.last_failure is None
    assert record.drill is not None
    assert record.drill.done


def test_a_driver_that_is_on_its_way_out_is_lost_already() -> None:
    of = drilled(DRIVER)
    going = Observed(driver=driver(of, deleting=True))
    assert look(of, accepted(of), going).record.recoveries.present is not None


def test_a_driver_that_somebody_has_asked_to_stop_is_no_drill() -> None:
    of = drilled(DRIVER)
    record = replace(accepted(of), stopping="spec.application changed")
    assert look(of, record, Observed()).record.recoveries.present is None


def test_the_loss_after_a_drill_is_a_real_one() -> None:
    of = drilled(DRIVER)
    record = look(of, accepted(of), Observed()).record
    dead = driver(
        of, incarnation=2, phase=PodPhase.FAILED, ended=Termination(exit_code=1, at=at(9))
    )
    record = look(of, record, Observed(driver=dead), after=9).record
    assert record.failures == 1
    assert record.last_failure is not None
    assert record.last_failure.incarnation == 2
    assert record.recoveries.present is not None
    assert record.recoveries.present.drilled == 1, "it prolongs the recovery"


def test_a_driver_that_ends_of_a_drill_in_its_own_way_makes_no_job_give_up() -> None:
    of = drilled(EXECUTOR, restart={"maximumFailures": 1})
    record = look(of, accepted(of), running(of, LEFT)).record
    failed = query(active=False, failure=QueryFailure("Boom", "an executor was lost"))
    seen = replace(running(of, LEFT), report=report(failed))
    verdict = look(of, record, seen)
    assert isinstance(verdict.step, StopDriver)
    assert verdict.record.failures == 0
    assert not verdict.record.gave_up
    assert look(of, verdict.record, Observed(), after=1).step == StartDriver(incarnation=2)


def test_another_writer_is_no_drill() -> None:
    of = drilled(EXECUTOR)
    record = look(of, accepted(of), running(of, LEFT)).record
    failed = query(active=False, failure=QueryFailure("CONCURRENT_STREAM_LOG_UPDATE", "rival"))
    seen = replace(running(of, LEFT), report=report(failed))
    assert look(of, record, seen).record.gave_up


def test_a_drill_that_has_killed_nothing_for_ten_minutes_is_over() -> None:
    of = drilled(DRIVER)
    late = VALID.total_seconds() + 1
    assert look(of, accepted(of), Observed(), after=late).record.recoveries.present is None


def test_a_killed_executor_is_measured_until_all_are_back_and_the_lag_is_usual() -> None:
    of = drilled(EXECUTOR)
    record = look(of, accepted(of), running(of, LEFT), after=1).record
    story: tuple[tuple[float, frozenset[str], int, float], ...] = (
        # seconds, pods, registered, last commit; what is told when the pods are back may be from before
        (2, LEFT, 2, -1),
        (4, LEFT, 1, 3),
        (6, PODS, 2, 3),
        (9, PODS, 2, 8),
        (9 + CALM.total_seconds(), PODS, 2, 18),
    )
    for seconds, pods, registered, commit in story:
        seen = running(
            of, pods, at=at(seconds), registered=registered, query={"committed_at": at(commit)}
        )
        record = look(of, record, seen, after=seconds).record
    assert record.recoveries.present is None
    (past,) = record.recoveries.past
    assert (past.cause, past.drilled) == (Cause.EXECUTOR_LOSS, 1)
    reached = (past.detected, past.started, past.connected, past.committed, past.caught_up)
    assert reached == (at(1), at(6), at(9), at(3), at(9))


def test_an_executor_for_which_there_is_no_place_does_not_hide_a_lost_driver() -> None:
    of = drilled(EXECUTOR)
    record = look(of, accepted(of), running(of, LEFT), after=1).record
    going_on = running(of, LEFT, at=at(9), registered=1, query={"committed_at": at(8)})
    record = look(of, record, going_on, after=9).record
    dead = driver(of, phase=PodPhase.FAILED, ended=Termination(exit_code=137, at=at(20)))
    present = look(of, record, Observed(driver=dead), after=20).record.recoveries.present
    assert present is not None
    assert (present.cause, present.began, present.drilled) == (Cause.DRIVER_LOSS, at(20), 0)


def test_a_long_trigger_after_a_drilled_executor_is_no_lack_of_progress() -> None:
    of = drilled(EXECUTOR)
    record = look(of, accepted(of), running(of, LEFT), after=1).record
    late = of.progress_deadline.total_seconds() + 60
    idle = report(query(backlog_rows=None, committed_at=NOW), at=at(late), registered=1)
    seen = replace(running(of, LEFT), report=idle)
    verdict = look(of, record, seen, after=late)
    assert verdict.record.recoveries.present is not None
    claims = conditions_of(of, verdict, seen, holder=None, now=at(late))
    (progress,) = (one for one in claims if one.type is Condition.PROGRESSING)
    assert (progress.reason, progress.status) == ("Batches", Status.TRUE)


def test_a_drill_is_told_of_when_it_has_killed_and_when_it_may_not() -> None:
    of = drilled(EXECUTOR)
    record = accepted(of)
    assert not [one for one in news(RAN, record) if one.reason.startswith("Drill")]
    after = look(of, record, running(of, LEFT)).record
    told = {one.reason: one.message for one in news(record, after)}
    assert told["Drilled"] == "A drill has killed the executor/clicks-1-exec-1 of incarnation 1"
    refused = look(drilled(DRIVER, suspend=True), RAN, running(of)).record
    assert "DrillRefused" in {one.reason for one in news(RAN, refused)}
