"""What a successor tells of a job before it knows: what the former operator told, for a time."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from sluice.core import lifecycle, reporting
from sluice.core.application import StreamJob
from sluice.core.chosen import Decided
from sluice.core.conditions import Claim, Condition, Status, settle
from sluice.core.deciding.decision import Decision
from sluice.core.measurement import NOT_YET_ASKED, Measurement, Unmeasured
from sluice.core.observations import Observed, ProfilingOutlook
from sluice.core.record import Record
from sluice.core.steps import Verdict
from sluice.core.succession import LATE, SOON, inherited
from tests.support.jobs import NOW, driver, job, report

AUTO = job(scaling={"mode": "Auto"})
LATER = NOW + timedelta(seconds=60)


def decided(executors: int) -> Decided:
    decision = Decision(wanted=executors, executors=executors, reason="more load")
    return Decided(id="120000", at=NOW, before=2, incarnation=1, decision=decision)


def told(of: StreamJob, known: Decided | None = None, *, at: datetime) -> Decided | None:
    """What is told of decisions by an operator that leads from LATER on; the former one told of four executors."""
    seen = Observed(led_since=LATER, decided=known)
    return inherited(of, Record(decided=decided(4)), seen, at).decided


INTERVAL = timedelta(minutes=1)
DUE = LATER + INTERVAL + LATE
"""When an operator that leads from LATER on should have decided."""


@pytest.mark.parametrize(("at", "holds"), [(LATER, True), (DUE - INTERVAL, True), (DUE, False)])
def test_a_former_decision_holds_until_another_one_should_have_come(
    at: datetime, *, holds: bool
) -> None:
    found = told(AUTO, at=at)
    assert found == (decided(4) if holds else None)


def test_a_decision_of_this_operator_is_newer_than_any_former_one() -> None:
    assert told(AUTO, decided(5), at=NOW) == decided(5)


def test_who_decides_seldom_has_the_longer_to_do_so() -> None:
    seldom = job(scaling={"mode": "Auto", "interval": "10m"})
    assert told(seldom, at=DUE) == decided(4)


@pytest.mark.parametrize(
    "of",
    [
        job(scaling={"mode": "Auto"}, suspend=True),
        job(scaling={"mode": "Auto"}, annotations={"sluice.dev/paused": "true"}),
    ],
    ids=["suspended", "paused"],
)
def test_a_former_decision_holds_as_long_as_no_other_one_is_due(of: StreamJob) -> None:
    assert told(of, at=NOW + timedelta(days=9)) == decided(4)


def test_nothing_that_was_decided_holds_where_scaling_is_off() -> None:
    assert told(job(), at=NOW) is None


def test_a_driver_that_comes_after_the_operator_has_its_time_to_be_heard() -> None:
    started = LATER + timedelta(minutes=30)
    late = Observed(driver=driver(AUTO, started=started), led_since=LATER)
    before = Record(incarnation=1, decided=decided(4))
    for after, holds in ((INTERVAL, True), (INTERVAL + LATE, False)):
        verdict = lifecycle.next_step(AUTO, before, late, holder=None, now=started + after)
        assert (verdict.record.decided is not None) is holds


SLO = {"objective": 0.99, "window": "1d"}
JOB = job(slo=SLO, created=NOW - timedelta(days=40))
AWAY = Unmeasured("PrometheusUnavailable", "no answer within 20 s.")
MEASURED = Measurement(
    at=NOW, scraped=NOW - timedelta(seconds=10), good=1437, known=1440, recent={"latency": 0.2}
)
OVERDUE = NOW + SOON


def running(measured: Measurement | Unmeasured) -> Observed:
    return Observed(driver=driver(JOB), report=report(), measured=measured, led_since=NOW)


def looked(of: StreamJob, record: Record, seen: Observed, now: datetime = NOW) -> Verdict:
    """One look at the job: what is remembered, and what is claimed of it."""
    verdict = lifecycle.next_step(of, record, seen, holder=None, now=now)
    found = reporting.conditions_of(of, verdict, seen, holder=None, now=now)
    settled = settle(found, record.conditions, of.generation, now)
    return replace(verdict, record=replace(verdict.record, conditions=settled))


def former(told: Measurement | Unmeasured = MEASURED, of: StreamJob = JOB) -> Record:
    """What an operator has left behind whom Prometheus told that."""
    return looked(of, Record(incarnation=1, last_batch=7), running(told)).record


def claimed(record: Record, kind: Condition) -> Claim:
    return next(claim for claim in record.conditions if claim.type is kind)


MEASURING = (Condition.METRICS_AVAILABLE, Condition.OBJECTIVES_MET, Condition.SCALING_ACTIVE)


@pytest.mark.parametrize("kind", MEASURING)
@pytest.mark.parametrize("told", [MEASURED, AWAY], ids=["measured", "away"])
def test_what_rests_on_prometheus_holds_until_it_was_asked(
    told: Measurement | Unmeasured, kind: Condition
) -> None:
    of = replace(JOB, scaling=AUTO.scaling)
    before = replace(former(told, of), decided=decided(4))
    before = looked(of, before, running(told)).record
    after = looked(of, before, running(NOT_YET_ASKED), OVERDUE - timedelta(seconds=1)).record
    assert claimed(after, kind) == claimed(before, kind)


def test_what_is_attained_holds_until_prometheus_was_asked() -> None:
    before = former()
    assert before.attained is not None
    after = looked(JOB, before, running(NOT_YET_ASKED)).record
    assert after.attained == before.attained
    unknown = replace(MEASURED, good=None, known=None)
    assert looked(JOB, after, running(unknown)).record.attained != before.attained


def test_what_prometheus_should_have_been_asked_by_now_is_not_known() -> None:
    record = looked(JOB, former(), running(NOT_YET_ASKED), OVERDUE).record
    metrics, met = (claimed(record, kind) for kind in MEASURING[:2])
    assert (metrics.status, metrics.reason) == (Status.UNKNOWN, "NotYetAsked")
    assert (met.status, met.reason) == (Status.UNKNOWN, "NotMeasured")
    assert record.attained is None


def test_of_a_new_job_nothing_is_known_until_prometheus_was_asked() -> None:
    metrics = claimed(former(NOT_YET_ASKED), Condition.METRICS_AVAILABLE)
    assert (metrics.status, metrics.reason) == (Status.UNKNOWN, "NotYetAsked")


def test_what_is_attained_of_another_objective_does_not_hold() -> None:
    changed = replace(JOB, generation=JOB.generation + 1)
    record = looked(changed, former(), running(NOT_YET_ASKED)).record
    assert record.attained is None
    assert claimed(record, Condition.OBJECTIVES_MET).status is Status.UNKNOWN
    assert claimed(record, Condition.METRICS_AVAILABLE).status is Status.TRUE


def test_a_driver_that_is_gone_is_not_told_to_be_scraped_whoever_told_so() -> None:
    gone = replace(running(NOT_YET_ASKED), driver=None, report=None)
    found = claimed(looked(JOB, former(), gone).record, Condition.METRICS_AVAILABLE)
    assert found.status is Status.UNKNOWN


def test_a_job_whose_scaling_was_off_is_not_told_to_be_off_any_more() -> None:
    of = replace(JOB, scaling=AUTO.scaling)
    found = claimed(looked(of, former(), running(NOT_YET_ASKED)).record, Condition.SCALING_ACTIVE)
    assert found.reason == "NotYetDecided"


OUTLOOK = ProfilingOutlook(profile="clicks-auto-1", phase="Succeeded", reason="Measured")


@pytest.mark.parametrize(
    ("of", "at", "expected"),
    [
        (job(profiling={"enabled": True}), NOW, OUTLOOK),
        (job(profiling={"enabled": True}), OVERDUE, None),
        (job(), NOW, None),
    ],
    ids=["soon", "overdue", "disabled"],
)
def test_how_a_job_was_profiled_holds_until_it_should_have_been_looked_at(
    of: StreamJob, at: datetime, expected: ProfilingOutlook | None
) -> None:
    found = inherited(of, Record(profiling=OUTLOOK), Observed(led_since=NOW), at)
    assert found.profiling == expected


def test_what_this_operator_says_of_profiling_is_newer_than_what_any_other_has_said() -> None:
    later = replace(OUTLOOK, reason="ProfileUnderWay")
    seen = Observed(led_since=NOW, profiling=later)
    of = job(profiling={"enabled": True})
    assert inherited(of, Record(profiling=OUTLOOK), seen, NOW).profiling == later
