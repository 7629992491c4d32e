"""Marks: from the status and the decisions as long as they keep them, and from the operator's counters before."""

from datetime import timedelta
from typing import Any

import pytest

from sluice.console.job import Job
from sluice.console.reporting.happenings import Profile, Recovery
from tests.console.reporting.scenes import (
    AWAY,
    HOUR,
    TARGET,
    Numbers,
    body,
    decisions,
    kept,
    labelled,
    minute,
    past,
    slices,
    told,
)
from tests.support.jobs import NOW

STEP = timedelta(seconds=15)


def test_what_the_status_keeps_is_told_to_the_second() -> None:
    found = told().recoveries
    assert found.missing == 0
    assert [one.cause for one in found.found] == ["DriverLoss", "DriverLoss", "Rescale"]
    first = found.found[0]
    assert (first.began, first.seconds, first.downtime) == (minute(22), 48.2, 24.0)
    assert first.is_drill
    assert first.exact


def of_status(count: int, *kept: int) -> Any:
    """A job with so many recoveries, of which these of the hour are kept."""
    return past(body(recoveries={"count": count, "past": [AWAY[one].told for one in kept]}))


def lasting(cause: str, drill: str, numbers: Numbers) -> Any:
    return labelled(numbers, slices(), cause=cause, drill=drill)


def test_what_it_has_forgotten_is_told_by_the_counter() -> None:
    last = lasting("NodeLoss", "no", lambda at: 70.0 if 22.9 < at < 39 else None)
    last += lasting("DriverLoss", "yes", lambda at: 112.7 if at >= 40 else None)
    found = told(of_status(3, 1, 2), lasting=last).recoveries.found
    assert [one.cause for one in found] == ["NodeLoss", "DriverLoss", "Rescale"]
    older = found[0]
    assert not older.exact
    assert older.seconds == 70
    end = minute(22) + timedelta(seconds=48.2)
    assert end <= older.end(NOW) <= end + STEP


def test_of_several_at_once_the_last_is_told_and_the_others_are_counted() -> None:
    counter = {"recoveries": lambda at: 7.0 if at > 30 else 4.0}
    last = lasting("DriverLoss", "no", lambda at: 30.0 if at > 30 else 99.0)
    found = told(of_status(9, 1, 2), lasting=last, **counter).recoveries
    assert [one.exact for one in found.found] == [False, True, True]
    assert found.found[0].seconds == 30
    assert found.missing == 2


def test_one_that_ended_together_with_a_kept_one_is_not_told_as_another_of_that() -> None:
    counter = {"recoveries": lambda at: 9.0 if at > 52 else 7.0}
    last = lasting("Rescale", "no", lambda _: 31.4)
    found = told(of_status(9, 2), lasting=last, **counter).recoveries
    assert [one.exact for one in found.found] == [True]
    assert found.missing == 1


def test_what_ended_before_the_first_moment_is_no_part_of_it() -> None:
    before = {**AWAY[0].told, "began": minute(-5).isoformat()}
    status = {"count": 1, "past": [before]}
    flat = {"recoveries": lambda _: 1.0}
    assert told(past(body(recoveries=status)), **flat).recoveries.found == ()
    into = {**before, "caughtUp": 301.0}
    assert (
        len(told(past(body(recoveries={**status, "past": [into]})), **flat).recoveries.found) == 1
    )


def test_one_under_way_lasts_until_now_and_has_missed_its_target_when_it_lasts_longer() -> None:
    began = NOW - timedelta(seconds=60)
    status = {"count": 0, "present": {"cause": "NodeLoss", "began": began.isoformat()}}
    (found,) = told(past(body(recoveries=status)), recoveries=lambda _: 0.0).recoveries.found
    assert found.end(NOW) == NOW
    assert found.is_within(TARGET, NOW) is None
    assert found.is_within(50.0, NOW) is False


def test_one_that_never_caught_up_is_not_under_way() -> None:
    began = NOW - timedelta(minutes=30)
    one = {"cause": "DriverLoss", "began": began.isoformat(), "firstBatch": 20.0}
    status = {"count": 1, "past": [one]}
    (found,) = told(past(body(recoveries=status)), recoveries=lambda _: 1.0).recoveries.found
    assert not found.goes_on
    assert found.end(NOW) == began + timedelta(seconds=20)
    assert found.is_within(50.0, NOW) is None
    assert found.is_within(10.0, NOW) is False


@pytest.mark.parametrize(
    ("cause", "seconds", "target", "verdict"),
    [
        ("DriverLoss", 90.0, 90.0, True),
        ("DriverLoss", 90.1, 90.0, False),
        ("DriverLoss", 90.1, None, None),
        ("Rescale", 500.0, 90.0, None),
        ("PlannedMove", 500.0, 90.0, None),
        ("OfANewerOperator", 500.0, 90.0, False),
    ],
)
def test_a_target_is_for_what_the_operator_did_not_choose(
    cause: str, seconds: float, target: float | None, verdict: bool | None
) -> None:
    one = Recovery(cause=cause, began=NOW - HOUR, seconds=seconds)
    assert one.is_within(target, NOW) is verdict


def test_rescales_are_the_decisions_that_changed_something() -> None:
    found = told().rescales
    assert [(one.at, one.former, one.executors) for one in found] == [
        (minute(12), 4, 6),
        (minute(31), 6, 8),
        (minute(51), 8, 6),
    ]
    assert [one.path for one in found] == ["Live", "Live", "Restart"]


def test_what_the_notebook_has_forgotten_is_told_by_the_counters() -> None:
    counts = labelled(lambda at: float(2 * (at > 4) + (at > 12.2)), slices(), path="Live")
    counts += labelled(lambda at: float(at > 9), slices(), path="Restart")
    found = told(rescales=counts).rescales
    assert [(one.path, one.former) for one in found] == [
        ("Live", None),
        ("Live", None),
        ("Restart", None),
        ("Live", 4),
        ("Live", 6),
        ("Restart", 8),
    ]


def test_a_counter_that_begins_anew_lost_nothing() -> None:
    counts = labelled(lambda at: 5.0 if at < 3 else float(at > 6), slices(), path="Live")
    assert [one.former for one in told(rescales=counts).rescales] == [None, 4, 6, 8]


def test_rescales_before_the_first_moment_are_no_part_of_it() -> None:
    history = past(None, kept(minute(-1), 2, 4), *decisions())
    counts = labelled(lambda at: float(at > 4), slices(), path="Live")
    found = told(history, rescales=counts)
    assert len(found.rescales) == len(found.changes) == 3


def test_profiles_last_as_long_as_their_costs_are_told() -> None:
    costs = labelled(lambda at: at if at < 10 else None, slices(), profile="first")
    costs += labelled(lambda at: at if at >= 50 else None, slices(), profile="second")
    assert told(profiles=costs).profiles == (
        Profile(name="first", began=minute(0), ended=minute(10) - STEP),
        Profile(name="second", began=minute(50), ended=None),
    )


def test_a_job_that_no_operator_has_seen_has_no_marks() -> None:
    fresh = Job({**body(), "status": {}})
    history = past(fresh.resource, kept(minute(59), 6, 6))  # type: ignore[arg-type] # it is plain
    found = told(history, recoveries=[], profiles=[])
    assert (found.recoveries.found, found.rescales, found.profiles) == ((), (), ())
