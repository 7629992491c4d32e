"""What a metrics' server tells, as conditions and as an account of the objective."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from sluice.core import lifecycle, reporting
from sluice.core.conditions import Claim, Condition, Status
from sluice.core.measurement import (
    NOT_CONFIGURED,
    Attained,
    Measurement,
    Unmeasured,
    attained,
)
from sluice.core.objectives.budget import Objective
from sluice.core.observations import AgentReport, Observed, Processing
from sluice.core.record import Record
from sluice.core.series import NoData
from tests.support.jobs import NOW, driver, job, query, report

MONTH_OLD = NOW - timedelta(days=40)
JOB = job(slo={"objective": 0.99, "window": "1d"}, created=MONTH_OLD)
DAY = 24 * 60
FRESH = Measurement(
    at=NOW,
    scraped=NOW - timedelta(seconds=10),
    good=DAY - 3,
    known=DAY,
    recent={"latency": 1.0, "availability": 1.0},
)
AWAY = Unmeasured("PrometheusUnavailable", "no answer within 20 s.")
WEEK = timedelta(days=7)
OF_A_TOPIC = report(query(backlog_rows=0.0))


def claims(
    told: Measurement | Unmeasured,
    *,
    age: timedelta = timedelta(hours=1),
    told_by: AgentReport = OF_A_TOPIC,
) -> dict[Condition, Claim]:
    """The conditions of a healthy job of which this is told, with a driver of that age."""
    running = driver(JOB, started=NOW - age)
    seen = Observed(driver=running, report=told_by, measured=told)
    verdict = lifecycle.next_step(JOB, Record(incarnation=1), seen, holder=None, now=NOW)
    found = reporting.conditions_of(JOB, verdict, seen, holder=None, now=NOW)
    return {claim.type: claim for claim in found}


@pytest.mark.parametrize(
    ("told", "status", "reason"),
    [
        (FRESH, Status.TRUE, "Scraped"),
        (NOT_CONFIGURED, Status.UNKNOWN, "NotConfigured"),
        (AWAY, Status.FALSE, "PrometheusUnavailable"),
        (replace(FRESH, ahead=timedelta(minutes=10)), Status.FALSE, "ClockSkew"),
        (replace(FRESH, ahead=timedelta(minutes=-10)), Status.FALSE, "ClockSkew"),
        (replace(FRESH, scraped=None), Status.FALSE, "NotScraped"),
        (replace(FRESH, scraped=NOW - timedelta(minutes=3)), Status.FALSE, "Stale"),
    ],
)
def test_whether_metrics_are_available_is_told_with_the_reason(
    told: Measurement | Unmeasured, status: Status, reason: str
) -> None:
    claim = claims(told)[Condition.METRICS_AVAILABLE]
    assert (claim.status, claim.reason) == (status, reason)
    assert claim.message.endswith(".")


def test_a_young_driver_need_not_have_been_scraped() -> None:
    young = claims(replace(FRESH, scraped=None), age=timedelta(seconds=30))
    assert young[Condition.METRICS_AVAILABLE].status is Status.UNKNOWN


@pytest.mark.parametrize(
    ("told", "status", "reason", "part"),
    [
        (FRESH, Status.TRUE, "Met", "99.792% attained of 99% declared"),
        (replace(FRESH, good=DAY - 30), Status.FALSE, "BudgetSpent", "-108% of the error budget"),
        (
            replace(FRESH, recent={"latency": 0.2, "availability": 1.0}),
            *(Status.FALSE, "BoundBroken", "latency missed just now"),
        ),
        (
            replace(FRESH, good=DAY / 2, known=DAY / 2),
            *(Status.TRUE, "Met", "50% unknown"),
        ),
        (replace(FRESH, good=None, known=None), Status.UNKNOWN, "NotMeasured", "recording rules"),
        (AWAY, Status.UNKNOWN, "NotMeasured", "no answer"),
    ],
)
def test_whether_objectives_are_met_is_told_with_numbers(
    told: Measurement | Unmeasured, status: Status, reason: str, part: str
) -> None:
    claim = claims(told)[Condition.OBJECTIVES_MET]
    assert (claim.status, claim.reason) == (status, reason)
    assert part in claim.message


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"backlog_rows": None}, "query 'clicks' reads a source that does not tell how many rows"),
        (
            {"backlog_rows": None, "committed_at": None, "is_idle": True},
            "query 'clicks' reads a source",
        ),
        ({"processing": Processing.CONTINUOUS}, "query 'clicks' has a continuous trigger"),
        ({"backlog_rows": 0.0}, "recording rules of the chart have no sample of this job yet."),
        ({"backlog_rows": None, "committed_at": None}, "have no sample of this job yet."),
    ],
)
def test_what_nobody_can_measure_is_told_as_such(changes: dict[str, Any], part: str) -> None:
    unrecorded = replace(FRESH, good=None, known=None)
    claim = claims(unrecorded, told_by=report(query(**changes)))[Condition.OBJECTIVES_MET]
    assert (claim.status, claim.reason) == (Status.UNKNOWN, "NotMeasured")
    assert part in claim.message


def test_where_one_query_tells_what_arrives_the_server_is_what_keeps_silent() -> None:
    mixed = report(query(name="files", backlog_rows=None), query(backlog_rows=0.0))
    claim = claims(AWAY, told_by=mixed)[Condition.OBJECTIVES_MET]
    assert "no answer within 20 s" in claim.message


def test_a_suspended_job_misses_no_bound() -> None:
    resting = job(slo={"objective": 0.99, "window": "1d"}, created=MONTH_OLD, suspend=True)
    seen = Observed(measured=replace(FRESH, recent={"availability": 0.0}))
    verdict = lifecycle.next_step(resting, Record(incarnation=1), seen, holder=None, now=NOW)
    found = reporting.conditions_of(resting, verdict, seen, holder=None, now=NOW)
    met = next(claim for claim in found if claim.type is Condition.OBJECTIVES_MET)
    assert met.status is Status.TRUE


@pytest.mark.parametrize("told", [NOT_CONFIGURED, AWAY])
def test_a_job_is_ready_without_metrics(told: Unmeasured) -> None:
    assert claims(told)[Condition.READY].status is Status.TRUE


def test_a_gap_is_unknown_and_neither_good_nor_bad() -> None:
    objective = Objective(share=0.99, window=timedelta(days=1))
    half = attained(objective, replace(FRESH, good=700, known=720), MONTH_OLD)
    assert isinstance(half, Attained)
    assert half.share == pytest.approx(700 / 720)
    assert half.unknown == pytest.approx(0.5)


def test_a_young_job_is_judged_by_the_minutes_that_it_has_lived() -> None:
    objective = Objective(share=0.99, window=WEEK)
    account = attained(
        objective, replace(FRESH, good=60, known=60), created=NOW - timedelta(hours=1)
    )
    assert isinstance(account, Attained)
    assert account.unknown == 0
    assert account.budget.left == 1


def test_the_clock_of_the_server_is_not_taken_for_life() -> None:
    objective = Objective(share=0.99, window=WEEK)
    ahead = timedelta(minutes=30)
    told = replace(FRESH, at=NOW + ahead, ahead=ahead, good=60, known=60)
    account = attained(objective, told, created=NOW - timedelta(hours=1))
    assert isinstance(account, Attained)
    assert account.unknown == 0


def test_without_a_known_minute_there_is_no_account() -> None:
    objective = Objective(share=0.99, window=timedelta(days=1))
    assert isinstance(attained(objective, replace(FRESH, good=0, known=0), MONTH_OLD), NoData)
