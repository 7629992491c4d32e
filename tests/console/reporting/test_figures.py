"""The numbers of a report's head."""

from datetime import timedelta
from typing import Any

from sluice.console.reporting.course import Course
from sluice.console.reporting.figures import Figure, figures
from tests.console.reporting.scenes import AWAY, body, past, told
from tests.support.jobs import NOW


def figure(name: str, course: Course) -> Figure:
    return next(one for one in figures(course) if one.name.startswith(name))


def without(*path: str) -> Any:
    """The job without a part of its spec or status."""
    job: Any = body()
    *places, last = path
    part = job
    for place in places:
        part = part[place]
    del part[last]
    return past(job)


def test_attainment_is_that_of_the_time_and_the_budget_that_of_the_window() -> None:
    assert figure("Attainment", told()) == Figure("Attainment", "96.7 %", ("objective 99 %",))
    assert figure("Error budget", told()) == Figure("Error budget left", "34 %", ("of 28d",))


def test_it_is_said_how_many_minutes_are_unknown() -> None:
    counted = told(counted=lambda _: 45.0)
    assert figure("Attainment", counted).details == ("objective 99 %", "25 % of the time unknown")


def test_what_is_not_measured_is_not_zero() -> None:
    unknown = told(without("status", "slo"), good=[], counted=[], running=[])
    for name in ("Attainment", "Error budget", "Executor-hours"):
        assert figure(name, unknown).value == "-"


def test_executor_hours_are_those_of_the_time_that_is_known() -> None:
    assert figure("Executor-hours", told(running=lambda _: 600.0)).value == "600.0"
    half = figure("Executor-hours", told(running=lambda at: 6.0 if at < 30 else None))
    assert half == Figure(
        "Executor-hours", "3.0", ("6.0 running on average", "50 % of the time unknown")
    )


def test_recoveries_are_counted_against_the_target_without_restarts_by_choice() -> None:
    found = figure("Recoveries", told())
    assert found == Figure("Recoveries within target", "1 of 2", ("target 90s",))


def test_one_that_may_still_keep_its_target_counts_for_nothing_yet() -> None:
    began = (NOW - timedelta(seconds=30)).isoformat()
    status = {"count": 0, "present": {"cause": "DriverLoss", "began": began}}
    found = figure("Recoveries", told(past(body(recoveries=status)), recoveries=lambda _: 0.0))
    assert (found.value, found.details) == ("0 of 0", ("target 90s", "1 under way"))


def test_without_failures_it_is_said_that_there_was_none() -> None:
    status = {"count": 1, "past": [AWAY[2].told]}
    calm = told(past(body(recoveries=status)), recoveries=lambda _: 1.0)
    assert figure("Recoveries", calm).value == "no failure"


def test_without_a_target_recoveries_are_only_counted() -> None:
    found = figure("Recoveries", told(without("spec", "recovery")))
    assert found == Figure("Recoveries", "2", ("no target is declared",))


def test_without_an_objective_none_is_attained() -> None:
    found = told(without("spec", "slo"))
    assert figure("Attainment", found) == Figure("Attainment", "-", ("no objective is declared",))
    assert figure("Error budget", found).details == ()


def test_rescales_are_told_by_their_way() -> None:
    assert figure("Rescales", told()) == Figure("Rescales", "3", ("2 live, 1 by restart",))
