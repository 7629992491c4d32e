"""When a job is profiled by itself, at which sizes, for what price, and why not."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from sluice.core.application import StreamJob
from sluice.core.changes import Change, ChangeClass
from sluice.core.conditions import Claim, Condition, fails, holds
from sluice.core.profiling import budget, wanting
from sluice.core.profiling.needing import DRIFTS_AFTER
from sluice.core.profiling.records import Point, Problem, Reason
from sluice.core.profiling.usage import DAY, Usage
from sluice.core.profiling.wanting import (
    Former,
    Ledger,
    NotNow,
    Production,
    WantProfile,
    wanted_profile,
)
from sluice.core.proving import Proving, Rollback
from sluice.core.record import Record
from sluice.core.recoveries import Cause, Recoveries, Recovery
from tests.support.jobs import NOW, application, job

LONG_AGO = NOW - timedelta(hours=5)
PLENTY = 1e6


def profiled(**profiling: Any) -> StreamJob:
    """A job of one to four executors that is to be profiled by itself."""
    return job(executors={"min": 1, "max": 4}, profiling={"enabled": True, **profiling})


def record(*claims: Claim, since: datetime = LONG_AGO, **changes: Any) -> Record:
    """The record of a job that is ready."""
    ready = replace(holds(Condition.READY, "Running", "It runs."), since=since)
    return Record(incarnation=1, conditions=(*claims, ready), **changes)


def production(**changes: Any) -> Production:
    """A job that does well on the one executor that it is to have."""
    return replace(Production(record=record(), running=1, core_seconds=PLENTY), **changes)


def point(executors: int, rate: float, *, age: timedelta = timedelta(0)) -> Point:
    """A measurement with a standard error of one percent."""
    return Point(
        executors=executors, rate=rate, error=0.01 * rate, batches=8, overhead=0.3, at=NOW - age
    )


def known(*points: Point) -> Ledger:
    """An account with a model."""
    return Ledger(points=points, has_model=True)


LINEAR = (point(1, 1000.0), point(4, 4000.0))


def decided(
    of: StreamJob | None = None,
    seen: Production | None = None,
    ledger: Ledger | None = None,
    now: datetime = NOW,
) -> WantProfile | NotNow:
    """What is decided of a job that does well, and of which nothing is known."""
    return wanted_profile(of or profiled(), seen or production(), ledger or Ledger(), now)


def wanted(*arguments: Any, **named: Any) -> WantProfile:
    """The profile that is wanted."""
    found = decided(*arguments, **named)
    assert isinstance(found, WantProfile), found
    return found


def held(*arguments: Any, **named: Any) -> NotNow:
    """Why none is wanted."""
    found = decided(*arguments, **named)
    assert isinstance(found, NotNow), found
    return found


def test_a_job_of_which_nothing_is_known_is_profiled_as_a_profile_sees_fit() -> None:
    found = wanted()
    assert found.executors == ()
    assert found.plan.copies == 4
    assert "nothing was measured" in found.why


def test_declared_executors_are_measured_and_no_others() -> None:
    assert wanted(profiled(executors=[3, 2])).executors == (3, 2)
    assert wanted(profiled(executors=[3, 2]), ledger=known(point(3, 3000.0))).executors == (2,)
    done = held(profiled(executors=[3, 2]), ledger=known(point(3, 3000.0), point(2, 2000.0)))
    assert done.reason == "Measured"


def test_what_the_models_leave_open_is_measured_next() -> None:
    bent = known(point(1, 1000.0), point(4, 1500.0))
    (one,) = wanted(ledger=bent).executors
    assert 1 < one < 4
    assert "open" in wanted(ledger=bent).why


@pytest.mark.parametrize("taken", [1, 2])
def test_of_waves_the_fewest_executors_are_measured(taken: int) -> None:
    of = job(
        executors={"min": 1, "max": 12, "cores": taken},
        application=application(sparkConf={"spark.task.cpus": str(taken)}),
        profiling={"enabled": True, "budget": {"coreHours": 10}},
    )
    found = wanted(of, production(tasks=12), Ledger(points=(point(2, 1.0, age=31 * DAY),)))
    # 8 executors need two waves for 12 tasks, as 6 do; 4 need three.
    assert found.executors == (1, 12, 4, 6)


def test_of_what_only_a_bound_can_be_measured_is_not_measured_again_until_it_is_too_old() -> None:
    bounds = tuple(replace(point(one, 1000.0 * one), is_upper_bound=True) for one in (1, 4, 2, 3))
    ledger = Ledger(bounds=bounds, has_model=True)
    found = held(ledger=ledger)
    assert (found.reason, found.until) == ("Measured", NOW + 30 * DAY)
    assert "Mere bounds" in found.message
    assert held(profiled(executors=[1, 2]), ledger=ledger).reason == "Measured"
    assert wanted(profiled(executors=[1, 2]), ledger=replace(ledger, bounds=bounds[:1])).executors
    later = NOW + 30 * DAY
    assert "older than 30d" in wanted(ledger=ledger, now=later).why


def test_what_is_known_is_not_measured_again_before_it_is_too_old() -> None:
    sure = known(*(point(one, 1000.0 * one) for one in (1, 2, 3, 4)))
    found = held(ledger=sure)
    assert found.reason == "Measured"
    assert found.until == NOW + 30 * DAY
    later = NOW + 30 * DAY
    again = wanted(ledger=sure, now=later, seen=production(record=record(since=NOW)))
    assert again.executors[:2] == (1, 4)
    assert "older than" in again.why


def test_a_measurement_that_production_contradicts_is_made_again() -> None:
    old = [point(one, 1000.0 * one, age=2 * DAY) for one in (1, 2, 3, 4)]
    drifted = production(capacity=[(2, 2000.0), *[(2, rate) for rate in (1480, 1500, 1510, 1520)]])
    found = wanted(seen=drifted, ledger=known(*old))
    assert (
        "production processes 1505 rows/s with 2 executors, where 2000 were measured" in found.why
    )
    assert found.executors[:2] == (1, 4)


@pytest.mark.parametrize(
    ("age", "rates"),
    [
        pytest.param(2 * DAY, (1700, 1710, 1690, 1700), id="by less than a fifth"),
        pytest.param(2 * DAY, (200, 2600, 300, 2900), id="by less than its own error"),
        pytest.param(2 * DAY, (1500, 1500, 1500), id="by too few observations"),
        pytest.param(DRIFTS_AFTER / 2, (1500, 1500, 1510, 1520), id="of the same day"),
        pytest.param(2 * DAY, (2000,) * 6, id="by itself alone"),
    ],
)
def test_a_difference_is_no_drift(age: timedelta, rates: Sequence[float]) -> None:
    old = [point(one, 1000.0 * one, age=age) for one in (1, 2, 3, 4)]
    learned = production(capacity=[(2, float(rate)) for rate in rates])
    assert held(seen=learned, ledger=known(*old)).reason == "Measured"


def test_a_difference_of_the_same_day_takes_no_older_measurements_with_it() -> None:
    mixed = [point(2, 2000.0), *(point(one, 1000.0 * one, age=2 * DAY) for one in (1, 3, 4))]
    learned = production(capacity=[(2, float(rate)) for rate in (1480, 1500, 1510, 1520)])
    assert held(seen=learned, ledger=known(*mixed)).reason == "Measured"


def test_a_drift_that_was_measured_again_is_not_found_again_on_the_same_day() -> None:
    old = [point(one, 1000.0 * one, age=2 * DAY) for one in (2, 3)]
    anew = [point(one, 1000.0 * one) for one in (1, 2, 3, 4)]
    drifted = production(capacity=[(2, float(rate)) for rate in (1480, 1500, 1510, 1520)])
    assert isinstance(decided(seen=drifted, ledger=known(*old)), WantProfile)
    assert held(seen=drifted, ledger=known(*anew)).reason == "Measured"


BACK = Recovery(cause=Cause.DRIVER_LOSS, incarnation=2, began=NOW, detected=NOW)


@pytest.mark.parametrize(
    ("reason", "changes"),
    [
        ("Rescaling", {"running": 2}),
        ("Rescaling", {"grows": True}),
        ("NoRoom", {"without_room": "shop/views"}),
        ("NotReady", {"record": Record()}),
        ("Settling", {"record": record(since=NOW - timedelta(minutes=9))}),
        ("Recovering", {"record": record(recoveries=Recoveries(present=BACK))}),
        ("Changing", {"record": record(change=Change(kind=ChangeClass.RESTART))}),
        ("Changing", {"record": record(stopping="a changed spec")}),
        (
            "ObjectiveMissed",
            {"record": record(fails(Condition.OBJECTIVES_MET, "BudgetSpent", "95% of 99%."))},
        ),
    ],
)
def test_production_is_not_disturbed(reason: str, changes: dict[str, Any]) -> None:
    assert held(seen=production(**changes)).reason == reason


def test_a_spec_that_was_rolled_back_is_not_profiled_until_another_one_is_declared() -> None:
    given_up = Rollback(generation=1, why="no room", fingerprint=profiled().fingerprint)
    seen = production(record=record(proving=Proving(rollback=given_up)))
    assert held(seen=seen).reason == "RolledBack"
    assert held(replace(profiled(), generation=2), seen).reason == "RolledBack"
    other = replace(profiled(), generation=2, fingerprint="another")
    assert isinstance(decided(other, seen), WantProfile)


def test_a_job_that_is_not_to_run_is_not_profiled() -> None:
    assert held(replace(profiled(), suspend=True)).reason == "Suspended"
    assert held(replace(profiled(), paused_by="the annotation")).reason == "Paused"


def test_a_blackout_keeps_copies_away() -> None:
    window = {"start": "11:00", "end": "13:00"}
    scaling = {"mode": "Auto", "blackouts": [window]}
    of = job(executors={"min": 1, "max": 4}, profiling={"enabled": True}, scaling=scaling)
    assert held(of).reason == "Blackout"
    assert isinstance(decided(of, now=NOW + timedelta(hours=1)), WantProfile)


def test_one_profile_of_a_job_runs_at_a_time() -> None:
    found = held(ledger=Ledger(under_way="clicks-1"))
    assert found.reason == "ProfileUnderWay"
    assert "clicks-1" in found.message


def test_what_cannot_be_copied_is_told_instead_of_tried() -> None:
    found = held(ledger=Ledger(obstacle=Problem(Reason.NOT_REPLAYABLE, "no source")))
    assert (found.reason, found.message) == ("NotReplayable", "no source.")


def test_few_jobs_are_profiled_by_themselves_at_a_time() -> None:
    assert isinstance(decided(ledger=Ledger(crowd=wanting.AT_A_TIME - 1)), WantProfile)
    assert held(ledger=Ledger(crowd=wanting.AT_A_TIME)).reason == "OthersFirst"


def test_after_failures_the_pauses_double_up_to_a_day() -> None:
    minutes = [wanting.pause_after(count).total_seconds() / 60 for count in (1, 2, 3, 4, 40)]
    assert minutes == [30, 60, 120, 240, 1440]


def test_a_failure_is_followed_by_a_pause_that_is_told() -> None:
    why = "NoCapacity: 1 of 4 executors came"
    former = Former(name="clicks-auto-2", ended=NOW, failures=2, why=why)
    found = held(ledger=Ledger(former=former))
    assert (found.reason, found.until) == ("BackingOff", NOW + timedelta(hours=1))
    assert "clicks-auto-2" in found.message
    assert found.message.endswith(f"UTC. {why}")
    again = wanted(ledger=Ledger(former=former), now=NOW + timedelta(hours=1))
    assert again.failures == 2


def test_a_profile_takes_what_its_budget_pays() -> None:
    # A copy with one executor takes 1.5 cores for 150 s, one with four takes 4.5.
    found = wanted(profiled(budget={"coreHours": 0.25}))
    assert found.executors == (1, 2)
    assert found.core_seconds == 900
    assert found.plan.core_seconds == 150 * (1.5 + 2.5)


def test_a_budget_that_pays_no_copy_is_told_with_the_price() -> None:
    found = held(profiled(budget={"coreHours": 0.05}))
    assert found.reason == "BudgetTooSmall"
    assert "spec.profiling.budget.coreHours: 0.05" in found.message
    assert "a copy with 1 executor may take" in found.message
    assert "0.094 core-hours" in found.message


def test_the_first_model_may_take_more_than_the_share() -> None:
    poor = production(core_seconds=0.0)
    assert isinstance(decided(seen=poor), WantProfile)
    found = held(seen=poor, ledger=Ledger(has_model=True))
    assert found.reason == "ShareSpent"
    assert "spec.profiling.maxShare: 0.05" in found.message


def test_what_was_spent_counts_against_the_share() -> None:
    seen = production(core_seconds=36_000.0)
    assert wanted(seen=seen, ledger=Ledger(has_model=True)).core_seconds == 1800
    assert wanted(seen=seen, ledger=Ledger(has_model=True, spent=1000)).core_seconds == 800
    assert held(seen=seen, ledger=Ledger(has_model=True, spent=1700)).reason == "ShareSpent"


def test_a_usage_never_says_more_than_was_taken() -> None:
    usage = Usage()
    for minute in range(0, 61, 5):
        usage = usage.with_cores(2.0 if minute < 30 else 4.0, NOW + timedelta(minutes=minute))
    after = NOW + timedelta(hours=1)
    assert usage.core_seconds(after, since=None, least=1.0) == 1800 * 2 + 1800 * 4
    started = NOW - timedelta(hours=2)
    assert usage.core_seconds(after, since=started, least=1.0) == 10_800 + 7200
    assert usage.core_seconds(after + 2 * DAY, since=None, least=1.0) == 0
    gap = usage.with_cores(0.0, after + timedelta(hours=1))
    assert gap.core_seconds(after + timedelta(hours=1), since=None, least=0.0) == 10_800


class Days:
    """A job of three cores whose image changes every hour, for days; each profile takes all that it may."""

    def __init__(self) -> None:
        self.of = profiled()
        self.usage = Usage()
        self.now = NOW
        self.costs: list[tuple[datetime, float]] = []
        self.taken: list[tuple[datetime, float]] = []

    @property
    def since_first(self) -> list[tuple[datetime, float]]:
        """What profiles cost after the first, and when."""
        return self.costs[1:]

    def minute(self) -> None:
        """One look."""
        self.now += timedelta(minutes=1)
        cores = budget.cores(self.of, 1)
        self.taken.append((self.now, 60 * cores))
        self.usage = self.usage.with_cores(cores, self.now)
        seen = production(core_seconds=self.usage.core_seconds(self.now, since=NOW, least=cores))
        spent = sum(cost for at, cost in self.costs if at > self.now - DAY)
        found = decided(self.of, seen, Ledger(has_model=bool(self.costs), spent=spent), self.now)
        if isinstance(found, WantProfile):
            self.costs.append((self.now, found.core_seconds))


def test_after_the_first_model_a_days_profiles_take_five_percent_of_a_days_cores_at_most() -> None:
    days = Days()
    for _ in range(3 * 1440):
        days.minute()
        of_day = sum(cost for at, cost in days.since_first if at > days.now - DAY)
        used = sum(taken for at, taken in days.taken if at > days.now - DAY)
        assert of_day <= 0.05 * used
    assert len(days.since_first) >= 2
