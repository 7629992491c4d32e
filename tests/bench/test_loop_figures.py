"""What is told of a run, on courses whose answers are known by hand."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.closed_loop import figures, measurements
from bench.closed_loop.courses import Samples, growth, packed, unpacked
from bench.closed_loop.figures import Figures, Profiled, Recovery
from bench.closed_loop.measurements import Away, figures_of
from tests.bench.runs import SCENE, measurement, steady

WHOLE = SCENE.seconds


def test_a_job_that_is_always_in_time_is_never_above_the_bound() -> None:
    assert figures.late_share(steady(), SCENE) == 0


def test_windows_whose_rows_are_late_are_above_the_bound() -> None:
    assert figures.late_share(steady(late=[(600, 720)]), SCENE) == pytest.approx(120 / WHOLE)


def test_a_job_that_commits_nothing_is_above_the_bound_when_its_last_commit_is_older_than_that() -> (
    None
):
    # Silent for a minute: the first window of it still ends within 15 s of the last commit.
    assert figures.late_share(steady(silent=[(100, 160)]), SCENE) == pytest.approx(50 / WHOLE)


def test_what_happens_before_and_after_the_load_does_not_count() -> None:
    assert figures.late_share(steady(late=[(-60, 0), (WHOLE, WHOLE + 60)]), SCENE) == 0


def test_a_few_late_rows_are_within_the_share_that_may_be_late() -> None:
    course = steady()
    (driver,) = course.drivers
    within = tuple(0.96 * (count or 0.0) for count in driver.timed)
    assert (
        figures.late_share(replace(course, drivers=(replace(driver, within=within),)), SCENE) == 0
    )
    within = tuple(0.94 * (count or 0.0) for count in driver.timed)
    late = figures.late_share(replace(course, drivers=(replace(driver, within=within),)), SCENE)
    assert late == 1


def test_counters_of_the_next_driver_begin_at_zero_and_nothing_is_counted_twice() -> None:
    course = steady()
    (driver,) = course.drivers
    half = len(driver.rows) // 2

    def cut(samples: Samples, first: bool) -> Samples:
        gone: Samples = (None,) * half
        begun = samples[half - 1] or 0.0
        rest = tuple((value or 0.0) - begun for value in samples[half:])
        return (*samples[:half], *(None,) * len(rest)) if first else (*gone, *rest)

    counters = ("rows", "timed", "within", "batches", "seconds")
    drivers = tuple(
        replace(driver, **{name: cut(getattr(driver, name), first) for name in counters})
        for first in (True, False)
    )
    both = replace(course, drivers=drivers)
    assert both.grown("rows") == pytest.approx(course.grown("rows"))
    assert figures.late_share(both, SCENE) == 0


def test_growth_over_a_gap_is_counted_at_its_end() -> None:
    assert growth((5.0, None, None, 8.0, 8.0)) == (5.0, 0.0, 0.0, 3.0, 0.0)


def test_a_recovery_ends_when_no_more_rows_wait_than_usual() -> None:
    course = steady(waiting=lambda at: 20_000.0 if 1000 < at <= 1100 else 0.0)
    assert figures.recovery_seconds(course, SCENE, 1000) == 105


def test_a_recovery_needs_a_commit_however_few_rows_are_told_to_wait() -> None:
    assert figures.recovery_seconds(steady(silent=[(1000, 1080)]), SCENE, 1000) == 85


def test_a_recovery_is_not_over_while_rows_are_late() -> None:
    assert figures.recovery_seconds(steady(late=[(1000, 1050)]), SCENE, 1000) == 55


def test_a_moment_of_calm_is_no_recovery() -> None:
    course = steady(late=[(1000, 1020), (1025, 1060)])
    assert figures.recovery_seconds(course, SCENE, 1000) == 65


def test_as_many_rows_as_waited_before_are_usual() -> None:
    assert figures.recovery_seconds(steady(waiting=lambda _: 20_000.0), SCENE, 1000) == 5


def test_rows_that_come_and_go_with_batches_are_usual_at_their_highest() -> None:
    def waiting(at: float) -> float:
        return 30_000.0 if 1300 < at <= 1350 else 1_000.0 * (at // 5 % 4)

    assert figures.recovery_seconds(steady(waiting=waiting), SCENE, 1300) == 55


def test_a_recovery_whose_end_is_not_seen_has_no_length() -> None:
    course = steady(waiting=lambda at: 20_000.0 if at > 1000 else 0.0)
    assert figures.recovery_seconds(course, SCENE, 1000) is None
    assert not Recovery(fault="driver killed", at=1000, seconds=None).keeps(SCENE.target)


def test_nothing_lasts_longer_for_being_seen_late() -> None:
    course = steady(silent=[(100, 160), (1000, 1080)])
    (driver,) = course.drivers
    earlier = tuple(commit - 4 if commit is not None else None for commit in driver.committed)
    seen_late = replace(course, drivers=(replace(driver, committed=earlier),)).in_time
    assert figures.recovery_seconds(seen_late, SCENE, 1000) == 85 - 4
    assert figures.late_share(seen_late, SCENE) == figures.late_share(course, SCENE)
    assert seen_late.in_time == seen_late


def test_executor_hours_are_those_of_running_pods_under_load_and_of_the_profile() -> None:
    profile = Profiled(points=(), overhead=0.0, executor_seconds=1800.0)
    found = figures_of(measurement("sluice", profile=profile), SCENE)
    assert found.executor_hours == pytest.approx(6 * WHOLE / 3600 + 0.5)
    assert found.profile_hours == 0.5


def test_pods_count_as_long_as_nobody_tells_otherwise() -> None:
    course = steady()
    gaps = tuple(None if place % 2 else 6.0 for place in range(len(course.running)))
    assert figures.executor_hours(replace(course, running=gaps), SCENE) == pytest.approx(4.0)


def test_each_change_of_the_wanted_executors_under_load_is_a_rescale() -> None:
    course = steady()

    def wanted(moment: float) -> float:
        return 6.0 if moment < -20 else 5.0 if moment < 300 else 3.0 if moment < 900 else 4.0

    changed = replace(course, wanted=tuple(map(wanted, course.times)))
    assert figures.rescales(changed, SCENE) == 2
    found = figures_of(measurement(course=changed, restarts=1), SCENE)
    assert (found.live, found.restarts) == (1, 1)


def test_the_error_of_a_prediction_is_a_share_of_what_was_measured() -> None:
    assert Recovery(fault="x", at=0, seconds=100, predicted=80).error == pytest.approx(-0.2)
    assert Recovery(fault="x", at=0, seconds=100).error is None
    assert Recovery(fault="x", at=0, seconds=None, predicted=80).error is None


def test_several_runs_as_one_are_their_means_and_the_middle_of_their_recoveries() -> None:
    def run(late: float, seconds: float | None) -> Figures:
        recovery = Recovery(fault="driver killed", at=1, seconds=seconds, predicted=10)
        return Figures(
            late=late,
            recoveries=(recovery,),
            executor_hours=4,
            profile_hours=0,
            live=1,
            restarts=0,
        )

    found = figures.together([run(0.1, 50), run(0.2, 70), run(0.3, None)])
    assert found.late == pytest.approx(0.2)
    assert found.recoveries[0].seconds == 60
    assert figures.together([run(0, 50), run(0, None)]).recoveries[0].seconds is None


def test_the_status_tells_of_the_drivers_loss_that_was_near_the_failure() -> None:
    aways = (
        Away(cause="Rescale", began=1381.0, first_batch=30.0, caught_up=40.0),
        Away(cause="DriverLoss", began=1382.0, first_batch=60.0, caught_up=90.0),
    )
    run = measurement(aways=aways)
    killed = next(one for one in run.struck if one.fault == "driver killed")
    assert run.away(killed) == aways[1]
    assert run.away(run.struck[0]) is None


samples = st.lists(
    st.none() | st.floats(min_value=0, max_value=1e6).map(lambda value: round(value, 3))
)


@given(samples)
def test_packed_samples_are_read_as_they_were(values: list[float | None]) -> None:
    assert unpacked(packed(tuple(values))) == tuple(values)


def test_samples_that_begin_with_a_repetition_are_refused() -> None:
    with pytest.raises(ValueError, match="there is none"):
        unpacked("= 5")


def test_a_measurement_is_read_as_it_was_written() -> None:
    profile = Profiled(points=((1, 110.5), (6, 600.0)), overhead=0.4, executor_seconds=1500.0)
    run = measurement("sluice", profile=profile, saturated=30.5, aim=24.0)
    assert measurements.from_data(measurements.to_data(run)) == run
