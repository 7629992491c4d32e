"""The lab beside the cluster: a plant from what was measured, and the same run on it."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from bench.closed_loop import calibrating, fitting, simulating, usage
from bench.closed_loop.courses import DriverCourse, Samples
from bench.closed_loop.figures import Figures, Profiled, Struck
from bench.closed_loop.measurements import Cpu, Measurement
from bench.closed_loop.scene import FETCH_WAIT, Scene
from bench.closed_loop.simulating import Entry
from sluice.core.autoscaling import pause_of
from sluice.core.deciding.situation import Bounds
from sluice.core.series import NoData
from sluice.core.simulation.plant import Plant
from tests.bench.runs import CALM, SCENE, from_the_lab, measurement, steady

SHORT = Scene(minutes=11, history=30_000)
"""Its executor is lost while a batch runs, and not between two."""


@pytest.fixture(scope="module")
def measured() -> list[Measurement]:
    """What would have been seen of a plant that is known: on all executors, and on two, which have a backlog."""
    few = replace(SHORT, largest=2)
    small = replace(CALM, bounds=Bounds(smallest=1, largest=2))
    return [
        from_the_lab(SHORT, CALM, "static"),
        replace(from_the_lab(few, small, "static"), struck=()),
    ]


@pytest.fixture(scope="module")
def plant(measured: list[Measurement]) -> Plant:
    found = calibrating.calibrated(SHORT, measured, fetch_wait=0.0)
    assert not isinstance(found, NoData)
    return found


@pytest.mark.parametrize("executors", range(1, 7))
def test_calibration_finds_the_capacity_of_the_plant_that_was_measured(
    plant: Plant, executors: int
) -> None:
    assert plant.capacity(executors) == pytest.approx(CALM.capacity(executors), rel=0.05)


def test_calibration_finds_how_long_batches_starts_and_outages_take(plant: Plant) -> None:
    assert plant.overhead == pytest.approx(CALM.overhead, abs=0.05)
    starting = plant.pending + plant.start
    assert starting == pytest.approx(CALM.pending + CALM.start, abs=5)
    assert starting + plant.cold == pytest.approx(CALM.start + CALM.cold, abs=3)
    assert plant.driver_loss == pytest.approx(CALM.driver_loss, rel=0.1)


def test_what_tasks_wait_for_rows_of_quiet_partitions_is_no_overhead_and_no_work() -> None:
    quiet = replace(CALM, fetch_wait=FETCH_WAIT)
    found = calibrating.calibrated(SCENE, [from_the_lab(SCENE, quiet, "static")])
    assert not isinstance(found, NoData)
    assert found.overhead == pytest.approx(quiet.overhead, abs=0.1)
    assert found.capacity(6) == pytest.approx(quiet.capacity(6), rel=0.02)


def test_an_executors_loss_is_what_a_batch_that_it_hit_took_longer() -> None:
    # At 400 rows/s six executors need 0.4 s and 800 / 600 s for a batch; the next commit came after 25 s, not 1 s.
    hit = measurement(course=steady(silent=[(600, 620)]))
    found = calibrating.calibrated(SCENE, [hit], fetch_wait=0.0)
    assert not isinstance(found, NoData)
    assert found.executor_loss == pytest.approx(25 * 5 / 6 - (0.4 + 800 / 600) / 2, abs=0.2)


def test_a_batch_that_was_all_but_done_when_the_failure_came_does_not_end_the_outage() -> None:
    # Without it the outage lasts from 2100 to 2145; the last commit before it came a moment after the failure.
    course = steady(silent=[(2100, 2140)])
    (driver,) = course.drivers
    committed = tuple(
        2100.2 if at is not None and 2100 <= at < 2145 else at for at in driver.committed
    )
    cut, done = (
        calibrating.calibrated(SCENE, [measurement(course=one)], fetch_wait=0.0)
        for one in (course, replace(course, drivers=(replace(driver, committed=committed),)))
    )
    assert not isinstance(cut, NoData)
    assert not isinstance(done, NoData)
    assert done.cold == pytest.approx(cut.cold, abs=0.5)
    assert done.cold > 10


def test_a_calibrated_plant_says_what_the_measured_one_did(
    measured: list[Measurement], plant: Plant
) -> None:
    static = measured[0]
    entry = Entry(contender="static", struck=static.struck)
    certain = replace(plant, spread=0.0, noise=0.0)
    real, lab = (simulating.predicted(SHORT, one, entry, seeds=[1]) for one in (CALM, certain))
    assert lab.executor_hours == pytest.approx(real.executor_hours, rel=0.05)
    assert lab.late == pytest.approx(real.late, abs=0.02)
    for one, other in zip(lab.recoveries, real.recoveries, strict=True):
        assert one.seconds == pytest.approx(other.seconds, abs=10)


def test_batches_of_executors_that_have_just_changed_say_nothing() -> None:
    course = steady(Scene(minutes=10))
    (driver,) = course.drivers
    place = len(driver.registered) // 2
    changed: Samples = (*driver.registered[:place], *(5.0,) * (len(driver.registered) - place))
    told = list(fitting.windows(replace(course, drivers=(replace(driver, registered=changed),))))
    assert {one.executors for one in told} == {5, 6}
    assert len(told) < len(list(fitting.windows(course)))


def _window(
    rows: float, seconds: float, *, batches: float = 10, executors: int = 6
) -> fitting.Window:
    return fitting.Window(
        executors=executors, batches=batches, rows=rows, seconds=seconds, arrived=rows, left=3000
    )


@pytest.mark.parametrize("executors", range(2, 13))
def test_of_one_number_of_executors_a_capacity_is_told_and_no_contention(executors: int) -> None:
    # Their work and what they hinder each other are told apart by rounding alone, and that takes one or the other.
    told = [
        _window(rows, seconds, batches=batches, executors=executors)
        for batches, rows, seconds in (
            (6, 18_000, 28.9),
            (6, 18_000, 29.914),
            (8, 6_811, 14.89),
            (14, 10_297, 23.196),
        )
    ]
    found = fitting.with_pace(CALM, told)
    assert not isinstance(found, NoData)
    assert found.contention == 0
    assert found.capacity(executors) == pytest.approx(
        18_000 / (29.4 - 6 * found.overhead), rel=0.05
    )


def test_batches_that_are_hardly_longer_than_the_shortest_say_nothing_of_the_rows() -> None:
    # To make its tasks ready takes a second, whatever the rows: 1 + 0.0005 x rows, but 0.5 + 0.002 x rows from 1 s on.
    few = [_window(10 * rows, 10 * (1 + 0.0005 * rows)) for rows in (100, 150, 200, 250, 300)]
    many = [_window(10 * rows, 10 * (0.5 + 0.002 * rows)) for rows in (800, 1200, 2000, 3000)]
    found = fitting.with_pace(CALM, few * 10 + many)
    assert not isinstance(found, NoData)
    assert found.capacity(6) == pytest.approx(500, rel=0.02)
    assert found.overhead == pytest.approx(0.5, abs=0.02)


def test_calibration_finds_how_slow_new_executors_are_and_what_one_among_others_costs() -> None:
    slow = replace(
        CALM, contention=0.0, cold=15.0, crowding=0.8, slowness=0.5, warming=40.0, executor_loss=2.0
    )
    scene = replace(SHORT, history=90_000)
    found = calibrating.calibrated(scene, [from_the_lab(scene, slow, "static")], fetch_wait=0.0)
    assert not isinstance(found, NoData)
    assert found.slowness == pytest.approx(0.5, abs=0.1)
    assert found.warming == pytest.approx(40, abs=10)
    assert found.cold == pytest.approx(15, abs=4)
    assert found.crowding > 0.6


def test_too_few_batches_make_no_plant() -> None:
    found = calibrating.calibrated(SCENE, [], fetch_wait=0.0)
    assert isinstance(found, NoData)
    assert "at least" in found.reason


def test_what_no_run_has_shown_keeps_its_default() -> None:
    found = calibrating.calibrated(SCENE, [measurement(struck=())])
    assert not isinstance(found, NoData)
    assert found.driver_loss == calibrating.DEFAULTS.driver_loss
    assert (found.pending, found.start) == (
        calibrating.DEFAULTS.pending,
        calibrating.DEFAULTS.start,
    )


def test_missing_executors_come_from_the_shortage_until_all_are_registered() -> None:
    course = steady()
    (driver,) = course.drivers
    place = course.times.index(300.0)

    def short(samples: Samples, length: int) -> Samples:
        return (*samples[:place], *(5.0,) * length, *samples[place + length :])

    few = replace(driver, registered=short(driver.registered, 6))
    hit = replace(course, running=short(course.running, 2), drivers=(few,))
    (arrival,) = calibrating.arrivals(hit)
    assert (arrival.pods, arrival.registered) == (10, 30)


def test_a_driver_that_goes_meanwhile_makes_no_arrival() -> None:
    course = steady()
    (driver,) = course.drivers
    place = course.times.index(300.0)
    registered = (*driver.registered[:place], 5.0, None, *driver.registered[place + 2 :])
    assert not list(
        calibrating.arrivals(replace(course, drivers=(replace(driver, registered=registered),)))
    )


def entry(contender: str, struck: Sequence[Struck] = ()) -> Entry:
    return Entry(contender=contender, struck=tuple(struck))


def lab(contender: str, struck: Sequence[Struck] = (), **of_scene: Any) -> Figures:
    scene = replace(SHORT, **of_scene)
    return simulating.predicted(scene, CALM, entry(contender, struck), seeds=[1])


def strike(fault: str, at: float) -> Struck:
    return Struck(fault=fault, at=at, executors=6, predicted=None)


def test_static_has_all_executors_all_the_time() -> None:
    found = lab("static")
    assert found.executor_hours == pytest.approx(SHORT.largest * SHORT.seconds / 3600)
    assert (found.late, found.live, found.restarts) == (0, 0, 0)


def test_an_autoscaler_that_aims_higher_takes_fewer_executors() -> None:
    assert lab("hpa", utilisation=0.9).executor_hours < lab("hpa", utilisation=0.5).executor_hours


@pytest.mark.parametrize("contender", ["phoebe", "sluice"])
def test_a_policy_pays_for_its_profile(contender: str) -> None:
    points = tuple((count, CALM.capacity(count)) for count in (1, 3, 6))
    profile = Profiled(points=points, overhead=0.4, executor_seconds=1800)
    dear, free = (
        simulating.predicted(SHORT, CALM, replace(entry(contender), profile=one), seeds=[1])
        for one in (profile, replace(profile, executor_seconds=0))
    )
    assert dear.profile_hours == 0.5
    assert dear.executor_hours == pytest.approx(free.executor_hours + 0.5)
    assert dear.executor_hours < lab("static").executor_hours + 0.5


def test_the_same_run_has_the_same_figures() -> None:
    struck = [strike("driver killed", 300)]
    assert lab("sluice", struck) == lab("sluice", struck)


def test_all_executors_lost_are_an_outage_and_one_is_a_delay() -> None:
    (one,) = lab("static", [strike("executor killed", 300)]).recoveries
    (everyone,) = lab("static", [strike("all executors killed", 300)]).recoveries
    assert one.seconds is not None
    assert everyone.seconds is not None
    assert one.seconds < CALM.start < everyone.seconds


def test_recoveries_are_predicted_of_what_the_models_know() -> None:
    struck = [strike("driver killed", 200), strike("all executors killed", 500)]
    driver, everyone = lab("static", struck).recoveries
    assert driver.predicted is not None
    assert everyone.predicted is None


def test_the_pause_that_the_job_declares_is_known_as_to_the_operator() -> None:
    run = simulating.simulated(SHORT, CALM, entry("static"), seed=1)
    declared = pause_of(simulating.declared(SHORT, "static"))
    assert run.scenario.experience.models.downtimes.pause == declared < 2


def with_cpu(per_row: float, millicores: float) -> Measurement:
    """A run of six executors, each of which takes so much at rest, and so much for a row per second."""
    cpu = tuple(
        Cpu(at=at, executors=6, millicores=millicores + per_row * SCENE.rate(at - 30) / 6)
        for at in range(180, 2400, 60)
    )
    busy = millicores + per_row * CALM.capacity(6) / 6
    return measurement("hpa", saturated=busy, cpu=cpu)


def test_the_cpu_of_executors_at_rest_is_told_from_that_of_their_work() -> None:
    found = usage.with_usage(CALM, [with_cpu(0.2, 10)])
    assert found.resting == pytest.approx(10 / (10 + 0.2 * 100), abs=0.02)
    assert found.compiling == pytest.approx(0, abs=0.05)


def test_the_cpu_that_new_executors_take_beside_their_work_is_found() -> None:
    wild = replace(CALM, resting=0.4, compiling=3.0, warming=60.0)
    course = replace(steady(), drivers=(_joined_at(600.0),))
    cpu = tuple(
        Cpu(at=at, executors=6, millicores=100 * _cpu(wild, at)) for at in range(180, 2400, 60)
    )
    run = measurement("hpa", course=course, saturated=100.0, cpu=cpu)
    found = usage.with_usage(replace(wild, resting=0.0, compiling=0.0), [run])
    assert found.resting == pytest.approx(0.4, abs=0.05)
    assert found.compiling == pytest.approx(3.0, rel=0.1)


def _joined_at(moment: float) -> DriverCourse:
    """A driver that has no executors from a moment on for two samples, and then six new ones."""
    course = steady()
    (driver,) = course.drivers
    gone = {moment, moment + course.step}
    return replace(
        driver,
        registered=tuple(0.0 if at in gone else 6.0 for at in course.times),
    )


def _cpu(plant: Plant, at: float) -> float:
    """The share that six executors take, which were new at 610 s, and long before."""
    work = SCENE.rate(at - 30) / plant.capacity(6)
    since = at - 610 if at >= 610 else at + 60
    newness = math.exp(-since / plant.warming)
    return plant.resting + (1 - plant.resting) * work + plant.compiling * newness


def test_without_the_cpu_of_a_busy_executor_no_share_is_told() -> None:
    assert usage.with_usage(CALM, [replace(with_cpu(0.2, 10), saturated=None)]) == CALM


def test_of_a_chosen_change_the_newest_executors_leave_and_of_a_loss_the_oldest() -> None:
    began = [0.0, 10.0, 20.0]
    assert usage.present(began, 50.0, 2, is_chosen=True) == [0.0, 10.0]
    assert usage.present(began, 50.0, 2, is_chosen=False) == [10.0, 20.0]
    assert usage.present(began, 50.0, 4, is_chosen=True) == [*began, 50.0]
