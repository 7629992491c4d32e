"""How executors ended is told while it is news, and when a driver fails soon after."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from sluice.core import lifecycle, reporting
from sluice.core.conditions import Condition
from sluice.core.observations import (
    AgentReport,
    LostExecutor,
    Observed,
    PodPhase,
    QueryFailure,
    QueryReport,
    Termination,
)
from sluice.core.record import Record
from sluice.core.steps import StopDriver, Verdict
from tests.support.jobs import NOW, driver, job, query, report

JOB = job()
STARTED = Record(incarnation=1, checkpoint=JOB.checkpoint_location)
UNDER_WAY = report()
WITHOUT_BATCH = report(query(batch_id=None, committed_at=None))


def lost(
    exit_code: int = 137,
    *,
    reason: str = "Error",
    message: str = "",
    at: datetime | None = NOW - timedelta(seconds=5),
) -> LostExecutor:
    ended = Termination(exit_code=exit_code, reason=reason, message=message, at=at)
    return LostExecutor(name="clicks-exec-3", driver_uid="pod-1", ended=ended)


def told(kind: Condition, seen: Observed) -> str:
    verdict = lifecycle.next_step(JOB, STARTED, seen, holder=None, now=NOW)
    claims = reporting.conditions_of(JOB, verdict, seen, holder=None, now=NOW)
    return next(claim.message for claim in claims if claim.type is kind)


def failure(seen: Observed) -> str:
    """What is kept of the driver's failure."""
    found = lifecycle.next_step(JOB, STARTED, seen, holder=None, now=NOW).record.last_failure
    assert found is not None
    return found.message


def failing(told: str) -> QueryReport:
    return query(active=False, failure=QueryFailure("STREAM_FAILED", told))


@pytest.mark.parametrize(
    ("fallen", "parts"),
    [
        (lost(reason="OOMKilled"), ["OOMKilled: exit code 137", "memoryOverhead", "384 MiB"]),
        (
            lost(52, message="ERROR Executor: a task failed\nOutOfMemoryError"),
            ["exit code 52: Out", "a Java heap of 1024 MiB"],
        ),
        (lost(1, message="No such file."), ["exit code 1: No such file."]),
        (
            lost(-1, reason="Evicted", message="Evicted: The node was low", at=None),
            ["ended: Evicted: The"],
        ),
    ],
)
def test_an_executor_that_ended_unasked_is_told_with_how_and_what_to_do(
    fallen: LostExecutor, parts: list[str]
) -> None:
    seen = Observed(driver=driver(JOB), report=WITHOUT_BATCH, lost=fallen)
    for kind in (Condition.READY, Condition.SCALING_ACTIVE):
        message = told(kind, seen)
        assert "Executor clicks-exec-3 ended" in message
        for part in parts:
            assert part in message
        assert ".." not in message


def test_a_job_that_goes_on_without_it_stays_ready_and_old_ends_are_told_no_more() -> None:
    seen = Observed(driver=driver(JOB), report=UNDER_WAY, lost=lost())
    assert told(Condition.READY, seen) == "The job runs as declared."
    assert "at 11:59:55 UTC: exit code 137." in told(Condition.SCALING_ACTIVE, seen)
    former = Observed(
        driver=driver(JOB), report=UNDER_WAY, lost=lost(at=NOW - timedelta(seconds=301))
    )
    assert "ended" not in told(Condition.SCALING_ACTIVE, former)


def test_queries_that_fail_after_it_are_explained_by_it() -> None:
    shut_down = failing("Job 0 cancelled because SparkContext was shut down")
    seen = Observed(driver=driver(JOB), report=report(shut_down), lost=lost(reason="OOMKilled"))
    message = failure(seen)
    assert "SparkContext was shut down. Spark gives up like that" in message
    assert message.index("executors fail") < message.index("Executor clicks-exec-3 ended")
    assert "memoryOverhead" in message


def test_advice_is_given_once() -> None:
    killed = failing("ExecutorLostFailure: exit code 137(SIGKILL, possible container OOM)")
    seen = Observed(driver=driver(JOB), report=report(killed), lost=lost(reason="OOMKilled"))
    assert failure(seen).count("memoryOverhead") == 1
    unknown = Observed(driver=driver(JOB), report=report(killed))
    assert failure(unknown).count("memoryOverhead") == 1


def over(message: str) -> Observed:
    """A driver that failed now, with an executor that had ended three seconds before."""
    ended = Termination(exit_code=1, message=message, at=NOW)
    failed = driver(JOB, phase=PodPhase.FAILED, ended=ended)
    return Observed(driver=failed, lost=lost(at=NOW - timedelta(seconds=3)))


def test_a_driver_that_fails_for_want_of_executors_is_explained_by_the_last_of_them() -> None:
    seen = over("Task 0 failed 4 times: ExecutorLostFailure (executor 3 exited)")
    assert "Executor clicks-exec-3 ended at 11:59:57" in failure(seen)
    for seconds in (-61, 1):
        other = replace(seen, lost=lost(at=NOW + timedelta(seconds=seconds)))
        assert "clicks-exec-3" not in failure(other)


def test_executors_that_end_with_their_driver_explain_nothing() -> None:
    assert failure(over("ValueError: boom")) == "exit code 1: ValueError: boom"
    going = Observed(driver=driver(JOB, deleting=True), report=UNDER_WAY, lost=lost())
    assert "clicks-exec-3" not in told(Condition.SCALING_ACTIVE, going)


NONE_THERE = replace(WITHOUT_BATCH, registered=0, target=1)


def losing(count: int, at: AgentReport = NONE_THERE) -> Verdict:
    """A look at a driver so many of whose executors have failed."""
    last = replace(lost(1, message="Improperly specified VM option"), so_far=count)
    seen = Observed(driver=driver(JOB), report=at, lost=last)
    return lifecycle.next_step(JOB, STARTED, seen, holder=None, now=NOW)


@pytest.mark.parametrize(("target", "most"), [(1, 3), (2, 4), (10, 20), (None, 3)])
def test_a_driver_whose_executors_all_fail_is_ended_and_started_again_later(
    target: int | None, most: int
) -> None:
    wanted = replace(NONE_THERE, target=target)
    assert not isinstance(losing(most, wanted).step, StopDriver)
    verdict = losing(most + 1, wanted)
    assert isinstance(verdict.step, StopDriver)
    failed = verdict.record.last_failure
    assert failed is not None
    assert failed.reason == "ExecutorsFail"
    assert f"{most + 1} of its executors have failed" in failed.message
    assert "Improperly specified VM option" in failed.message
    assert verdict.record.failures == 1
    assert verdict.record.next_start is not None


def test_a_driver_with_an_executor_or_a_batch_goes_on_however_many_were_lost() -> None:
    assert not isinstance(losing(99, replace(NONE_THERE, registered=1)).step, StopDriver)
    assert not isinstance(losing(99, replace(UNDER_WAY, registered=0)).step, StopDriver)
